// heir-opt '--mlir-to-ckks=min-slot-count=8', heir-py 2026.11.1
module attributes {backend.lattigo} {
func.func @two_layers(%x: tensor<8xf32> {secret.secret}) -> tensor<4xf32> {
  %mh = arith.constant dense<[[-0.375, 0.25, 0.0, -0.25, 0.375, 0.125, -0.125, -0.375], [0.0, -0.25, 0.375, 0.125, -0.125, -0.375, 0.25, 0.0], [0.375, 0.125, -0.125, -0.375, 0.25, 0.0, -0.25, 0.375], [-0.125, -0.375, 0.25, 0.0, -0.25, 0.375, 0.125, -0.125], [0.25, 0.0, -0.25, 0.375, 0.125, -0.125, -0.375, 0.25], [-0.25, 0.375, 0.125, -0.125, -0.375, 0.25, 0.0, -0.25], [0.125, -0.125, -0.375, 0.25, 0.0, -0.25, 0.375, 0.125], [-0.375, 0.25, 0.0, -0.25, 0.375, 0.125, -0.125, -0.375]]> : tensor<8x8xf32>
  %bh = arith.constant dense<[0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75]> : tensor<8xf32>
  %h = linalg.matvec ins(%mh, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%bh : tensor<8xf32>) -> tensor<8xf32>
  %g = arith.mulf %h, %h : tensor<8xf32>
  %mr = arith.constant dense<[[-0.375, 0.25, 0.0, -0.25, 0.375, 0.125, -0.125, -0.375], [0.0, -0.25, 0.375, 0.125, -0.125, -0.375, 0.25, 0.0], [0.375, 0.125, -0.125, -0.375, 0.25, 0.0, -0.25, 0.375], [-0.125, -0.375, 0.25, 0.0, -0.25, 0.375, 0.125, -0.125]]> : tensor<4x8xf32>
  %br = arith.constant dense<[0.0, 0.25, 0.5, 0.75]> : tensor<4xf32>
  %r = linalg.matvec ins(%mr, %g : tensor<4x8xf32>, tensor<8xf32>) outs(%br : tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
}
