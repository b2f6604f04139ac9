// In: a word of the link: whether there is one, whether it is its wave's first, its wave; whether a polynomial is read from the next cycle on, its wave, its number, the level of its digits, the half of the key's buffer; whether a wave is sent back, which; whether words of the key come; the link's word, a word for each of the key's columns. Out: whether a word is sent back, the first digits, points and sums leave their units, accumulators are written in each row, of which waves, accesses clash; the word.
module bench #(
    parameter int unsigned LOG2_POINTS = 5,
    parameter int unsigned LOG2_LANES = 1,
    parameter int unsigned ROWS = 4,
    parameter int unsigned COLUMNS = 4,
    parameter int unsigned POLYNOMIALS = 2,
    parameter int unsigned WAVES = 2,
    parameter int unsigned LWE_DIMENSION = 8,
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
    parameter int unsigned COEF = 8,
    parameter int unsigned WAITS = 16,
    parameter int unsigned ADDER = 1,
    parameter int unsigned MULTIPLIER = 3,
    localparam int unsigned LANES = 1 << LOG2_LANES,
    localparam int unsigned COEFFICIENTS = 2 * LANES,
    localparam int unsigned WAVE = WAVES > 1 ? $clog2(WAVES) : 1,
    localparam int unsigned POLYNOMIAL = $clog2(POLYNOMIALS),
    localparam int unsigned LEVEL = LEVELS > 1 ? $clog2(LEVELS) : 1,
    localparam int unsigned CONTROL = 6 + 3 * WAVE + POLYNOMIAL + LEVEL,
    localparam int unsigned KEYS = CONTROL + 32 * COEFFICIENTS,
    localparam int unsigned SPECTRUM_WORD = 2 * LANES * FORWARD,
    localparam int unsigned EVENTS = 5 + ROWS * (1 + WAVE)
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [KEYS+POLYNOMIALS*SPECTRUM_WORD-1:0] in_data,
    output logic out_valid,
    output logic [EVENTS+32*COEFFICIENTS-1:0] out_data
);
    logic comes, first, start, half, sends, key_fills, leaves, decomposed, transformed, drained, clash;
    logic [WAVE-1:0] target, wave, sent, written[ROWS];
    logic [POLYNOMIAL-1:0] polynomial;
    logic [LEVEL-1:0] level;
    logic [ROWS-1:0] accumulated;
    logic [31:0] fresh[COEFFICIENTS], result[COEFFICIENTS];
    logic [SPECTRUM_WORD-1:0] key_words[POLYNOMIALS];
    assign {key_fills, sent, sends, half, level, polynomial, wave, start, target, first, comes} = in_data[CONTROL-1:0];
    for (genvar i = 0; i < COEFFICIENTS; i++) begin : link
        assign fresh[i] = in_data[CONTROL+32*i+:32];
        assign out_data[EVENTS+32*i+:32] = result[i];
    end
    for (genvar i = 0; i < POLYNOMIALS; i++) begin : keys
        assign key_words[i] = in_data[KEYS+SPECTRUM_WORD*i+:SPECTRUM_WORD];
    end
    for (genvar row = 0; row < ROWS; row++) begin : rows
        assign out_data[5+row*(1+WAVE)+:1+WAVE] = {written[row], accumulated[row]};
    end
    assign out_data[4:0] = {clash, drained, transformed, decomposed, leaves};
    assign out_valid = leaves || decomposed || transformed || drained || |accumulated || clash;
    // A start is in the next cycle.
    logic starts, started_half;
    logic [WAVE-1:0] started_wave;
    logic [POLYNOMIAL-1:0] started_polynomial;
    logic [LEVEL-1:0] started_level;
    always_ff @(posedge clock) begin
        starts <= !reset && in_valid && start;
        if (in_valid && start) {started_half, started_wave, started_polynomial, started_level} <= {half, wave, polynomial, level};
    end
    morphling_xpu #(
        .LOG2_POINTS(LOG2_POINTS),
        .LOG2_LANES(LOG2_LANES),
        .ROWS(ROWS),
        .COLUMNS(COLUMNS),
        .POLYNOMIALS(POLYNOMIALS),
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
        .ADDER(ADDER),
        .MULTIPLIER(MULTIPLIER)
    ) unit (
        .clock,
        .reset,
        .comes(in_valid && comes),
        .first,
        .target,
        .fresh,
        .start(starts),
        .wave(in_valid && start ? wave : started_wave),
        .polynomial(started_polynomial),
        .level(started_level),
        .half(started_half),
        .sends(in_valid && sends),
        .sent,
        .key_fills(in_valid && key_fills),
        .key_words,
        .leaves,
        .result,
        .decomposed,
        .transformed,
        .drained,
        .accumulated,
        .written,
        .clash
    );
endmodule
