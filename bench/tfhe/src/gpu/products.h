// a · b in 64 bits. The GPU's instruction is named: a compiler that keeps a factor in 64 bits does not find it.
DEVICE i64 product(i32 a, i32 b) {
#ifdef __CUDACC__
  i64 result;
  asm("mul.wide.s32 %0, %1, %2;" : "=l"(result) : "r"(a), "r"(b));
  return result;
#else
  return (i64)a * b;
#endif
}

// The upper half of a · b + c · d: two instructions.
DEVICE i32 upper_half(i32 a, i32 b, i32 c, i32 d) {
  return (i32)((product(a, b) + product(c, d)) >> 32);
}
