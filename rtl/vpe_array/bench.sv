// In: for each row a word of digits, for each column one of the key; they are delayed here until their neighbours have theirs. Out: for each row a word of sums, the first column's first; upper rows wait for the last one.
module bench #(
    parameter int unsigned ROWS = 4,
    parameter int unsigned COLUMNS = 4,
    parameter int unsigned POINTS = 8,
    parameter int unsigned CYCLES = 4,
    parameter int unsigned STEPS = 4,
    parameter int unsigned WIDTH = 32,
    parameter int unsigned SHIFT = 20,
    parameter int unsigned OUT = 32,
    parameter int unsigned ADDER = 1,
    parameter int unsigned MULTIPLIER = 3
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [2*(ROWS+COLUMNS)*POINTS*WIDTH-1:0] in_data,
    output logic out_valid,
    output logic [2*ROWS*POINTS*OUT-1:0] out_data
);
    localparam int unsigned WORD = 2 * POINTS * WIDTH;
    localparam int unsigned SUMS = 2 * POINTS * OUT;
    logic start[ROWS], next[ROWS];
    logic signed [WIDTH-1:0] digits[ROWS][POINTS][2], key[COLUMNS][POINTS][2];
    logic signed [OUT-1:0] sums[ROWS][POINTS][2];
    int unsigned words;  // of all steps, those that have come
    always_ff @(posedge clock) words <= reset ? 0 : in_valid ? (words + 1) % (STEPS * CYCLES) : words;

    for (genvar row = 0; row < ROWS; row++) begin : rows
        logic [WORD-1:0] given;
        logic [SUMS-1:0] found;
        delay #(
            .CYCLES(row),
            .WIDTH (WORD + 1)
        ) skew (
            .clock,
            .reset,
            .in ({in_valid && words == 0, in_data[row*WORD+:WORD]}),
            .out({start[row], given})
        );
        for (genvar i = 0; i < 2 * POINTS; i++) begin : parts
            assign digits[row][i/2][i%2] = given[i*WIDTH+:WIDTH];
            assign found[i*OUT+:OUT] = sums[row][i/2][i%2];
        end
        delay #(
            .CYCLES(ROWS - 1 - row),
            .WIDTH (SUMS)
        ) skew_back (
            .clock,
            .reset,
            .in (found),
            .out(out_data[row*SUMS+:SUMS])
        );
    end
    for (genvar column = 0; column < COLUMNS; column++) begin : columns
        logic [WORD-1:0] given;
        delay #(
            .CYCLES(column),
            .WIDTH (WORD)
        ) skew (
            .clock,
            .reset,
            .in (in_data[(ROWS+column)*WORD+:WORD]),
            .out(given)
        );
        for (genvar i = 0; i < 2 * POINTS; i++) begin : parts
            assign key[column][i/2][i%2] = given[i*WIDTH+:WIDTH];
        end
    end
    vpe_array #(
        .ROWS(ROWS),
        .COLUMNS(COLUMNS),
        .POINTS(POINTS),
        .CYCLES(CYCLES),
        .STEPS(STEPS),
        .WIDTH(WIDTH),
        .SHIFT(SHIFT),
        .OUT(OUT),
        .ADDER(ADDER),
        .MULTIPLIER(MULTIPLIER)
    ) unit (
        .clock,
        .reset,
        .start,
        .digits,
        .key,
        .next,
        .sums
    );
    // The words of all columns after the last row's first one, at the latency of the function.
    logic first;
    int unsigned left, out_words;
    delay #(
        .CYCLES(latency::vpe_array(COLUMNS, MULTIPLIER, ADDER) + ROWS - 1)
    ) starts (
        .clock,
        .reset,
        .in (in_valid && words == (STEPS - 1) * CYCLES),
        .out(first)
    );
    assign out_words = first ? COLUMNS * CYCLES : left;
    assign out_valid = out_words != 0;
    always_ff @(posedge clock) begin
        left <= reset || out_words == 0 ? 0 : out_words - 1;
        if (!reset) assert (next[ROWS-1] == first);
    end
    logic unused;
    assign unused = next[0];
endmodule
