// SPDX-License-Identifier: Apache-2.0
// Delays a word by `cycles` cycles, from 1 to DEPTH, constant since the last reset. In each cycle one word of a memory is read and then written; a register follows. With CLEARED, lines give 0 until the first word
// after the reset.
module delay_memory #(
    parameter int unsigned WIDTH = 40,
    parameter int unsigned DEPTH = 4,
    parameter bit CLEARED = 0
) (
    input logic clock,
    input logic reset,
    input logic [$clog2(DEPTH+1)-1:0] cycles,
    input logic [WIDTH-1:0] in,
    output logic [WIDTH-1:0] out
);
    // A line of one cycle is its register only; any other has one word less in the memory.
    localparam int unsigned LINES = DEPTH > 1 ? DEPTH - 1 : 1;
    localparam int unsigned ADDRESS_BITS = LINES > 1 ? $clog2(LINES) : 1;

    logic [WIDTH-1:0] memory[LINES], read;
    logic [ADDRESS_BITS-1:0] address;
    logic last;
    assign last = 32'(cycles) < 3 || 32'(address) + 2 == 32'(cycles);

    always_ff @(posedge clock) begin
        read <= cycles == 1 ? in : memory[address];
        memory[address] <= in;
        address <= reset || last ? '0 : address + 1'b1;
    end

    if (CLEARED) begin : from_reset
        logic wrapped, filled;
        always_ff @(posedge clock) begin
            wrapped <= !reset && (wrapped || last);
            filled <= !reset && (wrapped || cycles == 1);
        end
        assign out = filled ? read : '0;
    end else begin : always_on
        assign out = read;
    end
endmodule
