//! Counts primitive operations by walking the bodies, so the counts cannot disagree with the lowering.

pub use super::primitive::Counts;
use super::{Body, KernelProgram, OpKind};

impl Counts {
    pub fn transforms(self) -> u64 {
        self.forward_transforms + self.inverse_transforms
    }

    fn add_scaled(&mut self, other: Self, factor: u64) {
        self.rotations += other.rotations * factor;
        self.digits += other.digits * factor;
        self.forward_transforms += other.forward_transforms * factor;
        self.inverse_transforms += other.inverse_transforms * factor;
        self.multiplies += other.multiplies * factor;
        self.additions += other.additions * factor;
        self.product_rotations += other.product_rotations * factor;
        self.product_additions += other.product_additions * factor;
        self.mask_digits += other.mask_digits * factor;
        self.key_switch_products += other.key_switch_products * factor;
    }
}

/// Primitive operations of one iteration of `body`.
pub fn iteration(body: &Body) -> Counts {
    let mut counts = Counts::default();
    for op in &body.ops {
        counts.add(op.primitive);
    }
    counts
}

/// Primitive operations of the whole program: iterations times ciphertexts of every composite operation.
pub fn program(program: &KernelProgram) -> Counts {
    let mut total = Counts::default();
    for op in &program.ops {
        if let OpKind::KeySwitch { body } | OpKind::BlindRotation { body, .. } = &op.kind {
            total.add_scaled(iteration(body), body.iterations as u64 * op.result.count() as u64);
        }
    }
    total.add_scaled(circuits(program), 1);
    total
}

/// Primitive operations of circuit bootstrapping and packed lookups.
pub fn circuits(program: &KernelProgram) -> Counts {
    let mut total = Counts::default();
    for op in &program.ops {
        total.add_scaled(circuit(program, &op.kind), op.result.count() as u64);
    }
    total
}

/// Primitive operations of one result of circuit bootstrapping or of a packed lookup, which have no bodies.
fn circuit(program: &KernelProgram, kind: &OpKind) -> Counts {
    let Some(gadgets) = program.parameters.circuit() else { return Counts::default() };
    // A polynomial's digits times rows of two columns.
    let products = |count: u64, levels: u32| Counts {
        digits: count * u64::from(levels),
        forward_transforms: count * u64::from(levels),
        multiplies: 2 * count * u64::from(levels),
        inverse_transforms: 2 * count,
        additions: 2 * count,
        ..Counts::default()
    };
    let (levels, log2_degree) = (u64::from(gadgets.ggsw.levels), program.parameters.ring_degree().log2());
    let mut counts = Counts::default();
    match kind {
        OpKind::CircuitBootstrap => {
            counts.add_scaled(products(u64::from(log2_degree), gadgets.trace.levels), levels);
            counts.add_scaled(products(1, gadgets.square.levels), levels);
        }
        OpKind::PackedLookup { width, log2_outputs, .. } => {
            let polynomials = OpKind::packed_polynomials(*width, *log2_outputs, log2_degree) as u64;
            let cmuxes = polynomials - 1 + u64::from(*width) - u64::from(polynomials.ilog2());
            counts.add_scaled(products(2, gadgets.ggsw.levels), cmuxes);
        }
        _ => {}
    }
    counts
}

#[cfg(test)]
mod tests {
    //! Do bodies have the numbers of transforms that Morphling states for its three reuse types (section IV-B, figure 3)?

    use super::*;
    use crate::tfhe::kernel::blind_rotation_body;
    use crate::tfhe::lowering::{Accumulation, Arithmetic, InputTransform, KeySwitchOrder, TfheLowering};

    fn transforms(k: usize, l: u32, n: usize, inputs: InputTransform, sums: Accumulation) -> u64 {
        let mut choice = TfheLowering::new(KeySwitchOrder::None, Arithmetic::ExactInteger);
        choice.input_transform = inputs;
        choice.accumulation = sums;
        let body = blind_rotation_body(k, l, n, &choice);
        iteration(&body).transforms() * body.iterations as u64
    }

    #[test]
    fn three_reuse_types() {
        use Accumulation::{CoefficientDomain, TransformDomain};
        use InputTransform::{PerProduct, Shared};
        for k in 1..=3u64 {
            for l in 1..=3u64 {
                let count = |inputs, sums| transforms(k as usize, l as u32, 1, inputs, sums);
                assert_eq!(count(PerProduct, CoefficientDomain), 2 * (k + 1) * (k + 1) * l);
                assert_eq!(count(Shared, CoefficientDomain), (k + 1) * l + (k + 1) * (k + 1) * l);
                assert_eq!(count(Shared, TransformDomain), (k + 1) * l + (k + 1));
            }
        }
    }

    #[test]
    fn split_sums_balance_the_directions() {
        // Strix, section IV-B: accumulation in both domains equalizes the transforms of both directions.
        for k in 1..=3u32 {
            for l in 1..=3 {
                let body = |polynomials, levels| {
                    let mut choice = TfheLowering::new(KeySwitchOrder::None, Arithmetic::ExactInteger);
                    choice.accumulation = Accumulation::Split { polynomials, levels };
                    iteration(&blind_rotation_body(k as usize, l, 1, &choice))
                };
                let counts = body(k + 1, 1);
                assert_eq!(counts.forward_transforms, u64::from((k + 1) * l));
                assert_eq!(counts.inverse_transforms, counts.forward_transforms);
                // Blocks of one row; one block of all rows.
                assert_eq!(body(1, 1).inverse_transforms, u64::from((k + 1) * (k + 1) * l));
                assert_eq!(body(k + 1, l).inverse_transforms, u64::from(k + 1));
            }
        }
    }

    #[test]
    fn published_maximum_of_set_c() {
        // Section III: up to 46,752 transforms per bootstrap, and 83.3 % fewer with both reuse types at k = l = 3, so n = 487.
        let none = transforms(3, 3, 487, InputTransform::PerProduct, Accumulation::CoefficientDomain);
        let both = transforms(3, 3, 487, InputTransform::Shared, Accumulation::TransformDomain);
        assert_eq!(none, 46_752);
        assert_eq!(both * 6, none);
    }
}
