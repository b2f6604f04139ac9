//! Which default set a program of TFHE gets that names none.

use super::{ElementPlan, ORDERS, Request, lowering, multiplications, noisy};
use crate::{Fault, PlanError};
use polyfabric_machines::contract::torus;
use polyfabric_machines::engine::description::Description;
use polyfabric_program::tfhe::homomorphic::Program;
use polyfabric_program::tfhe::lowering::lower;
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

/// A machine's transform errs differently with every set, so each is tried; the one of the fewest products is kept.
fn choose_on(program: &Program, request: &Request<'_>, machine: &Description) -> Result<ElementPlan, PlanError> {
    let mut suited: Option<(f64, ElementPlan)> = None;
    let mut refusals: Vec<(&Parameters, PlanError)> = Vec::new();
    for parameters in default_sets() {
        match ElementPlan::first(program, parameters, request) {
            Ok(plan) => {
                let products = multiplications(&plan.kernel);
                if suited.as_ref().is_none_or(|(least, _)| products < *least) {
                    suited = Some((products, plan));
                }
            }
            Err(error) if error.fault == Fault::Noise => refusals.push((parameters, error)),
            // Of another torus, or without the key switch that the program needs.
            Err(_) => {}
        }
    }
    if let Some((_, plan)) = suited {
        return Ok(plan);
    }
    let reason = match telling(program, request, &refusals) {
        Some(refusal) => format!("; the first reason: {refusal}"),
        None => "; name a set with parameters".to_owned(),
    };
    let message = format!(
        "no default parameter set carries {} on {}{}{reason}",
        program.name(),
        machine.name(),
        of_widths(machine)
    );
    Err(PlanError::new(Fault::Noise, message))
}

/// The refusal of a set that would carry the program with exact products, if there is one: the machine's arithmetic is at fault there.
fn telling<'a>(
    program: &Program,
    request: &Request<'_>,
    refusals: &'a [(&Parameters, PlanError)],
) -> Option<&'a PlanError> {
    let exact = Request { circuit_privacy: None, ..*request };
    // As the machine executes it, but for its arithmetic.
    let carries = |parameters: &Parameters| {
        ORDERS.into_iter().filter_map(|order| lowering(request.machine, parameters, order, request.unrolling).ok()).any(
            |choice| {
                lower(program, parameters, &choice).is_ok()
                    && exact.noise(program, parameters, &choice, Transform::Exact).is_ok()
            },
        )
    };
    let told = refusals.iter().find(|(parameters, _)| carries(parameters)).or_else(|| refusals.first());
    told.map(|(_, refusal)| refusal)
}

/// What the machine's arithmetic adds to an external product of a default set: the least, and the most, as words.
fn of_widths(machine: &Description) -> String {
    let deviation = |parameters: &Parameters| match torus::arithmetic(machine, parameters).ok()?.transform(parameters) {
        Transform::Measured { coefficient_variance } if coefficient_variance > 0.0 => {
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
