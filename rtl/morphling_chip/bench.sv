// In: whether a word of the program comes, whether a group's words are complete; units that become free, kinds whose oldest instruction ends; whether elements of ciphertexts come, their place; whether rows of the key-switch key come; whether a line of a table comes, its entry; whether words of the bootstrapping key come, whether a start finds one more key; the word; a vector for each lane group's set; a word for each of the key's columns. Out: units that start; whether a polynomial is read, something is wrong; lane groups with results; the lower half of each unit's instruction; for each lane group, place and results.
module bench #(
    parameter int unsigned LOG2_POINTS = 6,
    parameter int unsigned LOG2_LANES = 1,
    parameter int unsigned ROWS = 4,
    parameter int unsigned COLUMNS = 4,
    parameter int unsigned WAVES = 4,
    parameter int unsigned LWE_DIMENSION = 79,
    parameter int unsigned LOG2_BASE = 6,
    parameter int unsigned LEVELS = 2,
    parameter int unsigned LOAD = 10,
    parameter int unsigned FORWARD = 32,
    parameter int unsigned FORWARD_SHIFTS = 0,
    parameter int unsigned FORWARD_FACTOR = 32,
    parameter int unsigned PRODUCT_SHIFT = 10,
    parameter int unsigned INVERSE = 32,
    parameter int unsigned INVERSE_SHIFTS = 0,
    parameter int unsigned INVERSE_FACTOR = 32,
    parameter int unsigned SHIFT = 0,
    parameter int unsigned LEFT = 0,
    parameter int unsigned COEF = 16,
    parameter int unsigned WAITS = 32,
    parameter int unsigned LOG2_VECTOR = 3,
    parameter int unsigned SWITCH_LOG2_BASE = 2,
    parameter int unsigned SWITCH_LEVELS = 8,
    parameter int unsigned BLOCKS = 64,
    parameter int unsigned PLACES = 256,
    parameter int unsigned LARGE_AT = 64,
    parameter int unsigned SUMS_AT = 160,
    parameter int unsigned SHARED_IN = 2,
    parameter int unsigned SHARED_OUT = 4,
    parameter int unsigned TILES = 64,
    parameter int unsigned ADDER = 1,
    parameter int unsigned MULTIPLIER = 3,
    localparam int unsigned POLYNOMIALS = 2,
    localparam int unsigned WORD = 256,
    localparam int unsigned HALF = WORD / 2,
    localparam int unsigned UNITS = 4 + ROWS,
    localparam int unsigned OF_LANES = 11,
    localparam int unsigned LANES = 1 << LOG2_VECTOR,
    localparam int unsigned PLACE = $clog2(PLACES),
    localparam int unsigned ENTRY_IN = SHARED_IN > 1 ? $clog2(SHARED_IN) : 1,
    localparam int unsigned SPECTRUM_WORD = FORWARD << (LOG2_LANES + 1),
    localparam int unsigned CONTROL = 2 + 4 + OF_LANES + 1 + PLACE + 2 + ENTRY_IN + 2 + WORD,
    localparam int unsigned KEYS = CONTROL + 32 * LANES * ROWS,
    localparam int unsigned EVENTS = UNITS + 2 + ROWS + UNITS * HALF,
    localparam int unsigned RESULT = PLACE + 32 * LANES
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [KEYS+POLYNOMIALS*SPECTRUM_WORD-1:0] in_data,
    output logic out_valid,
    output logic [EVENTS+ROWS*RESULT-1:0] out_data
);
    logic comes, fetched, fills, tile_comes, table_comes, key_fills, key_comes, iterates, wrong;
    logic [3:0] frees;
    logic [OF_LANES-1:0] ends;
    logic [PLACE-1:0] filled, place[ROWS];
    logic [ENTRY_IN-1:0] table_entry;
    logic [WORD-1:0] word, started[UNITS];
    logic [UNITS-1:0] starts;
    logic [ROWS-1:0] returns;
    logic [31:0] fresh[ROWS][LANES], results[ROWS][LANES];
    logic [SPECTRUM_WORD-1:0] key_words[POLYNOMIALS];
    assign {word, key_comes, key_fills, table_entry, table_comes, tile_comes, filled, fills, ends, frees, fetched, comes} = in_data[CONTROL-1:0];
    for (genvar i = 0; i < POLYNOMIALS; i++) begin : keys
        assign key_words[i] = in_data[KEYS+SPECTRUM_WORD*i+:SPECTRUM_WORD];
    end
    for (genvar i = 0; i < UNITS; i++) begin : units
        assign out_data[UNITS+2+ROWS+HALF*i+:HALF] = started[i][HALF-1:0];
    end
    for (genvar group = 0; group < ROWS; group++) begin : groups
        assign out_data[EVENTS+RESULT*group+:PLACE] = place[group];
        for (genvar lane = 0; lane < LANES; lane++) begin : lanes
            assign fresh[group][lane] = in_data[CONTROL+32*(LANES*group+lane)+:32];
            assign out_data[EVENTS+RESULT*group+PLACE+32*lane+:32] = results[group][lane];
        end
    end
    assign out_data[UNITS+1+ROWS:0] = {returns, wrong, iterates, starts};
    assign out_valid = |starts || wrong || iterates || |returns;
    morphling_chip #(
        .LOG2_POINTS(LOG2_POINTS),
        .LOG2_LANES(LOG2_LANES),
        .ROWS(ROWS),
        .COLUMNS(COLUMNS),
        .WAVES(WAVES),
        .LWE_DIMENSION(LWE_DIMENSION),
        .LOG2_BASE(LOG2_BASE),
        .LEVELS(LEVELS),
        .LOAD(LOAD),
        .FORWARD(FORWARD),
        .FORWARD_SHIFTS(FORWARD_SHIFTS),
        .FORWARD_FACTOR(FORWARD_FACTOR),
        .PRODUCT_SHIFT(PRODUCT_SHIFT),
        .INVERSE(INVERSE),
        .INVERSE_SHIFTS(INVERSE_SHIFTS),
        .INVERSE_FACTOR(INVERSE_FACTOR),
        .SHIFT(SHIFT),
        .LEFT(LEFT),
        .COEF(COEF),
        .WAITS(WAITS),
        .LOG2_VECTOR(LOG2_VECTOR),
        .SWITCH_LOG2_BASE(SWITCH_LOG2_BASE),
        .SWITCH_LEVELS(SWITCH_LEVELS),
        .BLOCKS(BLOCKS),
        .PLACES(PLACES),
        .LARGE_AT(LARGE_AT),
        .SUMS_AT(SUMS_AT),
        .SHARED_IN(SHARED_IN),
        .SHARED_OUT(SHARED_OUT),
        .TILES(TILES),
        .ADDER(ADDER),
        .MULTIPLIER(MULTIPLIER)
    ) unit (
        .clock,
        .reset,
        .comes(in_valid && comes),
        .word,
        .fetched(in_valid && fetched),
        .frees(in_valid ? frees : '0),
        .ends(in_valid ? ends : '0),
        .fills(in_valid && fills),
        .filled,
        .tile_comes(in_valid && tile_comes),
        .table_comes(in_valid && table_comes),
        .table_entry,
        .fresh,
        .key_fills(in_valid && key_fills),
        .key_words,
        .key_comes(in_valid && key_comes),
        .starts,
        .started,
        .iterates,
        .returns,
        .place,
        .results,
        .wrong
    );
endmodule
