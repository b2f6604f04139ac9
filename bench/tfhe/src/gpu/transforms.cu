// The butterflies of a transform without memory accesses: four levels on 16 complex points in a thread's registers, repeated.
//
// ARITHMETIC is the number format: 0 doubles, 1 fixed point of 32 bits, 2 sums of two f32. The levels are those of a ring modulo x^16 − i: see fft.h.

// Growth of the numbers in 32 rounds: 4^32.
#define GROWTH 18446744073709551616.0

#if ARITHMETIC == 0
typedef double Number;
#elif ARITHMETIC == 1
typedef i32 Number;
#else
// high + low, where high is the nearest f32.
typedef struct {
  float high, low;
} Number;
#endif

typedef struct {
  Number re, im;
} Complex;

#if ARITHMETIC == 0

DEVICE Number negated(Number x) {
  return -x;
}

// Six multiply-adds, as in fft.h.
DEVICE void butterfly(Complex *a, Complex *b, Complex w, i32 shift) {
  (void)shift;
  double re = fma(-w.im, b->im, fma(w.re, b->re, a->re));
  double im = fma(w.im, b->re, fma(w.re, b->im, a->im));
  b->re = fma(2.0, a->re, -re);
  b->im = fma(2.0, a->im, -im);
  a->re = re;
  a->im = im;
}

DEVICE Number less(Number x) {
  return x / GROWTH;
}

#elif ARITHMETIC == 1

DEVICE Number negated(Number x) {
  return -x;
}

// Factors have 31 fraction bits, so an upper half is half of the product, as required at a level that shifts by one bit. At other levels, b is doubled
// first. Both round down. Nothing saturates, because no word overflows.
DEVICE void butterfly(Complex *a, Complex *b, Complex w, i32 shift) {
  const i32 re = b->re * (2 - shift), im = b->im * (2 - shift);
  const i32 product_re = upper_half(w.re, re, negated(w.im), im);
  const i32 product_im = upper_half(w.re, im, w.im, re);
  a->re >>= shift;
  a->im >>= shift;
  b->re = a->re - product_re;
  b->im = a->im - product_im;
  a->re += product_re;
  a->im += product_im;
}

// The fixed-point levels divide on the way: two of four shift. Nothing is left to divide.
DEVICE Number less(Number x) {
  return x;
}

#else

DEVICE Number negated(Number x) {
  Number result = {-x.high, -x.low};
  return result;
}

// a + b, exactly: 6 operations.
DEVICE Number sum(float a, float b) {
  float high = a + b, part = high - a;
  Number result = {high, (a - (high - part)) + (b - part)};
  return result;
}

// The same for a `low` that is much smaller: 3 operations.
DEVICE Number normalised(float high, float low) {
  Number result = {high + low, 0.0f};
  result.low = low - (result.high - high);
  return result;
}

// a + b · c + d · e: 27 operations. Each product is an explicit multiply-add, so that no compiler contracts it with the next sum.
DEVICE Number add_products(Number a, Number b, Number c, Number d, Number e) {
  float first = fmaf(b.high, c.high, 0.0f), second = fmaf(d.high, e.high, 0.0f);
  float low = fmaf(b.high, c.high, -first) + fmaf(d.high, e.high, -second);
  low = fmaf(b.low, c.high, fmaf(b.high, c.low, low));
  low = fmaf(d.low, e.high, fmaf(d.high, e.low, low));
  Number one = sum(a.high, first), both = sum(one.high, second);
  return normalised(both.high, low + a.low + one.low + both.low);
}

// 2a − b: 11 operations.
DEVICE Number twice_less(Number a, Number b) {
  float high = fmaf(2.0f, a.high, -b.high), part = fmaf(-2.0f, a.high, high);
  float low = fmaf(2.0f, a.high, part - high) - (b.high + part);
  return normalised(high, fmaf(2.0f, a.low, -b.low) + low);
}

DEVICE void butterfly(Complex *a, Complex *b, Complex w, i32 shift) {
  (void)shift;
  Number re = add_products(a->re, w.re, b->re, negated(w.im), b->im);
  Number im = add_products(a->im, w.re, b->im, w.im, b->re);
  b->re = twice_less(a->re, re);
  b->im = twice_less(a->im, im);
  a->re = re;
  a->im = im;
}

DEVICE Number less(Number x) {
  Number result = {x.high / (float)GROWTH, x.low / (float)GROWTH};
  return result;
}

#endif

DEVICE Complex turned_quarter(Complex w) {
  Complex result = {negated(w.im), w.re};
  return result;
}

// `stretches` times 32 rounds of four levels, each round divided by 4, on the points of each thread; all blocks have the same points. `factors` are those of
// every second block of each level: the next block's are a quarter turn further.
KERNEL MOST_THREADS(256) butterflies(Complex *out, const Complex *in, const Complex *factors, u32 stretches) {
  Complex x[16], w[8];
  UNROLL for (u32 i = 0; i < 16; i++) x[i] = in[threadIdx.x * 16 + i];
  UNROLL for (u32 i = 0; i < 8; i++) w[i] = factors[i];
  ROLLED for (u32 stretch = 0; stretch < stretches; stretch++) {
    ROLLED for (u32 round = 0; round < 32; round++) {
      UNROLL for (u32 level = 0; level < 4; level++) {
        UNROLL for (u32 i = 0; i < 8; i++) {
          // Butterfly i of a level: its block, and its position there.
          const u32 half = 8 >> level, block = i / half, at = block * 2 * half + i % half;
          const Complex factor = w[(level == 0 ? 0 : 1 << (level - 1)) + block / 2];
          butterfly(&x[at], &x[at + half], block % 2 ? turned_quarter(factor) : factor, level % 2 == 0);
        }
      }
    }
    UNROLL for (u32 i = 0; i < 16; i++) {
      x[i].re = less(x[i].re);
      x[i].im = less(x[i].im);
    }
  }
  UNROLL for (u32 i = 0; i < 16; i++) out[(blockIdx.x * blockDim.x + threadIdx.x) * 16 + i] = x[i];
}
