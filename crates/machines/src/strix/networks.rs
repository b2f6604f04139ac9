//! Zama's Deep-NN as figure 7 has it, as kernel programs to be timed: shapes of section VI-B, every weight 1.

use polyfabric_program::tfhe::Matrix;
use polyfabric_program::tfhe::kernel::{
    KernelProgram, Op, OpKind, Output, Run, TableChoice, TestPolynomial, ValueId, ValueType, blind_rotation_body,
    key_switch_body,
};
use polyfabric_program::tfhe::lowering::TfheLowering;
use polyfabric_schemes::tfhe::{LweKind, Parameters};
use std::sync::Arc;

/// Side of the image.
const IMAGE: usize = 28;
/// Filters, rows and columns of the first layer's output.
const CONVOLVED: (usize, usize, usize) = (2, 21, 20);
/// Neurons of a dense layer.
const NEURONS: usize = 92;

/// Weights of the first layer: each output sees the window that leaves [`CONVOLVED`] of the image.
fn convolution() -> Vec<Vec<(usize, i64)>> {
    let (filters, rows, columns) = CONVOLVED;
    let window = |row: usize, column: usize| {
        let places = (row..row + IMAGE - rows + 1)
            .flat_map(move |y| (column..column + IMAGE - columns + 1).map(move |x| (y, x)));
        places.map(|(y, x)| (y * IMAGE + x, 1)).collect()
    };
    let places =
        (0..filters).flat_map(|_| (0..rows).flat_map(move |row| (0..columns).map(move |column| (row, column))));
    places.map(|(row, column)| window(row, column)).collect()
}

/// NN-`depth`: the convolution, `depth` - 1 dense layers, and a look-up with its key switch for every activation.
pub fn deep_nn(depth: usize, parameters: &Parameters, choice: &TfheLowering) -> Option<KernelProgram> {
    let n = parameters.lwe_dimension().get();
    let large = parameters.large_lwe_dimension().get();
    let degree = parameters.ring_degree().get();
    let levels = parameters.key_switch_gadget()?.levels;
    let rotation =
        blind_rotation_body(parameters.glwe_dimension().get(), parameters.bootstrap_gadget().levels, n, choice);
    let switch = key_switch_body(large, levels);
    let small = |count| ValueType::Lwe { count, kind: LweKind::Small, dimension: n };
    let input = OpKind::Input { name: "image".into() };
    let mut ops = vec![Op { kind: input, operands: vec![], result: small(IMAGE * IMAGE), origin: None }];
    let mut push = |kind, result| {
        let operand = ValueId(ops.len() as u32 - 1);
        ops.push(Op { kind, operands: vec![operand], result, origin: None });
    };
    let mut width = IMAGE * IMAGE;
    for layer in 0..depth {
        let rows = match layer {
            0 => convolution(),
            _ => (0..NEURONS).map(|_| (0..width).map(|column| (column, 1)).collect()).collect(),
        };
        let count = rows.len();
        let matrix = Arc::new(Matrix::from_rows(width, &rows).ok()?);
        push(OpKind::Linear { matrix, bias: vec![0; count].into() }, small(count));
        let log2_modulus = degree.trailing_zeros() + 1;
        push(OpKind::PLAIN_SWITCH, ValueType::Indices { count, dimension: n, log2_modulus });
        let tables = TableChoice::Shared(0);
        push(OpKind::BlindRotation { tables, body: Arc::clone(&rotation) }, ValueType::Glwe { count });
        push(OpKind::PLAIN_EXTRACT, ValueType::Lwe { count, kind: LweKind::Large, dimension: large });
        push(OpKind::KeySwitch { body: Arc::clone(&switch) }, small(count));
        width = count;
    }
    let value = ValueId(ops.len() as u32 - 1);
    let run = Run { length: degree as u32, value: 1 << 29 };
    Some(KernelProgram {
        name: format!("nn-{depth}").into(),
        parameters: parameters.clone(),
        choice: choice.clone(),
        tables: vec![TestPolynomial::from_runs([run])],
        ops,
        outputs: vec![Output { name: "activations".into(), value }],
    })
}
