// SPDX-License-Identifier: Apache-2.0
// Osiris' units for rotations and their key switches (sections IV and V), around the scratchpads: a change of modulus, Hadamard units with their key generators, the automorphism unit, and the memory channel.
//
// Everything runs in lockstep. A command starts the counter of a unit's port, in its cycle of the schedule, with the places of the limbs that pass. Reads are told two cycles ahead, one to count and one for the scratchpads, and writes one. `lost` reports a tile that is not where a counter expects it.
//
// Masks and bodies of keys are not in Montgomery form, so sums of products with keys lack a factor that the constants of the division bring back.
module osiris_pipeline #(
    parameter int unsigned WIDTH = 40,
    parameter int unsigned LANES = 512,
    parameter int unsigned STAGES = 16,
    parameter int unsigned LIMBS = 40,
    parameter int unsigned HEIGHT = 16,  // of the array
    parameter int unsigned CONVERSIONS = 4,
    parameter int unsigned SIDES = 2,  // Hadamard units
    parameter int unsigned CELLS = 3,  // of a Hadamard unit's columns
    parameter int unsigned GROUPS = 10,  // of a key generator
    parameter int unsigned CONSTANTS = 64,  // entries of the Hadamard units' constants
    parameter int unsigned PLACES = 64,  // of limbs in the scratchpads
    localparam int unsigned TILE_BITS = STAGES - $clog2(LANES),
    localparam int unsigned LIMB_BITS = LIMBS > 1 ? $clog2(LIMBS) : 1,
    localparam int unsigned TAG = 1 + LIMB_BITS + TILE_BITS,
    localparam int unsigned LOW_BITS = (STAGES + 1) / 2,
    localparam int unsigned SLOT_BITS = $clog2(LIMBS + 1),
    localparam int unsigned RING_BITS = $clog2(TILE_BITS + 1),
    localparam int unsigned CONVERSION_BITS = CONVERSIONS > 1 ? $clog2(CONVERSIONS) : 1,
    localparam int unsigned CONSTANT_BITS = $clog2(CONSTANTS),
    localparam int unsigned CELL_BITS = $clog2(CELLS + 1),
    localparam int unsigned PLACE_BITS = $clog2(PLACES),
    localparam int unsigned COLUMN_BITS = $clog2(2 * $clog2(LANES) - 1),
    localparam int unsigned TILE = LANES * WIDTH
) (
    input logic clock,
    input logic reset,
    input logic [RING_BITS-1:0] tile_bits,

    // The change of modulus: tables and commands, as mod_change has them.
    input logic write,
    input logic [LIMB_BITS-1:0] write_limb,
    input logic [LOW_BITS-1:0] write_address,
    input logic [1:0][WIDTH-1:0] write_low,
    input logic [1:0][WIDTH-1:0] write_high,
    input logic [WIDTH-1:0] write_modulus,
    input logic [WIDTH-1:0] write_inverse,
    input logic write_source,
    input logic write_target,
    input logic [CONVERSION_BITS-1:0] write_conversion,
    input logic [LIMB_BITS-1:0] write_position,
    input logic [2+HEIGHT:0][WIDTH-1:0] write_constants,
    input logic inverse_start,
    input logic inverse_set,
    input logic [SLOT_BITS-1:0] inverse_slots,
    input logic [SLOT_BITS-1:0] inverse_limbs,
    input logic [LIMBS-1:0][LIMB_BITS-1:0] inverse_moduli,
    input logic conversion_start,
    input logic [CONVERSION_BITS-1:0] conversion,
    input logic [SLOT_BITS-1:0] conversion_slots,
    input logic [SLOT_BITS-1:0] conversion_sources,
    input logic [SLOT_BITS-1:0] conversion_targets,
    input logic forward_start,
    input logic forward_set,
    input logic [SLOT_BITS-1:0] forward_slots,
    input logic [SLOT_BITS-1:0] forward_limbs,
    input logic [LIMBS-1:0][LIMB_BITS-1:0] forward_moduli,

    // Constants of the Hadamard units: modulus, negated inverse, factors of what is kept and of the remainder. Sums have the factor 1 instead of the first.
    input logic write_entry,
    input logic [CONSTANT_BITS-1:0] write_number,
    input logic [3:0][WIDTH-1:0] write_words,

    // Ports of the scratchpads, for limbs interleaved in slots, by position. `feed` reads values for the change of modulus, `keep` writes its results.
    input logic feed_start,
    input logic [SLOT_BITS-1:0] feed_slots,
    input logic [SLOT_BITS-1:0] feed_limbs,
    input logic [LIMBS-1:0][PLACE_BITS-1:0] feed_places,
    input logic keep_start,
    input logic [SLOT_BITS-1:0] keep_slots,
    input logic [SLOT_BITS-1:0] keep_limbs,
    input logic [LIMBS-1:0][PLACE_BITS-1:0] keep_places,
    // Hadamard units. A product with a key reads a digit and a body for each of `terms` cells from places 2 i and 2 i + 1; a division reads what is kept, and has constants by position.
    input logic [SIDES-1:0] multiply_start,
    input logic [SIDES-1:0][SLOT_BITS-1:0] multiply_slots,
    input logic [SIDES-1:0][SLOT_BITS-1:0] multiply_limbs,
    input logic [SIDES-1:0] multiply_divides,
    input logic [SIDES-1:0][CELL_BITS-1:0] multiply_terms,
    input logic [SIDES-1:0][CONSTANT_BITS-1:0] multiply_entry,
    input logic [SIDES-1:0][LIMBS-1:0][PLACE_BITS-1:0] multiply_places,
    // Their results: body and mask to the first two places, or quotients by position.
    input logic [SIDES-1:0] result_start,
    input logic [SIDES-1:0][SLOT_BITS-1:0] result_slots,
    input logic [SIDES-1:0][SLOT_BITS-1:0] result_limbs,
    input logic [SIDES-1:0] result_divides,
    input logic [SIDES-1:0][LIMBS-1:0][PLACE_BITS-1:0] result_places,

    // Sums of two limbs on the other half of a Hadamard unit's multipliers, with constants by position.
    input logic [SIDES-1:0] add_start,
    input logic [SIDES-1:0][SLOT_BITS-1:0] add_slots,
    input logic [SIDES-1:0][SLOT_BITS-1:0] add_limbs,
    input logic [SIDES-1:0][CONSTANT_BITS-1:0] add_entry,
    input logic [SIDES-1:0][1:0][LIMBS-1:0][PLACE_BITS-1:0] add_places,
    input logic [SIDES-1:0] sum_start,
    input logic [SIDES-1:0][SLOT_BITS-1:0] sum_slots,
    input logic [SIDES-1:0][SLOT_BITS-1:0] sum_limbs,
    input logic [SIDES-1:0][LIMBS-1:0][PLACE_BITS-1:0] sum_places,

    // The automorphism unit: settings of its network, as automorphism_benes has them, and one limb from a place to another.
    input logic write_settings,
    input logic [COLUMN_BITS-1:0] write_column,
    input logic [TILE_BITS-1:0] write_tile,
    input logic [LANES/2-1:0] write_crosses,
    input logic move_start,
    input logic [TILE_BITS-1:0] move_inverse_half,
    input logic [PLACE_BITS-1:0] move_place,
    input logic moved_start,
    input logic [PLACE_BITS-1:0] moved_place,

    // The next limb of a key generator.
    input logic seed_start,
    input logic [$clog2(SIDES * CELLS)-1:0] seed_generator,
    input logic [7:0][31:0] seed,
    input logic [63:0] seed_number,
    input logic [WIDTH-1:0] seed_modulus,
    input logic [WIDTH-1:0] seed_mask,
    input logic [TILE_BITS+1:0] seed_expected,

    // The memory channel: a tile that has arrived, and one to be stored, which leaves a cycle later.
    input logic load,
    input logic [PLACE_BITS-1:0] load_place,
    input logic [TILE_BITS-1:0] load_index,
    input logic [LANES-1:0][WIDTH-1:0] load_tile,
    input logic store,
    input logic [PLACE_BITS-1:0] store_place,
    input logic [TILE_BITS-1:0] store_index,
    output logic [LANES-1:0][WIDTH-1:0] stored,

    output logic lost,
    output logic clash
);
    // Of a Hadamard unit: products and sums.
    localparam int unsigned SIDE_READS = 2 * CELLS + 2;
    localparam int unsigned SIDE_WRITES = 3;
    localparam int unsigned READS = 3 + SIDES * SIDE_READS;
    localparam int unsigned WRITES = 3 + SIDES * SIDE_WRITES;
    localparam int unsigned MOST = LIMBS * PLACE_BITS;
    logic [READS-1:0] reads;
    logic [READS-1:0][PLACE_BITS-1:0] read_places;
    logic [READS-1:0][TILE_BITS-1:0] read_indices;
    logic [READS-1:0][TILE-1:0] tiles;
    logic [WRITES-1:0] writes;
    logic [WRITES-1:0][PLACE_BITS-1:0] write_places;
    logic [WRITES-1:0][TILE_BITS-1:0] write_indices;
    logic [WRITES-1:0][TILE-1:0] written;
    scratchpad #(
        .WIDTH(TILE),
        .PLACES(PLACES),
        .TILE_BITS(TILE_BITS),
        .READS(READS),
        .WRITES(WRITES)
    ) places (
        .clock,
        .reads,
        .read_places,
        .read_indices,
        .tiles,
        .writes,
        .write_places,
        .write_indices,
        .written,
        .clash
    );

    // The channel.
    assign {reads[1], read_places[1], read_indices[1]} = {store, store_place, store_index};
    assign stored = tiles[1];
    assign {writes[0], write_places[0], write_indices[0], written[0]} = {load, load_place, load_index, load_tile};

    // The change of modulus.
    logic [LIMB_BITS-1:0] feed_position, keep_position;
    logic [LIMBS-1:0][PLACE_BITS-1:0] feed_held, keep_held;
    logic [TAG-1:0] values_tag;
    logic [LANES-1:0][WIDTH-1:0] values, remainders;
    logic tile_lost, remains;
    limb_sequence #(
        .LIMBS(LIMBS),
        .TILE_BITS(TILE_BITS),
        .WIDTH(MOST)
    ) feed_sequence (
        .clock,
        .reset,
        .start(feed_start),
        .tile_bits,
        .slots(feed_slots),
        .limbs(feed_limbs),
        .reversed(1'b0),
        .word(feed_places),
        .valid(reads[0]),
        .position(feed_position),
        .index(read_indices[0]),
        .held(feed_held)
    );
    assign read_places[0] = feed_held[feed_position];
    limb_sequence #(
        .LIMBS(LIMBS),
        .TILE_BITS(TILE_BITS),
        .WIDTH(MOST)
    ) keep_sequence (
        .clock,
        .reset,
        .start(keep_start),
        .tile_bits,
        .slots(keep_slots),
        .limbs(keep_limbs),
        .reversed(1'b0),
        .word(keep_places),
        .valid(writes[1]),
        .position(keep_position),
        .index(write_indices[1]),
        .held(keep_held)
    );
    assign write_places[1] = keep_held[keep_position];
    assign written[1] = values;
    mod_change #(
        .WIDTH(WIDTH),
        .LANES(LANES),
        .STAGES(STAGES),
        .LIMBS(LIMBS),
        .HEIGHT(HEIGHT),
        .CONVERSIONS(CONVERSIONS)
    ) change (
        .clock,
        .reset,
        .write,
        .write_limb,
        .write_address,
        .write_low,
        .write_high,
        .write_modulus,
        .write_inverse,
        .write_source,
        .write_target,
        .write_conversion,
        .write_position,
        .write_constants,
        .tile_bits,
        .inverse_start,
        .inverse_set,
        .inverse_slots,
        .inverse_limbs,
        .inverse_moduli,
        .conversion_start,
        .conversion,
        .conversion_slots,
        .conversion_sources,
        .conversion_targets,
        .forward_start,
        .forward_set,
        .forward_slots,
        .forward_limbs,
        .forward_moduli,
        .values_in(tiles[0]),
        .values_tag,
        .values_out(values),
        .lost(tile_lost)
    );
    // What the scratchpads do not take goes to the first Hadamard unit.
    always_ff @(posedge clock) begin
        remains <= !reset && values_tag[TAG-1] && !writes[1];
        remainders <= values;
    end

    // The automorphism unit. Tiles leave with another number.
    localparam int unsigned MOVE_LATENCY = latency::automorphism_benes(LANES);
    logic move_there, move_expected, move_lost, unused_moved;
    logic [LIMB_BITS-1:0] unused_move_position, unused_moved_position;
    logic [RING_BITS-1:0] move_tile_bits, move_bits_there;
    logic [TILE_BITS-1:0] move_half, move_half_there, move_index, unused_moved_index;
    limb_sequence #(
        .LIMBS(LIMBS),
        .TILE_BITS(TILE_BITS),
        .WIDTH(RING_BITS + TILE_BITS + PLACE_BITS)
    ) move_sequence (
        .clock,
        .reset,
        .start(move_start),
        .tile_bits,
        .slots(SLOT_BITS'(1)),
        .limbs(SLOT_BITS'(1)),
        .reversed(1'b0),
        .word({tile_bits, move_inverse_half, move_place}),
        .valid(reads[2]),
        .position(unused_move_position),
        .index(read_indices[2]),
        .held({move_tile_bits, move_half, read_places[2]})
    );
    always_ff @(posedge clock) begin
        move_there <= !reset && reads[2];
        {move_index, move_half_there, move_bits_there} <= {read_indices[2], move_half, move_tile_bits};
    end
    automorphism_benes #(
        .WIDTH(WIDTH),
        .LANES(LANES),
        .TILE_BITS(TILE_BITS)
    ) automorphism (
        .clock,
        .write(write_settings),
        .write_column,
        .write_index(write_tile),
        .write_crosses,
        .tile_bits(move_bits_there),
        .inverse_half(move_half_there),
        .index(move_index),
        .tile(tiles[2]),
        .moved_index(write_indices[2]),
        .moved(written[2])
    );
    delay #(
        .CYCLES(MOVE_LATENCY)
    ) of_moves (
        .clock,
        .reset,
        .in(move_there),
        .out(move_expected)
    );
    limb_sequence #(
        .LIMBS(LIMBS),
        .TILE_BITS(TILE_BITS),
        .WIDTH(PLACE_BITS)
    ) moved_sequence (
        .clock,
        .reset,
        .start(moved_start),
        .tile_bits,
        .slots(SLOT_BITS'(1)),
        .limbs(SLOT_BITS'(1)),
        .reversed(1'b0),
        .word(moved_place),
        .valid(writes[2]),
        .position(unused_moved_position),
        .index(unused_moved_index),
        .held(write_places[2])
    );
    assign move_lost = move_expected != writes[2];
    assign unused_moved = &{1'b0, unused_move_position, unused_moved_position, unused_moved_index};

    // Hadamard units and their generators.
    logic [3:0][WIDTH-1:0] constants[CONSTANTS];
    always_ff @(posedge clock) if (write_entry) constants[write_number] <= write_words;
    logic [SIDES-1:0] side_lost, divides;
    for (genvar side = 0; side < SIDES; side++) begin : sides
        localparam int unsigned READ = 3 + side * SIDE_READS;
        localparam int unsigned ADDENDS = READ + 2 * CELLS;
        localparam int unsigned RESULT = 3 + side * SIDE_WRITES;
        localparam int unsigned SUM = RESULT + 2;
        localparam int unsigned WORD = 1 + CELL_BITS + CONSTANT_BITS + MOST;
        logic valid, there, divides_next, result_valid, both, expected;
        logic [LIMB_BITS-1:0] position, result_position;
        logic [TILE_BITS-1:0] index, result_index;
        logic [CELL_BITS-1:0] terms, terms_next;
        logic [CONSTANT_BITS-1:0] entry;
        logic [LIMBS-1:0][PLACE_BITS-1:0] held, result_held;
        logic [3:0][WIDTH-1:0] constant;
        logic [CELLS-1:0] takes, missing;
        logic [CELLS-1:0][LANES-1:0][WIDTH-1:0] digits;
        logic [CELLS-1:0][1:0][LANES-1:0][WIDTH-1:0] rows;
        logic [1:0][LANES-1:0][WIDTH-1:0] products, addends, sums;
        logic [LANES-1:0][WIDTH-1:0] ones;
        logic adds, add_there, sum_expected;
        logic [LIMB_BITS-1:0] add_position, sum_position;
        logic [CONSTANT_BITS-1:0] add_first;
        logic [1:0][LIMBS-1:0][PLACE_BITS-1:0] add_held;
        logic [LIMBS-1:0][PLACE_BITS-1:0] sum_held;
        logic [3:0][WIDTH-1:0] add_constant;
        limb_sequence #(
            .LIMBS(LIMBS),
            .TILE_BITS(TILE_BITS),
            .WIDTH(WORD)
        ) operands (
            .clock,
            .reset,
            .start(multiply_start[side]),
            .tile_bits,
            .slots(multiply_slots[side]),
            .limbs(multiply_limbs[side]),
            .reversed(!multiply_divides[side]),
            .word({multiply_divides[side], multiply_terms[side], multiply_entry[side], multiply_places[side]}),
            .valid,
            .position,
            .index,
            .held({divides_next, terms_next, entry, held})
        );
        always_ff @(posedge clock) begin
            there <= !reset && valid;
            divides[side] <= valid && divides_next;
            terms <= terms_next;
            constant <= constants[entry+CONSTANT_BITS'(position)];
        end
        for (genvar cell_number = 0; cell_number < CELLS; cell_number++) begin : cells
            localparam int unsigned DIGIT = READ + 2 * cell_number;
            logic used, ready, mask_there;
            logic [WIDTH-1:0] residues[LANES];
            logic [LANES-1:0][WIDTH-1:0] mask;
            assign used = valid && 32'(terms_next) > cell_number;
            assign takes[cell_number] = used && !divides_next;
            assign reads[DIGIT] = used && (!divides_next || cell_number == 0);
            assign reads[DIGIT+1] = takes[cell_number];
            assign read_places[DIGIT] = held[divides_next?position : LIMB_BITS'(2*cell_number)];
            assign read_places[DIGIT+1] = held[2*cell_number+1];
            assign {read_indices[DIGIT], read_indices[DIGIT+1]} = {2{index}};
            key_generator #(
                .WIDTH(WIDTH),
                .LANES(LANES),
                .GROUPS(GROUPS),
                .TILE_BITS(TILE_BITS)
            ) generator (
                .clock,
                .reset,
                .start(seed_start && 32'(seed_generator) == side * CELLS + cell_number),
                .seed,
                .number(seed_number),
                .modulus(seed_modulus),
                .mask(seed_mask),
                .log2_tiles(tile_bits),
                .expected(seed_expected),
                .ready,
                .takes(takes[cell_number]),
                .valid(mask_there),
                .residues
            );
            assign missing[cell_number] = takes[cell_number] && !mask_there || seed_start && !ready;
            always_ff @(posedge clock) for (int lane = 0; lane < LANES; lane++) mask[lane] <= residues[lane];
            always_comb begin
                digits[cell_number] = divides[side] && cell_number == 1 ? remainders : tiles[DIGIT];
                for (int lane = 0; lane < LANES; lane++) begin
                    rows[cell_number][0][lane] = divides[side] ? constant[2+cell_number%2] : tiles[DIGIT+1][WIDTH*lane+:WIDTH];
                    rows[cell_number][1][lane] = divides[side] ? '0 : mask[lane];
                    if (32'(terms) <= cell_number) {digits[cell_number][lane], rows[cell_number][0][lane], rows[cell_number][1][lane]} = '0;
                end
            end
        end
        hadamard #(
            .WIDTH(WIDTH),
            .LANES(LANES),
            .HEIGHT(CELLS)
        ) unit (
            .clock,
            .key_modulus(constant[0]),
            .key_inverse(constant[1]),
            .digits,
            .rows,
            .inner_products(products),
            .diagonal_modulus(add_constant[0]),
            .diagonal_inverse(add_constant[1]),
            .diagonal(ones),
            .parts({addends[0], addends[0]}),
            .partials({addends[1], addends[1]}),
            .sums
        );
        delay #(
            .CYCLES(latency::hadamard_keys(CELLS))
        ) of_products (
            .clock,
            .reset,
            .in(there),
            .out(expected)
        );

        limb_sequence #(
            .LIMBS(LIMBS),
            .TILE_BITS(TILE_BITS),
            .WIDTH(1 + MOST)
        ) results (
            .clock,
            .reset,
            .start(result_start[side]),
            .tile_bits,
            .slots(result_slots[side]),
            .limbs(result_limbs[side]),
            .reversed(!result_divides[side]),
            .word({!result_divides[side], result_places[side]}),
            .valid(result_valid),
            .position(result_position),
            .index(result_index),
            .held({both, result_held})
        );
        assign writes[RESULT+1:RESULT] = {result_valid && both, result_valid};
        assign write_places[RESULT] = result_held[both?'0 : result_position];
        assign write_places[RESULT+1] = result_held[1];
        assign {write_indices[RESULT], write_indices[RESULT+1]} = {2{result_index}};
        assign {written[RESULT+1], written[RESULT]} = products;
        assign side_lost[side] = expected != result_valid || |missing || sum_expected != writes[SUM];

        // Sums: one addend times 1, and the other.
        limb_sequence #(
            .LIMBS(LIMBS),
            .TILE_BITS(TILE_BITS),
            .WIDTH(CONSTANT_BITS + 2 * MOST)
        ) addend_sequence (
            .clock,
            .reset,
            .start(add_start[side]),
            .tile_bits,
            .slots(add_slots[side]),
            .limbs(add_limbs[side]),
            .reversed(1'b0),
            .word({add_entry[side], add_places[side]}),
            .valid(adds),
            .position(add_position),
            .index(read_indices[ADDENDS]),
            .held({add_first, add_held})
        );
        assign read_indices[ADDENDS+1] = read_indices[ADDENDS];
        assign reads[ADDENDS+1:ADDENDS] = {2{adds}};
        assign read_places[ADDENDS] = add_held[0][add_position];
        assign read_places[ADDENDS+1] = add_held[1][add_position];
        always_ff @(posedge clock) begin
            add_there <= !reset && adds;
            add_constant <= constants[add_first+CONSTANT_BITS'(add_position)];
        end
        assign addends = {tiles[ADDENDS+1], tiles[ADDENDS]};
        assign ones = {LANES{add_constant[2]}};
        delay #(
            .CYCLES(latency::hadamard_diagonals())
        ) of_sums (
            .clock,
            .reset,
            .in(add_there),
            .out(sum_expected)
        );
        limb_sequence #(
            .LIMBS(LIMBS),
            .TILE_BITS(TILE_BITS),
            .WIDTH(MOST)
        ) sum_sequence (
            .clock,
            .reset,
            .start(sum_start[side]),
            .tile_bits,
            .slots(sum_slots[side]),
            .limbs(sum_limbs[side]),
            .reversed(1'b0),
            .word(sum_places[side]),
            .valid(writes[SUM]),
            .position(sum_position),
            .index(write_indices[SUM]),
            .held(sum_held)
        );
        assign write_places[SUM] = sum_held[sum_position];
        assign written[SUM] = sums[0];
        logic unused;
        assign unused = &{1'b0, sums[1], add_constant[3]};
    end

    assign lost = tile_lost || move_lost || |side_lost || writes[1] && !values_tag[TAG-1] || remains != divides[0];
    logic unused;
    assign unused = &{1'b0, values_tag[TAG-2:0], divides, unused_moved};
endmodule
