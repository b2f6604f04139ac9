// SPDX-License-Identifier: Apache-2.0
// Moves the selected ones of COUNT words to the front, in order. Each moves down by the number of unselected words before it, bit by bit of that number from the lowest, so that no two collide. There is a
// register after each bit's stage.
module compaction #(
    parameter int unsigned COUNT = 128,
    parameter int unsigned WIDTH = 40,
    localparam int unsigned STAGES = $clog2(COUNT)
) (
    input logic clock,
    input logic advances,  // else everything stays where it is
    input logic chosen[COUNT],
    input logic [STAGES-1:0] moves[COUNT],  // of a chosen word: the words before it that are not
    input logic [WIDTH-1:0] words[COUNT],
    output logic [WIDTH-1:0] front[COUNT]
);
    for (genvar stage = 0; stage < STAGES; stage++) begin : stages
        localparam int unsigned BEFORE = stage > 0 ? stage - 1 : 0;
        localparam int unsigned DISTANCE = 1 << stage;
        logic there[COUNT], stays[COUNT];
        logic [STAGES-1:0] left[COUNT], left_then[COUNT];
        logic [WIDTH-1:0] held[COUNT], held_then[COUNT];
        logic is_there[COUNT];
        logic [STAGES-1:0] distance[COUNT];
        logic [WIDTH-1:0] word[COUNT];
        if (stage == 0) begin : first
            assign is_there = chosen;
            assign distance = moves;
            assign word = words;
        end else begin : later
            assign is_there = stages[BEFORE].there;
            assign distance = stages[BEFORE].left;
            assign word = stages[BEFORE].held;
        end
        always_comb begin
            for (int i = 0; i < COUNT; i++) begin
                stays[i] = is_there[i] && !distance[i][stage];
                left_then[i] = distance[i];
                held_then[i] = word[i];
            end
            for (int i = 0; i + DISTANCE < COUNT; i++) begin
                if (is_there[i+DISTANCE] && distance[i+DISTANCE][stage]) begin
                    stays[i] = 1'b1;
                    left_then[i] = distance[i+DISTANCE];
                    held_then[i] = word[i+DISTANCE];
                end
            end
        end
        always_ff @(posedge clock) begin
            if (advances) begin
                there <= stays;
                left  <= left_then;
                held  <= held_then;
            end
        end
    end
    assign front = stages[STAGES-1].held;
    logic unused;
    assign unused = ^{stages[STAGES-1].there[0], stages[STAGES-1].left[0]};
endmodule
