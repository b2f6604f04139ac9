// SPDX-License-Identifier: Apache-2.0
// FPT's whole pipeline (sections 3 and 5.1): blind rotations of batches through the CMUX ring, one batch behind the other, from rotation amounts, a test polynomial and a bootstrapping key in memories that channels fill, to extracted ciphertexts. A batch is IN_FLIGHT ciphertexts.
//
// The ring is rigid: after `begins`, counters decide everything. A second rotator rotates the test polynomial by a body's amount; the result enters the ring LEAD cycles after `begins`, instead of the last sums of the previous batch. An amount is read before its ciphertext comes to the rotator, a line of the key before its row comes to the multipliers. Amounts lie in the order of use: those of bodies, then of all ciphertexts in
// an iteration, then in the next.
module fpt_pipeline #(
    parameter int unsigned LOG2_POINTS = 5,  // arithmetic and ring as of cmux
    parameter int unsigned LOG2_LANES = 2,
    parameter int unsigned COLUMNS = 2,
    parameter int unsigned LOG2_BASE = 6,
    parameter int unsigned LEVELS = 2,
    parameter int unsigned IN_FLIGHT = 12,
    parameter int unsigned LOG2_RADIX = 4,
    parameter int unsigned LOAD = 10,
    parameter int unsigned FORWARD = 18,
    parameter int unsigned FORWARD_SHIFTS = 0,
    parameter int unsigned FORWARD_FACTOR = 14,
    parameter int unsigned KEY = 20,
    parameter int unsigned PRODUCT_SHIFT = 10,
    parameter int unsigned INVERSE = 19,
    parameter int unsigned INVERSE_SHIFTS = 0,
    parameter int unsigned INVERSE_FACTOR = 15,
    parameter int unsigned SHIFT = 0,
    parameter int unsigned LEFT = 0,
    parameter int unsigned MULTIPLEXER = 1,
    parameter int unsigned ADDER = 1,
    parameter int unsigned MULTIPLIER = 4,
    parameter int unsigned LWE_DIMENSION = 8,
    parameter int unsigned TABLE = 16,  // coefficients of a test polynomial in a word of the channel, a power of two
    parameter int unsigned KEY_BANKS = 16,  // of the key buffer: COLUMNS times a divisor of a key's lines
    localparam int unsigned LANES = 1 << LOG2_LANES,
    localparam int unsigned WIDTH = LOG2_BASE * LEVELS,
    localparam int unsigned COEFFICIENTS = 2 * LANES / LEVELS,
    localparam int unsigned STEP = 1 << (LOG2_POINTS - LOG2_LANES),
    localparam int unsigned GROUP = STEP * LEVELS,
    localparam int unsigned CHANNEL = 1024,
    localparam int unsigned PART = 32,  // of a point of the key
    localparam int unsigned WORD = 2 * LANES * PART
) (
    input logic clock,
    input logic reset,
    input logic begins,
    // The channel for ciphertexts brings amounts, or words of a test polynomial.
    input logic amounts_come,
    input logic table_comes,
    input logic [CHANNEL-1:0] channel,
    // The channels of the key bring a word to each bank.
    input logic key_fills,
    input logic [WORD-1:0] key_words[KEY_BANKS],
    output logic rotates,  // for tests: a polynomial is at the rotator
    // Words of extracted ciphertexts.
    output logic unloads,
    output logic [$clog2(GROUP)-1:0] place,
    output logic [WIDTH-1:0] elements[COEFFICIENTS]
);
    localparam int unsigned CMUX = COLUMNS * GROUP;
    localparam int unsigned PERIOD = IN_FLIGHT * CMUX;
    localparam int unsigned PHASE = $clog2(PERIOD);
    localparam int unsigned ITERATION = $clog2(LWE_DIMENSION);
    localparam int unsigned POSITION = IN_FLIGHT > 1 ? $clog2(IN_FLIGHT) : 1;
    localparam int unsigned COLUMN = COLUMNS > 1 ? $clog2(COLUMNS) : 1;
    localparam int unsigned AMOUNT = LOG2_POINTS + 2;
    localparam int unsigned AMOUNT_BITS = 16;
    localparam int unsigned AMOUNTS = CHANNEL / AMOUNT_BITS;  // in a word of the channel
    localparam int unsigned BATCH = IN_FLIGHT * (LWE_DIMENSION + 1);
    localparam int unsigned WORDS = (BATCH + AMOUNTS - 1) / AMOUNTS;
    localparam int unsigned ROTATOR = latency::rotator(LOG2_POINTS + 1, GROUP, MULTIPLEXER, ADDER);
    localparam int unsigned BODY_AFTER = (COLUMNS - 1) * GROUP;
    localparam int unsigned LEAD = ROTATOR + 1 > BODY_AFTER ? ROTATOR + 1 - BODY_AFTER : 0;

    // Amounts of two batches; those of bodies, which are in a batch's first word, also in registers for the first rotation.
    logic filled_half, read_half, read_bodies;
    logic [AMOUNT-1:0] bodies[2][IN_FLIGHT], amount;
    logic [$clog2(WORDS+1)-1:0] filled;
    logic [$clog2(BATCH)-1:0] taken;
    logic [CHANNEL-1:0] amounts[2*WORDS], amounts_read;
    logic [$clog2(AMOUNTS)-1:0] lane;
    logic [COLUMN-1:0] column;  // of the polynomial at the rotator
    always_ff @(posedge clock) begin
        if (reset) begin
            {filled_half, filled, read_half, column} <= '0;
            taken <= ($clog2(BATCH))'(IN_FLIGHT);
        end else begin
            if (amounts_come) begin
                filled <= 32'(filled) == WORDS - 1 ? '0 : filled + 1'b1;
                if (32'(filled) == WORDS - 1) filled_half <= !filled_half;
            end
            if (rotates) begin
                column <= 32'(column) == COLUMNS - 1 ? '0 : column + 1'b1;
                if (32'(column) == COLUMNS - 1) begin
                    taken <= 32'(taken) == BATCH - 1 ? ($clog2(BATCH))'(IN_FLIGHT) : taken + 1'b1;
                    if (32'(taken) == BATCH - 1) read_half <= !read_half;
                end
            end
        end
        for (int i = 0; i < IN_FLIGHT; i++) if (amounts_come && filled == 0) bodies[filled_half][i] <= channel[i*AMOUNT_BITS+:AMOUNT];
        if (amounts_come) amounts[(filled_half ? WORDS : 0) + 32'(filled)] <= channel;
        amounts_read <= amounts[(read_half ? WORDS : 0) + 32'(taken) / AMOUNTS];
        lane <= ($clog2(AMOUNTS))'(taken);
    end
    assign amount = amounts_read[32'(lane)*AMOUNT_BITS+:AMOUNT];

    // The test polynomial, and its rotation for each ciphertext.
    logic table_starts, table_on, initial_starts, unused_initial;
    logic [PHASE-1:0] table_phase, table_after;
    localparam int unsigned TABLE_BANKS = COEFFICIENTS > TABLE ? COEFFICIENTS / TABLE : 1;
    localparam int unsigned TABLE_PARTS = TABLE > COEFFICIENTS ? TABLE / COEFFICIENTS : 1;
    localparam int unsigned TABLE_LINES = GROUP / TABLE_PARTS;
    localparam int unsigned TABLE_WORD = TABLE * WIDTH;
    logic [TABLE_WORD-1:0] table_read[TABLE_BANKS];
    logic [$clog2(TABLE_LINES*TABLE_BANKS)-1:0] table_filled;
    logic [$clog2(GROUP)-1:0] table_part;
    logic [POSITION-1:0] body_number;
    logic [WIDTH-1:0] table_word[COEFFICIENTS], initial_words[COEFFICIENTS];
    delay #(
        .CYCLES(LEAD + BODY_AFTER - ROTATOR - 1)
    ) to_table (
        .clock,
        .reset,
        .in (begins),
        .out(table_starts)
    );
    logic table_runs, table_runs_after;
    assign table_runs = table_starts || table_runs_after;
    assign table_phase = table_starts ? '0 : table_after;
    assign table_on = table_runs && 32'(table_phase) % CMUX == 0;
    always_ff @(posedge clock) begin
        if (reset) {table_filled, read_bodies, table_runs_after} <= '0;
        else begin
            if (table_comes) table_filled <= table_filled + 1'b1;
            table_runs_after <= table_runs && 32'(table_phase) != PERIOD - 1;
            if (table_runs && 32'(table_phase) == PERIOD - 1) read_bodies <= !read_bodies;
        end
        table_after <= table_phase + 1'b1;
        table_part <= ($clog2(GROUP))'(32'(table_phase) % TABLE_PARTS);
        initial_starts <= !reset && table_on;
        body_number <= POSITION'(32'(table_phase) / CMUX);
    end
    for (genvar number = 0; number < TABLE_BANKS; number++) begin : table_banks
        logic [TABLE_WORD-1:0] bank[TABLE_LINES];
        always_ff @(posedge clock) begin
            if (table_comes && 32'(table_filled) % TABLE_BANKS == number) bank[($clog2(TABLE_LINES))'(32'(table_filled)/TABLE_BANKS)] <= channel[TABLE_WORD-1:0];
            table_read[number] <= bank[($clog2(TABLE_LINES))'(32'(table_phase)%GROUP/TABLE_PARTS)];
        end
    end
    for (genvar i = 0; i < COEFFICIENTS; i++) begin : table_words
        assign table_word[i] = table_read[i/TABLE][(32'(table_part)*COEFFICIENTS+i%TABLE)*WIDTH+:WIDTH];
    end
    rotator #(
        .LOG2_DEGREE(LOG2_POINTS + 1),
        .WIDTH(WIDTH),
        .LANES(COEFFICIENTS),
        .REPEATS(1),
        .SUBTRACTS(1'b0),
        .MULTIPLEXER(MULTIPLEXER),
        .ADDER(ADDER)
    ) initial_rotation (
        .clock,
        .reset,
        .start(initial_starts),
        .amount(-bodies[read_bodies][body_number]),
        .in(table_word),
        .next(unused_initial),
        .out(initial_words)
    );

    // Words that enter the ring: zeros for a mask, then the rotated test polynomial.
    logic load_starts, loads, loads_after;
    logic [PHASE-1:0] load_phase, load_after;
    logic [WIDTH-1:0] fresh[COEFFICIENTS];
    delay #(
        .CYCLES(LEAD)
    ) to_load (
        .clock,
        .reset,
        .in (begins),
        .out(load_starts)
    );
    assign loads = load_starts || loads_after;
    assign load_phase = load_starts ? '0 : load_after;
    always_ff @(posedge clock) begin
        loads_after <= !reset && loads && 32'(load_phase) != PERIOD - 1;
        load_after <= load_phase + 1'b1;
    end
    for (genvar i = 0; i < COEFFICIENTS; i++) begin : fresh_words
        assign fresh[i] = 32'(load_phase) % CMUX < BODY_AFTER ? '0 : initial_words[i];
    end

    // The key, from its buffer to the multipliers in two cycles.
    localparam int unsigned KEY_READ = 2;
    localparam int unsigned LINES = COLUMNS * GROUP;
    localparam int unsigned LINE = $clog2(LINES);
    logic key_starts, key_half;
    logic [LINE-1:0] key_line, key_line_after;
    logic [COLUMN-1:0] key_column;
    logic [POSITION-1:0] key_position;
    logic [WORD-1:0] bus[COLUMNS];
    logic signed [KEY-1:0] key[COLUMNS][LANES][2];
    delay #(
        .CYCLES(latency::cmux_point(LOG2_POINTS, LOG2_LANES, LEVELS, LOG2_RADIX, MULTIPLEXER, MULTIPLIER, ADDER) - KEY_READ)
    ) before_products (
        .clock,
        .reset,
        .in (rotates),
        .out(key_starts)
    );
    logic key_runs, key_runs_after;
    assign key_runs = key_starts || key_runs_after;
    assign key_line = key_starts ? LINE'(32'(key_column) * GROUP) : key_line_after;
    always_ff @(posedge clock) begin
        key_line_after <= key_line + 1'b1;
        if (reset) {key_column, key_position, key_half} <= '0;
        else if (32'(key_line) % GROUP == GROUP - 1 && key_runs) begin
            key_column <= 32'(key_column) == COLUMNS - 1 ? '0 : key_column + 1'b1;
            if (32'(key_column) == COLUMNS - 1) begin
                key_position <= 32'(key_position) == IN_FLIGHT - 1 ? '0 : key_position + 1'b1;
                if (32'(key_position) == IN_FLIGHT - 1) key_half <= !key_half;
            end
        end
    end
    always_ff @(posedge clock) key_runs_after <= !reset && key_runs && 32'(key_line) % GROUP != GROUP - 1;
    key_buffer #(
        .BANKS(KEY_BANKS),
        .BUS(COLUMNS),
        .WORD(WORD),
        .WORDS(LINES * COLUMNS / KEY_BANKS)
    ) keys (
        .clock,
        .reset,
        .fills(key_fills),
        .words(key_words),
        .half(key_half),
        .line(key_line),
        .key(bus)
    );
    for (genvar i = 0; i < COLUMNS * LANES * 2; i++) begin : parts
        logic [PART-1:0] part;
        assign part = bus[i/(2*LANES)][i%(2*LANES)*PART+:PART];
        assign key[i/(2*LANES)][i/2%LANES][i%2] = part[KEY-1:0];
        if (KEY < PART) begin : above
            logic unused;
            assign unused = ^part[PART-1:KEY];
        end
    end

    // The ring, and the products that have come back.
    logic products_come, ends, finishes, unused_valid;
    logic [PHASE-1:0] product;
    logic [ITERATION-1:0] iteration;
    logic [WIDTH-1:0] unused_words[COEFFICIENTS], totals[COEFFICIENTS];
    assign ends = 32'(iteration) == LWE_DIMENSION - 1;
    always_ff @(posedge clock) begin
        if (reset) {product, iteration} <= '0;
        else if (products_come) begin
            product <= 32'(product) == PERIOD - 1 ? '0 : product + 1'b1;
            if (32'(product) == PERIOD - 1) iteration <= ends ? '0 : iteration + 1'b1;
        end
    end
    cmux #(
        .LOG2_POINTS(LOG2_POINTS),
        .LOG2_LANES(LOG2_LANES),
        .COLUMNS(COLUMNS),
        .LOG2_BASE(LOG2_BASE),
        .LEVELS(LEVELS),
        .IN_FLIGHT(IN_FLIGHT),
        .LOG2_RADIX(LOG2_RADIX),
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
        .MULTIPLEXER(MULTIPLEXER),
        .ADDER(ADDER),
        .MULTIPLIER(MULTIPLIER)
    ) ring (
        .clock,
        .reset,
        .loads,
        .fresh,
        .drops(ends),
        .amount,
        .key,
        .start(rotates),
        .products_come,
        .valid(unused_valid),
        .words(unused_words),
        .totals
    );
    delay #(
        .CYCLES(latency::accumulator(ADDER))
    ) with_totals (
        .clock,
        .reset,
        .in (products_come && ends),
        .out(finishes)
    );

    // Sample extraction of the sums as they leave the accumulators.
    logic [PHASE-1:0] finished;
    always_ff @(posedge clock) begin
        if (reset) finished <= '0;
        else if (finishes) finished <= 32'(finished) == PERIOD - 1 ? '0 : finished + 1'b1;
        unloads <= !reset && finishes;
    end
    sample_extractor #(
        .WIDTH (WIDTH),
        .LANES (COEFFICIENTS),
        .CYCLES(GROUP)
    ) extractor (
        .clock,
        .reset,
        .start(finishes && 32'(finished) % GROUP == 0),
        .is_body(32'(finished) % CMUX >= BODY_AFTER),
        .in(totals),
        .place,
        .out(elements)
    );
    logic unused;
    always_comb begin
        unused = unused_initial ^ unused_valid ^ ^channel;
        for (int i = 0; i < COEFFICIENTS; i++) unused ^= ^unused_words[i];
    end
endmodule
