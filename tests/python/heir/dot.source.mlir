// heir-opt '--mlir-to-bgv=min-slot-count=8 unroll-fhe-kernel-loops=true' --mlir-print-op-generic, heir-py 2026.11.1
func.func @dot(%a: tensor<8xi16> {secret.secret}, %b: tensor<8xi16> {secret.secret}) -> i16 {
  %c = arith.constant 3 : i16
  %r = affine.for %i = 0 to 8 iter_args(%s = %c) -> (i16) {
    %x = tensor.extract %a[%i] : tensor<8xi16>
    %y = tensor.extract %b[%i] : tensor<8xi16>
    %m = arith.muli %x, %y : i16
    %t = arith.addi %s, %m : i16
    affine.yield %t : i16
  }
  return %r : i16
}
