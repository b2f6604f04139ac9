//! The components of a bootstrapping, and the levels of its phases.

use super::super::{
    LoweringError, PreparedTransform, RnsLowering, StepChooser, monomial_to_chebyshev, polynomial_depth,
};
use crate::rns::approximation::ApproximationError;
use crate::rns::approximation::embedding::{Factor, Packing, coefficients_to_slots, slots_to_coefficients};
use crate::rns::approximation::modular_reduction::{
    Base, Method, ModularReduction, ReductionLiteral, overflow_probability_log2,
};
use crate::rns::homomorphic::{Complex, Diagonals, Values};
use crate::rns::kernel::LimbSet;
use crate::rns::levels::Chain;
use polyfabric_schemes::ckks::BootstrapOrder;
use polyfabric_schemes::rns::{GadgetLiteral, LimbId};
use thiserror::Error;

/// Bits by which each level of slots to coefficients lowers the scale. Coefficients are smaller than slots, so errors matter more in
/// them.
const FALLING_BITS: f64 = 3.0;

/// The secret under which the modulus is raised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BootstrappingSecret {
    /// The scheme's own secret.
    Dense {
        /// Expected Hamming weight.
        hamming_weight: usize,
    },
    /// A sparse ephemeral secret; only ciphertexts modulo q_0 are switched to it.
    Encapsulated {
        /// Hamming weight.
        hamming_weight: usize,
        /// Special primes of the switch to it; their product is at least any prime of q_0. The sparse secret is used only with these primes
        /// and q_0, which determine its security.
        special: Vec<LimbId>,
    },
}

impl BootstrappingSecret {
    pub fn hamming_weight(&self) -> usize {
        match self {
            Self::Dense { hamming_weight } | Self::Encapsulated { hamming_weight, .. } => *hamming_weight,
        }
    }
}

/// A bootstrapping as specified, not checked.
#[derive(Clone, Debug, PartialEq)]
pub struct BootstrappingLiteral {
    /// Order of the phases. In slim order the operand needs the levels of slots to coefficients, in full order none.
    pub order: BootstrapOrder,
    /// n, a power of two up to N/2: period of the messages.
    pub slots: usize,
    /// The secret under which the modulus is raised.
    pub secret: BootstrappingSecret,
    /// The chain's highest levels, for coefficients to slots. A transform of n slots has log2 n butterflies and takes at most that many
    /// levels (one for one slot); the modulus is then raised to a lower level.
    pub coefficients_to_slots: usize,
    /// Levels for slots to coefficients. Unused ones are available to the result in full order; in slim order the operand needs fewer.
    pub slots_to_coefficients: usize,
    pub reduction: ReductionLiteral,
}

/// Why a bootstrapping is invalid.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum BootstrappingError {
    #[error("bootstrapping of {slots} slots in a ring of {most}; take a power of two up to {most}")]
    Slots {
        slots: usize,
        /// N/2.
        most: usize,
    },
    #[error("{phase} in 0 levels; give it at least one")]
    TransformLevels { phase: &'static str },
    #[error(
        "bootstrapping takes {taken} levels ({coefficients_to_slots} for coefficients to slots, {reduction} for the modular reduction, {slots_to_coefficients} for slots to coefficients), but the chain has {levels}; give the chain more levels, or bootstrapping fewer"
    )]
    Levels { taken: usize, coefficients_to_slots: usize, reduction: usize, slots_to_coefficients: usize, levels: usize },
    #[error(
        "the switch to the sparse secret has special primes of {special:.1} bits, but the first modulus has {modulus:.1}; add special primes of as many bits"
    )]
    EncapsulationPrimes {
        /// log2 of their product.
        special: f64,
        /// log2 of the largest prime of q_0.
        modulus: f64,
    },
    #[error(
        "messages of scale 2^{scale:.1} are up to 2^{ratio:.1} of the first modulus 2^{modulus:.1}, but the modular reduction supports 2^{wanted:.1}; enlarge the first prime or lower the scale"
    )]
    MessageRatio {
        /// log2 of the scale at level 0.
        scale: f64,
        /// log2 q_0.
        modulus: f64,
        ratio: f64,
        /// log2 of what the reduction is made for.
        wanted: f64,
    },
    #[error("tables with the order full; take the order slim, which leaves results in slots")]
    TablesOrder,
    #[error(transparent)]
    Approximation(#[from] ApproximationError),
    #[error(transparent)]
    Lowering(#[from] LoweringError),
}

/// A checked bootstrapping for one chain, with its polynomials and matrices.
#[derive(Clone, Debug)]
pub struct Bootstrapping {
    literal: BootstrappingLiteral,
    packing: Packing,
    reduction: ModularReduction,
    reduction_levels: usize,
    reduction_level: usize,
    top: usize,
    to_slots: Vec<PreparedTransform>,
    to_coefficients: Vec<PreparedTransform>,
    encapsulation: Option<GadgetLiteral>,
    coefficients: usize,
}

impl Bootstrapping {
    /// Checks `literal` for `chain` and computes polynomials and matrices. The hoisting of `choice` determines the steps of the matrices.
    ///
    /// # Errors
    /// [`BootstrappingError`].
    pub fn new(literal: BootstrappingLiteral, chain: &Chain, choice: &RnsLowering) -> Result<Self, BootstrappingError> {
        let most = chain.degree().get() / 2;
        let slots = literal.slots;
        if !slots.is_power_of_two() || slots > most {
            return Err(BootstrappingError::Slots { slots, most });
        }
        let packing = if slots == most { Packing::Full } else { Packing::Sparse };
        let butterflies = slots.ilog2().max(1) as usize;
        for (phase, levels) in [
            ("coefficients to slots", literal.coefficients_to_slots),
            ("slots to coefficients", literal.slots_to_coefficients),
        ] {
            if levels == 0 {
                return Err(BootstrappingError::TransformLevels { phase });
            }
        }
        let reduction = ModularReduction::new(literal.reduction)?;
        if matches!(literal.reduction.method, Method::Tables { .. }) && literal.order != BootstrapOrder::Slim {
            return Err(BootstrappingError::TablesOrder);
        }
        let reduction_levels = reduction_levels(&reduction);
        let joining = usize::from(literal.order == BootstrapOrder::Slim && packing == Packing::Sparse);
        let taken = literal.coefficients_to_slots + reduction_levels + joining + literal.slots_to_coefficients;
        if taken > chain.top() {
            return Err(BootstrappingError::Levels {
                taken,
                coefficients_to_slots: literal.coefficients_to_slots,
                reduction: reduction_levels,
                slots_to_coefficients: literal.slots_to_coefficients,
                levels: chain.top(),
            });
        }
        let (scale, modulus) = (chain.scale(0).real().log2(), chain.log2_modulus(0));
        // Messages up to 1 in the slots have coefficients up to the scale.
        let wanted = literal.reduction.largest_message.log2();
        if scale - modulus > wanted + 0.01 {
            return Err(BootstrappingError::MessageRatio { scale, modulus, ratio: scale - modulus, wanted });
        }
        let encapsulation = match &literal.secret {
            BootstrappingSecret::Dense { .. } => None,
            BootstrappingSecret::Encapsulated { special, .. } => {
                // An empty sum of logarithms is -0.0; normalize it.
                let bits = chain.log2_product(&LimbSet::new(special.iter().copied())) + 0.0;
                let limbs = chain.limbs(0);
                let digit = limbs.iter().map(|limb| chain.log2_product(&LimbSet::one(limb))).fold(0.0, f64::max);
                if bits + 1.0 < digit {
                    return Err(BootstrappingError::EncapsulationPrimes { special: bits, modulus: digit });
                }
                let digits = limbs.iter().map(|limb| vec![limb]).collect();
                Some(GadgetLiteral { digits, sub_digit_bits: None, special: special.clone() })
            }
        };
        let chooser = |level: usize| StepChooser::new(chain, choice, level);
        // The modular reduction stays at its levels even if the transforms use fewer.
        let reduction_level = chain.top() - literal.coefficients_to_slots;
        let top = reduction_level + literal.coefficients_to_slots.min(butterflies);
        // The half compensates that z plus its conjugate is twice a part.
        let to_slots = coefficients_to_slots(slots, packing, top - reduction_level, 0.5);
        let to_slots = prepare(to_slots, |index| chooser(top - index))?;
        let to_coefficients_levels = literal.slots_to_coefficients.min(butterflies);
        let start = match literal.order {
            BootstrapOrder::Full => reduction_level - reduction_levels,
            BootstrapOrder::Slim => to_coefficients_levels,
        };
        // Slim bootstrapping starts with repeating slots, not with adjacent real and imaginary parts.
        let before = if literal.order == BootstrapOrder::Slim { Packing::Full } else { packing };
        let to_coefficients = slots_to_coefficients(slots, before, to_coefficients_levels, 1.0);
        let to_coefficients = prepare(to_coefficients, |index| chooser(start - index))?;
        let coefficients = 2 * slots;
        Ok(Self {
            literal,
            packing,
            reduction,
            reduction_levels,
            reduction_level,
            top,
            to_slots,
            to_coefficients,
            encapsulation,
            coefficients,
        })
    }

    pub fn literal(&self) -> &BootstrappingLiteral {
        &self.literal
    }

    pub fn packing(&self) -> Packing {
        self.packing
    }

    pub fn reduction(&self) -> &ModularReduction {
        &self.reduction
    }

    pub fn reduction_levels(&self) -> usize {
        self.reduction_levels
    }

    /// The level that operands are dropped to: 0, or the levels of slots to coefficients.
    pub fn input_level(&self) -> usize {
        match self.literal.order {
            BootstrapOrder::Full => 0,
            BootstrapOrder::Slim => self.to_coefficients.len(),
        }
    }

    pub fn output_level(&self) -> usize {
        let after = self.reduction_level - self.reduction_levels;
        match self.literal.order {
            BootstrapOrder::Full => after - self.to_coefficients.len(),
            // Sparse packing ends with a product that combines both parts.
            BootstrapOrder::Slim => after - usize::from(self.packing == Packing::Sparse),
        }
    }

    /// The highest level of a program's own values: that of the results, or with tables the level where these start, whose scales are the
    /// chain's too.
    pub fn highest_level(&self) -> usize {
        match self.literal.reduction.method {
            Method::Tables { .. } => self.table_level(),
            Method::Cosine | Method::Exponential => self.output_level(),
        }
    }

    /// Level of the vectors at the start of the modular reduction.
    pub fn reduction_level(&self) -> usize {
        self.reduction_level
    }

    /// Scale of the vectors at the start of the modular reduction such that it ends with `target`. From the last level upward, each level's
    /// scale is the one whose square, rescaled, is the scale below. So levels may drop different prime products, and deviations are halved
    /// at each level.
    pub fn reduction_scale(&self, chain: &Chain, target: f64) -> f64 {
        self.scale_above(chain, target, self.reduction_level() - self.reduction_levels, self.reduction_level())
    }

    /// Level of e^(2πix), where the tables start.
    pub(super) fn table_level(&self) -> usize {
        let levels = self.literal.reduction.method.table_levels() as usize;
        self.reduction_level - self.reduction_levels + levels
    }

    /// Scale of the result of slots to coefficients. For tables it is q_0, so that a slot is an angle in turns.
    pub(super) fn coefficient_scale(&self, chain: &Chain) -> f64 {
        match (self.literal.reduction.method, self.literal.order) {
            (Method::Tables { .. }, _) => chain.log2_modulus(0).exp2(),
            (_, BootstrapOrder::Full) => chain.scale(self.output_level()).real(),
            (_, BootstrapOrder::Slim) => chain.scale(0).real(),
        }
    }

    /// Scale of the result of coefficients to slots, for a message that was raised at scale `message_scale`.
    pub(super) fn transformed_scale(&self, chain: &Chain, message_scale: f64) -> f64 {
        match self.literal.reduction.method {
            Method::Tables { .. } => {
                let (level, from) = (self.table_level(), self.reduction_level);
                self.scale_above(chain, chain.scale(level).real(), level, from)
            }
            Method::Cosine | Method::Exponential => {
                self.reduction_scale(chain, self.reduced_scale(chain, message_scale))
            }
        }
    }

    /// The scale at level `from` whose repeated square is `target` at level `to`.
    pub(super) fn scale_above(&self, chain: &Chain, target: f64, to: usize, from: usize) -> f64 {
        (to + 1..=from).fold(target, |scale, level| (scale * chain.dropped_product(level)).sqrt())
    }

    /// Scale at the end of the modular reduction, for a raised message of scale `message_scale`: in slim order the result's, otherwise a
    /// larger one that slots to coefficients lower.
    pub fn reduced_scale(&self, chain: &Chain, message_scale: f64) -> f64 {
        let last = self.reduction_level() - self.reduction_levels;
        if self.literal.order == BootstrapOrder::Slim && self.packing == Packing::Full {
            return chain.scale(last).real() / self.message_factor(chain, message_scale);
        }
        let levels = self.to_coefficients.len() as f64;
        let result = chain.scale(self.output_level()).real() * (FALLING_BITS * levels).exp2();
        result / self.message_factor(chain, message_scale)
    }

    /// 2π·Δ/q_0: converts the scale of sin(2π·m/q_0) to that of m/Δ.
    pub fn message_factor(&self, chain: &Chain, message_scale: f64) -> f64 {
        std::f64::consts::TAU * message_scale / chain.log2_modulus(0).exp2()
    }

    /// The level that the modulus is raised to: the chain's highest, minus the levels that coefficients to slots do not use.
    pub fn top(&self) -> usize {
        self.top
    }

    /// The matrices of coefficients to slots, in order of application.
    pub fn to_slots(&self) -> &[PreparedTransform] {
        &self.to_slots
    }

    /// The matrices of slots to coefficients, in order of application.
    pub fn to_coefficients(&self) -> &[PreparedTransform] {
        &self.to_coefficients
    }

    /// The gadget of the key to the sparse secret, if any: only q_0 and its special primes.
    pub fn encapsulation(&self) -> Option<&GadgetLiteral> {
        self.encapsulation.as_ref()
    }

    /// log2 of a bound of the probability that an integer part leaves the supported range; −∞ if this is impossible.
    pub fn failure_probability_log2(&self) -> f64 {
        overflow_probability_log2(self.literal.secret.hamming_weight(), self.literal.reduction.range, self.coefficients)
    }
}

/// Levels of the first polynomial, the doublings, and the arcsine or the tables.
fn reduction_levels(reduction: &ModularReduction) -> usize {
    let arcsine = reduction.arcsine().map_or(0, |arcsine| polynomial_depth(arcsine.coefficients().len() - 1));
    polynomial_depth(base_coefficients(reduction).len() - 1)
        + reduction.literal().doublings
        + arcsine
        + reduction.literal().method.table_levels() as usize
}

fn complex(values: &[f64]) -> Vec<Complex> {
    values.iter().map(|&value| value.into()).collect()
}

/// Chebyshev coefficients of the polynomial before the doublings.
pub(super) fn base_coefficients(reduction: &ModularReduction) -> Vec<Complex> {
    match reduction.base() {
        Base::Cosine(series) => complex(series.coefficients()),
        Base::Exponential(taylor) => monomial_to_chebyshev(taylor),
        Base::Circle(coefficients) => coefficients.clone(),
    }
}

fn prepare<'a>(
    factors: Vec<Factor>,
    chooser: impl Fn(usize) -> StepChooser<'a>,
) -> Result<Vec<PreparedTransform>, LoweringError> {
    let prepared = factors.into_iter().enumerate().map(|(index, factor)| {
        let by_offset = factor.diagonals.into_iter().map(|(offset, entries)| (offset, Values::Complex(entries.into())));
        PreparedTransform::new(&Diagonals { by_offset: by_offset.collect() }, factor.period, chooser(index))
    });
    prepared.collect()
}
