// heir-opt '--mlir-to-cggi=mode=Boolean', heir-py 2026.11.1
func.func @f(%a: i8 {secret.secret}, %b: i8 {secret.secret}) -> i1 {
  %0 = arith.cmpi slt, %a, %b : i8
  return %0 : i1
}
