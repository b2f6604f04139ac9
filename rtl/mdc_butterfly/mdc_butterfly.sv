// SPDX-License-Identifier: Apache-2.0
// PAIRS bidirectional butterflies of Osiris' NTT unit (section IV-B, figure 3): one multiplier, one adder and one subtractor each.
//
// Inverse, which decimates in frequency: (u + v) / 2 and (u - v) w, the adders first. Forward: u + v w and u - v w, the multiplier first. Halving is a shift, after adding q to an odd number, so that the inverse transform needs no product with 1/N; its factors w are half of the root's powers. Either
// direction takes a multiplier's stages and one more. Operands and results are below q; w is in Montgomery form.
module mdc_butterfly #(
    parameter int unsigned WIDTH = 40,
    parameter int unsigned PAIRS = 256
) (
    input logic clock,
    input logic forward,  // the same while words are within
    input logic [WIDTH-1:0] modulus,
    input logic [WIDTH-1:0] inverse,  // -q^-1 mod 2^WIDTH
    input logic [PAIRS-1:0][WIDTH-1:0] factors,
    input logic [PAIRS-1:0][WIDTH-1:0] u,
    input logic [PAIRS-1:0][WIDTH-1:0] v,
    output logic [PAIRS-1:0][WIDTH-1:0] upper,
    output logic [PAIRS-1:0][WIDTH-1:0] lower
);
    localparam int unsigned STAGES = latency::montgomery_multiplier();

    function automatic logic [WIDTH-1:0] halve(logic [WIDTH-1:0] x, logic [WIDTH-1:0] q);
        // q is odd: for odd x, x + q is halved as the sum of both halves and the two dropped bits.
        return x[0] ? (x >> 1) + (q >> 1) + 1'b1 : x >> 1;
    endfunction

    // The modulus, by cycles since its arrival.
    logic [WIDTH-1:0] q[STAGES+1], inverse_held;
    logic [PAIRS-1:0][WIDTH-1:0] factors_held;
    assign q[0] = modulus;
    always_ff @(posedge clock) begin
        for (int stage = 0; stage < STAGES; stage++) q[stage+1] <= q[stage];
        inverse_held <= inverse;
        factors_held <= factors;
    end

    logic [PAIRS-1:0][WIDTH-1:0] a, b, sum, difference, sums, differences, products, waited;
    logic [WIDTH-1:0] adders_modulus;
    assign adders_modulus = forward ? q[STAGES] : modulus;
    assign a = forward ? waited : u;
    assign b = forward ? products : v;
    modular_sum #(
        .WIDTH(WIDTH),
        .LANES(PAIRS)
    ) adders (
        .modulus({PAIRS{adders_modulus}}),
        .a(a),
        .b(b),
        .result(sum)
    );
    modular_sum #(
        .WIDTH(WIDTH),
        .LANES(PAIRS),
        .SUBTRACT(1)
    ) subtractors (
        .modulus({PAIRS{adders_modulus}}),
        .a(a),
        .b(b),
        .result(difference)
    );
    always_ff @(posedge clock) begin
        differences <= difference;
        for (int pair = 0; pair < PAIRS; pair++) sums[pair] <= forward ? sum[pair] : halve(sum[pair], adders_modulus);
    end

    montgomery_multiplier #(
        .WIDTH(WIDTH),
        .LANES(PAIRS)
    ) multipliers (
        .clock,
        .modulus({PAIRS{forward ? modulus : q[1]}}),
        .inverse({PAIRS{forward ? inverse : inverse_held}}),
        .a(forward ? v : differences),
        .b(forward ? factors : factors_held),
        .product(products)
    );
    // Delays the words that bypass the multipliers.
    logic [PAIRS-1:0][WIDTH-1:0] delayed[STAGES];
    always_ff @(posedge clock) begin
        for (int stage = 0; stage < STAGES; stage++) delayed[stage] <= stage > 0 ? delayed[stage-1] : forward ? u : sums;
    end
    assign waited = delayed[STAGES-1];
    assign upper = forward ? sums : waited;
    assign lower = forward ? differences : products;
endmodule
