//! Parameters of the lowering, chosen by a runtime or a machine.

use crate::rns::kernel::Conversion;
use crate::rns::levels::Chain;
use polyfabric_schemes::joint::Smudging;
use polyfabric_schemes::rns::GadgetLiteral;
use std::fmt;
use std::sync::Arc;

/// Order of a rotation's two steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RotationOrder {
    /// Key switch, then automorphism: rotations of one ciphertext can share its digits.
    SwitchFirst,
    /// Automorphism, then key switch (F1, Listing 2).
    AutomorphismFirst,
}

/// Work shared by rotations of one ciphertext.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hoisting {
    None,
    /// The digits.
    Single,
    /// The digits and, in sums of rotations, the ModDown (J.-P. Bossuat et al., EUROCRYPT 2021).
    Double,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rescaling {
    /// Immediately.
    Eager,
    /// At the first operation that needs the level's scale (the waterline). A sum of products is rescaled once.
    Waterline,
    /// Later still: after rotations, so that the rescaling also divides their key-switch error.
    AfterRotations,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relinearisation {
    /// Immediately.
    Eager,
    /// At the first operation other than addition. A sum of products is relinearized once.
    Lazy,
}

/// Level of an operation that could run at several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LevelPolicy {
    /// The lowest that its readers allow, for fewest limbs.
    Lowest,
    /// The highest that its operands allow.
    Highest,
}

/// How to choose the baby steps and giant steps of a matrix.
#[derive(Clone, Debug, PartialEq)]
pub enum StepRule {
    /// Fewest word products.
    Products,
    /// Least time on a machine that loads keys, prepares diagonals and computes rotations in parallel.
    Rates(StepRates),
    /// Baby steps from 0 to this power of two, exclusive.
    Width(u32),
    /// One rotation per diagonal and no giant steps: the diagonal method.
    Diagonals,
    /// Tries every width on a machine.
    Search(Search),
}

/// A search shared by several lowerings.
#[derive(Clone, Debug)]
pub struct Search(pub Arc<dyn StepSearch>);

impl PartialEq for Search {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Finds the width of a matrix's baby steps by trying.
pub trait StepSearch: fmt::Debug + Send + Sync {
    /// The width for `matrix`: a power of two, and a multiple of any common divisor of the offsets.
    fn width(&self, matrix: &MatrixProduct<'_>) -> i64;

    /// A rule without trials, for lowerings that are only compared.
    fn untried(&self) -> StepRule;

    /// The trials for each matrix so far, in order.
    fn tried(&self) -> Vec<Arc<TriedMatrix>>;
}

/// All trials of one matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct TriedMatrix {
    /// Nonzero diagonals.
    pub diagonals: usize,
    pub level: usize,
    /// Limbs of Q at that level.
    pub limbs: usize,
    /// The chosen width.
    pub width: i64,
    /// In ascending order of width.
    pub tried: Vec<TriedWidth>,
}

/// A matrix product with one width.
#[derive(Clone, Debug, PartialEq)]
pub struct TriedWidth {
    pub width: i64,
    /// Baby steps, including 0.
    pub babies: usize,
    /// Giant steps, including 0.
    pub giants: usize,
    /// Latency, from first load to last store; `None` if the machine cannot execute it.
    pub seconds: Option<f64>,
    /// Further figures of the machine, by name.
    pub figures: Vec<(&'static str, f64)>,
}

/// The properties of a matrix product that determine its steps.
#[derive(Clone, Copy, Debug)]
pub struct MatrixProduct<'a> {
    pub chain: &'a Chain,
    /// The lowering, apart from its steps.
    pub choice: &'a RnsLowering,
    pub level: usize,
    /// Offsets of the nonzero diagonals, ascending, between −period/2 and period/2.
    pub offsets: &'a [i64],
    /// Period of the vectors, in slots.
    pub period: usize,
}

/// Order of a matrix's products of rotated vectors and diagonals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SumOrder {
    /// By baby step, adding to the sums of all giant steps, so that a rotated vector is used immediately (Osiris, section V).
    ByBabySteps,
    /// All baby steps first, then one giant step's sum after the other (S. Halevi and V. Shoup, CRYPTO 2018; Osiris, algorithm 2).
    ByGiantSteps,
}

/// Cost of steps on a machine, in any unit of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepRates {
    /// Loading one limb of a key row.
    pub key_limb: f64,
    /// Computing or loading one limb of a diagonal.
    pub diagonal_limb: f64,
    /// One limb produced by a modulus change.
    pub raised_limb: f64,
    /// One limb of an automorphism.
    pub automorphism_limb: f64,
    /// Limbs of polynomials that fit on chip at once.
    pub limbs_at_hand: usize,
}

/// Parameters of the lowering from homomorphic to kernel program.
#[derive(Clone, Debug, PartialEq)]
pub struct RnsLowering {
    /// Decomposition for key switches.
    pub gadget: GadgetLiteral,
    /// Base conversion of digits.
    pub conversion: Conversion,
    /// Base conversion in divisions.
    pub division: Conversion,
    pub rotation: RotationOrder,
    pub hoisting: Hoisting,
    /// Baby steps and giant steps of matrices.
    pub steps: StepRule,
    pub sums: SumOrder,
    /// Maximum bits of a coefficient of a matrix's diagonal, sign included; `None` for no limit. A matrix whose scale would exceed it is
    /// encoded with a smaller scale, and the ciphertext is multiplied by the power of two first.
    pub diagonal_bits: Option<u32>,
    pub rescaling: Rescaling,
    pub relinearisation: Relinearisation,
    /// Whether the ModDown after a relinearization also drops the primes of a rescaling.
    pub fused_rescale: bool,
    pub levels: LevelPolicy,
    /// Level of CKKS outputs that nothing else determines; above 0 if values need a larger modulus.
    pub output_level: usize,
    /// κ of the smudging noise, if the keys have several owners ([`polyfabric_schemes::joint::Smudging`]).
    pub smudging_bits: f64,
}

impl RnsLowering {
    /// The fastest lowering on a CPU: shared digits, late relinearizations and rescalings, and both in one division.
    pub fn new(gadget: GadgetLiteral) -> Self {
        Self {
            gadget,
            conversion: Conversion::Balanced,
            division: Conversion::Balanced,
            rotation: RotationOrder::SwitchFirst,
            hoisting: Hoisting::Single,
            steps: StepRule::Products,
            sums: SumOrder::ByBabySteps,
            diagonal_bits: None,
            rescaling: Rescaling::Waterline,
            relinearisation: Relinearisation::Lazy,
            fused_rescale: true,
            levels: LevelPolicy::Lowest,
            output_level: 0,
            smudging_bits: Smudging::LEAST_BITS,
        }
    }

    /// The lowering without trials; `None` if its step rule makes none.
    pub fn untried(&self) -> Option<Self> {
        match &self.steps {
            StepRule::Search(search) => Some(Self { steps: search.0.untried(), ..self.clone() }),
            _ => None,
        }
    }
}
