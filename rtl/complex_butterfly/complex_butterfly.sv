// SPDX-License-Identifier: Apache-2.0
// a + b and a - b of complex points, divided by 2^SHIFT with `rounding`: an adder.
module complex_butterfly #(
    parameter int unsigned WIDTH = 29,
    parameter int unsigned OUT = WIDTH,
    parameter int unsigned SHIFT = 1,
    parameter int unsigned ADDER = 1
) (
    input logic clock,
    input logic signed [WIDTH-1:0] a[2],  // real and imaginary part, as of all points
    input logic signed [WIDTH-1:0] b[2],
    output logic signed [OUT-1:0] sum[2],
    output logic signed [OUT-1:0] difference[2]
);
    for (genvar part = 0; part < 2; part++) begin : parts
        logic signed [WIDTH:0] exact[2];
        logic signed [OUT-1:0] results[2];
        assign exact[0] = (WIDTH + 1)'(a[part]) + (WIDTH + 1)'(b[part]);
        assign exact[1] = (WIDTH + 1)'(a[part]) - (WIDTH + 1)'(b[part]);
        for (genvar i = 0; i < 2; i++) begin : adders
            logic signed [OUT-1:0] kept;
            rounding #(
                .IN(WIDTH + 1),
                .SHIFT(SHIFT),
                .OUT(OUT)
            ) rounded (
                .in (exact[i]),
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
        assign sum[part] = results[0];
        assign difference[part] = results[1];
    end
endmodule
