//! Does the network route every word as the model, with one register per column?

use crate::rng;
use polyfabric_machines::osiris::units::Routing;
use polyfabric_rtl::{Bench, Bits, Reader};
use rand::Rng;
use rand::seq::SliceRandom;

/// The settings of a routing, by column and switch, derived from the model's network: its effect on the two words of a switch.
fn settings(routing: &Routing, lanes: usize) -> Vec<bool> {
    (0..Routing::column_count(lanes)).flat_map(|column| crosses(routing, column, lanes)).collect()
}

/// The settings of one column: compares the destination of word 0 of each pair with that of uncrossed switches.
pub(crate) fn crosses(routing: &Routing, column: usize, lanes: usize) -> Vec<bool> {
    let straight = Routing::new(&(0..lanes).collect::<Vec<_>>());
    let (mut moved, mut wired): (Vec<u64>, Vec<u64>) = ((0..lanes as u64).collect(), (0..lanes as u64).collect());
    routing.pass(column, &mut moved);
    straight.pass(column, &mut wired);
    // For the identity's routing no switch crosses; `wired` checks that its words follow the wires.
    let mut crossed = vec![false; lanes / 2];
    moved.iter().zip(&wired).for_each(|(moved, wired)| crossed[*wired as usize / 2] |= moved != wired);
    crossed
}

fn permutations_are_the_models(lanes: usize, count: usize, gaps: bool) {
    let width = 40;
    let unit = Bench::new("benes")
        .parameter("WIDTH", width as u64)
        .parameter("LANES", lanes as u64)
        .simulate()
        .expect("a unit");
    let mut rng = rng(lanes as u64);
    let cases: Vec<Option<(Vec<usize>, Vec<u64>)>> = (0..count)
        .map(|case| {
            let mut source: Vec<usize> = (0..lanes).collect();
            match case {
                0 => {}
                1 => source.reverse(),
                2 => source.rotate_left(1),
                _ => source.shuffle(&mut rng),
            }
            let words = (0..lanes).map(|_| rng.random_range(0..1 << width)).collect();
            (!gaps || rng.random::<bool>()).then_some((source, words))
        })
        .collect();
    let words = cases.iter().map(|case| {
        case.as_ref().map(|(source, words)| {
            let settings = settings(&Routing::new(source), lanes);
            Bits::new().fields(settings.into_iter().map(i128::from), 1).fields(words.iter().copied(), width)
        })
    });
    let latency = Routing::column_count(lanes);
    let mut outputs = unit.run(words, latency).expect("a run").into_iter();
    for (cycle, case) in cases.iter().enumerate() {
        let Some((source, words)) = case else { continue };
        let output = outputs.next().expect("words");
        assert_eq!(output.cycle, (cycle + latency) as u64);
        let mut reader = Reader::new(&output.bytes);
        let moved: Vec<u64> = (0..lanes).map(|_| reader.unsigned(width) as u64).collect();
        assert_eq!(moved, Routing::new(source).apply(words));
        assert!(source.iter().zip(&moved).all(|(&from, &word)| word == words[from]));
    }
    assert!(outputs.next().is_none());
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn eight_lanes() {
    permutations_are_the_models(8, 100, false);
    permutations_are_the_models(8, 100, true);
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn one_switch() {
    permutations_are_the_models(2, 20, true);
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_512_lanes() {
    permutations_are_the_models(crate::described("osiris", "units.ntt.lanes") as usize, 12, true);
}
