// Blind rotation: ACC += BSK_i ⊡ (X^(a_i) · ACC − ACC) for i = 0 .. n − 1, the whole loop of a ciphertext on one multiprocessor.
//
// Accumulators stay in shared memory, products in registers. With one or two columns a group of THREADS threads holds all of a ciphertext's; with more,
// one group for each column, and the spectra change hands in shared memory. The warps of a multiprocessor read the same rows of the key at about the same time, so
// that all but the first find them in the first-level cache.

#if TORUS_BITS == 32
typedef u32 Torus;
#else
typedef u64 Torus;
#endif

#define COLUMNS (GLWE_DIMENSION + 1)
#define ROWS (COLUMNS * LEVELS)
#define GROUPS (COLUMNS <= 2 ? 1 : COLUMNS)
#define OWN_COLUMNS (COLUMNS / GROUPS)
#define GLWE (COLUMNS * DEGREE)
#define ROW_POINTS (COLUMNS * POINTS)

// Half of q/β^l, and β/2 at every digit's place: with them added, digits plus β/2 are bit fields (kernels/src/decompose.rs).
#define DROPPED (TORUS_BITS - LEVELS * LOG2_BASE)
#define ROUNDING_HALF (DROPPED ? (Torus)1 << (DROPPED ? DROPPED - 1 : 0) : 0)

#define TWO_52 4503599627370496.0
#define TWO_51 2251799813685248.0
#define TWO_32 4294967296.0
// What moves an integer of 51 bits to the low bits of a double.
#define TO_LOW_BITS (1.5 * TWO_52)

DEVICE Torus prepared(const Torus *polynomial, u32 index, u32 exponent, Torus preparation) {
  u32 from = (index - exponent) & (2 * DEGREE - 1);
  Torus moved = polynomial[from & (DEGREE - 1)];
  Torus turned = from & DEGREE ? (Torus)0 - moved : moved;
  return turned - polynomial[index] + preparation;
}

// The digit of a prepared word at bit `position`, on the 32-bit torus times 2^position.
DEVICE double digit(Torus word, u32 position) {
  u32 mask = LOG2_BASE == 32 ? 0xffffffffu : (1u << (LOG2_BASE % 32)) - 1;
#if TORUS_BITS == 32
  u32 field = word & (mask << position);
  double half = double_of(0x43300000u, 1u << (position + LOG2_BASE - 1));
#else
  u32 field = (u32)(word >> position) & mask;
  double half = double_of(0x43300000u, 1u << (LOG2_BASE - 1));
#endif
  return double_of(0x43300000u, field) - half;
}

// To the torus. Sums are in units of 1/q where a constant can round them, else in units of 1.
DEVICE Torus rounded(double value) {
#if REDUCES
  double whole = (value + TO_LOW_BITS) - TO_LOW_BITS;
#if TORUS_BITS == 32
  return low_bits_of(fma(value - whole, TWO_32, TO_LOW_BITS));
#else
  return (bits_of(fma(value - whole, TWO_51, TO_LOW_BITS)) - bits_of(TO_LOW_BITS)) << 13;
#endif
#else
  return low_bits_of(value + TO_LOW_BITS * (1 << LOG2_ROUNDING)) << LOG2_ROUNDING;
#endif
}

DEVICE void synchronise_ciphertext(u32 transform) {
#if GROUPS == 1
  synchronise_transform(transform);
#else
  (void)transform;
  synchronise_block();
#endif
}

DEVICE void multiply_add(Complex *sum, Complex a, Complex b) {
  sum->re = fma(-a.im, b.im, fma(a.re, b.re, sum->re));
  sum->im = fma(a.im, b.re, fma(a.re, b.im, sum->im));
}

// `exponents` is [count][iterations + 1] mod 2N, `choice` the table of each ciphertext, `tables` [..][N], `key` [iterations][row][column][m][thread],
// `accumulators` [count][COLUMNS][N]. A block takes blockDim.x / (GROUPS · THREADS) ciphertexts; its threads are whole warps.
KERNEL MOST_THREADS(BLOCK_THREADS)
blind_rotation(Torus *accumulators, const u32 *exponents, const u32 *choice, const Torus *tables, const Complex *key,
               const Complex *twiddles, u32 count, u32 iterations) {
  const u32 transform = threadIdx.x / THREADS, thread = threadIdx.x % THREADS;
  const u32 slot = transform / GROUPS, group = transform % GROUPS;
  const u32 slots = blockDim.x / (GROUPS * THREADS);
  const u32 wanted = blockIdx.x * slots + slot;
  // All threads of a block take part; those without a ciphertext repeat the last one.
  const u32 ciphertext = wanted < count ? wanted : count - 1;
  Torus *accumulator = (Torus *)(shared_memory) + slot * GLWE;
  Complex *exchanges = (Complex *)(shared_memory + slots * GLWE * sizeof(Torus)) + slot * GROUPS * EXCHANGE;
  Complex *exchange = exchanges + group * EXCHANGE;

  Torus halves = ROUNDING_HALF;
  for (u32 level = 0; level < LEVELS; level++) halves += (Torus)1 << (TORUS_BITS - LOG2_BASE * level - 1);

  exponents += (u64)ciphertext * (iterations + 1);
  const Torus *table = tables + (u64)choice[ciphertext] * DEGREE;
  const u32 body = exponents[iterations];
  for (u32 c = group * THREADS + thread; c < GLWE; c += GROUPS * THREADS) {
    u32 from = ((c & (DEGREE - 1)) + body) & (2 * DEGREE - 1);
    Torus value = c < GLWE - DEGREE ? (Torus)0 : table[from & (DEGREE - 1)];
    accumulator[c] = from & DEGREE ? (Torus)0 - value : value;
  }
  synchronise_ciphertext(transform);

  u32 exponent = exponents[0];
  ROLLED for (u32 iteration = 0; iteration < iterations; iteration++) {
    const u32 next_exponent = exponents[iteration + 1];
    Complex sums[OWN_COLUMNS][HELD];
    UNROLL for (u32 c = 0; c < OWN_COLUMNS; c++) {
      UNROLL for (u32 m = 0; m < HELD; m++) sums[c][m].re = sums[c][m].im = 0.0;
    }
#if GROUPS == 1
    u32 row = iteration * ROWS;
    ROLLED for (u32 j = 0; j < COLUMNS; j++) {
      const Torus *polynomial = accumulator + j * DEGREE;
#if LEVELS > 1 && TORUS_BITS == 32
      Torus words[2 * HELD];
      UNROLL for (u32 i = 0; i < 2 * HELD; i++) words[i] = prepared(polynomial, thread + i * THREADS, exponent, halves);
#define WORD(i) words[i]
#else
#define WORD(i) prepared(polynomial, thread + (i) * THREADS, exponent, halves)
#endif
      ROLLED for (u32 level = 0; level < LEVELS; level++, row++) {
        const u32 position = TORUS_BITS - LOG2_BASE * (level + 1);
        Complex x[HELD];
        UNROLL for (u32 i = 0; i < HELD; i++) {
          x[i].re = digit(WORD(i), position);
          x[i].im = digit(WORD(i + HELD), position);
        }
        forward(x, exchange, twiddles, thread, transform);
        const Complex *of_row = key + (u64)row * ROW_POINTS + thread;
        UNROLL for (u32 c = 0; c < OWN_COLUMNS; c++) {
          UNROLL for (u32 m = 0; m < HELD; m++) multiply_add(&sums[c][m], x[m], of_row[c * POINTS + m * THREADS]);
        }
      }
    }
#else
    ROLLED for (u32 level = 0; level < LEVELS; level++) {
      const u32 position = TORUS_BITS - LOG2_BASE * (level + 1);
      const Torus *polynomial = accumulator + group * DEGREE;
      Complex x[HELD];
      UNROLL for (u32 i = 0; i < HELD; i++) {
        x[i].re = digit(prepared(polynomial, thread + i * THREADS, exponent, halves), position);
        x[i].im = digit(prepared(polynomial, thread + (i + HELD) * THREADS, exponent, halves), position);
      }
      forward(x, exchange, twiddles, thread, transform);
      synchronise_block();
      UNROLL for (u32 m = 0; m < HELD; m++) exchange[m * THREADS + thread] = x[m];
      synchronise_block();
      ROLLED for (u32 j = 0; j < COLUMNS; j++) {
        const Complex *of_row = key + (u64)((iteration * COLUMNS + j) * LEVELS + level) * ROW_POINTS + group * POINTS + thread;
        UNROLL for (u32 m = 0; m < HELD; m++) {
          multiply_add(&sums[0][m], exchanges[j * EXCHANGE + m * THREADS + thread], of_row[m * THREADS]);
        }
      }
      synchronise_block();
    }
#endif
    ROLLED for (u32 c = 0; c < OWN_COLUMNS; c++) {
      Complex x[HELD];
      UNROLL for (u32 m = 0; m < HELD; m++) x[m] = sums[0][m];
      inverse(x, exchange, twiddles, thread, transform);
      Torus *column = accumulator + (group + c) * DEGREE;
      UNROLL for (u32 i = 0; i < HELD; i++) {
        column[thread + i * THREADS] += rounded(x[i].re);
        column[thread + i * THREADS + POINTS] += rounded(x[i].im);
      }
#if OWN_COLUMNS > 1
      UNROLL for (u32 m = 0; m < HELD; m++) sums[0][m] = sums[1][m];
#endif
    }
    synchronise_ciphertext(transform);
    exponent = next_exponent;
  }
  if (wanted < count) {
    accumulators += (u64)ciphertext * GLWE;
    for (u32 c = group * THREADS + thread; c < GLWE; c += GROUPS * THREADS) accumulators[c] = accumulator[c];
  }
}

// Row r of a GGSW ciphertext has the digits of level r mod LEVELS; `polynomials` of them, [..][row][column][N], are brought to the order of `key`. A
// block takes blockDim.x / THREADS polynomials.
KERNEL MOST_THREADS(BLOCK_THREADS)
transform_key(Complex *key, const Torus *coefficients, const Complex *twiddles, u32 polynomials) {
  const u32 transform = threadIdx.x / THREADS, thread = threadIdx.x % THREADS;
  const u32 wanted = blockIdx.x * (blockDim.x / THREADS) + transform;
  const u32 polynomial = wanted < polynomials ? wanted : polynomials - 1;
  Complex *exchange = (Complex *)shared_memory + transform * EXCHANGE;
  coefficients += (u64)polynomial * DEGREE;
  Complex x[HELD];
  UNROLL for (u32 i = 0; i < HELD; i++) {
#if TORUS_BITS == 32
    x[i].re = (i32)coefficients[thread + i * THREADS];
    x[i].im = (i32)coefficients[thread + i * THREADS + POINTS];
#else
    x[i].re = (i64)coefficients[thread + i * THREADS];
    x[i].im = (i64)coefficients[thread + i * THREADS + POINTS];
#endif
  }
  forward(x, exchange, twiddles, thread, transform);
  // 1/M, the place that digits keep, and 1/q where sums are in units of 1: powers of two.
  double scale = 1.0 / POINTS;
#if TORUS_BITS == 32
  const u32 level = polynomial / COLUMNS % LEVELS;
  scale /= (double)(1ull << (TORUS_BITS - LOG2_BASE * (level + 1)));
#endif
#if REDUCES
  scale /= TORUS_BITS == 32 ? TWO_32 : TWO_32 * TWO_32;
#endif
  if (wanted < polynomials) {
    key += (u64)polynomial * POINTS;
    UNROLL for (u32 m = 0; m < HELD; m++) {
      x[m].re *= scale;
      x[m].im *= scale;
      key[m * THREADS + thread] = x[m];
    }
  }
}
