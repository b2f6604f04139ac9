// In: the amount, above it the coefficients. Out: the coefficients.
module bench #(
    parameter int unsigned LOG2_DEGREE = 5,
    parameter int unsigned WIDTH = 16,
    parameter int unsigned LANES = 4,
    parameter int unsigned REPEATS = 2,
    parameter bit SUBTRACTS = 1'b1,
    parameter int unsigned MULTIPLEXER = 1,
    parameter int unsigned ADDER = 1,
    localparam int unsigned GROUP = (1 << LOG2_DEGREE) / LANES
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [WIDTH*LANES+LOG2_DEGREE:0] in_data,
    output logic out_valid,
    output logic [WIDTH*LANES*REPEATS-1:0] out_data
);
    logic [WIDTH-1:0] in[LANES], out[LANES*REPEATS];
    logic start, next, starts;
    int unsigned words;  // of the polynomial, those that have come

    for (genvar lane = 0; lane < LANES; lane++) begin : ins
        assign in[lane] = in_data[WIDTH*lane+LOG2_DEGREE+1+:WIDTH];
    end
    for (genvar lane = 0; lane < LANES * REPEATS; lane++) begin : outs
        assign out_data[WIDTH*lane+:WIDTH] = out[lane];
    end
    always_ff @(posedge clock) words <= reset ? 0 : in_valid ? (words + 1) % GROUP : words;
    assign start = in_valid && words == 0;
    rotator #(
        .LOG2_DEGREE(LOG2_DEGREE),
        .WIDTH(WIDTH),
        .LANES(LANES),
        .REPEATS(REPEATS),
        .SUBTRACTS(SUBTRACTS),
        .MULTIPLEXER(MULTIPLEXER),
        .ADDER(ADDER)
    ) unit (
        .clock,
        .reset,
        .start,
        .amount(in_data[LOG2_DEGREE:0]),
        .in,
        .next,
        .out
    );
    // Checks the latency function against the unit's start signal at a polynomial's first word.
    delay #(
        .CYCLES(latency::rotator(LOG2_DEGREE, GROUP, MULTIPLEXER, ADDER)),
        .WIDTH (2)
    ) valid (
        .clock,
        .reset,
        .in ({start, in_valid}),
        .out({starts, out_valid})
    );
    always_ff @(posedge clock) if (!reset) assert (next == starts);
endmodule
