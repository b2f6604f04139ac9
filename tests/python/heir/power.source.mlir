// heir-opt '--mlir-to-ckks=min-slot-count=8 greedy-level-budget=2 greedy-bootstrap-waterline=1', heir-py 2026.11.1
func.func @power(%x: f32 {secret.secret}) -> f32 {
  %r = affine.for %i = 0 to 3 iter_args(%s = %x) -> (f32) {
    %m = arith.mulf %s, %s : f32
    affine.yield %m : f32
  }
  return %r : f32
}
