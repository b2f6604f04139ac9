// SPDX-License-Identifier: Apache-2.0
// Morphling's decoder and hardware scheduler (section V-E) for the instructions of DMA, XPUs and VPU: an instruction starts in the first cycle in which its unit is free and its dependences are done.
//
// Words of the compiler's program come in its order. Each kind of instruction has a queue for its unit, and starts and ends in order. So an instruction needs no list of those that it waits for, only how far each kind must be done: its operands' kinds up to its own number, and the users of the ring-buffer entry that it fills up to a bound, which the decoder knows from the entries of earlier words.
//
// A load of results of earlier bootstraps has in its word how far their stores must be done.
//
// Of the heads that can start, a unit takes one of the key-switch key first, then one that a rotation waits for, then any other, and among equals the first of the program. Instructions of a group start once its words have been fetched.
module instruction_scheduler #(
    parameter int unsigned LANE_GROUPS = 4,
    parameter int unsigned WAVES = 4,  // of a group: entries of the ring of large ciphertexts
    parameter int unsigned HALVES = 2,  // groups in Private-A1
    parameter int unsigned SHARED_IN = 2,  // entries of the Shared buffer's rings
    parameter int unsigned SHARED_OUT = 4,
    parameter int unsigned DEPTH = 32,  // instructions of a kind
    parameter int unsigned TILES = 256,  // of the kinds with an instruction for each tile
    localparam int unsigned WORD = 256,
    localparam int unsigned UNITS = 4 + LANE_GROUPS,
    localparam int unsigned KINDS = 11 + 3 * LANE_GROUPS
) (
    input logic clock,
    input logic reset,
    input logic comes,
    input logic [WORD-1:0] word,
    input logic fetched,  // all words of the next group have come
    input logic [UNITS-1:0] frees,  // a unit can take an instruction in the next cycle
    input logic [KINDS-1:0] ends,  // results of a kind's oldest instruction are in place in the next cycle
    input logic wave_ends,  // of the oldest rotation
    output logic [UNITS-1:0] starts,
    output logic [WORD-1:0] started[UNITS],
    output logic wrong  // for tests: a word without a place or a kind, an end without a start
);
    typedef struct packed {
        logic [31:0] results;  // how far stores must be done, whose results it loads
        logic [31:0] amount;
        logic [31:0] length;
        logic [31:0] first;
        logic [31:0] group;
        logic [31:0] operation;
        logic [15:0] part;
        logic [15:0] count;
        logic [7:0] entry;
        logic [7:0] wave;
        logic [7:0] lane_group;
        logic [7:0] opcode;
    } instruction_t;
    localparam int unsigned NUMBER = 32;
    typedef struct packed {
        logic [NUMBER-1:0] bound;
        logic [NUMBER-1:0] rotation;  // the last one before it
        instruction_t word;
    } entry_t;

    // Units, and kinds by unit.
    localparam int unsigned DMA = 0;
    localparam int unsigned KEY_DMA = 1;
    localparam int unsigned LINK = 2;
    localparam int unsigned ARRAY = 3;
    localparam int unsigned LANES = 4;
    localparam int unsigned FETCH = 0;
    localparam int unsigned LOAD_SMALL = 1;
    localparam int unsigned LOAD_TABLES = 2;
    localparam int unsigned LOAD_TILE = 3;
    localparam int unsigned STORE_LARGE = 4;
    localparam int unsigned STORE_SMALL = 5;
    localparam int unsigned LOAD_TWIDDLES = 6;
    localparam int unsigned LOAD_ACCUMULATORS = 7;
    localparam int unsigned STORE_ACCUMULATORS = 8;
    localparam int unsigned FILL_TWIDDLES = 9;
    localparam int unsigned ROTATE = 10;
    localparam int unsigned OF_LANES = 11;
    localparam int unsigned MODULUS_SWITCH = 0;
    localparam int unsigned SAMPLE_EXTRACT = 1;
    localparam int unsigned KEY_SWITCH = 2;
    function automatic int unsigned unit_of(int unsigned kind);
        if (kind < LOAD_TWIDDLES) return DMA;
        if (kind == LOAD_TWIDDLES) return KEY_DMA;
        if (kind < FILL_TWIDDLES) return LINK;
        return kind < OF_LANES ? ARRAY : LANES + (kind - OF_LANES) / 3;
    endfunction
    function automatic logic [1:0] priority_of(int unsigned kind);
        if (kind == LOAD_TILE) return 2'd0;
        if (kind == STORE_LARGE || kind == STORE_SMALL || kind == STORE_ACCUMULATORS) return 2'd2;
        return kind >= OF_LANES && (kind - OF_LANES) % 3 != MODULUS_SWITCH ? 2'd2 : 2'd1;
    endfunction
    function automatic int unsigned depth_of(int unsigned kind);
        return kind == LOAD_TILE || kind >= OF_LANES && (kind - OF_LANES) % 3 == KEY_SWITCH ? TILES : DEPTH;
    endfunction

    // The decoder. Bounds come from the latest words of their kind; those of ring buffers with named entries from the entry's last user.
    localparam int unsigned RESIDENT = HALVES * WAVES > 1 ? $clog2(HALVES * WAVES) : 1;
    localparam int unsigned LARGE = WAVES > 1 ? $clog2(WAVES) : 1;
    instruction_t decoded;
    entry_t entry;
    logic [KINDS-1:0] kind;
    logic [NUMBER-1:0] number, rotation, tile, smalls[2], stores[SHARED_OUT], last_store[1<<RESIDENT], last_large[1<<LARGE];
    logic [RESIDENT-1:0] resident;  // of the last wave that was loaded
    logic [RESIDENT-1:0] stored;
    logic [LARGE-1:0] large_entry;
    assign decoded = instruction_t'(word);
    assign large_entry = LARGE'(decoded.entry);
    // The half of the last load, and the store's wave.
    assign stored = RESIDENT'(32'(resident) / WAVES * WAVES + 32'(decoded.wave));
    always_comb begin
        kind = '0;
        entry = '{bound: number, rotation: rotation, word: decoded};
        unique case (decoded.opcode)
            8'd0: begin
                kind[FETCH] = 1'b1;
                entry.bound = rotation;
            end
            8'd1: begin
                kind[LOAD_SMALL] = 1'b1;
                entry.bound = smalls[0];
            end
            8'd3: begin
                kind[LOAD_TABLES] = 1'b1;
                entry.bound = smalls[SHARED_IN-1];
            end
            8'd5: begin
                kind[LOAD_TILE] = 1'b1;
                entry.bound = tile;
            end
            8'd7: kind[STORE_LARGE] = 1'b1;
            8'd8: kind[STORE_SMALL] = 1'b1;
            8'd10: kind[LOAD_TWIDDLES] = 1'b1;
            8'd11: begin
                kind[LOAD_ACCUMULATORS] = 1'b1;
                entry.bound = last_store[RESIDENT'(decoded.entry)];
            end
            8'd12: kind[ROTATE] = 1'b1;
            8'd13: begin
                kind[STORE_ACCUMULATORS] = 1'b1;
                if (SHARED_OUT > 1) entry.bound = stores[SHARED_OUT-2];
            end
            8'd14: kind[FILL_TWIDDLES] = 1'b1;
            8'd15: begin
                for (int lanes = 0; lanes < LANE_GROUPS; lanes++) kind[OF_LANES+3*lanes+MODULUS_SWITCH] = 32'(decoded.lane_group) == lanes;
                entry.bound = smalls[SHARED_IN-1];
            end
            8'd16: begin
                for (int lanes = 0; lanes < LANE_GROUPS; lanes++) kind[OF_LANES+3*lanes+SAMPLE_EXTRACT] = 32'(decoded.lane_group) == lanes;
                entry.bound = last_large[large_entry];
            end
            8'd17: for (int lanes = 0; lanes < LANE_GROUPS; lanes++) kind[OF_LANES+3*lanes+KEY_SWITCH] = 32'(decoded.lane_group) == lanes;
            default: ;
        endcase
    end
    always_ff @(posedge clock) begin
        if (reset) begin
            {number, rotation, tile, resident} <= '0;
            smalls <= '{default: '0};
            stores <= '{default: '0};
            last_store <= '{default: '0};
            last_large <= '{default: '0};
        end else if (comes) begin
            number <= number + 1'b1;
            if (kind[ROTATE]) rotation <= number;
            if (kind[LOAD_TILE]) tile <= number;
            if (kind[LOAD_SMALL]) smalls <= '{number, smalls[0]};
            if (kind[LOAD_ACCUMULATORS]) resident <= RESIDENT'(decoded.entry);
            if (kind[STORE_ACCUMULATORS]) begin
                for (int i = 0; i < SHARED_OUT; i++) stores[i] <= i == 0 ? number : stores[i-1];
                last_store[stored] <= number + 1'b1;
            end
            // A key switch has all large ciphertexts of its group.
            if (kind[STORE_LARGE]) last_large[large_entry] <= number + 1'b1;
            if (kind[STORE_SMALL]) last_large <= '{default: number};
        end
    end

    // The queues, and how far each is done.
    logic [KINDS-1:0] starting, waits, unfinished, wrong_queues, ready;
    logic [NUMBER-1:0] numbers[KINDS], oldest[KINDS];
    entry_t heads[KINDS];
    for (genvar i = 0; i < KINDS; i++) begin : queues
        instruction_queue #(
            .WIDTH ($bits(entry_t)),
            .NUMBER(NUMBER),
            .DEPTH (depth_of(i))
        ) queue (
            .clock,
            .reset,
            .comes(comes && kind[i]),
            .number,
            .word(entry),
            .starts(starting[i]),
            .ends(ends[i]),
            .waits(waits[i]),
            .head_number(numbers[i]),
            .head(heads[i]),
            .unfinished(unfinished[i]),
            .oldest(oldest[i]),
            .wrong(wrong_queues[i])
        );
    end
    assign wrong = |wrong_queues || comes && kind == '0;
    // All instructions of a kind with a lower number are done; likewise of a kind in all lane groups.
    logic [NUMBER-1:0] done[KINDS], lanes_done[3];
    always_comb begin
        for (int unsigned i = 0; i < KINDS; i++) done[i] = unfinished[i] ? oldest[i] : '1;
        lanes_done = '{default: '1};
        for (int unsigned i = OF_LANES; i < KINDS; i++) begin
            if (done[i] < lanes_done[(i-OF_LANES)%3]) lanes_done[(i-OF_LANES)%3] = done[i];
        end
    end

    // Groups whose words are there, and waves that the oldest rotation has finished.
    logic [31:0] groups, waves;
    always_ff @(posedge clock) begin
        if (reset) {groups, waves} <= '0;
        else begin
            groups <= groups + 32'(fetched);
            waves <= ends[ROTATE] ? '0 : waves + 32'(wave_ends);
        end
    end

    // Operands' kinds are done up to the head, and users of its ring-buffer entry up to its bound.
    logic [KINDS-1:0] can;
    always_comb begin
        can = '0;
        can[FETCH] = done[ROTATE] >= heads[FETCH].bound;
        can[LOAD_SMALL] = lanes_done[MODULUS_SWITCH] >= heads[LOAD_SMALL].bound && done[STORE_SMALL] >= heads[LOAD_SMALL].word.results && done[STORE_LARGE] >= heads[LOAD_SMALL].word.results;
        can[LOAD_TABLES] = done[LOAD_ACCUMULATORS] >= heads[LOAD_TABLES].bound;
        can[LOAD_TILE] = lanes_done[KEY_SWITCH] >= heads[LOAD_TILE].bound;
        can[STORE_LARGE] = lanes_done[SAMPLE_EXTRACT] >= numbers[STORE_LARGE];
        can[STORE_SMALL] = lanes_done[KEY_SWITCH] >= numbers[STORE_SMALL];
        can[LOAD_TWIDDLES] = 1'b1;
        can[LOAD_ACCUMULATORS] = lanes_done[MODULUS_SWITCH] >= numbers[LOAD_ACCUMULATORS] && done[LOAD_TABLES] >= numbers[LOAD_ACCUMULATORS] && done[STORE_ACCUMULATORS] >= heads[LOAD_ACCUMULATORS].bound;
        can[STORE_ACCUMULATORS] = done[ROTATE] >= numbers[STORE_ACCUMULATORS] || oldest[ROTATE] == heads[STORE_ACCUMULATORS].rotation && 32'(heads[STORE_ACCUMULATORS].word.wave) < waves;
        if (lanes_done[SAMPLE_EXTRACT] < heads[STORE_ACCUMULATORS].bound) can[STORE_ACCUMULATORS] = 1'b0;
        can[FILL_TWIDDLES] = done[LOAD_TWIDDLES] >= numbers[FILL_TWIDDLES];
        can[ROTATE] = done[LOAD_ACCUMULATORS] >= numbers[ROTATE] && done[FILL_TWIDDLES] >= numbers[ROTATE];
        for (int unsigned i = OF_LANES; i < KINDS; i += 3) begin
            can[i+MODULUS_SWITCH] = done[LOAD_SMALL] >= numbers[i+MODULUS_SWITCH] && done[LOAD_ACCUMULATORS] >= heads[i+MODULUS_SWITCH].bound;
            can[i+SAMPLE_EXTRACT] = done[STORE_ACCUMULATORS] >= numbers[i+SAMPLE_EXTRACT] && done[STORE_LARGE] >= heads[i+SAMPLE_EXTRACT].bound && lanes_done[KEY_SWITCH] >= heads[i+SAMPLE_EXTRACT].bound;
            can[i+KEY_SWITCH] = done[LOAD_TILE] >= numbers[i+KEY_SWITCH] && done[STORE_SMALL] >= numbers[i+KEY_SWITCH] && lanes_done[SAMPLE_EXTRACT] >= numbers[i+KEY_SWITCH];
        end
        for (int unsigned i = 0; i < KINDS; i++) ready[i] = waits[i] && can[i] && (i == FETCH || heads[i].word.group < groups);
    end

    // A unit takes the most urgent instruction, and is busy until it says so. First, the host fetches words of two groups.
    logic [UNITS-1:0] busy;
    for (genvar u = 0; u < UNITS; u++) begin : units
        logic [NUMBER+1:0] best;
        always_comb begin
            starts[u] = 1'b0;
            started[u] = '0;
            best = '1;
            for (int unsigned i = 0; i < KINDS; i++) begin
                if (unit_of(i) == u && ready[i] && !busy[u] && {priority_of(i), numbers[i]} < best) begin
                    starts[u] = 1'b1;
                    started[u] = heads[i].word;
                    best = {priority_of(i), numbers[i]};
                end
            end
        end
        always_ff @(posedge clock) busy[u] <= reset ? u == DMA : (busy[u] || starts[u]) && !frees[u];
    end
    for (genvar i = 0; i < KINDS; i++) begin : takes
        assign starting[i] = starts[unit_of(i)] && ready[i] && {priority_of(i), numbers[i]} == units[unit_of(i)].best;
    end
endmodule
