// In: whether a word comes; whether a group's words are complete; units that become free; kinds whose oldest instruction ends; whether a wave of the oldest rotation ends; the word. Out: units that start, whether something is wrong; the instruction of each unit.
module bench #(
    parameter int unsigned LANE_GROUPS = 4,
    parameter int unsigned WAVES = 4,
    parameter int unsigned HALVES = 2,
    parameter int unsigned SHARED_IN = 2,
    parameter int unsigned SHARED_OUT = 4,
    parameter int unsigned DEPTH = 32,
    parameter int unsigned TILES = 256,
    localparam int unsigned WORD = 256,
    localparam int unsigned UNITS = 4 + LANE_GROUPS,
    localparam int unsigned KINDS = 11 + 3 * LANE_GROUPS
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [3+UNITS+KINDS+WORD-1:0] in_data,
    output logic out_valid,
    output logic [UNITS+UNITS*WORD:0] out_data
);
    logic comes, fetched, wave_ends, wrong;
    logic [UNITS-1:0] frees, starts;
    logic [KINDS-1:0] ends;
    logic [WORD-1:0] word, started[UNITS];
    assign {word, wave_ends, ends, frees, fetched, comes} = in_data;
    for (genvar i = 0; i < UNITS; i++) begin : instructions
        assign out_data[1+UNITS+WORD*i+:WORD] = started[i];
    end
    assign out_data[UNITS:0] = {wrong, starts};
    assign out_valid = |starts || wrong;
    instruction_scheduler #(
        .LANE_GROUPS(LANE_GROUPS),
        .WAVES(WAVES),
        .HALVES(HALVES),
        .SHARED_IN(SHARED_IN),
        .SHARED_OUT(SHARED_OUT),
        .DEPTH(DEPTH),
        .TILES(TILES)
    ) unit (
        .clock,
        .reset,
        .comes(in_valid && comes),
        .word,
        .fetched(in_valid && fetched),
        .frees(in_valid ? frees : '0),
        .ends(in_valid ? ends : '0),
        .wave_ends(in_valid && wave_ends),
        .starts,
        .started,
        .wrong
    );
endmodule
