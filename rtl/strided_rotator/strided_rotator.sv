// Strix' rotator with its section of the local scratchpad (sections IV-A and V-C): X^a p - p modulo X^N + 1, N = 2^LOG2_DEGREE, for polynomials in COLUMNS banks, with coefficient i in column i / LINES, line i mod LINES, LINES = N / COLUMNS. So a line has the coefficients that the lanes of a transform need together, also for folding.
//
// A line of X^a p is another line with rotated columns: a second pointer reads all banks at the same address, columns are rotated by the amount divided by the lines, and coefficients that pass X^N change sign. A bank's read and the rotation take a cycle each. A third pointer reads the polynomials to which products are added.
module strided_rotator #(
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
    // Starts a polynomial's rotation; its LINES cycles follow automatically.
    input logic start,
    input logic [CHOICE-1:0] rotated,
    input logic [LOG2_DEGREE:0] amount,
    output logic next,  // with the first difference
    output logic [WIDTH-1:0] differences[COLUMNS],
    // Reads a line unrotated, a cycle later.
    input logic [CHOICE-1:0] read,
    input logic [LOG2_LINES-1:0] read_line,
    output logic [WIDTH-1:0] old[COLUMNS]
);
    // The current line, and the number modulo 2 N of the coefficient of p that is first there.
    logic [LOG2_LINES-1:0] line_after, own_line;
    logic [LOG2_DEGREE:0] first_after, first;
    logic [CHOICE-1:0] chosen_before, chosen;
    assign own_line = start ? '0 : line_after;
    assign first = start ? -amount : first_after;
    assign chosen = start ? rotated : chosen_before;
    always_ff @(posedge clock) begin
        line_after <= own_line + 1'b1;
        first_after <= first + 1'b1;
        chosen_before <= chosen;
    end

    // Column rotation by X^a; the signs repeat after 2 COLUMNS.
    logic [LOG2_COLUMNS:0] turn;
    logic [WIDTH-1:0] own[COLUMNS], far[COLUMNS];
    always_ff @(posedge clock) turn <= first[LOG2_DEGREE:LOG2_LINES];
    for (genvar column = 0; column < COLUMNS; column++) begin : columns
        logic [WIDTH-1:0] bank[POLYNOMIALS<<LOG2_LINES];
        always_ff @(posedge clock) begin
            if (writes) bank[{written, line}] <= coefficients[column];
            own[column] <= bank[{chosen, own_line}];
            far[column] <= bank[{chosen, first[LOG2_LINES-1:0]}];
            old[column] <= bank[{read, read_line}];
        end
    end

    // The rotation, and the subtraction.
    for (genvar place = 0; place < COLUMNS; place++) begin : places
        logic [LOG2_COLUMNS:0] from;
        logic [WIDTH-1:0] own_one, far_one;
        logic negated;
        assign from = turn + (LOG2_COLUMNS + 1)'(place);
        always_ff @(posedge clock) begin
            own_one <= own[place];
            far_one <= far[from[LOG2_COLUMNS-1:0]];
            negated <= from[LOG2_COLUMNS];
        end
        delay #(
            .CYCLES(ADDER),
            .WIDTH (WIDTH)
        ) adder (
            .clock,
            .reset(1'b0),
            .in (negated ? -(far_one + own_one) : far_one - own_one),
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
