// SPDX-License-Identifier: Apache-2.0
// A streaming core of Strix (section IV, figure 4) that computes whole programmable bootstraps, modulus switch to key switch: the PBS cluster and the key-switch cluster with the local scratchpad, the sequencer with the memory of rotation amounts, and the core's side of links, buses and key buffers. The cycles of all starts come from outside: those of the schedule.
//
// A ciphertext comes over the link, LINK words a cycle, and its switched elements go to the amount memory. Its test polynomial follows, is rotated by the body's amount, and goes to the scratchpad: word w has line w / H of columns (w mod H) LINK to (w mod H) LINK + LINK - 1, H = COLUMNS / LINK. Columns are rotated as in the rotator, so no word waits for another.
//
// A start reads the ciphertext's next amount, and the rotation begins a cycle later. Its key is read from the buffer when its points are at the multipliers. The words of a ciphertext's last iteration pass the sample extractor to the key-switch cluster's section of the scratchpad. A start of the key-switch cluster reads a tile of its key. Results are read from the cluster's sums, LINK elements a cycle.
module strix_core #(
    parameter int unsigned LOG2_POINTS = 5,
    parameter int unsigned LOG2_LANES = 1,
    parameter int unsigned LWE_DIMENSION = 8,
    parameter int unsigned BATCH = 3,  // at least 2
    parameter int unsigned LOG2_GROUPS = 2,
    parameter int unsigned LOG2_BASE = 6,
    parameter int unsigned LEVELS = 2,
    parameter int unsigned LOAD = 10,  // arithmetic as of pbs_cluster
    parameter int unsigned FORWARD = 32,
    parameter int unsigned FORWARD_SHIFTS = 0,
    parameter int unsigned FORWARD_FACTOR = 16,
    parameter int unsigned KEY = 32,
    parameter int unsigned PRODUCT_SHIFT = 10,
    parameter int unsigned INVERSE = 32,
    parameter int unsigned INVERSE_SHIFTS = 0,
    parameter int unsigned INVERSE_FACTOR = 16,
    parameter int unsigned SHIFT = 0,
    parameter int unsigned LEFT = 0,
    parameter int unsigned SWITCH_COLUMNS = 4,
    parameter int unsigned TILE_LINES = 4,
    parameter int unsigned SWITCH_LOG2_BASE = 4,
    parameter int unsigned SWITCH_LEVELS = 3,
    parameter int unsigned KEY_CHANNELS = 8,
    parameter int unsigned SWITCH_CHANNELS = 4,
    parameter int unsigned ADDER = 1,
    parameter int unsigned MULTIPLIER = 3,
    localparam int unsigned WIDTH = 32,
    localparam int unsigned LINK = 4,
    localparam int unsigned WORD = LINK * WIDTH,
    localparam int unsigned LANES = 1 << LOG2_LANES,
    localparam int unsigned COLUMNS = 2 * LANES,
    localparam int unsigned CHOICE = $clog2(BATCH)
) (
    input logic clock,
    input logic reset,
    // A word of the link: whether it is a ciphertext's or a polynomial's first, whether of a polynomial; for which ciphertext of the batch.
    input logic comes,
    input logic first,
    input logic is_table,
    input logic [CHOICE-1:0] target,
    input logic [WIDTH-1:0] fresh[LINK],
    // A ciphertext's next iteration starts, with the key in a half of the buffer.
    input logic start,
    input logic [CHOICE-1:0] ciphertext,
    input logic half,
    // A tile starts in the key-switch cluster, likewise.
    input logic switches,
    input logic [CHOICE:0] count,
    input logic tile_half,
    // A result is sent.
    input logic sends,
    input logic [CHOICE-1:0] sent,
    // Words of the memory channels.
    input logic key_fills,
    input logic [WORD-1:0] key_words[KEY_CHANNELS],
    input logic tile_fills,
    input logic [WORD-1:0] tile_words[SWITCH_CHANNELS],
    // A word of a result.
    output logic leaves,
    output logic [WIDTH-1:0] result[LINK],
    // For tests: accumulators' words are written, with their ciphertext; extracted words are; sums of a key switch are complete; two accesses are on a port of the scratchpad.
    output logic accumulated,
    output logic [CHOICE-1:0] written,
    output logic extracted,
    output logic switched,
    output logic clash
);
    localparam int unsigned POLYNOMIALS = 2;
    localparam int unsigned LOG2_DEGREE = LOG2_POINTS + 1;
    localparam int unsigned LOG2_COLUMNS = LOG2_LANES + 1;
    localparam int unsigned LOG2_LINES = LOG2_POINTS - LOG2_LANES;
    localparam int unsigned LINES = 1 << LOG2_LINES;
    localparam int unsigned AMOUNT = LOG2_DEGREE + 1;
    localparam int unsigned DROPPED = WIDTH - LOG2_BASE * LEVELS;
    localparam int unsigned AMOUNT_WORDS = LWE_DIMENSION / LINK + 1;  // with the body's
    localparam int unsigned AMOUNT_WORD = $clog2(AMOUNT_WORDS);
    localparam int unsigned ITERATION = $clog2(LWE_DIMENSION + 1);
    localparam int unsigned HALVES = COLUMNS / LINK;
    localparam int unsigned TABLE_WORD = $clog2(LINES * HALVES);
    localparam int unsigned RECEIVED = TABLE_WORD > AMOUNT_WORD ? TABLE_WORD : AMOUNT_WORD;

    // Words received since the first.
    logic [RECEIVED-1:0] word_after, word;
    assign word = first ? '0 : word_after;
    always_ff @(posedge clock) if (comes) word_after <= word + 1'b1;

    // Modulus switch, and the amount memory: a bank for each word of the link.
    logic amounts_come, body_comes;
    logic [CHOICE-1:0] switched_target;
    logic [AMOUNT_WORD-1:0] switched_word;
    logic [AMOUNT-1:0] fresh_amounts[LINK], bodies[1<<CHOICE];
    modulus_switch #(
        .WIDTH(WIDTH),
        .LOG2_MODULUS(AMOUNT),
        .LANES(LINK),
        .ADDER(ADDER)
    ) modulus (
        .clock,
        .in (fresh),
        .out(fresh_amounts)
    );
    delay #(
        .CYCLES(latency::modulus_switch(ADDER)),
        .WIDTH (1 + CHOICE + AMOUNT_WORD)
    ) with_amounts (
        .clock,
        .reset,
        .in ({comes && !is_table, target, AMOUNT_WORD'(word)}),
        .out({amounts_come, switched_target, switched_word})
    );
    assign body_comes = amounts_come && 32'(switched_word) == AMOUNT_WORDS - 1;

    // Iterations of each ciphertext so far, and the amount of the next.
    logic [ITERATION-1:0] iterations[1<<CHOICE], iteration;
    logic [AMOUNT-1:0] read_amounts[LINK];
    logic [$clog2(LINK)-1:0] read_lane;
    assign iteration = iterations[ciphertext];
    always_ff @(posedge clock) begin
        if (body_comes) bodies[switched_target] <= fresh_amounts[LWE_DIMENSION%LINK];
        if (comes && first && !is_table) iterations[target] <= '0;
        if (start) iterations[ciphertext] <= iteration + 1'b1;
        read_lane <= ($clog2(LINK))'(iteration);
    end
    for (genvar lane = 0; lane < LINK; lane++) begin : amounts
        logic [AMOUNT-1:0] bank[1<<(CHOICE+AMOUNT_WORD)];
        always_ff @(posedge clock) begin
            if (amounts_come) bank[{switched_target, switched_word}] <= fresh_amounts[lane];
            read_amounts[lane] <= bank[{ciphertext, AMOUNT_WORD'(32'(iteration) / LINK)}];
        end
    end

    // The initial rotation.
    logic table_comes;
    logic [CHOICE-1:0] table_target;
    logic [TABLE_WORD-1:0] table_word;
    logic [WORD-1:0] fresh_bits, table_bits;
    logic [COLUMNS-1:0] loads;
    logic [CHOICE-1:0] loaded;
    logic [LOG2_LINES-1:0] loaded_line;
    logic [WIDTH-1:0] table_words[LINK], loaded_words[POLYNOMIALS][COLUMNS];
    for (genvar lane = 0; lane < LINK; lane++) begin : packed_words
        assign fresh_bits[lane*WIDTH+:WIDTH] = fresh[lane];
        assign table_words[lane] = table_bits[lane*WIDTH+:WIDTH];
    end
    delay #(
        .CYCLES(latency::modulus_switch(ADDER)),
        .WIDTH (1 + CHOICE + TABLE_WORD + WORD)
    ) with_body (
        .clock,
        .reset,
        .in ({comes && is_table, target, TABLE_WORD'(word), fresh_bits}),
        .out({table_comes, table_target, table_word, table_bits})
    );
    initial_rotation #(
        .LOG2_DEGREE(LOG2_DEGREE),
        .LOG2_COLUMNS(LOG2_COLUMNS),
        .LINK(LINK),
        .WIDTH(WIDTH)
    ) to_the_body (
        .clock,
        .reset,
        .comes(table_comes),
        .number(table_word),
        .body(bodies[table_target]),
        .fresh(table_words),
        .loads,
        .line(loaded_line),
        .words(loaded_words[1])
    );
    for (genvar column = 0; column < COLUMNS; column++) begin : masks
        assign loaded_words[0][column] = '0;
    end
    always_ff @(posedge clock) loaded <= table_target;

    // The PBS cluster, and its key.
    localparam int unsigned KEY_BUS = POLYNOMIALS * POLYNOMIALS * LANES * 2 * WIDTH / WORD;
    localparam int unsigned STREAM = LEVELS * LINES;
    localparam int unsigned KEY_LINE = $clog2(STREAM);
    localparam int unsigned KEY_READ = 2;  // the buffer's bank and its bus
    logic starts, key_starts, key_half, key_half_now, key_half_before;
    logic [CHOICE-1:0] started;
    logic [KEY_LINE-1:0] key_line, key_line_after;
    logic [WORD-1:0] bus[KEY_BUS];
    logic signed [KEY-1:0] key[POLYNOMIALS][POLYNOMIALS][LANES][2];
    logic [LOG2_LINES-1:0] line;
    logic [WIDTH-1:0] words[POLYNOMIALS][COLUMNS];
    delay #(
        .CYCLES(1),
        .WIDTH (1 + CHOICE)
    ) with_amount (
        .clock,
        .reset,
        .in ({start, ciphertext}),
        .out({starts, started})
    );
    delay #(
        .CYCLES(1 + latency::pbs_cluster_point(LOG2_POINTS, LOG2_LANES, DROPPED, MULTIPLIER, ADDER) - KEY_READ),
        .WIDTH (2)
    ) before_products (
        .clock,
        .reset,
        .in ({start, half}),
        .out({key_starts, key_half_now})
    );
    assign key_line = key_starts ? '0 : key_line_after;
    assign key_half = key_starts ? key_half_now : key_half_before;
    always_ff @(posedge clock) begin
        key_line_after <= key_line + 1'b1;
        key_half_before <= key_half;
    end
    key_buffer #(
        .BANKS(KEY_CHANNELS),
        .BUS(KEY_BUS),
        .WORD(WORD),
        .WORDS(STREAM * KEY_BUS / KEY_CHANNELS)
    ) keys (
        .clock,
        .reset,
        .fills(key_fills),
        .words(key_words),
        .half(key_half),
        .line(key_line),
        .key(bus)
    );
    for (genvar i = 0; i < POLYNOMIALS * POLYNOMIALS * LANES * 2; i++) begin : parts
        logic [WIDTH-1:0] part;
        assign part = bus[i*WIDTH/WORD][i*WIDTH%WORD+:WIDTH];
        assign key[i/(2*LANES*POLYNOMIALS)][i/(2*LANES)%POLYNOMIALS][i/2%LANES][i%2] = part[KEY-1:0];
        if (KEY < WIDTH) begin : above
            logic unused;
            assign unused = ^part[WIDTH-1:KEY];
        end
    end
    pbs_cluster #(
        .LOG2_POINTS(LOG2_POINTS),
        .LOG2_LANES(LOG2_LANES),
        .POLYNOMIALS(POLYNOMIALS),
        .BATCH(BATCH),
        .LOG2_GROUPS(LOG2_GROUPS),
        .WIDTH(WIDTH),
        .LOG2_BASE(LOG2_BASE),
        .LEVELS(LEVELS),
        .LOAD(LOAD),
        .FORWARD(FORWARD),
        .FORWARD_SHIFTS(FORWARD_SHIFTS),
        .FORWARD_FACTOR(FORWARD_FACTOR),
        .KEY(KEY),
        .PRODUCT_SHIFT(PRODUCT_SHIFT),
        .INVERSE(INVERSE),
        .INVERSE_SHIFTS(INVERSE_SHIFTS),
        .INVERSE_FACTOR(INVERSE_FACTOR),
        .SHIFT(SHIFT),
        .LEFT(LEFT),
        .ADDER(ADDER),
        .MULTIPLIER(MULTIPLIER)
    ) pbs (
        .clock,
        .reset,
        .loads,
        .loaded,
        .line(loaded_line),
        .fresh(loaded_words),
        .start(starts),
        .ciphertext(started),
        .amount(read_amounts[read_lane]),
        .key,
        .valid(accumulated),
        .written,
        .written_line(line),
        .words,
        .clash
    );

    // Sample extraction of the last iteration's words, a cycle after they leave the accumulators.
    logic last_words, mask_comes, body_extracted;
    logic [CHOICE-1:0] last_ciphertext, extracted_ciphertext;
    logic [LOG2_LINES-1:0] last_line, place;
    logic [WIDTH-1:0] last_mask[COLUMNS], last_body, extracted_body, mask[COLUMNS];
    always_ff @(posedge clock) begin
        last_words <= !reset && accumulated && 32'(iterations[written]) == LWE_DIMENSION;
        last_ciphertext <= written;
        last_line <= line;
        last_mask <= words[0];
        last_body <= words[1][0];
        mask_comes <= !reset && last_words;
        body_extracted <= !reset && last_words && last_line == 0;
        extracted_ciphertext <= last_ciphertext;
        extracted_body <= last_body;
    end
    assign extracted = mask_comes;
    sample_extractor #(
        .WIDTH (WIDTH),
        .LANES (COLUMNS),
        .CYCLES(LINES)
    ) extractor (
        .clock,
        .reset,
        .start(last_words && last_line == 0),
        .is_body(1'b0),
        .in(last_mask),
        .place,
        .out(mask)
    );
    logic unused_bodies;
    always_comb begin
        unused_bodies = 1'b0;
        for (int column = 1; column < COLUMNS; column++) unused_bodies ^= ^words[1][column];
    end

    // The key-switch cluster, and its key.
    localparam int unsigned TILE_BUS = COLUMNS * WIDTH / WORD;
    localparam int unsigned TILE = TILE_LINES * SWITCH_LEVELS * (LWE_DIMENSION + 1);
    localparam int unsigned TILE_LINE = $clog2(TILE);
    localparam int unsigned BLOCKS = LWE_DIMENSION / SWITCH_COLUMNS + 1;
    localparam int unsigned BLOCK = BLOCKS > 1 ? $clog2(BLOCKS) : 1;
    logic wants, tile_half_now, tile_half_before, sums_valid[SWITCH_COLUMNS];
    logic [TILE_LINE-1:0] tile_line, tile_line_after;
    logic [WORD-1:0] tile_bus[TILE_BUS];
    logic [WIDTH-1:0] tile_key[COLUMNS], sums[SWITCH_COLUMNS], read_sums[SWITCH_COLUMNS];
    logic [SWITCH_COLUMNS-1:0] completes;
    assign tile_line = switches ? '0 : tile_line_after;
    assign tile_half_now = switches ? tile_half : tile_half_before;
    always_ff @(posedge clock) begin
        tile_line_after <= tile_line + TILE_LINE'(wants);
        tile_half_before <= tile_half_now;
    end
    key_buffer #(
        .BANKS(SWITCH_CHANNELS),
        .BUS(TILE_BUS),
        .WORD(WORD),
        .WORDS(TILE * TILE_BUS / SWITCH_CHANNELS)
    ) tiles (
        .clock,
        .reset,
        .fills(tile_fills),
        .words(tile_words),
        .half(tile_half_now),
        .line(tile_line),
        .key(tile_bus)
    );
    for (genvar lane = 0; lane < COLUMNS; lane++) begin : tile_parts
        assign tile_key[lane] = tile_bus[lane*WIDTH/WORD][lane*WIDTH%WORD+:WIDTH];
    end
    for (genvar column = 0; column < SWITCH_COLUMNS; column++) begin : of_columns
        assign completes[column] = sums_valid[column];
    end
    assign switched = |completes;

    // Results: LINK sums of neighbouring columns a cycle.
    localparam int unsigned PARTS = SWITCH_COLUMNS / LINK;
    localparam int unsigned PART = PARTS > 1 ? $clog2(PARTS) : 1;
    logic sending, sending_after, read_before;
    logic [CHOICE-1:0] sent_now, sent_before;
    logic [AMOUNT_WORD-1:0] sent_word, sent_word_after;
    logic [PART-1:0] part;
    assign sending = sends || sending_after;
    assign sent_now = sends ? sent : sent_before;
    assign sent_word = sends ? '0 : sent_word_after;
    always_ff @(posedge clock) begin
        sending_after <= !reset && sending && 32'(sent_word) != AMOUNT_WORDS - 1;
        sent_before <= sent_now;
        sent_word_after <= sent_word + 1'b1;
        part <= PART'(32'(sent_word) % PARTS);
        read_before <= !reset && sending;
        leaves <= !reset && read_before;
        for (int element = 0; element < LINK; element++) result[element] <= read_sums[32'(part)*LINK+element];
    end
    key_switch_cluster #(
        .LANES(COLUMNS),
        .COLUMNS(SWITCH_COLUMNS),
        .LINES(LINES),
        .TILE_LINES(TILE_LINES),
        .LWE_DIMENSION(LWE_DIMENSION),
        .BATCH(BATCH),
        .WIDTH(WIDTH),
        .LOG2_BASE(SWITCH_LOG2_BASE),
        .LEVELS(SWITCH_LEVELS),
        .KEY_LATENCY(2),
        .ADDER(ADDER),
        .MULTIPLIER(MULTIPLIER)
    ) key_switch (
        .clock,
        .reset,
        .loads(mask_comes),
        .loads_body(body_extracted),
        .loaded(extracted_ciphertext),
        .line(place),
        .fresh(mask),
        .body(extracted_body),
        .start(switches),
        .count,
        .wants,
        .key(tile_key),
        .valid(sums_valid),
        .sums,
        .read(sent_now),
        .read_block(BLOCK'(32'(sent_word) / PARTS)),
        .read_sums
    );
    logic unused_sums;
    always_comb begin
        unused_sums = 1'b0;
        for (int column = 0; column < SWITCH_COLUMNS; column++) unused_sums ^= ^sums[column];
    end
endmodule
