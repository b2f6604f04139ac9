// In: whether to write, limb, address, entries of both tables by direction, modulus, negated inverse; whether to make factors, direction, limb,
// exponents. Out: modulus, negated inverse, factors.
module bench #(
    parameter int unsigned WIDTH = 40,
    parameter int unsigned LANES = 4,
    parameter int unsigned LIMBS = 40,
    parameter int unsigned LOW_BITS = 8,
    parameter int unsigned HIGH_BITS = 8,
    localparam int unsigned LIMB_BITS = LIMBS > 1 ? $clog2(LIMBS) : 1,
    localparam int unsigned ADDRESS_BITS = LOW_BITS > HIGH_BITS ? LOW_BITS : HIGH_BITS,
    localparam int unsigned WRITE = 1 + LIMB_BITS + ADDRESS_BITS + 6 * WIDTH,
    localparam int unsigned READ = 2 + LIMB_BITS + LANES * (LOW_BITS + HIGH_BITS)
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [READ+WRITE-1:0] in_data,
    output logic out_valid,
    output logic [(2+LANES)*WIDTH-1:0] out_data
);
    logic write, make, direction;
    logic [LIMB_BITS-1:0] write_limb, limb;
    logic [ADDRESS_BITS-1:0] write_address;
    logic [1:0][WIDTH-1:0] write_low, write_high;
    logic [WIDTH-1:0] write_modulus, write_inverse;
    logic [LANES-1:0][LOW_BITS+HIGH_BITS-1:0] exponents;
    assign {write_inverse, write_modulus, write_high, write_low, write_address, write_limb, write} = in_data[WRITE-1:0];
    assign {exponents, limb, direction, make} = in_data[READ+WRITE-1:WRITE];

    twiddle_generator #(
        .WIDTH(WIDTH),
        .LANES(LANES),
        .LIMBS(LIMBS),
        .LOW_BITS(LOW_BITS),
        .HIGH_BITS(HIGH_BITS)
    ) unit (
        .clock,
        .write(write && in_valid),
        .write_limb,
        .write_address,
        .write_low,
        .write_high,
        .write_modulus,
        .write_inverse,
        .direction,
        .limb,
        .exponents,
        .modulus(out_data[0+:WIDTH]),
        .inverse(out_data[WIDTH+:WIDTH]),
        .factors(out_data[2*WIDTH+:LANES*WIDTH])
    );
    delay #(
        .CYCLES(latency::twiddle_generator())
    ) valid (
        .clock,
        .reset,
        .in(make && in_valid),
        .out(out_valid)
    );
endmodule
