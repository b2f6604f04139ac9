// Peak rates of a GPU: multiply-adds of doubles and of other number types, reads of shared memory, reads of the L2 cache.

// Eight chains per thread; `rounds` steps in each, from x to `step`.
#define CHAINS(name, Number, first_of, a_of, Addend, b_of, step)    \
  KERNEL name(double *out, u32 rounds) {                            \
    Number x[8];                                                    \
    const Number a = a_of;                                          \
    const Addend b = b_of;                                          \
    UNROLL for (u32 i = 0; i < 8; i++) x[i] = first_of;             \
    ROLLED for (u32 round = 0; round < rounds; round += 16) {       \
      UNROLL for (u32 j = 0; j < 16; j++) {                         \
        UNROLL for (u32 i = 0; i < 8; i++) x[i] = step;             \
      }                                                             \
    }                                                               \
    double sum = 0.0;                                               \
    UNROLL for (u32 i = 0; i < 8; i++) sum += x[i];                 \
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;               \
  }

CHAINS(multiply_adds, double, 0.5 + 0.01 * i, 1.0 - 1e-9 * threadIdx.x, double, 1e-9 * blockIdx.x, fma(x[i], a, b))
CHAINS(single_multiply_adds, float, 0.5f + 0.01f * i, 1.0f - 1e-6f * threadIdx.x, float, 1e-6f * blockIdx.x, fmaf(x[i], a, b))
CHAINS(integer_multiply_adds, i32, (i32)i + 1, 2 * (i32)threadIdx.x + 3, u32, 2 * blockIdx.x + 1, (i32)((u32)x[i] * (u32)a + b))
// Two products per step, as in a butterfly of transforms.cu.
CHAINS(upper_halves, i32, (i32)i << 27, (i32)(0x7fffffff - threadIdx.x), i32, (i32)(0x7fffffff - blockIdx.x), upper_half(x[i], a, x[(i + 1) % 8], b))

typedef struct __align__(16) {
  double a, b;
} Pair;

// `rounds` reads of 16 bytes per thread, from 32 KiB of shared memory.
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
      // Exclusive or, so that neither the f64 pipe nor constant folding changes the time.
      sums[i] = double_of((u32)(bits_of(sums[i]) >> 32) ^ (u32)(bits_of(read.a) >> 32) ^ (u32)(bits_of(read.b) >> 32), low_bits_of(sums[i]) ^ low_bits_of(read.a));
    }
    at += 32;
  }
  double sum = 0.0;
  UNROLL for (u32 i = 0; i < 8; i++) sum += sums[i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// `rounds` reads of 16 bytes per thread, from `pairs` pairs that fit in the L2 cache and in no L1 cache.
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
