// SPDX-License-Identifier: Apache-2.0
// Montgomery's modular multiplier (P. Montgomery, Math. Comp. 44, 1985; Osiris, section VI): a * b * R^-1 mod q with R = 2^WIDTH, for an odd q
// below R and a * b < q R. LANES parallel ones, each with any modulus.
//
// Four stages: x = a b; m = -x q^-1 mod R; (x + m q) / R, which is below 2 q; a conditional subtraction of q. Each of the first three has one product of two words: of the second only the lower half; the third has an addend in the product's adder tree.
module montgomery_multiplier #(
    parameter int unsigned WIDTH = 40,
    parameter int unsigned LANES = 1
) (
    input logic clock,
    input logic [LANES-1:0][WIDTH-1:0] modulus,  // q
    input logic [LANES-1:0][WIDTH-1:0] inverse,  // -q^-1 mod R
    input logic [LANES-1:0][WIDTH-1:0] a,
    input logic [LANES-1:0][WIDTH-1:0] b,
    output logic [LANES-1:0][WIDTH-1:0] product  // below q
);
    logic [LANES-1:0][WIDTH-1:0] low, high, m, upper;
    logic [LANES-1:0][WIDTH:0] lazy;
    // If the lowest word is not 0, adding that of m q gives R, a carry.
    logic [LANES-1:0] carry;
    logic [LANES-1:0][WIDTH-1:0] q[3], inverse_held;

    always_ff @(posedge clock) begin
        q[0] <= modulus;
        q[1] <= q[0];
        q[2] <= q[1];
        inverse_held <= inverse;
        upper <= high;
        for (int lane = 0; lane < LANES; lane++) begin
            {high[lane], low[lane]} <= {WIDTH'(0), a[lane]} * {WIDTH'(0), b[lane]};
            m[lane] <= low[lane] * inverse_held[lane];
            carry[lane] <= low[lane] != 0;
            lazy[lane] <= (WIDTH + 1)'(({WIDTH'(0), m[lane]} * {WIDTH'(0), q[1][lane]}) >> WIDTH) + (WIDTH + 1)'(upper[lane]) + (WIDTH + 1)'(carry[lane]);
            product[lane] <= lazy[lane] >= {1'b0, q[2][lane]} ? WIDTH'(lazy[lane] - {1'b0, q[2][lane]}) : lazy[lane][WIDTH-1:0];
        end
    end
endmodule
