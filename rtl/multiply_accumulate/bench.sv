// In: for each parallel row, its digits' points, then for each column the key's; real part and above it the imaginary one. Out: the columns.
module bench #(
    parameter int unsigned LANES = 2,
    parameter int unsigned CYCLES = 4,
    parameter int unsigned COLUMNS = 2,
    parameter int unsigned SIDE = 1,
    parameter int unsigned STEPS = 4,
    parameter int unsigned WIDTH = 29,
    parameter int unsigned KEY = 26,
    parameter int unsigned SHIFT = 20,
    parameter int unsigned OUT = 29,
    parameter int unsigned ADDER = 1,
    parameter int unsigned MULTIPLIER = 4,
    localparam int unsigned ROW = 2 * LANES * (WIDTH + COLUMNS * KEY)
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [SIDE*ROW-1:0] in_data,
    output logic out_valid,
    output logic [2*COLUMNS*LANES*OUT-1:0] out_data
);
    logic signed [WIDTH-1:0] digits[SIDE][LANES][2];
    logic signed [KEY-1:0] key[SIDE][COLUMNS][LANES][2];
    logic signed [OUT-1:0] sums[COLUMNS][LANES][2];
    logic next, starts;
    int unsigned words;  // of all steps, those that have come

    for (genvar lane = 0; lane < LANES; lane++) begin : lanes
        for (genvar part = 0; part < 2; part++) begin : parts
            for (genvar row = 0; row < SIDE; row++) begin : rows
                assign digits[row][lane][part] = in_data[row*ROW+(2*lane+part)*WIDTH+:WIDTH];
                for (genvar column = 0; column < COLUMNS; column++) begin : columns
                    assign key[row][column][lane][part] = in_data[row*ROW+2*LANES*(WIDTH+column*KEY)+(2*lane+part)*KEY+:KEY];
                end
            end
            for (genvar column = 0; column < COLUMNS; column++) begin : outs
                assign out_data[(2*(column*LANES+lane)+part)*OUT+:OUT] = sums[column][lane][part];
            end
        end
    end
    always_ff @(posedge clock) words <= reset ? 0 : in_valid ? (words + 1) % (STEPS * CYCLES) : words;
    multiply_accumulate #(
        .LANES(LANES),
        .CYCLES(CYCLES),
        .COLUMNS(COLUMNS),
        .SIDE(SIDE),
        .STEPS(STEPS),
        .WIDTH(WIDTH),
        .KEY(KEY),
        .SHIFT(SHIFT),
        .OUT(OUT),
        .ADDER(ADDER),
        .MULTIPLIER(MULTIPLIER)
    ) unit (
        .clock,
        .reset,
        .start(in_valid && words == 0),
        .digits,
        .key,
        .next,
        .sums
    );
    // Sums belong to the last step; the unit's start signal accompanies the first one.
    delay #(
        .CYCLES(latency::multiply_accumulate(SIDE, STEPS, MULTIPLIER, ADDER)),
        .WIDTH (2)
    ) valid (
        .clock,
        .reset,
        .in ({in_valid && words == (STEPS - 1) * CYCLES, in_valid && words + CYCLES >= STEPS * CYCLES}),
        .out({starts, out_valid})
    );
    always_ff @(posedge clock) if (!reset) assert (next == starts);
endmodule
