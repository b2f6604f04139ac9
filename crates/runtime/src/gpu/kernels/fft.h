// The folded negacyclic transform: N real coefficients as M = N/2 complex points z_p = a_p + i a_(p+M), modulo x^M − i.
//
// x^m − v² splits into x^(m/2) − v and x^(m/2) + v: a butterfly (a, b) → (a + v b, a − v b), where v depends on the block only. A thread holds HELD points and
// computes log2 HELD levels at once, a pass. Between passes, points are exchanged through shared memory: those of a pass have the stride by which its last level
// splits, those of the last pass are consecutive. Spectra stay in registers, HELD consecutive points per thread, in the order of the splitting; the key has the
// same order.
//
// The blocks of a pass start from one of twiddle factor v; its halves have w = √v and iw; the next ones √w, i √w and these times e^(2πi/8), and so on. Only the
// first of each level is stored.

#define DEGREE (1u << LOG2_DEGREE)
#define POINTS (DEGREE / 2)
#define LOG2_POINTS (LOG2_DEGREE - 1)
#define HELD (1u << LOG2_HELD)
#define THREADS (POINTS / HELD)
#define PASSES ((LOG2_POINTS + LOG2_HELD - 1) / LOG2_HELD)
// Levels that the last pass omits.
#define LEFT_OUT (PASSES * LOG2_HELD - LOG2_POINTS)
// Complex points of shared memory per transform: one place is unused after each HELD.
#define EXCHANGE (POINTS + POINTS / HELD)

typedef struct __align__(16) {
  double re, im;
} Complex;

#define SQRT_HALF 0.70710678118654752440
#define COS_16TH 0.92387953251128675613
#define SIN_16TH 0.38268343236508977173

DEVICE Complex times(Complex a, double re, double im) {
  Complex product = {fma(-a.im, im, a.re * re), fma(a.im, re, a.re * im)};
  return product;
}

// a · e^(2πi/8)
DEVICE Complex turned_eighth(Complex a) {
  Complex product = {(a.re - a.im) * SQRT_HALF, (a.re + a.im) * SQRT_HALF};
  return product;
}

DEVICE Complex squared(Complex a) {
  Complex square = {fma(-a.im, a.im, a.re * a.re), (a.re + a.re) * a.im};
  return square;
}

DEVICE Complex turned_quarter(Complex a) {
  Complex product = {-a.im, a.re};
  return product;
}

DEVICE void butterfly(Complex *a, Complex *b, Complex w) {
  double re = fma(-w.im, b->im, fma(w.re, b->re, a->re));
  double im = fma(w.im, b->re, fma(w.re, b->im, a->im));
  b->re = fma(2.0, a->re, -re);
  b->im = fma(2.0, a->im, -im);
  a->re = re;
  a->im = im;
}

// Twice the inverse butterfly.
DEVICE void inverse_butterfly(Complex *a, Complex *b, Complex w) {
  double re = a->re - b->re, im = a->im - b->im;
  a->re += b->re;
  a->im += b->im;
  b->re = fma(im, w.im, re * w.re);
  b->im = fma(-re, w.im, im * w.re);
}

// The twiddle factors of a block of a pass: the first of each level.
typedef struct {
  Complex first[4];
} Twiddles;

// Butterflies of block `block` of level `depth` of a pass.
#define BLOCK(FLY, depth, block, w) \
  UNROLL for (u32 i = 0; i < (HELD >> ((depth) + 1)); i++) FLY(&x[(block) * (HELD >> (depth)) + i], &x[(block) * (HELD >> (depth)) + i + (HELD >> ((depth) + 1))], w)

#define LEVEL_0(FLY) BLOCK(FLY, 0, 0, w.first[0])
#define LEVEL_1(FLY)                                  \
  {                                                   \
    BLOCK(FLY, 1, 0, w.first[1]);                     \
    BLOCK(FLY, 1, 1, turned_quarter(w.first[1]));     \
  }
#define LEVEL_2(FLY)                                  \
  {                                                   \
    Complex eighth = turned_eighth(w.first[2]);       \
    BLOCK(FLY, 2, 0, w.first[2]);                     \
    BLOCK(FLY, 2, 1, turned_quarter(w.first[2]));     \
    BLOCK(FLY, 2, 2, eighth);                         \
    BLOCK(FLY, 2, 3, turned_quarter(eighth));         \
  }
#define LEVEL_3(FLY)                                           \
  {                                                            \
    Complex eighth = turned_eighth(w.first[3]);                \
    Complex sixteenth = times(w.first[3], COS_16TH, SIN_16TH); \
    Complex three = times(w.first[3], SIN_16TH, COS_16TH);     \
    BLOCK(FLY, 3, 0, w.first[3]);                              \
    BLOCK(FLY, 3, 1, turned_quarter(w.first[3]));              \
    BLOCK(FLY, 3, 2, eighth);                                  \
    BLOCK(FLY, 3, 3, turned_quarter(eighth));                  \
    BLOCK(FLY, 3, 4, sixteenth);                               \
    BLOCK(FLY, 3, 5, turned_quarter(sixteenth));               \
    BLOCK(FLY, 3, 6, three);                                   \
    BLOCK(FLY, 3, 7, turned_quarter(three));                   \
  }

// The levels of a pass starting at `from`.
DEVICE void levels(Complex x[HELD], Twiddles w, u32 from) {
  if (from < 1) LEVEL_0(butterfly);
  if (from < 2) LEVEL_1(butterfly);
  if (from < 3) LEVEL_2(butterfly);
#if LOG2_HELD > 3
  LEVEL_3(butterfly);
#endif
}

DEVICE void inverse_levels(Complex x[HELD], Twiddles w, u32 from) {
#if LOG2_HELD > 3
  LEVEL_3(inverse_butterfly);
#endif
  if (from < 3) LEVEL_2(inverse_butterfly);
  if (from < 2) LEVEL_1(inverse_butterfly);
  if (from < 1) LEVEL_0(inverse_butterfly);
}

// The points of a thread in pass `pass`, except the last, are first_point + i · STRIDE(pass); the threads of one block are consecutive.
#define STRIDE(pass) (POINTS >> (LOG2_HELD * ((pass) + 1)))

DEVICE u32 first_point(u32 pass, u32 thread) {
  if (pass == PASSES - 1) return HELD * thread;
  return thread / STRIDE(pass) * STRIDE(pass) * HELD + thread % STRIDE(pass);
}

DEVICE u32 stride_of(u32 pass) {
  return pass == PASSES - 1 ? 1 : STRIDE(pass);
}

// Factors of the block of `thread` in `pass`. The table has `[level][block]` for each pass except the first, whose only block is that of the whole ring: e^(2πi/8) and
// its roots. A level's factor is the square of the next one's: of two neighbours one is read, and of three levels only the last. With ten roundings in the first of
// three levels, or four in one of two, a pass stays within the bound of the CPU's transforms (kernels/src/fft/bound.rs): each sum has two, and each difference
// one more.
DEVICE Twiddles twiddles_of(const Complex *table, u32 pass, u32 thread) {
  if (pass == 0) {
    Twiddles w = {{{SQRT_HALF, SQRT_HALF},
                   {COS_16TH, SIN_16TH},
                   {0.98078528040323044913, 0.19509032201612826785},
                   {0.99518472667219688624, 0.09801714032956060199}}};
    return w;
  }
  for (u32 before = 1; before < pass; before++) table += LOG2_HELD << (LOG2_HELD * before);
  const u32 last = pass == PASSES - 1, blocks = last ? THREADS : 1u << (LOG2_HELD * pass);
  const u32 block = last ? thread : thread / STRIDE(pass);
  Twiddles w;
  UNROLL for (i32 level = LOG2_HELD - 1; level >= (last ? (i32)LEFT_OUT : 0); level--) {
    const u32 read = level == LOG2_HELD - 1 || (LOG2_HELD == 4 && level == 1);
    w.first[level] = read ? table[level * blocks + block] : squared(w.first[level + 1]);
  }
  return w;
}

// Shared-memory index of point first + i · stride, for `first` of a pass with that stride: written so that the compiler sees one address and 2^LOG2_HELD offsets.
DEVICE u32 place(u32 first, u32 i, u32 stride) {
  return first + first / HELD + (i * stride + i * stride / HELD);
}

// Barrier of the threads of one transform; `transform` numbers those of the block.
DEVICE void synchronise_transform(u32 transform) {
#if THREADS <= 32
  (void)transform;
  synchronise_warp();
#else
  synchronise_some(transform + 1, THREADS);
#endif
}

#if LOG2_HELD == 4
// Redistributes 16 points of stride 2 shared by two lanes: one gets the first eight pairs, the other the rest; or the reverse.
DEVICE void exchange_with_neighbour(Complex x[16], u32 odd, u32 to_consecutive) {
  Complex y[16];
  UNROLL for (u32 s = 0; s < 8; s++) {
    const u32 low = to_consecutive ? s : 2 * s, high = to_consecutive ? 8 + s : 2 * s + 1;
    Complex own = odd ? x[high] : x[low], other = odd ? x[low] : x[high];
    other.re = shuffle(other.re, 1);
    other.im = shuffle(other.im, 1);
    const u32 first = to_consecutive ? 2 * s : s, second = to_consecutive ? 2 * s + 1 : 8 + s;
    y[first] = odd ? other : own;
    y[second] = odd ? own : other;
  }
  UNROLL for (u32 m = 0; m < 16; m++) x[m] = y[m];
}
#endif

// Redistributes the points of pass `from` for its neighbour pass `to`, among the threads of one block of the earlier one.
DEVICE void exchange_points(Complex x[HELD], Complex *exchange, u32 from, u32 to, u32 thread, u32 transform) {
  const u32 earlier = from < to ? from : to;
  const u32 give = first_point(from, thread), take = first_point(to, thread);
#if LOG2_HELD == 4
  if (STRIDE(earlier) == 2) {
    exchange_with_neighbour(x, thread % 2, from < to);
    return;
  }
#endif
  UNROLL for (u32 i = 0; i < HELD; i++) exchange[place(give, i, stride_of(from))] = x[i];
  if (STRIDE(earlier) <= 32) {
    synchronise_warp();
  } else {
    synchronise_transform(transform);
  }
  UNROLL for (u32 i = 0; i < HELD; i++) x[i] = exchange[place(take, i, stride_of(to))];
}

// From points `thread` + i · STRIDE(0) to points HELD · `thread` + m of the spectrum. `exchange` may be in use until this transform's threads have met.
DEVICE void forward(Complex x[HELD], Complex *exchange, const Complex *table, u32 thread, u32 transform) {
  levels(x, twiddles_of(table, 0, thread), 0);
  synchronise_transform(transform);
  UNROLL for (u32 pass = 1; pass < PASSES; pass++) {
    exchange_points(x, exchange, pass - 1, pass, thread, transform);
    levels(x, twiddles_of(table, pass, thread), pass == PASSES - 1 ? LEFT_OUT : 0);
  }
}

// M times the inverse of `forward`.
DEVICE void inverse(Complex x[HELD], Complex *exchange, const Complex *table, u32 thread, u32 transform) {
  synchronise_transform(transform);
  UNROLL for (u32 pass = PASSES - 1; pass > 0; pass--) {
    inverse_levels(x, twiddles_of(table, pass, thread), pass == PASSES - 1 ? LEFT_OUT : 0);
    exchange_points(x, exchange, pass, pass - 1, thread, transform);
  }
  inverse_levels(x, twiddles_of(table, 0, thread), 0);
}
