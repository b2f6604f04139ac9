!Z134250497_i64 = !mod_arith.int<134250497 : i64>
!Z140737488486401_i64 = !mod_arith.int<140737488486401 : i64>
!Z2148728833_i64 = !mod_arith.int<2148728833 : i64>
!Z2148794369_i64 = !mod_arith.int<2148794369 : i64>
!Z65537_i64 = !mod_arith.int<65537 : i64>
#full_crt_packing_encoding = #lwe.full_crt_packing_encoding<scaling_factor = 1>
#full_crt_packing_encoding1 = #lwe.full_crt_packing_encoding<scaling_factor = 21845>
#full_crt_packing_encoding2 = #lwe.full_crt_packing_encoding<scaling_factor = 4133>
#full_crt_packing_encoding3 = #lwe.full_crt_packing_encoding<scaling_factor = 42831>
#key = #lwe.key<>
#layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 8 = 0 and 0 <= i0 <= 7 and 0 <= slot <= 7 }">
#layout1 = #tensor_ext.layout<"{ [] -> [ct, slot] : ct = 0 and slot = 0 }">
#modulus_chain_L3_C0 = #lwe.modulus_chain<elements = <134250497 : i64, 2148728833 : i64, 2148794369 : i64, 140737488486401 : i64>, current = 0>
#modulus_chain_L3_C1 = #lwe.modulus_chain<elements = <134250497 : i64, 2148728833 : i64, 2148794369 : i64, 140737488486401 : i64>, current = 1>
#modulus_chain_L3_C2 = #lwe.modulus_chain<elements = <134250497 : i64, 2148728833 : i64, 2148794369 : i64, 140737488486401 : i64>, current = 2>
#modulus_chain_L3_C3 = #lwe.modulus_chain<elements = <134250497 : i64, 2148728833 : i64, 2148794369 : i64, 140737488486401 : i64>, current = 3>
!rns_L0 = !rns.rns<!Z134250497_i64>
!rns_L1 = !rns.rns<!Z134250497_i64, !Z2148728833_i64>
!rns_L2 = !rns.rns<!Z134250497_i64, !Z2148728833_i64, !Z2148794369_i64>
!rns_L3 = !rns.rns<!Z134250497_i64, !Z2148728833_i64, !Z2148794369_i64, !Z140737488486401_i64>
#original_type = #tensor_ext.original_type<originalType = tensor<8xi16>, layout = #layout>
#original_type1 = #tensor_ext.original_type<originalType = i16, layout = #layout1>
#ring_Z65537_i64_1_x16384 = #polynomial.ring<coefficientType = !Z65537_i64, polynomialModulus = <1 + x**16384>>
#ring_rns_L0_1_x16384 = #polynomial.ring<coefficientType = !rns_L0, polynomialModulus = <1 + x**16384>>
#ring_rns_L1_1_x16384 = #polynomial.ring<coefficientType = !rns_L1, polynomialModulus = <1 + x**16384>>
#ring_rns_L2_1_x16384 = #polynomial.ring<coefficientType = !rns_L2, polynomialModulus = <1 + x**16384>>
#ring_rns_L3_1_x16384 = #polynomial.ring<coefficientType = !rns_L3, polynomialModulus = <1 + x**16384>>
!pkey_L3 = !lwe.lwe_public_key<key = #key, ring = #ring_rns_L3_1_x16384>
!pt = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_Z65537_i64_1_x16384, encoding = #full_crt_packing_encoding>>
!pt1 = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_Z65537_i64_1_x16384, encoding = #full_crt_packing_encoding3>>
!skey_L0 = !lwe.lwe_secret_key<key = #key, ring = #ring_rns_L0_1_x16384>
#ciphertext_space_L0 = #lwe.ciphertext_space<ring = #ring_rns_L0_1_x16384, encryption_type = lsb>
#ciphertext_space_L1 = #lwe.ciphertext_space<ring = #ring_rns_L1_1_x16384, encryption_type = lsb>
#ciphertext_space_L2 = #lwe.ciphertext_space<ring = #ring_rns_L2_1_x16384, encryption_type = lsb>
#ciphertext_space_L3 = #lwe.ciphertext_space<ring = #ring_rns_L3_1_x16384, encryption_type = lsb>
#ciphertext_space_L3_D3 = #lwe.ciphertext_space<ring = #ring_rns_L3_1_x16384, encryption_type = lsb, size = 3>
!ct_L0 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_Z65537_i64_1_x16384, encoding = #full_crt_packing_encoding3>, ciphertext_space = #ciphertext_space_L0, key = #key, modulus_chain = #modulus_chain_L3_C0>
!ct_L1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_Z65537_i64_1_x16384, encoding = #full_crt_packing_encoding2>, ciphertext_space = #ciphertext_space_L1, key = #key, modulus_chain = #modulus_chain_L3_C1>
!ct_L2 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_Z65537_i64_1_x16384, encoding = #full_crt_packing_encoding1>, ciphertext_space = #ciphertext_space_L2, key = #key, modulus_chain = #modulus_chain_L3_C2>
!ct_L3 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_Z65537_i64_1_x16384, encoding = #full_crt_packing_encoding>, ciphertext_space = #ciphertext_space_L3, key = #key, modulus_chain = #modulus_chain_L3_C3>
!ct_L3_D3 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_Z65537_i64_1_x16384, encoding = #full_crt_packing_encoding>, ciphertext_space = #ciphertext_space_L3_D3, key = #key, modulus_chain = #modulus_chain_L3_C3>
"builtin.module"() ({
  "func.func"() <{function_type = () -> !preprocessing.storage<!pt>, sym_name = "dot__preprocessing"}> ({
    %64 = "arith.constant"() <{value = dense<3> : tensor<8xi16>}> : () -> tensor<8xi16>
    %65 = "arith.constant"() <{value = dense<[0, 0, 0, 0, 0, 0, 0, 1]> : tensor<8xi16>}> : () -> tensor<8xi16>
    %66 = "arith.constant"() <{value = dense<[1, 0, 0, 0, 0, 0, 0, 0]> : tensor<8xi16>}> : () -> tensor<8xi16>
    %67 = "preprocessing.empty"() : () -> !preprocessing.storage<!pt>
    %68 = "lwe.rlwe_encode"(%64) <{encoding = #full_crt_packing_encoding, level = 3 : i64, ring = #ring_Z65537_i64_1_x16384, scale = 1 : i64}> : (tensor<8xi16>) -> !pt
    "preprocessing.store"(%68, %67) <{element_type = !pt, site_id = 0 : i32}> : (!pt, !preprocessing.storage<!pt>) -> ()
    %69 = "lwe.rlwe_encode"(%65) <{encoding = #full_crt_packing_encoding, level = 2 : i64, ring = #ring_Z65537_i64_1_x16384, scale = 1 : i64}> : (tensor<8xi16>) -> !pt
    "preprocessing.store"(%69, %67) <{element_type = !pt, site_id = 1 : i32}> : (!pt, !preprocessing.storage<!pt>) -> ()
    %70 = "lwe.rlwe_encode"(%66) <{encoding = #full_crt_packing_encoding, level = 1 : i64, ring = #ring_Z65537_i64_1_x16384, scale = 1 : i64}> : (tensor<8xi16>) -> !pt
    "preprocessing.store"(%70, %67) <{element_type = !pt, site_id = 2 : i32}> : (!pt, !preprocessing.storage<!pt>) -> ()
    "func.return"(%67) : (!preprocessing.storage<!pt>) -> ()
  }) {heir.interface = {entry_arg_indices = array<i64>, func_name = "dot", roles = ["server.preprocessing"]}} : () -> ()
  "func.func"() <{arg_attrs = [{heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #original_type}, {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #original_type}, {}], function_type = (tensor<1x!ct_L3>, tensor<1x!ct_L3>, !preprocessing.storage<!pt>) -> tensor<1x!ct_L0>, sym_name = "dot__preprocessed"}> ({
  ^bb0(%arg12: tensor<1x!ct_L3>, %arg13: tensor<1x!ct_L3>, %arg14: !preprocessing.storage<!pt>):
    %33 = "arith.constant"() <{value = 6 : index}> : () -> index
    %34 = "arith.constant"() <{value = 7 : index}> : () -> index
    %35 = "arith.constant"() <{value = 0 : index}> : () -> index
    %36 = "tensor.extract"(%arg12, %35) : (tensor<1x!ct_L3>, index) -> !ct_L3
    %37 = "tensor.extract"(%arg13, %35) : (tensor<1x!ct_L3>, index) -> !ct_L3
    %38 = "bgv.mul"(%36, %37) {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}} : (!ct_L3, !ct_L3) -> !ct_L3_D3
    %39 = "bgv.relinearize"(%38) <{from_basis = array<i32: 0, 1, 2>, to_basis = array<i32: 0, 1>}> : (!ct_L3_D3) -> !ct_L3
    %40 = "preprocessing.load"(%arg14) <{element_type = !pt, site_id = 0 : i32}> : (!preprocessing.storage<!pt>) -> !pt
    %41 = "bgv.add_plain"(%39, %40) {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}} : (!ct_L3, !pt) -> !ct_L3
    %42 = "bgv.rotate_cols"(%41, %33) {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}} : (!ct_L3, index) -> !ct_L3
    %43 = "bgv.rotate_cols"(%39, %34) {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}} : (!ct_L3, index) -> !ct_L3
    %44 = "bgv.add"(%42, %43) : (!ct_L3, !ct_L3) -> !ct_L3
    %45 = "bgv.add"(%44, %39) : (!ct_L3, !ct_L3) -> !ct_L3
    %46 = "bgv.rotate_cols"(%45, %33) {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}} : (!ct_L3, index) -> !ct_L3
    %47 = "bgv.add"(%46, %43) : (!ct_L3, !ct_L3) -> !ct_L3
    %48 = "bgv.add"(%47, %39) : (!ct_L3, !ct_L3) -> !ct_L3
    %49 = "bgv.rotate_cols"(%48, %33) {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}} : (!ct_L3, index) -> !ct_L3
    %50 = "bgv.add"(%49, %43) : (!ct_L3, !ct_L3) -> !ct_L3
    %51 = "bgv.add"(%50, %39) : (!ct_L3, !ct_L3) -> !ct_L3
    %52 = "bgv.rotate_cols"(%51, %34) {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}} : (!ct_L3, index) -> !ct_L3
    %53 = "bgv.add"(%52, %39) {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}} : (!ct_L3, !ct_L3) -> !ct_L3
    %54 = "bgv.modulus_switch"(%53) <{to_ring = #ring_rns_L2_1_x16384}> : (!ct_L3) -> !ct_L2
    %55 = "preprocessing.load"(%arg14) <{element_type = !pt, site_id = 1 : i32}> : (!preprocessing.storage<!pt>) -> !pt
    %56 = "bgv.mul_plain"(%54, %55) : (!ct_L2, !pt) -> !ct_L2
    %57 = "bgv.rotate_cols"(%56, %34) : (!ct_L2, index) -> !ct_L2
    %58 = "bgv.modulus_switch"(%57) <{to_ring = #ring_rns_L1_1_x16384}> : (!ct_L2) -> !ct_L1
    %59 = "preprocessing.load"(%arg14) <{element_type = !pt, site_id = 2 : i32}> : (!preprocessing.storage<!pt>) -> !pt
    %60 = "bgv.mul_plain"(%58, %59) : (!ct_L1, !pt) -> !ct_L1
    %61 = "tensor.empty"() : () -> tensor<1x!ct_L0>
    %62 = "bgv.modulus_switch"(%60) <{to_ring = #ring_rns_L0_1_x16384}> : (!ct_L1) -> !ct_L0
    %63 = "tensor.insert"(%62, %61, %35) : (!ct_L0, tensor<1x!ct_L0>, index) -> tensor<1x!ct_L0>
    "func.return"(%63) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "dot", roles = ["client.preprocessed", "server.evaluate"]}} : () -> ()
  "func.func"() <{arg_attrs = [{heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #original_type}, {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #original_type}], function_type = (tensor<1x!ct_L3>, tensor<1x!ct_L3>) -> tensor<1x!ct_L0>, res_attrs = [{tensor_ext.original_type = #original_type1}], sym_name = "dot"}> ({
  ^bb0(%arg10: tensor<1x!ct_L3>, %arg11: tensor<1x!ct_L3>):
    %31 = "func.call"() <{callee = @dot__preprocessing}> : () -> !preprocessing.storage<!pt>
    %32 = "func.call"(%arg10, %arg11, %31) <{callee = @dot__preprocessed}> : (tensor<1x!ct_L3>, tensor<1x!ct_L3>, !preprocessing.storage<!pt>) -> tensor<1x!ct_L0>
    "func.return"(%32) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "dot", input_types = [tensor<8xi16>, tensor<8xi16>], result_types = [i16], roles = ["entry"]}, mgmt.openfhe_params = #mgmt.openfhe_params<evalAddCount = 8, keySwitchCount = 15>} : () -> ()
  "func.func"() <{function_type = (tensor<8xi16>, !pkey_L3) -> tensor<1x!ct_L3>, sym_name = "dot__encrypt__arg0"}> ({
  ^bb0(%arg6: tensor<8xi16>, %arg7: !pkey_L3):
    %18 = "arith.constant"() <{value = 0 : index}> : () -> index
    %19 = "arith.constant"() <{value = dense<0> : tensor<1x8xi16>}> : () -> tensor<1x8xi16>
    %20 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %21 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %22 = "arith.constant"() <{value = 8 : i32}> : () -> i32
    %23 = "scf.for"(%20, %22, %21, %19) ({
    ^bb0(%arg8: i32, %arg9: tensor<1x8xi16>):
      %28 = "arith.index_cast"(%arg8) : (i32) -> index
      %29 = "tensor.extract"(%arg6, %28) : (tensor<8xi16>, index) -> i16
      %30 = "tensor.insert"(%29, %arg9, %18, %28) : (i16, tensor<1x8xi16>, index, index) -> tensor<1x8xi16>
      "scf.yield"(%30) : (tensor<1x8xi16>) -> ()
    }) : (i32, i32, i32, tensor<1x8xi16>) -> tensor<1x8xi16>
    %24 = "tensor.extract_slice"(%23) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 8>, static_strides = array<i64: 1, 1>}> : (tensor<1x8xi16>) -> tensor<8xi16>
    %25 = "lwe.rlwe_encode"(%24) <{encoding = #full_crt_packing_encoding, level = 3 : i64, ring = #ring_Z65537_i64_1_x16384, scale = 1 : i64}> : (tensor<8xi16>) -> !pt
    %26 = "lwe.rlwe_encrypt"(%25, %arg7) : (!pt, !pkey_L3) -> !ct_L3
    %27 = "tensor.from_elements"(%26) : (!ct_L3) -> tensor<1x!ct_L3>
    "func.return"(%27) : (tensor<1x!ct_L3>) -> ()
  }) {heir.interface = {func_name = "dot", index = 0 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (tensor<8xi16>, !pkey_L3) -> tensor<1x!ct_L3>, sym_name = "dot__encrypt__arg1"}> ({
  ^bb0(%arg2: tensor<8xi16>, %arg3: !pkey_L3):
    %5 = "arith.constant"() <{value = 0 : index}> : () -> index
    %6 = "arith.constant"() <{value = dense<0> : tensor<1x8xi16>}> : () -> tensor<1x8xi16>
    %7 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %8 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %9 = "arith.constant"() <{value = 8 : i32}> : () -> i32
    %10 = "scf.for"(%7, %9, %8, %6) ({
    ^bb0(%arg4: i32, %arg5: tensor<1x8xi16>):
      %15 = "arith.index_cast"(%arg4) : (i32) -> index
      %16 = "tensor.extract"(%arg2, %15) : (tensor<8xi16>, index) -> i16
      %17 = "tensor.insert"(%16, %arg5, %5, %15) : (i16, tensor<1x8xi16>, index, index) -> tensor<1x8xi16>
      "scf.yield"(%17) : (tensor<1x8xi16>) -> ()
    }) : (i32, i32, i32, tensor<1x8xi16>) -> tensor<1x8xi16>
    %11 = "tensor.extract_slice"(%10) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 8>, static_strides = array<i64: 1, 1>}> : (tensor<1x8xi16>) -> tensor<8xi16>
    %12 = "lwe.rlwe_encode"(%11) <{encoding = #full_crt_packing_encoding, level = 3 : i64, ring = #ring_Z65537_i64_1_x16384, scale = 1 : i64}> : (tensor<8xi16>) -> !pt
    %13 = "lwe.rlwe_encrypt"(%12, %arg3) : (!pt, !pkey_L3) -> !ct_L3
    %14 = "tensor.from_elements"(%13) : (!ct_L3) -> tensor<1x!ct_L3>
    "func.return"(%14) : (tensor<1x!ct_L3>) -> ()
  }) {heir.interface = {func_name = "dot", index = 1 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (tensor<1x!ct_L0>, !skey_L0) -> i16, sym_name = "dot__decrypt__result0"}> ({
  ^bb0(%arg0: tensor<1x!ct_L0>, %arg1: !skey_L0):
    %0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %1 = "tensor.extract"(%arg0, %0) : (tensor<1x!ct_L0>, index) -> !ct_L0
    %2 = "lwe.rlwe_decrypt"(%1, %arg1) : (!ct_L0, !skey_L0) -> !pt1
    %3 = "lwe.rlwe_decode"(%2) <{encoding = #full_crt_packing_encoding3, ring = #ring_Z65537_i64_1_x16384}> : (!pt1) -> tensor<1x8xi16>
    %4 = "tensor.extract"(%3, %0, %0) : (tensor<1x8xi16>, index, index) -> i16
    "func.return"(%4) : (i16) -> ()
  }) {heir.interface = {func_name = "dot", index = 0 : i64, roles = ["client.decrypt"]}} : () -> ()
}) {bgv.schemeParam = #bgv.scheme_param<logN = 14, Q = [134250497, 2148728833, 2148794369, 140737488486401], P = [140737490092033, 140737490354177], plaintextModulus = 65537>, scheme.actual_slot_count = 16384 : i64, scheme.bgv, scheme.requested_slot_count = 8 : i64} : () -> ()

