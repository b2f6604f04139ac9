// SPDX-License-Identifier: Apache-2.0
// A section of Strix' global scratchpad for keys (section VI-A): a double buffer in BANKS banks of WORD bits with one read and one write port. As many memory channels fill it, and a bus reads BUS words of it a cycle.
//
// Word j of a key, in the order of use, comes over channel j mod BANKS to the bank of that number. So channels need no crossbar, and the words of a line of the bus are in different banks. Keys are filled into both buffers in turn. A bank's read and the bus' register take a cycle each.
module key_buffer #(
    parameter int unsigned BANKS = 8,
    parameter int unsigned BUS = 8,  // a divisor of BANKS, both powers of two
    parameter int unsigned WORD = 128,
    parameter int unsigned WORDS = 256,  // of a key in a bank
    localparam int unsigned PARTS = BANKS / BUS,
    localparam int unsigned PLACE = $clog2(WORDS),
    localparam int unsigned LINE = $clog2(WORDS * PARTS)
) (
    input logic clock,
    input logic reset,
    // A word of each channel arrives.
    input logic fills,
    input logic [WORD-1:0] words[BANKS],
    // Reads a line of a key.
    input logic half,
    input logic [LINE-1:0] line,
    output logic [WORD-1:0] key[BUS]
);
    logic filled;
    logic [PLACE-1:0] place;
    always_ff @(posedge clock) begin
        if (reset) {filled, place} <= '0;
        else if (fills) begin
            place <= 32'(place) == WORDS - 1 ? '0 : place + 1'b1;
            if (32'(place) == WORDS - 1) filled <= !filled;
        end
    end
    logic [WORD-1:0] read[BANKS];
    for (genvar number = 0; number < BANKS; number++) begin : banks
        logic [WORD-1:0] bank[2<<PLACE];
        always_ff @(posedge clock) begin
            if (fills) bank[{filled, place}] <= words[number];
            read[number] <= bank[{half, PLACE'(32'(line) / PARTS)}];
        end
    end
    // The part of the banks that has the line.
    logic [LINE-1:0] read_line;
    always_ff @(posedge clock) begin
        read_line <= line;
        for (int word = 0; word < BUS; word++) key[word] <= read[32'(read_line)%PARTS*BUS+word];
    end
endmodule
