//! Is storage as long as requested, and rejected beyond the address space?

use polyfabric_kernels::aligned::*;
#[test]
fn storage_has_its_length_and_is_aligned() {
    for length in [0, 1, 7, 8, 9, 1000] {
        let (mut words, mut halves) = (AlignedTorus::<u64>::zeros(length), AlignedTorus::<u32>::zeros(length));
        assert_eq!((words.len(), halves.len(), AlignedVector::zeros(length).len()), (length, length, length));
        words.fill(u64::MAX);
        halves.fill(u32::MAX);
        assert!(words.as_ptr().addr().is_multiple_of(64) && halves.as_ptr().addr().is_multiple_of(64));
    }
}

#[test]
fn clones_and_chunked_storage_are_aligned_and_equal() {
    for length in [0, 1, 8, PIECE - 1, PIECE, 3 * PIECE + 5] {
        let word = |index: usize| (index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let made = AlignedTorus::made(length, |start, piece| {
            piece.iter_mut().zip(start..).for_each(|(piece, index)| *piece = word(index));
        });
        let clone = made.clone();
        for words in [&made, &clone] {
            assert!(words.iter().copied().eq((0..length).map(word)), "{length}");
            assert!(words.as_ptr().addr().is_multiple_of(64));
        }
    }
}

/// 2^61 elements of eight bytes are 2^64 bytes, which would wrap to 0.
#[test]
#[should_panic(expected = "larger than any address space")]
fn a_length_whose_bytes_wrap_is_rejected() {
    let storage = AlignedTorus::<u64>::zeros(1 << 61);
    assert_eq!(storage.len(), 0, "storage that is not there");
}
