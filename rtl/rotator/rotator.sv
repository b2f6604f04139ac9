// SPDX-License-Identifier: Apache-2.0
// FPT's monomial multiplication (section 3.5): X^a p - p, or X^a p, of polynomials of N = 2^LOG2_DEGREE coefficients modulo X^N + 1, streamed.
//
// A rotation is hard to stream by coefficients and easy by bits: all coefficients in parallel, CHUNK bits of each per cycle, lowest first. So a polynomial is collected over GROUP cycles, and shifts its bits into a barrel shifter of log2 N registered stages. Coefficients that pass X^N are marked. One more stage negates the marked ones, and the
// subtraction follows; both keep their carries between cycles. Results shift into one of two registers of a whole polynomial while the other one is read.
//
// Order. Lane l has coefficient l GROUP + t in cycle t: for LANES/2 lanes of folded points, the real parts and above them the imaginary ones. There are REPEATS output lanes per input lane, so a polynomial is output REPEATS times, for as many digits: lane l has coefficient l STEP + t mod STEP, STEP = GROUP / REPEATS. A polynomial's words are
// contiguous; polynomials need not be.
module rotator #(
    parameter int unsigned LOG2_DEGREE = 5,
    parameter int unsigned WIDTH = 16,
    parameter int unsigned LANES = 4,
    parameter int unsigned REPEATS = 2,
    parameter bit SUBTRACTS = 1'b1,
    parameter int unsigned MULTIPLEXER = 1,
    parameter int unsigned ADDER = 1,
    localparam int unsigned DEGREE = 1 << LOG2_DEGREE
) (
    input logic clock,
    input logic reset,
    input logic start,  // with a polynomial's first coefficients
    input logic [LOG2_DEGREE:0] amount,  // a, at the start
    input logic [WIDTH-1:0] in[LANES],
    output logic next,  // the same with what comes out
    output logic [WIDTH-1:0] out[LANES*REPEATS]
);
    localparam int unsigned GROUP = DEGREE / LANES;
    localparam int unsigned STEP = GROUP / REPEATS;
    localparam int unsigned CHUNK = (WIDTH + GROUP - 1) / GROUP;
    localparam int unsigned BITS = CHUNK * GROUP;

    // Collects; a cycle after the last word a whole polynomial is available.
    logic [WIDTH-1:0] collected[LANES][GROUP];
    logic [LOG2_DEGREE:0] collected_amount;
    logic complete;
    always_ff @(posedge clock) begin
        if (start) collected_amount <= amount;
        for (int lane = 0; lane < LANES; lane++) begin
            for (int word = 0; word < GROUP; word++) collected[lane][word] <= word + 1 < GROUP ? collected[lane][word+1] : in[lane];
        end
    end
    delay #(
        .CYCLES(GROUP)
    ) collection (
        .clock,
        .reset,
        .in (start),
        .out(complete)
    );

    // Shifts out the lowest bits first.
    logic [BITS-1:0] bits[DEGREE];
    logic [DEGREE-1:0][CHUNK-1:0] own;
    logic first;  // the lowest bits
    logic [LOG2_DEGREE:0] turn;
    always_ff @(posedge clock) begin
        for (int i = 0; i < DEGREE; i++) bits[i] <= complete ? BITS'(collected[i/GROUP][i%GROUP]) : bits[i] >> CHUNK;
        if (complete) turn <= collected_amount;
        first <= complete && !reset;
    end
    for (genvar i = 0; i < DEGREE; i++) begin : coefficients
        assign own[i] = bits[i][CHUNK-1:0];
    end

    // The barrel shifter: stage s moves by 2^s coefficients if bit s of the amount is set, and marks those that pass X^N.
    logic [DEGREE-1:0][CHUNK-1:0] shifted[LOG2_DEGREE+1];
    logic [DEGREE-1:0] marks[LOG2_DEGREE+1];
    logic [LOG2_DEGREE:0] turns[LOG2_DEGREE+1];
    logic firsts[LOG2_DEGREE+1];
    assign shifted[0] = own;
    assign marks[0] = {DEGREE{turn[LOG2_DEGREE]}};
    assign turns[0] = turn;
    assign firsts[0] = first;
    for (genvar stage = 0; stage < LOG2_DEGREE; stage++) begin : stages
        localparam int unsigned BY = 1 << stage;
        logic moves;
        assign moves = turns[stage][stage];
        delay #(
            .CYCLES(MULTIPLEXER),
            .WIDTH (DEGREE * CHUNK)
        ) coefficients_of (
            .clock,
            .reset(1'b0),
            .in (moves ? {shifted[stage][DEGREE-1-BY:0], shifted[stage][DEGREE-1:DEGREE-BY]} : shifted[stage]),
            .out(shifted[stage+1])
        );
        delay #(
            .CYCLES(MULTIPLEXER),
            .WIDTH (DEGREE)
        ) marks_of (
            .clock,
            .reset(1'b0),
            .in (moves ? {marks[stage][DEGREE-1-BY:0], ~marks[stage][DEGREE-1:DEGREE-BY]} : marks[stage]),
            .out(marks[stage+1])
        );
        delay #(
            .CYCLES(MULTIPLEXER),
            .WIDTH (LOG2_DEGREE + 2)
        ) amount_of (
            .clock,
            .reset,
            .in ({firsts[stage], turns[stage]}),
            .out({firsts[stage+1], turns[stage+1]})
        );
    end
    logic unused;
    assign unused = ^turns[LOG2_DEGREE];

    // Negates the marked ones: a carry of 1 at the lowest bits.
    logic [DEGREE-1:0][CHUNK-1:0] signed_now, signed_later, own_later;
    logic [DEGREE-1:0] sign_carries, sign_carries_now;
    logic first_later;
    always_comb begin
        for (int i = 0; i < DEGREE; i++) begin
            {sign_carries_now[i], signed_now[i]} = (CHUNK + 1)'(shifted[LOG2_DEGREE][i] ^ {CHUNK{marks[LOG2_DEGREE][i]}})
                + (CHUNK + 1)'(firsts[LOG2_DEGREE] ? marks[LOG2_DEGREE][i] : sign_carries[i]);
        end
    end
    always_ff @(posedge clock) sign_carries <= sign_carries_now;
    delay #(
        .CYCLES(MULTIPLEXER),
        .WIDTH (DEGREE * CHUNK)
    ) signs (
        .clock,
        .reset(1'b0),
        .in (signed_now),
        .out(signed_later)
    );
    delay #(
        .CYCLES(MULTIPLEXER)
    ) first_of_signs (
        .clock,
        .reset,
        .in (firsts[LOG2_DEGREE]),
        .out(first_later)
    );
    delay #(
        .CYCLES((LOG2_DEGREE + 1) * MULTIPLEXER),
        .WIDTH (DEGREE * CHUNK)
    ) alignment (
        .clock,
        .reset(1'b0),
        .in (SUBTRACTS ? own : '0),
        .out(own_later)
    );

    // The subtraction, likewise; its register is where results are collected.
    logic [DEGREE-1:0][CHUNK-1:0] difference_now, difference;
    logic [DEGREE-1:0] carries, carries_now;
    logic arrives;
    always_comb begin
        for (int i = 0; i < DEGREE; i++) begin
            {carries_now[i], difference_now[i]} = {1'b0, signed_later[i]} + {1'b0, ~own_later[i]}
                + (CHUNK + 1)'(first_later || carries[i]);
        end
    end
    always_ff @(posedge clock) carries <= carries_now;
    delay #(
        .CYCLES(ADDER - 1),
        .WIDTH (DEGREE * CHUNK)
    ) adder (
        .clock,
        .reset(1'b0),
        .in (difference_now),
        .out(difference)
    );
    delay #(
        .CYCLES(ADDER - 1)
    ) arrival (
        .clock,
        .reset,
        .in (first_later),
        .out(arrives)
    );

    // Two alternating registers: one is filled from its highest bits while the other, full one is read.
    logic [BITS-1:0] results[2][DEGREE];
    logic filled, filling;
    logic [(GROUP > 1 ? $clog2(GROUP) : 1)-1:0] count, word;
    assign filling = next ? !filled : filled;
    assign word = next ? '0 : count;
    always_ff @(posedge clock) begin
        filled <= filling && !reset;
        count <= reset || 32'(word) == GROUP - 1 ? '0 : word + 1'b1;
        for (int i = 0; i < DEGREE; i++) results[filling][i] <= BITS'({difference[i], results[filling][i]} >> CHUNK);
    end
    delay #(
        .CYCLES(GROUP)
    ) collected_again (
        .clock,
        .reset,
        .in (arrives),
        .out(next)
    );
    for (genvar lane = 0; lane < LANES * REPEATS; lane++) begin : lanes
        assign out[lane] = results[!filling][lane*STEP+32'(word)%STEP][WIDTH-1:0];
    end
endmodule
