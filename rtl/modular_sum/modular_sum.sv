// SPDX-License-Identifier: Apache-2.0
// a + b, or with SUBTRACT a - b, modulo q in LANES lanes, for a and b below q: an adder without its register, with any modulus per lane. Computes the plain result and the one corrected by q, and a sign selects.
module modular_sum #(
    parameter int unsigned WIDTH = 40,
    parameter int unsigned LANES = 512,
    parameter bit SUBTRACT = 0
) (
    input logic [LANES-1:0][WIDTH-1:0] modulus,
    input logic [LANES-1:0][WIDTH-1:0] a,
    input logic [LANES-1:0][WIDTH-1:0] b,
    output logic [LANES-1:0][WIDTH-1:0] result
);
    always_comb begin
        for (int lane = 0; lane < LANES; lane++) begin
            // One bit more than a word: a sign.
            automatic logic [WIDTH:0] plain = SUBTRACT ? {1'b0, a[lane]} - {1'b0, b[lane]} : {1'b0, a[lane]} + {1'b0, b[lane]};
            automatic logic [WIDTH:0] other = SUBTRACT ? plain + {1'b0, modulus[lane]} : plain - {1'b0, modulus[lane]};
            result[lane] = (SUBTRACT ? plain[WIDTH] : !other[WIDTH]) ? other[WIDTH-1:0] : plain[WIDTH-1:0];
        end
    end
endmodule
