!Z35184372121601_i64 = !mod_arith.int<35184372121601 : i64>
!Z36028797018652673_i64 = !mod_arith.int<36028797018652673 : i64>
#inverse_canonical_encoding = #lwe.inverse_canonical_encoding<scaling_factor = 45>
#inverse_canonical_encoding1 = #lwe.inverse_canonical_encoding<scaling_factor = 90>
#key = #lwe.key<>
#layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : (-i0 + slot + 8*floor((i0)/8)) mod 16 = 0 and 0 <= i0 <= 15 and 0 <= ct <= 1 and -7 + i0 <= 8ct <= i0 and 0 <= slot <= 7 }">
#map = affine_map<() -> (0)>
#map1 = affine_map<() -> (2)>
#modulus_chain_L1_C0 = #lwe.modulus_chain<elements = <36028797018652673 : i64, 35184372121601 : i64>, current = 0>
#modulus_chain_L1_C1 = #lwe.modulus_chain<elements = <36028797018652673 : i64, 35184372121601 : i64>, current = 1>
#ring_f64_1_x8192 = #polynomial.ring<coefficientType = f64, polynomialModulus = <1 + x**8192>>
!rns_L0 = !rns.rns<!Z36028797018652673_i64>
!rns_L1 = !rns.rns<!Z36028797018652673_i64, !Z35184372121601_i64>
#original_type = #tensor_ext.original_type<originalType = tensor<16xf32>, layout = #layout>
!pt = !lwe.lwe_plaintext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding>>
#ring_rns_L0_1_x8192 = #polynomial.ring<coefficientType = !rns_L0, polynomialModulus = <1 + x**8192>>
#ring_rns_L1_1_x8192 = #polynomial.ring<coefficientType = !rns_L1, polynomialModulus = <1 + x**8192>>
!pkey_L1 = !lwe.lwe_public_key<key = #key, ring = #ring_rns_L1_1_x8192>
!skey_L0 = !lwe.lwe_secret_key<key = #key, ring = #ring_rns_L0_1_x8192>
#ciphertext_space_L0 = #lwe.ciphertext_space<ring = #ring_rns_L0_1_x8192, encryption_type = mix>
#ciphertext_space_L1 = #lwe.ciphertext_space<ring = #ring_rns_L1_1_x8192, encryption_type = mix>
#ciphertext_space_L1_D3 = #lwe.ciphertext_space<ring = #ring_rns_L1_1_x8192, encryption_type = mix, size = 3>
!ct_L0 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L0, key = #key, modulus_chain = #modulus_chain_L1_C0>
!ct_L1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding>, ciphertext_space = #ciphertext_space_L1, key = #key, modulus_chain = #modulus_chain_L1_C1>
!ct_L1_1 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L1, key = #key, modulus_chain = #modulus_chain_L1_C1>
!ct_L1_D3 = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring_f64_1_x8192, encoding = #inverse_canonical_encoding1>, ciphertext_space = #ciphertext_space_L1_D3, key = #key, modulus_chain = #modulus_chain_L1_C1>
"builtin.module"() ({
  "func.func"() <{function_type = () -> !preprocessing.storage<!pt>, sym_name = "in_vectors__preprocessing"}> ({
    %140 = "arith.constant"() <{value = dense<1.000000e+00> : tensor<8xf32>}> : () -> tensor<8xf32>
    %141 = "preprocessing.empty"() : () -> !preprocessing.storage<!pt>
    %142 = "lwe.rlwe_encode"(%140) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<8xf32>) -> !pt
    "preprocessing.store"(%142, %141) <{element_type = !pt, site_id = 0 : i32}> : (!pt, !preprocessing.storage<!pt>) -> ()
    "func.return"(%141) : (!preprocessing.storage<!pt>) -> ()
  }) {heir.interface = {entry_arg_indices = array<i64>, func_name = "in_vectors", roles = ["server.preprocessing"]}} : () -> ()
  "func.func"() <{arg_attrs = [{heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 16>}, tensor_ext.original_type = #original_type}, {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 16>}, tensor_ext.original_type = #original_type}, {}], function_type = (tensor<2x!ct_L1>, tensor<2x!ct_L1>, !preprocessing.storage<!pt>) -> (tensor<2x!ct_L0>, tensor<2x!ct_L0>), sym_name = "in_vectors__preprocessed"}> ({
  ^bb0(%arg18: tensor<2x!ct_L1>, %arg19: tensor<2x!ct_L1>, %arg20: !preprocessing.storage<!pt>):
    %98 = "tensor.empty"() : () -> tensor<2x!ct_L1_D3>
    %99 = "affine.for"(%98) <{lowerBoundMap = #map, operandSegmentSizes = array<i32: 0, 0, 1>, step = 1 : index, upperBoundMap = #map1}> ({
    ^bb0(%arg35: index, %arg36: tensor<2x!ct_L1_D3>):
      %136 = "tensor.extract"(%arg18, %arg35) : (tensor<2x!ct_L1>, index) -> !ct_L1
      %137 = "tensor.extract"(%arg19, %arg35) : (tensor<2x!ct_L1>, index) -> !ct_L1
      %138 = "ckks.mul"(%136, %137) {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 16>}} : (!ct_L1, !ct_L1) -> !ct_L1_D3
      %139 = "tensor.insert"(%138, %arg36, %arg35) : (!ct_L1_D3, tensor<2x!ct_L1_D3>, index) -> tensor<2x!ct_L1_D3>
      "affine.yield"(%139) : (tensor<2x!ct_L1_D3>) -> ()
    }) : (tensor<2x!ct_L1_D3>) -> tensor<2x!ct_L1_D3>
    %100 = "tensor.empty"() : () -> tensor<2x!ct_L1_1>
    %101 = "affine.for"(%100) <{lowerBoundMap = #map, operandSegmentSizes = array<i32: 0, 0, 1>, step = 1 : index, upperBoundMap = #map1}> ({
    ^bb0(%arg33: index, %arg34: tensor<2x!ct_L1_1>):
      %133 = "tensor.extract"(%99, %arg33) : (tensor<2x!ct_L1_D3>, index) -> !ct_L1_D3
      %134 = "ckks.relinearize"(%133) <{from_basis = array<i32: 0, 1, 2>, to_basis = array<i32: 0, 1>}> : (!ct_L1_D3) -> !ct_L1_1
      %135 = "tensor.insert"(%134, %arg34, %arg33) : (!ct_L1_1, tensor<2x!ct_L1_1>, index) -> tensor<2x!ct_L1_1>
      "affine.yield"(%135) : (tensor<2x!ct_L1_1>) -> ()
    }) : (tensor<2x!ct_L1_1>) -> tensor<2x!ct_L1_1>
    %102 = "preprocessing.load"(%arg20) <{element_type = !pt, site_id = 0 : i32}> : (!preprocessing.storage<!pt>) -> !pt
    %103 = "tensor.from_elements"(%102, %102) : (!pt, !pt) -> tensor<2x!pt>
    %104 = "affine.for"(%100) <{lowerBoundMap = #map, operandSegmentSizes = array<i32: 0, 0, 1>, step = 1 : index, upperBoundMap = #map1}> ({
    ^bb0(%arg31: index, %arg32: tensor<2x!ct_L1_1>):
      %129 = "tensor.extract"(%arg18, %arg31) : (tensor<2x!ct_L1>, index) -> !ct_L1
      %130 = "tensor.extract"(%103, %arg31) : (tensor<2x!pt>, index) -> !pt
      %131 = "ckks.mul_plain"(%129, %130) : (!ct_L1, !pt) -> !ct_L1_1
      %132 = "tensor.insert"(%131, %arg32, %arg31) : (!ct_L1_1, tensor<2x!ct_L1_1>, index) -> tensor<2x!ct_L1_1>
      "affine.yield"(%132) : (tensor<2x!ct_L1_1>) -> ()
    }) : (tensor<2x!ct_L1_1>) -> tensor<2x!ct_L1_1>
    %105 = "affine.for"(%100) <{lowerBoundMap = #map, operandSegmentSizes = array<i32: 0, 0, 1>, step = 1 : index, upperBoundMap = #map1}> ({
    ^bb0(%arg29: index, %arg30: tensor<2x!ct_L1_1>):
      %125 = "tensor.extract"(%101, %arg29) : (tensor<2x!ct_L1_1>, index) -> !ct_L1_1
      %126 = "tensor.extract"(%104, %arg29) : (tensor<2x!ct_L1_1>, index) -> !ct_L1_1
      %127 = "ckks.sub"(%125, %126) {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 16>}} : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
      %128 = "tensor.insert"(%127, %arg30, %arg29) : (!ct_L1_1, tensor<2x!ct_L1_1>, index) -> tensor<2x!ct_L1_1>
      "affine.yield"(%128) : (tensor<2x!ct_L1_1>) -> ()
    }) : (tensor<2x!ct_L1_1>) -> tensor<2x!ct_L1_1>
    %106 = "tensor.empty"() : () -> tensor<2x!ct_L1>
    %107 = "affine.for"(%106) <{lowerBoundMap = #map, operandSegmentSizes = array<i32: 0, 0, 1>, step = 1 : index, upperBoundMap = #map1}> ({
    ^bb0(%arg27: index, %arg28: tensor<2x!ct_L1>):
      %122 = "tensor.extract"(%arg19, %arg27) : (tensor<2x!ct_L1>, index) -> !ct_L1
      %123 = "ckks.negate"(%122) {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 16>}} : (!ct_L1) -> !ct_L1
      %124 = "tensor.insert"(%123, %arg28, %arg27) : (!ct_L1, tensor<2x!ct_L1>, index) -> tensor<2x!ct_L1>
      "affine.yield"(%124) : (tensor<2x!ct_L1>) -> ()
    }) : (tensor<2x!ct_L1>) -> tensor<2x!ct_L1>
    %108 = "tensor.empty"() : () -> tensor<2x!ct_L0>
    %109 = "affine.for"(%108) <{lowerBoundMap = #map, operandSegmentSizes = array<i32: 0, 0, 1>, step = 1 : index, upperBoundMap = #map1}> ({
    ^bb0(%arg25: index, %arg26: tensor<2x!ct_L0>):
      %119 = "tensor.extract"(%105, %arg25) : (tensor<2x!ct_L1_1>, index) -> !ct_L1_1
      %120 = "ckks.rescale"(%119) <{to_ring = #ring_rns_L0_1_x8192}> : (!ct_L1_1) -> !ct_L0
      %121 = "tensor.insert"(%120, %arg26, %arg25) : (!ct_L0, tensor<2x!ct_L0>, index) -> tensor<2x!ct_L0>
      "affine.yield"(%121) : (tensor<2x!ct_L0>) -> ()
    }) : (tensor<2x!ct_L0>) -> tensor<2x!ct_L0>
    %110 = "affine.for"(%100) <{lowerBoundMap = #map, operandSegmentSizes = array<i32: 0, 0, 1>, step = 1 : index, upperBoundMap = #map1}> ({
    ^bb0(%arg23: index, %arg24: tensor<2x!ct_L1_1>):
      %115 = "tensor.extract"(%107, %arg23) : (tensor<2x!ct_L1>, index) -> !ct_L1
      %116 = "tensor.extract"(%103, %arg23) : (tensor<2x!pt>, index) -> !pt
      %117 = "ckks.mul_plain"(%115, %116) : (!ct_L1, !pt) -> !ct_L1_1
      %118 = "tensor.insert"(%117, %arg24, %arg23) : (!ct_L1_1, tensor<2x!ct_L1_1>, index) -> tensor<2x!ct_L1_1>
      "affine.yield"(%118) : (tensor<2x!ct_L1_1>) -> ()
    }) : (tensor<2x!ct_L1_1>) -> tensor<2x!ct_L1_1>
    %111 = "affine.for"(%108) <{lowerBoundMap = #map, operandSegmentSizes = array<i32: 0, 0, 1>, step = 1 : index, upperBoundMap = #map1}> ({
    ^bb0(%arg21: index, %arg22: tensor<2x!ct_L0>):
      %112 = "tensor.extract"(%110, %arg21) : (tensor<2x!ct_L1_1>, index) -> !ct_L1_1
      %113 = "ckks.rescale"(%112) <{to_ring = #ring_rns_L0_1_x8192}> : (!ct_L1_1) -> !ct_L0
      %114 = "tensor.insert"(%113, %arg22, %arg21) : (!ct_L0, tensor<2x!ct_L0>, index) -> tensor<2x!ct_L0>
      "affine.yield"(%114) : (tensor<2x!ct_L0>) -> ()
    }) : (tensor<2x!ct_L0>) -> tensor<2x!ct_L0>
    "func.return"(%109, %111) : (tensor<2x!ct_L0>, tensor<2x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "in_vectors", roles = ["client.preprocessed", "server.evaluate"]}} : () -> ()
  "func.func"() <{arg_attrs = [{heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 16>}, tensor_ext.original_type = #original_type}, {heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 16>}, tensor_ext.original_type = #original_type}], function_type = (tensor<2x!ct_L1>, tensor<2x!ct_L1>) -> (tensor<2x!ct_L0>, tensor<2x!ct_L0>), res_attrs = [{tensor_ext.original_type = #original_type}, {tensor_ext.original_type = #original_type}], sym_name = "in_vectors"}> ({
  ^bb0(%arg16: tensor<2x!ct_L1>, %arg17: tensor<2x!ct_L1>):
    %96 = "func.call"() <{callee = @in_vectors__preprocessing}> : () -> !preprocessing.storage<!pt>
    %97:2 = "func.call"(%arg16, %arg17, %96) <{callee = @in_vectors__preprocessed}> : (tensor<2x!ct_L1>, tensor<2x!ct_L1>, !preprocessing.storage<!pt>) -> (tensor<2x!ct_L0>, tensor<2x!ct_L0>)
    "func.return"(%97#0, %97#1) : (tensor<2x!ct_L0>, tensor<2x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "in_vectors", input_types = [tensor<16xf32>, tensor<16xf32>], result_types = [tensor<16xf32>, tensor<16xf32>], roles = ["entry"]}} : () -> ()
  "func.func"() <{function_type = (tensor<16xf32>, !pkey_L1) -> tensor<2x!ct_L1>, sym_name = "in_vectors__encrypt__arg0"}> ({
  ^bb0(%arg12: tensor<16xf32>, %arg13: !pkey_L1):
    %75 = "arith.constant"() <{value = 8 : i32}> : () -> i32
    %76 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<2x8xf32>}> : () -> tensor<2x8xf32>
    %77 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %78 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %79 = "arith.constant"() <{value = 16 : i32}> : () -> i32
    %80 = "scf.for"(%77, %79, %78, %76) ({
    ^bb0(%arg14: i32, %arg15: tensor<2x8xf32>):
      %88 = "arith.floordivsi"(%arg14, %75) : (i32, i32) -> i32
      %89 = "arith.muli"(%88, %75) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %90 = "arith.subi"(%arg14, %89) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %91 = "arith.index_cast"(%arg14) : (i32) -> index
      %92 = "tensor.extract"(%arg12, %91) : (tensor<16xf32>, index) -> f32
      %93 = "arith.index_cast"(%88) : (i32) -> index
      %94 = "arith.index_cast"(%90) : (i32) -> index
      %95 = "tensor.insert"(%92, %arg15, %93, %94) : (f32, tensor<2x8xf32>, index, index) -> tensor<2x8xf32>
      "scf.yield"(%95) : (tensor<2x8xf32>) -> ()
    }) : (i32, i32, i32, tensor<2x8xf32>) -> tensor<2x8xf32>
    %81 = "tensor.extract_slice"(%80) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 8>, static_strides = array<i64: 1, 1>}> : (tensor<2x8xf32>) -> tensor<8xf32>
    %82 = "lwe.rlwe_encode"(%81) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<8xf32>) -> !pt
    %83 = "lwe.rlwe_encrypt"(%82, %arg13) : (!pt, !pkey_L1) -> !ct_L1
    %84 = "tensor.extract_slice"(%80) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 1, 0>, static_sizes = array<i64: 1, 8>, static_strides = array<i64: 1, 1>}> : (tensor<2x8xf32>) -> tensor<8xf32>
    %85 = "lwe.rlwe_encode"(%84) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<8xf32>) -> !pt
    %86 = "lwe.rlwe_encrypt"(%85, %arg13) : (!pt, !pkey_L1) -> !ct_L1
    %87 = "tensor.from_elements"(%83, %86) : (!ct_L1, !ct_L1) -> tensor<2x!ct_L1>
    "func.return"(%87) : (tensor<2x!ct_L1>) -> ()
  }) {heir.interface = {func_name = "in_vectors", index = 0 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (tensor<16xf32>, !pkey_L1) -> tensor<2x!ct_L1>, sym_name = "in_vectors__encrypt__arg1"}> ({
  ^bb0(%arg8: tensor<16xf32>, %arg9: !pkey_L1):
    %54 = "arith.constant"() <{value = 8 : i32}> : () -> i32
    %55 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<2x8xf32>}> : () -> tensor<2x8xf32>
    %56 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %57 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %58 = "arith.constant"() <{value = 16 : i32}> : () -> i32
    %59 = "scf.for"(%56, %58, %57, %55) ({
    ^bb0(%arg10: i32, %arg11: tensor<2x8xf32>):
      %67 = "arith.floordivsi"(%arg10, %54) : (i32, i32) -> i32
      %68 = "arith.muli"(%67, %54) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %69 = "arith.subi"(%arg10, %68) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %70 = "arith.index_cast"(%arg10) : (i32) -> index
      %71 = "tensor.extract"(%arg8, %70) : (tensor<16xf32>, index) -> f32
      %72 = "arith.index_cast"(%67) : (i32) -> index
      %73 = "arith.index_cast"(%69) : (i32) -> index
      %74 = "tensor.insert"(%71, %arg11, %72, %73) : (f32, tensor<2x8xf32>, index, index) -> tensor<2x8xf32>
      "scf.yield"(%74) : (tensor<2x8xf32>) -> ()
    }) : (i32, i32, i32, tensor<2x8xf32>) -> tensor<2x8xf32>
    %60 = "tensor.extract_slice"(%59) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 8>, static_strides = array<i64: 1, 1>}> : (tensor<2x8xf32>) -> tensor<8xf32>
    %61 = "lwe.rlwe_encode"(%60) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<8xf32>) -> !pt
    %62 = "lwe.rlwe_encrypt"(%61, %arg9) : (!pt, !pkey_L1) -> !ct_L1
    %63 = "tensor.extract_slice"(%59) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 1, 0>, static_sizes = array<i64: 1, 8>, static_strides = array<i64: 1, 1>}> : (tensor<2x8xf32>) -> tensor<8xf32>
    %64 = "lwe.rlwe_encode"(%63) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<8xf32>) -> !pt
    %65 = "lwe.rlwe_encrypt"(%64, %arg9) : (!pt, !pkey_L1) -> !ct_L1
    %66 = "tensor.from_elements"(%62, %65) : (!ct_L1, !ct_L1) -> tensor<2x!ct_L1>
    "func.return"(%66) : (tensor<2x!ct_L1>) -> ()
  }) {heir.interface = {func_name = "in_vectors", index = 1 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (tensor<2x!ct_L0>, !skey_L0) -> tensor<16xf32>, sym_name = "in_vectors__decrypt__result0"}> ({
  ^bb0(%arg4: tensor<2x!ct_L0>, %arg5: !skey_L0):
    %27 = "arith.constant"() <{value = 0 : index}> : () -> index
    %28 = "arith.constant"() <{value = 16 : i32}> : () -> i32
    %29 = "arith.constant"() <{value = 8 : i32}> : () -> i32
    %30 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %31 = "arith.constant"() <{value = 15 : i32}> : () -> i32
    %32 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %33 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<16xf32>}> : () -> tensor<16xf32>
    %34 = "arith.constant"() <{value = 1 : index}> : () -> index
    %35 = "tensor.extract"(%arg4, %27) : (tensor<2x!ct_L0>, index) -> !ct_L0
    %36 = "lwe.rlwe_decrypt"(%35, %arg5) : (!ct_L0, !skey_L0) -> !pt
    %37 = "lwe.rlwe_decode"(%36) <{encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x8192}> : (!pt) -> tensor<1x8xf32>
    %38 = "tensor.extract"(%arg4, %34) : (tensor<2x!ct_L0>, index) -> !ct_L0
    %39 = "lwe.rlwe_decrypt"(%38, %arg5) : (!ct_L0, !skey_L0) -> !pt
    %40 = "lwe.rlwe_decode"(%39) <{encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x8192}> : (!pt) -> tensor<1x8xf32>
    %41 = "tensor.empty"() : () -> tensor<2x8xf32>
    %42 = "tensor.insert_slice"(%37, %41) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 8>, static_strides = array<i64: 1, 1>}> : (tensor<1x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
    %43 = "tensor.insert_slice"(%40, %42) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>, static_offsets = array<i64: 1, 0>, static_sizes = array<i64: 1, 8>, static_strides = array<i64: 1, 1>}> : (tensor<1x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
    %44 = "scf.for"(%32, %28, %30, %33) ({
    ^bb0(%arg6: i32, %arg7: tensor<16xf32>):
      %45 = "arith.subi"(%31, %arg6) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %46 = "arith.floordivsi"(%45, %29) : (i32, i32) -> i32
      %47 = "arith.muli"(%46, %29) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %48 = "arith.subi"(%45, %47) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %49 = "arith.index_cast"(%46) : (i32) -> index
      %50 = "arith.index_cast"(%48) : (i32) -> index
      %51 = "tensor.extract"(%43, %49, %50) : (tensor<2x8xf32>, index, index) -> f32
      %52 = "arith.index_cast"(%45) : (i32) -> index
      %53 = "tensor.insert"(%51, %arg7, %52) : (f32, tensor<16xf32>, index) -> tensor<16xf32>
      "scf.yield"(%53) : (tensor<16xf32>) -> ()
    }) : (i32, i32, i32, tensor<16xf32>) -> tensor<16xf32>
    "func.return"(%44) : (tensor<16xf32>) -> ()
  }) {heir.interface = {func_name = "in_vectors", index = 0 : i64, roles = ["client.decrypt"]}} : () -> ()
  "func.func"() <{function_type = (tensor<2x!ct_L0>, !skey_L0) -> tensor<16xf32>, sym_name = "in_vectors__decrypt__result1"}> ({
  ^bb0(%arg0: tensor<2x!ct_L0>, %arg1: !skey_L0):
    %0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %1 = "arith.constant"() <{value = 16 : i32}> : () -> i32
    %2 = "arith.constant"() <{value = 8 : i32}> : () -> i32
    %3 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %4 = "arith.constant"() <{value = 15 : i32}> : () -> i32
    %5 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %6 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<16xf32>}> : () -> tensor<16xf32>
    %7 = "arith.constant"() <{value = 1 : index}> : () -> index
    %8 = "tensor.extract"(%arg0, %0) : (tensor<2x!ct_L0>, index) -> !ct_L0
    %9 = "lwe.rlwe_decrypt"(%8, %arg1) : (!ct_L0, !skey_L0) -> !pt
    %10 = "lwe.rlwe_decode"(%9) <{encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x8192}> : (!pt) -> tensor<1x8xf32>
    %11 = "tensor.extract"(%arg0, %7) : (tensor<2x!ct_L0>, index) -> !ct_L0
    %12 = "lwe.rlwe_decrypt"(%11, %arg1) : (!ct_L0, !skey_L0) -> !pt
    %13 = "lwe.rlwe_decode"(%12) <{encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x8192}> : (!pt) -> tensor<1x8xf32>
    %14 = "tensor.empty"() : () -> tensor<2x8xf32>
    %15 = "tensor.insert_slice"(%10, %14) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 8>, static_strides = array<i64: 1, 1>}> : (tensor<1x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
    %16 = "tensor.insert_slice"(%13, %15) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>, static_offsets = array<i64: 1, 0>, static_sizes = array<i64: 1, 8>, static_strides = array<i64: 1, 1>}> : (tensor<1x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
    %17 = "scf.for"(%5, %1, %3, %6) ({
    ^bb0(%arg2: i32, %arg3: tensor<16xf32>):
      %18 = "arith.subi"(%4, %arg2) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %19 = "arith.floordivsi"(%18, %2) : (i32, i32) -> i32
      %20 = "arith.muli"(%19, %2) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %21 = "arith.subi"(%18, %20) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %22 = "arith.index_cast"(%19) : (i32) -> index
      %23 = "arith.index_cast"(%21) : (i32) -> index
      %24 = "tensor.extract"(%16, %22, %23) : (tensor<2x8xf32>, index, index) -> f32
      %25 = "arith.index_cast"(%18) : (i32) -> index
      %26 = "tensor.insert"(%24, %arg3, %25) : (f32, tensor<16xf32>, index) -> tensor<16xf32>
      "scf.yield"(%26) : (tensor<16xf32>) -> ()
    }) : (i32, i32, i32, tensor<16xf32>) -> tensor<16xf32>
    "func.return"(%17) : (tensor<16xf32>) -> ()
  }) {heir.interface = {func_name = "in_vectors", index = 1 : i64, roles = ["client.decrypt"]}} : () -> ()
}) {ckks.schemeParam = #ckks.scheme_param<logN = 13, Q = [36028797018652673, 35184372121601], P = [1152921504606994433], logDefaultScale = 45>, scheme.actual_slot_count = 4096 : i64, scheme.ckks, scheme.requested_slot_count = 8 : i64} : () -> ()

