// In: modulus, mu, a, b. Out: the product.
module bench #(
    parameter int unsigned WIDTH = 32
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [4*WIDTH:0] in_data,
    output logic out_valid,
    output logic [WIDTH-1:0] out_data
);
    barrett_multiplier #(
        .WIDTH(WIDTH)
    ) unit (
        .clock,
        .modulus(in_data[WIDTH-1:0]),
        .mu(in_data[WIDTH+:WIDTH+1]),
        .a(in_data[2*WIDTH+1+:WIDTH]),
        .b(in_data[3*WIDTH+1+:WIDTH]),
        .product(out_data)
    );
    delay #(
        .CYCLES(latency::barrett_multiplier())
    ) valid (
        .clock,
        .reset,
        .in(in_valid),
        .out(out_valid)
    );
endmodule
