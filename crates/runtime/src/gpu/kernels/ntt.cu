// Negacyclic NTTs of many polynomials at once, to values in bit-reversed order and back (kernels/src/ntt).
//
// A block has a tile of words in shared memory: the whole ring if it fits, otherwise a part of a matrix of rows. Columns are transformed first, in tiles of 8 neighbours,
// then rows, in tiles of several. Both are levels of the same transform, so there is no multiplication in between. A thread computes up to four levels in registers. Sums
// between butterflies are lazy (D. Harvey): below 4q forward, below 2q inverse.
//
// A forward transform computes its input while loading it (`load`: residues of a rescaling, a digit), and may subtract its result from another polynomial and scale it while
// storing; an inverse transform scales and adds a constant while storing. The factors of a limb are [N] for each direction: number 2^d + b is the root of block b at depth d.

#define LOG2_HELD 4
#define HELD (1u << LOG2_HELD)
// For a tile of columns.
#define LOG2_COLUMNS 3
#define COLUMNS (1u << LOG2_COLUMNS)
#define LOG2_ROW (LOG2_DEGREE - COLUMN_LEVELS)

enum { IN_COLUMNS, IN_ROWS };

#define LOG2_TILE_OF(part) ((part) == IN_COLUMNS ? COLUMN_LEVELS + LOG2_COLUMNS : LOG2_ROW_TILE)
#define LEVELS_OF(part) ((part) == IN_COLUMNS ? COLUMN_LEVELS : LOG2_ROW)
// Levels above the tile's first level.
#define FIRST_LEVEL_OF(part) ((part) == IN_COLUMNS ? 0 : LOG2_ROW_TILE - LOG2_ROW)
#define PASSES_OF(part) ((LEVELS_OF(part) + LOG2_HELD - 1) / LOG2_HELD)
#define THREADS_IN(part) ((part) == IN_COLUMNS ? COLUMN_THREADS : ROW_THREADS)
#define MOST_PASSES 4

// A thread's words of one pass are first + i · 2^log2_stride of a tile; their first butterfly has factor number `root` of the tile.
typedef struct {
  u32 count, log2_stride, first, root;
} Group;

DEVICE u32 levels_of_pass(u32 part, u32 pass) {
  const u32 left = LEVELS_OF(part) - LOG2_HELD * pass;
  return left < LOG2_HELD ? left : LOG2_HELD;
}

DEVICE Group group_of(u32 part, u32 pass, u32 number) {
  Group group;
  group.count = levels_of_pass(part, pass);
  const u32 level = FIRST_LEVEL_OF(part) + LOG2_HELD * pass;
  group.log2_stride = LOG2_TILE_OF(part) - level - group.count;
  const u32 block = number >> group.log2_stride;
  group.first = (block << (group.log2_stride + group.count)) + (number & ((1u << group.log2_stride) - 1));
  group.root = (1u << level) + block;
  return group;
}

// Position of word `index` of a tile in the polynomial.
DEVICE u32 position_of(u32 part, u32 tile, u32 index) {
  if (part == IN_ROWS) return (tile << LOG2_ROW_TILE) + index;
  return (index >> LOG2_COLUMNS << LOG2_ROW) + (tile << LOG2_COLUMNS) + (index & (COLUMNS - 1));
}

// Distance of a group's words in the polynomial.
DEVICE u32 step_of(u32 part, u32 log2_stride) {
  return part == IN_ROWS ? 1u << log2_stride : 1u << (log2_stride + LOG2_ROW - LOG2_COLUMNS);
}

// Index in shared memory: a word is skipped after every 16, so that strides of any power of two use all banks.
DEVICE u32 place_of(u32 index) {
  return index + index / 16;
}

// Factors of a tile in shared memory, before its words: level l has numbers 2^l up to 2^(l + 1). One is skipped after every 8.
#define FIRST_FACTOR_OF(part) (1u << FIRST_LEVEL_OF(part))
#define FACTORS_OF(part) (FIRST_FACTOR_OF(part) << LEVELS_OF(part))
#define FACTOR_PLACES_OF(part) (FACTORS_OF(part) + FACTORS_OF(part) / 8)

DEVICE u32 factor_place(u32 number) {
  return number + number / 8;
}

// Begins to load a tile's factors; those of a level are contiguous in the ring's list.
DEVICE void fetch_factors(u32 part, u32 tile, const Factor *factors) {
  Factor *own = (Factor *)shared_memory;
  // All columns share the same factors; rows have those of their blocks.
  const u32 above = part == IN_COLUMNS ? 0 : LOG2_DEGREE - LOG2_ROW_TILE, row_tile = part == IN_COLUMNS ? 0 : tile;
  ROLLED for (u32 number = FIRST_FACTOR_OF(part) + threadIdx.x; number < FACTORS_OF(part); number += blockDim.x) {
    const u32 level = log2_of(number);
    copy_later(own + factor_place(number), factors + (1u << (above + level)) + (row_tile << level) + number - (1u << level));
  }
}

// Maximum outstanding words per thread.
#define AT_ONCE 8

DEVICE void forward_butterfly(u64 *a, u64 *b, Factor w, u64 q) {
  const u64 x = reduced_once(*a, 2 * q), y = times_lazy(*b, w, q);
  *a = x + y;
  *b = x + 2 * q - y;
}

DEVICE void inverse_butterfly(u64 *a, u64 *b, Factor w, u64 q) {
  const u64 x = *a, y = *b;
  *a = reduced_once(x + y, 2 * q);
  *b = times_lazy(x + 2 * q - y, w, q);
}

// Constant loop bounds let the compiler unroll everything and keep words in registers.
DEVICE void forward_levels(u64 x[HELD], Group group, const Factor *factors, u64 q) {
  UNROLL for (u32 level = 0; level < LOG2_HELD; level++) {
    if (level < group.count) {
      const u32 half = 1u << (group.count - level - 1);
      Factor w;
      UNROLL for (u32 i = 0; i < HELD / 2; i++) {
        if (i < 1u << (group.count - 1)) {
          const u32 block = i / half, a = 2 * half * block + i % half;
          if (i % half == 0) w = factors[factor_place((group.root << level) + block)];
          forward_butterfly(&x[a], &x[a + half], w, q);
        }
      }
    }
  }
}

DEVICE void inverse_levels(u64 x[HELD], Group group, const Factor *factors, u64 q) {
  UNROLL for (u32 done = 0; done < LOG2_HELD; done++) {
    if (done < group.count) {
      const u32 level = group.count - 1 - done, half = 1u << done;
      Factor w;
      UNROLL for (u32 i = 0; i < HELD / 2; i++) {
        if (i < 1u << (group.count - 1)) {
          const u32 block = i / half, a = 2 * half * block + i % half;
          if (i % half == 0) w = factors[factor_place((group.root << level) + block)];
          inverse_butterfly(&x[a], &x[a + half], w, q);
        }
      }
    }
  }
}

// Each item of a launch has a record; a block handles one tile of one item.
typedef struct {
  const u64 *record;
  const Modulus *modulus;
  const Factor *factors;
  u64 q;
  u32 tile;
} Item;

DEVICE Item item_of(const u64 *records, const u32 *starts, const Modulus *moduli, const Factor *factors, u32 tiles) {
  Item item;
  item.record = records + starts[blockIdx.x / tiles];
  item.modulus = moduli + item.record[0];
  item.factors = factors + (item.record[0] << LOG2_DEGREE);
  item.q = item.modulus->value;
  item.tile = blockIdx.x % tiles;
  return item;
}

#define TILES_OF(part) (1u << (LOG2_DEGREE - LOG2_TILE_OF(part)))

// record: limb, result, minuend or 0, factor of the difference, its quotient, load method.
DEVICE void forward_part(u32 part, Item item) {
  const Factor *factors = (const Factor *)shared_memory;
  u64 *words = (u64 *)(factors + FACTOR_PLACES_OF(part));
  fetch_factors(part, item.tile, item.factors);
  // Threads read factors copied by others, so all must wait. They wait after requesting their first words, unless some have none: in rings below 512.
  const u32 some_idle = (1u << (LOG2_TILE_OF(part) - levels_of_pass(part, 0))) < THREADS_IN(part);
  if (some_idle) {
    await_copies();
    synchronise_block();
  }
  u64 *result = (u64 *)item.record[1];
  const u64 of_result[2] = {LOAD_WORDS, item.record[1]};
  const u64 *source = part == IN_ROWS && COLUMN_LEVELS ? of_result : item.record + 5;
  UNROLL for (u32 pass = 0; pass < MOST_PASSES; pass++) {
    if (pass >= PASSES_OF(part)) break;
    const u32 count = levels_of_pass(part, pass), last = pass + 1 == PASSES_OF(part);
    ROLLED for (u32 number = threadIdx.x; number < (1u << (LOG2_TILE_OF(part) - count)); number += blockDim.x) {
      u64 x[HELD];
      const Group group = group_of(part, pass, number);
      const u32 first = position_of(part, item.tile, group.first), step = step_of(part, group.log2_stride);
      if (pass == 0) {
        load(x, 1u << count, source, first, step, item.modulus);
        if (!some_idle) {
          await_copies();
          synchronise_block();
        }
      } else {
        UNROLL for (u32 i = 0; i < HELD; i++) if (i < 1u << count) x[i] = words[place_of(group.first + (i << group.log2_stride))];
      }
      forward_levels(x, group, factors, item.q);
      if (last && part == IN_COLUMNS) {
        UNROLL for (u32 i = 0; i < HELD; i++) if (i < 1u << count) result[first + i * step] = x[i];
      } else {
        UNROLL for (u32 i = 0; i < HELD; i++) if (i < 1u << count) words[place_of(group.first + (i << group.log2_stride))] = x[i];
      }
    }
    if (!last || part == IN_ROWS) synchronise_block();
  }
  if (part == IN_COLUMNS) return;
  const u64 *minuends = (const u64 *)item.record[2];
  const Factor factor = {item.record[3], item.record[4]};
  ROLLED for (u32 start = threadIdx.x; start < (1u << LOG2_ROW_TILE); start += AT_ONCE * ROW_THREADS) {
    u64 x[AT_ONCE];
    if (minuends) UNROLL for (u32 i = 0; i < AT_ONCE; i++) {
        const u32 index = start + i * ROW_THREADS;
        if (index < (1u << LOG2_ROW_TILE)) x[i] = minuends[position_of(part, item.tile, index)];
      }
    UNROLL for (u32 i = 0; i < AT_ONCE; i++) {
      const u32 index = start + i * ROW_THREADS;
      if (index >= (1u << LOG2_ROW_TILE)) break;
      const u64 value = reduced_once(reduced_once(words[place_of(index)], 2 * item.q), item.q);
      result[position_of(part, item.tile, index)] = minuends ? times(x[i] + item.q - value, factor, item.q) : value;
    }
  }
}

// record: limb, result, address, factor (includes 1/N), quotient, addend.
DEVICE void inverse_part(u32 part, Item item) {
  const Factor *factors = (const Factor *)shared_memory;
  u64 *words = (u64 *)(factors + FACTOR_PLACES_OF(part));
  fetch_factors(part, item.tile, item.factors);
  u64 *result = (u64 *)item.record[1];
  const u64 *source = part == IN_COLUMNS ? result : (const u64 *)item.record[2];
  const Factor factor = {item.record[3], item.record[4]};
  const u64 addend = item.record[5];
  if (part == IN_ROWS) {
    ROLLED for (u32 start = threadIdx.x; start < (1u << LOG2_ROW_TILE); start += AT_ONCE * ROW_THREADS) {
      u64 x[AT_ONCE];
      UNROLL for (u32 i = 0; i < AT_ONCE; i++) {
        const u32 index = start + i * ROW_THREADS;
        if (index < (1u << LOG2_ROW_TILE)) x[i] = source[position_of(part, item.tile, index)];
      }
      UNROLL for (u32 i = 0; i < AT_ONCE; i++) {
        const u32 index = start + i * ROW_THREADS;
        if (index < (1u << LOG2_ROW_TILE)) words[place_of(index)] = x[i];
      }
    }
  }
  await_copies();
  synchronise_block();
  UNROLL for (u32 done = 0; done < MOST_PASSES; done++) {
    if (done >= PASSES_OF(part)) break;
    const u32 pass = PASSES_OF(part) - 1 - done, count = levels_of_pass(part, pass);
    ROLLED for (u32 number = threadIdx.x; number < (1u << (LOG2_TILE_OF(part) - count)); number += blockDim.x) {
      u64 x[HELD];
      const Group group = group_of(part, pass, number);
      const u32 first = position_of(part, item.tile, group.first), step = step_of(part, group.log2_stride);
      UNROLL for (u32 i = 0; i < HELD; i++) if (i < 1u << count) {
          x[i] = part == IN_COLUMNS && done == 0 ? source[first + i * step] : words[place_of(group.first + (i << group.log2_stride))];
      }
      inverse_levels(x, group, factors, item.q);
      if (pass == 0) {
        UNROLL for (u32 i = 0; i < HELD; i++) if (i < 1u << count) {
          const u64 value = part == IN_ROWS && COLUMN_LEVELS ? x[i] : reduced_once(times(x[i], factor, item.q) + addend, item.q);
          result[first + i * step] = value;
        }
      } else {
        UNROLL for (u32 i = 0; i < HELD; i++) if (i < 1u << count) words[place_of(group.first + (i << group.log2_stride))] = x[i];
      }
    }
    if (pass > 0) synchronise_block();
  }
}

// Target number of resident threads per multiprocessor: 80 registers each.
#define RESIDENT_THREADS 768
#define THREADS_OF(threads) MOST_THREADS_OF(threads, (threads) < RESIDENT_THREADS ? RESIDENT_THREADS / (threads) : 1)

KERNEL THREADS_OF(ROW_THREADS)
forward_rows(const u64 *records, const u32 *starts, const Modulus *moduli, const Factor *factors) {
  forward_part(IN_ROWS, item_of(records, starts, moduli, factors, TILES_OF(IN_ROWS)));
}

KERNEL THREADS_OF(ROW_THREADS)
inverse_rows(const u64 *records, const u32 *starts, const Modulus *moduli, const Factor *factors) {
  inverse_part(IN_ROWS, item_of(records, starts, moduli, factors, TILES_OF(IN_ROWS)));
}

#if COLUMN_LEVELS
KERNEL THREADS_OF(COLUMN_THREADS)
forward_columns(const u64 *records, const u32 *starts, const Modulus *moduli, const Factor *factors) {
  forward_part(IN_COLUMNS, item_of(records, starts, moduli, factors, TILES_OF(IN_COLUMNS)));
}

KERNEL THREADS_OF(COLUMN_THREADS)
inverse_columns(const u64 *records, const u32 *starts, const Modulus *moduli, const Factor *factors) {
  inverse_part(IN_COLUMNS, item_of(records, starts, moduli, factors, TILES_OF(IN_COLUMNS)));
}
#endif
