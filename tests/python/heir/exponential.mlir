!Z35184370941953_i64 = !mod_arith.int<35184370941953 : i64>
!Z35184371138561_i64 = !mod_arith.int<35184371138561 : i64>
!Z35184372121601_i64 = !mod_arith.int<35184372121601 : i64>
!Z35184372744193_i64 = !mod_arith.int<35184372744193 : i64>
!Z35184373006337_i64 = !mod_arith.int<35184373006337 : i64>
!Z36028797017456641_i64 = !mod_arith.int<36028797017456641 : i64>
#inverse_canonical_encoding = #lwe.inverse_canonical_encoding<scaling_factor = 45>
#inverse_canonical_encoding1 = #lwe.inverse_canonical_encoding<scaling_factor = 90>
#key = #lwe.key<>
#layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 8 = 0 and 0 <= i0 <= 7 and 0 <= slot <= 7 }">
#modulus_chain_L5_C0 = #lwe.modulus_chain<elements = <36028797017456641 : i64, 35184373006337 : i64, 35184370941953 : i64, 35184372744193 : i64, 35184371138561 : i64, 35184372121601 : i64>, current = 0>
#modulus_chain_L5_C4 = #lwe.modulus_chain<elements = <36028797017456641 : i64, 35184373006337 : i64, 35184370941953 : i64, 35184372744193 : i64, 35184371138561 : i64, 35184372121601 : i64>, current = 4>
#modulus_chain_L5_C5 = #lwe.modulus_chain<elements = <36028797017456641 : i64, 35184373006337 : i64, 35184370941953 : i64, 35184372744193 : i64, 35184371138561 : i64, 35184372121601 : i64>, current = 5>
#ring_f64_1_x16384 = #polynomial.ring<coefficientType = f64, polynomialModulus = <1 + x**16384>>
!rns_L0 = !rns.rns<!Z36028797017456641_i64>
!rns_L4 = !rns.rns<!Z36028797017456641_i64, !Z35184373006337_i64, !Z35184370941953_i64, !Z35184372744193_i64, !Z35184371138561_i64>
!rns_L5 = !rns.rns<!Z36028797017456641_i64, !Z35184373006337_i64, !Z35184370941953_i64, !Z35184372744193_i64, !Z35184371138561_i64, !Z35184372121601_i64>
#original_type = #tensor_ext.original_type<originalType = tensor<8xf32>, layout = #layout>
!pt = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>>
#ring_rns_L0_1_x16384 = #polynomial.ring<coefficientType = !rns_L0, polynomialModulus = <1 + x**16384>>
#ring_rns_L4_1_x16384 = #polynomial.ring<coefficientType = !rns_L4, polynomialModulus = <1 + x**16384>>
#ring_rns_L5_1_x16384 = #polynomial.ring<coefficientType = !rns_L5, polynomialModulus = <1 + x**16384>>
!pkey_L5 = !lwe.lwe_public_key<key = #key, ring = #ring_rns_L5_1_x16384>
!skey_L0 = !lwe.lwe_secret_key<key = #key, ring = #ring_rns_L0_1_x16384>
#ciphertext_space_L0 = #lwe.ciphertext_space<ring = #ring_rns_L0_1_x16384, encryption_type = mix>
#ciphertext_space_L4 = #lwe.ciphertext_space<ring = #ring_rns_L4_1_x16384, encryption_type = mix>
#ciphertext_space_L5 = #lwe.ciphertext_space<ring = #ring_rns_L5_1_x16384, encryption_type = mix>
!ct_L0 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L0, key = #key, modulus_chain = #modulus_chain_L5_C0>
!ct_L4 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L4, key = #key, modulus_chain = #modulus_chain_L5_C4>
!ct_L5 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L5, key = #key, modulus_chain = #modulus_chain_L5_C5>
!ct_L5_1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L5, key = #key, modulus_chain = #modulus_chain_L5_C5>
module attributes {backend.lattigo, ckks.schemeParam = #ckks.scheme_param<logN = 14, Q = [36028797017456641, 35184373006337, 35184370941953, 35184372744193, 35184371138561, 35184372121601], P = [1152921504607338497, 1152921504608747521], logDefaultScale = 45, encryptionTechnique = extended>, scheme.actual_slot_count = 8192 : i64, scheme.ckks, scheme.requested_slot_count = 8 : i64} {
  func.func @exponential__preprocessing() -> !preprocessing.storage<!pt> attributes {heir.interface = {entry_arg_indices = array<i64>, func_name = "exponential", roles = ["server.preprocessing"]}} {
    %cst = arith.constant dense<5.000000e-01> : tensor<8xf32>
    %0 = preprocessing.empty : <!pt>
    %pt = lwe.rlwe_encode %cst <encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x16384, level = 5, scale = 45> : tensor<8xf32> -> !pt
    preprocessing.store %pt, %0[] site 0<!pt> : !pt, <!pt>
    return %0 : !preprocessing.storage<!pt>
  }
  func.func @exponential__preprocessed(%arg0: tensor<1x!ct_L5> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #original_type}, %arg1: !preprocessing.storage<!pt>) -> tensor<1x!ct_L0> attributes {heir.interface = {func_name = "exponential", roles = ["client.preprocessed", "server.evaluate"]}} {
    %c0 = arith.constant 0 : index
    %pt = preprocessing.load %arg1[] site 0<!pt> : <!pt>, !pt
    %extracted = tensor.extract %arg0[%c0] : tensor<1x!ct_L5>
    %ct = ckks.mul_plain %extracted, %pt {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}} : (!ct_L5, !pt) -> !ct_L5_1
    %ct_0 = ckks.rescale %ct <to_ring = #ring_rns_L4_1_x16384> : !ct_L5_1 -> !ct_L4
    %0 = tensor.empty() : tensor<1x!ct_L0>
    %ct_1 = kernel.eval_chebyshev %ct_0 <coefficients = [2.2795853023360673, 3.1812737092746581, 1.3778968953974764, 0.42547991847970529, 0.10145713995836056, 0.019651358646263252, 0.0032003467270436525, 4.4927828400267289E-4, 5.5398739024418532E-5, 6.0883718048542376E-6, 6.0339276980499792E-7, 5.444393105464268E-8, 4.5328897036284281E-9]> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}} : !ct_L4 -> !ct_L0
    %inserted = tensor.insert %ct_1 into %0[%c0] : tensor<1x!ct_L0>
    return %inserted : tensor<1x!ct_L0>
  }
  func.func @exponential(%arg0: tensor<1x!ct_L5> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #original_type}) -> (tensor<1x!ct_L0> {tensor_ext.original_type = #original_type}) attributes {heir.interface = {func_name = "exponential", input_types = [tensor<8xf32>], result_types = [tensor<8xf32>], roles = ["entry"]}} {
    %0 = call @exponential__preprocessing() : () -> !preprocessing.storage<!pt>
    %1 = call @exponential__preprocessed(%arg0, %0) : (tensor<1x!ct_L5>, !preprocessing.storage<!pt>) -> tensor<1x!ct_L0>
    return %1 : tensor<1x!ct_L0>
  }
  func.func @exponential__encrypt__arg0(%arg0: tensor<8xf32>, %pk: !pkey_L5) -> tensor<1x!ct_L5> attributes {heir.interface = {func_name = "exponential", index = 0 : i64, roles = ["client.encrypt"]}} {
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
    %pt = lwe.rlwe_encode %extracted_slice <encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x16384, level = 5, scale = 45> : tensor<8xf32> -> !pt
    %ct = lwe.rlwe_encrypt %pt, %pk : (!pt, !pkey_L5) -> !ct_L5
    %from_elements = tensor.from_elements %ct : tensor<1x!ct_L5>
    return %from_elements : tensor<1x!ct_L5>
  }
  func.func @exponential__decrypt__result0(%arg0: tensor<1x!ct_L0>, %sk: !skey_L0) -> tensor<8xf32> attributes {heir.interface = {func_name = "exponential", index = 0 : i64, roles = ["client.decrypt"]}} {
    %c0 = arith.constant 0 : index
    %c8_i32 = arith.constant 8 : i32
    %c1_i32 = arith.constant 1 : i32
    %c7_i32 = arith.constant 7 : i32
    %c0_i32 = arith.constant 0 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<8xf32>
    %extracted = tensor.extract %arg0[%c0] : tensor<1x!ct_L0>
    %pt = lwe.rlwe_decrypt %extracted, %sk : (!ct_L0, !skey_L0) -> !pt
    %0 = lwe.rlwe_decode %pt <encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x16384> : !pt -> tensor<1x8xf32>
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

