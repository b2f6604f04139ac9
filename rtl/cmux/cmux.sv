// SPDX-License-Identifier: Apache-2.0
// FPT's only processing element, FFT-unrolled (sections 3.1 to 3.3, figure 2): ACC + (X^a ACC - ACC) x BK, with its output fed back to its input.
//
// Accumulator, rotator, decomposer, forward transform, dot products, inverse transform, accumulator: a rigid ring whose only control is a start signal passed from unit to unit. IN_FLIGHT ciphertexts
// circulate; registers extend the ring to a whole number of them (section 3.2), so each returns to the rotator after IN_FLIGHT times the cycles of one. `loads` marks the initial words, of all
// ciphertexts in a row. They may replace the last sums of ciphertexts before them, which leave as `totals`; without new ones `drops` ends a rotation. A key word arrives in the cycle of its product, an amount with its polynomial's first word at the rotator.
//
// After the dot products all columns are available at once, and the inverse transform has 1/LEVELS of their lanes: each of LEVELS neighbouring pairs of lanes, and each column, waits a step longer than the
// previous one. These registers are the paper's PISO.
module cmux #(
    parameter int unsigned LOG2_POINTS = 5,
    parameter int unsigned LOG2_LANES = 2,  // of the forward transform: at least 2 LEVELS
    parameter int unsigned COLUMNS = 2,  // k + 1
    parameter int unsigned LOG2_BASE = 6,
    parameter int unsigned LEVELS = 2,  // a power of two
    parameter int unsigned IN_FLIGHT = 12,
    parameter int unsigned LOG2_RADIX = 4,
    parameter int unsigned LOAD = 10,  // places that digits are shifted left by
    parameter int unsigned FORWARD = 18,  // bits of each part of points
    parameter int unsigned FORWARD_SHIFTS = 0,  // as of fixed_fft
    parameter int unsigned FORWARD_FACTOR = 14,
    parameter int unsigned KEY = 20,
    parameter int unsigned PRODUCT_SHIFT = 10,
    parameter int unsigned INVERSE = 19,
    parameter int unsigned INVERSE_SHIFTS = 0,
    parameter int unsigned INVERSE_FACTOR = 15,
    parameter int unsigned SHIFT = 0,  // as of accumulator
    parameter int unsigned LEFT = 0,
    parameter int unsigned MULTIPLEXER = 1,
    parameter int unsigned ADDER = 1,
    parameter int unsigned MULTIPLIER = 4,
    localparam int unsigned LANES = 1 << LOG2_LANES,
    localparam int unsigned WIDTH = LOG2_BASE * LEVELS,  // bits of accumulators: those that digits keep
    localparam int unsigned COEFFICIENTS = 2 * LANES / LEVELS
) (
    input logic clock,
    input logic reset,
    input logic loads,
    input logic [WIDTH-1:0] fresh[COEFFICIENTS],
    input logic drops,
    input logic [LOG2_POINTS+1:0] amount,
    input logic signed [KEY-1:0] key[COLUMNS][LANES][2],
    output logic start,  // a polynomial's first word is at the rotator
    output logic products_come,  // at the accumulators
    output logic valid,  // new words of accumulators
    output logic [WIDTH-1:0] words[COEFFICIENTS],
    output logic [WIDTH-1:0] totals[COEFFICIENTS]
);
    localparam int unsigned LOG2_LEVELS = $clog2(LEVELS);
    localparam int unsigned LOG2_OUT = LOG2_LANES - LOG2_LEVELS;
    localparam int unsigned OUT_LANES = 1 << LOG2_OUT;
    localparam int unsigned STEP = 1 << (LOG2_POINTS - LOG2_LANES);
    localparam int unsigned GROUP = STEP * LEVELS;
    localparam int unsigned ROWS = COLUMNS * LEVELS;
    localparam int unsigned PERIOD = IN_FLIGHT * COLUMNS * GROUP;
    // Cycles from a word at the rotator to its new value.
    localparam int unsigned THROUGH = latency::cmux_product(LOG2_POINTS, LOG2_LANES, COLUMNS, LEVELS, LOG2_RADIX, MULTIPLEXER, MULTIPLIER, ADDER) + latency::accumulator(ADDER);

    // Accumulators, and the registers that extend the ring.
    logic signed [INVERSE-1:0] products[COEFFICIENTS];
    logic valid_again;
    logic [WIDTH-1:0] again[COEFFICIENTS];
    accumulator #(
        .LANES(COEFFICIENTS),
        .WORDS(PERIOD),
        .WIDTH(WIDTH),
        .PRODUCT(INVERSE),
        .SHIFT(SHIFT),
        .LEFT(LEFT),
        .ADDER(ADDER)
    ) accumulators (
        .clock,
        .reset,
        .valid(loads || products_come),
        .replaces(loads),
        .fresh,
        .products,
        .sums(words),
        .totals
    );
    delay #(
        .CYCLES(latency::accumulator(ADDER))
    ) validity (
        .clock,
        .reset,
        .in (loads || products_come && !drops),
        .out(valid)
    );
    for (genvar i = 0; i < COEFFICIENTS; i++) begin : ring
        delay #(
            .CYCLES(PERIOD - THROUGH),
            .WIDTH (WIDTH)
        ) filling_up (
            .clock,
            .reset(1'b0),
            .in (words[i]),
            .out(again[i])
        );
    end
    delay #(
        .CYCLES(PERIOD - THROUGH)
    ) validity_again (
        .clock,
        .reset,
        .in (valid),
        .out(valid_again)
    );
    // Words of a polynomial received so far.
    logic [$clog2(GROUP):0] come;
    assign start = valid_again && come == 0;
    always_ff @(posedge clock) come <= reset || valid_again && 32'(come) == GROUP - 1 ? '0 : valid_again ? come + 1'b1 : come;

    // Rotator and decomposer, level by level.
    logic rotated_starts, step_starts, steps_on;
    logic [WIDTH-1:0] rotated[2*LANES];
    logic signed [LOG2_BASE-1:0] digits[2*LANES][1];
    logic [$clog2(GROUP):0] rotated_after, rotated_word;
    rotator #(
        .LOG2_DEGREE(LOG2_POINTS + 1),
        .WIDTH(WIDTH),
        .LANES(COEFFICIENTS),
        .REPEATS(LEVELS),
        .MULTIPLEXER(MULTIPLEXER),
        .ADDER(ADDER)
    ) rotation (
        .clock,
        .reset,
        .start,
        .amount,
        .in(again),
        .next(rotated_starts),
        .out(rotated)
    );
    assign rotated_word = rotated_starts ? '0 : rotated_after;
    assign step_starts = 32'(rotated_word) < GROUP && 32'(rotated_word) % STEP == 0;
    always_ff @(posedge clock) rotated_after <= reset || 32'(rotated_word) >= GROUP - 1 ? ($clog2(GROUP) + 1)'(GROUP) : rotated_word + 1'b1;
    decomposer #(
        .WIDTH(WIDTH),
        .LOG2_BASE(LOG2_BASE),
        .LEVELS(LEVELS),
        .LANES(2 * LANES),
        .ADDER(ADDER)
    ) decomposition (
        .clock,
        .in(rotated),
        .level((LEVELS > 1 ? LOG2_LEVELS : 1)'(32'(rotated_word) / STEP)),
        .digits
    );
    delay #(
        .CYCLES(latency::decomposer(0, 1, ADDER))
    ) decomposed (
        .clock,
        .reset,
        .in (step_starts),
        .out(steps_on)
    );

    // The forward transform, and the dot products of all rows.
    logic signed [FORWARD-1:0] points[LANES][2], spectrum[1][LANES][2];
    logic spectrum_starts, first_row, sums_start;
    logic [$clog2(ROWS):0] row;
    logic signed [KEY-1:0] key_row[1][COLUMNS][LANES][2];
    logic signed [INVERSE-1:0] sums[COLUMNS][LANES][2];
    for (genvar lane = 0; lane < LANES; lane++) begin : folded
        assign points[lane][0] = FORWARD'(digits[lane][0]) <<< LOAD;
        assign points[lane][1] = FORWARD'(digits[lane+LANES][0]) <<< LOAD;
    end
    fixed_fft #(
        .LOG2_POINTS(LOG2_POINTS),
        .LOG2_LANES(LOG2_LANES),
        .LOG2_RADIX(LOG2_RADIX),
        .WIDTH(FORWARD),
        .SHIFTS(FORWARD_SHIFTS),
        .FACTOR(FORWARD_FACTOR),
        .ADDER(ADDER),
        .MULTIPLIER(MULTIPLIER)
    ) forward (
        .clock,
        .reset,
        .start(steps_on),
        .in(points),
        .next(spectrum_starts),
        .out(spectrum[0])
    );
    assign first_row = spectrum_starts && row == 0;
    always_ff @(posedge clock) row <= reset || spectrum_starts && 32'(row) == ROWS - 1 ? '0 : spectrum_starts ? row + 1'b1 : row;
    assign key_row[0] = key;
    multiply_accumulate #(
        .LANES(LANES),
        .CYCLES(STEP),
        .COLUMNS(COLUMNS),
        .STEPS(ROWS),
        .WIDTH(FORWARD),
        .KEY(KEY),
        .SHIFT(PRODUCT_SHIFT),
        .OUT(INVERSE),
        .ADDER(ADDER),
        .MULTIPLIER(MULTIPLIER)
    ) dot_products (
        .clock,
        .reset,
        .start(first_row),
        .digits(spectrum),
        .key(key_row),
        .next(sums_start),
        .sums
    );

    // Serialised: pair p of lanes of column c waits c GROUP + (p mod LEVELS) STEP cycles.
    logic signed [INVERSE-1:0] waited[COLUMNS][LANES][2], to_inverse[OUT_LANES][2], product_points[OUT_LANES][2];
    logic column_starts[COLUMNS], inverse_starts, product_starts;
    logic [$clog2(COLUMNS*GROUP):0] left_after, left;
    for (genvar column = 0; column < COLUMNS; column++) begin : piso
        for (genvar lane = 0; lane < LANES; lane++) begin : lanes
            for (genvar part = 0; part < 2; part++) begin : parts
                delay #(
                    .CYCLES(column * GROUP + lane / 2 % LEVELS * STEP),
                    .WIDTH (INVERSE)
                ) turn (
                    .clock,
                    .reset(1'b0),
                    .in (sums[column][lane][part]),
                    .out(waited[column][lane][part])
                );
            end
        end
        delay #(
            .CYCLES(column * GROUP)
        ) start_of (
            .clock,
            .reset,
            .in (sums_start),
            .out(column_starts[column])
        );
    end
    assign left = sums_start ? ($clog2(COLUMNS*GROUP) + 1)'(COLUMNS * GROUP) : left_after;
    always_ff @(posedge clock) left_after <= reset || left == 0 ? '0 : left - 1'b1;
    always_comb begin
        int unsigned place, level;
        logic [(COLUMNS > 1 ? $clog2(COLUMNS) : 1)-1:0] column;
        place = (COLUMNS * GROUP - 32'(left)) % (COLUMNS * GROUP);
        column = $bits(column)'(place / GROUP);
        level = place % GROUP / STEP;
        inverse_starts = 1'b0;
        for (int i = 0; i < COLUMNS; i++) inverse_starts |= column_starts[i];
        for (int lane = 0; lane < OUT_LANES; lane++) to_inverse[lane] = waited[column][(lane/2*LEVELS+level)*2+lane%2];
    end
    fixed_fft #(
        .LOG2_POINTS(LOG2_POINTS),
        .LOG2_LANES(LOG2_OUT),
        .LOG2_RADIX(LOG2_RADIX),
        .INVERSE(1'b1),
        .WIDTH(INVERSE),
        .SHIFTS(INVERSE_SHIFTS),
        .FACTOR(INVERSE_FACTOR),
        .ADDER(ADDER),
        .MULTIPLIER(MULTIPLIER)
    ) inverse (
        .clock,
        .reset,
        .start(inverse_starts),
        .in(to_inverse),
        .next(product_starts),
        .out(product_points)
    );
    for (genvar lane = 0; lane < OUT_LANES; lane++) begin : unfolded
        assign products[lane] = product_points[lane][0];
        assign products[lane+OUT_LANES] = product_points[lane][1];
    end
    logic [$clog2(GROUP):0] product_words, product_words_after;
    assign product_words = product_starts ? ($clog2(GROUP) + 1)'(GROUP) : product_words_after;
    assign products_come = product_words != 0;
    always_ff @(posedge clock) product_words_after <= reset || product_words == 0 ? '0 : product_words - 1'b1;
endmodule
