//! The phase of each resource within a beat.
//!
//! Consecutive units start a vector every G cycles, and a stream stays in the register bank of its start
//! (section 3: "staggering the start of each vector operation"). So each unit gets a fixed phase in the beat
//! such that no bank has more streams than ports when all units are busy. Register banks then never conflict.

use crate::f1::graph::{Function, UnitKind};
use crate::f1::machine::{F1, Geometry};

/// Maximum number of cycles by which a unit's start may be delayed to avoid bank conflicts.
const DELAYS: u64 = 8;

/// Number of beats to try with a cluster for each limb.
const TRIED: usize = 64;

/// The phase, in a beat of G cycles, in which each resource starts a vector. A forward transform that is read
/// immediately has phase 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stagger {
    /// The NTT unit.
    pub transform: u64,
    /// The port from the scratchpad, and streams from it.
    pub scratchpad: u64,
    /// The first multiplier, and all others.
    pub multipliers: [u64; 2],
    /// The adders with even and with odd numbers.
    pub adders: [u64; 2],
}

/// Latencies of units and of a crossbar.
#[derive(Clone, Copy, Debug)]
pub struct Latencies {
    /// By kind.
    pub units: [u64; 4],
    pub network: u64,
}

impl Latencies {
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

    pub fn of(&self, kind: UnitKind) -> u64 {
        self.units[kind as usize]
    }
}

impl Stagger {
    /// Minimizes the streams per bank, then the delays. With `aligned`, transforms also read from the scratchpad, so
    /// they start one cycle after its port: such a vector passes through a register without delay.
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

    /// Candidates with a cluster for each limb, by streams per bank, then by delays. A hint vector is written
    /// to a register and read twice, and so is a transform. The first multiplier reads it as it arrives, the
    /// other one a beat later, just before the next vector overwrites it.
    pub fn by_limb(machine: &F1, geometry: &Geometry, latencies: &Latencies) -> Vec<Self> {
        let banks = machine.register_banks as u64;
        let [transform, automorphism, multiply, add] = latencies.units;
        let beat = geometry.occupancy;
        let count = DELAYS.min(banks);
        let mut found: Vec<([u64; 2], Self)> = Vec::new();
        // Shifted by whole beats so that earlier accesses have no negative beat.
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
    //! Does every resource have a phase within the beat, even in a short one?
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
