//! The lowering from homomorphic to kernel programs, which contains every server-side algorithm once.
//!
//! [`Lowering`] is a kernel program under construction, with the chain of levels, the parameters, and the noise of each ciphertext. Its
//! methods are the schemes' operations on [`CiphertextValue`]s; larger algorithms are composed of them. Repeated requests share
//! results: digits of a polynomial, encoded public vectors, automorphisms, inner products, divisions.

mod arithmetic;
pub mod bgv;
pub mod bootstrap;
mod choice;
mod choose;
mod error;
pub mod gsw;
mod key_switch;
mod linear_transform;
mod lower;
mod multiply;
mod plaintext;
mod polynomial;
mod profile;
mod regions;
mod rotate;
mod shifts;
mod value;

pub use choice::{
    Hoisting, LevelPolicy, MatrixProduct, Relinearisation, Rescaling, RnsLowering, RotationOrder, Search, StepRates,
    StepRule, StepSearch, SumOrder, TriedMatrix, TriedWidth,
};
pub use choose::{Cheapest, KeySwitchCost, NoKeySwitch, SPARE_BITS, Weighed, fewest_products};
pub use error::LoweringError;
pub use key_switch::Digits;
pub use linear_transform::{BabyStepCosts, PreparedTransform, StepChooser, Steps};
pub use lower::{KeyFailure, Lowered, NodeState, Port, Target, check_keys, lower, lower_within};
pub use plaintext::PlaintextEncoder;
pub use polynomial::{monomial_to_chebyshev, polynomial_depth};
pub use profile::{Behind, Points, Profile};
pub use shifts::Shifts;
pub use value::{CiphertextValue, Noise, Source};

use crate::rns::homomorphic::NodeId;
use crate::rns::kernel::{KernelBuilder, KernelProgram, LimbSet, ValueId, ValueType};
use crate::rns::levels::{Chain, Scale};
use crate::rns::noise::NoiseModel;
use key_switch::KeySwitchMemo;
use plaintext::PlaintextMemo;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_schemes::rns::KeyId;
use std::collections::HashMap;
use std::sync::Arc;

/// A kernel program under construction.
#[derive(Debug)]
pub struct Lowering<'a> {
    builder: KernelBuilder,
    chain: &'a Chain,
    choice: RnsLowering,
    model: NoiseModel,
    encoder: &'a dyn PlaintextEncoder,
    /// Limbs of P.
    special: LimbSet,
    sources: u32,
    key_switches: KeySwitchMemo,
    plaintexts: PlaintextMemo,
    automorphisms: HashMap<(ValueId, GaloisElement), ValueId>,
    rotations: HashMap<(Vec<ValueId>, KeyId), Vec<ValueId>>,
    selections: HashMap<(ValueId, LimbSet), ValueId>,
}

pub type Result<T> = std::result::Result<T, LoweringError>;

impl<'a> Lowering<'a> {
    /// An empty kernel program `name`.
    ///
    /// # Errors
    /// [`LoweringError::GadgetLimb`] if the gadget has no digit for a limb of the chain, [`LoweringError::Kernel`] if the moduli are
    /// invalid.
    pub fn new(
        name: &str,
        chain: &'a Chain,
        choice: RnsLowering,
        model: NoiseModel,
        encoder: &'a dyn PlaintextEncoder,
    ) -> Result<Self> {
        for limb in chain.limbs(chain.top()).iter() {
            if !choice.gadget.digits.iter().flatten().any(|&covered| covered == limb) {
                return Err(LoweringError::GadgetLimb { limb });
            }
        }
        let special = LimbSet::new(choice.gadget.special.iter().copied());
        Ok(Self {
            builder: KernelBuilder::new(name, chain.degree(), chain.moduli())?,
            chain,
            choice,
            model,
            encoder,
            special,
            sources: 0,
            key_switches: KeySwitchMemo::default(),
            plaintexts: PlaintextMemo::default(),
            automorphisms: HashMap::new(),
            rotations: HashMap::new(),
            selections: HashMap::new(),
        })
    }

    pub fn chain(&self) -> &'a Chain {
        self.chain
    }

    pub fn choice(&self) -> &RnsLowering {
        &self.choice
    }

    pub fn model(&self) -> &NoiseModel {
        &self.model
    }

    /// The kernel program's builder, for operations without a method here.
    pub fn builder(&mut self) -> &mut KernelBuilder {
        &mut self.builder
    }

    /// Sets the origin of the following operations.
    pub fn set_origin(&mut self, origin: Option<NodeId>) {
        self.builder.set_origin(origin);
    }

    /// Starts the next ciphertext operation, which a machine may schedule separately.
    pub fn next_step(&mut self) {
        self.builder.next_step();
    }

    /// A new independent noise source.
    pub fn source(&mut self) -> Source {
        self.sources = self.sources.wrapping_add(1);
        Source(self.sources)
    }

    pub fn ring_slots(&self) -> usize {
        self.chain.degree().get() / 2
    }

    /// A fresh input ciphertext at `level`, with that level's scale and messages up to `magnitude`.
    ///
    /// # Errors
    /// [`LoweringError::LevelRaised`] if the chain has no such level.
    pub fn input(&mut self, name: &str, level: usize, magnitude: f64) -> Result<CiphertextValue> {
        if level > self.chain.top() {
            return Err(LoweringError::LevelRaised { op: "input", wanted: level, level: self.chain.top() });
        }
        let value = ValueType::evaluation(self.chain.limbs(level));
        let parts =
            (0..2).map(|part| self.builder.input(name, part, value.clone())).collect::<std::result::Result<_, _>>()?;
        let scale = self.chain.scale(level);
        let noise = Noise::new(self.model.fresh(scale.real() * magnitude), magnitude, self.source());
        Ok(CiphertextValue { parts, level, scale, rescale_due: false, noise })
    }

    /// Declares `value` as the output `name`.
    pub fn output(&mut self, name: &str, value: &CiphertextValue) {
        let name: Arc<str> = name.into();
        for (part, &polynomial) in value.parts.iter().enumerate() {
            self.builder.output(name.clone(), part as u16, polynomial);
        }
    }

    /// Checks and returns the kernel program.
    ///
    /// # Errors
    /// [`LoweringError::Kernel`] if it is inconsistent.
    pub fn finish(self) -> Result<KernelProgram> {
        Ok(self.builder.finish()?)
    }

    /// The given limbs of a polynomial.
    fn select(&mut self, value: ValueId, limbs: &LimbSet) -> Result<ValueId> {
        if self.builder.limbs(value) == limbs {
            return Ok(value);
        }
        let key = (value, limbs.clone());
        if let Some(&known) = self.selections.get(&key) {
            return Ok(known);
        }
        let selected = self.builder.select_limbs(value, limbs.clone())?;
        self.selections.insert(key, selected);
        Ok(selected)
    }

    /// Applies `f` to every part.
    fn map(
        &mut self,
        value: &CiphertextValue,
        mut f: impl FnMut(&mut Self, usize, ValueId) -> Result<ValueId>,
    ) -> Result<CiphertextValue> {
        let parts = value.parts.iter().enumerate().map(|(index, &part)| f(self, index, part)).collect::<Result<_>>()?;
        Ok(CiphertextValue { parts, ..value.clone() })
    }

    /// Checks that both operands have equal level and scale, and that both or neither are unrescaled products.
    fn matched(&self, op: &'static str, a: &CiphertextValue, b: &CiphertextValue) -> Result<()> {
        if a.level == b.level && self.chain.alike(a.scale, b.scale) {
            return Ok(());
        }
        let show = |scale: Scale| scale.to_string();
        Err(LoweringError::Mismatch {
            op,
            left_level: a.level,
            left_scale: show(a.scale),
            right_level: b.level,
            right_scale: show(b.scale),
        })
    }

    /// Rejects a ciphertext of three parts.
    fn linear(&self, op: &'static str, value: &CiphertextValue) -> Result<()> {
        match value.parts.len() {
            2 => Ok(()),
            parts => Err(LoweringError::NotLinear { op, parts }),
        }
    }
}
