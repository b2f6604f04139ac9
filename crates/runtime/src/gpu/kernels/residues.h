// Arithmetic modulo primes below 2^61, and records: a block's description of the polynomial that it computes, as words, each an address or a number.

#define DEGREE (1u << LOG2_DEGREE)

// q, 2^64 mod q, ⌊w · 2^64/q⌋ of w = 2^64 mod q and of w = 1, and −1/q mod 2^64.
typedef struct __align__(16) {
  u64 value, word, word_quotient, one_quotient, negated_inverse, unused;
} Modulus;

// A constant w below q, and ⌊w · 2^64/q⌋.
typedef struct __align__(16) {
  u64 value, quotient;
} Factor;

typedef struct __align__(16) {
  u64 word[2];
} Pair;

// Subtracts `modulus` once if `value` is not below it.
DEVICE u64 reduced_once(u64 value, u64 modulus) {
  const u64 less = value - modulus;
  return less < value ? less : value;
}

// a · w mod q, possibly plus q, for any a (V. Shoup's product).
DEVICE u64 times_lazy(u64 a, Factor w, u64 q) {
  return a * w.value - high_product(a, w.quotient) * q;
}

DEVICE u64 times(u64 a, Factor w, u64 q) {
  return reduced_once(times_lazy(a, w, q), q);
}

typedef struct {
  u64 low, high;
} Wide;

DEVICE void add_word(Wide *sum, u64 word) {
  sum->low += word;
  sum->high += sum->low < word;
}

DEVICE void add_product(Wide *sum, u64 a, u64 b) {
  const u64 low = a * b;
  sum->low += low;
  sum->high += high_product(a, b) + (sum->low < low);
}

// Maximum products of two residues in a sum in addition to a reduced one: each is below 2^122.
#define MOST_PRODUCTS 32

DEVICE u64 reduced(Wide sum, const Modulus *m) {
  const Factor word = {m->word, m->word_quotient}, one = {1, m->one_quotient};
  const u64 lazy = times_lazy(sum.high, word, m->value) + times_lazy(sum.low, one, m->value);
  return reduced_once(reduced_once(lazy, 2 * m->value), m->value);
}

DEVICE u64 reduced_word(u64 word, const Modulus *m) {
  const Factor one = {1, m->one_quotient};
  return times(word, one, m->value);
}

DEVICE u64 difference(u64 a, u64 b, u64 q) {
  return reduced_once(a + q - b, q);
}

// The place whose value X → X^element moves to place `place`: values at odd powers of a root, in bit-reversed order (kernels/src/automorphism.rs).
DEVICE u32 source_of(u32 place, u32 element) {
  const u32 number = bit_reversed(place) >> (32 - LOG2_DEGREE);
  return bit_reversed((element * (2 * number + 1) & (2 * DEGREE - 1)) >> 1) >> (32 - LOG2_DEGREE);
}

// Methods of computing coefficients modulo the limb's prime from other polynomials: a word for the method, then its arguments.
enum {
  // address
  LOAD_WORDS,
  // address, first word that represents a negative number, the source's modulus mod q
  LOAD_REDUCED,
  // address, offset, shift, mask, subtrahend: a digit of each word
  LOAD_DIGIT,
  // address, inverse of g: X → X^g on coefficients
  LOAD_SUBSTITUTED
};

// Coefficients `first` + i · `step` for i < `count`, at most 16.
DEVICE void load(u64 x[16], u32 count, const u64 *record, u32 first, u32 step, const Modulus *m) {
  const u64 q = m->value;
  const u64 *words = (const u64 *)record[1];
  switch (record[0]) {
    case LOAD_WORDS:
      UNROLL for (u32 i = 0; i < 16; i++) if (i < count) x[i] = words[first + i * step];
      break;
    case LOAD_REDUCED:
      UNROLL for (u32 i = 0; i < 16; i++) {
        if (i >= count) break;
        const u64 word = words[first + i * step], residue = reduced_word(word, m);
        x[i] = word >= record[2] ? difference(residue, record[3], q) : residue;
      }
      break;
    case LOAD_DIGIT:
      UNROLL for (u32 i = 0; i < 16; i++) {
        if (i >= count) break;
        const u64 digit = (words[first + i * step] + record[2]) >> record[3] & record[4];
        x[i] = difference(reduced_word(digit, m), record[5], q);
      }
      break;
    default:
      UNROLL for (u32 i = 0; i < 16; i++) {
        if (i >= count) break;
        const u32 exponent = (first + i * step) * (u32)record[2] & (2 * DEGREE - 1);
        const u64 word = words[exponent & (DEGREE - 1)];
        x[i] = exponent < DEGREE ? word : difference(0, word, q);
      }
  }
}
