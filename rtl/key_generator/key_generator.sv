// SPDX-License-Identifier: Apache-2.0
// Masks of switching keys from their seed (Osiris, section IV-E): uniform residues modulo q, LANES per cycle, for consecutive limbs of 2^log2_tiles tiles.
//
// The generator is the project's: ChaCha with 8 rounds. Of sixteen consecutive blocks it uses word 0, two blocks per 64-bit number with the even one below, then word 1 and so on. A number is cut to the bits of q and accepted if it is below q. GROUPS of sixteen blocks give 128 numbers each
// per cycle, so 128 GROUPS must exceed LANES by a factor of 2^bits / q: two, plus a margin for chance, covers any prime. Accepted numbers move to the front and enter a ring of residues. Tiles leave it with bit-reversed lanes, the order of a transform's values.
//
// It draws ahead for up to LIMBS limbs, possibly long before their tiles are needed. Everything stalls while the ring is full, so the pipeline is then full of residues needed next, and its length causes no gap. The number of drawing cycles of a limb is known only when it is complete, one
// pipeline length later. So the next one, if available, follows after `expected` cycles, and the surplus is dropped. A limb that proves short is resumed where it stopped, and everything after it is drawn again.
module key_generator #(
    parameter int unsigned WIDTH = 40,
    parameter int unsigned LANES = 512,
    parameter int unsigned GROUPS = 10,
    parameter int unsigned TILE_BITS = 7,  // log2 of the most tiles of a limb
    parameter int unsigned LIMBS = 64,  // a power of two: more than the latency, so that limbs of one tile follow each other too
    localparam int unsigned NUMBERS = 128 * GROUPS,
    localparam int unsigned SIZES = $clog2(TILE_BITS + 1)
) (
    input logic clock,
    input logic reset,
    // The next limb, if the generator is ready.
    input logic start,
    input logic [7:0][31:0] seed,
    input logic [63:0] number,  // of its stream
    input logic [WIDTH-1:0] modulus,
    input logic [WIDTH-1:0] mask,  // ones in as many bits as the modulus has
    input logic [SIZES-1:0] log2_tiles,
    input logic [TILE_BITS+1:0] expected,  // cycles, at least one
    output logic ready,
    input logic takes,  // the tile that is there
    output logic valid,
    output logic [WIDTH-1:0] residues[LANES]
);
    localparam int unsigned BLOCKS = 16 * GROUPS;
    localparam int unsigned ROOM = 1 << $clog2(2 * NUMBERS + LANES);
    localparam int unsigned PLACES = $clog2(ROOM);
    localparam int unsigned LOG2_LANES = $clog2(LANES);
    localparam int unsigned COUNTS = $clog2(NUMBERS + 1);
    localparam int unsigned DISTANCES = $clog2(NUMBERS);
    localparam int unsigned DRAWN = latency::chacha();
    // From the first half of a round to the ring.
    localparam int unsigned DEPTH = DRAWN + 2 + latency::compaction(NUMBERS);

    // Limbs from the one whose residues enter the ring to the last one received. Their numbers count modulo 2 LIMBS.
    localparam int unsigned PLACE = $clog2(LIMBS);
    typedef logic [PLACE:0] limb_t;
    typedef struct packed {
        logic [7:0][31:0] seed;
        logic [63:0] number;
    } stream_t;
    stream_t streams[LIMBS];
    logic [WIDTH-1:0] moduli[LIMBS], masks[LIMBS];
    logic [SIZES-1:0] sizes[LIMBS];
    logic [TILE_BITS+1:0] expectations[LIMBS];
    limb_t accepted, current;  // the number of the next one to come, and of the one that the ring takes residues of
    logic advances, rewinds, completes;
    assign ready = 32'(limb_t'(accepted - current)) < LIMBS;
    always_ff @(posedge clock) begin
        if (reset) accepted <= '0;
        else if (start && ready) accepted <= accepted + 1'b1;
        if (start && ready) begin
            streams[accepted[PLACE-1:0]] <= '{seed, number};
            moduli[accepted[PLACE-1:0]] <= modulus;
            masks[accepted[PLACE-1:0]] <= mask;
            sizes[accepted[PLACE-1:0]] <= log2_tiles;
            expectations[accepted[PLACE-1:0]] <= expected;
        end
    end

    // The next block to generate: its limb and number.
    limb_t drawing, drawing_now;
    logic [63:0] counter, counter_now, resumed;
    logic [TILE_BITS+1:0] cycles;  // that it was drawn for, up to those expected
    logic insists, follows, draws;
    assign follows = 32'(limb_t'(accepted - drawing)) >= 2 && cycles == expectations[drawing[PLACE-1:0]] && !insists;
    assign drawing_now = follows ? drawing + 1'b1 : drawing;
    assign counter_now = follows ? '0 : counter;
    assign draws = drawing_now != accepted;
    always_ff @(posedge clock) begin
        if (reset || completes && drawing_now == current) begin
            // Includes a limb for which nothing was drawn in advance.
            drawing <= reset ? '0 : current + 1'b1;
            counter <= '0;
            cycles  <= '0;
            insists <= 1'b0;
        end else if (rewinds) begin
            drawing <= current;
            counter <= resumed;
            insists <= 1'b1;
        end else if (advances && draws) begin
            drawing <= drawing_now;
            counter <= counter_now + 64'(BLOCKS);
            if (follows) cycles <= 1;
            else if (cycles != expectations[drawing[PLACE-1:0]]) cycles <= cycles + 1'b1;
        end
    end

    // With the numbers: whether they are valid, and their limb.
    logic [DEPTH-1:0] there;
    limb_t of[DEPTH];
    always_ff @(posedge clock) begin
        if (reset || rewinds) there <= '0;
        else if (advances) there <= {there[DEPTH-2:0], draws};
        if (advances) begin
            for (int i = 0; i < DEPTH; i++) of[i] <= i == 0 ? drawing_now : of[i-1];
        end
    end

    // Sixteen blocks' words; numbers; how many before each are not residues of q.
    logic [31:0] words[16][BLOCKS];
    logic chosen[NUMBERS], taken[NUMBERS], counted[NUMBERS];
    logic [WIDTH-1:0] cut[NUMBERS], drawn[NUMBERS], numbers[NUMBERS], front[NUMBERS];
    logic [COUNTS-1:0] skipped[NUMBERS];
    logic [DISTANCES-1:0] moves[NUMBERS];
    logic [COUNTS-1:0] count, counts[latency::compaction(NUMBERS)+1];
    logic [PLACE-1:0] leaves, cut_for;  // the limb whose blocks leave, and the one whose numbers are cut
    assign leaves  = of[DRAWN-2][PLACE-1:0];
    assign cut_for = of[DRAWN-1][PLACE-1:0];
    chacha #(
        .BLOCKS(BLOCKS)
    ) blocks (
        .clock,
        .advances,
        .key(streams[drawing_now[PLACE-1:0]].seed),
        .number(streams[drawing_now[PLACE-1:0]].number),
        .counter(counter_now),
        .key_behind(streams[leaves].seed),
        .number_behind(streams[leaves].number),
        .words
    );
    always_comb begin
        for (int i = 0; i < NUMBERS; i++) begin
            cut[i] = WIDTH'({words[i%128/8][i/128*16+i%8*2+1], words[i%128/8][i/128*16+i%8*2]}) & masks[cut_for];
            chosen[i] = cut[i] < moduli[cut_for];
        end
        // Prefix sums over 1, 2, 4 numbers and so on.
        for (int i = 0; i < NUMBERS; i++) skipped[i] = COUNTS'(!taken[i]);
        for (int distance = 1; distance < NUMBERS; distance *= 2) begin
            for (int i = NUMBERS - 1; i >= distance; i--) skipped[i] = skipped[i] + skipped[i-distance];
        end
        count = COUNTS'(NUMBERS) - skipped[NUMBERS-1];
    end
    always_ff @(posedge clock) begin
        if (advances) begin
            taken   <= chosen;
            drawn   <= cut;
            counted <= taken;
            numbers <= drawn;
            for (int i = 0; i < NUMBERS; i++) moves[i] <= DISTANCES'(skipped[i]);
            for (int i = 0; i <= latency::compaction(NUMBERS); i++) counts[i] <= i == 0 ? count : counts[i-1];
        end
    end
    compaction #(
        .COUNT(NUMBERS),
        .WIDTH(WIDTH)
    ) to_the_front (
        .clock,
        .advances,
        .chosen(counted),
        .moves,
        .words(numbers),
        .front
    );

    // The ring. Numbers at its entry belong to the current limb, to an earlier one, which is complete, or to a later one, in which case the current one is short.
    localparam int unsigned LONGEST = TILE_BITS + LOG2_LANES + 1;
    logic [WIDTH-1:0] ring[ROOM];
    logic [PLACES-1:0] head, tail;
    logic [PLACES:0] level;
    logic [LONGEST-1:0] got, missing;
    logic [COUNTS-1:0] found, joins;
    limb_t ahead;
    logic enters;
    assign ahead = of[DEPTH-1] - current;
    assign advances = 32'(level) <= ROOM - NUMBERS;
    assign enters = advances && there[DEPTH-1] && ahead == 0;
    assign rewinds = advances && there[DEPTH-1] && ahead != 0 && 32'(ahead) < LIMBS;
    assign found = counts[latency::compaction(NUMBERS)];
    assign missing = (LONGEST'(LANES) << sizes[current[PLACE-1:0]]) - got;
    assign completes = enters && 32'(found) >= 32'(missing);
    assign joins = !enters ? '0 : completes ? COUNTS'(missing) : found;
    assign valid = 32'(level) >= LANES;
    always_ff @(posedge clock) begin
        if (reset) begin
            {current, head, tail, level, got, resumed} <= '0;
        end else begin
            tail  <= tail + PLACES'(joins);
            level <= level + (PLACES + 1)'(joins) - (takes && valid ? (PLACES + 1)'(LANES) : '0);
            if (takes && valid) head <= head + PLACES'(LANES);
            if (completes) begin
                current <= current + 1'b1;
                got     <= '0;
                resumed <= '0;
            end else if (enters) begin
                got     <= got + LONGEST'(joins);
                resumed <= resumed + 64'(BLOCKS);
            end
        end
    end
    // Rotated to the tail bit by bit; the words beyond the new ones are arbitrary.
    logic [WIDTH-1:0] turned[ROOM], after[ROOM];
    always_comb begin
        for (int i = 0; i < ROOM; i++) turned[i] = i < NUMBERS ? front[i] : '0;
        for (int bits = 0; bits < PLACES; bits++) begin
            after = turned;
            if (tail[bits]) begin
                for (int i = 0; i < ROOM; i++) turned[(i+(1<<bits))%ROOM] = after[i];
            end
        end
        for (int i = 0; i < ROOM; i++) after[i] = PLACES'(PLACES'(i) - tail) < PLACES'(joins) ? turned[i] : ring[i];
    end
    always_ff @(posedge clock) ring <= after;
    for (genvar lane = 0; lane < LANES; lane++) begin : lanes
        logic [LOG2_LANES-1:0] place;
        for (genvar i = 0; i < LOG2_LANES; i++) begin : bits
            assign place[i] = lane[LOG2_LANES-1-i];
        end
        assign residues[lane] = ring[head+PLACES'(place)];
    end
endmodule
