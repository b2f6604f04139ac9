//! Programs on integers as programs on slots: do they compute the same for every input of a batch?

use polyfabric_program::MemoryBudget;
use polyfabric_program::lanes::{
    Element, Form, LaneErrorCause, MOST_BATCH, MOST_MODULUS, OnSlots, Reals, Terminal, convert,
};
use polyfabric_program::rns::homomorphic::{
    Complex, Op as SlotOp, Program as SlotProgram, Table, Values, evaluate as evaluate_slots,
};
use polyfabric_program::rns::text::parse_program;
use polyfabric_program::tfhe::homomorphic::{
    Builder, ElementType, Gate, LookupResult, Program, Range, Table as IntegerTable, evaluate,
};
use polyfabric_program::tfhe::integers::{BitOperation, Comparison, IntegerType, Integers};
use polyfabric_schemes::port::Direction;
use std::collections::{BTreeMap, HashMap};

type Inputs = BTreeMap<String, Vec<i64>>;

type Operation = fn(u8, u8) -> u8;

fn on_slots(program: &Program, batch: usize) -> OnSlots {
    convert(program, &form(batch, &[]), MemoryBudget::default()).unwrap()
}

fn form(batch: usize, summed: &[&str]) -> Form {
    let summed = summed.iter().map(|&name| name.to_owned()).collect();
    Form { batch, entries: MOST_MODULUS, summed, reals: Reals::default() }
}

/// The slots that hold an input of every item of the batch.
fn packed(terminal: &Terminal, batch: &[Inputs], slots: usize) -> Vec<(String, Values)> {
    let p = terminal.modulus;
    let held = |(index, element): (usize, &Element)| {
        let Element::Vector(vector) = element else { panic!("an input is not public") };
        let lane = |lane: usize| {
            let value = batch.get(lane).map_or(0, |inputs| inputs[&terminal.name][index]);
            Table::fraction(value.rem_euclid(p.into()) as u32, p)
        };
        (vector.clone(), Values::Complex((0..slots).map(|at| Complex::new(lane(at), lane(at + slots))).collect()))
    };
    terminal.elements.iter().enumerate().map(held).collect()
}

/// An output of an item of the batch, which has values of a type.
fn unpacked(terminal: &Terminal, element: ElementType, found: &HashMap<&str, &Values>, lane: usize) -> Vec<i64> {
    let p = terminal.modulus;
    let range = match element {
        ElementType::Integer(range) => range,
        _ => Range::new(0, 1).unwrap(),
    };
    let value = |element: &Element| match element {
        Element::Public(value) => *value,
        Element::Vector(vector) => {
            let Values::Complex(slots) = found[vector.as_str()] else { panic!("the slots are complex") };
            let slot = slots[lane % slots.len()];
            let (integer, distance) = Table::nearest(if lane < slots.len() { slot.re } else { slot.im }, p);
            assert!(distance < 1e-6);
            range.values().find(|value| value.rem_euclid(p.into()) == i64::from(integer)).unwrap()
        }
    };
    terminal.elements.iter().map(value).collect()
}

/// The outputs of `program`, evaluated on slots, for every item.
fn evaluated(program: &Program, batch: &[Inputs]) -> Vec<Inputs> {
    let converted = on_slots(program, batch.len());
    let slots = converted.program.slots();
    let given = converted.inputs.iter().flat_map(|terminal| packed(terminal, batch, slots)).collect();
    let evaluation = evaluate_slots(&converted.program, &given).unwrap();
    let found = evaluation.outputs(&converted.program);
    let of = |lane: usize| {
        let output = |(terminal, (id, _)): (&Terminal, _)| {
            (terminal.name.clone(), unpacked(terminal, program.node(id).element, &found, lane))
        };
        converted.outputs.iter().zip(program.outputs()).map(output).collect()
    };
    (0..batch.len()).map(of).collect()
}

fn integer(lo: i64, hi: i64) -> ElementType {
    ElementType::Integer(Range::new(lo, hi).unwrap())
}

fn digits(value: i64, count: usize) -> Vec<i64> {
    (0..count).map(|digit| value >> (2 * digit) & 3).collect()
}

fn number(digits: &[i64]) -> i64 {
    digits.iter().enumerate().map(|(index, digit)| digit << (2 * index)).sum()
}

/// Pairs of numbers below `modulus`.
fn pairs(count: i64, modulus: i64) -> Vec<(i64, i64)> {
    (0..count).map(|index| ((index * 37 + 3) % modulus, (index * 101 + 11) % modulus)).collect()
}

fn inputs(pair: &(i64, i64), count: usize) -> Inputs {
    Inputs::from([("x".to_owned(), digits(pair.0, count)), ("y".to_owned(), digits(pair.1, count))])
}

#[test]
fn integers_of_eight_bits_agree_with_those_of_rust() {
    let kind = IntegerType::unsigned(8);
    let mut builder = Builder::new("integers").unwrap();
    let mut integers = Integers::new(2);
    integers.set_slot_tables(16);
    let a = integers.input(&mut builder, "x", kind, 1).unwrap();
    let b = integers.input(&mut builder, "y", kind, 1).unwrap();
    let mut named = vec![
        ("sum", integers.add(&mut builder, a, b).unwrap()),
        ("difference", integers.sub(&mut builder, a, b).unwrap()),
        ("product", integers.mul(&mut builder, a, b).unwrap()),
        ("both", integers.bitwise(&mut builder, BitOperation::And, a, b).unwrap()),
        ("least", integers.extreme(&mut builder, a, b, true).unwrap()),
    ];
    for (name, comparison) in [("less", Comparison::Less), ("equal", Comparison::Equal)] {
        named.push((name, integers.compare(&mut builder, comparison, a, b).unwrap()));
    }
    for &(name, id) in &named {
        integers.output(&mut builder, name, id).unwrap();
    }
    let program = builder.finish().unwrap();
    let pairs = pairs(101, 256);
    let batch: Vec<Inputs> = pairs.iter().map(|pair| inputs(pair, 4)).collect();
    let functions: [(&str, Operation); 7] = [
        ("sum", u8::wrapping_add),
        ("difference", u8::wrapping_sub),
        ("product", u8::wrapping_mul),
        ("both", |x, y| x & y),
        ("least", std::cmp::min),
        ("less", |x, y| u8::from(x < y)),
        ("equal", |x, y| u8::from(x == y)),
    ];
    for (found, &(x, y)) in evaluated(&program, &batch).iter().zip(&pairs) {
        for (name, function) in functions {
            assert_eq!(number(&found[name]), i64::from(function(x as u8, y as u8)), "{name} of {x} and {y}");
        }
    }
}

#[test]
fn signed_comparisons_agree_with_those_of_rust() {
    for bits in [2, 4, 5, 12] {
        let half = 1i64 << (bits - 1);
        let kind = IntegerType { bits, signed: true };
        let mut builder = Builder::new("less").unwrap();
        let mut integers = Integers::new(2);
        integers.set_slot_tables(16);
        let a = integers.input(&mut builder, "x", kind, 1).unwrap();
        let b = integers.input(&mut builder, "y", kind, 1).unwrap();
        let less = integers.compare(&mut builder, Comparison::Less, a, b).unwrap();
        integers.output(&mut builder, "less", less).unwrap();
        let program = builder.finish().unwrap();
        let pairs = pairs(64, 2 * half);
        let batch: Vec<Inputs> = pairs.iter().map(|pair| inputs(pair, bits.div_ceil(2) as usize)).collect();
        let signed = |value: i64| if value >= half { value - 2 * half } else { value };
        for (found, &(x, y)) in evaluated(&program, &batch).iter().zip(&pairs) {
            assert_eq!(found["less"], [i64::from(signed(x) < signed(y))], "{x} and {y}, {bits} bits");
        }
    }
}

#[test]
fn every_operation_is_the_same_on_slots() {
    let mut builder = Builder::new("operations").unwrap();
    let x = builder.input("x", integer(-3, 4), 3).unwrap();
    let y = builder.input("y", integer(0, 3), 3).unwrap();
    let turned = builder.select(y, &[2, 0, 1]).unwrap();
    let difference = builder.sub(x, y).unwrap();
    let shifted = builder.add_clear(difference, &[3, 0, -2]).unwrap();
    let negated = builder.neg(y).unwrap();
    let sum = builder.add(negated, turned).unwrap();
    let square = IntegerTable::tabulate(Range::new(-6, 6).unwrap(), |value| value * value % 11 - 5).unwrap();
    let squares = builder.lookup(difference, vec![square], None, LookupResult::Integer).unwrap();
    let bit = |bit: usize| IntegerTable::tabulate(Range::new(-3, 4).unwrap(), move |v| v >> bit & 1).unwrap();
    let each = builder.lookup_each(x, vec![bit(0), bit(1)], LookupResult::Integer).unwrap();
    let chosen = builder.lookup(x, vec![bit(0), bit(1)], Some(vec![1, 0, 1]), LookupResult::Integer).unwrap();
    let scaled = builder.mul_clear(chosen, &[3, 0, -1]).unwrap();
    let constant = builder.constant(integer(0, 9), &[9, 8]).unwrap();
    let joined = builder.concat(&[each, constant, sum]).unwrap();
    let rows = vec![vec![(0, 2), (2, -1)], vec![(1, 1)]];
    let matrix = polyfabric_program::tfhe::Matrix::from_rows(3, &rows).unwrap();
    let weighted = builder.linear(turned, matrix.into(), &[1, 0]).unwrap();
    let sign = builder.sign(sum, true).unwrap();
    let odd = IntegerTable::tabulate(Range::new(0, 3).unwrap(), |value| value & 1).unwrap();
    let odd = builder.lookup(y, vec![odd], None, LookupResult::Boolean).unwrap();
    let gates = [Gate::And, Gate::Nand, Gate::Or, Gate::Nor, Gate::Xor, Gate::Xnor];
    let gates: Vec<_> = gates.into_iter().map(|gate| builder.gate(gate, sign, odd).unwrap()).collect();
    let opposite = builder.not(gates[0]).unwrap();
    let muxed = builder.mux(opposite, gates[4], gates[2]).unwrap();
    let results = [shifted, squares, scaled, joined, weighted, muxed];
    for (index, node) in results.into_iter().chain(gates).enumerate() {
        builder.output(&format!("y{index}"), node).unwrap();
    }
    let program = builder.finish().unwrap();
    let values = |factor: i64, lo: i64, count: i64| (0..3).map(|at| lo + (at * 5 + factor) % count).collect();
    let item =
        |seed: i64| Inputs::from([("x".to_owned(), values(3 * seed, -3, 8)), ("y".to_owned(), values(7 * seed, 0, 4))]);
    let batch: Vec<Inputs> = (0..33).map(item).collect();
    let wanted: Vec<_> = batch.iter().map(|inputs| evaluate(&program, inputs).unwrap().outputs(&program)).collect();
    assert_eq!(evaluated(&program, &batch), wanted);
    let joined = &on_slots(&program, 1).outputs[3];
    assert_eq!(joined.elements[6..8], [Element::Public(9), Element::Public(8)]);
}

#[test]
fn tables_of_one_sum_share_their_operand() {
    let mut builder = Builder::new("shared").unwrap();
    let x = builder.input("x", integer(0, 3), 1).unwrap();
    let y = builder.input("y", integer(0, 3), 1).unwrap();
    for index in 0..2 {
        let sum = builder.add(x, y).unwrap();
        let table = IntegerTable::tabulate(Range::new(0, 6).unwrap(), |value| value >> (2 * index) & 3).unwrap();
        let result = builder.lookup(sum, vec![table], None, LookupResult::Integer).unwrap();
        builder.output(&format!("y{index}"), result).unwrap();
    }
    let converted = on_slots(&builder.finish().unwrap(), 2);
    let lookups = converted.program.nodes().iter().filter(|node| matches!(node.op, SlotOp::Lookup { .. }));
    let operands: Vec<_> = lookups.map(|node| node.operands[0]).collect();
    assert_eq!(operands.len(), 2);
    assert_eq!(operands[0], operands[1]);
    assert_eq!((converted.inputs[0].modulus, converted.outputs[0].modulus), (7, 4));
}

#[test]
fn the_batch_is_part_of_the_program() {
    let mut builder = Builder::new("batched").unwrap();
    let x = builder.input("x", integer(0, 3), 1).unwrap();
    builder.output("y", x).unwrap();
    let program = builder.finish().unwrap();
    let [three, four] = [3, 4].map(|batch| on_slots(&program, batch).program);
    assert_eq!(three.slots(), four.slots());
    let port = |program: &SlotProgram| program.port(Direction::Input, "x");
    assert_ne!(port(&three), port(&four));
    let text = three.to_string();
    let read = parse_program(&text).unwrap();
    assert_eq!((read.batch(), port(&read)), (Some(3), port(&three)));
    for wrong in ["batch 0", "batch 5"] {
        assert!(parse_program(&text.replace("batch 3", wrong)).is_err(), "{wrong}");
    }
}

#[test]
fn programs_that_tables_cannot_compute_are_refused() {
    let refused = |element: ElementType, batch: usize| {
        let mut builder = Builder::new("refused").unwrap();
        let x = builder.input("x", element, 4).unwrap();
        builder.output("y", x).unwrap();
        convert(&builder.finish().unwrap(), &form(batch, &[]), MemoryBudget::default()).unwrap_err().cause
    };
    for hi in [MOST_MODULUS.into(), 1 << 28] {
        assert!(matches!(refused(integer(0, hi), 4), LaneErrorCause::TooManyValues { .. }));
    }
    assert!(matches!(refused(ElementType::Torus { bits: 3 }, 4), LaneErrorCause::Torus));
    assert!(matches!(refused(integer(0, 3), MOST_BATCH + 1), LaneErrorCause::TooManyInputs { .. }));
    let mut builder = Builder::new("refused").unwrap();
    let x = builder.input("x", integer(0, 3), 1).unwrap();
    let wide = builder.lookup(x, vec![IntegerTable::new(0, vec![0, 1, 2, 5000]).unwrap()], None, LookupResult::Integer);
    builder.output("y", wide.unwrap()).unwrap();
    let program = builder.finish().unwrap();
    let refused = |summed| convert(&program, &form(4, &[summed]), MemoryBudget::default()).unwrap_err().cause;
    assert!(matches!(refused("z"), LaneErrorCause::NotSummed { name } if name == "z"));
    assert!(matches!(refused("y"), LaneErrorCause::TooLarge { .. }));
}

/// Sums of inputs, tables and linear operations, with public elements and lanes that have no input; the same values also as a list.
#[test]
fn sums_over_the_batch_are_those_of_integers() {
    let mut builder = Builder::new("sums").unwrap();
    let x = builder.input("x", integer(-3, 5), 2).unwrap();
    let table = IntegerTable::new(-3, vec![7, -2, 0, 1, 5, -7, 3, 3, 6]).unwrap();
    let looked_up = builder.lookup(x, vec![table], None, LookupResult::Integer).unwrap();
    let scaled = builder.mul_clear(looked_up, &[3, -1]).unwrap();
    let sum = builder.add_clear(scaled, &[40, 2]).unwrap();
    let negative = builder.sign(x, true).unwrap();
    let inverted = builder.not(negative).unwrap();
    let public = builder.constant(integer(-9, 9), &[-9, 4]).unwrap();
    let joined = builder.concat(&[x, public]).unwrap();
    for (name, value) in [("sum", sum), ("negative", negative), ("inverted", inverted), ("joined", joined), ("x", x)] {
        builder.output(name, value).unwrap();
    }
    builder.output("list", negative).unwrap();
    let program = builder.finish().unwrap();
    for batch in [1, 2, 3, 4, 7, 9] {
        let items: Vec<Inputs> = (0..batch as i64)
            .map(|item| BTreeMap::from([("x".to_owned(), vec![item % 9 - 3, (5 * item + 2) % 9 - 3])]))
            .collect();
        let summed = ["sum", "negative", "inverted", "joined", "x"];
        let converted = convert(&program, &form(batch, &summed), MemoryBudget::default()).unwrap();
        let slots = converted.program.slots();
        let given = converted.inputs.iter().flat_map(|terminal| packed(terminal, &items, slots)).collect();
        let evaluation = evaluate_slots(&converted.program, &given).unwrap();
        let found = evaluation.outputs(&converted.program);
        let expected: Vec<_> = items.iter().map(|item| evaluate(&program, item).unwrap().outputs(&program)).collect();
        for terminal in &converted.outputs {
            assert_eq!(terminal.summed, summed.contains(&&*terminal.name));
            for (index, element) in terminal.elements.iter().enumerate() {
                let own = expected.iter().map(|item| item[&terminal.name][index]);
                match element {
                    Element::Public(value) => assert!(own.clone().all(|own| own == *value)),
                    Element::Vector(vector) if terminal.summed => {
                        let Values::Complex(values) = found[vector.as_str()] else { panic!("the slots are complex") };
                        let total: i64 = own.sum();
                        for slot in values.iter() {
                            let steps = (slot.re + slot.im) * f64::from(terminal.modulus);
                            assert!(
                                (steps - total as f64).abs() < 1e-6,
                                "{} of {batch}: {steps}, {total}",
                                terminal.name
                            );
                        }
                    }
                    Element::Vector(_) => {}
                }
            }
        }
    }
}
