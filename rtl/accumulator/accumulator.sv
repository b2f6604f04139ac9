// SPDX-License-Identifier: Apache-2.0
// The accumulators of a blind rotation (FPT, figure 2): a memory of WORDS words of LANES torus coefficients. Cyclically, each word is replaced, or a product is added modulo
// 2^WIDTH. The product is the inverse transform's number divided by 2^SHIFT to nearest, halves to even, or multiplied by 2^LEFT.
//
// The memory's read takes a cycle, and the addition ADDER; rounding up is the addition's carry-in. Results are written back and sent to the rotator. `totals` has the sum also of a word that is replaced: the last one of a rotation, in whose place the next one begins.
module accumulator #(
    parameter int unsigned LANES = 2,
    parameter int unsigned WORDS = 16,  // more than the latency
    parameter int unsigned WIDTH = 16,
    parameter int unsigned PRODUCT = 29,  // bits of a product
    parameter int unsigned SHIFT = 6,
    parameter int unsigned LEFT = 0,  // one of both is 0
    parameter int unsigned ADDER = 1
) (
    input logic clock,
    input logic reset,
    input logic valid,  // the next word's turn
    input logic replaces,
    input logic [WIDTH-1:0] fresh[LANES],  // what it is replaced by
    input logic signed [PRODUCT-1:0] products[LANES],
    output logic [WIDTH-1:0] sums[LANES],
    output logic [WIDTH-1:0] totals[LANES]
);
    localparam int unsigned PLACES = $clog2(WORDS);

    logic [PLACES-1:0] place, written;
    logic replaced, writes;
    always_ff @(posedge clock) begin
        if (reset) place <= '0;
        else if (valid) place <= 32'(place) == WORDS - 1 ? '0 : place + 1'b1;
        replaced <= replaces;
    end
    delay #(
        .CYCLES(latency::accumulator(ADDER)),
        .WIDTH (PLACES + 1)
    ) way_back (
        .clock,
        .reset,
        .in ({valid, place}),
        .out({writes, written})
    );
    for (genvar lane = 0; lane < LANES; lane++) begin : lanes
        logic [WIDTH-1:0] memory[WORDS], before_it, fresh_one, coefficient;
        logic signed [PRODUCT-1:0] product;
        logic up;
        always_ff @(posedge clock) begin
            before_it <= memory[place];
            fresh_one <= fresh[lane];
            product <= products[lane];
            if (writes) memory[written] <= sums[lane];
        end
        torus_rounding #(
            .PRODUCT(PRODUCT),
            .WIDTH(WIDTH),
            .SHIFT(SHIFT),
            .LEFT(LEFT)
        ) rounded (
            .product,
            .coefficient,
            .up
        );
        delay #(
            .CYCLES(ADDER),
            .WIDTH (WIDTH)
        ) adder (
            .clock,
            .reset(1'b0),
            .in (before_it + coefficient + WIDTH'(up)),
            .out(totals[lane])
        );
        logic [WIDTH-1:0] fresh_later;
        logic replaced_later;
        delay #(
            .CYCLES(ADDER),
            .WIDTH (WIDTH + 1)
        ) beside_it (
            .clock,
            .reset(1'b0),
            .in ({replaced, fresh_one}),
            .out({replaced_later, fresh_later})
        );
        assign sums[lane] = replaced_later ? fresh_later : totals[lane];
    end
endmodule
