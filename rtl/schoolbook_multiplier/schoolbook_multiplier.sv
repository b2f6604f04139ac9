// SPDX-License-Identifier: Apache-2.0
// (a + jb)(c + jd) with four real products, in fixed point: exact, then divided by 2^SHIFT with `rounding`, whose half a unit is one more summand. The products, followed by an adder for the sums.
module schoolbook_multiplier #(
    parameter int unsigned WIDTH = 32,  // bits of a and b
    parameter int unsigned FACTOR = 32,  // bits of c and d
    parameter int unsigned SHIFT = 30,
    parameter int unsigned OUT = 32,
    parameter int unsigned ADDER = 1,
    parameter int unsigned MULTIPLIER = 3
) (
    input logic clock,
    input logic signed [WIDTH-1:0] point[2],  // real and imaginary part
    input logic signed [FACTOR-1:0] factor[2],
    output logic signed [OUT-1:0] product[2]
);
    localparam int unsigned REAL = WIDTH + FACTOR;
    logic signed [REAL-1:0] products[2][2];  // of the point's part, the factor's
    logic signed [REAL:0] sums[2];

    for (genvar i = 0; i < 2; i++) begin : of_point
        for (genvar j = 0; j < 2; j++) begin : of_factor
            delay #(
                .CYCLES(MULTIPLIER),
                .WIDTH (REAL)
            ) stages (
                .clock,
                .reset(1'b0),
                .in (REAL'(point[i]) * REAL'(factor[j])),
                .out(products[i][j])
            );
        end
    end
    assign sums[0] = (REAL + 1)'(products[0][0]) - (REAL + 1)'(products[1][1]);
    assign sums[1] = (REAL + 1)'(products[0][1]) + (REAL + 1)'(products[1][0]);
    for (genvar part = 0; part < 2; part++) begin : parts
        logic signed [OUT-1:0] kept;
        rounding #(
            .IN(REAL + 1),
            .SHIFT(SHIFT),
            .OUT(OUT)
        ) rounded (
            .in (sums[part]),
            .out(kept)
        );
        delay #(
            .CYCLES(ADDER),
            .WIDTH (OUT)
        ) adder (
            .clock,
            .reset(1'b0),
            .in (kept),
            .out(product[part])
        );
    end
endmodule
