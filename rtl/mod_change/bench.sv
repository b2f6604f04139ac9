// In: whether to write factors, limb, address, entries of both tables by direction, modulus, negated inverse; whether to write constants of a source or a target limb, conversion, position, constants; log2 of the tiles; commands to the inverse transform (start, set, slots, limbs, moduli by position), the array (start, conversion, slots, sources, targets) and the forward transform; a tile. Out: whether a tile is lost, whether one leaves, its limb and number; the tile.
module bench #(
    parameter int unsigned WIDTH = 40,
    parameter int unsigned LANES = 512,
    parameter int unsigned STAGES = 16,
    parameter int unsigned LIMBS = 40,
    parameter int unsigned HEIGHT = 16,
    parameter int unsigned CONVERSIONS = 4,
    localparam int unsigned TILE_BITS = STAGES - $clog2(LANES),
    localparam int unsigned LIMB_BITS = LIMBS > 1 ? $clog2(LIMBS) : 1,
    localparam int unsigned TAG = 1 + LIMB_BITS + TILE_BITS,
    localparam int unsigned LOW_BITS = (STAGES + 1) / 2,
    localparam int unsigned SLOT_BITS = $clog2(LIMBS + 1),
    localparam int unsigned RING_BITS = $clog2(TILE_BITS + 1),
    localparam int unsigned CONVERSION_BITS = CONVERSIONS > 1 ? $clog2(CONVERSIONS) : 1,
    localparam int unsigned WRITE = 1 + LIMB_BITS + LOW_BITS + 6 * WIDTH,
    localparam int unsigned CONSTANTS = 2 + CONVERSION_BITS + LIMB_BITS + (3 + HEIGHT) * WIDTH,
    localparam int unsigned TRANSFORM = 2 + 2 * SLOT_BITS + LIMBS * LIMB_BITS,
    localparam int unsigned CONVERT = 1 + CONVERSION_BITS + 3 * SLOT_BITS,
    localparam int unsigned COMMANDS = RING_BITS + CONVERT + 2 * TRANSFORM,
    localparam int unsigned TILE = LANES * WIDTH
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [WRITE+CONSTANTS+COMMANDS+TILE-1:0] in_data,
    output logic out_valid,
    output logic [1+TAG+TILE-1:0] out_data
);
    logic write, write_source, write_target, inverse_start, inverse_set, conversion_start, forward_start, forward_set, lost;
    logic [LIMB_BITS-1:0] write_limb, write_position;
    logic [LOW_BITS-1:0] write_address;
    logic [1:0][WIDTH-1:0] write_low, write_high;
    logic [WIDTH-1:0] write_modulus, write_inverse;
    logic [CONVERSION_BITS-1:0] write_conversion, conversion;
    logic [2+HEIGHT:0][WIDTH-1:0] write_constants;
    logic [RING_BITS-1:0] tile_bits;
    logic [SLOT_BITS-1:0] inverse_slots, inverse_limbs, conversion_slots, conversion_sources, conversion_targets, forward_slots, forward_limbs;
    logic [LIMBS-1:0][LIMB_BITS-1:0] inverse_moduli, forward_moduli;
    logic [TAG-1:0] values_tag;
    logic [LANES-1:0][WIDTH-1:0] values_in, values_out;
    assign {write_inverse, write_modulus, write_high, write_low, write_address, write_limb, write} = in_data[WRITE-1:0];
    assign {write_constants, write_position, write_conversion, write_target, write_source} = in_data[WRITE+:CONSTANTS];
    assign {
        forward_moduli, forward_limbs, forward_slots, forward_set, forward_start,
        conversion_targets, conversion_sources, conversion_slots, conversion, conversion_start,
        inverse_moduli, inverse_limbs, inverse_slots, inverse_set, inverse_start, tile_bits
    } = in_data[WRITE+CONSTANTS+:COMMANDS];
    assign values_in = in_data[WRITE+CONSTANTS+COMMANDS+:TILE];
    mod_change #(
        .WIDTH(WIDTH),
        .LANES(LANES),
        .STAGES(STAGES),
        .LIMBS(LIMBS),
        .HEIGHT(HEIGHT),
        .CONVERSIONS(CONVERSIONS)
    ) unit (
        .clock,
        .reset,
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
        .tile_bits,
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
        .values_in,
        .values_tag,
        .values_out,
        .lost
    );
    assign out_valid = lost || values_tag[TAG-1];
    assign out_data = {values_out, values_tag[TAG-2:0], values_tag[TAG-1], lost};
endmodule
