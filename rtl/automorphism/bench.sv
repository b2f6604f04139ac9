// In: factor, offset, modulus, a chunk. Out: a chunk.
module bench #(
    parameter int unsigned LANES = 8,
    parameter int unsigned CHUNKS = 8,
    parameter int unsigned WIDTH = 32,
    parameter bit IN_FOUR_STEPS = 0,
    localparam int unsigned BITS = $clog2(LANES * CHUNKS)
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [2*BITS+WIDTH+LANES*WIDTH:0] in_data,
    output logic out_valid,
    output logic [LANES*WIDTH-1:0] out_data
);
    automorphism #(
        .LANES(LANES),
        .CHUNKS(CHUNKS),
        .WIDTH(WIDTH),
        .IN_FOUR_STEPS(IN_FOUR_STEPS)
    ) unit (
        .clock,
        .reset,
        .factor(in_data[BITS:0]),
        .offset(in_data[BITS+1+:BITS]),
        .modulus(in_data[2*BITS+1+:WIDTH]),
        .in_valid,
        .in(in_data[2*BITS+WIDTH+1+:LANES*WIDTH]),
        .out_valid,
        .out(out_data)
    );
endmodule
