//! How much work a program is, in residue vectors: N words modulo one prime.
//!
//! A machine that works on one residue vector at a time executes so many of each kind.

use super::{KernelError, KernelProgram, Op, OpKind};
use polyfabric_kernels::cancel;
use std::collections::BTreeMap;
use std::ops::AddAssign;

/// Operations on residue vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimbOps {
    /// Transforms to values.
    pub forward_ntts: u64,
    /// Transforms to coefficients.
    pub inverse_ntts: u64,
    /// Products of two vectors, or of a vector and a constant.
    pub multiplies: u64,
    /// Products of a vector with a vector or a constant, added to a third.
    pub multiply_adds: u64,
    /// Sums, differences, negations.
    pub adds: u64,
    /// Reductions of a vector of one modulus modulo another, bits cut out included.
    pub reductions: u64,
    /// Permutations by an automorphism.
    pub automorphisms: u64,
    /// Vectors read from switching keys: hints.
    pub key_limbs: u64,
    /// Vectors of public polynomials, in whatever form they are kept.
    pub plaintext_limbs: u64,
}

impl LimbOps {
    /// Transforms in both directions.
    pub fn ntts(&self) -> u64 {
        self.forward_ntts + self.inverse_ntts
    }
}

impl AddAssign for LimbOps {
    fn add_assign(&mut self, other: Self) {
        let Self {
            forward_ntts,
            inverse_ntts,
            multiplies,
            multiply_adds,
            adds,
            reductions,
            automorphisms,
            key_limbs,
            plaintext_limbs,
        } = other;
        self.forward_ntts += forward_ntts;
        self.inverse_ntts += inverse_ntts;
        self.multiplies += multiplies;
        self.multiply_adds += multiply_adds;
        self.adds += adds;
        self.reductions += reductions;
        self.automorphisms += automorphisms;
        self.key_limbs += key_limbs;
        self.plaintext_limbs += plaintext_limbs;
    }
}

/// The work of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Operations on residue vectors, composite operations by their bodies.
    pub limb_ops: LimbOps,
    /// How often each operation occurs, composite ones as one, by name.
    pub ops: BTreeMap<&'static str, u64>,
    /// Bytes of the switching keys that are read, each of their limbs once: 8 bytes a word, both halves.
    pub key_bytes: u64,
}

/// An operation of no composite kind.
fn limb_ops(program: &KernelProgram, op: &Op) -> LimbOps {
    let none = LimbOps::default();
    let limbs = program.value(op.results[0]).limbs.len() as u64;
    match &op.kind {
        OpKind::Plaintext { .. } => LimbOps { plaintext_limbs: limbs, ..none },
        OpKind::Key { .. } => LimbOps { key_limbs: limbs, ..none },
        OpKind::Add | OpKind::Sub | OpKind::Negate | OpKind::AddConstant { .. } => LimbOps { adds: limbs, ..none },
        OpKind::Multiply | OpKind::Scale { .. } => LimbOps { multiplies: limbs, ..none },
        OpKind::MultiplyAdd => LimbOps { multiply_adds: limbs, ..none },
        OpKind::ForwardNtt => LimbOps { forward_ntts: limbs, ..none },
        OpKind::InverseNtt => LimbOps { inverse_ntts: limbs, ..none },
        OpKind::Automorphism { .. } => LimbOps { automorphisms: limbs, ..none },
        OpKind::SubDigit { .. } => LimbOps { reductions: limbs, ..none },
        OpKind::BaseConversion { .. } => match program.value(op.operands[0]).limbs.len() as u64 {
            1 => LimbOps { reductions: limbs, ..none },
            from => LimbOps { multiplies: from, multiply_adds: from * limbs, ..none },
        },
        // No arithmetic, or counted by their bodies.
        OpKind::Input { .. }
        | OpKind::SelectLimbs { .. }
        | OpKind::Concat
        | OpKind::ModUp { .. }
        | OpKind::InnerProduct { .. }
        | OpKind::ModDown { .. } => none,
    }
}

impl KernelProgram {
    /// The work of the program.
    ///
    /// # Errors
    /// [`KernelError`] if the program is not consistent.
    pub fn counts(&self) -> Result<Counts, KernelError> {
        let mut counts = Counts::default();
        for op in &self.ops {
            cancel::check();
            *counts.ops.entry(op.kind.name()).or_default() += 1;
        }
        let expanded = self.expanded()?;
        for op in &expanded.ops {
            counts.limb_ops += limb_ops(&expanded, op);
        }
        let limb_bytes = (self.degree.get() * size_of::<u64>()) as u64;
        let limbs = |(_, used): (_, super::KeyUse)| (2 * used.rows * used.limbs.len()) as u64;
        counts.key_bytes = self.keys().into_iter().map(limbs).sum::<u64>() * limb_bytes;
        Ok(counts)
    }
}
