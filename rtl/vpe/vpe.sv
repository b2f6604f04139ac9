// SPDX-License-Identifier: Apache-2.0
// Morphling's vector processing element (section V-A.2): multiplies POINTS points per cycle of a digit's spectrum by those of a key's column. It passes the digits on to the right and the key down. A register of a whole spectrum (POLY-ACC-REG) accumulates the products over STEPS rows of the key.
//
// The sums stay. There are two registers: while one accumulates the next rows, the other one is drained to the right, CYCLES words in its time slot; otherwise words from the left pass. Words of all steps follow each other without a gap, with the CYCLES words of a spectrum in each.
module vpe #(
    parameter int unsigned POINTS = 8,
    parameter int unsigned CYCLES = 4,
    parameter int unsigned STEPS = 4,
    parameter int unsigned WIDTH = 32,  // bits of each part of the digits' points, and of the key's
    parameter int unsigned SHIFT = 20,
    parameter int unsigned OUT = 32,
    parameter int unsigned ADDER = 1,
    parameter int unsigned MULTIPLIER = 3
) (
    input logic clock,
    input logic reset,
    // From the left.
    input logic start,  // with the first word of the first step
    input logic signed [WIDTH-1:0] digits[POINTS][2],  // real and imaginary part
    input logic turn,  // the first of CYCLES cycles in which this element is drained
    input logic signed [OUT-1:0] passing[POINTS][2],
    // From above.
    input logic signed [WIDTH-1:0] key[POINTS][2],
    // To the right and down, a cycle later.
    output logic start_right,
    output logic signed [WIDTH-1:0] digits_right[POINTS][2],
    output logic signed [WIDTH-1:0] key_down[POINTS][2],
    // To the right in the same cycle: an element's register is at its input.
    output logic signed [OUT-1:0] drained[POINTS][2]
);
    localparam int unsigned WORDS = CYCLES * STEPS;
    // Exact except for the division.
    localparam int unsigned PRODUCT = 2 * WIDTH + 2 - SHIFT;
    localparam int unsigned EXACT = PRODUCT > OUT ? PRODUCT + 1 : OUT + 1;
    localparam int unsigned PLACES = CYCLES > 1 ? $clog2(CYCLES) : 1;

    always_ff @(posedge clock) begin
        start_right <= start && !reset;
        digits_right <= digits;
        key_down <= key;
    end

    // Words since the start, when products are available; the register that accumulates them.
    logic product_starts, filled, filling;
    logic [$clog2(WORDS):0] count, word;
    logic [PLACES-1:0] place;
    delay #(
        .CYCLES(latency::schoolbook_multiplier(MULTIPLIER, ADDER))
    ) products_of (
        .clock,
        .reset,
        .in (start),
        .out(product_starts)
    );
    assign word = product_starts ? '0 : count;
    assign place = PLACES'(32'(word) % CYCLES);
    assign filling = product_starts ? !filled : filled;
    always_ff @(posedge clock) begin
        count <= reset || 32'(word) >= WORDS - 1 ? ($clog2(WORDS) + 1)'(WORDS) : word + 1'b1;
        filled <= filling && !reset;
    end

    // Words since the start of the time slot, and the drained register: the one filled when it began, or the one whose last step arrives.
    logic drains;
    logic [$clog2(CYCLES):0] left, drained_word;
    logic drained_register, draining;
    assign drained_word = turn ? '0 : left;
    assign drains = 32'(drained_word) < CYCLES;
    assign draining = turn ? !drained_register : drained_register;
    always_ff @(posedge clock) begin
        left <= reset || !drains ? ($clog2(CYCLES) + 1)'(CYCLES) : drained_word + 1'b1;
        drained_register <= draining && !reset;
    end

    for (genvar point = 0; point < POINTS; point++) begin : points
        logic signed [PRODUCT-1:0] product[2];
        schoolbook_multiplier #(
            .WIDTH(WIDTH),
            .FACTOR(WIDTH),
            .SHIFT(SHIFT),
            .OUT(PRODUCT),
            .ADDER(ADDER),
            .MULTIPLIER(MULTIPLIER)
        ) multiplier (
            .clock,
            .point(digits[point]),
            .factor(key[point]),
            .product
        );
        for (genvar part = 0; part < 2; part++) begin : parts
            logic signed [OUT-1:0] registers[2][CYCLES], kept;
            rounding #(
                .IN(EXACT),
                .SHIFT(0),
                .OUT(OUT)
            ) kept_of (
                .in (EXACT'(product[part]) + (32'(word) < CYCLES ? '0 : EXACT'(registers[filling][place]))),
                .out(kept)
            );
            // Its register is the adder's.
            always_ff @(posedge clock) if (32'(word) < WORDS) registers[filling][place] <= kept;
            assign drained[point][part] = drains ? registers[draining][PLACES'(32'(drained_word)%CYCLES)] : passing[point][part];
        end
    end
endmodule
