//! Do converted residues match the big integer, with exactly the documented error?

use num_bigint::{BigInt, BigUint};
use polyfabric_kernels::Isa;
use polyfabric_kernels::aligned::AlignedTorus;
use polyfabric_kernels::base_conversion::*;
use polyfabric_kernels::memory::NextUse;
use polyfabric_kernels::modular::Modulus;
use polyfabric_kernels::primes::PrimeClass;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// `count` primes of `bits` bits, without the largest `skip`.
fn basis(bits: u32, skip: usize, count: usize) -> RnsBasis {
    let primes = PrimeClass::ONE_MOD_WORD.of_bits(bits, skip + count).unwrap();
    RnsBasis::new(primes[skip..].iter().map(|&prime| Modulus::new(prime).unwrap()).collect()).unwrap()
}

fn product(basis: &RnsBasis) -> BigInt {
    basis.moduli().iter().map(|modulus| BigInt::from(modulus.value())).product()
}

fn residue(number: &BigInt, modulus: Modulus) -> u64 {
    let value = BigInt::from(modulus.value());
    let residue = ((number % &value) + &value) % &value;
    u64::try_from(residue).unwrap()
}

/// Corner cases of [0, Q), including both numbers next to Q/2, then random numbers.
fn numbers(basis: &RnsBasis, count: usize) -> Vec<BigInt> {
    let mut generator = ChaCha8Rng::seed_from_u64(count as u64);
    let q = product(basis);
    let half: BigInt = &q / 2;
    let mut numbers = vec![BigInt::from(0), BigInt::from(1), &q - 1, half.clone(), &half + 1, &half - 1];
    numbers.extend((numbers.len()..count).map(|_| {
        let words: Vec<u32> = (0..2 * basis.moduli().len() + 1).map(|_| generator.random()).collect();
        BigInt::from(BigUint::new(words)) % &q
    }));
    numbers
}

fn check(from: RnsBasis, to: RnsBasis, count: usize) {
    let (q, sources) = (product(&from), from.moduli().len());
    let numbers = numbers(&from, count);
    let input: Vec<Vec<u64>> =
        from.moduli().iter().map(|&modulus| numbers.iter().map(|x| residue(x, modulus)).collect()).collect();
    let input: Vec<&[u64]> = input.iter().map(|limb| &limb[..]).collect();
    let uses = Isa::present().flat_map(|isa| [(isa, NextUse::Soon), (isa, NextUse::Late)]);
    for (isa, next_use) in uses {
        let converter = BaseConverter::with_isa(from.clone(), to.clone(), isa);
        let mut output = vec![AlignedTorus::<u64>::zeros(count); to.moduli().len()];
        let mut limbs: Vec<&mut [u64]> = output.iter_mut().map(|limb| &mut limb[..]).collect();
        converter.convert(&input, &mut limbs, next_use);
        for (column, x) in numbers.iter().enumerate() {
            let of_u = |u: usize| {
                let number = x + &q * u;
                to.moduli().iter().zip(&output).all(|(&modulus, limb)| limb[column] == residue(&number, modulus))
            };
            // The same u for all target primes.
            assert!((0..sources).any(of_u), "column {column} is not {x} + u*Q");
        }
        let mut limbs: Vec<&mut [u64]> = output.iter_mut().map(|limb| &mut limb[..]).collect();
        converter.convert_exact(&input, &mut limbs, next_use);
        for (column, x) in numbers.iter().enumerate() {
            let centred = if x * 2 >= q { x - &q } else { x.clone() };
            for (&modulus, limb) in to.moduli().iter().zip(&output) {
                assert_eq!(limb[column], residue(&centred, modulus), "column {column}");
            }
        }
        let mut limbs: Vec<&mut [u64]> = output.iter_mut().map(|limb| &mut limb[..]).collect();
        converter.convert_balanced(&input, &mut limbs, next_use);
        for (column, x) in numbers.iter().enumerate() {
            let sum = balanced(&from, x);
            assert!(residue(&(&sum - x), Modulus::new(from.moduli()[0].value()).unwrap()) == 0);
            assert!(&sum * 2 <= &q * sources && &sum * 2 >= -(&q * sources), "column {column}");
            for (&modulus, limb) in to.moduli().iter().zip(&output) {
                assert_eq!(limb[column], residue(&sum, modulus), "column {column}");
            }
        }
        // In two halves.
        let mut weighed: Vec<Vec<u64>> = input.iter().map(|limb| limb.to_vec()).collect();
        weighed.iter_mut().enumerate().for_each(|(source, limb)| converter.weigh(source, true, limb));
        let weighed: Vec<&[u64]> = weighed.iter().map(|limb| &limb[..]).collect();
        for (target, limb) in output.iter().enumerate() {
            let mut words = vec![0; count];
            converter.combine(target, true, &weighed, &mut words);
            assert_eq!(words, limb[..], "target {target}");
        }
    }
}

/// Σ z_i·(Q/q_i), z_i ≡ x·(Q/q_i)^-1 in [−floor(q_i/2), q_i − floor(q_i/2)).
fn balanced(from: &RnsBasis, x: &BigInt) -> BigInt {
    let q = product(from);
    let term = |&modulus: &Modulus| {
        let cofactor = &q / modulus.value();
        let inverse = modulus.inverse(residue(&cofactor, modulus)).unwrap();
        let y = modulus.multiply(residue(x, modulus), inverse);
        let negative = y >= modulus.value() - modulus.value() / 2;
        (BigInt::from(y) - if negative { BigInt::from(modulus.value()) } else { BigInt::from(0) }) * cofactor
    };
    from.moduli().iter().map(term).sum()
}

#[test]
fn multiples_of_a_plaintext_modulus() {
    let (from, to) = (basis(50, 0, 3), basis(50, 3, 2));
    for t in [2, 65_537, 1 << 20] {
        let (q, numbers) = (product(&from), numbers(&from, 70));
        let scaled: Vec<BigInt> = {
            let inverse = BigInt::from(t).modinv(&q).unwrap();
            numbers.iter().map(|x| x * &inverse % &q).collect()
        };
        let limbs = |numbers: &[BigInt]| -> Vec<Vec<u64>> {
            from.moduli().iter().map(|&modulus| numbers.iter().map(|x| residue(x, modulus)).collect()).collect()
        };
        let convert = |converter: &BaseConverter, numbers: &[BigInt], exact: bool| {
            let input = limbs(numbers);
            let input: Vec<&[u64]> = input.iter().map(|limb| &limb[..]).collect();
            let mut output = vec![vec![0; numbers.len()]; 2];
            let mut limbs: Vec<&mut [u64]> = output.iter_mut().map(|limb| &mut limb[..]).collect();
            if exact {
                converter.convert_exact(&input, &mut limbs, NextUse::Soon);
            } else {
                converter.convert_balanced(&input, &mut limbs, NextUse::Soon);
            }
            output
        };
        for exact in [false, true] {
            let given = convert(&BaseConverter::multiples_of(t, from.clone(), to.clone()), &numbers, exact);
            let mut expected = convert(&BaseConverter::new(from.clone(), to.clone()), &scaled, exact);
            for (limb, modulus) in expected.iter_mut().zip(to.moduli()) {
                limb.iter_mut().for_each(|word| *word = modulus.multiply(*word, modulus.reduce(t)));
            }
            assert_eq!(given, expected, "t = {t}");
        }
    }
}

#[test]
fn words_of_every_size() {
    for bits in [28, 32, 40, 50, 60, 61] {
        check(basis(bits, 0, 4), basis(bits, 4, 3), 157);
    }
}

#[test]
fn between_sizes() {
    check(basis(61, 0, 3), basis(40, 0, 5), 100);
    check(basis(40, 0, 3), basis(61, 0, 5), 100);
    check(basis(50, 0, 2), basis(32, 0, 2), 100);
}

#[test]
fn any_number_of_primes() {
    for count in [1, 2, 7, 8, 16, 17, 35] {
        check(basis(50, 0, count), basis(50, count, 2), 60);
        check(basis(60, 0, count), basis(60, count, 1), 60);
    }
}

#[test]
fn common_factors_are_rejected() {
    let modulus = |value| Modulus::new(value).unwrap();
    assert_eq!(RnsBasis::new(vec![]), Err(RnsBasisError::Empty));
    let error = RnsBasis::new(vec![modulus(15), modulus(77), modulus(21)]).unwrap_err();
    assert_eq!(error.to_string(), "moduli 15 and 21 of a basis have a common factor; use distinct primes");
    assert!((basis(50, 0, 4).log2_product() - 200.0).abs() < 0.01);
}
