//! What a base conversion reads of constants: see `kernels/conversions.cu`.

use polyfabric_kernels::base_conversion::BaseConverter;
use polyfabric_kernels::modular::Modulus;

/// Sources, and targets, that a product of matrices takes at once.
const AT_ONCE: usize = 4;
/// Columns of a product, each a byte of a target: of four products all bytes of four targets.
const COLUMNS: usize = 8;
/// Products for four targets.
const PRODUCTS: usize = 4;

/// How the numbers that a matrix multiplies come of residues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Digits {
    /// They have been weighed, for numbers below αQ, or for a number near 0.
    Weighed { balanced: bool },
    /// They are made here, of mixed radix, for the number in [−Q/2, Q/2).
    MixedRadix,
}

/// `factor` · 2^64 modulo `modulus`.
fn shifted(factor: u64, modulus: Modulus) -> u64 {
    ((u128::from(factor) << 64) % u128::from(modulus.value())) as u64
}

/// The constants of a conversion by `converter`; `limb_of` has the places of moduli in the ring's list.
pub(super) fn table(converter: &BaseConverter, digits: Digits, limb_of: impl Fn(Modulus) -> u64) -> Vec<u64> {
    let (from, to, t) = (converter.from().moduli(), converter.to().moduli(), converter.multiple());
    // t · b_0 · b_1 ⋯ b_(count − 1).
    let product = |modulus: Modulus, t: u64, count: usize| {
        let factors = from[..count].iter();
        factors.fold(modulus.reduce(t), |product, q| modulus.multiply(product, modulus.reduce(q.value())))
    };
    let mut table = Vec::new();
    if digits == Digits::MixedRadix {
        for (index, &q) in from.iter().enumerate() {
            // Distinct primes, of which none divides t.
            let inverse = |number: u64| q.inverse(number).unwrap_or(0);
            let weight = inverse(product(q, 1, index));
            table.extend([limb_of(q), (q.value() - 1) / 2, shifted(q.multiply(inverse(q.reduce(t)), weight), q)]);
            table.extend((0..index).map(|earlier| shifted(q.neg(q.multiply(product(q, 1, earlier), weight)), q)));
        }
    }
    table.extend(to.iter().enumerate().flat_map(|(target, &p)| {
        let added = match digits {
            Digits::MixedRadix => p.neg(product(p, t, from.len())),
            Digits::Weighed { balanced: true } => converter.combination(target).1,
            Digits::Weighed { balanced: false } => 0,
        };
        [limb_of(p), shifted(added, p)]
    }));
    // Of a source and a target.
    let factor = |source: usize, target: usize| match digits {
        Digits::MixedRadix => product(to[target], t, source),
        Digits::Weighed { .. } => converter.combination(target).0[source],
    };
    // Byte `byte` of what each byte of a source's number counts for a target.
    let word = |source: usize, target: usize, byte: usize| {
        let Some(&p) = to.get(target).filter(|_| source < from.len()) else { return 0 };
        let factor = factor(source, target);
        let of_byte = |place: u32| {
            let counts = p.multiply(factor, p.reduce(1 << (8 * place)));
            u64::from(shifted(counts, p).to_le_bytes()[byte]) << (8 * place)
        };
        (0..u64::BITS / 8).map(of_byte).sum()
    };
    for target in (0..to.len()).step_by(AT_ONCE) {
        for source in (0..from.len()).step_by(AT_ONCE) {
            for product in 0..PRODUCTS {
                // A lane has a column's bytes of one source.
                table.extend((0..COLUMNS * AT_ONCE).map(|lane| {
                    let (column, source) = (lane / AT_ONCE, source + lane % AT_ONCE);
                    word(source, target + column / 2, 2 * product + column % 2)
                }));
            }
        }
    }
    table
}

/// Products of two words that a conversion takes for each of its positions: of the digits and of each result's reduction. The matrix is the tensor cores'.
pub(super) fn products(converter: &BaseConverter, digits: Digits) -> usize {
    const OF_A_REDUCTION: usize = 2;
    let (sources, targets) = (converter.from().moduli().len(), converter.to().moduli().len());
    let of_digits =
        if digits == Digits::MixedRadix { sources * (sources + 1) / 2 + OF_A_REDUCTION * sources } else { 0 };
    of_digits + OF_A_REDUCTION * targets
}
