
module bench;
    logic clock = 0;
    logic subtract = 0;
    logic [31:0] a = 0, b = 0, result;
    modular_adder unit (.clock, .subtract, .q(32'd65537), .a, .b, .result);
    always #5 clock = !clock;
    initial begin
        for (int i = 0; i < 8; i++) begin
            a = (i * 30011 + 7) % 65537;
            b = (i * 50021 + 65000) % 65537;
            subtract = i % 2 == 1;
            @(posedge clock);
            #1 $display("%0d %0d %0d %0d %0d", i, subtract, a, b, result);
        end
        $finish;
    end
endmodule
