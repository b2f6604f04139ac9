//! Do kernels with unsafe code reject every slice that is too short or of the wrong shape, on every present instruction set? AddressSanitizer shows
//! accesses that a check misses.

use polyfabric_kernels::aligned::AlignedVector;
use polyfabric_kernels::automorphism::{GaloisElement, ValuePermutation};
use polyfabric_kernels::base_conversion::{BaseConverter, RnsBasis};
use polyfabric_kernels::decompose::Gadget;
use polyfabric_kernels::external_product::{ExternalProduct, LANE_BATCH};
use polyfabric_kernels::fft::FoldedFft;
use polyfabric_kernels::isa::Isa;
use polyfabric_kernels::key_switch::KeySwitch;
use polyfabric_kernels::memory::NextUse;
use polyfabric_kernels::modular::{Limb, Modulus, Rows};
use polyfabric_kernels::ntt::Ntt;
use polyfabric_kernels::primes::PrimeClass;
use polyfabric_kernels::ring::RingDegree;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Whether `work` panics. The panic message is irrelevant, but the hook stays because tests share it.
fn refused(work: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(work)).is_err()
}

fn degree(value: usize) -> RingDegree {
    RingDegree::new(value).expect("a power of two")
}

/// A prime of `bits` bits with a transform of 256 points.
fn prime(bits: u32, number: usize) -> Modulus {
    let primes = PrimeClass::of_degree(degree(256)).of_bits(bits, number + 1).expect("enough of them");
    Modulus::new(primes[number]).expect("a modulus")
}

/// Includes odd lengths: unsafe code handles whole vectors, and portable code the remainder.
const LENGTHS: [usize; 4] = [16, 64, 67, 256];

#[test]
fn limbs() {
    for isa in Isa::present() {
        for modulus in [prime(30, 0), prime(48, 0)] {
            let Some(limb) = Limb::with_isa(modulus, isa) else { continue };
            for length in LENGTHS {
                let (mut long, whole, short) = (vec![1u64; length], vec![1u64; length], vec![1u64; length - 9]);
                let signed = vec![1i64; length - 9];
                let wide = vec![1i128; length - 9];
                let mut ok = [
                    refused(|| limb.add_assign(&mut long, &short)),
                    refused(|| limb.sub_assign(&mut long, &short)),
                    refused(|| limb.multiply_assign(&mut long, &short)),
                    refused(|| limb.sub_from_assign(&mut long, &short)),
                    refused(|| limb.sub_from_scale_assign(&mut long, &short, 3)),
                    refused(|| limb.scale(&mut long, &short, 3)),
                    refused(|| limb.scale_add_assign(&mut long, &short, 3)),
                    refused(|| limb.sub_scale_assign(&mut long, &short, 3)),
                    refused(|| limb.reduce_from(&mut long, &short, prime(40, 0))),
                    refused(|| limb.reduce_centred_from(&mut long, &short, prime(40, 0))),
                    refused(|| limb.reduce_signed(&mut long, &signed)),
                    refused(|| limb.reduce_signed_wide(&mut long, &wide)),
                ]
                .to_vec();
                for (a, b) in [(&whole, &short), (&short, &whole)] {
                    ok.push(refused(|| limb.multiply(&mut long, a, b)));
                    ok.push(refused(|| limb.multiply_add_assign(&mut long, a, b)));
                    ok.push(refused(|| limb.add(&mut long, a, b)));
                    ok.push(refused(|| limb.sub(&mut long, a, b)));
                    ok.push(refused(|| limb.multiply_add(&mut long, a, b, &whole)));
                    ok.push(refused(|| limb.sub_scale(&mut long, a, b, 3, NextUse::Late)));
                }
                ok.push(refused(|| limb.multiply_add(&mut long, &whole, &whole, &short)));
                assert!(ok.iter().all(|&refused| refused), "{isa:?} {modulus:?} {length}: {ok:?}");
            }
        }
    }
}

#[test]
fn inner_products() {
    let length = 64;
    for isa in Isa::present() {
        let Some(limb) = Limb::with_isa(prime(48, 0), isa) else { continue };
        let (whole, short) = (vec![1u64; length], vec![1u64; length - 8]);
        let mut sum = vec![0u64; length];
        let mut run = |digits: &[&[u64]], rows: Rows<'_>| {
            refused(|| limb.inner_products([&mut sum], digits, [rows], NextUse::Soon))
        };
        let digits: [&[u64]; 2] = [&whole, &whole];
        assert!(run(&[&whole, &short], Rows::Apart(&digits)), "{isa:?}: a short digit");
        assert!(run(&digits, Rows::Apart(&[&whole, &short])), "{isa:?}: a short row");
        assert!(run(&digits, Rows::Apart(&[&whole])), "{isa:?}: a row too few");
        // Two rows of six bytes per residue: six words per block each.
        let packed = vec![1u64; 2 * length / 8 * 6];
        let blocks = |words, width, rows| Rows::InBlocks { words, width, count: 2, rows };
        assert!(!run(&digits, blocks(&packed, 6, &[0, 1])));
        assert!(run(&digits, blocks(&packed[1..], 6, &[0, 1])), "{isa:?}: a word too few");
        assert!(run(&digits, blocks(&packed, 7, &[0, 1])), "{isa:?}: wider than the data");
        assert!(run(&digits, blocks(&packed, 6, &[0, 2])), "{isa:?}: a missing row");
        let mut uneven = vec![0u64; length - 8];
        let sums = [&mut sum[..], &mut uneven[..]];
        let keys = [Rows::Apart(&digits); 2];
        assert!(refused(|| limb.inner_products(sums, &digits, keys, NextUse::Soon)), "{isa:?}: uneven sums");
    }
}

#[test]
fn base_conversions() {
    let basis = |first| RnsBasis::new((first..first + 3).map(|number| prime(48, number)).collect()).expect("a basis");
    for isa in Isa::present() {
        let conversion = BaseConverter::with_isa(basis(0), basis(3), isa);
        let (whole, short) = (vec![1u64; 64], vec![1u64; 63]);
        let sources = [&whole[..]; 3];
        let mut outputs = [vec![0u64; 64], vec![0u64; 64], vec![0u64; 64]];
        let kinds = [BaseConverter::convert, BaseConverter::convert_balanced, BaseConverter::convert_exact];
        for convert in kinds {
            let mut run = |input: &[&[u64]], targets: usize, least: usize| {
                let mut outputs: Vec<&mut [u64]> = outputs[..targets].iter_mut().map(|words| &mut words[..]).collect();
                outputs[targets - 1] = &mut std::mem::take(&mut outputs[targets - 1])[..least];
                refused(|| convert(&conversion, input, &mut outputs, NextUse::Soon))
            };
            assert!(!run(&sources, 3, 64));
            assert!(run(&[&whole, &whole, &short], 3, 64) && run(&sources[..2], 3, 64), "{isa:?}: sources");
            assert!(run(&sources, 2, 64) && run(&sources, 3, 63), "{isa:?}: targets");
        }
        let mut words = vec![0u64; 64];
        assert!(refused(|| conversion.combine(0, false, &[&whole, &whole, &short], &mut words)), "{isa:?}");
        assert!(refused(|| conversion.combine(0, false, &[&whole, &whole], &mut words)), "{isa:?}");
    }
}

#[test]
fn number_theoretic_transforms() {
    for isa in Isa::present() {
        let Ok(ntt) = Ntt::<u64>::with_isa(degree(256), prime(48, 0), isa) else { continue };
        let (mut short, mut whole) = (vec![1u64; 255], vec![1u64; 256]);
        assert!(refused(|| ntt.forward(&mut short)) && refused(|| ntt.inverse(&mut short)), "{isa:?}");
        assert!(refused(|| ntt.forward_begin(&mut short, &[])), "{isa:?}");
        assert!(refused(|| ntt.inverse_of(&short, &mut whole)), "{isa:?}");
        assert!(refused(|| ntt.inverse_of(&whole.clone(), &mut short)), "{isa:?}");
        let words = ntt.region();
        assert!(refused(|| ntt.forward_end(&mut whole[..words - 1], 0, &[])), "{isa:?}: a short region");
        assert!(refused(|| ntt.forward_end(&mut vec![1u64; words], 256, &[])), "{isa:?}: a region beyond the end");
        assert!(words == 1 || refused(|| ntt.forward_end(&mut vec![1u64; words], 1, &[])), "{isa:?}: between regions");
        let Ok(ntt) = Ntt::<u32>::with_isa(degree(256), prime(30, 0), isa) else { continue };
        let mut short = vec![1u32; 255];
        assert!(refused(|| ntt.forward(&mut short)) && refused(|| ntt.inverse(&mut short)), "{isa:?}, 32 bits");
    }
}

#[test]
fn permutations() {
    let permutation = ValuePermutation::new(GaloisElement::rotation(degree(256), 3));
    let (short, whole) = (vec![1u64; 248], vec![1u64; 256]);
    let mut result = vec![0u64; 256];
    assert!(refused(|| permutation.apply(&short, &mut result, NextUse::Late)));
    assert!(refused(|| permutation.apply(&whole, &mut result[..248], NextUse::Late)));
}

#[test]
fn folded_transforms() {
    for isa in Isa::present() {
        let fft = FoldedFft::with_isa(degree(256), isa).expect("it is present");
        let (mut whole, mut short) = (vec![0.0; 256], vec![0.0; 255]);
        let (mut words, mut few) = (vec![0u32; 256], vec![0u64; 255]);
        assert!(refused(|| fft.forward_digits(&[0; 255], &mut whole)), "{isa:?}");
        assert!(refused(|| fft.forward_digits(&[0; 256], &mut short)), "{isa:?}");
        assert!(refused(|| fft.forward_torus(&few, &mut whole)), "{isa:?}");
        assert!(refused(|| fft.forward_torus(&words, &mut short)), "{isa:?}");
        assert!(refused(|| fft.inverse_torus(&mut whole, &mut few)), "{isa:?}");
        assert!(refused(|| fft.inverse_add_torus(&mut short, &mut words)), "{isa:?}");
        let other = vec![0.0; 256];
        assert!(refused(|| fft.multiply(&mut whole, &other, &other[..240])), "{isa:?}");
        assert!(refused(|| fft.multiply(&mut whole, &other[..240], &other)), "{isa:?}");
        assert!(refused(|| fft.multiply_accumulate(&mut short, &other, &other)), "{isa:?}");
    }
}

/// Degree 256, k = 1, two levels: eight polynomials per GGSW ciphertext.
#[test]
fn external_products() {
    let gadget = Gadget { log2_base: 8, levels: 2 };
    for isa in Isa::present() {
        let product = ExternalProduct::<u32>::new(degree(256), gadget, 1, Some(isa)).expect("it is present");
        let other =
            ExternalProduct::<u32>::new(degree(256), Gadget { levels: 3, ..gadget }, 1, Some(isa)).expect("too");
        let ggsw = vec![1u32; product.ggsw_len()];
        for lane_batches in [false, true] {
            let mut key = AlignedVector::zeros(product.key_len(lane_batches));
            let length = key.len();
            assert!(refused(|| product.transform_key(&ggsw[..1792], lane_batches, &mut key)), "{isa:?}: a row too few");
            assert!(
                refused(|| product.transform_key(&ggsw, lane_batches, &mut key[..length - 1])),
                "{isa:?}: a short key"
            );
        }
        let key = AlignedVector::zeros(product.key_len(false));
        let mut accumulator = vec![0u32; 512];
        let mut run = |key: &[f64], size: usize, scratch: &ExternalProduct<u32>| {
            let mut scratch = scratch.workspace();
            refused(|| product.rotate_multiply_add(key, &[], 5, &mut accumulator[..size], None, &mut scratch))
        };
        assert!(!run(&key, 512, &product));
        assert!(run(&key[..key.len() - 1], 512, &product), "{isa:?}: a short key");
        assert!(run(&key, 511, &product) && run(&key, 256, &product), "{isa:?}: a short accumulator");
        assert!(run(&key, 512, &other), "{isa:?}: another shape's scratch");
        let mut patterns = |exponents: &[u32]| {
            let mut scratch = product.workspace();
            refused(|| product.patterns_multiply_add(&key, &[], exponents, &mut accumulator, None, &mut scratch))
        };
        assert!(!patterns(&[u32::MAX]) && patterns(&[1, 2]), "{isa:?}: a key for each pattern");
        let keys = vec![0.0; 16 * product.key_len(false)];
        let mut scratch = product.workspace();
        let many = [1; 16];
        let run = || product.patterns_multiply_add(&keys, &[], &many, &mut accumulator, None, &mut scratch);
        assert!(refused(run), "{isa:?}: more patterns than four bits have");
    }
}

#[test]
fn lane_batches() {
    let gadget = Gadget { log2_base: 8, levels: 2 };
    for isa in Isa::present() {
        let product = ExternalProduct::<u32>::new(degree(256), gadget, 1, Some(isa)).expect("it is present");
        let other =
            ExternalProduct::<u32>::new(degree(256), Gadget { levels: 3, ..gadget }, 1, Some(isa)).expect("too");
        let key = AlignedVector::zeros(product.key_len(true));
        let mut accumulators = vec![0u32; LANE_BATCH * 512];
        let mut run = |key: &[f64], exponents: &[u32], unrolled, size: usize, scratch: &ExternalProduct<u32>| {
            let mut scratch = scratch.lane_batch_workspace().expect("a batch across lanes");
            let all = &mut accumulators[..size];
            refused(|| product.lane_batch_multiply_add(key, &[], exponents, unrolled, all, &mut scratch))
        };
        let (exponents, size) = ([u32::MAX; LANE_BATCH], LANE_BATCH * 512);
        assert!(!run(&key, &exponents, false, size, &product) && !run(&key, &exponents, true, size, &product));
        assert!(run(&key[..key.len() - 1], &exponents, false, size, &product), "{isa:?}: a short key");
        assert!(run(&key, &exponents[..LANE_BATCH - 1], false, size, &product), "{isa:?}: an exponent too few");
        assert!(run(&key, &[1; 2 * LANE_BATCH], true, size, &product), "{isa:?}: more exponents than keys");
        assert!(run(&key, &exponents, false, size - 512, &product), "{isa:?}: an accumulator too few");
        assert!(run(&key, &exponents, false, size, &other), "{isa:?}: another shape's scratch");
    }
    // Unsupported shapes: the 64-bit torus, and many polynomials.
    assert!(ExternalProduct::<u64>::new(degree(256), gadget, 1, None).expect("any").lane_batch_workspace().is_none());
    assert!(ExternalProduct::<u32>::new(degree(256), gadget, 5, None).expect("any").lane_batch_workspace().is_none());
}

fn key_switches_of<T: polyfabric_kernels::Torus>() {
    let (gadget, large, small) = (Gadget { log2_base: 2, levels: 3 }, 256, 37);
    let key = vec![T::from_u64(1); large * 3 * (small + 1)];
    for isa in Isa::present() {
        assert!(refused(|| drop(KeySwitch::new(&key[1..], gadget, large, small, isa))), "{isa:?}: a short key");
        let switch = KeySwitch::new(&key, gadget, large, small, isa);
        for count in [1, 2, 70] {
            let (inputs, mut outputs) = (vec![T::from_u64(5); count * 257], vec![T::default(); count * 38]);
            assert!(!refused(|| switch.switch(&inputs, &mut outputs)));
            assert!(refused(|| switch.switch(&inputs[1..], &mut outputs)), "{isa:?}: short inputs");
            assert!(refused(|| switch.switch(&inputs, &mut outputs[1..])), "{isa:?}: short outputs");
        }
    }
}

#[test]
fn key_switches() {
    key_switches_of::<u32>();
    key_switches_of::<u64>();
}

/// A key switch gets its instruction set from the caller: executing absent instructions is undefined.
#[test]
fn an_absent_instruction_set_is_rejected() {
    let gadget = Gadget { log2_base: 2, levels: 1 };
    for isa in Isa::ALL {
        let made = !refused(|| drop(KeySwitch::new(&[1u32; 12], gadget, 4, 2, isa)));
        assert_eq!(made, isa.is_present(), "{isa:?}");
    }
}
