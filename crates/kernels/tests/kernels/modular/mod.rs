//! Does every multiplier equal 128-bit division at every word size, and stay within its range?

mod blocks;

use polyfabric_kernels::aligned::AlignedTorus;
use polyfabric_kernels::isa::Isa;
use polyfabric_kernels::memory::NextUse;
use polyfabric_kernels::modular::*;
use polyfabric_kernels::primes::PrimeClass;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn generator(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// Two primes of each size, the largest and a smaller one: from F1's class above 22 bits; below that, any odd numbers.
fn moduli() -> Vec<Modulus> {
    let mut values: Vec<u64> = vec![2, 3, 4, 5, 6, 17, 97, 256, 12_289, 65_536, 65_537, (1 << 61) - 1, 1 << 60];
    for bits in 22..=61 {
        let primes: Vec<u64> = PrimeClass::ONE_MOD_WORD.at_or_below((1 << bits) - 1).take(3).collect();
        values.extend([primes[0], primes[2]]);
    }
    values.into_iter().map(|value| Modulus::new(value).unwrap()).collect()
}

/// Pairs of residues: corner cases, then uniform ones.
fn residues(q: Modulus, seed: u64) -> Vec<(u64, u64)> {
    let top = q.value() - 1;
    let mut generator = generator(seed);
    let corners = [0, 1, top / 2, top - top / 7, top];
    let mut pairs: Vec<(u64, u64)> = corners.iter().flat_map(|&a| corners.map(|b| (a, b))).collect();
    pairs.extend((0..500).map(|_| (generator.random_range(0..=top), generator.random_range(0..=top))));
    pairs
}

#[test]
fn range_of_moduli_is_checked() {
    for value in [0, 1, 1 << 61, u64::MAX] {
        assert_eq!(Modulus::new(value), Err(ModulusError(value)));
    }
    assert_eq!(ModulusError(1).to_string(), "modulus 1 is not between 2 and 2^61 - 1; choose a prime of 28 to 60 bits");
}

#[test]
fn canonical_operations() {
    for q in moduli() {
        for (a, b) in residues(q, q.value()) {
            assert_eq!(q.add(a, b), reference::add(q, a, b), "{a} + {b} mod {q:?}");
            assert_eq!(q.sub(a, b), reference::sub(q, a, b), "{a} - {b} mod {q:?}");
            assert_eq!(q.add(q.neg(a), a), 0);
            assert_eq!(q.multiply(a, b), reference::multiply(q, a, b), "{a} * {b} mod {q:?}");
            assert_eq!(q.reduce_signed(q.centre(a)), a);
            assert!(2 * i128::from(q.centre(a)) >= -i128::from(q.value()));
            assert!(2 * i128::from(q.centre(a)) < i128::from(q.value()));
        }
    }
}

#[test]
fn barrett_stays_below_two_q() {
    for q in moduli() {
        let mut generator = generator(1);
        let top = 1u128 << (2 * q.bits());
        for sample in 0..500u128 {
            let x = if sample < 10 { top - 1 - sample % top } else { generator.random_range(0..top) };
            let lazy = q.reduce_product_lazy(x);
            assert!(lazy < 2 * q.value());
            assert_eq!(u128::from(lazy) % u128::from(q.value()), x % u128::from(q.value()));
        }
    }
}

#[test]
fn wide_and_signed_reduction() {
    for q in moduli() {
        let mut generator = generator(2);
        for _ in 0..200 {
            let wide: u128 = generator.random();
            assert_eq!(u128::from(q.reduce_wide(wide)), wide % u128::from(q.value()));
            let signed: i64 = generator.random();
            assert_eq!(i128::from(q.reduce_signed(signed)), i128::from(signed).rem_euclid(i128::from(q.value())));
        }
        assert_eq!(u128::from(q.reduce_wide(u128::MAX)), u128::MAX % u128::from(q.value()));
        let least = i128::from(i64::MIN).rem_euclid(i128::from(q.value()));
        assert_eq!(i128::from(q.reduce_signed(i64::MIN)), least);
    }
}

fn common_factor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_factor(b, a % b) }
}

#[test]
fn powers_and_inverses() {
    for q in moduli() {
        for (a, b) in residues(q, 3).into_iter().take(60) {
            assert_eq!(q.power(a, b % 50), reference::power(q, a, b % 50));
            match q.inverse(a) {
                Some(inverse) => assert_eq!(q.multiply(a, inverse), 1),
                None => assert_ne!(common_factor(a, q.value()), 1, "{a} mod {q:?}"),
            }
        }
    }
}

#[test]
fn shoup_products_of_any_word() {
    for q in moduli() {
        let mut generator = generator(4);
        for (w, x) in residues(q, 5) {
            let factor = ShoupFactor::new(q, w);
            for x in [x, generator.random(), u64::MAX] {
                let lazy = factor.multiply_lazy(q, x);
                assert!(lazy < 2 * q.value());
                assert_eq!(factor.multiply(q, x), reference::multiply(q, w, x));
                assert_eq!(lazy % q.value(), reference::multiply(q, w, x));
            }
        }
    }
}

#[test]
fn montgomery_of_every_word_size() {
    for q in moduli() {
        for word_bits in [0, 1, 16, 28, 32, 36, 40, 52, 60, 62, 64, 65] {
            let multiplier = match Montgomery::new(q, word_bits) {
                Ok(multiplier) => multiplier,
                Err(error) => {
                    assert!(q.value() % 2 == 0 || q.bits() > word_bits || word_bits > 64, "{error}");
                    continue;
                }
            };
            let radix = ((1u128 << word_bits) % u128::from(q.value())) as u64;
            for (a, b) in residues(q, 6).into_iter().take(100) {
                let product = multiplier.multiply(a, b);
                assert!(q.holds(product));
                assert_eq!(reference::multiply(q, product, radix), reference::multiply(q, a, b));
                assert_eq!(multiplier.enter(a), reference::multiply(q, a, radix));
                assert_eq!(multiplier.leave(multiplier.enter(a)), a);
                // The largest permitted left factor.
                let wide = (u64::MAX >> (64 - word_bits)) - a % 7;
                let lazy = multiplier.multiply_lazy(wide, b);
                assert!(lazy < 2 * q.value());
                let expected = (u128::from(wide) * u128::from(b) % u128::from(q.value())) as u64;
                assert_eq!(reference::multiply(q, lazy % q.value(), radix), expected);
            }
        }
    }
}

#[test]
fn prime_form_is_montgomery_without_its_inverse() {
    let mut served = 0;
    for q in moduli() {
        let Ok(multiplier) = PrimeForm::new(q) else {
            assert_ne!(q.value() % 65_536, 1);
            continue;
        };
        served += 1;
        assert_eq!(multiplier.rounds(), q.bits().div_ceil(16));
        let montgomery = Montgomery::new(q, multiplier.radix_bits()).unwrap();
        for (a, b) in residues(q, 7) {
            assert_eq!(multiplier.multiply(a, b), montgomery.multiply(a, b));
            assert!(multiplier.multiply_lazy(a, b) < 2 * q.value());
            assert_eq!(
                multiplier.leave(multiplier.multiply(multiplier.enter(a), multiplier.enter(b))),
                q.multiply(a, b)
            );
        }
    }
    assert!(served > 70);
}

/// A limb for each instruction set, with a length that is not a whole number of vectors.
fn for_every_limb(check: impl Fn(Limb, &[u64], &[u64], &[u64])) {
    for q in moduli() {
        let limbs = Isa::ALL.into_iter().filter_map(|isa| Limb::with_isa(q, isa));
        // The arithmetic of processors without IFMA.
        #[cfg(target_arch = "x86_64")]
        let limbs = limbs.chain(Limb::without_ifma(q));
        for limb in limbs {
            let (a, b): (Vec<u64>, Vec<u64>) = residues(q, 8).into_iter().take(101).unzip();
            let c: Vec<u64> = residues(q, 9).into_iter().skip(24).take(101).map(|pair| pair.0).collect();
            check(limb, &a, &b, &c);
        }
    }
}

#[test]
fn limbs_word_by_word() {
    for_every_limb(|limb, a, b, c| {
        let q = limb.modulus();
        let expect = |result: &[u64], word: &dyn Fn(usize) -> u64| {
            let expected: Vec<u64> = (0..a.len()).map(word).collect();
            assert_eq!(result, expected, "{limb:?}");
        };
        let mut result = a.to_vec();
        limb.add_assign(&mut result, b);
        expect(&result, &|i| reference::add(q, a[i], b[i]));
        let mut result = a.to_vec();
        limb.sub_assign(&mut result, b);
        expect(&result, &|i| reference::sub(q, a[i], b[i]));
        let mut result = a.to_vec();
        limb.neg_assign(&mut result);
        expect(&result, &|i| reference::sub(q, 0, a[i]));
        let mut result = a.to_vec();
        limb.multiply_assign(&mut result, b);
        expect(&result, &|i| reference::multiply(q, a[i], b[i]));
        limb.multiply(&mut result, b, c);
        expect(&result, &|i| reference::multiply(q, b[i], c[i]));
        let mut result = a.to_vec();
        limb.multiply_add_assign(&mut result, b, c);
        expect(&result, &|i| reference::add(q, a[i], reference::multiply(q, b[i], c[i])));
        let w = c[50];
        let mut result = a.to_vec();
        limb.scale_assign(&mut result, w);
        expect(&result, &|i| reference::multiply(q, a[i], w));
        let mut result = a.to_vec();
        limb.scale_add_assign(&mut result, b, w);
        expect(&result, &|i| reference::add(q, a[i], reference::multiply(q, b[i], w)));
        let mut result = a.to_vec();
        limb.sub_scale_assign(&mut result, b, w);
        expect(&result, &|i| reference::multiply(q, reference::sub(q, a[i], b[i]), w));
        let mut result = b.to_vec();
        limb.sub_from_scale_assign(&mut result, a, w);
        expect(&result, &|i| reference::multiply(q, reference::sub(q, a[i], b[i]), w));
        let mut result = b.to_vec();
        limb.sub_from_assign(&mut result, a);
        expect(&result, &|i| reference::sub(q, a[i], b[i]));
        limb.add(&mut result, a, b);
        expect(&result, &|i| reference::add(q, a[i], b[i]));
        limb.sub(&mut result, a, b);
        expect(&result, &|i| reference::sub(q, a[i], b[i]));
        limb.scale(&mut result, a, w);
        expect(&result, &|i| reference::multiply(q, a[i], w));
        limb.multiply_add(&mut result, a, b, c);
        expect(&result, &|i| reference::add(q, reference::multiply(q, a[i], b[i]), c[i]));
        let mut result = a.to_vec();
        limb.add_scalar_assign(&mut result, w);
        expect(&result, &|i| reference::add(q, a[i], w));
        assert!(limb.holds(&result) && limb.holds(&[]));
        for place in [0, 7, 96, 100] {
            let before = std::mem::replace(&mut result[place], q.value());
            assert!(!limb.holds(&result), "word {place}");
            result[place] = before;
        }
    });
}

#[test]
fn limbs_of_another_modulus() {
    for_every_limb(|limb, a, _, _| {
        let q = limb.modulus();
        for from in moduli() {
            let source: Vec<u64> = residues(from, 10).into_iter().take(a.len()).map(|pair| pair.0).collect();
            let mut result = a.to_vec();
            limb.reduce_from(&mut result, &source, from);
            assert!(result.iter().zip(&source).all(|(&r, &x)| r == x % q.value()), "{limb:?} from {from:?}");
            limb.reduce_centred_from(&mut result, &source, from);
            let expected = source.iter().map(|&x| q.reduce_signed(from.centre(x)));
            assert!(result.iter().copied().eq(expected), "{limb:?} from {from:?}");
        }
    });
}

#[test]
fn signed_integers_of_one_and_two_words() {
    for_every_limb(|limb, a, b, c| {
        let q = i128::from(limb.modulus().value());
        let expected = |x: i128| x.rem_euclid(q) as u64;
        // Words of all bits, then the ends of the ranges and neighbours of 0 and of multiples of q.
        let word = |i: usize| (a[i] ^ b[i].rotate_left(23) ^ c[i].rotate_left(41)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut wide: Vec<i128> = (0..a.len())
            .map(|i| (i128::from(word(i)) << 64 | i128::from(word(a.len() - 1 - i))) >> (i % 128))
            .collect();
        let mut narrow: Vec<i64> = (0..a.len()).map(|i| word(i) as i64 >> (i % 64)).collect();
        let ends = [0, -1, 1, q - 1, q, -q, 1 - q, i128::from(i64::MIN), i128::from(i64::MAX)];
        for (place, &end) in
            ends.iter().chain(&[i128::MIN, i128::MAX]).enumerate().filter(|(place, _)| *place < a.len())
        {
            wide[place] = end;
            narrow[place] = i64::try_from(end).unwrap_or(-3);
        }
        let mut result = vec![u64::MAX; a.len()];
        limb.reduce_signed(&mut result, &narrow);
        assert!(result.iter().zip(&narrow).all(|(&r, &x)| r == expected(x.into())), "{limb:?}");
        // All of 52 bits, including their extremes.
        let ends = [-1 << 51, (1 << 51) - 1, 0, -1];
        let short = |(i, &x): (usize, &i64)| ends.get(i).copied().unwrap_or(x << 12 >> 12);
        let short: Vec<i64> = narrow.iter().enumerate().map(short).collect();
        limb.reduce_signed(&mut result, &short);
        assert!(result.iter().zip(&short).all(|(&r, &x)| r == expected(x.into())), "{limb:?}");
        limb.reduce_signed_wide(&mut result, &wide);
        assert!(result.iter().zip(&wide).all(|(&r, &x)| r == expected(x)), "{limb:?}");
    });
}

#[test]
fn inner_products_of_any_length() {
    for_every_limb(|limb, a, b, c| {
        let q = limb.modulus();
        let top = vec![q.value() - 1; a.len()];
        for count in [0, 1, 2, 7, 31, 40, 70] {
            // The largest residues first, so that a sum overflows if it can.
            let digits: Vec<&[u64]> = (0..count).map(|i| if i < 40 { &top[..] } else { a }).collect();
            let keys: [Vec<&[u64]>; 2] =
                [b, c].map(|key| (0..count).map(|i| if i < 40 { &top[..] } else { key }).collect());
            let rows: Vec<u16> = (0..count as u16).rev().collect();
            // The same rows in blocks, the last one first plus an unselected one, with the bytes that fit q and with whole words.
            let whole = a.len() / BLOCK * BLOCK;
            let short: Vec<&[u64]> = digits.iter().map(|digit| &digit[..whole]).collect();
            let of_blocks = |width: usize| {
                let in_blocks = keys.each_ref().map(|key| {
                    let mut words = vec![0; whole / BLOCK * (count + 1) * width];
                    let lines = (0..whole).step_by(BLOCK);
                    let residues =
                        lines.flat_map(|start| key.iter().rev().chain([&a]).map(move |row| &row[start..][..BLOCK]));
                    words
                        .chunks_exact_mut(width)
                        .zip(residues)
                        .for_each(|(block, residues)| pack_block(residues, block));
                    words
                });
                let [first, second] =
                    in_blocks.each_ref().map(|words| Rows::InBlocks { words, width, count: count + 1, rows: &rows });
                let mut sums = [(); 2].map(|()| AlignedTorus::<u64>::zeros(whole));
                let [bodies, masks] = &mut sums;
                limb.inner_products([bodies, masks], &short, [first, second], NextUse::Soon);
                sums
            };
            let sums = of_blocks(block_width(q));
            assert!(
                of_blocks(BLOCK).iter().zip(&sums).all(|(one, two)| one[..] == two[..]),
                "{limb:?}, {count} terms in words"
            );
            for next_use in [NextUse::Soon, NextUse::Late] {
                let in_blocks = sums.clone();
                let mut sums = [(); 2].map(|()| AlignedTorus::<u64>::zeros(a.len()));
                let [first, second] = &mut sums;
                limb.inner_products([first, second], &digits, [Rows::Apart(&keys[0]), Rows::Apart(&keys[1])], next_use);
                assert!(
                    sums.iter().zip(&in_blocks).all(|(sum, in_blocks)| sum[..whole] == in_blocks[..]),
                    "{limb:?}, {count} terms in blocks"
                );
                for (sum, key) in sums.iter().zip(&keys) {
                    for index in 0..a.len() {
                        let terms: Vec<(u64, u64)> = (0..count).map(|i| (digits[i][index], key[i][index])).collect();
                        assert_eq!(sum[index], reference::inner_product(q, &terms), "{limb:?}, {count} terms");
                    }
                }
            }
        }
    });
}

/// 2^60 rows of two words per block are 2^64 words: a product that wraps would accept any length.
#[test]
#[should_panic(expected = "larger than any address space")]
fn impossible_row_counts_are_rejected() {
    let q = Modulus::new(65_537).unwrap();
    let (digit, mut sum) = ([0; 2 * BLOCK], [0; 2 * BLOCK]);
    let rows = Rows::InBlocks { words: &[], width: 8, count: 1 << 60, rows: &[0] };
    Limb::new(q).inner_products([&mut sum], &[&digit], [rows], NextUse::Soon);
}
