//! Selects the instruction set for all kernels.
//!
//! It is the processor's best set, or a smaller one named by the environment variable [`VARIABLE`], so that every path can be tested and measured
//! on one processor. Kernels use the sets of [`Isa::usable`]; an explicit set (`with_isa`) only has to be present.

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;
use thiserror::Error;

/// The environment variable that selects an instruction set.
pub const VARIABLE: &str = "POLYFABRIC_ISA";

/// An instruction set with its own vector kernels, in increasing order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Isa {
    /// Plain Rust, on any processor.
    Portable,
    /// NEON, which every aarch64 processor has.
    Neon,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512 F, DQ, BW and VL; some kernels also use IFMA with VBMI, and VNNI, if present.
    Avx512,
}

/// Why no instruction set could be selected.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum IsaError {
    #[error("there is no instruction set {name:?} ({VARIABLE}); the sets are {known}, and without the variable the processor's best is used", known = names(Isa::ALL))]
    Unknown { name: String },
    #[error("this processor does not have {isa} ({VARIABLE}); choose among {present}, or leave the variable unset", present = names(Isa::present()))]
    Absent { isa: Isa },
}

fn names(sets: impl IntoIterator<Item = Isa>) -> String {
    sets.into_iter().map(Isa::name).collect::<Vec<_>>().join(", ")
}

impl Isa {
    /// Every set, best first.
    pub const ALL: [Self; 4] = [Self::Avx512, Self::Avx2, Self::Neon, Self::Portable];

    /// Its name in [`VARIABLE`].
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
            // Little-endian only, because kernels read parts of words.
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

    /// The sets of this processor, best first.
    pub fn present() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|isa| isa.is_present())
    }

    /// Whether the processor has byte products (AVX-512 VNNI).
    pub(crate) fn multiplies_bytes(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return self == Self::Avx512 && is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vnni");
        #[cfg(not(target_arch = "x86_64"))]
        false
    }

    /// The selected set: the one named by [`VARIABLE`], or the processor's best. The variable is read once.
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

    /// The set called `name`.
    ///
    /// # Errors
    /// [`IsaError`] if there is none, or not on this processor.
    pub fn named(name: &str) -> Result<Self, IsaError> {
        let isa: Self = name.parse()?;
        if isa.is_present() { Ok(isa) } else { Err(IsaError::Absent { isa }) }
    }

    /// The processor's best set, without regard to [`VARIABLE`].
    pub fn fastest() -> Self {
        Self::present().next().unwrap_or(Self::Portable)
    }

    /// [`Self::selected`], or the processor's best set if the variable is invalid, which was already reported at start-up.
    pub fn best() -> Self {
        Self::selected().unwrap_or_else(|_| Self::fastest())
    }

    /// The sets that kernels may use, best first: those of the processor up to [`Self::best`].
    pub fn usable() -> impl Iterator<Item = Self> {
        Self::present().filter(|&isa| isa <= Self::best())
    }

    /// A description for users.
    pub fn description(self) -> String {
        #[cfg(target_arch = "x86_64")]
        if self == Self::Avx512 {
            let parts = [("IFMA", multiplies_words()), ("VNNI", self.multiplies_bytes())];
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

/// Whether this processor multiplies 52-bit words (AVX-512 IFMA) and permutes bytes (BW, VBMI), as every processor with IFMA does.
#[cfg(target_arch = "x86_64")]
pub(crate) fn multiplies_words() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512ifma")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vbmi")
}

/// Whether the processor adds vectors in separate units from multiplications: all AMD processors with AVX-512 do, no Intel ones.
pub(crate) fn has_adders() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: every 64-bit processor has this instruction. (Newer toolchains know that.)
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
