//! Do the kernels equal their definitions, for random shapes and operands, in every instruction set of this processor?
//!
//! The unit tests use chosen shapes, those of real parameter sets. Here the degree, prime, gadget and number of limbs are random too.

use num_bigint::BigUint;
use polyfabric_kernels::aligned::AlignedVector;
use polyfabric_kernels::automorphism::{GaloisElement, ValuePermutation};
use polyfabric_kernels::base_conversion::{BaseConverter, RnsBasis};
use polyfabric_kernels::decompose::{decompose_level, decompose_scalar};
use polyfabric_kernels::external_product::ExternalProduct;
use polyfabric_kernels::key_switch::{KeySwitch, key_switch_reference};
use polyfabric_kernels::memory::NextUse;
use polyfabric_kernels::modular::{Limb, Modulus};
use polyfabric_kernels::modulus_switch::{modulus_switch, modulus_switch_reference};
use polyfabric_kernels::negacyclic::{ExactMultiplier, multiply_reference};
use polyfabric_kernels::ntt::{EvaluationOrder, Ntt, NttError, NttWord, reference};
use polyfabric_kernels::primes::PrimeClass;
use polyfabric_kernels::rotation::{rotate, rotate_reference};
use polyfabric_kernels::sample_extract::{sample_extract, sample_extract_reference};
use polyfabric_kernels::{Gadget, Isa, RingDegree, Torus};
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Expands operands from a seed, since a polynomial that is shrunk word by word explains nothing.
struct Operands(ChaCha8Rng);

impl Operands {
    fn of(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    fn torus<T: Torus>(&mut self, count: usize) -> Vec<T> {
        (0..count).map(|_| T::from_u64(self.0.random())).collect()
    }

    /// Residues, including both ends of the range.
    fn residues(&mut self, modulus: Modulus, count: usize) -> Vec<u64> {
        let q = modulus.value();
        (0..count)
            .map(|_| match self.0.random_range(0..8) {
                0 => 0,
                1 => q - 1,
                _ => self.0.random_range(0..q),
            })
            .collect()
    }
}

fn degree(largest: u32) -> impl Strategy<Value = RingDegree> {
    (4..=largest).prop_map(|log2| RingDegree::new(1 << log2).expect("a power of two from 16"))
}

/// Gadgets for a torus of `bits` bits, with digits of up to 16 bits.
fn gadget(bits: u32) -> impl Strategy<Value = Gadget> {
    (1u32..=16)
        .prop_flat_map(move |log2_base| (Just(log2_base), 1..=(bits / log2_base).min(6)))
        .prop_map(|(log2_base, levels)| Gadget { log2_base, levels })
}

/// Streaming stores, or not.
fn next_use() -> impl Strategy<Value = NextUse> {
    prop_oneof![Just(NextUse::Soon), Just(NextUse::Late)]
}

fn prime(degree: RingDegree, bits: u32, number: usize) -> Modulus {
    let primes = PrimeClass::of_degree(degree).of_bits(bits, number + 1).expect("enough primes");
    Modulus::new(primes[number]).expect("a modulus")
}

fn transform<W: NttWord + TryFrom<u64> + Into<u64>>(degree: RingDegree, modulus: Modulus, seed: u64) {
    let polynomial = Operands::of(seed).residues(modulus, degree.get());
    let word = |x: &u64| W::try_from(*x).unwrap_or_else(|_| unreachable!("a residue fits its word"));
    for isa in Isa::present() {
        let ntt = match Ntt::<W>::with_isa(degree, modulus, isa) {
            Err(NttError::Isa { .. }) => continue,
            made => made.expect("a transform"),
        };
        let mut values: Vec<W> = polynomial.iter().map(word).collect();
        ntt.forward(&mut values);
        let natural = EvaluationOrder::BitReversed.convert(EvaluationOrder::Natural, degree, &values);
        let natural: Vec<u64> = natural.into_iter().map(Into::into).collect();
        assert_eq!(natural, reference::forward(modulus, ntt.root(), &polynomial), "{isa:?}");
        ntt.inverse(&mut values);
        let back: Vec<u64> = values.into_iter().map(Into::into).collect();
        assert_eq!(back, polynomial, "inverse, {isa:?}");
    }
}

fn decomposition<T: Torus>(gadget: Gadget, seed: u64) {
    let values = Operands::of(seed).torus::<T>(67);
    let mut levels = vec![vec![0; values.len()]; gadget.levels as usize];
    for (level, digits) in levels.iter_mut().enumerate() {
        decompose_level(&values, gadget, level as u32, digits);
    }
    let mut digits = vec![0; gadget.levels as usize];
    for (place, &value) in values.iter().enumerate() {
        decompose_scalar(value, gadget, &mut digits);
        assert!(levels.iter().map(|level| level[place]).eq(digits.iter().copied()));
        let half = 1i64 << (gadget.log2_base - 1);
        assert!(digits.iter().all(|&digit| (-half..half).contains(&i64::from(digit))));
        let sum = digits.iter().zip(1..).fold(0u64, |sum, (&digit, level)| {
            sum.wrapping_add((i64::from(digit) as u64).wrapping_shl(T::BITS - gadget.log2_base * level))
        });
        let dropped = T::BITS - gadget.kept_bits();
        let reach = if dropped == 0 { 0 } else { 1i64 << (dropped - 1) };
        assert!((-reach..=reach).contains(&T::from_u64(sum).wrapping_sub(value).to_i64()));
    }
}

/// ACC + GGSW ⊡ (X^e · ACC − ACC), with every product by its definition.
fn external_product_reference<T: Torus>(ggsw: &[T], gadget: Gadget, n: usize, exponent: usize, acc: &[T]) -> Vec<T> {
    let mut sum = acc.to_vec();
    let mut digits = vec![0; n];
    let mut rows = ggsw.chunks_exact(acc.len());
    for polynomial in acc.chunks_exact(n) {
        let rotated = rotate_reference(polynomial, exponent);
        let difference: Vec<T> = rotated.iter().zip(polynomial).map(|(&a, &b)| a.wrapping_sub(b)).collect();
        for level in 0..gadget.levels {
            decompose_level(&difference, gadget, level, &mut digits);
            let row = rows.next().expect("(k + 1) · l rows");
            for (column, sum) in row.chunks_exact(n).zip(sum.chunks_exact_mut(n)) {
                let product = multiply_reference(&digits, column);
                sum.iter_mut().zip(product).for_each(|(out, term)| *out = out.wrapping_add(term));
            }
        }
    }
    sum
}

fn external_product<T: Torus>(degree: RingDegree, gadget: Gadget, k: usize, exponent: usize, seed: u64) {
    let n = degree.get();
    let mut operands = Operands::of(seed);
    let acc = operands.torus::<T>((k + 1) * n);
    let ggsw = operands.torus::<T>((k + 1) * gadget.levels as usize * acc.len());
    let expected = external_product_reference(&ggsw, gadget, n, exponent, &acc);
    for isa in Isa::present() {
        let product =
            ExternalProduct::<T>::new(degree, gadget, k, Some(isa)).expect("an instruction set of this processor");
        let mut key = AlignedVector::zeros(product.key_len(false));
        product.transform_key(&ggsw, false, &mut key);
        let mut found = acc.clone();
        product.rotate_multiply_add(&key, &[], exponent, &mut found, None, &mut product.workspace());
        let error = |(a, b): (&T, &T)| a.wrapping_sub(*b).to_i64().unsigned_abs();
        let largest = found.iter().zip(&expected).map(error).max().expect("coefficients") as f64;
        assert!(largest <= product.error_bound(), "{isa:?}: error {largest}, bound {}", product.error_bound());
    }
}

fn product_of(basis: &RnsBasis) -> BigUint {
    basis.moduli().iter().map(|modulus| BigUint::from(modulus.value())).product()
}

fn residues(number: &BigUint, basis: &RnsBasis) -> Vec<u64> {
    let residue = |modulus: &Modulus| u64::try_from(number % modulus.value()).expect("a residue");
    basis.moduli().iter().map(residue).collect()
}

fn base_conversion(bits: u32, sources: usize, targets: usize, next_use: NextUse, seed: u64) {
    let primes = PrimeClass::ONE_MOD_WORD.of_bits(bits, sources + targets).expect("enough primes");
    let moduli: Vec<Modulus> = primes.into_iter().map(|prime| Modulus::new(prime).expect("a modulus")).collect();
    let from = RnsBasis::new(moduli[..sources].to_vec()).expect("a basis");
    let to = RnsBasis::new(moduli[sources..].to_vec()).expect("a basis");
    let (q, p) = (product_of(&from), product_of(&to));
    let mut operands = Operands::of(seed);
    let numbers: Vec<BigUint> = (0..19)
        .map(|_| BigUint::new((0..2 * sources + 2).map(|_| operands.0.random()).collect()) % &q)
        .chain([BigUint::ZERO, &q - 1u32, &q / 2u32, &q / 2u32 + 1u32])
        .collect();
    let limbs = |columns: &[Vec<u64>]| -> Vec<Vec<u64>> {
        (0..columns[0].len()).map(|limb| columns.iter().map(|column| column[limb]).collect()).collect()
    };
    let input = limbs(&numbers.iter().map(|x| residues(x, &from)).collect::<Vec<_>>());
    let input: Vec<&[u64]> = input.iter().map(Vec::as_slice).collect();
    for isa in Isa::present() {
        let converter = BaseConverter::with_isa(from.clone(), to.clone(), isa);
        let mut output = vec![vec![0; numbers.len()]; targets];
        let mut run = |exact: bool| {
            let mut output_limbs: Vec<&mut [u64]> = output.iter_mut().map(Vec::as_mut_slice).collect();
            if exact {
                converter.convert_exact(&input, &mut output_limbs, next_use);
            } else {
                converter.convert(&input, &mut output_limbs, next_use);
            }
            limbs(&output)
        };
        for (x, found) in numbers.iter().zip(run(true)) {
            // Modulo P·Q the centred representative of x is x, or x − Q.
            let centred = if x * 2u32 >= q { x + &p * &q - &q } else { x.clone() };
            assert_eq!(found, residues(&centred, &to), "exact, {isa:?}");
        }
        for (x, found) in numbers.iter().zip(run(false)) {
            let overflow = |u: usize| found == residues(&(x + &q * u), &to);
            assert!((0..sources).any(overflow), "not x + u·Q with u < {sources}, {isa:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ntts_match_the_definition(degree in degree(8), bits in 20u32..=61, number in 0usize..3, seed: u64) {
        transform::<u64>(degree, prime(degree, bits, number), seed);
    }

    #[test]
    fn ntts_of_32_bit_words_match_the_definition(degree in degree(8), bits in 20u32..=32, seed: u64) {
        transform::<u32>(degree, prime(degree, bits, 0), seed);
    }

    #[test]
    fn pointwise_products_are_negacyclic_products(degree in degree(8), bits in 20u32..=61, seed: u64) {
        let modulus = prime(degree, bits, 0);
        let mut operands = Operands::of(seed);
        let [a, b] = [(); 2].map(|()| operands.residues(modulus, degree.get()));
        let ntt = Ntt::<u64>::new(degree, modulus).expect("a transform");
        let (mut found, mut other) = (a.clone(), b.clone());
        ntt.forward(&mut found);
        ntt.forward(&mut other);
        Limb::new(modulus).multiply_assign(&mut found, &other);
        ntt.inverse(&mut found);
        prop_assert_eq!(found, reference::multiply(modulus, &a, &b));
    }

    #[test]
    fn exact_multiplication_matches_the_definition(degree in degree(9), log2_digit in 1u32..=30, seed: u64) {
        let mut operands = Operands::of(seed);
        let reach = 1i32 << log2_digit;
        let digits: Vec<i32> = (0..degree.get()).map(|_| operands.0.random_range(-reach..reach)).collect();
        let (narrow, wide) = (operands.torus::<u32>(degree.get()), operands.torus::<u64>(degree.get()));
        let multiplier = ExactMultiplier::new(degree);
        prop_assert_eq!(multiplier.multiply(&digits, &narrow), multiply_reference(&digits, &narrow));
        prop_assert_eq!(multiplier.multiply(&digits, &wide), multiply_reference(&digits, &wide));
    }

    #[test]
    fn external_products_are_within_their_error_bound(
        degree in degree(8), gadget in gadget(32), k in 1usize..=3, exponent in 0usize..512, seed: u64
    ) {
        external_product::<u32>(degree, gadget, k, exponent % (2 * degree.get()), seed);
    }

    #[test]
    fn external_products_of_64_bits_are_within_their_error_bound(
        degree in degree(8), gadget in gadget(64), k in 1usize..=2, exponent in 0usize..512, seed: u64
    ) {
        external_product::<u64>(degree, gadget, k, exponent % (2 * degree.get()), seed);
    }

    #[test]
    fn digits_recompose_to_the_nearest_multiple(narrow in gadget(32), wide in gadget(64), seed: u64) {
        decomposition::<u32>(narrow, seed);
        decomposition::<u64>(wide, seed);
    }

    #[test]
    fn base_conversions_match_the_integer(
        bits in 30u32..=60, sources in 1usize..=9, targets in 1usize..=4, next_use in next_use(), seed: u64
    ) {
        base_conversion(bits, sources, targets, next_use, seed);
    }

    #[test]
    fn automorphisms_match_the_definition(
        degree in degree(9), half in 0usize..512, bits in 20u32..=50, next_use in next_use(), seed: u64
    ) {
        let modulus = prime(degree, bits, 0);
        let element = GaloisElement::new(degree, (2 * half + 1) % (2 * degree.get())).expect("odd");
        let polynomial = Operands::of(seed).residues(modulus, degree.get());
        let expected = element.apply_reference(modulus, &polynomial);
        let mut found = vec![0; degree.get()];
        element.apply(modulus, &polynomial, &mut found);
        prop_assert_eq!(&found, &expected);
        let ntt = Ntt::<u64>::new(degree, modulus).expect("a transform");
        let mut values = polynomial;
        ntt.forward(&mut values);
        ValuePermutation::new(element).apply(&values, &mut found, next_use);
        ntt.inverse(&mut found);
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn key_switches_match_the_definition(
        gadget in gadget(32), from in 1usize..=70, to in 1usize..=70, count in 1usize..=5, seed: u64
    ) {
        let mut operands = Operands::of(seed);
        let key = operands.torus::<u32>(from * gadget.levels as usize * (to + 1));
        let inputs = operands.torus::<u32>(count * (from + 1));
        let expected: Vec<u32> =
            inputs.chunks_exact(from + 1).flat_map(|input| key_switch_reference(input, &key, gadget, to)).collect();
        for isa in Isa::present() {
            let mut found = vec![0; count * (to + 1)];
            KeySwitch::new(&key, gadget, from, to, isa).switch(&inputs, &mut found);
            prop_assert_eq!(&found, &expected, "{:?}", isa);
        }
    }

    #[test]
    fn rotations_extractions_and_modulus_switches_match_the_definitions(
        degree in degree(9), k in 1usize..=3, exponent in 0usize..1024, log2_modulus in 5u32..=18, seed: u64
    ) {
        let n = degree.get();
        let glwe = Operands::of(seed).torus::<u32>((k + 1) * n);
        let mut rotated = vec![0; n];
        rotate(&glwe[..n], exponent % (2 * n), &mut rotated);
        prop_assert_eq!(rotated, rotate_reference(&glwe[..n], exponent % (2 * n)));
        let mut lwe = vec![0; k * n + 1];
        sample_extract(&glwe, n, exponent % n, &mut lwe);
        prop_assert_eq!(&lwe, &sample_extract_reference(&glwe, n, exponent % n));
        let mut switched = vec![0; lwe.len()];
        modulus_switch(&lwe, log2_modulus, &mut switched);
        let expected: Vec<u32> = lwe.iter().map(|&value| modulus_switch_reference(value, log2_modulus)).collect();
        prop_assert_eq!(switched, expected);
    }
}
