// heir-opt '--mlir-to-cggi=data-type=Integer', heir-py 2026.11.1
func.func @f(%a: i8 {secret.secret}, %b: i8 {secret.secret}) -> i16 {
  %0 = arith.extsi %a : i8 to i16
  %1 = arith.extsi %b : i8 to i16
  %2 = arith.muli %0, %1 : i16
  %c = arith.constant 17 : i16
  %3 = arith.addi %2, %c : i16
  return %3 : i16
}
