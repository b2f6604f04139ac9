//! The cases of the contract: every machine with small programs of its family.

use crate::common::case::{Case, List, Mapped, Path};
use crate::common::{SHAPE, all_machines, gates, keys_and_inputs, tables_of_one};
use polyfabric_machines::Machine;
use polyfabric_machines::contract::options::Given;
use polyfabric_machines::contract::{Family, rns, tfhe};
use polyfabric_machines::tfhe::labels::Meaning;
use polyfabric_machines::tfhe::replay::replay;
use polyfabric_program::rns::builtin::microbenchmark::{Operation, build};
use polyfabric_program::tfhe::builtin;
use polyfabric_program::tfhe::kernel::{KernelProgram, ValueType};
use polyfabric_program::tfhe::lowering::{KeySwitchOrder, lower};
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::rns::interpreter as of_rns;
use polyfabric_runtime::tfhe::interpreter as of_tfhe;
use polyfabric_schemes::rns::{Gadget, GadgetLiteral, Ring, RnsPolynomial};
use polyfabric_schemes::tfhe::noise::Transform;
use polyfabric_schemes::tfhe::{ClientKey, LweBatch, ServerKey, sets};
use polyfabric_sim::schedule::{Event, Item, Resources, Schedule, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Number of programs per TFHE machine; lookups come first.
pub const PROGRAMS: usize = 3;

/// The words of a program's outputs.
type Words = Vec<Vec<u64>>;

/// Gives the outputs of a replay of a schedule, or without one of the interpreter.
type Outputs<'a> = Box<dyn Fn(Option<&Schedule>) -> Result<Words, String> + 'a>;

/// `count` lookups, lowered for a machine.
pub fn look_ups(machine: &Machine, count: usize) -> KernelProgram {
    let set = sets::parameters("toy-256").expect("a set of the table");
    let choice = tfhe::lowering(machine, &set, KeySwitchOrder::After).expect("a set of 32 bits");
    builtin::build("pbs+ks", &set, count, &choice, Transform::Exact).expect("a program").kernel
}

/// Applies `change` to the events of `items` in order, including those in loops.
pub fn every(items: &mut [Item], change: &mut dyn FnMut(&mut Event)) {
    for item in items {
        match item {
            Item::Event(event) => change(event),
            Item::Repeat(repeat) => every(Arc::make_mut(&mut repeat.body).as_mut_slice(), change),
        }
    }
}

impl Case {
    /// TFHE programs of lookups, of linear layers, and of several tables of one ciphertext, or RNS programs of key switches and products.
    pub fn of(family: Family) -> Vec<Self> {
        let machines = all_machines().into_iter().filter(|machine| machine.family() == family);
        let cases = machines.flat_map(|machine| match family {
            Family::Tfhe => {
                let set = sets::parameters("toy-256").expect("a set of the table");
                let choice = tfhe::lowering(&machine, &set, KeySwitchOrder::After).expect("a set of 32 bits");
                let lowered = [gates(), tables_of_one()].map(|own| lower(&own, &set, &choice).expect("it is lowered"));
                let programs = [look_ups(&machine, 5)].into_iter().chain(lowered);
                programs.map(|program| Self::tfhe(&machine, program)).collect::<Vec<_>>()
            }
            Family::Rns => {
                let programs = [Operation::Permute, Operation::Multiply].map(|of| build(of, SHAPE).expect("a program"));
                programs.into_iter().map(|program| Self::rns(&machine, Arc::new(program))).collect()
            }
        });
        cases.collect()
    }

    pub fn all() -> Vec<Self> {
        [Family::Tfhe, Family::Rns].into_iter().flat_map(Self::of).collect()
    }

    pub fn name(&self) -> String {
        let program = match &self.mapped {
            Mapped::Tfhe(program, _) => &program.name,
            Mapped::Rns(program, _) => &program.name,
        };
        format!("`{program}` on {}", self.machine.name())
    }

    /// The audit's verdict, also on the machine.
    pub fn held(&self, schedule: &Schedule) -> Result<(), String> {
        let held = match &self.mapped {
            Mapped::Tfhe(program, mapped) => tfhe::hold(&self.machine, program, &mapped.labels, schedule),
            Mapped::Rns(program, simulated) => {
                let labels = simulated.mapped().labels();
                rns::hold(&self.machine, program, &Given::new(), labels, &List(schedule, None))
            }
        };
        held.map_err(|error| error.to_string())
    }

    /// The verdict of the checker, then of the audit.
    pub fn judged(&self, schedule: &Schedule) -> Result<(), String> {
        self.checked(schedule).map_err(|violation| violation.to_string())?;
        self.held(schedule)
    }

    pub fn is_refused(&self, schedule: &Schedule) -> bool {
        self.judged(schedule).is_err()
    }

    /// Whether a value is part of the program, and not a token.
    pub fn stands_for_data(&self, value: Value) -> bool {
        match &self.mapped {
            Mapped::Tfhe(_, mapped) => {
                mapped.labels.meanings(value).any(|meaning| !matches!(meaning, Meaning::Token { .. }))
            }
            Mapped::Rns(..) => true,
        }
    }

    /// The schedule with every event changed, and the sum of what `change` returns.
    pub fn every(&self, change: impl Fn(&Resources, &mut Event) -> usize) -> (Schedule, usize) {
        let (mut schedule, mut changed) = (self.schedule.clone(), 0);
        every(&mut schedule.items, &mut |event| changed += change(&self.schedule.resources, event));
        (schedule, changed)
    }

    /// Events of each kind: in loops the first one, in a list the first, the middle and the last one.
    pub fn samples(&self) -> Vec<Path> {
        let most = if matches!(self.mapped, Mapped::Tfhe(..)) { 1 } else { 3 };
        self.kinds().into_values().flat_map(|own| own.into_iter().take(most)).collect()
    }

    /// Schedules with one changed event, by the event's kind. `change` returns whether there was anything to change. In loops it is the
    /// first such event of each kind.
    pub fn variants(&self, change: impl Fn(&Resources, &mut Event) -> bool) -> Vec<(&str, Schedule)> {
        let mut variants = Vec::new();
        for own in self.kinds().into_values() {
            let most = if matches!(self.mapped, Mapped::Tfhe(..)) { 1 } else { own.len() };
            let changed = own.iter().filter_map(|path| {
                let mut event = self.event(path).clone();
                let met = change(&self.schedule.resources, &mut event);
                met.then(|| (self.kind(path), self.with(path, |own| *own = event)))
            });
            variants.extend(changed.take(most));
        }
        variants
    }

    /// The outputs for fixed keys and inputs.
    pub fn outputs(&self) -> Outputs<'_> {
        match &self.mapped {
            Mapped::Tfhe(program, mapped) => {
                let client = ClientKey::<u32>::for_tests(&program.parameters, 7).expect("a checked set");
                let server = ServerKey::<u32>::for_tests(&client, 8);
                let plain: Vec<u32> = (0..5).map(|i| if i % 3 == 0 { 1 << 29 } else { 7 << 29 }).collect();
                let (name, _, value) = program.inputs().next().expect("an input");
                let ValueType::Lwe { kind, .. } = value else { panic!("inputs are ciphertexts") };
                let inputs: BTreeMap<String, LweBatch<u32>> =
                    [(name.to_owned(), client.encrypt_for_tests(kind, &plain, 3))].into();
                Box::new(move |schedule| {
                    let outputs = match schedule {
                        Some(schedule) => replay(schedule, &mapped.labels, program, &server, &inputs, &NoProgress)
                            .map(|replayed| replayed.outputs)
                            .map_err(|error| error.to_string())?,
                        None => of_tfhe::run(program, &server, &inputs, &NoProgress).expect("the interpreter runs it"),
                    };
                    Ok(outputs.values().map(|batch| batch.data().iter().map(|&word| word.into()).collect()).collect())
                })
            }
            Mapped::Rns(program, simulated) => {
                let ring = Ring::new(program.degree, &program.moduli).expect("a ring");
                let gadget = GadgetLiteral::hybrid(SHAPE.limbs, 1, SHAPE.special);
                let gadget = Arc::new(Gadget::new(&ring, gadget).expect("a gadget"));
                let (keys, inputs) = keys_and_inputs(program, &ring, &gadget);
                Box::new(move |schedule| {
                    let inputs: Vec<&RnsPolynomial> = inputs.iter().collect();
                    let outputs = match schedule {
                        Some(schedule) => simulated
                            .mapped()
                            .replay(&List(schedule, None), program, &keys, &inputs)
                            .map_err(|error| error.to_string())?,
                        None => of_rns::run(program, &keys, &inputs, &NoProgress).expect("the interpreter runs it"),
                    };
                    Ok(outputs.iter().flat_map(RnsPolynomial::iter).map(|(_, words)| words.to_vec()).collect())
                })
            }
        }
    }
}
