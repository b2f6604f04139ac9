// SPDX-License-Identifier: Apache-2.0
// The initial rotation of a blind rotation: X^-b times a test polynomial, on its way to banks in the order of `strided_rotator`. Coefficient i, in column i / LINES, goes to i - b modulo 2 N. Word w of the polynomial has LINK coefficients of line w / PARTS, in columns (w mod PARTS) LINK to (w mod PARTS) LINK + LINK - 1, PARTS = COLUMNS / LINK. So a word goes to
// one line, with rotated columns, and no word waits for another. The outputs to the banks are registers.
module initial_rotation #(
    parameter int unsigned LOG2_DEGREE = 6,
    parameter int unsigned LOG2_COLUMNS = 2,
    parameter int unsigned LINK = 4,  // a divisor of COLUMNS
    parameter int unsigned WIDTH = 32,
    localparam int unsigned COLUMNS = 1 << LOG2_COLUMNS,
    localparam int unsigned LOG2_LINES = LOG2_DEGREE - LOG2_COLUMNS,
    localparam int unsigned PARTS = COLUMNS / LINK,
    localparam int unsigned NUMBER = $clog2(PARTS << LOG2_LINES)
) (
    input logic clock,
    input logic reset,
    input logic comes,
    input logic [NUMBER-1:0] number,  // of a word
    input logic [LOG2_DEGREE:0] body,  // b
    input logic [WIDTH-1:0] fresh[LINK],
    output logic [COLUMNS-1:0] loads,
    output logic [LOG2_LINES-1:0] line,
    output logic [WIDTH-1:0] words[COLUMNS]
);
    logic [LOG2_DEGREE:0] moved;
    logic [LOG2_COLUMNS:0] turn;
    assign moved = (LOG2_DEGREE + 1)'(32'(number) / PARTS) - body;
    assign turn = moved[LOG2_DEGREE:LOG2_LINES];
    always_ff @(posedge clock) line <= moved[LOG2_LINES-1:0];
    for (genvar column = 0; column < COLUMNS; column++) begin : columns
        logic [LOG2_COLUMNS-1:0] from;
        logic [LOG2_COLUMNS:0] to;
        logic [WIDTH-1:0] coefficient;
        assign from = LOG2_COLUMNS'(column) - turn[LOG2_COLUMNS-1:0];
        assign to = (LOG2_COLUMNS + 1)'(from) + turn;
        assign coefficient = fresh[32'(from)%LINK];
        always_ff @(posedge clock) begin
            loads[column] <= !reset && comes && 32'(from) / LINK == 32'(number) % PARTS;
            words[column] <= to[LOG2_COLUMNS] ? -coefficient : coefficient;
        end
        logic unused;
        assign unused = ^to[LOG2_COLUMNS-1:0];
    end
endmodule
