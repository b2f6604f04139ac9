// SPDX-License-Identifier: Apache-2.0
// Morphling (section IV-A, figure 4) with one XPU: programmable bootstraps with key switch from the words of a compiled program. It has the scheduler, the XPU with its sequencer, a lane group for each of its rows, the Shared buffer between them, and the shares of Private-B for tiles of the key-switch key.
//
// Outside are the memory channels: they bring words of the program, ciphertexts, tables, tiles and keys, and say when transfers free their unit and end. So does the filling of twiddle buffers, for factors that are constants here.
//
// All lane groups switch keys with the same tile in the same cycles, so a row of the key is read once for all of them.
module morphling_chip #(
    parameter int unsigned LOG2_POINTS = 6,
    parameter int unsigned LOG2_LANES = 1,  // of the XPU
    parameter int unsigned ROWS = 4,  // even; as many lane groups
    parameter int unsigned COLUMNS = 4,
    parameter int unsigned WAVES = 4,  // a power of two
    parameter int unsigned LWE_DIMENSION = 79,
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
    parameter int unsigned COEF = 16,
    parameter int unsigned WAITS = 32,
    parameter int unsigned LOG2_VECTOR = 3,  // lanes of a group
    parameter int unsigned SWITCH_LOG2_BASE = 2,
    parameter int unsigned SWITCH_LEVELS = 8,
    parameter int unsigned BLOCKS = 64,  // of a tile, a multiple of the lane groups
    parameter int unsigned PLACES = 256,
    parameter int unsigned LARGE_AT = 64,
    parameter int unsigned SUMS_AT = 160,
    parameter int unsigned SHARED_IN = 2,
    parameter int unsigned SHARED_OUT = 4,
    parameter int unsigned TILES = 64,  // instructions of the kinds with one for each tile
    parameter int unsigned ADDER = 1,
    parameter int unsigned MULTIPLIER = 3,
    localparam int unsigned POLYNOMIALS = 2,
    localparam int unsigned WIDTH = 32,
    localparam int unsigned WORD = 256,
    localparam int unsigned UNITS = 4 + ROWS,
    localparam int unsigned OF_LANES = 11,  // kinds of instructions that are not of lane groups
    localparam int unsigned LANES = 1 << LOG2_VECTOR,
    localparam int unsigned COEFFICIENTS = 2 << LOG2_LANES,
    localparam int unsigned PLACE = $clog2(PLACES),
    localparam int unsigned ENTRY_IN = SHARED_IN > 1 ? $clog2(SHARED_IN) : 1,
    localparam int unsigned SPECTRUM_WORD = FORWARD << (LOG2_LANES + 1)
) (
    input logic clock,
    input logic reset,
    // The program.
    input logic comes,
    input logic [WORD-1:0] word,
    input logic fetched,
    // Transfers and twiddle factors.
    input logic [3:0] frees,
    input logic [OF_LANES-1:0] ends,
    // Memory channels: a vector for each lane group's set.
    input logic fills,  // elements of ciphertexts
    input logic [PLACE-1:0] filled,
    input logic tile_comes,  // rows of the key-switch key
    input logic table_comes,  // a line of a table, in the first of them
    input logic [ENTRY_IN-1:0] table_entry,
    input logic [WIDTH-1:0] fresh[ROWS][LANES],
    // Channels of the bootstrapping key.
    input logic key_fills,
    input logic [SPECTRUM_WORD-1:0] key_words[POLYNOMIALS],
    input logic key_comes,  // from the next cycle on, a start finds one more key
    // Instructions that start, and results in the sets.
    output logic [UNITS-1:0] starts,
    output logic [WORD-1:0] started[UNITS],
    output logic iterates,  // a polynomial's read
    output logic [ROWS-1:0] returns,
    output logic [PLACE-1:0] place[ROWS],
    output logic [WIDTH-1:0] results[ROWS][LANES],
    output logic wrong  // for tests: an access or an instruction too many
);
    localparam int unsigned LINK = 2;
    localparam int unsigned ARRAY = 3;
    localparam int unsigned GROUPS = 4;  // the first lane group
    localparam int unsigned LOAD_ACCUMULATORS = 7;
    localparam int unsigned STORE_ACCUMULATORS = 8;
    localparam int unsigned ROTATE = 10;
    localparam logic [7:0] LOADS = 11;  // opcodes
    localparam logic [7:0] ROTATES = 12;
    localparam logic [7:0] STORES = 13;
    localparam logic [7:0] EXTRACTS = 16;
    localparam logic [7:0] SWITCHES = 17;
    localparam int unsigned LINES = 1 << (LOG2_POINTS - LOG2_LANES);
    localparam int unsigned WAVE = WAVES > 1 ? $clog2(WAVES) : 1;
    localparam int unsigned ENTRY_OUT = SHARED_OUT > 1 ? $clog2(SHARED_OUT) : 1;
    localparam int unsigned SMALL = LWE_DIMENSION / LANES + 1;

    // The scheduler.
    logic [UNITS-1:0] all_frees;
    logic [OF_LANES+3*ROWS-1:0] all_ends;
    logic wave_ends, wrong_instruction, load_last, store_last, load_ends, store_ends, rotation_frees, rotation_ends;
    logic [ROWS-1:0] lanes_free;
    logic [ROWS-1:0][2:0] lanes_end;
    assign all_frees = {lanes_free, frees[ARRAY] || rotation_frees, load_last || store_last, frees[LINK-1:0]};
    always_comb begin
        all_ends = {lanes_end, ends};
        all_ends[LOAD_ACCUMULATORS] = load_ends;
        all_ends[STORE_ACCUMULATORS] = store_ends;
        all_ends[ROTATE] = rotation_ends;
    end
    instruction_scheduler #(
        .LANE_GROUPS(ROWS),
        .WAVES(WAVES),
        .HALVES(1),
        .SHARED_IN(SHARED_IN),
        .SHARED_OUT(SHARED_OUT),
        .TILES(TILES)
    ) scheduler (
        .clock,
        .reset,
        .comes,
        .word,
        .fetched,
        .frees(all_frees),
        .ends(all_ends),
        .wave_ends,
        .starts,
        .started,
        .wrong(wrong_instruction)
    );

    // The link. An instruction ends when its last line has passed two banks and the crossbar.
    localparam int unsigned TO_BANK = 3;
    localparam int unsigned SENT = $clog2(ROWS * POLYNOMIALS * LINES);
    logic loads, stores, storing_after;
    logic [SENT-1:0] stored, stored_after;
    logic [ENTRY_IN-1:0] loaded_entry;
    logic [ENTRY_OUT-1:0] stored_entry, stored_entry_before;
    logic [WAVE-1:0] loaded_wave, loaded_wave_before;
    assign loads = starts[LINK] && started[LINK][7:0] == LOADS;
    assign stores = starts[LINK] && started[LINK][7:0] == STORES;
    assign stored = stores ? '0 : stored_after;
    assign store_last = (stores || storing_after) && 32'(stored) == ROWS * POLYNOMIALS * LINES - 1;
    assign loaded_wave = loads ? started[LINK][16+:WAVE] : loaded_wave_before;
    assign stored_entry = stores ? started[LINK][24+:ENTRY_OUT] : stored_entry_before;
    always_ff @(posedge clock) begin
        storing_after <= !reset && (stores || storing_after) && !store_last;
        stored_after <= stored + 1'b1;
        loaded_wave_before <= loaded_wave;
        stored_entry_before <= stored_entry;
        if (reset) loaded_entry <= '0;
        else if (load_last) loaded_entry <= 32'(loaded_entry) == SHARED_IN - 1 ? '0 : loaded_entry + 1'b1;
    end
    delay #(
        .CYCLES(TO_BANK),
        .WIDTH (2)
    ) of_link (
        .clock,
        .reset,
        .in ({load_last, store_last}),
        .out({load_ends, store_ends})
    );

    // The XPU.
    logic line_comes, first, rotates, start, half, leaves, written, xpu_clash;
    logic [WAVE-1:0] target, wave, written_wave;
    logic [$clog2(POLYNOMIALS)-1:0] polynomial;
    logic [LEVELS > 1 ? $clog2(LEVELS)-1 : 0:0] level;
    logic [WAVE-1:0] last_wave;
    logic [WIDTH-1:0] line[COEFFICIENTS], result[COEFFICIENTS];
    logic decomposed, transformed, drained;
    logic [ROWS-1:0] accumulated;
    logic [WAVE-1:0] written_waves[ROWS];
    assign rotates = starts[ARRAY] && started[ARRAY][7:0] == ROTATES;
    assign last_wave = WAVE'((32'(started[ARRAY][32+:16]) - 1) / ROWS);
    always_ff @(posedge clock) begin
        written <= !reset && accumulated[ROWS-1];
        written_wave <= written_waves[ROWS-1];
    end
    assign iterates = start;
    delay #(
        .CYCLES(2),
        .WIDTH (WAVE)
    ) with_lines (
        .clock,
        .reset,
        .in (loaded_wave),
        .out(target)
    );
    rotation_sequencer #(
        .LINES(LINES),
        .POLYNOMIALS(POLYNOMIALS),
        .LEVELS(LEVELS),
        .WAVES(WAVES),
        .LWE_DIMENSION(LWE_DIMENSION)
    ) sequencer (
        .clock,
        .reset,
        .rotate(rotates),
        .last_wave,
        .key_comes,
        .written,
        .written_wave,
        .start,
        .wave,
        .polynomial,
        .level,
        .half,
        .frees(rotation_frees),
        .wave_ends,
        .ends(rotation_ends)
    );
    morphling_xpu #(
        .LOG2_POINTS(LOG2_POINTS),
        .LOG2_LANES(LOG2_LANES),
        .ROWS(ROWS),
        .COLUMNS(COLUMNS),
        .POLYNOMIALS(POLYNOMIALS),
        .WAVES(WAVES),
        .LWE_DIMENSION(LWE_DIMENSION),
        .LOG2_BASE(LOG2_BASE),
        .LEVELS(LEVELS),
        .LOAD(LOAD),
        .FORWARD(FORWARD),
        .FORWARD_SHIFTS(FORWARD_SHIFTS),
        .FORWARD_FACTOR(FORWARD_FACTOR),
        .PRODUCT_SHIFT(PRODUCT_SHIFT),
        .INVERSE(INVERSE),
        .INVERSE_SHIFTS(INVERSE_SHIFTS),
        .INVERSE_FACTOR(INVERSE_FACTOR),
        .SHIFT(SHIFT),
        .LEFT(LEFT),
        .COEF(COEF),
        .WAITS(WAITS),
        .ADDER(ADDER),
        .MULTIPLIER(MULTIPLIER)
    ) xpu (
        .clock,
        .reset,
        .comes(line_comes),
        .first,
        .target,
        .fresh(line),
        .start,
        .wave,
        .polynomial,
        .level,
        .half,
        .sends(stores),
        .sent(started[LINK][16+:WAVE]),
        .key_fills,
        .key_words,
        .leaves,
        .result,
        .decomposed,
        .transformed,
        .drained,
        .accumulated,
        .written(written_waves),
        .clash(xpu_clash)
    );

    // The Shared buffer, a register behind the XPU.
    logic stored_line;
    logic [ENTRY_OUT-1:0] filled_entry, extracted_entry[ROWS];
    logic [WIDTH-1:0] accumulators[COEFFICIENTS], vectors[ROWS][LANES], table_line[COEFFICIENTS];
    logic [ROWS-1:0] extracts, wants_shared, amounts_come;
    logic [$clog2(SHARED_IN*SMALL)-1:0] amounts_place[ROWS];
    delay #(
        .CYCLES(TO_BANK),
        .WIDTH (ENTRY_OUT)
    ) with_accumulators (
        .clock,
        .reset,
        .in (stored_entry),
        .out(filled_entry)
    );
    always_ff @(posedge clock) begin
        stored_line <= !reset && leaves;
        accumulators <= result;
    end
    for (genvar i = 0; i < COEFFICIENTS; i++) begin : of_table
        assign table_line[i] = fresh[0][i];
    end
    shared_buffer #(
        .LOG2_DEGREE(LOG2_POINTS + 1),
        .LOG2_COLUMNS(LOG2_LANES + 1),
        .LOG2_LANES(LOG2_VECTOR),
        .ROWS(ROWS),
        .POLYNOMIALS(POLYNOMIALS),
        .LWE_DIMENSION(LWE_DIMENSION),
        .IN(SHARED_IN),
        .OUT(SHARED_OUT)
    ) shared (
        .clock,
        .reset,
        .table_comes,
        .table_entry,
        .table_line,
        .amounts_come,
        .amounts_place,
        .amounts(results),
        .sends(loads),
        .sent_entry(loaded_entry),
        .sends_last(load_last),
        .line_leaves(line_comes),
        .first,
        .line,
        .line_comes(stored_line),
        .accumulators_entry(filled_entry),
        .accumulators,
        .extracts,
        .wants(wants_shared),
        .extracted_entry,
        .vectors
    );

    // Tiles: a share in each set, read one after the other.
    localparam int unsigned SHARE = BLOCKS / ROWS * SMALL * LANES;
    localparam int unsigned OFFSET = $clog2(SHARE);
    localparam int unsigned SET = $clog2(ROWS);
    logic [ROWS-1:0] wants, wants_tile;
    logic tile_filled, tile_read;
    logic [OFFSET-1:0] fill_at, read_at;
    logic [SET-1:0] set, read_set;
    logic [WIDTH-1:0] shares[ROWS][LANES];
    always_ff @(posedge clock) begin
        read_set <= set;
        if (tile_comes) begin
            fill_at <= 32'(fill_at) == SHARE - 1 ? '0 : fill_at + 1'b1;
            if (32'(fill_at) == SHARE - 1) tile_filled <= !tile_filled;
        end
        if (wants_tile[0]) begin
            read_at <= 32'(read_at) == SHARE - 1 ? '0 : read_at + 1'b1;
            if (32'(read_at) == SHARE - 1) begin
                set <= 32'(set) == ROWS - 1 ? '0 : set + 1'b1;
                if (32'(set) == ROWS - 1) tile_read <= !tile_read;
            end
        end
        if (reset) {fill_at, read_at, set, tile_filled, tile_read} <= '0;
    end
    for (genvar group = 0; group < ROWS; group++) begin : of_sets
        for (genvar lane = 0; lane < LANES; lane++) begin : lanes
            logic [WIDTH-1:0] bank[2<<OFFSET];
            always_ff @(posedge clock) begin
                if (tile_comes) bank[{tile_filled, fill_at}] <= fresh[group][lane];
                shares[group][lane] <= bank[{tile_read, read_at}];
            end
        end
    end

    // The lane groups.
    logic [ROWS-1:0] returning, outside, clashes;
    assign returns = returning & ~outside;
    assign wrong = wrong_instruction || xpu_clash || clashes != 0 || wants_tile != '0 && wants_tile != '1;
    for (genvar group = 0; group < ROWS; group++) begin : groups
        logic [7:0] opcode, opcode_before;
        logic from_tile;
        logic [WIDTH-1:0] crossed[LANES];
        assign opcode = starts[GROUPS+group] ? started[GROUPS+group][7:0] : opcode_before;
        assign extracts[group] = starts[GROUPS+group] && opcode == EXTRACTS;
        assign wants_shared[group] = wants[group] && opcode == EXTRACTS;
        assign wants_tile[group] = wants[group] && opcode == SWITCHES;
        assign amounts_come[group] = returning[group] && outside[group];
        assign amounts_place[group] = ($clog2(SHARED_IN * SMALL))'(place[group]);
        always_ff @(posedge clock) begin
            opcode_before <= opcode;
            from_tile <= wants_tile[group];
            if (reset) extracted_entry[group] <= '0;
            else if (lanes_free[group] && opcode == EXTRACTS) extracted_entry[group] <= 32'(extracted_entry[group]) == SHARED_OUT - 1 ? '0 : extracted_entry[group] + 1'b1;
        end
        for (genvar lane = 0; lane < LANES; lane++) begin : lanes
            assign crossed[lane] = from_tile ? shares[read_set][lane] : vectors[group][lane];
        end
        lane_group #(
            .LANES(LANES),
            .LWE_DIMENSION(LWE_DIMENSION),
            .LINES(2 << LOG2_POINTS >> LOG2_VECTOR),
            .LOG2_BASE(SWITCH_LOG2_BASE),
            .LEVELS(SWITCH_LEVELS),
            .BLOCKS(BLOCKS),
            .PLACES(PLACES),
            .LARGE_AT(LARGE_AT),
            .SUMS_AT(SUMS_AT),
            .ADDER(ADDER),
            .MULTIPLIER(MULTIPLIER)
        ) lanes_of (
            .clock,
            .reset,
            .fills,
            .filled,
            .fresh(fresh[group]),
            .start(starts[GROUPS+group]),
            .opcode,
            .entry(started[GROUPS+group][31:24]),
            .tile(started[GROUPS+group][63:48]),
            .wants(wants[group]),
            .crossed,
            .returns(returning[group]),
            .outside(outside[group]),
            .place(place[group]),
            .results(results[group]),
            .frees(lanes_free[group]),
            .ends(lanes_end[group]),
            .clash(clashes[group])
        );
    end

    logic unused;
    always_comb begin
        unused = decomposed ^ transformed ^ drained ^ ^accumulated ^ frees[LINK] ^ ends[LOAD_ACCUMULATORS] ^ ends[STORE_ACCUMULATORS] ^ ends[ROTATE];
        for (int row = 0; row < ROWS - 1; row++) unused ^= ^written_waves[row];
    end
endmodule
