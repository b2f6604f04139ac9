// Base conversions: residues modulo some primes from residues modulo others, for all targets of a position at once. The inputs are the y_i of
// Σ y_i Q/q_i = x + uQ. They are split into bytes and multiplied with the bytes of the targets' constants as a matrix product on the tensor cores. The 32-bit sums
// combine to one number per target, which is reduced once. One more row has u, if it is to be subtracted, or 1.
//
// A warp handles 32 positions. Each lane loads the numbers of one position to shared memory; then lanes change roles. In a product of 16 positions, 32 bytes of four
// numbers and 8 columns, lane 4r + g has number g of positions r and r + 8, and receives columns 2g and 2g + 1. Columns are ordered so that four products give a lane
// all eight bytes of one target, g of four.

#define CONVERSION_THREADS 128
#define CONVERSION_TILES ((DEGREE + CONVERSION_THREADS - 1) / CONVERSION_THREADS)
// Words between numbers in shared memory, chosen so that four of them use different banks.
#define NUMBER_STRIDE (CONVERSION_THREADS + 4)
// Maximum products of residues in one sum for `montgomery`.
#define REDUCED_AT_ONCE 8
// Words of the matrix for four numbers and four targets: each lane has one of each product.
#define MATRIX_WORDS 128

// sum / 2^64 modulo q, for a sum below 2^64 · q.
DEVICE u64 montgomery(Wide sum, u64 q, u64 negated_inverse) {
  const u64 factor = sum.low * negated_inverse;
  return reduced_once(sum.high + high_product(factor, q) + (sum.low != 0), q);
}

// Whether the number in [−Q/2, Q/2) is negative, exactly: compares mixed-radix digits (H. L. Garner) with those of (Q − 1)/2, of which the last that differs
// decides. Table, for each source: limb, half of its modulus minus one, the factor of y for its digit, and that of each earlier digit, all times 2^64.
DEVICE u32 is_negative(const u64 *sources, u32 count, const u64 *table, const Modulus *moduli, u32 position, u64 *digits) {
  u32 negative = 0;
  ROLLED for (u32 source = 0; source < count; source++) {
    const Modulus *m = moduli + table[0];
    const u64 q = m->value, negated_inverse = m->negated_inverse, half = table[1];
    u64 digit = 0;
    Wide sum = {0, 0};
    add_product(&sum, ((const u64 *)sources[source])[position], table[2]);
    ROLLED for (u32 earlier = 0; earlier < source;) {
      const u32 end = earlier + REDUCED_AT_ONCE - 1 < source ? earlier + REDUCED_AT_ONCE - 1 : source;
      ROLLED for (; earlier < end; earlier++) add_product(&sum, digits[earlier * NUMBER_STRIDE], table[3 + earlier]);
      if (earlier == source) break;
      digit = reduced_once(digit + montgomery(sum, q, negated_inverse), q);
      sum.low = sum.high = 0;
    }
    digit = reduced_once(digit + montgomery(sum, q, negated_inverse), q);
    if (digit != half) negative = digit > half;
    digits[source * NUMBER_STRIDE] = digit;
    table += 3 + source;
  }
  return negative;
}

// Above the error in doubles of a sum of up to 31 quotients y/q, each below 1: 31 · 31 · 2^-53 for the additions, 3 · 31 · 2^-53 for the quotients.
#define UNSURE (1.0 / (1ull << 40))

// Loads the numbers of `position` to shared memory; returns Σ y_i/q_i from the reciprocals in `table`.
DEVICE double bring_numbers(const u64 *sources, u32 count, const u64 *table, u32 centred, u32 position, u64 *numbers) {
  double quotients = 0;
  ROLLED for (u32 source = 0; source < count; source++) {
    const u64 number = ((const u64 *)sources[source])[position];
    numbers[source * NUMBER_STRIDE] = number;
    if (centred) quotients += (double)number * double_of((u32)(table[source] >> 32), (u32)table[source]);
  }
  return quotients;
}

// u of Σ y_i Q/q_i = x + uQ with x in [−Q/2, Q/2); loads the numbers to shared memory.
DEVICE u64 multiple(const u64 *sources, u32 count, const u64 *table, const Modulus *moduli, u32 position, u64 *numbers) {
  const double above = bring_numbers(sources, count, table, 1, position, numbers) + 0.5;
  const u64 whole = (u64)above;
  const double part = above - (double)whole;
  if (part >= UNSURE && part <= 1 - UNSURE) return whole;
  // x is so close to an end of the interval that its sign decides which one.
  const u64 nearest = whole + (part > 0.5), negative = is_negative(sources, count, table + count, moduli, position, numbers);
  bring_numbers(sources, count, table, 0, position, numbers);
  return negative ? nearest : nearest - 1;
}

// The number whose bytes have the sums `bytes`. With 32 rows a sum is below 32 · 8 · 255^2, and with the next byte's below 2^32.
DEVICE Wide joined(const u32 bytes[8]) {
  u32 part[4];
  UNROLL for (u32 i = 0; i < 4; i++) part[i] = bytes[2 * i] + (bytes[2 * i + 1] << 8);
  const u64 low = part[0] + ((u64)part[1] << 16), high = part[2] + ((u64)part[3] << 16);
  Wide sum = {low, high >> 32};
  add_word(&sum, high << 32);
  return sum;
}

// record: sources, targets, whether the number is in [−Q/2, Q/2), the table's address, the address of each source and of each target.
// Table: for such a number the doubles 1/q and the data of `is_negative`; each target's limb; the matrices, for each four targets and each four numbers.
KERNEL MOST_THREADS(CONVERSION_THREADS)
conversions(const u64 *records, const u32 *starts, const Modulus *moduli) {
  const u64 *record = records + starts[blockIdx.x / CONVERSION_TILES];
  const u32 sources = (u32)record[0], targets = (u32)record[1], centred = (u32)record[2], blocks = sources / 4 + 1;
  const u64 *table = (const u64 *)record[3], *results = record + 4 + sources;
  const u32 lane = threadIdx.x % 32, row = lane / 4, quarter = lane % 4, start = threadIdx.x - lane;
  const u32 first = blockIdx.x % CONVERSION_TILES * CONVERSION_THREADS;
  u64 *numbers = (u64 *)shared_memory, *own = numbers + threadIdx.x;
  // Rings may be smaller than a block.
  const u32 position = (first + threadIdx.x) & (DEGREE - 1);
  if (centred) {
    own[sources * NUMBER_STRIDE] = multiple(record + 4, sources, table, moduli, position, own);
    table += 4 * sources + sources * (sources - 1) / 2;
  } else {
    bring_numbers(record + 4, sources, table, 0, position, own);
    own[sources * NUMBER_STRIDE] = 1;
  }
  // Unused numbers must be initialised although their factor is 0.
  ROLLED for (u32 source = sources + 1; source < 4 * blocks; source++) own[source * NUMBER_STRIDE] = 0;
  synchronise_warp();
  const u64 *matrix = table + targets + lane;
  ROLLED for (u32 group = 0; group < targets; group += 4) {
    u32 sums[2][4][4] = {{{0}}};
    ROLLED for (u32 block = 0; block < blocks; block++) {
      const u64 *of_lane = numbers + (4 * block + quarter) * NUMBER_STRIDE + start + row;
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
    const Modulus *m = moduli + table[target];
    const u64 q = m->value, negated_inverse = m->negated_inverse;
    u64 *result = (u64 *)results[target] + first + start + row;
    UNROLL for (u32 i = 0; i < 4; i++) {
      u32 bytes[8];
      UNROLL for (u32 byte = 0; byte < 8; byte++) bytes[byte] = sums[i / 2][byte / 2][2 * (i % 2) + byte % 2];
      const u64 value = montgomery(joined(bytes), q, negated_inverse);
      if (DEGREE >= CONVERSION_THREADS || start + 8 * i + row < DEGREE) result[8 * i] = value;
    }
  }
}
