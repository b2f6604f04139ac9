// Masks of switching keys from their seed (Osiris, section IV-E): uniform residues modulo q, LANES a cycle, a limb of 2^log2_tiles tiles after the other.
//
// The generator is the project's: ChaCha with 8 rounds; of sixteen consecutive blocks word 0, two blocks to a number of 64 bits, the even one below, then word 1 and
// so on. A number is cut to the bits of q and taken if it is below q. GROUPS of sixteen blocks come each cycle, 128 numbers of each, so
// 128 GROUPS should be more than LANES by 2^bits / q at least: by two, and some for chance, for any prime. What is taken is moved to the front, and joins a
// ring of residues. Tiles leave it with their lanes in reversed order of bits: that of a transform's values.
//
// It draws ahead: for LIMBS limbs at most, which may come long before their tiles are taken. Nothing moves on while the ring has no room, so then all of
// the pipeline is full of what is taken next, and its length is no gap. How many cycles a limb draws for is not known before it is complete, a pipeline's
// length after. So the next one, if it is there, follows after `expected` cycles of drawing, and what came for nothing is dropped; a limb that then proves
// short is taken up again where it stopped, and everything behind it is drawn anew.
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

    // Limbs from the one that the ring takes residues of to the last that has come. Their numbers count on modulo 2 LIMBS.
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

    // What is drawn next: of which limb, from which block on.
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
            // Also of a limb that nothing was drawn for in advance.
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

    // Beside the numbers: whether they are there, and of which limb.
    logic [DEPTH-1:0] there;
    limb_t of[DEPTH];
    always_ff @(posedge clock) begin
        if (reset || rewinds) there <= '0;
        else if (advances) there <= {there[DEPTH-2:0], draws};
        if (advances) begin
            for (int i = 0; i < DEPTH; i++) of[i] <= i == 0 ? drawing_now : of[i-1];
        end
    end

    // Sixteen blocks' words; numbers; how many before each are none of q's residues.
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
        // Sums over 1, 2, 4 numbers and so on up to each.
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

    // The ring. Numbers at its entry are of the current limb, of one before, which is complete, or of a next one: then the current one is short.
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
    // Turned to the tail bit by bit, whatever lies behind what joins.
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
