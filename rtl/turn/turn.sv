// SPDX-License-Identifier: Apache-2.0
// Multiplies every point of a stream by its root of unity, before, between or within the stages of a folded negacyclic transform:
// - the twist, e^(2 pi i j / 4M) for point j (FPT, section 2.3);
// - the rotation between stages STAGE and STAGE + 1 of a cyclic transform of radix 2^LOG2_RADIX (section 3.4): K R turns / 2^(past - first). K is the number formed by the output bits of stages first to STAGE, and R that of the input bits of the stages before past (see `latency::split`);
// - the factor of stage STAGE's butterflies if the twist is merged into them: (4 K + 1) turns / 2^(STAGE + 3) for the second point of each pair.
//
// The inverse uses the conjugates. For rotations by quarter turns, parts are exchanged and negated: combinational. Otherwise each lane has a multiplier and a table addressed by a counter, with integers computed from series during elaboration.
module turn #(
    parameter int unsigned LOG2_POINTS = 5,
    parameter int unsigned LOG2_LANES = 2,
    parameter int unsigned LOG2_RADIX = 4,
    parameter int unsigned STAGE = 0,  // whose order the points have, see fixed_fft
    parameter int unsigned KIND = latency::ROTATION,  // or TWIST, or FACTOR
    parameter bit INVERSE = 1'b0,
    parameter int unsigned WIDTH = 29,
    parameter int unsigned OUT = WIDTH,
    parameter int unsigned FACTOR = 25,
    parameter int unsigned REALS = 3,  // real products of a complex one: 3 or 4
    parameter int unsigned ADDER = 1,
    parameter int unsigned MULTIPLIER = 4,
    localparam int unsigned LANES = 1 << LOG2_LANES,
    localparam int unsigned CYCLES = 1 << (LOG2_POINTS - LOG2_LANES),
    localparam int unsigned TIME = CYCLES > 1 ? LOG2_POINTS - LOG2_LANES : 1
) (
    input logic clock,
    input logic reset,
    input logic start,  // with a polynomial's first points
    input logic signed [WIDTH-1:0] in[LANES][2],  // real and imaginary part
    output logic next,  // the same with what comes out
    output logic signed [OUT-1:0] out[LANES][2]
);
    localparam int unsigned FRACTION = FACTOR - 2;
    localparam latency::split_t SPLIT = latency::split(LOG2_POINTS, LOG2_RADIX, STAGE);
    localparam int unsigned ORDER = latency::order(KIND, LOG2_POINTS, LOG2_RADIX, STAGE);
    localparam int unsigned PRODUCT = latency::turn(ORDER, REALS, MULTIPLIER, ADDER);
    // The bit that distinguishes the second lane of a pair.
    localparam int unsigned SECOND = STAGE >= LOG2_LANES ? 0 : LOG2_LANES - 1 - STAGE;

    // Cycles since the start: the table address.
    logic [TIME-1:0] count, now;
    assign now = start ? '0 : count;
    always_ff @(posedge clock) count <= reset ? '0 : now + 1'b1;

    delay #(
        .CYCLES(PRODUCT)
    ) starts (
        .clock,
        .reset,
        .in (start),
        .out(next)
    );

    // The index of a lane's point in a cycle.
    function automatic int unsigned index(int unsigned when, int unsigned lane);
        int unsigned place, cycle;
        cycle = when % CYCLES;
        if (KIND == latency::TWIST || STAGE < LOG2_LANES) return lane * CYCLES + cycle;
        place = LOG2_POINTS - 1 - STAGE;
        return (lane >> 1) * 2 * CYCLES + ((cycle >> place) << (place + 1)) + ((lane & 1) << place) + (cycle & ((1 << place) - 1));
    endfunction

    // A point's rotation in units of 2^-ORDER of a full turn.
    function automatic int unsigned turns(int unsigned point);
        int unsigned outputs, inputs;
        if (KIND == latency::TWIST) return point;
        outputs = 0;
        if (KIND == latency::FACTOR) begin
            for (int unsigned stage = 0; stage + 1 <= STAGE; stage++) outputs += (point >> (LOG2_POINTS - 1 - stage) & 1) << stage;
            return 4 * outputs + 1;
        end
        inputs = 0;
        for (int unsigned stage = SPLIT.first; stage < SPLIT.past; stage++) begin
            if (stage <= STAGE) outputs += (point >> (LOG2_POINTS - 1 - stage) & 1) << (stage - SPLIT.first);
            else inputs += (point >> (LOG2_POINTS - 1 - stage) & 1) << (SPLIT.past - 1 - stage);
        end
        return outputs * inputs;
    endfunction

    // cos or sin of numerator / 2^ORDER of a turn, at most an eighth, by its series with 60 fraction bits.
    function automatic logic [FACTOR-1:0] series(int unsigned numerator, bit is_sine);
        logic [127:0] angle, square, sum;
        angle  = (128'h0c90fdaa22168c23 * 128'(numerator)) >> ORDER;  // pi / 4
        square = (angle * angle) >> 60;
        sum = 128'd1 << 60;
        for (logic [127:0] term = is_sine ? 21 : 20; term >= 2; term -= 2) sum = (128'd1 << 60) - ((square * sum) >> 60) / (term * (term - 1));
        if (is_sine) sum = (sum * angle) >> 60;
        return FACTOR'((sum + (128'd1 << (59 - FRACTION))) >> (60 - FRACTION));
    endfunction

    // A part of e^(2 pi i numerator / 2^ORDER), with the angle reduced to an eighth of a turn so that quarters are exact.
    function automatic logic signed [FACTOR-1:0] root(int unsigned numerator, bit is_imaginary);
        int unsigned eighths, octant, rest;
        logic is_sine;
        logic signed [FACTOR-1:0] part;
        eighths = (numerator % (1 << ORDER)) << 3;
        octant = eighths >> ORDER;
        rest = eighths % (1 << ORDER);
        is_sine = is_imaginary ^ (octant == 1 || octant == 2 || octant == 5 || octant == 6);
        part = series(octant % 2 == 0 ? rest : (1 << ORDER) - rest, is_sine);
        if (is_imaginary ? octant >= 4 : octant >= 2 && octant < 6) part = -part;
        return is_imaginary && INVERSE ? -part : part;
    endfunction

    // The multiplier's inputs for each factor c + jd: c, c - d and c + d, the first lowest.
    function automatic logic [(1<<TIME)-1:0][2:0][FACTOR:0] table_of(int unsigned lane);
        for (int unsigned cycle = 0; cycle < 1 << TIME; cycle++) begin
            logic signed [FACTOR:0] c, d;
            c = (FACTOR + 1)'(root(turns(index(cycle, lane)), 1'b0));
            d = (FACTOR + 1)'(root(turns(index(cycle, lane)), 1'b1));
            table_of[cycle] = {c + d, c - d, c};
        end
    endfunction

    // The same for a multiplier with four products: c and d.
    function automatic logic [(1<<TIME)-1:0][1:0][FACTOR-1:0] parts_of(int unsigned lane);
        for (int unsigned cycle = 0; cycle < 1 << TIME; cycle++) begin
            parts_of[cycle][0] = root(turns(index(cycle, lane)), 1'b0);
            parts_of[cycle][1] = root(turns(index(cycle, lane)), 1'b1);
        end
    endfunction

    // Which points of a lane are rotated by a quarter.
    function automatic logic [(1<<TIME)-1:0] quarters_of(int unsigned lane);
        for (int unsigned cycle = 0; cycle < 1 << TIME; cycle++) quarters_of[cycle] = turns(index(cycle, lane)) != 0;
    endfunction

    for (genvar lane = 0; lane < LANES; lane++) begin : lanes
        if (KIND == latency::FACTOR && !lane[SECOND]) begin : first_of_pair
            for (genvar part = 0; part < 2; part++) begin : parts
                delay #(
                    .CYCLES(PRODUCT),
                    .WIDTH (OUT)
                ) alignment (
                    .clock,
                    .reset(1'b0),
                    .in (OUT'(in[lane][part])),
                    .out(out[lane][part])
                );
            end
        end else if (ORDER > 2 && REALS == 3) begin : three
            localparam logic [(1<<TIME)-1:0][2:0][FACTOR:0] TABLE = table_of(lane);
            logic signed [FACTOR:0] factor[3];
            for (genvar i = 0; i < 3; i++) begin : tables
                delay #(
                    .CYCLES(ADDER),
                    .WIDTH (FACTOR + 1)
                ) read (
                    .clock,
                    .reset(1'b0),
                    .in (TABLE[now][i]),
                    .out(factor[i])
                );
            end
            complex_multiplier #(
                .WIDTH(WIDTH),
                .FACTOR(FACTOR),
                .SHIFT(FRACTION),
                .OUT(OUT),
                .ADDER(ADDER),
                .MULTIPLIER(MULTIPLIER)
            ) multiplier (
                .clock,
                .re(in[lane][0]),
                .im(in[lane][1]),
                .factor,
                .product_re(out[lane][0]),
                .product_im(out[lane][1])
            );
        end else if (ORDER > 2) begin : four
            localparam logic [(1<<TIME)-1:0][1:0][FACTOR-1:0] TABLE = parts_of(lane);
            logic signed [FACTOR-1:0] factor[2];
            assign factor = '{TABLE[now][0], TABLE[now][1]};
            schoolbook_multiplier #(
                .WIDTH(WIDTH),
                .FACTOR(FACTOR),
                .SHIFT(FRACTION),
                .OUT(OUT),
                .ADDER(ADDER),
                .MULTIPLIER(MULTIPLIER)
            ) multiplier (
                .clock,
                .point(in[lane]),
                .factor,
                .product(out[lane])
            );
        end else if (ORDER == 2) begin : quarter
            localparam logic [(1<<TIME)-1:0] QUARTERS = quarters_of(lane);
            logic turned;
            assign turned = QUARTERS[now];
            assign out[lane][0] = !turned ? in[lane][0] : INVERSE ? in[lane][1] : -in[lane][1];
            assign out[lane][1] = !turned ? in[lane][1] : INVERSE ? -in[lane][0] : in[lane][0];
        end else begin : none
            assign out[lane] = in[lane];
        end
    end
endmodule
