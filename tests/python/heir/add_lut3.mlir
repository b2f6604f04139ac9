#constant_coefficient_encoding = #lwe.constant_coefficient_encoding<scaling_factor = 536870912>
#key = #lwe.key<>
#ring_i32_x = #polynomial.ring<coefficientType = i32, polynomialModulus = <x>>
#ring_i3_x = #polynomial.ring<coefficientType = i3, polynomialModulus = <x>>
#ciphertext_space__D742 = #lwe.ciphertext_space<ring = #ring_i32_x, encryption_type = msb, size = 742>
!ct__D742 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_i3_x, encoding = #constant_coefficient_encoding>, ciphertext_space = #ciphertext_space__D742, key = #key>
!pt = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_i3_x, encoding = #constant_coefficient_encoding>>
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<8x!ct__D742>, tensor<8x!ct__D742>) -> tensor<8x!ct__D742>, sym_name = "f"}> ({
  ^bb0(%arg0: tensor<8x!ct__D742>, %arg1: tensor<8x!ct__D742>):
    %0 = "arith.constant"() <{value = 7 : index}> : () -> index
    %1 = "arith.constant"() <{value = 6 : index}> : () -> index
    %2 = "arith.constant"() <{value = 5 : index}> : () -> index
    %3 = "arith.constant"() <{value = 4 : index}> : () -> index
    %4 = "arith.constant"() <{value = 3 : index}> : () -> index
    %5 = "arith.constant"() <{value = 2 : index}> : () -> index
    %6 = "arith.constant"() <{value = 1 : index}> : () -> index
    %7 = "arith.constant"() <{value = 0 : index}> : () -> index
    %8 = "arith.constant"() <{value = false}> : () -> i1
    %9 = "tensor.extract"(%arg1, %7) : (tensor<8x!ct__D742>, index) -> !ct__D742
    %10 = "tensor.extract"(%arg0, %7) : (tensor<8x!ct__D742>, index) -> !ct__D742
    %11 = "lwe.encode"(%8) <{plaintext_bits = 3 : index}> : (i1) -> !pt
    %12 = "lwe.trivial_encrypt"(%11) : (!pt) -> !ct__D742
    %13 = "cggi.lut3"(%12, %9, %10) <{lookup_table = 8 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %14 = "tensor.extract"(%arg1, %6) : (tensor<8x!ct__D742>, index) -> !ct__D742
    %15 = "tensor.extract"(%arg0, %6) : (tensor<8x!ct__D742>, index) -> !ct__D742
    %16 = "cggi.lut3"(%14, %15, %13) <{lookup_table = 150 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %17 = "cggi.lut3"(%14, %15, %13) <{lookup_table = 23 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %18 = "tensor.extract"(%arg1, %5) : (tensor<8x!ct__D742>, index) -> !ct__D742
    %19 = "tensor.extract"(%arg0, %5) : (tensor<8x!ct__D742>, index) -> !ct__D742
    %20 = "cggi.lut3"(%18, %19, %17) <{lookup_table = 105 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %21 = "cggi.lut3"(%18, %19, %17) <{lookup_table = 43 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %22 = "tensor.extract"(%arg1, %4) : (tensor<8x!ct__D742>, index) -> !ct__D742
    %23 = "tensor.extract"(%arg0, %4) : (tensor<8x!ct__D742>, index) -> !ct__D742
    %24 = "cggi.lut3"(%22, %23, %21) <{lookup_table = 105 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %25 = "cggi.lut3"(%22, %23, %21) <{lookup_table = 43 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %26 = "tensor.extract"(%arg1, %3) : (tensor<8x!ct__D742>, index) -> !ct__D742
    %27 = "tensor.extract"(%arg0, %3) : (tensor<8x!ct__D742>, index) -> !ct__D742
    %28 = "cggi.lut3"(%26, %27, %25) <{lookup_table = 105 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %29 = "cggi.lut3"(%26, %27, %25) <{lookup_table = 43 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %30 = "tensor.extract"(%arg1, %2) : (tensor<8x!ct__D742>, index) -> !ct__D742
    %31 = "tensor.extract"(%arg0, %2) : (tensor<8x!ct__D742>, index) -> !ct__D742
    %32 = "cggi.lut3"(%30, %31, %29) <{lookup_table = 105 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %33 = "cggi.lut3"(%30, %31, %29) <{lookup_table = 43 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %34 = "tensor.extract"(%arg1, %1) : (tensor<8x!ct__D742>, index) -> !ct__D742
    %35 = "tensor.extract"(%arg0, %1) : (tensor<8x!ct__D742>, index) -> !ct__D742
    %36 = "cggi.lut3"(%34, %35, %33) <{lookup_table = 105 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %37 = "cggi.lut3"(%34, %35, %33) <{lookup_table = 43 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %38 = "tensor.extract"(%arg1, %0) : (tensor<8x!ct__D742>, index) -> !ct__D742
    %39 = "tensor.extract"(%arg0, %0) : (tensor<8x!ct__D742>, index) -> !ct__D742
    %40 = "cggi.lut3"(%38, %39, %37) <{lookup_table = 105 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %41 = "cggi.lut3"(%12, %9, %10) <{lookup_table = 6 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %42 = "tensor.from_elements"(%41, %16, %20, %24, %28, %32, %36, %40) : (!ct__D742, !ct__D742, !ct__D742, !ct__D742, !ct__D742, !ct__D742, !ct__D742, !ct__D742) -> tensor<8x!ct__D742>
    "func.return"(%42) : (tensor<8x!ct__D742>) -> ()
  }) : () -> ()
}) {scheme.cggi} : () -> ()

