//! Lowering of the homomorphic program to the kernel program.

mod choice;

pub use choice::{Accumulation, Arithmetic, InputTransform, KeySwitchOrder, TfheLowering};
