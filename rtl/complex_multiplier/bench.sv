// In: real and imaginary part of a point, then of a factor. Out: those of the product.
module bench #(
    parameter int unsigned WIDTH = 29,
    parameter int unsigned FACTOR = 25,
    parameter int unsigned SHIFT = 23,
    parameter int unsigned OUT = 29,
    parameter int unsigned ADDER = 1,
    parameter int unsigned MULTIPLIER = 4
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [2*(WIDTH+FACTOR)-1:0] in_data,
    output logic out_valid,
    output logic [2*OUT-1:0] out_data
);
    // c + jd, and the unit's inputs derived from it when a - b is ready.
    logic signed [FACTOR:0] c, d, of_factor[3], factor[3];
    assign c = (FACTOR + 1)'($signed(in_data[2*WIDTH+:FACTOR]));
    assign d = (FACTOR + 1)'($signed(in_data[2*WIDTH+FACTOR+:FACTOR]));
    assign of_factor = '{c, c - d, c + d};
    for (genvar i = 0; i < 3; i++) begin : factors
        delay #(
            .CYCLES(ADDER),
            .WIDTH (FACTOR + 1)
        ) sum (
            .clock,
            .reset(1'b0),
            .in (of_factor[i]),
            .out(factor[i])
        );
    end
    complex_multiplier #(
        .WIDTH(WIDTH),
        .FACTOR(FACTOR),
        .SHIFT(SHIFT),
        .OUT(OUT),
        .ADDER(ADDER),
        .MULTIPLIER(MULTIPLIER)
    ) unit (
        .clock,
        .re(in_data[0+:WIDTH]),
        .im(in_data[WIDTH+:WIDTH]),
        .factor,
        .product_re(out_data[0+:OUT]),
        .product_im(out_data[OUT+:OUT])
    );
    delay #(
        .CYCLES(latency::complex_multiplier(MULTIPLIER, ADDER))
    ) valid (
        .clock,
        .reset,
        .in (in_valid),
        .out(out_valid)
    );
endmodule
