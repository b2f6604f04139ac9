//! FPT's figures, checked, and the pipeline that they make for a parameter set.

use crate::torus::channels;
use crate::torus::pipeline::PipelineDepth;
use polyfabric_kernels::fixed::{StageWidths, Structure};
use polyfabric_schemes::tfhe::Parameters;

/// How many kernels share the external product's transforms (section 3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Balance {
    /// One forward kernel, l times as wide as the one inverse kernel; products are accumulated over the rows of the key.
    FftUnrolled,
    /// A forward kernel for every row of the key and an inverse one for every column, all of one width.
    DotProductUnrolled,
}

/// One FPT.
#[derive(Clone, Debug, PartialEq)]
pub struct Fpt {
    /// Clock in Hz.
    pub clock_hz: f64,
    /// Arrangement of the external product.
    pub balance: Balance,
    /// Complex points a cycle of the forward kernel, FFT-unrolled.
    pub forward_points: u64,
    /// Complex points a cycle of each kernel, dot-product-unrolled.
    pub kernel_points: u64,
    /// Ciphertexts of a batch, at least: the depth to which the pipeline is filled up with registers.
    pub batch: u64,
    /// k of the transforms' radix 2^k.
    pub log2_radix: u32,
    /// Largest ring degree.
    pub largest_ring: u64,
    /// Registers in the arithmetic units.
    pub depth: PipelineDepth,
    /// Cycles of one stage of the barrel shifter.
    pub multiplexer: u64,
    /// Bits of each part of the key's points.
    pub key_bits: u64,
    /// Bits of each part of the digits' points, stage by stage.
    pub forward: StageWidths,
    /// Bits of each part of sums of products and of the inverse transform, stage by stage.
    pub inverse: StageWidths,
    /// Bits of each part of the forward transform's twiddle factors.
    pub forward_twiddle: u64,
    /// Bits of each part of the inverse transform's twiddle factors.
    pub inverse_twiddle: u64,
    /// Bytes of the input FIFO.
    pub fifo: u64,
    /// Bytes of the test polynomials' RAM.
    pub tables: u64,
    /// Bytes of the output buffer.
    pub outputs: u64,
    /// Bytes of the HBM pseudo-channel of ciphertexts.
    pub hbm: u64,
    /// HBM pseudo-channels of the bootstrapping key.
    pub key_channels: u64,
    /// Bytes a cycle of one pseudo-channel.
    pub channel_bytes: f64,
    /// Cycles from a request to HBM to its first byte.
    pub memory_latency: u64,
    /// Bytes a cycle of the host link, in each direction.
    pub link_bytes: f64,
    /// Cycles from a call of the host to its first byte at the other end.
    pub link_latency: u64,
    /// Multiplications and additions a cycle of the host.
    pub host_rate: f64,
    /// Whether the host starts a batch before the one before has come back.
    pub overlap: bool,
    /// Bytes of ciphertexts on their way that the host holds.
    pub host_buffer: u64,
    /// Bytes a cycle of the host's memory.
    pub host_memory: f64,
}

/// Bytes of a rotation amount: at most 16 bits.
pub const AMOUNT_BYTES: u64 = 2;
/// Bytes of an element of an LWE ciphertext.
pub const ELEMENT_BYTES: u64 = 4;

/// The pipeline for one parameter set: widths, cycles and bytes. Cycles named `L` are from an element in to the element out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// N.
    pub ring_degree: u64,
    /// M = N/2.
    pub points: u64,
    /// k + 1.
    pub polynomials: u64,
    /// l.
    pub levels: u64,
    /// n.
    pub lwe_dimension: u64,
    /// kN.
    pub large_dimension: u64,
    /// Polynomials of the accumulator that pass side by side.
    pub side: u64,
    /// Rows of the key that pass side by side.
    pub side_rows: u64,
    /// Cycles of a step: the rows that pass side by side.
    pub step: i64,
    /// Cycles between groups of polynomials.
    pub group: i64,
    /// Cycles of an inverse transform.
    pub inverse_cycles: i64,
    /// Complex points a cycle of one forward and of one inverse kernel.
    pub widths: (u64, u64),
    /// Cycles of one CMUX: the pipeline takes up the next ciphertext.
    pub cmux: i64,
    /// L of reordering to bits, barrel shifter and subtraction.
    pub rotate: i64,
    /// L of decomposition.
    pub decompose: i64,
    /// L of the forward transform.
    pub forward: i64,
    /// L of the multipliers alone.
    pub multiply: i64,
    /// L of the additions behind them.
    pub add: i64,
    /// L of the inverse transform.
    pub inverse: i64,
    /// L of the accumulation.
    pub accumulate: i64,
    /// From a ciphertext's first element at the rotator to the first cycle in which the next iteration could read it.
    pub depth: i64,
    /// Ciphertexts of a batch: C of the C-slow pipeline.
    pub in_flight: u64,
    /// Cycles between two iterations of one ciphertext.
    pub period: i64,
    /// Cycles that the key of one iteration takes on its channels.
    pub key_cycles: i64,
    /// Bytes of a polynomial of the accumulator.
    pub polynomial: u64,
    /// Bytes of the digits of one level.
    pub digits: u64,
    /// Bytes of the transform of digits.
    pub spectrum: u64,
    /// Bytes of a sum of products, in the transform domain.
    pub sum: u64,
    /// Bytes of a polynomial of the key.
    pub key_polynomial: u64,
    /// What elements have.
    pub bits: Bits,
}

/// Bits of an element: of a coefficient, or of the real or imaginary part of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bits {
    /// Of accumulators.
    pub coefficient: u32,
    /// Of digits.
    pub digit: u32,
    /// Of digits' transforms.
    pub spectrum: u32,
    /// Of sums of products.
    pub sum: u32,
    /// Of the key.
    pub key: u32,
}

/// A parameter set that the pipeline cannot be built for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// A ring beyond the transforms.
    #[error(
        "set `{set}` has ring degree N = {ring_degree} and the pipeline is built for rings of up to N = {largest}: choose a \
         set with a smaller ring, or enlarge `units.cmux.largest_ring` in the machine file"
    )]
    Ring {
        /// Name of the set.
        set: String,
        /// Its ring degree.
        ring_degree: u64,
        /// Largest ring degree.
        largest: u64,
    },
    /// More points a cycle than a polynomial has.
    #[error(
        "`{figure}` is {width} complex points a cycle and a polynomial of set `{set}` has {points}: choose a set with a larger \
         ring, or fewer points a cycle in the machine file"
    )]
    Width {
        /// The figure.
        figure: &'static str,
        /// Its value.
        width: u64,
        /// Name of the set.
        set: String,
        /// N/2.
        points: u64,
    },
    /// A memory that is too small.
    #[error(
        "`{figure}` is {available} bytes and {needed} are needed for {content} of set `{set}`: choose a smaller set, or enlarge \
         it in the machine file"
    )]
    Memory {
        /// The figure.
        figure: &'static str,
        /// Bytes.
        available: u64,
        /// Bytes needed.
        needed: u64,
        /// What for.
        content: &'static str,
        /// Name of the set.
        set: String,
    },
}

impl Fpt {
    /// The same with other widths, and twiddle factors four bits narrower than their data (section 4.3).
    #[must_use]
    pub fn with_widths(&self, key: u32, forward: u32, inverse: u32) -> Self {
        Self {
            key_bits: key.into(),
            forward: forward.into(),
            inverse: inverse.into(),
            forward_twiddle: u64::from(forward) - 4,
            inverse_twiddle: u64::from(inverse) - 4,
            ..self.clone()
        }
    }

    /// Bits of each part of a digit polynomial's `points` points, as they are multiplied.
    pub fn spectrum_bits(&self, points: u64) -> u64 {
        self.forward.stage(points.trailing_zeros() as usize - 1).into()
    }

    /// Cycles of a complex product of three real ones: sum before, product, sum after (equation (6)).
    fn product(&self) -> i64 {
        (self.depth.multiplier + 2 * self.depth.adder) as i64
    }

    /// L of a transform of `points` points at `width` a cycle: the twist, a butterfly a stage, a product where radix 2^k has one that is
    /// not a quarter turn, and the shuffling circuits, which hold all points but those of one cycle.
    pub fn transform(&self, points: u64, width: u64) -> i64 {
        let stages = points.trailing_zeros();
        let structure = Structure::Twisted { log2_radix: self.log2_radix };
        let rotations = (0..stages).filter_map(|stage| structure.rotation(stages, stage));
        let products = 1 + rotations.filter(|rotation| rotation.order_log2() > 2).count() as i64;
        products * self.product() + i64::from(stages) * self.depth.adder as i64 + (points / width) as i64 - 1
    }

    /// The kernels of the external product of `polynomials` polynomials and `levels` digits of each (section 3.3), and the figure that their width
    /// comes from.
    fn kernels(&self, polynomials: u64, levels: u64) -> (Kernels, &'static str) {
        match self.balance {
            Balance::FftUnrolled => {
                let inverse = self.forward_points.div_ceil(levels).next_power_of_two();
                let widths = (self.forward_points, inverse);
                (Kernels { widths, side: 1, side_rows: 1 }, "units.cmux.forward_points")
            }
            Balance::DotProductUnrolled => {
                let widths = (self.kernel_points, self.kernel_points);
                (Kernels { widths, side: polynomials, side_rows: polynomials * levels }, "units.cmux.kernel_points")
            }
        }
    }

    /// Cycles from an element in to the element out of each part of the pipeline, where a group of polynomials passes in `group` cycles.
    fn latencies(&self, points: u64, kernels: &Kernels, group: i64) -> Latencies {
        let adder = self.depth.adder as i64;
        let memory = self.depth.memory as i64;
        // All of a polynomial is there before its bits can be turned, and again before its coefficients go on.
        let shifter = i64::from((2 * points).ilog2() + 1) * self.multiplexer as i64;
        Latencies {
            rotate: memory + group + shifter + adder,
            // Of bits that a decomposition keeps none is rounded away (section 3.5): one addition, of the digits' carries.
            decompose: adder,
            forward: self.transform(points, kernels.widths.0),
            multiply: self.product(),
            add: adder * i64::from(kernels.side_rows.next_power_of_two().ilog2().max(1)),
            inverse: self.transform(points, kernels.widths.1),
            accumulate: memory + adder,
        }
    }

    /// Bits of the values in the pipeline.
    fn bits(&self, parameters: &Parameters, points: u64) -> Bits {
        let gadget = parameters.bootstrap_gadget();
        Bits {
            coefficient: gadget.kept_bits().min(parameters.torus_bits()),
            digit: gadget.log2_base,
            spectrum: self.spectrum_bits(points) as u32,
            sum: self.inverse.input(),
            key: self.key_bits as u32,
        }
    }

    /// The pipeline for `parameters`.
    ///
    /// # Errors
    /// [`ShapeError`] when the set does not fit.
    pub fn shape(&self, parameters: &Parameters) -> Result<Shape, ShapeError> {
        let set = || parameters.name().to_owned();
        let ring_degree = parameters.ring_degree().get() as u64;
        if ring_degree > self.largest_ring {
            return Err(ShapeError::Ring { set: set(), ring_degree, largest: self.largest_ring });
        }
        let points = ring_degree / 2;
        let polynomials = parameters.glwe_dimension().get() as u64 + 1;
        let levels = u64::from(parameters.bootstrap_gadget().levels);
        let (kernels, figure) = self.kernels(polynomials, levels);
        let Kernels { widths, side, side_rows } = kernels;
        let (width, inverse_width) = widths;
        if width > points {
            return Err(ShapeError::Width { figure, width, set: set(), points });
        }
        let step = (points / width) as i64;
        let group = if side == 1 { levels as i64 * step } else { step };
        let cmux = group * (polynomials / side) as i64;
        let latencies = self.latencies(points, &kernels, group);
        let Latencies { rotate, decompose, forward, multiply, add, inverse, accumulate } = latencies;
        let steps = (polynomials * levels / side_rows) as i64;
        let to_multiply = rotate + group - 1 + decompose + forward;
        let to_accumulate = to_multiply + (steps - 1) * step + multiply + add + inverse;
        let depth = to_accumulate + accumulate + group - 1;
        let in_flight = self.batch.max((depth as u64).div_ceil(cmux as u64));
        let bits = self.bits(parameters, points);
        let bytes = |count: u64, bits: u32| (count * u64::from(bits)).div_ceil(8);
        let key_polynomial = bytes(2 * points, bits.key);
        let key = polynomials * polynomials * levels * key_polynomial;
        let key_cycles = channels::cycles(key.div_ceil(self.key_channels), self.channel_bytes);
        Ok(Shape {
            ring_degree,
            points,
            polynomials,
            levels,
            lwe_dimension: parameters.lwe_dimension().get() as u64,
            large_dimension: parameters.large_lwe_dimension().get() as u64,
            side,
            side_rows,
            step,
            group,
            inverse_cycles: (points / inverse_width) as i64,
            widths,
            cmux,
            rotate,
            decompose,
            forward,
            multiply,
            add,
            inverse,
            accumulate,
            depth,
            in_flight,
            period: (in_flight as i64 * cmux).max(key_cycles),
            key_cycles,
            polynomial: bytes(ring_degree, bits.coefficient),
            digits: bytes(ring_degree, bits.digit),
            spectrum: bytes(2 * points, bits.spectrum),
            sum: bytes(2 * points, bits.sum),
            key_polynomial,
            bits,
        })
    }
}

/// The transforms of an external product.
struct Kernels {
    /// Complex points a cycle of one forward and of one inverse kernel.
    widths: (u64, u64),
    /// Polynomials of the accumulator that pass side by side.
    side: u64,
    /// Rows of the key that pass side by side.
    side_rows: u64,
}

/// `L` of each part, as in [`Shape`].
struct Latencies {
    rotate: i64,
    decompose: i64,
    forward: i64,
    multiply: i64,
    add: i64,
    inverse: i64,
    accumulate: i64,
}

impl Shape {
    /// Rows of the key.
    pub fn rows(&self) -> u64 {
        self.polynomials * self.levels
    }

    /// Steps of a CMUX: rows that pass one after the other.
    pub fn steps(&self) -> u64 {
        self.rows() / self.side_rows
    }

    /// Groups of polynomials of a CMUX.
    pub fn groups(&self) -> u64 {
        self.polynomials / self.side
    }

    /// From a ciphertext's first element at the rotator to its first digit's decomposition.
    pub fn to_decompose(&self) -> i64 {
        self.rotate + self.group - 1
    }

    /// The same to the multipliers.
    pub fn to_multiply(&self) -> i64 {
        self.to_decompose() + self.decompose + self.forward
    }

    /// The same to the inverse transform.
    pub fn to_inverse(&self) -> i64 {
        self.to_multiply() + (self.steps() as i64 - 1) * self.step + self.multiply + self.add
    }

    /// The same to the accumulation.
    pub fn to_accumulate(&self) -> i64 {
        self.to_inverse() + self.inverse
    }

    /// Bytes of an accumulator.
    pub fn accumulator(&self) -> u64 {
        self.polynomials * self.polynomial
    }

    /// Bytes of the key of a step.
    pub fn step_key(&self) -> u64 {
        self.side_rows * self.polynomials * self.key_polynomial
    }

    /// Bytes of the key of an iteration.
    pub fn key(&self) -> u64 {
        self.steps() * self.step_key()
    }

    /// Bytes of the rotation amounts of a ciphertext.
    pub fn amounts(&self) -> u64 {
        (self.lwe_dimension + 1) * AMOUNT_BYTES
    }

    /// Bytes of a ciphertext under the small key.
    pub fn small(&self) -> u64 {
        (self.lwe_dimension + 1) * ELEMENT_BYTES
    }

    /// Bytes of a ciphertext under the large key.
    pub fn large(&self) -> u64 {
        (self.large_dimension + 1) * ELEMENT_BYTES
    }

    /// Real multiply-accumulate units of the dot products, each a complex one.
    pub fn macs(&self) -> u64 {
        self.side_rows * self.widths.0 * self.polynomials
    }
}
