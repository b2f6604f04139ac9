!Z35184372121601_i64 = !mod_arith.int<35184372121601 : i64>
!Z36028797018652673_i64 = !mod_arith.int<36028797018652673 : i64>
#inverse_canonical_encoding = #lwe.inverse_canonical_encoding<scaling_factor = 45>
#inverse_canonical_encoding1 = #lwe.inverse_canonical_encoding<scaling_factor = 5>
#inverse_canonical_encoding2 = #lwe.inverse_canonical_encoding<scaling_factor = 90>
#inverse_canonical_encoding3 = #lwe.inverse_canonical_encoding<scaling_factor = 50>
#inverse_canonical_encoding4 = #lwe.inverse_canonical_encoding<scaling_factor = 100>
#key = #lwe.key<>
#layout = #tensor_ext.layout<"{ [] -> [ct, slot] : ct = 0 and 0 <= slot <= 7 }">
#modulus_chain_L1_C0 = #lwe.modulus_chain<elements = <36028797018652673 : i64, 35184372121601 : i64>, current = 0>
#modulus_chain_L1_C1 = #lwe.modulus_chain<elements = <36028797018652673 : i64, 35184372121601 : i64>, current = 1>
#ring_f64_1_x8192 = #polynomial.ring<coefficientType = f64, polynomialModulus = <1 + x**8192>>
!rns_L0 = !rns.rns<!Z36028797018652673_i64>
!rns_L1 = !rns.rns<!Z36028797018652673_i64, !Z35184372121601_i64>
#original_type = #tensor_ext.original_type<originalType = f32, layout = #layout>
!pt = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding>>
!pt1 = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding1>>
#ring_rns_L0_1_x8192 = #polynomial.ring<coefficientType = !rns_L0, polynomialModulus = <1 + x**8192>>
#ring_rns_L1_1_x8192 = #polynomial.ring<coefficientType = !rns_L1, polynomialModulus = <1 + x**8192>>
!pkey_L1 = !lwe.lwe_public_key<key = #key, ring = #ring_rns_L1_1_x8192>
!skey_L0 = !lwe.lwe_secret_key<key = #key, ring = #ring_rns_L0_1_x8192>
#ciphertext_space_L0 = #lwe.ciphertext_space<ring = #ring_rns_L0_1_x8192, encryption_type = mix>
#ciphertext_space_L0_D3 = #lwe.ciphertext_space<ring = #ring_rns_L0_1_x8192, encryption_type = mix, size = 3>
#ciphertext_space_L1 = #lwe.ciphertext_space<ring = #ring_rns_L1_1_x8192, encryption_type = mix>
#ciphertext_space_L1_D3 = #lwe.ciphertext_space<ring = #ring_rns_L1_1_x8192, encryption_type = mix, size = 3>
!ct_L0 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L0, key = #key, modulus_chain = #modulus_chain_L1_C0>
!ct_L0_1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding3>, ciphertext_space = #ciphertext_space_L0, key = #key, modulus_chain = #modulus_chain_L1_C0>
!ct_L0_2 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding4>, ciphertext_space = #ciphertext_space_L0, key = #key, modulus_chain = #modulus_chain_L1_C0>
!ct_L0_D3 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding4>, ciphertext_space = #ciphertext_space_L0_D3, key = #key, modulus_chain = #modulus_chain_L1_C0>
!ct_L1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L1, key = #key, modulus_chain = #modulus_chain_L1_C1>
!ct_L1_1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding2>, ciphertext_space = #ciphertext_space_L1, key = #key, modulus_chain = #modulus_chain_L1_C1>
!ct_L1_D3 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding2>, ciphertext_space = #ciphertext_space_L1_D3, key = #key, modulus_chain = #modulus_chain_L1_C1>
module attributes {ckks.schemeParam = #ckks.scheme_param<logN = 13, Q = [36028797018652673, 35184372121601], P = [1152921504606994433], logDefaultScale = 45>, scheme.actual_slot_count = 4096 : i64, scheme.ckks, scheme.requested_slot_count = 8 : i64} {
  func.func @power__preprocessing() -> !preprocessing.storage<!pt, !pt1> attributes {heir.interface = {entry_arg_indices = array<i64>, func_name = "power", roles = ["server.preprocessing"]}} {
    %cst = arith.constant dense<1.000000e+00> : tensor<8xf32>
    %0 = preprocessing.empty : <!pt, !pt1>
    %pt = lwe.rlwe_encode %cst <encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x8192, level = 1, scale = 45> : tensor<8xf32> -> !pt
    preprocessing.store %pt, %0[] site 0<!pt> : !pt, <!pt, !pt1>
    %pt_0 = lwe.rlwe_encode %cst <encoding = #inverse_canonical_encoding1, ring = #ring_f64_1_x8192, level = 0, scale = 5> : tensor<8xf32> -> !pt1
    preprocessing.store %pt_0, %0[] site 1<!pt1> : !pt1, <!pt, !pt1>
    return %0 : !preprocessing.storage<!pt, !pt1>
  }
  func.func @power__preprocessed(%arg0: tensor<1x!ct_L1> {tensor_ext.original_type = #original_type}, %arg1: !preprocessing.storage<!pt, !pt1>) -> tensor<1x!ct_L0> attributes {heir.interface = {func_name = "power", roles = ["client.preprocessed", "server.evaluate"]}} {
    %c0 = arith.constant 0 : index
    %extracted = tensor.extract %arg0[%c0] : tensor<1x!ct_L1>
    %ct = ckks.level_reduce %extracted : !ct_L1 -> !ct_L0
    %ct_0 = ckks.bootstrap %ct : !ct_L0 -> !ct_L1
    %pt = preprocessing.load %arg1[] site 0<!pt> : <!pt, !pt1>, !pt
    %ct_1 = ckks.mul_plain %ct_0, %pt : (!ct_L1, !pt) -> !ct_L1_1
    %ct_2 = ckks.rescale %ct_1 <to_ring = #ring_rns_L0_1_x8192> : !ct_L1_1 -> !ct_L0
    %ct_3 = ckks.bootstrap %ct_2 : !ct_L0 -> !ct_L1
    %ct_4 = ckks.mul %ct_3, %ct_3 : (!ct_L1, !ct_L1) -> !ct_L1_D3
    %ct_5 = ckks.relinearize %ct_4 <from_basis = [0, 1, 2], to_basis = [0, 1]> : (!ct_L1_D3) -> !ct_L1_1
    %ct_6 = ckks.rescale %ct_5 <to_ring = #ring_rns_L0_1_x8192> : !ct_L1_1 -> !ct_L0
    %pt_7 = preprocessing.load %arg1[] site 1<!pt1> : <!pt, !pt1>, !pt1
    %ct_8 = ckks.mul_plain %ct_6, %pt_7 : (!ct_L0, !pt1) -> !ct_L0_1
    %ct_9 = ckks.mul %ct_8, %ct_8 : (!ct_L0_1, !ct_L0_1) -> !ct_L0_D3
    %ct_10 = ckks.relinearize %ct_9 <from_basis = [0, 1, 2], to_basis = [0, 1]> : (!ct_L0_D3) -> !ct_L0_2
    %ct_11 = ckks.bootstrap %ct_10 {halo.invariance} : !ct_L0_2 -> !ct_L1
    %ct_12 = ckks.mul_plain %ct_11, %pt : (!ct_L1, !pt) -> !ct_L1_1
    %ct_13 = ckks.rescale %ct_12 <to_ring = #ring_rns_L0_1_x8192> : !ct_L1_1 -> !ct_L0
    %ct_14 = ckks.bootstrap %ct_13 : !ct_L0 -> !ct_L1
    %ct_15 = ckks.mul %ct_14, %ct_14 : (!ct_L1, !ct_L1) -> !ct_L1_D3
    %ct_16 = ckks.relinearize %ct_15 <from_basis = [0, 1, 2], to_basis = [0, 1]> : (!ct_L1_D3) -> !ct_L1_1
    %0 = tensor.empty() : tensor<1x!ct_L0>
    %ct_17 = ckks.rescale %ct_16 <to_ring = #ring_rns_L0_1_x8192> : !ct_L1_1 -> !ct_L0
    %inserted = tensor.insert %ct_17 into %0[%c0] : tensor<1x!ct_L0>
    return %inserted : tensor<1x!ct_L0>
  }
  func.func @power(%arg0: tensor<1x!ct_L1> {tensor_ext.original_type = #original_type}) -> (tensor<1x!ct_L0> {tensor_ext.original_type = #original_type}) attributes {heir.interface = {func_name = "power", input_types = [f32], result_types = [f32], roles = ["entry"]}} {
    %0 = call @power__preprocessing() : () -> !preprocessing.storage<!pt, !pt1>
    %1 = call @power__preprocessed(%arg0, %0) : (tensor<1x!ct_L1>, !preprocessing.storage<!pt, !pt1>) -> tensor<1x!ct_L0>
    return %1 : tensor<1x!ct_L0>
  }
  func.func @power__encrypt__arg0(%arg0: f32, %pk: !pkey_L1) -> tensor<1x!ct_L1> attributes {heir.interface = {func_name = "power", index = 0 : i64, roles = ["client.encrypt"]}} {
    %splat = tensor.splat %arg0 : tensor<8xf32>
    %pt = lwe.rlwe_encode %splat <encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x8192, level = 1, scale = 45> : tensor<8xf32> -> !pt
    %ct = lwe.rlwe_encrypt %pt, %pk : (!pt, !pkey_L1) -> !ct_L1
    %from_elements = tensor.from_elements %ct : tensor<1x!ct_L1>
    return %from_elements : tensor<1x!ct_L1>
  }
  func.func @power__decrypt__result0(%arg0: tensor<1x!ct_L0>, %sk: !skey_L0) -> f32 attributes {heir.interface = {func_name = "power", index = 0 : i64, roles = ["client.decrypt"]}} {
    %c0 = arith.constant 0 : index
    %extracted = tensor.extract %arg0[%c0] : tensor<1x!ct_L0>
    %pt = lwe.rlwe_decrypt %extracted, %sk : (!ct_L0, !skey_L0) -> !pt
    %0 = lwe.rlwe_decode %pt <encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x8192> : !pt -> tensor<1x8xf32>
    %extracted_0 = tensor.extract %0[%c0, %c0] : tensor<1x8xf32>
    return %extracted_0 : f32
  }
}

