// F1's modular multiplier (section 5.3): a * b * R^-1 mod q with R = 2^(16 ROUNDS), for q = 2^16 h + 1 below R.
//
// Each round clears the lowest 16 bits of x: as q^-1 = 1 modulo 2^16, the multiple of q to add is m = -x mod 2^16, for which no
// product is needed, and x becomes ceil(x / 2^16) + m h. A stage for the product, one for each round, one for the last subtraction.
module prime_form_multiplier #(
    parameter int unsigned ROUNDS = 2,
    localparam int unsigned WIDTH = 16 * ROUNDS
) (
    input logic clock,
    input logic [WIDTH-17:0] high,  // h: the modulus above its lowest 16 bits
    input logic [WIDTH-1:0] a,
    input logic [WIDTH-1:0] b,
    output logic [WIDTH-1:0] product  // below q, for a * b < q R
);
    // Of round i, x has 2 WIDTH - 16 i bits and one more: what is added stays below q R / 2^(16 i).
    logic [2*WIDTH:0] x[ROUNDS+1];
    logic [WIDTH-17:0] h[ROUNDS+1];
    logic [WIDTH-1:0] q;
    logic [WIDTH:0] reduced;

    always_ff @(posedge clock) begin
        x[0] <= {1'b0, {WIDTH'(0), a} * {WIDTH'(0), b}};
        h[0] <= high;
    end

    for (genvar round = 0; round < ROUNDS; round++) begin : rounds
        logic [15:0] m;
        assign m = -x[round][15:0];
        always_ff @(posedge clock) begin
            x[round+1] <= (x[round] >> 16) + (2 * WIDTH + 1)'(m != 0) + (2 * WIDTH + 1)'(m) * (2 * WIDTH + 1)'(h[round]);
            h[round+1] <= h[round];
        end
    end

    // What is left is below 2 q.
    assign q = {h[ROUNDS], 16'd1};
    assign reduced = x[ROUNDS][WIDTH:0] - {1'b0, q};
    always_ff @(posedge clock) product <= reduced[WIDTH] ? x[ROUNDS][WIDTH-1:0] : reduced[WIDTH-1:0];
endmodule
