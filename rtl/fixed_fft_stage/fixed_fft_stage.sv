// SPDX-License-Identifier: Apache-2.0
// One radix-2 stage of `fixed_fft`: sums and differences of the points whose indices differ only in bit LOG2_POINTS - 1 - STAGE. In the first stages both points of a pair are in lanes of one cycle. In the others they are in one lane, cycles
// apart, and an `exchange` with the neighbouring lane aligns them. Products follow the sums, for the rotation between this stage and the next; if the twist is merged, they precede the sums, for the second point of each pair. The inverse has
// the reverse order.
module fixed_fft_stage #(
    parameter int unsigned LOG2_POINTS = 5,
    parameter int unsigned LOG2_LANES = 2,
    parameter int unsigned LOG2_RADIX = 4,
    parameter int unsigned STAGE = 0,
    parameter bit MERGED = 1'b0,
    parameter bit INVERSE = 1'b0,
    parameter int unsigned WIDTH = 29,
    parameter int unsigned SHIFT = 1,
    parameter int unsigned FACTOR = 25,
    parameter int unsigned REALS = 3,
    parameter int unsigned ADDER = 1,
    parameter int unsigned MULTIPLIER = 4,
    localparam int unsigned LANES = 1 << LOG2_LANES
) (
    input logic clock,
    input logic reset,
    input logic start,  // with a polynomial's first points
    input logic signed [WIDTH-1:0] in[LANES][2],  // real and imaginary part
    output logic next,  // the same with what comes out
    output logic signed [WIDTH-1:0] out[LANES][2]
);
    localparam bit EXCHANGES = STAGE >= LOG2_LANES;
    localparam int unsigned WAIT = EXCHANGES ? 1 << (LOG2_POINTS - 1 - STAGE) : 0;
    // Lane distance of the points of a pair.
    localparam int unsigned APART = EXCHANGES ? 1 : 1 << (LOG2_LANES - 1 - STAGE);

    // A product before an addition is not saturated: each of its parts is at most twice as large as a point's.
    localparam int unsigned WIDER = MERGED && !INVERSE ? WIDTH + 2 : WIDTH;

    logic signed [WIDER-1:0] to_sums[LANES][2], turned[LANES][2];
    logic signed [WIDTH-1:0] sums[LANES][2];
    logic starts_sums, ends_sums;

    for (genvar pair = 0; pair < LANES / 2; pair++) begin : pairs
        localparam int unsigned LANE = (pair / APART) * 2 * APART + pair % APART;
        complex_butterfly #(
            .WIDTH(WIDER),
            .OUT  (WIDTH),
            .SHIFT(SHIFT),
            .ADDER(ADDER)
        ) sums_of (
            .clock,
            .a(to_sums[LANE]),
            .b(to_sums[LANE+APART]),
            .sum(sums[LANE]),
            .difference(sums[LANE+APART])
        );
    end
    delay #(
        .CYCLES(ADDER)
    ) adders (
        .clock,
        .reset,
        .in (starts_sums),
        .out(ends_sums)
    );

    logic signed [WIDTH-1:0] to_exchange[LANES][2], exchanged[LANES][2], to_turn[LANES][2];
    logic starts_exchange, ends_exchange, starts_turn, ends_turn;

    if (EXCHANGES) begin : lanes_and_cycles
        exchange #(
            .LANES (LANES),
            .CYCLES(WAIT),
            .WIDTH (WIDTH)
        ) shuffle (
            .clock,
            .reset,
            .start(starts_exchange),
            .in(to_exchange),
            .next(ends_exchange),
            .out(exchanged)
        );
    end else begin : lanes_alone
        assign ends_exchange = starts_exchange;
        assign exchanged = to_exchange;
    end
    turn #(
        .LOG2_POINTS(LOG2_POINTS),
        .LOG2_LANES(LOG2_LANES),
        .LOG2_RADIX(LOG2_RADIX),
        .STAGE(STAGE),
        .KIND(MERGED ? latency::FACTOR : latency::ROTATION),
        .INVERSE(INVERSE),
        .WIDTH(WIDTH),
        .OUT(WIDER),
        .FACTOR(FACTOR),
        .REALS(REALS),
        .ADDER(ADDER),
        .MULTIPLIER(MULTIPLIER)
    ) products (
        .clock,
        .reset,
        .start(starts_turn),
        .in(to_turn),
        .next(ends_turn),
        .out(turned)
    );

    if (INVERSE && MERGED) begin : sums_products_exchange
        assign to_sums = in;
        assign starts_sums = start;
        assign to_turn = sums;
        assign starts_turn = ends_sums;
        assign to_exchange = turned;
        assign starts_exchange = ends_turn;
        assign out = exchanged;
        assign next = ends_exchange;
    end else if (INVERSE) begin : products_sums_exchange
        assign to_turn = in;
        assign starts_turn = start;
        assign to_sums = turned;
        assign starts_sums = ends_turn;
        assign to_exchange = sums;
        assign starts_exchange = ends_sums;
        assign out = exchanged;
        assign next = ends_exchange;
    end else if (MERGED) begin : exchange_products_sums
        assign to_exchange = in;
        assign starts_exchange = start;
        assign to_turn = exchanged;
        assign starts_turn = ends_exchange;
        assign to_sums = turned;
        assign starts_sums = ends_turn;
        assign out = sums;
        assign next = ends_sums;
    end else begin : exchange_sums_products
        assign to_exchange = in;
        assign starts_exchange = start;
        assign to_sums = exchanged;
        assign starts_sums = ends_exchange;
        assign to_turn = sums;
        assign starts_turn = ends_sums;
        assign out = turned;
        assign next = ends_turn;
    end
endmodule
