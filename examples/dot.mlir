!Z134250497_i64 = !mod_arith.int<134250497 : i64>
!Z140737488486401_i64 = !mod_arith.int<140737488486401 : i64>
!Z2148728833_i64 = !mod_arith.int<2148728833 : i64>
!Z2148794369_i64 = !mod_arith.int<2148794369 : i64>
!Z65537_i64 = !mod_arith.int<65537 : i64>
#full_crt_packing_encoding = #lwe.full_crt_packing_encoding<scaling_factor = 1>
#full_crt_packing_encoding1 = #lwe.full_crt_packing_encoding<scaling_factor = 42831>
#full_crt_packing_encoding2 = #lwe.full_crt_packing_encoding<scaling_factor = 21845>
#full_crt_packing_encoding3 = #lwe.full_crt_packing_encoding<scaling_factor = 4133>
#key = #lwe.key<>
#layout = #tensor_ext.layout<"{ [] -> [ct, slot] : ct = 0 and slot = 0 }">
#modulus_chain_L3_C0 = #lwe.modulus_chain<elements = <134250497 : i64, 2148728833 : i64, 2148794369 : i64, 140737488486401 : i64>, current = 0>
#modulus_chain_L3_C1 = #lwe.modulus_chain<elements = <134250497 : i64, 2148728833 : i64, 2148794369 : i64, 140737488486401 : i64>, current = 1>
#modulus_chain_L3_C2 = #lwe.modulus_chain<elements = <134250497 : i64, 2148728833 : i64, 2148794369 : i64, 140737488486401 : i64>, current = 2>
#modulus_chain_L3_C3 = #lwe.modulus_chain<elements = <134250497 : i64, 2148728833 : i64, 2148794369 : i64, 140737488486401 : i64>, current = 3>
!rns_L0 = !rns.rns<!Z134250497_i64>
!rns_L1 = !rns.rns<!Z134250497_i64, !Z2148728833_i64>
!rns_L2 = !rns.rns<!Z134250497_i64, !Z2148728833_i64, !Z2148794369_i64>
!rns_L3 = !rns.rns<!Z134250497_i64, !Z2148728833_i64, !Z2148794369_i64, !Z140737488486401_i64>
#original_type = #tensor_ext.original_type<originalType = i16, layout = #layout>
#ring_Z65537_i64_1_x16384 = #polynomial.ring<coefficientType = !Z65537_i64, polynomialModulus = <1 + x**16384>>
#ring_rns_L0_1_x16384 = #polynomial.ring<coefficientType = !rns_L0, polynomialModulus = <1 + x**16384>>
#ring_rns_L1_1_x16384 = #polynomial.ring<coefficientType = !rns_L1, polynomialModulus = <1 + x**16384>>
#ring_rns_L2_1_x16384 = #polynomial.ring<coefficientType = !rns_L2, polynomialModulus = <1 + x**16384>>
#ring_rns_L3_1_x16384 = #polynomial.ring<coefficientType = !rns_L3, polynomialModulus = <1 + x**16384>>
!pkey_L3 = !lwe.lwe_public_key<key = #key, ring = #ring_rns_L3_1_x16384>
!pt = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_Z65537_i64_1_x16384, encoding = #full_crt_packing_encoding>>
!pt1 = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_Z65537_i64_1_x16384, encoding = #full_crt_packing_encoding1>>
!skey_L0 = !lwe.lwe_secret_key<key = #key, ring = #ring_rns_L0_1_x16384>
#ciphertext_space_L0 = #lwe.ciphertext_space<ring = #ring_rns_L0_1_x16384, encryption_type = lsb>
#ciphertext_space_L1 = #lwe.ciphertext_space<ring = #ring_rns_L1_1_x16384, encryption_type = lsb>
#ciphertext_space_L2 = #lwe.ciphertext_space<ring = #ring_rns_L2_1_x16384, encryption_type = lsb>
#ciphertext_space_L3 = #lwe.ciphertext_space<ring = #ring_rns_L3_1_x16384, encryption_type = lsb>
#ciphertext_space_L3_D3 = #lwe.ciphertext_space<ring = #ring_rns_L3_1_x16384, encryption_type = lsb, size = 3>
!ct_L0 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_Z65537_i64_1_x16384, encoding = #full_crt_packing_encoding1>, ciphertext_space = #ciphertext_space_L0, key = #key, modulus_chain = #modulus_chain_L3_C0>
!ct_L1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_Z65537_i64_1_x16384, encoding = #full_crt_packing_encoding3>, ciphertext_space = #ciphertext_space_L1, key = #key, modulus_chain = #modulus_chain_L3_C1>
!ct_L2 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_Z65537_i64_1_x16384, encoding = #full_crt_packing_encoding2>, ciphertext_space = #ciphertext_space_L2, key = #key, modulus_chain = #modulus_chain_L3_C2>
!ct_L3 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_Z65537_i64_1_x16384, encoding = #full_crt_packing_encoding>, ciphertext_space = #ciphertext_space_L3, key = #key, modulus_chain = #modulus_chain_L3_C3>
!ct_L3_D3 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_Z65537_i64_1_x16384, encoding = #full_crt_packing_encoding>, ciphertext_space = #ciphertext_space_L3_D3, key = #key, modulus_chain = #modulus_chain_L3_C3>
module attributes {bgv.schemeParam = #bgv.scheme_param<logN = 14, Q = [134250497, 2148728833, 2148794369, 140737488486401], P = [140737490092033, 140737490354177], plaintextModulus = 65537>, scheme.actual_slot_count = 16384 : i64, scheme.bgv, scheme.requested_slot_count = 8 : i64} {
  func.func @dot__preprocessing() -> !preprocessing.storage<!pt> attributes {heir.interface = {entry_arg_indices = array<i64>, func_name = "dot", roles = ["server.preprocessing"]}} {
    %cst = arith.constant dense<[0, 0, 0, 0, 0, 0, 0, 1]> : tensor<8xi16>
    %cst_0 = arith.constant dense<[1, 0, 0, 0, 0, 0, 0, 0]> : tensor<8xi16>
    %0 = preprocessing.empty : <!pt>
    %pt = lwe.rlwe_encode %cst <encoding = #full_crt_packing_encoding, ring = #ring_Z65537_i64_1_x16384, level = 2, scale = 1> : tensor<8xi16> -> !pt
    preprocessing.store %pt, %0[] site 0<!pt> : !pt, <!pt>
    %pt_1 = lwe.rlwe_encode %cst_0 <encoding = #full_crt_packing_encoding, ring = #ring_Z65537_i64_1_x16384, level = 1, scale = 1> : tensor<8xi16> -> !pt
    preprocessing.store %pt_1, %0[] site 1<!pt> : !pt, <!pt>
    return %0 : !preprocessing.storage<!pt>
  }
  func.func @dot__preprocessed(%arg0: tensor<1x!ct_L3> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #tensor_ext.original_type<originalType = tensor<8xi16>, layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 8 = 0 and 0 <= i0 <= 7 and 0 <= slot <= 7 }">>}, %arg1: tensor<1x!ct_L3> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #tensor_ext.original_type<originalType = tensor<8xi16>, layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 8 = 0 and 0 <= i0 <= 7 and 0 <= slot <= 7 }">>}, %arg2: !preprocessing.storage<!pt>) -> tensor<1x!ct_L0> attributes {heir.interface = {func_name = "dot", roles = ["client.preprocessed", "server.evaluate"]}} {
    %c4 = arith.constant 4 : index
    %c2 = arith.constant 2 : index
    %c1 = arith.constant 1 : index
    %c7 = arith.constant 7 : index
    %c0 = arith.constant 0 : index
    %extracted = tensor.extract %arg0[%c0] : tensor<1x!ct_L3>
    %extracted_0 = tensor.extract %arg1[%c0] : tensor<1x!ct_L3>
    %ct = bgv.mul %extracted, %extracted_0 {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}} : (!ct_L3, !ct_L3) -> !ct_L3_D3
    %ct_1 = bgv.relinearize %ct <from_basis = [0, 1, 2], to_basis = [0, 1]> : !ct_L3_D3 -> !ct_L3
    %ct_2 = bgv.rotate_cols %ct_1, %c1 : index {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}} : !ct_L3
    %ct_3 = bgv.add %ct_1, %ct_2 {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}} : (!ct_L3, !ct_L3) -> !ct_L3
    %ct_4 = bgv.rotate_cols %ct_3, %c2 : index {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}} : !ct_L3
    %ct_5 = bgv.add %ct_3, %ct_4 {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}} : (!ct_L3, !ct_L3) -> !ct_L3
    %ct_6 = bgv.rotate_cols %ct_5, %c4 : index {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}} : !ct_L3
    %ct_7 = bgv.add %ct_5, %ct_6 {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}} : (!ct_L3, !ct_L3) -> !ct_L3
    %ct_8 = bgv.modulus_switch %ct_7 <to_ring = #ring_rns_L2_1_x16384> : !ct_L3 -> !ct_L2
    %pt = preprocessing.load %arg2[] site 0<!pt> : <!pt>, !pt
    %ct_9 = bgv.mul_plain %ct_8, %pt : (!ct_L2, !pt) -> !ct_L2
    %ct_10 = bgv.rotate_cols %ct_9, %c7 : index : !ct_L2
    %ct_11 = bgv.modulus_switch %ct_10 <to_ring = #ring_rns_L1_1_x16384> : !ct_L2 -> !ct_L1
    %pt_12 = preprocessing.load %arg2[] site 1<!pt> : <!pt>, !pt
    %ct_13 = bgv.mul_plain %ct_11, %pt_12 : (!ct_L1, !pt) -> !ct_L1
    %0 = tensor.empty() : tensor<1x!ct_L0>
    %ct_14 = bgv.modulus_switch %ct_13 <to_ring = #ring_rns_L0_1_x16384> : !ct_L1 -> !ct_L0
    %inserted = tensor.insert %ct_14 into %0[%c0] : tensor<1x!ct_L0>
    return %inserted : tensor<1x!ct_L0>
  }
  func.func @dot(%arg0: tensor<1x!ct_L3> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #tensor_ext.original_type<originalType = tensor<8xi16>, layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 8 = 0 and 0 <= i0 <= 7 and 0 <= slot <= 7 }">>}, %arg1: tensor<1x!ct_L3> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #tensor_ext.original_type<originalType = tensor<8xi16>, layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 8 = 0 and 0 <= i0 <= 7 and 0 <= slot <= 7 }">>}) -> (tensor<1x!ct_L0> {tensor_ext.original_type = #original_type}) attributes {heir.interface = {func_name = "dot", input_types = [tensor<8xi16>, tensor<8xi16>], result_types = [i16], roles = ["entry"]}, mgmt.openfhe_params = #mgmt.openfhe_params<evalAddCount = 8, keySwitchCount = 15>} {
    %0 = call @dot__preprocessing() : () -> !preprocessing.storage<!pt>
    %1 = call @dot__preprocessed(%arg0, %arg1, %0) : (tensor<1x!ct_L3>, tensor<1x!ct_L3>, !preprocessing.storage<!pt>) -> tensor<1x!ct_L0>
    return %1 : tensor<1x!ct_L0>
  }
  func.func @dot__encrypt__arg0(%arg0: tensor<8xi16>, %pk: !pkey_L3) -> tensor<1x!ct_L3> attributes {heir.interface = {func_name = "dot", index = 0 : i64, roles = ["client.encrypt"]}} {
    %c0 = arith.constant 0 : index
    %cst = arith.constant dense<0> : tensor<1x8xi16>
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c8_i32 = arith.constant 8 : i32
    %0 = scf.for %arg1 = %c0_i32 to %c8_i32 step %c1_i32 iter_args(%arg2 = %cst) -> (tensor<1x8xi16>)  : i32 {
      %1 = arith.index_cast %arg1 : i32 to index
      %extracted = tensor.extract %arg0[%1] : tensor<8xi16>
      %inserted = tensor.insert %extracted into %arg2[%c0, %1] : tensor<1x8xi16>
      scf.yield %inserted : tensor<1x8xi16>
    }
    %extracted_slice = tensor.extract_slice %0[0, 0] [1, 8] [1, 1] : tensor<1x8xi16> to tensor<8xi16>
    %pt = lwe.rlwe_encode %extracted_slice <encoding = #full_crt_packing_encoding, ring = #ring_Z65537_i64_1_x16384, level = 3, scale = 1> : tensor<8xi16> -> !pt
    %ct = lwe.rlwe_encrypt %pt, %pk : (!pt, !pkey_L3) -> !ct_L3
    %from_elements = tensor.from_elements %ct : tensor<1x!ct_L3>
    return %from_elements : tensor<1x!ct_L3>
  }
  func.func @dot__encrypt__arg1(%arg0: tensor<8xi16>, %pk: !pkey_L3) -> tensor<1x!ct_L3> attributes {heir.interface = {func_name = "dot", index = 1 : i64, roles = ["client.encrypt"]}} {
    %c0 = arith.constant 0 : index
    %cst = arith.constant dense<0> : tensor<1x8xi16>
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c8_i32 = arith.constant 8 : i32
    %0 = scf.for %arg1 = %c0_i32 to %c8_i32 step %c1_i32 iter_args(%arg2 = %cst) -> (tensor<1x8xi16>)  : i32 {
      %1 = arith.index_cast %arg1 : i32 to index
      %extracted = tensor.extract %arg0[%1] : tensor<8xi16>
      %inserted = tensor.insert %extracted into %arg2[%c0, %1] : tensor<1x8xi16>
      scf.yield %inserted : tensor<1x8xi16>
    }
    %extracted_slice = tensor.extract_slice %0[0, 0] [1, 8] [1, 1] : tensor<1x8xi16> to tensor<8xi16>
    %pt = lwe.rlwe_encode %extracted_slice <encoding = #full_crt_packing_encoding, ring = #ring_Z65537_i64_1_x16384, level = 3, scale = 1> : tensor<8xi16> -> !pt
    %ct = lwe.rlwe_encrypt %pt, %pk : (!pt, !pkey_L3) -> !ct_L3
    %from_elements = tensor.from_elements %ct : tensor<1x!ct_L3>
    return %from_elements : tensor<1x!ct_L3>
  }
  func.func @dot__decrypt__result0(%arg0: tensor<1x!ct_L0>, %sk: !skey_L0) -> i16 attributes {heir.interface = {func_name = "dot", index = 0 : i64, roles = ["client.decrypt"]}} {
    %c0 = arith.constant 0 : index
    %extracted = tensor.extract %arg0[%c0] : tensor<1x!ct_L0>
    %pt = lwe.rlwe_decrypt %extracted, %sk : (!ct_L0, !skey_L0) -> !pt1
    %0 = lwe.rlwe_decode %pt <encoding = #full_crt_packing_encoding1, ring = #ring_Z65537_i64_1_x16384> : !pt1 -> tensor<1x8xi16>
    %extracted_0 = tensor.extract %0[%c0, %c0] : tensor<1x8xi16>
    return %extracted_0 : i16
  }
}

