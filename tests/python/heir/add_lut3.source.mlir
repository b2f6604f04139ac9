// heir-opt '--mlir-to-cggi=mode=LUT3' --mlir-print-op-generic, heir-py 2026.11.1
func.func @f(%a: i8 {secret.secret}, %b: i8 {secret.secret}) -> i8 {
  %0 = arith.addi %a, %b : i8
  return %0 : i8
}
