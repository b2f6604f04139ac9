//! Which default set a program of TFHE gets that names none.

use super::{ElementPlan, Request, multiplications, noisy};
use crate::memory::expect_room;
use crate::{DEFAULT_FAILURE_LOG2, Fault, PlanError};
use polyfabric_kernels::cancel;
use polyfabric_machines::Described;
use polyfabric_machines::MachineError;
use polyfabric_machines::contract::torus;
use polyfabric_program::tfhe::homomorphic::Program;
use polyfabric_program::tfhe::lowering::KeySwitchOrder;
use polyfabric_program::tfhe::noise::choose_parameters;
use polyfabric_schemes::tfhe::noise::Transform;
use polyfabric_schemes::tfhe::{Parameters, sets};

/// The cheapest default set with which `program` fails no more often than is accepted, on what executes it.
pub fn choose(program: &Program, request: &Request<'_>) -> Result<ElementPlan, PlanError> {
    match request.machine {
        None => choose_here(program, request),
        Some(machine) => choose_on(program, request, machine),
    }
}

fn choose_here(program: &Program, request: &Request<'_>) -> Result<ElementPlan, PlanError> {
    let private = (request.encryption, request.circuit_privacy);
    let transform = Transform::f64_here();
    let chosen =
        choose_parameters(program, request.max_failure, request.unrolling, transform, private).map_err(noisy)?;
    ElementPlan::with(program, &chosen.parameters, chosen.key_switch, request)
}

fn default_sets() -> impl Iterator<Item = &'static Parameters> {
    sets::all().filter(|(entry, _)| entry.family == sets::Family::Default).map(|(_, parameters)| parameters)
}

/// How many times the products of the set of fewest a set may have that is worth scheduling: a machine takes about as long for each, within this factor
/// (an assumption, which saves schedules of large programs).
const WORTH_SCHEDULING: f64 = 2.0;

/// log2 of a failure from which on a program may be wrong more often than right: what is asked for is a machine's time then, not a result.
const TIME_ALONE: f64 = -1.0;

/// A machine's transform errs differently with every set, so each is tried; of those that carry the program, the one whose schedule is the shortest.
/// Where any failure is accepted, of those that would carry it if the machine's products were exact: a smaller set's time is that of nothing.
fn choose_on(program: &Program, request: &Request<'_>, machine: &Described) -> Result<ElementPlan, PlanError> {
    // A machine of another family refuses every set, whatever its noise.
    torus::torus_bits(machine, program.name()).map_err(PlanError::of(Fault::Machine))?;
    let mut suited: Vec<Candidate> = Vec::new();
    let mut too_small: Vec<Candidate> = Vec::new();
    let mut refused: Vec<&'static Parameters> = Vec::new();
    let mut faulty: Option<PlanError> = None;
    let sets: Vec<_> = default_sets().collect();
    let stage = cancel::stage("choosing a parameter set", sets.len());
    for parameters in sets {
        stage.step();
        match ElementPlan::first(program, parameters, request) {
            Ok(plan) => {
                let order = plan.kernel.choice.key_switch;
                let candidate = Candidate { parameters, order, products: products(&plan) };
                let list = if carries(program, request, &plan) { &mut suited } else { &mut too_small };
                list.push(candidate);
            }
            Err(error) if error.fault == Fault::Noise => refused.push(parameters),
            // Of another torus, or without the key switch that the program needs: unless every set meets it, of no account.
            Err(error) if error.fault == Fault::Program => faulty = faulty.or(Some(error)),
            Err(_) => {}
        }
    }
    drop(stage);
    if let Some(error) = faulty.filter(|_| suited.is_empty() && refused.is_empty()) {
        return Err(error);
    }
    if suited.is_empty() {
        suited = too_small;
    }
    suited.sort_by(|a, b| a.products.total_cmp(&b.products));
    let mut unmapped: Option<MachineError> = None;
    let mut shortest: Option<(i64, Candidate)> = None;
    let mut fewest = None;
    for candidate in suited {
        if fewest.is_some_and(|fewest| candidate.products > WORTH_SCHEDULING * fewest) {
            break;
        }
        let plan = ElementPlan::with(program, candidate.parameters, candidate.order, request)?;
        let mapping = torus::mapping_bytes(machine, &plan.kernel).map_err(PlanError::of(Fault::Machine))?;
        expect_room(program.name(), mapping, request.memory)?;
        match torus::map(machine, &plan.kernel) {
            Ok(mapped) => {
                fewest = fewest.or(Some(candidate.products));
                let cycles = mapped.schedule.cycles();
                if shortest.as_ref().is_none_or(|(least, _)| cycles < *least) {
                    shortest = Some((cycles, candidate));
                }
            }
            Err(error) => unmapped = unmapped.or(Some(error)),
        }
    }
    if let Some((_, Candidate { parameters, order, .. })) = shortest {
        return ElementPlan::with(program, parameters, order, request);
    }
    if let Some(error) = unmapped {
        let message =
            format!("{error}; that is so of every default parameter set, so name one with parameters (--params)");
        return Err(PlanError::new(Fault::Machine, message));
    }
    let remedy = match nearest(program, request, machine, refused) {
        Some(nearest) => nearest.told(program, request, machine),
        None => "none of them runs there; name a set with parameters (--params)".to_owned(),
    };
    let message = format!(
        "no default parameter set carries {} on {} with failure probability 2^{:.1}{}; {remedy}",
        program.name(),
        machine.name(),
        request.max_failure,
        of_widths(machine)
    );
    Err(PlanError::new(Fault::Noise, message))
}

/// Whether a set that is accepted carries the program, as the machine executes it but for its arithmetic.
fn carries(program: &Program, request: &Request<'_>, plan: &ElementPlan) -> bool {
    let sure = Request { max_failure: DEFAULT_FAILURE_LOG2, circuit_privacy: None, ..*request };
    let (parameters, choice) = (&plan.kernel.parameters, &plan.kernel.choice);
    request.max_failure < TIME_ALONE || sure.noise(program, parameters, choice, Transform::Exact).is_ok()
}

/// A set with which a program fails no more often than is accepted.
struct Candidate {
    parameters: &'static Parameters,
    order: KeySwitchOrder,
    products: f64,
}

fn products(plan: &ElementPlan) -> f64 {
    multiplications(&plan.kernel)
}

/// The set that would carry a program with exact products, or fail least then, and that the machine maps.
struct Nearest {
    plan: ElementPlan,
    /// log2 of the failure probability with exact products.
    exact: f64,
}

/// Of `refused` the [`Nearest`] one: the cheapest that would carry the program if the machine's products were exact, else the one that would fail least.
fn nearest(
    program: &Program,
    request: &Request<'_>,
    machine: &Described,
    refused: Vec<&'static Parameters>,
) -> Option<Nearest> {
    let accepting = Request { max_failure: 0.0, circuit_privacy: None, ..*request };
    let stage = cancel::stage("looking for the nearest parameter set", refused.len());
    let mut ranked: Vec<([f64; 2], &Parameters, f64)> = Vec::new();
    for parameters in refused {
        stage.step();
        let Ok(plan) = ElementPlan::first(program, parameters, &accepting) else { continue };
        // As the machine executes it, but for its arithmetic.
        let Ok(exact) = accepting.noise(program, parameters, &plan.kernel.choice, Transform::Exact) else { continue };
        let exact = exact.log2_failure;
        let rank = if exact <= request.max_failure { [f64::NEG_INFINITY, products(&plan)] } else { [exact, 0.0] };
        ranked.push((rank, parameters, exact));
    }
    drop(stage);
    ranked.sort_by(|(a, ..), (b, ..)| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    ranked.into_iter().find_map(|(_, parameters, exact)| {
        let plan = ElementPlan::first(program, parameters, &accepting).ok()?;
        torus::map(machine, &plan.kernel).is_ok().then_some(Nearest { plan, exact })
    })
}

impl Nearest {
    /// What is wrong with it, and how it is taken all the same.
    fn told(&self, program: &Program, request: &Request<'_>, machine: &Described) -> String {
        let (noise, set) = (&self.plan.noise, self.plan.kernel.parameters.name());
        // Rounded up, so that what is advised is accepted.
        let failure = ((noise.log2_failure * 10.0).ceil() / 10.0).min(0.0) + 0.0;
        let worst = noise.lookups.iter().max_by(|a, b| a.log2_failure.total_cmp(&b.log2_failure));
        let worst = worst.map_or(String::new(), |lookup| {
            let place = lookup.location.as_ref().map_or(String::new(), |at| format!("{at}: "));
            format!(", most often at {place}{} %{}, which reads {}", lookup.op, lookup.node, lookup.operand)
        });
        let exact = match self.exact <= request.max_failure {
            true => format!("which would carry it with exact products (2^{:.1})", self.exact),
            false => format!("which does not carry it with exact products either (2^{:.1})", self.exact),
        };
        format!(
            "the nearest that it executes is {set}, {exact}: on {} {} fails with probability 2^{failure:.1}{worst}; to take it all the same, pass \
             parameters=\"{set}\", max_failure={failure} (--params {set} --max-failure {failure}), or run the program on the processor",
            machine.name(),
            program.name(),
        )
    }
}

/// What the machine's arithmetic adds to an external product of a default set: the least, and the most, as words.
fn of_widths(machine: &Described) -> String {
    let deviation = |parameters: &Parameters| match torus::arithmetic(machine, parameters).ok()?.transform(parameters) {
        Transform::Measured { coefficient_variance, .. } if coefficient_variance > 0.0 => {
            Some(coefficient_variance.log2() / 2.0)
        }
        _ => None,
    };
    let noise: Vec<f64> = default_sets().filter_map(deviation).collect();
    let (Some(least), Some(most)) = (noise.iter().copied().reduce(f64::min), noise.iter().copied().reduce(f64::max))
    else {
        return String::new();
    };
    let name = machine.name();
    format!(
        ": its widths add noise of 2^{least:.1} of the torus at least, 2^{most:.1} at most, to every external product of such a set \
         (`polyfabric params --on {name}` has them one by one; `polyfabric machines {name}` has the readings)"
    )
}
