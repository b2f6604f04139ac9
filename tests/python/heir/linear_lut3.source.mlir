// heir-opt '--mlir-to-cggi=mode=LUT3', heir-py 2026.11.1
func.func @f(%a: i8 {secret.secret}) -> i8 {
  %c = arith.constant 17 : i8
  %0 = arith.addi %a, %c : i8
  %1 = arith.muli %0, %c : i8
  return %1 : i8
}
