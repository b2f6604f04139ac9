// SPDX-License-Identifier: Apache-2.0
// Instructions of one kind for one unit, in program order. The head waits for its start; those that have started end in the same order. So the oldest that is unfinished says which of them are finished.
module instruction_queue #(
    parameter int unsigned WIDTH = 32,
    parameter int unsigned NUMBER = 32,  // bits of an instruction's number
    parameter int unsigned DEPTH = 16,  // a power of two
    localparam int unsigned PLACE = $clog2(DEPTH)
) (
    input logic clock,
    input logic reset,
    input logic comes,
    input logic [NUMBER-1:0] number,
    input logic [WIDTH-1:0] word,
    input logic starts,  // the head
    input logic ends,  // the oldest
    output logic waits,  // a head
    output logic [NUMBER-1:0] head_number,
    output logic [WIDTH-1:0] head,
    output logic unfinished,  // an instruction
    output logic [NUMBER-1:0] oldest,
    output logic wrong  // for tests: one too many, or an end without a start
);
    logic [WIDTH-1:0] words[DEPTH];
    logic [NUMBER-1:0] numbers[DEPTH];
    logic [PLACE:0] come, started, ended;
    assign waits = started != come;
    assign unfinished = ended != come;
    assign head = words[started[PLACE-1:0]];
    assign head_number = numbers[started[PLACE-1:0]];
    assign oldest = numbers[ended[PLACE-1:0]];
    assign wrong = comes && come - ended == (PLACE + 1)'(DEPTH) || ends && ended == started && !starts;
    always_ff @(posedge clock) begin
        if (reset) {come, started, ended} <= '0;
        else begin
            if (comes) come <= come + 1'b1;
            if (starts) started <= started + 1'b1;
            if (ends) ended <= ended + 1'b1;
        end
        if (comes) begin
            words[come[PLACE-1:0]] <= word;
            numbers[come[PLACE-1:0]] <= number;
        end
    end
endmodule
