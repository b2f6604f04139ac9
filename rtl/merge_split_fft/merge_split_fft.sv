// SPDX-License-Identifier: Apache-2.0
// Morphling's merge-split transform (section V-A.3): the spectra of two real polynomials p and q by one complex transform, that of z = p + i q, whose N values are then split. In fixed point, with the twist in the butterflies; 2^LOG2_LANES folded points of each polynomial per cycle.
//
// In folded form the coefficients j and j + M of a polynomial arrive together, M = N/2. So the first stage of the transform of N points, which splits X^N + 1 into (X^M - i)(X^M + i), is additions within a cycle, followed by two parallel transforms of M points with the same factors:
//     u = (f(p) + i f(q)) / 2  modulo X^M - i,  and the conjugate of z modulo X^M + i, v = (f(p) - i f(q)) / 2.
// A value of p or q needs those of z at a root and at its conjugate: the same point of u and of v. Since v is conjugated before its transform, by changing signs, they arrive in the same cycle; otherwise one would arrive in mirrored order, and half of a result would have to wait (the paper's Coef buffer). The split is a stage of additions:
// f(p) = u + v, f(q) = (u - v) / i.
module merge_split_fft #(
    parameter int unsigned LOG2_POINTS = 5,  // of a folded polynomial
    parameter int unsigned LOG2_LANES = 2,  // of each of both, 1 to LOG2_POINTS
    parameter int unsigned DIGIT = 8,  // bits of a coefficient
    parameter int unsigned LOAD = 8,  // places that it is shifted left by
    parameter int unsigned WIDTH = 32,  // bits of each part of a point, everywhere
    parameter int unsigned SHIFTS = 0,  // as of fixed_fft
    parameter int unsigned FACTOR = 32,
    parameter int unsigned REALS = 4,
    parameter int unsigned ADDER = 1,
    parameter int unsigned MULTIPLIER = 3,
    localparam int unsigned LANES = 1 << LOG2_LANES
) (
    input logic clock,
    input logic reset,
    input logic start,  // with a pair's first coefficients
    input logic signed [DIGIT-1:0] in[2][LANES][2],  // of p and of q: coefficients j and j + M of point j
    output logic next,  // the same with what comes out
    output logic signed [WIDTH-1:0] out[2][LANES][2]  // real and imaginary part
);
    localparam int unsigned LOADED = DIGIT + LOAD;

    // u and v, before and after their transforms.
    logic signed [WIDTH-1:0] merged[2][LANES][2], spectrum[2][LANES][2];
    logic starts_transform, ends_transform, ends_second;

    for (genvar lane = 0; lane < LANES; lane++) begin : merge
        logic signed [LOADED-1:0] p[2], q[2];
        for (genvar part = 0; part < 2; part++) begin : loaded
            assign p[part] = LOADED'(in[0][lane][part]) <<< LOAD;
            assign q[part] = LOADED'(in[1][lane][part]) <<< LOAD;
        end
        // u = (p0 - q1, p1 + q0) and v = (p0 + q1, p1 - q0), halved, so that the split needs no division.
        logic signed [WIDTH-1:0] sums[2], differences[2];
        complex_butterfly #(
            .WIDTH(LOADED),
            .OUT  (WIDTH),
            .SHIFT(1),
            .ADDER(ADDER)
        ) first_stage (
            .clock,
            .a(p),
            .b('{q[1], q[0]}),
            .sum(sums),
            .difference(differences)
        );
        assign merged[0][lane] = '{differences[0], sums[1]};
        assign merged[1][lane] = '{sums[0], differences[1]};
    end
    delay #(
        .CYCLES(ADDER)
    ) merges (
        .clock,
        .reset,
        .in (start),
        .out(starts_transform)
    );

    for (genvar half = 0; half < 2; half++) begin : halves
        logic ends;
        fixed_fft #(
            .LOG2_POINTS(LOG2_POINTS),
            .LOG2_LANES(LOG2_LANES),
            .MERGED(1'b1),
            .WIDTH(WIDTH),
            .SHIFTS(SHIFTS),
            .FACTOR(FACTOR),
            .REALS(REALS),
            .ADDER(ADDER),
            .MULTIPLIER(MULTIPLIER)
        ) transform (
            .clock,
            .reset,
            .start(starts_transform),
            .in(merged[half]),
            .next(ends),
            .out(spectrum[half])
        );
    end
    assign ends_transform = halves[0].ends;
    assign ends_second = halves[1].ends;

    for (genvar lane = 0; lane < LANES; lane++) begin : split
        // u + v, and (u - v) / i = (u1 - v1, v0 - u0).
        logic signed [WIDTH-1:0] differences[2];
        complex_butterfly #(
            .WIDTH(WIDTH),
            .SHIFT(0),
            .ADDER(ADDER)
        ) last_stage (
            .clock,
            .a('{spectrum[1][lane][0], spectrum[0][lane][1]}),
            .b('{spectrum[0][lane][0], spectrum[1][lane][1]}),
            .sum(out[0][lane]),
            .difference(differences)
        );
        assign out[1][lane] = '{differences[1], differences[0]};
    end
    delay #(
        .CYCLES(ADDER)
    ) splits (
        .clock,
        .reset,
        .in (ends_transform),
        .out(next)
    );
    logic unused;
    assign unused = ends_second;
endmodule
