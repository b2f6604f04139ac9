//! Counts the work of a program in limb operations: operations on N words modulo one prime.
//!
//! A machine that processes one limb at a time executes this many operations of each kind.

use super::{KernelError, KernelProgram, Op, OpKind};
use polyfabric_kernels::cancel;
use std::collections::BTreeMap;
use std::ops::AddAssign;

/// Operations on limbs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimbOps {
    pub forward_ntts: u64,
    pub inverse_ntts: u64,
    /// Products of two limbs, or of a limb and a constant.
    pub multiplies: u64,
    /// Multiply-adds of two limbs, or of a limb and a constant, with a third.
    pub multiply_adds: u64,
    /// Sums, differences and negations.
    pub adds: u64,
    /// Reductions of one limb modulo another prime, including extracted bits.
    pub reductions: u64,
    pub automorphisms: u64,
    /// Limbs read from switching keys (hints).
    pub key_limbs: u64,
    /// Limbs of public polynomials.
    pub plaintext_limbs: u64,
}

impl LimbOps {
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
    /// Limb operations, with composite operations expanded.
    pub limb_ops: LimbOps,
    /// Number of operations by name; composite ones count as one.
    pub ops: BTreeMap<&'static str, u64>,
    /// Bytes of both halves of all switching keys, each limb once, at 8 bytes per word.
    pub key_bytes: u64,
}

/// Work of an operation that is not composite.
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
        // No arithmetic, or composite.
        OpKind::Input { .. }
        | OpKind::SelectLimbs { .. }
        | OpKind::Concat
        | OpKind::ModUp { .. }
        | OpKind::InnerProduct { .. }
        | OpKind::ModDown { .. } => none,
    }
}

impl KernelProgram {
    /// # Errors
    /// [`KernelError`] if the program is inconsistent.
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
