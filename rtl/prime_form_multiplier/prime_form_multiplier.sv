// SPDX-License-Identifier: Apache-2.0
// Montgomery's product, a word of WORD bits a round, for moduli q = 2^WORD h + 1: a * b * R^-1 mod q with R = 2^(WORD ROUNDS) above q.
//
// Each round clears the lowest WORD bits of x: since q^-1 = 1 modulo 2^WORD, the multiple of q to add is m = -x mod 2^WORD, without a product, and x becomes ceil(x / 2^WORD) + m h. One stage for the product, one per round, one for the last subtraction. F1 has 16-bit words (section 5.3), so two rounds suffice for 32 bits. Moduli that are only
// 1 modulo 2N, with N = 2^14, need three rounds of 15.

module prime_form_multiplier #(
    parameter int unsigned ROUNDS = 2,
    parameter int unsigned WORD = 16,
    parameter int unsigned WIDTH = WORD * ROUNDS  // of q
) (
    input logic clock,
    input logic [WIDTH-WORD-1:0] high,  // h: the modulus above its lowest word
    input logic [WIDTH-1:0] a,
    input logic [WIDTH-1:0] b,
    output logic [WIDTH-1:0] product  // below q, for a * b < q R
);
    // After round i, x has 2 WIDTH - WORD i bits, or those of the last addend, plus one.
    logic [2*WIDTH:0] x[ROUNDS+1];
    logic [WIDTH-WORD-1:0] h[ROUNDS+1];
    logic [WIDTH-1:0] q;
    logic [WIDTH:0] reduced;

    always_ff @(posedge clock) begin
        x[0] <= {1'b0, {WIDTH'(0), a} * {WIDTH'(0), b}};
        h[0] <= high;
    end

    for (genvar round = 0; round < ROUNDS; round++) begin : rounds
        logic [WORD-1:0] m;
        assign m = -x[round][WORD-1:0];
        always_ff @(posedge clock) begin
            x[round+1] <= (x[round] >> WORD) + (2 * WIDTH + 1)'(m != 0) + (2 * WIDTH + 1)'(m) * (2 * WIDTH + 1)'(h[round]);
            h[round+1] <= h[round];
        end
    end

    // The remainder is below 2 q.
    assign q = {h[ROUNDS], WORD'(1)};
    assign reduced = x[ROUNDS][WIDTH:0] - {1'b0, q};
    always_ff @(posedge clock) product <= reduced[WIDTH] ? x[ROUNDS][WIDTH-1:0] : reduced[WIDTH-1:0];
endmodule
