// heir-opt '--mlir-to-ckks=min-slot-count=64', heir-py 2026.11.1
func.func @convolution(%x: tensor<1x2x4x4xf32> {secret.secret}) -> tensor<1x2x2x2xf32> {
  %k = arith.constant dense<[[[[-0.25, 0.125, -0.125], [-0.125, 0.25, 0.0], [0.0, -0.25, 0.125]], [[0.0, -0.25, 0.125], [0.125, -0.125, 0.25], [0.25, 0.0, -0.25]]], [[[-0.125, 0.25, 0.0], [0.0, -0.25, 0.125], [0.125, -0.125, 0.25]], [[0.125, -0.125, 0.25], [0.25, 0.0, -0.25], [-0.25, 0.125, -0.125]]]]> : tensor<2x2x3x3xf32>
  %z = arith.constant dense<0.0> : tensor<1x2x2x2xf32>
  %r = linalg.conv_2d_nchw_fchw ins(%x, %k : tensor<1x2x4x4xf32>, tensor<2x2x3x3xf32>) outs(%z : tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  return %r : tensor<1x2x2x2xf32>
}
