// SPDX-License-Identifier: Apache-2.0
// Osiris' automorphism unit (section IV-D): a Benes network, with a memory of switch settings per column, indexed by the number of the passing tile.
//
// X -> X^g moves value (g (2 k + 1) mod 2 N - 1) / 2 to value k. The values c + r N / LANES of lane r come from such a tile too: words change lanes, and the tile's number becomes that of
// the source under g^-1: (g^-1 (2 c + 1) mod 2 N - 1) / 2 mod N / LANES = c + h (2 c + 1) for g^-1 = 2 h + 1. Tiles leave in order of arrival.
module automorphism_benes #(
    parameter int unsigned WIDTH = 40,
    parameter int unsigned LANES = 512,
    parameter int unsigned TILE_BITS = 7,  // log2 of the largest ring's tiles
    localparam int unsigned COLUMNS = 2 * $clog2(LANES) - 1
) (
    input logic clock,
    // Settings for tiles with number `write_index`: one column of them.
    input logic write,
    input logic [$clog2(COLUMNS)-1:0] write_column,
    input logic [TILE_BITS-1:0] write_index,
    input logic [LANES/2-1:0] write_crosses,

    input logic [$clog2(TILE_BITS+1)-1:0] tile_bits,  // log2 of the ring's tiles
    input logic [TILE_BITS-1:0] inverse_half,  // h of g^-1 = 2 h + 1, modulo the ring's tiles
    input logic [TILE_BITS-1:0] index,
    input logic [LANES-1:0][WIDTH-1:0] tile,
    output logic [TILE_BITS-1:0] moved_index,
    output logic [LANES-1:0][WIDTH-1:0] moved
);
    // The tile's input number at each column, and its output number.
    logic [TILE_BITS-1:0] passing[COLUMNS], leaving[COLUMNS];
    logic [COLUMNS-1:0][LANES/2-1:0] crosses;
    assign passing[0] = index;
    always_ff @(posedge clock) begin
        leaving[0] <= (index + inverse_half * (index << 1 | TILE_BITS'(1))) & ~({TILE_BITS{1'b1}} << tile_bits);
        for (int column = 1; column < COLUMNS; column++) begin
            passing[column] <= passing[column-1];
            leaving[column] <= leaving[column-1];
        end
    end
    assign moved_index = leaving[COLUMNS-1];

    for (genvar column = 0; column < COLUMNS; column++) begin : columns
        logic [LANES/2-1:0] settings[1<<TILE_BITS];
        always_ff @(posedge clock) if (write && 32'(write_column) == column) settings[write_index] <= write_crosses;
        assign crosses[column] = settings[passing[column]];
    end
    benes #(
        .WIDTH(WIDTH),
        .LANES(LANES)
    ) network (
        .clock,
        .crosses,
        .in(tile),
        .out(moved)
    );
endmodule
