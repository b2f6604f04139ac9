// SPDX-License-Identifier: Apache-2.0
// The key-switch cluster of Strix' streaming core (section IV-B, figure 4): decomposer, multipliers with adder trees, accumulators, for up to BATCH ciphertexts that share a key, with its section of the local scratchpad. For each, (0, .., 0, b) minus digits times
// rows of the key, modulo 2^WIDTH.
//
// The key is a matrix of LANES * LINES * LEVELS digits by LWE_DIMENSION + 1 elements, and passes in tiles of LANES by COLUMNS words (section IV-C): for each line of ciphertexts, for each level of it, for each block of columns. Ciphertexts pass a tile one per cycle. Lane l has
// element l LINES + i of line i, as in the PBS cluster, and all lanes have the digits of one level.
//
// A column is one multiplier per lane and their tree; there are COLUMNS parallel ones (CoLP). The bus supplies LANES words per cycle, the next column of a tile. The column stores them with its first digits; digits move to the next column a cycle later. So no column waits for the words of
// others, no word is buffered twice, and a tile takes as many cycles as there are ciphertexts or columns, whichever is larger.
//
// A start lets the next TILE_LINES lines pass. After LINES of them, sums leave, and the next start begins a new key switch.
module key_switch_cluster #(
    parameter int unsigned LANES = 4,  // CLP: digits side by side, a power of two
    parameter int unsigned COLUMNS = 4,  // CoLP: elements of the result side by side, at least 2
    parameter int unsigned LINES = 8,  // at least 2
    parameter int unsigned TILE_LINES = 4,  // a divisor of LINES
    parameter int unsigned LWE_DIMENSION = 10,
    parameter int unsigned BATCH = 6,  // at least 2
    parameter int unsigned WIDTH = 32,
    parameter int unsigned LOG2_BASE = 4,
    parameter int unsigned LEVELS = 3,
    parameter int unsigned KEY_LATENCY = 0,  // cycles from `wants` to the key's words, at most those to the digits
    parameter int unsigned ADDER = 1,
    parameter int unsigned MULTIPLIER = 3,
    localparam int unsigned CHOICE = $clog2(BATCH),
    localparam int unsigned PLACE = $clog2(LINES),
    localparam int unsigned BLOCKS = LWE_DIMENSION / COLUMNS + 1,
    localparam int unsigned BLOCK = BLOCKS > 1 ? $clog2(BLOCKS) : 1
) (
    input logic clock,
    input logic reset,
    // Loads a line of a ciphertext's mask, or its body.
    input logic loads,
    input logic loads_body,
    input logic [CHOICE-1:0] loaded,
    input logic [PLACE-1:0] line,
    input logic [WIDTH-1:0] fresh[LANES],
    input logic [WIDTH-1:0] body,
    // Lines of `count` ciphertexts start to pass.
    input logic start,
    input logic [CHOICE:0] count,
    output logic wants,  // the key's next column
    input logic [WIDTH-1:0] key[LANES],
    // Sums of the ciphertexts' next elements, of those columns that have any.
    output logic valid[COLUMNS],
    output logic [WIDTH-1:0] sums[COLUMNS],
    // Reads complete sums between key switches, a cycle later.
    input logic [CHOICE-1:0] read,
    input logic [BLOCK-1:0] read_block,
    output logic [WIDTH-1:0] read_sums[COLUMNS]
);
    localparam int unsigned BODY = LWE_DIMENSION % COLUMNS;  // its column, in the last block
    localparam int unsigned SLOTS = BATCH > COLUMNS ? BATCH : COLUMNS;
    localparam int unsigned SLOT = $clog2(SLOTS);
    localparam int unsigned LEVEL = LEVELS > 1 ? $clog2(LEVELS) : 1;
    localparam int unsigned SUM = CHOICE + BLOCK;
    localparam int unsigned DROPPED = WIDTH - LOG2_BASE * LEVELS;
    localparam int unsigned TREE = $clog2(LANES);
    localparam int unsigned TO_DIGITS = 1 + latency::decomposer(DROPPED, 2, ADDER);
    localparam int unsigned TO_SUMS = latency::key_switch_cluster(LANES, DROPPED, MULTIPLIER, ADDER);

    // Current position: a ciphertext, or a cycle for the bus only; a block of columns; a level; a line of those that pass; and of all lines.
    logic active, active_after;
    logic [CHOICE:0] vectors, vectors_before;
    logic [SLOT-1:0] slot, slot_after;
    logic [BLOCK-1:0] block, block_after;
    logic [LEVEL-1:0] level, level_after;
    logic [PLACE-1:0] row, row_after, place;
    logic [SLOT:0] cycles;
    logic last_slot, last_block, last_level, last_row;
    assign active  = start || active_after;
    assign vectors = start ? count : vectors_before;
    assign slot    = start ? '0 : slot_after;
    assign block   = start ? '0 : block_after;
    assign level   = start ? '0 : level_after;
    assign row     = start ? '0 : row_after;
    assign wants = active && 32'(slot) < (32'(block) == BLOCKS - 1 ? BODY + 1 : COLUMNS);
    assign cycles = 32'(vectors) > COLUMNS ? (SLOT + 1)'(vectors) : (SLOT + 1)'(COLUMNS);
    assign last_slot = (SLOT + 1)'(slot) + 1'b1 == cycles;
    assign last_block = 32'(block) == BLOCKS - 1;
    assign last_level = 32'(level) == LEVELS - 1;
    assign last_row = 32'(row) == TILE_LINES - 1;
    always_ff @(posedge clock) begin
        vectors_before <= vectors;
        slot_after <= last_slot ? '0 : slot + 1'b1;
        block_after <= !last_slot ? block : last_block ? '0 : block + 1'b1;
        level_after <= !(last_slot && last_block) ? level : last_level ? '0 : level + 1'b1;
        row_after <= last_slot && last_block && last_level ? row + 1'b1 : row;
        active_after <= !reset && active && !(last_slot && last_block && last_level && last_row);
        if (reset) place <= '0;
        else if (active && last_slot && last_block && last_level) place <= 32'(place) == LINES - 1 ? '0 : place + 1'b1;
    end

    // The scratchpad's section, and the decomposer. Key words wait for their digits.
    logic [LEVEL-1:0] level_read;
    logic [WIDTH-1:0] elements[LANES];
    logic signed [LOG2_BASE-1:0] decomposed[LANES][1], digits[COLUMNS][LANES];
    logic [WIDTH-1:0] key_words[LANES];
    always_ff @(posedge clock) level_read <= level;
    for (genvar lane = 0; lane < LANES; lane++) begin : banks
        logic [WIDTH-1:0] bank[LINES<<CHOICE];
        always_ff @(posedge clock) begin
            if (loads) bank[{line, loaded}] <= fresh[lane];
            elements[lane] <= bank[{place, CHOICE'(slot)}];
        end
        delay #(
            .CYCLES(TO_DIGITS - KEY_LATENCY),
            .WIDTH (WIDTH)
        ) key_alignment (
            .clock,
            .reset(1'b0),
            .in (key[lane]),
            .out(key_words[lane])
        );
        assign digits[0][lane] = decomposed[lane][0];
        for (genvar column = 1; column < COLUMNS; column++) begin : hops
            always_ff @(posedge clock) digits[column][lane] <= digits[column-1][lane];
        end
    end
    decomposer #(
        .WIDTH(WIDTH),
        .LOG2_BASE(LOG2_BASE),
        .LEVELS(LEVELS),
        .LANES(LANES),
        .ADDER(ADDER)
    ) decomposition (
        .clock,
        .in(elements),
        .level(level_read),
        .digits(decomposed)
    );

    // Passed from column to column: whether digits are a tile's first; with the sums, whether they are valid, whether they are a key switch's first and last ones, and their ciphertext.
    logic takes[COLUMNS], first_slot;
    delay #(
        .CYCLES(TO_DIGITS)
    ) first_digits (
        .clock,
        .reset,
        .in (active && slot == 0),
        .out(first_slot)
    );
    typedef struct packed {
        logic valid;
        logic begins;
        logic ends;
        logic [CHOICE-1:0] ciphertext;
        logic [BLOCK-1:0] block;
    } sum_t;
    sum_t now, of[COLUMNS];
    assign now.valid = active && 32'(slot) < 32'(vectors);
    assign now.begins = place == 0 && level == 0;
    assign now.ends = 32'(place) == LINES - 1 && last_level;
    assign now.ciphertext = CHOICE'(slot);
    assign now.block = block;
    delay #(
        .CYCLES(TO_SUMS - latency::accumulator(ADDER)),
        .WIDTH ($bits(sum_t))
    ) sum_alignment (
        .clock,
        .reset,
        .in (now),
        .out(of[0])
    );
    assign takes[0] = first_slot;
    for (genvar column = 1; column < COLUMNS; column++) begin : hops
        always_ff @(posedge clock) begin
            takes[column] <= !reset && takes[column-1];
            of[column] <= reset ? '0 : of[column-1];
        end
    end

    for (genvar column = 0; column < COLUMNS; column++) begin : columns
        // Multipliers of digits with the column's words, and their tree: level i has LANES / 2^i sums.
        logic [WIDTH-1:0] tree[TREE+1][LANES];
        for (genvar lane = 0; lane < LANES; lane++) begin : lanes
            logic [WIDTH-1:0] held, factor;
            assign factor = takes[column] ? key_words[lane] : held;
            always_ff @(posedge clock) held <= factor;
            delay #(
                .CYCLES(MULTIPLIER),
                .WIDTH (WIDTH)
            ) multiplier (
                .clock,
                .reset(1'b0),
                .in (WIDTH'(digits[column][lane]) * factor),
                .out(tree[0][lane])
            );
            for (genvar i = 0; i < TREE; i++) begin : levels
                if (lane < LANES >> (i + 1)) begin : sum
                    delay #(
                        .CYCLES(ADDER),
                        .WIDTH (WIDTH)
                    ) adder (
                        .clock,
                        .reset(1'b0),
                        .in (tree[i][2*lane] + tree[i][2*lane+1]),
                        .out(tree[i+1][lane])
                    );
                end else begin : none
                    assign tree[i+1][lane] = '0;
                end
            end
        end
        // The accumulator. Sums start from 0, the body's from b.
        logic [WIDTH-1:0] old;
        if (column == BODY) begin : body_column
            logic [WIDTH-1:0] bodies[1<<CHOICE];
            always_ff @(posedge clock) begin
                if (loads_body) bodies[loaded] <= body;
                old <= 32'(of[column].block) == BLOCKS - 1 ? bodies[of[column].ciphertext] : '0;
            end
        end else begin : mask_column
            assign old = '0;
        end
        logic [WIDTH-1:0] accumulated[1], buffered[1];
        step_accumulator #(
            .LANES(1),
            .LOG2_LINES(SUM),
            .WIDTH(WIDTH),
            .PRODUCT(WIDTH),
            .SUBTRACTS(1'b1),
            .ADDER(ADDER)
        ) accumulator (
            .clock,
            .reset,
            .valid(of[column].valid),
            .begins(of[column].begins),
            .line(of[column].valid ? {of[column].ciphertext, of[column].block} : {read, read_block}),
            .products('{tree[TREE][0]}),
            .old('{old}),
            .sums(accumulated),
            .buffered
        );
        assign sums[column] = accumulated[0];
        assign read_sums[column] = buffered[0];
        delay #(
            .CYCLES(latency::accumulator(ADDER))
        ) sums_alignment (
            .clock,
            .reset,
            .in (of[column].valid && of[column].ends && (column <= BODY || 32'(of[column].block) < BLOCKS - 1)),
            .out(valid[column])
        );
    end
endmodule
