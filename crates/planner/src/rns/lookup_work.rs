//! Compares ways to compute a program with lookup tables, before it is planned.
//!
//! The work of a program on slots is that of its bootstraps: of one for each operand that is looked up, and of each further table of the operand.
//! Both are counted once for each parameter set, in a program with nothing else. Example: a table of 256 entries takes one lookup with the set
//! `ckks-lookup-1522`, or dozens in digits with `ckks-lookup-897`.

use super::set_choice::{bootstraps_of, lookups_of, smallest_with_tables};
use super::{For, NoEncoder, lowered, refused};
use crate::{Fault, PlanError};
use polyfabric_program::rns::homomorphic::{Builder, Op, Program, Scheme, Table};
use polyfabric_program::rns::lowering::KeySwitchCost;
use polyfabric_program::rns::noise::Encryption;
use polyfabric_program::rns::parameters as ckks;
use polyfabric_schemes::ckks as ckks_scheme;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Word products of a bootstrap with one table, and of a second table of the same operand.
type Work = [f64; 2];

/// Word products of the lookups of `program` with the smallest set that has their tables; the work on other operations is small.
///
/// # Errors
/// [`Fault::Parameter`] if no set has such tables.
pub fn lookup_work(program: &Program) -> Result<f64, PlanError> {
    let tables = program.nodes().iter().filter(|node| matches!(node.op, Op::Lookup { .. })).count();
    if tables == 0 {
        return Ok(0.0);
    }
    let [bootstrap, table] = work_with(smallest_with_tables(program)?)?;
    Ok(bootstraps_of(program) as f64 * bootstrap + (tables - lookups_of(program).count()) as f64 * table)
}

fn work_with(set: &'static ckks_scheme::Parameters) -> Result<Work, PlanError> {
    static KNOWN: Mutex<BTreeMap<&str, Work>> = Mutex::new(BTreeMap::new());
    if let Some(&known) = KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get(set.name()) {
        return Ok(known);
    }
    let [one, two] = [products(set, 1)?, products(set, 2)?];
    let work = [one, two - one];
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner).insert(set.name(), work);
    Ok(work)
}

/// Word products of `tables` lookups of one operand.
fn products(set: &ckks_scheme::Parameters, tables: u32) -> Result<f64, PlanError> {
    let p = ckks::longest_table(set) as u32;
    let mut builder = Builder::new("lookups", Scheme::Ckks, set.max_slots()).map_err(refused)?;
    let x = builder.input("x").map_err(refused)?;
    for index in 0..tables {
        let entries: Vec<u32> = (0..p).map(|value| (value + index) % p).collect();
        let missing = || PlanError::new(Fault::Internal, format!("no table of {p} entries"));
        let y = builder.lookup(x, Arc::new(Table::new(&entries, p).ok_or_else(missing)?)).map_err(refused)?;
        builder.output(&format!("y{index}"), y).map_err(refused)?;
    }
    let program = builder.finish().map_err(refused)?;
    let choice = ckks::choice(set);
    let request = For { encryption: Encryption::Secret, observed: false, choice: &choice };
    let encoder = NoEncoder(vec![0; set.ring_degree().get()].into());
    let (lowered, _) = lowered(&program, set, &request, &encoder, &[])?;
    let cost = KeySwitchCost::of(&lowered.kernel).map_err(PlanError::of(Fault::Internal))?;
    Ok(cost.word_products as f64 * set.ring_degree().get() as f64)
}
