// In: tables and commands of mod_change; whether to write constants of the Hadamard units, number, words; commands to read for the change of modulus and to write its results (start, slots, limbs, places); for each Hadamard unit what to multiply (start, slots, limbs, division, terms, constants, places) where results go (start, slots, limbs, division, places), what to add (start, slots, limbs, constants, both places), and where sums go (start, slots, limbs, places); the automorphism unit's settings (whether to write, column, tile, settings), its limb (start, half, place), and where that goes (start, place); the next limb of a key generator (start, generator, seed, number, modulus, mask, cycles); whether a tile is loaded and whether one is stored, place, number; the tile. Out: whether a tile is lost, whether accesses clash, whether a tile is stored; the tile.
module bench #(
    parameter int unsigned WIDTH = 40,
    parameter int unsigned LANES = 512,
    parameter int unsigned STAGES = 16,
    parameter int unsigned LIMBS = 40,
    parameter int unsigned HEIGHT = 16,
    parameter int unsigned CONVERSIONS = 4,
    parameter int unsigned SIDES = 2,
    parameter int unsigned CELLS = 3,
    parameter int unsigned GROUPS = 10,
    parameter int unsigned CONSTANTS = 64,
    parameter int unsigned PLACES = 64,
    localparam int unsigned TILE_BITS = STAGES - $clog2(LANES),
    localparam int unsigned LIMB_BITS = LIMBS > 1 ? $clog2(LIMBS) : 1,
    localparam int unsigned LOW_BITS = (STAGES + 1) / 2,
    localparam int unsigned SLOT_BITS = $clog2(LIMBS + 1),
    localparam int unsigned RING_BITS = $clog2(TILE_BITS + 1),
    localparam int unsigned CONVERSION_BITS = CONVERSIONS > 1 ? $clog2(CONVERSIONS) : 1,
    localparam int unsigned CONSTANT_BITS = $clog2(CONSTANTS),
    localparam int unsigned CELL_BITS = $clog2(CELLS + 1),
    localparam int unsigned PLACE_BITS = $clog2(PLACES),
    localparam int unsigned GENERATOR_BITS = $clog2(SIDES * CELLS),
    localparam int unsigned WRITE = 1 + LIMB_BITS + LOW_BITS + 6 * WIDTH,
    localparam int unsigned LINES = 2 + CONVERSION_BITS + LIMB_BITS + (3 + HEIGHT) * WIDTH,
    localparam int unsigned TRANSFORM = 2 + 2 * SLOT_BITS + LIMBS * LIMB_BITS,
    localparam int unsigned CONVERT = 1 + CONVERSION_BITS + 3 * SLOT_BITS,
    localparam int unsigned CHANGE = WRITE + LINES + RING_BITS + CONVERT + 2 * TRANSFORM,
    localparam int unsigned ENTRY = 1 + CONSTANT_BITS + 4 * WIDTH,
    localparam int unsigned STREAM = 1 + 2 * SLOT_BITS + LIMBS * PLACE_BITS,
    localparam int unsigned MULTIPLY = STREAM + 1 + CELL_BITS + CONSTANT_BITS,
    localparam int unsigned RESULT = STREAM + 1,
    localparam int unsigned ADD = STREAM + LIMBS * PLACE_BITS + CONSTANT_BITS,
    localparam int unsigned COLUMN_BITS = $clog2(2 * $clog2(LANES) - 1),
    localparam int unsigned MOVE = 1 + COLUMN_BITS + TILE_BITS + LANES / 2 + 2 + TILE_BITS + 2 * PLACE_BITS,
    localparam int unsigned SEED = 1 + GENERATOR_BITS + 256 + 64 + 2 * WIDTH + TILE_BITS + 2,
    localparam int unsigned CHANNEL = 2 + 2 * (PLACE_BITS + TILE_BITS),
    localparam int unsigned SIDE = MULTIPLY + RESULT + ADD + STREAM,
    localparam int unsigned TILE = LANES * WIDTH,
    localparam int unsigned BUS = CHANGE + ENTRY + 2 * STREAM + SIDES * SIDE + MOVE + SEED + CHANNEL + TILE
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [BUS-1:0] in_data,
    output logic out_valid,
    output logic [3+TILE-1:0] out_data
);
    logic write, write_source, write_target, inverse_start, inverse_set, conversion_start, forward_start, forward_set;
    logic [LIMB_BITS-1:0] write_limb, write_position;
    logic [LOW_BITS-1:0] write_address;
    logic [1:0][WIDTH-1:0] write_low, write_high;
    logic [WIDTH-1:0] write_modulus, write_inverse;
    logic [CONVERSION_BITS-1:0] write_conversion, conversion;
    logic [2+HEIGHT:0][WIDTH-1:0] write_constants;
    logic [RING_BITS-1:0] tile_bits;
    logic [SLOT_BITS-1:0] inverse_slots, inverse_limbs, conversion_slots, conversion_sources, conversion_targets, forward_slots, forward_limbs;
    logic [LIMBS-1:0][LIMB_BITS-1:0] inverse_moduli, forward_moduli;
    assign {
        forward_moduli, forward_limbs, forward_slots, forward_set, forward_start,
        conversion_targets, conversion_sources, conversion_slots, conversion, conversion_start,
        inverse_moduli, inverse_limbs, inverse_slots, inverse_set, inverse_start, tile_bits,
        write_constants, write_position, write_conversion, write_target, write_source,
        write_inverse, write_modulus, write_high, write_low, write_address, write_limb, write
    } = in_data[CHANGE-1:0];

    logic write_entry, feed_start, keep_start;
    logic [CONSTANT_BITS-1:0] write_number;
    logic [3:0][WIDTH-1:0] write_words;
    logic [SLOT_BITS-1:0] feed_slots, feed_limbs, keep_slots, keep_limbs;
    logic [LIMBS-1:0][PLACE_BITS-1:0] feed_places, keep_places;
    assign {
        keep_places, keep_limbs, keep_slots, keep_start, feed_places, feed_limbs, feed_slots, feed_start, write_words, write_number, write_entry
    } = in_data[CHANGE+:ENTRY+2*STREAM];

    logic [SIDES-1:0] multiply_start, multiply_divides, result_start, result_divides;
    logic [SIDES-1:0][SLOT_BITS-1:0] multiply_slots, multiply_limbs, result_slots, result_limbs;
    logic [SIDES-1:0][CELL_BITS-1:0] multiply_terms;
    logic [SIDES-1:0][CONSTANT_BITS-1:0] multiply_entry;
    logic [SIDES-1:0][LIMBS-1:0][PLACE_BITS-1:0] multiply_places, result_places;
    logic [SIDES-1:0] add_start, sum_start;
    logic [SIDES-1:0][SLOT_BITS-1:0] add_slots, add_limbs, sum_slots, sum_limbs;
    logic [SIDES-1:0][CONSTANT_BITS-1:0] add_entry;
    logic [SIDES-1:0][1:0][LIMBS-1:0][PLACE_BITS-1:0] add_places;
    logic [SIDES-1:0][LIMBS-1:0][PLACE_BITS-1:0] sum_places;
    for (genvar side = 0; side < SIDES; side++) begin : sides
        logic multiplies, results, adds, sums;
        assign {
            sum_places[side], sum_limbs[side], sum_slots[side], sums,
            add_entry[side], add_places[side], add_limbs[side], add_slots[side], adds,
            result_divides[side], result_places[side], result_limbs[side], result_slots[side], results,
            multiply_entry[side], multiply_terms[side], multiply_divides[side], multiply_places[side], multiply_limbs[side], multiply_slots[side], multiplies
        } = in_data[CHANGE+ENTRY+2*STREAM+side*SIDE+:SIDE];
        assign multiply_start[side] = multiplies && in_valid;
        assign result_start[side] = results && in_valid;
        assign add_start[side] = adds && in_valid;
        assign sum_start[side] = sums && in_valid;
    end

    logic write_settings, move_start, moved_start;
    logic [COLUMN_BITS-1:0] write_column;
    logic [TILE_BITS-1:0] write_tile, move_inverse_half;
    logic [LANES/2-1:0] write_crosses;
    logic [PLACE_BITS-1:0] move_place, moved_place;
    assign {
        moved_place, moved_start, move_place, move_inverse_half, move_start, write_crosses, write_tile, write_column, write_settings
    } = in_data[CHANGE+ENTRY+2*STREAM+SIDES*SIDE+:MOVE];

    logic seed_start, load, store, leaves, lost, clash;
    logic [GENERATOR_BITS-1:0] seed_generator;
    logic [7:0][31:0] seed;
    logic [63:0] seed_number;
    logic [WIDTH-1:0] seed_modulus, seed_mask;
    logic [TILE_BITS+1:0] seed_expected;
    logic [PLACE_BITS-1:0] load_place, store_place;
    logic [TILE_BITS-1:0] load_index, store_index;
    logic [LANES-1:0][WIDTH-1:0] load_tile, stored;
    assign {
        load_tile, store_index, store_place, store, load_index, load_place, load,
        seed_expected, seed_mask, seed_modulus, seed_number, seed, seed_generator, seed_start
    } = in_data[BUS-1:CHANGE+ENTRY+2*STREAM+SIDES*SIDE+MOVE];

    osiris_pipeline #(
        .WIDTH(WIDTH),
        .LANES(LANES),
        .STAGES(STAGES),
        .LIMBS(LIMBS),
        .HEIGHT(HEIGHT),
        .CONVERSIONS(CONVERSIONS),
        .SIDES(SIDES),
        .CELLS(CELLS),
        .GROUPS(GROUPS),
        .CONSTANTS(CONSTANTS),
        .PLACES(PLACES)
    ) unit (
        .clock,
        .reset,
        .tile_bits,
        .write(write && in_valid),
        .write_limb,
        .write_address,
        .write_low,
        .write_high,
        .write_modulus,
        .write_inverse,
        .write_source(write_source && in_valid),
        .write_target(write_target && in_valid),
        .write_conversion,
        .write_position,
        .write_constants,
        .inverse_start(inverse_start && in_valid),
        .inverse_set,
        .inverse_slots,
        .inverse_limbs,
        .inverse_moduli,
        .conversion_start(conversion_start && in_valid),
        .conversion,
        .conversion_slots,
        .conversion_sources,
        .conversion_targets,
        .forward_start(forward_start && in_valid),
        .forward_set,
        .forward_slots,
        .forward_limbs,
        .forward_moduli,
        .write_entry(write_entry && in_valid),
        .write_number,
        .write_words,
        .feed_start(feed_start && in_valid),
        .feed_slots,
        .feed_limbs,
        .feed_places,
        .keep_start(keep_start && in_valid),
        .keep_slots,
        .keep_limbs,
        .keep_places,
        .multiply_start,
        .multiply_slots,
        .multiply_limbs,
        .multiply_divides,
        .multiply_terms,
        .multiply_entry,
        .multiply_places,
        .result_start,
        .result_slots,
        .result_limbs,
        .result_divides,
        .result_places,
        .add_start,
        .add_slots,
        .add_limbs,
        .add_entry,
        .add_places,
        .sum_start,
        .sum_slots,
        .sum_limbs,
        .sum_places,
        .write_settings(write_settings && in_valid),
        .write_column,
        .write_tile,
        .write_crosses,
        .move_start(move_start && in_valid),
        .move_inverse_half,
        .move_place,
        .moved_start(moved_start && in_valid),
        .moved_place,
        .seed_start(seed_start && in_valid),
        .seed_generator,
        .seed,
        .seed_number,
        .seed_modulus,
        .seed_mask,
        .seed_expected,
        .load(load && in_valid),
        .load_place,
        .load_index,
        .load_tile,
        .store(store && in_valid),
        .store_place,
        .store_index,
        .stored,
        .lost,
        .clash
    );
    always_ff @(posedge clock) leaves <= !reset && store && in_valid;
    assign out_valid = lost || clash || leaves;
    assign out_data = {stored, leaves, clash, lost};
endmodule
