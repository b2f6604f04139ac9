//! Does every kernel give the definition's values, in the documented order and range, at every degree?

mod four_step;
mod streaming;

use crate::random::LARGEST_LOG2;
use polyfabric_kernels::Isa;
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::modular::Modulus;
use polyfabric_kernels::modular::{Limb, reference as arithmetic};
use polyfabric_kernels::ntt::*;
use polyfabric_kernels::primes::PrimeClass;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn polynomial(modulus: Modulus, count: usize, seed: u64) -> Vec<u64> {
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    let mut words: Vec<u64> = (0..count).map(|_| generator.random_range(0..modulus.value())).collect();
    // Many largest residues, where a bound would break first.
    words.iter_mut().step_by(3).for_each(|word| *word = modulus.value() - 1);
    words
}

/// The largest prime and a small one for each word size where an arithmetic changes.
fn moduli(degree: RingDegree, sizes: &[u32]) -> Vec<Modulus> {
    let class = PrimeClass::of_degree(degree);
    sizes.iter().map(|&bits| Modulus::new(class.of_bits(bits, 1).unwrap()[0]).unwrap()).collect()
}

fn degrees() -> impl Iterator<Item = RingDegree> {
    (4..=LARGEST_LOG2).map(|log2| RingDegree::new(1 << log2).unwrap())
}

/// Every transform of a word type that this processor has.
fn for_every_transform<W: NttWord>(sizes: &[u32], check: impl Fn(&Ntt<W>)) {
    let mut checked = 0;
    for degree in degrees() {
        for modulus in moduli(degree, sizes) {
            for isa in Isa::ALL {
                if let Ok(ntt) = Ntt::<W>::with_isa(degree, modulus, isa) {
                    check(&ntt);
                    checked += 1;
                }
            }
        }
    }
    assert!(checked >= degrees().count() * sizes.len());
}

const SIZES_64: [u32; 12] = [20, 28, 32, 36, 40, 46, 47, 48, 49, 50, 60, 61];
const SIZES_32: [u32; 5] = [20, 28, 30, 31, 32];

/// Values by definition for small degrees, spot checks at random points for large ones.
fn check_forward(modulus: Modulus, root: u64, degree: RingDegree, polynomial: &[u64], values: &[u64]) {
    assert!(values.iter().all(|&value| modulus.holds(value)));
    let count = degree.get();
    if count <= 512 {
        let expected = reference::forward(modulus, root, polynomial);
        assert_eq!(EvaluationOrder::BitReversed.convert(EvaluationOrder::Natural, degree, values), expected);
    }
    let mut generator = ChaCha8Rng::seed_from_u64(count as u64);
    for place in [0, 1, count / 2, count - 1, generator.random_range(0..count), generator.random_range(0..count)] {
        let exponent = 2 * EvaluationOrder::BitReversed.value_at(degree, place) as u64 + 1;
        let point = modulus.power(root, exponent);
        assert_eq!(values[place], reference::evaluate(modulus, polynomial, point), "place {place}");
    }
}

/// Zeros stay canonical: in every butterfly both operands are equal, and so are the halves of a product.
fn check_zeros<W: NttWord + PartialEq>(ntt: &Ntt<W>, zero: W) {
    let mut words = vec![zero; ntt.degree().get()];
    for transform in [Ntt::forward, Ntt::inverse] {
        transform(ntt, &mut words);
        assert!(words.iter().all(|&word| word == zero), "zeros in {:?}, {:?}", ntt.isa(), ntt.modulus());
    }
}

#[test]
fn words_of_64_bits() {
    for_every_transform::<u64>(&SIZES_64, |ntt| {
        let (modulus, degree) = (ntt.modulus(), ntt.degree());
        let x = polynomial(modulus, degree.get(), 1);
        let mut values = x.clone();
        ntt.forward(&mut values);
        check_forward(modulus, ntt.root(), degree, &x, &values);
        ntt.inverse(&mut values);
        assert!(values == x, "round trip of {:?} modulo {modulus:?} at {degree:?}", ntt.isa());
        check_zeros(ntt, 0);
    });
}

/// The arithmetic of a processor without IFMA, for every prime.
#[test]
#[cfg(target_arch = "x86_64")]
fn products_without_ifma() {
    for degree in degrees().skip(3) {
        let wide = moduli(degree, &[20, 32, 50, 61]).into_iter().map(|modulus| (modulus, false));
        let floats = moduli(degree, &[20, 40, 48, 49, 50]).into_iter().map(|modulus| (modulus, true));
        for (modulus, floats) in wide.chain(floats) {
            let Some(ntt) = Ntt::without_ifma(degree, modulus, floats) else { return };
            let ntt = ntt.unwrap();
            let x = polynomial(modulus, degree.get(), 6);
            let (mut values, mut expected) = (x.clone(), x.clone());
            ntt.forward(&mut values);
            Ntt::<u64>::with_isa(degree, modulus, Isa::Portable).unwrap().forward(&mut expected);
            assert!(values == expected, "{modulus:?} {degree:?}, in floats: {floats}");
            ntt.inverse(&mut values);
            assert!(values == x, "{modulus:?} {degree:?}, in floats: {floats}");
        }
    }
}

#[test]
fn words_of_32_bits() {
    for_every_transform::<u32>(&SIZES_32, |ntt| {
        let (modulus, degree) = (ntt.modulus(), ntt.degree());
        let x = polynomial(modulus, degree.get(), 2);
        let mut words: Vec<u32> = x.iter().map(|&word| word as u32).collect();
        ntt.forward(&mut words);
        let values: Vec<u64> = words.iter().map(|&word| u64::from(word)).collect();
        check_forward(modulus, ntt.root(), degree, &x, &values);
        ntt.inverse(&mut words);
        assert!(
            words.iter().map(|&word| u64::from(word)).eq(x),
            "round trip of {:?} modulo {modulus:?} at {degree:?}",
            ntt.isa()
        );
        check_zeros(ntt, 0);
    });
}

/// Compares all values across sets: spot checks would miss a wrong lane of a large degree.
#[test]
fn sets_agree_word_by_word() {
    for degree in degrees() {
        for modulus in moduli(degree, &[28, 32, 48, 50]) {
            let x = polynomial(modulus, degree.get(), 3);
            let mut expected = x.clone();
            Ntt::<u64>::with_isa(degree, modulus, Isa::Portable).unwrap().forward(&mut expected);
            for isa in Isa::ALL {
                if let Ok(ntt) = Ntt::<u64>::with_isa(degree, modulus, isa) {
                    let mut values = x.clone();
                    ntt.forward(&mut values);
                    assert!(values == expected, "{isa:?} {degree:?}");
                }
                if let Ok(ntt) = Ntt::<u32>::with_isa(degree, modulus, isa) {
                    let mut values: Vec<u32> = x.iter().map(|&word| word as u32).collect();
                    ntt.forward(&mut values);
                    assert!(
                        values.iter().map(|&word| u64::from(word)).eq(expected.iter().copied()),
                        "{isa:?} {degree:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn reference_inverts_and_multiplies() {
    let degree = RingDegree::new(32).unwrap();
    for modulus in moduli(degree, &[20, 61]) {
        let ntt = Ntt::<u64>::new(degree, modulus).unwrap();
        let (a, b) = (polynomial(modulus, 32, 4), polynomial(modulus, 32, 5));
        let values = |x: &[u64]| reference::forward(modulus, ntt.root(), x);
        assert_eq!(reference::inverse(modulus, ntt.root(), &values(&a)).unwrap(), a);
        let product: Vec<u64> =
            values(&a).iter().zip(values(&b)).map(|(&x, y)| arithmetic::multiply(modulus, x, y)).collect();
        assert_eq!(reference::inverse(modulus, ntt.root(), &product).unwrap(), reference::multiply(modulus, &a, &b));
        let (mut x, mut y) = (a.clone(), b.clone());
        ntt.forward(&mut x);
        ntt.forward(&mut y);
        Limb::new(modulus).multiply_assign(&mut x, &y);
        ntt.inverse(&mut x);
        assert_eq!(x, reference::multiply(modulus, &a, &b));
    }
}

#[test]
fn moduli_without_a_transform_are_rejected() {
    let degree = RingDegree::new(1024).unwrap();
    let error = |value| Ntt::<u64>::new(degree, Modulus::new(value).unwrap()).unwrap_err().to_string();
    assert_eq!(error(97), "modulus 97 has no root of unity of order 2048; use a prime = 1 mod 2048");
    let q = PrimeClass::ONE_MOD_WORD.of_bits(28, 2).unwrap();
    assert_eq!(error(q[0] * q[1]), format!("modulus {} is not prime; the transform needs a prime", q[0] * q[1]));
    let wide = Modulus::new(PrimeClass::ONE_MOD_WORD.of_bits(33, 1).unwrap()[0]).unwrap();
    assert!(matches!(Ntt::<u32>::new(degree, wide), Err(NttError::WordSize { .. })));
    let large = Modulus::new(PrimeClass::ONE_MOD_WORD.of_bits(61, 1).unwrap()[0]).unwrap();
    assert!(matches!(Ntt::<u64>::with_isa(degree, large, Isa::Avx2), Err(NttError::Isa { .. })));
    assert!(Ntt::<u64>::with_isa(degree, Modulus::new(1 << 20).unwrap(), Isa::Portable).is_err());
}

#[test]
fn orders_are_permutations() {
    for degree in degrees() {
        let orders = [
            EvaluationOrder::Natural,
            EvaluationOrder::BitReversed,
            EvaluationOrder::FourStep { vector: 1 << degree.log2().div_ceil(2) },
            EvaluationOrder::Streaming { lanes: 4 },
        ];
        let values: Vec<usize> = (0..degree.get()).collect();
        for from in orders {
            for to in orders {
                let there = from.convert(to, degree, &values);
                assert_eq!(to.convert(from, degree, &there), values);
            }
        }
    }
}

/// Polynomials in a power of X, with and without the subring transform.
#[test]
fn a_subring_has_the_same_values() {
    for_every_transform::<u64>(&[32, 46, 48, 50, 61], |ntt| {
        let count = ntt.degree().get();
        for log2_apart in [0, 1, 2, 3, 5, 8, 13] {
            let Ok(degree) = RingDegree::new(count >> log2_apart) else { break };
            let subring = ntt.subring(degree);
            assert!(subring.isa() <= ntt.isa());
            let mut values = polynomial(ntt.modulus(), degree.get(), 7);
            let mut expected = vec![0; count];
            expected.iter_mut().step_by(1 << log2_apart).zip(&values).for_each(|(word, &value)| *word = value);
            ntt.forward(&mut expected);
            subring.forward(&mut values);
            let mut found = vec![0; count];
            repeat(&values, &mut found);
            assert!(found == expected, "{:?} in {:?}, {:?}", degree, ntt.degree(), ntt.modulus());
        }
    });
}

#[test]
fn values_are_repeated() {
    for count in [1, 2, 3, 4, 8, 12] {
        let values: Vec<u64> = (0..count).collect();
        for times in [1, 2, 3, 4, 6, 8, 16, 24, 100] {
            let mut found = vec![0; values.len() * times];
            repeat(&values, &mut found);
            let expected: Vec<u64> = values.iter().flat_map(|&value| std::iter::repeat_n(value, times)).collect();
            assert_eq!(found, expected, "{count} values, {times} times");
        }
    }
}

#[test]
fn halves_are_the_whole() {
    for_every_transform::<u64>(&SIZES_64, |ntt| {
        let input = polynomial(ntt.modulus(), ntt.degree().get(), 3);
        let mut whole = input.clone();
        ntt.forward(&mut whole);
        let mut halves = input;
        ntt.forward_begin(&mut halves, &[&[1; 100], &[], &[2; 3]]);
        let region = ntt.region();
        // In any order.
        for (index, words) in halves.chunks_exact_mut(region).enumerate().rev() {
            ntt.forward_end(words, index * region, &[&[1; 100]]);
        }
        assert!(halves == whole, "{:?}, {} bits", ntt.degree(), ntt.modulus().bits());
        ntt.inverse_of(&whole, &mut halves);
        ntt.inverse(&mut whole);
        assert!(halves == whole, "inverse of {:?}, {} bits", ntt.degree(), ntt.modulus().bits());
    });
}
