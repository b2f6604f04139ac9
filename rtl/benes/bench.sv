// In: settings by column, words. Out: words.
module bench #(
    parameter int unsigned WIDTH = 40,
    parameter int unsigned LANES = 512,
    localparam int unsigned COLUMNS = 2 * $clog2(LANES) - 1
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [COLUMNS*LANES/2+LANES*WIDTH-1:0] in_data,
    output logic out_valid,
    output logic [LANES*WIDTH-1:0] out_data
);
    // Settings enter with their words and are delayed.
    logic [COLUMNS-1:0][LANES/2-1:0] crosses;
    skew #(
        .WIDTH(LANES / 2),
        .LANES(COLUMNS)
    ) settings (
        .clock,
        .in(in_data[0+:COLUMNS*LANES/2]),
        .out(crosses)
    );
    benes #(
        .WIDTH(WIDTH),
        .LANES(LANES)
    ) unit (
        .clock,
        .crosses,
        .in(in_data[COLUMNS*LANES/2+:LANES*WIDTH]),
        .out(out_data)
    );
    delay #(
        .CYCLES(latency::benes(LANES))
    ) valid (
        .clock,
        .reset,
        .in(in_valid),
        .out(out_valid)
    );
endmodule
