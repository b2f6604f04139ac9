// SPDX-License-Identifier: Apache-2.0
// The shuffling circuit of a streaming transform (Strix, section V-A, figure 5), for each pair of neighbouring lanes. Of 2 CYCLES cycles, the second lane's words of the first half are swapped with the first lane's
// words of the second half. One stream is delayed before a switch and the other one after it, so both leave CYCLES later. Circular memories with one common pointer delay them.
module exchange #(
    parameter int unsigned LANES  = 2,
    parameter int unsigned CYCLES = 1,
    parameter int unsigned WIDTH  = 8,
    localparam int unsigned PLACE  = $clog2(CYCLES)
) (
    input logic clock,
    input logic reset,
    input logic start,  // with the first of all words
    input logic signed [WIDTH-1:0] in[LANES][2],  // real and imaginary part
    output logic next,  // the same with what comes out
    output logic signed [WIDTH-1:0] out[LANES][2]
);
    // Cycles since the start, modulo 2 CYCLES; after the last word the switch is straight, as for the first words.
    logic [PLACE:0] count, now;
    logic crosses;
    assign now = start ? '0 : count;
    assign crosses = now[PLACE];
    always_ff @(posedge clock) count <= reset ? '0 : now + 1'b1;

    // The pointer: CYCLES is a power of two.
    logic [(PLACE > 0 ? PLACE : 1)-1:0] place;
    always_ff @(posedge clock) place <= reset || CYCLES == 1 ? '0 : place + 1'b1;

    delay #(
        .CYCLES(CYCLES)
    ) starts (
        .clock,
        .reset,
        .in (start),
        .out(next)
    );
    for (genvar lane = 0; lane < LANES; lane += 2) begin : pairs
        for (genvar part = 0; part < 2; part++) begin : parts
            logic signed [WIDTH-1:0] ahead[CYCLES], behind[CYCLES], waited;
            assign waited = ahead[place];
            assign out[lane][part] = behind[place];
            assign out[lane+1][part] = crosses ? in[lane][part] : waited;
            always_ff @(posedge clock) begin
                ahead[place] <= in[lane+1][part];
                behind[place] <= crosses ? waited : in[lane][part];
            end
        end
    end
endmodule
