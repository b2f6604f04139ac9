// In: whether it is a row of a table, the row, the table, modulus above its lowest 16 bits, a chunk or row. Out: a chunk.
module bench #(
    parameter int unsigned LANES = 8,
    parameter int unsigned CHUNKS = 8,
    parameter int unsigned ROUNDS = 2,
    parameter int unsigned TABLES = 2,
    localparam int unsigned WIDTH = 16 * ROUNDS,
    localparam int unsigned ROW_BITS = $clog2(CHUNKS + 2),
    localparam int unsigned TABLE_BITS = TABLES > 1 ? $clog2(TABLES) : 1,
    localparam int unsigned CONTROL = 1 + ROW_BITS + TABLE_BITS
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [CONTROL+WIDTH-16+LANES*WIDTH-1:0] in_data,
    output logic out_valid,
    output logic [LANES*WIDTH-1:0] out_data
);
    four_step_ntt #(
        .LANES(LANES),
        .CHUNKS(CHUNKS),
        .ROUNDS(ROUNDS),
        .TABLES(TABLES)
    ) unit (
        .clock,
        .reset,
        .load(in_valid && in_data[0]),
        .row(in_data[1+:ROW_BITS]),
        .table_number(in_data[1+ROW_BITS+:TABLE_BITS]),
        .high(in_data[CONTROL+:WIDTH-16]),
        .in_valid(in_valid && !in_data[0]),
        .in(in_data[CONTROL+WIDTH-16+:LANES*WIDTH]),
        .out_valid,
        .out(out_data)
    );
endmodule
