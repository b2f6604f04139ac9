//! Do named sets keep the error bounds of lookups that they were chosen for?

use polyfabric_program::rns::homomorphic::{Builder, Scheme, Table, Values};
use polyfabric_program::rns::kernel::PublicPolynomial;
use polyfabric_program::rns::levels::Scale;
use polyfabric_program::rns::lowering::{LoweringError, NodeState, PlaintextEncoder, Target, lower};
use polyfabric_program::rns::noise::{Encryption, INTEGER_FAILURE_LOG2};
use polyfabric_program::rns::parameters;
use polyfabric_schemes::ckks::sets;
use std::sync::Arc;

/// Encodes everything as zero: bounds do not depend on values.
#[derive(Debug)]
struct Zeros(Arc<[i64]>);

impl PlaintextEncoder for Zeros {
    fn encode(&self, _: &Values, _: Scale) -> Result<PublicPolynomial, String> {
        Ok(PublicPolynomial::Narrow(Arc::clone(&self.0)))
    }
}

/// Bounds of the errors of lookups after each other, in steps, with the set `name`. Each reads a result, or a sum of `addends`.
fn bounds(
    name: &str,
    encryption: Encryption,
    entries: &[u32],
    addends: usize,
    rounds: usize,
) -> Result<Vec<f64>, LoweringError> {
    let set = sets::parameters(name).unwrap();
    let (chain, choice) = (parameters::chain(&set).unwrap(), parameters::choice(&set));
    let slots = set.max_slots();
    let plan = parameters::bootstrapping(&set, &chain, &choice, slots).unwrap().unwrap();
    let model = parameters::model(&set, encryption);
    assert_eq!(model.failure_log2, Some(INTEGER_FAILURE_LOG2));
    let encoder = Zeros(vec![0; chain.degree().get()].into());
    let target = Target {
        chain: &chain,
        choice: &choice,
        model,
        encoder: &encoder,
        bootstrapping: Some(&plan),
        observed: false,
    };
    let modulus = entries.len() as u32;
    let table = Arc::new(Table::new(entries, modulus).unwrap());
    let mut builder = Builder::new("chained", Scheme::Ckks, slots).unwrap();
    let mut x = builder.input("x").unwrap();
    let mut results = Vec::new();
    for _ in 0..rounds {
        let read = (1..addends).fold(x, |sum, _| builder.add(sum, x).unwrap());
        x = builder.lookup(read, Arc::clone(&table)).unwrap();
        results.push(x);
    }
    builder.output("y", x).unwrap();
    let lowered = lower(&builder.finish().unwrap(), &target)?;
    assert!(lowered.failure_log2 < -120.0);
    let bound = |state: &NodeState| f64::from(modulus) * (model.tail() * state.deviation + state.systematic);
    Ok(results.iter().map(|id| bound(&lowered.nodes[id])).collect())
}

/// One entry at the other end of the range: all others have the largest difference from it.
fn sensitive(p: u32) -> Vec<u32> {
    let mut entries = vec![(p / 2 + 1) % p; p as usize];
    entries[0] = p / 2;
    entries
}

#[test]
fn named_sets_keep_their_bounds() {
    let [two, four, sensitive, long] = [2, 4, 16, 256].map(sensitive);
    // Of a sum of three bits.
    let bit = vec![0, 1, 0, 1];
    let (secret, public) = (Encryption::Secret, Encryption::Public);
    for (name, encryption, entries, addends, rounds, limit) in [
        ("ckks-lookup-735", secret, &two, 1, 12, -7.0),
        ("ckks-lookup-735", public, &two, 1, 12, -3.0),
        ("ckks-lookup-750", secret, &four, 1, 12, -7.0),
        ("ckks-lookup-750", secret, &bit, 3, 12, -8.0),
        ("ckks-lookup-750", public, &bit, 1, 12, -4.0),
        ("ckks-lookup-762", secret, &sensitive, 1, 4, -6.0),
        ("ckks-lookup-897", secret, &sensitive, 1, 12, -8.0),
        ("ckks-lookup-897", public, &sensitive, 1, 12, -6.0),
        ("ckks-lookup-1009", secret, &sensitive, 1, 12, -8.0),
        ("toy-10-lookup", public, &sensitive, 1, 12, -6.0),
        ("ckks-lookup-1522", secret, &long, 1, 2, -12.0),
        ("ckks-lookup-1522", public, &long, 1, 4, -12.0),
        ("ckks-lookup-1508", secret, &long, 1, 3, -12.0),
        ("ckks-lookup-1292", secret, &long, 1, 2, -12.0),
        ("toy-10-lookup-256", public, &long, 1, 4, -12.0),
    ] {
        let bounds: Vec<f64> =
            bounds(name, encryption, entries, addends, rounds).unwrap().into_iter().map(f64::log2).collect();
        println!("{name}, {encryption:?}: {bounds:.2?}");
        assert!(bounds.iter().all(|&bound| bound < limit), "{name}: {bounds:?}");
    }
    // Longer chains are rejected before they could go wrong; other tables are less sensitive.
    let rejected = bounds("ckks-lookup-762", secret, &sensitive, 1, 20);
    assert!(matches!(rejected, Err(LoweringError::Node { .. })), "{rejected:?}");
    let other = [11, 2, 7, 14, 0, 9, 4, 13, 1, 6, 15, 3, 10, 5, 12, 8];
    let other = bounds("ckks-lookup-762", secret, &other, 1, 20).unwrap();
    println!("a permutation: {:.2?}", other.iter().map(|bound| bound.log2()).collect::<Vec<f64>>());
    assert!(other[19] < 1.01 * other[18] && other[19].log2() < -7.0, "{other:?}");
}

#[test]
fn named_sets_round_with_narrow_borders() {
    let short = ["ckks-lookup-762", "ckks-lookup-897", "ckks-lookup-1009"].map(|name| (name, 0.07));
    let long = ["ckks-lookup-1522", "ckks-lookup-1508"].map(|name| (name, 0.01));
    for (name, narrowest) in short.into_iter().chain(long) {
        for stages in 1..=3 {
            let set = sets::parameters(name).unwrap();
            let (chain, choice) = (parameters::chain(&set).unwrap(), parameters::choice(&set));
            let plan = parameters::bootstrapping(&set, &chain, &choice, set.max_slots()).unwrap().unwrap();
            let encoder = Zeros(vec![0; chain.degree().get()].into());
            let target = Target {
                chain: &chain,
                choice: &choice,
                model: parameters::model(&set, Encryption::Secret),
                encoder: &encoder,
                bootstrapping: Some(&plan),
                observed: false,
            };
            let table = Table::new(&sensitive(16), 16).unwrap().of_rounded(stages).unwrap();
            let mut builder = Builder::new("rounded", Scheme::Ckks, set.max_slots()).unwrap();
            let x = builder.input("x").unwrap();
            let y = builder.lookup(x, Arc::new(table)).unwrap();
            builder.output("y", y).unwrap();
            let lowered = lower(&builder.finish().unwrap(), &target).unwrap();
            let border = lowered.nodes[&y].border;
            println!("{name}, {stages} stages: {border:.5}");
            assert!(border < narrowest / 5f64.powi(stages as i32 - 1) + 0.001);
        }
    }
}
