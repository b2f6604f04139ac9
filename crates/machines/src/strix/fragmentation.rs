//! Blind-rotation fragmentation (section III, formulas 1 and 2): how often a device has to rotate when it batches fewer
//! ciphertexts than there are.

/// A device: its cores, and the ciphertexts that one core takes at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// Device-level batch size.
    pub cores: u64,
    /// Core-level batch size.
    pub core_batch: u64,
}

impl Device {
    /// The GPU of figure 2: an Nvidia Titan RTX, whose cores take one ciphertext each.
    pub const TITAN_RTX: Self = Self { cores: 72, core_batch: 1 };

    /// Blind rotations one after the other for `ciphertexts` (formula 2).
    pub fn fragments(self, ciphertexts: u64) -> u64 {
        ciphertexts.div_ceil(self.cores * self.core_batch)
    }

    /// Time of `ciphertexts` where one blind rotation takes `rotation` (formula 1).
    pub fn time(self, ciphertexts: u64, rotation: f64) -> f64 {
        self.fragments(ciphertexts) as f64 * rotation
    }
}

#[cfg(test)]
mod tests {
    //! Is a device's time a staircase whose steps are its batch?

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
