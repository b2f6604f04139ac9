#constant_coefficient_encoding = #lwe.constant_coefficient_encoding<scaling_factor = 16777216>
#key = #lwe.key<>
#ring_i32_x = #polynomial.ring<coefficientType = i32, polynomialModulus = <x>>
#ring_i8_x = #polynomial.ring<coefficientType = i8, polynomialModulus = <x>>
#ciphertext_space__D742 = #lwe.ciphertext_space<ring = #ring_i32_x, encryption_type = msb, size = 742>
!ct__D742 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_i8_x, encoding = #constant_coefficient_encoding>, ciphertext_space = #ciphertext_space__D742, key = #key>
module {
  func.func @f(%ct: !ct__D742 {secret.secret}, %ct_0: !ct__D742 {secret.secret}) -> !ct__D742 {
    %ct_1 = cggi.create_trivial  <value = 3 : i8> : () -> !ct__D742
    %ct_2 = cggi.sshr %ct <shiftAmount = 3> : (!ct__D742) -> !ct__D742
    %ct_3 = cggi.xor %ct_2, %ct_0 : !ct__D742
    %ct_4 = cggi.sub %ct_1, %ct_3 : (!ct__D742, !ct__D742) -> !ct__D742
    return %ct_4 : !ct__D742
  }
}

