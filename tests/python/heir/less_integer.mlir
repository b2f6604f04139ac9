#constant_coefficient_encoding = #lwe.constant_coefficient_encoding<scaling_factor = 16777216>
#constant_coefficient_encoding1 = #lwe.constant_coefficient_encoding<scaling_factor = -2147483648>
#key = #lwe.key<>
#ring_i1_x = #polynomial.ring<coefficientType = i1, polynomialModulus = <x>>
#ring_i32_x = #polynomial.ring<coefficientType = i32, polynomialModulus = <x>>
#ring_i8_x = #polynomial.ring<coefficientType = i8, polynomialModulus = <x>>
#ciphertext_space__D742 = #lwe.ciphertext_space<ring = #ring_i32_x, encryption_type = msb, size = 742>
!ct__D742 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_i8_x, encoding = #constant_coefficient_encoding>, ciphertext_space = #ciphertext_space__D742, key = #key>
!ct__D742_1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_i1_x, encoding = #constant_coefficient_encoding1>, ciphertext_space = #ciphertext_space__D742, key = #key>
"builtin.module"() ({
  "func.func"() <{arg_attrs = [{secret.secret}, {secret.secret}], function_type = (!ct__D742, !ct__D742) -> !ct__D742_1, sym_name = "f"}> ({
  ^bb0(%arg0: !ct__D742, %arg1: !ct__D742):
    %0 = "cggi.cmp"(%arg0, %arg1) <{predicate = 5 : i64}> : (!ct__D742, !ct__D742) -> !ct__D742_1
    "func.return"(%0) : (!ct__D742_1) -> ()
  }) : () -> ()
}) : () -> ()

