// Blind rotation: ACC += BSK_i ⊡ (X^(a_i) · ACC − ACC) for i = 0 .. n − 1, the whole loop of a ciphertext on one multiprocessor. An unrolled key handles two mask
// elements a, b at once: ACC += Σ_u (X^(e_u) − 1) · (BSK_u ⊡ ACC) for e = a, b, a + b. A block-binary one (BLOCKS) handles those of a block, each by itself. The rows of these keys are summed, each times the value of X^e − 1 at a
// point, before they are multiplied by a digit.
//
// Accumulators stay in shared memory, products in registers. With one or two columns, a group of THREADS threads has all columns of a ciphertext. With more,
// there is one group per column, and spectra are exchanged through shared memory. The warps of a multiprocessor read the same key rows at about the same time, so
// all except the first find them in the first-level cache.

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
// The key has pairs of points per thread: on the 32-bit torus, where 36 bits of mantissa suffice (kernels/src/fft/bound.rs), the upper 32 bits of four numbers
// and then 16 more of each, otherwise four doubles.
#define PAIR_BYTES (THREADS * (TORUS_BITS == 32 ? 24 : 32))
#define POLYNOMIAL_BYTES (HELD / 2 * PAIR_BYTES)
#define PATTERN_BYTES (COLUMNS * POLYNOMIAL_BYTES)
#define PATTERNS (BLOCKS ? KEY_BITS : (1u << KEY_BITS) - 1)
#define ROW_BYTES (PATTERNS * PATTERN_BYTES)

// Half of q/β^l, and β/2 at every digit's place: after adding them, digits plus β/2 are bit fields (kernels/src/decompose.rs).
#define DROPPED (TORUS_BITS - LEVELS * LOG2_BASE)
#define ROUNDING_HALF (DROPPED ? (Torus)1 << (DROPPED ? DROPPED - 1 : 0) : 0)

#define TWO_52 4503599627370496.0
#define TWO_51 2251799813685248.0
#define TWO_32 4294967296.0
// Shifts a 51-bit integer into the low bits of a double.
#define TO_LOW_BITS (1.5 * TWO_52)

// The prepared word of coefficient `index`, from which digits are extracted.
DEVICE Torus prepared(const Torus *polynomial, u32 index, u32 exponent, Torus preparation) {
#if KEY_BITS > 1
  (void)exponent;
  return polynomial[index] + preparation;
#else
  u32 from = (index - exponent) & (2 * DEGREE - 1);
  Torus moved = polynomial[from & (DEGREE - 1)];
  Torus turned = from & DEGREE ? (Torus)0 - moved : moved;
  return turned - polynomial[index] + preparation;
#endif
}

// The digit of a prepared word at bit `position`; on the 32-bit torus times 2^position.
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

// Converts to the torus. Sums are in units of 1/q where a constant can round them, otherwise in units of 1.
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

typedef struct __align__(16) {
  u32 word[4];
} Words;

// The points `pair` of a thread of the polynomial at `key`.
DEVICE void read_pair(Complex points[2], const u8 *key, u32 pair, u32 thread) {
  const Words *wide = (const Words *)(key + pair * PAIR_BYTES);
  const Words upper = wide[thread];
#if TORUS_BITS == 32
  const u64 lower = ((const u64 *)(wide + THREADS))[thread];
  UNROLL for (u32 i = 0; i < 2; i++) {
    const u32 both = (u32)(lower >> (32 * i));
    points[i].re = double_of(upper.word[2 * i], both << 16);
    points[i].im = double_of(upper.word[2 * i + 1], both & 0xffff0000u);
  }
#else
  const Words second = wide[THREADS + thread];
  points[0].re = double_of(upper.word[1], upper.word[0]);
  points[0].im = double_of(upper.word[3], upper.word[2]);
  points[1].re = double_of(second.word[1], second.word[0]);
  points[1].im = double_of(second.word[3], second.word[2]);
#endif
}

DEVICE void write_pair(const Complex points[2], u8 *key, u32 pair, u32 thread) {
  Words *wide = (Words *)(key + pair * PAIR_BYTES);
#if TORUS_BITS == 32
  Words upper;
  u64 lower = 0;
  UNROLL for (u32 i = 0; i < 2; i++) {
    // Rounds to the nearest 48-bit number; a carry into the exponent is correct.
    const u64 re = bits_of(points[i].re) + 0x8000, im = bits_of(points[i].im) + 0x8000;
    upper.word[2 * i] = (u32)(re >> 32);
    upper.word[2 * i + 1] = (u32)(im >> 32);
    lower |= ((re >> 16 & 0xffff) | (im & 0xffff0000u)) << (32 * i);
  }
  wide[thread] = upper;
  ((u64 *)(wide + THREADS))[thread] = lower;
#else
  UNROLL for (u32 i = 0; i < 2; i++) {
    const u64 re = bits_of(points[i].re), im = bits_of(points[i].im);
    Words point = {{(u32)re, (u32)(re >> 32), (u32)im, (u32)(im >> 32)}};
    wide[i * THREADS + thread] = point;
  }
#endif
}

// Prefetches a key row, each warp a part: the row that the warps read next. There is memory for one row after the last.
DEVICE void touch_row(const u8 *row) {
  const u32 warps = blockDim.x / 32, share = (ROW_BYTES / 128 + warps - 1) / warps;
  row += (threadIdx.x / 32 * share + threadIdx.x % 32) * 128;
  for (u32 line = threadIdx.x % 32; line < share; line += 32, row += 32 * 128) touch(row);
}

#if KEY_BITS == 1
typedef struct {
  u32 exponent;
} Turn;

DEVICE Turn turn_of(const u32 *exponents, const Complex *roots, u32 thread) {
  (void)roots;
  (void)thread;
  Turn turn = {exponents[0]};
  return turn;
}

// sums += x · the row's polynomials, for this thread's points and columns.
DEVICE void multiply_row(Complex sums[OWN_COLUMNS][HELD], const Complex x[HELD], const u8 *row, const Turn *turn, const Complex *roots, u32 thread) {
  (void)turn;
  (void)roots;
  UNROLL for (u32 c = 0; c < OWN_COLUMNS; c++) {
    UNROLL for (u32 m = 0; m < HELD; m += 2) {
      Complex points[2];
      read_pair(points, row + c * POLYNOMIAL_BYTES, m / 2, thread);
      multiply_add(&sums[c][m], x[m], points[0]);
      multiply_add(&sums[c][m + 1], x[m + 1], points[1]);
    }
  }
}
#else
// The mask elements a, and X^a at the first point of the thread.
typedef struct {
  u32 exponent, exponents[KEY_BITS];
  Complex first[KEY_BITS];
} Turn;

DEVICE u32 reversed(u32 value, u32 bits) {
  u32 result = 0;
  for (u32 bit = 0; bit < bits; bit++) result |= (value >> bit & 1) << (bits - 1 - bit);
  return result;
}

// Point HELD · t + m of a spectrum is at e^(2πi (1 + 4 rev(t)) / 2N) · e^(2πi rev(m) / HELD), where rev reverses bits. `roots` are the 2N roots of one.
DEVICE Turn turn_of(const u32 *exponents, const Complex *roots, u32 thread) {
  Turn turn = {0};
  const u32 place = 1 + 4 * reversed(thread, LOG2_POINTS - LOG2_HELD);
  UNROLL for (u32 i = 0; i < KEY_BITS; i++) {
    turn.exponents[i] = exponents[i];
    turn.first[i] = roots[exponents[i] * place & (2 * DEGREE - 1)];
  }
  return turn;
}

// X^e − 1, where X^e is `at`, or −`at` if `odd`.
DEVICE Complex factor(Complex at, u32 odd) {
  const u64 sign = (u64)odd << 63;
  const u64 re = bits_of(at.re) ^ sign, im = bits_of(at.im) ^ sign;
  Complex result = {double_of((u32)(re >> 32), (u32)re) - 1.0, double_of((u32)(im >> 32), (u32)im)};
  return result;
}

// sums += x · Σ_u (X^(e_u) − 1) · the row's polynomials of pattern u.
DEVICE void multiply_row(Complex sums[OWN_COLUMNS][HELD], const Complex x[HELD], const u8 *row, const Turn *turn, const Complex *roots, u32 thread) {
  Complex first[KEY_BITS];
  UNROLL for (u32 i = 0; i < KEY_BITS; i++) {
    first[i].re = forgotten(turn->first[i].re);
    first[i].im = forgotten(turn->first[i].im);
  }
  UNROLL for (u32 m = 0; m < HELD; m += 2) {
    Complex at[PATTERNS];
    UNROLL for (u32 i = 0; i < KEY_BITS; i++) {
      at[i] = first[i];
      if (m > 0) {
        Complex root = roots[(turn->exponents[i] * reversed(m, LOG2_HELD) & (HELD - 1)) * (2 * DEGREE / HELD)];
        at[i] = times(at[i], root.re, root.im);
      }
    }
    if (!BLOCKS) at[PATTERNS - 1] = times(at[0], at[1].re, at[1].im);
    Complex sum[OWN_COLUMNS][2];
    UNROLL for (u32 u = 0; u < PATTERNS; u++) {
      // X^e at point m + 1 of an even m is ± its value at m.
      const u32 odd = (u < KEY_BITS ? turn->exponents[u] : turn->exponents[0] + turn->exponents[1]) & 1;
      const Complex factors[2] = {factor(at[u], 0), factor(at[u], odd)};
      UNROLL for (u32 c = 0; c < OWN_COLUMNS; c++) {
        Complex points[2];
        read_pair(points, row + u * PATTERN_BYTES + c * POLYNOMIAL_BYTES, m / 2, thread);
        UNROLL for (u32 i = 0; i < 2; i++) {
          if (u == 0) {
            sum[c][i] = times(points[i], factors[i].re, factors[i].im);
          } else {
            multiply_add(&sum[c][i], points[i], factors[i]);
          }
        }
      }
    }
    UNROLL for (u32 c = 0; c < OWN_COLUMNS; c++) {
      UNROLL for (u32 i = 0; i < 2; i++) multiply_add(&sums[c][m + i], x[m + i], sum[c][i]);
    }
  }
}
#endif

// `exponents` is [count][mask + 1] mod 2N, `choice` each ciphertext's table, `tables` [..][N], `key` [iteration][row][pattern][column][pair][thread] with zeros
// for patterns of missing mask elements, `roots` of an unrolled key [2N], `accumulators` [count][COLUMNS][N]. A block has blockDim.x / (GROUPS · THREADS)
// ciphertexts; its threads are whole warps.
KERNEL MOST_THREADS(BLOCK_THREADS)
blind_rotation(Torus *accumulators, const u32 *exponents, const u32 *choice, const Torus *tables, const u8 *key,
               const Complex *twiddles, const Complex *roots, u32 count, u32 mask) {
  const u32 transform = threadIdx.x / THREADS, thread = threadIdx.x % THREADS;
  const u32 slot = transform / GROUPS, group = transform % GROUPS;
  const u32 slots = blockDim.x / (GROUPS * THREADS);
  const u32 wanted = blockIdx.x * slots + slot;
  // All threads of a block participate; those without a ciphertext repeat the last one.
  const u32 ciphertext = wanted < count ? wanted : count - 1;
  Torus *accumulator = (Torus *)(shared_memory) + slot * GLWE;
  Complex *exchanges = (Complex *)(shared_memory + slots * GLWE * sizeof(Torus)) + slot * GROUPS * EXCHANGE;
  Complex *exchange = exchanges + group * EXCHANGE;

  Torus halves = ROUNDING_HALF;
  for (u32 level = 0; level < LEVELS; level++) halves += (Torus)1 << (TORUS_BITS - LOG2_BASE * level - 1);

  exponents += (u64)ciphertext * (mask + 1);
  const Torus *table = tables + (u64)choice[ciphertext] * DEGREE;
  const u32 body = exponents[mask];
  for (u32 c = group * THREADS + thread; c < GLWE; c += GROUPS * THREADS) {
    u32 from = ((c & (DEGREE - 1)) + body) & (2 * DEGREE - 1);
    Torus value = c < GLWE - DEGREE ? (Torus)0 : table[from & (DEGREE - 1)];
    accumulator[c] = from & DEGREE ? (Torus)0 - value : value;
  }
  synchronise_ciphertext(transform);

  ROLLED for (u32 first = 0; first < mask; first += KEY_BITS) {
    // If the last element is alone, the second one is the body, which is multiplied by zeros in the key.
    const Turn turn = turn_of(exponents + first, roots, thread);
    const u8 *of_iteration = key + (u64)(first / KEY_BITS) * ROWS * ROW_BYTES;
    Complex sums[OWN_COLUMNS][HELD];
    UNROLL for (u32 c = 0; c < OWN_COLUMNS; c++) {
      UNROLL for (u32 m = 0; m < HELD; m++) sums[c][m].re = sums[c][m].im = 0.0;
    }
#if GROUPS == 1
    u32 row = 0;
    ROLLED for (u32 j = 0; j < COLUMNS; j++) {
      const Torus *polynomial = accumulator + j * DEGREE;
#if LEVELS > 1 && TORUS_BITS == 32 && KEY_BITS == 1
      Torus words[2 * HELD];
      UNROLL for (u32 i = 0; i < 2 * HELD; i++) words[i] = prepared(polynomial, thread + i * THREADS, turn.exponent, halves);
#define WORD(i) words[i]
#else
#define WORD(i) prepared(polynomial, thread + (i) * THREADS, turn.exponent, halves)
#endif
      ROLLED for (u32 level = 0; level < LEVELS; level++, row++) {
        const u32 position = TORUS_BITS - LOG2_BASE * (level + 1);
        Complex x[HELD];
        UNROLL for (u32 i = 0; i < HELD; i++) {
          x[i].re = digit(WORD(i), position);
          x[i].im = digit(WORD(i + HELD), position);
        }
        const u8 *of_row = of_iteration + row * ROW_BYTES;
#if KEY_BITS > 1
        touch_row(of_row + ROW_BYTES);
#endif
        forward(x, exchange, twiddles, thread, transform);
        multiply_row(sums, x, of_row, &turn, roots, thread);
      }
    }
#else
    ROLLED for (u32 level = 0; level < LEVELS; level++) {
      const u32 position = TORUS_BITS - LOG2_BASE * (level + 1);
      const Torus *polynomial = accumulator + group * DEGREE;
      Complex x[HELD];
      UNROLL for (u32 i = 0; i < HELD; i++) {
        x[i].re = digit(prepared(polynomial, thread + i * THREADS, turn.exponent, halves), position);
        x[i].im = digit(prepared(polynomial, thread + (i + HELD) * THREADS, turn.exponent, halves), position);
      }
      forward(x, exchange, twiddles, thread, transform);
      synchronise_block();
      UNROLL for (u32 m = 0; m < HELD; m++) exchange[m * THREADS + thread] = x[m];
      synchronise_block();
      ROLLED for (u32 j = 0; j < COLUMNS; j++) {
        const u8 *of_row = of_iteration + (j * LEVELS + level) * ROW_BYTES + group * POLYNOMIAL_BYTES;
        UNROLL for (u32 m = 0; m < HELD; m++) x[m] = exchanges[j * EXCHANGE + m * THREADS + thread];
        multiply_row(sums, x, of_row, &turn, roots, thread);
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
  }
  if (wanted < count) {
    accumulators += (u64)ciphertext * GLWE;
    for (u32 c = group * THREADS + thread; c < GLWE; c += GROUPS * THREADS) accumulators[c] = accumulator[c];
  }
}

// Row r of a GGSW ciphertext has the digits of level r mod LEVELS. Converts `polynomials` of them, [iteration][pattern][row][column][N], to the order of `key`. A
// block has blockDim.x / THREADS polynomials.
KERNEL MOST_THREADS(BLOCK_THREADS)
transform_key(u8 *key, const Torus *coefficients, const Complex *twiddles, u32 polynomials) {
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
  // 1/M, the digits' scale, and 1/q where sums are in units of 1: powers of two.
  double scale = 1.0 / POINTS;
#if TORUS_BITS == 32
  const u32 level = polynomial / COLUMNS % LEVELS;
  scale /= (double)(1ull << (TORUS_BITS - LOG2_BASE * (level + 1)));
#endif
#if REDUCES
  scale /= TORUS_BITS == 32 ? TWO_32 : TWO_32 * TWO_32;
#endif
  if (wanted < polynomials) {
    const u32 column = polynomial % COLUMNS, row = polynomial / COLUMNS % ROWS, pattern = polynomial / COLUMNS / ROWS % PATTERNS;
    const u64 iteration = polynomial / COLUMNS / ROWS / PATTERNS;
    key += (((iteration * ROWS + row) * PATTERNS + pattern) * COLUMNS + column) * POLYNOMIAL_BYTES;
    UNROLL for (u32 m = 0; m < HELD; m += 2) {
      const Complex scaled[2] = {{x[m].re * scale, x[m].im * scale}, {x[m + 1].re * scale, x[m + 1].im * scale}};
      write_pair(scaled, key, m / 2, thread);
    }
  }
}
