// SPDX-License-Identifier: Apache-2.0
// An inverse transform's number as a torus coefficient of WIDTH bits: divided by 2^SHIFT to nearest, halves to even, or times 2^LEFT, modulo 2^WIDTH. Rounding up is left to the carry of the following addition. Combinational.
module torus_rounding #(
    parameter int unsigned PRODUCT = 29,  // bits of the number
    parameter int unsigned WIDTH = 16,
    parameter int unsigned SHIFT = 6,
    parameter int unsigned LEFT = 0  // one of both is 0
) (
    input logic signed [PRODUCT-1:0] product,
    output logic [WIDTH-1:0] coefficient,
    output logic up
);
    localparam int unsigned WHOLE = PRODUCT + LEFT > WIDTH ? PRODUCT + LEFT : WIDTH;
    logic signed [WHOLE-1:0] whole;
    logic half, more;
    assign whole = (WHOLE'(product) >>> SHIFT) << LEFT;
    if (SHIFT > 0) begin : rounds
        assign half = product[SHIFT-1];
        assign more = SHIFT > 1 && |(product & ((PRODUCT'(1) << (SHIFT - 1)) - 1));
    end else begin : exact
        assign {half, more} = '0;
    end
    assign up = half && (more || whole[0]);
    assign coefficient = whole[WIDTH-1:0];
    if (WHOLE > WIDTH) begin : wraps
        logic unused;
        assign unused = ^whole[WHOLE-1:WIDTH];
    end
endmodule
