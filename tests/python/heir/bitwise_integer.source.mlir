// heir-opt '--mlir-to-cggi=data-type=Integer', heir-py 2026.10.1
func.func @f(%a: i8 {secret.secret}, %b: i8 {secret.secret}) -> i8 {
  %c3 = arith.constant 3 : i8
  %x = arith.shrsi %a, %c3 : i8
  %y = arith.xori %x, %b : i8
  %z = arith.subi %c3, %y : i8
  return %z : i8
}
