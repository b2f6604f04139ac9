// Verilated -*- C++ -*-
// DESCRIPTION: Verilator output: Design implementation internals
// See Vbench.h for the primary calling header

#include "Vbench__pch.h"

VlCoroutine Vbench___024root___eval_initial__TOP__Vtiming__0(Vbench___024root* vlSelf);
VlCoroutine Vbench___024root___eval_initial__TOP__Vtiming__1(Vbench___024root* vlSelf);

void Vbench___024root___eval_initial(Vbench___024root* vlSelf) {
    VL_DEBUG_IF(VL_DBG_MSGF("+    Vbench___024root___eval_initial\n"); );
    Vbench__Syms* const __restrict vlSymsp VL_ATTR_UNUSED = vlSelf->vlSymsp;
    auto& vlSelfRef = std::ref(*vlSelf).get();
    // Body
    Vbench___024root___eval_initial__TOP__Vtiming__0(vlSelf);
    Vbench___024root___eval_initial__TOP__Vtiming__1(vlSelf);
}

void Vbench___024root____VbeforeTrig_h92c91a4b__0(Vbench___024root* vlSelf, const char* __VeventDescription);

VlCoroutine Vbench___024root___eval_initial__TOP__Vtiming__0(Vbench___024root* vlSelf) {
    VL_DEBUG_IF(VL_DBG_MSGF("+    Vbench___024root___eval_initial__TOP__Vtiming__0\n"); );
    Vbench__Syms* const __restrict vlSymsp VL_ATTR_UNUSED = vlSelf->vlSymsp;
    auto& vlSelfRef = std::ref(*vlSelf).get();
    // Locals
    IData/*31:0*/ bench__DOT__unnamedblk1__DOT__i;
    bench__DOT__unnamedblk1__DOT__i = 0;
    // Body
    bench__DOT__unnamedblk1__DOT__i = 0U;
    while (VL_GTS_III(32, 8U, bench__DOT__unnamedblk1__DOT__i)) {
        vlSelfRef.bench__DOT__a = VL_MODDIVS_III(32, 
                                                 ((IData)(7U) 
                                                  + 
                                                  VL_MULS_III(32, (IData)(0x0000753bU), bench__DOT__unnamedblk1__DOT__i)), (IData)(0x00010001U));
        vlSelfRef.bench__DOT__b = VL_MODDIVS_III(32, 
                                                 ((IData)(0x0000fde8U) 
                                                  + 
                                                  VL_MULS_III(32, (IData)(0x0000c365U), bench__DOT__unnamedblk1__DOT__i)), (IData)(0x00010001U));
        vlSelfRef.bench__DOT__subtract = (1U == VL_MODDIVS_III(32, bench__DOT__unnamedblk1__DOT__i, (IData)(2U)));
        Vbench___024root____VbeforeTrig_h92c91a4b__0(vlSelf, 
                                                     "@(posedge bench.clock)");
        co_await vlSelfRef.__VtrigSched_h92c91a4b__0.trigger(0U, 
                                                             nullptr, 
                                                             "@(posedge bench.clock)", 
                                                             "bench.sv", 
                                                             13);
        co_await vlSelfRef.__VdlySched.delay(1ULL, 
                                             nullptr, 
                                             "bench.sv", 
                                             14);
        VL_WRITEF_NX("%0d %0d %0d %0d %0d\n",5, '~',32,bench__DOT__unnamedblk1__DOT__i
                     , '#',1,(IData)(vlSelfRef.bench__DOT__subtract)
                     , '#',32,vlSelfRef.bench__DOT__a
                     , '#',32,vlSelfRef.bench__DOT__b
                     , '#',32,vlSelfRef.bench__DOT__result);
        bench__DOT__unnamedblk1__DOT__i = ((IData)(1U) 
                                           + bench__DOT__unnamedblk1__DOT__i);
    }
    VL_FINISH_MT("bench.sv", 16, "");
    co_return;
}

VlCoroutine Vbench___024root___eval_initial__TOP__Vtiming__1(Vbench___024root* vlSelf) {
    VL_DEBUG_IF(VL_DBG_MSGF("+    Vbench___024root___eval_initial__TOP__Vtiming__1\n"); );
    Vbench__Syms* const __restrict vlSymsp VL_ATTR_UNUSED = vlSelf->vlSymsp;
    auto& vlSelfRef = std::ref(*vlSelf).get();
    // Body
    while (VL_LIKELY(!vlSymsp->_vm_contextp__->gotFinish())) {
        co_await vlSelfRef.__VdlySched.delay(5ULL, 
                                             nullptr, 
                                             "bench.sv", 
                                             7);
        vlSelfRef.bench__DOT__clock = (1U & (~ (IData)(vlSelfRef.bench__DOT__clock)));
    }
    co_return;
}

void Vbench___024root___eval_triggers_vec__act(Vbench___024root* vlSelf) {
    VL_DEBUG_IF(VL_DBG_MSGF("+    Vbench___024root___eval_triggers_vec__act\n"); );
    Vbench__Syms* const __restrict vlSymsp VL_ATTR_UNUSED = vlSelf->vlSymsp;
    auto& vlSelfRef = std::ref(*vlSelf).get();
    // Body
    vlSelfRef.__VactTriggered[0U] = (QData)((IData)(
                                                    ((vlSelfRef.__VdlySched.awaitingCurrentTime() 
                                                      << 1U) 
                                                     | ((IData)(vlSelfRef.bench__DOT__clock) 
                                                        & (~ (IData)(vlSelfRef.__Vtrigprevexpr___TOP__bench__DOT__clock__0))))));
    vlSelfRef.__Vtrigprevexpr___TOP__bench__DOT__clock__0 
        = vlSelfRef.bench__DOT__clock;
}

bool Vbench___024root___trigger_anySet__act(const VlUnpacked<QData/*63:0*/, 1> &in) {
    VL_DEBUG_IF(VL_DBG_MSGF("+    Vbench___024root___trigger_anySet__act\n"); );
    // Locals
    IData/*31:0*/ n;
    // Body
    n = 0U;
    do {
        if (in[n]) {
            return (1U);
        }
        n = ((IData)(1U) + n);
    } while ((1U > n));
    return (0U);
}

void Vbench___024root___act_comb__TOP__0(Vbench___024root* vlSelf) {
    VL_DEBUG_IF(VL_DBG_MSGF("+    Vbench___024root___act_comb__TOP__0\n"); );
    Vbench__Syms* const __restrict vlSymsp VL_ATTR_UNUSED = vlSelf->vlSymsp;
    auto& vlSelfRef = std::ref(*vlSelf).get();
    // Body
    if (vlSelfRef.bench__DOT__subtract) {
        vlSelfRef.bench__DOT__unit__DOT__plain = (0x00000001ffffffffULL 
                                                  & ((QData)((IData)(vlSelfRef.bench__DOT__a)) 
                                                     - (QData)((IData)(vlSelfRef.bench__DOT__b))));
        vlSelfRef.bench__DOT__unit__DOT__other = (0x00000001ffffffffULL 
                                                  & (0x0000000000010001ULL 
                                                     + vlSelfRef.bench__DOT__unit__DOT__plain));
    } else {
        vlSelfRef.bench__DOT__unit__DOT__plain = (0x00000001ffffffffULL 
                                                  & ((QData)((IData)(vlSelfRef.bench__DOT__b)) 
                                                     + (QData)((IData)(vlSelfRef.bench__DOT__a))));
        vlSelfRef.bench__DOT__unit__DOT__other = (0x00000001ffffffffULL 
                                                  & (vlSelfRef.bench__DOT__unit__DOT__plain 
                                                     - 0x0000000000010001ULL));
    }
}

void Vbench___024root___eval_act(Vbench___024root* vlSelf) {
    VL_DEBUG_IF(VL_DBG_MSGF("+    Vbench___024root___eval_act\n"); );
    Vbench__Syms* const __restrict vlSymsp VL_ATTR_UNUSED = vlSelf->vlSymsp;
    auto& vlSelfRef = std::ref(*vlSelf).get();
    // Body
    if ((3ULL & vlSelfRef.__VactTriggered[0U])) {
        if (vlSelfRef.bench__DOT__subtract) {
            vlSelfRef.bench__DOT__unit__DOT__plain 
                = (0x00000001ffffffffULL & ((QData)((IData)(vlSelfRef.bench__DOT__a)) 
                                            - (QData)((IData)(vlSelfRef.bench__DOT__b))));
            vlSelfRef.bench__DOT__unit__DOT__other 
                = (0x00000001ffffffffULL & (0x0000000000010001ULL 
                                            + vlSelfRef.bench__DOT__unit__DOT__plain));
        } else {
            vlSelfRef.bench__DOT__unit__DOT__plain 
                = (0x00000001ffffffffULL & ((QData)((IData)(vlSelfRef.bench__DOT__b)) 
                                            + (QData)((IData)(vlSelfRef.bench__DOT__a))));
            vlSelfRef.bench__DOT__unit__DOT__other 
                = (0x00000001ffffffffULL & (vlSelfRef.bench__DOT__unit__DOT__plain 
                                            - 0x0000000000010001ULL));
        }
    }
}

void Vbench___024root___nba_sequent__TOP__0(Vbench___024root* vlSelf) {
    VL_DEBUG_IF(VL_DBG_MSGF("+    Vbench___024root___nba_sequent__TOP__0\n"); );
    Vbench__Syms* const __restrict vlSymsp VL_ATTR_UNUSED = vlSelf->vlSymsp;
    auto& vlSelfRef = std::ref(*vlSelf).get();
    // Body
    vlSelfRef.bench__DOT__result = ((1U & ((IData)(vlSelfRef.bench__DOT__subtract)
                                            ? (IData)(
                                                      (vlSelfRef.bench__DOT__unit__DOT__plain 
                                                       >> 0x00000020U))
                                            : (~ (IData)(
                                                         (vlSelfRef.bench__DOT__unit__DOT__other 
                                                          >> 0x00000020U)))))
                                     ? (IData)(vlSelfRef.bench__DOT__unit__DOT__other)
                                     : (IData)(vlSelfRef.bench__DOT__unit__DOT__plain));
}

void Vbench___024root___eval_nba(Vbench___024root* vlSelf) {
    VL_DEBUG_IF(VL_DBG_MSGF("+    Vbench___024root___eval_nba\n"); );
    Vbench__Syms* const __restrict vlSymsp VL_ATTR_UNUSED = vlSelf->vlSymsp;
    auto& vlSelfRef = std::ref(*vlSelf).get();
    // Body
    if ((1ULL & vlSelfRef.__VnbaTriggered[0U])) {
        vlSelfRef.bench__DOT__result = ((1U & ((IData)(vlSelfRef.bench__DOT__subtract)
                                                ? (IData)(
                                                          (vlSelfRef.bench__DOT__unit__DOT__plain 
                                                           >> 0x00000020U))
                                                : (~ (IData)(
                                                             (vlSelfRef.bench__DOT__unit__DOT__other 
                                                              >> 0x00000020U)))))
                                         ? (IData)(vlSelfRef.bench__DOT__unit__DOT__other)
                                         : (IData)(vlSelfRef.bench__DOT__unit__DOT__plain));
    }
    if ((3ULL & vlSelfRef.__VnbaTriggered[0U])) {
        if (vlSelfRef.bench__DOT__subtract) {
            vlSelfRef.bench__DOT__unit__DOT__plain 
                = (0x00000001ffffffffULL & ((QData)((IData)(vlSelfRef.bench__DOT__a)) 
                                            - (QData)((IData)(vlSelfRef.bench__DOT__b))));
            vlSelfRef.bench__DOT__unit__DOT__other 
                = (0x00000001ffffffffULL & (0x0000000000010001ULL 
                                            + vlSelfRef.bench__DOT__unit__DOT__plain));
        } else {
            vlSelfRef.bench__DOT__unit__DOT__plain 
                = (0x00000001ffffffffULL & ((QData)((IData)(vlSelfRef.bench__DOT__b)) 
                                            + (QData)((IData)(vlSelfRef.bench__DOT__a))));
            vlSelfRef.bench__DOT__unit__DOT__other 
                = (0x00000001ffffffffULL & (vlSelfRef.bench__DOT__unit__DOT__plain 
                                            - 0x0000000000010001ULL));
        }
    }
}

void Vbench___024root___timing_ready(Vbench___024root* vlSelf) {
    VL_DEBUG_IF(VL_DBG_MSGF("+    Vbench___024root___timing_ready\n"); );
    Vbench__Syms* const __restrict vlSymsp VL_ATTR_UNUSED = vlSelf->vlSymsp;
    auto& vlSelfRef = std::ref(*vlSelf).get();
    // Body
    if ((1ULL & vlSelfRef.__VactTriggered[0U])) {
        vlSelfRef.__VtrigSched_h92c91a4b__0.ready("@(posedge bench.clock)");
    }
}

void Vbench___024root___timing_resume(Vbench___024root* vlSelf) {
    VL_DEBUG_IF(VL_DBG_MSGF("+    Vbench___024root___timing_resume\n"); );
    Vbench__Syms* const __restrict vlSymsp VL_ATTR_UNUSED = vlSelf->vlSymsp;
    auto& vlSelfRef = std::ref(*vlSelf).get();
    // Body
    vlSelfRef.__VtrigSched_h92c91a4b__0.moveToResumeQueue(
                                                          "@(posedge bench.clock)");
    vlSelfRef.__VtrigSched_h92c91a4b__0.resume("@(posedge bench.clock)");
    if ((2ULL & vlSelfRef.__VactTriggered[0U])) {
        vlSelfRef.__VdlySched.resume();
    }
}

void Vbench___024root___trigger_orInto__act_vec_vec(VlUnpacked<QData/*63:0*/, 1> &out, const VlUnpacked<QData/*63:0*/, 1> &in) {
    VL_DEBUG_IF(VL_DBG_MSGF("+    Vbench___024root___trigger_orInto__act_vec_vec\n"); );
    // Locals
    IData/*31:0*/ n;
    // Body
    n = 0U;
    do {
        out[n] = (out[n] | in[n]);
        n = ((IData)(1U) + n);
    } while ((0U >= n));
}

#ifdef VL_DEBUG
VL_ATTR_COLD void Vbench___024root___dump_triggers__act(const VlUnpacked<QData/*63:0*/, 1> &triggers, const std::string &tag);
#endif  // VL_DEBUG

bool Vbench___024root___eval_phase__act(Vbench___024root* vlSelf) {
    VL_DEBUG_IF(VL_DBG_MSGF("+    Vbench___024root___eval_phase__act\n"); );
    Vbench__Syms* const __restrict vlSymsp VL_ATTR_UNUSED = vlSelf->vlSymsp;
    auto& vlSelfRef = std::ref(*vlSelf).get();
    // Locals
    CData/*0:0*/ __VactExecute;
    // Body
    Vbench___024root___eval_triggers_vec__act(vlSelf);
    Vbench___024root___timing_ready(vlSelf);
    Vbench___024root___trigger_orInto__act_vec_vec(vlSelfRef.__VactTriggered, vlSelfRef.__VactTriggeredAcc);
#ifdef VL_DEBUG
    if (VL_UNLIKELY(vlSymsp->_vm_contextp__->debug())) {
        Vbench___024root___dump_triggers__act(vlSelfRef.__VactTriggered, "act"s);
    }
#endif
    Vbench___024root___trigger_orInto__act_vec_vec(vlSelfRef.__VnbaTriggered, vlSelfRef.__VactTriggered);
    __VactExecute = Vbench___024root___trigger_anySet__act(vlSelfRef.__VactTriggered);
    if (__VactExecute) {
        vlSelfRef.__VactTriggeredAcc.fill(0ULL);
        Vbench___024root___timing_resume(vlSelf);
        Vbench___024root___eval_act(vlSelf);
    }
    return (__VactExecute);
}

bool Vbench___024root___eval_phase__inact(Vbench___024root* vlSelf) {
    VL_DEBUG_IF(VL_DBG_MSGF("+    Vbench___024root___eval_phase__inact\n"); );
    Vbench__Syms* const __restrict vlSymsp VL_ATTR_UNUSED = vlSelf->vlSymsp;
    auto& vlSelfRef = std::ref(*vlSelf).get();
    // Locals
    CData/*0:0*/ __VinactExecute;
    // Body
    __VinactExecute = vlSelfRef.__VdlySched.awaitingZeroDelay();
    if (__VinactExecute) {
        VL_FATAL_MT("bench.sv", 2, "", "ZERODLY: Design Verilated with '--no-sched-zero-delay', but #0 delay executed at runtime");
    }
    return (__VinactExecute);
}

void Vbench___024root___trigger_clear__act(VlUnpacked<QData/*63:0*/, 1> &out) {
    VL_DEBUG_IF(VL_DBG_MSGF("+    Vbench___024root___trigger_clear__act\n"); );
    // Locals
    IData/*31:0*/ n;
    // Body
    n = 0U;
    do {
        out[n] = 0ULL;
        n = ((IData)(1U) + n);
    } while ((1U > n));
}

bool Vbench___024root___eval_phase__nba(Vbench___024root* vlSelf) {
    VL_DEBUG_IF(VL_DBG_MSGF("+    Vbench___024root___eval_phase__nba\n"); );
    Vbench__Syms* const __restrict vlSymsp VL_ATTR_UNUSED = vlSelf->vlSymsp;
    auto& vlSelfRef = std::ref(*vlSelf).get();
    // Locals
    CData/*0:0*/ __VnbaExecute;
    // Body
    __VnbaExecute = Vbench___024root___trigger_anySet__act(vlSelfRef.__VnbaTriggered);
    if (__VnbaExecute) {
        Vbench___024root___eval_nba(vlSelf);
        Vbench___024root___trigger_clear__act(vlSelfRef.__VnbaTriggered);
    }
    return (__VnbaExecute);
}

void Vbench___024root___eval(Vbench___024root* vlSelf) {
    VL_DEBUG_IF(VL_DBG_MSGF("+    Vbench___024root___eval\n"); );
    Vbench__Syms* const __restrict vlSymsp VL_ATTR_UNUSED = vlSelf->vlSymsp;
    auto& vlSelfRef = std::ref(*vlSelf).get();
    // Locals
    IData/*31:0*/ __VnbaIterCount;
    // Body
    __VnbaIterCount = 0U;
    do {
        if (VL_UNLIKELY(((0x00002710U < __VnbaIterCount)))) {
#ifdef VL_DEBUG
            Vbench___024root___dump_triggers__act(vlSelfRef.__VnbaTriggered, "nba"s);
#endif
            VL_FATAL_MT("bench.sv", 2, "", "DIDNOTCONVERGE: NBA region did not converge after '--converge-limit' of 10000 tries");
        }
        __VnbaIterCount = ((IData)(1U) + __VnbaIterCount);
        vlSelfRef.__VinactIterCount = 0U;
        do {
            if (VL_UNLIKELY(((0x00002710U < vlSelfRef.__VinactIterCount)))) {
                VL_FATAL_MT("bench.sv", 2, "", "DIDNOTCONVERGE: Inactive region did not converge after '--converge-limit' of 10000 tries");
            }
            vlSelfRef.__VinactIterCount = ((IData)(1U) 
                                           + vlSelfRef.__VinactIterCount);
            vlSelfRef.__VactIterCount = 0U;
            do {
                if (VL_UNLIKELY(((0x00002710U < vlSelfRef.__VactIterCount)))) {
#ifdef VL_DEBUG
                    Vbench___024root___dump_triggers__act(vlSelfRef.__VactTriggered, "act"s);
#endif
                    VL_FATAL_MT("bench.sv", 2, "", "DIDNOTCONVERGE: Active region did not converge after '--converge-limit' of 10000 tries");
                }
                vlSelfRef.__VactIterCount = ((IData)(1U) 
                                             + vlSelfRef.__VactIterCount);
                vlSelfRef.__VactPhaseResult = Vbench___024root___eval_phase__act(vlSelf);
            } while (vlSelfRef.__VactPhaseResult);
            vlSelfRef.__VinactPhaseResult = Vbench___024root___eval_phase__inact(vlSelf);
        } while (vlSelfRef.__VinactPhaseResult);
        vlSelfRef.__VnbaPhaseResult = Vbench___024root___eval_phase__nba(vlSelf);
    } while (vlSelfRef.__VnbaPhaseResult);
}

void Vbench___024root____VbeforeTrig_h92c91a4b__0(Vbench___024root* vlSelf, const char* __VeventDescription) {
    VL_DEBUG_IF(VL_DBG_MSGF("+    Vbench___024root____VbeforeTrig_h92c91a4b__0\n"); );
    Vbench__Syms* const __restrict vlSymsp VL_ATTR_UNUSED = vlSelf->vlSymsp;
    auto& vlSelfRef = std::ref(*vlSelf).get();
    // Locals
    VlUnpacked<QData/*63:0*/, 1> __VTmp;
    // Body
    __VTmp[0U] = (QData)((IData)(((IData)(vlSelfRef.bench__DOT__clock) 
                                  & (~ (IData)(vlSelfRef.__Vtrigprevexpr___TOP__bench__DOT__clock__0)))));
    vlSelfRef.__Vtrigprevexpr___TOP__bench__DOT__clock__0 
        = vlSelfRef.bench__DOT__clock;
    if ((1ULL & __VTmp[0U])) {
        vlSelfRef.__VtrigSched_h92c91a4b__0.ready(__VeventDescription);
    }
    vlSelfRef.__VactTriggeredAcc[0U] = (vlSelfRef.__VactTriggeredAcc[0U] 
                                        | __VTmp[0U]);
}

#ifdef VL_DEBUG
void Vbench___024root___eval_debug_assertions(Vbench___024root* vlSelf) {
    VL_DEBUG_IF(VL_DBG_MSGF("+    Vbench___024root___eval_debug_assertions\n"); );
    Vbench__Syms* const __restrict vlSymsp VL_ATTR_UNUSED = vlSelf->vlSymsp;
    auto& vlSelfRef = std::ref(*vlSelf).get();
}
#endif  // VL_DEBUG
