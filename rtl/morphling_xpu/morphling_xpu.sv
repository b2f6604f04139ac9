// SPDX-License-Identifier: Apache-2.0
// Morphling's external product unit (section V-A, figure 5) with its banks of Private-A1 and its section of Private-A2: blind rotations of ROWS ciphertexts in lockstep, for WAVES waves of them in turn, as the schedule's instructions start them.
//
// A row has its banks with the double-pointer rotator, a decomposer, a row of the array, an inverse transform and an accumulator. Two rows share a merge-split transform. Coefficient i is in column i / LINES of the banks, so a line has the coefficients that a folded transform needs together. Each polynomial of each wave has its own banks.
//
// A wave comes over the link, a line a cycle: first the rotation amounts of all rows, one behind the other, then row by row the polynomials of the accumulator, without the initial rotation, which is done on the way. A start sends the digits of one level of one polynomial through the pipeline; with the first of an accumulator, a new sum begins. The key of an iteration is in a bank for each
// of its columns. Sums leave the array for the inverse transform, polynomial after polynomial, and are added to the accumulator in its place.
//
// Both waits that the paper describes are parameters, and so can be left out: COEF cycles in the Coef buffer, and WAITS cycles of finished sums in the array.
module morphling_xpu #(
    parameter int unsigned LOG2_POINTS = 5,
    parameter int unsigned LOG2_LANES = 1,
    parameter int unsigned ROWS = 4,  // even
    parameter int unsigned COLUMNS = 4,  // of the array
    parameter int unsigned POLYNOMIALS = 2,  // k + 1, a power of two, at most COLUMNS
    parameter int unsigned WAVES = 2,  // a power of two
    parameter int unsigned LWE_DIMENSION = 8,
    parameter int unsigned LOG2_BASE = 6,
    parameter int unsigned LEVELS = 2,
    parameter int unsigned LOAD = 10,  // arithmetic as of pbs_cluster
    parameter int unsigned FORWARD = 32,
    parameter int unsigned FORWARD_SHIFTS = 0,
    parameter int unsigned FORWARD_FACTOR = 32,
    parameter int unsigned PRODUCT_SHIFT = 10,
    parameter int unsigned INVERSE = 32,
    parameter int unsigned INVERSE_SHIFTS = 0,
    parameter int unsigned INVERSE_FACTOR = 32,
    parameter int unsigned SHIFT = 0,
    parameter int unsigned LEFT = 0,
    parameter int unsigned COEF = 8,  // cycles in the Coef buffer
    parameter int unsigned WAITS = 16,  // cycles of finished sums in the array
    parameter int unsigned ADDER = 1,
    parameter int unsigned MULTIPLIER = 3,
    localparam int unsigned WIDTH = 32,
    localparam int unsigned LANES = 1 << LOG2_LANES,
    localparam int unsigned COEFFICIENTS = 2 * LANES,
    localparam int unsigned WAVE = WAVES > 1 ? $clog2(WAVES) : 1,
    localparam int unsigned POLYNOMIAL = $clog2(POLYNOMIALS),
    localparam int unsigned LEVEL = LEVELS > 1 ? $clog2(LEVELS) : 1,
    localparam int unsigned SPECTRUM_WORD = 2 * LANES * FORWARD
) (
    input logic clock,
    input logic reset,
    // The link to the Shared buffer.
    input logic comes,  // a word
    input logic first,  // it is its wave's first
    input logic [WAVE-1:0] target,  // its wave
    input logic [WIDTH-1:0] fresh[COEFFICIENTS],
    // A start.
    input logic start,  // all rows begin to read a polynomial
    input logic [WAVE-1:0] wave,  // also in the cycle before, in which its amounts are read
    input logic [POLYNOMIAL-1:0] polynomial,
    input logic [LEVEL-1:0] level,  // of its digits
    input logic half,  // of the key's buffer
    // The way back.
    input logic sends,  // a wave's accumulators, a line a cycle
    input logic [WAVE-1:0] sent,  // which wave
    // Memory channels.
    input logic key_fills,  // a word of each column of the key comes
    input logic [SPECTRUM_WORD-1:0] key_words[POLYNOMIALS],
    output logic leaves,  // a line of an accumulator
    output logic [WIDTH-1:0] result[COEFFICIENTS],
    // For tests.
    output logic decomposed,  // a polynomial's first digits
    output logic transformed,  // a polynomial's first point, at the first row
    output logic drained,  // the first sums of the first row
    output logic [ROWS-1:0] accumulated,  // words are written to Private-A1
    output logic [WAVE-1:0] written[ROWS],  // with their wave
    output logic clash  // two accesses on a port of a bank
);
    localparam int unsigned LOG2_DEGREE = LOG2_POINTS + 1;
    localparam int unsigned LOG2_COLUMNS = LOG2_LANES + 1;
    localparam int unsigned LOG2_LINES = LOG2_POINTS - LOG2_LANES;
    localparam int unsigned LINES = 1 << LOG2_LINES;
    localparam int unsigned AMOUNT = LOG2_DEGREE + 1;
    localparam int unsigned STEPS = POLYNOMIALS * LEVELS;
    localparam int unsigned STEP = STEPS > 1 ? $clog2(STEPS) : 1;
    localparam int unsigned ITERATION = $clog2(LWE_DIMENSION + 1);
    localparam int unsigned PLACE = WAVE + POLYNOMIAL;  // of a polynomial in a row's banks
    localparam int unsigned WORDS = POLYNOMIALS * LINES;  // of an accumulator
    localparam int unsigned POINT = latency::morphling_xpu_point(LOG2_POINTS, LOG2_LANES, COEF, MULTIPLIER, ADDER);
    localparam int unsigned PRODUCT = latency::morphling_xpu_product(LOG2_POINTS, LOG2_LANES, COLUMNS, STEPS, COEF, WAITS, MULTIPLIER, ADDER);

    // Words of a wave since its first. Amounts of all rows are contiguous, so a word may have some of two rows.
    localparam int unsigned AMOUNT_WORDS = (ROWS * (LWE_DIMENSION + 1) + COEFFICIENTS - 1) / COEFFICIENTS;
    localparam int unsigned RECEIVED = $clog2(AMOUNT_WORDS + ROWS * WORDS);
    localparam int unsigned AMOUNT_LINES = LWE_DIMENSION / COEFFICIENTS + 2;  // of a row
    localparam int unsigned AMOUNT_LINE = $clog2(AMOUNT_LINES);
    localparam int unsigned ROW = $clog2(ROWS);
    logic [RECEIVED-1:0] word_after, word, number;
    logic amounts_come, polynomials_come;
    logic [ROW-1:0] row_now, loaded_row;
    logic [PLACE-1:0] loaded;
    assign word = first ? '0 : word_after;
    assign amounts_come = comes && 32'(word) < AMOUNT_WORDS;
    assign polynomials_come = comes && 32'(word) >= AMOUNT_WORDS;
    assign number = word - RECEIVED'(AMOUNT_WORDS);
    assign row_now = ROW'(32'(number) / WORDS);
    always_ff @(posedge clock) begin
        if (comes) word_after <= word + 1'b1;
        loaded_row <= row_now;
        loaded <= {target, POLYNOMIAL'(32'(number) / LINES)};
    end

    // The amounts: in a row's memory, a bank for each word of the link, and those of the bodies for the initial rotation. The iteration of each wave's next start.
    logic [ITERATION-1:0] iterations[1<<WAVE], iteration;
    logic [AMOUNT-1:0] amounts[ROWS], bodies[ROWS];
    assign iteration = iterations[wave];
    always_ff @(posedge clock) begin
        if (comes && first) iterations[target] <= '0;
        if (start && 32'(polynomial) == POLYNOMIALS - 1 && 32'(level) == LEVELS - 1) iterations[wave] <= iteration + 1'b1;
    end
    for (genvar row = 0; row < ROWS; row++) begin : amounts_of_rows
        localparam int unsigned BEFORE = row * (LWE_DIMENSION + 1);
        localparam int unsigned FIRST = BEFORE / COEFFICIENTS;
        localparam int unsigned LAST = (BEFORE + LWE_DIMENSION) / COEFFICIENTS;
        logic [AMOUNT_LINE-1:0] filled_line, read_line;
        logic [AMOUNT-1:0] read[COEFFICIENTS];
        logic [LOG2_COLUMNS-1:0] lane_now, lane;
        logic fills;
        assign fills = amounts_come && 32'(word) - FIRST <= LAST - FIRST;
        assign filled_line = AMOUNT_LINE'(32'(word) - FIRST);
        assign read_line = AMOUNT_LINE'((BEFORE + 32'(iteration)) / COEFFICIENTS - FIRST);
        assign lane_now = LOG2_COLUMNS'(BEFORE + 32'(iteration));
        assign amounts[row] = read[lane];
        always_ff @(posedge clock) begin
            lane <= lane_now;
            if (amounts_come && 32'(word) == LAST) bodies[row] <= fresh[(BEFORE+LWE_DIMENSION)%COEFFICIENTS][AMOUNT-1:0];
        end
        for (genvar i = 0; i < COEFFICIENTS; i++) begin : banks
            logic [AMOUNT-1:0] bank[1<<(WAVE+AMOUNT_LINE)];
            always_ff @(posedge clock) begin
                if (fills) bank[{target, filled_line}] <= fresh[i][AMOUNT-1:0];
                read[i] <= bank[{wave, read_line}];
            end
        end
    end
    logic [COEFFICIENTS-1:0] loads;
    logic [LOG2_LINES-1:0] loaded_line;
    logic [WIDTH-1:0] loaded_words[COEFFICIENTS];
    initial_rotation #(
        .LOG2_DEGREE(LOG2_DEGREE),
        .LOG2_COLUMNS(LOG2_COLUMNS),
        .LINK(COEFFICIENTS),
        .WIDTH(WIDTH)
    ) to_the_body (
        .clock,
        .reset,
        .comes(polynomials_come),
        .number(number[LOG2_LINES-1:0]),
        .body(bodies[row_now]),
        .fresh,
        .loads,
        .line(loaded_line),
        .words(loaded_words)
    );

    // Starts with the digits; two cycles before the first point, as the key is read; with the first product.
    localparam int unsigned KEY_READ = 2;
    logic opens, digits_start, key_starts, key_half_now, key_opens, points_start, points_open, products_open;
    logic [PLACE-1:0] rotated;
    logic [LEVEL-1:0] level_now, level_before, digit_level;
    logic [STEP-1:0] key_step;
    logic [WAVE-1:0] product_wave;
    assign opens = start && polynomial == 0 && level == 0;
    assign rotated = {wave, polynomial};
    delay #(
        .CYCLES(latency::double_pointer_rotator(ADDER)),
        .WIDTH (1 + LEVEL)
    ) with_differences (
        .clock,
        .reset,
        .in ({start, level}),
        .out({digits_start, level_now})
    );
    assign digit_level = digits_start ? level_now : level_before;
    always_ff @(posedge clock) level_before <= digit_level;
    delay #(
        .CYCLES(POINT - KEY_READ),
        .WIDTH (3 + STEP)
    ) before_points (
        .clock,
        .reset,
        .in ({start, opens, half, STEP'(32'(polynomial) * LEVELS + 32'(level))}),
        .out({key_starts, key_opens, key_half_now, key_step})
    );
    delay #(
        .CYCLES(KEY_READ),
        .WIDTH (2)
    ) with_points (
        .clock,
        .reset,
        .in ({key_starts, key_opens}),
        .out({points_start, points_open})
    );
    delay #(
        .CYCLES(PRODUCT),
        .WIDTH (1 + WAVE)
    ) with_products (
        .clock,
        .reset,
        .in ({opens, wave}),
        .out({products_open, product_wave})
    );
    assign transformed = points_start;

    // Private-A2: column c of the array has the key's column c, a cycle after column c - 1.
    localparam int unsigned KEY_LINE = $clog2(STEPS * LINES);
    logic key_half, key_half_before;
    logic [KEY_LINE-1:0] key_line, key_line_after;
    logic [SPECTRUM_WORD-1:0] bus[POLYNOMIALS];
    logic [POLYNOMIALS-1:0][SPECTRUM_WORD-1:0] bus_words, skewed_words;
    logic signed [FORWARD-1:0] key[COLUMNS][LANES][2];
    assign key_line = key_starts ? KEY_LINE'(32'(key_step) * LINES) : key_line_after;
    assign key_half = key_starts ? key_half_now : key_half_before;
    always_ff @(posedge clock) begin
        key_line_after <= key_line + 1'b1;
        key_half_before <= key_half;
    end
    key_buffer #(
        .BANKS(POLYNOMIALS),
        .BUS(POLYNOMIALS),
        .WORD(SPECTRUM_WORD),
        .WORDS(STEPS * LINES)
    ) keys (
        .clock,
        .reset,
        .fills(key_fills),
        .words(key_words),
        .half(key_half),
        .line(key_line),
        .key(bus)
    );
    skew #(
        .WIDTH(SPECTRUM_WORD),
        .LANES(POLYNOMIALS)
    ) multicast (
        .clock,
        .in (bus_words),
        .out(skewed_words)
    );
    for (genvar column = 0; column < COLUMNS; column++) begin : key_columns
        if (column < POLYNOMIALS) begin : used
            assign bus_words[column] = bus[column];
        end
        for (genvar i = 0; i < 2 * LANES; i++) begin : parts
            if (column < POLYNOMIALS) begin : used
                assign key[column][i/2][i%2] = skewed_words[column][i*FORWARD+:FORWARD];
            end else begin : idle
                assign key[column][i/2][i%2] = '0;
            end
        end
    end

    // Accumulators that are sent back: a bank's read, and a register behind the choice of a row.
    localparam int unsigned LEAVING = $clog2(ROWS * WORDS);
    logic sending, sending_after, read_before;
    logic [WAVE-1:0] sent_now, sent_before;
    logic [LEAVING-1:0] sent_word, sent_word_after;
    logic [ROW-1:0] sent_row;
    logic [WIDTH-1:0] old[ROWS][2][COEFFICIENTS];
    assign sending = sends || sending_after;
    assign sent_now = sends ? sent : sent_before;
    assign sent_word = sends ? '0 : sent_word_after;
    always_ff @(posedge clock) begin
        sending_after <= !reset && sending && 32'(sent_word) != ROWS * WORDS - 1;
        sent_before <= sent_now;
        sent_word_after <= sent_word + 1'b1;
        sent_row <= ROW'(32'(sent_word) / WORDS);
        read_before <= !reset && sending;
        leaves <= !reset && read_before;
        for (int i = 0; i < COEFFICIENTS; i++) result[i] <= old[sent_row][1][i];
    end

    // The rows.
    logic row_starts[ROWS], sums_start[ROWS], differences_start[ROWS], spectra_start[ROWS/2];
    logic signed [FORWARD-1:0] spectra[ROWS][LANES][2], points[ROWS][LANES][2];
    logic signed [INVERSE-1:0] sums[ROWS][LANES][2];
    logic signed [LOG2_BASE-1:0] folded[ROWS][LANES][2];
    logic digits_decomposed;
    logic [ROWS-1:0] clashes;
    logic opens_row[ROWS+1];
    logic [WAVE-1:0] wave_of_row[ROWS+1];
    assign opens_row[0] = products_open;
    assign wave_of_row[0] = product_wave;
    assign drained = sums_start[0];
    assign decomposed = digits_decomposed;
    assign clash = |clashes;
    delay #(
        .CYCLES(latency::decomposer(0, 1, ADDER))
    ) with_digits (
        .clock,
        .reset,
        .in (digits_start),
        .out(digits_decomposed)
    );
    for (genvar row = 0; row < ROWS; row++) begin : rows
        // Private-A1 with both pointers, and the decomposer.
        logic [WIDTH-1:0] differences[COEFFICIENTS], new_words[COEFFICIENTS];
        logic signed [LOG2_BASE-1:0] digits[COEFFICIENTS][1];
        logic reads, writes;
        logic [PLACE-1:0] read, written_place;
        logic [LOG2_LINES-1:0] read_line, written_line;
        strided_rotator #(
            .LOG2_DEGREE(LOG2_DEGREE),
            .LOG2_COLUMNS(LOG2_COLUMNS),
            .POLYNOMIALS(1 << PLACE),
            .LOG2_GROUPS(PLACE),
            .READERS(2),
            .WIDTH(WIDTH),
            .ADDER(ADDER)
        ) banks (
            .clock,
            .reset,
            .loads(loads & {COEFFICIENTS{32'(loaded_row) == row}}),
            .loaded,
            .loaded_line,
            .fresh(loaded_words),
            .writes,
            .written(written_place),
            .line(written_line),
            .coefficients(new_words),
            .start,
            .rotated,
            .amount(amounts[row]),
            .next(differences_start[row]),
            .differences,
            .reads('{reads, sending && 32'(sent_word) / WORDS == row}),
            .read('{read, {sent_now, POLYNOMIAL'(32'(sent_word) / LINES)}}),
            .read_line('{read_line, LOG2_LINES'(sent_word)}),
            .old(old[row]),
            .clash(clashes[row])
        );
        decomposer #(
            .WIDTH(WIDTH),
            .LOG2_BASE(LOG2_BASE),
            .LEVELS(LEVELS),
            .STEPS(1),
            .LANES(COEFFICIENTS),
            .ADDER(ADDER)
        ) decomposition (
            .clock,
            .in(differences),
            .level(digit_level),
            .digits
        );
        for (genvar lane = 0; lane < LANES; lane++) begin : lanes
            assign folded[row][lane] = '{digits[lane][0], digits[lane+LANES][0]};
        end
        if (row % 2 == 0) begin : pair
            merge_split_fft #(
                .LOG2_POINTS(LOG2_POINTS),
                .LOG2_LANES(LOG2_LANES),
                .DIGIT(LOG2_BASE),
                .LOAD(LOAD),
                .WIDTH(FORWARD),
                .SHIFTS(FORWARD_SHIFTS),
                .FACTOR(FORWARD_FACTOR),
                .ADDER(ADDER),
                .MULTIPLIER(MULTIPLIER)
            ) forward (
                .clock,
                .reset,
                .start(digits_decomposed),
                .in('{folded[row], folded[row+1]}),
                .next(spectra_start[row/2]),
                .out('{spectra[row], spectra[row+1]})
            );
        end

        // The Coef buffer, and a cycle for each row above.
        if (COEF + row > 0) begin : waiting
            logic [SPECTRUM_WORD-1:0] spectrum, waited;
            for (genvar i = 0; i < 2 * LANES; i++) begin : parts
                assign spectrum[i*FORWARD+:FORWARD] = spectra[row][i/2][i%2];
                assign points[row][i/2][i%2] = waited[i*FORWARD+:FORWARD];
            end
            delay_memory #(
                .WIDTH(SPECTRUM_WORD),
                .DEPTH(COEF + row)
            ) buffer (
                .clock,
                .reset,
                .cycles(($clog2(COEF + row + 1))'(COEF + row)),
                .in (spectrum),
                .out(waited)
            );
        end else begin : direct
            assign points[row] = spectra[row];
        end
        if (row == 0) begin : first_row
            assign row_starts[row] = points_open;
        end else begin : later_row
            always_ff @(posedge clock) row_starts[row] <= !reset && row_starts[row-1];
        end

        // Sums of the used columns follow each other.
        logic [$clog2(WORDS):0] sum_after, sum_word;
        logic inverse_starts, products_start;
        logic signed [INVERSE-1:0] inverse_points[LANES][2], products[COEFFICIENTS];
        assign sum_word = sums_start[row] ? '0 : sum_after;
        assign inverse_starts = 32'(sum_word) < WORDS && 32'(sum_word) % LINES == 0;
        always_ff @(posedge clock) sum_after <= reset || 32'(sum_word) >= WORDS - 1 ? ($clog2(WORDS) + 1)'(WORDS) : sum_word + 1'b1;
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
            .start(inverse_starts),
            .in(sums[row]),
            .next(products_start),
            .out(inverse_points)
        );
        for (genvar lane = 0; lane < LANES; lane++) begin : unfolded
            assign products[lane] = inverse_points[lane][0];
            assign products[lane+LANES] = inverse_points[lane][1];
        end

        // The accumulator, from and to Private-A1.
        logic [$clog2(WORDS):0] product_after, product_word;
        logic [WAVE-1:0] added, added_before;
        assign product_word = opens_row[row] ? '0 : product_after;
        assign added = opens_row[row] ? wave_of_row[row] : added_before;
        assign reads = 32'(product_word) < WORDS;
        assign read = {added, POLYNOMIAL'(32'(product_word) / LINES)};
        assign read_line = LOG2_LINES'(product_word);
        always_ff @(posedge clock) begin
            product_after <= reset || 32'(product_word) >= WORDS - 1 ? ($clog2(WORDS) + 1)'(WORDS) : product_word + 1'b1;
            added_before <= added;
            opens_row[row+1] <= !reset && opens_row[row];
            wave_of_row[row+1] <= wave_of_row[row];
            // Starts have passed all units.
            if (!reset) begin
                assert (products_start == (reads && read_line == 0));
                assert (differences_start[row] == digits_start);
            end
        end
        delay #(
            .CYCLES(latency::accumulator(ADDER)),
            .WIDTH (1 + PLACE + LOG2_LINES)
        ) way_back (
            .clock,
            .reset,
            .in ({reads, read, read_line}),
            .out({writes, written_place, written_line})
        );
        assign accumulated[row] = writes;
        assign written[row] = written_place[PLACE-1:POLYNOMIAL];
        logic [WIDTH-1:0] unused_buffer[COEFFICIENTS];
        step_accumulator #(
            .LANES(COEFFICIENTS),
            .LOG2_LINES(LOG2_LINES),
            .WIDTH(WIDTH),
            .PRODUCT(INVERSE),
            .SHIFT(SHIFT),
            .LEFT(LEFT),
            .ADDER(ADDER)
        ) accumulation (
            .clock,
            .reset,
            .valid(reads),
            .begins(1'b1),
            .line(read_line),
            .products,
            .old(old[row][0]),
            .sums(new_words),
            .buffered(unused_buffer)
        );
        logic unused;
        always_comb begin
            unused = 1'b0;
            for (int i = 0; i < COEFFICIENTS; i++) unused ^= ^unused_buffer[i];
        end
    end

    // The array.
    vpe_array #(
        .ROWS(ROWS),
        .COLUMNS(COLUMNS),
        .POINTS(LANES),
        .CYCLES(LINES),
        .STEPS(STEPS),
        .WIDTH(FORWARD),
        .SHIFT(PRODUCT_SHIFT),
        .OUT(INVERSE),
        .WAITS(WAITS),
        .ADDER(ADDER),
        .MULTIPLIER(MULTIPLIER)
    ) array (
        .clock,
        .reset,
        .start(row_starts),
        .digits(points),
        .key,
        .next(sums_start),
        .sums
    );
    logic ends_transform;
    delay #(
        .CYCLES(COEF)
    ) with_buffer (
        .clock,
        .reset,
        .in (spectra_start[0]),
        .out(ends_transform)
    );
    always_ff @(posedge clock) if (!reset) assert (ends_transform == points_start);
    logic unused_starts;
    always_comb begin
        unused_starts = opens_row[ROWS] ^ ^wave_of_row[ROWS];
        for (int i = 1; i < ROWS / 2; i++) unused_starts ^= spectra_start[i];
    end
endmodule
