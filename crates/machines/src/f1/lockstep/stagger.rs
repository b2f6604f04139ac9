//! When in a beat each resource begins.
//!
//! Units that follow each other begin a vector every G cycles, and a stream keeps to the register bank that its start gives it (section 3:
//! "staggering the start of each vector operation"). So if every unit has its own cycle in the beat, chosen such that no bank is wanted
//! by more streams than it serves while all units are at work, register banks are never in the way.

use crate::f1::graph::{Function, UnitKind};
use crate::f1::machine::{F1, Geometry};

/// Cycles by which a unit may begin later than its operands allow, for the sake of the banks.
const DELAYS: u64 = 8;

/// Beats that are tried where each limb has a cluster of its own.
const TRIED: usize = 64;

/// The cycle in a beat of G in which each resource begins a vector. A forward transform that is read at once begins in cycle 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stagger {
    /// The NTT unit.
    pub transform: u64,
    /// The port from the scratchpad, and what streams from it.
    pub scratchpad: u64,
    /// The multipliers: the first, and all others.
    pub multipliers: [u64; 2],
    /// The adders: those of even number, those of odd number.
    pub adders: [u64; 2],
}

/// Cycles of each kind of unit.
#[derive(Clone, Copy, Debug)]
pub struct Latencies {
    /// By kind.
    pub units: [u64; 4],
    /// Of a crossbar.
    pub network: u64,
}

impl Latencies {
    /// Of `machine`.
    pub fn new(machine: &F1, geometry: &Geometry) -> Self {
        let of = |function| geometry.latency(function);
        let units = [
            of(Function::ForwardNtt { limb: 0, subpolynomial: 0 }),
            of(Function::Automorphism { limb: 0, element: 1, subpolynomial: 0, values: true }),
            of(Function::Multiply { limb: 0 }),
            of(Function::Add { limb: 0 }),
        ];
        Self { units, network: machine.depth.network }
    }

    /// Of one kind.
    pub fn of(&self, kind: UnitKind) -> u64 {
        self.units[kind as usize]
    }
}

impl Stagger {
    /// For a machine: the least delays with which the fewest streams meet in a bank. `aligned`: transforms take vectors from the
    /// scratchpad too, so they begin a cycle behind its port: such a vector passes through a register, and leaves it at once.
    pub fn new(machine: &F1, geometry: &Geometry, latencies: &Latencies, aligned: bool) -> Self {
        let banks = machine.register_banks as u64;
        let [transform, automorphism, multiply, add] = latencies.units;
        let beat = geometry.occupancy;
        let delays = 0..DELAYS.min(banks);
        let mut best: Option<([u64; 2], [u64; 4])> = None;
        for first in delays.clone() {
            let scratchpad = match aligned {
                true => (transform + 1).next_multiple_of(beat) + beat - 1,
                false => transform + 1 + first,
            };
            for second in delays.clone() {
                let clusters = transform + 1 + second;
                for third in delays.clone() {
                    let even = scratchpad.min(clusters) + multiply + 1 + third;
                    for fourth in delays.clone() {
                        let odd = scratchpad.max(clusters) + multiply + 1 + fourth;
                        let mut streams = vec![0; banks as usize];
                        let products = [scratchpad, scratchpad + multiply, clusters, clusters + multiply];
                        let sums = [even, even, even + add, odd, odd, odd + add];
                        let others =
                            [0, transform, scratchpad + automorphism, clusters + banks - latencies.network % banks];
                        for start in products.into_iter().chain(sums).chain(others) {
                            streams[(start % banks) as usize] += 1_usize;
                        }
                        let over: usize = streams.iter().map(|&s| s.saturating_sub(machine.accesses_per_cycle)).sum();
                        let cost = [over as u64, scratchpad + clusters + even + odd];
                        if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                            best = Some((cost, [scratchpad, clusters, even, odd]));
                        }
                    }
                }
            }
            if aligned {
                break;
            }
        }
        let [scratchpad, clusters, even, odd] = best.map_or([0; 4], |(_, starts)| starts).map(|start| start % beat);
        Self { transform: 0, scratchpad, multipliers: [scratchpad, clusters], adders: [even, odd] }
    }

    /// The same where each limb has a cluster of its own: those in which fewest streams meet, the shortest delays first. A vector of the
    /// hint comes to a register and is read there twice, and so is a transform: by the first multiplier as it comes, by the other one a
    /// beat later, just before the next one takes its register.
    pub fn by_limb(machine: &F1, geometry: &Geometry, latencies: &Latencies) -> Vec<Self> {
        let banks = machine.register_banks as u64;
        let [transform, automorphism, multiply, add] = latencies.units;
        let beat = geometry.occupancy;
        let count = DELAYS.min(banks);
        let mut found: Vec<([u64; 2], Self)> = Vec::new();
        // So many beats later than it is that what comes before it is in no beat before the first.
        let transformed = transform + (2 * DELAYS + 2).next_multiple_of(beat);
        for choice in 0..count.pow(5) {
            let [before, sooner, after, even, odd] = [0, 1, 2, 3, 4].map(|digit| choice / count.pow(digit) % count);
            let second = transformed - 1 - before;
            let scratchpad = second - 1 - sooner;
            let first = transformed + 1 + after;
            let adders = [first + multiply + 1 + even, second + multiply + 1 + odd];
            let mut streams = vec![0; banks as usize];
            let products = [first, first, first + multiply, second, second, second + multiply];
            let sums = adders.into_iter().flat_map(|start| [start, start, start + add]);
            let others = [0, transformed, scratchpad, scratchpad + automorphism];
            for start in products.into_iter().chain(sums).chain(others) {
                streams[(start % banks) as usize] += 1_usize;
            }
            let over: usize = streams.iter().map(|&s| s.saturating_sub(machine.accesses_per_cycle)).sum();
            let cost = [over as u64, before + sooner + after + even + odd];
            let [scratchpad, first, second] = [scratchpad, first, second].map(|start| start % beat);
            let adders = adders.map(|start| start % beat);
            found.push((cost, Self { transform: 0, scratchpad, multipliers: [first, second], adders }));
        }
        found.sort_by_key(|&(cost, _)| cost);
        found.into_iter().take(TRIED).map(|(_, stagger)| stagger).collect()
    }
}

#[cfg(test)]
mod tests {
    //! Has every resource a cycle of the beat, however short that is?
    use super::*;
    use crate::f1::tests::{geometry, paper};

    #[test]
    fn resources_begin_within_the_beat() {
        for lanes in [32, 64, 128, 256, 512] {
            let machine = F1 { lanes, ..paper() };
            let geometry = geometry(&machine, 1024);
            let latencies = Latencies::new(&machine, &geometry);
            let by_limb = Stagger::by_limb(&machine, &geometry, &latencies);
            assert_eq!(by_limb.len(), TRIED);
            let others = [false, true].map(|aligned| Stagger::new(&machine, &geometry, &latencies, aligned));
            for Stagger { transform, scratchpad, multipliers, adders } in by_limb.into_iter().chain(others) {
                let begins = [transform, scratchpad].into_iter().chain(multipliers).chain(adders);
                assert!(begins.into_iter().all(|begin| begin < geometry.occupancy), "{lanes} lanes");
            }
        }
    }
}
