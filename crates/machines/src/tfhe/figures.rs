//! The figures that machine files of this family share: what they are, and what is read from them.

use super::pipeline::PipelineDepth;
use crate::engine::description::{Description, DescriptionError, Dimension, FigureSpec, figure, joined, optional};
use polyfabric_kernels::fixed::{FixedFftSpec, FixedWidths, RangeRule, Rounding, StageWidths};
use polyfabric_schemes::tfhe::Parameters;

/// The figures of `machine.arithmetic.*` that set widths apart from `transform` and `twiddle`, which stand for all that a file does not
/// name: of the key's points, the forward and the inverse transform, and of the latter two's twiddle factors.
pub const WIDTHS: [&str; 5] = [
    "machine.arithmetic.key",
    "machine.arithmetic.forward",
    "machine.arithmetic.inverse",
    "machine.arithmetic.forward_twiddle",
    "machine.arithmetic.inverse_twiddle",
];

/// The figures that set the width of one stage's results apart, of the forward and of the inverse transform, less the stage's number: 1 is
/// the first that is executed, and smaller rings have fewer.
pub const STAGES: [&str; 2] = ["machine.arithmetic.forward_stage_", "machine.arithmetic.inverse_stage_"];

/// What a machine file of this family may say of the widths that [`fixed_point`] reads, beside `transform` and `twiddle`.
const fn width_spec(key: &'static str) -> FigureSpec {
    optional(key, Dimension::Bits, 4.0, 60.0, "a width of the transform's arithmetic, apart from the others")
}

/// The widths that [`stage_widths`] reads.
pub(crate) const fn stage_spec(key: &'static str) -> FigureSpec {
    let meaning = "the width of one stage's results, apart from the others";
    FigureSpec { meaning, numbered: Some(StageWidths::MOST), ..width_spec(key) }
}

/// What the scaling of a transform's steps follows from.
pub(crate) const SCALING: &[FigureSpec] = &[
    figure(
        "machine.arithmetic.overflow_log2",
        Dimension::Bits,
        1.0,
        256.0,
        "minus log2 of the probability that a value overflows",
    ),
    figure(
        "machine.arithmetic.first_step",
        Dimension::Ratio,
        0.0,
        0.5,
        "the largest step of a test polynomial, as a share of the torus",
    ),
];

/// All that [`fixed_point`] reads, of machines that have one width for everything if a file says no more.
pub(crate) const FIXED_POINT: &[FigureSpec] = {
    let general =
        &[figure("machine.arithmetic.transform", Dimension::Bits, 8.0, 60.0, "the width of a transform value's part")];
    let apart = &[
        width_spec(WIDTHS[0]),
        width_spec(WIDTHS[1]),
        width_spec(WIDTHS[2]),
        width_spec(WIDTHS[3]),
        width_spec(WIDTHS[4]),
        stage_spec(STAGES[0]),
        stage_spec(STAGES[1]),
    ];
    let twiddle =
        &[figure("machine.arithmetic.twiddle", Dimension::Bits, 8.0, 52.0, "the width of a twiddle factor's part")];
    &joined::<11>(&[general, apart, twiddle, SCALING])
};

/// The registers in the arithmetic units.
///
/// # Errors
/// A figure that is unknown.
pub(crate) fn depth(machine: &Description) -> Result<PipelineDepth, DescriptionError> {
    Ok(PipelineDepth {
        adder: machine.count("units.pipeline.adder")?,
        multiplier: machine.count("units.pipeline.multiplier")?,
        memory: machine.count("units.pipeline.memory")?,
    })
}

/// `width` for every stage of a transform but those that a file's figures `stages` set apart.
///
/// # Errors
/// A figure that is unknown.
pub(crate) fn stage_widths(
    machine: &Description,
    stages: &'static str,
    width: u32,
) -> Result<StageWidths, DescriptionError> {
    let mut widths = StageWidths::uniform(width);
    for stage in 0..StageWidths::MOST {
        let key = format!("{stages}{}", stage + 1);
        if machine.figures().contains_key(&key) {
            widths = widths.with_stage(stage, machine.count(&key)? as u32);
        }
    }
    Ok(widths)
}

/// Fixed point as the figures `machine.arithmetic.*` say: widths of the transforms and of their twiddles, and how steps are scaled. A key
/// with a width of its own is transformed beforehand and rounded once; otherwise the machine's own transform makes it.
///
/// # Errors
/// A figure that is unknown.
pub(crate) fn fixed_point(machine: &Description, parameters: &Parameters) -> Result<FixedFftSpec, DescriptionError> {
    let named = |key: &str| machine.figures().contains_key(key);
    let width = |key: &str, general: &str| {
        let key = if named(key) { key } else { general };
        machine.count(key).map(|bits| bits as u32)
    };
    let [key, forward, inverse, forward_twiddle, inverse_twiddle] = WIDTHS;
    let (transform, twiddle) = ("machine.arithmetic.transform", "machine.arithmetic.twiddle");
    let inverse = width(inverse, transform)?;
    let widths = FixedWidths {
        digits: stage_widths(machine, STAGES[0], width(forward, transform)?)?,
        key: width(key, transform)?,
        accumulator: inverse,
        twiddle: width(forward_twiddle, twiddle)?,
        inverse_twiddle: width(inverse_twiddle, twiddle)?,
        ..FixedWidths::uniform(width(key, transform)?).with_twiddles(width(forward_twiddle, twiddle)?)
    };
    let inverse = stage_widths(machine, STAGES[1], inverse)?;
    let widths = FixedWidths { inverse, ..if named(key) { widths.with_key_made_elsewhere() } else { widths } };
    let rule = RangeRule::OverflowProbability {
        log2: -machine.value("machine.arithmetic.overflow_log2")?,
        first_step: machine.value("machine.arithmetic.first_step")?,
    };
    Ok(FixedFftSpec::for_external_product(
        parameters.ring_degree(),
        parameters.bootstrap_gadget(),
        parameters.glwe_dimension().get(),
        parameters.torus_bits(),
        widths,
        Rounding::HalfEven,
        rule,
    ))
}
