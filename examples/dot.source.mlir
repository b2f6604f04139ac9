// Compiled to dot.mlir by: heir-opt --mlir-to-bgv='min-slot-count=8 unroll-fhe-kernel-loops=true' dot.source.mlir
func.func @dot(%a: tensor<8xi16> {secret.secret}, %b: tensor<8xi16> {secret.secret}) -> i16 {
  %zero = arith.constant 0 : i16
  %sum = affine.for %i = 0 to 8 iter_args(%s = %zero) -> (i16) {
    %x = tensor.extract %a[%i] : tensor<8xi16>
    %y = tensor.extract %b[%i] : tensor<8xi16>
    %product = arith.muli %x, %y : i16
    %next = arith.addi %s, %product : i16
    affine.yield %next : i16
  }
  return %sum : i16
}
