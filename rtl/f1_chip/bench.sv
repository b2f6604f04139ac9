// In: kind, number, component, and words. Kind 0 is an instruction, whose words are address, is_last, cycles, begin_cycle, operation; its number is the group. Kind 1 is the row `component` of the table `number`; 2 starts; 3 is a word of the memory stack. Out: failed, a stored word.
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
    localparam int unsigned WIDTH = 32,
    localparam int unsigned OPERATION = 7 + $clog2(TABLES) + 2 * WIDTH + 4 * $clog2(LANES) + 1
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [18+LANES*WIDTH-1:0] in_data,
    output logic out_valid,
    output logic [LANES*WIDTH:0] out_data
);
    logic [1:0] kind;
    logic [LANES*WIDTH-1:0] words;
    assign kind = in_data[1:0];
    assign words = in_data[18+:LANES*WIDTH];
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
        .load(in_valid && kind == 0),
        .group(in_data[2+:8]),
        .component(in_data[10+:8]),
        .address(words[$clog2(DEPTH)-1:0]),
        .is_last(words[16]),
        .cycles(words[17+:16]),
        .begin_cycle(words[33+:16]),
        .operation(words[49+:OPERATION]),
        .load_row(in_valid && kind == 1),
        .row(in_data[10+:$clog2(LANES+2)]),
        .table_number(in_data[2+:$clog2(TABLES)]),
        .in(words),
        .start(in_valid && kind == 2),
        .out_valid,
        .out(out_data[LANES*WIDTH-1:0]),
        .failed(out_data[LANES*WIDTH])
    );
endmodule
