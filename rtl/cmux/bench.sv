// In: whether a word is loaded, the amount, the word; for each column, the key's points. Out: words of accumulators.
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
    localparam int unsigned LANES = 1 << LOG2_LANES,
    localparam int unsigned WIDTH = LOG2_BASE * LEVELS,
    localparam int unsigned COEFFICIENTS = 2 * LANES / LEVELS,
    localparam int unsigned FIRST = LOG2_POINTS + 3
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [FIRST+COEFFICIENTS*WIDTH+2*COLUMNS*LANES*KEY-1:0] in_data,
    output logic out_valid,
    output logic [COEFFICIENTS*WIDTH-1:0] out_data
);
    logic [WIDTH-1:0] fresh[COEFFICIENTS], words[COEFFICIENTS];
    logic signed [KEY-1:0] key[COLUMNS][LANES][2];
    logic [WIDTH-1:0] totals[COEFFICIENTS];
    logic start, products_come, unused;
    always_comb begin
        unused = start ^ products_come;
        for (int i = 0; i < COEFFICIENTS; i++) unused ^= ^totals[i];
    end
    for (genvar i = 0; i < COEFFICIENTS; i++) begin : coefficients
        assign fresh[i] = in_data[FIRST+i*WIDTH+:WIDTH];
        assign out_data[i*WIDTH+:WIDTH] = words[i];
    end
    for (genvar i = 0; i < 2 * COLUMNS * LANES; i++) begin : keys
        assign key[i/(2*LANES)][i/2%LANES][i%2] = in_data[FIRST+COEFFICIENTS*WIDTH+i*KEY+:KEY];
    end
    cmux #(
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
        .MULTIPLIER(MULTIPLIER)
    ) unit (
        .clock,
        .reset,
        .loads(in_valid && in_data[0]),
        .amount(in_data[FIRST-1:1]),
        .fresh,
        .drops(1'b0),
        .key,
        .start,
        .products_come,
        .valid(out_valid),
        .words,
        .totals
    );
endmodule
