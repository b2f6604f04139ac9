//! The typed choices that a runtime or a machine supplies to the lowering.

use crate::rns::kernel::Conversion;
use crate::rns::levels::Chain;
use polyfabric_schemes::rns::GadgetLiteral;
use std::fmt;
use std::sync::Arc;

/// Which of a rotation's two steps comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RotationOrder {
    /// Key switch, then automorphism: rotations of one ciphertext can share its digits.
    SwitchFirst,
    /// Automorphism, then key switch (F1, Listing 2).
    AutomorphismFirst,
}

/// What rotations of one ciphertext share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hoisting {
    /// Nothing.
    None,
    /// The digits.
    Single,
    /// The digits, and in sums of rotations the division by P (J.-P. Bossuat et al., EUROCRYPT 2021).
    Double,
}

/// When a product is rescaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rescaling {
    /// At once.
    Eager,
    /// At the waterline: where the first operation that cannot bear the larger scale reads it. A sum of products is rescaled once.
    Waterline,
    /// Later still: rotations keep a product one, so the error of their key switch is divided with it.
    AfterRotations,
}

/// When a product is relinearised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relinearisation {
    /// At once.
    Eager,
    /// Where an operation other than addition reads it: a sum of products is relinearised once.
    Lazy,
}

/// At which level an operation runs that could run at several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LevelPolicy {
    /// At the lowest that what follows allows: fewest limbs.
    Lowest,
    /// At the highest that its operands allow.
    Highest,
}

/// By what the numbers of baby steps and giant steps of a matrix are chosen.
#[derive(Clone, Debug, PartialEq)]
pub enum StepRule {
    /// The fewest products of words.
    Products,
    /// The least time of a machine on which keys come, diagonals are made and rotations are computed side by side.
    Rates(StepRates),
    /// Baby steps from 0 to one less than that, a power of two.
    Width(u32),
    /// A rotation for each diagonal, and no giant step: the diagonal method.
    Diagonals,
    /// What a machine finds by trying the product alone with each width.
    Search(Search),
}

/// A search that lowerings share.
#[derive(Clone, Debug)]
pub struct Search(pub Arc<dyn StepSearch>);

impl PartialEq for Search {
    /// Whether it is the same search.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Finds the width of the runs that the offsets of a matrix are cut into, by trying.
pub trait StepSearch: fmt::Debug + Send + Sync {
    /// The width for `matrix`: a power of two, and a multiple of what all offsets are multiples of.
    fn width(&self, matrix: &MatrixProduct<'_>) -> i64;

    /// A rule that tries nothing, for lowerings that are only compared with each other.
    fn untried(&self) -> StepRule;

    /// What was tried for each matrix that it was asked about, in order.
    fn tried(&self) -> Vec<Arc<TriedMatrix>>;
}

/// A matrix with all that was tried for it.
#[derive(Clone, Debug, PartialEq)]
pub struct TriedMatrix {
    /// Diagonals that are not zero.
    pub diagonals: usize,
    /// The ciphertext's level.
    pub level: usize,
    /// Limbs of Q that it has there.
    pub limbs: usize,
    /// The width that was taken.
    pub width: i64,
    /// All widths that were tried, ascending.
    pub tried: Vec<TriedWidth>,
}

/// A product with one width.
#[derive(Clone, Debug, PartialEq)]
pub struct TriedWidth {
    /// The width.
    pub width: i64,
    /// Baby steps, that by 0 among them.
    pub babies: usize,
    /// Giant steps, that by 0 among them.
    pub giants: usize,
    /// From first load to last store; nothing if the machine cannot do it.
    pub seconds: Option<f64>,
    /// What else the machine found, by name.
    pub figures: Vec<(&'static str, f64)>,
}

/// A product of a matrix and a ciphertext, as far as its steps depend on it.
#[derive(Clone, Copy, Debug)]
pub struct MatrixProduct<'a> {
    /// The levels.
    pub chain: &'a Chain,
    /// How it is lowered, but for the steps.
    pub choice: &'a RnsLowering,
    /// The ciphertext's level.
    pub level: usize,
    /// Offsets of the diagonals that are not zero, ascending, between −period/2 and period/2.
    pub offsets: &'a [i64],
    /// Slots after which the vectors repeat.
    pub period: usize,
}

/// In which order the products of a matrix's rotated vectors and diagonals stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SumOrder {
    /// One baby step after the other, each added to the sums of all giant steps: a rotated vector is used up at once (Osiris, section V).
    ByBabySteps,
    /// All baby steps, then the sum of one giant step after the other (S. Halevi and V. Shoup, CRYPTO 2018; Osiris, algorithm 2).
    ByGiantSteps,
}

/// What steps take on a machine, in any common unit of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepRates {
    /// A limb of a row of a key, to be read.
    pub key_limb: f64,
    /// A limb of a diagonal, to be made or read.
    pub diagonal_limb: f64,
    /// A limb that a change of modulus gives.
    pub raised_limb: f64,
    /// A limb of an automorphism.
    pub automorphism_limb: f64,
    /// Limbs of polynomials that are at hand at once.
    pub limbs_at_hand: usize,
}

/// How a homomorphic program becomes a kernel program.
#[derive(Clone, Debug, PartialEq)]
pub struct RnsLowering {
    /// How polynomials are cut for a key switch.
    pub gadget: GadgetLiteral,
    /// How the residues of digits are extended.
    pub conversion: Conversion,
    /// How residues are extended in divisions.
    pub division: Conversion,
    /// Order of a rotation's steps.
    pub rotation: RotationOrder,
    /// What rotations share.
    pub hoisting: Hoisting,
    /// How many of its rotations are baby steps.
    pub steps: StepRule,
    /// In which order a matrix's sums are made.
    pub sums: SumOrder,
    /// Bits that a coefficient of a matrix's diagonal may have, sign included; any number if none is given. A matrix whose scale makes them
    /// larger is encoded at a power of two less, by which the ciphertext is multiplied before.
    pub diagonal_bits: Option<u32>,
    /// When products are rescaled.
    pub rescaling: Rescaling,
    /// When products are relinearised.
    pub relinearisation: Relinearisation,
    /// Whether the division by P after a relinearisation divides by the dropped primes of Q too.
    pub fused_rescale: bool,
    /// Levels of operations.
    pub levels: LevelPolicy,
    /// The level of CKKS outputs that nothing else determines: above 0 where values need the room of a larger modulus.
    pub output_level: usize,
}

impl RnsLowering {
    /// What is fastest on a CPU: digits shared, relinearisations and rescalings late, and both in one division.
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
        }
    }

    /// The same with a rule for steps that tries nothing, if a machine would try; nothing if none would.
    pub fn untried(&self) -> Option<Self> {
        match &self.steps {
            StepRule::Search(search) => Some(Self { steps: search.0.untried(), ..self.clone() }),
            _ => None,
        }
    }
}
