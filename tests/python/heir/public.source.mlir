// heir-opt '--mlir-to-ckks=min-slot-count=8', heir-py 2026.11.1
func.func @public(%x: tensor<8xf32> {secret.secret}, %w: tensor<8xf32>) -> tensor<8xf32> {
  %0 = arith.mulf %x, %w : tensor<8xf32>
  return %0 : tensor<8xf32>
}
