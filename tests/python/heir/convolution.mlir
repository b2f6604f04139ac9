!Z35184372121601_i64 = !mod_arith.int<35184372121601 : i64>
!Z36028797018652673_i64 = !mod_arith.int<36028797018652673 : i64>
#inverse_canonical_encoding = #lwe.inverse_canonical_encoding<scaling_factor = 45>
#inverse_canonical_encoding1 = #lwe.inverse_canonical_encoding<scaling_factor = 90>
#key = #lwe.key<>
#layout = #tensor_ext.layout<"{ [i0, i1, i2, i3] -> [ct, slot] : i0 = 0 and ct = 0 and (4i1 - 2i2 - i3 + slot) mod 8 = 0 and 0 <= i1 <= 1 and 0 <= i2 <= 1 and 0 <= i3 <= 1 and 0 <= slot <= 63 }">
#modulus_chain_L1_C0 = #lwe.modulus_chain<elements = <36028797018652673 : i64, 35184372121601 : i64>, current = 0>
#modulus_chain_L1_C1 = #lwe.modulus_chain<elements = <36028797018652673 : i64, 35184372121601 : i64>, current = 1>
#ring_f64_1_x8192 = #polynomial.ring<coefficientType = f64, polynomialModulus = <1 + x**8192>>
!rns_L0 = !rns.rns<!Z36028797018652673_i64>
!rns_L1 = !rns.rns<!Z36028797018652673_i64, !Z35184372121601_i64>
#original_type = #tensor_ext.original_type<originalType = tensor<1x2x2x2xf32>, layout = #layout>
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
module attributes {ckks.schemeParam = #ckks.scheme_param<logN = 13, Q = [36028797018652673, 35184372121601], P = [1152921504606994433], logDefaultScale = 45>, scheme.actual_slot_count = 4096 : i64, scheme.ckks, scheme.requested_slot_count = 64 : i64} {
  func.func private @_assign_layout_18368622017291091697() attributes {heir.interface = {func_name = "convolution", roles = ["client.pack"]}} {
    return
  }
  func.func @convolution__preprocessing() -> !preprocessing.storage<!pt, !pt1> attributes {heir.interface = {entry_arg_indices = array<i64>, func_name = "convolution", roles = ["server.preprocessing"]}} {
    %cst = arith.constant dense<0.000000e+00> : tensor<64xf32>
    %cst_0 = arith.constant dense<"0x000080BE000080BE0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000803E0000803E000000000000000000000000000000000000803E0000803E0000803E0000803E0000803E0000803E0000803E0000803E0000000000000000000000BE000000BE000080BE000080BE0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000803E0000803E000000000000000000000000000000000000803E0000803E0000803E0000803E0000803E0000803E0000803E0000803E0000000000000000000000BE000000BE0000003E0000003E0000000000000000000080BE000080BE0000000000000000000080BE000080BE000000000000000000000000000000000000000000000000000080BE000080BE00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000003E0000003E0000000000000000000080BE000080BE0000000000000000000080BE000080BE000000000000000000000000000000000000000000000000000080BE000080BE0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000BE000000BE000080BE000080BE0000003E0000003E00000000000000000000003E0000003E0000000000000000000000000000000000000000000000000000003E0000003E0000000000000000000080BE000080BE0000803E0000803E000080BE000080BE0000803E0000803E00000000000000000000000000000000000000BE000000BE000080BE000080BE0000003E0000003E00000000000000000000003E0000003E0000000000000000000000000000000000000000000000000000003E0000003E0000000000000000000080BE000080BE0000803E0000803E000080BE000080BE0000803E0000803E0000000000000000000000000000000000000000000000000000003E0000003E0000000000000000000080BE000080BE0000000000000000000080BE000080BE000000000000000000000000000000000000000000000000000080BE000080BE00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000003E0000003E0000000000000000000080BE000080BE0000000000000000000080BE000080BE000000000000000000000000000000000000000000000000000080BE000080BE000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000BE000000BE000000BE000000BE0000003E0000003E0000003E0000003E00000000000000000000003E0000003E0000003E0000003E00000000000000000000003E0000003E0000003E0000003E000080BE000080BE000080BE000080BE0000000000000000000080BE000080BE000000BE000000BE0000000000000000000000BE000000BE000000BE000000BE0000003E0000003E0000003E0000003E00000000000000000000003E0000003E0000003E0000003E00000000000000000000003E0000003E0000003E0000003E000080BE000080BE000080BE000080BE0000000000000000000080BE000080BE000000BE000000BE00000000000000000000803E0000803E0000000000000000000000BE000000BE000000000000000000000000000000000000000000000000000000BE000000BE0000000000000000000000BE000000BE00000000000000000000003E0000003E0000000000000000000000000000000000000000000000000000803E0000803E00000000000000000000803E0000803E0000000000000000000000BE000000BE000000000000000000000000000000000000000000000000000000BE000000BE0000000000000000000000BE000000BE00000000000000000000003E0000003E0000000000000000000000000000000000000000000000000000803E0000803E00000000000000000000000000000000000000BE000000BE0000803E0000803E0000003E0000003E000000000000000000000000000000000000803E0000803E0000003E0000003E0000803E0000803E0000003E0000003E000000BE000000BE000080BE000080BE000000000000000000000000000000000000000000000000000000BE000000BE0000000000000000000000BE000000BE0000803E0000803E0000003E0000003E000000000000000000000000000000000000803E0000803E0000003E0000003E0000803E0000803E0000003E0000003E000000BE000000BE000080BE000080BE000000000000000000000000000000000000000000000000000000BE000000BE00000000000000000000803E0000803E0000000000000000000000BE000000BE000000000000000000000000000000000000000000000000000000BE000000BE0000000000000000000000BE000000BE00000000000000000000003E0000003E0000000000000000000000000000000000000000000000000000803E0000803E00000000000000000000803E0000803E0000000000000000000000BE000000BE000000000000000000000000000000000000000000000000000000BE000000BE0000000000000000000000BE000000BE00000000000000000000003E0000003E0000000000000000000000000000000000000000000000000000803E0000803E"> : tensor<8x64xf32>
    %c3 = arith.constant 3 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c-3 = arith.constant -3 : index
    %c64 = arith.constant 64 : index
    %cst_1 = arith.constant dense<[-2.500000e-01, -2.500000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 2.500000e-01, 2.500000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 2.500000e-01, 2.500000e-01, 2.500000e-01, 2.500000e-01, 2.500000e-01, 2.500000e-01, 2.500000e-01, 2.500000e-01, 0.000000e+00, 0.000000e+00, -1.250000e-01, -1.250000e-01, -2.500000e-01, -2.500000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 2.500000e-01, 2.500000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 2.500000e-01, 2.500000e-01, 2.500000e-01, 2.500000e-01, 2.500000e-01, 2.500000e-01, 2.500000e-01, 2.500000e-01, 0.000000e+00, 0.000000e+00, -1.250000e-01, -1.250000e-01]> : tensor<64xf32>
    %0 = preprocessing.empty : <!pt, !pt1>
    %pt = lwe.rlwe_encode %cst_1 <encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x8192, level = 1, scale = 45> : tensor<64xf32> -> !pt
    preprocessing.store %pt, %0[] site 0<!pt> : !pt, <!pt, !pt1>
    %pt_2 = lwe.rlwe_encode %cst <encoding = #inverse_canonical_encoding1, ring = #ring_f64_1_x8192, level = 1, scale = 90> : tensor<64xf32> -> !pt1
    preprocessing.store %pt_2, %0[] site 1<!pt1> : !pt1, <!pt, !pt1>
    scf.for %arg0 = %c1 to %c3 step %c1 {
      %1 = arith.cmpi slt, %arg0, %c8 : index
      scf.if %1 {
        %extracted_slice = tensor.extract_slice %cst_0[%arg0, 0] [1, 64] [1, 1] : tensor<8x64xf32> to tensor<64xf32>
        %pt_3 = lwe.rlwe_encode %extracted_slice <encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x8192, level = 1, scale = 45> : tensor<64xf32> -> !pt
        preprocessing.store %pt_3, %0[%arg0] site 2<!pt> : !pt, <!pt, !pt1>
      }
    }
    scf.for %arg0 = %c1 to %c3 step %c1 {
      %1 = arith.muli %arg0, %c3 : index
      %2 = arith.cmpi slt, %1, %c8 : index
      scf.if %2 {
        %extracted_slice = tensor.extract_slice %cst_0[%1, 0] [1, 64] [1, 1] : tensor<8x64xf32> to tensor<1x64xf32>
        %3 = arith.muli %arg0, %c-3 : index
        %4 = arith.remsi %3, %c64 : index
        %5 = arith.addi %4, %c64 : index
        %6 = arith.remsi %5, %c64 : index
        %7 = arith.subi %c64, %6 : index
        %extracted_slice_3 = tensor.extract_slice %cst_0[%1, 0] [1, %6] [1, 1] : tensor<8x64xf32> to tensor<1x?xf32>
        %extracted_slice_4 = tensor.extract_slice %cst_0[%1, %6] [1, %7] [1, 1] : tensor<8x64xf32> to tensor<1x?xf32>
        %inserted_slice = tensor.insert_slice %extracted_slice_3 into %extracted_slice[0, %7] [1, %6] [1, 1] : tensor<1x?xf32> into tensor<1x64xf32>
        %inserted_slice_5 = tensor.insert_slice %extracted_slice_4 into %inserted_slice[0, 0] [1, %7] [1, 1] : tensor<1x?xf32> into tensor<1x64xf32>
        %extracted_slice_6 = tensor.extract_slice %inserted_slice_5[0, 0] [1, 64] [1, 1] : tensor<1x64xf32> to tensor<64xf32>
        %pt_7 = lwe.rlwe_encode %extracted_slice_6 <encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x8192, level = 1, scale = 45> : tensor<64xf32> -> !pt
        preprocessing.store %pt_7, %0[%arg0] site 3<!pt> : !pt, <!pt, !pt1>
      } else {
        preprocessing.store %pt_2, %0[%arg0] site 4<!pt1> : !pt1, <!pt, !pt1>
      }
      scf.for %arg1 = %c1 to %c3 step %c1 {
        %3 = arith.addi %arg1, %1 : index
        %4 = arith.cmpi slt, %3, %c8 : index
        scf.if %4 {
          %extracted_slice = tensor.extract_slice %cst_0[%3, 0] [1, 64] [1, 1] : tensor<8x64xf32> to tensor<1x64xf32>
          %5 = arith.muli %arg0, %c-3 : index
          %6 = arith.remsi %5, %c64 : index
          %7 = arith.addi %6, %c64 : index
          %8 = arith.remsi %7, %c64 : index
          %9 = arith.subi %c64, %8 : index
          %extracted_slice_3 = tensor.extract_slice %cst_0[%3, 0] [1, %8] [1, 1] : tensor<8x64xf32> to tensor<1x?xf32>
          %extracted_slice_4 = tensor.extract_slice %cst_0[%3, %8] [1, %9] [1, 1] : tensor<8x64xf32> to tensor<1x?xf32>
          %inserted_slice = tensor.insert_slice %extracted_slice_3 into %extracted_slice[0, %9] [1, %8] [1, 1] : tensor<1x?xf32> into tensor<1x64xf32>
          %inserted_slice_5 = tensor.insert_slice %extracted_slice_4 into %inserted_slice[0, 0] [1, %9] [1, 1] : tensor<1x?xf32> into tensor<1x64xf32>
          %extracted_slice_6 = tensor.extract_slice %inserted_slice_5[0, 0] [1, 64] [1, 1] : tensor<1x64xf32> to tensor<64xf32>
          %pt_7 = lwe.rlwe_encode %extracted_slice_6 <encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x8192, level = 1, scale = 45> : tensor<64xf32> -> !pt
          preprocessing.store %pt_7, %0[%arg0, %arg1] site 5<!pt> : !pt, <!pt, !pt1>
        }
      }
    }
    return %0 : !preprocessing.storage<!pt, !pt1>
  }
  func.func @convolution__preprocessed(%arg0: tensor<1x!ct_L1> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 1, 2, 4, 4>}, tensor_ext.original_type = #tensor_ext.original_type<originalType = tensor<1x2x4x4xf32>, layout = #tensor_ext.layout<"{ [i0, i1, i2, i3] -> [ct, slot] : i0 = 0 and ct = 0 and (16i1 - 4i2 - i3 + slot) mod 32 = 0 and 0 <= i1 <= 1 and 0 <= i2 <= 3 and 0 <= i3 <= 3 and 0 <= slot <= 63 }">>}, %ct: !ct_L1_1 {client.enc_zero_arg = {func_name = "convolution", index = 0 : i64}}, %arg1: !preprocessing.storage<!pt, !pt1>) -> tensor<1x!ct_L0> attributes {heir.interface = {func_name = "convolution", roles = ["client.preprocessed", "server.evaluate"]}} {
    %c2 = arith.constant 2 : index
    %c16 = arith.constant 16 : index
    %c8 = arith.constant 8 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c0 = arith.constant 0 : index
    call @_assign_layout_18368622017291091697() : () -> ()
    %0 = tensor.empty() : tensor<3x!ct_L1>
    %inserted_slice = tensor.insert_slice %arg0 into %0[0] [1] [1] : tensor<1x!ct_L1> into tensor<3x!ct_L1>
    %1 = scf.for %arg2 = %c1 to %c3 step %c1 iter_args(%arg3 = %inserted_slice) -> (tensor<3x!ct_L1>) {
      %7 = tensor.empty() : tensor<1x!ct_L1>
      %extracted_9 = tensor.extract %arg0[%c0] : tensor<1x!ct_L1>
      %ct_10 = ckks.rotate %extracted_9, %arg2 : index : !ct_L1
      %inserted_11 = tensor.insert %ct_10 into %7[%c0] : tensor<1x!ct_L1>
      %inserted_slice_12 = tensor.insert_slice %inserted_11 into %arg3[%arg2] [1] [1] : tensor<1x!ct_L1> into tensor<3x!ct_L1>
      scf.yield %inserted_slice_12 : tensor<3x!ct_L1>
    }
    %pt = preprocessing.load %arg1[] site 0<!pt> : <!pt, !pt1>, !pt
    %extracted = tensor.extract %1[%c0] : tensor<3x!ct_L1>
    %ct_0 = ckks.mul_plain %extracted, %pt : (!ct_L1, !pt) -> !ct_L1_1
    %pt_1 = preprocessing.load %arg1[] site 1<!pt1> : <!pt, !pt1>, !pt1
    %2 = tensor.empty() : tensor<1x!ct_L1_1>
    %ct_2 = ckks.add_plain %ct_0, %pt_1 : (!ct_L1_1, !pt1) -> !ct_L1_1
    %inserted = tensor.insert %ct_2 into %2[%c0] : tensor<1x!ct_L1_1>
    %3 = scf.for %arg2 = %c1 to %c3 step %c1 iter_args(%arg3 = %inserted) -> (tensor<1x!ct_L1_1>) {
      %7 = arith.cmpi slt, %arg2, %c8 : index
      %8 = scf.if %7 -> (tensor<1x!ct_L1_1>) {
        %pt_9 = preprocessing.load %arg1[%arg2] site 2<!pt> : <!pt, !pt1>, !pt
        %extracted_10 = tensor.extract %1[%arg2] : tensor<3x!ct_L1>
        %ct_11 = ckks.mul_plain %extracted_10, %pt_9 : (!ct_L1, !pt) -> !ct_L1_1
        %extracted_12 = tensor.extract %arg3[%c0] : tensor<1x!ct_L1_1>
        %ct_13 = ckks.add %extracted_12, %ct_11 : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
        %inserted_14 = tensor.insert %ct_13 into %2[%c0] : tensor<1x!ct_L1_1>
        scf.yield %inserted_14 : tensor<1x!ct_L1_1>
      } else {
        scf.yield %arg3 : tensor<1x!ct_L1_1>
      }
      scf.yield %8 : tensor<1x!ct_L1_1>
    }
    %extracted_3 = tensor.extract %3[%c0] : tensor<1x!ct_L1_1>
    %ct_4 = ckks.add_plain %extracted_3, %pt_1 : (!ct_L1_1, !pt1) -> !ct_L1_1
    %inserted_5 = tensor.insert %ct_4 into %2[%c0] : tensor<1x!ct_L1_1>
    %4 = scf.for %arg2 = %c1 to %c3 step %c1 iter_args(%arg3 = %inserted_5) -> (tensor<1x!ct_L1_1>) {
      %7 = arith.muli %arg2, %c3 : index
      %8 = arith.cmpi slt, %7, %c8 : index
      %9 = scf.if %8 -> (tensor<1x!ct_L1_1>) {
        %pt_14 = preprocessing.load %arg1[%arg2] site 3<!pt> : <!pt, !pt1>, !pt
        %ct_15 = ckks.mul_plain %extracted, %pt_14 : (!ct_L1, !pt) -> !ct_L1_1
        %ct_16 = ckks.add_plain %ct_15, %pt_1 : (!ct_L1_1, !pt1) -> !ct_L1_1
        %inserted_17 = tensor.insert %ct_16 into %2[%c0] : tensor<1x!ct_L1_1>
        scf.yield %inserted_17 : tensor<1x!ct_L1_1>
      } else {
        %pt_14 = preprocessing.load %arg1[%arg2] site 4<!pt1> : <!pt, !pt1>, !pt1
        %splat = tensor.splat %ct : tensor<1x!ct_L1_1>
        %extracted_15 = tensor.extract %splat[%c0] : tensor<1x!ct_L1_1>
        %ct_16 = lwe.radd_plain %extracted_15, %pt_14 : (!ct_L1_1, !pt1) -> !ct_L1_1
        %inserted_17 = tensor.insert %ct_16 into %2[%c0] : tensor<1x!ct_L1_1>
        scf.yield %inserted_17 : tensor<1x!ct_L1_1>
      }
      %10 = scf.for %arg4 = %c1 to %c3 step %c1 iter_args(%arg5 = %9) -> (tensor<1x!ct_L1_1>) {
        %11 = arith.addi %arg4, %7 : index
        %12 = arith.cmpi slt, %11, %c8 : index
        %13 = scf.if %12 -> (tensor<1x!ct_L1_1>) {
          %pt_14 = preprocessing.load %arg1[%arg2, %arg4] site 5<!pt> : <!pt, !pt1>, !pt
          %extracted_15 = tensor.extract %1[%arg4] : tensor<3x!ct_L1>
          %ct_16 = ckks.mul_plain %extracted_15, %pt_14 : (!ct_L1, !pt) -> !ct_L1_1
          %extracted_17 = tensor.extract %arg5[%c0] : tensor<1x!ct_L1_1>
          %ct_18 = ckks.add %extracted_17, %ct_16 : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
          %inserted_19 = tensor.insert %ct_18 into %2[%c0] : tensor<1x!ct_L1_1>
          scf.yield %inserted_19 : tensor<1x!ct_L1_1>
        } else {
          scf.yield %arg5 : tensor<1x!ct_L1_1>
        }
        scf.yield %13 : tensor<1x!ct_L1_1>
      }
      %extracted_9 = tensor.extract %10[%c0] : tensor<1x!ct_L1_1>
      %ct_10 = ckks.rotate %extracted_9, %7 : index : !ct_L1_1
      %extracted_11 = tensor.extract %arg3[%c0] : tensor<1x!ct_L1_1>
      %ct_12 = ckks.add %extracted_11, %ct_10 : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
      %inserted_13 = tensor.insert %ct_12 into %2[%c0] : tensor<1x!ct_L1_1>
      scf.yield %inserted_13 : tensor<1x!ct_L1_1>
    }
    %5:2 = scf.for %arg2 = %c0 to %c2 step %c1 iter_args(%arg3 = %4, %arg4 = %c16) -> (tensor<1x!ct_L1_1>, index) {
      %extracted_9 = tensor.extract %arg3[%c0] : tensor<1x!ct_L1_1>
      %ct_10 = ckks.rotate %extracted_9, %arg4 : index : !ct_L1_1
      %ct_11 = ckks.add %extracted_9, %ct_10 : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
      %inserted_12 = tensor.insert %ct_11 into %2[%c0] : tensor<1x!ct_L1_1>
      %7 = arith.divsi %arg4, %c2 : index
      scf.yield %inserted_12, %7 : tensor<1x!ct_L1_1>, index
    }
    %6 = tensor.empty() : tensor<1x!ct_L0>
    %extracted_6 = tensor.extract %5#0[%c0] : tensor<1x!ct_L1_1>
    %ct_7 = ckks.rescale %extracted_6 <to_ring = #ring_rns_L0_1_x8192> : !ct_L1_1 -> !ct_L0
    %inserted_8 = tensor.insert %ct_7 into %6[%c0] : tensor<1x!ct_L0>
    return %inserted_8 : tensor<1x!ct_L0>
  }
  func.func @convolution(%arg0: tensor<1x!ct_L1> {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 1, 2, 4, 4>}, tensor_ext.original_type = #tensor_ext.original_type<originalType = tensor<1x2x4x4xf32>, layout = #tensor_ext.layout<"{ [i0, i1, i2, i3] -> [ct, slot] : i0 = 0 and ct = 0 and (16i1 - 4i2 - i3 + slot) mod 32 = 0 and 0 <= i1 <= 1 and 0 <= i2 <= 3 and 0 <= i3 <= 3 and 0 <= slot <= 63 }">>}, %ct: !ct_L1_1 {client.enc_zero_arg = {func_name = "convolution", index = 0 : i64}}) -> (tensor<1x!ct_L0> {tensor_ext.original_type = #original_type}) attributes {heir.interface = {func_name = "convolution", input_types = [tensor<1x2x4x4xf32>], result_types = [tensor<1x2x2x2xf32>], roles = ["entry"]}} {
    %0 = call @convolution__preprocessing() : () -> !preprocessing.storage<!pt, !pt1>
    %1 = call @convolution__preprocessed(%arg0, %ct, %0) : (tensor<1x!ct_L1>, !ct_L1_1, !preprocessing.storage<!pt, !pt1>) -> tensor<1x!ct_L0>
    return %1 : tensor<1x!ct_L0>
  }
  func.func @convolution__encrypt__zero__0(%pk: !pkey_L1) -> !ct_L1_1 attributes {heir.interface = {func_name = "convolution", index = 0 : i64, roles = ["client.encrypt_zero"]}} {
    %cst = arith.constant dense<0.000000e+00> : tensor<64xf64>
    %pt = lwe.rlwe_encode %cst <encoding = #inverse_canonical_encoding1, ring = #ring_f64_1_x8192, level = 1> : tensor<64xf64> -> !pt1
    %ct = lwe.rlwe_encrypt %pt, %pk : (!pt1, !pkey_L1) -> !ct_L1_1
    return %ct : !ct_L1_1
  }
  func.func @convolution__encrypt__arg0(%arg0: tensor<1x2x4x4xf32>, %pk: !pkey_L1) -> tensor<1x!ct_L1> attributes {heir.interface = {func_name = "convolution", index = 0 : i64, roles = ["client.encrypt"]}} {
    %c0 = arith.constant 0 : index
    %c64_i32 = arith.constant 64 : i32
    %c32_i32 = arith.constant 32 : i32
    %c4_i32 = arith.constant 4 : i32
    %c16_i32 = arith.constant 16 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<1x64xf32>
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c2_i32 = arith.constant 2 : i32
    %0 = scf.for %arg1 = %c0_i32 to %c2_i32 step %c1_i32 iter_args(%arg2 = %cst) -> (tensor<1x64xf32>)  : i32 {
      %1 = scf.for %arg3 = %c0_i32 to %c4_i32 step %c1_i32 iter_args(%arg4 = %arg2) -> (tensor<1x64xf32>)  : i32 {
        %2 = scf.for %arg5 = %c0_i32 to %c4_i32 step %c1_i32 iter_args(%arg6 = %arg4) -> (tensor<1x64xf32>)  : i32 {
          %3 = arith.muli %arg1, %c16_i32 : i32
          %4 = arith.muli %arg3, %c4_i32 : i32
          %5 = arith.addi %3, %4 : i32
          %6 = arith.addi %5, %arg5 : i32
          %7 = scf.for %arg7 = %6 to %c64_i32 step %c32_i32 iter_args(%arg8 = %arg6) -> (tensor<1x64xf32>)  : i32 {
            %8 = arith.index_cast %arg1 : i32 to index
            %9 = arith.index_cast %arg3 : i32 to index
            %10 = arith.index_cast %arg5 : i32 to index
            %extracted = tensor.extract %arg0[%c0, %8, %9, %10] : tensor<1x2x4x4xf32>
            %11 = arith.index_cast %arg7 : i32 to index
            %inserted = tensor.insert %extracted into %arg8[%c0, %11] : tensor<1x64xf32>
            scf.yield %inserted : tensor<1x64xf32>
          }
          scf.yield %7 : tensor<1x64xf32>
        }
        scf.yield %2 : tensor<1x64xf32>
      }
      scf.yield %1 : tensor<1x64xf32>
    }
    %extracted_slice = tensor.extract_slice %0[0, 0] [1, 64] [1, 1] : tensor<1x64xf32> to tensor<64xf32>
    %pt = lwe.rlwe_encode %extracted_slice <encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x8192, level = 1, scale = 45> : tensor<64xf32> -> !pt
    %ct = lwe.rlwe_encrypt %pt, %pk : (!pt, !pkey_L1) -> !ct_L1
    %from_elements = tensor.from_elements %ct : tensor<1x!ct_L1>
    return %from_elements : tensor<1x!ct_L1>
  }
  func.func @convolution__decrypt__result0(%arg0: tensor<1x!ct_L0>, %sk: !skey_L0) -> tensor<1x2x2x2xf32> attributes {heir.interface = {func_name = "convolution", index = 0 : i64, roles = ["client.decrypt"]}} {
    %c0 = arith.constant 0 : index
    %c64_i32 = arith.constant 64 : i32
    %c8_i32 = arith.constant 8 : i32
    %c63_i32 = arith.constant 63 : i32
    %c2_i32 = arith.constant 2 : i32
    %c4_i32 = arith.constant 4 : i32
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<1x2x2x2xf32>
    %extracted = tensor.extract %arg0[%c0] : tensor<1x!ct_L0>
    %pt = lwe.rlwe_decrypt %extracted, %sk : (!ct_L0, !skey_L0) -> !pt
    %0 = lwe.rlwe_decode %pt <encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x8192> : !pt -> tensor<1x64xf32>
    %1 = scf.for %arg1 = %c0_i32 to %c2_i32 step %c1_i32 iter_args(%arg2 = %cst) -> (tensor<1x2x2x2xf32>)  : i32 {
      %2 = arith.subi %c1_i32, %arg1 : i32
      %3 = scf.for %arg3 = %c0_i32 to %c2_i32 step %c1_i32 iter_args(%arg4 = %arg2) -> (tensor<1x2x2x2xf32>)  : i32 {
        %4 = arith.subi %c1_i32, %arg3 : i32
        %5 = scf.for %arg5 = %c0_i32 to %c2_i32 step %c1_i32 iter_args(%arg6 = %arg4) -> (tensor<1x2x2x2xf32>)  : i32 {
          %6 = arith.subi %c1_i32, %arg5 : i32
          %7 = arith.muli %2, %c4_i32 : i32
          %8 = arith.muli %4, %c2_i32 : i32
          %9 = arith.addi %7, %8 : i32
          %10 = arith.addi %9, %6 : i32
          %11 = scf.for %arg7 = %10 to %c64_i32 step %c8_i32 iter_args(%arg8 = %arg6) -> (tensor<1x2x2x2xf32>)  : i32 {
            %12 = arith.subi %c63_i32, %10 : i32
            %13 = arith.floordivsi %12, %c8_i32 : i32
            %14 = arith.muli %13, %c8_i32 : i32
            %15 = arith.addi %10, %14 : i32
            %16 = arith.subi %arg7, %10 : i32
            %17 = arith.subi %15, %16 : i32
            %18 = arith.index_cast %17 : i32 to index
            %extracted_0 = tensor.extract %0[%c0, %18] : tensor<1x64xf32>
            %19 = arith.index_cast %2 : i32 to index
            %20 = arith.index_cast %4 : i32 to index
            %21 = arith.index_cast %6 : i32 to index
            %inserted = tensor.insert %extracted_0 into %arg8[%c0, %19, %20, %21] : tensor<1x2x2x2xf32>
            scf.yield %inserted : tensor<1x2x2x2xf32>
          }
          scf.yield %11 : tensor<1x2x2x2xf32>
        }
        scf.yield %5 : tensor<1x2x2x2xf32>
      }
      scf.yield %3 : tensor<1x2x2x2xf32>
    }
    return %1 : tensor<1x2x2x2xf32>
  }
}

