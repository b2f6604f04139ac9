// heir-opt '--mlir-to-bfv=min-slot-count=8', heir-py 2026.11.1
func.func @polynomial(%x: tensor<8xi32> {secret.secret}, %y: tensor<8xi32> {secret.secret}) -> (tensor<8xi32>, tensor<8xi32>) {
  %c = arith.constant dense<[1, 2, 3, 4, 5, 6, 7, -8]> : tensor<8xi32>
  %0 = arith.muli %x, %y : tensor<8xi32>
  %1 = arith.addi %0, %c : tensor<8xi32>
  %2 = arith.subi %1, %x : tensor<8xi32>
  %3 = arith.muli %2, %c : tensor<8xi32>
  return %2, %3 : tensor<8xi32>, tensor<8xi32>
}
