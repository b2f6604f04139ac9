// SPDX-License-Identifier: Apache-2.0
// Osiris' Hadamard unit (section IV-E): LANES columns of HEIGHT cells, and two parallel jobs, a tile of each per cycle.
//
// - Keys: the inner products of up to HEIGHT digits with the two halves of their rows of a switching key. Cell d delays digit d by d cycles, multiplies it by both halves, and adds to the sums from the cell above. A cell without a digit has zeros.
// - Diagonals: both partial sums, and to each the diagonal times a part of a ciphertext. This job uses two multipliers and adders per lane.
//
// One factor of each product is in Montgomery form: rows of keys, and the diagonal.
module hadamard #(
    parameter int unsigned WIDTH = 40,
    parameter int unsigned LANES = 512,
    parameter int unsigned HEIGHT = 3
) (
    input logic clock,
    input logic [WIDTH-1:0] key_modulus,
    input logic [WIDTH-1:0] key_inverse,  // -q^-1 mod 2^WIDTH
    input logic [HEIGHT-1:0][LANES-1:0][WIDTH-1:0] digits,
    input logic [HEIGHT-1:0][1:0][LANES-1:0][WIDTH-1:0] rows,  // by digit, then body and mask
    output logic [1:0][LANES-1:0][WIDTH-1:0] inner_products,

    input logic [WIDTH-1:0] diagonal_modulus,
    input logic [WIDTH-1:0] diagonal_inverse,
    input logic [LANES-1:0][WIDTH-1:0] diagonal,
    input logic [1:0][LANES-1:0][WIDTH-1:0] parts,
    input logic [1:0][LANES-1:0][WIDTH-1:0] partials,
    output logic [1:0][LANES-1:0][WIDTH-1:0] sums
);
    localparam int unsigned STAGES = latency::montgomery_multiplier();
    localparam int unsigned CELL = (2 + 3 * LANES) * WIDTH;

    logic [HEIGHT-1:0][CELL-1:0] entering, held;
    always_comb for (int number = 0; number < HEIGHT; number++) entering[number] = {rows[number], digits[number], key_inverse, key_modulus};
    skew #(
        .WIDTH(CELL),
        .LANES(HEIGHT)
    ) cell_skew (
        .clock,
        .in(entering),
        .out(held)
    );
    for (genvar number = 0; number < HEIGHT; number++) begin : cells
        logic [WIDTH-1:0] modulus, inverse;
        logic [LANES-1:0][WIDTH-1:0] digit;
        logic [1:0][LANES-1:0][WIDTH-1:0] row, above, below;
        assign {row, digit, inverse, modulus} = held[number];
        if (number == 0) begin : top
            always_comb for (int half = 0; half < 2; half++) for (int lane = 0; lane < LANES; lane++) above[half][lane] = '0;
        end else begin : inner
            assign above = cells[number-1].below;
        end
        for (genvar half = 0; half < 2; half++) begin : halves
            modular_accumulator #(
                .WIDTH(WIDTH),
                .LANES(LANES)
            ) accumulate (
                .clock,
                .modulus,
                .inverse,
                .a(digit),
                .b(row[half]),
                .sum(above[half]),
                .result(below[half])
            );
        end
    end
    assign inner_products = cells[HEIGHT-1].below;

    // Partial sums wait for the products.
    logic [1:0][LANES-1:0][WIDTH-1:0] waiting[STAGES];
    always_ff @(posedge clock) for (int stage = 0; stage < STAGES; stage++) waiting[stage] <= stage == 0 ? partials : waiting[stage-1];
    for (genvar part = 0; part < 2; part++) begin : diagonals
        modular_accumulator #(
            .WIDTH(WIDTH),
            .LANES(LANES)
        ) accumulate (
            .clock,
            .modulus(diagonal_modulus),
            .inverse(diagonal_inverse),
            .a(parts[part]),
            .b(diagonal),
            .sum(waiting[STAGES-1][part]),
            .result(sums[part])
        );
    end
endmodule
