!Z35184372121601_i64 = !mod_arith.int<35184372121601 : i64>
!Z36028797018652673_i64 = !mod_arith.int<36028797018652673 : i64>
#inverse_canonical_encoding = #lwe.inverse_canonical_encoding<scaling_factor = 45>
#inverse_canonical_encoding1 = #lwe.inverse_canonical_encoding<scaling_factor = 90>
#key = #lwe.key<>
#layout = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 8 = 0 and 0 <= i0 <= 4 and 0 <= slot <= 7 }">
#layout1 = #tensor_ext.layout<"{ [i0] -> [ct, slot] : ct = 0 and (-i0 + slot) mod 4 = 0 and 0 <= i0 <= 2 and 0 <= slot <= 7 }">
#modulus_chain_L1_C0 = #lwe.modulus_chain<elements = <36028797018652673 : i64, 35184372121601 : i64>, current = 0>
#modulus_chain_L1_C1 = #lwe.modulus_chain<elements = <36028797018652673 : i64, 35184372121601 : i64>, current = 1>
#ring_f64_1_x8192 = #polynomial.ring<coefficientType = f64, polynomialModulus = <1 + x**8192>>
!rns_L0 = !rns.rns<!Z36028797018652673_i64>
!rns_L1 = !rns.rns<!Z36028797018652673_i64, !Z35184372121601_i64>
#original_type = #tensor_ext.original_type<originalType = tensor<5xf32>, layout = #layout>
#original_type1 = #tensor_ext.original_type<originalType = tensor<3xf32>, layout = #layout1>
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
"builtin.module"() ({
  "func.func"() <{function_type = () -> !preprocessing.storage<!pt, !pt1>, sym_name = "matvec__preprocessing"}> ({
    %65 = "arith.constant"() <{value = dense<[-3.750000e-01, -2.500000e-01, -1.250000e-01, 0.000000e+00, 3.750000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00]> : tensor<8xf32>}> : () -> tensor<8xf32>
    %66 = "arith.constant"() <{value = dense<[2.500000e-01, 3.750000e-01, -3.750000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00]> : tensor<8xf32>}> : () -> tensor<8xf32>
    %67 = "arith.constant"() <{value = dense<[3.750000e-01, 0.000000e+00, 0.000000e+00, 1.250000e-01, 2.500000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00]> : tensor<8xf32>}> : () -> tensor<8xf32>
    %68 = "arith.constant"() <{value = dense<[1.250000e-01, 0.000000e+00, -2.500000e-01, -1.250000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00]> : tensor<8xf32>}> : () -> tensor<8xf32>
    %69 = "arith.constant"() <{value = dense<[0.000000e+00, 2.500000e-01, 5.000000e-01, 0.000000e+00, 0.000000e+00, 2.500000e-01, 5.000000e-01, 0.000000e+00]> : tensor<8xf32>}> : () -> tensor<8xf32>
    %70 = "preprocessing.empty"() : () -> !preprocessing.storage<!pt, !pt1>
    %71 = "lwe.rlwe_encode"(%65) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<8xf32>) -> !pt
    "preprocessing.store"(%71, %70) <{element_type = !pt, site_id = 0 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>) -> ()
    %72 = "lwe.rlwe_encode"(%66) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<8xf32>) -> !pt
    "preprocessing.store"(%72, %70) <{element_type = !pt, site_id = 1 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>) -> ()
    %73 = "lwe.rlwe_encode"(%67) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<8xf32>) -> !pt
    "preprocessing.store"(%73, %70) <{element_type = !pt, site_id = 2 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>) -> ()
    %74 = "lwe.rlwe_encode"(%68) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<8xf32>) -> !pt
    "preprocessing.store"(%74, %70) <{element_type = !pt, site_id = 3 : i32}> : (!pt, !preprocessing.storage<!pt, !pt1>) -> ()
    %75 = "lwe.rlwe_encode"(%69) <{encoding = #inverse_canonical_encoding1, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 90 : i64}> : (tensor<8xf32>) -> !pt1
    "preprocessing.store"(%75, %70) <{element_type = !pt1, site_id = 4 : i32}> : (!pt1, !preprocessing.storage<!pt, !pt1>) -> ()
    "func.return"(%70) : (!preprocessing.storage<!pt, !pt1>) -> ()
  }) {heir.interface = {entry_arg_indices = array<i64>, func_name = "matvec", roles = ["server.preprocessing"]}} : () -> ()
  "func.func"() <{arg_attrs = [{heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 5>}, tensor_ext.original_type = #original_type}, {}], function_type = (tensor<1x!ct_L1>, !preprocessing.storage<!pt, !pt1>) -> tensor<1x!ct_L0>, sym_name = "matvec__preprocessed"}> ({
  ^bb0(%arg11: tensor<1x!ct_L1>, %arg12: !preprocessing.storage<!pt, !pt1>):
    %40 = "arith.constant"() <{value = 4 : index}> : () -> index
    %41 = "arith.constant"() <{value = 2 : index}> : () -> index
    %42 = "arith.constant"() <{value = 1 : index}> : () -> index
    %43 = "arith.constant"() <{value = 0 : index}> : () -> index
    %44 = "preprocessing.load"(%arg12) <{element_type = !pt, site_id = 0 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt
    %45 = "tensor.extract"(%arg11, %43) : (tensor<1x!ct_L1>, index) -> !ct_L1
    %46 = "ckks.mul_plain"(%45, %44) : (!ct_L1, !pt) -> !ct_L1_1
    %47 = "ckks.rotate"(%45, %42) : (!ct_L1, index) -> !ct_L1
    %48 = "preprocessing.load"(%arg12) <{element_type = !pt, site_id = 1 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt
    %49 = "ckks.mul_plain"(%47, %48) : (!ct_L1, !pt) -> !ct_L1_1
    %50 = "preprocessing.load"(%arg12) <{element_type = !pt, site_id = 2 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt
    %51 = "ckks.mul_plain"(%45, %50) : (!ct_L1, !pt) -> !ct_L1_1
    %52 = "preprocessing.load"(%arg12) <{element_type = !pt, site_id = 3 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt
    %53 = "ckks.mul_plain"(%47, %52) : (!ct_L1, !pt) -> !ct_L1_1
    %54 = "ckks.add"(%51, %53) : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
    %55 = "ckks.rotate"(%54, %41) : (!ct_L1_1, index) -> !ct_L1_1
    %56 = "ckks.add"(%46, %49) : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
    %57 = "ckks.add"(%56, %55) : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
    %58 = "ckks.rotate"(%57, %40) : (!ct_L1_1, index) -> !ct_L1_1
    %59 = "preprocessing.load"(%arg12) <{element_type = !pt1, site_id = 4 : i32}> : (!preprocessing.storage<!pt, !pt1>) -> !pt1
    %60 = "ckks.add_plain"(%57, %59) : (!ct_L1_1, !pt1) -> !ct_L1_1
    %61 = "ckks.add"(%60, %58) : (!ct_L1_1, !ct_L1_1) -> !ct_L1_1
    %62 = "tensor.empty"() : () -> tensor<1x!ct_L0>
    %63 = "ckks.rescale"(%61) <{to_ring = #ring_rns_L0_1_x8192}> : (!ct_L1_1) -> !ct_L0
    %64 = "tensor.insert"(%63, %62, %43) : (!ct_L0, tensor<1x!ct_L0>, index) -> tensor<1x!ct_L0>
    "func.return"(%64) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "matvec", roles = ["client.preprocessed", "server.evaluate"]}} : () -> ()
  "func.func"() <{arg_attrs = [{heir.kernel_info = {gap_factor = 1 : i64, result_shape = array<i64: 5>}, tensor_ext.original_type = #original_type}], function_type = (tensor<1x!ct_L1>) -> tensor<1x!ct_L0>, res_attrs = [{tensor_ext.original_type = #original_type1}], sym_name = "matvec"}> ({
  ^bb0(%arg10: tensor<1x!ct_L1>):
    %38 = "func.call"() <{callee = @matvec__preprocessing}> : () -> !preprocessing.storage<!pt, !pt1>
    %39 = "func.call"(%arg10, %38) <{callee = @matvec__preprocessed}> : (tensor<1x!ct_L1>, !preprocessing.storage<!pt, !pt1>) -> tensor<1x!ct_L0>
    "func.return"(%39) : (tensor<1x!ct_L0>) -> ()
  }) {heir.interface = {func_name = "matvec", input_types = [tensor<5xf32>], result_types = [tensor<3xf32>], roles = ["entry"]}} : () -> ()
  "func.func"() <{function_type = (tensor<5xf32>, !pkey_L1) -> tensor<1x!ct_L1>, sym_name = "matvec__encrypt__arg0"}> ({
  ^bb0(%arg6: tensor<5xf32>, %arg7: !pkey_L1):
    %25 = "arith.constant"() <{value = 0 : index}> : () -> index
    %26 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<1x8xf32>}> : () -> tensor<1x8xf32>
    %27 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %28 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %29 = "arith.constant"() <{value = 5 : i32}> : () -> i32
    %30 = "scf.for"(%27, %29, %28, %26) ({
    ^bb0(%arg8: i32, %arg9: tensor<1x8xf32>):
      %35 = "arith.index_cast"(%arg8) : (i32) -> index
      %36 = "tensor.extract"(%arg6, %35) : (tensor<5xf32>, index) -> f32
      %37 = "tensor.insert"(%36, %arg9, %25, %35) : (f32, tensor<1x8xf32>, index, index) -> tensor<1x8xf32>
      "scf.yield"(%37) : (tensor<1x8xf32>) -> ()
    }) : (i32, i32, i32, tensor<1x8xf32>) -> tensor<1x8xf32>
    %31 = "tensor.extract_slice"(%30) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 1, 8>, static_strides = array<i64: 1, 1>}> : (tensor<1x8xf32>) -> tensor<8xf32>
    %32 = "lwe.rlwe_encode"(%31) <{encoding = #inverse_canonical_encoding, level = 1 : i64, ring = #ring_f64_1_x8192, scale = 45 : i64}> : (tensor<8xf32>) -> !pt
    %33 = "lwe.rlwe_encrypt"(%32, %arg7) : (!pt, !pkey_L1) -> !ct_L1
    %34 = "tensor.from_elements"(%33) : (!ct_L1) -> tensor<1x!ct_L1>
    "func.return"(%34) : (tensor<1x!ct_L1>) -> ()
  }) {heir.interface = {func_name = "matvec", index = 0 : i64, roles = ["client.encrypt"]}} : () -> ()
  "func.func"() <{function_type = (tensor<1x!ct_L0>, !skey_L0) -> tensor<3xf32>, sym_name = "matvec__decrypt__result0"}> ({
  ^bb0(%arg0: tensor<1x!ct_L0>, %arg1: !skey_L0):
    %0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %1 = "arith.constant"() <{value = 8 : i32}> : () -> i32
    %2 = "arith.constant"() <{value = 3 : i32}> : () -> i32
    %3 = "arith.constant"() <{value = 4 : i32}> : () -> i32
    %4 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %5 = "arith.constant"() <{value = 2 : i32}> : () -> i32
    %6 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %7 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<3xf32>}> : () -> tensor<3xf32>
    %8 = "arith.constant"() <{value = 5 : i32}> : () -> i32
    %9 = "tensor.extract"(%arg0, %0) : (tensor<1x!ct_L0>, index) -> !ct_L0
    %10 = "lwe.rlwe_decrypt"(%9, %arg1) : (!ct_L0, !skey_L0) -> !pt
    %11 = "lwe.rlwe_decode"(%10) <{encoding = #inverse_canonical_encoding, ring = #ring_f64_1_x8192}> : (!pt) -> tensor<1x8xf32>
    %12 = "scf.for"(%6, %2, %4, %7) ({
    ^bb0(%arg2: i32, %arg3: tensor<3xf32>):
      %13 = "arith.subi"(%5, %arg2) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
      %14 = "scf.for"(%13, %1, %3, %arg3) ({
      ^bb0(%arg4: i32, %arg5: tensor<3xf32>):
        %15 = "arith.addi"(%arg2, %8) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %16 = "arith.floordivsi"(%15, %3) : (i32, i32) -> i32
        %17 = "arith.muli"(%16, %3) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %18 = "arith.addi"(%13, %17) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %19 = "arith.subi"(%arg4, %13) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %20 = "arith.subi"(%18, %19) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        %21 = "arith.index_cast"(%20) : (i32) -> index
        %22 = "tensor.extract"(%11, %0, %21) : (tensor<1x8xf32>, index, index) -> f32
        %23 = "arith.index_cast"(%13) : (i32) -> index
        %24 = "tensor.insert"(%22, %arg5, %23) : (f32, tensor<3xf32>, index) -> tensor<3xf32>
        "scf.yield"(%24) : (tensor<3xf32>) -> ()
      }) : (i32, i32, i32, tensor<3xf32>) -> tensor<3xf32>
      "scf.yield"(%14) : (tensor<3xf32>) -> ()
    }) : (i32, i32, i32, tensor<3xf32>) -> tensor<3xf32>
    "func.return"(%12) : (tensor<3xf32>) -> ()
  }) {heir.interface = {func_name = "matvec", index = 0 : i64, roles = ["client.decrypt"]}} : () -> ()
}) {ckks.schemeParam = #ckks.scheme_param<logN = 13, Q = [36028797018652673, 35184372121601], P = [1152921504606994433], logDefaultScale = 45>, scheme.actual_slot_count = 4096 : i64, scheme.ckks, scheme.requested_slot_count = 8 : i64} : () -> ()

