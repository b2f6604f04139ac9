//! The quadrant-swap transpose unit (section 5.1, figure 7).
//!
//! A K × K matrix of quadrants A B / C D enters column by column, K lanes wide. First come the columns of A
//! over C, then those of B over D. A quadrant swap exchanges B and C: its output is A over B, then C over D.
//! Swaps with K, K/2, …, 2 transpose the matrix, since (A B / C D)ᵀ = (Aᵀ Cᵀ / Bᵀ Dᵀ). With G < E chunks, the
//! layers above G are bypassed, and the E lanes contain E / G matrices of G × G.

use super::Shape;

/// One K × K quadrant swap: two buffers of K/2 half-columns, two multiplexers and a bypass.
#[derive(Clone, Debug)]
struct QuadrantSwap<T> {
    half: usize,
    /// Buffered half-columns, by their index in the step.
    top: Vec<Vec<T>>,
    bottom: Vec<Vec<T>>,
    /// Columns so far.
    cycle: usize,
}

impl<T: Copy + Default> QuadrantSwap<T> {
    fn new(size: usize) -> Self {
        let half = size / 2;
        let buffer = vec![vec![T::default(); half]; half];
        Self { half, top: buffer.clone(), bottom: buffer, cycle: 0 }
    }

    /// One cycle: a column of K elements in, a column out. The first K/2 outputs are the buffers' previous
    /// content.
    fn step(&mut self, column: &mut [T]) {
        let row = self.cycle % self.half;
        let second = (self.cycle / self.half) % 2 == 1;
        self.cycle += 1;
        let (upper, lower) = column.split_at_mut(self.half);
        if second {
            // B[i] and D[i] arrive: A[i] leaves from the top buffer, B[i] uses the bypass, D[i] replaces A[i].
            let incoming = lower.to_vec();
            lower.copy_from_slice(upper);
            upper.copy_from_slice(&self.top[row]);
            self.top[row].copy_from_slice(&incoming);
        } else {
            // A[i] and C[i] of the next matrix arrive; C[i] and D[i] of the previous one leave, C[i] on top.
            let (a, c) = (upper.to_vec(), lower.to_vec());
            upper.copy_from_slice(&self.bottom[row]);
            lower.copy_from_slice(&self.top[row]);
            self.top[row].copy_from_slice(&a);
            self.bottom[row].copy_from_slice(&c);
        }
    }
}

/// The transpose unit for one shape: layers of quadrant swaps, fully pipelined.
#[derive(Clone, Debug)]
pub struct Transpose<T> {
    shape: Shape,
    /// Layer i: E / K parallel swaps with K = G / 2^i.
    layers: Vec<Vec<QuadrantSwap<T>>>,
    taken: usize,
}

impl<T: Copy + Default> Transpose<T> {
    pub fn new(shape: Shape) -> Self {
        let mut layers = Vec::new();
        let mut size = shape.chunks();
        while size >= 2 {
            layers.push((0..shape.lanes() / size).map(|_| QuadrantSwap::new(size)).collect());
            size /= 2;
        }
        Self { shape, layers, taken: 0 }
    }

    /// Cycles from the first chunk in to the first chunk out: K/2 per layer, G − 1 in total.
    pub fn latency(shape: Shape) -> u64 {
        shape.chunks() as u64 - 1
    }

    /// One cycle: a chunk in, and a chunk out once [`Self::latency`] has passed. Vectors may be back to back.
    pub fn step(&mut self, chunk: &[T]) -> Option<Vec<T>> {
        let mut lanes = chunk.to_vec();
        // A layer's first valid column arrives when the previous layers have filled.
        let mut filled = 0;
        for layer in &mut self.layers {
            if self.taken < filled {
                break;
            }
            let size = self.shape.lanes() / layer.len();
            for (swap, part) in layer.iter_mut().zip(lanes.chunks_exact_mut(size)) {
                swap.step(part);
            }
            filled += size / 2;
        }
        self.taken += 1;
        (self.taken > Self::latency(self.shape) as usize).then_some(lanes)
    }

    /// Moves element (chunk r, lane block b, place c) to (chunk c, block b, place r): a transpose in blocks of
    /// G × G.
    pub fn apply(shape: Shape, vector: &[T]) -> Vec<T> {
        let (lanes, chunks) = (shape.lanes(), shape.chunks());
        let mut result = vec![T::default(); vector.len()];
        for (place, element) in result.iter_mut().enumerate() {
            let (chunk, lane) = (place / lanes, place % lanes);
            let (block, within) = (lane / chunks, lane % chunks);
            *element = vector[within * lanes + block * chunks + chunk];
        }
        result
    }
}

#[cfg(test)]
mod tests {
    //! Does the pipeline of quadrant swaps transpose, at full rate, with the stated latency?
    use super::*;
    use polyfabric_kernels::RingDegree;

    #[test]
    fn streams_are_transposed_without_a_gap() {
        for (degree, lanes) in [(64, 8), (32, 8), (16, 8), (256, 16), (1024, 128), (16384, 128)] {
            let shape = Shape::new(RingDegree::new(degree).expect("a degree"), lanes).expect("a shape");
            let vectors: Vec<Vec<u32>> =
                (0..3).map(|v| (0..degree as u32).map(|i| i.wrapping_mul(2_654_435_761) ^ v).collect()).collect();
            let mut unit = Transpose::new(shape);
            let (mut out, mut first) = (Vec::new(), None);
            let stream = vectors.iter().flat_map(|vector| vector.chunks(lanes));
            let silence = vec![0; lanes];
            let drain = std::iter::repeat_n(&silence[..], shape.chunks());
            for (cycle, chunk) in stream.chain(drain).enumerate() {
                if let Some(chunk) = unit.step(chunk) {
                    first.get_or_insert(cycle);
                    out.extend(chunk);
                }
            }
            assert_eq!(first, Some(Transpose::<u32>::latency(shape) as usize));
            for (number, vector) in vectors.iter().enumerate() {
                let expected = Transpose::apply(shape, vector);
                assert_eq!(out[number * degree..(number + 1) * degree], expected[..], "N {degree}, E {lanes}");
                assert_eq!(Transpose::apply(shape, &expected), *vector);
            }
        }
    }
}
