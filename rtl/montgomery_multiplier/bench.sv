// In: modulus, negated inverse, a, b. Out: the product.
module bench #(
    parameter int unsigned WIDTH = 40
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [4*WIDTH-1:0] in_data,
    output logic out_valid,
    output logic [WIDTH-1:0] out_data
);
    montgomery_multiplier #(
        .WIDTH(WIDTH)
    ) unit (
        .clock,
        .modulus(in_data[0+:WIDTH]),
        .inverse(in_data[WIDTH+:WIDTH]),
        .a(in_data[2*WIDTH+:WIDTH]),
        .b(in_data[3*WIDTH+:WIDTH]),
        .product(out_data)
    );
    delay #(
        .CYCLES(latency::montgomery_multiplier())
    ) valid (
        .clock,
        .reset,
        .in(in_valid),
        .out(out_valid)
    );
endmodule
