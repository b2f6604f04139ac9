// SPDX-License-Identifier: Apache-2.0
// The first butterfly of F1's forward transforms, decimation in time: u + w v and u - w v modulo q = 2^16 h + 1, for any words u and v. It lifts residues of another limb (F1, listing 1, line 7). The multiplier reduces v anyway; u, which would only be delayed, passes another multiplier by `one`, which is 2^(16 ROUNDS) mod q. So it takes no more cycles
// than `modular_butterfly`.
module reducing_butterfly #(
    parameter int unsigned ROUNDS = 2,
    localparam int unsigned WIDTH = 16 * ROUNDS
) (
    input logic clock,
    input logic [WIDTH-17:0] high,  // h
    input logic [WIDTH-1:0] one,
    input logic [WIDTH-1:0] factor,
    input logic [WIDTH-1:0] u,
    input logic [WIDTH-1:0] v,
    output logic [WIDTH-1:0] upper,
    output logic [WIDTH-1:0] lower
);
    logic [WIDTH-17:0] adder_high;
    logic [WIDTH-1:0] reduced, product;

    delay #(
        .CYCLES(latency::prime_form_multiplier(ROUNDS)),
        .WIDTH(WIDTH - 16)
    ) alignment (
        .clock,
        .reset(1'b0),
        .in(high),
        .out(adder_high)
    );
    prime_form_multiplier #(
        .ROUNDS(ROUNDS)
    ) reduction (
        .clock,
        .high,
        .a(u),
        .b(one),
        .product(reduced)
    );
    prime_form_multiplier #(
        .ROUNDS(ROUNDS)
    ) multiplier (
        .clock,
        .high,
        .a(v),
        .b(factor),
        .product
    );
    modular_adder #(
        .WIDTH(WIDTH)
    ) adder (
        .clock,
        .subtract(1'b0),
        .q({adder_high, 16'd1}),
        .a(reduced),
        .b(product),
        .result(upper)
    );
    modular_adder #(
        .WIDTH(WIDTH)
    ) subtracter (
        .clock,
        .subtract(1'b1),
        .q({adder_high, 16'd1}),
        .a(reduced),
        .b(product),
        .result(lower)
    );
endmodule
