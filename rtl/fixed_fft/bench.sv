// In and out: for each lane, its point's real part and above it the imaginary one.
module bench #(
    parameter int unsigned LOG2_POINTS = 5,
    parameter int unsigned LOG2_LANES = 2,
    parameter bit MERGED = 1'b0,
    parameter int unsigned LOG2_RADIX = 4,
    parameter bit INVERSE = 1'b0,
    parameter int unsigned WIDTH = 29,
    parameter int unsigned SHIFTS = 0,
    parameter int unsigned FACTOR = 25,
    parameter int unsigned REALS = 3,
    parameter int unsigned ADDER = 1,
    parameter int unsigned MULTIPLIER = 4,
    localparam int unsigned LANES = 1 << LOG2_LANES,
    localparam int unsigned CYCLES = 1 << (LOG2_POINTS - LOG2_LANES)
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [2*WIDTH*LANES-1:0] in_data,
    output logic out_valid,
    output logic [2*WIDTH*LANES-1:0] out_data
);
    logic signed [WIDTH-1:0] in[LANES][2], out[LANES][2];
    logic next, starts;
    int unsigned words;  // of the polynomial, those that have come

    for (genvar lane = 0; lane < LANES; lane++) begin : lanes
        for (genvar part = 0; part < 2; part++) begin : parts
            assign in[lane][part] = in_data[(2*lane+part)*WIDTH+:WIDTH];
            assign out_data[(2*lane+part)*WIDTH+:WIDTH] = out[lane][part];
        end
    end
    always_ff @(posedge clock) words <= reset ? 0 : in_valid ? (words + 1) % CYCLES : words;
    fixed_fft #(
        .LOG2_POINTS(LOG2_POINTS),
        .LOG2_LANES(LOG2_LANES),
        .MERGED(MERGED),
        .LOG2_RADIX(LOG2_RADIX),
        .INVERSE(INVERSE),
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
    // Checks the latency function against the unit's start signal at a polynomial's first word.
    delay #(
        .CYCLES(latency::fixed_fft(LOG2_POINTS, LOG2_LANES, MERGED, LOG2_RADIX, REALS, MULTIPLIER, ADDER)),
        .WIDTH (2)
    ) valid (
        .clock,
        .reset,
        .in ({in_valid && words == 0, in_valid}),
        .out({starts, out_valid})
    );
    always_ff @(posedge clock) if (!reset) assert (next == starts);
endmodule
