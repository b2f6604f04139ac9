// SPDX-License-Identifier: Apache-2.0
// Sample extraction of coefficient 0 (FPT, algorithm 1, line 5), on the way to the output buffer: for a mask polynomial A, element c of the LWE ciphertext is A[0] for c = 0 and -A[N - c] above. No coefficient waits for another: each word goes to one word of the buffer, with reversed lanes.
//
// Lane l has coefficient l CYCLES + t in cycle t, as in the inverse transform, and in word t of the buffer. N minus that is coefficient (LANES - 1 - l) CYCLES + (CYCLES - t); word 0 stays in word 0, one lane further. The body is not reversed; the buffer needs its coefficient 0.
module sample_extractor #(
    parameter int unsigned WIDTH = 16,
    parameter int unsigned LANES = 4,
    parameter int unsigned CYCLES = 8,
    localparam int unsigned TIME = CYCLES > 1 ? $clog2(CYCLES) : 1
) (
    input logic clock,
    input logic reset,
    input logic start,  // with a polynomial's first word
    input logic is_body,
    input logic [WIDTH-1:0] in[LANES],
    output logic [TIME-1:0] place,  // the buffer's word
    output logic [WIDTH-1:0] out[LANES]
);
    logic [TIME-1:0] count, now;
    assign now = start ? '0 : count;
    always_ff @(posedge clock) begin
        count <= reset || 32'(now) == CYCLES - 1 ? '0 : now + 1'b1;
        place <= is_body || now == 0 ? now : TIME'(CYCLES - 32'(now));
        for (int lane = 0; lane < LANES; lane++) begin
            if (is_body) out[lane] <= in[lane];
            else if (now != 0) out[lane] <= -in[LANES-1-lane];
            else out[lane] <= lane == 0 ? in[0] : -in[(LANES-lane)%LANES];
        end
    end
endmodule
