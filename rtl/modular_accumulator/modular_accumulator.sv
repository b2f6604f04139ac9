// SPDX-License-Identifier: Apache-2.0
// sum + a * b * R^-1 mod q in LANES lanes of one modulus, R = 2^WIDTH: a multiplier followed by an adder. The sum arrives with the product, a multiplier's stages after a and b, and the result leaves a cycle later.
module modular_accumulator #(
    parameter int unsigned WIDTH = 40,
    parameter int unsigned LANES = 512
) (
    input logic clock,
    input logic [WIDTH-1:0] modulus,
    input logic [WIDTH-1:0] inverse,  // -q^-1 mod R
    input logic [LANES-1:0][WIDTH-1:0] a,
    input logic [LANES-1:0][WIDTH-1:0] b,
    input logic [LANES-1:0][WIDTH-1:0] sum,
    output logic [LANES-1:0][WIDTH-1:0] result
);
    localparam int unsigned STAGES = latency::montgomery_multiplier();

    logic [WIDTH-1:0] q[STAGES];
    logic [LANES-1:0][WIDTH-1:0] product, next;
    montgomery_multiplier #(
        .WIDTH(WIDTH),
        .LANES(LANES)
    ) multipliers (
        .clock,
        .modulus({LANES{modulus}}),
        .inverse({LANES{inverse}}),
        .a,
        .b,
        .product
    );
    modular_sum #(
        .WIDTH(WIDTH),
        .LANES(LANES)
    ) adders (
        .modulus({LANES{q[STAGES-1]}}),
        .a(sum),
        .b(product),
        .result(next)
    );
    always_ff @(posedge clock) begin
        for (int stage = 0; stage < STAGES; stage++) q[stage] <= stage == 0 ? modulus : q[stage-1];
        result <= next;
    end
endmodule
