mod choice;
mod error;
mod lower;

pub use choice::{Accumulation, Arithmetic, InputTransform, KeySwitchOrder, TfheLowering};
pub use error::LoweringError;
pub use lower::lower;
