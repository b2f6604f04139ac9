#constant_coefficient_encoding = #lwe.constant_coefficient_encoding<scaling_factor = 536870912>
#key = #lwe.key<>
#ring_i32_x = #polynomial.ring<coefficientType = i32, polynomialModulus = <x>>
#ring_i3_x = #polynomial.ring<coefficientType = i3, polynomialModulus = <x>>
#ciphertext_space__D742 = #lwe.ciphertext_space<ring = #ring_i32_x, encryption_type = msb, size = 742>
!ct__D742 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_i3_x, encoding = #constant_coefficient_encoding>, ciphertext_space = #ciphertext_space__D742, key = #key>
!pt = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_i3_x, encoding = #constant_coefficient_encoding>>
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4x8x!ct__D742>) -> tensor<8x!ct__D742>, sym_name = "f"}> ({
  ^bb0(%arg0: tensor<4x8x!ct__D742>):
    %0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %1 = "arith.constant"() <{value = 1 : index}> : () -> index
    %2 = "arith.constant"() <{value = false}> : () -> i1
    %3 = "arith.constant"() <{value = 2 : index}> : () -> index
    %4 = "arith.constant"() <{value = 3 : index}> : () -> index
    %5 = "arith.constant"() <{value = 4 : index}> : () -> index
    %6 = "arith.constant"() <{value = 5 : index}> : () -> index
    %7 = "arith.constant"() <{value = 6 : index}> : () -> index
    %8 = "arith.constant"() <{value = 7 : index}> : () -> index
    %9 = "tensor.extract"(%arg0, %1, %0) : (tensor<4x8x!ct__D742>, index, index) -> !ct__D742
    %10 = "tensor.extract"(%arg0, %0, %0) : (tensor<4x8x!ct__D742>, index, index) -> !ct__D742
    %11 = "lwe.encode"(%2) <{plaintext_bits = 3 : index}> : (i1) -> !pt
    %12 = "lwe.trivial_encrypt"(%11) : (!pt) -> !ct__D742
    %13 = "cggi.lut3"(%12, %9, %10) <{lookup_table = 8 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %14 = "tensor.extract"(%arg0, %1, %1) : (tensor<4x8x!ct__D742>, index, index) -> !ct__D742
    %15 = "tensor.extract"(%arg0, %0, %1) : (tensor<4x8x!ct__D742>, index, index) -> !ct__D742
    %16 = "cggi.lut3"(%14, %15, %13) <{lookup_table = 150 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %17 = "tensor.extract"(%arg0, %3, %0) : (tensor<4x8x!ct__D742>, index, index) -> !ct__D742
    %18 = "cggi.lut3"(%17, %9, %10) <{lookup_table = 96 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %19 = "tensor.extract"(%arg0, %3, %1) : (tensor<4x8x!ct__D742>, index, index) -> !ct__D742
    %20 = "cggi.lut3"(%19, %18, %16) <{lookup_table = 150 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %21 = "cggi.lut3"(%17, %9, %10) <{lookup_table = 150 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %22 = "tensor.extract"(%arg0, %4, %0) : (tensor<4x8x!ct__D742>, index, index) -> !ct__D742
    %23 = "cggi.lut3"(%12, %22, %21) <{lookup_table = 8 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %24 = "tensor.extract"(%arg0, %4, %1) : (tensor<4x8x!ct__D742>, index, index) -> !ct__D742
    %25 = "cggi.lut3"(%24, %23, %20) <{lookup_table = 150 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %26 = "cggi.lut3"(%24, %23, %20) <{lookup_table = 23 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %27 = "cggi.lut3"(%19, %18, %16) <{lookup_table = 23 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %28 = "cggi.lut3"(%14, %15, %13) <{lookup_table = 23 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %29 = "tensor.extract"(%arg0, %1, %3) : (tensor<4x8x!ct__D742>, index, index) -> !ct__D742
    %30 = "tensor.extract"(%arg0, %0, %3) : (tensor<4x8x!ct__D742>, index, index) -> !ct__D742
    %31 = "cggi.lut3"(%29, %30, %28) <{lookup_table = 105 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %32 = "tensor.extract"(%arg0, %3, %3) : (tensor<4x8x!ct__D742>, index, index) -> !ct__D742
    %33 = "cggi.lut3"(%32, %31, %27) <{lookup_table = 105 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %34 = "tensor.extract"(%arg0, %4, %3) : (tensor<4x8x!ct__D742>, index, index) -> !ct__D742
    %35 = "cggi.lut3"(%34, %33, %26) <{lookup_table = 105 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %36 = "cggi.lut3"(%34, %33, %26) <{lookup_table = 43 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %37 = "cggi.lut3"(%32, %31, %27) <{lookup_table = 43 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %38 = "cggi.lut3"(%29, %30, %28) <{lookup_table = 43 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %39 = "tensor.extract"(%arg0, %1, %4) : (tensor<4x8x!ct__D742>, index, index) -> !ct__D742
    %40 = "tensor.extract"(%arg0, %0, %4) : (tensor<4x8x!ct__D742>, index, index) -> !ct__D742
    %41 = "cggi.lut3"(%39, %40, %38) <{lookup_table = 105 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %42 = "tensor.extract"(%arg0, %3, %4) : (tensor<4x8x!ct__D742>, index, index) -> !ct__D742
    %43 = "cggi.lut3"(%42, %41, %37) <{lookup_table = 105 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %44 = "tensor.extract"(%arg0, %4, %4) : (tensor<4x8x!ct__D742>, index, index) -> !ct__D742
    %45 = "cggi.lut3"(%44, %43, %36) <{lookup_table = 105 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %46 = "cggi.lut3"(%44, %43, %36) <{lookup_table = 43 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %47 = "cggi.lut3"(%42, %41, %37) <{lookup_table = 43 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %48 = "cggi.lut3"(%39, %40, %38) <{lookup_table = 43 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %49 = "tensor.extract"(%arg0, %1, %5) : (tensor<4x8x!ct__D742>, index, index) -> !ct__D742
    %50 = "tensor.extract"(%arg0, %0, %5) : (tensor<4x8x!ct__D742>, index, index) -> !ct__D742
    %51 = "cggi.lut3"(%49, %50, %48) <{lookup_table = 105 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %52 = "tensor.extract"(%arg0, %3, %5) : (tensor<4x8x!ct__D742>, index, index) -> !ct__D742
    %53 = "cggi.lut3"(%52, %51, %47) <{lookup_table = 105 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %54 = "tensor.extract"(%arg0, %4, %5) : (tensor<4x8x!ct__D742>, index, index) -> !ct__D742
    %55 = "cggi.lut3"(%54, %53, %46) <{lookup_table = 105 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %56 = "cggi.lut3"(%54, %53, %46) <{lookup_table = 43 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %57 = "cggi.lut3"(%52, %51, %47) <{lookup_table = 43 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %58 = "cggi.lut3"(%49, %50, %48) <{lookup_table = 43 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %59 = "tensor.extract"(%arg0, %1, %6) : (tensor<4x8x!ct__D742>, index, index) -> !ct__D742
    %60 = "tensor.extract"(%arg0, %0, %6) : (tensor<4x8x!ct__D742>, index, index) -> !ct__D742
    %61 = "cggi.lut3"(%59, %60, %58) <{lookup_table = 105 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %62 = "tensor.extract"(%arg0, %3, %6) : (tensor<4x8x!ct__D742>, index, index) -> !ct__D742
    %63 = "cggi.lut3"(%62, %61, %57) <{lookup_table = 105 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %64 = "tensor.extract"(%arg0, %4, %6) : (tensor<4x8x!ct__D742>, index, index) -> !ct__D742
    %65 = "cggi.lut3"(%64, %63, %56) <{lookup_table = 105 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %66 = "cggi.lut3"(%64, %63, %56) <{lookup_table = 43 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %67 = "cggi.lut3"(%62, %61, %57) <{lookup_table = 43 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %68 = "cggi.lut3"(%59, %60, %58) <{lookup_table = 43 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %69 = "tensor.extract"(%arg0, %1, %7) : (tensor<4x8x!ct__D742>, index, index) -> !ct__D742
    %70 = "tensor.extract"(%arg0, %0, %7) : (tensor<4x8x!ct__D742>, index, index) -> !ct__D742
    %71 = "cggi.lut3"(%69, %70, %68) <{lookup_table = 105 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %72 = "tensor.extract"(%arg0, %3, %7) : (tensor<4x8x!ct__D742>, index, index) -> !ct__D742
    %73 = "cggi.lut3"(%72, %71, %67) <{lookup_table = 105 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %74 = "tensor.extract"(%arg0, %4, %7) : (tensor<4x8x!ct__D742>, index, index) -> !ct__D742
    %75 = "cggi.lut3"(%74, %73, %66) <{lookup_table = 105 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %76 = "cggi.lut3"(%74, %73, %66) <{lookup_table = 43 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %77 = "cggi.lut3"(%72, %71, %67) <{lookup_table = 43 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %78 = "cggi.lut3"(%69, %70, %68) <{lookup_table = 43 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %79 = "tensor.extract"(%arg0, %1, %8) : (tensor<4x8x!ct__D742>, index, index) -> !ct__D742
    %80 = "tensor.extract"(%arg0, %0, %8) : (tensor<4x8x!ct__D742>, index, index) -> !ct__D742
    %81 = "cggi.lut3"(%12, %79, %80) <{lookup_table = 9 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %82 = "tensor.extract"(%arg0, %4, %8) : (tensor<4x8x!ct__D742>, index, index) -> !ct__D742
    %83 = "tensor.extract"(%arg0, %3, %8) : (tensor<4x8x!ct__D742>, index, index) -> !ct__D742
    %84 = "cggi.lut3"(%82, %83, %81) <{lookup_table = 105 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %85 = "cggi.lut3"(%84, %78, %77) <{lookup_table = 105 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %86 = "cggi.lut3"(%12, %85, %76) <{lookup_table = 6 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %87 = "cggi.lut3"(%12, %22, %21) <{lookup_table = 6 : ui8}> : (!ct__D742, !ct__D742, !ct__D742) -> !ct__D742
    %88 = "tensor.from_elements"(%87, %25, %35, %45, %55, %65, %75, %86) : (!ct__D742, !ct__D742, !ct__D742, !ct__D742, !ct__D742, !ct__D742, !ct__D742, !ct__D742) -> tensor<8x!ct__D742>
    "func.return"(%88) : (tensor<8x!ct__D742>) -> ()
  }) : () -> ()
}) {scheme.cggi} : () -> ()

