// SPDX-License-Identifier: Apache-2.0
// The instruction stream of one component of F1 (section 3): an operation and the cycles until the next one. Up to ISSUE operations start in one cycle.
//
// Instructions are loaded in order, before the run or during it, with the cycle `begin_cycle` of the first. `late` reports one that is not there in its cycle, one more than ISSUE in a cycle, and one that finds no place.
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
    input logic is_last,
    input logic [WAIT-1:0] cycles,  // to the next operation
    input logic [WAIT-1:0] begin_cycle,  // of the first operation
    input logic [WIDTH-1:0] operation,
    input logic running,
    input logic [WAIT-1:0] now,  // the cycle of the run
    output logic [ISSUE-1:0] valid,
    output logic [ISSUE-1:0][WIDTH-1:0] issued,
    output logic late
);
    logic [WIDTH-1:0] operations[DEPTH];
    logic [WAIT-1:0] waits[DEPTH];
    logic lasts[DEPTH];
    logic [WAIT-1:0] due, next_due;  // the cycle of the next operation
    logic [ADDRESS:0] added, taken, following;
    logic known, ends, open, first;

    always_comb begin
        valid = '0;
        issued = '0;
        ends = 0;
        following = taken;
        next_due = due;
        open = running && known && due == now;
        first = load && added == 0;
        late = load && (first ? running && begin_cycle <= now : 32'(added - taken) == DEPTH);
        for (int place = 0; place < ISSUE; place++) begin
            issued[place] = operations[following[ADDRESS-1:0]];
            if (open && following == added) begin
                late = 1;
                open = 0;
            end
            if (open) begin
                valid[place] = 1;
                ends = lasts[following[ADDRESS-1:0]];
                next_due = now + waits[following[ADDRESS-1:0]];
                following = following + 1'b1;
                open = !ends && next_due == now;
            end
        end
        late |= open;
    end

    always_ff @(posedge clock) begin
        if (load) begin
            operations[added[ADDRESS-1:0]] <= operation;
            waits[added[ADDRESS-1:0]] <= cycles;
            lasts[added[ADDRESS-1:0]] <= is_last;
        end
        due <= first ? begin_cycle : next_due;
        if (reset) {known, added, taken} <= '0;
        else begin
            known <= (known || first) && !ends;
            added <= added + (ADDRESS + 1)'(load);
            taken <= following;
        end
    end
endmodule
