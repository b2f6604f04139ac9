//! The widths of a machine's transforms, derived for a parameter set, and what they make of a look-up.

use crate::{Fault, PlanError};
use polyfabric_machines::Described;
use polyfabric_machines::contract::torus;
use polyfabric_machines::torus::widths::{Derived, Judge};
use polyfabric_program::tfhe::builtin;
use polyfabric_program::tfhe::lowering::{Arithmetic, KeySwitchOrder, TfheLowering};
use polyfabric_runtime::Progress;
use polyfabric_schemes::tfhe::Parameters;

/// Widths for a set, and a machine that has them.
#[derive(Clone, Debug)]
pub struct DerivedWidths {
    /// The widths.
    pub widths: Derived,
    /// log2 of the probability that a look-up of a fresh ciphertext fails with them; nothing where the set carries no look-up.
    pub log2_failure: Option<f64>,
    /// The machine's file with them.
    pub file: String,
}

/// Widths for `parameters` on `machine`, judged by `judge`.
///
/// # Errors
/// [`Fault::Machine`]: a set whose torus leaves no room, a machine that has no such widths, or is of another family.
pub fn derive_widths(
    machine: &Described,
    parameters: &Parameters,
    judge: Judge,
    progress: &dyn Progress,
) -> Result<DerivedWidths, PlanError> {
    let refused = PlanError::of(Fault::Machine);
    let widths = torus::derive_widths(machine, parameters, judge, progress).map_err(&refused)?;
    let choice = TfheLowering::new(KeySwitchOrder::None, Arithmetic::ExactInteger);
    let look_up = builtin::build("pbs", parameters, 1, &choice, widths.transform());
    let log2_failure = look_up.map(|look_up| look_up.log2_failure).ok();
    let file = torus::with_widths(machine, &widths).map_err(refused)?;
    Ok(DerivedWidths { widths, log2_failure, file })
}
