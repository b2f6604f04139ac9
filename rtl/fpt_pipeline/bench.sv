// In: whether a batch begins; whether the channel for ciphertexts brings amounts, or a test polynomial's words; whether the key's channels bring words; the channel's word, the key's words. Out: whether a polynomial is at the rotator, whether words of a ciphertext leave, their place; the words.
module bench #(
    parameter int unsigned LOG2_POINTS = 5,
    parameter int unsigned LOG2_LANES = 2,
    parameter int unsigned COLUMNS = 2,
    parameter int unsigned LOG2_BASE = 6,
    parameter int unsigned LEVELS = 2,
    parameter int unsigned IN_FLIGHT = 12,
    parameter int unsigned LOG2_RADIX = 4,
    parameter int unsigned LOAD = 10,
    parameter int unsigned FORWARD = 18,
    parameter int unsigned FORWARD_SHIFTS = 0,
    parameter int unsigned FORWARD_FACTOR = 14,
    parameter int unsigned KEY = 20,
    parameter int unsigned PRODUCT_SHIFT = 10,
    parameter int unsigned INVERSE = 19,
    parameter int unsigned INVERSE_SHIFTS = 0,
    parameter int unsigned INVERSE_FACTOR = 15,
    parameter int unsigned SHIFT = 0,
    parameter int unsigned LEFT = 0,
    parameter int unsigned MULTIPLEXER = 1,
    parameter int unsigned ADDER = 1,
    parameter int unsigned MULTIPLIER = 4,
    parameter int unsigned LWE_DIMENSION = 8,
    parameter int unsigned TABLE = 16,
    parameter int unsigned KEY_BANKS = 16,
    localparam int unsigned LANES = 1 << LOG2_LANES,
    localparam int unsigned WIDTH = LOG2_BASE * LEVELS,
    localparam int unsigned COEFFICIENTS = 2 * LANES / LEVELS,
    localparam int unsigned GROUP = LEVELS << (LOG2_POINTS - LOG2_LANES),
    localparam int unsigned PLACE = $clog2(GROUP),
    localparam int unsigned CHANNEL = 1024,
    localparam int unsigned WORD = 64 * LANES
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [4+CHANNEL+KEY_BANKS*WORD-1:0] in_data,
    output logic out_valid,
    output logic [2+PLACE+COEFFICIENTS*WIDTH-1:0] out_data
);
    logic rotates, unloads;
    logic [PLACE-1:0] place;
    logic [WORD-1:0] key_words[KEY_BANKS];
    logic [WIDTH-1:0] elements[COEFFICIENTS];
    for (genvar i = 0; i < KEY_BANKS; i++) begin : keys
        assign key_words[i] = in_data[4+CHANNEL+i*WORD+:WORD];
    end
    for (genvar i = 0; i < COEFFICIENTS; i++) begin : words
        assign out_data[2+PLACE+i*WIDTH+:WIDTH] = elements[i];
    end
    assign out_data[1+PLACE:0] = {place, unloads, rotates};
    assign out_valid = rotates || unloads;
    fpt_pipeline #(
        .LOG2_POINTS(LOG2_POINTS),
        .LOG2_LANES(LOG2_LANES),
        .COLUMNS(COLUMNS),
        .LOG2_BASE(LOG2_BASE),
        .LEVELS(LEVELS),
        .IN_FLIGHT(IN_FLIGHT),
        .LOG2_RADIX(LOG2_RADIX),
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
        .MULTIPLEXER(MULTIPLEXER),
        .ADDER(ADDER),
        .MULTIPLIER(MULTIPLIER),
        .LWE_DIMENSION(LWE_DIMENSION),
        .TABLE(TABLE),
        .KEY_BANKS(KEY_BANKS)
    ) unit (
        .clock,
        .reset,
        .begins(in_valid && in_data[0]),
        .amounts_come(in_valid && in_data[1]),
        .table_comes(in_valid && in_data[2]),
        .channel(in_data[4+:CHANNEL]),
        .key_fills(in_valid && in_data[3]),
        .key_words,
        .rotates,
        .unloads,
        .place,
        .elements
    );
endmodule
