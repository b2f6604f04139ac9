// SPDX-License-Identifier: Apache-2.0
// in / 2^SHIFT, to nearest, halves to even, saturated to +-(2^(OUT-1) - 1): the rule of every right shift in fixed point.
//
// Adds half a unit before the shift, so halves round up; a half leaves zeros, in which case the last bit is cleared. Combinational.
module rounding #(
    parameter int unsigned IN = 8,
    parameter int unsigned SHIFT = 1,
    parameter int unsigned OUT = 8,
    localparam int unsigned WIDE = IN + 1 > OUT ? IN + 1 : OUT
) (
    input  logic signed [ IN-1:0] in,
    output logic signed [OUT-1:0] out
);
    localparam logic signed [WIDE-1:0] LIMIT = (WIDE'(1) << (OUT - 1)) - 1;
    logic signed [WIDE-1:0] kept;
    logic above, below;
    if (SHIFT == 0) begin : exact
        assign kept = WIDE'(in);
    end else begin : rounded
        logic signed [WIDE-1:0] sum, floor;
        assign sum   = WIDE'(in) + (WIDE'(1) << (SHIFT - 1));
        assign floor = sum >>> SHIFT;
        assign kept  = {floor[WIDE-1:1], floor[0] & |sum[SHIFT-1:0]};
    end
    assign above = kept > LIMIT;
    assign below = kept < -LIMIT;
    assign out = above ? OUT'(LIMIT) : below ? OUT'(-LIMIT) : kept[OUT-1:0];
endmodule
