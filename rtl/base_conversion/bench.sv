// In: whether there is a tile, its limb, the limb's modulus, negated inverse, factor and addend, the tile; whether there are constants, whether they are the first of a block, modulus, negated
// inverse, initial sum, weights by row. Out: latency.sv's cycles from a block's first tile to its first result for one limb, the tile of a target limb.
module bench #(
    parameter int unsigned WIDTH = 40,
    parameter int unsigned HEIGHT = 16,
    parameter int unsigned LANES = 512,
    localparam int unsigned TILE = 1 + $clog2(HEIGHT + 1) + (4 + LANES) * WIDTH,
    localparam int unsigned CONSTANTS = 2 + (3 + HEIGHT) * WIDTH
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [TILE+CONSTANTS-1:0] in_data,
    output logic out_valid,
    output logic [32+LANES*WIDTH-1:0] out_data
);
    logic tile_valid, constants_valid, first;
    logic [$clog2(HEIGHT+1)-1:0] limb;
    logic [WIDTH-1:0] source_modulus, source_inverse, factor, addend, target_modulus, target_inverse, initial_sum;
    logic [LANES-1:0][WIDTH-1:0] tile;
    logic [HEIGHT-1:0][WIDTH-1:0] weights;
    assign {tile, addend, factor, source_inverse, source_modulus, limb, tile_valid} = in_data[TILE-1:0];
    assign {weights, initial_sum, target_inverse, target_modulus, first, constants_valid} = in_data[TILE+CONSTANTS-1:TILE];

    base_conversion #(
        .WIDTH(WIDTH),
        .HEIGHT(HEIGHT),
        .LANES(LANES)
    ) unit (
        .clock,
        .reset,
        .tile_valid(tile_valid && in_valid),
        .limb,
        .source_modulus,
        .source_inverse,
        .factor,
        .addend,
        .tile,
        .first(first && in_valid),
        .target_modulus,
        .target_inverse,
        .initial_sum,
        .weights,
        .converted(out_data[32+:LANES*WIDTH])
    );
    assign out_data[31:0] = latency::base_conversion(HEIGHT, LANES, 1);
    delay #(
        .CYCLES(latency::base_conversion_constants(HEIGHT, LANES))
    ) valid (
        .clock,
        .reset,
        .in(constants_valid && in_valid),
        .out(out_valid)
    );
endmodule
