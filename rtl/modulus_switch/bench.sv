// In: torus elements. Out: exponents.
module bench #(
    parameter int unsigned WIDTH = 32,
    parameter int unsigned LOG2_MODULUS = 11,
    parameter int unsigned LANES = 2,
    parameter int unsigned ADDER = 1
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [WIDTH*LANES-1:0] in_data,
    output logic out_valid,
    output logic [LOG2_MODULUS*LANES-1:0] out_data
);
    logic [WIDTH-1:0] in[LANES];
    logic [LOG2_MODULUS-1:0] out[LANES];
    for (genvar lane = 0; lane < LANES; lane++) begin : lanes
        assign in[lane] = in_data[WIDTH*lane+:WIDTH];
        assign out_data[LOG2_MODULUS*lane+:LOG2_MODULUS] = out[lane];
    end
    modulus_switch #(
        .WIDTH(WIDTH),
        .LOG2_MODULUS(LOG2_MODULUS),
        .LANES(LANES),
        .ADDER(ADDER)
    ) unit (
        .clock,
        .in,
        .out
    );
    delay #(
        .CYCLES(latency::modulus_switch(ADDER))
    ) valid (
        .clock,
        .reset,
        .in (in_valid),
        .out(out_valid)
    );
endmodule
