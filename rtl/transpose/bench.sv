// In: log2 of the chunks, a chunk. Out: a chunk.
module bench #(
    parameter int unsigned LANES = 8,
    parameter int unsigned WIDTH = 32,
    localparam int unsigned LOG2 = $clog2($clog2(LANES) + 1)
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [LOG2+LANES*WIDTH-1:0] in_data,
    output logic out_valid,
    output logic [LANES*WIDTH-1:0] out_data
);
    // The vectors' size is kept while they drain.
    logic [LOG2-1:0] size, last;
    assign size = in_valid ? in_data[LOG2-1:0] : last;
    always_ff @(posedge clock) last <= size;
    transpose #(
        .LANES(LANES),
        .WIDTH(WIDTH)
    ) unit (
        .clock,
        .reset,
        .log2_chunks(size),
        .in_valid,
        .in(in_data[LOG2+:LANES*WIDTH]),
        .out_valid,
        .out(out_data)
    );
endmodule
