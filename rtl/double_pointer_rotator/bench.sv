// In: whether it is a line or a start; then the polynomial, the line, the amount and the coefficients. Out: differences.
module bench #(
    parameter int unsigned LOG2_DEGREE = 6,
    parameter int unsigned LOG2_COLUMNS = 3,
    parameter int unsigned POLYNOMIALS = 2,
    parameter int unsigned WIDTH = 32,
    parameter int unsigned ADDER = 1,
    localparam int unsigned COLUMNS = 1 << LOG2_COLUMNS,
    localparam int unsigned LOG2_LINES = LOG2_DEGREE - LOG2_COLUMNS,
    localparam int unsigned CHOICE = POLYNOMIALS > 1 ? $clog2(POLYNOMIALS) : 1,
    localparam int unsigned OPERANDS = 2 + CHOICE + LOG2_LINES + LOG2_DEGREE
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [OPERANDS+COLUMNS*WIDTH-1:0] in_data,
    output logic out_valid,
    output logic [COLUMNS*WIDTH-1:0] out_data
);
    logic [WIDTH-1:0] coefficients[COLUMNS], differences[COLUMNS];
    logic next, start;
    logic [LOG2_LINES:0] left, words;
    assign start = in_valid && in_data[0];
    for (genvar column = 0; column < COLUMNS; column++) begin : columns
        assign coefficients[column] = in_data[OPERANDS+column*WIDTH+:WIDTH];
        assign out_data[column*WIDTH+:WIDTH] = differences[column];
    end
    double_pointer_rotator #(
        .LOG2_DEGREE(LOG2_DEGREE),
        .LOG2_COLUMNS(LOG2_COLUMNS),
        .POLYNOMIALS(POLYNOMIALS),
        .WIDTH(WIDTH),
        .ADDER(ADDER)
    ) unit (
        .clock,
        .reset,
        .writes(in_valid && !in_data[0]),
        .written(in_data[1+:CHOICE]),
        .line(in_data[1+CHOICE+:LOG2_LINES]),
        .coefficients,
        .start,
        .read(in_data[1+:CHOICE]),
        .amount(in_data[1+CHOICE+LOG2_LINES+:LOG2_DEGREE+1]),
        .next,
        .differences
    );
    // Words of a polynomial after its start.
    assign words = next ? (LOG2_LINES + 1)'(1 << LOG2_LINES) : left;
    assign out_valid = words != 0;
    always_ff @(posedge clock) left <= reset || words == 0 ? '0 : words - 1'b1;
endmodule
