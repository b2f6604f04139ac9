// heir-opt '--mlir-to-ckks' --mlir-print-op-generic, heir-py 2026.11.1
func.func @number(%x: f64 {secret.secret}, %y: f64 {secret.secret}) -> f64 {
  %c = arith.constant 0.75 : f64
  %0 = arith.mulf %x, %y : f64
  %1 = arith.addf %0, %c : f64
  %2 = arith.mulf %1, %1 : f64
  return %2 : f64
}
