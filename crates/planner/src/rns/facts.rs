//! A plan's facts as JSON.

use super::memory::Memory;
use super::set_choice::bootstraps_of;
use super::{BgvPlan, KeySwitch, Lowering, RnsPlan, parameters};
use crate::memory::threads;
use crate::{Fault, PlanError};
use polyfabric_program::rns::homomorphic::{NodeId, op_name};
use polyfabric_program::rns::kernel::{Counts, KernelProgram, LimbSet, OpKind};
use polyfabric_program::rns::lowering::{StepRule, TriedMatrix, TriedWidth, bgv};
use polyfabric_program::rns::noise::{NodeReport, bgv_failure_log2};
use polyfabric_runtime::rns::cpu::{Effort, Rehearsal, buffer_bytes, efforts};
use polyfabric_schemes::rns::KeyId;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

fn counted(kernel: &KernelProgram) -> Result<Counts, PlanError> {
    kernel.counts().map_err(PlanError::of(Fault::Internal))
}

impl BgvPlan {
    /// log2 of the failure probability with the given number of inputs.
    ///
    /// # Errors
    /// [`Fault::Internal`] if the kernel program cannot be counted.
    pub(super) fn failure_log2(&self, inputs: usize) -> Result<f64, PlanError> {
        let operations = &counted(self.kernel())?.limb_ops;
        // At least one transform per digit and per remainder; an encryption adds four polynomials.
        let polynomials = operations.ntts() + operations.key_limbs + 4 * inputs as u64;
        Ok(bgv_failure_log2(&self.lowered.plan.held, polynomials, self.parameters.ring().degree().get()))
    }
}

impl RnsPlan {
    fn parameters(&self) -> Value {
        match &self.lowering {
            Lowering::Ckks(plan) => parameters::of_ckks(&plan.parameters),
            Lowering::Bgv(plan) => parameters::of_bgv(&plan.parameters),
        }
    }

    /// Location, level, scale and error bound of every encrypted node.
    fn nodes(&self) -> Vec<Value> {
        let describe = |id: NodeId, figures: Value| {
            let node = self.program().node(id);
            let mut value = json!({
                "node": id.0,
                "op": op_name(&node.op),
                "place": node.location.as_ref().map(ToString::to_string),
            });
            if let (Some(value), Value::Object(figures)) = (value.as_object_mut(), figures) {
                value.extend(figures);
            }
            value
        };
        match &self.lowering {
            Lowering::Ckks(plan) => {
                let figures = |node: &NodeReport| {
                    json!({
                        "level": node.level,
                        "limbs": plan.parameters.level_limbs()[node.level],
                        "scale_log2": node.scale.real().log2(),
                        "bound": node.bound,
                        "spread_bound": node.spread_bound,
                        "magnitude": node.magnitude,
                        "headroom_bits": node.headroom,
                        "border": (node.border > 0.0).then_some(node.border),
                        "smudging_log2": node.smudging.map(|noise| noise.log2_deviation),
                    })
                };
                plan.noise.nodes.iter().map(|node| describe(node.node, figures(node))).collect()
            }
            Lowering::Bgv(plan) => {
                let ring = plan.parameters.ring();
                let figures = |state: &bgv::State| {
                    let log2_q = ring.log2_product(&plan.parameters.limbs(state.limbs));
                    json!({
                        "level": state.limbs - 1,
                        "limbs": state.limbs,
                        "factor": plan.parameters.plaintext_modulus().modulus().reduce(state.factor),
                        "noise_log2": state.noise.bound,
                        "budget_bits": log2_q - 1.0 - state.noise.bound,
                    })
                };
                // A measured program has additional outputs after its own nodes.
                let own = plan.lowered.plan.nodes.iter().filter(|(id, _)| id.index() < self.program().nodes().len());
                own.map(|(id, state)| describe(*id, figures(state))).collect()
            }
        }
    }

    /// Number of uses of each key, by limbs of Q.
    fn key_switches(&self) -> Vec<Value> {
        let gadget = match &self.lowering {
            Lowering::Ckks(plan) => plan.parameters.gadget(),
            Lowering::Bgv(plan) => plan.parameters.gadget(),
        };
        let special = LimbSet::new(gadget.special().iter().copied());
        let kernel = self.kernel();
        let mut uses = BTreeMap::<(KeyId, usize), usize>::new();
        for op in &kernel.ops {
            if let OpKind::InnerProduct { key, .. } = &op.kind {
                let limbs = kernel.value(op.results[0]).limbs.difference(&special).len();
                *uses.entry((*key, limbs)).or_default() += 1;
            }
        }
        let row = |((key, limbs), count): ((KeyId, usize), usize)| json!({ "key": key.to_string(), "limbs": limbs, "count": count });
        uses.into_iter().map(row).collect()
    }

    /// A machine's trials for the steps of each matrix, highest level first.
    fn steps(&self) -> Vec<Value> {
        let Lowering::Ckks(plan) = &self.lowering else { return Vec::new() };
        let StepRule::Search(search) = &plan.lowered.choice.steps else { return Vec::new() };
        let width = |tried: &TriedWidth| {
            let figures: BTreeMap<&str, f64> = tried.figures.iter().copied().collect();
            json!({ "width": tried.width, "babies": tried.babies, "giants": tried.giants, "seconds": tried.seconds, "figures": figures })
        };
        let mut matrices = search.0.tried();
        matrices.sort_by_key(|matrix| std::cmp::Reverse(matrix.level));
        let row = |matrix: &Arc<TriedMatrix>| {
            json!({
                "diagonals": matrix.diagonals,
                "level": matrix.level,
                "limbs": matrix.limbs,
                "width": matrix.width,
                "tried": matrix.tried.iter().map(width).collect::<Vec<_>>(),
            })
        };
        matrices.iter().map(row).collect()
    }

    /// log2 of the failure probability: for CKKS, that an output or a lookup exceeds its error bound or a bootstrapping overflows.
    ///
    /// # Errors
    /// [`Fault::Internal`] if the kernel program cannot be counted.
    pub fn failure_log2(&self) -> Result<f64, PlanError> {
        Ok(match &self.lowering {
            Lowering::Ckks(plan) => plan.lowered.failure_log2,
            Lowering::Bgv(plan) => plan.failure_log2(self.program().inputs().count())?,
        })
    }

    /// Counts of each kind of work in an execution.
    ///
    /// # Errors
    /// [`Fault::Internal`] if the kernel program is inconsistent.
    pub(super) fn efforts(&self) -> Result<BTreeMap<Effort, u64>, PlanError> {
        let storage = self.key_storage();
        let drawn = |key| storage.get(&key).is_some_and(|storage| storage.seeded);
        efforts(self.kernel(), threads(), self.compact_plaintexts(), drawn).map_err(PlanError::of(Fault::Internal))
    }

    /// Buffers to time each kind of work by itself.
    ///
    /// # Errors
    /// [`Fault::Internal`] if the kernel program is inconsistent.
    pub(super) fn rehearsal(&self) -> Result<Rehearsal, PlanError> {
        let (ring, gadget) = match &self.lowering {
            Lowering::Ckks(plan) => {
                let ring = plan.parameters.ring().map_err(PlanError::of(Fault::Internal))?;
                (ring, plan.parameters.gadget())
            }
            Lowering::Bgv(plan) => (Arc::clone(plan.parameters.ring()), plan.parameters.gadget()),
        };
        let kernel = self.kernel();
        let buffers = buffer_bytes(kernel, threads()).map_err(PlanError::of(Fault::Internal))?;
        let limb = kernel.degree.get() * size_of::<u64>();
        let sources = gadget.special().len().max(1);
        Ok(Rehearsal::new(ring, sources, gadget.digits().len(), buffers / limb))
    }

    /// Parameters, keys and their sizes, operations, and level, scale and error bound of every node.
    ///
    /// # Errors
    /// [`Fault::Internal`] if the kernel program cannot be counted.
    pub fn facts(&self) -> Result<Value, PlanError> {
        let counts = counted(self.kernel())?;
        let ops = &counts.limb_ops;
        let storage = self.key_storage();
        let key_bytes = |id| self.key_bytes(id, storage[&id]);
        let keys: Vec<_> =
            self.keys().keys().map(|&id| json!({ "key": id.to_string(), "bytes": key_bytes(id) })).collect();
        let memory = Memory::of(self)?;
        let nodes = self.nodes();
        let levels = |op| nodes.iter().filter(|node| node["op"] == op).filter_map(|node| node["level"].as_u64()).max();
        Ok(json!({
            "parameters": self.parameters(),
            "start_level": levels("input").or_else(|| levels("select")),
            "bootstraps": { "in_all": bootstraps_of(self.program()), "placed": bootstraps_of(self.program()) - bootstraps_of(&self.written) },
            "keys": keys,
            "key_bytes": memory.keys,
            "input_bytes": memory.inputs,
            "output_bytes": memory.outputs,
            "plaintext_bytes": memory.plaintexts,
            "memory_bytes": memory.peak,
            "log2_failure": self.failure_log2()?,
            "operations": counts.ops,
            "limb_operations": {
                "ntts": ops.ntts(),
                "multiplies": ops.multiplies + ops.multiply_adds,
                "adds": ops.adds,
                "automorphisms": ops.automorphisms,
                "key_limbs": ops.key_limbs,
            },
            "key_switches": self.key_switches(),
            "key_switch": self.key_switch.as_ref().map(KeySwitch::to_json),
            "steps": self.steps(),
            "nodes": nodes,
        }))
    }
}
