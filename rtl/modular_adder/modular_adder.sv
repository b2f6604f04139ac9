// SPDX-License-Identifier: Apache-2.0
// a + b or a - b modulo q, for a and b below q (F1, section 3: the add unit, and the sums after a butterfly's product). Computes the plain result and the one corrected by q; the sign of one of them selects. One register. For any word a, a + b is reduced by q at most once: congruent, and less than q or a.
module modular_adder #(
    parameter int unsigned WIDTH = 32
) (
    input logic clock,
    input logic subtract,
    input logic [WIDTH-1:0] q,
    input logic [WIDTH-1:0] a,
    input logic [WIDTH-1:0] b,
    output logic [WIDTH-1:0] result
);
    // One bit more than a word: a sign.
    logic [WIDTH:0] plain;
    logic [WIDTH:0] other;
    logic choose_other;

    assign plain = subtract ? {1'b0, a} - {1'b0, b} : {1'b0, a} + {1'b0, b};
    assign other = subtract ? plain + {1'b0, q} : plain - {1'b0, q};
    assign choose_other = subtract ? plain[WIDTH] : !other[WIDTH];
    always_ff @(posedge clock) result <= choose_other ? other[WIDTH-1:0] : plain[WIDTH-1:0];
endmodule
