//! Do the streams match the schedule, survive their binary form, and stay small, and are damaged ones rejected?

use super::paper;
use crate::f1::action::Action;
use crate::f1::compile::compile;
use crate::f1::graph::UnitKind;
use crate::f1::stream::{Component, Operation, decode, encode, text};
use polyfabric_program::rns::builtin::microbenchmark::{Operation as Repeated, Shape, build};
use polyfabric_sim::list::EventList;

#[test]
fn streams_of_permutations() {
    let machine = paper();
    let shape = Shape { log2_degree: 12, limbs: 3, special: 1, ciphertexts: 4, rounds: 2 };
    let compiled = compile(&machine, &build(Repeated::Permute, shape).expect("a program")).expect("it compiles");
    let found = compiled.streams(&machine);
    let counts = compiled.translation.graph.counts();
    for kind in UnitKind::ALL {
        let own = found.iter().filter(|stream| matches!(stream.component, Component::Unit(of, ..) if of == kind));
        assert_eq!(own.map(|stream| stream.instructions.len() as u64).sum::<u64>(), counts[kind as usize]);
    }
    for stream in &found {
        // A unit waits at least as long as a vector occupies it; nothing starts after the schedule's end.
        let waits: u64 = stream.instructions.iter().map(|instruction| instruction.wait).sum();
        assert!(stream.begin + waits < compiled.checked.cycles);
        if let (Component::Unit(..), [all @ .., _]) = (stream.component, &stream.instructions[..]) {
            assert!(all.iter().all(|instruction| instruction.wait >= compiled.geometry.occupancy));
        }
    }
    let loads = found.iter().flat_map(|stream| &stream.instructions);
    let loads = loads.filter(|instruction| matches!(instruction.operation, Operation::Load(_))).count() as u64;
    assert_eq!(loads, compiled.off_chip()[0]);
    let bytes = encode(&found);
    let heads = found.len() as u64 * 12 + 5;
    let counted: u64 =
        found.iter().flat_map(|stream| &stream.instructions).map(|instruction| instruction.bytes()).sum();
    assert!(counted <= bytes.len() as u64 && bytes.len() as u64 <= counted + heads, "{counted}");
    assert_eq!(decode(&bytes).expect("they parse"), found);
    assert!((bytes.len() as f64) < 0.01 * compiled.traffic(&machine).total() as f64, "{} bytes", bytes.len());
    assert_eq!(text(&found).lines().count(), found.len() + found.iter().map(|s| s.instructions.len()).sum::<usize>());
    for cut in 0..bytes.len().min(2000) {
        assert!(decode(&bytes[..cut]).is_err(), "cut at {cut}");
    }
    let mut longer = bytes.clone();
    longer.push(0);
    assert!(decode(&longer).is_err());
    assert!(decode(&[255; 12]).is_err());
}

#[test]
fn instructions_come_before_they_start() {
    let machine = paper();
    let shape = Shape { log2_degree: 12, limbs: 3, special: 1, ciphertexts: 16, rounds: 2 };
    let compiled = compile(&machine, &build(Repeated::Permute, shape).expect("a program")).expect("it compiles");
    let found = compiled.streams(&machine);
    let mut needed: Vec<(u64, u64)> = Vec::new();
    for stream in &found {
        let mut cycle = stream.begin;
        for instruction in &stream.instructions {
            needed.push((cycle, instruction.bytes()));
            cycle += instruction.wait;
        }
    }
    // Idle cycles of the stacks, one by one.
    let mut idle = vec![machine.stacks as f64; compiled.checked.cycles as usize];
    let mut first = u64::MAX;
    for timed in &compiled.actions {
        first = first.min(timed.cycle);
        if matches!(timed.action, Action::Load { .. } | Action::Store { .. }) {
            for cycle in timed.cycle..timed.cycle + compiled.geometry.transfer {
                idle[cycle as usize] -= 1.0;
            }
        }
    }
    let brought = |until: u64| idle[..until as usize].iter().sum::<f64>() * machine.stack_bytes;
    needed.sort_unstable();
    // The checker's view of the streams matches the streams.
    let told = compiled.events(&machine);
    let told = told.instructions().expect("they are in memory");
    let of_cycle = |same: &[(u64, u64)]| (same[0].0, same.iter().map(|&(_, bytes)| bytes).sum::<u64>());
    assert_eq!(told.starts, needed.chunk_by(|a, b| a.0 == b.0).map(of_cycle).collect::<Vec<_>>());
    assert_eq!(told.bytes, encode(&found).len() as u64);
    let mut bytes = 0;
    for (position, &(cycle, more)) in needed.iter().enumerate() {
        bytes += more;
        if needed.get(position + 1).is_none_or(|&(next, _)| next > cycle) {
            assert!(bytes as f64 <= brought(cycle.saturating_sub(machine.memory_latency)), "cycle {cycle}");
        }
    }
    // The worst case for memory: all actions start with loads, but the delay is hardly longer than the latency.
    let late = first - machine.memory_latency;
    assert!(0 < late && late * 20 < compiled.checked.cycles, "{first} of {}", compiled.checked.cycles);
}
