// SPDX-License-Identifier: Apache-2.0
// The quadrant-swap transpose unit (F1, section 5.1, figure 7): a vector of G = 2^log2_chunks chunks of LANES elements, as LANES/G parallel matrices of G x G, each transposed. (Chunk r, block b, place c) leaves as (chunk c, block b, place r), starting G - 1 cycles later.
//
// Layers of swaps at K = LANES, LANES/2, ..., 2; those above G are bypassed. A layer delays a column by K/2 cycles, G - 1 in total. There is no register in the bypass, so one cycle passes the multiplexers of all layers. The chunks of a vector enter in consecutive cycles; vectors follow each other immediately or after any number of idle cycles.
// For that, a buffer has separate read and write addresses: the paper's single index suffices only if a vector begins a whole number of steps after the previous one. `log2_chunks`, at least 1, changes only while no vector is inside.
module transpose #(
    parameter int unsigned LANES = 8,
    parameter int unsigned WIDTH = 32,
    localparam int unsigned LAYERS = $clog2(LANES)
) (
    input logic clock,
    input logic reset,
    input logic [$clog2(LAYERS+1)-1:0] log2_chunks,
    input logic in_valid,
    input logic [LANES-1:0][WIDTH-1:0] in,
    output logic out_valid,
    output logic [LANES-1:0][WIDTH-1:0] out
);
    for (genvar i = 0; i <= LAYERS; i++) begin : layers
        // Input of layer i; after the last, the output.
        logic valid;
        logic [LANES-1:0][WIDTH-1:0] columns;

        if (i == 0) begin : first
            assign valid = in_valid;
            assign columns = in;
        end else begin : swaps
            localparam int unsigned SIZE = LANES >> (i - 1);
            localparam int unsigned BITS = $clog2(SIZE);
            localparam int unsigned INDEX = BITS > 1 ? BITS - 1 : 1;
            logic used, arrived, valid_swapped;
            logic [BITS-1:0] taken, left;  // columns so far, modulo SIZE
            logic [LANES-1:0][WIDTH-1:0] arriving, swapped;

            assign arriving = layers[i-1].columns;
            assign used = 32'(log2_chunks) >= BITS;
            assign arrived = layers[i-1].valid;
            delay #(
                .CYCLES(SIZE / 2)
            ) waiting (
                .clock,
                .reset,
                .in(arrived && used),
                .out(valid_swapped)
            );
            always_ff @(posedge clock) begin
                if (reset) {taken, left} <= '0;
                else begin
                    if (arrived && used) taken <= taken + 1;
                    if (valid_swapped) left <= left + 1;
                end
            end
            for (genvar lane = 0; lane < LANES; lane += SIZE) begin : blocks
                quadrant_swap #(
                    .SIZE(SIZE),
                    .WIDTH(WIDTH)
                ) swap (
                    .clock,
                    .take(arrived && used),
                    .second(taken[BITS-1]),
                    .column(SIZE > 2 ? taken[INDEX-1:0] : '0),
                    .third(left[BITS-1]),
                    .leaving(SIZE > 2 ? left[INDEX-1:0] : '0),
                    .in(arriving[lane+:SIZE]),
                    .out(swapped[lane+:SIZE])
                );
            end
            assign valid = used ? valid_swapped : arrived;
            assign columns = used ? swapped : arriving;
        end
    end
    assign out_valid = layers[LAYERS].valid;
    assign out = layers[LAYERS].columns;
endmodule
