!Z1152921504606994433_i64 = !mod_arith.int<1152921504606994433 : i64>
!Z65537_i64 = !mod_arith.int<65537 : i64>
#full_crt_packing_encoding = #lwe.full_crt_packing_encoding<scaling_factor = 1>
#key = #lwe.key<>
#layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 8 = 0 and 0 <= i0 <= 7 and 0 <= slot <= 7 }">
#modulus_chain_L1_C0 = #lwe.modulus_chain<elements = <1152921504606994433 : i64, 68720050177 : i64>, current = 0>
!rns_L0 = !rns.rns<!Z1152921504606994433_i64>
#original_type = #tensor_ext.original_type<originalType = tensor<8xi32>, layout = #layout>
#ring_Z65537_i64_1_x8192 = #polynomial.ring<coefficientType = !Z65537_i64, polynomialModulus = <1 + x**8192>>
#ring_rns_L0_1_x8192 = #polynomial.ring<coefficientType = !rns_L0, polynomialModulus = <1 + x**8192>>
!pkey_L0 = !lwe.lwe_public_key<key = #key, ring = #ring_rns_L0_1_x8192>
!pt = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_Z65537_i64_1_x8192, encoding = #full_crt_packing_encoding>>
!skey_L0 = !lwe.lwe_secret_key<key = #key, ring = #ring_rns_L0_1_x8192>
#ciphertext_space_L0 = #lwe.ciphertext_space<ring = #ring_rns_L0_1_x8192, encryption_type = msb>
#ciphertext_space_L0_D3 = #lwe.ciphertext_space<ring = #ring_rns_L0_1_x8192, encryption_type = msb, size = 3>
!ct_L0 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_Z65537_i64_1_x8192, encoding = #full_crt_packing_encoding>, ciphertext_space = #ciphertext_space_L0, key = #key, modulus_chain = #modulus_chain_L1_C0>
!ct_L0_D3 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_Z65537_i64_1_x8192, encoding = #full_crt_packing_encoding>, ciphertext_space = #ciphertext_space_L0_D3, key = #key, modulus_chain = #modulus_chain_L1_C0>
module attributes {bgv.schemeParam = #bgv.scheme_param<logN = 13, Q = [1152921504606994433, 68720050177], P = [1152921504607191041], plaintextModulus = 65537>, scheme.actual_slot_count = 8192 : i64, scheme.bfv, scheme.requested_slot_count = 8 : i64} {
  func.func @polynomial__preprocessing() -> !preprocessing.storage<!pt> attributes {heir.interface = {entry_arg_indices = array<i64>, func_name = "polynomial", roles = ["server.preprocessing"]}} {
    %cst = arith.constant dense<[1, 2, 3, 4, 5, 6, 7, -8]> : tensor<8xi32>
    %0 = preprocessing.empty : <!pt>
    %pt = lwe.rlwe_encode %cst <encoding = #full_crt_packing_encoding, ring = #ring_Z65537_i64_1_x8192, scale = 1> : tensor<8xi32> -> !pt
    preprocessing.store %pt, %0[] site 0<!pt> : !pt, <!pt>
    return %0 : !preprocessing.storage<!pt>
  }
  func.func @polynomial__preprocessed(%arg0: tensor<1x!ct_L0> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #original_type}, %arg1: tensor<1x!ct_L0> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #original_type}, %arg2: !preprocessing.storage<!pt>) -> (tensor<1x!ct_L0>, tensor<1x!ct_L0>) attributes {heir.interface = {func_name = "polynomial", roles = ["client.preprocessed", "server.evaluate"]}} {
    %c0 = arith.constant 0 : index
    %extracted = tensor.extract %arg0[%c0] : tensor<1x!ct_L0>
    %extracted_0 = tensor.extract %arg1[%c0] : tensor<1x!ct_L0>
    %ct = bgv.mul %extracted, %extracted_0 {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}} : (!ct_L0, !ct_L0) -> !ct_L0_D3
    %ct_1 = bgv.relinearize %ct <from_basis = [0, 1, 2], to_basis = [0, 1]> : !ct_L0_D3 -> !ct_L0
    %pt = preprocessing.load %arg2[] site 0<!pt> : <!pt>, !pt
    %ct_2 = bgv.add_plain %ct_1, %pt {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}} : (!ct_L0, !pt) -> !ct_L0
    %0 = tensor.empty() : tensor<1x!ct_L0>
    %ct_3 = bgv.sub %ct_2, %extracted {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}} : (!ct_L0, !ct_L0) -> !ct_L0
    %inserted = tensor.insert %ct_3 into %0[%c0] : tensor<1x!ct_L0>
    %ct_4 = bgv.mul_plain %ct_3, %pt {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}} : (!ct_L0, !pt) -> !ct_L0
    %inserted_5 = tensor.insert %ct_4 into %0[%c0] : tensor<1x!ct_L0>
    return %inserted, %inserted_5 : tensor<1x!ct_L0>, tensor<1x!ct_L0>
  }
  func.func @polynomial(%arg0: tensor<1x!ct_L0> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #original_type}, %arg1: tensor<1x!ct_L0> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #original_type}) -> (tensor<1x!ct_L0> {tensor_ext.original_type = #original_type}, tensor<1x!ct_L0> {tensor_ext.original_type = #original_type}) attributes {heir.interface = {func_name = "polynomial", input_types = [tensor<8xi32>, tensor<8xi32>], result_types = [tensor<8xi32>, tensor<8xi32>], roles = ["entry"]}, mgmt.openfhe_params = #mgmt.openfhe_params<evalAddCount = 2, keySwitchCount = 1>} {
    %0 = call @polynomial__preprocessing() : () -> !preprocessing.storage<!pt>
    %1:2 = call @polynomial__preprocessed(%arg0, %arg1, %0) : (tensor<1x!ct_L0>, tensor<1x!ct_L0>, !preprocessing.storage<!pt>) -> (tensor<1x!ct_L0>, tensor<1x!ct_L0>)
    return %1#0, %1#1 : tensor<1x!ct_L0>, tensor<1x!ct_L0>
  }
  func.func @polynomial__encrypt__arg0(%arg0: tensor<8xi32>, %pk: !pkey_L0) -> tensor<1x!ct_L0> attributes {heir.interface = {func_name = "polynomial", index = 0 : i64, roles = ["client.encrypt"]}} {
    %c0 = arith.constant 0 : index
    %cst = arith.constant dense<0> : tensor<1x8xi32>
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c8_i32 = arith.constant 8 : i32
    %0 = scf.for %arg1 = %c0_i32 to %c8_i32 step %c1_i32 iter_args(%arg2 = %cst) -> (tensor<1x8xi32>)  : i32 {
      %1 = arith.index_cast %arg1 : i32 to index
      %extracted = tensor.extract %arg0[%1] : tensor<8xi32>
      %inserted = tensor.insert %extracted into %arg2[%c0, %1] : tensor<1x8xi32>
      scf.yield %inserted : tensor<1x8xi32>
    }
    %extracted_slice = tensor.extract_slice %0[0, 0] [1, 8] [1, 1] : tensor<1x8xi32> to tensor<8xi32>
    %pt = lwe.rlwe_encode %extracted_slice <encoding = #full_crt_packing_encoding, ring = #ring_Z65537_i64_1_x8192, scale = 1> : tensor<8xi32> -> !pt
    %ct = lwe.rlwe_encrypt %pt, %pk : (!pt, !pkey_L0) -> !ct_L0
    %from_elements = tensor.from_elements %ct : tensor<1x!ct_L0>
    return %from_elements : tensor<1x!ct_L0>
  }
  func.func @polynomial__encrypt__arg1(%arg0: tensor<8xi32>, %pk: !pkey_L0) -> tensor<1x!ct_L0> attributes {heir.interface = {func_name = "polynomial", index = 1 : i64, roles = ["client.encrypt"]}} {
    %c0 = arith.constant 0 : index
    %cst = arith.constant dense<0> : tensor<1x8xi32>
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c8_i32 = arith.constant 8 : i32
    %0 = scf.for %arg1 = %c0_i32 to %c8_i32 step %c1_i32 iter_args(%arg2 = %cst) -> (tensor<1x8xi32>)  : i32 {
      %1 = arith.index_cast %arg1 : i32 to index
      %extracted = tensor.extract %arg0[%1] : tensor<8xi32>
      %inserted = tensor.insert %extracted into %arg2[%c0, %1] : tensor<1x8xi32>
      scf.yield %inserted : tensor<1x8xi32>
    }
    %extracted_slice = tensor.extract_slice %0[0, 0] [1, 8] [1, 1] : tensor<1x8xi32> to tensor<8xi32>
    %pt = lwe.rlwe_encode %extracted_slice <encoding = #full_crt_packing_encoding, ring = #ring_Z65537_i64_1_x8192, scale = 1> : tensor<8xi32> -> !pt
    %ct = lwe.rlwe_encrypt %pt, %pk : (!pt, !pkey_L0) -> !ct_L0
    %from_elements = tensor.from_elements %ct : tensor<1x!ct_L0>
    return %from_elements : tensor<1x!ct_L0>
  }
  func.func @polynomial__decrypt__result0(%arg0: tensor<1x!ct_L0>, %sk: !skey_L0) -> tensor<8xi32> attributes {heir.interface = {func_name = "polynomial", index = 0 : i64, roles = ["client.decrypt"]}} {
    %c0 = arith.constant 0 : index
    %c8_i32 = arith.constant 8 : i32
    %c1_i32 = arith.constant 1 : i32
    %c7_i32 = arith.constant 7 : i32
    %c0_i32 = arith.constant 0 : i32
    %cst = arith.constant dense<0> : tensor<8xi32>
    %extracted = tensor.extract %arg0[%c0] : tensor<1x!ct_L0>
    %pt = lwe.rlwe_decrypt %extracted, %sk : (!ct_L0, !skey_L0) -> !pt
    %0 = lwe.rlwe_decode %pt <encoding = #full_crt_packing_encoding, ring = #ring_Z65537_i64_1_x8192> : !pt -> tensor<1x8xi32>
    %1 = scf.for %arg1 = %c0_i32 to %c8_i32 step %c1_i32 iter_args(%arg2 = %cst) -> (tensor<8xi32>)  : i32 {
      %2 = arith.subi %c7_i32, %arg1 : i32
      %3 = arith.index_cast %2 : i32 to index
      %extracted_0 = tensor.extract %0[%c0, %3] : tensor<1x8xi32>
      %inserted = tensor.insert %extracted_0 into %arg2[%3] : tensor<8xi32>
      scf.yield %inserted : tensor<8xi32>
    }
    return %1 : tensor<8xi32>
  }
  func.func @polynomial__decrypt__result1(%arg0: tensor<1x!ct_L0>, %sk: !skey_L0) -> tensor<8xi32> attributes {heir.interface = {func_name = "polynomial", index = 1 : i64, roles = ["client.decrypt"]}} {
    %c0 = arith.constant 0 : index
    %c8_i32 = arith.constant 8 : i32
    %c1_i32 = arith.constant 1 : i32
    %c7_i32 = arith.constant 7 : i32
    %c0_i32 = arith.constant 0 : i32
    %cst = arith.constant dense<0> : tensor<8xi32>
    %extracted = tensor.extract %arg0[%c0] : tensor<1x!ct_L0>
    %pt = lwe.rlwe_decrypt %extracted, %sk : (!ct_L0, !skey_L0) -> !pt
    %0 = lwe.rlwe_decode %pt <encoding = #full_crt_packing_encoding, ring = #ring_Z65537_i64_1_x8192> : !pt -> tensor<1x8xi32>
    %1 = scf.for %arg1 = %c0_i32 to %c8_i32 step %c1_i32 iter_args(%arg2 = %cst) -> (tensor<8xi32>)  : i32 {
      %2 = arith.subi %c7_i32, %arg1 : i32
      %3 = arith.index_cast %2 : i32 to index
      %extracted_0 = tensor.extract %0[%c0, %3] : tensor<1x8xi32>
      %inserted = tensor.insert %extracted_0 into %arg2[%3] : tensor<8xi32>
      scf.yield %inserted : tensor<8xi32>
    }
    return %1 : tensor<8xi32>
  }
}

