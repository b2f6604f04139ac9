// SPDX-License-Identifier: Apache-2.0
// Counts the tiles of a stream of interleaved limbs (Osiris, section IV-B): tile 0 of every limb, then tile 1 of every limb and so on. Tiles of a limb are `slots` cycles apart. With `reversed`, tiles come in bit-reversed order, as from key generators. The first one is there in the cycle after `start`. The next stream may start in the last cycle of the one before.
module limb_sequence #(
    parameter int unsigned LIMBS = 40,
    parameter int unsigned TILE_BITS = 7,
    parameter int unsigned WIDTH = 1,  // of a word that is held with the stream
    localparam int unsigned SLOT_BITS = $clog2(LIMBS + 1),
    localparam int unsigned PLACE_BITS = LIMBS > 1 ? $clog2(LIMBS) : 1
) (
    input logic clock,
    input logic reset,
    input logic start,
    input logic [$clog2(TILE_BITS+1)-1:0] tile_bits,  // log2 of a limb's tiles
    input logic [SLOT_BITS-1:0] slots,
    input logic [SLOT_BITS-1:0] limbs,  // at most as many as slots
    input logic reversed,
    input logic [WIDTH-1:0] word,
    output logic valid,  // there is a limb in this slot
    output logic [PLACE_BITS-1:0] position,  // among the limbs
    output logic [TILE_BITS-1:0] index,
    output logic [WIDTH-1:0] held
);
    logic running, turns, reversed_held;
    logic [PLACE_BITS-1:0] slot;
    logic [TILE_BITS-1:0] count, turned;
    logic [SLOT_BITS-1:0] slots_held, limbs_held;
    logic [$clog2(TILE_BITS+1)-1:0] tile_bits_held;
    assign turns = 32'(slot) + 1 == 32'(slots_held);
    assign valid = running && 32'(slot) < 32'(limbs_held);
    assign position = slot;
    always_ff @(posedge clock) begin
        if (reset) running <= 1'b0;
        else if (start) running <= 1'b1;
        else if (turns && 32'(count) + 1 == 1 << tile_bits_held) running <= 1'b0;
        if (start) {slots_held, limbs_held, tile_bits_held, reversed_held, held} <= {slots, limbs, tile_bits, reversed, word};
        slot  <= start || turns ? '0 : slot + 1'b1;
        count <= start ? '0 : count + TILE_BITS'(turns);
    end
    always_comb for (int i = 0; i < TILE_BITS; i++) turned[i] = count[TILE_BITS-1-i];
    assign index = reversed_held ? turned >> (TILE_BITS - 32'(tile_bits_held)) : count;
endmodule
