use polyfabric_kernels::modular::*;
#[test]
fn residues_come_back_in_every_width() {
    for width in 1..=8 {
        let most = u64::MAX >> (64 - 8 * width);
        // All bits, none, and patterns that reveal any shift by a byte.
        let residues =
            [most, 0, 0x0123_4567_89ab_cdef & most, 1, most - 1, (most ^ 0x5555) & most, 1 << (8 * width - 1), 0x7f];
        let mut block = vec![u64::MAX; width];
        pack_block(&residues, &mut block);
        assert_eq!(std::array::from_fn(|place| in_block(&block, place)), residues, "{width} bytes");
    }
}
