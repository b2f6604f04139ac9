// SPDX-License-Identifier: Apache-2.0
// The instruction stream of one component of F1 (section 3): an operation and the cycles until the next one. Up to ISSUE operations start in one cycle; `late` reports one more than that.
//
// The memory is loaded before the run. Cycles of the run are counted from 0, and the first operation starts in cycle `begin`, which is loaded with it.
module instruction_stream #(
    parameter int unsigned WIDTH = 32,
    parameter int unsigned DEPTH = 512,
    parameter int unsigned ISSUE = 1,
    parameter int unsigned WAIT = 16,  // bits of the cycles
    localparam int unsigned ADDRESS = $clog2(DEPTH)
) (
    input logic clock,
    input logic reset,
    input logic load,
    input logic [ADDRESS-1:0] address,
    input logic is_last,
    input logic [WAIT-1:0] cycles,  // to the next operation
    input logic [WAIT-1:0] begin_cycle,  // of the first operation
    input logic [WIDTH-1:0] operation,
    input logic start,  // the cycle before cycle 0
    output logic [ISSUE-1:0] valid,
    output logic [ISSUE-1:0][WIDTH-1:0] issued,
    output logic late
);
    logic [WIDTH-1:0] operations[DEPTH];
    logic [WAIT-1:0] waits[DEPTH];
    logic lasts[DEPTH];
    logic [WAIT-1:0] first, remaining, next_remaining;
    logic [ADDRESS-1:0] next, following;
    logic loaded, running, ends, open;

    always_comb begin
        valid = '0;
        issued = '0;
        ends = 0;
        following = next;
        next_remaining = remaining - 1'b1;
        open = running && remaining == 0;
        for (int place = 0; place < ISSUE; place++) begin
            issued[place] = operations[following];
            if (open) begin
                valid[place] = 1;
                ends = lasts[following];
                next_remaining = waits[following] - 1'b1;
                open = !ends && waits[following] == 0;
                following = following + 1'b1;
            end
        end
        late = open;
    end

    always_ff @(posedge clock) begin
        if (load) begin
            operations[address] <= operation;
            waits[address] <= cycles;
            lasts[address] <= is_last;
            if (address == 0) first <= begin_cycle;
        end
        if (reset) {loaded, running} <= '0;
        else begin
            loaded <= loaded || load;
            if (start && loaded) running <= 1;
            else if (ends) running <= 0;
        end
        if (reset || start) next <= '0;
        else next <= following;
        if (start) remaining <= first;
        else if (running) remaining <= next_remaining;
    end
endmodule
