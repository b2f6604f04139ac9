#constant_coefficient_encoding = #lwe.constant_coefficient_encoding<scaling_factor = 16777216>
#constant_coefficient_encoding1 = #lwe.constant_coefficient_encoding<scaling_factor = 65536>
#key = #lwe.key<>
#ring_i16_x = #polynomial.ring<coefficientType = i16, polynomialModulus = <x>>
#ring_i32_x = #polynomial.ring<coefficientType = i32, polynomialModulus = <x>>
#ring_i8_x = #polynomial.ring<coefficientType = i8, polynomialModulus = <x>>
#ciphertext_space__D742 = #lwe.ciphertext_space<ring = #ring_i32_x, encryption_type = msb, size = 742>
!ct__D742 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_i8_x, encoding = #constant_coefficient_encoding>, ciphertext_space = #ciphertext_space__D742, key = #key>
!ct__D742_1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_i16_x, encoding = #constant_coefficient_encoding1>, ciphertext_space = #ciphertext_space__D742, key = #key>
module {
  func.func @f(%ct: !ct__D742 {secret.secret}, %ct_0: !ct__D742 {secret.secret}) -> !ct__D742_1 {
    %c17_i16 = arith.constant 17 : i16
    %ct_1 = cggi.cast %ct : !ct__D742 to !ct__D742_1
    %ct_2 = cggi.cast %ct_0 : !ct__D742 to !ct__D742_1
    %ct_3 = cggi.mul %ct_1, %ct_2 : (!ct__D742_1, !ct__D742_1) -> !ct__D742_1
    %ct_4 = cggi.add %ct_3, %c17_i16 : (!ct__D742_1, i16) -> !ct__D742_1
    return %ct_4 : !ct__D742_1
  }
}

