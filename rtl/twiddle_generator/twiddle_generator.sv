// SPDX-License-Identifier: Apache-2.0
// Powers of a root of unity as products of two table entries (Osiris, section IV-B, on-the-fly twiddles): root^e = low[e mod 2^LOW_BITS] * high[e / 2^LOW_BITS], for LANES exponents of one limb per cycle. Each limb has both tables for either direction; entries and factors are in Montgomery form. The modulus is output with the factors.
module twiddle_generator #(
    parameter int unsigned WIDTH = 40,
    parameter int unsigned LANES = 256,
    parameter int unsigned LIMBS = 40,
    parameter int unsigned LOW_BITS = 8,
    parameter int unsigned HIGH_BITS = 8,
    localparam int unsigned LIMB_BITS = LIMBS > 1 ? $clog2(LIMBS) : 1,
    localparam int unsigned ADDRESS_BITS = LOW_BITS > HIGH_BITS ? LOW_BITS : HIGH_BITS
) (
    input logic clock,
    // An entry of each table of a limb, for either direction: 0 for the inverse transform, 1 for the forward one. The modulus is written with every entry.
    input logic write,
    input logic [LIMB_BITS-1:0] write_limb,
    input logic [ADDRESS_BITS-1:0] write_address,
    input logic [1:0][WIDTH-1:0] write_low,
    input logic [1:0][WIDTH-1:0] write_high,  // above the table's end it is not written
    input logic [WIDTH-1:0] write_modulus,
    input logic [WIDTH-1:0] write_inverse,

    input logic direction,
    input logic [LIMB_BITS-1:0] limb,
    input logic [LANES-1:0][LOW_BITS+HIGH_BITS-1:0] exponents,
    output logic [WIDTH-1:0] modulus,
    output logic [WIDTH-1:0] inverse,
    output logic [LANES-1:0][WIDTH-1:0] factors
);
    localparam int unsigned STAGES = latency::montgomery_multiplier();

    // A table of one limb has no limb bit.
    localparam int unsigned LOW_PLACES = $clog2(LIMBS << (LOW_BITS + 1));
    localparam int unsigned HIGH_PLACES = $clog2(LIMBS << (HIGH_BITS + 1));
    logic [WIDTH-1:0] low_table[LIMBS<<(LOW_BITS+1)], high_table[LIMBS<<(HIGH_BITS+1)];
    logic [WIDTH-1:0] moduli[LIMBS], inverses[LIMBS];
    logic [LANES-1:0][WIDTH-1:0] low, high;
    logic [WIDTH-1:0] modulus_held[STAGES+1], inverse_held[STAGES+1];

    always_ff @(posedge clock) begin
        if (write) begin
            moduli[write_limb] <= write_modulus;
            inverses[write_limb] <= write_inverse;
            for (int of = 0; of < 2; of++) begin
                if (32'(write_address) < 1 << LOW_BITS) low_table[LOW_PLACES'({write_limb, of[0], write_address[LOW_BITS-1:0]})] <= write_low[of[0]];
                if (32'(write_address) < 1 << HIGH_BITS) high_table[HIGH_PLACES'({write_limb, of[0], write_address[HIGH_BITS-1:0]})] <= write_high[of[0]];
            end
        end
        for (int lane = 0; lane < LANES; lane++) begin
            low[lane] <= low_table[LOW_PLACES'({limb, direction, exponents[lane][LOW_BITS-1:0]})];
            high[lane] <= high_table[HIGH_PLACES'({limb, direction, exponents[lane][LOW_BITS+:HIGH_BITS]})];
        end
        for (int stage = 0; stage <= STAGES; stage++) begin
            modulus_held[stage] <= stage == 0 ? moduli[limb] : modulus_held[stage-1];
            inverse_held[stage] <= stage == 0 ? inverses[limb] : inverse_held[stage-1];
        end
    end
    assign modulus = modulus_held[STAGES];
    assign inverse = inverse_held[STAGES];

    montgomery_multiplier #(
        .WIDTH(WIDTH),
        .LANES(LANES)
    ) products (
        .clock,
        .modulus({LANES{modulus_held[0]}}),
        .inverse({LANES{inverse_held[0]}}),
        .a(low),
        .b(high),
        .product(factors)
    );
endmodule
