// heir-opt '--mlir-to-cggi=mode=LUT3' --mlir-print-op-generic, heir-py 2026.11.1
func.func @f(%a: tensor<4xi8> {secret.secret}) -> i8 {
  %c0 = arith.constant 0 : i8
  %r = affine.for %i = 0 to 4 iter_args(%s = %c0) -> (i8) {
    %x = tensor.extract %a[%i] : tensor<4xi8>
    %t = arith.addi %s, %x : i8
    affine.yield %t : i8
  }
  return %r : i8
}
