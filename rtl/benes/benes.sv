// SPDX-License-Identifier: Apache-2.0
// A Benes network: any permutation of LANES words (Osiris, section IV-D, figure 7).
//
// A column of switches, two parallel networks of half as many lanes, and a column of switches; for two lanes, one switch. That is 2 log2 LANES - 1 columns of LANES / 2 switches, each followed by a
// register. Column k takes its settings k cycles after the words.
module benes #(
    parameter int unsigned WIDTH = 40,
    parameter int unsigned LANES = 512,
    localparam int unsigned COLUMNS = 2 * $clog2(LANES) - 1
) (
    input logic clock,
    input logic [COLUMNS-1:0][LANES/2-1:0] crosses,  // by column, then by switch: whether it exchanges its two words
    input logic [LANES-1:0][WIDTH-1:0] in,
    output logic [LANES-1:0][WIDTH-1:0] out
);
    // Source lane of lane `lane` in the wires after column `column`.
    function automatic int unsigned wire_from(int unsigned column, int unsigned lane);
        int unsigned block, place;
        if (column == COLUMNS - 1) return lane;
        // Before the middle the columns split blocks in two, after it they join them.
        block = 2 * column + 1 < COLUMNS ? LANES >> column : 4 << (column - COLUMNS / 2);
        place = lane % block;
        return lane - place + (2 * column + 1 < COLUMNS ? place % (block / 2) * 2 + place / (block / 2) : place / 2 + place % 2 * (block / 2));
    endfunction

    logic [LANES-1:0][WIDTH-1:0] words[COLUMNS+1];
    assign words[0] = in;
    assign out = words[COLUMNS];

    for (genvar column = 0; column < COLUMNS; column++) begin : columns
        always_ff @(posedge clock) begin
            for (int lane = 0; lane < LANES; lane++) begin
                automatic int unsigned from = wire_from(column, lane);
                words[column+1][lane] <= words[column][from^32'(crosses[column][from/2])];
            end
        end
    end
endmodule
