// SPDX-License-Identifier: Apache-2.0
// Barrett's product for moduli of exactly WIDTH bits: a * b mod q.
//
// With mu = floor(2^(2 WIDTH) / q), the quotient of x = a * b is estimated as floor(floor(x / 2^(WIDTH-1)) mu / 2^(WIDTH+1)), which is at most 2 too low, so two subtractions follow.
// Four stages: the product, the quotient, the remainder, the subtractions. F1 compares its own multiplier with it (table 1).
module barrett_multiplier #(
    parameter int unsigned WIDTH = 32
) (
    input logic clock,
    input logic [WIDTH-1:0] modulus,  // its highest bit is set
    input logic [WIDTH:0] mu,
    input logic [WIDTH-1:0] a,
    input logic [WIDTH-1:0] b,
    output logic [WIDTH-1:0] product
);
    logic [2*WIDTH-1:0] x;
    logic [WIDTH+1:0] low, remainder, once, twice;
    logic [WIDTH:0] quotient, m;
    logic [WIDTH-1:0] q[3];

    always_ff @(posedge clock) begin
        x <= {WIDTH'(0), a} * {WIDTH'(0), b};
        m <= mu;
        quotient <= (WIDTH + 1)'(({(WIDTH + 1)'(0), x[2*WIDTH-1:WIDTH-1]} * {(WIDTH + 1)'(0), m}) >> (WIDTH + 1));
        low <= x[WIDTH+1:0];
        // Below 3 q, so this many bits of both terms suffice.
        remainder <= low - (WIDTH + 2)'(quotient) * (WIDTH + 2)'(q[1]);
        q <= '{modulus, q[0], q[1]};
        product <= !twice[WIDTH+1] ? twice[WIDTH-1:0] : !once[WIDTH+1] ? once[WIDTH-1:0] : remainder[WIDTH-1:0];
    end
    assign once = remainder - {2'b0, q[2]};
    assign twice = remainder - {1'b0, q[2], 1'b0};
endmodule
