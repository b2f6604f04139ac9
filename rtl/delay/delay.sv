// SPDX-License-Identifier: Apache-2.0
// Delays a word by CYCLES cycles, parallel to a unit of that latency. Cleared at reset.
module delay #(
    parameter int unsigned CYCLES = 1,
    parameter int unsigned WIDTH = 1
) (
    input logic clock,
    input logic reset,
    input logic [WIDTH-1:0] in,
    output logic [WIDTH-1:0] out
);
    if (CYCLES == 0) begin : none
        logic unused;
        assign unused = clock | reset;
        assign out = in;
    end else begin : registers
        logic [WIDTH-1:0] held[CYCLES];
        always_ff @(posedge clock) begin
            for (int i = 0; i < CYCLES; i++) held[i] <= reset ? '0 : i == 0 ? in : held[i-1];
        end
        assign out = held[CYCLES-1];
    end
endmodule
