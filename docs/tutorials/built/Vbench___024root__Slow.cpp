// Verilated -*- C++ -*-
// DESCRIPTION: Verilator output: Design implementation internals
// See Vbench.h for the primary calling header

#include "Vbench__pch.h"

void Vbench___024root___ctor_var_reset(Vbench___024root* vlSelf);

Vbench___024root::Vbench___024root(Vbench__Syms* symsp, const char* namep)
    : __VdlySched{*symsp->_vm_contextp__}
 {
    vlSymsp = symsp;
    vlNamep = strdup(namep);
    // Reset structure values
    Vbench___024root___ctor_var_reset(this);
}

void Vbench___024root::__Vconfigure(bool first) {
    (void)first;  // Prevent unused variable warning
}

Vbench___024root::~Vbench___024root() {
    VL_DO_DANGLING(std::free(const_cast<char*>(vlNamep)), vlNamep);
}
