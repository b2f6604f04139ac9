// In: whether a vector comes to the set, its place; whether an instruction starts, its code, the places of its operand, its results and the body, the part of a vector from which a tile begins, whether it is the first of its kind for a ciphertext; the vector for the set or from the crossbar. Out: whether a vector is wanted from the crossbar, results return, go to the crossbar, writes clash; their place; the results.
module bench #(
    parameter int unsigned LANES = 8,
    parameter int unsigned LWE_DIMENSION = 79,
    parameter int unsigned LINES = 16,
    parameter int unsigned LOG2_BASE = 2,
    parameter int unsigned LEVELS = 8,
    parameter int unsigned BLOCKS = 64,
    parameter int unsigned PLACES = 64,
    parameter int unsigned ADDER = 1,
    parameter int unsigned MULTIPLIER = 3,
    localparam int unsigned PLACE = $clog2(PLACES),
    localparam int unsigned PART = LEVELS > 1 ? $clog2(LEVELS) : 1,
    localparam int unsigned CONTROL = 5 + 4 * PLACE + PART
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [CONTROL+32*LANES-1:0] in_data,
    output logic out_valid,
    output logic [4+PLACE+32*LANES-1:0] out_data
);
    logic fills, start, first, wants, returns, outside, clash;
    logic [1:0] opcode;
    logic [PART-1:0] part;
    logic [PLACE-1:0] filled, source, target, body, place;
    logic [31:0] vector[LANES], results[LANES];
    assign {first, part, body, target, source, opcode, start, filled, fills} = in_data[CONTROL-1:0];
    for (genvar lane = 0; lane < LANES; lane++) begin : lanes
        assign vector[lane] = in_data[CONTROL+32*lane+:32];
        assign out_data[4+PLACE+32*lane+:32] = results[lane];
    end
    assign out_data[3+PLACE:0] = {place, clash, outside, returns, wants};
    assign out_valid = wants || returns || clash;
    lane_group #(
        .LANES(LANES),
        .LWE_DIMENSION(LWE_DIMENSION),
        .LINES(LINES),
        .LOG2_BASE(LOG2_BASE),
        .LEVELS(LEVELS),
        .BLOCKS(BLOCKS),
        .PLACES(PLACES),
        .ADDER(ADDER),
        .MULTIPLIER(MULTIPLIER)
    ) unit (
        .clock,
        .reset,
        .fills(in_valid && fills),
        .filled,
        .fresh(vector),
        .start(in_valid && start),
        .opcode,
        .source,
        .target,
        .body,
        .part,
        .first,
        .wants,
        .crossed(vector),
        .returns,
        .outside,
        .place,
        .results,
        .clash
    );
endmodule
