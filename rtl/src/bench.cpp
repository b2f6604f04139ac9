// Clocks a unit: each cycle reads a word from standard input (a valid byte, then the bus), and writes a word to standard output in the same form. First it writes the widths of both buses in bytes, as two 32-bit words.
#include "Vbench.h"
#include "verilated.h"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

int main() {
    VerilatedContext context;
    Vbench unit{&context};
    const uint32_t widths[2] = {sizeof unit.in_data, sizeof unit.out_data};
    std::vector<uint8_t> in(1 + widths[0]), out(1 + widths[1]);
    if (std::fwrite(widths, sizeof widths, 1, stdout) != 1 || std::fflush(stdout) != 0) return 1;
    const auto clock = [&](bool reset) {
        unit.reset = reset;
        unit.clock = 0;
        unit.eval();
        unit.clock = 1;
        unit.eval();
    };
    unit.in_valid = 0;
    clock(true);
    clock(true);
    while (std::fread(in.data(), 1, in.size(), stdin) == in.size()) {
        unit.in_valid = in[0];
        std::memcpy(&unit.in_data, in.data() + 1, widths[0]);
        // Outputs are registered: the visible values come from the last edge.
        unit.reset = 0;
        unit.clock = 0;
        unit.eval();
        out[0] = unit.out_valid;
        std::memcpy(out.data() + 1, &unit.out_data, widths[1]);
        if (std::fwrite(out.data(), 1, out.size(), stdout) != out.size()) return 1;
        unit.clock = 1;
        unit.eval();
    }
    return 0;
}
