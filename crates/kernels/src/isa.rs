//! Which instruction set the kernels use: decided here, and every kernel asks.
//!
//! The processor's fastest set, or a lesser one that the environment variable [`VARIABLE`] names: so every path can be tested and measured on any
//! processor that has more. Kernels take what [`Isa::usable`] allows; a set given by hand (`with_isa`) needs the processor's alone.

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;
use thiserror::Error;

/// The environment variable that chooses an instruction set.
pub const VARIABLE: &str = "POLYFABRIC_ISA";

/// An instruction set that the vector kernels are compiled for, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Isa {
    /// Plain Rust, on any processor.
    Portable,
    /// NEON, which every aarch64 processor has.
    Neon,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512 F, DQ, BW and VL; some kernels also use IFMA with VBMI, and VNNI, where they are there.
    Avx512,
}

/// Why no instruction set could be chosen.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum IsaError {
    /// There is no set of that name.
    #[error("there is no instruction set {name:?} ({VARIABLE}); the sets are {known}, and without the variable the processor's best is taken", known = names(Isa::ALL))]
    Unknown {
        /// The name.
        name: String,
    },
    /// The processor lacks the set.
    #[error("this processor does not have {isa} ({VARIABLE}); choose among {present}, or leave the variable unset", present = names(Isa::present()))]
    Absent {
        /// The set.
        isa: Isa,
    },
}

fn names(sets: impl IntoIterator<Item = Isa>) -> String {
    sets.into_iter().map(Isa::name).collect::<Vec<_>>().join(", ")
}

impl Isa {
    /// Every set, the fastest first.
    pub const ALL: [Self; 4] = [Self::Avx512, Self::Avx2, Self::Neon, Self::Portable];

    /// Its name, as [`VARIABLE`] has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Neon => "neon",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// Whether this processor has the set.
    pub fn is_present(self) -> bool {
        match self {
            Self::Portable => true,
            // In the order of little ends alone: kernels read parts of words.
            #[cfg(target_arch = "aarch64")]
            Self::Neon => cfg!(all(target_feature = "neon", target_endian = "little")),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vl")
            }
            _ => false,
        }
    }

    /// The sets of this processor, the fastest first.
    pub fn present() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|isa| isa.is_present())
    }

    /// Whether it multiplies bytes on this processor (AVX-512 VNNI).
    pub(crate) fn multiplies_bytes(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return self == Self::Avx512 && is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vnni");
        #[cfg(not(target_arch = "x86_64"))]
        false
    }

    /// The set that kernels use: the one that [`VARIABLE`] names, else the processor's fastest. The variable is read once.
    ///
    /// # Errors
    /// [`IsaError`] if there is no such set, or the processor lacks it.
    pub fn selected() -> Result<Self, IsaError> {
        static SELECTED: OnceLock<Result<Isa, IsaError>> = OnceLock::new();
        let select = || match std::env::var_os(VARIABLE) {
            Some(name) if !name.is_empty() => Self::named(&name.to_string_lossy()),
            _ => Ok(Self::fastest()),
        };
        SELECTED.get_or_init(select).clone()
    }

    /// The set called `name`, if the processor has it.
    fn named(name: &str) -> Result<Self, IsaError> {
        let isa: Self = name.parse()?;
        if isa.is_present() { Ok(isa) } else { Err(IsaError::Absent { isa }) }
    }

    fn fastest() -> Self {
        Self::present().next().unwrap_or(Self::Portable)
    }

    /// [`Self::selected`], or the processor's fastest set where the variable is wrong: what starts a run has told so before.
    pub fn best() -> Self {
        Self::selected().unwrap_or_else(|_| Self::fastest())
    }

    /// The sets that kernels may use, the fastest first: those of the processor up to [`Self::best`].
    pub fn usable() -> impl Iterator<Item = Self> {
        Self::present().filter(|&isa| isa <= Self::best())
    }

    /// What is in use, in words.
    pub fn description(self) -> String {
        #[cfg(target_arch = "x86_64")]
        if self == Self::Avx512 {
            let parts = [("IFMA", crate::modular::ifma::is_present()), ("VNNI", self.multiplies_bytes())];
            let list = |there: bool| {
                let names: Vec<_> = parts.iter().filter(|part| part.1 == there).map(|part| part.0).collect();
                names.join(" and ")
            };
            return match (list(true), list(false)) {
                (with, without) if without.is_empty() => format!("{self} with {with}"),
                (with, without) if with.is_empty() => format!("{self} without {without}"),
                (with, without) => format!("{self} with {with}, without {without}"),
            };
        }
        self.to_string()
    }
}

/// Whether the processor adds vectors in units of their own, beside those that multiply: all of AMD's with AVX-512 do, and none of Intel's.
pub(crate) fn has_adders() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: every processor of 64 bits tells its maker. (Newer tool chains know that.)
        #[allow(unused_unsafe)]
        let maker = unsafe { std::arch::x86_64::__cpuid(0) };
        [maker.ebx, maker.edx, maker.ecx].map(u32::to_le_bytes).as_flattened() == b"AuthenticAMD"
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Isa {
    type Err = IsaError;
    fn from_str(name: &str) -> Result<Self, IsaError> {
        let unknown = || IsaError::Unknown { name: name.to_owned() };
        Self::ALL.into_iter().find(|isa| isa.name() == name).ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    //! Does a name choose its set and nothing above it, and is a wrong one told with a remedy?
    use super::*;

    #[test]
    fn names_come_back_and_wrong_ones_are_told() {
        for isa in Isa::ALL {
            assert_eq!(isa.name().parse(), Ok(isa));
            match Isa::named(isa.name()) {
                Ok(named) => assert!(named == isa && isa.is_present()),
                Err(error) => assert!(!isa.is_present() && error == IsaError::Absent { isa }),
            }
        }
        assert_eq!(
            "avx".parse::<Isa>().unwrap_err().to_string(),
            "there is no instruction set \"avx\" (POLYFABRIC_ISA); the sets are avx512, avx2, neon, portable, and without the variable the processor's best is taken"
        );
        let absent = IsaError::Absent { isa: Isa::Avx512 }.to_string();
        let present = names(Isa::present());
        assert_eq!(
            absent,
            format!(
                "this processor does not have avx512 (POLYFABRIC_ISA); choose among {present}, or leave the variable unset"
            )
        );
    }

    #[test]
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    fn aarch64_has_neon() {
        assert_eq!(Isa::fastest(), Isa::Neon);
        assert!(Isa::present().eq([Isa::Neon, Isa::Portable]));
    }

    #[test]
    fn usable_sets_end_at_the_selected_one() {
        let usable: Vec<Isa> = Isa::usable().collect();
        assert_eq!(usable.first(), Some(&Isa::best()));
        assert_eq!(usable.last(), Some(&Isa::Portable));
        assert!(usable.is_sorted_by(|a, b| a > b));
    }
}
