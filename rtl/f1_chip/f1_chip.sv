// SPDX-License-Identifier: Apache-2.0
// F1 (section 3, figure 2): clusters, scratchpad banks, and the three crossbars between them, which execute the instruction streams of a compiled program. The memory stack is outside. It answers after its latency: with the words of a
// vector, as the stack's own stream wants it, or with an instruction. Instructions are in memory in the order of their cycles, and are fetched in the cycles in which no vector is loaded or stored. Cycle 0 comes `lead` + 1 cycles after the first fetch.
//
// A crossbar is NETWORK registers and a multiplexer at each receiver, so one word can reach several clusters. An instruction is, from the lowest bit: group, component, whether it is the stream's last, cycles to the next, cycle of the first, operation. Groups are the clusters, and one with the banks and the stack as components. The operation of a bank is that of its `vector_memory`, with route 0 for crossbars and
// 1 for the memory stack; that of the stack is whether it stores, and the vector's number.
module f1_chip #(
    parameter int unsigned LANES = 8,
    parameter int unsigned ROUNDS = 2,
    parameter int unsigned TABLES = 6,
    parameter int unsigned MULTIPLIERS = 2,
    parameter int unsigned ADDERS = 2,
    parameter int unsigned REGISTERS = 16,
    parameter int unsigned REGISTER_BANKS = 8,
    parameter int unsigned BANKS = 4,  // of the scratchpad
    parameter int unsigned FRAMES = 32,  // vectors of a bank
    parameter int unsigned CLUSTERS = 2,
    parameter int unsigned NETWORK = 3,
    parameter int unsigned DEPTH = 512,  // instructions of a stream
    localparam int unsigned CHUNKS = LANES,
    localparam int unsigned WIDTH = 16 * ROUNDS,
    localparam int unsigned WORD = LANES * WIDTH,
    localparam int unsigned TABLE_BITS = $clog2(TABLES),
    localparam int unsigned ROW_BITS = $clog2(CHUNKS + 2),
    localparam int unsigned COMPONENT = 8,
    localparam int unsigned OPERATION = 7 + TABLE_BITS + 2 * WIDTH + 4 * $clog2(LANES) + 1
) (
    input logic clock,
    input logic reset,
    input logic load_row,  // of the tables of all NTT units
    input logic [ROW_BITS-1:0] row,
    input logic [TABLE_BITS-1:0] table_number,
    input logic start,
    input logic [15:0] lead,
    input logic [15:0] instructions,  // their number
    output logic fetch,  // the next instruction
    output logic moves,  // the first cycle of a vector that is loaded or stored
    output logic stores,
    output logic [15:0] vector,
    input logic fetched,
    input logic [LANES-1:0][WIDTH-1:0] in,  // a row, an instruction, or a word of a vector
    output logic out_valid,
    output logic [WORD-1:0] out,  // to the memory stack
    output logic failed  // since the reset: a stream was late, or an access in use
);
    localparam int unsigned ACCESSES = 2;
    localparam int unsigned FRAME = $clog2(FRAMES);
    localparam int unsigned MOVE = 3 + FRAME;
    localparam int unsigned PLACE = 8;
    localparam int unsigned COMPONENT_BITS = $clog2(6 + MULTIPLIERS + ADDERS);

    // Instructions, and the cycle of the run.
    logic [15:0] now, ahead, remaining;
    logic [$clog2(CHUNKS)-1:0] moving;
    logic waits, running, stack_late;
    logic [COMPONENT-1:0] group, component;
    logic is_last;
    logic [15:0] cycles, begin_cycle;
    logic [OPERATION-1:0] operation;
    assign {operation, begin_cycle, cycles, is_last, component, group} = (49 + OPERATION)'(in);
    assign fetch = remaining != 0 && !moves && moving == 0;
    always_ff @(posedge clock) begin
        now <= now + 1'b1;
        ahead <= ahead - 1'b1;
        if (start) ahead <= lead;
        else if (waits && ahead == 0) now <= '0;
        waits <= !reset && (start || waits && ahead != 0);
        running <= !reset && (running || waits && ahead == 0);
        if (reset) remaining <= '0;
        else if (start) remaining <= instructions;
        else remaining <= remaining - 16'(fetch);
        if (reset) moving <= '0;
        else if (moves) moving <= '1;
        else if (moving != 0) moving <= moving - 1'b1;
    end
    instruction_stream #(
        .WIDTH(17),
        .DEPTH(DEPTH)
    ) stack (
        .clock,
        .reset,
        .load(fetched && 32'(group) == CLUSTERS && 32'(component) == BANKS),
        .is_last,
        .cycles,
        .begin_cycle,
        .operation(operation[16:0]),
        .running,
        .now,
        .valid(moves),
        .issued({vector, stores}),
        .late(stack_late)
    );

    logic [BANKS-1:0][WORD-1:0] leave, left, enter;
    logic [CLUSTERS-1:0][WORD-1:0] to_clusters, crossed, to_scratchpad, entering;
    logic [CLUSTERS-1:0][PLACE-1:0] to_bank, entering_bank;
    logic [CLUSTERS-1:0] to_scratchpad_valid, entering_valid, failed_cluster;
    logic [BANKS-1:0] failed_bank, giving;
    logic [BANKS-1:0][WORD-1:0] stored;

    always_ff @(posedge clock) begin
        failed <= !reset && (failed || stack_late || failed_cluster != 0 || failed_bank != 0);
    end

    for (genvar number = 0; number < CLUSTERS; number++) begin : clusters
        f1_cluster #(
            .LANES(LANES),
            .ROUNDS(ROUNDS),
            .TABLES(TABLES),
            .MULTIPLIERS(MULTIPLIERS),
            .ADDERS(ADDERS),
            .REGISTERS(REGISTERS),
            .REGISTER_BANKS(REGISTER_BANKS),
            .BANKS(BANKS),
            .CLUSTERS(CLUSTERS),
            .DEPTH(DEPTH)
        ) cluster (
            .clock,
            .reset,
            .load(fetched && 32'(group) == number),
            .component(component[COMPONENT_BITS-1:0]),
            .is_last,
            .cycles,
            .begin_cycle,
            .operation,
            .load_row,
            .row,
            .table_number,
            .factors(in),
            .running,
            .now,
            .from_banks(left),
            .from_clusters(crossed),
            .to_clusters(to_clusters[number]),
            .to_scratchpad_valid(to_scratchpad_valid[number]),
            .to_bank(to_bank[number]),
            .to_scratchpad(to_scratchpad[number]),
            .failed(failed_cluster[number])
        );
        delay #(
            .CYCLES(NETWORK),
            .WIDTH(WORD)
        ) between (
            .clock,
            .reset,
            .in(to_clusters[number]),
            .out(crossed[number])
        );
        delay #(
            .CYCLES(NETWORK),
            .WIDTH(1 + PLACE + WORD)
        ) in_network (
            .clock,
            .reset,
            .in({to_scratchpad_valid[number], to_bank[number], to_scratchpad[number]}),
            .out({entering_valid[number], entering_bank[number], entering[number]})
        );
    end

    for (genvar number = 0; number < BANKS; number++) begin : banks
        logic [ACCESSES-1:0] starts, reading, route;
        logic [ACCESSES-1:0][MOVE-1:0] moved;
        logic [ACCESSES-1:0][WORD-1:0] words;
        logic late, clash;
        instruction_stream #(
            .WIDTH(MOVE),
            .DEPTH(DEPTH),
            .ISSUE(ACCESSES)
        ) stream (
            .clock,
            .reset,
            .load(fetched && 32'(group) == CLUSTERS && 32'(component) == number),
            .is_last,
            .cycles,
            .begin_cycle,
            .operation(operation[MOVE-1:0]),
            .running,
            .now,
            .valid(starts),
            .issued(moved),
            .late
        );
        vector_memory #(
            .BANKS(1),
            .ACCESSES(ACCESSES),
            .VECTORS(FRAMES),
            .CHUNKS(CHUNKS),
            .WIDTH(WORD),
            .SOURCES(2),
            .ROUTE(1)
        ) frames (
            .clock,
            .reset,
            .now(1'b0),
            .valid(starts),
            .start(moved),
            .sources({in, enter[number]}),
            .reading,
            .route,
            .words,
            .clash
        );
        always_comb begin
            leave[number] = '0;
            enter[number] = '0;
            stored[number] = '0;
            for (int way = 0; way < ACCESSES; way++) begin
                if (reading[way] && !route[way]) leave[number] |= words[way];
                if (reading[way] && route[way]) stored[number] |= words[way];
            end
            for (int from = 0; from < CLUSTERS; from++) begin
                if (entering_valid[from] && 32'(entering_bank[from]) == number) enter[number] |= entering[from];
            end
        end
        assign giving[number] = (reading & route) != 0;
        assign failed_bank[number] = late || clash;
        delay #(
            .CYCLES(NETWORK),
            .WIDTH(WORD)
        ) out_network (
            .clock,
            .reset,
            .in(leave[number]),
            .out(left[number])
        );
    end

    assign out_valid = giving != 0;
    always_comb begin
        out = '0;
        for (int number = 0; number < BANKS; number++) out |= stored[number];
    end
endmodule
