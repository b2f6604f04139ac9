// Base conversions: residues modulo some primes from residues modulo others, all targets of a position at once. What comes of a source, below 2^64, is cut into bytes;
// bytes times the target's constants, cut too, are a product of matrices on the tensor cores, whose sums of 32 bits make one number a target, reduced once.
//
// A warp takes 32 positions. Each lane makes the digits of one of them, in shared memory; then lanes change roles: of a product of 16 positions, 32 bytes of four
// digits, and 8 columns, lane 4r + g has digit g of positions r and r + 8, and gets columns 2g and 2g + 1. Columns are ordered so that four products leave it
// all eight bytes of one target, g of four.

#define CONVERSION_THREADS 128
#define CONVERSION_TILES ((DEGREE + CONVERSION_THREADS - 1) / CONVERSION_THREADS)
// Words from one digit to the next in shared memory, so that four of them meet different banks.
#define DIGIT_STRIDE (CONVERSION_THREADS + 4)
// Products of residues that `montgomery` takes in one sum.
#define REDUCED_AT_ONCE 8
// Words of the matrix for four digits and four targets: a lane has one of each product.
#define MATRIX_WORDS 128

// sum / 2^64 modulo q, of a sum below 2^64 · q.
DEVICE u64 montgomery(Wide sum, u64 q, u64 negated_inverse) {
  const u64 factor = sum.low * negated_inverse;
  return reduced_once(sum.high + high_product(factor, q) + (sum.low != 0), q);
}

// The number in [−Q/2, Q/2) with given residues as digits of mixed radix (H. L. Garner), of which the last that differs from that of (Q − 1)/2 tells the sign.
// Table, for each source: limb, half of its modulus less one, what the residue is multiplied with for its digit, and each earlier digit, all times 2^64.
DEVICE u32 mixed_radix(const u64 *sources, u32 count, const u64 *table, const Modulus *moduli, u32 position, u64 *digits) {
  u32 negative = 0;
  ROLLED for (u32 source = 0; source < count; source++) {
    const Modulus *m = moduli + table[0];
    const u64 q = m->value, negated_inverse = m->negated_inverse, half = table[1];
    u64 digit = 0;
    Wide sum = {0, 0};
    add_product(&sum, ((const u64 *)sources[source])[position], table[2]);
    ROLLED for (u32 earlier = 0; earlier < source;) {
      const u32 end = earlier + REDUCED_AT_ONCE - 1 < source ? earlier + REDUCED_AT_ONCE - 1 : source;
      for (; earlier < end; earlier++) add_product(&sum, digits[earlier * DIGIT_STRIDE], table[3 + earlier]);
      if (earlier == source) break;
      digit = reduced_once(digit + montgomery(sum, q, negated_inverse), q);
      sum.low = sum.high = 0;
    }
    digit = reduced_once(digit + montgomery(sum, q, negated_inverse), q);
    if (digit != half) negative = digit > half;
    digits[source * DIGIT_STRIDE] = digit;
    table += 3 + source;
  }
  return negative;
}

// The number whose bytes' sums are `bytes`, and `added`. Of 32 sources a sum is below 32 · 8 · 255^2, and with the next byte's below 2^32.
DEVICE Wide joined(const u32 bytes[8], u64 added) {
  u32 part[4];
  UNROLL for (u32 i = 0; i < 4; i++) part[i] = bytes[2 * i] + (bytes[2 * i + 1] << 8);
  const u64 low = part[0] + ((u64)part[1] << 16), high = part[2] + ((u64)part[3] << 16);
  Wide sum = {low, high >> 32};
  add_word(&sum, high << 32);
  add_word(&sum, added);
  return sum;
}

// record: sources, targets, whether a number is made of digits of mixed radix, the table's address, of each source the address, of each target the address.
// Table: what `mixed_radix` takes; for each target its limb, and what is added, times 2^64, of a number of mixed radix if it is negative; the matrices, for each
// four targets and each four digits.
KERNEL MOST_THREADS(CONVERSION_THREADS)
conversions(const u64 *records, const u32 *starts, const Modulus *moduli) {
  const u64 *record = records + starts[blockIdx.x / CONVERSION_TILES];
  const u32 sources = (u32)record[0], targets = (u32)record[1], of_radix = (u32)record[2], blocks = (sources + 3) / 4;
  const u64 *table = (const u64 *)record[3], *results = record + 4 + sources;
  const u32 lane = threadIdx.x % 32, row = lane / 4, quarter = lane % 4, start = threadIdx.x - lane;
  const u32 first = blockIdx.x % CONVERSION_TILES * CONVERSION_THREADS;
  u64 *digits = (u64 *)shared_memory;
  u32 *signs = (u32 *)(digits + blocks * 4 * DIGIT_STRIDE);
  // Rings may be smaller than a block.
  const u32 position = (first + threadIdx.x) & (DEGREE - 1);
  if (of_radix) {
    signs[threadIdx.x] = mixed_radix(record + 4, sources, table, moduli, position, digits + threadIdx.x);
    table += sources * 3 + sources * (sources - 1) / 2;
  } else {
    signs[threadIdx.x] = 1;
    ROLLED for (u32 source = 0; source < sources; source++) {
      digits[source * DIGIT_STRIDE + threadIdx.x] = ((const u64 *)record[4 + source])[position];
    }
  }
  // What is multiplied with 0 is a number, too.
  for (u32 source = sources; source < 4 * blocks; source++) digits[source * DIGIT_STRIDE + threadIdx.x] = 0;
  synchronise_warp();
  const u64 *matrix = table + 2 * targets + lane;
  u32 takes[4];
  UNROLL for (u32 i = 0; i < 4; i++) takes[i] = signs[start + 8 * i + row];
  ROLLED for (u32 group = 0; group < targets; group += 4) {
    u32 sums[2][4][4] = {{{0}}};
    ROLLED for (u32 block = 0; block < blocks; block++) {
      const u64 *of_lane = digits + (4 * block + quarter) * DIGIT_STRIDE + start + row;
      u32 a[2][4];
      UNROLL for (u32 half = 0; half < 2; half++) {
        const u64 upper = of_lane[16 * half], lower = of_lane[16 * half + 8];
        a[half][0] = (u32)upper;
        a[half][1] = (u32)lower;
        a[half][2] = (u32)(upper >> 32);
        a[half][3] = (u32)(lower >> 32);
      }
      UNROLL for (u32 tile = 0; tile < 4; tile++) {
        const u64 word = matrix[32 * tile];
        const u32 b[2] = {(u32)word, (u32)(word >> 32)};
        UNROLL for (u32 half = 0; half < 2; half++) multiply_unsigned_bytes(sums[half][tile], a[half], b);
      }
      matrix += MATRIX_WORDS;
    }
    const u32 target = group + quarter;
    if (target >= targets) continue;
    const Modulus *m = moduli + table[2 * target];
    const u64 added = table[2 * target + 1], q = m->value, negated_inverse = m->negated_inverse;
    u64 *result = (u64 *)results[target] + first + start + row;
    UNROLL for (u32 i = 0; i < 4; i++) {
      u32 bytes[8];
      UNROLL for (u32 byte = 0; byte < 8; byte++) bytes[byte] = sums[i / 2][byte / 2][2 * (i % 2) + byte % 2];
      const u64 value = montgomery(joined(bytes, takes[i] ? added : 0), q, negated_inverse);
      if (DEGREE >= CONVERSION_THREADS || start + 8 * i + row < DEGREE) result[8 * i] = value;
    }
  }
}
