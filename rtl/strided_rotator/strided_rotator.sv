// SPDX-License-Identifier: Apache-2.0
// Strix' rotator with its section of the local scratchpad (sections IV-A and V-C): X^a p - p modulo X^N + 1, N = 2^LOG2_DEGREE, for polynomials in COLUMNS banks. With LINES = N / COLUMNS, coefficient i is in column i / LINES and line i mod LINES. So a line has the coefficients that the lanes of a transform need together, also for folding.
//
// A line of X^a p is another line with rotated columns: a second pointer reads all banks at the same address. Columns are rotated by the amount divided by the lines, and coefficients that pass X^N change sign. A bank's read and the rotation take a cycle each.
//
// Banks have two ports (section VI-A: true dual-port). One reads for the first pointer, or writes; the other reads for the second pointer, or for one of the readers, such as the accumulators that products are added to. A polynomial is rotated, added to and written at different times, so each group of banks serves one of these at a time. Polynomial p is in group p mod 2^LOG2_GROUPS, and `clash` reports two accesses on a port.
module strided_rotator #(
    parameter int unsigned LOG2_DEGREE = 6,
    parameter int unsigned LOG2_COLUMNS = 3,
    parameter int unsigned POLYNOMIALS = 2,
    parameter int unsigned LOG2_GROUPS = 1,  // at most that of the polynomials, rounded up
    parameter int unsigned READERS = 1,
    parameter int unsigned WIDTH = 32,
    parameter int unsigned ADDER = 1,
    localparam int unsigned COLUMNS = 1 << LOG2_COLUMNS,
    localparam int unsigned LOG2_LINES = LOG2_DEGREE - LOG2_COLUMNS,
    localparam int unsigned CHOICE = POLYNOMIALS > 1 ? $clog2(POLYNOMIALS) : 1
) (
    input logic clock,
    input logic reset,
    // Loads columns of a line.
    input logic [COLUMNS-1:0] loads,
    input logic [CHOICE-1:0] loaded,
    input logic [LOG2_LINES-1:0] loaded_line,
    input logic [WIDTH-1:0] fresh[COLUMNS],
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
    // Each reader reads a line unrotated, a cycle later.
    input logic reads[READERS],
    input logic [CHOICE-1:0] read[READERS],
    input logic [LOG2_LINES-1:0] read_line[READERS],
    output logic [WIDTH-1:0] old[READERS][COLUMNS],
    output logic clash
);
    localparam int unsigned GROUPS = 1 << LOG2_GROUPS;
    localparam int unsigned GROUP = LOG2_GROUPS > 0 ? LOG2_GROUPS : 1;
    localparam int unsigned PLACE = CHOICE - LOG2_GROUPS + LOG2_LINES;

    // The current line, and the number modulo 2 N of the coefficient of p that is first there.
    logic rotates, rotates_after;
    logic [LOG2_LINES-1:0] line_after, own_line;
    logic [LOG2_DEGREE:0] first_after, first;
    logic [CHOICE-1:0] chosen_before, chosen;
    assign rotates = start || rotates_after;
    assign own_line = start ? '0 : line_after;
    assign first = start ? -amount : first_after;
    assign chosen = start ? rotated : chosen_before;
    always_ff @(posedge clock) begin
        rotates_after <= !reset && rotates && !(&own_line);
        line_after <= own_line + 1'b1;
        first_after <= first + 1'b1;
        chosen_before <= chosen;
    end

    // The banks; `place` is an address in a group.
    function automatic logic [GROUP-1:0] group(input logic [CHOICE-1:0] polynomial);
        return GROUP'(32'(polynomial) % GROUPS);
    endfunction
    function automatic logic [PLACE-1:0] place(input logic [CHOICE-1:0] polynomial, input logic [LOG2_LINES-1:0] at);
        return PLACE'({polynomial, at} & ((1 << LOG2_LINES) - 1)) | PLACE'(32'(polynomial) >> LOG2_GROUPS << LOG2_LINES);
    endfunction
    logic [WIDTH-1:0] firsts[GROUPS][COLUMNS], seconds[GROUPS][COLUMNS];
    logic [GROUPS-1:0] clashes;
    for (genvar g = 0; g < GROUPS; g++) begin : groups
        logic own_here, loads_here, writes_here;
        assign own_here = rotates && 32'(group(chosen)) == g;
        assign loads_here = |loads && 32'(group(loaded)) == g;
        assign writes_here = writes && 32'(group(written)) == g;
        logic [PLACE-1:0] at, second_at;
        logic [$clog2(READERS+2)-1:0] seconds_here;
        always_comb begin
            second_at = place(chosen, first[LOG2_LINES-1:0]);
            seconds_here = ($clog2(READERS + 2))'(own_here);
            for (int reader = 0; reader < READERS; reader++) begin
                if (reads[reader] && 32'(group(read[reader])) == g) begin
                    second_at = place(read[reader], read_line[reader]);
                    seconds_here += 1'b1;
                end
            end
        end
        assign clashes[g] = 2'(own_here) + 2'(loads_here) + 2'(writes_here) > 1 || seconds_here > 1;
        assign at = writes_here ? place(written, line) : loads_here ? place(loaded, loaded_line) : place(chosen, own_line);
        for (genvar column = 0; column < COLUMNS; column++) begin : columns
            logic [WIDTH-1:0] bank[1<<PLACE];
            always_ff @(posedge clock) begin
                if (writes_here || loads_here && loads[column]) bank[at] <= writes_here ? coefficients[column] : fresh[column];
                firsts[g][column] <= bank[at];
                seconds[g][column] <= bank[second_at];
            end
        end
    end
    assign clash = |clashes;

    // Column rotation by X^a; the signs repeat after 2 COLUMNS.
    logic [LOG2_COLUMNS:0] turn;
    logic [GROUP-1:0] own_group, old_groups[READERS];
    always_ff @(posedge clock) begin
        turn <= first[LOG2_DEGREE:LOG2_LINES];
        own_group <= group(chosen);
        for (int reader = 0; reader < READERS; reader++) old_groups[reader] <= group(read[reader]);
    end

    // The rotation, and the subtraction.
    for (genvar column = 0; column < COLUMNS; column++) begin : columns
        logic [LOG2_COLUMNS:0] from;
        logic [WIDTH-1:0] own_one, far_one;
        logic negated;
        for (genvar reader = 0; reader < READERS; reader++) begin : readers
            assign old[reader][column] = seconds[old_groups[reader]][column];
        end
        assign from = turn + (LOG2_COLUMNS + 1)'(column);
        always_ff @(posedge clock) begin
            own_one <= firsts[own_group][column];
            far_one <= seconds[own_group][from[LOG2_COLUMNS-1:0]];
            negated <= from[LOG2_COLUMNS];
        end
        delay #(
            .CYCLES(ADDER),
            .WIDTH (WIDTH)
        ) adder (
            .clock,
            .reset(1'b0),
            .in (negated ? -(far_one + own_one) : far_one - own_one),
            .out(differences[column])
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
