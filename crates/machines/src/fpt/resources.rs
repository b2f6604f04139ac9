//! DSP blocks of the pipeline, counted from its multipliers.
//!
//! Equation (6) forms a complex product with a factor c + jd from three real products: c times a difference of the
//! data, and the precomputed c − d and c + d times its parts. Sums and differences are one bit wider than their terms.
//! A real product is split into tiles of an UltraScale+ DSP block, 27 by 18 bits, signed.
//!
//! The structure of a streaming transform determines its multipliers. Point i of a cycle uses lane i. The points of a
//! radix-2^k group are in adjacent lanes, and the cycle number supplies the most significant bits of the index. So
//! inside a group a lane has the same factor in all cycles, and between groups it has several. A lane whose factors are
//! all multiples of a quarter turn needs no multiplier. One constant factor of an odd eighth of a turn needs two
//! multipliers, by the square root of ½. All other lanes need three.

use super::machine::{Balance, Fpt, Shape};
use polyfabric_kernels::fixed::{Rotation, Structure};

/// Bits of a DSP block's two operands, signed.
const TILE: (u64, u64) = (27, 18);

/// Tiles of `size` bits for an operand of `bits` signed bits. All tiles except the highest are unsigned, so they have
/// one bit less.
fn tiles(bits: u64, size: u64) -> u64 {
    (bits - 1).div_ceil(size - 1)
}

/// DSP blocks of a product of `a` by `b` signed bits.
pub fn real_product(a: u64, b: u64) -> u64 {
    let of = |a: u64, b: u64| tiles(a, TILE.0) * tiles(b, TILE.1);
    of(a, b).min(of(b, a))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Products {
    /// Three real products of sums (equation (6)).
    Three,
    Four,
}

/// DSP blocks to multiply parts of `data` bits by a factor with parts of `factor` bits.
pub fn complex_product(products: Products, data: u64, factor: u64) -> u64 {
    match products {
        Products::Three => real_product(data + 1, factor) + 2 * real_product(data, factor + 1),
        Products::Four => 4 * real_product(data, factor),
    }
}

/// Lanes of a transform, by the factors they need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lanes {
    /// Lanes with a general factor, or with several.
    pub general: u64,
    /// Lanes with one factor, an odd eighth of a turn.
    pub eighths: u64,
}

impl Lanes {
    /// Adds `copies` lanes that rotate points by `turns` (numerator and log2 of the denominator) in successive cycles.
    fn add(&mut self, turns: &[(usize, u32)], copies: u64) {
        if turns.iter().all(|&turn| Rotation::is_trivial(turn)) {
            return;
        }
        let (numerator, log2) = turns[0];
        let one = turns.iter().all(|&turn| turn == turns[0]);
        if one && (numerator << 3).is_multiple_of(1 << log2) {
            self.eighths += copies;
        } else {
            self.general += copies;
        }
    }

    /// DSP blocks if data parts have `data` bits and factor parts `factor` bits.
    pub fn dsp(&self, products: Products, data: u64, factor: u64) -> u64 {
        self.general * complex_product(products, data, factor) + self.eighths * 2 * real_product(data + 1, factor)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The twist, between the coefficients and the adjacent stage.
    Twist,
    /// After this stage of a forward transform, counted from 0; before the same stage of an inverse one.
    Stage(u32),
}

#[derive(Clone, Copy, Debug)]
pub struct Transform {
    pub points: u64,
    /// Points per cycle.
    pub width: u64,
    /// k of radix 2^k.
    pub log2_radix: u32,
    /// Whether the transform has a twist.
    pub negacyclic: bool,
}

impl Transform {
    /// The multiplying lanes of each place.
    pub fn lanes(&self) -> Vec<(Place, Lanes)> {
        let log2 = self.points.trailing_zeros();
        let cycles = (self.points / self.width).trailing_zeros();
        let width = self.width as usize;
        let mut places = Vec::new();
        if self.negacyclic {
            let mut lanes = Lanes::default();
            for lane in 0..width {
                let turns: Vec<(usize, u32)> = (0..1 << cycles).map(|cycle| (lane + cycle * width, log2 + 2)).collect();
                lanes.add(&turns, 1);
            }
            places.push((Place::Twist, lanes));
        }
        let structure = Structure::Twisted { log2_radix: self.log2_radix };
        for (stage, rotation) in (0..log2).filter_map(|stage| Some((stage, structure.rotation(log2, stage)?))) {
            let mut lanes = Lanes::default();
            let (output_bits, input_bits) = rotation.bits();
            let order = rotation.order_log2();
            // Cycle bits: first those that the factor ignores, then the input's most significant bits, then the
            // output's.
            let inside = cycles.saturating_sub(log2 - order);
            let of_input = inside.min(input_bits);
            let of_output = inside - of_input;
            let (inputs, outputs) = (1usize << (input_bits - of_input), 1usize << (output_bits - of_output));
            let copies = (width / (inputs * outputs)) as u64;
            for lane in 0..inputs * outputs {
                let (input, output) = (lane % inputs, lane / inputs);
                let turns: Vec<(usize, u32)> = (0..1usize << inside)
                    .map(|cycle| {
                        let input = input + inputs * (cycle & ((1 << of_input) - 1));
                        let output = output + outputs * (cycle >> of_input);
                        ((input * output) & ((1 << order) - 1), order)
                    })
                    .collect();
                lanes.add(&turns, copies);
            }
            places.push((Place::Stage(stage), lanes));
        }
        places
    }

    /// DSP blocks for factors of `factor` bits; `data` gives the bits of a part at each place.
    pub fn dsp(&self, products: Products, data: impl Fn(Place) -> u64, factor: u64) -> u64 {
        self.lanes().into_iter().map(|(place, lanes)| lanes.dsp(products, data(place), factor)).sum()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dsp {
    pub mac: u64,
    pub forward: u64,
    pub inverse: u64,
}

impl Dsp {
    pub fn total(&self) -> u64 {
        self.mac + self.forward + self.inverse
    }
}

pub fn dsp(machine: &Fpt, shape: &Shape) -> Dsp {
    let (forward_kernels, inverse_kernels) = match machine.balance {
        Balance::FftUnrolled => (1, 1),
        Balance::DotProductUnrolled => (shape.rows(), shape.polynomials),
    };
    let transform = |width| Transform { points: shape.points, width, log2_radix: machine.log2_radix, negacyclic: true };
    let last = shape.points.trailing_zeros() - 1;
    let forward = |place| match place {
        Place::Twist => machine.forward.input(),
        Place::Stage(stage) => machine.forward.stage(stage as usize),
    };
    // An inverse transform starts with the last stage of the forward one, which no product precedes, and ends with the
    // twist.
    let inverse = |place| match place {
        Place::Twist => machine.inverse.stage(last as usize),
        Place::Stage(stage) => machine.inverse.stage((last - 1 - stage) as usize),
    };
    let of_transform = |width, data: &dyn Fn(Place) -> u32, factor| {
        transform(width).dsp(Products::Three, |place| data(place).into(), factor)
    };
    let spectrum = machine.spectrum_bits(shape.points);
    Dsp {
        mac: shape.macs() * complex_product(Products::Three, spectrum, machine.key_bits),
        forward: forward_kernels * of_transform(shape.widths.0, &forward, machine.forward_twiddle),
        inverse: inverse_kernels * of_transform(shape.widths.1, &inverse, machine.inverse_twiddle),
    }
}

pub fn key_buffer_bits(shape: &Shape) -> u64 {
    8 * super::software::BUFFERS * shape.key()
}

#[cfg(test)]
mod tests {
    //! Do products and lanes need the multipliers that the widths of a DSP block imply?

    use super::*;
    use crate::torus::test_support::parameters;

    #[test]
    fn products_take_tiles() {
        assert_eq!(
            [real_product(27, 18), real_product(18, 27), real_product(28, 18), real_product(27, 19)],
            [1, 1, 2, 2]
        );
        // 30 bits are 17 + 13, and 26 bits fit the wide operand.
        assert_eq!(real_product(30, 26), 2);
        assert_eq!((complex_product(Products::Three, 29, 25), complex_product(Products::Four, 31, 31)), (6, 16));
    }

    fn sum(transform: Transform) -> Lanes {
        transform.lanes().iter().fold(Lanes::default(), |sum, (_, lanes)| Lanes {
            general: sum.general + lanes.general,
            eighths: sum.eighths + lanes.eighths,
        })
    }

    #[test]
    fn lanes_of_a_fully_parallel_transform() {
        // Sixteen points, radix 2^4: of the products of two 2-bit indices, four are odd eighths of a turn and four are
        // sixteenths.
        let transform = Transform { points: 16, width: 16, log2_radix: 4, negacyclic: false };
        assert_eq!(sum(transform), Lanes { general: 4, eighths: 4 });
        // A twist by j/64 of a turn: j = 0 needs no multiplier, j = 8 is an eighth.
        let twisted = Transform { negacyclic: true, ..transform };
        assert_eq!(sum(twisted), Lanes { general: 4 + 14, eighths: 4 + 1 });
    }

    #[test]
    fn fewer_lanes_never_have_more_multipliers() {
        for log2_radix in 1..=5 {
            let of = |width| {
                let lanes = sum(Transform { points: 512, width, log2_radix, negacyclic: true });
                3 * lanes.general + 2 * lanes.eighths
            };
            let counts: Vec<u64> = (1..=9).map(|log2| of(1 << log2)).collect();
            assert!(counts.is_sorted(), "{counts:?}");
        }
    }

    #[test]
    fn stage_widths_determine_multipliers() {
        let machine = Fpt::new(&crate::description("fpt").expect("built in")).expect("its figures fit");
        let shape = machine.shape(&parameters("fpt-I")).expect("it fits");
        let usual = dsp(&machine, &shape);
        // 35 by 31 bits need four tiles; the 29 by 25 of table 2 need two.
        assert_eq!((usual.mac, usual.total()), (384 * 12, 10_980));
        // With radix 2^4, products follow stages 2, 4, 6 and 8 of nine; 35 bits need two tiles, 27 one.
        let after = |stage| Fpt { forward: machine.forward.with_stage(stage, 27), ..machine.clone() };
        let (first, second) = (dsp(&after(0), &shape), dsp(&after(1), &shape));
        assert_eq!(first, usual);
        assert!(second.forward < usual.forward && second.mac == usual.mac && second.inverse == usual.inverse);
        // The key multiplies the last stage's results.
        let last = shape.points.trailing_zeros() as usize - 1;
        assert!(dsp(&after(last), &shape).mac < usual.mac);
        // The inverse transform's twist follows its last stage.
        let inverse = Fpt { inverse: machine.inverse.with_stage(last, 27), ..machine.clone() };
        assert!(dsp(&inverse, &shape).inverse < usual.inverse);
    }
}
