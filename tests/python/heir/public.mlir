!Z35184372121601_i64 = !mod_arith.int<35184372121601 : i64>
!Z36028797018652673_i64 = !mod_arith.int<36028797018652673 : i64>
#inverse_canonical_encoding = #lwe.inverse_canonical_encoding<scaling_factor = 45>
#inverse_canonical_encoding1 = #lwe.inverse_canonical_encoding<scaling_factor = 90>
#key = #lwe.key<>
#layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 8 = 0 and 0 <= i0 <= 7 and 0 <= slot <= 7 }">
#modulus_chain_L1_C0 = #lwe.modulus_chain<elements = <36028797018652673 : i64, 35184372121601 : i64>, current = 0>
#modulus_chain_L1_C1 = #lwe.modulus_chain<elements = <36028797018652673 : i64, 35184372121601 : i64>, current = 1>
#ring_f64_1_x8192 = #polynomial.ring<coefficientType = f64, polynomialModulus = <1 + x**8192>>
!rns_L0 = !rns.rns<!Z36028797018652673_i64>
!rns_L1 = !rns.rns<!Z36028797018652673_i64, !Z35184372121601_i64>
#original_type = #tensor_ext.original_type<originalType = tensor<8xf32>, layout = #layout>
!pt = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding>>
#ring_rns_L0_1_x8192 = #polynomial.ring<coefficientType = !rns_L0, polynomialModulus = <1 + x**8192>>
#ring_rns_L1_1_x8192 = #polynomial.ring<coefficientType = !rns_L1, polynomialModulus = <1 + x**8192>>
!pkey_L1 = !lwe.lwe_public_key<key = #key, ring = #ring_rns_L1_1_x8192>
!skey_L0 = !lwe.lwe_secret_key<key = #key, ring = #ring_rns_L0_1_x8192>
#ciphertext_space_L0 = #lwe.ciphertext_space<ring = #ring_rns_L0_1_x8192, encryption_type = mix>
#ciphertext_space_L1 = #lwe.ciphertext_space<ring = #ring_rns_L1_1_x8192, encryption_type = mix>
!ct_L0 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L0, key = #key, modulus_chain = #modulus_chain_L1_C0>
!ct_L1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L1, key = #key, modulus_chain = #modulus_chain_L1_C1>
!ct_L1_1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L1, key = #key, modulus_chain = #modulus_chain_L1_C1>
module attributes {ckks.schemeParam = #ckks.scheme_param<logN = 13, Q = [36028797018652673, 35184372121601], P = [1152921504606994433], logDefaultScale = 45>, scheme.actual_slot_count = 4096 : i64, scheme.ckks, scheme.requested_slot_count = 8 : i64} {
  func.func private @_assign_layout_9858258346515242392(%arg0: tensor<8xf32>) -> tensor<1x8xf32> attributes {heir.interface = {func_name = "public", roles = ["client.pack"]}} {
    %c0 = arith.constant 0 : index
    %cst = arith.constant dense<0.000000e+00> : tensor<1x8xf32>
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c8_i32 = arith.constant 8 : i32
    %0 = scf.for %arg1 = %c0_i32 to %c8_i32 step %c1_i32 iter_args(%arg2 = %cst) -> (tensor<1x8xf32>)  : i32 {
      %1 = arith.index_cast %arg1 : i32 to index
      %extracted = tensor.extract %arg0[%1] : tensor<8xf32>
      %inserted = tensor.insert %extracted into %arg2[%c0, %1] : tensor<1x8xf32>
      scf.yield %inserted : tensor<1x8xf32>
    }
    return %0 : tensor<1x8xf32>
  }
  func.func @public__preprocessing(%arg0: tensor<8xf32>) -> !preprocessing.storage<!pt> attributes {heir.interface = {entry_arg_indices = array<i64: 1>, func_name = "public", roles = ["server.preprocessing"]}} {
    %0 = preprocessing.empty : <!pt>
    %1 = call @_assign_layout_9858258346515242392(%arg0) : (tensor<8xf32>) -> tensor<1x8xf32>
    %extracted_slice = tensor.extract_slice %1[0, 0] [1, 8] [1, 1] : tensor<1x8xf32> to tensor<8xf32>
    %pt = lwe.rlwe_encode %extracted_slice <encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x8192, level = 1, scale = 45> : tensor<8xf32> -> !pt
    preprocessing.store %pt, %0[] site 0<!pt> : !pt, <!pt>
    return %0 : !preprocessing.storage<!pt>
  }
  func.func @public__preprocessed(%arg0: tensor<1x!ct_L1> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #original_type}, %arg1: tensor<8xf32>, %arg2: !preprocessing.storage<!pt>) -> tensor<1x!ct_L0> attributes {heir.interface = {func_name = "public", roles = ["client.preprocessed", "server.evaluate"]}} {
    %c0 = arith.constant 0 : index
    %0 = call @_assign_layout_9858258346515242392(%arg1) : (tensor<8xf32>) -> tensor<1x8xf32>
    %pt = preprocessing.load %arg2[] site 0<!pt> : <!pt>, !pt
    %extracted = tensor.extract %arg0[%c0] : tensor<1x!ct_L1>
    %ct = ckks.mul_plain %extracted, %pt {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}} : (!ct_L1, !pt) -> !ct_L1_1
    %1 = tensor.empty() : tensor<1x!ct_L0>
    %ct_0 = ckks.rescale %ct <to_ring = #ring_rns_L0_1_x8192> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}} : !ct_L1_1 -> !ct_L0
    %inserted = tensor.insert %ct_0 into %1[%c0] : tensor<1x!ct_L0>
    return %inserted : tensor<1x!ct_L0>
  }
  func.func @public(%arg0: tensor<1x!ct_L1> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #original_type}, %arg1: tensor<8xf32>) -> (tensor<1x!ct_L0> {tensor_ext.original_type = #original_type}) attributes {heir.interface = {func_name = "public", input_types = [tensor<8xf32>, tensor<8xf32>], result_types = [tensor<8xf32>], roles = ["entry"]}} {
    %0 = call @public__preprocessing(%arg1) : (tensor<8xf32>) -> !preprocessing.storage<!pt>
    %1 = call @public__preprocessed(%arg0, %arg1, %0) : (tensor<1x!ct_L1>, tensor<8xf32>, !preprocessing.storage<!pt>) -> tensor<1x!ct_L0>
    return %1 : tensor<1x!ct_L0>
  }
  func.func @public__encrypt__arg0(%arg0: tensor<8xf32>, %pk: !pkey_L1) -> tensor<1x!ct_L1> attributes {heir.interface = {func_name = "public", index = 0 : i64, roles = ["client.encrypt"]}} {
    %c0 = arith.constant 0 : index
    %cst = arith.constant dense<0.000000e+00> : tensor<1x8xf32>
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c8_i32 = arith.constant 8 : i32
    %0 = scf.for %arg1 = %c0_i32 to %c8_i32 step %c1_i32 iter_args(%arg2 = %cst) -> (tensor<1x8xf32>)  : i32 {
      %1 = arith.index_cast %arg1 : i32 to index
      %extracted = tensor.extract %arg0[%1] : tensor<8xf32>
      %inserted = tensor.insert %extracted into %arg2[%c0, %1] : tensor<1x8xf32>
      scf.yield %inserted : tensor<1x8xf32>
    }
    %extracted_slice = tensor.extract_slice %0[0, 0] [1, 8] [1, 1] : tensor<1x8xf32> to tensor<8xf32>
    %pt = lwe.rlwe_encode %extracted_slice <encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x8192, level = 1, scale = 45> : tensor<8xf32> -> !pt
    %ct = lwe.rlwe_encrypt %pt, %pk : (!pt, !pkey_L1) -> !ct_L1
    %from_elements = tensor.from_elements %ct : tensor<1x!ct_L1>
    return %from_elements : tensor<1x!ct_L1>
  }
  func.func @public__decrypt__result0(%arg0: tensor<1x!ct_L0>, %sk: !skey_L0) -> tensor<8xf32> attributes {heir.interface = {func_name = "public", index = 0 : i64, roles = ["client.decrypt"]}} {
    %c0 = arith.constant 0 : index
    %c8_i32 = arith.constant 8 : i32
    %c1_i32 = arith.constant 1 : i32
    %c7_i32 = arith.constant 7 : i32
    %c0_i32 = arith.constant 0 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<8xf32>
    %extracted = tensor.extract %arg0[%c0] : tensor<1x!ct_L0>
    %pt = lwe.rlwe_decrypt %extracted, %sk : (!ct_L0, !skey_L0) -> !pt
    %0 = lwe.rlwe_decode %pt <encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x8192> : !pt -> tensor<1x8xf32>
    %1 = scf.for %arg1 = %c0_i32 to %c8_i32 step %c1_i32 iter_args(%arg2 = %cst) -> (tensor<8xf32>)  : i32 {
      %2 = arith.subi %c7_i32, %arg1 : i32
      %3 = arith.index_cast %2 : i32 to index
      %extracted_0 = tensor.extract %0[%c0, %3] : tensor<1x8xf32>
      %inserted = tensor.insert %extracted_0 into %arg2[%3] : tensor<8xf32>
      scf.yield %inserted : tensor<8xf32>
    }
    return %1 : tensor<8xf32>
  }
}

