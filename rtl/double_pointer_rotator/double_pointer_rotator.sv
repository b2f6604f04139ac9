// SPDX-License-Identifier: Apache-2.0
// Morphling's rotation in a bank of Private-A1 (section V-C): X^a p - p modulo X^N + 1, N = 2^LOG2_DEGREE, for polynomials in the bank. Coefficient i is in column i mod COLUMNS, line i / COLUMNS.
//
// The first pointer reads a line per cycle. The second one reads the COLUMNS consecutive coefficients of X^a p for that line: one per column, from one of two neighbouring lines, for any amount; the reorder unit rotates
// them to their places. So a pointer reads each column once, and no delay depends on the amount. A bank's read and the reorder unit take a cycle each.
module double_pointer_rotator #(
    parameter int unsigned LOG2_DEGREE = 6,
    parameter int unsigned LOG2_COLUMNS = 3,
    parameter int unsigned POLYNOMIALS = 2,
    parameter int unsigned WIDTH = 32,
    parameter int unsigned ADDER = 1,
    localparam int unsigned COLUMNS = 1 << LOG2_COLUMNS,
    localparam int unsigned LOG2_LINES = LOG2_DEGREE - LOG2_COLUMNS,
    localparam int unsigned CHOICE = POLYNOMIALS > 1 ? $clog2(POLYNOMIALS) : 1
) (
    input logic clock,
    input logic reset,
    // Writes a line.
    input logic writes,
    input logic [CHOICE-1:0] written,
    input logic [LOG2_LINES-1:0] line,
    input logic [WIDTH-1:0] coefficients[COLUMNS],
    // Starts a polynomial's rotation; its N / COLUMNS cycles follow automatically.
    input logic start,
    input logic [CHOICE-1:0] read,
    input logic [LOG2_DEGREE:0] amount,
    output logic next,  // with the first difference
    output logic [WIDTH-1:0] differences[COLUMNS]
);
    // Both pointers: the current line, and the number modulo 2 N of its first coefficient in X^a p.
    logic [LOG2_LINES-1:0] line_after, own_line;
    logic [LOG2_DEGREE:0] rotated_after, rotated;
    logic [CHOICE-1:0] chosen_before, chosen;
    assign own_line = start ? '0 : line_after;
    assign rotated = start ? -amount : rotated_after;
    assign chosen = start ? read : chosen_before;
    always_ff @(posedge clock) begin
        line_after <= own_line + 1'b1;
        rotated_after <= rotated + (LOG2_DEGREE + 1)'(COLUMNS);
        chosen_before <= chosen;
    end

    // The column of the first coefficient, delayed like the banks' outputs.
    logic [LOG2_COLUMNS-1:0] turn;
    logic [WIDTH-1:0] own[COLUMNS], far[COLUMNS];
    logic negated[COLUMNS];
    always_ff @(posedge clock) turn <= rotated[LOG2_COLUMNS-1:0];
    for (genvar column = 0; column < COLUMNS; column++) begin : columns
        logic [WIDTH-1:0] bank[POLYNOMIALS<<LOG2_LINES];
        logic [LOG2_DEGREE:0] coefficient;  // that this column has, of those from `rotated` on
        logic [LOG2_COLUMNS-1:0] place;
        assign place = LOG2_COLUMNS'(column) - rotated[LOG2_COLUMNS-1:0];
        assign coefficient = rotated + {(LOG2_LINES + 1)'(0), place};
        always_ff @(posedge clock) begin
            if (writes) bank[{written, line}] <= coefficients[column];
            own[column] <= bank[{chosen, own_line}];
            far[column] <= bank[{chosen, coefficient[LOG2_DEGREE-1:LOG2_COLUMNS]}];
            negated[column] <= coefficient[LOG2_DEGREE];
        end
        logic unused;
        assign unused = ^coefficient[LOG2_COLUMNS-1:0];
    end

    // The reorder unit, and the subtraction.
    for (genvar place = 0; place < COLUMNS; place++) begin : places
        logic [LOG2_COLUMNS-1:0] from;
        logic [WIDTH-1:0] own_one, far_one;
        logic negated_one;
        assign from = turn + LOG2_COLUMNS'(place);
        always_ff @(posedge clock) begin
            own_one <= own[place];
            far_one <= far[from];
            negated_one <= negated[from];
        end
        delay #(
            .CYCLES(ADDER),
            .WIDTH (WIDTH)
        ) adder (
            .clock,
            .reset(1'b0),
            .in (negated_one ? -(far_one + own_one) : far_one - own_one),
            .out(differences[place])
        );
    end
    delay #(
        .CYCLES(latency::double_pointer_rotator(ADDER))
    ) starts (
        .clock,
        .reset,
        .in (start),
        .out(next)
    );
endmodule
