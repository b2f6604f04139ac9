// heir-opt '--mlir-to-ckks=min-slot-count=8', heir-py 2026.11.1
func.func @matvec(%x: tensor<5xf32> {secret.secret}) -> tensor<3xf32> {
  %mr = arith.constant dense<[[-0.375, 0.25, 0.0, -0.25, 0.375], [0.0, -0.25, 0.375, 0.125, -0.125], [0.375, 0.125, -0.125, -0.375, 0.25]]> : tensor<3x5xf32>
  %br = arith.constant dense<[0.0, 0.25, 0.5]> : tensor<3xf32>
  %r = linalg.matvec ins(%mr, %x : tensor<3x5xf32>, tensor<5xf32>) outs(%br : tensor<3xf32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}
