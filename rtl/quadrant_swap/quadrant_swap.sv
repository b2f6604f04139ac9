// SPDX-License-Identifier: Apache-2.0
// Exchanges quadrants B and C of a SIZE x SIZE matrix A B / C D that comes column by column (F1, figure 7 left). It has two buffers of SIZE/2
// half-columns, a bypass, and two multiplexers.
//
//            in                                  buffers                                 out
// step 1     A[i] over C[i]                      top[i] <- A[i], bottom[i] <- C[i]
// step 2     B[i] over D[i]                      top[i] <- D[i]                          A[i] = top[i] over B[i], by the bypass
// step 3     (step 1 of the next, or nothing)                                            C[i] = bottom[i] over D[i] = top[i]
//
// The instantiating module counts columns and determines the step of each side: a layer of swaps counts once for all.
module quadrant_swap #(
    parameter int unsigned SIZE = 8,
    parameter int unsigned WIDTH = 32,
    localparam int unsigned HALF = SIZE / 2,
    localparam int unsigned INDEX = HALF > 1 ? $clog2(HALF) : 1
) (
    input logic clock,
    input logic take,  // a column is there
    input logic second,  // it is of step 2
    input logic [INDEX-1:0] column,  // its number in the step
    input logic third,  // what leaves is of step 3
    input logic [INDEX-1:0] leaving,  // its number in the step
    input logic [SIZE-1:0][WIDTH-1:0] in,
    output logic [SIZE-1:0][WIDTH-1:0] out
);
    logic [HALF-1:0][WIDTH-1:0] top[HALF];
    logic [HALF-1:0][WIDTH-1:0] bottom[HALF];
    logic [HALF-1:0][WIDTH-1:0] in_upper, in_lower;

    assign {in_lower, in_upper} = in;
    always_ff @(posedge clock) begin
        if (take) top[column] <= second ? in_lower : in_upper;
        if (take && !second) bottom[column] <= in_lower;
    end
    assign out = third ? {top[leaving], bottom[leaving]} : {in_upper, top[leaving]};
endmodule
