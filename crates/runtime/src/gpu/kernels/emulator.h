// Implements device.h's facilities on the processor, for tests. Threads of a block are coroutines that switch at barriers, in increasing or decreasing order, so
// that a missing barrier shows as a difference between the two.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;

#define KERNEL void
#define DEVICE static inline
#define UNROLL
#define ROLLED
#define MOST_THREADS(threads)
#define MOST_THREADS_OF(threads, blocks)
#define __align__(bytes) __attribute__((aligned(bytes)))

typedef struct {
  u32 x;
} Index;

static Index threadIdx, blockIdx, blockDim, gridDim;
static u8 *shared_memory;

enum { MOST_COROUTINES = 1024, STACK_BYTES = 1 << 16 };

static struct {
  ucontext_t contexts[MOST_COROUTINES], caller;
  u8 *stacks;
  u8 ended[MOST_COROUTINES];
  i32 step;
  // Switches since the last progress.
  u64 idle;
  void (*kernel)();
  const u64 *arguments;
} emulated;

static void leave_turn(void) {
  u32 here = threadIdx.x, threads = blockDim.x, next = here;
  if (++emulated.idle > 4ull * threads) {
    fprintf(stderr, "thread %u of block %u waits for what never comes\n", here, blockIdx.x);
    abort();
  }
  do next = (next + threads + emulated.step) % threads;
  while (emulated.ended[next] && next != here);
  if (next == here) return;
  threadIdx.x = next;
  swapcontext(&emulated.contexts[here], &emulated.contexts[next]);
  threadIdx.x = here;
}

typedef struct {
  u32 arrived, generation;
} Meeting;

static Meeting of_block, of_warps[MOST_COROUTINES / 32], named[16];

static void meet(Meeting *meeting, u32 threads) {
  u32 generation = meeting->generation;
  emulated.idle = 0;
  if (++meeting->arrived == threads) {
    meeting->arrived = 0;
    meeting->generation++;
    return;
  }
  while (meeting->generation == generation) leave_turn();
  emulated.idle = 0;
}

DEVICE void synchronise_warp(void) {
  meet(&of_warps[threadIdx.x / 32], 32);
}

DEVICE void synchronise_block(void) {
  meet(&of_block, blockDim.x);
}

DEVICE void synchronise_some(u32 barrier, u32 threads) {
  meet(&named[barrier], threads);
}

DEVICE u64 bits_of(double value) {
  u64 bits;
  memcpy(&bits, &value, 8);
  return bits;
}

DEVICE u32 low_bits_of(double value) {
  return (u32)bits_of(value);
}

DEVICE double double_of(u32 high, u32 low) {
  u64 bits = (u64)high << 32 | low;
  double value;
  memcpy(&value, &bits, 8);
  return value;
}

DEVICE double forgotten(double value) {
  return value;
}

DEVICE void touch(const void *line) {
  (void)line;
}

// Copies begun by a thread. They are executed when awaited, so that data without a wait is missing.
enum { MOST_COPIES = 64 };

static struct {
  void *to;
  const void *from;
} copies[MOST_COROUTINES][MOST_COPIES];
static u32 begun[MOST_COROUTINES];

DEVICE void copy_later(void *to, const void *from) {
  const u32 here = threadIdx.x, number = begun[here]++;
  if (number == MOST_COPIES) {
    fprintf(stderr, "thread %u begins more than %u copies\n", here, MOST_COPIES);
    abort();
  }
  copies[here][number].to = to;
  copies[here][number].from = from;
  memset(to, 0x5a, 16);
}

DEVICE void await_copies(void) {
  const u32 here = threadIdx.x;
  for (u32 number = 0; number < begun[here]; number++) memcpy(copies[here][number].to, copies[here][number].from, 16);
  begun[here] = 0;
}

DEVICE u32 log2_of(u32 word) {
  return 31 - (u32)__builtin_clz(word);
}

DEVICE u64 high_product(u64 a, u64 b) {
  return (u64)((unsigned __int128)a * b >> 64);
}

DEVICE u32 bit_reversed(u32 word) {
  u32 result = 0;
  for (u32 bit = 0; bit < 32; bit++) result |= (word >> bit & 1) << (31 - bit);
  return result;
}

static u64 exchanged[MOST_COROUTINES];

DEVICE u64 shuffle_word(u64 value, u32 lane_mask) {
  exchanged[threadIdx.x] = value;
  synchronise_warp();
  u64 other = exchanged[threadIdx.x ^ lane_mask];
  synchronise_warp();
  return other;
}

DEVICE double shuffle(double value, u32 lane_mask) {
  u64 other = shuffle_word(bits_of(value), lane_mask);
  return double_of((u32)(other >> 32), (u32)other);
}

DEVICE i64 warp_sum(i64 value) {
  for (i32 distance = 16; distance > 0; distance /= 2) value += (i64)shuffle_word((u64)value, (u32)distance);
  return value;
}

// Operands of a byte product, written by all lanes before any lane sums. Two sets, because a lane may be one product ahead of others.
static struct {
  u8 a[16][32], b[32][8];
} operands[MOST_COROUTINES / 32][2];
static u32 products[MOST_COROUTINES];

DEVICE u32 share_operands(const u32 a[4], const u32 b[2]) {
  const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = lane / 4, quarter = lane % 4, which = products[threadIdx.x]++ % 2;
  for (u32 i = 0; i < 4; i++) memcpy(&operands[warp][which].a[row + i % 2 * 8][quarter * 4 + i / 2 * 16], &a[i], 4);
  for (u32 i = 0; i < 2; i++) {
    for (u32 k = 0; k < 4; k++) operands[warp][which].b[i * 16 + quarter * 4 + k][row] = (u8)(b[i] >> (8 * k));
  }
  synchronise_warp();
  return which;
}

DEVICE void multiply_bytes(i32 d[4], const u32 a[4], const u32 b[2]) {
  const u32 which = share_operands(a, b), warp = threadIdx.x / 32, row = threadIdx.x % 32 / 4, quarter = threadIdx.x % 4;
  for (u32 i = 0; i < 4; i++) {
    for (u32 k = 0; k < 32; k++) {
      d[i] += (signed char)operands[warp][which].a[row + i / 2 * 8][k] * operands[warp][which].b[k][2 * quarter + i % 2];
    }
  }
}

DEVICE void multiply_unsigned_bytes(u32 d[4], const u32 a[4], const u32 b[2]) {
  const u32 which = share_operands(a, b), warp = threadIdx.x / 32, row = threadIdx.x % 32 / 4, quarter = threadIdx.x % 4;
  for (u32 i = 0; i < 4; i++) {
    for (u32 k = 0; k < 32; k++) d[i] += operands[warp][which].a[row + i / 2 * 8][k] * operands[warp][which].b[k][2 * quarter + i % 2];
  }
}

static void of_one_thread(void) {
  const u64 *a = emulated.arguments;
  // An integer or pointer argument occupies one register or stack slot, as these do.
  ((void (*)(u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64))emulated.kernel)(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9],
                                                                                         a[10], a[11]);
  const u32 here = threadIdx.x, threads = blockDim.x;
  emulated.ended[here] = 1;
  emulated.idle = 0;
  u32 next = here;
  do next = (next + threads + emulated.step) % threads;
  while (emulated.ended[next] && next != here);
  if (next == here) setcontext(&emulated.caller);
  threadIdx.x = next;
  setcontext(&emulated.contexts[next]);
}

// Launches `kernel`; it uses the first of 12 `arguments`. `backwards` reverses the order of the threads.
void emulate(void (*kernel)(), u32 blocks, u32 threads, u32 shared_bytes, const u64 *arguments, u32 backwards) {
  if (threads % 32 || threads > MOST_COROUTINES) abort();
  if (!emulated.stacks) emulated.stacks = malloc((size_t)MOST_COROUTINES * STACK_BYTES);
  if (posix_memalign((void **)&shared_memory, 128, shared_bytes + 128)) abort();
  emulated.kernel = kernel;
  emulated.arguments = arguments;
  emulated.step = backwards ? -1 : 1;
  blockDim.x = threads;
  gridDim.x = blocks;
  for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++) {
    memset(shared_memory, 0xa5, shared_bytes);
    memset(&of_block, 0, sizeof of_block);
    memset(of_warps, 0, sizeof of_warps);
    memset(named, 0, sizeof named);
    emulated.idle = 0;
    for (u32 thread = 0; thread < threads; thread++) {
      emulated.ended[thread] = 0;
      begun[thread] = 0;
      getcontext(&emulated.contexts[thread]);
      emulated.contexts[thread].uc_stack.ss_sp = emulated.stacks + (size_t)thread * STACK_BYTES;
      emulated.contexts[thread].uc_stack.ss_size = STACK_BYTES;
      emulated.contexts[thread].uc_link = 0;
      makecontext(&emulated.contexts[thread], of_one_thread, 0);
    }
    threadIdx.x = backwards ? threads - 1 : 0;
    swapcontext(&emulated.caller, &emulated.contexts[threadIdx.x]);
  }
  free(shared_memory);
}
