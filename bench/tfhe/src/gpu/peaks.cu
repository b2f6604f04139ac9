// What the card can do at most, of what bootstraps are made of: multiply-adds of doubles, reads of shared memory, reads of the second-level cache.

// Eight chains a thread; `rounds` multiply-adds in each.
KERNEL multiply_adds(double *out, u32 rounds) {
  double x[8], a = 1.0 - 1e-9 * threadIdx.x, b = 1e-9 * blockIdx.x;
  UNROLL for (u32 i = 0; i < 8; i++) x[i] = 0.5 + 0.01 * i;
  ROLLED for (u32 round = 0; round < rounds; round += 16) {
    UNROLL for (u32 step = 0; step < 16; step++) {
      UNROLL for (u32 i = 0; i < 8; i++) x[i] = fma(x[i], a, b);
    }
  }
  double sum = 0.0;
  UNROLL for (u32 i = 0; i < 8; i++) sum += x[i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

typedef struct __align__(16) {
  double a, b;
} Pair;

// `rounds` reads of 16 bytes a thread, of 32 KiB of shared memory.
KERNEL shared_reads(double *out, u32 rounds) {
  Pair *words = (Pair *)shared_memory;
  for (u32 i = threadIdx.x; i < 2048; i += blockDim.x) words[i].a = words[i].b = i;
  synchronise_block();
  double sums[8];
  UNROLL for (u32 i = 0; i < 8; i++) sums[i] = 0.0;
  u32 at = threadIdx.x;
  ROLLED for (u32 round = 0; round < rounds; round += 8) {
    UNROLL for (u32 i = 0; i < 8; i++) {
      Pair read = words[(at + i * 256) & 2047];
      // Exclusive or: neither the f64 pipe nor the compiler's knowledge of the content is in the way.
      sums[i] = double_of((u32)(bits_of(sums[i]) >> 32) ^ (u32)(bits_of(read.a) >> 32) ^ (u32)(bits_of(read.b) >> 32), low_bits_of(sums[i]) ^ low_bits_of(read.a));
    }
    at += 32;
  }
  double sum = 0.0;
  UNROLL for (u32 i = 0; i < 8; i++) sum += sums[i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// `rounds` reads of 16 bytes a thread, of `pairs` pairs that fit the second-level cache and no first-level one.
KERNEL cache_reads(double *out, const Pair *words, u32 pairs, u32 rounds) {
  double sums[8];
  UNROLL for (u32 i = 0; i < 8; i++) sums[i] = 0.0;
  u32 at = (blockIdx.x * 7919 * blockDim.x + threadIdx.x) % pairs;
  ROLLED for (u32 round = 0; round < rounds; round += 8) {
    UNROLL for (u32 i = 0; i < 8; i++) {
      u32 place = at + i * blockDim.x;
      Pair read = words[place < pairs ? place : place - pairs];
      sums[i] += read.a + read.b;
    }
    at += 8 * blockDim.x;
    if (at >= pairs) at -= pairs;
  }
  double sum = 0.0;
  UNROLL for (u32 i = 0; i < 8; i++) sum += sums[i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
