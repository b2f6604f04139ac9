//! Bytes of the objects of a parameter set, and ring buffers.

use polyfabric_schemes::tfhe::Parameters;

/// Bytes of a torus coefficient on the 32-bit data paths of this family.
pub const COEFFICIENT_BYTES: u64 = 4;
/// Bytes of a rotation amount: log2(2N) is at most 17 bits for the rings of the project, 16 up to N = 32768.
pub const ROTATION_BYTES: u64 = 4;

/// Entries of equal size, one after the other, used in turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ring {
    /// Byte offset of the first entry in its memory.
    pub offset: u64,
    pub entry_bytes: u64,
    pub entries: u64,
}

impl Ring {
    /// Byte offset of entry `index` mod the number of entries.
    pub fn entry(&self, index: u64) -> u64 {
        self.offset + (index % self.entries.max(1)) * self.entry_bytes
    }

    /// First byte after the last entry.
    pub fn end(&self) -> u64 {
        self.offset + self.entry_bytes * self.entries
    }
}

/// Bytes of the objects of one parameter set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Ring degree N.
    pub ring_degree: u64,
    /// k + 1.
    pub polynomials: u64,
    /// n.
    pub lwe_dimension: u64,
    /// kN.
    pub large_dimension: u64,
    /// One polynomial of coefficients.
    pub polynomial: u64,
    /// One polynomial in the transform domain.
    pub spectrum: u64,
    pub accumulator: u64,
    /// The rotation amounts of one ciphertext.
    pub rotations: u64,
    /// One ciphertext under the small key.
    pub small: u64,
    /// One ciphertext under the large key.
    pub large: u64,
    /// Rows of a key matrix: (k + 1) l.
    pub key_rows: u64,
    /// The key of one iteration, in the transform domain.
    pub key: u64,
    /// Levels of the key-switch gadget, 0 without one.
    pub key_switch_levels: u64,
}

impl Sizes {
    /// Sizes of `parameters` where a polynomial in the transform domain takes `spectrum` bytes.
    pub fn new(parameters: &Parameters, spectrum: u64) -> Self {
        let ring_degree = parameters.ring_degree().get() as u64;
        let polynomials = parameters.glwe_dimension().get() as u64 + 1;
        let lwe_dimension = parameters.lwe_dimension().get() as u64;
        let large_dimension = (polynomials - 1) * ring_degree;
        let levels = u64::from(parameters.bootstrap_gadget().levels);
        Self {
            ring_degree,
            polynomials,
            lwe_dimension,
            large_dimension,
            polynomial: ring_degree * COEFFICIENT_BYTES,
            spectrum,
            accumulator: polynomials * ring_degree * COEFFICIENT_BYTES,
            rotations: (lwe_dimension + 1) * ROTATION_BYTES,
            small: (lwe_dimension + 1) * COEFFICIENT_BYTES,
            large: (large_dimension + 1) * COEFFICIENT_BYTES,
            key_rows: polynomials * levels,
            key: polynomials * polynomials * levels * spectrum,
            key_switch_levels: parameters.key_switch_gadget().map_or(0, |gadget| u64::from(gadget.levels)),
        }
    }
}
