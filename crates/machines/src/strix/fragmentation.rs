//! Blind-rotation fragmentation (section III, formulas 1 and 2): rotations in sequence on a device whose batch is
//! smaller than the number of ciphertexts.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    pub cores: u64,
    pub core_batch: u64,
}

impl Device {
    /// The GPU of figure 2, an Nvidia Titan RTX: one ciphertext per core.
    pub const TITAN_RTX: Self = Self { cores: 72, core_batch: 1 };

    /// Sequential blind rotations for `ciphertexts` (formula 2).
    pub fn fragments(self, ciphertexts: u64) -> u64 {
        ciphertexts.div_ceil(self.cores * self.core_batch)
    }

    /// Time for `ciphertexts` if one blind rotation takes `rotation` (formula 1).
    pub fn time(self, ciphertexts: u64, rotation: f64) -> f64 {
        self.fragments(ciphertexts) as f64 * rotation
    }
}

#[cfg(test)]
mod tests {
    //! Is the time a staircase with steps of one batch?

    use super::*;

    #[test]
    fn one_more_ciphertext_takes_another_rotation() {
        let gpu = Device::TITAN_RTX;
        assert_eq!([1, 72, 73, 144, 145].map(|count| gpu.fragments(count)), [1, 1, 2, 2, 3]);
        let batched = Device { core_batch: 3, ..gpu };
        assert_eq!([72, 216, 217].map(|count| batched.fragments(count)), [1, 1, 2]);
        assert!((gpu.time(73, 1.5) - 3.0).abs() < 1e-12);
    }
}
