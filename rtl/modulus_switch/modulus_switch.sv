// SPDX-License-Identifier: Apache-2.0
// Modulus switch of LWE ciphertexts from q = 2^WIDTH to 2N = 2^LOG2_MODULUS (TFHE; FPT, algorithm 1, line 3): x 2N / q to the nearest, halves up, modulo 2N.
// An addition of the bit below the kept ones.
module modulus_switch #(
    parameter int unsigned WIDTH = 32,
    parameter int unsigned LOG2_MODULUS = 11,  // below WIDTH
    parameter int unsigned LANES = 2,
    parameter int unsigned ADDER = 1
) (
    input logic clock,
    input logic [WIDTH-1:0] in[LANES],
    output logic [LOG2_MODULUS-1:0] out[LANES]
);
    localparam int unsigned DROPPED = WIDTH - LOG2_MODULUS;
    for (genvar lane = 0; lane < LANES; lane++) begin : lanes
        delay #(
            .CYCLES(ADDER),
            .WIDTH (LOG2_MODULUS)
        ) sum (
            .clock,
            .reset(1'b0),
            .in (in[lane][WIDTH-1:DROPPED] + LOG2_MODULUS'(in[lane][DROPPED-1])),
            .out(out[lane])
        );
        if (DROPPED > 1) begin : below_a_half
            logic unused;
            assign unused = ^in[lane][DROPPED-2:0];
        end
    end
endmodule
