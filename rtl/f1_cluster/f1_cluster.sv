// SPDX-License-Identifier: Apache-2.0
// A compute cluster of F1 (section 3, figure 3): an NTT unit, an automorphism unit, multipliers and adders, the register file, and the cluster's ports of the three crossbars. Each component has its instruction stream.
//
// Vectors are CHUNKS = LANES words of LANES residues in the order of the NTT unit's values: residue LANES lane + chunk of a vector is in that lane of that chunk. The transforms keep this order, so any unit reads what another has written.
//
// Components by number: the units, the register file, and the ports from the scratchpad, to it, and from other clusters. A decoded operation is one of three, from the lowest bit:
//
//     unit        first operand, second operand, first operand is 0, second operand is the constant, subtract, table, modulus, constant, factor, offset
//     registers   whether it writes, access, source or destination, register
//     port        bank or cluster, source
//
// An operand comes from an access of the register file (0, 1), the scratchpad (2) or another cluster (3). A source is a unit by its number, and then, for the register file, both ports, or for the port to the scratchpad the accesses of the register file.
// The destination of a read is 1 for the other clusters.
module f1_cluster #(
    parameter int unsigned LANES = 8,
    parameter int unsigned ROUNDS = 2,
    parameter int unsigned TABLES = 6,
    parameter int unsigned MULTIPLIERS = 2,
    parameter int unsigned ADDERS = 2,
    parameter int unsigned REGISTERS = 16,
    parameter int unsigned REGISTER_BANKS = 8,
    parameter int unsigned BANKS = 4,  // of the scratchpad
    parameter int unsigned CLUSTERS = 2,
    parameter int unsigned DEPTH = 512,  // instructions of a stream
    localparam int unsigned CHUNKS = LANES,
    localparam int unsigned WIDTH = 16 * ROUNDS,
    localparam int unsigned BITS = 2 * $clog2(LANES),
    localparam int unsigned TABLE_BITS = $clog2(TABLES),
    localparam int unsigned ROW_BITS = $clog2(CHUNKS + 2),
    localparam int unsigned CLASS = $clog2(REGISTER_BANKS),
    localparam int unsigned UNITS = 2 + MULTIPLIERS + ADDERS,
    localparam int unsigned COMPONENTS = UNITS + 4,
    localparam int unsigned WORD = LANES * WIDTH,
    localparam int unsigned OPERATION = 7 + TABLE_BITS + 2 * WIDTH + 2 * BITS + 1,
    localparam int unsigned PLACE = 8
) (
    input logic clock,
    input logic reset,
    input logic load,  // an instruction
    input logic [$clog2(COMPONENTS)-1:0] component,
    input logic is_last,
    input logic [15:0] cycles,
    input logic [15:0] begin_cycle,
    input logic [OPERATION-1:0] operation,
    input logic load_row,  // of the NTT unit's tables
    input logic [ROW_BITS-1:0] row,
    input logic [TABLE_BITS-1:0] table_number,
    input logic [LANES-1:0][WIDTH-1:0] factors,
    input logic running,
    input logic [15:0] now,
    input logic [BANKS-1:0][WORD-1:0] from_banks,
    input logic [CLUSTERS-1:0][WORD-1:0] from_clusters,
    output logic [WORD-1:0] to_clusters,
    output logic to_scratchpad_valid,
    output logic [PLACE-1:0] to_bank,
    output logic [WORD-1:0] to_scratchpad,
    output logic failed  // a stream was late, or an access in use
);
    localparam int unsigned ACCESSES = 2;
    localparam int unsigned ROUTE = $clog2(UNITS + 2);
    localparam int unsigned REGISTER = $clog2(REGISTERS);
    localparam int unsigned MOVE = 2 + ROUTE + REGISTER;
    localparam int unsigned FILE = UNITS;
    localparam int unsigned FROM_SCRATCHPAD = UNITS + 1;
    localparam int unsigned TO_SCRATCHPAD = UNITS + 2;
    localparam int unsigned FROM_CLUSTERS = UNITS + 3;
    localparam int unsigned LEFT = $clog2(CHUNKS);
    localparam int unsigned CLUSTER = CLUSTERS > 1 ? $clog2(CLUSTERS) : 1;

    typedef struct packed {
        logic [BITS-1:0] offset;
        logic [BITS:0] factor;
        logic [WIDTH-1:0] constant;
        logic [WIDTH-1:0] modulus;
        logic [TABLE_BITS-1:0] table_number;
        logic subtract;
        logic second_is_constant;
        logic first_is_zero;
        logic [1:0] second;
        logic [1:0] first;
    } unit_t;

    // The operation of each component, from its start for CHUNKS cycles, and the register file's class of that start.
    logic [COMPONENTS-1:0] active, late;
    logic [COMPONENTS-1:0][OPERATION-1:0] current;
    logic [COMPONENTS-1:0][CLASS-1:0] class_number;
    logic [ACCESSES-1:0] moves;
    logic [ACCESSES-1:0][OPERATION-1:0] moved;

    for (genvar number = 0; number < COMPONENTS; number++) begin : components
        logic chosen;
        assign chosen = load && 32'(component) == number;
        if (number == FILE) begin : register_file
            instruction_stream #(
                .WIDTH(OPERATION),
                .DEPTH(DEPTH),
                .ISSUE(ACCESSES)
            ) stream (
                .clock,
                .reset,
                .load(chosen),
                .is_last,
                .cycles,
                .begin_cycle,
                .operation,
                .running,
                .now,
                .valid(moves),
                .issued(moved),
                .late(late[number])
            );
            assign active[number] = 0;
            assign current[number] = '0;
            assign class_number[number] = '0;
        end else begin : others
            logic valid;
            logic [OPERATION-1:0] issued, held;
            logic [CLASS-1:0] held_class;
            logic [LEFT-1:0] left;
            instruction_stream #(
                .WIDTH(OPERATION),
                .DEPTH(DEPTH)
            ) stream (
                .clock,
                .reset,
                .load(chosen),
                .is_last,
                .cycles,
                .begin_cycle,
                .operation,
                .running,
                .now,
                .valid,
                .issued,
                .late(late[number])
            );
            assign active[number] = valid || left != 0;
            assign current[number] = valid ? issued : held;
            assign class_number[number] = valid ? now[CLASS-1:0] : held_class;
            always_ff @(posedge clock) begin
                held <= current[number];
                held_class <= class_number[number];
                if (reset) left <= '0;
                else if (valid) left <= LEFT'(CHUNKS - 1);
                else if (left != 0) left <= left - 1'b1;
            end
        end
    end

    // The register file, and the words of the ports.
    logic [UNITS-1:0][WORD-1:0] results;
    logic [WORD-1:0] from_scratchpad, from_cluster;
    logic [ACCESSES-1:0][MOVE-1:0] starts;
    logic [REGISTER_BANKS-1:0][ACCESSES-1:0] reading;
    logic [REGISTER_BANKS-1:0][ACCESSES-1:0][ROUTE-1:0] route;
    logic [REGISTER_BANKS-1:0][ACCESSES-1:0][WORD-1:0] words;
    logic clash, unused;
    always_comb for (int place = 0; place < ACCESSES; place++) starts[place] = moved[place][MOVE-1:0];
    vector_memory #(
        .BANKS(REGISTER_BANKS),
        .ACCESSES(ACCESSES),
        .VECTORS(REGISTERS),
        .CHUNKS(CHUNKS),
        .WIDTH(WORD),
        .SOURCES(UNITS + 2),
        .ROUTE(ROUTE)
    ) registers (
        .clock,
        .reset,
        .now(now[CLASS-1:0]),
        .valid(moves),
        .start(starts),
        .sources({from_cluster, from_scratchpad, results}),
        .reading,
        .route,
        .words,
        .clash
    );
    // A port without a connection gives zeros.
    assign from_scratchpad = !active[FROM_SCRATCHPAD] ? '0 : from_banks[current[FROM_SCRATCHPAD][$clog2(BANKS)-1:0]];
    assign from_cluster = !active[FROM_CLUSTERS] ? '0 : from_clusters[current[FROM_CLUSTERS][CLUSTER-1:0]];
    assign failed = clash || late != 0;
    assign unused = (^moved) ^ (^current) ^ (^active) ^ (^class_number);
    always_comb begin
        to_clusters = '0;
        for (int number = 0; number < REGISTER_BANKS; number++) begin
            for (int way = 0; way < ACCESSES; way++) begin
                if (reading[number][way] && route[number][way] == 1) to_clusters |= words[number][way];
            end
        end
    end

    // The port to the scratchpad.
    logic [PLACE-1:0] source;
    assign source = current[TO_SCRATCHPAD][PLACE+:PLACE];
    assign to_scratchpad_valid = active[TO_SCRATCHPAD];
    assign to_bank = current[TO_SCRATCHPAD][PLACE-1:0];
    assign to_scratchpad = 32'(source) < UNITS ? results[source[$clog2(UNITS)-1:0]] : words[class_number[TO_SCRATCHPAD]][1'(32'(source) - UNITS)];

    // The units with their operands.
    logic [UNITS-1:0][LANES-1:0][WIDTH-1:0] first, second;
    unit_t [UNITS-1:0] does;
    function automatic logic [WORD-1:0] operand(logic [1:0] from, logic [ACCESSES-1:0][WORD-1:0] read, logic [WORD-1:0] bank, logic [WORD-1:0] other);
        return from[1] ? (from[0] ? other : bank) : read[from[0]];
    endfunction
    for (genvar unit = 0; unit < UNITS; unit++) begin : operands
        assign does[unit] = unit_t'(current[unit]);
        assign first[unit] = does[unit].first_is_zero ? '0 : operand(does[unit].first, words[class_number[unit]], from_scratchpad, from_cluster);
        assign second[unit] = does[unit].second_is_constant ? {LANES{does[unit].constant}} : operand(does[unit].second, words[class_number[unit]], from_scratchpad, from_cluster);
    end

    logic ntt_valid, automorphism_valid, unused_units;
    assign unused_units = ntt_valid ^ automorphism_valid ^ (^first) ^ (^second) ^ (^does);
    four_step_ntt #(
        .LANES(LANES),
        .CHUNKS(CHUNKS),
        .ROUNDS(ROUNDS),
        .TABLES(TABLES)
    ) ntt (
        .clock,
        .reset,
        .load(load_row),
        .row,
        .table_number(load_row ? table_number : does[0].table_number),
        .high(does[0].modulus[WIDTH-1:16]),
        .in_valid(active[0]),
        .in(load_row ? factors : first[0]),
        .out_valid(ntt_valid),
        .out(results[0])
    );
    automorphism #(
        .LANES(LANES),
        .CHUNKS(CHUNKS),
        .WIDTH(WIDTH),
        .IN_FOUR_STEPS(1)
    ) permutation (
        .clock,
        .reset,
        .factor(does[1].factor),
        .offset(does[1].offset),
        .modulus(does[1].modulus),
        .in_valid(active[1]),
        .in(first[1]),
        .out_valid(automorphism_valid),
        .out(results[1])
    );
    for (genvar unit = 0; unit < MULTIPLIERS; unit++) begin : multipliers
        for (genvar lane = 0; lane < LANES; lane++) begin : lanes
            prime_form_multiplier #(
                .ROUNDS(ROUNDS)
            ) multiplier (
                .clock,
                .high(does[2+unit].modulus[WIDTH-1:16]),
                .a(first[2+unit][lane]),
                .b(second[2+unit][lane]),
                .product(results[2+unit][lane*WIDTH+:WIDTH])
            );
        end
    end
    for (genvar unit = 0; unit < ADDERS; unit++) begin : adders
        localparam int unsigned NUMBER = 2 + MULTIPLIERS + unit;
        for (genvar lane = 0; lane < LANES; lane++) begin : lanes
            modular_adder #(
                .WIDTH(WIDTH)
            ) adder (
                .clock,
                .subtract(does[NUMBER].subtract),
                .q(does[NUMBER].modulus),
                .a(first[NUMBER][lane]),
                .b(second[NUMBER][lane]),
                .result(results[NUMBER][lane*WIDTH+:WIDTH])
            );
        end
    end
endmodule
