#constant_coefficient_encoding = #lwe.constant_coefficient_encoding<scaling_factor = 268435456>
#key = #lwe.key<>
#ring_i32_x = #polynomial.ring<coefficientType = i32, polynomialModulus = <x>>
#ring_i4_x = #polynomial.ring<coefficientType = i4, polynomialModulus = <x>>
#ciphertext_space__D742 = #lwe.ciphertext_space<ring = #ring_i32_x, encryption_type = msb, size = 742>
!ct__D742 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_i4_x, encoding = #constant_coefficient_encoding>, ciphertext_space = #ciphertext_space__D742, key = #key>
!pt = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_i4_x, encoding = #constant_coefficient_encoding>>
module attributes {scheme.cggi} {
  func.func @f(%arg0: tensor<4x!ct__D742>, %arg1: tensor<4x!ct__D742>) -> tensor<4x!ct__D742> {
    %c3 = arith.constant 3 : index
    %c2 = arith.constant 2 : index
    %false = arith.constant false
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %extracted = tensor.extract %arg1[%c1] : tensor<4x!ct__D742>
    %extracted_0 = tensor.extract %arg0[%c1] : tensor<4x!ct__D742>
    %extracted_1 = tensor.extract %arg1[%c0] : tensor<4x!ct__D742>
    %extracted_2 = tensor.extract %arg0[%c0] : tensor<4x!ct__D742>
    %ct = cggi.lut4 %extracted, %extracted_0, %extracted_1, %extracted_2 <lookup_table = 34680 : ui16> : !ct__D742
    %ct_3 = cggi.lut4 %extracted_1, %extracted_2, %extracted, %extracted_0 <lookup_table = 6007 : ui16> : !ct__D742
    %extracted_4 = tensor.extract %arg1[%c2] : tensor<4x!ct__D742>
    %extracted_5 = tensor.extract %arg0[%c2] : tensor<4x!ct__D742>
    %pt = lwe.encode %false <plaintext_bits = 4> : i1 to !pt
    %ct_6 = lwe.trivial_encrypt %pt : !pt -> !ct__D742
    %ct_7 = cggi.lut4 %ct_6, %extracted_4, %extracted_5, %ct_3 <lookup_table = 105 : ui16> : !ct__D742
    %extracted_8 = tensor.extract %arg1[%c3] : tensor<4x!ct__D742>
    %extracted_9 = tensor.extract %arg0[%c3] : tensor<4x!ct__D742>
    %ct_10 = cggi.lut4 %ct_6, %ct_6, %extracted_8, %extracted_9 <lookup_table = 9 : ui16> : !ct__D742
    %ct_11 = cggi.lut4 %ct_10, %extracted_4, %extracted_5, %ct_3 <lookup_table = 54315 : ui16> : !ct__D742
    %ct_12 = cggi.lut4 %ct_6, %ct_6, %extracted_1, %extracted_2 <lookup_table = 6 : ui16> : !ct__D742
    %from_elements = tensor.from_elements %ct_12, %ct, %ct_7, %ct_11 : tensor<4x!ct__D742>
    return %from_elements : tensor<4x!ct__D742>
  }
}

