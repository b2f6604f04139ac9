#constant_coefficient_encoding = #lwe.constant_coefficient_encoding<scaling_factor = -2147483648>
#key = #lwe.key<>
#ring_i1_x = #polynomial.ring<coefficientType = i1, polynomialModulus = <x>>
#ring_i32_x = #polynomial.ring<coefficientType = i32, polynomialModulus = <x>>
#ciphertext_space__D742 = #lwe.ciphertext_space<ring = #ring_i32_x, encryption_type = msb, size = 742>
!ct__D742 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_i1_x, encoding = #constant_coefficient_encoding>, ciphertext_space = #ciphertext_space__D742, key = #key>
module attributes {scheme.cggi} {
  func.func @f(%arg0: tensor<8x!ct__D742>, %arg1: tensor<8x!ct__D742>) -> !ct__D742 {
    %c6 = arith.constant 6 : index
    %c4 = arith.constant 4 : index
    %c3 = arith.constant 3 : index
    %c1 = arith.constant 1 : index
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c5 = arith.constant 5 : index
    %c7 = arith.constant 7 : index
    %extracted = tensor.extract %arg1[%c7] : tensor<8x!ct__D742>
    %ct = cggi.not %extracted : !ct__D742
    %extracted_0 = tensor.extract %arg1[%c5] : tensor<8x!ct__D742>
    %ct_1 = cggi.not %extracted_0 : !ct__D742
    %extracted_2 = tensor.extract %arg1[%c2] : tensor<8x!ct__D742>
    %ct_3 = cggi.not %extracted_2 : !ct__D742
    %extracted_4 = tensor.extract %arg0[%c0] : tensor<8x!ct__D742>
    %ct_5 = cggi.not %extracted_4 : !ct__D742
    %extracted_6 = tensor.extract %arg0[%c1] : tensor<8x!ct__D742>
    %ct_7 = cggi.not %extracted_6 : !ct__D742
    %extracted_8 = tensor.extract %arg0[%c3] : tensor<8x!ct__D742>
    %ct_9 = cggi.not %extracted_8 : !ct__D742
    %extracted_10 = tensor.extract %arg0[%c4] : tensor<8x!ct__D742>
    %ct_11 = cggi.not %extracted_10 : !ct__D742
    %extracted_12 = tensor.extract %arg0[%c6] : tensor<8x!ct__D742>
    %ct_13 = cggi.not %extracted_12 : !ct__D742
    %extracted_14 = tensor.extract %arg0[%c7] : tensor<8x!ct__D742>
    %ct_15 = cggi.nand %extracted_14, %ct : !ct__D742
    %extracted_16 = tensor.extract %arg1[%c4] : tensor<8x!ct__D742>
    %ct_17 = cggi.nand %extracted_16, %ct_11 : !ct__D742
    %extracted_18 = tensor.extract %arg1[%c1] : tensor<8x!ct__D742>
    %ct_19 = cggi.nand %ct_7, %extracted_18 : !ct__D742
    %extracted_20 = tensor.extract %arg1[%c0] : tensor<8x!ct__D742>
    %ct_21 = cggi.nand %ct_5, %extracted_20 : !ct__D742
    %ct_22 = cggi.nand %ct_21, %ct_19 : !ct__D742
    %extracted_23 = tensor.extract %arg0[%c2] : tensor<8x!ct__D742>
    %ct_24 = cggi.nand %extracted_23, %ct_3 : !ct__D742
    %ct_25 = cggi.or %ct_7, %extracted_18 : !ct__D742
    %ct_26 = cggi.and %ct_25, %ct_24 : !ct__D742
    %ct_27 = cggi.nand %ct_26, %ct_22 : !ct__D742
    %extracted_28 = tensor.extract %arg1[%c3] : tensor<8x!ct__D742>
    %ct_29 = cggi.nand %ct_9, %extracted_28 : !ct__D742
    %ct_30 = cggi.or %extracted_23, %ct_3 : !ct__D742
    %ct_31 = cggi.and %ct_30, %ct_29 : !ct__D742
    %ct_32 = cggi.nand %ct_31, %ct_27 : !ct__D742
    %ct_33 = cggi.or %ct_9, %extracted_28 : !ct__D742
    %ct_34 = cggi.nand %ct_33, %ct_32 : !ct__D742
    %ct_35 = cggi.nand %ct_34, %ct_17 : !ct__D742
    %extracted_36 = tensor.extract %arg0[%c5] : tensor<8x!ct__D742>
    %ct_37 = cggi.nand %extracted_36, %ct_1 : !ct__D742
    %ct_38 = cggi.or %extracted_16, %ct_11 : !ct__D742
    %ct_39 = cggi.and %ct_38, %ct_37 : !ct__D742
    %ct_40 = cggi.nand %ct_39, %ct_35 : !ct__D742
    %extracted_41 = tensor.extract %arg1[%c6] : tensor<8x!ct__D742>
    %ct_42 = cggi.nand %extracted_41, %ct_13 : !ct__D742
    %ct_43 = cggi.or %extracted_36, %ct_1 : !ct__D742
    %ct_44 = cggi.and %ct_43, %ct_42 : !ct__D742
    %ct_45 = cggi.nand %ct_44, %ct_40 : !ct__D742
    %ct_46 = cggi.or %extracted_41, %ct_13 : !ct__D742
    %ct_47 = cggi.or %extracted_14, %ct : !ct__D742
    %ct_48 = cggi.and %ct_47, %ct_46 : !ct__D742
    %ct_49 = cggi.nand %ct_48, %ct_45 : !ct__D742
    %ct_50 = cggi.nand %ct_49, %ct_15 : !ct__D742
    return %ct_50 : !ct__D742
  }
}

