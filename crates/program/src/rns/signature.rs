//! The public interface of a CKKS or BGV program for its client: the parameter set, the encodings of inputs and outputs, and the keys
//! to generate. It reveals the levels and automorphisms that the program uses, but no other part of the computation.

use super::homomorphic::Program;
use super::kernel::{KernelProgram, LimbSet};
use super::lowering::Lowered;
use super::lowering::bgv::{BgvLowered, BgvPort};
use super::noise::NoiseReport;
use polyfabric_schemes::joint::Smudging;
use polyfabric_schemes::port::{Direction, NAMES, Port, ProgramHash, name_problem};
use polyfabric_schemes::rns::{Domain, KeyId, KeyStorage, LimbId};
use polyfabric_schemes::set_file::ParameterSet;
use polyfabric_schemes::{bgv, ckks, gsw};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use thiserror::Error;

/// Maximum inputs, outputs or keys of a parsed signature.
const MOST_ENTRIES: usize = 1 << 16;

/// Encoding of a ciphertext's slots.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Encoding {
    Ckks {
        level: usize,
        /// Factor of the slots.
        scale: f64,
        /// Bound of the slots' absolute values.
        magnitude: f64,
        /// Bound of the error, exceeded with probability 2^-40.
        error: f64,
    },
    Bgv {
        /// Factor of the slots modulo t.
        factor: u64,
        /// log2 of the bound of the phase.
        log2_phase: f64,
    },
    /// A bit as a ring-GSW ciphertext, of either scheme.
    Selector {},
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terminal {
    pub name: String,
    /// Polynomials of the ciphertext.
    pub parts: usize,
    /// Limbs of each polynomial.
    pub limbs: Vec<LimbId>,
    /// Whether they are in the evaluation domain.
    pub evaluated: bool,
    pub encoding: Encoding,
    /// The noise that each of several owners of the keys adds to its share of an output; their bound is in the encoding's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smudging: Option<Smudging>,
}

/// A switching key that the program needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WantedKey {
    pub id: KeyId,
    /// The limbs that the program reads.
    pub limbs: Vec<LimbId>,
    /// Storage format.
    pub storage: KeyStorage,
}

/// A parameter set as serialized.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SetLiteral {
    Ckks(Box<ckks::ParametersLiteral>),
    Bgv(Box<bgv::ParametersLiteral>),
}

/// A signature as deserialized, not checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignatureLiteral {
    pub program: String,
    /// The program's hash, which ciphertext files name.
    pub hash: ProgramHash,
    /// Slots per vector.
    pub slots: usize,
    pub parameters: SetLiteral,
    /// In the order of the kernel program.
    pub inputs: Vec<Terminal>,
    /// In the order of the kernel program.
    pub outputs: Vec<Terminal>,
    /// Keys that the program needs.
    pub keys: Vec<WantedKey>,
}

/// Why a deserialized signature is invalid.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum SignatureError {
    #[error("the signature of {program}: {problem}; get it again from the program's server")]
    Parameters { program: String, problem: String },
    #[error("the signature of {program}: {what} is {found}, and {possible}; get it again from the program's server")]
    Figure { program: String, what: String, found: String, possible: String },
}

/// A checked signature, derived from a lowered program or from a [`SignatureLiteral`].
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    literal: SignatureLiteral,
    set: ParameterSet,
}

impl Signature {
    /// The signature of the CKKS program `program`, lowered to `lowered`, with the errors `noise`. `None` if an input or output is
    /// missing there.
    pub fn of_ckks(
        program: &Program,
        parameters: &ckks::Parameters,
        lowered: &Lowered,
        noise: &NoiseReport,
        keys: Vec<WantedKey>,
    ) -> Option<Self> {
        let encoding = |outputs: bool, name: &str| {
            let ports = if outputs { &lowered.outputs } else { &lowered.inputs };
            let own = ports.iter().find(|port| port.name == name);
            let observed = lowered.observed.iter().find(|(_, port)| port.name == name);
            let port = own.or(observed.map(|(_, port)| port))?;
            let mut ids = program.inputs().chain(program.outputs());
            let id = observed.map(|(id, _)| *id).or_else(|| {
                ids.find(|(id, own)| *own == name && program.node(*id).operands.is_empty() != outputs).map(|(id, _)| id)
            })?;
            let node = noise.node(id)?;
            let (magnitude, error) = (node.magnitude, node.bound);
            Some((Encoding::Ckks { level: port.level, scale: port.scale.real(), magnitude, error }, node.smudging))
        };
        let set = ParameterSet::Ckks(parameters.clone());
        Self::new(program, set, &lowered.kernel, encoding, keys)
    }

    /// The signature of the BGV program `program`, lowered to `lowered`. `None` if an input or output is missing there.
    pub fn of_bgv(
        program: &Program,
        parameters: &bgv::Parameters,
        lowered: &BgvLowered,
        keys: Vec<WantedKey>,
    ) -> Option<Self> {
        let encoding = |outputs: bool, name: &str| {
            let ports = if outputs { &lowered.plan.outputs } else { &lowered.plan.inputs };
            let BgvPort { state, smudging, .. } = ports.iter().find(|port| port.name == name)?;
            let half = parameters.ring().log2_product(&parameters.limbs(state.limbs)) - 1.0;
            let encoding = Encoding::Bgv { factor: state.factor, log2_phase: state.noise.phase_limit(half) };
            Some((encoding, *smudging))
        };
        let set = ParameterSet::Bgv(parameters.clone());
        Self::new(program, set, &lowered.kernel, encoding, keys)
    }

    fn new(
        program: &Program,
        set: ParameterSet,
        kernel: &KernelProgram,
        encoding: impl Fn(bool, &str) -> Option<(Encoding, Option<Smudging>)>,
        keys: Vec<WantedKey>,
    ) -> Option<Self> {
        let inputs = kernel.inputs().map(|(name, part, _, value)| (name, part, value));
        let outputs = kernel.outputs.iter().map(|own| (&*own.name, own.part, kernel.value(own.value)));
        let selectors: BTreeSet<&str> =
            program.inputs().filter(|&(id, _)| program.node(id).is_selector()).map(|(_, name)| name).collect();
        let terminals = |of_outputs: bool, polynomials: Vec<(&str, u16, &super::kernel::ValueType)>| {
            let mut terminals: Vec<Terminal> = Vec::new();
            for (name, part, value) in polynomials {
                match terminals.last_mut().filter(|last| last.name == name) {
                    // The parts of a ciphertext are consecutive.
                    Some(last) if last.parts == usize::from(part) => last.parts += 1,
                    None if part == 0 => {
                        let selector = !of_outputs && selectors.contains(name);
                        let (encoding, smudging) = match selector {
                            true => (Encoding::Selector {}, None),
                            false => encoding(of_outputs, name)?,
                        };
                        terminals.push(Terminal {
                            name: name.to_owned(),
                            parts: 1,
                            limbs: value.limbs.iter().collect(),
                            evaluated: value.domain == Domain::Evaluation,
                            encoding,
                            smudging,
                        });
                    }
                    _ => return None,
                }
            }
            Some(terminals)
        };
        let parameters = match &set {
            ParameterSet::Ckks(set) => SetLiteral::Ckks(Box::new(set.literal().clone())),
            ParameterSet::Bgv(set) => SetLiteral::Bgv(Box::new(set.literal().clone())),
        };
        let literal = SignatureLiteral {
            program: program.name().to_owned(),
            hash: program.port(Direction::Input, "").program,
            slots: program.slots(),
            parameters,
            inputs: terminals(false, inputs.collect())?,
            outputs: terminals(true, outputs.collect())?,
            keys,
        };
        Some(Self { literal, set })
    }

    /// Checks a deserialized signature.
    ///
    /// # Errors
    /// [`SignatureError`] if no program can have it.
    pub fn check(literal: SignatureLiteral) -> Result<Self, SignatureError> {
        let program = &literal.program;
        let refused = |problem: String| SignatureError::Parameters { program: printable(program), problem };
        let set = match &literal.parameters {
            SetLiteral::Ckks(set) => {
                ckks::Parameters::check(set).map(ParameterSet::Ckks).map_err(|error| refused(error.to_string()))
            }
            SetLiteral::Bgv(set) => {
                bgv::Parameters::check(set).map(ParameterSet::Bgv).map_err(|error| refused(error.to_string()))
            }
        }?;
        let checks = Checks { literal: &literal, set: &set };
        checks.whole()?;
        Ok(Self { literal, set })
    }

    /// The serializable form.
    pub fn literal(&self) -> &SignatureLiteral {
        &self.literal
    }

    pub fn set(&self) -> &ParameterSet {
        &self.set
    }

    pub fn name(&self) -> &str {
        &self.literal.program
    }

    /// Slots per vector.
    pub fn slots(&self) -> usize {
        self.literal.slots
    }

    pub fn terminals(&self, outputs: bool) -> &[Terminal] {
        if outputs { &self.literal.outputs } else { &self.literal.inputs }
    }

    /// Names of the encrypted inputs or outputs.
    pub fn names(&self, outputs: bool) -> Vec<String> {
        self.terminals(outputs).iter().map(|own| own.name.clone()).collect()
    }

    pub fn terminal(&self, outputs: bool, name: &str) -> Option<&Terminal> {
        self.terminals(outputs).iter().find(|own| own.name == name)
    }

    /// The keys that the program needs.
    pub fn keys(&self) -> &[WantedKey] {
        &self.literal.keys
    }

    /// Bytes of these keys when generated: as stored for CKKS, uncompressed for BGV.
    pub fn key_bytes(&self) -> usize {
        match &self.set {
            ParameterSet::Ckks(set) => {
                let (degree, moduli) = (set.ring_degree(), set.moduli());
                let bytes =
                    |key: &WantedKey| key.storage.key_bytes_of(degree, moduli, &set.gadget_over(key.id, &key.limbs));
                self.keys().iter().map(bytes).sum()
            }
            ParameterSet::Bgv(set) => {
                let bytes = |key: &WantedKey| KeyStorage::BYTES.key_bytes(set.ring(), set.gadget_of(key.id));
                self.keys().iter().map(bytes).sum()
            }
        }
    }

    /// The identity of the input or output `name`, as ciphertext files store it.
    pub fn port(&self, direction: Direction, name: &str) -> Port {
        let SignatureLiteral { hash, program, .. } = &self.literal;
        Port { program: *hash, program_name: program.clone(), direction, name: name.to_owned() }
    }
}

/// An untrusted name with control characters escaped.
fn printable(name: &str) -> String {
    name.escape_debug().to_string()
}

impl Terminal {
    pub fn limb_set(&self) -> LimbSet {
        LimbSet::new(self.limbs.iter().copied())
    }
}

/// A signature under check, with its parameter set.
struct Checks<'a> {
    literal: &'a SignatureLiteral,
    set: &'a ParameterSet,
}

impl Checks<'_> {
    fn expect(
        &self,
        holds: bool,
        what: &str,
        found: impl std::fmt::Display,
        possible: &str,
    ) -> Result<(), SignatureError> {
        let Self { literal, .. } = self;
        holds.then_some(()).ok_or_else(|| SignatureError::Figure {
            program: printable(&literal.program),
            what: what.to_owned(),
            found: found.to_string(),
            possible: possible.to_owned(),
        })
    }

    fn degree(&self) -> usize {
        match self.set {
            ParameterSet::Ckks(set) => set.ring_degree().get(),
            ParameterSet::Bgv(set) => set.ring().degree().get(),
        }
    }

    fn moduli(&self) -> usize {
        match self.set {
            ParameterSet::Ckks(set) => set.moduli().len(),
            ParameterSet::Bgv(set) => set.ring().moduli().len(),
        }
    }

    fn parties(&self) -> usize {
        match self.set {
            ParameterSet::Ckks(set) => set.secret().parties(),
            ParameterSet::Bgv(set) => set.literal().secret.parties(),
        }
    }

    fn whole(&self) -> Result<(), SignatureError> {
        let SignatureLiteral { program, slots, inputs, outputs, keys, .. } = self.literal;
        self.expect(name_problem(program).is_none(), "the program's name", format!("{program:?}"), NAMES)?;
        let most = match self.set {
            ParameterSet::Ckks(_) => self.degree() / 2,
            ParameterSet::Bgv(_) => self.degree(),
        };
        let possible = format!("its set has a power of two up to {most}");
        self.expect(slots.is_power_of_two() && *slots <= most, "the number of slots", slots, &possible)?;
        for (what, count, least) in
            [("inputs", inputs.len(), 1), ("outputs", outputs.len(), 1), ("keys", keys.len(), 0)]
        {
            let possible = format!("a program has {least} to {MOST_ENTRIES}");
            self.expect((least..=MOST_ENTRIES).contains(&count), &format!("the number of {what}"), count, &possible)?;
        }
        let joint = self.parties() > 1;
        for (terminals, outputs) in [(inputs, false), (outputs, true)] {
            let smudged = outputs && joint;
            let mut names = BTreeSet::new();
            for own in terminals {
                let what = format!("the name {:?}", own.name);
                self.expect(names.insert(&own.name), &what, "there twice", "each is there once")?;
                self.expect(name_problem(&own.name).is_none(), "a name", format!("{:?}", own.name), NAMES)?;
                self.terminal(own, outputs)?;
                let (what, found) = (format!("the smudging noise of {:?}", own.name), own.smudging.is_some());
                self.expect(
                    found == smudged,
                    &what,
                    if found { "there" } else { "missing" },
                    "outputs of several owners' keys alone have it",
                )?;
                self.expect(
                    !smudged || own.parts == 2,
                    &format!("the number of parts of {:?}", own.name),
                    own.parts,
                    "with several owners there are 2",
                )?;
            }
        }
        let mut ids = BTreeSet::new();
        for key in keys {
            // The client allocates memory for each key, and the limit is based on this list.
            self.expect(ids.insert(key.id), &key.id.to_string(), "there twice", "each is there once")?;
            self.limbs(&key.id.to_string(), &key.limbs, 1)?;
            if let KeyId::Galois(element) | KeyId::GaloisAfter(element) = key.id {
                let valid = element % 2 == 1 && element < 2 * self.degree();
                self.expect(valid, "an automorphism", element, "one is odd and below twice the ring's degree")?;
            }
        }
        Ok(())
    }

    fn limbs(&self, what: &str, limbs: &[LimbId], least: usize) -> Result<(), SignatureError> {
        let distinct: BTreeSet<LimbId> = limbs.iter().copied().collect();
        let inside = limbs.iter().all(|limb| usize::from(limb.0) < self.moduli());
        let holds = inside && distinct.len() == limbs.len() && limbs.len() >= least;
        let possible = format!("its set has {} of them, each once", self.moduli());
        self.expect(holds, &format!("the list of limbs of {what}"), format!("{limbs:?}"), &possible)
    }

    fn selector(&self, own: &Terminal, output: bool) -> Result<(), SignatureError> {
        let (name, gadget) = (&own.name, self.set.selector_gadget(&own.limbs));
        let (what, needed) = (format!("the number of parts of {name:?}"), gsw::parts(&gadget));
        self.expect(own.parts == needed, &what, own.parts, &format!("a selector with these limbs has {needed}"))?;
        let what = format!("the list of limbs of {name:?}");
        let possible = "a selector has the first limbs of Q, then all of P";
        self.expect(own.limbs == gadget.qp() && own.evaluated, &what, format!("{:?}", own.limbs), possible)?;
        self.expect(!output, &format!("the encoding of {name:?}"), "a selector's", "only inputs are selectors")
    }

    fn terminal(&self, own: &Terminal, output: bool) -> Result<(), SignatureError> {
        let Terminal { name, parts, limbs, encoding, smudging, .. } = own;
        self.limbs(&format!("{name:?}"), limbs, 1)?;
        if matches!(encoding, Encoding::Selector {}) {
            return self.selector(own, output);
        }
        self.expect((2..=3).contains(parts), &format!("the number of parts of {name:?}"), parts, "there are 2 or 3")?;
        if let Some(smudging) = smudging {
            let what = format!("the smudging noise of {name:?}");
            let found = format!("{} bits of deviation 2^{}", smudging.bits, smudging.log2_deviation);
            let possible = format!("it has {} to {} bits", Smudging::LEAST_BITS, Smudging::MOST_BITS);
            self.expect(smudging.is_usable(), &what, found, &possible)?;
        }
        match (self.set, *encoding) {
            (ParameterSet::Ckks(set), Encoding::Ckks { level, scale, magnitude, error }) => {
                let what = format!("the level of {name:?}");
                let possible = format!("its set has levels 0 to {}", set.max_level());
                self.expect(level <= set.max_level(), &what, level, &possible)?;
                let what = format!("the scale of {name:?}");
                self.expect(scale.is_finite() && scale >= 1.0, &what, scale, "a scale is a number from 1")?;
                for (of, bound) in [("magnitude", magnitude), ("error", error)] {
                    let what = format!("the {of} of {name:?}");
                    self.expect(bound.is_finite() && bound >= 0.0, &what, bound, "a bound is a number from 0")?;
                }
                Ok(())
            }
            (ParameterSet::Bgv(set), Encoding::Bgv { factor, log2_phase }) => {
                let t = set.plaintext_modulus().value();
                let odd = !t.is_power_of_two() || factor % 2 == 1;
                let holds = factor >= 1 && odd && factor % t != 0;
                self.expect(holds, &format!("the factor of {name:?}"), factor, "one has an inverse modulo t")?;
                self.expect(!log2_phase.is_nan(), &format!("the noise of {name:?}"), log2_phase, "it is a number")
            }
            _ => self.expect(false, &format!("the encoding of {name:?}"), "of another scheme", "it is of its set's"),
        }
    }
}
