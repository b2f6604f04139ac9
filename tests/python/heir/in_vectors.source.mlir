// heir-opt '--mlir-to-ckks=min-slot-count=8' --mlir-print-op-generic, heir-py 2026.11.1
func.func @in_vectors(%x: tensor<16xf32> {secret.secret}, %y: tensor<16xf32> {secret.secret}) -> (tensor<16xf32>, tensor<16xf32>) {
  %0 = arith.mulf %x, %y : tensor<16xf32>
  %1 = arith.subf %0, %x : tensor<16xf32>
  %2 = arith.negf %y : tensor<16xf32>
  return %1, %2 : tensor<16xf32>, tensor<16xf32>
}
