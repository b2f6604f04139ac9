//! Rings, residues and streams for the units' tests.

use super::super::tiling::TileOrder;
use super::{PipelineDepth, Shape, Tile};
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::base_conversion::BaseConverter;
use polyfabric_kernels::expander::UniformStream;
use polyfabric_kernels::memory::NextUse;
use polyfabric_kernels::modular::Modulus;
use polyfabric_kernels::primes::PrimeClass;

/// Limbs, each the concatenation of its tiles.
pub(crate) type LimbStream = Vec<Vec<u64>>;

pub(crate) const DEPTH: PipelineDepth = PipelineDepth { multiplier: 4 };

pub(crate) fn shape(log2: u32, lanes: usize) -> Shape {
    Shape::new(RingDegree::new(1 << log2).unwrap(), lanes, 16).unwrap()
}

/// Alternating primes of 40 and 36 bits, so that conversions mix sizes of limbs.
pub(crate) fn moduli(log2: u32, count: usize) -> Vec<Modulus> {
    let class = PrimeClass::of_degree(RingDegree::new(1 << log2).unwrap());
    let [long, short] = [40, 36].map(|bits| class.of_bits(bits, count.div_ceil(2)).unwrap());
    let primes = long.into_iter().zip(short).flat_map(|(long, short)| [long, short]);
    primes.take(count).map(|prime| Modulus::new(prime).unwrap()).collect()
}

pub(crate) fn residues(shape: Shape, moduli: &[Modulus], seed: u64) -> LimbStream {
    let limb = |(stream, &q): (usize, &Modulus)| {
        let mut words = vec![0; shape.degree().get()];
        UniformStream::new(&[seed as u8; 32], seed << 8 | stream as u64, q).fill(&mut words);
        words
    };
    moduli.iter().enumerate().map(limb).collect()
}

/// `limbs` interleaved, with tiles of a limb `spacing` cycles apart, from cycle `start` on.
pub(crate) fn interleaved(
    shape: Shape,
    limbs: &LimbStream,
    spacing: usize,
    start: u64,
) -> impl Iterator<Item = (u64, Tile)> {
    TileOrder::interleaved(shape, limbs.len(), spacing).cut(limbs).map(move |(cycle, tile)| (start + cycle, tile))
}

/// The kernel's conversion of whole limbs.
pub(crate) fn convert(converter: &BaseConverter, balanced: bool, input: &LimbStream) -> LimbStream {
    let input: Vec<&[u64]> = input.iter().map(|limb| &limb[..]).collect();
    let mut output = vec![vec![0; input[0].len()]; converter.to().moduli().len()];
    let mut limbs: Vec<&mut [u64]> = output.iter_mut().map(|limb| &mut limb[..]).collect();
    match balanced {
        true => converter.convert_balanced(&input, &mut limbs, NextUse::Soon),
        false => converter.convert(&input, &mut limbs, NextUse::Soon),
    }
    output
}
