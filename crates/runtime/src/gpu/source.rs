//! Source text of the kernels, and the definitions that depend on the parameter set.

use std::fmt::Write;

/// Interface of the kernels to a card.
const DEVICE: &str = include_str!("kernels/device.h");

/// Kernels compiled together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Names and values of definitions.
    pub definitions: Vec<(&'static str, u64)>,
    /// Names and texts of the files, in order.
    pub files: Vec<(&'static str, &'static str)>,
    pub kernels: Vec<&'static str>,
}

impl Source {
    /// The kernels of TFHE.
    pub(super) fn tfhe(definitions: Vec<(&'static str, u64)>) -> Self {
        let files = vec![
            ("fft.h", include_str!("kernels/fft.h")),
            ("blind_rotation.cu", include_str!("kernels/blind_rotation.cu")),
            ("batches.cu", include_str!("kernels/batches.cu")),
            ("key_switch.cu", include_str!("kernels/key_switch.cu")),
        ];
        let kernels = vec![
            "blind_rotation",
            "transform_key",
            "linear",
            "gather",
            "modulus_switch",
            "sample_extract",
            "switch_digits",
            "cut_key",
            "key_switch",
        ];
        Self { definitions, files, kernels }
    }

    /// The kernels of CKKS and BGV; `columns` for rings transformed in two passes.
    pub(super) fn rns(definitions: Vec<(&'static str, u64)>, columns: bool) -> Self {
        let files = vec![
            ("residues.h", include_str!("kernels/residues.h")),
            ("ntt.cu", include_str!("kernels/ntt.cu")),
            ("words.cu", include_str!("kernels/words.cu")),
            ("conversions.cu", include_str!("kernels/conversions.cu")),
        ];
        let mut kernels = vec!["forward_rows", "inverse_rows", "sums", "inner_products", "loads", "conversions"];
        if columns {
            kernels.extend(["forward_columns", "inverse_columns"]);
        }
        Self { definitions, files, kernels }
    }

    /// The whole text, with `beneath` as the implementation of the card's facilities; `None` for an actual card.
    pub fn text(&self, beneath: Option<&str>) -> String {
        let mut text = String::new();
        for (name, value) in &self.definitions {
            // Writing to a string does not fail.
            let _ = writeln!(text, "#define {name} {value}u");
        }
        let beneath = ("device.h", beneath.unwrap_or(DEVICE));
        for (name, part) in [beneath].into_iter().chain(self.files.iter().copied()) {
            let _ = writeln!(text, "#line 1 \"{name}\"");
            text.push_str(part);
        }
        text
    }
}
