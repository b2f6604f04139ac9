//! If quantised twiddle factors are the only error, does it match the model for any widths and structure?
use super::{FPT_RULE, product_error, spec};
use polyfabric_kernels::Gadget;
use polyfabric_kernels::fixed::{FixedFft, FixedFftSpec, FixedWidths, Structure};
use polyfabric_kernels::internals::relative_error;

const STRUCTURES: [Structure; 3] =
    [Structure::Merged, Structure::Twisted { log2_radix: 4 }, Structure::Twisted { log2_radix: 1 }];

/// Few bits for the factors of each transform, and of all three; the rest is wide enough to be exact.
fn narrow_twiddles(bits: u32) -> [FixedWidths; 4] {
    let exact = FixedWidths::uniform(46).with_twiddles(44);
    [
        FixedWidths { twiddle: bits, ..exact },
        FixedWidths { key_twiddle: bits, ..exact },
        FixedWidths { inverse_twiddle: bits, ..exact },
        exact.with_twiddles(bits),
    ]
}

fn of(log2_degree: u32, gadget: Gadget, widths: FixedWidths, structure: Structure) -> FixedFftSpec {
    spec::<u32>(log2_degree, gadget, 1, widths, FPT_RULE).with_structure(structure)
}

/// Ratio of `square` of the errors of `count` external products to `model`: mean and measured standard deviation.
fn ratio(spec: &FixedFftSpec, gadget: Gadget, count: u32, model: f64, square: impl Fn(&[f64]) -> f64) -> (f64, f64) {
    let fft = FixedFft::new(spec.clone()).unwrap();
    let ratios = (0..count).map(|product| {
        let (errors, saturations) = product_error::<u32>(&fft, gadget, 2 * gadget.levels, product);
        assert_eq!(saturations, 0);
        square(&errors) / model
    });
    let (sum, squares) = ratios.fold((0.0, 0.0), |(sum, squares), ratio| (sum + ratio, squares + ratio * ratio));
    let (count, mean) = (f64::from(count), sum / f64::from(count));
    (mean, ((squares / count - mean * mean) / (count - 1.0)).sqrt())
}

/// To 5 % plus five deviations of the mean over the products, 10 % in total.
#[test]
fn errors_have_the_variance_of_the_tables() {
    let gadget = Gadget { log2_base: 6, levels: 2 };
    let variance = |errors: &[f64]| errors.iter().map(|error| error * error).sum::<f64>() / errors.len() as f64;
    for structure in STRUCTURES {
        for (log2_degree, count) in [(8, 120), (10, 30)] {
            for widths in [16, 20].into_iter().flat_map(narrow_twiddles) {
                let spec = of(log2_degree, gadget, widths, structure);
                let (mean, deviation) = ratio(&spec, gadget, count, spec.error(gadget, 4, 32).variance, variance);
                assert!(deviation < 0.015, "{deviation}");
                assert!(
                    (mean - 1.0).abs() < 0.05 + 5.0 * deviation,
                    "{structure:?} N 2^{log2_degree} {widths:?}: {mean} ± {deviation} of the model"
                );
            }
        }
    }
}

/// For digits −1 and 0, whose mean has half of their energy: the error's component along 1 + X + … + X^(N−1), nearly all at two points.
#[test]
fn errors_are_concentrated_as_modelled() {
    let gadget = Gadget { log2_base: 1, levels: 2 };
    // The mean square of the product with that polynomial, over N.
    let with_ones = |errors: &[f64]| {
        let mut running = -errors.iter().sum::<f64>();
        let squares = errors.iter().map(|error| {
            running += 2.0 * error;
            running * running
        });
        squares.sum::<f64>() / (errors.len() * errors.len()) as f64
    };
    let mut concentrations = vec![];
    for structure in STRUCTURES {
        for widths in narrow_twiddles(18) {
            let spec = of(8, gadget, widths, structure);
            let error = spec.error(gadget, 4, 32);
            let model = error.variance * (1.0 + error.concentration);
            let (mean, deviation) = ratio(&spec, gadget, 800, model, with_ones);
            assert!(deviation < 0.04, "{deviation}");
            assert!(
                (mean - 1.0).abs() < 0.05 + 5.0 * deviation,
                "{structure:?} {widths:?}: {mean} ± {deviation} of the model, concentration {}",
                error.concentration
            );
            concentrations.push(error.concentration);
        }
    }
    // Depending on the tables: from less than a white error to forty times that.
    assert!(concentrations.iter().any(|&one| one < -0.4) && concentrations.iter().any(|&one| one > 40.0));
}

/// With equal tables, all three transforms have the same error at each point: together more than the sum of their separate errors. This effect is
/// larger with merged tables than with twisted ones, whose error differs per coefficient.
#[test]
fn equal_tables_add_up() {
    let gadget = Gadget { log2_base: 6, levels: 2 };
    for structure in STRUCTURES {
        let [digits, key, inverse, all] =
            narrow_twiddles(16).map(|widths| relative_error(&of(10, gadget, widths, structure), gadget).energy);
        let (ratio, least) = (all / (digits + key + inverse), if structure == Structure::Merged { 1.2 } else { 1.01 });
        assert!((least..1.4).contains(&ratio), "{structure:?}: {ratio}");
    }
}
