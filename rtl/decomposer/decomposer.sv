// SPDX-License-Identifier: Apache-2.0
// Signed gadget decomposition of torus coefficients, LANES per cycle: x is close to the sum of digit t times 2^(WIDTH - LOG2_BASE (t + 1)), where t = 0 is the most significant, with digits from -B/2 to B/2 - 1 for
// B = 2^LOG2_BASE.
//
// There are no multipliers (Strix, section V-B). A coefficient is rounded to the bits that its digits use. B/2 is added at every digit's place, with a carry from each digit that is too large for its sign. Each field of
// the sum with its top bit flipped is a digit. STEPS is the number of consecutive additions: 2, or 1 with both constants added at once. If no bits are dropped (FPT, section 3.5: accumulators have only the bits that
// digits use), there is no rounding. All levels are output in parallel, or the requested one.
module decomposer #(
    parameter int unsigned WIDTH = 32,
    parameter int unsigned LOG2_BASE = 8,
    parameter int unsigned LEVELS = 2,
    parameter int unsigned SIDE = 1,  // levels that come out side by side: 1 or LEVELS
    parameter int unsigned STEPS = 2,
    parameter int unsigned LANES = 2,
    parameter int unsigned ADDER = 1,
    localparam int unsigned CHOICE = LEVELS > 1 ? $clog2(LEVELS) : 1
) (
    input logic clock,
    input logic [WIDTH-1:0] in[LANES],
    input logic [CHOICE-1:0] level,  // of which digits come out if one level does
    output logic signed [LOG2_BASE-1:0] digits[LANES][SIDE]
);
    localparam int unsigned KEPT = LOG2_BASE * LEVELS;
    localparam int unsigned DROPPED = WIDTH - KEPT;
    localparam bit ROUNDS = DROPPED > 0 && STEPS > 1;

    function automatic logic [KEPT-1:0] halves();
        halves = '0;
        for (int unsigned i = 0; i < LEVELS; i++) halves[LOG2_BASE*i+LOG2_BASE-1] = 1'b1;
    endfunction

    logic [CHOICE-1:0] chosen;
    delay #(
        .CYCLES(ROUNDS ? ADDER : 0),
        .WIDTH (CHOICE)
    ) level_alignment (
        .clock,
        .reset(1'b0),
        .in (level),
        .out(chosen)
    );

    for (genvar lane = 0; lane < LANES; lane++) begin : lanes
        logic [KEPT-1:0] carried;
        if (DROPPED == 0) begin : whole
            assign carried = in[lane] + halves();
        end else if (STEPS > 1) begin : rounded_first
            logic [KEPT-1:0] kept;
            delay #(
                .CYCLES(ADDER),
                .WIDTH (KEPT)
            ) rounded (
                .clock,
                .reset(1'b0),
                .in (in[lane][WIDTH-1:DROPPED] + KEPT'(in[lane][DROPPED-1])),
                .out(kept)
            );
            assign carried = kept + halves();
            if (DROPPED > 1) begin : below_a_half
                logic unused;
                assign unused = ^in[lane][DROPPED-2:0];
            end
        end else begin : at_once
            logic [WIDTH-1:0] sum;
            assign sum = in[lane] + {halves(), 1'b1, (DROPPED - 1)'(0)};
            assign carried = sum[WIDTH-1:DROPPED];
            logic unused;
            assign unused = ^sum[DROPPED-1:0];
        end
        for (genvar side = 0; side < SIDE; side++) begin : sides
            logic [CHOICE-1:0] of;
            logic [LOG2_BASE-1:0] field;
            assign of = SIDE == 1 ? chosen : CHOICE'(side);
            assign field = LOG2_BASE'(carried >> (LOG2_BASE * (LEVELS - 1 - 32'(of))));
            delay #(
                .CYCLES(ADDER),
                .WIDTH (LOG2_BASE)
            ) sum (
                .clock,
                .reset(1'b0),
                .in ({!field[LOG2_BASE-1], field[LOG2_BASE-2:0]}),
                .out(digits[lane][side])
            );
        end
    end
    if (SIDE > 1) begin : all_levels
        logic unused;
        assign unused = ^chosen;
    end
endmodule
