//! Our side: kernel programs of one bootstrap and of one key switch, on the CPU runtime or on a GPU.

use crate::set::Set;
use crate::side::{MESSAGES, SLOT_BITS, Side, table};
use polyfabric_kernels::Torus;
use polyfabric_program::tfhe::homomorphic::{Builder, ElementType, LookupResult, ProgramError, Range, Table};
use polyfabric_program::tfhe::kernel::{KernelProgram, Op, OpKind, Output, ValueId, key_switch_body};
use polyfabric_program::tfhe::lowering::{Arithmetic, KeySwitchOrder, LoweringError, TfheLowering, lower};
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::gpu::{self, Cuda};
use polyfabric_runtime::tfhe::{RunError, cpu};
use polyfabric_schemes::tfhe::server_key::no_progress;
use polyfabric_schemes::tfhe::{ClientKey, KeyError, KeyUnrolling, LweBatch, LweKind, RandomnessError, ServerKey};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, thiserror::Error)]
pub enum OursError {
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error(transparent)]
    Randomness(#[from] RandomnessError),
    #[error(transparent)]
    Program(#[from] ProgramError),
    #[error(transparent)]
    Lowering(#[from] LoweringError),
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Keys of either torus width, which an executor borrows.
pub enum Keys {
    Torus32(Pair<u32>),
    Torus64(Pair<u64>),
}

pub struct Pair<T: Torus> {
    client: ClientKey<T>,
    server: ServerKey<T>,
}

impl<T: Torus> Pair<T> {
    fn generate(set: &Set, unrolling: KeyUnrolling) -> Result<Self, OursError> {
        let client = ClientKey::<T>::generate(&set.parameters)?;
        let server = ServerKey::generate_unrolled(&client, unrolling, &no_progress)?;
        Ok(Self { client, server })
    }
}

impl Keys {
    /// Generates keys for `set`; the bootstrapping key is for `unrolling` secret bits per iteration.
    pub fn generate(set: &Set, unrolling: KeyUnrolling) -> Result<Self, OursError> {
        Ok(match set.dimensions.torus_bits {
            32 => Self::Torus32(Pair::generate(set, unrolling)?),
            _ => Self::Torus64(Pair::generate(set, unrolling)?),
        })
    }

    /// Our side with these keys: on the CPU, or on the GPU `card`.
    pub fn side(&self, set: &Set, card: Option<&Arc<Cuda>>) -> Box<dyn Side + '_> {
        match self {
            Self::Torus32(pair) => Box::new(Ours::new(set, pair, card)),
            Self::Torus64(pair) => Box::new(Ours::new(set, pair, card)),
        }
    }
}

enum Executor<'k, T: Torus> {
    Cpu(cpu::Executor<'k, T>),
    Card(gpu::Executor<T, Cuda>),
}

struct Ours<'k, T: Torus> {
    set: Set,
    keys: &'k Pair<T>,
    card: Option<Arc<Cuda>>,
    /// Time of the last run on a GPU.
    on_card: Cell<Duration>,
    executor: Option<Executor<'k, T>>,
    programs: Option<Programs>,
    messages: Vec<usize>,
    inputs: BTreeMap<String, LweBatch<T>>,
    bootstrapped: BTreeMap<String, LweBatch<T>>,
    switched: BTreeMap<String, LweBatch<T>>,
}

struct Programs {
    batch: usize,
    bootstrap: KernelProgram,
    key_switch: KernelProgram,
}

const INPUT: &str = "ciphertexts";

fn slot<T: Torus>(message: usize) -> T {
    T::from_u64((message as u64) << (T::BITS - SLOT_BITS))
}

impl Programs {
    fn new(set: &Set, batch: usize, unrolling: KeyUnrolling) -> Result<Self, OursError> {
        let choice = TfheLowering {
            key_unrolling: unrolling.bits(),
            ..TfheLowering::new(KeySwitchOrder::None, Arithmetic::F64)
        };
        let entries = (0..MESSAGES).map(|message| table(message) as i64).collect();
        let mut builder = Builder::new("pbs")?;
        let domain = Range::new(0, MESSAGES as i64 - 1).unwrap_or(Range::point(0));
        let input = builder.input(INPUT, ElementType::Integer(domain), batch)?;
        let table = Table::new(0, entries).map_err(|error| {
            use polyfabric_program::tfhe::homomorphic::ProgramErrorCause as Cause;
            ProgramError { cause: Cause::Table(error), location: None }
        })?;
        let result = builder.lookup(input, vec![table], None, LookupResult::Integer)?;
        builder.pin_step(input, 1 << SLOT_BITS)?;
        builder.pin_step(result, 1 << SLOT_BITS)?;
        builder.output(INPUT, result)?;
        let bootstrap = lower(&builder.finish()?, &set.parameters, &choice)?;
        let mut key_switch = KernelProgram {
            name: "keyswitch".into(),
            parameters: set.parameters.clone(),
            choice,
            tables: Vec::new(),
            ops: Vec::new(),
            outputs: vec![Output { name: INPUT.into(), value: ValueId(1) }],
        };
        let large = key_switch.lwe_type(batch, LweKind::Large);
        let small = key_switch.lwe_type(batch, LweKind::Small);
        let body = key_switch_body(set.parameters.large_lwe_dimension().get(), set.dimensions.key_switch_levels as u32);
        key_switch.ops = vec![
            Op { kind: OpKind::Input { name: INPUT.into() }, operands: Vec::new(), result: large, origin: None },
            Op { kind: OpKind::KeySwitch { body }, operands: vec![ValueId(0)], result: small, origin: None },
        ];
        Ok(Self { batch, bootstrap, key_switch })
    }
}

impl<'k, T: Torus> Ours<'k, T> {
    fn new(set: &Set, keys: &'k Pair<T>, card: Option<&Arc<Cuda>>) -> Self {
        Self {
            set: set.clone(),
            keys,
            card: card.cloned(),
            on_card: Cell::default(),
            executor: None,
            programs: None,
            messages: Vec::new(),
            inputs: BTreeMap::new(),
            bootstrapped: BTreeMap::new(),
            switched: BTreeMap::new(),
        }
    }

    fn try_prepare(&mut self, batch: usize, threads: usize) -> Result<(), OursError> {
        if self.programs.as_ref().is_none_or(|programs| programs.batch != batch) {
            self.programs = Some(Programs::new(&self.set, batch, self.keys.server.unrolling())?);
        }
        match (&self.card, &self.executor) {
            (Some(_), Some(_)) => {}
            (Some(card), None) => self.executor = Some(Executor::Card(gpu::Executor::new(card, &self.keys.server)?)),
            (None, Some(Executor::Cpu(executor))) if executor.threads() == threads => {}
            (None, _) => {
                self.executor = None;
                self.executor = Some(Executor::Cpu(cpu::Executor::new(&self.keys.server, threads)?));
            }
        }
        // The mask of a ciphertext is uniform: its bits are the messages.
        let random = self.keys.client.encrypt(LweKind::Small, &vec![T::default(); batch])?;
        self.messages = random.iter().map(|words| (words[0].to_u64() % MESSAGES as u64) as usize).collect();
        let plaintexts: Vec<T> = self.messages.iter().map(|&message| slot(message)).collect();
        self.inputs = BTreeMap::from([(INPUT.to_owned(), self.keys.client.encrypt(LweKind::Small, &plaintexts)?)]);
        Ok(())
    }

    fn run(
        &self,
        program: impl Fn(&Programs) -> &KernelProgram,
        inputs: &BTreeMap<String, LweBatch<T>>,
    ) -> BTreeMap<String, LweBatch<T>> {
        let (Some(executor), Some(programs)) = (&self.executor, &self.programs) else {
            unreachable!("a side is prepared before it is run");
        };
        let outputs = match executor {
            Executor::Cpu(executor) => executor.run(program(programs), inputs, &NoProgress),
            Executor::Card(executor) => {
                executor.run(program(programs), &self.keys.server, inputs, &NoProgress).map(|ran| {
                    self.on_card.set(ran.on_card);
                    ran.outputs
                })
            }
        };
        outputs.unwrap_or_else(|error| panic!("prepared inputs fit their program: {error}"))
    }

    fn phases(&self, kind: LweKind, batch: &BTreeMap<String, LweBatch<T>>) -> Vec<T> {
        self.keys
            .client
            .decrypt_phase(kind, &batch[INPUT])
            .expect("the runtime's outputs are under the key they are typed with")
    }
}

impl<T: Torus> Side for Ours<'_, T> {
    fn prepare(&mut self, batch: usize, threads: usize) {
        self.try_prepare(batch, threads).expect("a set of the table can be prepared");
    }

    fn bootstrap(&mut self) {
        self.bootstrapped = self.run(|programs| &programs.bootstrap, &self.inputs);
    }

    fn key_switch(&mut self) {
        self.switched = self.run(|programs| &programs.key_switch, &self.bootstrapped);
    }

    fn seconds_on_card(&self) -> f64 {
        self.on_card.get().as_secs_f64()
    }

    fn bootstrap_errors(&self) -> Vec<f64> {
        let phases = self.phases(LweKind::Large, &self.bootstrapped);
        let expected = self.messages.iter().map(|&message| slot::<T>(table(message)));
        phases.iter().zip(expected).map(|(&phase, expected)| phase.wrapping_sub(expected).to_fraction()).collect()
    }

    fn key_switch_errors(&self) -> Vec<f64> {
        let before = self.phases(LweKind::Large, &self.bootstrapped);
        let after = self.phases(LweKind::Small, &self.switched);
        after.iter().zip(&before).map(|(&after, &before)| after.wrapping_sub(before).to_fraction()).collect()
    }
}
