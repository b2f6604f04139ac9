// SPDX-License-Identifier: Apache-2.0
// Within each block of BLOCK lanes, moves lane x to lane factor x + offset modulo BLOCK, for an odd factor and one offset per block.
// These are fixed sub-permutations in hardware, each applied or bypassed (F1, section 5.1).
//
// The odd numbers modulo 2^b are plus and minus the powers of 5. So the fixed permutations are x -> -x, x -> 5^(2^i) x for i < b - 2, and x -> x + 2^i for i < b.
// They are 2 b - 1 in all, each a two-input multiplexer and a register. The bits of the factor select them one after another.
module affine_permutation #(
    parameter int unsigned LANES = 8,
    parameter int unsigned BLOCK = 8,
    parameter int unsigned WIDTH = 32,
    localparam int unsigned BLOCKS = LANES / BLOCK,
    localparam int unsigned BITS = $clog2(BLOCK)
) (
    input logic clock,
    input logic [BITS-1:0] factor,
    input logic [BLOCKS-1:0][BITS-1:0] offset,
    input logic [LANES-1:0][WIDTH-1:0] in,
    output logic [LANES-1:0][WIDTH-1:0] out
);
    localparam int unsigned FACTORS = BITS - 1;
    localparam int unsigned STAGES = latency::affine_permutation(BLOCK);

    // 5^(2^i) modulo BLOCK.
    function automatic int unsigned power_of_5(int unsigned i);
        int unsigned power = 5 % BLOCK;
        for (int unsigned square = 0; square < i; square++) power = power * power % BLOCK;
        return power;
    endfunction

    // Destination of each lane in a fixed permutation.
    function automatic logic [BLOCK-1:0][BITS-1:0] targets(int unsigned stage);
        for (int unsigned lane = 0; lane < BLOCK; lane++) begin
            if (stage + 1 > FACTORS) targets[lane] = BITS'(lane + (1 << (stage - FACTORS)));
            else if (stage == 0) targets[lane] = BITS'(BLOCK - lane);
            else targets[lane] = BITS'(power_of_5(stage - 1) * lane);
        end
    endfunction

    // The sign, and above it the bits of e, for a factor of plus or minus 5^e: since 5^(2^i) = 1 + 2^(i+2) modulo 2^(i+3), bit i of e corrects bit i + 2.
    function automatic logic [BITS-1:0] steps(logic [BITS-1:0] odd);
        logic [BITS-1:0] wanted, power;
        steps = '0;
        steps[0] = BITS > 1 && odd[BITS>1?1:0];
        wanted = steps[0] ? -odd : odd;
        power = BITS'(1);
        for (int unsigned i = 0; i + 2 < BITS; i++) begin
            steps[i+1] = wanted[i+2] != power[i+2];
            if (steps[i+1]) power = power * BITS'(power_of_5(i));
        end
    endfunction

    logic [BITS-1:0] applied;
    logic unused;
    assign applied = steps(factor);
    assign unused = applied[BITS-1];  // one bit less than the factor

    for (genvar stage = 0; stage <= STAGES; stage++) begin : stages
        logic [WIDTH-1:0] words[LANES];  // that stage's; after the last, what leaves
        if (stage == 0) begin : first
            always_comb for (int lane = 0; lane < LANES; lane++) words[lane] = in[lane];
        end else begin : permutation
            localparam logic [BLOCK-1:0][BITS-1:0] TARGETS = targets(stage - 1);
            logic [BLOCKS-1:0] now, chosen;
            for (genvar block = 0; block < BLOCKS; block++) begin : blocks
                if (stage > FACTORS) begin : rotation
                    assign now[block] = offset[block][stage-1-FACTORS];
                end else begin : multiple
                    assign now[block] = applied[stage-1];
                end
            end
            delay #(
                .CYCLES(stage - 1),
                .WIDTH(BLOCKS)
            ) choice (
                .clock,
                .reset(1'b0),
                .in(now),
                .out(chosen)
            );
            always_ff @(posedge clock) begin
                for (int block = 0; block < BLOCKS; block++) begin
                    for (int lane = 0; lane < BLOCK; lane++) begin
                        words[block*BLOCK+(chosen[block]?32'(TARGETS[lane]) : lane)] <= stages[stage-1].words[block*BLOCK+lane];
                    end
                end
            end
        end
    end
    always_comb for (int lane = 0; lane < LANES; lane++) out[lane] = stages[STAGES].words[lane];
endmodule
