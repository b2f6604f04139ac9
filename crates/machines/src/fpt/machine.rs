//! FPT's figures, and the pipeline that they imply for a parameter set.

use crate::tfhe::channels;
use crate::tfhe::figures::{SCALING, STAGES, depth, stage_spec, stage_widths};
use crate::tfhe::pipeline::PipelineDepth;
use polyfabric_kernels::fixed::{StageWidths, Structure};
use polyfabric_schemes::tfhe::Parameters;
use polyfabric_sim::description::Dimension::{Bandwidth, Bits as Width, Bytes, Count, Cycles, Frequency, Rate};
use polyfabric_sim::description::{Description, FigureError, FigureSpec, energy, figure, flag, joined};
use polyfabric_sim::figures;

/// The two designs of the external product (section 3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Balance {
    /// One forward kernel, l times as wide as the one inverse kernel; products are accumulated over the rows of the
    /// key.
    FftUnrolled,
    /// One forward kernel per row of the key and one inverse kernel per column, all of the same width.
    DotProductUnrolled,
}

figures! {
    pub struct Fpt, OWN {
        figure("clock", Frequency, 1e6, 1e11, "the clock") => clock_hz: f64;
        flag("units.cmux.fft_unrolled", "whether the transform or the dot product is unrolled");
        figure("units.cmux.forward_points", Rate, 2.0, 4096.0, "the forward kernel's width, FFT-unrolled") => forward_points: u64;
        figure("units.cmux.kernel_points", Rate, 2.0, 4096.0, "each kernel's width, dot-product-unrolled") => kernel_points: u64;
        figure("units.cmux.batch", Count, 1.0, 128.0, "the ciphertexts that the pipeline is deep enough for") => batch: u64;
        figure("units.cmux.log2_radix", Count, 1.0, 8.0, "k of the transforms' radix 2^k") => log2_radix: u32;
        figure("units.cmux.largest_ring", Count, 32.0, 32768.0, "the largest ring degree of the pipeline") => largest_ring: u64;
        figure("units.pipeline.adder", Cycles, 1.0, 64.0, "the registers of an adder");
        figure("units.pipeline.multiplier", Cycles, 1.0, 64.0, "the registers of a multiplier");
        figure("units.pipeline.memory", Cycles, 1.0, 64.0, "the registers of a reordering block");
        figure("units.pipeline.multiplexer", Cycles, 1.0, 64.0, "the registers of a stage of the barrel shifter") => multiplexer: u64;
        flag("units.host.overlap", "whether the host starts a batch before the previous batch returns") => overlap: bool;
        figure("units.host.rate", Rate, 0.01, 1e6, "the multiplications and additions of the host") => host_rate: f64;
        figure("memories.fifo.capacity", Bytes, 64.0, 1e12, "the size of the input FIFO") => fifo: u64;
        figure("memories.tables.capacity", Bytes, 64.0, 1e12, "the size of the test polynomials' RAM") => tables: u64;
        figure("memories.outputs.capacity", Bytes, 64.0, 1e12, "the size of the output buffer") => outputs: u64;
        figure("memories.card.capacity", Bytes, 64.0, 1e12, "the memory on the chip, in blocks of any kind") => card: u64;
        figure("memories.hbm.capacity", Bytes, 64.0, 1e12, "the size of the ciphertexts' pseudo-channel") => hbm: u64;
        figure("memories.host.capacity", Bytes, 64.0, 1e12, "the size of the host's buffer for ciphertexts in transit") => host_buffer: u64;
        figure("channels.hbm.key_channels", Count, 1.0, 1024.0, "the pseudo-channels of the bootstrapping key") => key_channels: u64;
        figure("channels.hbm.bandwidth", Bandwidth, 1e6, 1e15, "the bandwidth of one pseudo-channel") => channel_bytes: f64;
        figure("channels.hbm.latency", Cycles, 0.0, 1e6, "the latency of the memory") => memory_latency: u64;
        energy("channels.hbm.energy");
        figure("channels.host_link.bandwidth", Bandwidth, 1e6, 1e15, "the bandwidth of the host link, each way") => link_bytes: f64;
        figure("channels.host_link.latency", Cycles, 0.0, 1e9, "the latency of the host link") => link_latency: u64;
        figure("channels.host_memory.bandwidth", Bandwidth, 1e6, 1e15, "the bandwidth of the host's memory") => host_memory: f64;
        figure("machine.arithmetic.coefficient", Width, 32.0, 32.0, "the width of an element of a ciphertext outside the pipeline");
        figure("machine.arithmetic.key", Width, 8.0, 58.0, "the width of a key point's part") => key_bits: u64;
        figure("machine.arithmetic.forward", Width, 8.0, 58.0, "the width of a part in the forward transform");
        figure("machine.arithmetic.inverse", Width, 8.0, 60.0, "the width of a part in the inverse transform");
        stage_spec(STAGES[0]);
        stage_spec(STAGES[1]);
        figure("machine.arithmetic.forward_twiddle", Width, 4.0, 52.0, "the forward twiddle factors' width") => forward_twiddle: u64;
        figure("machine.arithmetic.inverse_twiddle", Width, 4.0, 52.0, "the inverse twiddle factors' width") => inverse_twiddle: u64;
    }
    d => {
        balance: Balance = match d.flag("units.cmux.fft_unrolled")? {
            true => Balance::FftUnrolled,
            false => Balance::DotProductUnrolled,
        },
        depth: PipelineDepth = depth(d)?,
        /// Bits of the real or imaginary part of a digits' point, by stage.
        forward: StageWidths = stage_widths(d, STAGES[0], d.count("machine.arithmetic.forward")? as u32)?,
        /// Likewise for sums of products and the inverse transform.
        inverse: StageWidths = stage_widths(d, STAGES[1], d.count("machine.arithmetic.inverse")? as u32)?,
    }
}

pub const SPECS: &[FigureSpec] = &joined::<{ OWN.len() + SCALING.len() }>(&[OWN, SCALING]);

/// Bytes of a rotation amount, at most 16 bits.
pub const AMOUNT_BYTES: u64 = 2;
/// Bytes of an element of an LWE ciphertext.
pub const ELEMENT_BYTES: u64 = 4;

/// The pipeline for one parameter set. Latencies count cycles from the first input element to the first output element.
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
    /// Polynomials of the accumulator processed in parallel.
    pub side: u64,
    /// Rows of the key processed in parallel.
    pub side_rows: u64,
    /// Cycles per step, which processes `side_rows` rows.
    pub step: i64,
    /// Cycles between groups of `side` polynomials.
    pub group: i64,
    pub inverse_cycles: i64,
    /// Complex points per cycle of a forward and of an inverse kernel.
    pub widths: (u64, u64),
    /// Initiation interval of a CMUX.
    pub cmux: i64,
    /// Latency of reordering to bits, barrel shifter and subtraction.
    pub rotate: i64,
    /// Latency of decomposition.
    pub decompose: i64,
    /// Latency of the forward transform.
    pub forward: i64,
    /// Latency of the multipliers, without the adders.
    pub multiply: i64,
    /// Latency of the adders after the multipliers.
    pub add: i64,
    /// Latency of the inverse transform.
    pub inverse: i64,
    /// Latency of the accumulation.
    pub accumulate: i64,
    /// Cycles from a ciphertext's first element at the rotator to the first cycle in which the next iteration can read
    /// it.
    pub depth: i64,
    /// Ciphertexts per batch: C of the C-slow pipeline.
    pub in_flight: u64,
    /// Cycles between two iterations of one ciphertext.
    pub period: i64,
    /// Cycles to transfer the key of one iteration.
    pub key_cycles: i64,
    /// Bytes of a polynomial of the accumulator.
    pub polynomial: u64,
    /// Bytes of the digits of one level.
    pub digits: u64,
    /// Bytes of the transform of digits.
    pub spectrum: u64,
    /// Bytes of a sum of products in the transform domain.
    pub sum: u64,
    /// Bytes of a polynomial of the key.
    pub key_polynomial: u64,
    pub bits: Bits,
}

/// Bits of a coefficient, or of the real or imaginary part of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bits {
    pub coefficient: u32,
    pub digit: u32,
    pub spectrum: u32,
    pub sum: u32,
    pub key: u32,
}

/// Why no pipeline exists for a parameter set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    #[error(
        "set `{set}` has ring degree N = {ring_degree} and the pipeline is built for rings of up to N = {largest}: choose a \
         set with a smaller ring, or enlarge `units.cmux.largest_ring` in the machine file"
    )]
    Ring { set: String, ring_degree: u64, largest: u64 },
    #[error(
        "`{figure}` is {width} complex points a cycle and a polynomial of set `{set}` has {points}: choose a set with a larger \
         ring, or fewer points a cycle in the machine file"
    )]
    Width { figure: &'static str, width: u64, set: String, points: u64 },
    #[error(
        "`{figure}` is {available} bytes and {needed} are needed for {content} of set `{set}`: choose a smaller set, or enlarge \
         it in the machine file"
    )]
    Memory { figure: &'static str, available: u64, needed: u64, content: &'static str, set: String },
}

impl Fpt {
    /// Reads and checks the figures.
    pub fn new(d: &Description) -> Result<Self, FigureError> {
        let machine = Self::read(d)?;
        for (key, width) in
            [("units.cmux.forward_points", machine.forward_points), ("units.cmux.kernel_points", machine.kernel_points)]
        {
            let cause = "the transforms need powers of two as points per cycle and ring degrees";
            let holds = width.is_power_of_two() && machine.largest_ring.is_power_of_two();
            d.together(key, "units.cmux.largest_ring", cause, holds)?;
        }
        Ok(machine)
    }

    /// Bits of the real or imaginary part of a transformed digit, for a transform of `points` points.
    pub fn spectrum_bits(&self, points: u64) -> u64 {
        self.forward.stage(points.trailing_zeros() as usize - 1).into()
    }

    /// Latency of a complex product made of three real ones: sum, product, sum (equation (6)).
    fn product(&self) -> i64 {
        (self.depth.multiplier + 2 * self.depth.adder) as i64
    }

    /// Latency of a transform of `points` points, `width` per cycle: the twist, an addition per stage, a product for
    /// each stage whose rotation is not a multiple of a quarter turn, and the shuffling circuits, which buffer all
    /// points except those of one cycle.
    pub fn transform(&self, points: u64, width: u64) -> i64 {
        let stages = points.trailing_zeros();
        let structure = Structure::Twisted { log2_radix: self.log2_radix };
        let rotations = (0..stages).filter_map(|stage| structure.rotation(stages, stage));
        let products = 1 + rotations.filter(|rotation| rotation.order_log2() > 2).count() as i64;
        products * self.product() + i64::from(stages) * self.depth.adder as i64 + (points / width) as i64 - 1
    }

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

    pub fn shape(&self, parameters: &Parameters) -> Result<Shape, ShapeError> {
        let set = || parameters.name().to_owned();
        let ring_degree = parameters.ring_degree().get() as u64;
        if ring_degree > self.largest_ring {
            return Err(ShapeError::Ring { set: set(), ring_degree, largest: self.largest_ring });
        }
        let points = ring_degree / 2;
        let polynomials = parameters.glwe_dimension().get() as u64 + 1;
        let levels = u64::from(parameters.bootstrap_gadget().levels);
        // The kernels' complex points per cycle (section 3.3); polynomials of the accumulator and rows of the key that
        // they process in parallel; the figure that sets their width.
        let (widths, side, side_rows, figure) = match self.balance {
            Balance::FftUnrolled => {
                let inverse = self.forward_points.div_ceil(levels).next_power_of_two();
                ((self.forward_points, inverse), 1, 1, "units.cmux.forward_points")
            }
            Balance::DotProductUnrolled => {
                let widths = (self.kernel_points, self.kernel_points);
                (widths, polynomials, polynomials * levels, "units.cmux.kernel_points")
            }
        };
        let (width, inverse_width) = widths;
        if width > points {
            return Err(ShapeError::Width { figure, width, set: set(), points });
        }
        let step = (points / width) as i64;
        let group = if side == 1 { levels as i64 * step } else { step };
        let cmux = group * (polynomials / side) as i64;
        let (adder, memory) = (self.depth.adder as i64, self.depth.memory as i64);
        // The barrel shifter needs all of a polynomial, and its output is reordered back, so a group is buffered.
        let shifter = i64::from((2 * points).ilog2() + 1) * self.multiplexer as i64;
        let rotate = memory + group + shifter + adder;
        // The decomposition keeps all bits of the accumulator (section 3.5), so it needs no rounding: one addition for
        // the digits' carries.
        let decompose = adder;
        let (forward, inverse) = (self.transform(points, width), self.transform(points, inverse_width));
        let (multiply, accumulate) = (self.product(), memory + adder);
        let add = adder * i64::from(side_rows.next_power_of_two().ilog2().max(1));
        let steps = (polynomials * levels / side_rows) as i64;
        let to_multiply = rotate + group - 1 + decompose + forward;
        let to_accumulate = to_multiply + (steps - 1) * step + multiply + add + inverse;
        let depth = to_accumulate + accumulate + group - 1;
        let in_flight = self.batch.max((depth as u64).div_ceil(cmux as u64));
        let bits = self.bits(parameters, points);
        let bytes = |count: u64, bits: u32| (count * u64::from(bits)).div_ceil(8);
        let key_polynomial = bytes(2 * points, bits.key);
        let key = polynomials * polynomials * levels * key_polynomial;
        // The ping-pong buffer and what the file has; everything else of the pipeline is registers.
        let needed = 2 * key + self.fifo + self.tables + self.outputs;
        if needed > self.card {
            let (figure, available) = ("memories.card.capacity", self.card);
            let content = "the keys of two iterations, FIFO, test polynomials and outputs";
            return Err(ShapeError::Memory { figure, available, needed, content, set: set() });
        }
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

impl Shape {
    pub fn rows(&self) -> u64 {
        self.polynomials * self.levels
    }

    /// Steps of a CMUX, in sequence.
    pub fn steps(&self) -> u64 {
        self.rows() / self.side_rows
    }

    pub fn groups(&self) -> u64 {
        self.polynomials / self.side
    }

    /// Cycles from a ciphertext's first element at the rotator to the decomposition of its first digit.
    pub fn to_decompose(&self) -> i64 {
        self.rotate + self.group - 1
    }

    /// Likewise, to the multipliers.
    pub fn to_multiply(&self) -> i64 {
        self.to_decompose() + self.decompose + self.forward
    }

    /// Likewise, to the inverse transform.
    pub fn to_inverse(&self) -> i64 {
        self.to_multiply() + (self.steps() as i64 - 1) * self.step + self.multiply + self.add
    }

    /// Likewise, to the accumulation.
    pub fn to_accumulate(&self) -> i64 {
        self.to_inverse() + self.inverse
    }

    pub fn accumulator(&self) -> u64 {
        self.polynomials * self.polynomial
    }

    pub fn step_key(&self) -> u64 {
        self.side_rows * self.polynomials * self.key_polynomial
    }

    pub fn key(&self) -> u64 {
        self.steps() * self.step_key()
    }

    /// Bytes of a ciphertext's rotation amounts.
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

    /// Complex multiply-accumulate units of the dot products.
    pub fn macs(&self) -> u64 {
        self.side_rows * self.widths.0 * self.polynomials
    }
}
