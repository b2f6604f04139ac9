//! The product of an encrypted matrix with an encrypted vector: Listing 2 of F1 (A. Feldmann et al., MICRO 2021), after HElib.
//!
//! Each matrix row is a ciphertext. Rotations by 1, 2, 4, … sum the slots of row times vector, so every slot of output i contains the
//! product of row i. For r rows of n slots: r products, and r·log2 n rotations with log2 n keys.

use crate::rns::homomorphic::{Builder, NodeId, Program, ProgramError, Scheme};

/// Sums all slots of `x`, in every slot: rotations by powers of two and, for BGV, a swap of the two rows.
///
/// # Errors
/// [`ProgramError`] if `x` is public or unknown.
pub fn inner_sum(builder: &mut Builder, x: NodeId) -> Result<NodeId, ProgramError> {
    let rows = builder.scheme().rows();
    let row = builder.slots() / rows;
    let mut sum = x;
    for bit in 0..row.ilog2() {
        let rotated = builder.rotate(sum, 1 << bit)?;
        sum = builder.add(sum, rotated)?;
    }
    if rows > 1 {
        let swapped = builder.conjugate(sum)?;
        sum = builder.add(sum, swapped)?;
    }
    Ok(sum)
}

/// The program with inputs `row0`, `row1`, …, `vector` and outputs `product0`, …. Inputs are at `level`, or as low as possible.
///
/// # Errors
/// [`ProgramError`] if `slots` does not fit the scheme, or `rows` is 0.
pub fn matrix_vector(scheme: Scheme, slots: usize, rows: usize, level: Option<usize>) -> Result<Program, ProgramError> {
    let mut builder = Builder::new("matvec", scheme, slots)?;
    let matrix: Vec<NodeId> =
        (0..rows).map(|row| builder.input_with(&format!("row{row}"), level, 1.0)).collect::<Result<_, _>>()?;
    let vector = builder.input_with("vector", level, 1.0)?;
    for (index, &row) in matrix.iter().enumerate() {
        let product = builder.mul(row, vector)?;
        let sum = inner_sum(&mut builder, product)?;
        builder.output(&format!("product{index}"), sum)?;
    }
    builder.finish()
}

#[cfg(test)]
mod tests {
    //! Is the result the matrix-vector product, and does it need the number of hints (key-switch keys) that the paper states?

    use super::*;
    use crate::rns::homomorphic::{Op, Values, evaluate};
    use std::collections::{BTreeSet, HashMap};

    #[test]
    fn every_slot_holds_the_product() {
        let t = 65537;
        let program = matrix_vector(Scheme::Bgv { plaintext_modulus: t }, 8, 2, None).expect("a program");
        let rows = [[1, 2, 3, 4, 5, 6, 7, 8], [3, 1, 4, 1, 5, 9, 2, 6]];
        let vector = [2, 7, 1, 8, 2, 8, 1, 8];
        let mut inputs = HashMap::from([("vector".to_owned(), Values::integer(&vector))]);
        for (index, row) in rows.iter().enumerate() {
            inputs.insert(format!("row{index}"), Values::integer(row));
        }
        let evaluation = evaluate(&program, &inputs).expect("values");
        for (index, row) in rows.iter().enumerate() {
            let product = row.iter().zip(&vector).map(|(a, b)| a * b).sum::<i64>();
            assert_eq!(evaluation.outputs(&program)[&*format!("product{index}")], &Values::integer(&[product; 8]));
        }
    }

    #[test]
    fn the_papers_size_has_its_fifteen_hints() {
        // 16K slots: the relinearization key, 13 rotations of rows of 8K, and the swap of the rows.
        let scheme = Scheme::Bgv { plaintext_modulus: 65537 };
        let program = matrix_vector(scheme, 1 << 14, 4, Some(16)).expect("a program");
        let mut hints = BTreeSet::new();
        for node in program.nodes() {
            match node.op {
                Op::Mul => hints.insert("mul".to_owned()),
                Op::Rotate { steps } => hints.insert(format!("rotate {steps}")),
                Op::Conjugate => hints.insert("exchange".to_owned()),
                _ => false,
            };
        }
        assert_eq!(hints.len(), 15);
        let switches =
            program.nodes().iter().filter(|node| matches!(node.op, Op::Mul | Op::Rotate { .. } | Op::Conjugate));
        assert_eq!(switches.count(), 4 * 15);
    }
}
