//! Chooses a default set for a TFHE program.

use super::{Request, TfhePlan, multiplications, noisy};
use crate::memory::expect_memory;
use crate::{DEFAULT_FAILURE_LOG2, Fault, PlanError};
use polyfabric_kernels::cancel;
use polyfabric_machines::Machine;
use polyfabric_machines::MachineError;
use polyfabric_machines::contract::tfhe;
use polyfabric_program::tfhe::homomorphic::Program;
use polyfabric_program::tfhe::lowering::KeySwitchOrder;
use polyfabric_program::tfhe::noise::choose_parameters;
use polyfabric_schemes::tfhe::noise::Transform;
use polyfabric_schemes::tfhe::{Parameters, sets};

/// The cheapest default set with which `program` has an acceptable failure probability on the machine.
pub fn choose(program: &Program, request: &Request<'_>) -> Result<TfhePlan, PlanError> {
    match request.machine {
        None => choose_here(program, request),
        Some(machine) => choose_on(program, request, machine),
    }
}

fn choose_here(program: &Program, request: &Request<'_>) -> Result<TfhePlan, PlanError> {
    let private = (request.encryption, request.circuit_privacy);
    let transform = Transform::f64_here();
    let keys = (request.blocks, request.unrolling);
    let chosen = choose_parameters(program, request.max_failure, keys, transform, private).map_err(noisy)?;
    TfhePlan::with(program, &chosen.parameters, chosen.key_switch, request)
}

/// The default sets with block-binary keys, or with uniform ones. Machines have no wide tables.
fn default_sets(blocks: bool) -> impl Iterator<Item = &'static Parameters> {
    let defaults = sets::all().filter(|(entry, _)| entry.family == sets::Family::Default);
    let fits = move |parameters: &&Parameters| {
        (parameters.secret().is_binary(), parameters.circuit().is_some()) == (!blocks, false)
    };
    defaults.map(|(_, parameters)| parameters).filter(fits)
}

/// Sets with more than this multiple of the fewest products are not scheduled: a machine takes similar time per product, up to this
/// factor (an assumption that avoids scheduling large programs).
const WORTH_SCHEDULING: f64 = 2.0;

/// log2 of the failure probability from which only timing is of interest: results may be wrong more often than right.
const TIME_ALONE: f64 = -1.0;

/// Tries each set, because a machine's transform error depends on it, and chooses the shortest schedule. If any failure is accepted, it
/// considers only sets that would suffice with exact products: the time of a smaller set is meaningless.
fn choose_on(program: &Program, request: &Request<'_>, machine: &Machine) -> Result<TfhePlan, PlanError> {
    // A machine of another family rejects every set.
    tfhe::torus_bits(machine, program.name()).map_err(PlanError::of(Fault::Machine))?;
    let mut suited: Vec<Candidate> = Vec::new();
    let mut too_small: Vec<Candidate> = Vec::new();
    let mut refused: Vec<&'static Parameters> = Vec::new();
    let mut faulty: Option<PlanError> = None;
    let sets: Vec<_> = default_sets(request.blocks).collect();
    let stage = cancel::stage("choosing a parameter set", sets.len());
    for parameters in sets {
        stage.step();
        match TfhePlan::first(program, parameters, request) {
            Ok(plan) => {
                let order = plan.kernel.choice.key_switch;
                let candidate = Candidate { parameters, order, products: products(&plan) };
                let list = if carries(program, request, &plan) { &mut suited } else { &mut too_small };
                list.push(candidate);
            }
            Err(error) if error.fault == Fault::Noise => refused.push(parameters),
            // Another torus, or no key switch: relevant only if every set fails so.
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
        let plan = TfhePlan::with(program, candidate.parameters, candidate.order, request)?;
        let mapping = tfhe::mapping_bytes(machine, &plan.kernel).map_err(PlanError::of(Fault::Machine))?;
        expect_memory(program.name(), mapping, request.memory)?;
        match tfhe::map(machine, &plan.kernel) {
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
        return TfhePlan::with(program, parameters, order, request);
    }
    if let Some(error) = unmapped {
        let message = format!(
            "{error}; this is true for every default parameter set: declare wide integers as UInt(bits) or SInt(bits), which are computed digit by \
             digit, or name another set with parameters (--params)"
        );
        return Err(PlanError::new(Fault::Machine, message));
    }
    let message = match nearest(program, request, machine, refused) {
        Some(nearest) => nearest.description(program, request, machine),
        None => format!(
            "{}; none of them runs there: name a set with parameters (--params)",
            none_carries(program, request, machine)
        ),
    };
    Err(PlanError::new(Fault::Noise, message))
}

/// The statement that every default set fails too often.
fn none_carries(program: &Program, request: &Request<'_>, machine: &Machine) -> String {
    format!(
        "no default parameter set carries {} on {} with failure probability 2^{:.1}{}",
        program.name(),
        machine.name(),
        request.max_failure,
        of_widths(machine)
    )
}

/// Whether an accepted set suffices when the machine's arithmetic is replaced by exact products.
fn carries(program: &Program, request: &Request<'_>, plan: &TfhePlan) -> bool {
    let sure = Request { max_failure: DEFAULT_FAILURE_LOG2, circuit_privacy: None, ..*request };
    let (parameters, choice) = (&plan.kernel.parameters, &plan.kernel.choice);
    request.max_failure < TIME_ALONE || sure.noise(program, parameters, choice, Transform::Exact).is_ok()
}

/// A set with an acceptable failure probability.
struct Candidate {
    parameters: &'static Parameters,
    order: KeySwitchOrder,
    products: f64,
}

fn products(plan: &TfhePlan) -> f64 {
    multiplications(&plan.kernel)
}

/// The set that would suffice, or fail least, with exact products, and that the machine supports.
struct Nearest {
    plan: TfhePlan,
    /// log2 of the failure probability with exact products.
    exact: f64,
}

/// The [`Nearest`] of the rejected sets: the cheapest that would suffice with exact products, otherwise the one that would fail least.
fn nearest(
    program: &Program,
    request: &Request<'_>,
    machine: &Machine,
    refused: Vec<&'static Parameters>,
) -> Option<Nearest> {
    let accepting = Request { max_failure: 0.0, circuit_privacy: None, ..*request };
    let stage = cancel::stage("looking for the nearest parameter set", refused.len());
    let mut ranked: Vec<([f64; 2], &Parameters, f64)> = Vec::new();
    for parameters in refused {
        stage.step();
        let Ok(plan) = TfhePlan::first(program, parameters, &accepting) else { continue };
        // The machine's lowering with exact products.
        let Ok(exact) = accepting.noise(program, parameters, &plan.kernel.choice, Transform::Exact) else { continue };
        let exact = exact.log2_failure;
        let rank = if exact <= request.max_failure { [f64::NEG_INFINITY, products(&plan)] } else { [exact, 0.0] };
        ranked.push((rank, parameters, exact));
    }
    drop(stage);
    ranked.sort_by(|(a, ..), (b, ..)| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    ranked.into_iter().find_map(|(_, parameters, exact)| {
        let plan = TfhePlan::first(program, parameters, &accepting).ok()?;
        tfhe::map(machine, &plan.kernel).is_ok().then_some(Nearest { plan, exact })
    })
}

impl Nearest {
    /// Describes the remedy, then the problem, and how to accept it.
    fn description(&self, program: &Program, request: &Request<'_>, machine: &Machine) -> String {
        let (noise, set) = (&self.plan.noise, self.plan.kernel.parameters.name());
        let (name, place) = (program.name(), machine.name());
        // Rounded up, so that the advice is accepted.
        let failure = ((noise.log2_failure * 10.0).ceil() / 10.0).min(0.0) + 0.0;
        let worst = noise.lookups.iter().max_by(|a, b| a.log2_failure.total_cmp(&b.log2_failure));
        let worst = worst.map_or(String::new(), |lookup| {
            let place = lookup.location.as_ref().map_or(String::new(), |at| format!("{at}: "));
            format!(", most often at {place}{} %{}, which reads {}", lookup.op, lookup.node, lookup.operand)
        });
        let remedy = match self.exact <= request.max_failure {
            true => format!(
                "{name} needs wider transforms than those of {place}: give widths=\"derived\" (--widths derived), or run it on the processor"
            ),
            false => format!(
                "{name} does not fit {place}: run it on the processor, or declare integers of more than 16 values as UInt(bits) or \
                 SInt(bits), which are computed digit by digit"
            ),
        };
        let accept = match failure <= TIME_ALONE {
            true => "accept this",
            false => "time it with wrong results",
        };
        format!(
            "{remedy}; with parameter set {set} it fails there with probability 2^{failure:.1}{worst}; to {accept}, pass \
             parameters=\"{set}\", max_failure={failure} (--params {set} --max-failure {failure})"
        )
    }
}

/// Smallest and largest noise that the machine's arithmetic adds to an external product of the default sets, as text.
fn of_widths(machine: &Machine) -> String {
    let deviation = |parameters: &Parameters| match tfhe::arithmetic(machine, parameters).ok()?.transform(parameters) {
        Transform::Measured { coefficient_variance, .. } if coefficient_variance > 0.0 => {
            Some(coefficient_variance.log2() / 2.0)
        }
        _ => None,
    };
    let noise: Vec<f64> = default_sets(false).filter_map(deviation).collect();
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
