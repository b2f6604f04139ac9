// Operations on batches of LWE ciphertexts between bootstraps. Rows are whole ciphertexts of `size` torus elements. Input rows are given by address,
// because they may be in several batches.

// Row r is Σ weight · row over terms first[r] .. first[r + 1], plus bias[r] on the last element.
KERNEL linear(Torus *outputs, const u32 *first, const u64 *rows, const i32 *weights, const u64 *biases, u32 size) {
  const u32 output = blockIdx.x;
  for (u32 c = threadIdx.x; c < size; c += blockDim.x) {
    Torus sum = c + 1 == size ? (Torus)biases[output] : (Torus)0;
    for (u32 term = first[output]; term < first[output + 1]; term++) {
      const Torus *row = (const Torus *)rows[term];
      sum += row[c] * (Torus)(i64)weights[term];
    }
    outputs[(u64)output * size + c] = sum;
  }
}

// Rows of `words` 32-bit words.
KERNEL gather(u32 *outputs, const u64 *rows, u32 words) {
  const u32 *row = (const u32 *)rows[blockIdx.x];
  for (u32 c = threadIdx.x; c < words; c += blockDim.x) outputs[(u64)blockIdx.x * words + c] = row[c];
}

DEVICE u32 switched(Torus value, u32 log2_modulus) {
  u32 dropped = TORUS_BITS - log2_modulus;
  u64 twice = (u64)value >> (dropped - 1);
  return (u32)((twice + 1) >> 1) & ((1u << log2_modulus) - 1);
}

// t · round(x · 2N/(t q)) mod 2N, t = 2^log2_tables, one warp per ciphertext. With `centred`, the mask's rounding errors times the mean of a key bit, 1/CHOICES,
// are first subtracted from the body (kernels/src/modulus_switch.rs).
KERNEL modulus_switch(u32 *exponents, const Torus *ciphertexts, u32 count, u32 size, u32 log2_tables, u32 centred) {
  const u32 ciphertext = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  const u32 log2_modulus = LOG2_DEGREE + 1 - log2_tables;
  const u32 dropped = TORUS_BITS - log2_modulus;
  const Torus *values = ciphertexts + (u64)(ciphertext < count ? ciphertext : count - 1) * size;
  u32 *out = exponents + (u64)ciphertext * size;
  // The sum of errors may have 65 bits, so it has two parts.
  i64 high = 0, low = 0;
  for (u32 c = lane; c + 1 < size; c += 32) {
    u32 rounded_to = switched(values[c], log2_modulus);
    if (ciphertext < count) out[c] = rounded_to << log2_tables;
    Torus error = values[c] - ((Torus)rounded_to << dropped);
#if TORUS_BITS == 32
    low += (i32)error;
#else
    high += (i64)error >> 32;
    low += (i64)(error & 0xffffffffu);
#endif
  }
  high = warp_sum(high);
  low = warp_sum(low);
  if (lane == 0 && ciphertext < count) {
    // (high · 2^32 + low) / CHOICES, rounded down.
    high += low >> 32;
    const i64 rest = (high % CHOICES + CHOICES) % CHOICES;
    const u64 lowest = ((u64)rest << 32 | (u64)(low & 0xffffffffll)) / CHOICES;
    const u64 mean = ((u64)((high - rest) / CHOICES) << 32) + lowest;
    Torus body = values[size - 1] - (centred ? (Torus)mean : (Torus)0);
    out[size - 1] = switched(body, log2_modulus) << log2_tables;
  }
}

// The first `coefficients` coefficients of each GLWE ciphertext, one after another (kernels/src/sample_extract.rs).
KERNEL sample_extract(Torus *outputs, const Torus *accumulators, u32 coefficients) {
  const u32 index = blockIdx.x % coefficients;
  const Torus *glwe = accumulators + (u64)(blockIdx.x / coefficients) * GLWE;
  Torus *output = outputs + (u64)blockIdx.x * (GLWE - DEGREE + 1);
  for (u32 c = threadIdx.x; c < GLWE - DEGREE; c += blockDim.x) {
    u32 place = c & (DEGREE - 1);
    const Torus *mask = glwe + (c - place);
    output[c] = place <= index ? mask[index - place] : (Torus)0 - mask[DEGREE + index - place];
  }
  if (threadIdx.x == 0) output[GLWE - DEGREE] = glwe[GLWE - DEGREE + index];
}
