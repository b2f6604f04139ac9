// In: whether a line of a mask is loaded, whether a body is, the ciphertext, the line's number, its elements, the body; whether lines start, and for how many ciphertexts; a column of the key. Out: which columns have sums, and the sums.
module bench #(
    parameter int unsigned LANES = 4,
    parameter int unsigned COLUMNS = 4,
    parameter int unsigned LINES = 8,
    parameter int unsigned TILE_LINES = 4,
    parameter int unsigned LWE_DIMENSION = 10,
    parameter int unsigned BATCH = 6,
    parameter int unsigned WIDTH = 32,
    parameter int unsigned LOG2_BASE = 4,
    parameter int unsigned LEVELS = 3,
    parameter int unsigned ADDER = 1,
    parameter int unsigned MULTIPLIER = 3,
    localparam int unsigned CHOICE = $clog2(BATCH),
    localparam int unsigned PLACE = $clog2(LINES),
    localparam int unsigned CONTROL = 2 * CHOICE + PLACE + 4
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [CONTROL+(2*LANES+1)*WIDTH-1:0] in_data,
    output logic out_valid,
    output logic [COLUMNS*(WIDTH+1)-1:0] out_data
);
    logic loads, loads_body, start, valid[COLUMNS];
    logic [CHOICE-1:0] loaded;
    logic [PLACE-1:0] line;
    logic [CHOICE:0] count;
    logic [WIDTH-1:0] fresh[LANES], key[LANES], body, sums[COLUMNS];
    logic [COLUMNS-1:0] any;
    assign {count, start, line, loaded, loads_body, loads} = in_data[CONTROL-1:0];
    assign body = in_data[CONTROL+:WIDTH];
    for (genvar lane = 0; lane < LANES; lane++) begin : lanes
        assign fresh[lane] = in_data[CONTROL+(1+lane)*WIDTH+:WIDTH];
        assign key[lane]   = in_data[CONTROL+(1+LANES+lane)*WIDTH+:WIDTH];
    end
    for (genvar column = 0; column < COLUMNS; column++) begin : columns
        assign any[column] = valid[column];
        assign out_data[column*(WIDTH+1)+:WIDTH+1] = {sums[column], valid[column]};
    end
    assign out_valid = |any;
    logic wants, unused;
    logic [WIDTH-1:0] read_sums[COLUMNS];
    always_comb begin
        unused = wants;
        for (int column = 0; column < COLUMNS; column++) unused ^= ^read_sums[column];
    end
    key_switch_cluster #(
        .LANES(LANES),
        .COLUMNS(COLUMNS),
        .LINES(LINES),
        .TILE_LINES(TILE_LINES),
        .LWE_DIMENSION(LWE_DIMENSION),
        .BATCH(BATCH),
        .WIDTH(WIDTH),
        .LOG2_BASE(LOG2_BASE),
        .LEVELS(LEVELS),
        .ADDER(ADDER),
        .MULTIPLIER(MULTIPLIER)
    ) unit (
        .clock,
        .reset,
        .loads(in_valid && loads),
        .loads_body(in_valid && loads_body),
        .loaded,
        .line,
        .fresh,
        .body,
        .start(in_valid && start),
        .count,
        .wants,
        .key,
        .valid,
        .sums,
        .read('0),
        .read_block('0),
        .read_sums
    );
endmodule
