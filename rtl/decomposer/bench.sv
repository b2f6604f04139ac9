// In: the coefficients, above them the level. Out: each lane's digits.
module bench #(
    parameter int unsigned WIDTH = 32,
    parameter int unsigned LOG2_BASE = 8,
    parameter int unsigned LEVELS = 2,
    parameter int unsigned SIDE = 1,
    parameter int unsigned STEPS = 2,
    parameter int unsigned LANES = 2,
    parameter int unsigned ADDER = 1,
    localparam int unsigned CHOICE = LEVELS > 1 ? $clog2(LEVELS) : 1
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [WIDTH*LANES+CHOICE-1:0] in_data,
    output logic out_valid,
    output logic [LOG2_BASE*LANES*SIDE-1:0] out_data
);
    logic [WIDTH-1:0] in[LANES];
    logic signed [LOG2_BASE-1:0] digits[LANES][SIDE];
    for (genvar lane = 0; lane < LANES; lane++) begin : lanes
        assign in[lane] = in_data[WIDTH*lane+:WIDTH];
        for (genvar side = 0; side < SIDE; side++) begin : sides
            assign out_data[LOG2_BASE*(SIDE*lane+side)+:LOG2_BASE] = digits[lane][side];
        end
    end
    decomposer #(
        .WIDTH(WIDTH),
        .LOG2_BASE(LOG2_BASE),
        .LEVELS(LEVELS),
        .SIDE(SIDE),
        .STEPS(STEPS),
        .LANES(LANES),
        .ADDER(ADDER)
    ) unit (
        .clock,
        .in,
        .level(in_data[WIDTH*LANES+:CHOICE]),
        .digits
    );
    delay #(
        .CYCLES(latency::decomposer(WIDTH - LOG2_BASE * LEVELS, STEPS, ADDER))
    ) valid (
        .clock,
        .reset,
        .in (in_valid),
        .out(out_valid)
    );
endmodule
