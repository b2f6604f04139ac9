//! Derives the widths of a machine's transforms for a parameter set, and their effect on a lookup.

use crate::{Fault, PlanError};
use polyfabric_machines::Machine;
use polyfabric_machines::contract::tfhe;
use polyfabric_machines::tfhe::widths::{Derived, Judge};
use polyfabric_program::tfhe::builtin;
use polyfabric_program::tfhe::lowering::{Arithmetic, KeySwitchOrder, TfheLowering};
use polyfabric_runtime::Progress;
use polyfabric_schemes::tfhe::Parameters;

/// Widths for a set, and the machine with these widths.
#[derive(Clone, Debug)]
pub struct DerivedWidths {
    pub widths: Derived,
    /// log2 of the failure probability of a lookup of a fresh ciphertext; `None` if the set supports no lookup.
    pub log2_failure: Option<f64>,
    /// The machine file with these widths.
    pub file: String,
}

/// Derives widths for `parameters` on `machine` by the criterion `judge`.
///
/// # Errors
/// [`Fault::Machine`]: the set's torus is too narrow, or the machine has no such widths or belongs to another family.
pub fn derive_widths(
    machine: &Machine,
    parameters: &Parameters,
    judge: Judge,
    progress: &dyn Progress,
) -> Result<DerivedWidths, PlanError> {
    let refused = PlanError::of(Fault::Machine);
    let widths = tfhe::derive_widths(machine, parameters, judge, progress).map_err(&refused)?;
    let choice = TfheLowering::new(KeySwitchOrder::None, Arithmetic::ExactInteger);
    let look_up = builtin::build("pbs", parameters, 1, &choice, widths.transform());
    let log2_failure = look_up.map(|look_up| look_up.log2_failure).ok();
    let file = tfhe::with_widths(machine, &widths).map_err(refused)?;
    Ok(DerivedWidths { widths, log2_failure, file })
}
