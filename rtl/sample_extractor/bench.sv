// In: whether it is the body, the coefficients. Out: the buffer's word, the elements.
module bench #(
    parameter int unsigned WIDTH = 16,
    parameter int unsigned LANES = 4,
    parameter int unsigned CYCLES = 8,
    localparam int unsigned TIME = CYCLES > 1 ? $clog2(CYCLES) : 1
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [WIDTH*LANES:0] in_data,
    output logic out_valid,
    output logic [WIDTH*LANES+TIME-1:0] out_data
);
    logic [WIDTH-1:0] in[LANES], out[LANES];
    int unsigned words;  // of the polynomial, those that have come
    for (genvar lane = 0; lane < LANES; lane++) begin : lanes
        assign in[lane] = in_data[1+WIDTH*lane+:WIDTH];
        assign out_data[TIME+WIDTH*lane+:WIDTH] = out[lane];
    end
    always_ff @(posedge clock) words <= reset ? 0 : in_valid ? (words + 1) % CYCLES : words;
    sample_extractor #(
        .WIDTH (WIDTH),
        .LANES (LANES),
        .CYCLES(CYCLES)
    ) unit (
        .clock,
        .reset,
        .start(in_valid && words == 0),
        .is_body(in_data[0]),
        .in,
        .place(out_data[TIME-1:0]),
        .out
    );
    delay #(
        .CYCLES(latency::sample_extractor())
    ) valid (
        .clock,
        .reset,
        .in (in_valid),
        .out(out_valid)
    );
endmodule
