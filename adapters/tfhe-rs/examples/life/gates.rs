//! The server: gates on whole boards, sums by tfhe-rs, bootstraps by Polyfabric.

use crate::client::{Client, EIGHTH};
use polyfabric_machines::Machine;
use polyfabric_tfhe_rs::{AdapterError, Backend, KeySwitchOrder, Processor};
use tfhe::core_crypto::prelude::*;

/// Results are under the key of the inputs.
pub const ORDER: KeySwitchOrder = KeySwitchOrder::After;

/// A Boolean for every cell.
type Bits = LweCiphertextListOwned<u32>;

/// An encrypted board, row by row.
pub struct Board {
    pub cells: Bits,
    pub size: usize,
}

/// The place where bootstraps run.
pub enum Place<'a> {
    Processor(&'a Processor<'a, u32>),
    Machine(&'a Backend<u32>, &'a Machine),
}

/// Gates, and their accumulated cost.
pub struct Gates<'a> {
    place: Place<'a>,
    sign: GlweCiphertextListOwned<u32>,
    batches: Vec<usize>,
    seconds: f64,
}

#[derive(Clone, Copy)]
enum Gate {
    And,
    Or,
    Xor,
}

/// The sums of a gate: bits of `a` and of `b`, negated where `not` says so.
fn sums(gate: Gate, (a, not_a): (&Bits, bool), (b, not_b): (&Bits, bool)) -> Bits {
    let (weight, constant) = match gate {
        Gate::And => (1, EIGHTH.wrapping_neg()),
        Gate::Or => (1, EIGHTH),
        Gate::Xor => (2, 2 * EIGHTH),
    };
    let mut sums = LweCiphertextList::new(0, a.lwe_size(), a.lwe_ciphertext_count(), a.ciphertext_modulus());
    for ((mut sum, a), b) in sums.iter_mut().zip(a.iter()).zip(b.iter()) {
        for (ciphertext, negated) in [(a, not_a), (b, not_b)] {
            match negated {
                false => lwe_ciphertext_add_assign(&mut sum, &ciphertext),
                true => lwe_ciphertext_sub_assign(&mut sum, &ciphertext),
            }
        }
        lwe_ciphertext_cleartext_mul_assign(&mut sum, Cleartext(weight));
        lwe_ciphertext_plaintext_add_assign(&mut sum, Plaintext(constant));
    }
    sums
}

impl<'a> Gates<'a> {
    pub fn new(place: Place<'a>, client: &Client) -> Self {
        Self { place, sign: client.sign(), batches: Vec::new(), seconds: 0.0 }
    }

    /// Lookups of every batch so far.
    pub fn batches(&self) -> &[usize] {
        &self.batches
    }

    /// Time by the machine's schedules so far; none without a machine.
    pub fn seconds(&self) -> Option<f64> {
        matches!(self.place, Place::Machine(..)).then_some(self.seconds)
    }

    /// Independent gates, in one batch.
    fn all(&mut self, gates: &[(Gate, (&Bits, bool), (&Bits, bool))]) -> Result<Vec<Bits>, AdapterError> {
        let sums: Vec<Bits> = gates.iter().map(|&(gate, a, b)| sums(gate, a, b)).collect();
        let modulus = CiphertextModulus::new_native();
        let size = sums.first().map_or(LweSize(1), Bits::lwe_size);
        let together: Vec<u32> = sums.iter().flat_map(|sums| sums.as_ref().iter().copied()).collect();
        let inputs = LweCiphertextList::from_container(together, size, modulus);
        self.batches.push(inputs.lwe_ciphertext_count().0);
        let found = match &self.place {
            Place::Processor(processor) => processor.bootstrap(&inputs, &self.sign, ORDER)?,
            Place::Machine(backend, machine) => {
                let (found, report) = backend.replay(machine, &inputs, &self.sign, ORDER)?;
                self.seconds += report.seconds;
                found
            }
        };
        let cells = sums.first().map_or(1, |sums| sums.as_ref().len());
        let parts = found.as_ref().chunks_exact(cells);
        Ok(parts.map(|part| LweCiphertextList::from_container(part.to_vec(), found.lwe_size(), modulus)).collect())
    }

    /// Sums of two numbers of bits, the lowest first, for several pairs at once: a half adder of two gates, then full adders of five.
    fn add(&mut self, pairs: &[(&[Bits], &[Bits])]) -> Result<Vec<Vec<Bits>>, AdapterError> {
        let width = pairs.first().map_or(0, |(a, _)| a.len());
        // The exclusive or and the conjunction of every bit do not depend on a carry.
        let mut gates = Vec::new();
        for (a, b) in pairs {
            for (x, y) in a.iter().zip(*b) {
                gates.extend([(Gate::Xor, (x, false), (y, false)), (Gate::And, (x, false), (y, false))]);
            }
        }
        let halves = self.all(&gates)?;
        let half = |pair: usize, bit: usize, part: usize| &halves[(pair * width + bit) * 2 + part];
        let count = pairs.len();
        let mut sums: Vec<Vec<Bits>> = (0..count).map(|pair| vec![half(pair, 0, 0).clone()]).collect();
        let mut carries: Vec<Bits> = (0..count).map(|pair| half(pair, 0, 1).clone()).collect();
        for bit in 1..width {
            let mut gates = Vec::new();
            for pair in 0..count {
                let (either, carry) = ((half(pair, bit, 0), false), (&carries[pair], false));
                gates.extend([(Gate::Xor, either, carry), (Gate::And, either, carry)]);
            }
            let found = self.all(&gates)?;
            let gates: Vec<_> =
                (0..count).map(|pair| (Gate::Or, (half(pair, bit, 1), false), (&found[2 * pair + 1], false))).collect();
            carries = self.all(&gates)?;
            for (pair, sum) in sums.iter_mut().enumerate() {
                sum.push(found[2 * pair].clone());
            }
        }
        for (sum, carry) in sums.iter_mut().zip(carries) {
            sum.push(carry);
        }
        Ok(sums)
    }

    /// The board after one generation: 44 gates per cell.
    pub fn generation(&mut self, board: &Board) -> Result<Board, AdapterError> {
        let size = board.size;
        let ciphertext = board.cells.lwe_size().0;
        let neighbour = |down: usize, right: usize| -> Vec<Bits> {
            let cells = (0..size * size).map(|cell| (cell / size + down) % size * size + (cell % size + right) % size);
            let data = cells.flat_map(|cell| board.cells.as_ref()[cell * ciphertext..(cell + 1) * ciphertext].to_vec());
            let modulus = board.cells.ciphertext_modulus();
            vec![LweCiphertextList::from_container(data.collect::<Vec<u32>>(), LweSize(ciphertext), modulus)]
        };
        // Pairs of opposite neighbors, so that no two cells share a pair.
        let back = size - 1;
        let ways = [(back, back), (back, 0), (back, 1), (0, back)];
        let opposite = |step: usize| (size - step) % size;
        let pairs = ways.map(|(down, right)| [neighbour(down, right), neighbour(opposite(down), opposite(right))]);
        let twos = self.add(&pairs.each_ref().map(|[a, b]| (&a[..], &b[..])))?;
        let fours = self.add(&[(&twos[0], &twos[1]), (&twos[2], &twos[3])])?;
        let count = self.add(&[(&fours[0], &fours[1])])?;
        let [ones, twos, fours, eights] = &count[0][..] else { return Ok(Board { cells: board.cells.clone(), size }) };
        let found = self.all(&[
            (Gate::And, (ones, false), (twos, false)),
            (Gate::And, (fours, true), (eights, true)),
            (Gate::And, (ones, true), (twos, false)),
        ])?;
        let first = self.all(&[
            (Gate::And, (&found[0], false), (&found[1], false)),
            (Gate::And, (&found[2], false), (fours, true)),
        ])?;
        let three = (&first[0], false);
        let two = self.all(&[(Gate::And, (&first[1], false), (eights, true))])?;
        let either = self.all(&[(Gate::Or, three, (&two[0], false))])?;
        let alive = &board.cells;
        let next = self.all(&[(Gate::And, (alive, false), (&either[0], false)), (Gate::And, (alive, true), three)])?;
        let mut cells = self.all(&[(Gate::Or, (&next[0], false), (&next[1], false))])?;
        Ok(Board { cells: cells.remove(0), size })
    }
}
