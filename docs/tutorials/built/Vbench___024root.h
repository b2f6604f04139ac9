// Verilated -*- C++ -*-
// DESCRIPTION: Verilator output: Design internal header
// See Vbench.h for the primary calling header

#ifndef VERILATED_VBENCH___024ROOT_H_
#define VERILATED_VBENCH___024ROOT_H_  // guard

#include "verilated.h"
#include "verilated_timing.h"


class Vbench__Syms;

class alignas(VL_CACHE_LINE_BYTES) Vbench___024root final {
  public:

    // DESIGN SPECIFIC STATE
    CData/*0:0*/ bench__DOT__clock;
    CData/*0:0*/ bench__DOT__subtract;
    CData/*0:0*/ __VstlFirstIteration;
    CData/*0:0*/ __VstlPhaseResult;
    CData/*0:0*/ __Vtrigprevexpr___TOP__bench__DOT__clock__0;
    CData/*0:0*/ __VactPhaseResult;
    CData/*0:0*/ __VinactPhaseResult;
    CData/*0:0*/ __VnbaPhaseResult;
    IData/*31:0*/ bench__DOT__a;
    IData/*31:0*/ bench__DOT__b;
    IData/*31:0*/ bench__DOT__result;
    IData/*31:0*/ __VactIterCount;
    IData/*31:0*/ __VinactIterCount;
    IData/*31:0*/ __Vi;
    QData/*32:0*/ bench__DOT__unit__DOT__plain;
    QData/*32:0*/ bench__DOT__unit__DOT__other;
    VlUnpacked<QData/*63:0*/, 1> __VstlTriggered;
    VlUnpacked<QData/*63:0*/, 1> __VactTriggered;
    VlUnpacked<QData/*63:0*/, 1> __VactTriggeredAcc;
    VlUnpacked<QData/*63:0*/, 1> __VnbaTriggered;
    VlDelayScheduler __VdlySched;
    VlTriggerScheduler __VtrigSched_h92c91a4b__0;

    // INTERNAL VARIABLES
    Vbench__Syms* vlSymsp;
    const char* vlNamep;

    // CONSTRUCTORS
    Vbench___024root(Vbench__Syms* symsp, const char* namep);
    ~Vbench___024root();
    VL_UNCOPYABLE(Vbench___024root);

    // INTERNAL METHODS
    void __Vconfigure(bool first);
};


#endif  // guard
