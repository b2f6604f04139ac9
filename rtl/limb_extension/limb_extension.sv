// SPDX-License-Identifier: Apache-2.0
// On-the-fly limb extension (Osiris, section V): converts coefficients modulo one prime q_0, as integers within q_0 / 2 of 0, to any other modulus, LANES per cycle, before the NTT unit: [P]_q = (x R^2) R^-1 = x R mod q, minus q_0 R mod q where x is above q_0 / 2; R = 2^WIDTH.
//
// One product both reduces x, any word below R, and converts it to Montgomery form, which the transform preserves: a diagonal is then the factor for a Hadamard unit's product. A multiplier and a subtractor per lane.
module limb_extension #(
    parameter int unsigned WIDTH = 40,
    parameter int unsigned LANES = 512
) (
    input logic clock,
    input logic [WIDTH-1:0] modulus,  // q
    input logic [WIDTH-1:0] inverse,  // -q^-1 mod R
    input logic [WIDTH-1:0] square,  // R^2 mod q
    input logic [WIDTH-1:0] source,  // q_0 R mod q
    input logic [WIDTH-1:0] largest,  // (q_0 - 1) / 2: what is above stands for a negative number
    input logic [LANES-1:0][WIDTH-1:0] coefficients,
    output logic [LANES-1:0][WIDTH-1:0] extended
);
    localparam int unsigned STAGES = latency::montgomery_multiplier();

    logic [LANES-1:0][WIDTH-1:0] products, taken, next;
    logic [LANES-1:0] negative[STAGES];
    logic [WIDTH-1:0] q[STAGES], less[STAGES];
    montgomery_multiplier #(
        .WIDTH(WIDTH),
        .LANES(LANES)
    ) multipliers (
        .clock,
        .modulus({LANES{modulus}}),
        .inverse({LANES{inverse}}),
        .a(coefficients),
        .b({LANES{square}}),
        .product(products)
    );

    // Subtracts the prime from a negative number's residue.
    always_comb for (int lane = 0; lane < LANES; lane++) taken[lane] = negative[STAGES-1][lane] ? less[STAGES-1] : '0;
    modular_sum #(
        .WIDTH(WIDTH),
        .LANES(LANES),
        .SUBTRACT(1)
    ) subtractors (
        .modulus({LANES{q[STAGES-1]}}),
        .a(products),
        .b(taken),
        .result(next)
    );

    always_ff @(posedge clock) begin
        for (int stage = 0; stage < STAGES; stage++) begin
            q[stage] <= stage == 0 ? modulus : q[stage-1];
            less[stage] <= stage == 0 ? source : less[stage-1];
            for (int lane = 0; lane < LANES; lane++) negative[stage][lane] <= stage == 0 ? coefficients[lane] > largest : negative[stage-1][lane];
        end
        extended <= next;
    end
endmodule
