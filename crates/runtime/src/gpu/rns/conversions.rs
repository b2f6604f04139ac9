//! Constants of base conversions; see `kernels/conversions.cu`.

use polyfabric_kernels::base_conversion::BaseConverter;
use polyfabric_kernels::modular::Modulus;

/// Numbers and targets per matrix product.
const AT_ONCE: usize = 4;
/// Columns of a product, each a byte of a target: four products have all bytes of four targets.
const COLUMNS: usize = 8;
/// Products for four targets.
const PRODUCTS: usize = 4;

/// The number represented by the residues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Which {
    /// The sum of the weighted residues: in [0, αQ), or near 0 if balanced.
    Sum { balanced: bool },
    /// The representative in [−Q/2, Q/2).
    Centred,
}

/// `factor` · 2^64 modulo `modulus`.
fn shifted(factor: u64, modulus: Modulus) -> u64 {
    ((u128::from(factor) << 64) % u128::from(modulus.value())) as u64
}

/// The factor for the residue of source `source`, for which Σ y_i t Q/q_i is the number.
pub(super) fn weight(converter: &BaseConverter, source: usize) -> u64 {
    let q = converter.from().moduli()[source];
    // Distinct primes that do not divide t have this inverse.
    q.inverse(others(converter, q, q.reduce(converter.multiple()), Some(source))).unwrap_or(0)
}

/// `factor` times the product of the sources' moduli except `but`, modulo `modulus`.
fn others(converter: &BaseConverter, modulus: Modulus, factor: u64, but: Option<usize>) -> u64 {
    let factors = converter.from().moduli().iter().enumerate().filter(|&(source, _)| Some(source) != but);
    factors.fold(factor, |product, (_, q)| modulus.multiply(product, modulus.reduce(q.value())))
}

/// The constants of a conversion by `converter`; `limb_of` maps moduli to their index in the ring.
pub(super) fn table(converter: &BaseConverter, which: Which, limb_of: impl Fn(Modulus) -> u64) -> Vec<u64> {
    let (from, to, t) = (converter.from().moduli(), converter.to().moduli(), converter.multiple());
    let mut table = Vec::new();
    if which == Which::Centred {
        table.extend(from.iter().map(|q| (1.0 / q.value() as f64).to_bits()));
        for (index, &q) in from.iter().enumerate() {
            // b_0 · b_1 ⋯ b_(count − 1).
            let product = |count: usize| {
                from[..count].iter().fold(1, |product, other| q.multiply(product, q.reduce(other.value())))
            };
            let weight = q.inverse(product(index)).unwrap_or(0);
            let of_number = q.multiply(others(converter, q, 1, Some(index)), weight);
            table.extend([limb_of(q), (q.value() - 1) / 2, shifted(of_number, q)]);
            table.extend((0..index).map(|earlier| shifted(q.neg(q.multiply(product(earlier), weight)), q)));
        }
    }
    table.extend(to.iter().map(|&p| limb_of(p)));
    // A number's contribution to a target; additional rows follow the sources.
    let factor = |source: usize, target: usize| {
        let p = to[target];
        match which {
            Which::Centred if source < from.len() => others(converter, p, p.reduce(t), Some(source)),
            Which::Centred => p.neg(others(converter, p, p.reduce(t), None)),
            Which::Sum { .. } if source < from.len() => converter.combination(target).0[source],
            Which::Sum { balanced } => {
                if balanced {
                    converter.combination(target).1
                } else {
                    0
                }
            }
        }
    };
    // Byte `byte` of the contribution of each byte of a source's number to a target.
    let word = |source: usize, target: usize, byte: usize| {
        let Some(&p) = to.get(target).filter(|_| source <= from.len()) else { return 0 };
        let factor = factor(source, target);
        let of_byte = |place: u32| {
            let counts = p.multiply(factor, p.reduce(1 << (8 * place)));
            u64::from(shifted(counts, p).to_le_bytes()[byte]) << (8 * place)
        };
        (0..u64::BITS / 8).map(of_byte).sum()
    };
    for target in (0..to.len()).step_by(AT_ONCE) {
        for source in (0..=from.len()).step_by(AT_ONCE) {
            for product in 0..PRODUCTS {
                // A lane has a column's bytes for one source.
                table.extend((0..COLUMNS * AT_ONCE).map(|lane| {
                    let (column, source) = (lane / AT_ONCE, source + lane % AT_ONCE);
                    word(source, target + column / 2, 2 * product + column % 2)
                }));
            }
        }
    }
    table
}

/// Word products per position of a conversion: the reductions of each result. Tensor cores compute the matrix product.
pub(super) fn products(converter: &BaseConverter) -> usize {
    const OF_A_REDUCTION: usize = 2;
    OF_A_REDUCTION * converter.to().moduli().len()
}
