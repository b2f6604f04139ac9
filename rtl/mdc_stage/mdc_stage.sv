// SPDX-License-Identifier: Apache-2.0
// Stage NUMBER of Osiris' NTT unit. Tiles pass from left to right in the inverse transform, and from right to left in the forward one (section IV-B, figures 3 and 4).
//
// The first log2 LANES stages combine lanes of one tile. Each later one has a commutator on its left, which exchanges lane bit 0 with bit DELAY_BIT of the tile's number. It has a delay of `slots` 2^DELAY_BIT cycles for the odd lanes, a switch, and the same delay for the even ones. Rings whose tile numbers lack that bit bypass the stage. A
// tile's tag arrives `lead` cycles before the tile, to compute its factors: latency::twiddle_generator(). The stage's setup applies to tags that many cycles earlier too.
module mdc_stage #(
    parameter int unsigned WIDTH = 40,
    parameter int unsigned LANES = 512,
    parameter int unsigned STAGES = 16,
    parameter int unsigned LIMBS = 40,
    parameter int unsigned NUMBER = 0,
    localparam int unsigned LANE_BITS = $clog2(LANES),
    localparam int unsigned TILE_BITS = STAGES - LANE_BITS,
    localparam int unsigned LIMB_BITS = LIMBS > 1 ? $clog2(LIMBS) : 1,
    localparam int unsigned TAG = 1 + LIMB_BITS + TILE_BITS,
    localparam int unsigned LOW_BITS = (STAGES + 1) / 2
) (
    input logic clock,
    input logic tag_reset,  // forgets the tags within
    input logic tag_forward,
    input logic [$clog2(LIMBS+1)-1:0] tag_slots,  // cycles between tiles of a limb, from 1 to LIMBS
    input logic [$clog2(TILE_BITS+1)-1:0] tag_tile_bits,  // log2 of the ring's tiles
    input logic reset,  // the same of the tiles, `lead` cycles later
    input logic forward,
    input logic [$clog2(LIMBS+1)-1:0] slots,
    input logic [$clog2(TILE_BITS+1)-1:0] tile_bits,

    input logic write,
    input logic [LIMB_BITS-1:0] write_limb,
    input logic [LOW_BITS-1:0] write_address,
    input logic [1:0][WIDTH-1:0] write_low,
    input logic [1:0][WIDTH-1:0] write_high,
    input logic [WIDTH-1:0] write_modulus,
    input logic [WIDTH-1:0] write_inverse,

    // Tags: valid, limb, number of the tile.
    input logic [TAG-1:0] left_tag_in,
    input logic [LANES-1:0][WIDTH-1:0] left_in,
    output logic [TAG-1:0] left_tag_out,
    output logic [LANES-1:0][WIDTH-1:0] left_out,
    input logic [TAG-1:0] right_tag_in,
    input logic [LANES-1:0][WIDTH-1:0] right_in,
    output logic [TAG-1:0] right_tag_out,
    output logic [LANES-1:0][WIDTH-1:0] right_out
);
    localparam bit LATE = NUMBER >= LANE_BITS;
    localparam int unsigned LANE_BIT = LATE ? 0 : LANE_BITS - 1 - NUMBER;
    localparam int unsigned DELAY_BIT = LATE ? STAGES - 1 - NUMBER : 0;
    localparam int unsigned PAIRS = LANES / 2;
    localparam int unsigned LEAD = latency::twiddle_generator();

    // Inputs and outputs of the commutator and the butterflies; the direction determines their order.
    logic [TAG-1:0] commutator_tag_in, commutator_tag_out, butterfly_tag_in, butterfly_tag_out;
    logic [LANES-1:0][WIDTH-1:0] commutator_in, commutator_out, butterfly_in, butterfly_out;
    logic tag_passed_by, passed_by;
    assign tag_passed_by = LATE && 32'(tag_tile_bits) <= DELAY_BIT;
    assign passed_by = LATE && 32'(tile_bits) <= DELAY_BIT;
    assign commutator_tag_in = tag_forward ? butterfly_tag_out : left_tag_in;
    assign commutator_in = forward ? butterfly_out : left_in;
    assign butterfly_tag_in = tag_forward ? right_tag_in : commutator_tag_out;
    assign butterfly_in = forward ? right_in : commutator_out;
    assign left_tag_out = !tag_forward ? '0 : tag_passed_by ? right_tag_in : commutator_tag_out;
    assign left_out = passed_by ? right_in : commutator_out;
    assign right_tag_out = tag_forward ? '0 : tag_passed_by ? left_tag_in : butterfly_tag_out;
    assign right_out = passed_by ? left_in : butterfly_out;

    if (LATE) begin : commutator
        localparam int unsigned DEPTH = LIMBS << DELAY_BIT;
        localparam int unsigned DELAY_BITS = $clog2(DEPTH + 1);
        logic [DELAY_BITS-1:0] tag_cycles, cycles;
        logic turned;
        logic [PAIRS-1:0][WIDTH-1:0] even_in, odd_in, odd_late, upper, lower, even_late;
        assign tag_cycles = DELAY_BITS'(tag_slots) << DELAY_BIT;
        assign cycles = DELAY_BITS'(slots) << DELAY_BIT;
        always_comb begin
            for (int pair = 0; pair < PAIRS; pair++) begin
                even_in[pair] = commutator_in[2*pair];
                odd_in[pair] = commutator_in[2*pair+1];
            end
        end
        always_comb begin
            for (int pair = 0; pair < PAIRS; pair++) begin
                upper[pair] = turned ? odd_late[pair] : even_in[pair];
                lower[pair] = turned ? even_in[pair] : odd_late[pair];
                commutator_out[2*pair] = even_late[pair];
                commutator_out[2*pair+1] = lower[pair];
            end
        end
        delay #(
            .CYCLES(LEAD)
        ) turn (
            .clock,
            .reset(1'b0),  // bits of tiles that are yet to come
            .in(commutator_tag_in[DELAY_BIT]),
            .out(turned)
        );
        delay_memory #(
            .WIDTH(PAIRS * WIDTH),
            .DEPTH(DEPTH)
        ) odd (
            .clock,
            .reset,
            .cycles,
            .in(odd_in),
            .out(odd_late)
        );
        delay_memory #(
            .WIDTH(PAIRS * WIDTH),
            .DEPTH(DEPTH)
        ) even (
            .clock,
            .reset,
            .cycles,
            .in(upper),
            .out(even_late)
        );
        delay_memory #(
            .WIDTH(TAG),
            .DEPTH(DEPTH),
            .CLEARED(1)
        ) tags (
            .clock,
            .reset(tag_reset),
            .cycles(tag_cycles),
            .in(commutator_tag_in),
            .out(commutator_tag_out)
        );
    end else begin : wires
        logic unused;
        assign unused = &{1'b0, reset, tag_slots, slots};
        assign commutator_tag_out = commutator_tag_in;
        assign commutator_out = commutator_in;
    end

    // The pair's number in its block of N / 2^NUMBER values determines its factor: root^((2 pair + 1) 2^NUMBER).
    logic [LIMB_BITS-1:0] limb;
    logic [TILE_BITS-1:0] index;
    logic [PAIRS-1:0][STAGES-1:0] exponents;
    assign {limb, index} = butterfly_tag_in[TAG-2:0];
    if (LATE) begin : one_exponent
        logic [STAGES-1:0] number, exponent;
        assign number = STAGES'(index) & STAGES'((1 << DELAY_BIT) - 1);
        assign exponent = (number << 1 | STAGES'(1)) << (LANE_BITS + 32'(tag_tile_bits) - 1 - DELAY_BIT);
        assign exponents = {PAIRS{exponent}};
    end else begin : exponent_by_lane
        always_comb begin
            for (int pair = 0; pair < PAIRS; pair++) begin
                automatic logic [STAGES-1:0] number = STAGES'(index) + (STAGES'(pair & ((1 << LANE_BIT) - 1)) << tag_tile_bits);
                exponents[pair] = (number << 1 | STAGES'(1)) << NUMBER;
            end
        end
    end

    logic [WIDTH-1:0] modulus, inverse;
    logic [PAIRS-1:0][WIDTH-1:0] factors, u, v, sums, differences;
    twiddle_generator #(
        .WIDTH(WIDTH),
        .LANES(PAIRS),
        .LIMBS(LIMBS),
        .LOW_BITS(LOW_BITS),
        .HIGH_BITS(STAGES - LOW_BITS)
    ) generator (
        .clock,
        .write,
        .write_limb,
        .write_address,
        .write_low,
        .write_high,
        .write_modulus,
        .write_inverse,
        .direction(tag_forward),
        .limb,
        .exponents,
        .modulus,
        .inverse,
        .factors
    );
    always_comb begin
        for (int pair = 0; pair < PAIRS; pair++) begin
            automatic int unsigned lane = (pair >> LANE_BIT << (LANE_BIT + 1)) + (pair & ((1 << LANE_BIT) - 1));
            u[pair] = butterfly_in[lane];
            v[pair] = butterfly_in[lane+(1<<LANE_BIT)];
        end
    end
    always_comb begin
        for (int pair = 0; pair < PAIRS; pair++) begin
            automatic int unsigned lane = (pair >> LANE_BIT << (LANE_BIT + 1)) + (pair & ((1 << LANE_BIT) - 1));
            butterfly_out[lane] = sums[pair];
            butterfly_out[lane+(1<<LANE_BIT)] = differences[pair];
        end
    end
    mdc_butterfly #(
        .WIDTH(WIDTH),
        .PAIRS(PAIRS)
    ) butterflies (
        .clock,
        .forward,
        .modulus,
        .inverse,
        .factors,
        .u,
        .v,
        .upper(sums),
        .lower(differences)
    );
    delay #(
        .CYCLES(latency::montgomery_multiplier() + 1),
        .WIDTH(TAG)
    ) tag (
        .clock,
        .reset(tag_reset),
        .in(butterfly_tag_in),
        .out(butterfly_tag_out)
    );
endmodule
