// SPDX-License-Identifier: Apache-2.0
// Starts of polynomials for a blind rotation of WAVES waves or fewer on Morphling's XPUs (section V-A): wave after wave, in each the levels of one polynomial after the other. A polynomial starts as soon as the previous one has been read and its own accumulator is complete in the last row. Its key will have come in time. The first one starts with the rotation.
//
// Keys come in the order of iterations, alternately into the halves of their buffer.
module rotation_sequencer #(
    parameter int unsigned LINES = 16,  // cycles of a polynomial, at least 2
    parameter int unsigned POLYNOMIALS = 2,  // a power of two
    parameter int unsigned LEVELS = 2,
    parameter int unsigned WAVES = 4,  // a power of two
    parameter int unsigned LWE_DIMENSION = 8,
    localparam int unsigned WAVE = WAVES > 1 ? $clog2(WAVES) : 1,
    localparam int unsigned POLYNOMIAL = $clog2(POLYNOMIALS),
    localparam int unsigned LEVEL = LEVELS > 1 ? $clog2(LEVELS) : 1
) (
    input logic clock,
    input logic reset,
    input logic rotate,
    input logic [WAVE-1:0] last_wave,
    input logic key_comes,  // from the next cycle on, a start finds one more key
    input logic written,  // a cycle ago, a word of a sum in the last row
    input logic [WAVE-1:0] written_wave,
    output logic start,
    output logic [WAVE-1:0] wave,  // of the start, and of the next one in the cycles before it
    output logic [POLYNOMIAL-1:0] polynomial,
    output logic [LEVEL-1:0] level,
    output logic half,
    output logic frees,  // another rotation can start in the next cycle
    output logic wave_ends,  // a wave's results are complete in the next cycle
    output logic ends  // all of them
);
    localparam int unsigned ITERATION = $clog2(LWE_DIMENSION + 1);
    localparam int unsigned WORDS = POLYNOMIALS * LINES;
    localparam int unsigned WORD = $clog2(WORDS);
    localparam int unsigned GAP = $clog2(LINES);

    // Starts.
    logic active, last_level, last_polynomial, ends_iteration;
    logic [GAP-1:0] gap;  // cycles in which the previous polynomial is still read
    logic [ITERATION-1:0] started;  // iterations
    logic [1:0] keys;
    logic [POLYNOMIALS-1:0] complete[WAVES];
    logic [WAVE-1:0] last, last_held;
    assign last = rotate ? last_wave : last_held;
    assign last_level = 32'(level) == LEVELS - 1;
    assign last_polynomial = 32'(polynomial) == POLYNOMIALS - 1;
    assign start = (rotate || active) && gap == 0 && keys != 0 && (level != 0 || complete[wave][polynomial]);
    assign ends_iteration = start && last_level && last_polynomial && wave == last;
    assign frees = !active && gap == 1;
    always_ff @(posedge clock) begin
        last_held <= last;
        keys <= keys + 2'(key_comes) - 2'(ends_iteration);
        gap <= start ? GAP'(LINES - 1) : gap - GAP'(gap != 0);
        if (rotate) active <= 1'b1;
        if (start) begin
            level <= last_level ? '0 : level + 1'b1;
            if (last_level) polynomial <= last_polynomial ? '0 : polynomial + 1'b1;
            if (last_level && last_polynomial) wave <= wave == last ? '0 : wave + 1'b1;
        end
        if (ends_iteration) begin
            half <= !half;
            started <= 32'(started) == LWE_DIMENSION - 1 ? '0 : started + 1'b1;
            active <= 32'(started) != LWE_DIMENSION - 1;
        end
        if (reset) {active, gap, level, polynomial, wave, half, started, keys} <= '0;
    end

    // Sums: words of the current one, and iterations of all waves.
    logic [WORD-1:0] word;
    logic [ITERATION-1:0] finished;
    assign wave_ends = written && 32'(word) == WORDS - 1 && 32'(finished) == LWE_DIMENSION - 1;
    assign ends = wave_ends && written_wave == last;
    always_ff @(posedge clock) begin
        if (start && level == 0) complete[wave][polynomial] <= 1'b0;
        if (written) begin
            word <= 32'(word) == WORDS - 1 ? '0 : word + 1'b1;
            if (32'(word) % LINES == LINES - 1) complete[written_wave][POLYNOMIAL'(32'(word)/LINES)] <= 1'b1;
            if (32'(word) == WORDS - 1 && written_wave == last) finished <= 32'(finished) == LWE_DIMENSION - 1 ? '0 : finished + 1'b1;
        end
        if (reset) begin
            {word, finished} <= '0;
            complete <= '{default: '1};
        end
    end
endmodule
