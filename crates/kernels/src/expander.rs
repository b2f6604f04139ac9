//! Uniform residues from a seed: the public masks of keys and ciphertexts.
//!
//! The generator is ChaCha (D. Bernstein, 2008) with 8 rounds, a 256-bit key, a 64-bit stream number and a 64-bit counter. The best known
//! attack breaks 7 rounds in 2^237 (J.-P. Aumasson, "Too much crypto", 2019, section 5). Its output is public; secrets are never drawn from it.
//!
//! Sixteen blocks of consecutive counters are computed at once, one per 32-bit lane, and words are output in vector order: word i of the
//! sixteen blocks, two lanes per 64-bit number (the even lane is the low half), then word i + 1. A number is cut to the bits of q and kept if
//! it is below q. So residues are uniform, and the result depends on seed, stream and q only.

use crate::isa::Isa;
use crate::modular::Modulus;
use std::ops::Range;

/// Rounds of ChaCha.
pub const ROUNDS: usize = 8;

/// Blocks computed at once.
const LANES: usize = 16;

/// 64-bit numbers in sixteen blocks.
pub const GROUP: usize = LANES * 16 / 2;

/// For each subset of four numbers, the permutation of 32-bit halves that moves the subset to the front, in order.
#[cfg(target_arch = "x86_64")]
const FRONT: [[u32; 8]; 16] = {
    let mut orders = [[0; 8]; 16];
    let mut chosen = 0;
    while chosen < 16 {
        let (mut number, mut place) = (0, 0);
        while number < 4 {
            if chosen >> number & 1 == 1 {
                orders[chosen][place] = 2 * number;
                orders[chosen][place + 1] = 2 * number + 1;
                place += 2;
            }
            number += 1;
        }
        chosen += 1;
    }
    orders
};

/// Byte shuffles that rotate words by 16 and by 8 bits.
#[cfg(target_arch = "x86_64")]
const TURNS: [[u8; 32]; 2] = {
    let mut turns = [[0; 32]; 2];
    let mut byte = 0;
    while byte < 32 {
        // The shuffle indexes within sixteen bytes.
        let word = byte % 16 / 4 * 4;
        turns[0][byte] = (word + (byte + 2) % 4) as u8;
        turns[1][byte] = (word + (byte + 3) % 4) as u8;
        byte += 1;
    }
    turns
};

type Row = [u32; LANES];

/// Sixteen blocks.
type Group = [Row; 16];

/// ChaCha's state: each row, one cache line, has the same word of all sixteen blocks.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct State {
    rows: [Row; 16],
    counter: u64,
}

/// All rounds, as `$step!(target, mixed, addend, bits)`: target += addend; mixed = (mixed ^ target) <<< bits.
macro_rules! double_rounds {
    ($step:ident) => {
        for _ in 0..ROUNDS / 2 {
            double_rounds!(@ $step, 0, 4, 8, 12);
            double_rounds!(@ $step, 1, 5, 9, 13);
            double_rounds!(@ $step, 2, 6, 10, 14);
            double_rounds!(@ $step, 3, 7, 11, 15);
            double_rounds!(@ $step, 0, 5, 10, 15);
            double_rounds!(@ $step, 1, 6, 11, 12);
            double_rounds!(@ $step, 2, 7, 8, 13);
            double_rounds!(@ $step, 3, 4, 9, 14);
        }
    };
    (@ $step:ident, $a:literal, $b:literal, $c:literal, $d:literal) => {
        $step!($a, $d, $b, 16);
        $step!($c, $b, $d, 12);
        $step!($a, $d, $b, 8);
        $step!($c, $b, $d, 7);
    };
}

impl State {
    #[inline(always)]
    fn new(seed: &[u8; 32], stream: u64) -> Self {
        // "expand 32-byte k"
        let mut rows = [[0; LANES]; 16];
        for (row, word) in rows.iter_mut().zip([0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574]) {
            *row = [word; LANES];
        }
        for (row, bytes) in rows[4..12].iter_mut().zip(seed.as_chunks::<4>().0) {
            *row = [u32::from_le_bytes(*bytes); LANES];
        }
        rows[14] = [stream as u32; LANES];
        rows[15] = [(stream >> 32) as u32; LANES];
        Self { rows, counter: 0 }
    }

    /// Sets the counters of the next sixteen blocks.
    #[inline(always)]
    fn count(&mut self) {
        // A multiple of sixteen: no lane carries.
        for lane in 0..LANES {
            self.rows[12][lane] = self.counter as u32 | lane as u32;
            self.rows[13][lane] = (self.counter >> 32) as u32;
        }
        self.counter += LANES as u64;
    }

    /// The next sixteen blocks, four at a time: a 128-bit vector has a word of each.
    fn next(&mut self) -> Group {
        const PART: usize = 4;
        self.count();
        let mut group = self.rows;
        for part in (0..LANES).step_by(PART) {
            let of = |row: &Row| -> [u32; PART] { std::array::from_fn(|lane| row[part + lane]) };
            let first = self.rows.each_ref().map(of);
            let mut v = first;
            macro_rules! step {
                ($target:literal, $mixed:literal, $addend:literal, $bits:literal) => {
                    for lane in 0..PART {
                        v[$target][lane] = v[$target][lane].wrapping_add(v[$addend][lane]);
                        v[$mixed][lane] = (v[$mixed][lane] ^ v[$target][lane]).rotate_left($bits);
                    }
                };
            }
            double_rounds!(step);
            for (row, (mixed, first)) in group.iter_mut().zip(v.iter().zip(&first)) {
                for lane in 0..PART {
                    row[part + lane] = mixed[lane].wrapping_add(first[lane]);
                }
            }
        }
        group
    }
}

/// Moves the numbers of one group that are residues to the front of `residues`, in order, and returns how many there are.
#[inline(always)]
fn accept(modulus: Modulus, group: &Group, residues: &mut [u64; GROUP]) -> usize {
    let mask = u64::MAX >> (u64::BITS - modulus.bits());
    let mut filled = 0;
    for &[low, high] in group.as_flattened().as_chunks::<2>().0 {
        let number = (u64::from(low) | u64::from(high) << 32) & mask;
        // Always written, but kept only if the end advances.
        residues[filled] = number;
        filled += usize::from(modulus.holds(number));
    }
    filled
}

/// Generates groups.
#[derive(Clone, Copy)]
struct Generator {
    state: State,
    modulus: Modulus,
}

/// The uniform residues of one stream of a seed, as a sequence of chunks.
pub struct UniformStream {
    generator: Generator,
    /// Unused residues of the last group.
    rest: [u64; GROUP],
    /// Range of the unused ones.
    left: Range<usize>,
}

impl UniformStream {
    /// Stream `stream` of `seed`, from its beginning.
    pub fn new(seed: &[u8; 32], stream: u64, modulus: Modulus) -> Self {
        Self { generator: Generator { state: State::new(seed, stream), modulus }, rest: [0; GROUP], left: 0..0 }
    }

    /// Fills `residues` with the next ones.
    pub fn fill(&mut self, residues: &mut [u64]) {
        match Isa::best() {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the set is present.
            Isa::Avx512 => self.fill_by(residues, |generator, group| unsafe { generator.group_avx512(group) }),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the set is present.
            Isa::Avx2 => self.fill_by(residues, |generator, group| unsafe { generator.group_avx2(group) }),
            _ => self.fill_portable(residues),
        }
    }

    /// [`Self::fill`] in portable code.
    pub fn fill_portable(&mut self, residues: &mut [u64]) {
        self.fill_by(residues, Generator::group);
    }

    /// Fills `residues` in groups. `group` writes the next group's residues to the front of its argument and returns how many there are.
    ///
    /// The generator is copied to the stack near `group`'s buffers: if the two were a multiple of 4 KiB apart, loads of one would wait for stores
    /// to the other, which took 50 % longer.
    #[inline(always)]
    fn fill_by(&mut self, residues: &mut [u64], group: impl Fn(&mut Generator, &mut [u64; GROUP]) -> usize) {
        let mut filled = self.take_rest(residues);
        let mut generator = self.generator;
        while residues.len() - filled >= GROUP {
            filled += group(&mut generator, residues[filled..].first_chunk_mut().expect("a group's length"));
        }
        while filled < residues.len() {
            let mut rest = [0; GROUP];
            self.left = 0..group(&mut generator, &mut rest);
            self.rest = rest;
            filled += self.take_rest(&mut residues[filled..]);
        }
        self.generator = generator;
    }

    /// Moves the unused residues of the last group to the front of `residues` and returns how many there are.
    fn take_rest(&mut self, residues: &mut [u64]) -> usize {
        let count = residues.len().min(self.left.len());
        let taken = self.left.start..self.left.start + count;
        self.left.start = taken.end;
        residues[..count].copy_from_slice(&self.rest[taken]);
        count
    }
}

impl Generator {
    /// Writes the residues of the next group to the front of `residues` and returns how many there are.
    fn group(&mut self, residues: &mut [u64; GROUP]) -> usize {
        accept(self.modulus, &self.state.next(), residues)
    }

    /// [`Self::group`].
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn group_avx2(&mut self, residues: &mut [u64; GROUP]) -> usize {
        use std::arch::x86_64::*;
        // Residues have at most 61 bits, so a number above the largest shows in the sign of the difference.
        let largest = _mm256_set1_epi64x(self.modulus.value() as i64 - 1);
        let mask = _mm256_set1_epi64x((u64::MAX >> (u64::BITS - self.modulus.bits())) as i64);
        // Hides the shuffles from the compiler, which would replace one byte shuffle by two word shuffles.
        let [by_16, by_8] = std::hint::black_box(&TURNS);
        macro_rules! turned {
            ($words:expr, $order:expr) => {
                // SAFETY: an order has the 32 bytes of a vector.
                _mm256_shuffle_epi8($words, unsafe { _mm256_loadu_si256($order.as_ptr().cast()) })
            };
        }
        self.state.count();
        let mut beyond = _mm256_setzero_si256();
        let numbers = residues.as_mut_ptr();
        for half in 0..2 {
            // SAFETY: a row has the 64 bytes of two vectors.
            let first: [__m256i; 16] = std::array::from_fn(|row| unsafe {
                _mm256_loadu_si256(self.state.rows[row][8 * half..].as_ptr().cast())
            });
            let mut v = first;
            macro_rules! step {
                ($target:literal, $mixed:literal, $addend:literal, $bits:literal) => {
                    v[$target] = _mm256_add_epi32(v[$target], v[$addend]);
                    let mixed = _mm256_xor_si256(v[$mixed], v[$target]);
                    v[$mixed] = match $bits {
                        16 => turned!(mixed, by_16),
                        8 => turned!(mixed, by_8),
                        bits => _mm256_or_si256(
                            _mm256_sll_epi32(mixed, _mm_cvtsi32_si128(bits)),
                            _mm256_srl_epi32(mixed, _mm_cvtsi32_si128(32 - bits)),
                        ),
                    };
                };
            }
            double_rounds!(step);
            for row in 0..16 {
                let words = _mm256_and_si256(_mm256_add_epi32(v[row], first[row]), mask);
                beyond = _mm256_or_si256(beyond, _mm256_sub_epi64(largest, words));
                // SAFETY: four numbers of the GROUP, of which a row has eight.
                unsafe { _mm256_storeu_si256(numbers.add(8 * row + 4 * half).cast(), words) };
            }
        }
        if _mm256_movemask_pd(_mm256_castsi256_pd(beyond)) == 0 {
            return GROUP;
        }
        let mut filled = 0;
        for at in (0..GROUP).step_by(4) {
            // SAFETY: four numbers not yet overwritten, since no more were accepted than lie before them; eight numbers of an order.
            unsafe {
                let words = _mm256_loadu_si256(numbers.add(at).cast());
                let skipped = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_sub_epi64(largest, words))) as usize;
                let order = _mm256_loadu_si256(FRONT[15 - skipped].as_ptr().cast());
                _mm256_storeu_si256(numbers.add(filled).cast(), _mm256_permutevar8x32_epi32(words, order));
                filled += 4 - skipped.count_ones() as usize;
            }
        }
        filled
    }

    /// [`Self::group`].
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    fn group_avx512(&mut self, residues: &mut [u64; GROUP]) -> usize {
        use std::arch::x86_64::*;
        let largest = _mm512_set1_epi64(self.modulus.value() as i64 - 1);
        let mask = _mm512_set1_epi64((u64::MAX >> (u64::BITS - self.modulus.bits())) as i64);
        self.state.count();
        // SAFETY: a row has the 64 bytes of a vector.
        let first: [__m512i; 16] =
            std::array::from_fn(|row| unsafe { _mm512_loadu_si512(self.state.rows[row].as_ptr().cast()) });
        let mut v = first;
        macro_rules! step {
            ($target:literal, $mixed:literal, $addend:literal, $bits:literal) => {
                v[$target] = _mm512_add_epi32(v[$target], v[$addend]);
                v[$mixed] = _mm512_rol_epi32::<$bits>(_mm512_xor_si512(v[$mixed], v[$target]));
            };
        }
        double_rounds!(step);
        let numbers = residues.as_mut_ptr();
        let mut beyond = _mm512_setzero_si512();
        for row in 0..16 {
            let words = _mm512_and_si512(_mm512_add_epi32(v[row], first[row]), mask);
            beyond = _mm512_or_si512(beyond, _mm512_sub_epi64(largest, words));
            // SAFETY: eight numbers of the GROUP of sixteen rows.
            unsafe { _mm512_storeu_si512(numbers.add(8 * row).cast(), words) };
        }
        if _mm512_test_epi64_mask(beyond, _mm512_set1_epi64(i64::MIN)) == 0 {
            return GROUP;
        }
        let mut filled = 0;
        for at in (0..GROUP).step_by(8) {
            // SAFETY: eight numbers not yet overwritten, since no more were accepted than lie before them.
            unsafe {
                let words = _mm512_loadu_si512(numbers.add(at).cast());
                let kept = _mm512_cmple_epu64_mask(words, largest);
                _mm512_storeu_si512(numbers.add(filled).cast(), _mm512_maskz_compress_epi64(kept, words));
                filled += kept.count_ones() as usize;
            }
        }
        filled
    }
}
