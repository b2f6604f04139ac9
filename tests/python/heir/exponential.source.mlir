// heir-opt '--mlir-to-ckks=min-slot-count=8', heir-py 2026.11.1
module attributes {backend.lattigo} {
func.func @exponential(%x: tensor<8xf32> {secret.secret}) -> tensor<8xf32> {
  %0 = math.exp %x {domain_lower = -2.0, domain_upper = 2.0, degree = 12 : i32} : tensor<8xf32>
  return %0 : tensor<8xf32>
}
}
