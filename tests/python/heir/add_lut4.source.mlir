// heir-opt '--mlir-to-cggi=mode=LUT4', heir-py 2026.11.1
func.func @f(%a: i4 {secret.secret}, %b: i4 {secret.secret}) -> i4 {
  %0 = arith.addi %a, %b : i4
  return %0 : i4
}
