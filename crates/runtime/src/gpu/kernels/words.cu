// What goes word by word over residue polynomials: sums of products, inner products with keys, base conversions. A block takes up to 1024 words of one item.

#define BLOCK_WORDS 1024
#define WORD_TILES ((DEGREE + BLOCK_WORDS - 1) / BLOCK_WORDS)
#define WORD_THREADS 256
#define OWN_WORDS (BLOCK_WORDS / WORD_THREADS)

// Terms of a sum: in bits 0 to 3 what is multiplied, bit 4 if it counts negative, from bit 8 on the Galois element that its first factor goes through, or 0.
enum { TERM_WORD, TERM_PRODUCT, TERM_SCALED, TERM_CONSTANT, TERM_FIRST_CONSTANT };

// record: limb, result, count, and for each term its first factor's address, the second's address or the constant, and what it is.
KERNEL MOST_THREADS(WORD_THREADS)
sums(const u64 *records, const u32 *starts, const Modulus *moduli) {
  const u64 *record = records + starts[blockIdx.x / WORD_TILES];
  const Modulus *m = moduli + record[0];
  u64 *result = (u64 *)record[1];
  const u32 count = (u32)record[2], start = blockIdx.x % WORD_TILES * BLOCK_WORDS + threadIdx.x;
  Wide totals[OWN_WORDS] = {{0, 0}};
  ROLLED for (u32 term = 0; term < count; term++) {
    const u64 *of_term = record + 3 + 3 * term;
    const u64 *first = (const u64 *)of_term[0], *second = (const u64 *)of_term[1];
    const u32 kind = (u32)of_term[2] & 15, negative = (u32)of_term[2] >> 4 & 1, element = (u32)(of_term[2] >> 8);
    UNROLL for (u32 i = 0; i < OWN_WORDS; i++) {
      const u32 position = (start + i * WORD_THREADS) & (DEGREE - 1);
      if (kind >= TERM_CONSTANT) {
        if (kind == TERM_CONSTANT || position == 0) add_word(&totals[i], of_term[1]);
      } else {
        u64 word = first[element ? source_of(position, element) : position];
        if (negative) word = m->value - word;
        if (kind == TERM_WORD) {
          add_word(&totals[i], word);
        } else {
          add_product(&totals[i], word, kind == TERM_PRODUCT ? second[position] : of_term[1]);
        }
      }
      if (term % MOST_PRODUCTS == MOST_PRODUCTS - 1) {
        totals[i].low = reduced(totals[i], m);
        totals[i].high = 0;
      }
    }
  }
  UNROLL for (u32 i = 0; i < OWN_WORDS; i++) {
    const u32 position = start + i * WORD_THREADS;
    if (position < DEGREE) result[position] = reduced(totals[i], m);
  }
}

// The products of digits with both halves of a key's rows, summed over the digits.
//
// record: limb, results of the bodies and of the masks, count, and for each digit the addresses of its words, of the row's body and of its mask.
KERNEL MOST_THREADS(WORD_THREADS)
inner_products(const u64 *records, const u32 *starts, const Modulus *moduli) {
  const u64 *record = records + starts[blockIdx.x / WORD_TILES];
  const Modulus *m = moduli + record[0];
  const u32 count = (u32)record[3], start = blockIdx.x % WORD_TILES * (BLOCK_WORDS / 2) + threadIdx.x;
  UNROLL for (u32 own = 0; own < OWN_WORDS / 2; own++) {
    const u32 pair = start + own * WORD_THREADS;
    if (pair >= DEGREE / 2) break;
    Wide bodies[2] = {{0, 0}, {0, 0}}, masks[2] = {{0, 0}, {0, 0}};
    ROLLED for (u32 row = 0; row < count; row++) {
      const u64 *of_row = record + 4 + 3 * row;
      const Pair digit = ((const Pair *)of_row[0])[pair], body = ((const Pair *)of_row[1])[pair], mask = ((const Pair *)of_row[2])[pair];
      UNROLL for (u32 i = 0; i < 2; i++) {
        add_product(&bodies[i], digit.word[i], body.word[i]);
        add_product(&masks[i], digit.word[i], mask.word[i]);
        if (row % MOST_PRODUCTS == MOST_PRODUCTS - 1) {
          bodies[i].low = reduced(bodies[i], m);
          masks[i].low = reduced(masks[i], m);
          bodies[i].high = masks[i].high = 0;
        }
      }
    }
    Pair body, mask;
    UNROLL for (u32 i = 0; i < 2; i++) {
      body.word[i] = reduced(bodies[i], m);
      mask.word[i] = reduced(masks[i], m);
    }
    ((Pair *)record[1])[pair] = body;
    ((Pair *)record[2])[pair] = mask;
  }
}

// Coefficients that no transform follows. record: limb, result, how to load.
KERNEL MOST_THREADS(WORD_THREADS)
loads(const u64 *records, const u32 *starts, const Modulus *moduli) {
  const u64 *record = records + starts[blockIdx.x / WORD_TILES];
  const u32 start = blockIdx.x % WORD_TILES * BLOCK_WORDS + threadIdx.x;
  UNROLL for (u32 i = 0; i < OWN_WORDS; i++) {
    const u32 position = start + i * WORD_THREADS;
    if (position >= DEGREE) break;
    u64 x[16];
    load(x, 1, record + 2, position, 0, moduli + record[0]);
    ((u64 *)record[1])[position] = x[0];
  }
}

// The number in [−Q/2, Q/2) with given residues, modulo other primes, times t: digits of mixed radix (H. L. Garner), of which the
// last that differs from that of (Q − 1)/2 tells the sign.
//
// record: sources, targets; for each source its address, limb, t^-1, inverse of the product of the moduli before it, half of its modulus less one, and that
// product's parts, one modulus less at a time; for each target its address, limb, −t·Q, and t times the products.
KERNEL MOST_THREADS(WORD_THREADS)
centred_conversions(const u64 *records, const u32 *starts, const Modulus *moduli) {
  const u64 *record = records + starts[blockIdx.x / WORD_TILES];
  const u32 sources = (u32)record[0], targets = (u32)record[1], start = blockIdx.x % WORD_TILES * BLOCK_WORDS + threadIdx.x;
  ROLLED for (u32 i = 0; i < OWN_WORDS; i++) {
    const u32 position = start + i * WORD_THREADS;
    if (position >= DEGREE) break;
    u64 digits[MOST_SOURCES];
    u32 negative = 0;
    const u64 *of = record + 2;
    ROLLED for (u32 source = 0; source < sources; source++) {
      const Modulus *m = moduli + of[1];
      Wide known = {0, 0}, product = {0, 0};
      ROLLED for (u32 earlier = 0; earlier < source; earlier++) {
        add_product(&known, digits[earlier], of[5 + earlier]);
        if (earlier % MOST_PRODUCTS == MOST_PRODUCTS - 1) {
          known.low = reduced(known, m);
          known.high = 0;
        }
      }
      add_product(&product, ((const u64 *)of[0])[position], of[2]);
      const u64 rest = difference(reduced(product, m), reduced(known, m), m->value);
      product.low = product.high = 0;
      add_product(&product, rest, of[3]);
      const u64 digit = reduced(product, m);
      if (digit != of[4]) negative = digit > of[4];
      digits[source] = digit;
      of += 5 + source;
    }
    ROLLED for (u32 target = 0; target < targets; target++) {
      const Modulus *m = moduli + of[1];
      Wide sum = {negative ? of[2] : 0, 0};
      ROLLED for (u32 source = 0; source < sources; source++) {
        add_product(&sum, digits[source], of[3 + source]);
        if (source % MOST_PRODUCTS == MOST_PRODUCTS - 1) {
          sum.low = reduced(sum, m);
          sum.high = 0;
        }
      }
      ((u64 *)of[0])[position] = reduced(sum, m);
      of += 3 + sources;
    }
  }
}
