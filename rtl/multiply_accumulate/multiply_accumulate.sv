// SPDX-License-Identifier: Apache-2.0
// The dot products of an external product (FPT, section 3.3, figure 2): spectra of digits times those of a key's rows, for each of the COLUMNS of the key, in fixed point. A product is divided by 2^SHIFT with `rounding`; sums are saturated to OUT bits.
//
// SIDE rows pass in parallel, through a tree of adders, and STEPS in sequence, summed by an adder with a memory of one spectrum: FFT-unrolled FPT has 1 and (k + 1) l, dot-product-unrolled (k + 1) l and 1. Words of all steps follow each other without a gap, with the CYCLES words of a spectrum in each; sums are output during the last step.
module multiply_accumulate #(
    parameter int unsigned LANES = 2,  // complex points a cycle
    parameter int unsigned CYCLES = 4,
    parameter int unsigned COLUMNS = 2,
    parameter int unsigned SIDE = 1,
    parameter int unsigned STEPS = 4,
    parameter int unsigned WIDTH = 29,  // bits of each part of the digits' points
    parameter int unsigned KEY = 26,  // of the key's
    parameter int unsigned SHIFT = 20,
    parameter int unsigned OUT = 29,
    parameter int unsigned REALS = 3,  // real products of a complex one: 3 or 4
    parameter int unsigned ADDER = 1,
    parameter int unsigned MULTIPLIER = 4
) (
    input logic clock,
    input logic reset,
    input logic start,  // with the first word of the first step
    input logic signed [WIDTH-1:0] digits[SIDE][LANES][2],  // real and imaginary part
    input logic signed [KEY-1:0] key[SIDE][COLUMNS][LANES][2],
    output logic next,  // with the first sums
    output logic signed [OUT-1:0] sums[COLUMNS][LANES][2]
);
    localparam int unsigned LEVELS = $clog2(SIDE);
    localparam int unsigned FIRST = latency::product(REALS, MULTIPLIER, ADDER) + LEVELS * ADDER;
    // Exact except for the division; and sums of SIDE of them.
    localparam int unsigned PRODUCT = WIDTH + KEY + 2 - SHIFT;
    localparam int unsigned TREE = PRODUCT + LEVELS;
    localparam int unsigned WORDS = CYCLES * STEPS;

    // Words since the start, when products have been added up.
    logic summed;
    logic [$clog2(WORDS):0] count, word;
    delay #(
        .CYCLES(FIRST)
    ) products_of (
        .clock,
        .reset,
        .in (start),
        .out(summed)
    );
    delay #(
        .CYCLES(FIRST + latency::running_sum(STEPS, ADDER) + (STEPS - 1) * CYCLES)
    ) sums_of (
        .clock,
        .reset,
        .in (start),
        .out(next)
    );
    assign word = summed ? '0 : count;
    always_ff @(posedge clock) count <= reset || 32'(word) >= WORDS - 1 ? '0 : word + 1'b1;

    for (genvar column = 0; column < COLUMNS; column++) begin : columns
        for (genvar lane = 0; lane < LANES; lane++) begin : lanes
            logic signed [PRODUCT-1:0] products[SIDE][2];
            for (genvar row = 0; row < SIDE; row++) begin : rows
                if (REALS == 3) begin : three
                    // c, c - d and c + d of the key's c + jd, computed along with the digits' difference.
                    logic signed [KEY:0] c, d, of_factor[3], factor[3];
                    assign c = (KEY + 1)'(key[row][column][lane][0]);
                    assign d = (KEY + 1)'(key[row][column][lane][1]);
                    assign of_factor = '{c, c - d, c + d};
                    for (genvar i = 0; i < 3; i++) begin : factors
                        delay #(
                            .CYCLES(ADDER),
                            .WIDTH (KEY + 1)
                        ) sum (
                            .clock,
                            .reset(1'b0),
                            .in (of_factor[i]),
                            .out(factor[i])
                        );
                    end
                    complex_multiplier #(
                        .WIDTH(WIDTH),
                        .FACTOR(KEY),
                        .SHIFT(SHIFT),
                        .OUT(PRODUCT),
                        .ADDER(ADDER),
                        .MULTIPLIER(MULTIPLIER)
                    ) multiplier (
                        .clock,
                        .re(digits[row][lane][0]),
                        .im(digits[row][lane][1]),
                        .factor,
                        .product_re(products[row][0]),
                        .product_im(products[row][1])
                    );
                end else begin : four
                    schoolbook_multiplier #(
                        .WIDTH(WIDTH),
                        .FACTOR(KEY),
                        .SHIFT(SHIFT),
                        .OUT(PRODUCT),
                        .ADDER(ADDER),
                        .MULTIPLIER(MULTIPLIER)
                    ) multiplier (
                        .clock,
                        .point(digits[row][lane]),
                        .factor(key[row][column][lane]),
                        .product(products[row])
                    );
                end
            end
            for (genvar part = 0; part < 2; part++) begin : parts
                // Level i of the tree has SIDE / 2^i sums.
                logic signed [TREE-1:0] tree[LEVELS+1][SIDE];
                for (genvar row = 0; row < SIDE; row++) begin : leaves
                    assign tree[0][row] = TREE'(products[row][part]);
                end
                for (genvar i = 0; i < LEVELS; i++) begin : levels
                    for (genvar pair = 0; pair < SIDE; pair++) begin : pairs
                        if (pair < SIDE >> (i + 1)) begin : sum
                            delay #(
                                .CYCLES(ADDER),
                                .WIDTH (TREE)
                            ) adder (
                                .clock,
                                .reset(1'b0),
                                .in (tree[i][2*pair] + tree[i][2*pair+1]),
                                .out(tree[i+1][pair])
                            );
                        end else begin : none
                            assign tree[i+1][pair] = '0;
                        end
                    end
                end
                localparam int unsigned EXACT = TREE > OUT ? TREE + 1 : OUT + 1;
                logic signed [OUT-1:0] kept, so_far;
                rounding #(
                    .IN(EXACT),
                    .SHIFT(0),
                    .OUT(OUT)
                ) kept_of (
                    .in (EXACT'(tree[LEVELS][0]) + EXACT'(so_far)),
                    .out(kept)
                );
                if (STEPS > 1) begin : running
                    logic signed [OUT-1:0] memory[CYCLES];
                    assign so_far = 32'(word) < CYCLES ? '0 : memory[32'(word)%CYCLES];
                    always_ff @(posedge clock) memory[32'(word)%CYCLES] <= kept;
                end else begin : alone
                    assign so_far = '0;
                end
                delay #(
                    .CYCLES(latency::running_sum(STEPS, ADDER)),
                    .WIDTH (OUT)
                ) adder (
                    .clock,
                    .reset(1'b0),
                    .in (kept),
                    .out(sums[column][lane][part])
                );
            end
        end
    end
endmodule
