// In: modulus above its lowest 16 bits, a, b. Out: the product.
module bench #(
    parameter int unsigned ROUNDS = 2,
    localparam int unsigned WIDTH = 16 * ROUNDS
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [3*WIDTH-17:0] in_data,
    output logic out_valid,
    output logic [WIDTH-1:0] out_data
);
    prime_form_multiplier #(.ROUNDS(ROUNDS)) unit (
        .clock,
        .high(in_data[WIDTH-17:0]),
        .a(in_data[WIDTH-16+:WIDTH]),
        .b(in_data[2*WIDTH-16+:WIDTH]),
        .product(out_data)
    );
    delay #(
        .CYCLES(latency::prime_form_multiplier(ROUNDS))
    ) valid (
        .clock,
        .reset,
        .in(in_valid),
        .out(out_valid)
    );
endmodule
