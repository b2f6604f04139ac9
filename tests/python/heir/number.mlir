!Z35184371138561_i64 = !mod_arith.int<35184371138561 : i64>
!Z35184372121601_i64 = !mod_arith.int<35184372121601 : i64>
!Z36028797017456641_i64 = !mod_arith.int<36028797017456641 : i64>
#inverse_canonical_encoding = #lwe.inverse_canonical_encoding<scaling_factor = 90>
#inverse_canonical_encoding1 = #lwe.inverse_canonical_encoding<scaling_factor = 45>
#key = #lwe.key<>
#layout = #tensor_ext.layout<"{ [] -> [ct, slot] : ct = 0 and 0 <= slot <= 1023 }">
#modulus_chain_L2_C0 = #lwe.modulus_chain<elements = <36028797017456641 : i64, 35184371138561 : i64, 35184372121601 : i64>, current = 0>
#modulus_chain_L2_C1 = #lwe.modulus_chain<elements = <36028797017456641 : i64, 35184371138561 : i64, 35184372121601 : i64>, current = 1>
#modulus_chain_L2_C2 = #lwe.modulus_chain<elements = <36028797017456641 : i64, 35184371138561 : i64, 35184372121601 : i64>, current = 2>
#ring_f64_1_x16384 = #polynomial.ring<coefficientType = f64, polynomialModulus = <1 + x**16384>>
!rns_L0 = !rns.rns<!Z36028797017456641_i64>
!rns_L1 = !rns.rns<!Z36028797017456641_i64, !Z35184371138561_i64>
!rns_L2 = !rns.rns<!Z36028797017456641_i64, !Z35184371138561_i64, !Z35184372121601_i64>
#original_type = #tensor_ext.original_type<originalType = f64, layout = #layout>
!pt = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>>
!pt1 = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding1>>
#ring_rns_L0_1_x16384 = #polynomial.ring<coefficientType = !rns_L0, polynomialModulus = <1 + x**16384>>
#ring_rns_L1_1_x16384 = #polynomial.ring<coefficientType = !rns_L1, polynomialModulus = <1 + x**16384>>
#ring_rns_L2_1_x16384 = #polynomial.ring<coefficientType = !rns_L2, polynomialModulus = <1 + x**16384>>
!pkey_L2 = !lwe.lwe_public_key<key = #key, ring = #ring_rns_L2_1_x16384>
!skey_L0 = !lwe.lwe_secret_key<key = #key, ring = #ring_rns_L0_1_x16384>
#ciphertext_space_L0 = #lwe.ciphertext_space<ring = #ring_rns_L0_1_x16384, encryption_type = mix>
#ciphertext_space_L1 = #lwe.ciphertext_space<ring = #ring_rns_L1_1_x16384, encryption_type = mix>
#ciphertext_space_L1_D3 = #lwe.ciphertext_space<ring = #ring_rns_L1_1_x16384, encryption_type = mix, size = 3>
#ciphertext_space_L2 = #lwe.ciphertext_space<ring = #ring_rns_L2_1_x16384, encryption_type = mix>
#ciphertext_space_L2_D3 = #lwe.ciphertext_space<ring = #ring_rns_L2_1_x16384, encryption_type = mix, size = 3>
!ct_L0 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L0, key = #key, modulus_chain = #modulus_chain_L2_C0>
!ct_L1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L1, key = #key, modulus_chain = #modulus_chain_L2_C1>
!ct_L1_1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L1, key = #key, modulus_chain = #modulus_chain_L2_C1>
!ct_L1_D3 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L1_D3, key = #key, modulus_chain = #modulus_chain_L2_C1>
!ct_L2 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L2, key = #key, modulus_chain = #modulus_chain_L2_C2>
!ct_L2_1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L2, key = #key, modulus_chain = #modulus_chain_L2_C2>
!ct_L2_D3 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L2_D3, key = #key, modulus_chain = #modulus_chain_L2_C2>
"builtin.module"() ({
  "func.func"() <{function_type = () -> !preprocessing.storage<!pt>, sym_name = "number__preprocessing"}> ({
    %28 = "arith.constant"() <{value = dense<7.500000e-01> : tensor<1024xf64>}> : () -> tensor<1024xf64>
    %29 = "preprocessing.empty"() : () -> !preprocessing.storage<!pt>
    %30 = "lwe.rlwe_encode"(%28) <{encoding = #inverse_canonical_encoding, level = 2 : i64, ring = #ring_f64_1_x16384, scale = 90 : i64}> : (tensor<1024xf64>) -> !pt
    "preprocessing.store"(%30, %29) <{element_type = !pt, site_id = 0 : i32}> : (!pt, !preprocessing.storage<!pt>) -> ()
    "func.return"(%29) : (!preprocessing.storage<!pt>) -> ()
  }) {heir.interface = {entry_arg_indices = array<i64>, func_name = "number", roles = ["server.preprocessing"]}} : () -> ()
  "func.func"() <{arg_attrs = [{tensor_ext.original_type = #original_type}, {tensor_ext.original_type = #original_type}, {}], function_type = (tensor<1x!ct_L2>, tensor<1x!ct_L2>, !preprocessing.storage<!pt>) -> tensor<1x!ct_L0>, sym_name = "number__preprocessed"}> ({
  ^bb0(%arg8: tensor<1x!ct_L2>, %arg9: tensor<1x!ct_L2>, %arg10: !preprocessing.storage<!pt>):
    %15 = "arith.constant"() <{value = 0 : index}> : () -> index
    %16 = "tensor.extract"(%arg8, %15) : (tensor<1x!ct_L2>, index) -> !ct_L2
    %17 = "tensor.extract"(%arg9, %15) : (tensor<1x!ct_L2>, index) -> !ct_L2
    %18 = "ckks.mul"(%16, %17) : (!ct_L2, !ct_L2) -> !ct_L2_D3
    %19 = "ckks.relinearize"(%18) <{from_basis = array<i32: 0, 1, 2>, to_basis = array<i32: 0, 1>}> : (!ct_L2_D3) -> !ct_L2_1
    %20 = "preprocessing.load"(%arg10) <{element_type = !pt, site_id = 0 : i32}> : (!preprocessing.storage<!pt>) -> !pt
    %21 = "ckks.add_plain"(%19, %20) : (!ct_L2_1, !pt) -> !ct_L2_1
    %22 = "ckks.rescale"(%21) <{to_ring = #ring_rns_L1_1_x16384}> : (!ct_L2_1) -> !ct_L1
    %23 = "ckks.mul"(%22, %22) : (!ct_L1, !ct_L1) -> !ct_L1_D3
    %24 = "ckks.relinearize"(%23) <{from_basis = array<i32: 0, 1, 2>, to_basis = array<i32: 0, 1>}> : (!ct_L1_D3) -> !ct_L1_1
    %25 = "tensor.empty"() : () -> tensor<1x!ct_L0>
    %26 = "ckks.rescale"(%24) <{to_ring = #ring_rns_L0_1_x16384}> : (!ct_L1_1) -> !ct_L0
    %27 = "tensor.insert"(%26, %25, %15) : (!ct_L0, tensor<1x!ct_L0>, index) -> tensor<1x!ct_L0>
    "func.return"(%27) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "number", roles = ["client.preprocessed", "server.evaluate"]}} : () -> ()
  "func.func"() <{arg_attrs = [{tensor_ext.original_type = #original_type}, {tensor_ext.original_type = #original_type}], function_type = (tensor<1x!ct_L2>, tensor<1x!ct_L2>) -> tensor<1x!ct_L0>, res_attrs = [{tensor_ext.original_type = #original_type}], sym_name = "number"}> ({
  ^bb0(%arg6: tensor<1x!ct_L2>, %arg7: tensor<1x!ct_L2>):
    %13 = "func.call"() <{callee = @number__preprocessing}> : () -> !preprocessing.storage<!pt>
    %14 = "func.call"(%arg6, %arg7, %13) <{callee = @number__preprocessed}> : (tensor<1x!ct_L2>, tensor<1x!ct_L2>, !preprocessing.storage<!pt>) -> tensor<1x!ct_L0>
    "func.return"(%14) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "number", input_types = [f64, f64], result_types = [f64], roles = ["entry"]}} : () -> ()
  "func.func"() <{function_type = (f64, !pkey_L2) -> tensor<1x!ct_L2>, sym_name = "number__encrypt__arg0"}> ({
  ^bb0(%arg4: f64, %arg5: !pkey_L2):
    %9 = "tensor.splat"(%arg4) : (f64) -> tensor<1024xf64>
    %10 = "lwe.rlwe_encode"(%9) <{encoding = #inverse_canonical_encoding1, level = 2 : i64, ring = #ring_f64_1_x16384, scale = 45 : i64}> : (tensor<1024xf64>) -> !pt1
    %11 = "lwe.rlwe_encrypt"(%10, %arg5) : (!pt1, !pkey_L2) -> !ct_L2
    %12 = "tensor.from_elements"(%11) : (!ct_L2) -> tensor<1x!ct_L2>
    "func.return"(%12) : (tensor<1x!ct_L2>) -> ()
  }) {heir.interface = {func_name = "number", index = 0 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (f64, !pkey_L2) -> tensor<1x!ct_L2>, sym_name = "number__encrypt__arg1"}> ({
  ^bb0(%arg2: f64, %arg3: !pkey_L2):
    %5 = "tensor.splat"(%arg2) : (f64) -> tensor<1024xf64>
    %6 = "lwe.rlwe_encode"(%5) <{encoding = #inverse_canonical_encoding1, level = 2 : i64, ring = #ring_f64_1_x16384, scale = 45 : i64}> : (tensor<1024xf64>) -> !pt1
    %7 = "lwe.rlwe_encrypt"(%6, %arg3) : (!pt1, !pkey_L2) -> !ct_L2
    %8 = "tensor.from_elements"(%7) : (!ct_L2) -> tensor<1x!ct_L2>
    "func.return"(%8) : (tensor<1x!ct_L2>) -> ()
  }) {heir.interface = {func_name = "number", index = 1 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (tensor<1x!ct_L0>, !skey_L0) -> f64, sym_name = "number__decrypt__result0"}> ({
  ^bb0(%arg0: tensor<1x!ct_L0>, %arg1: !skey_L0):
    %0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %1 = "tensor.extract"(%arg0, %0) : (tensor<1x!ct_L0>, index) -> !ct_L0
    %2 = "lwe.rlwe_decrypt"(%1, %arg1) : (!ct_L0, !skey_L0) -> !pt1
    %3 = "lwe.rlwe_decode"(%2) <{encoding = #inverse_canonical_encoding1, ring = #ring_f64_1_x16384}> : (!pt1) -> tensor<1x1024xf64>
    %4 = "tensor.extract"(%3, %0, %0) : (tensor<1x1024xf64>, index, index) -> f64
    "func.return"(%4) : (f64) -> ()
  }) {heir.interface = {func_name = "number", index = 0 : i64, roles = ["client.decrypt"]}} : () -> ()
}) {ckks.schemeParam = #ckks.scheme_param<logN = 14, Q = [36028797017456641, 35184371138561, 35184372121601], P = [1152921504607338497, 1152921504608747521], logDefaultScale = 45>, scheme.actual_slot_count = 8192 : i64, scheme.ckks, scheme.requested_slot_count = 1024 : i64} : () -> ()

