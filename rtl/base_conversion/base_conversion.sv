// SPDX-License-Identifier: Apache-2.0
// Osiris' base conversion (section IV-C, figure 6): sums over i of w[j][i] * (x[i] * f[i] + s[i] mod q_i) mod p_j, in a systolic array of HEIGHT rows and LANES columns of multiply-accumulate
// cells.
//
// A block is a tile of each of its source limbs, limb 0 first, one per cycle. Limb i stays in row (sources - 1 - i), one residue per cell, while the constants of a target limb pass: those of
// row r enter r cycles later, and move one cell right per cycle. Sums move down one row per cycle and leave after the last.
// - Lane c of a tile is delayed by c cycles before the array and by LANES - 1 - c after it.
// - Residues move down through the cells' second registers, and become current as the first constants of their block arrive.
// - The first row multiplies by f[i] and adds s[i], which balances digits; 0 otherwise.
// - Switching the modulus needs no logic: Montgomery's product requires w x < p_j R, which holds for any word x, not only for residues. Weights and f are in Montgomery form (times R), so sums
//   are not.
module base_conversion #(
    parameter int unsigned WIDTH = 40,
    parameter int unsigned HEIGHT = 16,
    parameter int unsigned LANES = 512
) (
    input logic clock,
    input logic reset,
    // From the top: the tile of source limb `limb` of its block, and that limb's constants.
    input logic tile_valid,
    input logic [$clog2(HEIGHT+1)-1:0] limb,
    input logic [WIDTH-1:0] source_modulus,
    input logic [WIDTH-1:0] source_inverse,  // -q^-1 mod R
    input logic [WIDTH-1:0] factor,
    input logic [WIDTH-1:0] addend,
    input logic [LANES-1:0][WIDTH-1:0] tile,
    // From the left, one target limb per cycle, starting when the block's last tile has left the first row's multiplier.
    input logic first,  // of its block
    input logic [WIDTH-1:0] target_modulus,
    input logic [WIDTH-1:0] target_inverse,
    input logic [WIDTH-1:0] initial_sum,
    input logic [HEIGHT-1:0][WIDTH-1:0] weights,  // by row; 0 where the block has no limb
    output logic [LANES-1:0][WIDTH-1:0] converted
);
    localparam int unsigned STAGES = latency::montgomery_multiplier();
    // Signals that follow a product through its multiplier extend past the last column.
    localparam int unsigned REACH = LANES + STAGES;

    // A limb's constants follow its tile across the columns: at column c after c cycles.
    logic [REACH-1:0][WIDTH-1:0] moduli, addends;
    logic [LANES-1:0][WIDTH-1:0] inverses, factors;
    logic [REACH-1:1][WIDTH-1:0] moduli_held, addends_held;
    logic [LANES-1:1][WIDTH-1:0] inverses_held, factors_held;
    assign moduli = {moduli_held, source_modulus};
    assign addends = {addends_held, addend};
    assign inverses = {inverses_held, source_inverse};
    assign factors = {factors_held, factor};
    always_ff @(posedge clock) begin
        moduli_held <= moduli[REACH-2:0];
        addends_held <= addends[REACH-2:0];
        inverses_held <= inverses[LANES-2:0];
        factors_held <= factors[LANES-2:0];
    end

    logic [LANES-1:0][WIDTH-1:0] skewed, scaled, entering;
    skew #(
        .WIDTH(WIDTH),
        .LANES(LANES)
    ) lane_skew (
        .clock,
        .in(tile),
        .out(skewed)
    );
    montgomery_multiplier #(
        .WIDTH(WIDTH),
        .LANES(LANES)
    ) first_row (
        .clock,
        .modulus(moduli[LANES-1:0]),
        .inverse(inverses),
        .a(skewed),
        .b(factors),
        .product(scaled)
    );
    modular_sum #(
        .WIDTH(WIDTH),
        .LANES(LANES)
    ) balance (
        .modulus(moduli[REACH-1:STAGES]),
        .a(scaled),
        .b(addends[REACH-1:STAGES]),
        .result(entering)
    );

    // Constants are delayed for their rows.
    logic [HEIGHT-1:0][WIDTH-1:0] row_weights;
    logic [HEIGHT-1:0][2*WIDTH:0] row_targets;
    skew #(
        .WIDTH(WIDTH),
        .LANES(HEIGHT)
    ) weight_skew (
        .clock,
        .in(weights),
        .out(row_weights)
    );
    skew #(
        .WIDTH(2 * WIDTH + 1),
        .LANES(HEIGHT)
    ) target_skew (
        .clock,
        .in({HEIGHT{{first, target_inverse, target_modulus}}}),
        .out(row_targets)
    );

    // Initial sums, across the columns.
    logic [REACH-1:0][WIDTH-1:0] initials;
    logic [REACH-1:1][WIDTH-1:0] initials_held;
    assign initials = {initials_held, initial_sum};
    always_ff @(posedge clock) initials_held <= initials[REACH-2:0];

    for (genvar row = 0; row < HEIGHT; row++) begin : rows
        // Constants across the columns, and the residues that the row takes from above: those of limbs `row` and later, so that the block's last one stays in the first row.
        logic [LANES-1:0][WIDTH-1:0] weight, inverse;
        logic [REACH-1:0][WIDTH-1:0] modulus;
        logic [LANES-1:0] begins;
        logic [REACH-1:0] takes;
        logic [LANES-1:1][WIDTH-1:0] weight_held, inverse_held;
        logic [REACH-1:1][WIDTH-1:0] modulus_held;
        logic [LANES-1:1] begins_held;
        logic [REACH-1:1] takes_held;
        assign weight = {weight_held, row_weights[row]};
        assign {begins[0], inverse[0], modulus[0]} = row_targets[row];
        assign inverse[LANES-1:1] = inverse_held;
        assign modulus[REACH-1:1] = modulus_held;
        assign begins[LANES-1:1] = begins_held;
        assign takes = {takes_held, tile_valid && row < 32'(limb) + 1};
        always_ff @(posedge clock) begin
            weight_held <= weight[LANES-2:0];
            inverse_held <= inverse[LANES-2:0];
            modulus_held <= modulus[REACH-2:0];
            begins_held <= begins[LANES-2:0];
            takes_held <= reset ? '0 : takes[REACH-2:0];
        end

        logic [LANES-1:0][WIDTH-1:0] above_residues, above_sums, falling, current, operand, product, next_sums, sums;
        if (row == 0) begin : top
            assign above_residues = entering;
            assign above_sums = initials[REACH-1:STAGES];
        end else begin : below
            assign above_residues = rows[row-1].falling;
            assign above_sums = rows[row-1].sums;
        end
        always_comb for (int lane = 0; lane < LANES; lane++) operand[lane] = begins[lane] ? falling[lane] : current[lane];
        always_ff @(posedge clock) begin
            current <= operand;
            sums <= next_sums;
            for (int lane = 0; lane < LANES; lane++) if (takes[lane+STAGES]) falling[lane] <= above_residues[lane];
        end
        montgomery_multiplier #(
            .WIDTH(WIDTH),
            .LANES(LANES)
        ) cells (
            .clock,
            .modulus(modulus[LANES-1:0]),
            .inverse,
            .a(weight),
            .b(operand),
            .product
        );
        modular_sum #(
            .WIDTH(WIDTH),
            .LANES(LANES)
        ) adders (
            .modulus(modulus[REACH-1:STAGES]),
            .a(above_sums),
            .b(product),
            .result(next_sums)
        );
    end

    skew #(
        .WIDTH(WIDTH),
        .LANES(LANES),
        .FALLING(1)
    ) lane_unskew (
        .clock,
        .in(rows[HEIGHT-1].sums),
        .out(converted)
    );
endmodule
