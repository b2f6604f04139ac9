//! Polyfabric as a backend of tfhe-rs: programs that use tfhe-rs keep their keys and ciphertexts, and delegate bootstraps.
//!
//! A [`Backend`] takes a bootstrapping key and a key-switching key of `core_crypto`, in the coefficient domain. It runs batches of lookups on the
//! [processor](Backend::processor) or, event by event, by the schedule of a [machine](Backend::replay), and returns ciphertexts that tfhe-rs decrypts.
//! It also [counts](Backend::count) the cost of a batch on a machine.
//!
//! Moduli are native and secrets binary, as in Polyfabric. Functions are trivial GLWE ciphertexts, like the lookup tables of tfhe-rs.

mod error;
mod key;

pub use error::AdapterError;

use polyfabric_kernels::Torus;
use polyfabric_machines::Machine;
use polyfabric_machines::contract::tfhe::{lowering, replay, simulate};
use polyfabric_program::tfhe::builtin::look_ups;
use polyfabric_program::tfhe::kernel::{KernelProgram, TableChoice, TestPolynomial};
use polyfabric_program::tfhe::lowering::{Arithmetic, TfheLowering};
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::tfhe::cpu::Executor;
use polyfabric_schemes::tfhe::{LweBatch, Parameters, ServerKey};
use polyfabric_sim::report::SimulationReport;
use std::collections::BTreeMap;
use tfhe::core_crypto::prelude::{
    CiphertextModulus, Container, GlweCiphertextList, LweCiphertextCount, LweCiphertextList, LweCiphertextListOwned,
    LweSize, UnsignedInteger,
};

pub use polyfabric_program::tfhe::lowering::KeySwitchOrder;

/// Torus elements of both libraries.
pub trait Element: Torus + UnsignedInteger {}
impl Element for u32 {}
impl Element for u64 {}

/// Standard deviations of the keys' noise, as fractions of the torus: keys do not record them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deviations {
    /// Noise of the key-switching key.
    pub lwe: f64,
    /// Noise of the bootstrapping key.
    pub glwe: f64,
}

/// Server keys of tfhe-rs.
pub struct Backend<T> {
    key: ServerKey<T>,
}

/// Executes lookups of a [`Backend`] on this processor.
pub struct Processor<'k, T> {
    key: &'k ServerKey<T>,
    executor: Executor<'k, T>,
}

/// The functions of a batch: one for all, or one for each ciphertext.
struct Tables {
    polynomials: Vec<TestPolynomial>,
    choice: TableChoice,
}

impl<T: Element> Backend<T> {
    /// The keys' parameter set. Its security level uses the deviations that were passed.
    pub fn parameters(&self) -> &Parameters {
        self.key.parameters()
    }

    /// Prepares to run batches on `threads` threads of this processor; 0 is one for each core.
    ///
    /// # Errors
    /// [`AdapterError::Run`] if the system refuses the threads.
    pub fn processor(&self, threads: usize) -> Result<Processor<'_, T>, AdapterError> {
        Ok(Processor { key: &self.key, executor: Executor::new(&self.key, threads)? })
    }
}

impl<T: Element> Processor<'_, T> {
    /// Applies to each of `inputs` its function in `tables` (a single one applies to all): modulus switch, blind rotation, sample extraction, and the
    /// key switch at the place given by `order`.
    ///
    /// # Errors
    /// [`AdapterError`]; nothing runs unless all arguments fit.
    pub fn bootstrap<C, G>(
        &self,
        inputs: &LweCiphertextList<C>,
        tables: &GlweCiphertextList<G>,
        order: KeySwitchOrder,
    ) -> Result<LweCiphertextListOwned<T>, AdapterError>
    where
        C: Container<Element = T>,
        G: Container<Element = T>,
    {
        let choice = TfheLowering::new(order, Arithmetic::F64);
        let (program, given) = program(self.key, inputs, tables, &choice)?;
        let mut outputs = self.executor.run(&program, &given, &NoProgress)?;
        Ok(returned(outputs.remove("y")))
    }
}

impl Backend<u32> {
    /// The results of `bootstrap`, by the events of `machine`'s schedule in the machine's arithmetic, and the report of the schedule.
    ///
    /// # Errors
    /// [`AdapterError`]: the machine does not support the keys' parameters, or an argument does not fit.
    pub fn replay<C, G>(
        &self,
        machine: &Machine,
        inputs: &LweCiphertextList<C>,
        tables: &GlweCiphertextList<G>,
        order: KeySwitchOrder,
    ) -> Result<(LweCiphertextListOwned<u32>, SimulationReport), AdapterError>
    where
        C: Container<Element = u32>,
        G: Container<Element = u32>,
    {
        let choice = lowering(machine, self.parameters(), order)?;
        let (program, given) = program(&self.key, inputs, tables, &choice)?;
        let mut replayed = replay(machine, &program, &self.key, &given, &NoProgress)?;
        match replayed.saturations {
            0 => Ok((returned(replayed.outputs.remove("y")), replayed.report)),
            count => Err(AdapterError::Saturated { machine: machine.name().to_owned(), count }),
        }
    }

    /// The cost of a batch of `count` lookups on `machine`, all with one function.
    ///
    /// # Errors
    /// [`AdapterError`]: the machine does not support the keys' parameters.
    pub fn count(
        &self,
        machine: &Machine,
        count: usize,
        order: KeySwitchOrder,
    ) -> Result<SimulationReport, AdapterError> {
        let parameters = self.parameters();
        let choice = lowering(machine, parameters, order)?;
        let constant = TestPolynomial::from_coefficients(std::iter::repeat_n(0, parameters.ring_degree().get()));
        let program = look_ups(parameters, vec![constant], TableChoice::Shared(0), count, &choice)?;
        Ok(simulate(machine, &program)?)
    }
}

/// The program of a batch, and its input.
fn program<T: Element, C, G>(
    key: &ServerKey<T>,
    inputs: &LweCiphertextList<C>,
    tables: &GlweCiphertextList<G>,
    choice: &TfheLowering,
) -> Result<(KernelProgram, BTreeMap<String, LweBatch<T>>), AdapterError>
where
    C: Container<Element = T>,
    G: Container<Element = T>,
{
    let parameters = key.parameters();
    let count = inputs.lwe_ciphertext_count().0;
    native("the ciphertexts", inputs.ciphertext_modulus())?;
    let dimension = match choice.key_switch {
        KeySwitchOrder::Before => parameters.large_lwe_dimension(),
        KeySwitchOrder::None | KeySwitchOrder::After => parameters.lwe_dimension(),
    };
    let given = inputs.lwe_size().to_lwe_dimension().0;
    if given != dimension.get() {
        return Err(AdapterError::Dimension { order: choice.key_switch, expected: dimension.get(), given });
    }
    let Tables { polynomials, choice: picked } = functions(parameters, tables, count)?;
    let program = look_ups(parameters, polynomials, picked, count, choice)?;
    let batch = LweBatch::from_data(dimension, inputs.as_ref().to_vec())?;
    Ok((program, BTreeMap::from([("x".to_owned(), batch)])))
}

/// Extracts the test polynomials of trivial GLWE ciphertexts.
fn functions<T: Element, G: Container<Element = T>>(
    parameters: &Parameters,
    tables: &GlweCiphertextList<G>,
    count: usize,
) -> Result<Tables, AdapterError> {
    native("the lookup tables", tables.ciphertext_modulus())?;
    let given = (tables.glwe_size().to_glwe_dimension().0, tables.polynomial_size().0);
    let expected = (parameters.glwe_dimension().get(), parameters.ring_degree().get());
    if given != expected {
        return Err(AdapterError::TableSize { expected, given });
    }
    let glwe_len = (expected.0 + 1) * expected.1;
    let number = tables.glwe_ciphertext_count().0;
    if number != 1 && number != count {
        return Err(AdapterError::TableCount { ciphertexts: count, tables: number });
    }
    let mut polynomials: Vec<TestPolynomial> = Vec::new();
    let mut picked: Vec<u32> = Vec::new();
    for (index, table) in tables.as_ref().chunks_exact(glwe_len).enumerate() {
        let (mask, body) = table.split_at(glwe_len - expected.1);
        if mask.iter().any(|&element| element != <T as Default>::default()) {
            return Err(AdapterError::EncryptedTable { index });
        }
        let polynomial = TestPolynomial::from_coefficients(body.iter().map(|element| element.to_u64()));
        // A batch with one function repeats it for every ciphertext.
        let found = polynomials.iter().rposition(|other| *other == polynomial);
        let place = found.unwrap_or_else(|| {
            polynomials.push(polynomial);
            polynomials.len() - 1
        });
        picked.push(place as u32);
    }
    let choice =
        if polynomials.len() == 1 { TableChoice::Shared(0) } else { TableChoice::PerCiphertext(picked.into()) };
    Ok(Tables { polynomials, choice })
}

fn returned<T: Element>(batch: Option<LweBatch<T>>) -> LweCiphertextListOwned<T> {
    let modulus = CiphertextModulus::new_native();
    match batch {
        Some(batch) => {
            let size = LweSize(batch.dimension().ciphertext_len());
            LweCiphertextList::from_container(batch.into_data(), size, modulus)
        }
        None => LweCiphertextList::new(T::default(), LweSize(1), LweCiphertextCount(0), modulus),
    }
}

/// Fails unless `modulus` is the native one of its numbers, 2^32 or 2^64.
fn native<T: Element>(what: &'static str, modulus: CiphertextModulus<T>) -> Result<(), AdapterError> {
    if modulus.is_native_modulus() {
        return Ok(());
    }
    Err(AdapterError::Modulus { what, modulus: format!("{modulus:?}") })
}
