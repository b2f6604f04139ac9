//! Executes a schedule on real ciphertexts: events in order of their start, and every tile through its unit in
//! its cycle.
//!
//! An event reads the content of the places that it names, in the cycle of its first read. Tiles on a wire
//! enter the next unit one cycle after they left the previous one. So a wrong schedule gives wrong words or an
//! error.

use super::machine::Osiris;
use super::rounds::Body;
use super::schedule::Scheduled;
use super::tasks::{Half, Kernel, Pointwise, Residue, inverse_of_product, read_at_once};
use super::tiling::{TileOrder, join};
use super::units::base_conversion::HeightError;
use super::units::{
    AutomorphismUnit, BaseConversionArray, BaseTable, DiagonalProduct, Direction, HadamardUnit, KeyGenerator,
    KeyProduct, LimbExtension, LockstepError, NttUnit, Shape, Tile, stream,
};
use crate::rns::leaf::Leaf;
use polyfabric_kernels::base_conversion::{BaseConverter, RnsBasis, RnsBasisError};
use polyfabric_kernels::cancel;
use polyfabric_kernels::modular::Modulus;
use polyfabric_kernels::ntt::streaming::{StreamingError, StreamingNtt};
use polyfabric_kernels::ntt::{EvaluationOrder, Ntt, NttError};
use polyfabric_program::rns::kernel::{Conversion, KernelProgram, LimbSet, PublicPolynomial, Round, Rounds};
use polyfabric_schemes::rns::{Domain, KeyId, KeySet, KeyStorage, LimbId, MissingKey, RnsPolynomial, SwitchingKey};
use polyfabric_sim::list::EventList;
use polyfabric_sim::schedule::{Access, Event, Order, Schedule, Shift, Value};
use std::collections::{HashMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Why a schedule cannot be executed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error(transparent)]
    Key(#[from] MissingKey),
    #[error("{key} has no seed, but the machine generates masks from one: generate the keys again")]
    Seed { key: KeyId },
    #[error("limb {limb} of an input or key is missing: generate keys and inputs for the program's parameter set")]
    Limb { limb: LimbId },
    #[error("cycle {cycle}: {unit} reads data that is absent. This is a bug in the mapper")]
    NotThere { cycle: i64, unit: String },
    #[error(transparent)]
    Lockstep(#[from] LockstepError),
    #[error(transparent)]
    Ntt(#[from] NttError),
    #[error(transparent)]
    Streaming(#[from] StreamingError),
    #[error(transparent)]
    Basis(#[from] RnsBasisError),
    #[error(transparent)]
    Height(#[from] HeightError),
}

type Words = Arc<Vec<u64>>;

/// The content written to a place, with the cycles of its first and last tile.
struct Version {
    /// Cycle of the first tile.
    begins: i64,
    /// Cycle from which the first tile is certainly there; that of the last tile if tiles arrive in a
    /// unit-specific order.
    first: i64,
    last: i64,
    words: Words,
}

impl Version {
    /// Whether this version overwrites data that `access` reads in cycles `first` to `last` before the read. If
    /// both are in stream order, tiles are compared one by one.
    fn comes_before(&self, access: &Access, (first, last): (i64, i64)) -> bool {
        let in_order = access.order == Order::Stream && self.first == self.begins;
        if in_order { self.first < first || self.last < last } else { self.begins < last }
    }
}

/// A round of a program that repeats.
#[derive(Clone, Copy)]
struct InRound<'a> {
    number: usize,
    body: &'a Body,
    round: &'a Round,
}

impl InRound<'_> {
    fn first(self) -> bool {
        self.number == 0
    }
}

/// Contents of the simulated storage.
struct Replay<'a> {
    machine: &'a Osiris,
    scheduled: &'a Scheduled,
    program: &'a KernelProgram,
    keys: &'a KeySet,
    inputs: &'a [&'a RnsPolynomial],
    /// By place in the scratchpads, the versions written. A unit with long latency may start before one whose
    /// results are written to the same place earlier.
    frames: HashMap<u64, Vec<Version>>,
    /// By wire, tiles with the cycle in which they left their unit.
    wires: HashMap<u16, VecDeque<(i64, Tile)>>,
    /// Stored values.
    outputs: HashMap<Value, Words>,
    /// The round of the current event, in a program that repeats.
    round: Option<InRound<'a>>,
    /// Keys with their masks expanded from the seed.
    seeded: HashMap<KeyId, SwitchingKey>,
}

/// Executes `events`, those of `scheduled` or modified ones, and returns the outputs of `program` in order.
pub fn replay(
    machine: &Osiris,
    scheduled: &Scheduled,
    events: &dyn EventList,
    program: &KernelProgram,
    keys: &KeySet,
    inputs: &[&RnsPolynomial],
) -> Result<Vec<RnsPolynomial>, ReplayError> {
    let mut replay = Replay::new(machine, (scheduled, program), keys, inputs);
    let mut found = Ok(());
    events.visit(&mut |event| {
        cancel::check();
        found = replay.event(event);
        if found.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    found?;
    replay.all_outputs()
}

/// Executes a schedule of `rounds`, theirs or a modified one, with `bodies` mapped to `machine`. Returns the
/// outputs of the last round in order.
///
/// # Panics
/// If there is no body, or a round has a body that is not among `bodies`.
pub fn replay_rounds(
    machine: &Osiris,
    (rounds, bodies): (&Rounds, &[&Body]),
    schedule: &Schedule,
    keys: &KeySet,
    inputs: &[&RnsPolynomial],
) -> Result<Vec<RnsPolynomial>, ReplayError> {
    let mut replay = Replay::new(machine, (&bodies[0].scheduled, &bodies[0].program), keys, inputs);
    for placed in schedule.events() {
        cancel::check();
        let event = placed.to_event();
        replay.enter(rounds, bodies, event.op.ciphertext as usize).ok_or_else(|| replay.not_there(&event))?;
        replay.event(&event)?;
    }
    let last = rounds.rounds.len() - 1;
    _ = replay.enter(rounds, bodies, last);
    replay.all_outputs()
}

impl<'a> Replay<'a> {
    fn new(
        machine: &'a Osiris,
        (scheduled, program): (&'a Scheduled, &'a KernelProgram),
        keys: &'a KeySet,
        inputs: &'a [&'a RnsPolynomial],
    ) -> Self {
        Self {
            machine,
            scheduled,
            program,
            keys,
            inputs,
            frames: HashMap::new(),
            wires: HashMap::new(),
            outputs: HashMap::new(),
            round: None,
            seeded: HashMap::new(),
        }
    }

    /// Starts round `number`, if it exists.
    fn enter(&mut self, rounds: &'a Rounds, bodies: &'a [&'a Body], number: usize) -> Option<()> {
        let round = rounds.rounds.get(number)?;
        let body = bodies[round.body];
        (self.scheduled, self.program) = (&body.scheduled, &body.program);
        self.round = Some(InRound { number, body, round });
        Some(())
    }
}

impl Replay<'_> {
    fn shape(&self) -> Shape {
        self.scheduled.units.shape
    }

    fn order(&self) -> EvaluationOrder {
        EvaluationOrder::Streaming { lanes: self.shape().lanes() }
    }

    fn modulus(&self, limb: LimbId) -> Modulus {
        self.program.modulus(limb)
    }

    fn not_there(&self, event: &Event) -> ReplayError {
        let unit = self.scheduled.schedule.resources.name(event.resource).to_owned();
        ReplayError::NotThere { cycle: event.start, unit }
    }

    /// The limb at the place of `access`. Each tile must arrive before its read, and no other version may
    /// overwrite it before the last read.
    fn read(&self, event: &Event, access: &Access) -> Result<Words, ReplayError> {
        let (first, last) = (event.start + i64::from(access.first), event.start + i64::from(access.last));
        let there = |version: &&Version| match access.order {
            Order::Any => version.last < first,
            Order::Stream => version.first < first && version.last < last,
        };
        let versions = || self.frames.get(&access.place.offset).into_iter().flatten();
        let found = versions().filter(there).max_by_key(|version| version.last);
        let over = |other: &Version| other.comes_before(access, (first, last));
        let found = found.filter(|found| versions().all(|other| other.last <= found.last || !over(other)));
        found.map(|version| version.words.clone()).ok_or_else(|| self.not_there(event))
    }

    /// Like [`Self::read`], with residues checked against `modulus`: a wrong schedule may deliver another limb.
    fn read_modulo(&self, event: &Event, access: &Access, modulus: Modulus) -> Result<Words, ReplayError> {
        let words = self.read(event, access)?;
        match words.iter().all(|&word| word < modulus.value()) {
            true => Ok(words),
            false => Ok(Arc::new(words.iter().map(|&word| modulus.reduce(word)).collect())),
        }
    }

    fn write(&mut self, event: &Event, access: &Access, words: Words) {
        let last = event.start + i64::from(access.last);
        let begins = event.start + i64::from(access.first);
        let first = if access.order == Order::Any { last } else { begins };
        let versions = self.frames.entry(access.place.offset).or_default();
        // Later events read later, so only the newest complete version matters.
        let newest = versions.iter().map(|version| version.last).filter(|&last| last < event.start).max();
        versions.retain(|version| newest.is_none_or(|newest| version.last >= newest));
        versions.push(Version { begins, first, last, words });
    }

    /// Writes limbs that leave a unit as tiles to the places of `accesses`.
    fn write_tiles(
        &mut self,
        event: &Event,
        accesses: &[Access],
        tiles: impl IntoIterator<Item = Tile>,
    ) -> Result<(), ReplayError> {
        let limbs = join(self.shape(), accesses.len(), tiles).ok_or_else(|| self.not_there(event))?;
        for (access, words) in accesses.iter().zip(limbs) {
            self.write(event, access, Arc::new(words));
        }
        Ok(())
    }

    /// The tiles on the wire while `access` reads it, with the cycle in which each enters, relative to the
    /// event's start.
    fn take(&mut self, event: &Event, access: &Access) -> Result<Vec<(u64, Tile)>, ReplayError> {
        let wire = self.wires.entry(access.place.memory.0).or_default();
        let last = u64::from(access.last);
        let after = |cycle: i64| u64::try_from(cycle + 1 - event.start).ok();
        // A tile that arrived before the event's start has no reader.
        if wire.front().is_some_and(|&(cycle, _)| after(cycle).is_none()) {
            return Err(self.not_there(event));
        }
        let passing = wire.iter().take_while(|&&(cycle, _)| after(cycle).is_some_and(|cycle| cycle <= last)).count();
        Ok(wire.drain(..passing).filter_map(|(cycle, tile)| Some((after(cycle)?, tile))).collect())
    }

    fn put(&mut self, event: &Event, access: &Access, tiles: Vec<(u64, Tile)>) {
        let wire = self.wires.entry(access.place.memory.0).or_default();
        wire.extend(tiles.into_iter().map(|(cycle, tile)| (event.start + cycle as i64, tile)));
    }

    fn event(&mut self, event: &Event) -> Result<(), ReplayError> {
        let chip = &self.scheduled.chip;
        if event.resource == chip.channel {
            return self.transfer(event);
        }
        let Some(task) = self.scheduled.tasks.tasks.get(event.op.body_op as usize) else {
            return Err(self.not_there(event));
        };
        let Some(kernel) = task.kernel.of_event(self.machine.tiling, event.op.iteration) else {
            return Err(self.not_there(event));
        };
        match &*kernel {
            Kernel::ModChange { sources, targets, conversion, .. } => {
                let sources: Vec<Modulus> = sources.iter().map(|&(limb, _)| self.modulus(limb)).collect();
                let targets: Vec<Modulus> = targets.iter().map(|&limb| self.modulus(limb)).collect();
                self.mod_change(event, sources, targets, *conversion)
            }
            Kernel::Inverse { sources, .. } => {
                let moduli: Vec<Modulus> = sources.iter().map(|&(limb, _)| self.modulus(limb)).collect();
                let coefficients = self.transform(event, &moduli, Direction::Inverse)?;
                self.write_tiles(event, &event.writes, coefficients.into_iter().map(|(_, tile)| tile))
            }
            Kernel::Convert { sources, targets, conversion, .. } => {
                let sources: Vec<Modulus> = sources.iter().map(|&(limb, _)| self.modulus(limb)).collect();
                let targets: Vec<Modulus> = targets.iter().map(|&limb| self.modulus(limb)).collect();
                let spacing = sources.len().max(targets.len());
                let limbs = self.limbs(event, &event.reads, &sources)?;
                let tiles = TileOrder::interleaved(self.shape(), sources.len(), spacing).cut(&limbs).collect();
                let converted = self.convert(tiles, sources, targets, *conversion)?;
                self.write_tiles(event, &event.writes, converted.into_iter().map(|(_, tile)| tile))
            }
            Kernel::Forward { targets, division, .. } => {
                let moduli: Vec<Modulus> = targets.iter().map(|&(limb, _)| self.modulus(limb)).collect();
                if event.resource != chip.ntt[1] {
                    let dropped = division.iter().flat_map(|(_, dropped)| dropped);
                    let dropped: Vec<Modulus> = dropped.map(|&limb| self.modulus(limb)).collect();
                    return self.division(event, &dropped, moduli);
                }
                let values = self.transform(event, &moduli, Direction::Forward)?;
                if division.is_some() {
                    self.put(event, &event.writes[0], values);
                    return Ok(());
                }
                self.write_tiles(event, &event.writes, values.into_iter().map(|(_, tile)| tile))
            }
            Kernel::KeyProduct { key, limb, terms, .. } => {
                let generated = chip.cell(event.op).and_then(|cell| terms.get(cell));
                match generated {
                    Some(&(row, ..)) => self.masks(event, *key, row, *limb),
                    None => self.key_product(event, *limb, terms.len()),
                }
            }
            Kernel::Pointwise { limbs, diagonal: Some(diagonal), .. } if chip.ntt.contains(&event.resource) => {
                self.extend(event, diagonal.from, limbs)
            }
            Kernel::Pointwise { limbs, what, diagonal, halves } => {
                self.pointwise(event, limbs, what, diagonal.is_some(), halves)
            }
            Kernel::Automorphism { element, .. } => {
                let (shape, words) = (self.shape(), self.read(event, &event.reads[0])?);
                let element = self.round.map_or(*element, |round| round.round.element(*element));
                let mut unit = AutomorphismUnit::new(shape, element);
                let tiles = TileOrder::limb_by_limb(shape, 1).cut(std::slice::from_ref(&words));
                let moved = stream(&mut unit, tiles, AutomorphismUnit::latency(shape))?;
                self.write_tiles(event, &event.writes, moved.into_iter().map(|(_, tile)| tile))
            }
        }
    }

    fn transfer(&mut self, event: &Event) -> Result<(), ReplayError> {
        let (read, write) = (&event.reads[0], &event.writes[0]);
        if write.place.memory != self.scheduled.chip.scratchpad {
            let words = self.read(event, read)?;
            self.outputs.insert(write.value, words);
            return Ok(());
        }
        let words = match (self.outputs.get(&read.value), self.leaf_named(read.value)) {
            (Some(words), _) => words.clone(),
            (None, Some(leaf)) => Arc::new(self.leaf(leaf)?),
            (None, None) => return Err(self.not_there(event)),
        };
        self.write(event, write, words);
        Ok(())
    }

    /// The leaf with this value, if it is in memory from the start.
    fn leaf_named(&self, name: Value) -> Option<Leaf> {
        let residue = match self.round {
            None => name.index,
            Some(round) => {
                let in_round_0 = name.shifted(Shift::ciphertexts(-(round.number as i64)));
                *round.body.form(round.first()).residues.get(&in_round_0)?
            }
        };
        let leaf = self.scheduled.tasks.leaves.get(residue as usize).copied().flatten()?;
        // Later rounds read values that were stored.
        let given = matches!(leaf, Leaf::Input { .. }) && self.round.is_some_and(|round| !round.first());
        (!given).then_some(leaf)
    }

    /// In the current round, the key for the program's `key`.
    fn key(&self, key: KeyId) -> KeyId {
        self.round.map_or(key, |round| round.round.key(key))
    }

    /// In the current round, public polynomial `number` of the program.
    fn plaintext(&self, number: u32) -> &PublicPolynomial {
        let own = self.round.and_then(|round| round.round.plaintexts.as_ref());
        &own.unwrap_or(&self.program.plaintexts)[number as usize]
    }

    /// A limb in off-chip memory, in the order of the units.
    fn leaf(&self, leaf: Leaf) -> Result<Vec<u64>, ReplayError> {
        let degree = self.program.degree;
        let mut words = vec![0; degree.get()];
        match leaf {
            Leaf::Input { index, limb } => {
                let given = self.inputs.get(index);
                let given = given.and_then(|given| Some(given.limb(given.position(limb)?)));
                words.copy_from_slice(given.ok_or(ReplayError::Limb { limb })?);
            }
            Leaf::Plaintext { plaintext, limb, values: false } => {
                let mut natural = vec![0; degree.get()];
                self.plaintext(plaintext).residues(self.modulus(limb), &mut natural);
                let order = StreamingNtt::new(degree, self.modulus(limb), self.shape().lanes())?;
                for (place, word) in words.iter_mut().enumerate() {
                    *word = natural[order.coefficient_at(place)];
                }
                return Ok(words);
            }
            Leaf::Plaintext { plaintext, limb, values: true } => {
                self.plaintext(plaintext).residues(self.modulus(limb), &mut words);
                Ntt::<u64>::new(degree, self.modulus(limb))?.forward(&mut words);
            }
            Leaf::Hint { key, row, part, limb } => {
                let key = self.keys.get(self.key(key))?;
                let position = key.limbs().iter().position(|&held| held == limb).ok_or(ReplayError::Limb { limb })?;
                let mut scratch = vec![0; degree.get()];
                words.copy_from_slice(key.limb(part, usize::from(row), position, &mut scratch));
            }
        }
        Ok(EvaluationOrder::BitReversed.convert(self.order(), degree, &words))
    }

    /// The part of one unit in a change of modulus.
    fn mod_change(
        &mut self,
        event: &Event,
        sources: Vec<Modulus>,
        targets: Vec<Modulus>,
        conversion: Conversion,
    ) -> Result<(), ReplayError> {
        let (chip, shape) = (&self.scheduled.chip, self.shape());
        let depth = self.scheduled.units.depth;
        let (alpha, spacing) = (sources.len(), sources.len().max(targets.len()));
        let transform = NttUnit::latency(shape, spacing, depth);
        if event.resource == chip.ntt[0] {
            let limbs = self.limbs(event, &event.reads, &sources)?;
            let mut unit = NttUnit::new(shape, Direction::Inverse, &sources, spacing, depth)?;
            let tiles = TileOrder::interleaved(shape, alpha, spacing).cut(&limbs);
            let coefficients = stream(&mut unit, tiles, transform)?;
            self.put(event, &event.writes[0], coefficients);
        } else if event.resource == chip.array {
            let tiles = self.take(event, &event.reads[0])?;
            let converted = self.convert(tiles, sources, targets, conversion)?;
            self.put(event, &event.writes[0], converted);
        } else if event.resource == chip.ntt[1] {
            let mut unit = NttUnit::new(shape, Direction::Forward, &targets, spacing, depth)?;
            let values = stream(&mut unit, self.take(event, &event.reads[0])?, transform)?;
            if chip.wires.contains(&event.writes[0].place.memory) {
                self.put(event, &event.writes[0], values);
            } else {
                self.write_tiles(event, &event.writes, values.into_iter().map(|(_, tile)| tile))?;
            }
        } else {
            self.division(event, &sources, targets)?;
        }
        Ok(())
    }

    /// The limbs at the places of `accesses`, modulo `moduli`.
    fn limbs(&self, event: &Event, accesses: &[Access], moduli: &[Modulus]) -> Result<Vec<Words>, ReplayError> {
        accesses.iter().zip(moduli).map(|(access, &modulus)| self.read_modulo(event, access, modulus)).collect()
    }

    /// The array's results for tiles that enter in their cycles.
    fn convert(
        &self,
        tiles: Vec<(u64, Tile)>,
        sources: Vec<Modulus>,
        targets: Vec<Modulus>,
        conversion: Conversion,
    ) -> Result<Vec<(u64, Tile)>, ReplayError> {
        let (shape, depth, height) = (self.shape(), self.scheduled.units.depth, self.scheduled.units.height);
        let (alpha, spacing) = (sources.len(), sources.len().max(targets.len()));
        let converter = BaseConverter::new(RnsBasis::new(sources)?, RnsBasis::new(targets)?);
        let table = BaseTable::new(&converter, conversion == Conversion::Balanced);
        let mut unit = BaseConversionArray::new(height, shape.lanes(), table, depth)?;
        let latency = BaseConversionArray::latency(height, shape.lanes(), alpha, depth);
        Ok(stream(&mut unit, tiles, latency + spacing as u64)?)
    }

    /// Limbs through an NTT unit only.
    fn transform(
        &self,
        event: &Event,
        moduli: &[Modulus],
        direction: Direction,
    ) -> Result<Vec<(u64, Tile)>, ReplayError> {
        let (shape, depth, spacing) = (self.shape(), self.scheduled.units.depth, moduli.len());
        let limbs = self.limbs(event, &event.reads, moduli)?;
        let mut unit = NttUnit::new(shape, direction, moduli, spacing, depth)?;
        let tiles = TileOrder::interleaved(shape, spacing, spacing).cut(&limbs);
        Ok(stream(&mut unit, tiles, NttUnit::latency(shape, spacing, depth))?)
    }

    /// (kept − remainder) / (product of the dropped limbs), as an inner product with two constants.
    fn division(&mut self, event: &Event, dropped: &[Modulus], moduli: Vec<Modulus>) -> Result<(), ReplayError> {
        let [remainders, kept @ ..] = &event.reads[..] else { return Err(self.not_there(event)) };
        let kept = self.limbs(event, kept, &moduli)?;
        let lanes = self.shape().lanes();
        let factors: Vec<u64> =
            moduli.iter().map(|&modulus| inverse_of_product(modulus, dropped.iter().copied())).collect();
        let product = |tile: Tile| {
            let (modulus, factor) = (moduli[tile.limb], factors[tile.limb]);
            let own = kept[tile.limb][tile.index * lanes..][..lanes].to_vec();
            let term = |words: Vec<u64>, factor: u64| [words, vec![factor; lanes], vec![0; lanes]];
            let terms = vec![term(own, factor), term(tile.words, modulus.neg(factor))];
            KeyProduct { index: tile.index, limb: tile.limb, terms }
        };
        let products: Vec<(u64, KeyProduct)> =
            self.take(event, remainders)?.into_iter().map(|(cycle, tile)| (cycle, product(tile))).collect();
        let pairs = self.inner_products(moduli.clone(), products);
        self.write_tiles(event, &event.writes, pairs.into_iter().map(|[quotient, _]| quotient))
    }

    /// The Hadamard unit's results for inner products that enter in their cycles.
    fn inner_products(&self, moduli: Vec<Modulus>, products: Vec<(u64, KeyProduct)>) -> Vec<[Tile; 2]> {
        let (height, depth) = (self.machine.hadamard_height, self.scheduled.units.depth);
        let mut unit = HadamardUnit::new(moduli, height, depth);
        let end = products.last().map_or(0, |(cycle, _)| cycle + 1) + HadamardUnit::key_latency(height, depth);
        let mut products = products.into_iter().peekable();
        let step = |cycle| {
            let entering = products.next_if(|(at, _)| *at == cycle).map(|(_, product)| product);
            unit.step(entering, None).0
        };
        (0..end).filter_map(step).collect()
    }

    fn masks(&mut self, event: &Event, key: KeyId, row: u16, limb: LimbId) -> Result<(), ReplayError> {
        let key = self.key(key);
        if !self.seeded.contains_key(&key) {
            let storage = KeyStorage { seeded: true, ..KeyStorage::BYTES };
            let own = self.keys.get(key)?.as_ref().clone().stored(storage);
            self.seeded.insert(key, own);
        }
        let own = &self.seeded[&key];
        let position = own.limbs().iter().position(|&held| held == limb).ok_or(ReplayError::Limb { limb })?;
        let masks = own.mask_stream(usize::from(row), position).ok_or(ReplayError::Seed { key })?;
        let mut generator = KeyGenerator::new(self.shape(), 0, masks);
        let latency = self.machine.generator_latency();
        let tiles = (0..).map_while(|cycle| Some((latency + cycle, generator.step()?))).collect();
        self.put(event, &event.writes[0], tiles);
        Ok(())
    }

    fn key_product(&mut self, event: &Event, limb: LimbId, terms: usize) -> Result<(), ReplayError> {
        let reads = &event.reads;
        let (stored, wired) = reads.split_at(2 * terms);
        let modulus = self.modulus(limb);
        let stored = stored.iter().map(|read| self.read_modulo(event, read, modulus));
        let stored: Vec<Words> = stored.collect::<Result<_, _>>()?;
        let masks: Vec<Vec<(u64, Tile)>> = wired.iter().map(|read| self.take(event, read)).collect::<Result<_, _>>()?;
        let lanes = self.shape().lanes();
        let mut products = Vec::new();
        for number in 0..self.shape().tiles() {
            let (cycle, first) =
                masks.first().and_then(|tiles| tiles.get(number)).ok_or_else(|| self.not_there(event))?;
            let tile = |words: &Words| words[first.index * lanes..][..lanes].to_vec();
            let term = |term: usize| {
                let (_, mask) =
                    masks[term].get(number).filter(|(at, mask)| (at, mask.index) == (cycle, first.index))?;
                Some([tile(&stored[2 * term]), tile(&stored[2 * term + 1]), mask.words.clone()])
            };
            let terms = (0..terms).map(term).collect::<Option<_>>().ok_or_else(|| self.not_there(event))?;
            products.push((*cycle, KeyProduct { index: first.index, limb: 0, terms }));
        }
        let pairs = self.inner_products(vec![modulus], products);
        let (body, mask): (Vec<Tile>, Vec<Tile>) = pairs.into_iter().map(|[body, mask]| (body, mask)).unzip();
        let writes = &event.writes;
        self.write_tiles(event, &writes[..1], body)?;
        self.write_tiles(event, &writes[1..], mask)
    }

    /// Interleaved limbs as partial sums + diagonal · parts.
    fn pointwise(
        &mut self,
        event: &Event,
        limbs: &LimbSet,
        what: &[Pointwise],
        extended: bool,
        halves: &[Half],
    ) -> Result<(), ReplayError> {
        let (shape, depth, spacing) = (self.shape(), self.scheduled.units.depth, limbs.len());
        let lanes = shape.lanes();
        let moduli: Vec<Modulus> = limbs.iter().map(|limb| self.modulus(limb)).collect();
        let (wired, stored) = event.reads.split_at(usize::from(extended));
        // At the end of a wire a tile has its index; otherwise tiles are in order.
        let mut diagonals: HashMap<(usize, usize), (u64, Words)> = HashMap::new();
        for read in wired {
            for (cycle, tile) in self.take(event, read)? {
                diagonals.insert((tile.limb, tile.index), (cycle, Arc::new(tile.words)));
            }
        }
        let lists = halves.iter().flat_map(|half| &half.operands);
        let limb_of: HashMap<Residue, usize> =
            lists.flat_map(|list| list.iter().enumerate().map(|(limb, &residue)| (residue, limb))).collect();
        let read = read_at_once(halves);
        let places: HashMap<Residue, usize> =
            read.iter().enumerate().map(|(place, &residue)| (residue, place)).collect();
        let pairs = stored.iter().zip(&read);
        let operands = pairs.map(|(access, residue)| self.read_modulo(event, access, moduli[limb_of[residue]]));
        let operands: Vec<Words> = operands.collect::<Result<_, _>>()?;
        let mut unit = HadamardUnit::new(moduli.clone(), self.machine.hadamard_height, depth);
        let mut results = Vec::new();
        let order = TileOrder::interleaved(shape, spacing, spacing);
        let entering =
            order.tiles().map(Some).chain(std::iter::repeat_n(None, HadamardUnit::diagonal_latency(depth) as usize));
        for entering in entering {
            let product = match entering {
                None => None,
                Some((limb, index)) => {
                    let constant = |word: u64| vec![word; lanes];
                    let own = match diagonals.get(&(limb, index)) {
                        Some((cycle, words)) if *cycle == order.cycle_of(limb, index) => Some(words),
                        None if !extended => None,
                        _ => return Err(self.not_there(event)),
                    };
                    let operand =
                        |half: &Half, number: usize| match half.operands.get(number).and_then(|list| list.get(limb)) {
                            Some(residue) => operands[places[residue]][index * lanes..][..lanes].to_vec(),
                            None => own.map_or_else(Vec::new, |words| words.to_vec()),
                        };
                    let mut product = DiagonalProduct {
                        index,
                        limb,
                        diagonal: constant(0),
                        parts: [constant(0), constant(0)],
                        partials: [constant(0), constant(0)],
                    };
                    for (number, half) in halves.iter().enumerate() {
                        let tile = |operand_number: usize| operand(half, operand_number);
                        let (diagonal, part, partial) = match what[limb] {
                            Pointwise::Add => (constant(1), tile(1), tile(0)),
                            Pointwise::Subtract => (constant(moduli[limb].neg(1)), tile(1), tile(0)),
                            Pointwise::Negate => (constant(moduli[limb].neg(1)), tile(0), constant(0)),
                            Pointwise::Multiply => (tile(1), tile(0), constant(0)),
                            Pointwise::MultiplyAdd => (tile(1), tile(0), tile(2)),
                            Pointwise::Scale(factor) => (constant(factor), tile(0), constant(0)),
                            Pointwise::AddConstant(addend) => (constant(1), tile(0), constant(addend)),
                        };
                        (product.diagonal, product.parts[number], product.partials[number]) = (diagonal, part, partial);
                    }
                    Some(product)
                }
            };
            results.extend(unit.step(None, product).1);
        }
        // Limb by limb, of each polynomial.
        let count = halves.len();
        let tiles = results.into_iter().flat_map(|pair| {
            let place = |(half, tile): (usize, Tile)| Tile { limb: tile.limb * count + half, ..tile };
            pair.into_iter().take(count).enumerate().map(place)
        });
        self.write_tiles(event, &event.writes, tiles)
    }

    /// A public polynomial's values modulo `limbs`, from its coefficients modulo `from`; each tile enters once
    /// per limb.
    fn extend(&mut self, event: &Event, from: LimbId, limbs: &LimbSet) -> Result<(), ReplayError> {
        let (shape, depth, spacing) = (self.shape(), self.scheduled.units.depth, limbs.len());
        let coefficients = self.read_modulo(event, &event.reads[0], self.modulus(from))?;
        let moduli: Vec<Modulus> = limbs.iter().map(|limb| self.modulus(limb)).collect();
        let enter = vec![coefficients; spacing];
        let tiles = TileOrder::interleaved(shape, spacing, spacing).cut(&enter);
        let mut extension = LimbExtension::new(self.modulus(from), moduli.clone(), depth);
        let extended = stream(&mut extension, tiles, LimbExtension::latency(depth))?;
        let mut unit = NttUnit::new(shape, Direction::Forward, &moduli, spacing, depth)?;
        let values = stream(&mut unit, extended, NttUnit::latency(shape, spacing, depth))?;
        self.put(event, &event.writes[0], values);
        Ok(())
    }

    fn all_outputs(&self) -> Result<Vec<RnsPolynomial>, ReplayError> {
        self.scheduled.tasks.outputs.iter().map(|limbs| self.output(limbs)).collect()
    }

    /// The value of a limb in the schedule.
    fn name(&self, residue: Residue) -> Option<Value> {
        match self.round {
            None => Some(self.scheduled.chip.value(&self.scheduled.tasks, residue)),
            Some(round) => {
                let name = round.body.form(round.first()).names.get(residue.0 as usize)?;
                Some(name.shifted(Shift::ciphertexts(round.number as i64)))
            }
        }
    }

    /// An output, from its stored limbs.
    fn output(&self, limbs: &[(LimbId, Residue)]) -> Result<RnsPolynomial, ReplayError> {
        let (degree, ids) = (self.program.degree, limbs.iter().map(|&(limb, _)| limb).collect::<Vec<_>>());
        let mut polynomial = RnsPolynomial::zero(degree, &ids, Domain::Evaluation);
        for (position, &(_, residue)) in limbs.iter().enumerate() {
            let missing =
                ReplayError::NotThere { cycle: self.scheduled.schedule.cycles(), unit: "the caller".to_owned() };
            // The caller's data is in memory from the start.
            let words = match self.scheduled.tasks.leaves[residue.0 as usize] {
                Some(leaf) => Arc::new(self.leaf(leaf)?),
                None => self.name(residue).and_then(|name| self.outputs.get(&name)).cloned().ok_or(missing)?,
            };
            let words = self.order().convert(EvaluationOrder::BitReversed, degree, &words);
            polynomial.limb_mut(position).copy_from_slice(&words);
        }
        Ok(polynomial)
    }
}
