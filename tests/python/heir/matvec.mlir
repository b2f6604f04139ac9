!Z35184372121601_i64 = !mod_arith.int<35184372121601 : i64>
!Z36028797018652673_i64 = !mod_arith.int<36028797018652673 : i64>
#inverse_canonical_encoding = #lwe.inverse_canonical_encoding<scaling_factor = 45>
#inverse_canonical_encoding1 = #lwe.inverse_canonical_encoding<scaling_factor = 90>
#key = #lwe.key<>
#layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 4 = 0 and 0 <= i0 <= 2 and 0 <= slot <= 7 }">
#modulus_chain_L1_C0 = #lwe.modulus_chain<elements = <36028797018652673 : i64, 35184372121601 : i64>, current = 0>
#modulus_chain_L1_C1 = #lwe.modulus_chain<elements = <36028797018652673 : i64, 35184372121601 : i64>, current = 1>
#ring_f64_1_x8192 = #polynomial.ring<coefficientType = f64, polynomialModulus = <1 + x**8192>>
!rns_L0 = !rns.rns<!Z36028797018652673_i64>
!rns_L1 = !rns.rns<!Z36028797018652673_i64, !Z35184372121601_i64>
#original_type = #tensor_ext.original_type<originalType = tensor<3xf32>, layout = #layout>
!pt = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding>>
!pt1 = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding1>>
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
  func.func @matvec__preprocessing() -> !preprocessing.storage<!pt, !pt1> attributes {heir.interface = {entry_arg_indices = array<i64>, func_name = "matvec", roles = ["server.preprocessing"]}} {
    %cst = arith.constant dense<0.000000e+00> : tensor<8xf32>
    %cst_0 = arith.constant dense<[[0.000000e+00, 1.250000e-01, 2.500000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 3.750000e-01, 0.000000e+00]]> : tensor<1x8xf32>
    %cst_1 = arith.constant dense<[[0.000000e+00, 1.250000e-01, 2.500000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00]]> : tensor<1x6xf32>
    %cst_2 = arith.constant dense<[[3.750000e-01, 0.000000e+00]]> : tensor<1x2xf32>
    %cst_3 = arith.constant dense<[[-2.500000e-01, -1.250000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 1.250000e-01, 0.000000e+00]]> : tensor<1x8xf32>
    %cst_4 = arith.constant dense<[[-2.500000e-01, -1.250000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00]]> : tensor<1x6xf32>
    %cst_5 = arith.constant dense<[[1.250000e-01, 0.000000e+00]]> : tensor<1x2xf32>
    %cst_6 = arith.constant dense<[-3.750000e-01, -2.500000e-01, -1.250000e-01, 0.000000e+00, 3.750000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00]> : tensor<8xf32>
    %cst_7 = arith.constant dense<[2.500000e-01, 3.750000e-01, -3.750000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00]> : tensor<8xf32>
    %cst_8 = arith.constant dense<[0.000000e+00, 2.500000e-01, 5.000000e-01, 0.000000e+00, 0.000000e+00, 2.500000e-01, 5.000000e-01, 0.000000e+00]> : tensor<8xf32>
    %0 = preprocessing.empty : <!pt, !pt1>
    %inserted_slice = tensor.insert_slice %cst_1 into %cst_0[0, 2] [1, 6] [1, 1] : tensor<1x6xf32> into tensor<1x8xf32>
    %inserted_slice_9 = tensor.insert_slice %cst_2 into %inserted_slice[0, 0] [1, 2] [1, 1] : tensor<1x2xf32> into tensor<1x8xf32>
    %inserted_slice_10 = tensor.insert_slice %cst_4 into %cst_3[0, 2] [1, 6] [1, 1] : tensor<1x6xf32> into tensor<1x8xf32>
    %inserted_slice_11 = tensor.insert_slice %cst_5 into %inserted_slice_10[0, 0] [1, 2] [1, 1] : tensor<1x2xf32> into tensor<1x8xf32>
    %pt = lwe.rlwe_encode %cst_6 <encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x8192, level = 1, scale = 45> : tensor<8xf32> -> !pt
    preprocessing.store %pt, %0[] site 0<!pt> : !pt, <!pt, !pt1>
    %pt_12 = lwe.rlwe_encode %cst <encoding = #inverse_canonical_encoding1, ring = #ring_f64_1_x8192, level = 1, scale = 90> : tensor<8xf32> -> !pt1
    preprocessing.store %pt_12, %0[] site 1<!pt1> : !pt1, <!pt, !pt1>
    %pt_13 = lwe.rlwe_encode %cst_7 <encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x8192, level = 1, scale = 45> : tensor<8xf32> -> !pt
    preprocessing.store %pt_13, %0[] site 2<!pt> : !pt, <!pt, !pt1>
    %extracted_slice = tensor.extract_slice %inserted_slice_9[0, 0] [1, 8] [1, 1] : tensor<1x8xf32> to tensor<8xf32>
    %pt_14 = lwe.rlwe_encode %extracted_slice <encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x8192, level = 1, scale = 45> : tensor<8xf32> -> !pt
    preprocessing.store %pt_14, %0[] site 3<!pt> : !pt, <!pt, !pt1>
    %extracted_slice_15 = tensor.extract_slice %inserted_slice_11[0, 0] [1, 8] [1, 1] : tensor<1x8xf32> to tensor<8xf32>
    %pt_16 = lwe.rlwe_encode %extracted_slice_15 <encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x8192, level = 1, scale = 45> : tensor<8xf32> -> !pt
    preprocessing.store %pt_16, %0[] site 4<!pt> : !pt, <!pt, !pt1>
    %pt_17 = lwe.rlwe_encode %cst_8 <encoding = #inverse_canonical_encoding1, ring = #ring_f64_1_x8192, level = 1, scale = 90> : tensor<8xf32> -> !pt1
    preprocessing.store %pt_17, %0[] site 5<!pt1> : !pt1, <!pt, !pt1>
    return %0 : !preprocessing.storage<!pt, !pt1>
  }
  func.func @matvec__preprocessed(%arg0: tensor<1x!ct_L1> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 5>}, tensor_ext.original_type = #tensor_ext.original_type<originalType = tensor<5xf32>, layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 8 = 0 and 0 <= i0 <= 4 and 0 <= slot <= 7 }">>}, %arg1: !preprocessing.storage<!pt, !pt1>) -> tensor<1x!ct_L0> attributes {heir.interface = {func_name = "matvec", roles = ["client.preprocessed", "server.evaluate"]}} {
    %c4 = arith.constant 4 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c0 = arith.constant 0 : index
    %extracted = tensor.extract %arg0[%c0] : tensor<1x!ct_L1>
    %ct = ckks.rotate %extracted, %c1 : index : !ct_L1
    %pt = preprocessing.load %arg1[] site 0<!pt> : <!pt, !pt1>, !pt
    %ct_0 = ckks.mul_plain %extracted, %pt : (!ct_L1, !pt) -> !ct_L1_1
    %pt_1 = preprocessing.load %arg1[] site 1<!pt1> : <!pt, !pt1>, !pt1
    %ct_2 = ckks.add_plain %ct_0, %pt_1 : (!ct_L1_1, !pt1) -> !ct_L1_1
    %pt_3 = preprocessing.load %arg1[] site 2<!pt> : <!pt, !pt1>, !pt
    %ct_4 = ckks.mul_plain %ct, %pt_3 : (!ct_L1, !pt) -> !ct_L1_1
    %ct_5 = ckks.add %ct_2, %ct_4 : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
    %ct_6 = ckks.add_plain %ct_5, %pt_1 : (!ct_L1_1, !pt1) -> !ct_L1_1
    %pt_7 = preprocessing.load %arg1[] site 3<!pt> : <!pt, !pt1>, !pt
    %ct_8 = ckks.mul_plain %extracted, %pt_7 : (!ct_L1, !pt) -> !ct_L1_1
    %ct_9 = ckks.add_plain %ct_8, %pt_1 : (!ct_L1_1, !pt1) -> !ct_L1_1
    %pt_10 = preprocessing.load %arg1[] site 4<!pt> : <!pt, !pt1>, !pt
    %ct_11 = ckks.mul_plain %ct, %pt_10 : (!ct_L1, !pt) -> !ct_L1_1
    %ct_12 = ckks.add %ct_9, %ct_11 : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
    %ct_13 = ckks.rotate %ct_12, %c2 : index : !ct_L1_1
    %ct_14 = ckks.add %ct_6, %ct_13 : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
    %ct_15 = ckks.rotate %ct_14, %c4 : index : !ct_L1_1
    %pt_16 = preprocessing.load %arg1[] site 5<!pt1> : <!pt, !pt1>, !pt1
    %ct_17 = ckks.add_plain %ct_14, %pt_16 : (!ct_L1_1, !pt1) -> !ct_L1_1
    %ct_18 = ckks.add %ct_17, %ct_15 : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
    %0 = tensor.empty() : tensor<1x!ct_L0>
    %ct_19 = ckks.rescale %ct_18 <to_ring = #ring_rns_L0_1_x8192> : !ct_L1_1 -> !ct_L0
    %inserted = tensor.insert %ct_19 into %0[%c0] : tensor<1x!ct_L0>
    return %inserted : tensor<1x!ct_L0>
  }
  func.func @matvec(%arg0: tensor<1x!ct_L1> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 5>}, tensor_ext.original_type = #tensor_ext.original_type<originalType = tensor<5xf32>, layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 8 = 0 and 0 <= i0 <= 4 and 0 <= slot <= 7 }">>}) -> (tensor<1x!ct_L0> {tensor_ext.original_type = #original_type}) attributes {heir.interface = {func_name = "matvec", input_types = [tensor<5xf32>], result_types = [tensor<3xf32>], roles = ["entry"]}} {
    %0 = call @matvec__preprocessing() : () -> !preprocessing.storage<!pt, !pt1>
    %1 = call @matvec__preprocessed(%arg0, %0) : (tensor<1x!ct_L1>, !preprocessing.storage<!pt, !pt1>) -> tensor<1x!ct_L0>
    return %1 : tensor<1x!ct_L0>
  }
  func.func @matvec__encrypt__arg0(%arg0: tensor<5xf32>, %pk: !pkey_L1) -> tensor<1x!ct_L1> attributes {heir.interface = {func_name = "matvec", index = 0 : i64, roles = ["client.encrypt"]}} {
    %c0 = arith.constant 0 : index
    %cst = arith.constant dense<0.000000e+00> : tensor<1x8xf32>
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c5_i32 = arith.constant 5 : i32
    %0 = scf.for %arg1 = %c0_i32 to %c5_i32 step %c1_i32 iter_args(%arg2 = %cst) -> (tensor<1x8xf32>)  : i32 {
      %1 = arith.index_cast %arg1 : i32 to index
      %extracted = tensor.extract %arg0[%1] : tensor<5xf32>
      %inserted = tensor.insert %extracted into %arg2[%c0, %1] : tensor<1x8xf32>
      scf.yield %inserted : tensor<1x8xf32>
    }
    %extracted_slice = tensor.extract_slice %0[0, 0] [1, 8] [1, 1] : tensor<1x8xf32> to tensor<8xf32>
    %pt = lwe.rlwe_encode %extracted_slice <encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x8192, level = 1, scale = 45> : tensor<8xf32> -> !pt
    %ct = lwe.rlwe_encrypt %pt, %pk : (!pt, !pkey_L1) -> !ct_L1
    %from_elements = tensor.from_elements %ct : tensor<1x!ct_L1>
    return %from_elements : tensor<1x!ct_L1>
  }
  func.func @matvec__decrypt__result0(%arg0: tensor<1x!ct_L0>, %sk: !skey_L0) -> tensor<3xf32> attributes {heir.interface = {func_name = "matvec", index = 0 : i64, roles = ["client.decrypt"]}} {
    %c0 = arith.constant 0 : index
    %c8_i32 = arith.constant 8 : i32
    %c3_i32 = arith.constant 3 : i32
    %c4_i32 = arith.constant 4 : i32
    %c1_i32 = arith.constant 1 : i32
    %c2_i32 = arith.constant 2 : i32
    %c0_i32 = arith.constant 0 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<3xf32>
    %c5_i32 = arith.constant 5 : i32
    %extracted = tensor.extract %arg0[%c0] : tensor<1x!ct_L0>
    %pt = lwe.rlwe_decrypt %extracted, %sk : (!ct_L0, !skey_L0) -> !pt
    %0 = lwe.rlwe_decode %pt <encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x8192> : !pt -> tensor<1x8xf32>
    %1 = scf.for %arg1 = %c0_i32 to %c3_i32 step %c1_i32 iter_args(%arg2 = %cst) -> (tensor<3xf32>)  : i32 {
      %2 = arith.subi %c2_i32, %arg1 : i32
      %3 = scf.for %arg3 = %2 to %c8_i32 step %c4_i32 iter_args(%arg4 = %arg2) -> (tensor<3xf32>)  : i32 {
        %4 = arith.addi %arg1, %c5_i32 : i32
        %5 = arith.floordivsi %4, %c4_i32 : i32
        %6 = arith.muli %5, %c4_i32 : i32
        %7 = arith.addi %2, %6 : i32
        %8 = arith.subi %arg3, %2 : i32
        %9 = arith.subi %7, %8 : i32
        %10 = arith.index_cast %9 : i32 to index
        %extracted_0 = tensor.extract %0[%c0, %10] : tensor<1x8xf32>
        %11 = arith.index_cast %2 : i32 to index
        %inserted = tensor.insert %extracted_0 into %arg4[%11] : tensor<3xf32>
        scf.yield %inserted : tensor<3xf32>
      }
      scf.yield %3 : tensor<3xf32>
    }
    return %1 : tensor<3xf32>
  }
}

