// In: whether to write settings, column, number of the tile, settings; whether there is a tile, log2 of the ring's tiles, h, number, tile. Out: number,
// tile.
module bench #(
    parameter int unsigned WIDTH = 40,
    parameter int unsigned LANES = 512,
    parameter int unsigned TILE_BITS = 7,
    localparam int unsigned COLUMN_BITS = $clog2(2 * $clog2(LANES) - 1),
    localparam int unsigned WRITE = 1 + COLUMN_BITS + TILE_BITS + LANES / 2,
    localparam int unsigned TILE = 1 + $clog2(TILE_BITS + 1) + 2 * TILE_BITS + LANES * WIDTH
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [WRITE+TILE-1:0] in_data,
    output logic out_valid,
    output logic [TILE_BITS+LANES*WIDTH-1:0] out_data
);
    logic write, tile_valid;
    logic [COLUMN_BITS-1:0] write_column;
    logic [TILE_BITS-1:0] write_index, index, inverse_half;
    logic [LANES/2-1:0] write_crosses;
    logic [$clog2(TILE_BITS+1)-1:0] tile_bits;
    logic [LANES-1:0][WIDTH-1:0] tile;
    assign {write_crosses, write_index, write_column, write} = in_data[WRITE-1:0];
    assign {tile, index, inverse_half, tile_bits, tile_valid} = in_data[WRITE+:TILE];
    automorphism_benes #(
        .WIDTH(WIDTH),
        .LANES(LANES),
        .TILE_BITS(TILE_BITS)
    ) unit (
        .clock,
        .write(write && in_valid),
        .write_column,
        .write_index,
        .write_crosses,
        .tile_bits,
        .inverse_half,
        .index,
        .tile,
        .moved_index(out_data[TILE_BITS-1:0]),
        .moved(out_data[TILE_BITS+:LANES*WIDTH])
    );
    delay #(
        .CYCLES(latency::automorphism_benes(LANES))
    ) valid (
        .clock,
        .reset,
        .in(tile_valid && in_valid),
        .out(out_valid)
    );
endmodule
