// In: whether the word is replaced, and each lane's replacement; products. Out: the words.
module bench #(
    parameter int unsigned LANES = 2,
    parameter int unsigned WORDS = 16,
    parameter int unsigned WIDTH = 16,
    parameter int unsigned PRODUCT = 29,
    parameter int unsigned SHIFT = 6,
    parameter int unsigned LEFT = 0,
    parameter int unsigned ADDER = 1
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [LANES*(WIDTH+PRODUCT):0] in_data,
    output logic out_valid,
    output logic [LANES*WIDTH-1:0] out_data
);
    logic [WIDTH-1:0] fresh[LANES], sums[LANES], totals[LANES];
    logic signed [PRODUCT-1:0] products[LANES];
    for (genvar lane = 0; lane < LANES; lane++) begin : lanes
        assign fresh[lane] = in_data[1+lane*WIDTH+:WIDTH];
        assign products[lane] = in_data[1+LANES*WIDTH+lane*PRODUCT+:PRODUCT];
        assign out_data[lane*WIDTH+:WIDTH] = sums[lane];
    end
    accumulator #(
        .LANES(LANES),
        .WORDS(WORDS),
        .WIDTH(WIDTH),
        .PRODUCT(PRODUCT),
        .SHIFT(SHIFT),
        .LEFT(LEFT),
        .ADDER(ADDER)
    ) unit (
        .clock,
        .reset,
        .valid(in_valid),
        .replaces(in_data[0]),
        .fresh,
        .products,
        .sums,
        .totals
    );
    logic unused;
    always_comb begin
        unused = 1'b0;
        for (int lane = 0; lane < LANES; lane++) unused ^= ^totals[lane];
    end
    delay #(
        .CYCLES(latency::accumulator(ADDER))
    ) valid (
        .clock,
        .reset,
        .in (in_valid),
        .out(out_valid)
    );
endmodule
