// SPDX-License-Identifier: Apache-2.0
// The PBS cluster of Strix' streaming core (section IV, figure 4): six stages that an iteration of a blind rotation passes once, ACC + (X^a ACC - ACC) x BK, from the local scratchpad and back, for BATCH ciphertexts of POLYNOMIALS polynomials each. There are as many parallel rotators, decomposers and transforms (PLP), and as many multiplier
// rows, inverse transforms and accumulators (CoLP).
//
// A start rotates a ciphertext and is passed from stage to stage. The rotator works for the cycles of one polynomial. The decomposer keeps it in its buffer and outputs the digits level by level, in LEVELS steps. In each step a tree sums a column's products with the rows of that level, and the sum is transformed back, so forward and inverse
// transforms have equal work (section IV-B). The accumulators sum the steps and write the last one's words back to the scratchpad. Starts are at least LEVELS polynomials apart. A ciphertext may start again in the cycle after its last word is written; the machine's schedule knows that cycle. A key's words arrive in the cycles of their products.
module pbs_cluster #(
    parameter int unsigned LOG2_POINTS = 5,
    parameter int unsigned LOG2_LANES = 1,  // CLP: complex points of a transform a cycle
    parameter int unsigned POLYNOMIALS = 2,  // k + 1, a power of two
    parameter int unsigned BATCH = 3,
    parameter int unsigned LOG2_GROUPS = 2,  // of the scratchpad's banks, as of strided_rotator
    parameter int unsigned WIDTH = 32,
    parameter int unsigned LOG2_BASE = 6,
    parameter int unsigned LEVELS = 2,
    parameter int unsigned LOAD = 10,  // places that digits are shifted left by
    parameter int unsigned FORWARD = 32,  // bits of each part of points
    parameter int unsigned FORWARD_SHIFTS = 0,  // as of fixed_fft
    parameter int unsigned FORWARD_FACTOR = 16,
    parameter int unsigned KEY = 32,
    parameter int unsigned PRODUCT_SHIFT = 10,
    parameter int unsigned INVERSE = 32,
    parameter int unsigned INVERSE_SHIFTS = 0,
    parameter int unsigned INVERSE_FACTOR = 16,
    parameter int unsigned SHIFT = 0,  // as of torus_rounding
    parameter int unsigned LEFT = 0,
    parameter int unsigned ADDER = 1,
    parameter int unsigned MULTIPLIER = 3,
    localparam int unsigned LANES = 1 << LOG2_LANES,
    localparam int unsigned COLUMNS = 2 * LANES,
    localparam int unsigned LOG2_LINES = LOG2_POINTS - LOG2_LANES,
    localparam int unsigned CHOICE = BATCH > 1 ? $clog2(BATCH) : 1
) (
    input logic clock,
    input logic reset,
    // Loads columns of a line of a ciphertext's polynomials.
    input logic [COLUMNS-1:0] loads,
    input logic [CHOICE-1:0] loaded,
    input logic [LOG2_LINES-1:0] line,
    input logic [WIDTH-1:0] fresh[POLYNOMIALS][COLUMNS],
    // An iteration of a ciphertext starts.
    input logic start,
    input logic [CHOICE-1:0] ciphertext,
    input logic [LOG2_POINTS+1:0] amount,
    input logic signed [KEY-1:0] key[POLYNOMIALS][POLYNOMIALS][LANES][2],  // by row, then column
    output logic valid,  // new words of accumulators, with their ciphertext and line
    output logic [CHOICE-1:0] written,
    output logic [LOG2_LINES-1:0] written_line,
    output logic [WIDTH-1:0] words[POLYNOMIALS][COLUMNS],
    output logic clash  // two accesses on a port of the scratchpad
);
    localparam int unsigned LINES = 1 << LOG2_LINES;
    localparam int unsigned DROPPED = WIDTH - LOG2_BASE * LEVELS;
    localparam int unsigned STREAM = LEVELS * LINES;

    // The local scratchpad with the rotators.
    logic writes, reads;
    logic [CHOICE-1:0] summed;
    logic [LOG2_LINES-1:0] product_line;
    logic [POLYNOMIALS-1:0] clashes;
    assign clash = |clashes;
    logic rotated_starts[POLYNOMIALS];
    logic [WIDTH-1:0] differences[POLYNOMIALS][COLUMNS], old[POLYNOMIALS][1][COLUMNS];
    for (genvar i = 0; i < POLYNOMIALS; i++) begin : rotators
        strided_rotator #(
            .LOG2_DEGREE(LOG2_POINTS + 1),
            .LOG2_COLUMNS(LOG2_LANES + 1),
            .POLYNOMIALS(BATCH),
            .LOG2_GROUPS(LOG2_GROUPS),
            .WIDTH(WIDTH),
            .ADDER(ADDER)
        ) rotator (
            .clock,
            .reset,
            .loads,
            .loaded,
            .loaded_line(line),
            .fresh(fresh[i]),
            .writes,
            .written,
            .line(written_line),
            .coefficients(words[i]),
            .start,
            .rotated(ciphertext),
            .amount,
            .next(rotated_starts[i]),
            .differences(differences[i]),
            .reads('{reads}),
            .read('{summed}),
            .read_line('{product_line}),
            .old(old[i]),
            .clash(clashes[i])
        );
    end

    // Words at the decomposers since a polynomial's first, over all levels.
    logic [$clog2(STREAM):0] digit_after, digit_word;
    logic digits_start, steps_start, first_level;
    logic [LOG2_LINES-1:0] place;
    assign digit_word = rotated_starts[0] ? '0 : digit_after;
    assign place = digit_word[LOG2_LINES-1:0];
    assign first_level = 32'(digit_word) < LINES;
    assign digits_start = 32'(digit_word) < STREAM && place == 0;
    always_ff @(posedge clock) digit_after <= reset || 32'(digit_word) >= STREAM - 1 ? ($clog2(STREAM) + 1)'(STREAM) : digit_word + 1'b1;
    delay #(
        .CYCLES(latency::decomposer(DROPPED, 2, ADDER))
    ) decomposed (
        .clock,
        .reset,
        .in (digits_start),
        .out(steps_start)
    );

    // Decomposers, and forward transforms.
    logic spectra_start[POLYNOMIALS];
    logic signed [FORWARD-1:0] spectra[POLYNOMIALS][LANES][2];
    for (genvar i = 0; i < POLYNOMIALS; i++) begin : rows
        logic [WIDTH-1:0] to_decompose[COLUMNS];
        logic signed [LOG2_BASE-1:0] digits[COLUMNS][1];
        logic signed [FORWARD-1:0] points[LANES][2];
        for (genvar column = 0; column < COLUMNS; column++) begin : buffers
            logic [WIDTH-1:0] buffer[LINES];
            assign to_decompose[column] = first_level ? differences[i][column] : buffer[place];
            always_ff @(posedge clock) if (first_level) buffer[place] <= differences[i][column];
        end
        decomposer #(
            .WIDTH(WIDTH),
            .LOG2_BASE(LOG2_BASE),
            .LEVELS(LEVELS),
            .LANES(COLUMNS),
            .ADDER(ADDER)
        ) decomposition (
            .clock,
            .in(to_decompose),
            .level((LEVELS > 1 ? $clog2(LEVELS) : 1)'(32'(digit_word) / LINES)),
            .digits
        );
        for (genvar lane = 0; lane < LANES; lane++) begin : folded
            assign points[lane][0] = FORWARD'(digits[lane][0]) <<< LOAD;
            assign points[lane][1] = FORWARD'(digits[lane+LANES][0]) <<< LOAD;
        end
        fixed_fft #(
            .LOG2_POINTS(LOG2_POINTS),
            .LOG2_LANES(LOG2_LANES),
            .MERGED(1'b1),
            .WIDTH(FORWARD),
            .SHIFTS(FORWARD_SHIFTS),
            .FACTOR(FORWARD_FACTOR),
            .REALS(4),
            .ADDER(ADDER),
            .MULTIPLIER(MULTIPLIER)
        ) forward (
            .clock,
            .reset,
            .start(steps_start),
            .in(points),
            .next(spectra_start[i]),
            .out(spectra[i])
        );
    end

    // Multipliers with their trees, of each column.
    logic sums_start;
    logic signed [INVERSE-1:0] sums[POLYNOMIALS][LANES][2];
    multiply_accumulate #(
        .LANES(LANES),
        .CYCLES(LINES),
        .COLUMNS(POLYNOMIALS),
        .SIDE(POLYNOMIALS),
        .STEPS(1),
        .WIDTH(FORWARD),
        .KEY(KEY),
        .SHIFT(PRODUCT_SHIFT),
        .OUT(INVERSE),
        .REALS(4),
        .ADDER(ADDER),
        .MULTIPLIER(MULTIPLIER)
    ) multipliers (
        .clock,
        .reset,
        .start(spectra_start[0]),
        .digits(spectra),
        .key,
        .next(sums_start),
        .sums
    );

    // Words at the accumulators since a ciphertext's first, over all steps, with that ciphertext.
    logic first_product;
    logic [CHOICE-1:0] summed_now, summed_before;
    logic [$clog2(STREAM):0] product_after, product_word;
    logic products_come, last_step, products_start[POLYNOMIALS];
    delay #(
        .CYCLES(latency::pbs_cluster_product(LOG2_POINTS, LOG2_LANES, POLYNOMIALS, DROPPED, MULTIPLIER, ADDER)),
        .WIDTH (CHOICE + 1)
    ) alignment (
        .clock,
        .reset,
        .in ({start, ciphertext}),
        .out({first_product, summed_now})
    );
    assign summed = first_product ? summed_now : summed_before;
    assign product_word = first_product ? '0 : product_after;
    assign product_line = product_word[LOG2_LINES-1:0];
    assign products_come = 32'(product_word) < STREAM;
    assign reads = 32'(product_word) < LINES;
    assign last_step = products_come && 32'(product_word) >= STREAM - LINES;
    always_ff @(posedge clock) begin
        product_after <= reset || 32'(product_word) >= STREAM - 1 ? ($clog2(STREAM) + 1)'(STREAM) : product_word + 1'b1;
        summed_before <= summed;
        // Each step's start has passed all stages.
        if (!reset) assert (products_start[0] == (products_come && product_line == 0));
    end
    delay #(
        .CYCLES(latency::accumulator(ADDER)),
        .WIDTH (1 + CHOICE + LOG2_LINES)
    ) way_back (
        .clock,
        .reset,
        .in ({last_step, summed, product_line}),
        .out({writes, written, written_line})
    );
    assign valid = writes;

    // Inverse transforms, and accumulators.
    for (genvar i = 0; i < POLYNOMIALS; i++) begin : columns
        logic signed [INVERSE-1:0] points[LANES][2], products[COLUMNS];
        logic [WIDTH-1:0] buffered[COLUMNS];
        logic unused_sums;
        always_comb begin
            unused_sums = 1'b0;
            for (int column = 0; column < COLUMNS; column++) unused_sums ^= ^buffered[column];
        end
        fixed_fft #(
            .LOG2_POINTS(LOG2_POINTS),
            .LOG2_LANES(LOG2_LANES),
            .MERGED(1'b1),
            .INVERSE(1'b1),
            .WIDTH(INVERSE),
            .SHIFTS(INVERSE_SHIFTS),
            .FACTOR(INVERSE_FACTOR),
            .REALS(4),
            .ADDER(ADDER),
            .MULTIPLIER(MULTIPLIER)
        ) inverse (
            .clock,
            .reset,
            .start(sums_start),
            .in(sums[i]),
            .next(products_start[i]),
            .out(points)
        );
        for (genvar lane = 0; lane < LANES; lane++) begin : unfolded
            assign products[lane] = points[lane][0];
            assign products[lane+LANES] = points[lane][1];
        end
        step_accumulator #(
            .LANES(COLUMNS),
            .LOG2_LINES(LOG2_LINES),
            .WIDTH(WIDTH),
            .PRODUCT(INVERSE),
            .SHIFT(SHIFT),
            .LEFT(LEFT),
            .ADDER(ADDER)
        ) accumulation (
            .clock,
            .reset,
            .valid(products_come),
            .begins(reads),
            .line(product_line),
            .products,
            .old(old[i][0]),
            .sums(words[i]),
            .buffered
        );
    end
    logic unused;
    always_comb begin
        unused = 1'b0;
        for (int i = 1; i < POLYNOMIALS; i++) unused ^= rotated_starts[i] ^ spectra_start[i] ^ products_start[i];
    end
endmodule
