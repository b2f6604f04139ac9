// Verilated -*- C++ -*-
// DESCRIPTION: Verilator output: Design implementation internals
// See Vbench.h for the primary calling header

#include "Vbench__pch.h"

void Vbench___024root___timing_ready(Vbench___024root* vlSelf);

VL_ATTR_COLD void Vbench___024root___eval_static(Vbench___024root* vlSelf) {
    VL_DEBUG_IF(VL_DBG_MSGF("+    Vbench___024root___eval_static\n"); );
    Vbench__Syms* const __restrict vlSymsp VL_ATTR_UNUSED = vlSelf->vlSymsp;
    auto& vlSelfRef = std::ref(*vlSelf).get();
    // Body
    vlSelfRef.bench__DOT__clock = 0U;
    vlSelfRef.bench__DOT__subtract = 0U;
    vlSelfRef.bench__DOT__a = 0U;
    vlSelfRef.bench__DOT__b = 0U;
    vlSelfRef.__Vtrigprevexpr___TOP__bench__DOT__clock__0 = 0U;
    Vbench___024root___timing_ready(vlSelf);
    do {
        vlSelfRef.__VactTriggeredAcc[vlSelfRef.__Vi] 
            = vlSelfRef.__VactTriggered[vlSelfRef.__Vi];
        vlSelfRef.__Vi = ((IData)(1U) + vlSelfRef.__Vi);
    } while ((0U >= vlSelfRef.__Vi));
}

VL_ATTR_COLD void Vbench___024root___eval_static__TOP(Vbench___024root* vlSelf) {
    VL_DEBUG_IF(VL_DBG_MSGF("+    Vbench___024root___eval_static__TOP\n"); );
    Vbench__Syms* const __restrict vlSymsp VL_ATTR_UNUSED = vlSelf->vlSymsp;
    auto& vlSelfRef = std::ref(*vlSelf).get();
    // Body
    vlSelfRef.bench__DOT__clock = 0U;
    vlSelfRef.bench__DOT__subtract = 0U;
    vlSelfRef.bench__DOT__a = 0U;
    vlSelfRef.bench__DOT__b = 0U;
}

VL_ATTR_COLD void Vbench___024root___eval_final(Vbench___024root* vlSelf) {
    VL_DEBUG_IF(VL_DBG_MSGF("+    Vbench___024root___eval_final\n"); );
    Vbench__Syms* const __restrict vlSymsp VL_ATTR_UNUSED = vlSelf->vlSymsp;
    auto& vlSelfRef = std::ref(*vlSelf).get();
}

#ifdef VL_DEBUG
VL_ATTR_COLD void Vbench___024root___dump_triggers__stl(const VlUnpacked<QData/*63:0*/, 1> &triggers, const std::string &tag);
#endif  // VL_DEBUG
VL_ATTR_COLD bool Vbench___024root___eval_phase__stl(Vbench___024root* vlSelf);

VL_ATTR_COLD void Vbench___024root___eval_settle(Vbench___024root* vlSelf) {
    VL_DEBUG_IF(VL_DBG_MSGF("+    Vbench___024root___eval_settle\n"); );
    Vbench__Syms* const __restrict vlSymsp VL_ATTR_UNUSED = vlSelf->vlSymsp;
    auto& vlSelfRef = std::ref(*vlSelf).get();
    // Locals
    IData/*31:0*/ __VstlIterCount;
    // Body
    __VstlIterCount = 0U;
    vlSelfRef.__VstlFirstIteration = 1U;
    do {
        if (VL_UNLIKELY(((0x00002710U < __VstlIterCount)))) {
#ifdef VL_DEBUG
            Vbench___024root___dump_triggers__stl(vlSelfRef.__VstlTriggered, "stl"s);
#endif
            VL_FATAL_MT("bench.sv", 2, "", "DIDNOTCONVERGE: Settle region did not converge after '--converge-limit' of 10000 tries");
        }
        __VstlIterCount = ((IData)(1U) + __VstlIterCount);
        vlSelfRef.__VstlPhaseResult = Vbench___024root___eval_phase__stl(vlSelf);
        vlSelfRef.__VstlFirstIteration = 0U;
    } while (vlSelfRef.__VstlPhaseResult);
}

VL_ATTR_COLD void Vbench___024root___eval_triggers_vec__stl(Vbench___024root* vlSelf) {
    VL_DEBUG_IF(VL_DBG_MSGF("+    Vbench___024root___eval_triggers_vec__stl\n"); );
    Vbench__Syms* const __restrict vlSymsp VL_ATTR_UNUSED = vlSelf->vlSymsp;
    auto& vlSelfRef = std::ref(*vlSelf).get();
    // Body
    vlSelfRef.__VstlTriggered[0U] = ((0xfffffffffffffffeULL 
                                      & vlSelfRef.__VstlTriggered[0U]) 
                                     | (IData)((IData)(vlSelfRef.__VstlFirstIteration)));
}

VL_ATTR_COLD bool Vbench___024root___trigger_anySet__stl(const VlUnpacked<QData/*63:0*/, 1> &in);

#ifdef VL_DEBUG
VL_ATTR_COLD void Vbench___024root___dump_triggers__stl(const VlUnpacked<QData/*63:0*/, 1> &triggers, const std::string &tag) {
    VL_DEBUG_IF(VL_DBG_MSGF("+    Vbench___024root___dump_triggers__stl\n"); );
    // Body
    if ((1U & (~ (IData)(Vbench___024root___trigger_anySet__stl(triggers))))) {
        VL_DBG_MSGS("         No '" + tag + "' region triggers active\n");
    }
    if ((1U & (IData)(triggers[0U]))) {
        VL_DBG_MSGS("         '" + tag + "' region trigger index 0 is active: Internal 'stl' trigger - first iteration\n");
    }
}
#endif  // VL_DEBUG

VL_ATTR_COLD bool Vbench___024root___trigger_anySet__stl(const VlUnpacked<QData/*63:0*/, 1> &in) {
    VL_DEBUG_IF(VL_DBG_MSGF("+    Vbench___024root___trigger_anySet__stl\n"); );
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

VL_ATTR_COLD void Vbench___024root___eval_stl(Vbench___024root* vlSelf) {
    VL_DEBUG_IF(VL_DBG_MSGF("+    Vbench___024root___eval_stl\n"); );
    Vbench__Syms* const __restrict vlSymsp VL_ATTR_UNUSED = vlSelf->vlSymsp;
    auto& vlSelfRef = std::ref(*vlSelf).get();
    // Body
    if ((1ULL & vlSelfRef.__VstlTriggered[0U])) {
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

VL_ATTR_COLD bool Vbench___024root___eval_phase__stl(Vbench___024root* vlSelf) {
    VL_DEBUG_IF(VL_DBG_MSGF("+    Vbench___024root___eval_phase__stl\n"); );
    Vbench__Syms* const __restrict vlSymsp VL_ATTR_UNUSED = vlSelf->vlSymsp;
    auto& vlSelfRef = std::ref(*vlSelf).get();
    // Locals
    CData/*0:0*/ __VstlExecute;
    // Body
    Vbench___024root___eval_triggers_vec__stl(vlSelf);
#ifdef VL_DEBUG
    if (VL_UNLIKELY(vlSymsp->_vm_contextp__->debug())) {
        Vbench___024root___dump_triggers__stl(vlSelfRef.__VstlTriggered, "stl"s);
    }
#endif
    __VstlExecute = Vbench___024root___trigger_anySet__stl(vlSelfRef.__VstlTriggered);
    if (__VstlExecute) {
        Vbench___024root___eval_stl(vlSelf);
    }
    return (__VstlExecute);
}

bool Vbench___024root___trigger_anySet__act(const VlUnpacked<QData/*63:0*/, 1> &in);

#ifdef VL_DEBUG
VL_ATTR_COLD void Vbench___024root___dump_triggers__act(const VlUnpacked<QData/*63:0*/, 1> &triggers, const std::string &tag) {
    VL_DEBUG_IF(VL_DBG_MSGF("+    Vbench___024root___dump_triggers__act\n"); );
    // Body
    if ((1U & (~ (IData)(Vbench___024root___trigger_anySet__act(triggers))))) {
        VL_DBG_MSGS("         No '" + tag + "' region triggers active\n");
    }
    if ((1U & (IData)(triggers[0U]))) {
        VL_DBG_MSGS("         '" + tag + "' region trigger index 0 is active: @(posedge bench.clock)\n");
    }
    if ((1U & (IData)((triggers[0U] >> 1U)))) {
        VL_DBG_MSGS("         '" + tag + "' region trigger index 1 is active: @([true] __VdlySched.awaitingCurrentTime())\n");
    }
}
#endif  // VL_DEBUG

VL_ATTR_COLD void Vbench___024root___ctor_var_reset(Vbench___024root* vlSelf) {
    VL_DEBUG_IF(VL_DBG_MSGF("+    Vbench___024root___ctor_var_reset\n"); );
    Vbench__Syms* const __restrict vlSymsp VL_ATTR_UNUSED = vlSelf->vlSymsp;
    auto& vlSelfRef = std::ref(*vlSelf).get();
    // Body
    const uint64_t __VscopeHash = VL_MURMUR64_HASH(vlSelf->vlNamep);
    vlSelf->bench__DOT__result = VL_SCOPED_RAND_RESET_I(32, __VscopeHash, 12478916399425319380ull);
    vlSelf->bench__DOT__unit__DOT__plain = VL_SCOPED_RAND_RESET_Q(33, __VscopeHash, 5783605792322629485ull);
    vlSelf->bench__DOT__unit__DOT__other = VL_SCOPED_RAND_RESET_Q(33, __VscopeHash, 13697983604294933504ull);
    for (int __Vi0 = 0; __Vi0 < 1; ++__Vi0) {
        vlSelf->__VstlTriggered[__Vi0] = 0;
    }
    for (int __Vi0 = 0; __Vi0 < 1; ++__Vi0) {
        vlSelf->__VactTriggered[__Vi0] = 0;
    }
    for (int __Vi0 = 0; __Vi0 < 1; ++__Vi0) {
        vlSelf->__VactTriggeredAcc[__Vi0] = 0;
    }
    vlSelf->__Vtrigprevexpr___TOP__bench__DOT__clock__0 = 0;
    for (int __Vi0 = 0; __Vi0 < 1; ++__Vi0) {
        vlSelf->__VnbaTriggered[__Vi0] = 0;
    }
    vlSelf->__Vi = 0;
}
