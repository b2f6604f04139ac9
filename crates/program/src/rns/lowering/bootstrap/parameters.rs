//! What a bootstrapping is made of, and which levels its phases take.

use super::super::{
    LoweringError, PreparedTransform, RnsLowering, StepChooser, monomial_to_chebyshev, polynomial_depth,
};
use crate::rns::approximation::ApproximationError;
use crate::rns::approximation::embedding::{Factor, Packing, coefficients_to_slots, slots_to_coefficients};
use crate::rns::approximation::modular_reduction::{
    Base, ModularReduction, ReductionLiteral, overflow_probability_log2,
};
use crate::rns::homomorphic::{Complex, Diagonals, Values};
use crate::rns::kernel::LimbSet;
use crate::rns::levels::Chain;
use polyfabric_schemes::ckks::BootstrapOrder;
use polyfabric_schemes::rns::{GadgetLiteral, LimbId};
use thiserror::Error;

/// Bits by which every level of slots to coefficients lowers the scale: coefficients are smaller than slots, so errors weigh more
/// in them.
const FALLING_BITS: f64 = 3.0;

/// Under which secret the modulus is raised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BootstrappingSecret {
    /// The scheme's own, of so many non-zero coefficients (expected).
    Dense {
        /// Its Hamming weight.
        hamming_weight: usize,
    },
    /// A sparse ephemeral one, which only ciphertexts modulo q_0 are switched to.
    Encapsulated {
        /// Its Hamming weight.
        hamming_weight: usize,
        /// Special primes of the switch to it, with a product not below any prime of q_0. Together with q_0 they are all the modulus that the
        /// sparse secret is ever used with, so its security is that of log2 q_0 + log2 of their product bits.
        special: Vec<LimbId>,
    },
}

impl BootstrappingSecret {
    /// Its Hamming weight.
    pub fn hamming_weight(&self) -> usize {
        match self {
            Self::Dense { hamming_weight } | Self::Encapsulated { hamming_weight, .. } => *hamming_weight,
        }
    }
}

/// A bootstrapping as written. Nothing about it has been checked.
#[derive(Clone, Debug, PartialEq)]
pub struct BootstrappingLiteral {
    /// Which phase comes last. In slim order the operand has to have as many levels as slots to coefficients takes; in full order none.
    pub order: BootstrapOrder,
    /// n, a power of two up to N/2: messages repeat after as many slots.
    pub slots: usize,
    /// Under which secret the modulus is raised.
    pub secret: BootstrappingSecret,
    /// Levels of the chain for coefficients to slots, its highest. A transform of n slots has log2 n butterflies and takes no more levels than
    /// that (one for one slot): the modulus is then raised to so much less.
    pub coefficients_to_slots: usize,
    /// Levels of the chain for slots to coefficients. Those that are not taken are left to the result in full order; in slim order the operand
    /// needs so many fewer.
    pub slots_to_coefficients: usize,
    /// The modular reduction.
    pub reduction: ReductionLiteral,
}

/// Why a bootstrapping cannot be.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum BootstrappingError {
    /// The number of slots.
    #[error("bootstrapping of {slots} slots in a ring of {most}; take a power of two up to as many")]
    Slots {
        /// n.
        slots: usize,
        /// N/2.
        most: usize,
    },
    /// A transform without a level.
    #[error("{phase} in 0 levels; give it at least one")]
    TransformLevels {
        /// Which transform.
        phase: &'static str,
    },
    /// The chain is too short.
    #[error(
        "bootstrapping takes {taken} levels ({coefficients_to_slots} for coefficients to slots, {reduction} for the modular reduction, {slots_to_coefficients} for slots to coefficients), and the chain has {levels}; give the chain more levels, or bootstrapping fewer"
    )]
    Levels {
        /// Levels in all.
        taken: usize,
        /// Of coefficients to slots.
        coefficients_to_slots: usize,
        /// Of the modular reduction.
        reduction: usize,
        /// Of slots to coefficients.
        slots_to_coefficients: usize,
        /// Highest level of the chain.
        levels: usize,
    },
    /// Special primes of the switch to the sparse secret that are missing or too small.
    #[error(
        "the switch to the sparse secret has special primes of {special:.1} bits for a first modulus of {modulus:.1}; name special primes with as many bits"
    )]
    EncapsulationPrimes {
        /// log2 of their product.
        special: f64,
        /// log2 of the largest prime of q_0.
        modulus: f64,
    },
    /// Messages that are not small against q_0.
    #[error(
        "messages of scale 2^{scale:.1} modulo 2^{modulus:.1} are up to 2^{ratio:.1} of it, and the modular reduction is made for 2^{wanted:.1}; enlarge the first prime or lower the scale"
    )]
    MessageRatio {
        /// log2 of the scale at level 0.
        scale: f64,
        /// log2 q_0.
        modulus: f64,
        /// Their difference.
        ratio: f64,
        /// log2 of what the reduction is made for.
        wanted: f64,
    },
    /// No such polynomial.
    #[error(transparent)]
    Approximation(#[from] ApproximationError),
    /// No such transform.
    #[error(transparent)]
    Lowering(#[from] LoweringError),
}

/// A checked bootstrapping for one chain: polynomials and matrices made.
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
    /// Checks `literal` for `chain`, and makes polynomials and matrices. `choice` says how rotations are hoisted, by which the steps
    /// of the matrices are chosen.
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
                // The sum of no logarithm is -0.
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
        // The modular reduction stays at the levels that were made for it, whatever the transforms take.
        let reduction_level = chain.top() - literal.coefficients_to_slots;
        let top = reduction_level + literal.coefficients_to_slots.min(butterflies);
        // A half, as z and its conjugate add to twice a part.
        let to_slots = coefficients_to_slots(slots, packing, top - reduction_level, 0.5);
        let to_slots = prepare(to_slots, |index| chooser(top - index))?;
        let to_coefficients_levels = literal.slots_to_coefficients.min(butterflies);
        let start = match literal.order {
            BootstrapOrder::Full => reduction_level - reduction_levels,
            BootstrapOrder::Slim => to_coefficients_levels,
        };
        // Slim bootstrapping begins with slots that repeat, not with real and imaginary parts beside each other.
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

    /// As written.
    pub fn literal(&self) -> &BootstrappingLiteral {
        &self.literal
    }

    /// How slots are packed.
    pub fn packing(&self) -> Packing {
        self.packing
    }

    /// The modular reduction.
    pub fn reduction(&self) -> &ModularReduction {
        &self.reduction
    }

    /// Levels of the modular reduction.
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

    /// The level of the result.
    pub fn output_level(&self) -> usize {
        let after = self.reduction_level - self.reduction_levels;
        match self.literal.order {
            BootstrapOrder::Full => after - self.to_coefficients.len(),
            // Sparse packing ends with a product that brings both parts together.
            BootstrapOrder::Slim => after - usize::from(self.packing == Packing::Sparse),
        }
    }

    /// The level of the vectors that the modular reduction begins with.
    pub fn reduction_level(&self) -> usize {
        self.reduction_level
    }

    /// The scale of the vectors that the modular reduction begins with, if it is to end with `target`: each level's scale, from the last one
    /// upwards, is the one whose square, rescaled, is the scale below. So levels may drop different products of primes, and
    /// deviations are halved from level to level.
    pub fn reduction_scale(&self, chain: &Chain, target: f64) -> f64 {
        self.scale_above(chain, target, self.reduction_level() - self.reduction_levels, self.reduction_level())
    }

    /// The scale at level `from` whose repeated square is `target` at level `to`.
    pub(super) fn scale_above(&self, chain: &Chain, target: f64, to: usize, from: usize) -> f64 {
        (to + 1..=from).fold(target, |scale, level| (scale * chain.dropped_product(level)).sqrt())
    }

    /// The scale that the modular reduction ends with, for a message of `message_scale` that was raised: in slim bootstrapping the
    /// result's, else a larger one, that slots to coefficients bring down.
    pub fn reduced_scale(&self, chain: &Chain, message_scale: f64) -> f64 {
        let last = self.reduction_level() - self.reduction_levels;
        if self.literal.order == BootstrapOrder::Slim && self.packing == Packing::Full {
            return chain.scale(last).real() / self.message_factor(chain, message_scale);
        }
        let levels = self.to_coefficients.len() as f64;
        let result = chain.scale(self.output_level()).real() * (FALLING_BITS * levels).exp2();
        result / self.message_factor(chain, message_scale)
    }

    /// 2π·Δ/q_0: what the scale of sin(2π·m/q_0) is multiplied by to be that of m/Δ.
    pub fn message_factor(&self, chain: &Chain, message_scale: f64) -> f64 {
        std::f64::consts::TAU * message_scale / chain.log2_modulus(0).exp2()
    }

    /// The level that the modulus is raised to: the chain's highest, less what coefficients to slots do not take.
    pub fn top(&self) -> usize {
        self.top
    }

    /// The matrices of coefficients to slots, first factor first.
    pub fn to_slots(&self) -> &[PreparedTransform] {
        &self.to_slots
    }

    /// The matrices of slots to coefficients, first factor first.
    pub fn to_coefficients(&self) -> &[PreparedTransform] {
        &self.to_coefficients
    }

    /// The gadget of the key to the sparse secret, if there is one: modulo q_0 and its special primes only.
    pub fn encapsulation(&self) -> Option<&GadgetLiteral> {
        self.encapsulation.as_ref()
    }

    /// log2 of a bound of the probability that one bootstrapping fails, because an integer part leaves the range: −∞ where it cannot.
    pub fn failure_probability_log2(&self) -> f64 {
        overflow_probability_log2(self.literal.secret.hamming_weight(), self.literal.reduction.range, self.coefficients)
    }
}

/// Levels of the first polynomial, the doublings, and the arcsine's polynomial.
fn reduction_levels(reduction: &ModularReduction) -> usize {
    let arcsine = reduction.arcsine().map_or(0, |arcsine| polynomial_depth(arcsine.coefficients().len() - 1));
    polynomial_depth(base_coefficients(reduction).len() - 1) + reduction.literal().doublings + arcsine
}

fn complex(values: &[f64]) -> Vec<Complex> {
    values.iter().map(|&value| value.into()).collect()
}

/// The Chebyshev coefficients of the polynomial that the doublings begin with.
pub(super) fn base_coefficients(reduction: &ModularReduction) -> Vec<Complex> {
    match reduction.base() {
        Base::Cosine(series) => complex(series.coefficients()),
        Base::Exponential(taylor) => monomial_to_chebyshev(taylor),
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
