// SPDX-License-Identifier: Apache-2.0
// Osiris' change of modulus (algorithm 1, section IV): values of some limbs through an inverse transform, the base conversion array and a forward transform to values of other limbs. Limbs are interleaved, so each tile passes on in the cycle after it has left a unit: a register is between units, and no memory.
//
// Units run in lockstep. A command a stream and unit, in its cycle of the schedule, starts counters that say which limb and tile there is in every cycle. Tags and constants are looked up ahead of the tiles, so commands come ahead as well: `LEAD` cycles to a transform, TWO to the array. `lost` reports a tile that is not where a counter expects it.
module mod_change #(
    parameter int unsigned WIDTH = 40,
    parameter int unsigned LANES = 512,
    parameter int unsigned STAGES = 16,
    parameter int unsigned LIMBS = 40,  // that are interleaved at most, and that have tables
    parameter int unsigned HEIGHT = 16,  // of the array
    parameter int unsigned CONVERSIONS = 4,  // with constants
    localparam int unsigned TILE_BITS = STAGES - $clog2(LANES),
    localparam int unsigned LIMB_BITS = LIMBS > 1 ? $clog2(LIMBS) : 1,
    localparam int unsigned TAG = 1 + LIMB_BITS + TILE_BITS,
    localparam int unsigned LOW_BITS = (STAGES + 1) / 2,
    localparam int unsigned SLOT_BITS = $clog2(LIMBS + 1),
    localparam int unsigned RING_BITS = $clog2(TILE_BITS + 1),
    localparam int unsigned CONVERSION_BITS = CONVERSIONS > 1 ? $clog2(CONVERSIONS) : 1
) (
    input logic clock,
    input logic reset,

    // Tables of factors for both transforms, as twiddle_generator has them.
    input logic write,
    input logic [LIMB_BITS-1:0] write_limb,
    input logic [LOW_BITS-1:0] write_address,
    input logic [1:0][WIDTH-1:0] write_low,
    input logic [1:0][WIDTH-1:0] write_high,
    input logic [WIDTH-1:0] write_modulus,
    input logic [WIDTH-1:0] write_inverse,
    // Constants of a conversion: for a source limb modulus, negated inverse, factor and addend; for a target limb modulus, negated inverse, initial sum and weights by row.
    input logic write_source,
    input logic write_target,
    input logic [CONVERSION_BITS-1:0] write_conversion,
    input logic [LIMB_BITS-1:0] write_position,
    input logic [2+HEIGHT:0][WIDTH-1:0] write_constants,

    // Commands. `set` if the unit's direction, slots or ring change; moduli by position.
    input logic [RING_BITS-1:0] tile_bits,
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

    input logic [LANES-1:0][WIDTH-1:0] values_in,
    output logic [TAG-1:0] values_tag,
    output logic [LANES-1:0][WIDTH-1:0] values_out,
    output logic lost
);
    localparam int unsigned LEAD = latency::twiddle_generator();
    localparam int unsigned STEPS = latency::montgomery_multiplier();

    // Values to coefficients; the input at the unused end is ignored. Tags are LEAD cycles ahead of tiles.
    logic inverse_valid;
    logic [LIMB_BITS-1:0] inverse_position;
    logic [TILE_BITS-1:0] inverse_index;
    logic [LIMBS-1:0][LIMB_BITS-1:0] inverse_held;
    logic [TAG-1:0] coefficients_tag, arriving;
    logic [LANES-1:0][WIDTH-1:0] coefficients, entering;
    limb_sequence #(
        .LIMBS(LIMBS),
        .TILE_BITS(TILE_BITS),
        .WIDTH(LIMBS * LIMB_BITS)
    ) inverse_sequence (
        .clock,
        .reset,
        .start(inverse_start),
        .tile_bits,
        .slots(inverse_slots),
        .limbs(inverse_limbs),
        .reversed(1'b0),
        .word(inverse_moduli),
        .valid(inverse_valid),
        .position(inverse_position),
        .index(inverse_index),
        .held(inverse_held)
    );
    logic [TAG-1:0] no_values_tag;
    logic [LANES-1:0][WIDTH-1:0] no_values;
    mdc_ntt #(
        .WIDTH(WIDTH),
        .LANES(LANES),
        .STAGES(STAGES),
        .LIMBS(LIMBS)
    ) inverse_transform (
        .clock,
        .reset,
        .set(inverse_start && inverse_set),
        .set_forward(1'b0),
        .set_slots(inverse_slots),
        .set_tile_bits(tile_bits),
        .write,
        .write_limb,
        .write_address,
        .write_low,
        .write_high,
        .write_modulus,
        .write_inverse,
        .values_tag_in({inverse_valid, inverse_held[inverse_position], inverse_index}),
        .values_in,
        .values_tag_out(no_values_tag),
        .values_out(no_values),
        .coefficients_tag_in('0),
        .coefficients_in(values_in),
        .coefficients_tag_out(coefficients_tag),
        .coefficients_out(coefficients)
    );
    always_ff @(posedge clock) begin
        arriving <= reset ? '0 : coefficients_tag;
        entering <= coefficients;
    end

    // The array. Constants of a source limb come with its tile, those of the targets when the block's last tile has left the first row's multiplier.
    logic source_valid, source_there, target_start, target_valid, target_there, target_first;
    logic [LIMB_BITS-1:0] source_position, target_position;
    logic [TILE_BITS-1:0] source_index, source_now, target_index, target_now;
    logic [CONVERSION_BITS-1:0] source_conversion, target_conversion;
    logic [3:0][WIDTH-1:0] sources[CONVERSIONS<<LIMB_BITS], source;
    logic [2+HEIGHT:0][WIDTH-1:0] targets[CONVERSIONS<<LIMB_BITS], target;
    logic [$clog2(HEIGHT+1)-1:0] limb;
    logic [LANES-1:0][WIDTH-1:0] converted, returning;
    limb_sequence #(
        .LIMBS(LIMBS),
        .TILE_BITS(TILE_BITS),
        .WIDTH(CONVERSION_BITS)
    ) source_sequence (
        .clock,
        .reset,
        .start(conversion_start),
        .tile_bits,
        .slots(conversion_slots),
        .limbs(conversion_sources),
        .reversed(1'b0),
        .word(conversion),
        .valid(source_valid),
        .position(source_position),
        .index(source_index),
        .held(source_conversion)
    );
    // Commands wait as long as a block and the multiplier take.
    localparam int unsigned WAITING = 1 + RING_BITS + CONVERSION_BITS + 3 * SLOT_BITS;
    logic [WAITING-1:0] waiting[STEPS+HEIGHT];
    logic [RING_BITS-1:0] target_tile_bits;
    logic [CONVERSION_BITS-1:0] waited_conversion;
    logic [SLOT_BITS-1:0] target_slots, target_limbs;
    always_ff @(posedge clock) begin
        for (int age = 0; age < STEPS + HEIGHT; age++) begin
            if (age > 0) waiting[age] <= reset ? '0 : waiting[age-1];
            else waiting[age] <= reset ? '0 : {conversion_start, conversion_sources, tile_bits, conversion, conversion_slots, conversion_targets};
        end
    end
    always_comb begin
        target_start = 1'b0;
        {target_tile_bits, waited_conversion, target_slots, target_limbs} = '0;
        for (int age = STEPS; age < STEPS + HEIGHT; age++) begin
            if (waiting[age][WAITING-1] && 32'(waiting[age][WAITING-2-:SLOT_BITS]) == age + 1 - STEPS) begin
                target_start = 1'b1;
                {target_tile_bits, waited_conversion, target_slots, target_limbs} = waiting[age][WAITING-2-SLOT_BITS:0];
            end
        end
    end
    limb_sequence #(
        .LIMBS(LIMBS),
        .TILE_BITS(TILE_BITS),
        .WIDTH(CONVERSION_BITS)
    ) target_sequence (
        .clock,
        .reset,
        .start(target_start),
        .tile_bits(target_tile_bits),
        .slots(target_slots),
        .limbs(target_limbs),
        .reversed(1'b0),
        .word(waited_conversion),
        .valid(target_valid),
        .position(target_position),
        .index(target_index),
        .held(target_conversion)
    );
    always_ff @(posedge clock) begin
        if (write_source) sources[{write_conversion, write_position}] <= write_constants[3:0];
        if (write_target) targets[{write_conversion, write_position}] <= write_constants;
        source <= sources[{source_conversion, source_position}];
        target <= targets[{target_conversion, target_position}];
        source_there <= !reset && source_valid;
        target_there <= !reset && target_valid;
        target_first <= target_position == '0;
        limb <= $clog2(HEIGHT + 1)'(source_position);
        source_now <= source_index;
        target_now <= target_index;
        returning <= converted;
    end
    base_conversion #(
        .WIDTH(WIDTH),
        .HEIGHT(HEIGHT),
        .LANES(LANES)
    ) array (
        .clock,
        .reset,
        .tile_valid(source_there),
        .limb,
        .source_modulus(source[0]),
        .source_inverse(source[1]),
        .factor(source[2]),
        .addend(source[3]),
        .tile(entering),
        .first(target_there && target_first),
        .target_modulus(target[0]),
        .target_inverse(target[1]),
        .initial_sum(target[2]),
        .weights(target[2+HEIGHT:3]),
        .converted
    );

    // Coefficients to values.
    logic forward_valid, expected, there;
    logic [LIMB_BITS-1:0] forward_position;
    logic [TILE_BITS-1:0] forward_index, expected_index, there_index;
    logic [LIMBS-1:0][LIMB_BITS-1:0] forward_held;
    logic [TAG-1:0] no_coefficients_tag;
    logic [LANES-1:0][WIDTH-1:0] no_coefficients;
    limb_sequence #(
        .LIMBS(LIMBS),
        .TILE_BITS(TILE_BITS),
        .WIDTH(LIMBS * LIMB_BITS)
    ) forward_sequence (
        .clock,
        .reset,
        .start(forward_start),
        .tile_bits,
        .slots(forward_slots),
        .limbs(forward_limbs),
        .reversed(1'b0),
        .word(forward_moduli),
        .valid(forward_valid),
        .position(forward_position),
        .index(forward_index),
        .held(forward_held)
    );
    mdc_ntt #(
        .WIDTH(WIDTH),
        .LANES(LANES),
        .STAGES(STAGES),
        .LIMBS(LIMBS)
    ) forward_transform (
        .clock,
        .reset,
        .set(forward_start && forward_set),
        .set_forward(1'b1),
        .set_slots(forward_slots),
        .set_tile_bits(tile_bits),
        .write,
        .write_limb,
        .write_address,
        .write_low,
        .write_high,
        .write_modulus,
        .write_inverse,
        .values_tag_in('0),
        .values_in(returning),
        .values_tag_out(values_tag),
        .values_out,
        .coefficients_tag_in({forward_valid, forward_held[forward_position], forward_index}),
        .coefficients_in(returning),
        .coefficients_tag_out(no_coefficients_tag),
        .coefficients_out(no_coefficients)
    );

    // Tiles that enter the second transform, by its own counter and by the array's.
    delay #(
        .CYCLES(LEAD),
        .WIDTH(1 + TILE_BITS)
    ) of_transform (
        .clock,
        .reset,
        .in({forward_valid, forward_index}),
        .out({expected, expected_index})
    );
    delay #(
        .CYCLES(latency::base_conversion_constants(HEIGHT, LANES) + 1),
        .WIDTH(1 + TILE_BITS)
    ) of_array (
        .clock,
        .reset,
        .in({target_there, target_now}),
        .out({there, there_index})
    );
    assign lost = arriving[TAG-1] != source_there || source_there && arriving[TILE_BITS-1:0] != source_now || there != expected || there && there_index != expected_index;

    logic unused;
    assign unused = &{1'b0, no_values_tag, no_values, no_coefficients_tag, no_coefficients, arriving[TAG-2:TILE_BITS]};
endmodule
