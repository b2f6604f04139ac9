// In: modulus above its lowest 16 bits, factor, u, v. Out: upper, lower.
module bench #(
    parameter int unsigned ROUNDS = 2,
    parameter bit IN_FREQUENCY = 0,
    localparam int unsigned WIDTH = 16 * ROUNDS
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [4*WIDTH-17:0] in_data,
    output logic out_valid,
    output logic [2*WIDTH-1:0] out_data
);
    modular_butterfly #(
        .ROUNDS(ROUNDS),
        .IN_FREQUENCY(IN_FREQUENCY)
    ) unit (
        .clock,
        .high(in_data[WIDTH-17:0]),
        .factor(in_data[WIDTH-16+:WIDTH]),
        .u(in_data[2*WIDTH-16+:WIDTH]),
        .v(in_data[3*WIDTH-16+:WIDTH]),
        .upper(out_data[WIDTH-1:0]),
        .lower(out_data[WIDTH+:WIDTH])
    );
    delay #(
        .CYCLES(latency::modular_butterfly(ROUNDS))
    ) valid (
        .clock,
        .reset,
        .in(in_valid),
        .out(out_valid)
    );
endmodule
