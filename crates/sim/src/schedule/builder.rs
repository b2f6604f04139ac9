//! Builds schedules, item by item.

use super::*;

/// Builds a [`Schedule`]: registers resources by name and nests repeats.
#[derive(Clone, Debug, Default)]
pub struct ScheduleBuilder {
    resources: Resources,
    /// The items of every open level: the top, then the bodies of open repeats.
    open: Vec<Vec<Item>>,
}

impl ScheduleBuilder {
    /// An empty schedule.
    pub fn new() -> Self {
        Self { resources: Resources::default(), open: vec![Vec::new()] }
    }

    /// Adds a unit. All units must be added before the first channel, because [`Resource`] counts units first.
    pub fn unit(&mut self, name: impl Into<String>, class: impl Into<String>, wait: WaitCategory) -> Resource {
        debug_assert!(self.resources.channels.is_empty(), "units are added before channels");
        self.resources.units.push(Unit { name: name.into(), class: class.into(), wait });
        Resource(self.resources.units.len() as u32 - 1)
    }

    /// Adds a channel of a bandwidth in bytes a cycle.
    pub fn channel(&mut self, name: impl Into<String>, class: impl Into<String>, bytes_per_cycle: f64) -> Resource {
        self.resources.channels.push(Channel { name: name.into(), class: class.into(), bytes_per_cycle });
        self.resources.channel(self.resources.channels.len() - 1)
    }

    /// Adds a memory.
    pub fn memory(&mut self, name: impl Into<String>, kind: MemoryKind) -> MemoryId {
        self.resources.memories.push(Memory { name: name.into(), kind, ends: None });
        MemoryId(self.resources.memories.len() as u16 - 1)
    }

    /// Declares that a memory connects two units: only `from` writes it, and only `to` reads it.
    pub fn connects(&mut self, memory: MemoryId, from: Resource, to: Resource) -> MemoryId {
        self.resources.memories[usize::from(memory.0)].ends = Some([from, to]);
        memory
    }

    /// The unit with that name.
    ///
    /// # Panics
    /// If there is none.
    pub fn named(&self, name: &str) -> Resource {
        let found = self.resources.units.iter().position(|unit| unit.name == name);
        Resource(found.unwrap_or_else(|| panic!("no unit {name}")) as u32)
    }

    /// Adds an operation kind.
    pub fn kind(
        &mut self,
        name: impl Into<String>,
        class: impl Into<String>,
        elements_per_cycle: f64,
        latency: u64,
    ) -> KindId {
        self.kind_in_parts(name, class, elements_per_cycle, latency, 1)
    }

    /// Adds an operation kind of a unit whose `parts` equal parts work in parallel.
    pub fn kind_in_parts(
        &mut self,
        name: impl Into<String>,
        class: impl Into<String>,
        elements_per_cycle: f64,
        latency: u64,
        parts: u32,
    ) -> KindId {
        let (name, class) = (name.into(), class.into());
        self.resources.kinds.push(OpKind {
            name,
            class,
            elements_per_cycle,
            parts,
            latency,
            mode: None,
            addends: false,
            off_chip: false,
            shuffles: [false; 2],
            function: Function::MOVE,
        });
        KindId(self.resources.kinds.len() as u16 - 1)
    }

    /// Sets the mode that a kind requires. Either all kinds of a unit have a mode, or none.
    pub fn in_mode(&mut self, kind: KindId, mode: Mode) -> KindId {
        self.resources.kinds[usize::from(kind.0)].mode = Some(mode);
        kind
    }

    /// Declares that a kind reads addends ([`OpKind::addends`]).
    pub fn with_addends(&mut self, kind: KindId) -> KindId {
        self.resources.kinds[usize::from(kind.0)].addends = true;
        kind
    }

    /// Sets the computation of a kind; the default moves values.
    pub fn does(&mut self, kind: KindId, function: Function) -> KindId {
        self.resources.kinds[usize::from(kind.0)].function = function;
        kind
    }

    /// Declares that a kind's unit works on off-chip memory ([`OpKind::off_chip`]).
    pub fn off_chip(&mut self, kind: KindId) -> KindId {
        self.resources.kinds[usize::from(kind.0)].off_chip = true;
        kind
    }

    /// Declares whether a kind's unit reads, and writes, in an order of its own ([`OpKind::shuffles`]).
    pub fn shuffles(&mut self, kind: KindId, reads_and_writes: [bool; 2]) -> KindId {
        self.resources.kinds[usize::from(kind.0)].shuffles = reads_and_writes;
        kind
    }

    /// Declares that units take instructions from memory.
    pub fn instructed(&mut self, instructed: Instructed) {
        self.resources.instructed = Some(instructed);
    }

    /// Adds a value class with `bits` bits an element. With `input`, its values are off-chip from the start.
    pub fn value_class(&mut self, name: impl Into<String>, traffic: Traffic, input: bool, bits: u32) -> ClassId {
        self.resources.value_classes.push(ValueClass { name: name.into(), traffic, input, bits });
        ClassId(self.resources.value_classes.len() as u16 - 1)
    }

    /// The resources so far.
    pub fn resources(&self) -> &Resources {
        &self.resources
    }

    /// Adds an event to the innermost open repeat. Frees the spare capacity of its lists, because there are millions of
    /// events.
    pub fn event(&mut self, mut event: Event) {
        cancel::check();
        event.reads.shrink_to_fit();
        event.writes.shrink_to_fit();
        self.item(Item::Event(event));
    }

    /// Adds an item to the innermost open repeat.
    pub fn item(&mut self, item: Item) {
        match self.open.last_mut() {
            Some(items) => items.push(item),
            None => self.open.push(vec![item]),
        }
    }

    /// Adds a body of [`Emit::body`] once, from cycle `start` on, with its numbers increased by `origin`.
    pub fn once(&mut self, start: i64, origin: Shift, body: Arc<Vec<Item>>) {
        self.item(Item::Repeat(Repeat { start, count: 1, period: 1, origin, shift: Shift::default(), body }));
    }

    pub fn finish(mut self) -> Schedule {
        Schedule { items: self.open.pop().unwrap_or_default(), resources: self.resources }
    }
}

/// A writer of schedules: a builder, or a type that contains one.
pub trait Emit {
    /// The builder that it writes to.
    fn builder(&mut self) -> &mut ScheduleBuilder;

    /// Collects the items that `fill` adds into a body, which several loops can share ([`ScheduleBuilder::once`]).
    fn body(&mut self, fill: impl FnOnce(&mut Self)) -> Arc<Vec<Item>> {
        self.builder().open.push(Vec::new());
        fill(self);
        Arc::new(self.builder().open.pop().unwrap_or_default())
    }

    /// Adds a repeat whose body `fill` adds.
    fn repeat(&mut self, start: i64, count: u64, period: u64, shift: Shift, fill: impl FnOnce(&mut Self)) {
        let body = self.body(fill);
        self.builder().item(Item::Repeat(Repeat { start, count, period, origin: Shift::default(), shift, body }));
    }
}

impl Emit for ScheduleBuilder {
    fn builder(&mut self) -> &mut Self {
        self
    }
}
