// The card's facilities beyond C: words, barriers, bits of doubles, words of other lanes, and products of small integers.
//
// The kernels are C in which threads, blocks and shared memory have CUDA's names. NVRTC compiles them for a card after this file; the tests compile the same
// text for the processor after emulator.h instead.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;

#define KERNEL extern "C" __global__ void
#define DEVICE static __device__ __forceinline__
#define UNROLL _Pragma("unroll")
#define ROLLED _Pragma("unroll 1")
#define MOST_THREADS(threads) __launch_bounds__(threads, 1)
#define MOST_THREADS_OF(threads, blocks) __launch_bounds__(threads, blocks)

extern __shared__ __align__(128) u8 shared_memory[];

// Barrier of all threads of a warp.
DEVICE void synchronise_warp(void) {
  __syncwarp();
}

DEVICE void synchronise_block(void) {
  __syncthreads();
}

// Barrier of `threads` threads, a multiple of 32, that name the same `barrier`, 1 to 15.
DEVICE void synchronise_some(u32 barrier, u32 threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

DEVICE u64 bits_of(double value) {
  return (u64)__double_as_longlong(value);
}

DEVICE u32 low_bits_of(double value) {
  return (u32)__double2loint(value);
}

DEVICE double double_of(u32 high, u32 low) {
  return __hiloint2double((i32)high, (i32)low);
}

// Hides the origin of `value` from the compiler, so that dependent values are recomputed in each iteration of a loop instead of occupying registers.
DEVICE double forgotten(double value) {
  asm volatile("" : "+d"(value));
  return value;
}

// Prefetches the 128 bytes at `line` into the first-level cache.
DEVICE void touch(const void *line) {
  asm volatile("prefetch.global.L1 [%0];" ::"l"(line));
}

// Begins to copy 16 bytes from the card's memory to shared memory; `await_copies` waits for all copies of this thread.
DEVICE void copy_later(void *to, const void *from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((u32)__cvta_generic_to_shared(to)), "l"(from) : "memory");
}

DEVICE void await_copies(void) {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

// The place of the highest bit that is set.
DEVICE u32 log2_of(u32 word) {
  return 31 - (u32)__clz((i32)word);
}

// The upper half of a · b.
DEVICE u64 high_product(u64 a, u64 b) {
  return __umul64hi(a, b);
}

DEVICE u32 bit_reversed(u32 word) {
  return __brev(word);
}

DEVICE double shuffle(double value, u32 lane_mask) {
  return __shfl_xor_sync(0xffffffffu, value, (i32)lane_mask);
}

DEVICE u64 shuffle_word(u64 value, u32 lane_mask) {
  return __shfl_xor_sync(0xffffffffu, value, (i32)lane_mask);
}

// Sum over the threads of a warp, returned to every thread.
DEVICE i64 warp_sum(i64 value) {
  UNROLL for (i32 distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffu, value, distance);
  return value;
}

// d += a · b for a of 16 × 32 signed and b of 32 × 8 unsigned bytes, distributed over a warp as for mma.m16n8k32.
DEVICE void multiply_bytes(i32 d[4], const u32 a[4], const u32 b[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// The same for unsigned bytes.
DEVICE void multiply_unsigned_bytes(u32 d[4], const u32 a[4], const u32 b[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
