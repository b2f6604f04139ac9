// In: subtract, q, a, b. Out: the sum or difference.
module bench #(
    parameter int unsigned WIDTH = 32
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [3*WIDTH:0] in_data,
    output logic out_valid,
    output logic [WIDTH-1:0] out_data
);
    modular_adder #(
        .WIDTH(WIDTH)
    ) unit (
        .clock,
        .subtract(in_data[0]),
        .q(in_data[1+:WIDTH]),
        .a(in_data[WIDTH+1+:WIDTH]),
        .b(in_data[2*WIDTH+1+:WIDTH]),
        .result(out_data)
    );
    delay #(
        .CYCLES(latency::modular_adder())
    ) valid (
        .clock,
        .reset,
        .in(in_valid),
        .out(out_valid)
    );
endmodule
