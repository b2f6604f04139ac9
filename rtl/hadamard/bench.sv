// In: whether there is a key's job, modulus, negated inverse, digits, rows by digit; whether there is a diagonal's, modulus, negated inverse, diagonal,
// parts, partial sums. Out: whether there are inner products, body, mask; whether there are sums, of both parts.
module bench #(
    parameter int unsigned WIDTH = 40,
    parameter int unsigned LANES = 512,
    parameter int unsigned HEIGHT = 3,
    localparam int unsigned TILE = LANES * WIDTH,
    localparam int unsigned KEYS = 1 + 2 * WIDTH + 3 * HEIGHT * TILE,
    localparam int unsigned DIAGONALS = 1 + 2 * WIDTH + 5 * TILE
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [KEYS+DIAGONALS-1:0] in_data,
    output logic out_valid,
    output logic [4*TILE+1:0] out_data
);
    logic key, diagonal_job, keyed, summed;
    logic [WIDTH-1:0] key_modulus, key_inverse, diagonal_modulus, diagonal_inverse;
    logic [HEIGHT-1:0][LANES-1:0][WIDTH-1:0] digits;
    logic [HEIGHT-1:0][1:0][LANES-1:0][WIDTH-1:0] rows;
    logic [LANES-1:0][WIDTH-1:0] diagonal;
    logic [1:0][LANES-1:0][WIDTH-1:0] parts, partials, inner_products, sums;
    assign {rows, digits, key_inverse, key_modulus, key} = in_data[KEYS-1:0];
    assign {partials, parts, diagonal, diagonal_inverse, diagonal_modulus, diagonal_job} = in_data[KEYS+:DIAGONALS];
    hadamard #(
        .WIDTH(WIDTH),
        .LANES(LANES),
        .HEIGHT(HEIGHT)
    ) unit (
        .clock,
        .key_modulus,
        .key_inverse,
        .digits,
        .rows,
        .inner_products,
        .diagonal_modulus,
        .diagonal_inverse,
        .diagonal,
        .parts,
        .partials,
        .sums
    );
    delay #(
        .CYCLES(latency::hadamard_keys(HEIGHT))
    ) key_valid (
        .clock,
        .reset,
        .in(key && in_valid),
        .out(keyed)
    );
    delay #(
        .CYCLES(latency::hadamard_diagonals())
    ) diagonal_valid (
        .clock,
        .reset,
        .in(diagonal_job && in_valid),
        .out(summed)
    );
    assign out_valid = keyed || summed;
    assign out_data = {sums, summed, inner_products, keyed};
endmodule
