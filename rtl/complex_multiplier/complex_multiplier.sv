// SPDX-License-Identifier: Apache-2.0
// (a + jb)(c + jd) with three real products (FPT, section 3.4, equation (6)), in fixed point:
//     z = c (a - b),  re = (c - d) b + z,  im = (c + d) a - z
// exact, then divided by 2^SHIFT with `rounding`. An adder for a - b, the products, an adder for the sums, which also adds half a unit for rounding. The factor arrives ADDER cycles after its point, when a - b
// is ready: until then c - d and c + d are computed, or a table is read.
//
// A DSP block of UltraScale+ multiplies 27 by 18 signed bits. A real product is split at the data's bit TILE, so that the factor is at the wide side and both halves fit: two blocks for 30 by 26 bits. Left to a tool that puts the wider
// operand at the wide side, it takes four.
module complex_multiplier #(
    parameter int unsigned WIDTH = 29,  // bits of a and b
    parameter int unsigned FACTOR = 25,  // bits of c and d
    parameter int unsigned SHIFT = 23,
    parameter int unsigned OUT = 29,
    parameter int unsigned ADDER = 1,
    parameter int unsigned MULTIPLIER = 4
) (
    input logic clock,
    input logic signed [WIDTH-1:0] re,
    input logic signed [WIDTH-1:0] im,
    input logic signed [FACTOR:0] factor[3],  // c, c - d, c + d, ADDER cycles after a and b
    output logic signed [OUT-1:0] product_re,
    output logic signed [OUT-1:0] product_im
);
    // Widths of a real product and of a sum of two: |a c - b d| is at most 2^(WIDTH + FACTOR - 1).
    localparam int unsigned REAL = WIDTH + FACTOR + 1;
    localparam int unsigned TILE = WIDTH >= 18 ? 17 : WIDTH;

    logic signed [WIDTH:0] operands[3], waited[3];  // a - b, b, a
    logic signed [REAL-1:0] products[3], sums[2];  // z, and what is added to it
    logic signed [OUT-1:0] results[2];

    assign operands[0] = (WIDTH + 1)'(re) - (WIDTH + 1)'(im);
    assign operands[1] = (WIDTH + 1)'(im);
    assign operands[2] = (WIDTH + 1)'(re);
    for (genvar i = 0; i < 3; i++) begin : multipliers
        delay #(
            .CYCLES(ADDER),
            .WIDTH (WIDTH + 1)
        ) ahead (
            .clock,
            .reset(1'b0),
            .in (operands[i]),
            .out(waited[i])
        );
        logic signed [WIDTH-TILE:0] high;
        logic signed [TILE:0] low;
        logic signed [REAL-1:0] upper, lower;
        assign high = waited[i][WIDTH:TILE];
        assign low = {1'b0, waited[i][TILE-1:0]};
        assign upper = REAL'(factor[i]) * REAL'(high);
        assign lower = REAL'(factor[i]) * REAL'(low);
        delay #(
            .CYCLES(MULTIPLIER),
            .WIDTH (REAL)
        ) stages (
            .clock,
            .reset(1'b0),
            .in ((upper <<< TILE) + lower),
            .out(products[i])
        );
    end
    assign sums[0] = products[1] + products[0];
    assign sums[1] = products[2] - products[0];
    for (genvar i = 0; i < 2; i++) begin : parts
        logic signed [OUT-1:0] kept;
        rounding #(
            .IN(REAL),
            .SHIFT(SHIFT),
            .OUT(OUT)
        ) rounded (
            .in (sums[i]),
            .out(kept)
        );
        delay #(
            .CYCLES(ADDER),
            .WIDTH (OUT)
        ) behind (
            .clock,
            .reset(1'b0),
            .in (kept),
            .out(results[i])
        );
    end
    assign product_re = results[0];
    assign product_im = results[1];
endmodule
