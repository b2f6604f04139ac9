//! AES-128 of one block under an encrypted key, with wide tables as the S-boxes. Prints the ciphertext of the example in FIPS 197, appendix C.1, and seconds of
//! processor time on one thread.
//!
//! Bits are 0 or 1/2 of the torus, so that sums are exclusive ors: rows are shifted, columns mixed and keys added without a lookup.

use polyfabric_kernels::clock::processor_seconds;
use polyfabric_program::tfhe::Matrix;
use polyfabric_program::tfhe::homomorphic::{
    Builder, ElementType, NodeId, Program, Range, Table, decode_output, encode_input,
};
use polyfabric_program::tfhe::lowering::{KeySwitchOrder, TfheLowering, lower};
use polyfabric_program::tfhe::noise::report_lowered;
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::tfhe::cpu::Executor;
use polyfabric_schemes::tfhe::noise::Transform;
use polyfabric_schemes::tfhe::{ClientKey, LweKind, ServerKey, sets};
use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;

const ROUNDS: usize = 10;

/// 2a in GF(2^8).
fn doubled(a: u8) -> u8 {
    a << 1 ^ if a >> 7 == 1 { 0x1b } else { 0 }
}

fn product(a: u8, b: u8) -> u8 {
    let powers = std::iter::successors(Some(a), |a| Some(doubled(*a)));
    powers.take(8).enumerate().filter(|(bit, _)| b >> bit & 1 == 1).fold(0, |sum, (_, power)| sum ^ power)
}

fn sbox(a: u8) -> u8 {
    let inverse = (0..=255).find(|&b| product(a, b) == 1).unwrap_or(0);
    [0, 1, 2, 3, 4].into_iter().fold(0x63, |sum, by| sum ^ inverse.rotate_left(by))
}

/// The bytes of all round keys.
fn round_keys(key: [u8; 16]) -> Vec<[u8; 16]> {
    let mut words: Vec<[u8; 4]> = key.as_chunks::<4>().0.to_vec();
    let mut constant = 1;
    for at in 4..4 * (ROUNDS + 1) {
        let mut word = words[at - 1];
        if at % 4 == 0 {
            word.rotate_left(1);
            word = word.map(sbox);
            word[0] ^= constant;
            constant = doubled(constant);
        }
        words.push(std::array::from_fn(|i| word[i] ^ words[at - 4][i]));
    }
    words.as_chunks::<4>().0.iter().map(|four| std::array::from_fn(|i| four[i / 4][i % 4])).collect()
}

/// Bit b of byte i is element 16·b + i.
fn bits(block: [u8; 16]) -> Vec<i64> {
    (0..128).map(|at| i64::from(block[at % 16] >> (at / 16) & 1)).collect()
}

/// Shifted rows, and mixed columns if `mixed`: the elements that make each one.
fn rows_and_columns(mixed: bool) -> Vec<Vec<(usize, i64)>> {
    let shifted = |row: usize, column: usize| row + 4 * ((column + row) % 4);
    let of = |at: usize| {
        let (bit, byte) = (at / 16, at % 16);
        let (row, column) = (byte % 4, byte / 4);
        if !mixed {
            return vec![(16 * bit + shifted(row, column), 1)];
        }
        // Which bits of a have bit `bit` in a·factor.
        let of_product = |factor: u8, from: usize| {
            let has = move |source: &usize| product(1 << source, factor) >> bit & 1 == 1;
            (0..8).filter(has).map(move |source| (16 * source + from, 1))
        };
        let factors = [2, 3, 1, 1];
        let mut terms: Vec<(usize, i64)> = factors
            .into_iter()
            .enumerate()
            .flat_map(|(next, factor)| of_product(factor, shifted((row + next) % 4, column)))
            .collect();
        terms.sort_unstable();
        terms
    };
    (0..128).map(of).collect()
}

fn program(block: [u8; 16]) -> Result<Program, Box<dyn Error>> {
    let mut builder = Builder::new("aes")?;
    let bit = ElementType::Integer(Range::new(0, 1).ok_or("no range")?);
    let keys: Vec<NodeId> =
        (0..=ROUNDS).map(|round| builder.input(&format!("k{round}"), bit, 128)).collect::<Result<_, _>>()?;
    let tables: Vec<Table> = (0..8)
        .map(|bit| Table::new(0, (0..=255).map(|at| i64::from(sbox(at) >> bit & 1)).collect()))
        .collect::<Result<_, _>>()?;
    let mut state = builder.add_clear(keys[0], &bits(block))?;
    for (round, &key) in keys.iter().enumerate().skip(1) {
        let substituted = builder.lookup_wide(state, vec![1; 8], tables.clone())?;
        let matrix = Arc::new(Matrix::from_rows(128, &rows_and_columns(round < ROUNDS))?);
        let mixed = builder.linear(substituted, matrix, &[0; 128])?;
        state = builder.add(mixed, key)?;
    }
    builder.output("y", state)?;
    Ok(builder.finish()?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let key: [u8; 16] = std::array::from_fn(|i| i as u8);
    let block: [u8; 16] = std::array::from_fn(|i| i as u8 * 0x11);
    let (program, parameters) = (program(block)?, sets::parameters("polyfabric-wide-t64")?);
    let choice = TfheLowering::processor(KeySwitchOrder::Before);
    let report = report_lowered(&program, &parameters, &choice, Transform::f64_here())?;
    let lowered = lower(&program, &parameters, &choice)?;
    let client = ClientKey::<u64>::for_tests(&parameters, 1)?;
    let server = ServerKey::for_tests(&client, 2);
    let mut inputs = BTreeMap::new();
    for (round, key) in round_keys(key).into_iter().enumerate() {
        let name = format!("k{round}");
        let plaintexts = encode_input::<u64>(&program, &name, &bits(key))?;
        inputs.insert(name, client.encrypt_for_tests(LweKind::Large, &plaintexts, 10 + round as u64));
    }
    let executor = Executor::new(&server, 1)?;
    let start = processor_seconds();
    let outputs = executor.run(&lowered, &inputs, &NoProgress)?;
    let seconds = processor_seconds() - start;
    let phases = client.decrypt_phase(LweKind::Large, &outputs["y"])?;
    let found = decode_output(&program, "y", &phases, None)?;
    let byte = |i: usize| (0..8).fold(0u8, |byte, bit| byte | ((found[16 * bit + i] & 1) as u8) << bit);
    let text: String = (0..16).map(|i| format!("{:02x}", byte(i))).collect();
    println!("{text}: {} bits read, {seconds:.2} s, failure 2^{:.1}", lowered.lookups(), report.log2_failure);
    assert_eq!(text, "69c4e0d86a7b0430d8cdb78070b4c55a");
    Ok(())
}
