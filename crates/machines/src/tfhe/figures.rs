//! The figures that machine files of this family share, and the functions that read them.

use super::pipeline::PipelineDepth;
use polyfabric_kernels::fixed::{FixedFftSpec, FixedWidths, RangeRule, Rounding, StageWidths};
use polyfabric_schemes::tfhe::Parameters;
use polyfabric_sim::description::{Description, DescriptionError, Dimension, FigureSpec, figure, joined, optional};

/// The figures of `machine.arithmetic.*` that override `transform` and `twiddle` for one part: the key's points, the forward transform, the
/// inverse transform, and the twiddle factors of these two transforms.
pub const WIDTHS: [&str; 5] = [
    "machine.arithmetic.key",
    "machine.arithmetic.forward",
    "machine.arithmetic.inverse",
    "machine.arithmetic.forward_twiddle",
    "machine.arithmetic.inverse_twiddle",
];

/// The figures that override the width of one stage's results, of the forward and of the inverse transform, without the stage's number.
/// Stage 1 is executed first, and smaller rings have fewer stages.
pub const STAGES: [&str; 2] = ["machine.arithmetic.forward_stage_", "machine.arithmetic.inverse_stage_"];

/// An optional width that [`fixed_point`] reads in addition to `transform` and `twiddle`.
const fn width_spec(key: &'static str) -> FigureSpec {
    optional(key, Dimension::Bits, 4.0, 60.0, "a width of the transform's arithmetic, apart from the others")
}

/// An optional width that [`stage_widths`] reads.
pub(crate) const fn stage_spec(key: &'static str) -> FigureSpec {
    let meaning = "the width of one stage's results, apart from the others";
    FigureSpec { meaning, numbered: Some(StageWidths::MOST), ..width_spec(key) }
}

/// The figures that determine the scaling of a transform's steps.
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

/// All figures that [`fixed_point`] reads. A machine has one width for everything, unless its file overrides it.
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
pub(crate) fn depth(machine: &Description) -> Result<PipelineDepth, DescriptionError> {
    Ok(PipelineDepth {
        adder: machine.count("units.pipeline.adder")?,
        multiplier: machine.count("units.pipeline.multiplier")?,
        memory: machine.count("units.pipeline.memory")?,
    })
}

/// `width` for every stage of a transform, except those that the file's figures `stages` override.
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

/// Fixed-point arithmetic by the figures `machine.arithmetic.*`: widths of the transforms and of their twiddle factors, and the scaling of
/// steps. A key with a separate width is transformed in advance and rounded once. Otherwise the machine's own transform computes it.
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
