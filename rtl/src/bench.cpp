// Clocks a unit: each cycle reads a word from standard input (a valid byte, then the bus), and writes a word to standard output in the same form. First it writes the widths of both buses in bytes, as two 32-bit words. With a file as argument, a driver that is built with traces writes the waveform of the first cycles to it.
#include "Vbench.h"
#include "verilated.h"
#if VM_TRACE
#include "verilated_vcd_c.h"
#endif

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

int main(int count, char** arguments) {
    VerilatedContext context;
    Vbench unit{&context};
#if VM_TRACE
    constexpr uint64_t TRACED = 20000;
    VerilatedVcdC trace;
    if (count > 1) {
        context.traceEverOn(true);
        unit.trace(&trace, 99);
        trace.open(arguments[1]);
    }
    uint64_t time = 0;
    const auto shown = [&] {
        if (trace.isOpen() && time < TRACED) trace.dump(time++);
    };
#else
    (void)count, (void)arguments;
    const auto shown = [] {};
#endif
    const uint32_t widths[2] = {sizeof unit.in_data, sizeof unit.out_data};
    std::vector<uint8_t> in(1 + widths[0]), out(1 + widths[1]);
    if (std::fwrite(widths, sizeof widths, 1, stdout) != 1 || std::fflush(stdout) != 0) return 1;
    const auto edge = [&](bool high) {
        unit.clock = high;
        unit.eval();
        shown();
    };
    unit.in_valid = 0;
    unit.reset = 1;
    for (int i = 0; i < 4; i++) edge(i % 2);
    unit.reset = 0;
    while (std::fread(in.data(), 1, in.size(), stdin) == in.size()) {
        unit.in_valid = in[0];
        std::memcpy(&unit.in_data, in.data() + 1, widths[0]);
        // Outputs are registered: the visible values come from the last edge.
        edge(false);
        out[0] = unit.out_valid;
        std::memcpy(out.data() + 1, &unit.out_data, widths[1]);
        if (std::fwrite(out.data(), 1, out.size(), stdout) != out.size()) return 1;
        edge(true);
    }
    return 0;
}
