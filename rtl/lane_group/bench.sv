// In: whether a vector comes to the set, its place; whether an instruction starts, its code, entry and tile; the vector for the set or from the crossbar. Out: whether a vector is wanted from the crossbar, results return, go to the crossbar, writes clash, the group is free, instructions of each kind end; their place; the results.
module bench #(
    parameter int unsigned LANES = 8,
    parameter int unsigned LWE_DIMENSION = 79,
    parameter int unsigned LINES = 16,
    parameter int unsigned LOG2_BASE = 2,
    parameter int unsigned LEVELS = 8,
    parameter int unsigned BLOCKS = 64,
    parameter int unsigned PLACES = 64,
    parameter int unsigned SMALL_AT = 0,
    parameter int unsigned LARGE_AT = 20,
    parameter int unsigned SUMS_AT = 54,
    parameter int unsigned ADDER = 1,
    parameter int unsigned MULTIPLIER = 3,
    localparam int unsigned PLACE = $clog2(PLACES),
    localparam int unsigned CONTROL = 2 + PLACE + 32
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [CONTROL+32*LANES-1:0] in_data,
    output logic out_valid,
    output logic [8+PLACE+32*LANES-1:0] out_data
);
    logic fills, start, wants, returns, outside, frees, clash;
    logic [2:0] ends;
    logic [7:0] opcode, entry;
    logic [15:0] tile;
    logic [PLACE-1:0] filled, place;
    logic [31:0] vector[LANES], results[LANES];
    assign {tile, entry, opcode, start, filled, fills} = in_data[CONTROL-1:0];
    for (genvar lane = 0; lane < LANES; lane++) begin : lanes
        assign vector[lane] = in_data[CONTROL+32*lane+:32];
        assign out_data[8+PLACE+32*lane+:32] = results[lane];
    end
    assign out_data[7+PLACE:0] = {place, ends, frees, clash, outside, returns, wants};
    assign out_valid = wants || returns || clash || frees;
    lane_group #(
        .LANES(LANES),
        .LWE_DIMENSION(LWE_DIMENSION),
        .LINES(LINES),
        .LOG2_BASE(LOG2_BASE),
        .LEVELS(LEVELS),
        .BLOCKS(BLOCKS),
        .PLACES(PLACES),
        .SMALL_AT(SMALL_AT),
        .LARGE_AT(LARGE_AT),
        .SUMS_AT(SUMS_AT),
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
        .entry,
        .tile,
        .wants,
        .crossed(vector),
        .returns,
        .outside,
        .place,
        .results,
        .frees,
        .ends,
        .clash
    );
endmodule
