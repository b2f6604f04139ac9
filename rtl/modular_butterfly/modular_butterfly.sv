// SPDX-License-Identifier: Apache-2.0
// A butterfly modulo q = 2^16 h + 1 (F1, section 5.2), with the multiplier of section 5.3: `factor` is w 2^(16 ROUNDS) mod q for the twiddle factor w.
//
// Decimation in time (Cooley and Tukey): u + w v and u - w v, the multiplier first. Decimation in frequency (Gentleman and Sande): u + v and w (u - v), the adders first. Either way the latency is that of a multiplier and an adder: words that bypass the multiplier are delayed.
module modular_butterfly #(
    parameter int unsigned ROUNDS = 2,
    parameter bit IN_FREQUENCY = 0,
    localparam int unsigned WIDTH = 16 * ROUNDS
) (
    input logic clock,
    input logic [WIDTH-17:0] high,  // h
    input logic [WIDTH-1:0] factor,
    input logic [WIDTH-1:0] u,
    input logic [WIDTH-1:0] v,
    output logic [WIDTH-1:0] upper,
    output logic [WIDTH-1:0] lower
);
    localparam int unsigned MULTIPLIER = latency::prime_form_multiplier(ROUNDS);
    localparam int unsigned ADDER = latency::modular_adder();

    // Inputs of the adders and the multiplier, in their cycles.
    logic [WIDTH-17:0] adder_high, multiplier_high;
    logic [WIDTH-1:0] multiplier_factor, multiplicand, product, adder_u, adder_v, sum, difference;

    if (IN_FREQUENCY) begin : gentleman_sande
        assign {adder_high, adder_u, adder_v} = {high, u, v};
        assign multiplicand = difference;
        delay #(
            .CYCLES(ADDER),
            .WIDTH(2 * WIDTH - 16)
        ) constants (
            .clock,
            .reset(1'b0),
            .in({high, factor}),
            .out({multiplier_high, multiplier_factor})
        );
        delay #(
            .CYCLES(MULTIPLIER),
            .WIDTH(WIDTH)
        ) alignment (
            .clock,
            .reset(1'b0),
            .in(sum),
            .out(upper)
        );
        assign lower = product;
    end else begin : cooley_tukey
        assign {multiplier_high, multiplier_factor, multiplicand} = {high, factor, v};
        delay #(
            .CYCLES(MULTIPLIER),
            .WIDTH(2 * WIDTH - 16)
        ) alignment (
            .clock,
            .reset(1'b0),
            .in({high, u}),
            .out({adder_high, adder_u})
        );
        assign adder_v = product;
        assign {upper, lower} = {sum, difference};
    end

    prime_form_multiplier #(
        .ROUNDS(ROUNDS)
    ) multiplier (
        .clock,
        .high(multiplier_high),
        .a(multiplicand),
        .b(multiplier_factor),
        .product
    );
    modular_adder #(
        .WIDTH(WIDTH)
    ) adder (
        .clock,
        .subtract(1'b0),
        .q({adder_high, 16'd1}),
        .a(adder_u),
        .b(adder_v),
        .result(sum)
    );
    modular_adder #(
        .WIDTH(WIDTH)
    ) subtracter (
        .clock,
        .subtract(1'b1),
        .q({adder_high, 16'd1}),
        .a(adder_u),
        .b(adder_v),
        .result(difference)
    );
endmodule
