//! What lies at a place, during a replay.

use polyfabric_runtime::tfhe::interpreter::Spectrum;
use std::sync::Arc;

/// Content of a place.
#[derive(Clone, Debug)]
pub enum Datum {
    /// Torus coefficients, or an LWE ciphertext.
    Torus(Arc<Vec<u32>>),
    /// Digits of a polynomial.
    Digits(Arc<Vec<i32>>),
    /// A polynomial in the transform domain.
    Spectrum(Arc<Spectrum<u32>>),
    /// Rotation amounts.
    Amounts(Arc<Vec<u32>>),
    /// A test polynomial, by its number.
    Table(u32),
    /// Twiddle factors of the ring of a degree.
    Twiddles(u32),
    /// Polynomials of the bootstrapping key, each by its row and column, of an iteration.
    BootstrapKey(u32, Arc<[(u32, u32)]>),
    /// A tile of the key-switch key, by its number.
    Tile(u32),
    /// Instruction words.
    Words,
    /// Several side by side.
    Bundle(Arc<Vec<Datum>>),
}

impl Datum {
    /// Torus coefficients.
    pub fn torus(values: Vec<u32>) -> Self {
        Self::Torus(Arc::new(values))
    }

    /// Several side by side.
    pub fn bundle(values: Vec<Datum>) -> Self {
        Self::Bundle(Arc::new(values))
    }

    /// Whether both are stripes of one key or table.
    pub fn same_stripes(&self, other: &Self) -> bool {
        match (self, other) {
            (Datum::Table(one), Datum::Table(other))
            | (Datum::Twiddles(one), Datum::Twiddles(other))
            | (Datum::Tile(one), Datum::Tile(other)) => one == other,
            (Datum::BootstrapKey(one, these), Datum::BootstrapKey(other, those)) => one == other && these == those,
            _ => false,
        }
    }

    /// What it is, for messages.
    pub fn name(&self) -> &'static str {
        match self {
            Datum::Torus(_) => "torus elements",
            Datum::Digits(_) => "digits",
            Datum::Spectrum(_) => "a spectrum",
            Datum::Amounts(_) => "rotation amounts",
            Datum::Table(_) => "a test polynomial",
            Datum::Twiddles(_) => "twiddle factors",
            Datum::BootstrapKey(..) => "bootstrapping key",
            Datum::Tile(_) => "key-switch key",
            Datum::Words => "instruction words",
            Datum::Bundle(_) => "several polynomials",
        }
    }
}
