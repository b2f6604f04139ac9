// In: of each polynomial, for each lane, coefficients j and j + M. Out: of each polynomial, for each lane, its point's real part and above it the imaginary one.
module bench #(
    parameter int unsigned LOG2_POINTS = 5,
    parameter int unsigned LOG2_LANES = 2,
    parameter int unsigned DIGIT = 8,
    parameter int unsigned LOAD = 8,
    parameter int unsigned WIDTH = 32,
    parameter int unsigned SHIFTS = 0,
    parameter int unsigned FACTOR = 32,
    parameter int unsigned REALS = 4,
    parameter int unsigned ADDER = 1,
    parameter int unsigned MULTIPLIER = 3,
    localparam int unsigned LANES = 1 << LOG2_LANES,
    localparam int unsigned CYCLES = 1 << (LOG2_POINTS - LOG2_LANES)
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [4*LANES*DIGIT-1:0] in_data,
    output logic out_valid,
    output logic [4*LANES*WIDTH-1:0] out_data
);
    logic signed [DIGIT-1:0] in[2][LANES][2];
    logic signed [WIDTH-1:0] out[2][LANES][2];
    logic next, starts;
    int unsigned words;  // of the pair, those that have come

    for (genvar i = 0; i < 4 * LANES; i++) begin : parts
        assign in[i/(2*LANES)][i/2%LANES][i%2] = in_data[i*DIGIT+:DIGIT];
        assign out_data[i*WIDTH+:WIDTH] = out[i/(2*LANES)][i/2%LANES][i%2];
    end
    always_ff @(posedge clock) words <= reset ? 0 : in_valid ? (words + 1) % CYCLES : words;
    merge_split_fft #(
        .LOG2_POINTS(LOG2_POINTS),
        .LOG2_LANES(LOG2_LANES),
        .DIGIT(DIGIT),
        .LOAD(LOAD),
        .WIDTH(WIDTH),
        .SHIFTS(SHIFTS),
        .FACTOR(FACTOR),
        .REALS(REALS),
        .ADDER(ADDER),
        .MULTIPLIER(MULTIPLIER)
    ) unit (
        .clock,
        .reset,
        .start(in_valid && words == 0),
        .in,
        .next,
        .out
    );
    // Checks the latency function against the unit's start signal at a pair's first word.
    delay #(
        .CYCLES(latency::merge_split_fft(LOG2_POINTS, LOG2_LANES, REALS, MULTIPLIER, ADDER)),
        .WIDTH (2)
    ) valid (
        .clock,
        .reset,
        .in ({in_valid && words == 0, in_valid}),
        .out({starts, out_valid})
    );
    always_ff @(posedge clock) if (!reset) assert (next == starts);
endmodule
