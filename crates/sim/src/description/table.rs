//! Tables of figures: one row states a figure, its range and its meaning, and the field of the machine that holds it.

use super::{Description, DescriptionError, FigureSpec};

/// A type of the fields that hold figures.
pub trait FigureValue: Sized {
    /// Reads figure `spec`, in bytes per cycle if it is a bandwidth.
    fn read(description: &Description, spec: &FigureSpec) -> Result<Self, DescriptionError>;
}

impl FigureValue for u64 {
    fn read(description: &Description, spec: &FigureSpec) -> Result<Self, DescriptionError> {
        description.count(spec.key)
    }
}

impl FigureValue for u32 {
    fn read(description: &Description, spec: &FigureSpec) -> Result<Self, DescriptionError> {
        description.count(spec.key).map(|value| value as Self)
    }
}

impl FigureValue for usize {
    fn read(description: &Description, spec: &FigureSpec) -> Result<Self, DescriptionError> {
        description.count(spec.key).map(|value| value as Self)
    }
}

impl FigureValue for bool {
    fn read(description: &Description, spec: &FigureSpec) -> Result<Self, DescriptionError> {
        description.flag(spec.key)
    }
}

impl FigureValue for f64 {
    fn read(description: &Description, spec: &FigureSpec) -> Result<Self, DescriptionError> {
        description.bytes_per_cycle(spec.key)
    }
}

impl<T: FigureValue> FigureValue for Option<T> {
    fn read(description: &Description, spec: &FigureSpec) -> Result<Self, DescriptionError> {
        description.figures().contains_key(spec.key).then(|| T::read(description, spec)).transpose()
    }
}

/// Declares the figures of a machine. A row is a [`FigureSpec`](crate::description::FigureSpec), and the field that holds its value. Figures
/// without a field are only used by components, or by the fields after the table, which are computed from the description `d`:
///
/// ```
/// # use polyfabric_sim::{description::{Description, Dimension::Count, FigureError, figure}, figures};
/// figures! {
///     pub struct Toy, SPECS {
///         figure("units.core.count", Count, 1.0, 64.0, "the cores") => cores: u64;
///         figure("units.core.log2_lanes", Count, 0.0, 10.0, "log2 of the lanes of a core");
///     }
///     d => {
///         lanes: u64 = 1 << d.count("units.core.log2_lanes")?,
///     }
/// }
/// ```
#[macro_export]
macro_rules! figures {
    (
        $(#[$meta:meta])*
        $visible:vis struct $name:ident, $table:ident {
            $($spec:expr $(=> $field:ident: $type:ty)?;)*
        }
        $d:ident => {
            $($(#[$doc:meta])* $own:ident: $own_type:ty = $value:expr,)*
        }
    ) => {
        /// The figures that a machine file must or may give.
        $visible const $table: &[$crate::description::FigureSpec] = &[$($spec),*];

        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        $visible struct $name {
            $($(pub $field: $type,)?)*
            $($(#[$doc])* pub $own: $own_type,)*
        }

        impl $name {
            /// Reads all figures, without checking that they fit together.
            fn read($d: &$crate::description::Description) -> Result<Self, $crate::description::FigureError> {
                Ok(Self {
                    $($($field: $crate::description::FigureValue::read($d, &$spec)?,)?)*
                    $($own: $value,)*
                })
            }
        }
    };
}
