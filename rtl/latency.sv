// SPDX-License-Identifier: Apache-2.0
// Cycles from a unit's first input word to its first output word, defined once for units, which add those of their parts, and for benches. The tests compare them with the machine models.
package latency;
    // The product, a stage for each round, the last subtraction.
    function automatic int unsigned prime_form_multiplier(int unsigned rounds);
        return rounds + 2;
    endfunction

    // Product, quotient, remainder, subtractions.
    function automatic int unsigned barrett_multiplier();
        return 4;
    endfunction

    function automatic int unsigned modular_adder();
        return 1;
    endfunction

    function automatic int unsigned modular_butterfly(int unsigned rounds);
        return prime_form_multiplier(rounds) + modular_adder();
    endfunction

    // A layer of swaps of K columns delays them by K/2 cycles: K = chunks, chunks/2, ..., 2.
    function automatic int unsigned transpose(int unsigned chunks);
        return chunks - 1;
    endfunction

    // A register after each fixed permutation: -1 and the squarings of 5, and the rotations.
    function automatic int unsigned affine_permutation(int unsigned block);
        return 2 * $clog2(block) - 1;
    endfunction

    function automatic int unsigned automorphism(int unsigned lanes, int unsigned chunks);
        return affine_permutation(lanes) + affine_permutation(chunks) + 2 * transpose(chunks);
    endfunction

    // Layers of butterflies of both networks, the product between them, the transpose (F1, figure 8).
    function automatic int unsigned four_step_ntt(int unsigned lanes, int unsigned chunks, int unsigned rounds);
        return ($clog2(lanes) + $clog2(chunks)) * modular_butterfly(rounds) + prime_form_multiplier(rounds) + transpose(chunks);
    endfunction

    // FPT's complex product by three real ones (equation (6)): a sum before them and one after them.
    function automatic int unsigned complex_multiplier(int unsigned multiplier, int unsigned adder);
        return multiplier + 2 * adder;
    endfunction

    // A complex product by four real ones, followed by a sum.
    function automatic int unsigned schoolbook_multiplier(int unsigned multiplier, int unsigned adder);
        return multiplier + adder;
    endfunction

    // Stages first to past - 1 of a transform form a smaller one that splits after some stage.
    typedef struct packed {
        int unsigned first;
        int unsigned past;
    } split_t;

    // The transform that splits after `stage`: groups of radix 2^log2_radix are split off first, and a group is halved.
    function automatic split_t split(int unsigned log2_points, int unsigned log2_radix, int unsigned stage);
        int unsigned size, middle;
        split = '{first: 0, past: log2_points};
        for (int unsigned tries = 0; tries < log2_points; tries++) begin
            size   = split.past - split.first;
            middle = split.first + (size > log2_radix ? log2_radix : (size + 1) / 2);
            if (middle <= stage) split.first = middle;
            else if (middle > stage + 1) split.past = middle;
        end
    endfunction

    // Positions of multiplications in a transform: between stages, before the first one, or within one.
    localparam int unsigned ROTATION = 0;
    localparam int unsigned TWIST = 1;
    localparam int unsigned FACTOR = 2;

    // log2 of the order of these roots of unity; there is no rotation after the last stage.
    function automatic int unsigned order(int unsigned kind, int unsigned log2_points, int unsigned log2_radix, int unsigned stage);
        split_t part;
        part = split(log2_points, log2_radix, stage);
        return kind == TWIST ? log2_points + 2 : kind == FACTOR ? stage + 3 : stage + 1 < log2_points ? part.past - part.first : 0;
    endfunction

    // A complex product by `reals` real ones.
    function automatic int unsigned product(int unsigned reals, int unsigned multiplier, int unsigned adder);
        return reals == 3 ? complex_multiplier(multiplier, adder) : schoolbook_multiplier(multiplier, adder);
    endfunction

    // Products with roots of that order: none up to quarter turns.
    function automatic int unsigned turn(int unsigned log2_order, int unsigned reals, int unsigned multiplier, int unsigned adder);
        return log2_order <= 2 ? 0 : product(reals, multiplier, adder);
    endfunction

    // The twist, unless it is merged; sums and products per stage; exchanges that delay all points except those of one cycle.
    function automatic int unsigned fixed_fft(
        int unsigned log2_points, int unsigned log2_lanes, bit merged, int unsigned log2_radix, int unsigned reals, int unsigned multiplier, int unsigned adder
    );
        fixed_fft = log2_points * adder + (1 << (log2_points - log2_lanes)) - 1;
        if (!merged) fixed_fft += turn(order(TWIST, log2_points, log2_radix, 0), reals, multiplier, adder);
        for (int unsigned stage = 0; stage < log2_points; stage++) begin
            fixed_fft += turn(order(merged ? FACTOR : ROTATION, log2_points, log2_radix, stage), reals, multiplier, adder);
        end
    endfunction

    // Additions that merge two polynomials, the transform of each half, additions that split (Morphling, section V-A.3).
    function automatic int unsigned merge_split_fft(int unsigned log2_points, int unsigned log2_lanes, int unsigned reals, int unsigned multiplier, int unsigned adder);
        return 2 * adder + fixed_fft(log2_points, log2_lanes, 1'b1, 0, reals, multiplier, adder);
    endfunction

    // Rounding, unless nothing is dropped or one addition does both, and the carries of digits.
    function automatic int unsigned decomposer(int unsigned dropped, int unsigned steps, int unsigned adder);
        return (dropped > 0 ? steps : 1) * adder;
    endfunction

    // FPT's rotator: collects a polynomial of `group` words and copies it to a register; its bits pass log2 N stages of the barrel shifter, that of the sign and the subtraction; all bits must arrive before the first coefficient leaves.
    function automatic int unsigned rotator(int unsigned log2_degree, int unsigned group, int unsigned multiplexer, int unsigned adder);
        return group + 1 + (log2_degree + 1) * multiplexer + adder + group - 1;
    endfunction

    // The adder of a sum over steps; none for one step.
    function automatic int unsigned running_sum(int unsigned steps, int unsigned adder);
        return steps > 1 ? adder : 0;
    endfunction

    // A complex product, the tree of parallel rows, the running sum: from the last of the sequential rows.
    function automatic int unsigned multiply_accumulate(
        int unsigned side, int unsigned steps, int unsigned multiplier, int unsigned adder, int unsigned reals = 3
    );
        return product(reals, multiplier, adder) + $clog2(side) * adder + running_sum(steps, adder);
    endfunction

    // The memory's read, the addition.
    function automatic int unsigned accumulator(int unsigned adder);
        return 1 + adder;
    endfunction

    // FPT's ring, from a word at the rotator to its row's point at the multipliers.
    function automatic int unsigned cmux_point(
        int unsigned log2_points, int unsigned log2_lanes, int unsigned levels, int unsigned log2_radix, int unsigned multiplexer, int unsigned multiplier, int unsigned adder
    );
        return rotator(log2_points + 1, levels << (log2_points - log2_lanes), multiplexer, adder) + decomposer(0, 1, adder)
            + fixed_fft(log2_points, log2_lanes, 1'b0, log2_radix, 3, multiplier, adder);
    endfunction

    // To the product at the accumulators.
    function automatic int unsigned cmux_product(
        int unsigned log2_points, int unsigned log2_lanes, int unsigned columns, int unsigned levels, int unsigned log2_radix, int unsigned multiplexer, int unsigned multiplier,
        int unsigned adder
    );
        return cmux_point(log2_points, log2_lanes, levels, log2_radix, multiplexer, multiplier, adder) + (columns * levels - 1 << (log2_points - log2_lanes))
            + multiply_accumulate(1, columns * levels, multiplier, adder) + fixed_fft(log2_points, log2_lanes - $clog2(levels), 1'b0, log2_radix, 3, multiplier, adder);
    endfunction

    // Strix' PBS cluster, from the rotator's first read to the first point at the multipliers.
    function automatic int unsigned pbs_cluster_point(int unsigned log2_points, int unsigned log2_lanes, int unsigned dropped, int unsigned multiplier, int unsigned adder);
        return double_pointer_rotator(adder) + decomposer(dropped, 2, adder) + fixed_fft(log2_points, log2_lanes, 1'b1, 0, 4, multiplier, adder);
    endfunction

    // To the first product at the accumulator.
    function automatic int unsigned pbs_cluster_product(
        int unsigned log2_points, int unsigned log2_lanes, int unsigned polynomials, int unsigned dropped, int unsigned multiplier, int unsigned adder
    );
        return pbs_cluster_point(log2_points, log2_lanes, dropped, multiplier, adder) + multiply_accumulate(polynomials, 1, multiplier, adder, 4)
            + fixed_fft(log2_points, log2_lanes, 1'b1, 0, 4, multiplier, adder);
    endfunction

    // To the first word of the sums: after the other steps of a polynomial each.
    function automatic int unsigned pbs_cluster(
        int unsigned log2_points, int unsigned log2_lanes, int unsigned polynomials, int unsigned levels, int unsigned dropped, int unsigned multiplier, int unsigned adder
    );
        return pbs_cluster_product(log2_points, log2_lanes, polynomials, dropped, multiplier, adder) + (levels - 1 << (log2_points - log2_lanes)) + accumulator(adder);
    endfunction

    // Strix' key-switch cluster, from a tile's first digits and column to the first sum: the bank's read, the decomposer, a multiplier and its tree, the accumulator. Each further column adds a cycle.
    function automatic int unsigned key_switch_cluster(int unsigned lanes, int unsigned dropped, int unsigned multiplier, int unsigned adder);
        return 1 + decomposer(dropped, 2, adder) + multiplier + $clog2(lanes) * adder + accumulator(adder);
    endfunction

    // A bank's read, the reorder unit, the subtraction.
    function automatic int unsigned double_pointer_rotator(int unsigned adder);
        return 2 + adder;
    endfunction

    // Morphling's XPU, from the rotator's first read to a row's first point at the array. `coef` cycles are those of the Coef buffer.
    function automatic int unsigned morphling_xpu_point(int unsigned log2_points, int unsigned log2_lanes, int unsigned coef, int unsigned multiplier, int unsigned adder);
        return double_pointer_rotator(adder) + decomposer(0, 1, adder) + merge_split_fft(log2_points, log2_lanes, 4, multiplier, adder) + coef;
    endfunction

    // To the first product at the accumulators, if the sums of `steps` spectra wait for `waits` cycles in the array.
    function automatic int unsigned morphling_xpu_product(
        int unsigned log2_points, int unsigned log2_lanes, int unsigned columns, int unsigned steps, int unsigned coef, int unsigned waits, int unsigned multiplier, int unsigned adder
    );
        return morphling_xpu_point(log2_points, log2_lanes, coef, multiplier, adder) + (steps - 1 << (log2_points - log2_lanes)) + vpe_array(columns, multiplier, adder) + waits
            + fixed_fft(log2_points, log2_lanes, 1'b1, 0, 4, multiplier, adder);
    endfunction

    // Morphling's array: the product, the sum, and as many input plus output hops for every column.
    function automatic int unsigned vpe_array(int unsigned columns, int unsigned multiplier, int unsigned adder);
        return schoolbook_multiplier(multiplier, adder) + adder + columns - 1;
    endfunction

    // The product, its multiple of q, the addition of that multiple, the last subtraction.
    function automatic int unsigned montgomery_multiplier();
        return 4;
    endfunction

    // A register after each column of switches.
    function automatic int unsigned benes(int unsigned lanes);
        return 2 * $clog2(lanes) - 1;
    endfunction

    // From constants to their tile: a cell's multiplier, one adder per row, the lanes' skew.
    function automatic int unsigned base_conversion_constants(int unsigned height, int unsigned lanes);
        return montgomery_multiplier() + height + lanes - 1;
    endfunction

    // From a block's first tile to its first result: the first row's multiplier, the block's tiles, then the constants' latency.
    function automatic int unsigned base_conversion(int unsigned height, int unsigned lanes, int unsigned sources);
        return montgomery_multiplier() + sources + base_conversion_constants(height, lanes);
    endfunction

    // An entry of each table, their product.
    function automatic int unsigned twiddle_generator();
        return 1 + montgomery_multiplier();
    endfunction

    // A butterfly per stage, a multiplier and an adder; the commutators' delays.
    function automatic int unsigned mdc_ntt(int unsigned stages, int unsigned tiles, int unsigned slots);
        return stages * (montgomery_multiplier() + 1) + slots * (tiles - 1);
    endfunction

    // A multiplier and a subtractor.
    function automatic int unsigned limb_extension();
        return montgomery_multiplier() + 1;
    endfunction

    // A multiplier, and one adder per cell.
    function automatic int unsigned hadamard_keys(int unsigned height);
        return montgomery_multiplier() + height;
    endfunction

    // A multiplier and an adder.
    function automatic int unsigned hadamard_diagonals();
        return montgomery_multiplier() + 1;
    endfunction

    // The network's.
    function automatic int unsigned automorphism_benes(int unsigned lanes);
        return benes(lanes);
    endfunction

    // Two registers per round, and the final addition.
    function automatic int unsigned chacha();
        return 17;
    endfunction

    // One stage per bit of the distances.
    function automatic int unsigned compaction(int unsigned count);
        return $clog2(count);
    endfunction

    // From a limb's seed to its first tile: the seed, blocks, cut and compare, count, compaction, the ring.
    function automatic int unsigned key_generator(int unsigned groups);
        return 1 + chacha() + 2 + compaction(128 * groups) + 1;
    endfunction

    function automatic int unsigned modulus_switch(int unsigned adder);
        return adder;
    endfunction

    // A lane group's bank and register.
    function automatic int unsigned lane_group_load();
        return 2;
    endfunction

    // The register file's read, the multiplier, both adders.
    function automatic int unsigned lane_group_lane(int unsigned multiplier, int unsigned adder);
        return 1 + multiplier + 2 * adder;
    endfunction

    // From a key switch's first digits to its first product: a register load ahead of the lane's, after the digits' lane and register.
    function automatic int unsigned lane_group_digits(int unsigned multiplier, int unsigned adder);
        return lane_group_lane(multiplier, adder) + 1;
    endfunction

    function automatic int unsigned sample_extractor();
        return 1;
    endfunction
endpackage
