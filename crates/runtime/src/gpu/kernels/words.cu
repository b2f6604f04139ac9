// Word-by-word operations on limbs: sums of products, inner products with keys. A block handles up to 512 words of one item, a thread two neighbouring ones.

#define BLOCK_WORDS 512
#define WORD_TILES ((DEGREE + BLOCK_WORDS - 1) / BLOCK_WORDS)
#define WORD_THREADS (BLOCK_WORDS / 2)
// Target number of resident blocks per multiprocessor: they are memory-bound.
#define RESIDENT_BLOCKS 6

// Neighbouring words number `pair` of those at `words`.
DEVICE Pair pair_at(u64 words, u32 pair) {
  return ((const Pair *)words)[pair];
}

// Terms of a sum: bits 0 to 3 are the kind of product, bit 4 a negative sign, bits from 8 the Galois element applied to the first factor, or 0.
enum { TERM_WORD, TERM_PRODUCT, TERM_SCALED, TERM_CONSTANT, TERM_FIRST_CONSTANT };

// record: limb, result, count, and for each term the address of its first factor, the address of the second or the constant, and its kind.
KERNEL MOST_THREADS_OF(WORD_THREADS, RESIDENT_BLOCKS)
sums(const u64 *records, const u32 *starts, const Modulus *moduli) {
  const u64 *record = records + starts[blockIdx.x / WORD_TILES];
  const Modulus *m = moduli + record[0];
  const u32 count = (u32)record[2], pair = blockIdx.x % WORD_TILES * WORD_THREADS + threadIdx.x;
  if (pair >= DEGREE / 2) return;
  const u64 q = m->value;
  Wide totals[2] = {{0, 0}, {0, 0}};
  ROLLED for (u32 term = 0; term < count; term++) {
    const u64 *of_term = record + 3 + 3 * term;
    const u32 kind = (u32)of_term[2] & 15, negative = (u32)of_term[2] >> 4 & 1, element = (u32)(of_term[2] >> 8);
    Pair a, b = {{of_term[1], of_term[1]}};
    if (kind >= TERM_CONSTANT) {
      UNROLL for (u32 i = 0; i < 2; i++) a.word[i] = kind == TERM_CONSTANT || 2 * pair + i == 0 ? of_term[1] : 0;
    } else if (element) {
      UNROLL for (u32 i = 0; i < 2; i++) a.word[i] = ((const u64 *)of_term[0])[source_of(2 * pair + i, element)];
    } else {
      a = pair_at(of_term[0], pair);
    }
    if (kind == TERM_PRODUCT) b = pair_at(of_term[1], pair);
    if (negative) UNROLL for (u32 i = 0; i < 2; i++) a.word[i] = q - a.word[i];
    if (kind == TERM_PRODUCT || kind == TERM_SCALED) {
      UNROLL for (u32 i = 0; i < 2; i++) add_product(&totals[i], a.word[i], b.word[i]);
    } else {
      UNROLL for (u32 i = 0; i < 2; i++) add_word(&totals[i], a.word[i]);
    }
    if (term % MOST_PRODUCTS == MOST_PRODUCTS - 1) {
      UNROLL for (u32 i = 0; i < 2; i++) {
        totals[i].low = reduced(totals[i], m);
        totals[i].high = 0;
      }
    }
  }
  Pair result;
  UNROLL for (u32 i = 0; i < 2; i++) result.word[i] = reduced(totals[i], m);
  ((Pair *)record[1])[pair] = result;
}

// Words number `pair` of a key's limb: the lower 32 bits of all words, followed by the rest, in `upper_bytes` bytes each.
DEVICE Pair key_pair(u64 key, u32 upper_bytes, u32 pair) {
  typedef struct __align__(8) {
    u32 word[2];
  } Halves;
  const Halves lower = ((const Halves *)key)[pair];
  const u64 above = key + 4 * DEGREE;
  Halves upper;
  if (upper_bytes == 1) {
    const u32 bytes = ((const u16 *)above)[pair];
    upper.word[0] = bytes & 0xff;
    upper.word[1] = bytes >> 8;
  } else if (upper_bytes == 2) {
    const u32 bytes = ((const u32 *)above)[pair];
    upper.word[0] = bytes & 0xffff;
    upper.word[1] = bytes >> 16;
  } else {
    upper = ((const Halves *)above)[pair];
  }
  Pair result;
  UNROLL for (u32 i = 0; i < 2; i++) result.word[i] = (u64)upper.word[i] << 32 | lower.word[i];
  return result;
}

// The products of digits with both halves of a key's rows, summed over the digits. A polynomial times a constant may be added to each sum, and an automorphism of values
// may be applied to the total.
//
// record: limb; for bodies and masks each the result, the addend or 0, its constant, and the inverse of the Galois element or 0; the bytes of the key's words above
// their lower 32 bits, count, and for each digit the addresses of its words, of the row's body and of its mask.
#define HALF_WORDS 4

// Writes a half's sums to memory.
DEVICE void finish_half(const u64 *half, Wide sums[2], u32 pair, const Modulus *m) {
  Pair result;
  if (half[1]) {
    const Pair added = pair_at(half[1], pair);
    UNROLL for (u32 i = 0; i < 2; i++) add_product(&sums[i], added.word[i], half[2]);
  }
  UNROLL for (u32 i = 0; i < 2; i++) result.word[i] = reduced(sums[i], m);
  if (half[3]) {
    UNROLL for (u32 i = 0; i < 2; i++) ((u64 *)half[0])[source_of(2 * pair + i, (u32)half[3])] = result.word[i];
  } else {
    ((Pair *)half[0])[pair] = result;
  }
}

KERNEL MOST_THREADS_OF(WORD_THREADS, RESIDENT_BLOCKS)
inner_products(const u64 *records, const u32 *starts, const Modulus *moduli) {
  const u64 *record = records + starts[blockIdx.x / WORD_TILES];
  const Modulus *m = moduli + record[0];
  const u64 *halves = record + 1, *rows = halves + 2 * HALF_WORDS + 2;
  const u32 upper_bytes = (u32)rows[-2], count = (u32)rows[-1], pair = blockIdx.x % WORD_TILES * WORD_THREADS + threadIdx.x;
  if (pair >= DEGREE / 2) return;
  Wide bodies[2] = {{0, 0}, {0, 0}}, masks[2] = {{0, 0}, {0, 0}};
  ROLLED for (u32 row = 0; row < count; row++) {
    const u64 *of_row = rows + 3 * row;
    const Pair digit = pair_at(of_row[0], pair);
    const Pair body = key_pair(of_row[1], upper_bytes, pair), mask = key_pair(of_row[2], upper_bytes, pair);
    UNROLL for (u32 i = 0; i < 2; i++) {
      add_product(&bodies[i], digit.word[i], body.word[i]);
      add_product(&masks[i], digit.word[i], mask.word[i]);
      if (row % MOST_PRODUCTS == MOST_PRODUCTS - 2) {
        bodies[i].low = reduced(bodies[i], m);
        masks[i].low = reduced(masks[i], m);
        bodies[i].high = masks[i].high = 0;
      }
    }
  }
  finish_half(halves, bodies, pair, m);
  finish_half(halves + HALF_WORDS, masks, pair, m);
}

// Coefficients without a subsequent transform. record: limb, result, load method.
KERNEL MOST_THREADS_OF(WORD_THREADS, RESIDENT_BLOCKS)
loads(const u64 *records, const u32 *starts, const Modulus *moduli) {
  const u64 *record = records + starts[blockIdx.x / WORD_TILES];
  const u32 pair = blockIdx.x % WORD_TILES * WORD_THREADS + threadIdx.x;
  if (pair >= DEGREE / 2) return;
  u64 x[16];
  load(x, 2, record + 2, 2 * pair, 1, moduli + record[0]);
  Pair result;
  UNROLL for (u32 i = 0; i < 2; i++) result.word[i] = x[i];
  ((Pair *)record[1])[pair] = result;
}
