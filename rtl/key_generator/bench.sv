// In: whether the current tile waits, whether a limb arrives, and the limb; limbs wait here until the generator is ready. Out: residues.
module bench #(
    parameter int unsigned WIDTH = 40,
    parameter int unsigned LANES = 64,
    parameter int unsigned GROUPS = 1,
    parameter int unsigned TILE_BITS = 7,
    parameter int unsigned LIMBS = 64,
    localparam int unsigned LIMB = 256 + 64 + 2 * WIDTH + $clog2(TILE_BITS + 1) + TILE_BITS + 2
) (
    input logic clock,
    input logic reset,
    input logic in_valid,
    input logic [LIMB+1:0] in_data,
    output logic out_valid,
    output logic [LANES*WIDTH-1:0] out_data
);
    logic [LIMB-1:0] waiting[64];
    logic [5:0] come, gone;
    logic ready, start, waits, valid, starts;
    logic [7:0][31:0] seed;
    logic [63:0] number;
    logic [WIDTH-1:0] modulus, mask, residues[LANES];
    logic [$clog2(TILE_BITS+1)-1:0] log2_tiles;
    logic [TILE_BITS+1:0] expected;

    // An arriving limb passes immediately if none waits.
    assign starts = in_valid && in_data[1];
    assign start = ready && (come != gone || starts);
    assign {expected, log2_tiles, mask, modulus, number, seed} = come != gone ? waiting[gone] : in_data[LIMB+1:2];
    always_ff @(posedge clock) begin
        if (starts) waiting[come] <= in_data[LIMB+1:2];
        come <= reset ? '0 : come + 6'(starts);
        gone <= reset ? '0 : gone + 6'(start);
    end
    assign waits = in_valid && in_data[0];
    assign out_valid = valid && !waits;
    for (genvar lane = 0; lane < LANES; lane++) begin : lanes
        assign out_data[lane*WIDTH+:WIDTH] = residues[lane];
    end
    key_generator #(
        .WIDTH(WIDTH),
        .LANES(LANES),
        .GROUPS(GROUPS),
        .TILE_BITS(TILE_BITS),
        .LIMBS(LIMBS)
    ) unit (
        .clock,
        .reset,
        .start,
        .seed,
        .number,
        .modulus,
        .mask,
        .log2_tiles,
        .expected,
        .ready,
        .takes(!waits),
        .valid,
        .residues
    );
endmodule
