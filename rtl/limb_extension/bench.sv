// In: modulus, negated inverse, R^2 and q_0 R modulo it, (q_0 - 1) / 2, coefficients. Out: coefficients.
module bench #(
    parameter int unsigned WIDTH = 40,
    parameter int unsigned LANES = 512
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [(5+LANES)*WIDTH-1:0] in_data,
    output logic out_valid,
    output logic [LANES*WIDTH-1:0] out_data
);
    logic [WIDTH-1:0] modulus, inverse, square, source, largest;
    logic [LANES-1:0][WIDTH-1:0] coefficients;
    assign {coefficients, largest, source, square, inverse, modulus} = in_data;
    limb_extension #(
        .WIDTH(WIDTH),
        .LANES(LANES)
    ) unit (
        .clock,
        .modulus,
        .inverse,
        .square,
        .source,
        .largest,
        .coefficients,
        .extended(out_data)
    );
    delay #(
        .CYCLES(latency::limb_extension())
    ) valid (
        .clock,
        .reset,
        .in(in_valid),
        .out(out_valid)
    );
endmodule
