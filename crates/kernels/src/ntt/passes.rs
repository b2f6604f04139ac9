//! The loops of the transform, generic over the arithmetic.
//!
//! Cooley-Tukey forward and Gentleman-Sande inverse, with ψ merged into the factors; the forward result is in bit-reversed order. Up to three stages at
//! a time run in registers. A pass over blocks larger than the first-level cache streams the whole polynomial; smaller blocks are completed one after
//! another.

use super::butterfly::Butterfly;
use super::tables::{LOG2_INNER_RADIX, Tables};
use crate::memory::Fetch;

/// Bytes of a block that is processed in the first-level cache: half of the usual 32 KiB, to leave space for factors.
const CACHE_BLOCK: usize = 16 << 10;

/// Blocks of one pass: `1 << log2_radix` rows, `stride` words apart.
#[derive(Clone, Copy)]
struct Pass {
    log2_radix: u32,
    stride: usize,
}

/// The passes before the innermost one, split at the first whose blocks fit the cache.
#[inline(always)]
fn each_pass(radices: &[u32], log2_degree: usize) -> impl DoubleEndedIterator<Item = Pass> {
    let done_before = move |index: usize| radices[..index].iter().sum::<u32>();
    radices.iter().enumerate().map(move |(index, &log2_radix)| Pass {
        log2_radix,
        stride: 1 << (log2_degree as u32 - done_before(index) - log2_radix),
    })
}

impl Pass {
    #[inline(always)]
    fn block(self) -> usize {
        self.stride << self.log2_radix
    }

    #[inline(always)]
    fn fits_cache<W>(self) -> bool {
        self.block() * size_of::<W>() <= CACHE_BLOCK
    }
}

/// Words of a region: the unit of cached processing after [`forward_begin`] has streamed the whole polynomial.
pub(super) fn region<W>(tables: &Tables<W>) -> usize {
    let streaming = each_pass(&tables.radices, tables.log2_degree).take_while(|pass| !pass.fits_cache::<W>());
    streaming.last().map_or(1 << tables.log2_degree, |pass| pass.stride)
}

/// Forward transform of N words, natural to bit-reversed order: the passes over blocks larger than the cache. Canonical to loose.
///
/// # Safety
/// The processor has `B`'s instruction set, `tables` are of `B`'s layout, `data` is valid for N words.
#[inline(always)]
pub(super) unsafe fn forward_begin<B: Butterfly>(tables: &Tables<B::Word>, data: *mut B::Word, next: &[&[u64]]) {
    // SAFETY: the set is present; blocks tile the N words, and a block's rows tile the block.
    unsafe {
        let arithmetic = B::new(tables);
        let degree = 1usize << tables.log2_degree;
        let passes = each_pass(&tables.radices, tables.log2_degree).take_while(|pass| !pass.fits_cache::<B::Word>());
        let steps = passes.map(|pass| (degree / B::LANES) >> pass.log2_radix).sum();
        let mut fetch = Fetch::new(next, steps);
        for pass in each_pass(&tables.radices, tables.log2_degree).take_while(|pass| !pass.fits_cache::<B::Word>()) {
            for block in 0..degree / pass.block() {
                let number = degree / pass.block() + block;
                forward_pass(&arithmetic, tables, data.add(block * pass.block()), pass, number, &mut fetch);
            }
        }
    }
}

/// The other passes, on the regions of the words `from` to `to` − 1: loose to canonical.
///
/// # Safety
/// As for [`forward_begin`], but `data` points to word `from` and is valid for `to` − `from` words; both are multiples of [`region`].
#[inline(always)]
pub(super) unsafe fn forward_end<B: Butterfly>(
    tables: &Tables<B::Word>,
    data: *mut B::Word,
    from: usize,
    to: usize,
    next: &[&[u64]],
) {
    // SAFETY: the set is present; regions tile the words, blocks tile a region.
    unsafe {
        let mut fetch = Fetch::new(next, (to - from) / (B::LANES << LOG2_INNER_RADIX));
        let mut nothing = Fetch::new(&[], 1);
        let arithmetic = B::new(tables);
        let (degree, region) = (1usize << tables.log2_degree, region(tables));
        let inner = B::LANES << LOG2_INNER_RADIX;
        for start in (from..to).step_by(region) {
            for pass in each_pass(&tables.radices, tables.log2_degree).skip_while(|pass| !pass.fits_cache::<B::Word>())
            {
                for block in start / pass.block()..(start + region) / pass.block() {
                    let number = degree / pass.block() + block;
                    forward_pass(
                        &arithmetic,
                        tables,
                        data.add(block * pass.block() - from),
                        pass,
                        number,
                        &mut nothing,
                    );
                }
            }
            // A region has an even number of innermost blocks.
            for block in (start / inner..(start + region) / inner).step_by(at_once::<B>()) {
                let data = data.add(block * inner - from);
                if B::PAIRED {
                    forward_inner::<B, 2>(&arithmetic, tables, data, block, degree / inner);
                    fetch.step();
                } else {
                    forward_inner::<B, 1>(&arithmetic, tables, data, block, degree / inner);
                }
                fetch.step();
            }
        }
    }
}

/// Inverse transform of N words, canonical to canonical, bit-reversed to natural order.
///
/// # Safety
/// As for [`forward_begin`]; `source`, whose words are transformed, is `data` or N other words.
#[inline(always)]
pub(super) unsafe fn inverse<B: Butterfly>(tables: &Tables<B::Word>, data: *mut B::Word, source: *const B::Word) {
    // SAFETY: as in `forward_begin`.
    unsafe {
        let arithmetic = B::new(tables);
        let degree = 1usize << tables.log2_degree;
        let passes = || each_pass(&tables.radices, tables.log2_degree);
        let region =
            passes().take_while(|pass| !pass.fits_cache::<B::Word>()).last().map_or(degree, |pass| pass.stride);
        let inner = B::LANES << LOG2_INNER_RADIX;
        for start in (0..degree).step_by(region) {
            if source != data {
                std::ptr::copy_nonoverlapping(source.add(start), data.add(start), region);
            }
            for block in (start / inner..(start + region) / inner).step_by(at_once::<B>()) {
                let data = data.add(block * inner);
                if B::PAIRED {
                    inverse_inner::<B, 2>(&arithmetic, tables, data, block, degree / inner);
                } else {
                    inverse_inner::<B, 1>(&arithmetic, tables, data, block, degree / inner);
                }
            }
            for pass in passes().rev().take_while(|pass| pass.fits_cache::<B::Word>()) {
                for block in start / pass.block()..(start + region) / pass.block() {
                    inverse_pass(&arithmetic, tables, data, pass, block);
                }
            }
        }
        for pass in passes().rev().skip_while(|pass| pass.fits_cache::<B::Word>()) {
            for block in 0..degree / pass.block() {
                inverse_pass(&arithmetic, tables, data, pass, block);
            }
        }
    }
}

/// One pass over a block whose first stage uses factor `number`.
///
/// # Safety
/// As for [`forward_begin`]; `data` is valid for the block.
#[inline(always)]
unsafe fn forward_pass<B: Butterfly>(
    arithmetic: &B,
    tables: &Tables<B::Word>,
    data: *mut B::Word,
    pass: Pass,
    number: usize,
    fetch: &mut Fetch<'_>,
) {
    // SAFETY: by this function's contract.
    unsafe {
        match pass.log2_radix {
            1 => forward_rows::<B, 1, 2>(arithmetic, tables, data, pass.stride, number, fetch),
            2 => forward_rows::<B, 2, 4>(arithmetic, tables, data, pass.stride, number, fetch),
            _ => forward_rows::<B, 3, 8>(arithmetic, tables, data, pass.stride, number, fetch),
        }
    }
}

/// R vectors, `stride` words apart. Arrays are filled by loops, here and below: the compiler may not inline `array::from_fn` or `map`, and their closures
/// then have no vector instructions, which made a transform twice as slow.
///
/// # Safety
/// The processor has `B`'s instruction set, and the vectors are valid.
#[inline(always)]
unsafe fn load_rows<B: Butterfly, const R: usize>(data: *const B::Word, stride: usize) -> [B::Vector; R] {
    // SAFETY: by this function's contract.
    unsafe {
        let mut rows = [B::load(data); R];
        for (row, vector) in rows.iter_mut().enumerate().skip(1) {
            *vector = B::load(data.add(row * stride));
        }
        rows
    }
}

/// The factors of `LOG` stages, in order, the first stage using factor `number`.
///
/// # Safety
/// The processor has `B`'s instruction set.
#[inline(always)]
unsafe fn factors<B: Butterfly, const LOG: usize, const R: usize>(
    arithmetic: &B,
    tables: &Tables<B::Word>,
    number: usize,
) -> [B::Factor; R] {
    // Place 2^s + g is group g of stage s; place 0 is unused.
    // SAFETY: the set is present.
    unsafe {
        let mut factors = [arithmetic.broadcast(&tables.pairs[number]); R];
        for (place, factor) in factors.iter_mut().enumerate().skip(2) {
            let stage = place.ilog2();
            *factor = arithmetic.broadcast(&tables.pairs[(number << stage) + place - (1 << stage)]);
        }
        factors
    }
}

/// The mirrored factors of the inverse's stages: the last stage uses the mirror of factor `number`.
///
/// # Safety
/// The processor has `B`'s instruction set.
#[inline(always)]
unsafe fn mirrored_factors<B: Butterfly, const LOG: usize, const R: usize>(
    arithmetic: &B,
    tables: &Tables<B::Word>,
    groups: usize,
    block: usize,
) -> [B::Factor; R] {
    // SAFETY: the set is present.
    unsafe {
        let mut factors = [arithmetic.broadcast(&tables.pairs[2 * groups - 1 - block]); R];
        for (place, factor) in factors.iter_mut().enumerate().skip(2) {
            let stage = place.ilog2();
            let group = (block << stage) + place - (1 << stage);
            let in_stage = groups << stage;
            *factor = arithmetic.broadcast(&tables.pairs[in_stage + in_stage - 1 - group]);
        }
        factors
    }
}

/// Prepares rows before a pass, or if `FIRST` before the transform's first stage, whose factor is number 1.
///
/// # Safety
/// The processor has `B`'s instruction set.
#[inline(always)]
unsafe fn begin<B: Butterfly, const R: usize>(arithmetic: &B, rows: &mut [B::Vector; R], first: bool) {
    // SAFETY: the set is present.
    unsafe {
        if first {
            for row in rows.iter_mut() {
                *row = arithmetic.enter(*row);
            }
            for row in &mut rows[..R / 2] {
                *row = arithmetic.loosen(*row);
            }
        } else {
            for row in &mut rows[..R / 2] {
                *row = arithmetic.refresh(*row);
            }
        }
    }
}

/// # Safety
/// As for [`forward_pass`].
#[inline(always)]
unsafe fn forward_rows<B: Butterfly, const LOG: usize, const R: usize>(
    arithmetic: &B,
    tables: &Tables<B::Word>,
    data: *mut B::Word,
    stride: usize,
    number: usize,
    fetch: &mut Fetch<'_>,
) {
    // SAFETY: by this function's contract: R rows of `stride` words.
    unsafe {
        let factors = factors::<B, LOG, R>(arithmetic, tables, number);
        for column in (0..stride).step_by(B::LANES) {
            let at = |row: usize| data.add(row * stride + column);
            let mut rows = load_rows::<B, R>(at(0), stride);
            begin(arithmetic, &mut rows, number == 1);
            forward_stages::<B, LOG, R>(arithmetic, &factors, &mut rows);
            fetch.step();
            for (row, value) in rows.into_iter().enumerate() {
                B::store(at(row), value);
            }
        }
    }
}

/// The upper row of a butterfly: row number `pair` among those whose index lacks the bit `apart`, a power of two. A loop over butterflies is unrolled;
/// one over rows that skips half of them sometimes is not, and then rows go through memory.
#[inline(always)]
const fn upper(pair: usize, apart: usize) -> usize {
    pair + (pair & !(apart - 1))
}

/// Number of butterflies in a stage of R rows, opaque to the compiler if they must stay a loop.
#[inline(always)]
fn butterflies<B: Butterfly, const R: usize>() -> usize {
    if B::LOOPED { std::hint::black_box(R / 2) } else { R / 2 }
}

/// # Safety
/// The processor has `B`'s instruction set.
#[inline(always)]
unsafe fn forward_stages<B: Butterfly, const LOG: usize, const R: usize>(
    arithmetic: &B,
    factors: &[B::Factor; R],
    rows: &mut [B::Vector; R],
) {
    for stage in 0..LOG {
        let apart = R >> (stage + 1);
        for pair in 0..butterflies::<B, R>() {
            let upper = upper(pair, apart);
            let factor = factors[(1 << stage) + upper / (2 * apart)];
            // SAFETY: the set is present.
            (rows[upper], rows[upper + apart]) =
                unsafe { arithmetic.forward(rows[upper], rows[upper + apart], factor) };
        }
    }
}

/// The stages of an inverse pass, tight to tight; with `LAST`, excludes the transform's last stage and leaves words untightened.
///
/// # Safety
/// The processor has `B`'s instruction set.
#[inline(always)]
unsafe fn inverse_stages<B: Butterfly, const LOG: usize, const R: usize, const LAST: bool>(
    arithmetic: &B,
    factors: &[B::Factor; R],
    rows: &mut [B::Vector; R],
) {
    for level in 0..LOG - usize::from(LAST) {
        let (apart, stage) = (1 << level, LOG - 1 - level);
        for pair in 0..butterflies::<B, R>() {
            let upper = upper(pair, apart);
            let factor = factors[(1 << stage) + upper / (2 * apart)];
            // SAFETY: the set is present.
            (rows[upper], rows[upper + apart]) =
                unsafe { arithmetic.inverse_at(rows[upper], rows[upper + apart], factor, level) };
        }
    }
    if !LAST {
        for (row, word) in rows.iter_mut().enumerate() {
            // A row is a product in the stage of its index's highest bit, and a sum in each later one.
            let product = row.checked_ilog2().map_or(0, |bit| bit as usize + 1);
            // SAFETY: the set is present.
            *word = unsafe { arithmetic.tighten(*word, LOG - product) };
        }
    }
}

/// # Safety
/// As for [`forward_begin`].
#[inline(always)]
unsafe fn inverse_pass<B: Butterfly>(
    arithmetic: &B,
    tables: &Tables<B::Word>,
    data: *mut B::Word,
    pass: Pass,
    block: usize,
) {
    // SAFETY: blocks tile the N words.
    unsafe {
        let groups = (1usize << tables.log2_degree) / pass.block();
        let data = data.add(block * pass.block());
        let (a, t, s) = (arithmetic, tables, pass.stride);
        match (pass.log2_radix, groups) {
            (1, 1) => inverse_rows::<B, 1, 2, true>(a, t, data, s, groups, block),
            (1, _) => inverse_rows::<B, 1, 2, false>(a, t, data, s, groups, block),
            (2, 1) => inverse_rows::<B, 2, 4, true>(a, t, data, s, groups, block),
            (2, _) => inverse_rows::<B, 2, 4, false>(a, t, data, s, groups, block),
            (_, 1) => inverse_rows::<B, 3, 8, true>(a, t, data, s, groups, block),
            _ => inverse_rows::<B, 3, 8, false>(a, t, data, s, groups, block),
        }
    }
}

/// One pass over a block; with `LAST`, its last stage is the transform's, which also divides by N.
///
/// # Safety
/// As for [`forward_pass`].
#[inline(always)]
unsafe fn inverse_rows<B: Butterfly, const LOG: usize, const R: usize, const LAST: bool>(
    arithmetic: &B,
    tables: &Tables<B::Word>,
    data: *mut B::Word,
    stride: usize,
    groups: usize,
    block: usize,
) {
    // SAFETY: by this function's contract: R rows of `stride` words.
    unsafe {
        let factors = mirrored_factors::<B, LOG, R>(arithmetic, tables, groups, block);
        let (scale, last) = (arithmetic.broadcast(&tables.last[0]), arithmetic.broadcast(&tables.last[1]));
        for column in (0..stride).step_by(B::LANES) {
            let at = |row: usize| data.add(row * stride + column);
            let mut rows = load_rows::<B, R>(at(0), stride);
            inverse_stages::<B, LOG, R, LAST>(arithmetic, &factors, &mut rows);
            if LAST {
                for upper in 0..R / 2 {
                    (rows[upper], rows[upper + R / 2]) =
                        arithmetic.inverse_last(rows[upper], rows[upper + R / 2], scale, last, LOG - 1);
                }
            }
            for (row, value) in rows.into_iter().enumerate() {
                B::store(at(row), value);
            }
        }
    }
}

/// Words of an innermost block, in vectors.
const INNER: usize = 1 << LOG2_INNER_RADIX;

/// Innermost blocks that are transformed at once.
#[inline(always)]
const fn at_once<B: Butterfly>() -> usize {
    if B::PAIRED { 2 } else { 1 }
}

/// Calls a function for each in-register stage of a butterfly. A loop over stages may stay one, and rows then go through memory.
macro_rules! each_lane_stage {
    ($B:ident, [$($stage:literal),*], $name:ident => $call:expr) => {
        $(if $B::LOG2_LANES > $stage {
            const $name: usize = $stage;
            $call
        })*
    };
}

/// The same for each of one or two blocks.
macro_rules! for_each_of {
    ($all:ident, $number:ident => $call:expr) => {
        let $number = 0;
        $call;
        if $all.len() > 1 {
            let $number = 1;
            $call;
        }
    };
}

/// The whole-vector stages of the innermost block with this number, of so many.
///
/// # Safety
/// As for [`forward_inner`], of one block.
#[inline(always)]
unsafe fn forward_whole<B: Butterfly>(
    arithmetic: &B,
    tables: &Tables<B::Word>,
    data: *const B::Word,
    (block, blocks): (usize, usize),
) -> [B::Vector; INNER] {
    // SAFETY: by this function's contract.
    unsafe {
        let factors = factors::<B, LOG2_INNER_RADIX, INNER>(arithmetic, tables, blocks + block);
        let mut rows = load_rows::<B, INNER>(data, B::LANES);
        begin(arithmetic, &mut rows, blocks == 1);
        forward_stages::<B, LOG2_INNER_RADIX, INNER>(arithmetic, &factors, &mut rows);
        rows
    }
}

/// Stores an innermost block after its last stage.
///
/// # Safety
/// As for [`forward_inner`], of one block.
#[inline(always)]
unsafe fn forward_last<B: Butterfly>(arithmetic: &B, data: *mut B::Word, mut rows: [B::Vector; INNER]) {
    // SAFETY: by this function's contract.
    unsafe {
        for row in &mut rows {
            *row = arithmetic.canonical(*row);
        }
        for pair in 0..INNER / 2 {
            let (a, b) = B::interleave(rows[2 * pair], rows[2 * pair + 1]);
            B::store(data.add(2 * pair * B::LANES), a);
            B::store(data.add((2 * pair + 1) * B::LANES), b);
        }
    }
}

/// Loads an innermost block for the inverse.
///
/// # Safety
/// As for [`inverse_inner`], of one block.
#[inline(always)]
unsafe fn inverse_first<B: Butterfly>(arithmetic: &B, data: *const B::Word) -> [B::Vector; INNER] {
    // SAFETY: by this function's contract.
    unsafe {
        let mut rows = load_rows::<B, INNER>(data, B::LANES);
        for row in &mut rows {
            *row = arithmetic.enter(*row);
        }
        for pair in 0..INNER / 2 {
            (rows[2 * pair], rows[2 * pair + 1]) = B::deinterleave(rows[2 * pair], rows[2 * pair + 1]);
        }
        rows
    }
}

/// The whole-vector stages of the inverse of the innermost block with this number, of so many.
///
/// # Safety
/// As for [`inverse_inner`], of one block.
#[inline(always)]
unsafe fn inverse_whole<B: Butterfly>(
    arithmetic: &B,
    tables: &Tables<B::Word>,
    data: *mut B::Word,
    (block, blocks): (usize, usize),
    mut rows: [B::Vector; INNER],
) {
    // SAFETY: by this function's contract.
    unsafe {
        let factors = mirrored_factors::<B, LOG2_INNER_RADIX, INNER>(arithmetic, tables, blocks, block);
        inverse_stages::<B, LOG2_INNER_RADIX, INNER, false>(arithmetic, &factors, &mut rows);
        for (row, value) in rows.into_iter().enumerate() {
            B::store(data.add(row * B::LANES), value);
        }
    }
}

/// In-register stage STAGE of COUNT innermost blocks, from `block` on. All pairs are independent; each pair's chain is long.
///
/// # Safety
/// As for [`forward_inner`].
#[inline(always)]
unsafe fn forward_lanes<B: Butterfly, const COUNT: usize, const STAGE: usize>(
    arithmetic: &B,
    tables: &Tables<B::Word>,
    block: usize,
    all: &mut [[B::Vector; INNER]; COUNT],
) {
    for_each_of!(all, number => {
        let rows = &mut all[number];
        for pair in 0..INNER / 2 {
            // SAFETY: by this function's contract.
            unsafe {
                let (lanes, companions) = lane_tables::<B>(tables, (block + number) * INNER / 2 + pair);
                let factors = arithmetic.lane_factors::<false>(lanes, companions, STAGE);
                let (mut a, b) = B::swap(rows[2 * pair], rows[2 * pair + 1], STAGE);
                if STAGE + 1 == B::LOG2_LANES {
                    a = arithmetic.refresh_lanes(a);
                }
                (rows[2 * pair], rows[2 * pair + 1]) = arithmetic.forward(a, b, factors);
            }
        }
    });
}

/// The same of the inverse; `last` is the mirror of the first block's first pair.
///
/// # Safety
/// As for [`inverse_inner`].
#[inline(always)]
unsafe fn inverse_lanes<B: Butterfly, const COUNT: usize, const STAGE: usize>(
    arithmetic: &B,
    tables: &Tables<B::Word>,
    last: usize,
    all: &mut [[B::Vector; INNER]; COUNT],
) {
    for_each_of!(all, number => {
        let rows = &mut all[number];
        for pair in 0..INNER / 2 {
            // SAFETY: by this function's contract.
            unsafe {
                let (lanes, companions) = lane_tables::<B>(tables, last - (number * INNER / 2 + pair));
                let factors = arithmetic.lane_factors::<true>(lanes, companions, STAGE);
                let (a, b) = arithmetic.inverse(rows[2 * pair], rows[2 * pair + 1], factors);
                (rows[2 * pair], rows[2 * pair + 1]) = B::swap(a, b, STAGE);
            }
        }
    });
}

/// The last three whole-vector stages and the in-register stages of COUNT innermost blocks of `blocks`, from `block` on.
///
/// # Safety
/// As for [`forward_pass`].
#[inline(always)]
unsafe fn forward_inner<B: Butterfly, const COUNT: usize>(
    arithmetic: &B,
    tables: &Tables<B::Word>,
    data: *mut B::Word,
    block: usize,
    blocks: usize,
) {
    // SAFETY: by this function's contract: a block is INNER vectors; each pair of vectors has its block of factors.
    unsafe {
        let mut all = [[B::load(data); INNER]; COUNT];
        for_each_of!(all, number => {
            let data = data.add(number * INNER * B::LANES);
            all[number] = forward_whole(arithmetic, tables, data, (block + number, blocks));
        });
        each_lane_stage!(B, [3, 2, 1, 0], STAGE => forward_lanes::<B, COUNT, STAGE>(arithmetic, tables, block, &mut all));
        for_each_of!(all, number => forward_last(arithmetic, data.add(number * INNER * B::LANES), all[number]));
    }
}

/// The in-register stages and the first three whole-vector stages of the inverse of COUNT innermost blocks, from `block` on.
///
/// # Safety
/// As for [`forward_pass`].
#[inline(always)]
unsafe fn inverse_inner<B: Butterfly, const COUNT: usize>(
    arithmetic: &B,
    tables: &Tables<B::Word>,
    data: *mut B::Word,
    block: usize,
    blocks: usize,
) {
    // SAFETY: as in `forward_inner`; the mirror of a block's pair is another pair of the same table.
    unsafe {
        let mut all = [[B::load(data); INNER]; COUNT];
        for_each_of!(all, number => all[number] = inverse_first(arithmetic, data.add(number * INNER * B::LANES)));
        let last = blocks * INNER / 2 - 1 - block * INNER / 2;
        each_lane_stage!(B, [0, 1, 2, 3], STAGE => inverse_lanes::<B, COUNT, STAGE>(arithmetic, tables, last, &mut all));
        for_each_of!(all, number => {
            let data = data.add(number * INNER * B::LANES);
            inverse_whole(arithmetic, tables, data, (block + number, blocks), all[number]);
        });
    }
}

/// The in-register factors of pair `pair`, and their companions, if any.
///
/// # Safety
/// `pair` is below N / 2L, L lanes.
#[inline(always)]
unsafe fn lane_tables<B: Butterfly>(tables: &Tables<B::Word>, pair: usize) -> (*const B::Word, *const B::Word) {
    let offset = pair * 2 * B::LANES;
    debug_assert!(offset + 2 * B::LANES <= tables.lanes.len());
    // SAFETY: each pair has its block of 2L factors, and as many companions, if any.
    unsafe { (tables.lanes.as_ptr().add(offset), tables.lane_companions.as_ptr().wrapping_add(offset)) }
}
