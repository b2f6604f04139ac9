// In: whether a line is loaded, its ciphertext and number; whether an iteration starts, its ciphertext and amount; the line of all polynomials; by row and column, the key's points. Out: words of all polynomials.
module bench #(
    parameter int unsigned LOG2_POINTS = 5,
    parameter int unsigned LOG2_LANES = 1,
    parameter int unsigned POLYNOMIALS = 2,
    parameter int unsigned BATCH = 3,
    parameter int unsigned WIDTH = 32,
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
    parameter int unsigned ADDER = 1,
    parameter int unsigned MULTIPLIER = 3,
    localparam int unsigned LANES = 1 << LOG2_LANES,
    localparam int unsigned LOG2_LINES = LOG2_POINTS - LOG2_LANES,
    localparam int unsigned CHOICE = BATCH > 1 ? $clog2(BATCH) : 1,
    localparam int unsigned FRESH = 2 + 2 * CHOICE + LOG2_LINES + LOG2_POINTS + 2,
    localparam int unsigned LINE = 2 * POLYNOMIALS * LANES * WIDTH,
    localparam int unsigned POINTS = 2 * POLYNOMIALS * POLYNOMIALS * LANES
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [FRESH+LINE+POINTS*KEY-1:0] in_data,
    output logic out_valid,
    output logic [LINE-1:0] out_data
);
    logic loads, start;
    logic [CHOICE-1:0] loaded, ciphertext;
    logic [LOG2_LINES-1:0] line;
    logic [LOG2_POINTS+1:0] amount;
    logic [WIDTH-1:0] fresh[POLYNOMIALS][2*LANES], words[POLYNOMIALS][2*LANES];
    logic signed [KEY-1:0] key[POLYNOMIALS][POLYNOMIALS][LANES][2];
    assign {amount, ciphertext, start, line, loaded, loads} = in_data[FRESH-1:0];
    for (genvar i = 0; i < 2 * POLYNOMIALS * LANES; i++) begin : coefficients
        assign fresh[i/(2*LANES)][i%(2*LANES)] = in_data[FRESH+i*WIDTH+:WIDTH];
        assign out_data[i*WIDTH+:WIDTH] = words[i/(2*LANES)][i%(2*LANES)];
    end
    for (genvar i = 0; i < POINTS; i++) begin : keys
        assign key[i/(2*LANES*POLYNOMIALS)][i/(2*LANES)%POLYNOMIALS][i/2%LANES][i%2] = in_data[FRESH+LINE+i*KEY+:KEY];
    end
    logic [CHOICE-1:0] written;
    logic [LOG2_LINES-1:0] written_line;
    logic clash, unused;
    assign unused = ^{written, written_line, clash};
    pbs_cluster #(
        .LOG2_POINTS(LOG2_POINTS),
        .LOG2_LANES(LOG2_LANES),
        .POLYNOMIALS(POLYNOMIALS),
        .BATCH(BATCH),
        .LOG2_GROUPS(CHOICE),
        .WIDTH(WIDTH),
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
        .ADDER(ADDER),
        .MULTIPLIER(MULTIPLIER)
    ) unit (
        .clock,
        .reset,
        .loads({2 * LANES{in_valid && loads}}),
        .loaded,
        .line,
        .fresh,
        .start(in_valid && start),
        .ciphertext,
        .amount,
        .key,
        .valid(out_valid),
        .written,
        .written_line,
        .words,
        .clash
    );
    // Checks the first words against the latency function.
    logic first_start, started, first_word, seen;
    assign first_start = in_valid && start && !started;
    delay #(
        .CYCLES(latency::pbs_cluster(LOG2_POINTS, LOG2_LANES, POLYNOMIALS, LEVELS, WIDTH - LOG2_BASE * LEVELS, MULTIPLIER, ADDER))
    ) from_start (
        .clock,
        .reset,
        .in (first_start),
        .out(first_word)
    );
    always_ff @(posedge clock) begin
        started <= !reset && (started || first_start);
        seen <= !reset && (seen || out_valid);
        if (!reset && !seen) assert (out_valid == first_word);
    end
endmodule
