// SPDX-License-Identifier: Apache-2.0
// Morphling's Shared buffer (sections IV-A and V-D) between an XPU and lane groups: a bank for each row of the XPU, with the lane group of the same number. Rings of IN entries have a wave's rotation amounts and its table, rings of OUT entries have accumulators.
//
// To the XPU, a line of COLUMNS words a cycle: amounts of all rows, one behind the other, so a line may have some of two rows. Then come, row by row, zeros for the mask, and the table. Element e of row r is at place r (LWE_DIMENSION + 1) + e of the lines, so each column of its bank always goes to the same column of the link. From the XPU, lines of accumulators, row by row.
//
// To a lane group, vectors of LANES words, of which lane l has coefficient l N/LANES + t. A line has coefficients N/COLUMNS apart, so a vector has PARTS = LANES / COLUMNS lines N/LANES apart, which are in different banks of a row.
module shared_buffer #(
    parameter int unsigned LOG2_DEGREE = 7,
    parameter int unsigned LOG2_COLUMNS = 2,
    parameter int unsigned LOG2_LANES = 3,  // at least LOG2_COLUMNS
    parameter int unsigned ROWS = 4,
    parameter int unsigned POLYNOMIALS = 2,
    parameter int unsigned LWE_DIMENSION = 79,
    parameter int unsigned IN = 2,
    parameter int unsigned OUT = 4,  // a power of two
    localparam int unsigned WIDTH = 32,
    localparam int unsigned COLUMNS = 1 << LOG2_COLUMNS,
    localparam int unsigned LANES = 1 << LOG2_LANES,
    localparam int unsigned SMALL = LWE_DIMENSION / LANES + 1,  // vectors of a ciphertext's amounts
    localparam int unsigned PLACE = $clog2(IN * SMALL),
    localparam int unsigned ENTRY_IN = IN > 1 ? $clog2(IN) : 1,
    localparam int unsigned ENTRY_OUT = OUT > 1 ? $clog2(OUT) : 1
) (
    input logic clock,
    input logic reset,
    // Memory channels.
    input logic table_comes,  // its next line
    input logic [ENTRY_IN-1:0] table_entry,
    input logic [WIDTH-1:0] table_line[COLUMNS],
    // Amounts from lane groups.
    input logic [ROWS-1:0] amounts_come,
    input logic [PLACE-1:0] amounts_place[ROWS],
    input logic [WIDTH-1:0] amounts[ROWS][LANES],
    // To the XPU, two cycles later.
    input logic sends,
    input logic [ENTRY_IN-1:0] sent_entry,
    output logic sends_last,  // in this cycle
    output logic line_leaves,
    output logic first,
    output logic [WIDTH-1:0] line[COLUMNS],
    // From the XPU.
    input logic line_comes,
    input logic [ENTRY_OUT-1:0] accumulators_entry,
    input logic [WIDTH-1:0] accumulators[COLUMNS],
    // To lane groups, a cycle later.
    input logic [ROWS-1:0] extracts,  // begins
    input logic [ROWS-1:0] wants,
    input logic [ENTRY_OUT-1:0] extracted_entry[ROWS],
    output logic [WIDTH-1:0] vectors[ROWS][LANES]
);
    localparam int unsigned LOG2_LINES = LOG2_DEGREE - LOG2_COLUMNS;
    localparam int unsigned LINES = 1 << LOG2_LINES;
    localparam int unsigned LOG2_VECTORS = LOG2_DEGREE - LOG2_LANES;
    localparam int unsigned PARTS = LANES / COLUMNS;
    localparam int unsigned WORDS = POLYNOMIALS * LINES;  // lines of an accumulator
    localparam int unsigned AMOUNT = LOG2_DEGREE + 1;
    localparam int unsigned SIZE = LWE_DIMENSION + 1;
    localparam int unsigned AMOUNT_LINES = (ROWS * SIZE + COLUMNS - 1) / COLUMNS;
    localparam int unsigned SENT = $clog2(AMOUNT_LINES + ROWS * WORDS);
    localparam int unsigned COME = $clog2(ROWS * WORDS);

    // Lines to the XPU: the number of the current one, and what it has a cycle later.
    logic sending, sending_after, read, read_first, read_amounts, read_table;
    logic [SENT-1:0] number, number_after;
    logic [ENTRY_IN-1:0] entry, entry_before;
    logic [31:0] of_table;
    assign sending = sends || sending_after;
    assign number = sends ? '0 : number_after;
    assign entry = sends ? sent_entry : entry_before;
    assign sends_last = sending && 32'(number) == AMOUNT_LINES + ROWS * WORDS - 1;
    assign of_table = (32'(number) - AMOUNT_LINES) % WORDS;
    always_ff @(posedge clock) begin
        sending_after <= !reset && sending && !sends_last;
        number_after <= number + 1'b1;
        entry_before <= entry;
        read <= !reset && sending;
        read_first <= sends;
        read_amounts <= 32'(number) < AMOUNT_LINES;
        read_table <= 32'(number) >= AMOUNT_LINES && of_table >= WORDS - LINES;
        line_leaves <= !reset && read;
        first <= read_first;
    end

    // The table.
    logic [LOG2_LINES-1:0] table_place;
    logic [WIDTH-1:0] read_line[COLUMNS];
    always_ff @(posedge clock) if (reset || table_comes) table_place <= reset ? '0 : table_place + 1'b1;
    for (genvar column = 0; column < COLUMNS; column++) begin : tables
        logic [WIDTH-1:0] bank[1<<(ENTRY_IN+LOG2_LINES)];
        always_ff @(posedge clock) begin
            if (table_comes) bank[{table_entry, table_place}] <= table_line[column];
            read_line[column] <= bank[{entry, LOG2_LINES'(of_table)}];
        end
    end

    // The amounts: a bank for each lane. It has elements for one column of the link, one in PARTS lines.
    logic [AMOUNT-1:0] found[ROWS][COLUMNS];
    for (genvar row = 0; row < ROWS; row++) begin : amounts_of_rows
        logic [LANES-1:0][AMOUNT-1:0] read_amount;
        for (genvar lane = 0; lane < LANES; lane++) begin : lanes
            localparam int signed OFFSET = int'((lane + row * SIZE) % COLUMNS) - int'(row * SIZE);
            logic [AMOUNT-1:0] bank[IN*SMALL], word;
            logic signed [31:0] element;
            logic here;
            assign element = 32'(number) * int'(COLUMNS) + OFFSET;
            always_ff @(posedge clock) begin
                if (amounts_come[row]) bank[amounts_place[row]] <= amounts[row][lane][AMOUNT-1:0];
                word <= bank[PLACE'(32'(entry)*SMALL+32'(element)/LANES)];
                here <= element >= 0 && element < int'(SIZE) && 32'(element) % LANES == lane;
            end
            assign read_amount[lane] = here ? word : '0;
        end
        for (genvar column = 0; column < COLUMNS; column++) begin : columns
            // The first lane of those with the column's elements; of them, one is read.
            localparam int unsigned FIRST = (column + COLUMNS * ROWS * SIZE - row * SIZE) % COLUMNS;
            always_comb begin
                found[row][column] = '0;
                for (int unsigned part = 0; part < PARTS; part++) found[row][column] |= read_amount[FIRST+part*COLUMNS];
            end
        end
    end
    for (genvar column = 0; column < COLUMNS; column++) begin : crossbar
        logic [AMOUNT-1:0] amount;
        always_comb begin
            amount = '0;
            for (int row = 0; row < ROWS; row++) amount |= found[row][column];
        end
        always_ff @(posedge clock) line[column] <= read_amounts ? WIDTH'(amount) : read_table ? read_line[column] : '0;
    end

    // Accumulators: the line that comes, and the vectors of each row.
    logic [COME-1:0] come;
    always_ff @(posedge clock) if (reset || line_comes) come <= reset || 32'(come) == ROWS * WORDS - 1 ? '0 : come + 1'b1;
    localparam int unsigned VECTOR = $clog2(POLYNOMIALS) + LOG2_VECTORS;
    for (genvar row = 0; row < ROWS; row++) begin : accumulators_of_rows
        logic [VECTOR-1:0] step, step_after, filled;
        logic [31:0] own;
        assign own = 32'(come) % WORDS;
        assign filled = VECTOR'(own / LINES * (LINES / PARTS) + own % (LINES / PARTS));
        assign step = extracts[row] ? '0 : step_after;
        always_ff @(posedge clock) if (wants[row]) step_after <= step + 1'b1;
        for (genvar part = 0; part < PARTS; part++) begin : parts
            logic fills;
            assign fills = line_comes && 32'(come) / WORDS == row && own % LINES / (LINES / PARTS) == part;
            for (genvar column = 0; column < COLUMNS; column++) begin : columns
                logic [WIDTH-1:0] bank[1<<(ENTRY_OUT+VECTOR)];
                always_ff @(posedge clock) begin
                    if (fills) bank[{accumulators_entry, filled}] <= accumulators[column];
                    vectors[row][column*PARTS+part] <= bank[{extracted_entry[row], step}];
                end
            end
        end
    end
    logic unused;
    always_comb begin
        unused = 1'b0;
        for (int row = 0; row < ROWS; row++) for (int lane = 0; lane < LANES; lane++) unused ^= ^amounts[row][lane][WIDTH-1:AMOUNT];
    end
endmodule
