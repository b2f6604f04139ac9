// SPDX-License-Identifier: Apache-2.0
// The streaming folded negacyclic FFT of FPT (section 3.4), forward or inverse, in fixed point: M = 2^LOG2_POINTS complex points, the coefficients j and j + M of a polynomial, 2^LOG2_LANES per cycle. A twist, then
// radix-2 stages with the rotations of radix 2^LOG2_RADIX; or, if MERGED, the twist in the factors of every stage's butterflies. Every stage divides its sums by its own power of two, the scaling schedule. The inverse is the
// mirror image, and does not divide by M.
//
// Order. Lane l has point l C + t in cycle t of the C = M / lanes cycles of a polynomial: the first LOG2_LANES stages find their pairs within a cycle. Each later stage has half the distance of the previous one, C/2 cycles down to 1, and
// exchanges lanes with cycles over that distance, so all exchanges together delay C - 1 cycles. Lane l outputs point 2 C (l / 2) + 2 t + l % 2 of the transform's order (the first stage's bit highest), which is the inverse's input order. A
// polynomial's words are contiguous; polynomials need not be.
module fixed_fft #(
    parameter int unsigned LOG2_POINTS = 5,
    parameter int unsigned LOG2_LANES = 2,  // 1 to LOG2_POINTS
    parameter bit MERGED = 1'b0,
    parameter int unsigned LOG2_RADIX = 4,  // unless it is merged
    parameter bit INVERSE = 1'b0,
    parameter int unsigned WIDTH = 29,  // bits of each part of a point, everywhere
    parameter int unsigned SHIFTS = 0,  // two bits for each stage, the first that is carried out lowest
    parameter int unsigned FACTOR = 25,  // bits of each part of a twiddle factor: sign, one integer bit, fraction
    parameter int unsigned REALS = 3,  // real products of a complex one: 3 or 4
    parameter int unsigned ADDER = 1,
    parameter int unsigned MULTIPLIER = 4,
    localparam int unsigned LANES = 1 << LOG2_LANES
) (
    input logic clock,
    input logic reset,
    input logic start,  // with a polynomial's first points
    input logic signed [WIDTH-1:0] in[LANES][2],  // real and imaginary part
    output logic next,  // the same with what comes out
    output logic signed [WIDTH-1:0] out[LANES][2]
);
    // Inputs of stage `number`, in execution order, and the output of the last.
    logic signed [WIDTH-1:0] points[LOG2_POINTS+1][LANES][2];
    logic starts[LOG2_POINTS+1];
    logic signed [WIDTH-1:0] to_twist[LANES][2], twisted[LANES][2];
    logic starts_twist, ends_twist;

    if (MERGED) begin : twist_in_stages
        assign twisted = to_twist;
        assign ends_twist = starts_twist;
    end else begin : twist_alone
        turn #(
            .LOG2_POINTS(LOG2_POINTS),
            .LOG2_LANES(LOG2_LANES),
            .LOG2_RADIX(LOG2_RADIX),
            .KIND(latency::TWIST),
            .INVERSE(INVERSE),
            .WIDTH(WIDTH),
            .FACTOR(FACTOR),
            .REALS(REALS),
            .ADDER(ADDER),
            .MULTIPLIER(MULTIPLIER)
        ) twist (
            .clock,
            .reset,
            .start(starts_twist),
            .in(to_twist),
            .next(ends_twist),
            .out(twisted)
        );
    end
    for (genvar number = 0; number < LOG2_POINTS; number++) begin : stages
        fixed_fft_stage #(
            .LOG2_POINTS(LOG2_POINTS),
            .LOG2_LANES(LOG2_LANES),
            .LOG2_RADIX(LOG2_RADIX),
            .MERGED(MERGED),
            .STAGE(INVERSE ? LOG2_POINTS - 1 - number : number),
            .INVERSE(INVERSE),
            .WIDTH(WIDTH),
            .SHIFT(SHIFTS >> (2 * number) & 3),
            .FACTOR(FACTOR),
            .REALS(REALS),
            .ADDER(ADDER),
            .MULTIPLIER(MULTIPLIER)
        ) stage (
            .clock,
            .reset,
            .start(starts[number]),
            .in(points[number]),
            .next(starts[number+1]),
            .out(points[number+1])
        );
    end

    if (INVERSE) begin : backwards
        assign points[0] = in;
        assign starts[0] = start;
        assign to_twist = points[LOG2_POINTS];
        assign starts_twist = starts[LOG2_POINTS];
        assign out = twisted;
        assign next = ends_twist;
    end else begin : forwards
        assign to_twist = in;
        assign starts_twist = start;
        assign points[0] = twisted;
        assign starts[0] = ends_twist;
        assign out = points[LOG2_POINTS];
        assign next = starts[LOG2_POINTS];
    end
endmodule
