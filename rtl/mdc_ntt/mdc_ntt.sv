// SPDX-License-Identifier: Apache-2.0
// Osiris' bidirectional NTT unit (section IV-B, figures 3 and 4): a radix-2 multi-delay commutator of STAGES stages and LANES lanes, for negacyclic rings of LANES to 2^STAGES, with up to LIMBS interleaved limbs.
//
// Values enter on the left and leave on the right as coefficients; coefficients enter on the right and leave on the left as values, through the same butterflies. Tile c of values has values c + r N / LANES for lane r; coefficients are in the stages' order. Tiles of a limb enter `slots` cycles apart, in order and without a gap;
// any cycle in between may have a tile of another limb, or none. Direction, slots and ring are set together while the unit is empty: words in the other direction, or with a longer delay, cannot share its stages.
//
// A tile's tag (valid, limb, number) arrives latency::twiddle_generator() cycles before the tile, to compute its first factors. So tags are set up as many cycles before the tiles: `set` may come that long before the last tile leaves, and the next tag a cycle after it, so that the first tile enters when the last one has left.
module mdc_ntt #(
    parameter int unsigned WIDTH = 40,
    parameter int unsigned LANES = 512,
    parameter int unsigned STAGES = 16,
    parameter int unsigned LIMBS = 40,
    localparam int unsigned LANE_BITS = $clog2(LANES),
    localparam int unsigned TILE_BITS = STAGES - LANE_BITS,
    localparam int unsigned LIMB_BITS = LIMBS > 1 ? $clog2(LIMBS) : 1,
    localparam int unsigned TAG = 1 + LIMB_BITS + TILE_BITS,
    localparam int unsigned LOW_BITS = (STAGES + 1) / 2
) (
    input logic clock,
    input logic reset,
    input logic set,
    input logic set_forward,
    input logic [$clog2(LIMBS+1)-1:0] set_slots,
    input logic [$clog2(TILE_BITS+1)-1:0] set_tile_bits,  // log2 of the ring's tiles, N / LANES

    // Tables of factors, as twiddle_generator has them.
    input logic write,
    input logic [LIMB_BITS-1:0] write_limb,
    input logic [LOW_BITS-1:0] write_address,
    input logic [1:0][WIDTH-1:0] write_low,
    input logic [1:0][WIDTH-1:0] write_high,
    input logic [WIDTH-1:0] write_modulus,
    input logic [WIDTH-1:0] write_inverse,

    input logic [TAG-1:0] values_tag_in,  // `lead` cycles before the tile
    input logic [LANES-1:0][WIDTH-1:0] values_in,
    output logic [TAG-1:0] values_tag_out,  // with the tile
    output logic [LANES-1:0][WIDTH-1:0] values_out,
    input logic [TAG-1:0] coefficients_tag_in,
    input logic [LANES-1:0][WIDTH-1:0] coefficients_in,
    output logic [TAG-1:0] coefficients_tag_out,
    output logic [LANES-1:0][WIDTH-1:0] coefficients_out
);
    localparam int unsigned LEAD = latency::twiddle_generator();
    localparam int unsigned SLOT_BITS = $clog2(LIMBS + 1);
    localparam int unsigned RING_BITS = $clog2(TILE_BITS + 1);

    // For the tags, and LEAD cycles later for the tiles.
    logic tag_forward, tag_empty, forward, set_late, empty;
    logic [SLOT_BITS-1:0] tag_slots, slots;
    logic [RING_BITS-1:0] tag_tile_bits, tile_bits;
    assign tag_empty = reset || set;
    assign empty = reset || set_late;
    always_ff @(posedge clock) begin
        if (set) begin
            tag_forward <= set_forward;
            tag_slots <= set_slots;
            tag_tile_bits <= set_tile_bits;
        end
    end
    delay #(
        .CYCLES(LEAD),
        .WIDTH(2 + SLOT_BITS + RING_BITS)
    ) of_tiles (
        .clock,
        .reset,
        .in({set, tag_forward, tag_slots, tag_tile_bits}),
        .out({set_late, forward, slots, tile_bits})
    );

    // Between stages: entry s is on the left of stage s. The inverse transform moves right, the forward one left.
    logic [TAG-1:0] right_tag[STAGES+1], left_tag[STAGES+1];
    logic [LANES-1:0][WIDTH-1:0] rightward[STAGES+1], leftward[STAGES+1];
    assign right_tag[0] = values_tag_in;
    assign rightward[0] = values_in;
    assign left_tag[STAGES] = coefficients_tag_in;
    assign leftward[STAGES] = coefficients_in;
    assign values_out = leftward[0];
    assign coefficients_out = rightward[STAGES];

    for (genvar number = 0; number < STAGES; number++) begin : stages
        mdc_stage #(
            .WIDTH(WIDTH),
            .LANES(LANES),
            .STAGES(STAGES),
            .LIMBS(LIMBS),
            .NUMBER(number)
        ) stage (
            .clock,
            .tag_reset(tag_empty),
            .tag_forward,
            .tag_slots,
            .tag_tile_bits,
            .reset(empty),
            .forward,
            .slots,
            .tile_bits,
            .write,
            .write_limb,
            .write_address,
            .write_low,
            .write_high,
            .write_modulus,
            .write_inverse,
            .left_tag_in(right_tag[number]),
            .left_in(rightward[number]),
            .left_tag_out(left_tag[number]),
            .left_out(leftward[number]),
            .right_tag_in(left_tag[number+1]),
            .right_in(leftward[number+1]),
            .right_tag_out(right_tag[number+1]),
            .right_out(rightward[number+1])
        );
    end

    delay #(
        .CYCLES(LEAD),
        .WIDTH(2 * TAG)
    ) tags (
        .clock,
        .reset(empty),
        .in({left_tag[0], right_tag[STAGES]}),
        .out({values_tag_out, coefficients_tag_out})
    );
endmodule
