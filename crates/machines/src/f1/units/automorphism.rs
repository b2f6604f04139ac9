//! The vector automorphism unit (section 5.1, figures 5 and 6): a permutation within each chunk, a transpose, a permutation
//! within each chunk, the transpose back.
//!
//! σ_k moves element i to k·i, and the value at ψ^(2j+1) to place j' with k(2j'+1) = 2j + 1: both are affine maps of indices
//! modulo N. Let i = r·E + c. An affine map i → m·i + o moves column c to (m·c + o) mod E, the same in every row. It moves
//! row r to m·r + ⌊(m·c + o) / E⌋ modulo G, which is affine in r with an offset for each column. So each of the two
//! permutations stays within what a chunk holds before or after the transpose. An affine map modulo 2^b is, in turn, a series
//! of fixed permutations, each applied or bypassed: −1, the squarings of 5, and the rotations by powers of two.

use super::{Shape, Transpose};
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_kernels::modular::Modulus;

/// The order of a vector's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// In natural order.
    Coefficients,
    /// Values in the order of the four-step unit: place p has value p / G + E·(p mod G).
    FourStepValues,
}

/// An affine map of indices modulo a power of two: the destination of element i.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Affine {
    factor: usize,
    offset: usize,
}

/// The unit configured for one shape and one automorphism.
#[derive(Clone, Debug)]
pub struct AutomorphismUnit {
    shape: Shape,
    element: GaloisElement,
    /// The permutation of values.
    values: Affine,
}

impl AutomorphismUnit {
    /// The automorphism `element` on vectors of `shape`.
    ///
    /// # Panics
    /// If the element belongs to another ring degree.
    pub fn new(shape: Shape, element: GaloisElement) -> Self {
        assert_eq!(shape.degree(), element.degree().get());
        Self::of_values(shape, element, 0)
    }

    /// The automorphism `element` of a ring with several vectors of `shape` per polynomial, on the values whose
    /// indices are `first` modulo the number of vectors. Coefficients of such a ring are not supported.
    pub fn of_values(shape: Shape, element: GaloisElement, first: usize) -> Self {
        // Value j moves to j' with k(2j' + 1) ≡ 2j + 1 mod 2N, so 2j' + 1 = k^-1 (2j + 1). With j =
        // subpolynomials·u + first, u moves to k^-1·u plus the carry of the rest.
        let inverse = element.inverse().value();
        let rest = inverse * first + (inverse - 1) / 2;
        let values = Affine { factor: inverse, offset: rest / (element.degree().get() / shape.degree()) };
        Self { shape, element, values }
    }

    /// Number of fixed permutations in series for chunks of `size` elements: −1 and 5^(2^i) for the factor, 2^i
    /// for the offset.
    fn sub_permutations(size: usize) -> u64 {
        let bits = u64::from(size.ilog2());
        bits.saturating_sub(1) + bits
    }

    /// Cycles from the first chunk in to the first chunk out: a register after each fixed permutation, and two
    /// transposes.
    pub fn latency(shape: Shape) -> u64 {
        Self::sub_permutations(shape.lanes())
            + Self::sub_permutations(shape.chunks())
            + 2 * Transpose::<u32>::latency(shape)
    }

    /// The affine map of indices, modulo N.
    fn map(&self, layout: Layout) -> Affine {
        match layout {
            Layout::Coefficients => Affine { factor: self.element.value(), offset: 0 },
            Layout::FourStepValues => self.values,
        }
    }

    /// The destination of an element, through the two permutations of the unit.
    fn destination(&self, map: Affine, row: usize, column: usize) -> (usize, usize) {
        let (lanes, chunks) = (self.shape.lanes(), self.shape.chunks());
        let spread = map.factor * column + map.offset;
        ((map.factor * row + spread / lanes) % chunks, spread % lanes)
    }

    /// The automorphism of `vector`, with the unit's steps; `modulus` is for the signs of coefficients.
    ///
    /// # Panics
    /// If the number of residues does not match the shape, or coefficients are not a whole polynomial.
    pub fn apply(&self, modulus: Modulus, layout: Layout, vector: &[u64]) -> Vec<u64> {
        let (lanes, chunks) = (self.shape.lanes(), self.shape.chunks());
        assert_eq!(vector.len(), lanes * chunks);
        let map = self.map(layout);
        match layout {
            Layout::Coefficients => {
                assert_eq!(vector.len(), self.element.degree().get(), "a whole polynomial");
                let signed = self.signs(modulus, vector);
                // Chunk r has row r: first the column permutation, the same for all chunks.
                let columns = permute_chunks(&signed, lanes, |_, lane| self.destination(map, 0, lane).1);
                let turned = Transpose::apply(self.shape, &columns);
                // Lane block b of chunk c has column b·G + c, whose rows are in the block's G lanes.
                let rows = permute_chunks(&turned, lanes, |chunk, lane| {
                    let (block, row) = (lane / chunks, lane % chunks);
                    let column = self.origin_of_column(map, block * chunks + chunk);
                    block * chunks + self.destination(map, row, column).0
                });
                Transpose::apply(self.shape, &rows)
            }
            Layout::FourStepValues => {
                // Place p has column p / G, row p mod G: block b of chunk c is column c·E/G + b.
                let blocks = lanes / chunks;
                let rows = permute_chunks(vector, lanes, |chunk, lane| {
                    let (block, row) = (lane / chunks, lane % chunks);
                    block * chunks + self.destination(map, row, chunk * blocks + block).0
                });
                // After the transpose, chunk r has row r, with column c·E/G + b in lane b·G + c: the column
                // permutation is local.
                let turned = Transpose::apply(self.shape, &rows);
                let columns = permute_chunks(&turned, lanes, |_, lane| {
                    let column = (lane % chunks) * blocks + lane / chunks;
                    let moved = self.destination(map, 0, column).1;
                    (moved % blocks) * chunks + moved / blocks
                });
                Transpose::apply(self.shape, &columns)
            }
        }
    }

    /// The inverse of the column permutation.
    fn origin_of_column(&self, map: Affine, column: usize) -> usize {
        (0..self.shape.lanes()).find(|&from| self.destination(map, 0, from).1 == column).unwrap_or(column)
    }

    /// Negates the coefficients that wrap around X^N = −1.
    fn signs(&self, modulus: Modulus, vector: &[u64]) -> Vec<u64> {
        let degree = self.shape.degree();
        let negative = |index: usize| (index * self.element.value()) % (2 * degree) >= degree;
        let sign = |(index, &word)| if negative(index) { modulus.neg(word) } else { word };
        vector.iter().enumerate().map(sign).collect()
    }
}

/// Moves lane l of chunk c to lane `to`(c, l) of the same chunk.
fn permute_chunks(vector: &[u64], lanes: usize, to: impl Fn(usize, usize) -> usize) -> Vec<u64> {
    let mut result = vec![0; vector.len()];
    for (chunk, (source, target)) in vector.chunks(lanes).zip(result.chunks_mut(lanes)).enumerate() {
        for (lane, &word) in source.iter().enumerate() {
            target[to(chunk, lane)] = word;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    //! Is every automorphism of every degree a permutation in chunks, a transpose, and a permutation in chunks?
    use super::*;
    use polyfabric_kernels::RingDegree;
    use polyfabric_kernels::ntt::EvaluationOrder;

    const LANES: usize = 128;

    fn check(degree: usize, lanes: usize, value: usize) {
        let ring = RingDegree::new(degree).expect("a degree");
        let shape = Shape::new(ring, lanes).expect("a shape");
        let element = GaloisElement::new(ring, value).expect("odd");
        let modulus = Modulus::new(4_293_918_721).expect("a modulus");
        let vector: Vec<u64> = (0..degree as u64).map(|i| (i * 2_654_435_761) % modulus.value()).collect();
        let unit = AutomorphismUnit::new(shape, element);

        let mut expected = vec![0; degree];
        element.apply(modulus, &vector, &mut expected);
        assert_eq!(unit.apply(modulus, Layout::Coefficients, &vector), expected, "N {degree}, k {value}");

        let places = element.places(EvaluationOrder::FourStep { vector: lanes });
        let expected: Vec<u64> = places.iter().map(|&from| vector[from]).collect();
        assert_eq!(unit.apply(modulus, Layout::FourStepValues, &vector), expected, "N {degree}, k {value}");
    }

    #[test]
    fn all_automorphisms_of_a_small_ring() {
        for degree in [16, 32, 64] {
            for value in (1..2 * degree).step_by(2) {
                check(degree, 8, value);
            }
        }
    }

    #[test]
    fn subpolynomials_of_larger_rings_are_permuted_by_the_same_steps() {
        for (degree, lanes, subpolynomials) in
            [(64, 8, 2), (128, 8, 2), (128, 8, 4), (32_768, LANES, 2), (65_536, LANES, 4)]
        {
            let ring = RingDegree::new(degree).expect("a degree");
            let (size, order) = (degree / subpolynomials, EvaluationOrder::FourStep { vector: lanes });
            let vector = RingDegree::new(size).expect("a degree");
            let shape = Shape::new(vector, lanes).expect("a shape");
            let modulus = Modulus::new(4_293_918_721).expect("a modulus");
            let value = |number: usize| number as u64 * 2_654_435_761 % modulus.value();
            for element in [3, 5, 2 * degree - 1, (7919 % (2 * degree)) | 1] {
                let element = GaloisElement::new(ring, element).expect("odd");
                let inverse = element.inverse().value();
                for first in 0..subpolynomials {
                    let subpolynomial: Vec<u64> =
                        (0..size).map(|place| value(subpolynomials * order.value_at(vector, place) + first)).collect();
                    let moved = AutomorphismUnit::of_values(shape, element, first).apply(
                        modulus,
                        Layout::FourStepValues,
                        &subpolynomial,
                    );
                    let to = (inverse * first + (inverse - 1) / 2) % subpolynomials;
                    let number = |place: usize| subpolynomials * order.value_at(vector, place) + to;
                    let expected: Vec<u64> = (0..size).map(|place| value(element.source(number(place)))).collect();
                    assert_eq!(
                        moved,
                        expected,
                        "N {degree}, k {}, numbers {first} modulo {subpolynomials}",
                        element.value()
                    );
                }
            }
        }
    }

    #[test]
    fn automorphisms_of_f1s_rings() {
        for log in 10..=14 {
            let degree = 1 << log;
            for value in [1, 3, 5, 25, 2 * degree - 1, degree + 1, (7919 % (2 * degree)) | 1] {
                check(degree, LANES, value);
            }
        }
    }
}
