!Z35184370941953_i64 = !mod_arith.int<35184370941953 : i64>
!Z35184371138561_i64 = !mod_arith.int<35184371138561 : i64>
!Z35184372121601_i64 = !mod_arith.int<35184372121601 : i64>
!Z35184372744193_i64 = !mod_arith.int<35184372744193 : i64>
!Z36028797017456641_i64 = !mod_arith.int<36028797017456641 : i64>
#inverse_canonical_encoding = #lwe.inverse_canonical_encoding<scaling_factor = 45>
#inverse_canonical_encoding1 = #lwe.inverse_canonical_encoding<scaling_factor = 90>
#key = #lwe.key<>
#layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 4 = 0 and 0 <= i0 <= 3 and 0 <= slot <= 7 }">
#modulus_chain_L4_C0 = #lwe.modulus_chain<elements = <36028797017456641 : i64, 35184370941953 : i64, 35184372744193 : i64, 35184371138561 : i64, 35184372121601 : i64>, current = 0>
#modulus_chain_L4_C1 = #lwe.modulus_chain<elements = <36028797017456641 : i64, 35184370941953 : i64, 35184372744193 : i64, 35184371138561 : i64, 35184372121601 : i64>, current = 1>
#modulus_chain_L4_C2 = #lwe.modulus_chain<elements = <36028797017456641 : i64, 35184370941953 : i64, 35184372744193 : i64, 35184371138561 : i64, 35184372121601 : i64>, current = 2>
#modulus_chain_L4_C3 = #lwe.modulus_chain<elements = <36028797017456641 : i64, 35184370941953 : i64, 35184372744193 : i64, 35184371138561 : i64, 35184372121601 : i64>, current = 3>
#modulus_chain_L4_C4 = #lwe.modulus_chain<elements = <36028797017456641 : i64, 35184370941953 : i64, 35184372744193 : i64, 35184371138561 : i64, 35184372121601 : i64>, current = 4>
#ring_f64_1_x16384 = #polynomial.ring<coefficientType = f64, polynomialModulus = <1 + x**16384>>
!rns_L0 = !rns.rns<!Z36028797017456641_i64>
!rns_L1 = !rns.rns<!Z36028797017456641_i64, !Z35184370941953_i64>
!rns_L2 = !rns.rns<!Z36028797017456641_i64, !Z35184370941953_i64, !Z35184372744193_i64>
!rns_L3 = !rns.rns<!Z36028797017456641_i64, !Z35184370941953_i64, !Z35184372744193_i64, !Z35184371138561_i64>
!rns_L4 = !rns.rns<!Z36028797017456641_i64, !Z35184370941953_i64, !Z35184372744193_i64, !Z35184371138561_i64, !Z35184372121601_i64>
#original_type = #tensor_ext.original_type<originalType = tensor<4xf32>, layout = #layout>
!pt = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>>
!pt1 = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding1>>
#ring_rns_L0_1_x16384 = #polynomial.ring<coefficientType = !rns_L0, polynomialModulus = <1 + x**16384>>
#ring_rns_L1_1_x16384 = #polynomial.ring<coefficientType = !rns_L1, polynomialModulus = <1 + x**16384>>
#ring_rns_L2_1_x16384 = #polynomial.ring<coefficientType = !rns_L2, polynomialModulus = <1 + x**16384>>
#ring_rns_L3_1_x16384 = #polynomial.ring<coefficientType = !rns_L3, polynomialModulus = <1 + x**16384>>
#ring_rns_L4_1_x16384 = #polynomial.ring<coefficientType = !rns_L4, polynomialModulus = <1 + x**16384>>
!pkey_L4 = !lwe.lwe_public_key<key = #key, ring = #ring_rns_L4_1_x16384>
!skey_L0 = !lwe.lwe_secret_key<key = #key, ring = #ring_rns_L0_1_x16384>
#ciphertext_space_L0 = #lwe.ciphertext_space<ring = #ring_rns_L0_1_x16384, encryption_type = mix>
#ciphertext_space_L1 = #lwe.ciphertext_space<ring = #ring_rns_L1_1_x16384, encryption_type = mix>
#ciphertext_space_L2 = #lwe.ciphertext_space<ring = #ring_rns_L2_1_x16384, encryption_type = mix>
#ciphertext_space_L2_D3 = #lwe.ciphertext_space<ring = #ring_rns_L2_1_x16384, encryption_type = mix, size = 3>
#ciphertext_space_L3 = #lwe.ciphertext_space<ring = #ring_rns_L3_1_x16384, encryption_type = mix>
#ciphertext_space_L4 = #lwe.ciphertext_space<ring = #ring_rns_L4_1_x16384, encryption_type = mix>
!ct_L0 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L0, key = #key, modulus_chain = #modulus_chain_L4_C0>
!ct_L1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L1, key = #key, modulus_chain = #modulus_chain_L4_C1>
!ct_L2 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L2, key = #key, modulus_chain = #modulus_chain_L4_C2>
!ct_L2_1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L2, key = #key, modulus_chain = #modulus_chain_L4_C2>
!ct_L2_D3 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L2_D3, key = #key, modulus_chain = #modulus_chain_L4_C2>
!ct_L3 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L3, key = #key, modulus_chain = #modulus_chain_L4_C3>
!ct_L3_1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L3, key = #key, modulus_chain = #modulus_chain_L4_C3>
!ct_L4 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x16384, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L4, key = #key, modulus_chain = #modulus_chain_L4_C4>
module attributes {backend.lattigo, ckks.schemeParam = #ckks.scheme_param<logN = 14, Q = [36028797017456641, 35184370941953, 35184372744193, 35184371138561, 35184372121601], P = [1152921504607338497, 1152921504608747521], logDefaultScale = 45, encryptionTechnique = extended>, scheme.actual_slot_count = 8192 : i64, scheme.ckks, scheme.requested_slot_count = 8 : i64} {
  func.func @two_layers__preprocessing() -> !preprocessing.storage<!kernel.prepared_linear_transform<level = 4, slots = 8, log_bsgs_ratio = 0>, !pt, !kernel.prepared_linear_transform<level = 2, slots = 8, log_bsgs_ratio = 0>, !pt1> attributes {heir.interface = {entry_arg_indices = array<i64>, func_name = "two_layers", roles = ["server.preprocessing"]}} {
    %cst = arith.constant dense<1.000000e+00> : tensor<8xf32>
    %cst_0 = arith.constant dense<[[-3.750000e-01, -2.500000e-01, -1.250000e-01, 0.000000e+00, 1.250000e-01, 2.500000e-01, 3.750000e-01, -3.750000e-01], [2.500000e-01, 3.750000e-01, -3.750000e-01, -2.500000e-01, -1.250000e-01, 0.000000e+00, 1.250000e-01, -3.750000e-01], [0.000000e+00, 1.250000e-01, 2.500000e-01, 3.750000e-01, -3.750000e-01, -2.500000e-01, 1.250000e-01, 2.500000e-01], [-2.500000e-01, -1.250000e-01, 0.000000e+00, 1.250000e-01, 2.500000e-01, -2.500000e-01, -1.250000e-01, 0.000000e+00], [3.750000e-01, -3.750000e-01, -2.500000e-01, -1.250000e-01, 2.500000e-01, 3.750000e-01, -3.750000e-01, -2.500000e-01], [1.250000e-01, 2.500000e-01, 3.750000e-01, -1.250000e-01, 0.000000e+00, 1.250000e-01, 2.500000e-01, 3.750000e-01], [-1.250000e-01, 0.000000e+00, 3.750000e-01, -3.750000e-01, -2.500000e-01, -1.250000e-01, 0.000000e+00, 1.250000e-01], [-3.750000e-01, 0.000000e+00, 1.250000e-01, 2.500000e-01, 3.750000e-01, -3.750000e-01, -2.500000e-01, -1.250000e-01]]> : tensor<8x8xf32>
    %cst_1 = arith.constant dense<[[-3.750000e-01, -2.500000e-01, -1.250000e-01, 0.000000e+00, 3.750000e-01, -3.750000e-01, -2.500000e-01, -1.250000e-01], [2.500000e-01, 3.750000e-01, -3.750000e-01, -2.500000e-01, 1.250000e-01, 2.500000e-01, 3.750000e-01, -1.250000e-01], [0.000000e+00, 1.250000e-01, 2.500000e-01, 3.750000e-01, -1.250000e-01, 0.000000e+00, 3.750000e-01, -3.750000e-01], [-2.500000e-01, -1.250000e-01, 0.000000e+00, 1.250000e-01, -3.750000e-01, 0.000000e+00, 1.250000e-01, 2.500000e-01]]> : tensor<4x8xf32>
    %cst_2 = arith.constant dense<[0.000000e+00, 2.500000e-01, 5.000000e-01, 7.500000e-01, 1.000000e+00, 1.250000e+00, 1.500000e+00, 1.750000e+00]> : tensor<8xf32>
    %cst_3 = arith.constant dense<[0.000000e+00, 2.500000e-01, 5.000000e-01, 7.500000e-01, 0.000000e+00, 2.500000e-01, 5.000000e-01, 7.500000e-01]> : tensor<8xf32>
    %0 = preprocessing.empty : <!kernel.prepared_linear_transform<level = 4, slots = 8, log_bsgs_ratio = 0>, !pt, !kernel.prepared_linear_transform<level = 2, slots = 8, log_bsgs_ratio = 0>, !pt1>
    %1 = kernel.prepare_linear_transform %cst_0 <diagonal_indices = [0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8x8xf32> -> <level = 4, slots = 8, log_bsgs_ratio = 0>
    preprocessing.store %1, %0[] site 0<!kernel.prepared_linear_transform<level = 4, slots = 8, log_bsgs_ratio = 0>> : !kernel.prepared_linear_transform<level = 4, slots = 8, log_bsgs_ratio = 0>, <!kernel.prepared_linear_transform<level = 4, slots = 8, log_bsgs_ratio = 0>, !pt, !kernel.prepared_linear_transform<level = 2, slots = 8, log_bsgs_ratio = 0>, !pt1>
    %pt = lwe.rlwe_encode %cst_2 <encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x16384, level = 3, scale = 45> : tensor<8xf32> -> !pt
    preprocessing.store %pt, %0[] site 1<!pt> : !pt, <!kernel.prepared_linear_transform<level = 4, slots = 8, log_bsgs_ratio = 0>, !pt, !kernel.prepared_linear_transform<level = 2, slots = 8, log_bsgs_ratio = 0>, !pt1>
    %pt_4 = lwe.rlwe_encode %cst <encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x16384, level = 3, scale = 45> : tensor<8xf32> -> !pt
    preprocessing.store %pt_4, %0[] site 2<!pt> : !pt, <!kernel.prepared_linear_transform<level = 4, slots = 8, log_bsgs_ratio = 0>, !pt, !kernel.prepared_linear_transform<level = 2, slots = 8, log_bsgs_ratio = 0>, !pt1>
    %2 = kernel.prepare_linear_transform %cst_1 <diagonal_indices = [0, 1, 2, 3]> : tensor<4x8xf32> -> <level = 2, slots = 8, log_bsgs_ratio = 0>
    preprocessing.store %2, %0[] site 3<!kernel.prepared_linear_transform<level = 2, slots = 8, log_bsgs_ratio = 0>> : !kernel.prepared_linear_transform<level = 2, slots = 8, log_bsgs_ratio = 0>, <!kernel.prepared_linear_transform<level = 4, slots = 8, log_bsgs_ratio = 0>, !pt, !kernel.prepared_linear_transform<level = 2, slots = 8, log_bsgs_ratio = 0>, !pt1>
    %pt_5 = lwe.rlwe_encode %cst_3 <encoding = #inverse_canonical_encoding1, ring = #ring_f64_1_x16384, level = 1, scale = 90> : tensor<8xf32> -> !pt1
    preprocessing.store %pt_5, %0[] site 4<!pt1> : !pt1, <!kernel.prepared_linear_transform<level = 4, slots = 8, log_bsgs_ratio = 0>, !pt, !kernel.prepared_linear_transform<level = 2, slots = 8, log_bsgs_ratio = 0>, !pt1>
    return %0 : !preprocessing.storage<!kernel.prepared_linear_transform<level = 4, slots = 8, log_bsgs_ratio = 0>, !pt, !kernel.prepared_linear_transform<level = 2, slots = 8, log_bsgs_ratio = 0>, !pt1>
  }
  func.func @two_layers__preprocessed(%arg0: tensor<1x!ct_L4> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #tensor_ext.original_type<originalType = tensor<8xf32>, layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 8 = 0 and 0 <= i0 <= 7 and 0 <= slot <= 7 }">>}, %arg1: !preprocessing.storage<!kernel.prepared_linear_transform<level = 4, slots = 8, log_bsgs_ratio = 0>, !pt, !kernel.prepared_linear_transform<level = 2, slots = 8, log_bsgs_ratio = 0>, !pt1>) -> tensor<1x!ct_L0> attributes {heir.interface = {func_name = "two_layers", roles = ["client.preprocessed", "server.evaluate"]}} {
    %c4 = arith.constant 4 : index
    %c0 = arith.constant 0 : index
    %0 = preprocessing.load %arg1[] site 0<!kernel.prepared_linear_transform<level = 4, slots = 8, log_bsgs_ratio = 0>> : <!kernel.prepared_linear_transform<level = 4, slots = 8, log_bsgs_ratio = 0>, !pt, !kernel.prepared_linear_transform<level = 2, slots = 8, log_bsgs_ratio = 0>, !pt1>, !kernel.prepared_linear_transform<level = 4, slots = 8, log_bsgs_ratio = 0>
    %extracted = tensor.extract %arg0[%c0] : tensor<1x!ct_L4>
    %ct = kernel.apply_linear_transform %extracted, %0 <diagonal_indices = [0, 1, 2, 3, 4, 5, 6, 7], diagonal_width = 8> : !ct_L4, <level = 4, slots = 8, log_bsgs_ratio = 0> -> !ct_L3
    %pt = preprocessing.load %arg1[] site 1<!pt> : <!kernel.prepared_linear_transform<level = 4, slots = 8, log_bsgs_ratio = 0>, !pt, !kernel.prepared_linear_transform<level = 2, slots = 8, log_bsgs_ratio = 0>, !pt1>, !pt
    %ct_0 = ckks.add_plain %ct, %pt : (!ct_L3, !pt) -> !ct_L3
    %pt_1 = preprocessing.load %arg1[] site 2<!pt> : <!kernel.prepared_linear_transform<level = 4, slots = 8, log_bsgs_ratio = 0>, !pt, !kernel.prepared_linear_transform<level = 2, slots = 8, log_bsgs_ratio = 0>, !pt1>, !pt
    %ct_2 = ckks.mul_plain %ct_0, %pt_1 : (!ct_L3, !pt) -> !ct_L3_1
    %ct_3 = ckks.rescale %ct_2 <to_ring = #ring_rns_L2_1_x16384> : !ct_L3_1 -> !ct_L2
    %ct_4 = ckks.mul %ct_3, %ct_3 {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}} : (!ct_L2, !ct_L2) -> !ct_L2_D3
    %ct_5 = ckks.relinearize %ct_4 <from_basis = [0, 1, 2], to_basis = [0, 1]> : (!ct_L2_D3) -> !ct_L2_1
    %1 = preprocessing.load %arg1[] site 3<!kernel.prepared_linear_transform<level = 2, slots = 8, log_bsgs_ratio = 0>> : <!kernel.prepared_linear_transform<level = 4, slots = 8, log_bsgs_ratio = 0>, !pt, !kernel.prepared_linear_transform<level = 2, slots = 8, log_bsgs_ratio = 0>, !pt1>, !kernel.prepared_linear_transform<level = 2, slots = 8, log_bsgs_ratio = 0>
    %ct_6 = kernel.apply_linear_transform %ct_5, %1 <diagonal_indices = [0, 1, 2, 3], diagonal_width = 8> : !ct_L2_1, <level = 2, slots = 8, log_bsgs_ratio = 0> -> !ct_L1
    %ct_7 = ckks.rotate %ct_6, %c4 : index : !ct_L1
    %pt_8 = preprocessing.load %arg1[] site 4<!pt1> : <!kernel.prepared_linear_transform<level = 4, slots = 8, log_bsgs_ratio = 0>, !pt, !kernel.prepared_linear_transform<level = 2, slots = 8, log_bsgs_ratio = 0>, !pt1>, !pt1
    %ct_9 = ckks.add_plain %ct_6, %pt_8 : (!ct_L1, !pt1) -> !ct_L1
    %ct_10 = ckks.add %ct_9, %ct_7 : (!ct_L1, !ct_L1) -> !ct_L1
    %2 = tensor.empty() : tensor<1x!ct_L0>
    %ct_11 = ckks.rescale %ct_10 <to_ring = #ring_rns_L0_1_x16384> : !ct_L1 -> !ct_L0
    %inserted = tensor.insert %ct_11 into %2[%c0] : tensor<1x!ct_L0>
    return %inserted : tensor<1x!ct_L0>
  }
  func.func @two_layers(%arg0: tensor<1x!ct_L4> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 8>}, tensor_ext.original_type = #tensor_ext.original_type<originalType = tensor<8xf32>, layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 8 = 0 and 0 <= i0 <= 7 and 0 <= slot <= 7 }">>}) -> (tensor<1x!ct_L0> {tensor_ext.original_type = #original_type}) attributes {heir.interface = {func_name = "two_layers", input_types = [tensor<8xf32>], result_types = [tensor<4xf32>], roles = ["entry"]}} {
    %0 = call @two_layers__preprocessing() : () -> !preprocessing.storage<!kernel.prepared_linear_transform<level = 4, slots = 8, log_bsgs_ratio = 0>, !pt, !kernel.prepared_linear_transform<level = 2, slots = 8, log_bsgs_ratio = 0>, !pt1>
    %1 = call @two_layers__preprocessed(%arg0, %0) : (tensor<1x!ct_L4>, !preprocessing.storage<!kernel.prepared_linear_transform<level = 4, slots = 8, log_bsgs_ratio = 0>, !pt, !kernel.prepared_linear_transform<level = 2, slots = 8, log_bsgs_ratio = 0>, !pt1>) -> tensor<1x!ct_L0>
    return %1 : tensor<1x!ct_L0>
  }
  func.func @two_layers__encrypt__arg0(%arg0: tensor<8xf32>, %pk: !pkey_L4) -> tensor<1x!ct_L4> attributes {heir.interface = {func_name = "two_layers", index = 0 : i64, roles = ["client.encrypt"]}} {
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
    %pt = lwe.rlwe_encode %extracted_slice <encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x16384, level = 4, scale = 45> : tensor<8xf32> -> !pt
    %ct = lwe.rlwe_encrypt %pt, %pk : (!pt, !pkey_L4) -> !ct_L4
    %from_elements = tensor.from_elements %ct : tensor<1x!ct_L4>
    return %from_elements : tensor<1x!ct_L4>
  }
  func.func @two_layers__decrypt__result0(%arg0: tensor<1x!ct_L0>, %sk: !skey_L0) -> tensor<4xf32> attributes {heir.interface = {func_name = "two_layers", index = 0 : i64, roles = ["client.decrypt"]}} {
    %c0 = arith.constant 0 : index
    %c8_i32 = arith.constant 8 : i32
    %c4_i32 = arith.constant 4 : i32
    %c1_i32 = arith.constant 1 : i32
    %c3_i32 = arith.constant 3 : i32
    %c0_i32 = arith.constant 0 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<4xf32>
    %extracted = tensor.extract %arg0[%c0] : tensor<1x!ct_L0>
    %pt = lwe.rlwe_decrypt %extracted, %sk : (!ct_L0, !skey_L0) -> !pt
    %0 = lwe.rlwe_decode %pt <encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x16384> : !pt -> tensor<1x8xf32>
    %1 = scf.for %arg1 = %c0_i32 to %c4_i32 step %c1_i32 iter_args(%arg2 = %cst) -> (tensor<4xf32>)  : i32 {
      %2 = arith.subi %c3_i32, %arg1 : i32
      %3 = scf.for %arg3 = %2 to %c8_i32 step %c4_i32 iter_args(%arg4 = %arg2) -> (tensor<4xf32>)  : i32 {
        %4 = arith.addi %arg1, %c4_i32 : i32
        %5 = arith.floordivsi %4, %c4_i32 : i32
        %6 = arith.muli %5, %c4_i32 : i32
        %7 = arith.addi %2, %6 : i32
        %8 = arith.subi %arg3, %2 : i32
        %9 = arith.subi %7, %8 : i32
        %10 = arith.index_cast %9 : i32 to index
        %extracted_0 = tensor.extract %0[%c0, %10] : tensor<1x8xf32>
        %11 = arith.index_cast %2 : i32 to index
        %inserted = tensor.insert %extracted_0 into %arg4[%11] : tensor<4xf32>
        scf.yield %inserted : tensor<4xf32>
      }
      scf.yield %3 : tensor<4xf32>
    }
    return %1 : tensor<4xf32>
  }
}

