// SPDX-License-Identifier: Apache-2.0
// Osiris' scratchpads: PLACES limbs of up to 2^TILE_BITS tiles, each a bank of its own. A tile is there the cycle after its address, also if it is written in the same cycle: units read a tile the cycle after another one has written it. `clash` reports cycles in which two units read a place, or two write one.
module scratchpad #(
    parameter int unsigned WIDTH = 20480,
    parameter int unsigned PLACES = 561,
    parameter int unsigned TILE_BITS = 7,
    parameter int unsigned READS = 14,
    parameter int unsigned WRITES = 6,
    localparam int unsigned PLACE_BITS = $clog2(PLACES)
) (
    input logic clock,
    input logic [READS-1:0] reads,
    input logic [READS-1:0][PLACE_BITS-1:0] read_places,
    input logic [READS-1:0][TILE_BITS-1:0] read_indices,
    output logic [READS-1:0][WIDTH-1:0] tiles,
    input logic [WRITES-1:0] writes,
    input logic [WRITES-1:0][PLACE_BITS-1:0] write_places,
    input logic [WRITES-1:0][TILE_BITS-1:0] write_indices,
    input logic [WRITES-1:0][WIDTH-1:0] written,
    output logic clash
);
    logic [WIDTH-1:0] memory[PLACES<<TILE_BITS];
    always_ff @(posedge clock) begin
        for (int i = 0; i < WRITES; i++) if (writes[i]) memory[{write_places[i], write_indices[i]}] <= written[i];
        for (int i = 0; i < READS; i++) begin
            tiles[i] <= memory[{read_places[i], read_indices[i]}];
            for (int j = 0; j < WRITES; j++) begin
                if (writes[j] && {write_places[j], write_indices[j]} == {read_places[i], read_indices[i]}) tiles[i] <= written[j];
            end
        end
    end
    always_comb begin
        clash = 1'b0;
        for (int i = 0; i < READS; i++) for (int j = 0; j < i; j++) clash |= reads[i] && reads[j] && read_places[i] == read_places[j];
        for (int i = 0; i < WRITES; i++) for (int j = 0; j < i; j++) clash |= writes[i] && writes[j] && write_places[i] == write_places[j];
    end
endmodule
