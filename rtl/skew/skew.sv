// SPDX-License-Identifier: Apache-2.0
// Delays lane c of a word by c cycles, or with FALLING by LANES - 1 - c: the triangle of registers of a systolic array.
module skew #(
    parameter int unsigned WIDTH = 40,
    parameter int unsigned LANES = 4,
    parameter bit FALLING = 0
) (
    input logic clock,
    input logic [LANES-1:0][WIDTH-1:0] in,
    output logic [LANES-1:0][WIDTH-1:0] out
);
    // The lane without delay is the same in both; the other lanes follow, by remaining delay.
    assign out[FALLING ? LANES-1 : 0] = in[FALLING ? LANES-1 : 0];
    if (LANES == 1) begin : alone
        logic unused;
        assign unused = clock;
    end
    for (genvar step = 1; step < LANES; step++) begin : steps
        // Lanes delayed by `step` cycles or more.
        logic [LANES-1-step:0][WIDTH-1:0] entering, held;
        if (step == 1) begin : first
            assign entering = FALLING ? in[LANES-2:0] : in[LANES-1:1];
        end else begin : later
            assign entering = FALLING ? steps[step-1].held[LANES-1-step:0] : steps[step-1].held[LANES-step:1];
        end
        always_ff @(posedge clock) held <= entering;
        if (FALLING) begin : last
            assign out[LANES-1-step] = held[LANES-1-step];
        end else begin : lowest
            assign out[step] = held[0];
        end
    end
endmodule
