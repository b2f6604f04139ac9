//! Do encrypted gates, multiplexers and a ripple-carry adder give their truth tables, wherever the key switch stands?

use super::common::{Keys, Values, clear, values};
use polyfabric_program::tfhe::homomorphic::{Builder, ElementType, Gate, NodeId, Program};
use polyfabric_program::tfhe::kernel::OpKind;
use polyfabric_program::tfhe::lowering::{Arithmetic, KeySwitchOrder, LoweringError, TfheLowering, lower};
use polyfabric_schemes::tfhe::sets;

const GATES: [(Gate, &str); 6] = [
    (Gate::And, "and"),
    (Gate::Nand, "nand"),
    (Gate::Or, "or"),
    (Gate::Nor, "nor"),
    (Gate::Xor, "xor"),
    (Gate::Xnor, "xnor"),
];

fn gates() -> Program {
    let mut builder = Builder::new("gates").unwrap();
    let a = builder.input("a", ElementType::Boolean, 8).unwrap();
    let b = builder.input("b", ElementType::Boolean, 8).unwrap();
    let c = builder.input("c", ElementType::Boolean, 8).unwrap();
    for (gate, name) in GATES {
        let result = builder.gate(gate, a, b).unwrap();
        builder.output(name, result).unwrap();
    }
    let not = builder.not(a).unwrap();
    builder.output("not", not).unwrap();
    let mux = builder.mux(a, b, c).unwrap();
    builder.output("mux", mux).unwrap();
    builder.finish().unwrap()
}

/// Sum of two `bits`-bit numbers, least significant bit first.
fn adder(bits: usize) -> Program {
    let mut builder = Builder::new("adder").unwrap();
    let a = builder.input("a", ElementType::Boolean, bits).unwrap();
    let b = builder.input("b", ElementType::Boolean, bits).unwrap();
    let half = builder.gate(Gate::Xor, a, b).unwrap();
    let mut carry = builder.constant(ElementType::Boolean, &[0]).unwrap();
    let mut sums: Vec<NodeId> = Vec::new();
    for bit in 0..bits as u32 {
        let propagate = builder.select(half, &[bit]).unwrap();
        let own = builder.select(a, &[bit]).unwrap();
        sums.push(builder.gate(Gate::Xor, propagate, carry).unwrap());
        carry = builder.mux(propagate, carry, own).unwrap();
    }
    sums.push(carry);
    let sum = builder.concat(&sums).unwrap();
    builder.output("sum", sum).unwrap();
    builder.finish().unwrap()
}

fn bits(value: i64, count: usize) -> Vec<i64> {
    (0..count).map(|bit| value >> bit & 1).collect()
}

#[test]
fn truth_tables() {
    let keys = Keys::<u32>::new("toy-256");
    let program = gates();
    let input =
        values(&[("a", &[0, 0, 0, 0, 1, 1, 1, 1]), ("b", &[0, 0, 1, 1, 0, 0, 1, 1]), ("c", &[0, 1, 0, 1, 0, 1, 0, 1])]);
    let expected = clear(&program, &input);
    assert_eq!(expected["xor"], [0, 0, 1, 1, 1, 1, 0, 0]);
    assert_eq!(expected["nor"], [1, 1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(expected["mux"], [0, 1, 0, 1, 0, 0, 1, 1]);
    for order in [KeySwitchOrder::None, KeySwitchOrder::Before, KeySwitchOrder::After] {
        for arithmetic in [Arithmetic::ExactInteger, Arithmetic::F64] {
            let choice = TfheLowering::new(order, arithmetic);
            assert_eq!(keys.interpret(&program, &choice, &input), expected, "{choice:?}");
        }
    }
}

#[test]
fn eight_bit_adder() {
    let keys = Keys::<u64>::new("toy-256-t64");
    let program = adder(8);
    for (a, b) in [(0, 0), (255, 1), (170, 85), (200, 123)] {
        let input: Values = values(&[("a", &bits(a, 8)), ("b", &bits(b, 8))]);
        assert_eq!(clear(&program, &input)["sum"], bits(a + b, 9));
        let choice = TfheLowering::new(KeySwitchOrder::Before, Arithmetic::F64);
        assert_eq!(keys.interpret(&program, &choice, &input)["sum"], bits(a + b, 9), "{a} + {b}");
    }
}

#[test]
fn with_one_key_gates_chain_without_a_key_switch() {
    let keys = Keys::<u32>::new("toy-256-one-key");
    let (program, choice) = (adder(4), TfheLowering::new(KeySwitchOrder::None, Arithmetic::F64));
    let kernel = keys.lower(&program, &choice);
    assert!(kernel.ops.iter().all(|op| !matches!(op.kind, OpKind::KeySwitch { .. })));
    for (a, b) in [(0, 0), (15, 1), (10, 5), (13, 11)] {
        let input: Values = values(&[("a", &bits(a, 4)), ("b", &bits(b, 4))]);
        assert_eq!(keys.interpret(&program, &choice, &input)["sum"], bits(a + b, 5), "{a} + {b}");
    }
    // With two keys, a gate cannot read what another left.
    let two = sets::parameters("toy-256").expect("a known set");
    assert!(matches!(lower(&program, &two, &choice), Err(LoweringError::Chained { .. })));
}
