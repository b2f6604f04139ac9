// In: whether to set up, direction, slots, log2 of the tiles; whether to write tables, limb, address, entries of both tables by direction, modulus, negated inverse; the tag of a later tile (number, limb, valid), a tile. Out: latency.sv's cycles from tile to tile, number, limb, tile.
module bench #(
    parameter int unsigned WIDTH = 40,
    parameter int unsigned LANES = 512,
    parameter int unsigned STAGES = 16,
    parameter int unsigned LIMBS = 40,
    localparam int unsigned TILE_BITS = STAGES - $clog2(LANES),
    localparam int unsigned LIMB_BITS = LIMBS > 1 ? $clog2(LIMBS) : 1,
    localparam int unsigned TAG = 1 + LIMB_BITS + TILE_BITS,
    localparam int unsigned LOW_BITS = (STAGES + 1) / 2,
    localparam int unsigned SET = 2 + $clog2(LIMBS + 1) + $clog2(TILE_BITS + 1),
    localparam int unsigned WRITE = 1 + LIMB_BITS + LOW_BITS + 6 * WIDTH,
    localparam int unsigned TILE = LANES * WIDTH
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [SET+WRITE+TAG+TILE-1:0] in_data,
    output logic out_valid,
    output logic [32+TAG-1+TILE-1:0] out_data
);
    logic set, set_forward, write;
    logic [$clog2(LIMBS+1)-1:0] set_slots;
    logic [$clog2(TILE_BITS+1)-1:0] set_tile_bits;
    logic [LIMB_BITS-1:0] write_limb;
    logic [LOW_BITS-1:0] write_address;
    logic [1:0][WIDTH-1:0] write_low, write_high;
    logic [WIDTH-1:0] write_modulus, write_inverse;
    logic [TAG-1:0] tag, tag_in, values_tag, coefficients_tag;
    logic [LANES-1:0][WIDTH-1:0] tile, values, coefficients;
    assign {set_tile_bits, set_slots, set_forward, set} = in_data[SET-1:0];
    assign {write_inverse, write_modulus, write_high, write_low, write_address, write_limb, write} = in_data[SET+:WRITE];
    assign {tile, tag} = in_data[SET+WRITE+:TAG+TILE];
    assign tag_in = in_valid ? tag : '0;

    // The input at the unused end is ignored.
    mdc_ntt #(
        .WIDTH(WIDTH),
        .LANES(LANES),
        .STAGES(STAGES),
        .LIMBS(LIMBS)
    ) unit (
        .clock,
        .reset,
        .set(set && in_valid),
        .set_forward,
        .set_slots,
        .set_tile_bits,
        .write(write && in_valid),
        .write_limb,
        .write_address,
        .write_low,
        .write_high,
        .write_modulus,
        .write_inverse,
        .values_tag_in(tag_in),
        .values_in(tile),
        .values_tag_out(values_tag),
        .values_out(values),
        .coefficients_tag_in(tag_in),
        .coefficients_in(tile),
        .coefficients_tag_out(coefficients_tag),
        .coefficients_out(coefficients)
    );
    // For the leaving tiles.
    logic [$clog2(LIMBS+1)-1:0] slots_set, slots;
    logic [$clog2(TILE_BITS+1)-1:0] tile_bits_set, tile_bits;
    logic [31:0] cycles;
    always_ff @(posedge clock) if (set && in_valid) {slots_set, tile_bits_set} <= {set_slots, set_tile_bits};
    delay #(
        .CYCLES(latency::twiddle_generator()),
        .WIDTH($clog2(LIMBS + 1) + $clog2(TILE_BITS + 1))
    ) of_tiles (
        .clock,
        .reset,
        .in({slots_set, tile_bits_set}),
        .out({slots, tile_bits})
    );
    assign cycles = latency::mdc_ntt($clog2(LANES) + 32'(tile_bits), 1 << tile_bits, 32'(slots));
    assign out_valid = values_tag[TAG-1] || coefficients_tag[TAG-1];
    assign out_data = values_tag[TAG-1] ? {values, values_tag[TAG-2:0], cycles} : {coefficients, coefficients_tag[TAG-2:0], cycles};
endmodule
