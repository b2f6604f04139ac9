// In: modulus above its lowest word, a, b. Out: the product.
module bench #(
    parameter int unsigned ROUNDS = 2,
    parameter int unsigned WORD = 16,
    parameter int unsigned WIDTH = WORD * ROUNDS,
    localparam int unsigned HIGH = WIDTH - WORD
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [HIGH+2*WIDTH-1:0] in_data,
    output logic out_valid,
    output logic [WIDTH-1:0] out_data
);
    prime_form_multiplier #(
        .ROUNDS(ROUNDS),
        .WORD(WORD),
        .WIDTH(WIDTH)
    ) unit (
        .clock,
        .high(in_data[HIGH-1:0]),
        .a(in_data[HIGH+:WIDTH]),
        .b(in_data[HIGH+WIDTH+:WIDTH]),
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
