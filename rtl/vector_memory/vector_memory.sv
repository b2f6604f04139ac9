// SPDX-License-Identifier: Apache-2.0
// A memory of vectors of CHUNKS words, one word a cycle: F1's register file and its scratchpad banks (section 3). A vector is striped over BANKS banks, with ACCESSES accesses each per cycle.
//
// A stream that starts in cycle t is of class t modulo BANKS. In cycle c it uses bank c - t modulo BANKS, so streams of different classes never meet, and the ACCESSES streams of a class have an access each. The first word is
// read or written in the cycle of the start. A word that is written is read from the next cycle on.
module vector_memory #(
    parameter int unsigned BANKS = 1,
    parameter int unsigned ACCESSES = 2,
    parameter int unsigned VECTORS = 8,
    parameter int unsigned CHUNKS = 8,  // a multiple of BANKS
    parameter int unsigned WIDTH = 256,
    parameter int unsigned SOURCES = 2,
    parameter int unsigned ROUTE = 3,  // bits of a route
    localparam int unsigned CLASS = BANKS > 1 ? $clog2(BANKS) : 1,
    localparam int unsigned INDEX = $clog2(VECTORS),
    localparam int unsigned WAY = ACCESSES > 1 ? $clog2(ACCESSES) : 1,
    localparam int unsigned OPERATION = 1 + WAY + ROUTE + INDEX
) (
    input logic clock,
    input logic reset,
    input logic [CLASS-1:0] now,  // the cycle modulo BANKS
    input logic [ACCESSES-1:0] valid,
    input logic [ACCESSES-1:0][OPERATION-1:0] start,  // from the lowest bit: whether it writes, access, source or destination, vector
    input logic [SOURCES-1:0][WIDTH-1:0] sources,
    output logic [BANKS-1:0][ACCESSES-1:0] reading,
    output logic [BANKS-1:0][ACCESSES-1:0][ROUTE-1:0] route,
    output logic [BANKS-1:0][ACCESSES-1:0][WIDTH-1:0] words,
    output logic clash  // a stream starts on an access that is in use
);
    localparam int unsigned CHUNK = $clog2(CHUNKS);
    localparam int unsigned ROWS = VECTORS * CHUNKS / BANKS;
    localparam int unsigned ROW = $clog2(ROWS);

    typedef struct packed {
        logic active;
        logic [CHUNK-1:0] chunk;
        logic [INDEX-1:0] vector;
        logic [ROUTE-1:0] route;
        logic writes;
    } stream_t;

    logic [WIDTH-1:0] memory[BANKS][ROWS];
    stream_t held[BANKS][ACCESSES], current[BANKS][ACCESSES];

    function automatic logic [CLASS-1:0] bank(logic [CLASS-1:0] cycle, logic [CLASS-1:0] begun);
        return (cycle - begun) & CLASS'(BANKS - 1);
    endfunction

    function automatic logic [ROW-1:0] row_of(logic [INDEX-1:0] vector, logic [CHUNK-1:0] chunk);
        return ROW'(32'(vector) * (CHUNKS / BANKS) + 32'(chunk) / BANKS);
    endfunction

    always_comb begin
        clash = 0;
        for (int phase = 0; phase < BANKS; phase++) begin
            for (int way = 0; way < ACCESSES; way++) begin
                current[phase][way] = held[phase][way];
                for (int place = 0; place < ACCESSES; place++) begin
                    if (valid[place] && (BANKS == 1 || 32'(now) == phase) && 32'(start[place][1+:WAY]) == way) begin
                        clash |= current[phase][way].active;
                        current[phase][way] = '{
                            active: 1,
                            chunk: '0,
                            vector: start[place][1+WAY+ROUTE+:INDEX],
                            route: start[place][1+WAY+:ROUTE],
                            writes: start[place][0]
                        };
                    end
                end
                reading[phase][way] = current[phase][way].active && !current[phase][way].writes;
                route[phase][way] = current[phase][way].route;
                words[phase][way] = memory[bank(now, CLASS'(phase))][row_of(current[phase][way].vector, current[phase][way].chunk)];
            end
        end
    end

    always_ff @(posedge clock) begin
        for (int phase = 0; phase < BANKS; phase++) begin
            for (int way = 0; way < ACCESSES; way++) begin
                if (current[phase][way].active && current[phase][way].writes) begin
                    memory[bank(now, CLASS'(phase))][row_of(current[phase][way].vector, current[phase][way].chunk)] <= sources[current[phase][way].route[$clog2(SOURCES)-1:0]];
                end
                held[phase][way] <= current[phase][way];
                held[phase][way].active <= !reset && current[phase][way].active && 32'(current[phase][way].chunk) != CHUNKS - 1;
                held[phase][way].chunk <= current[phase][way].chunk + 1'b1;
            end
        end
    end
endmodule
