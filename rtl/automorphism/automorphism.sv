// SPDX-License-Identifier: Apache-2.0
// F1's vector automorphism unit (section 5.1, figures 5 and 6): a permutation within each chunk, a transpose, a permutation within each chunk, the transpose back. It moves index i of
// N = LANES CHUNKS to index factor i + offset modulo N.
//
// With i = r LANES + c, column c goes to factor c + offset modulo LANES for any row, and row r to factor r + floor((factor c + offset) / LANES) modulo CHUNKS, whose offset depends on
// the column. Each of the two is within a chunk, before or after the transpose.
//
// IN_FOUR_STEPS = 0: index i is in chunk i / LANES, lane i mod LANES. These are coefficients, and words that cross X^N = -1 change sign. The sign is computed as a chunk enters, follows
// its word through the first permutation, and is applied before the transpose. Their offset is zero.
// IN_FOUR_STEPS = 1: place p = chunk LANES + lane has index p / CHUNKS + LANES (p mod CHUNKS), the order of values. They have no sign.
//
// The side inputs are the same for all chunks of a vector. Its chunks enter in consecutive cycles.
module automorphism #(
    parameter int unsigned LANES = 8,
    parameter int unsigned CHUNKS = 8,
    parameter int unsigned WIDTH = 32,
    parameter bit IN_FOUR_STEPS = 0,
    localparam int unsigned LANE_BITS = $clog2(LANES),
    localparam int unsigned CHUNK_BITS = $clog2(CHUNKS),
    localparam int unsigned BITS = LANE_BITS + CHUNK_BITS
) (
    input logic clock,
    input logic reset,
    input logic [BITS:0] factor,  // modulo 2 N, odd
    input logic [BITS-1:0] offset,
    input logic [WIDTH-1:0] modulus,
    input logic in_valid,
    input logic [LANES-1:0][WIDTH-1:0] in,
    output logic out_valid,
    output logic [LANES-1:0][WIDTH-1:0] out
);
    localparam int unsigned BLOCKS = LANES / CHUNKS;
    localparam int unsigned FIRST = latency::affine_permutation(IN_FOUR_STEPS ? CHUNKS : LANES);
    localparam int unsigned SECOND = latency::affine_permutation(IN_FOUR_STEPS ? LANES : CHUNKS);
    localparam int unsigned LOG2 = $clog2(LANE_BITS + 1);

    logic [CHUNK_BITS-1:0] chunk, turned_chunk;
    logic permuted_valid, turned_valid, moved_valid;
    logic [LANES-1:0][WIDTH-1:0] permuted, turned, moved;

    always_ff @(posedge clock) begin
        if (reset) {chunk, turned_chunk} <= '0;
        else begin
            if (in_valid) chunk <= chunk + 1;
            if (turned_valid) turned_chunk <= turned_chunk + 1;
        end
    end
    delay #(
        .CYCLES(FIRST)
    ) first (
        .clock,
        .reset,
        .in(in_valid),
        .out(permuted_valid)
    );
    transpose #(
        .LANES(LANES),
        .WIDTH(WIDTH)
    ) there (
        .clock,
        .reset,
        .log2_chunks(LOG2'(CHUNK_BITS)),
        .in_valid(permuted_valid),
        .in(permuted),
        .out_valid(turned_valid),
        .out(turned)
    );
    delay #(
        .CYCLES(SECOND)
    ) second (
        .clock,
        .reset,
        .in(turned_valid),
        .out(moved_valid)
    );
    transpose #(
        .LANES(LANES),
        .WIDTH(WIDTH)
    ) back (
        .clock,
        .reset,
        .log2_chunks(LOG2'(CHUNK_BITS)),
        .in_valid(moved_valid),
        .in(moved),
        .out_valid,
        .out
    );

    // floor((times column + plus) / LANES): offset of the rows of a column.
    function automatic logic [CHUNK_BITS-1:0] carried(logic [BITS-1:0] times, logic [BITS-1:0] plus, logic [LANE_BITS-1:0] column);
        return CHUNK_BITS'((times * BITS'(column) + plus) >> LANE_BITS);
    endfunction

    logic [BLOCKS-1:0][CHUNK_BITS-1:0] row_offsets;
    if (IN_FOUR_STEPS) begin : four_steps
        logic [LANES-1:0][WIDTH-1:0] columns, moved_columns;
        logic [LANE_BITS-1:0] turned_factor, turned_offset;
        logic unused;
        assign unused = factor[BITS] ^ (^modulus) ^ (^turned_chunk);  // of signs, and of rows

        delay #(
            .CYCLES(FIRST + latency::transpose(CHUNKS)),
            .WIDTH(2 * LANE_BITS)
        ) control (
            .clock,
            .reset,
            .in({factor[LANE_BITS-1:0], offset[LANE_BITS-1:0]}),
            .out({turned_factor, turned_offset})
        );

        // Chunk c has columns c BLOCKS to c BLOCKS + BLOCKS - 1, each in a block of lanes.
        for (genvar block = 0; block < BLOCKS; block++) begin : blocks
            assign row_offsets[block] = carried(factor[BITS-1:0], offset, LANE_BITS'(32'(chunk) * BLOCKS + block));
        end
        affine_permutation #(
            .LANES(LANES),
            .BLOCK(CHUNKS),
            .WIDTH(WIDTH)
        ) rows (
            .clock,
            .factor(factor[CHUNK_BITS-1:0]),
            .offset(row_offsets),
            .in,
            .out(permuted)
        );
        // After the transpose, chunk r has row r, and column c BLOCKS + b is in lane b CHUNKS + c.
        for (genvar column = 0; column < LANES; column++) begin : wires
            localparam int unsigned LANE = column % BLOCKS * CHUNKS + column / BLOCKS;
            assign columns[column] = turned[LANE];
            assign moved[LANE] = moved_columns[column];
        end
        affine_permutation #(
            .LANES(LANES),
            .BLOCK(LANES),
            .WIDTH(WIDTH)
        ) within_rows (
            .clock,
            .factor(turned_factor),
            .offset(turned_offset),
            .in(columns),
            .out(moved_columns)
        );
    end else begin : coefficients
        logic [LANES-1:0][WIDTH:0] marked, marked_columns;  // a word and above it its sign
        logic [WIDTH-1:0] permuted_modulus;
        logic [BITS-1:0] turned_factor;
        logic unused;
        assign unused = ^offset;

        delay #(
            .CYCLES(FIRST + latency::transpose(CHUNKS)),
            .WIDTH(BITS)
        ) control (
            .clock,
            .reset,
            .in(factor[BITS-1:0]),
            .out(turned_factor)
        );
        for (genvar lane = 0; lane < LANES; lane++) begin : signs
            logic [BITS:0] index;
            logic negative;
            logic [WIDTH-1:0] word;
            assign index = (BITS + 1)'({chunk, LANE_BITS'(lane)});
            assign marked[lane] = {1'((factor * index) >> BITS), in[lane]};
            assign {negative, word} = marked_columns[lane];
            assign permuted[lane] = negative && word != 0 ? permuted_modulus - word : word;
        end
        affine_permutation #(
            .LANES(LANES),
            .BLOCK(LANES),
            .WIDTH(WIDTH + 1)
        ) columns (
            .clock,
            .factor(factor[LANE_BITS-1:0]),
            .offset('0),
            .in(marked),
            .out(marked_columns)
        );
        delay #(
            .CYCLES(FIRST),
            .WIDTH(WIDTH)
        ) constant (
            .clock,
            .reset,
            .in(modulus),
            .out(permuted_modulus)
        );

        // factor^-1 by Newton's iteration: an odd number is its own inverse modulo 8, and each step doubles the number of correct bits.
        function automatic logic [LANE_BITS-1:0] inverse(logic [LANE_BITS-1:0] odd);
            inverse = odd;
            for (int bits = 3; bits < LANE_BITS; bits *= 2) inverse = inverse * (LANE_BITS'(2) - odd * inverse);
        endfunction

        // After the transpose, block b of chunk c has the rows of column b CHUNKS + c.
        for (genvar block = 0; block < BLOCKS; block++) begin : blocks
            logic [LANE_BITS-1:0] column, origin;
            assign column = LANE_BITS'(block * CHUNKS + 32'(turned_chunk));
            assign origin = inverse(turned_factor[LANE_BITS-1:0]) * column;
            assign row_offsets[block] = carried(turned_factor, '0, origin);
        end
        affine_permutation #(
            .LANES(LANES),
            .BLOCK(CHUNKS),
            .WIDTH(WIDTH)
        ) rows (
            .clock,
            .factor(turned_factor[CHUNK_BITS-1:0]),
            .offset(row_offsets),
            .in(turned),
            .out(moved)
        );
    end
endmodule
