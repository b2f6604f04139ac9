// In: kind, number, component, and words. Kind 0 is a word of the memory, at the address that number and component are together; 1 is the row `component` of the table `number`; 2 starts, with three numbers of 16 bits: cycles before the run, instructions, address of the first. The memory has the stack's words of a vector one after another, and answers after LATENCY cycles. Out: failed, the number of a stored vector, its word.
module bench #(
    parameter int unsigned LANES = 8,
    parameter int unsigned TABLES = 6,
    parameter int unsigned MULTIPLIERS = 2,
    parameter int unsigned ADDERS = 2,
    parameter int unsigned REGISTERS = 16,
    parameter int unsigned REGISTER_BANKS = 8,
    parameter int unsigned BANKS = 4,
    parameter int unsigned FRAMES = 32,
    parameter int unsigned CLUSTERS = 2,
    parameter int unsigned NETWORK = 3,
    parameter int unsigned DEPTH = 512,
    parameter int unsigned LATENCY = 200,
    localparam int unsigned WIDTH = 32,
    localparam int unsigned WORD = LANES * WIDTH,
    localparam int unsigned ADDRESS = 16
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [18+WORD-1:0] in_data,
    output logic out_valid,
    output logic [16+WORD:0] out_data
);
    logic [1:0] kind;
    logic [WORD-1:0] words;
    logic start, row, fetch, moves, stores, fetched;
    logic [15:0] vector, held, moved;
    logic [$clog2(LANES)-1:0] left, chunk;
    logic [ADDRESS-1:0] next, place, answered;
    assign kind = in_data[1:0];
    assign words = in_data[18+:WORD];
    assign start = in_valid && kind == 2;
    assign row = in_valid && kind == 1;

    // The memory stack.
    logic [WORD-1:0] memory[1<<ADDRESS];
    assign moved = moves ? vector : held;
    assign chunk = moves ? '0 : -left;
    assign place = fetch ? next : ADDRESS'(32'(moved) * LANES + 32'(chunk));
    always_ff @(posedge clock) begin
        if (in_valid && kind == 0) memory[in_data[2+:ADDRESS]] <= words;
        if (out_valid) memory[place] <= out_data[WORD-1:0];
        held <= moved;
        if (reset) left <= '0;
        else if (moves) left <= '1;
        else if (left != 0) left <= left - 1'b1;
        next <= start ? words[32+:ADDRESS] : next + ADDRESS'(fetch);
    end
    delay #(
        .CYCLES(LATENCY),
        .WIDTH(1 + ADDRESS)
    ) answers (
        .clock,
        .reset,
        .in({fetch, place}),
        .out({fetched, answered})
    );
    assign out_data[WORD+:16] = moved;

    f1_chip #(
        .LANES(LANES),
        .TABLES(TABLES),
        .MULTIPLIERS(MULTIPLIERS),
        .ADDERS(ADDERS),
        .REGISTERS(REGISTERS),
        .REGISTER_BANKS(REGISTER_BANKS),
        .BANKS(BANKS),
        .FRAMES(FRAMES),
        .CLUSTERS(CLUSTERS),
        .NETWORK(NETWORK),
        .DEPTH(DEPTH)
    ) chip (
        .clock,
        .reset,
        .load_row(row),
        .row(in_data[10+:$clog2(LANES+2)]),
        .table_number(in_data[2+:$clog2(TABLES)]),
        .start,
        .lead(words[15:0]),
        .instructions(words[31:16]),
        .fetch,
        .moves,
        .stores,
        .vector,
        .fetched,
        .in(row ? words : memory[answered]),
        .out_valid,
        .out(out_data[WORD-1:0]),
        .failed(out_data[WORD+16])
    );
    logic unused;
    assign unused = stores;
endmodule
