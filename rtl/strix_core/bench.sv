// In: a word of the link: whether there is one, whether it is the first, whether of a polynomial, its ciphertext; whether an iteration starts, its ciphertext and half of the buffer; whether a tile does, for how many ciphertexts, its half; whether a result is sent, its ciphertext; whether channels bring words of either key; the link's word, both keys' words. Out: whether a result's word leaves, accumulators are written, for which ciphertext, words are extracted, sums complete, accesses clash; the result's word.
module bench #(
    parameter int unsigned LOG2_POINTS = 5,
    parameter int unsigned LOG2_LANES = 1,
    parameter int unsigned LWE_DIMENSION = 8,
    parameter int unsigned BATCH = 3,
    parameter int unsigned LOG2_GROUPS = 2,
    parameter int unsigned LOG2_BASE = 6,
    parameter int unsigned LEVELS = 2,
    parameter int unsigned LOAD = 10,
    parameter int unsigned FORWARD = 32,
    parameter int unsigned FORWARD_SHIFTS = 0,
    parameter int unsigned FORWARD_FACTOR = 16,
    parameter int unsigned KEY = 32,
    parameter int unsigned PRODUCT_SHIFT = 10,
    parameter int unsigned INVERSE = 32,
    parameter int unsigned INVERSE_SHIFTS = 0,
    parameter int unsigned INVERSE_FACTOR = 16,
    parameter int unsigned SHIFT = 0,
    parameter int unsigned LEFT = 0,
    parameter int unsigned SWITCH_COLUMNS = 4,
    parameter int unsigned TILE_LINES = 4,
    parameter int unsigned SWITCH_LOG2_BASE = 4,
    parameter int unsigned SWITCH_LEVELS = 3,
    parameter int unsigned KEY_CHANNELS = 8,
    parameter int unsigned SWITCH_CHANNELS = 4,
    parameter int unsigned ADDER = 1,
    parameter int unsigned MULTIPLIER = 3,
    localparam int unsigned LINK = 4,
    localparam int unsigned WORD = 128,
    localparam int unsigned CHOICE = $clog2(BATCH),
    localparam int unsigned CONTROL = 11 + 4 * CHOICE,
    localparam int unsigned KEYS = CONTROL + WORD,
    localparam int unsigned TILES = KEYS + KEY_CHANNELS * WORD
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [TILES+SWITCH_CHANNELS*WORD-1:0] in_data,
    output logic out_valid,
    output logic [5+CHOICE+WORD-1:0] out_data
);
    logic comes, first, is_table, start, half, switches, tile_half, sends, key_fills, tile_fills;
    logic leaves, accumulated, extracted, switched, clash;
    logic [CHOICE-1:0] target, ciphertext, sent, written;
    logic [CHOICE:0] count;
    logic [31:0] fresh[LINK], result[LINK];
    logic [WORD-1:0] key_words[KEY_CHANNELS], tile_words[SWITCH_CHANNELS];
    assign {tile_fills, key_fills, sent, sends, tile_half, count, switches, half, ciphertext, start, target, is_table, first, comes} = in_data[CONTROL-1:0];
    for (genvar i = 0; i < LINK; i++) begin : link
        assign fresh[i] = in_data[CONTROL+32*i+:32];
        assign out_data[5+CHOICE+32*i+:32] = result[i];
    end
    for (genvar i = 0; i < KEY_CHANNELS; i++) begin : keys
        assign key_words[i] = in_data[KEYS+WORD*i+:WORD];
    end
    for (genvar i = 0; i < SWITCH_CHANNELS; i++) begin : tiles
        assign tile_words[i] = in_data[TILES+WORD*i+:WORD];
    end
    assign out_data[4+CHOICE:0] = {clash, switched, extracted, written, accumulated, leaves};
    assign out_valid = leaves || accumulated || extracted || switched || clash;
    strix_core #(
        .LOG2_POINTS(LOG2_POINTS),
        .LOG2_LANES(LOG2_LANES),
        .LWE_DIMENSION(LWE_DIMENSION),
        .BATCH(BATCH),
        .LOG2_GROUPS(LOG2_GROUPS),
        .LOG2_BASE(LOG2_BASE),
        .LEVELS(LEVELS),
        .LOAD(LOAD),
        .FORWARD(FORWARD),
        .FORWARD_SHIFTS(FORWARD_SHIFTS),
        .FORWARD_FACTOR(FORWARD_FACTOR),
        .KEY(KEY),
        .PRODUCT_SHIFT(PRODUCT_SHIFT),
        .INVERSE(INVERSE),
        .INVERSE_SHIFTS(INVERSE_SHIFTS),
        .INVERSE_FACTOR(INVERSE_FACTOR),
        .SHIFT(SHIFT),
        .LEFT(LEFT),
        .SWITCH_COLUMNS(SWITCH_COLUMNS),
        .TILE_LINES(TILE_LINES),
        .SWITCH_LOG2_BASE(SWITCH_LOG2_BASE),
        .SWITCH_LEVELS(SWITCH_LEVELS),
        .KEY_CHANNELS(KEY_CHANNELS),
        .SWITCH_CHANNELS(SWITCH_CHANNELS),
        .ADDER(ADDER),
        .MULTIPLIER(MULTIPLIER)
    ) unit (
        .clock,
        .reset,
        .comes(in_valid && comes),
        .first,
        .is_table,
        .target,
        .fresh,
        .start(in_valid && start),
        .ciphertext,
        .half,
        .switches(in_valid && switches),
        .count,
        .tile_half,
        .sends(in_valid && sends),
        .sent,
        .key_fills(in_valid && key_fills),
        .key_words,
        .tile_fills(in_valid && tile_fills),
        .tile_words,
        .leaves,
        .result,
        .accumulated,
        .written,
        .extracted,
        .switched,
        .clash
    );
endmodule
