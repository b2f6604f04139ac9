// Key switch of a batch: body − Σ digit_t(a_i) · KSK(i, t), as a product of matrices of bytes on the tensor cores.
//
// Digits are signed bytes, [ciphertext][i][t]; the key's words are split into unsigned bytes, each a separate column, [word][byte][i][t]. The host has checked that sums
// fit 32 bits: k N l · β/2 · 255 < 2^31. Both operands store the k N l terms of a row contiguously, so that a thread reads 16 at once. The assignment of terms to lanes is
// arbitrary as long as both operands agree.

#define TORUS_BYTES (TORUS_BITS / 8)
#define TERMS (GLWE_DIMENSION * DEGREE * SWITCH_LEVELS)
#define SWITCH_DROPPED (TORUS_BITS - SWITCH_LEVELS * SWITCH_LOG2_BASE)
// Byte columns per warp.
#define TILE_BYTES 64

// Digits of the masks, nearest representatives; `count` ciphertexts of k N + 1 elements.
KERNEL switch_digits(signed char *digits, const Torus *ciphertexts, u32 count) {
  Torus preparation = SWITCH_DROPPED ? (Torus)1 << (SWITCH_DROPPED ? SWITCH_DROPPED - 1 : 0) : 0;
  for (u32 level = 0; level < SWITCH_LEVELS; level++) preparation += (Torus)1 << (TORUS_BITS - SWITCH_LOG2_BASE * level - 1);
  const u32 masks = GLWE_DIMENSION * DEGREE;
  const u64 stride = (u64)gridDim.x * blockDim.x;
  for (u64 index = (u64)blockIdx.x * blockDim.x + threadIdx.x; index < (u64)count * masks; index += stride) {
    Torus word = ciphertexts[index / masks * (masks + 1) + index % masks] + preparation;
    for (u32 level = 0; level < SWITCH_LEVELS; level++) {
      i32 field = (i32)((word >> (TORUS_BITS - SWITCH_LOG2_BASE * (level + 1))) & ((1u << SWITCH_LOG2_BASE) - 1));
      digits[index * SWITCH_LEVELS + level] = (signed char)(field - (1 << (SWITCH_LOG2_BASE - 1)));
    }
  }
}

// Reorders the bytes of the key from [i][t][size] words to [word][byte][i][t].
KERNEL cut_key(u8 *bytes, const Torus *key, u32 size) {
  const u64 stride = (u64)gridDim.x * blockDim.x;
  for (u64 index = (u64)blockIdx.x * blockDim.x + threadIdx.x; index < (u64)TERMS * size; index += stride) {
    u64 term = index % TERMS, word = index / TERMS;
    Torus value = key[term * size + word];
    for (u32 byte = 0; byte < TORUS_BYTES; byte++) bytes[(word * TORUS_BYTES + byte) * TERMS + term] = (u8)(value >> (8 * byte));
  }
}

// A warp handles 16 ciphertexts and TILE_BYTES byte columns. Blocks are numbered by columns, then ciphertexts, in one dimension, of which a card has 2^31.
// `inputs` supply the bodies.
KERNEL key_switch(Torus *outputs, const Torus *inputs, const signed char *digits, const u8 *bytes, u32 count, u32 size) {
  const u32 lane = threadIdx.x % 32, quarter = lane % 4, row = lane / 4;
  const u32 columns = size * TORUS_BYTES, of_block = blockDim.x / 32 * TILE_BYTES, blocks = (columns + of_block - 1) / of_block;
  const u32 first_column = blockIdx.x % blocks * of_block + threadIdx.x / 32 * TILE_BYTES;
  if (first_column >= columns) return;
  const u32 upper = blockIdx.x / blocks * 16 + row, lower = upper + 8;
  const signed char *upper_digits = digits + (u64)(upper < count ? upper : count - 1) * TERMS + 16 * quarter;
  const signed char *lower_digits = digits + (u64)(lower < count ? lower : count - 1) * TERMS + 16 * quarter;
  i32 sums[TILE_BYTES / 8][4];
  const u8 *of_column[TILE_BYTES / 8];
  UNROLL for (u32 tile = 0; tile < TILE_BYTES / 8; tile++) {
    UNROLL for (u32 i = 0; i < 4; i++) sums[tile][i] = 0;
    u32 column = first_column + 8 * tile + row;
    of_column[tile] = bytes + (u64)(column < columns ? column : columns - 1) * TERMS + 16 * quarter;
  }
  ROLLED for (u32 term = 0; term < TERMS; term += 64) {
    Words up = *(const Words *)(upper_digits + term), low = *(const Words *)(lower_digits + term);
    UNROLL for (u32 tile = 0; tile < TILE_BYTES / 8; tile++) {
      Words of_key = *(const Words *)(of_column[tile] + term);
      UNROLL for (u32 half = 0; half < 2; half++) {
        u32 a[4] = {up.word[2 * half], low.word[2 * half], up.word[2 * half + 1], low.word[2 * half + 1]};
        u32 b[2] = {of_key.word[2 * half], of_key.word[2 * half + 1]};
        multiply_bytes(sums[tile], a, b);
      }
    }
  }
  // A lane has columns 2 · quarter and the next of each tile: bytes of a word shared by four or two lanes.
  UNROLL for (u32 tile = 0; tile < TILE_BYTES / 8; tile++) {
    const u32 byte = 2 * quarter % TORUS_BYTES;
    UNROLL for (u32 half = 0; half < 2; half++) {
      Torus part = ((Torus)(i64)sums[tile][2 * half] << (8 * byte)) + ((Torus)(i64)sums[tile][2 * half + 1] << (8 * byte + 8));
      part += shuffle_word(part, 1);
      if (TORUS_BYTES == 8) part += shuffle_word(part, 2);
      const u32 word = (first_column + 8 * tile + 2 * quarter) / TORUS_BYTES, ciphertext = half ? lower : upper;
      if (byte == 0 && word < size && ciphertext < count) {
        Torus body = word + 1 == size ? inputs[(u64)ciphertext * (GLWE_DIMENSION * DEGREE + 1) + GLWE_DIMENSION * DEGREE] : (Torus)0;
        outputs[(u64)ciphertext * size + word] = body - part;
      }
    }
  }
}
