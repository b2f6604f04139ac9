// SPDX-License-Identifier: Apache-2.0
// Strix' accumulator (sections IV-B and V-C): adds the products of several steps of one polynomial to the previous polynomial, in its own buffer. A step is LINES words of LANES torus coefficients. The sums leave with the last step's words. The buffer's read takes a cycle, and the addition ADDER. A key switch subtracts instead: inverted bits, and a
// carry.
module step_accumulator #(
    parameter int unsigned LANES = 8,
    parameter int unsigned LOG2_LINES = 3,  // more lines than the latency has cycles
    parameter int unsigned WIDTH = 32,
    parameter int unsigned PRODUCT = 32,  // bits of a product
    parameter int unsigned SHIFT = 0,  // as of torus_rounding
    parameter int unsigned LEFT = 0,
    parameter bit SUBTRACTS = 1'b0,
    parameter int unsigned ADDER = 1
) (
    input logic clock,
    input logic reset,
    input logic valid,  // a word's turn
    input logic begins,  // it is one of a polynomial's first step
    input logic [LOG2_LINES-1:0] line,
    input logic signed [PRODUCT-1:0] products[LANES],
    input logic [WIDTH-1:0] old[LANES],  // a cycle later
    output logic [WIDTH-1:0] sums[LANES],
    output logic [WIDTH-1:0] buffered[LANES]  // a cycle after `line`, at any time
);
    logic began, writes;
    logic [LOG2_LINES-1:0] written;
    always_ff @(posedge clock) began <= begins;
    delay #(
        .CYCLES(latency::accumulator(ADDER)),
        .WIDTH (LOG2_LINES + 1)
    ) way_back (
        .clock,
        .reset,
        .in ({valid, line}),
        .out({writes, written})
    );
    for (genvar lane = 0; lane < LANES; lane++) begin : lanes
        logic [WIDTH-1:0] buffer[1<<LOG2_LINES], before_it, coefficient;
        logic signed [PRODUCT-1:0] product;
        logic up;
        always_ff @(posedge clock) begin
            before_it <= buffer[line];
            product <= products[lane];
            if (writes) buffer[written] <= sums[lane];
        end
        assign buffered[lane] = before_it;
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
            .in ((began ? old[lane] : before_it) + (SUBTRACTS ? ~coefficient : coefficient) + WIDTH'(up != SUBTRACTS)),
            .out(sums[lane])
        );
    end
endmodule
