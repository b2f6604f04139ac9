//! Keys and runs shared by the interpreter's tests.

use polyfabric_kernels::Torus;
use polyfabric_program::tfhe::homomorphic::{Program, decode_output, encode_input, evaluate};
use polyfabric_program::tfhe::kernel::{KernelProgram, ValueType};
use polyfabric_program::tfhe::lowering::{TfheLowering, lower};
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::tfhe::interpreter;
use polyfabric_schemes::tfhe::{ClientKey, KeyUnrolling, LweBatch, Parameters, ServerKey, sets};
use std::collections::BTreeMap;

/// Values of inputs or outputs, by name.
pub type Values = BTreeMap<String, Vec<i64>>;

/// Both keys of one set.
pub struct Keys<T> {
    pub client: ClientKey<T>,
    pub server: ServerKey<T>,
}

impl<T: Torus> Keys<T> {
    /// The keys of set `name`, always the same.
    pub fn new(name: &str) -> Self {
        Self::unrolled(name, KeyUnrolling::ONE)
    }

    /// [`Self::new`] with a server key for `unrolling` secret bits per iteration.
    pub fn unrolled(name: &str, unrolling: KeyUnrolling) -> Self {
        Self::for_parameters(&sets::parameters(name).unwrap(), unrolling)
    }

    /// [`Self::unrolled`] for any set.
    pub fn for_parameters(parameters: &Parameters, unrolling: KeyUnrolling) -> Self {
        let client = ClientKey::for_tests(parameters, 7).unwrap();
        let server = ServerKey::for_tests_unrolled(&client, unrolling, 8);
        Self { client, server }
    }

    /// Lowers `program` for these keys' set.
    pub fn lower(&self, program: &Program, choice: &TfheLowering) -> KernelProgram {
        lower(program, self.server.parameters(), choice).unwrap()
    }

    /// Encrypts `inputs` for `lowered`.
    pub fn encrypt(
        &self,
        program: &Program,
        lowered: &KernelProgram,
        inputs: &Values,
        seed: u64,
    ) -> BTreeMap<String, LweBatch<T>> {
        let mut encrypted = BTreeMap::new();
        for (index, (name, _, value)) in lowered.inputs().enumerate() {
            let ValueType::Lwe { kind, .. } = value else { panic!("{name} is no LWE input") };
            let plaintexts = encode_input::<T>(program, name, &inputs[name]).unwrap();
            let batch = self.client.encrypt_for_tests(kind, &plaintexts, seed + index as u64);
            encrypted.insert(name.to_owned(), batch);
        }
        encrypted
    }

    /// Decrypts and decodes the outputs of `lowered`.
    pub fn decrypt(&self, program: &Program, outputs: &BTreeMap<String, LweBatch<T>>) -> Values {
        let decode = |(name, batch): (&String, &LweBatch<T>)| {
            let kind = self.client.kind_of(batch.dimension()).unwrap();
            let phases = self.client.decrypt_phase(kind, batch).unwrap();
            (name.clone(), decode_output(program, name, &phases, None).unwrap())
        };
        outputs.iter().map(decode).collect()
    }

    /// Runs encrypted with the interpreter, and decrypts.
    pub fn interpret(&self, program: &Program, choice: &TfheLowering, inputs: &Values) -> Values {
        let lowered = self.lower(program, choice);
        let encrypted = self.encrypt(program, &lowered, inputs, 100);
        let outputs = interpreter::run(&lowered, &self.server, &encrypted, &NoProgress).unwrap();
        self.decrypt(program, &outputs)
    }
}

/// The outputs in the clear.
pub fn clear(program: &Program, inputs: &Values) -> Values {
    evaluate(program, inputs).unwrap().outputs(program)
}

/// `[("a", [1, 2])]` as values by name.
pub fn values(all: &[(&str, &[i64])]) -> Values {
    all.iter().map(|(name, values)| ((*name).to_owned(), values.to_vec())).collect()
}
