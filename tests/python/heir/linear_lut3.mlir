#constant_coefficient_encoding = #lwe.constant_coefficient_encoding<scaling_factor = 536870912>
#key = #lwe.key<>
#ring_i32_x = #polynomial.ring<coefficientType = i32, polynomialModulus = <x>>
#ring_i3_x = #polynomial.ring<coefficientType = i3, polynomialModulus = <x>>
#ciphertext_space__D742 = #lwe.ciphertext_space<ring = #ring_i32_x, encryption_type = msb, size = 742>
!ct__D742 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_i3_x, encoding = #constant_coefficient_encoding>, ciphertext_space = #ciphertext_space__D742, key = #key>
!pt = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_i3_x, encoding = #constant_coefficient_encoding>>
module attributes {scheme.cggi} {
  func.func @f(%arg0: tensor<8x!ct__D742>) -> tensor<8x!ct__D742> {
    %c7 = arith.constant 7 : index
    %c6 = arith.constant 6 : index
    %c5 = arith.constant 5 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c2 = arith.constant 2 : index
    %c1 = arith.constant 1 : index
    %c0 = arith.constant 0 : index
    %false = arith.constant false
    %extracted = tensor.extract %arg0[%c0] : tensor<8x!ct__D742>
    %extracted_0 = tensor.extract %arg0[%c1] : tensor<8x!ct__D742>
    %pt = lwe.encode %false <plaintext_bits = 3> : i1 to !pt
    %ct = lwe.trivial_encrypt %pt : !pt -> !ct__D742
    %ct_1 = cggi.lut3 %ct, %extracted, %extracted_0 <lookup_table = 6 : ui8> : !ct__D742
    %extracted_2 = tensor.extract %arg0[%c2] : tensor<8x!ct__D742>
    %ct_3 = cggi.lut3 %extracted_2, %extracted, %extracted_0 <lookup_table = 120 : ui8> : !ct__D742
    %extracted_4 = tensor.extract %arg0[%c4] : tensor<8x!ct__D742>
    %ct_5 = cggi.lut3 %ct, %extracted_4, %extracted <lookup_table = 1 : ui8> : !ct__D742
    %ct_6 = cggi.lut3 %extracted, %extracted_0, %extracted_2 <lookup_table = 128 : ui8> : !ct__D742
    %extracted_7 = tensor.extract %arg0[%c3] : tensor<8x!ct__D742>
    %ct_8 = cggi.lut3 %extracted_4, %ct_6, %extracted_7 <lookup_table = 7 : ui8> : !ct__D742
    %extracted_9 = tensor.extract %arg0[%c5] : tensor<8x!ct__D742>
    %ct_10 = cggi.lut3 %extracted_9, %ct_1, %ct_8 <lookup_table = 105 : ui8> : !ct__D742
    %ct_11 = cggi.lut3 %ct, %ct_10, %ct_5 <lookup_table = 8 : ui8> : !ct__D742
    %ct_12 = cggi.lut3 %ct, %extracted_9, %ct_8 <lookup_table = 4 : ui8> : !ct__D742
    %extracted_13 = tensor.extract %arg0[%c6] : tensor<8x!ct__D742>
    %ct_14 = cggi.lut3 %extracted_13, %ct_3, %ct_12 <lookup_table = 150 : ui8> : !ct__D742
    %ct_15 = cggi.lut3 %ct_1, %extracted_9, %ct_8 <lookup_table = 144 : ui8> : !ct__D742
    %ct_16 = cggi.lut3 %ct_15, %ct_14, %ct_11 <lookup_table = 150 : ui8> : !ct__D742
    %ct_17 = cggi.lut3 %ct, %extracted_7, %ct_6 <lookup_table = 8 : ui8> : !ct__D742
    %ct_18 = cggi.lut3 %ct, %extracted_7, %ct_6 <lookup_table = 6 : ui8> : !ct__D742
    %ct_19 = cggi.lut3 %ct, %ct_10, %ct_5 <lookup_table = 6 : ui8> : !ct__D742
    %ct_20 = cggi.lut3 %extracted, %extracted_4, %ct_17 <lookup_table = 150 : ui8> : !ct__D742
    %ct_21 = cggi.lut3 %ct_15, %ct_14, %ct_11 <lookup_table = 23 : ui8> : !ct__D742
    %ct_22 = cggi.lut3 %ct, %ct, %extracted <lookup_table = 1 : ui8> : !ct__D742
    %ct_23 = cggi.lut3 %ct_12, %ct_3, %extracted_13 <lookup_table = 23 : ui8> : !ct__D742
    %extracted_24 = tensor.extract %arg0[%c7] : tensor<8x!ct__D742>
    %ct_25 = cggi.lut3 %ct_18, %extracted_24, %ct_23 <lookup_table = 150 : ui8> : !ct__D742
    %ct_26 = cggi.lut3 %ct, %ct_21, %ct_25 <lookup_table = 6 : ui8> : !ct__D742
    %from_elements = tensor.from_elements %ct_22, %ct_1, %ct_3, %ct_18, %ct_20, %ct_19, %ct_16, %ct_26 : tensor<8x!ct__D742>
    return %from_elements : tensor<8x!ct__D742>
  }
}

