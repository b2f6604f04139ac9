// SPDX-License-Identifier: Apache-2.0
// F1's four-step NTT unit (section 5.2, figure 8): N = LANES CHUNKS points as a LANES-point network, decimation in time, on each of CHUNKS vectors; a product of every element; a transpose; and parallel CHUNKS-point networks, decimation in frequency. Only the twiddle
// memories select forward or inverse, cyclic or negacyclic; they are in Montgomery form (w 2^(16 ROUNDS) mod q). With E = LANES, G = CHUNKS, psi of order 2 N modulo q, and rev(x) the bits of x reversed:
//
//               first, E factors               middle, of chunk b and number k   second, G factors
//   forward     psi^(G rev(i)) at i            psi^((2 k + 1) b)                 psi^(N rev(i) / m) at m + i
//   inverse     psi^(-N rev(i) / m) at m + i   psi^(-(2 b + 1) k) / N            psi^(-E rev(i)) at i
//
// where the stage of m groups uses factors m to 2 m - 1. Factor 0 of the first network is 1, with which its first layer reduces: inputs may be any words. In cycle b lane a reads element G a + b; in cycle c the lanes write places c E to c E + E - 1, where place p is
// element p / G + E (p mod G). Both hold in either direction.
//
// TABLES sets of memories are loaded row by row (middle factors of chunk 0, 1, ..., then the first network's, then the second's). Each chunk names its set and its modulus; the chunks of a vector enter in consecutive cycles.
module four_step_ntt #(
    parameter int unsigned LANES = 8,
    parameter int unsigned CHUNKS = 8,
    parameter int unsigned ROUNDS = 2,
    parameter int unsigned TABLES = 2,
    localparam int unsigned WIDTH = 16 * ROUNDS,
    localparam int unsigned LANE_BITS = $clog2(LANES),
    localparam int unsigned CHUNK_BITS = $clog2(CHUNKS),
    localparam int unsigned TABLE_BITS = TABLES > 1 ? $clog2(TABLES) : 1,
    localparam int unsigned ROW_BITS = $clog2(CHUNKS + 2)
) (
    input logic clock,
    input logic reset,
    input logic load,  // `in` is a row of a table
    input logic [ROW_BITS-1:0] row,
    input logic [TABLE_BITS-1:0] table_number,
    input logic [WIDTH-17:0] high,  // the modulus above its lowest 16 bits
    input logic in_valid,
    input logic [LANES-1:0][WIDTH-1:0] in,
    output logic out_valid,
    output logic [LANES-1:0][WIDTH-1:0] out
);
    localparam int unsigned BLOCKS = LANES / CHUNKS;
    localparam int unsigned BUTTERFLY = latency::modular_butterfly(ROUNDS);
    localparam int unsigned MULTIPLIER = latency::prime_form_multiplier(ROUNDS);
    localparam int unsigned TURN = latency::transpose(CHUNKS);
    localparam int unsigned LOG2 = $clog2(LANE_BITS + 1);

    // Side inputs of a chunk.
    typedef struct packed {
        logic valid;
        logic [TABLE_BITS-1:0] table_number;
        logic [WIDTH-17:0] high;
    } control_t;

    function automatic int unsigned reversed(int unsigned number, int unsigned bits);
        reversed = 0;
        for (int unsigned i = 0; i < bits; i++) if (number[i]) reversed |= 1 << (bits - 1 - i);
    endfunction

    logic [WIDTH-1:0] first[TABLES][LANES];
    logic [LANES-1:0][WIDTH-1:0] middle[TABLES][CHUNKS];
    logic [WIDTH-1:0] second[TABLES][CHUNKS];

    always_ff @(posedge clock) begin
        if (load && 32'(row) < CHUNKS) middle[table_number][row[CHUNK_BITS-1:0]] <= in;
        if (load && 32'(row) == CHUNKS) for (int lane = 0; lane < LANES; lane++) first[table_number][lane] <= in[lane];
        if (load && 32'(row) == CHUNKS + 1) for (int lane = 0; lane < CHUNKS; lane++) second[table_number][lane] <= in[lane];
    end

    // The first network: natural order to bit-reversed.
    for (genvar stage = 0; stage <= LANE_BITS; stage++) begin : in_time
        logic [WIDTH-1:0] words[LANES];  // that stage's; after the last, the network's
        control_t control;
        if (stage == 0) begin : enter
            assign control = '{valid: in_valid, table_number: table_number, high: high};
            always_comb for (int lane = 0; lane < LANES; lane++) words[lane] = in[lane];
        end else begin : butterflies
            localparam int unsigned GROUPS = 1 << (stage - 1);
            localparam int unsigned APART = LANES / (2 * GROUPS);
            control_t given;
            assign given = in_time[stage-1].control;
            for (genvar i = 0; i < LANES / 2; i++) begin : pairs
                localparam int unsigned GROUP = i / APART;
                localparam int unsigned UPPER = GROUP * 2 * APART + i % APART;
                if (stage == 1) begin : reducing
                    reducing_butterfly #(
                        .ROUNDS(ROUNDS)
                    ) pair (
                        .clock,
                        .high(given.high),
                        .one(first[given.table_number][0]),
                        .factor(first[given.table_number][1]),
                        .u(in_time[0].words[UPPER]),
                        .v(in_time[0].words[UPPER+APART]),
                        .upper(words[UPPER]),
                        .lower(words[UPPER+APART])
                    );
                end else begin : plain
                    modular_butterfly #(
                        .ROUNDS(ROUNDS),
                        .IN_FREQUENCY(0)
                    ) pair (
                        .clock,
                        .high(given.high),
                        .factor(first[given.table_number][GROUPS+GROUP]),
                        .u(in_time[stage-1].words[UPPER]),
                        .v(in_time[stage-1].words[UPPER+APART]),
                        .upper(words[UPPER]),
                        .lower(words[UPPER+APART])
                    );
                end
            end
            // The middle factors are read one cycle before the last stage ends, like an SRAM.
            localparam int unsigned AHEAD = stage == LANE_BITS ? 1 : 0;
            control_t ahead;
            delay #(
                .CYCLES(BUTTERFLY - AHEAD),
                .WIDTH($bits(control_t))
            ) alignment (
                .clock,
                .reset,
                .in(given),
                .out(ahead)
            );
            delay #(
                .CYCLES(AHEAD),
                .WIDTH($bits(control_t))
            ) rest (
                .clock,
                .reset,
                .in(ahead),
                .out(control)
            );
        end
    end

    // The products, of numbers in bit-reversed order.
    control_t reading, multiplying;
    logic [CHUNK_BITS-1:0] chunk;
    logic [LANES-1:0][WIDTH-1:0] factors, products;
    logic unused;
    assign unused = (^reading.high) ^ (^in_frequency[CHUNK_BITS].control);  // what comes with a chunk to its end
    assign reading = in_time[LANE_BITS].butterflies.ahead;
    assign multiplying = in_time[LANE_BITS].control;
    always_ff @(posedge clock) begin
        factors <= middle[reading.table_number][chunk];
        if (reset) chunk <= '0;
        else if (reading.valid) chunk <= chunk + 1;
    end
    for (genvar lane = 0; lane < LANES; lane++) begin : middles
        prime_form_multiplier #(
            .ROUNDS(ROUNDS)
        ) multiplier (
            .clock,
            .high(multiplying.high),
            .a(in_time[LANE_BITS].words[lane]),
            .b(factors[reversed(lane, LANE_BITS)]),
            .product(products[lane])
        );
    end

    // The transpose: number c BLOCKS + b, at its place in the network, is to leave in chunk c, block b. Chunks of a block leave in order.
    control_t product_control, turned_control;
    logic [LANES-1:0][WIDTH-1:0] ordered, turned;
    for (genvar number = 0; number < LANES; number++) begin : blocks
        assign ordered[number%BLOCKS*CHUNKS+number/BLOCKS] = products[reversed(number, LANE_BITS)];
    end
    delay #(
        .CYCLES(MULTIPLIER),
        .WIDTH($bits(control_t))
    ) product_alignment (
        .clock,
        .reset,
        .in(multiplying),
        .out(product_control)
    );
    transpose #(
        .LANES(LANES),
        .WIDTH(WIDTH)
    ) turn (
        .clock,
        .reset,
        .log2_chunks(LOG2'(CHUNK_BITS)),
        .in_valid(product_control.valid),
        .in(ordered),
        .out_valid(turned_control.valid),
        .out(turned)
    );
    delay #(
        .CYCLES(TURN),
        .WIDTH(TABLE_BITS + WIDTH - 16)
    ) turn_alignment (
        .clock,
        .reset,
        .in({product_control.table_number, product_control.high}),
        .out({turned_control.table_number, turned_control.high})
    );

    // The second networks: bit-reversed order to natural, each in a block.
    for (genvar stage = 0; stage <= CHUNK_BITS; stage++) begin : in_frequency
        logic [WIDTH-1:0] words[LANES];
        control_t control;
        if (stage == 0) begin : enter
            assign control = turned_control;
            for (genvar lane = 0; lane < LANES; lane++) begin : order
                assign words[lane/CHUNKS*CHUNKS+reversed(lane%CHUNKS, CHUNK_BITS)] = turned[lane];
            end
        end else begin : butterflies
            localparam int unsigned APART = 1 << (stage - 1);
            localparam int unsigned GROUPS = CHUNKS / (2 * APART);
            control_t given;
            assign given = in_frequency[stage-1].control;
            for (genvar i = 0; i < LANES / 2; i++) begin : pairs
                localparam int unsigned GROUP = i / APART;
                localparam int unsigned UPPER = GROUP * 2 * APART + i % APART;
                modular_butterfly #(
                    .ROUNDS(ROUNDS),
                    .IN_FREQUENCY(1)
                ) pair (
                    .clock,
                    .high(given.high),
                    .factor(second[given.table_number][GROUPS+GROUP%GROUPS]),
                    .u(in_frequency[stage-1].words[UPPER]),
                    .v(in_frequency[stage-1].words[UPPER+APART]),
                    .upper(words[UPPER]),
                    .lower(words[UPPER+APART])
                );
            end
            delay #(
                .CYCLES(BUTTERFLY),
                .WIDTH($bits(control_t))
            ) alignment (
                .clock,
                .reset,
                .in(given),
                .out(control)
            );
        end
    end
    assign out_valid = in_frequency[CHUNK_BITS].control.valid;
    always_comb for (int lane = 0; lane < LANES; lane++) out[lane] = in_frequency[CHUNK_BITS].words[lane];
endmodule
