// SPDX-License-Identifier: Apache-2.0
// Morphling's array of ROWS x COLUMNS vector processing elements (section V-A.2, figure 5). Each row has another ciphertext's digits, each column another one of the key's; both move from neighbour to neighbour, one hop per cycle, so a row receives its digits a cycle after the row above. Sums stay in the elements and leave a row on the right,
// column after column.
//
// A word reaches column c after c cycles, and leaves it to the right edge in COLUMNS - 1 - c: all columns have the same latency. Columns take CYCLES words each to leave, so there are at most STEPS of them. Sums leave as those of the last step arrive, or WAITS cycles later.
module vpe_array #(
    parameter int unsigned ROWS = 4,
    parameter int unsigned COLUMNS = 4,
    parameter int unsigned POINTS = 8,
    parameter int unsigned CYCLES = 4,
    parameter int unsigned STEPS = 4,
    parameter int unsigned WIDTH = 32,
    parameter int unsigned SHIFT = 20,
    parameter int unsigned OUT = 32,
    parameter int unsigned WAITS = 0,  // at most CYCLES
    parameter int unsigned ADDER = 1,
    parameter int unsigned MULTIPLIER = 3
) (
    input logic clock,
    input logic reset,
    input logic start[ROWS],  // with the first word of a row's first step
    input logic signed [WIDTH-1:0] digits[ROWS][POINTS][2],  // real and imaginary part
    input logic signed [WIDTH-1:0] key[COLUMNS][POINTS][2],  // column c a cycle after column c - 1
    output logic next[ROWS],  // with the first sums of the first column
    output logic signed [OUT-1:0] sums[ROWS][POINTS][2]
);
    // Left of each column, and right of the last one, except for the output; above each row, and below the last one.
    logic starts[ROWS][COLUMNS+1];
    logic signed [WIDTH-1:0] rightward[ROWS][COLUMNS+1][POINTS][2];
    logic signed [WIDTH-1:0] downward[ROWS+1][COLUMNS][POINTS][2];
    logic signed [OUT-1:0] leaving[ROWS][COLUMNS][POINTS][2];
    logic turns[ROWS][COLUMNS];

    for (genvar column = 0; column < COLUMNS; column++) begin : tops
        assign downward[0][column] = key[column];
    end
    for (genvar row = 0; row < ROWS; row++) begin : rows
        assign starts[row][0] = start[row];
        assign rightward[row][0] = digits[row];
        for (genvar point = 0; point < POINTS; point++) begin : nothing
            assign leaving[row][0][point] = '{'0, '0};
        end
        // The first column is drained WAITS cycles after its last step's sums begin to arrive; each later one after the previous one, one hop later.
        delay #(
            .CYCLES(latency::schoolbook_multiplier(MULTIPLIER, ADDER) + ADDER + (STEPS - 1) * CYCLES + WAITS)
        ) first_turn (
            .clock,
            .reset,
            .in (start[row]),
            .out(turns[row][0])
        );
        delay #(
            .CYCLES(COLUMNS - 1)
        ) to_the_edge (
            .clock,
            .reset,
            .in (turns[row][0]),
            .out(next[row])
        );
        for (genvar column = 0; column < COLUMNS; column++) begin : columns
            logic signed [OUT-1:0] drained[POINTS][2];
            if (column > 0) begin : later
                delay #(
                    .CYCLES(CYCLES + 1)
                ) turn (
                    .clock,
                    .reset,
                    .in (turns[row][column-1]),
                    .out(turns[row][column])
                );
            end
            vpe #(
                .POINTS(POINTS),
                .CYCLES(CYCLES),
                .STEPS(STEPS),
                .WIDTH(WIDTH),
                .SHIFT(SHIFT),
                .OUT(OUT),
                .ADDER(ADDER),
                .MULTIPLIER(MULTIPLIER)
            ) element (
                .clock,
                .reset,
                .start(starts[row][column]),
                .digits(rightward[row][column]),
                .turn(turns[row][column]),
                .passing(leaving[row][column]),
                .key(downward[row][column]),
                .start_right(starts[row][column+1]),
                .digits_right(rightward[row][column+1]),
                .key_down(downward[row+1][column]),
                .drained
            );
            if (column + 1 < COLUMNS) begin : hop
                always_ff @(posedge clock) leaving[row][column+1] <= drained;
            end else begin : edge_of_row
                assign sums[row] = drained;
            end
        end
    end
endmodule
