// SPDX-License-Identifier: Apache-2.0
// A lane group of Morphling's vector processing unit (section V-B) with its set of Private-B: LANES lanes of a multiplier, two adders and a shifter, a vector register file, and the decoder of its instructions. An instruction streams vectors from the set or the crossbar through registers and lanes to the set or the crossbar.
//
// A lane computes shift(a b + constant), or subtracts a b from a sum. Register 0 has a: elements of a ciphertext, or those of a row of the key-switch key. Register 1 has b: digits, of which each serves all lanes, or none, for b = 1. Register 2 has the sums. A fourth register takes the next digits while those of register 1 are in use.
//
// - Modulus switch: the elements of a ciphertext under the small key, to amounts.
// - Sample extraction: a mask polynomial from the crossbar and its body. Lane l has coefficient l LINES + t of vector t, so `sample_extractor` reverses a vector on its way to the register.
// - Key switch by a tile: in blocks of LANES rows of the key, which are those of LANES / LEVELS mask elements. A block's digits are computed in one cycle, before the products of the previous block. Then each vector of the sum passes LANES rows. Only the first block's digits are waited for. With the first tile, sums begin with the body.
module lane_group #(
    parameter int unsigned LANES = 8,  // a power of two, at least 8
    parameter int unsigned LWE_DIMENSION = 79,
    parameter int unsigned LINES = 16,  // vectors of a polynomial
    parameter int unsigned LOG2_BASE = 2,  // of the key switch
    parameter int unsigned LEVELS = 8,  // a divisor of LANES
    parameter int unsigned BLOCKS = 64,  // of a tile
    parameter int unsigned PLACES = 64,  // vectors in the set
    parameter int unsigned SMALL_AT = 0,  // places of ciphertexts under the small key, in two entries
    parameter int unsigned LARGE_AT = 20,  // of extracted ones
    parameter int unsigned SUMS_AT = 54,  // of a key switch's sums
    parameter int unsigned ADDER = 1,  // no more, because a sum takes a product every cycle
    parameter int unsigned MULTIPLIER = 3,
    localparam int unsigned WIDTH = 32,
    localparam int unsigned PLACE = $clog2(PLACES),
    localparam int unsigned PART = LEVELS > 1 ? $clog2(LEVELS) : 1,
    localparam int unsigned SMALL = LWE_DIMENSION / LANES + 1  // vectors of a ciphertext under the small key
) (
    input logic clock,
    input logic reset,
    // Memory channels.
    input logic fills,  // a vector comes to the set
    input logic [PLACE-1:0] filled,  // its place
    input logic [WIDTH-1:0] fresh[LANES],
    // An instruction, with fields of its word.
    input logic start,
    input logic [7:0] opcode,  // modulus switch, sample extraction, key switch
    input logic [7:0] entry,  // of the ring buffer that it fills, or of the tile
    input logic [15:0] tile,  // of the key-switch key
    // The crossbar.
    output logic wants,  // a vector in the next cycle
    input logic [WIDTH-1:0] crossed[LANES],
    output logic returns,  // results
    output logic outside,  // they are for the crossbar, not for the set
    output logic [PLACE-1:0] place,
    output logic [WIDTH-1:0] results[LANES],
    output logic frees,  // an instruction can start in the next cycle
    output logic [2:0] ends,  // with the last results of a modulus switch, sample extraction, key switch
    output logic clash  // for tests: two writes to the set
);
    localparam logic [7:0] MODULUS_SWITCH = 15;
    localparam logic [7:0] SAMPLE_EXTRACT = 16;
    localparam logic [7:0] KEY_SWITCH = 17;
    localparam int unsigned LANE = $clog2(LANES);
    localparam int unsigned LOG2_MODULUS = $clog2(LINES * LANES) + 1;
    localparam int unsigned DROPPED = WIDTH - LOG2_MODULUS;
    localparam int unsigned KEPT = LOG2_BASE * LEVELS;
    localparam int unsigned LATENCY = latency::lane_group_lane(MULTIPLIER, ADDER);
    localparam int unsigned LEAD = latency::lane_group_digits(MULTIPLIER, ADDER);

    // What is issued in a cycle: an operation of the lanes, and reads for it.
    typedef struct packed {
        logic valid;
        logic [7:0] opcode;  // a key switch's is a product
        logic digits;  // of a key switch
        logic loads_sum;
        logic begins;  // a block
        logic is_body;
        logic stores;
        logic last;  // of an instruction
        logic [LANE-1:0] row;
        logic [PLACE-1:0] to;
    } operation_t;
    typedef struct packed {
        logic [PART-1:0] part;  // of a vector of the mask
        logic initial_sum;
        logic holds_body;  // the vector of the sum with the body's place
        logic extracts;  // the first vector of a polynomial
        logic body;
    } read_t;

    // The same once operands are read.
    typedef struct packed {
        logic returns;
        logic last;
        logic digits;
        logic loads_sum;
        logic [7:0] opcode;
        logic [PLACE-1:0] to;
    } result_t;

    // The decoder: places of operands and results. A key switch's operand is what was extracted last, and a tile begins within a vector of its mask.
    logic [PLACE-1:0] source, target, body, extracted_at, extracts_to;
    logic [PART-1:0] part;
    logic first;
    assign extracts_to = PLACE'(LARGE_AT + 32'(entry) * (LINES + 1));
    assign body = extracted_at + PLACE'(LINES);
    assign part = PART'(32'(tile) * BLOCKS % LEVELS);
    assign first = tile == 0;
    always_comb begin
        source = PLACE'(SMALL_AT + 32'(entry) * SMALL);
        target = PLACE'(32'(entry) * SMALL);  // of the Shared buffer
        if (opcode == SAMPLE_EXTRACT) target = extracts_to;
        if (opcode == KEY_SWITCH) begin
            source = extracted_at + PLACE'(32'(tile) * BLOCKS / LEVELS);
            target = PLACE'(SUMS_AT);
        end
    end
    always_ff @(posedge clock) if (start && opcode == SAMPLE_EXTRACT) extracted_at <= extracts_to;

    // Vectors of an instruction, or lead, blocks, vectors and rows of a key switch.
    localparam int unsigned STEP = $clog2(LINES + SMALL + LEAD + 2);
    localparam int unsigned BLOCK = $clog2(BLOCKS + LEVELS + 1);
    logic busy, leads, slot;
    logic [7:0] current;
    logic [PLACE-1:0] from, to, body_at, read_at;
    logic tile_first;
    logic [STEP-1:0] step;  // since the start, or a vector of the sum
    logic [BLOCK-1:0] block, digit_block;  // the latter from the vector's first part on
    logic [PART-1:0] first_part;
    logic [LANE-1:0] row;
    operation_t issued;
    read_t reads, read_before;
    logic switching;
    assign switching = start ? opcode == KEY_SWITCH : current == KEY_SWITCH;
    assign digit_block = start ? BLOCK'(part) : BLOCK'(first_part) + block + 1'b1;
    always_comb begin
        issued = '0;
        reads = '0;
        read_at = start ? source : from + PLACE'(step);
        reads.extracts = start && opcode == SAMPLE_EXTRACT;
        if (switching) begin
            issued.opcode = KEY_SWITCH;
            if (start || busy && slot) begin
                // The next block's.
                issued.valid = 1'b1;
                issued.digits = 1'b1;
                reads.part = PART'(32'(digit_block) % LEVELS);
                read_at = (start ? source : from) + PLACE'(32'(digit_block) / LEVELS);
            end else if (busy && !leads) begin
                issued.valid = 1'b1;
                issued.loads_sum = row == 0;
                issued.begins = row == 0 && step == 0;
                reads.initial_sum = tile_first && block == 0;
                reads.holds_body = 32'(step) == LWE_DIMENSION / LANES;
                issued.stores = 32'(row) == LANES - 1;
                issued.row = row;
                issued.to = to + PLACE'(step);
                read_at = to + PLACE'(step);
            end else if (busy && step == 1) begin
                reads.body = 1'b1;
                read_at = body_at;
            end
        end else begin
            issued.valid = start || busy;
            issued.opcode = start ? opcode : current;
            issued.stores = 1'b1;
            // The extractor adds a vector's place, except the body's.
            issued.to = start ? target : current == SAMPLE_EXTRACT && 32'(step) != LINES ? to : to + PLACE'(step);
            issued.is_body = !start && current == SAMPLE_EXTRACT && 32'(step) == LINES;
        end
        issued.last = frees;
    end
    always_comb begin
        frees = busy && 32'(step) + 1 == (current == MODULUS_SWITCH ? SMALL : LINES + 1);
        if (current == KEY_SWITCH) frees = busy && !leads && !slot && 32'(row) == LANES - 1 && 32'(step) == SMALL - 1 && 32'(block) + 1 == BLOCKS;
    end
    assign wants = issued.valid && (issued.opcode == SAMPLE_EXTRACT || issued.opcode == KEY_SWITCH && !issued.digits);
    always_ff @(posedge clock) begin
        if (start) begin
            busy <= 1'b1;
            current <= opcode;
            {from, to, body_at, first_part, tile_first} <= {source, target, body, part, first};
            step <= STEP'(1);
            leads <= opcode == KEY_SWITCH;
            {block, row, slot} <= '0;
        end else if (busy && current == KEY_SWITCH && leads) begin
            step <= 32'(step) == LEAD - 1 ? '0 : step + 1'b1;
            leads <= 32'(step) != LEAD - 1;
            slot <= 32'(step) == LEAD - 1 && BLOCKS > 1;
        end else if (busy && current == KEY_SWITCH && slot) begin
            slot <= 1'b0;
        end else if (busy && current == KEY_SWITCH) begin
            row <= row + 1'b1;
            if (32'(row) == LANES - 1) begin
                step <= 32'(step) == SMALL - 1 ? '0 : step + 1'b1;
                if (32'(step) == SMALL - 1) begin
                    block <= block + 1'b1;
                    slot <= 32'(block) + 2 < BLOCKS;
                end
            end
        end else if (busy) begin
            step <= step + 1'b1;
        end
        if (reset || frees && !start) busy <= 1'b0;
    end

    // The set of Private-B: a vector is read and one is written in a cycle.
    logic [WIDTH-1:0] read[LANES];
    logic writes;
    assign writes = returns && !outside;
    assign clash = fills && writes;
    for (genvar lane = 0; lane < LANES; lane++) begin : set
        logic [WIDTH-1:0] bank[PLACES];
        always_ff @(posedge clock) begin
            if (writes || fills) bank[writes ? place : filled] <= writes ? results[lane] : fresh[lane];
            read[lane] <= bank[read_at];
        end
    end

    // An operation with its operands from the banks; at the register file; at the second adder; with its result.
    operation_t from_banks, at_registers;
    result_t placed, at_sums;
    logic digits_return;
    logic [2:0] ending;
    assign ending = {at_sums.opcode == KEY_SWITCH, at_sums.opcode == SAMPLE_EXTRACT, at_sums.opcode == MODULUS_SWITCH} & {3{at_sums.last}};
    logic [$clog2(LINES)-1:0] extracted_place;
    delay #(
        .CYCLES(1),
        .WIDTH ($bits(operation_t) + $bits(read_t))
    ) with_banks (
        .clock,
        .reset,
        .in ({issued, reads}),
        .out({from_banks, read_before})
    );
    delay #(
        .CYCLES(1),
        .WIDTH ($bits(operation_t))
    ) with_registers (
        .clock,
        .reset,
        .in (from_banks),
        .out(at_registers)
    );
    always_comb begin
        placed = '{
            returns: at_registers.valid && at_registers.stores,
            last: at_registers.last,
            digits: at_registers.valid && at_registers.digits,
            loads_sum: at_registers.loads_sum,
            opcode: at_registers.opcode,
            to: at_registers.to
        };
        if (at_registers.opcode == SAMPLE_EXTRACT && !at_registers.is_body) placed.to = at_registers.to + PLACE'(extracted_place);
    end
    delay #(
        .CYCLES(LATENCY - ADDER),
        .WIDTH ($bits(result_t))
    ) with_sums (
        .clock,
        .reset,
        .in (placed),
        .out(at_sums)
    );
    delay #(
        .CYCLES(ADDER),
        .WIDTH (6 + PLACE)
    ) with_results (
        .clock,
        .reset,
        .in ({at_sums.returns, ending, at_sums.digits, at_sums.opcode == MODULUS_SWITCH, at_sums.to}),
        .out({returns, ends, digits_return, outside, place})
    );

    // The register file. Extracted vectors are in the extractor's register.
    logic [WIDTH-1:0] vectors[LANES], sums[LANES], extracted[LANES], body_element;
    logic signed [LOG2_BASE-1:0] digits[LANES], next_digits[LANES], used_digits[LANES];
    sample_extractor #(
        .WIDTH (WIDTH),
        .LANES (LANES),
        .CYCLES(LINES)
    ) extractor (
        .clock,
        .reset,
        .start(read_before.extracts),
        .is_body(from_banks.is_body),
        .in(crossed),
        .place(extracted_place),
        .out(extracted)
    );
    always_ff @(posedge clock) if (read_before.body) body_element <= read[0];
    for (genvar lane = 0; lane < LANES; lane++) begin : registers
        localparam int unsigned OF_PART = lane / LEVELS;
        logic [WIDTH-1:0] initial_sum;
        assign initial_sum = lane == LWE_DIMENSION % LANES && read_before.holds_body ? body_element : '0;
        assign used_digits[lane] = at_registers.begins ? next_digits[lane] : digits[lane];
        always_ff @(posedge clock) begin
            if (from_banks.digits) vectors[lane] <= read[LANE'(32'(read_before.part)*(LANES/LEVELS)+OF_PART)];
            else vectors[lane] <= from_banks.opcode == KEY_SWITCH ? crossed[lane] : read[lane];
            if (from_banks.loads_sum) sums[lane] <= read_before.initial_sum ? initial_sum : read[lane];
            digits[lane] <= used_digits[lane];
        end
    end

    // The lanes.
    function automatic logic [KEPT-1:0] halves();
        halves = '0;
        for (int unsigned i = 0; i < LEVELS; i++) halves[LOG2_BASE*i+LOG2_BASE-1] = 1'b1;
    endfunction
    localparam logic [WIDTH-1:0] DIGIT_CONSTANT = {halves(), 1'b1, (WIDTH - KEPT - 1)'(0)};
    localparam logic [WIDTH-1:0] SWITCH_CONSTANT = WIDTH'(1) << (DROPPED - 1);
    logic adds_digits, adds_half;
    delay #(
        .CYCLES(1 + MULTIPLIER),
        .WIDTH (2)
    ) with_products (
        .clock,
        .reset,
        .in ({at_registers.digits, at_registers.opcode == MODULUS_SWITCH}),
        .out({adds_digits, adds_half})
    );
    for (genvar lane = 0; lane < LANES; lane++) begin : lanes
        localparam int unsigned BELOW = WIDTH - LOG2_BASE * (lane % LEVELS + 1);
        logic [WIDTH-1:0] a, product, constant, sum, shifted;
        logic signed [LOG2_BASE:0] b;
        always_ff @(posedge clock) begin
            a <= at_registers.opcode == SAMPLE_EXTRACT ? extracted[lane] : vectors[lane];
            b <= at_registers.opcode == KEY_SWITCH && !at_registers.digits ? (LOG2_BASE + 1)'(used_digits[at_registers.row]) : (LOG2_BASE + 1)'(1);
        end
        delay #(
            .CYCLES(MULTIPLIER),
            .WIDTH (WIDTH)
        ) multiplier (
            .clock,
            .reset(1'b0),
            .in (a * WIDTH'(b)),
            .out(product)
        );
        assign constant = adds_digits ? DIGIT_CONSTANT : adds_half ? SWITCH_CONSTANT : '0;
        delay #(
            .CYCLES(ADDER),
            .WIDTH (WIDTH)
        ) first_adder (
            .clock,
            .reset(1'b0),
            .in (product + constant),
            .out(sum)
        );
        always_comb begin
            shifted = sum;
            if (at_sums.digits) shifted = sum >> BELOW;
            else if (at_sums.opcode == MODULUS_SWITCH) shifted = sum >> DROPPED;
            else if (at_sums.opcode == KEY_SWITCH) shifted = (at_sums.loads_sum ? sums[lane] : results[lane]) - sum;
        end
        delay #(
            .CYCLES(ADDER),
            .WIDTH (WIDTH)
        ) second_adder (
            .clock,
            .reset(1'b0),
            .in (shifted),
            .out(results[lane])
        );
        always_ff @(posedge clock) begin
            if (digits_return) next_digits[lane] <= {!results[lane][LOG2_BASE-1], results[lane][LOG2_BASE-2:0]};
        end
    end
endmodule
