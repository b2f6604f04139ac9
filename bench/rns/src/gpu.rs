//! CKKS and BGV on a GPU: operations and bootstrapping, each result decrypted, and the time of each kernel.

use crate::case::Case;
use crate::compare::{self, Figures};
use crate::ours::{self, Place};
use crate::protocol::{Answer, Request, Scheme};
use crate::{BenchError, report};
use polyfabric_runtime::gpu::{Cuda, Device};
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;

#[derive(Clone, Debug, Serialize)]
struct Row {
    case: String,
    op: String,
    /// Number of operations at once.
    batch: usize,
    /// Times are per batch, with inputs and outputs in the GPU's memory.
    answer: Answer,
}

#[derive(Debug, Serialize)]
struct Results {
    card: String,
    rows: Vec<Row>,
}

/// Measures each operation of `cases` `runs` times, in batches of `batch`; prints rows as they finish.
pub fn measure(cases: &[Case], runs: usize, batch: usize, output: Option<&Path>) -> Result<(), BenchError> {
    let card = Arc::new(Cuda::first()?);
    let mut results = Results { card: card.name().to_owned(), rows: Vec::new() };
    let place = Place::Card { card, batch };
    println!("{}, {batch} at once, times of one", results.card);
    println!("{:20} {:16} {:>10} {:>10} {:>9}", "case", "operation", "median ms", "least ms", "error");
    for case in cases.iter().filter(|case| case.scheme != Scheme::Ntt) {
        // Operating points of bootstrapping differ in what a processor keeps in memory; a GPU keeps everything.
        let ops = if case.scheme == Scheme::Bootstrapping { &case.ops[..1] } else { case.ops };
        eprintln!("{}: keys", case.name);
        let mut prepared = None;
        ours::handle(&mut prepared, case.prepare(ops[0]), &place)?;
        for &op in ops {
            let request = Request::Measure { op: op.to_owned(), repetitions: runs };
            let answer = ours::handle(&mut prepared, request, &place)?;
            compare::expect_right(&results.card, case, op, &answer)?;
            let figures = Figures { ms: answer.ms.clone(), last: answer };
            let [median, least] = [figures.median(), figures.least()].map(|ms| ms / batch as f64);
            let answer = figures.last;
            println!("{:20} {op:16} {median:>10.3} {least:>10.3} {:>9.1e}", case.name, answer.error);
            if let Some(card) = &answer.card {
                let (launches, levels, polynomials) = (card.launches, card.levels, card.polynomials);
                let moved = card.moved_bytes as f64 / 1e9;
                println!("    {launches} launches in {levels} levels, {polynomials} polynomials, {moved:.3} GB moved");
                for share in &card.kernels {
                    let (name, launches, polynomials) = (&share.kernel, share.launches, share.polynomials);
                    println!("    {name:20} {launches:>5} launches {polynomials:>7} polynomials {:>9.3} ms", share.ms);
                }
            }
            results.rows.push(Row { case: case.name.to_owned(), op: op.to_owned(), batch, answer });
        }
        if let Some(path) = output {
            report::write(path, &results)?;
        }
    }
    Ok(())
}
