// SPDX-License-Identifier: Apache-2.0
// Blocks of ChaCha (D. Bernstein, 2008) with 8 rounds, BLOCKS consecutive ones of a stream per cycle, with a 256-bit key, a 64-bit stream number and a 64-bit counter. The constants, the key, the counter and
// the number are 16 words of 32 bits. A round is four parallel quarter-rounds on columns or diagonals; finally the initial words are added. There is a register after each half of a round (two
// consecutive additions) and after the final addition.
module chacha #(
    parameter int unsigned BLOCKS = 16,
    localparam int unsigned HALVES = 16  // of rounds
) (
    input logic clock,
    input logic advances,  // else everything stays where it is
    // For the entering blocks.
    input logic [7:0][31:0] key,
    input logic [63:0] number,
    input logic [63:0] counter,  // of the first block: a multiple of BLOCKS
    // For the leaving blocks: the words that entered HALVES steps before.
    input logic [7:0][31:0] key_behind,
    input logic [63:0] number_behind,
    output logic [31:0] words[16][BLOCKS]
);
    function automatic logic [31:0] first_word(int unsigned word, logic [7:0][31:0] of_key, logic [63:0] of_number, logic [63:0] of_counter);
        // "expand 32-byte k"
        logic [3:0][31:0] constants;
        constants = 128'h6b206574_79622d32_3320646e_61707865;
        if (word < 4) return constants[word[1:0]];
        if (word < 12) return of_key[3'(word-4)];
        return 32'((word < 14 ? of_counter : of_number) >> (word % 2 * 32));
    endfunction

    function automatic logic [31:0] rotated(logic [31:0] word, int unsigned bits);
        return word << bits | word >> (32 - bits);
    endfunction

    logic [63:0] counters[HALVES];
    for (genvar half = 0; half < HALVES; half++) begin : halves
        localparam bit DIAGONALS = half / 2 % 2 == 1;
        localparam bit SECOND = half % 2 == 1;
        logic [31:0] held[16][BLOCKS], mixed[16][BLOCKS];
        always_comb begin
            logic [31:0] a, b, c, d;
            for (int block = 0; block < BLOCKS; block++) begin
                for (int i = 0; i < 4; i++) begin
                    if (half == 0) begin
                        a = first_word(i, key, number, 64'(0));
                        b = first_word(4 + i, key, number, 64'(0));
                        c = first_word(8 + i, key, number, 64'(0));
                        d = first_word(12 + i, key, number, counter + 64'(block));
                    end else begin
                        a = halves[half>0?half-1 : 0].held[i][block];
                        b = halves[half>0?half-1 : 0].held[4+(i+32'(DIAGONALS))%4][block];
                        c = halves[half>0?half-1 : 0].held[8+(i+2*32'(DIAGONALS))%4][block];
                        d = halves[half>0?half-1 : 0].held[12+(i+3*32'(DIAGONALS))%4][block];
                    end
                    a = a + b;
                    d = rotated(d ^ a, SECOND ? 8 : 16);
                    c = c + d;
                    b = rotated(b ^ c, SECOND ? 7 : 12);
                    mixed[i][block] = a;
                    mixed[4+(i+32'(DIAGONALS))%4][block] = b;
                    mixed[8+(i+2*32'(DIAGONALS))%4][block] = c;
                    mixed[12+(i+3*32'(DIAGONALS))%4][block] = d;
                end
            end
        end
        always_ff @(posedge clock) begin
            if (advances) begin
                held <= mixed;
                counters[half] <= half == 0 ? counter : counters[half>0?half-1 : 0];
            end
        end
    end

    logic [31:0] sums[16][BLOCKS];
    always_comb begin
        for (int word = 0; word < 16; word++) begin
            for (int block = 0; block < BLOCKS; block++) begin
                sums[word][block] = halves[HALVES-1].held[word][block]
                    + first_word(word, key_behind, number_behind, counters[HALVES-1] + 64'(block));
            end
        end
    end
    always_ff @(posedge clock) if (advances) words <= sums;
endmodule
