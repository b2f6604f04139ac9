//! A program on a machine of either family, with its schedule, of which tests change events.

use polyfabric_machines::Machine;
use polyfabric_machines::audit::{self, AuditError};
use polyfabric_machines::contract::options::Given;
use polyfabric_machines::contract::rns::{self, Simulated};
use polyfabric_machines::contract::tfhe::{self, MappedTfhe};
use polyfabric_program::rns::kernel::KernelProgram as RnsProgram;
use polyfabric_program::tfhe::kernel::KernelProgram as TfheProgram;
use polyfabric_sim::checker::{Violation, check};
use polyfabric_sim::list::{EventList, Instructions, Source};
use polyfabric_sim::schedule::{Event, Item, Resources, Schedule};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

pub struct Case {
    pub machine: Machine,
    /// Loops of a TFHE program, a list of an RNS program.
    pub schedule: Schedule,
    /// Of a machine that fetches them.
    pub instructions: Option<Instructions>,
    pub mapped: Mapped,
}

pub enum Mapped {
    Tfhe(Box<TfheProgram>, MappedTfhe),
    Rns(Arc<RnsProgram>, Box<Simulated>),
}

/// A schedule without loops as a list.
pub struct List<'a>(pub &'a Schedule, pub Option<&'a Instructions>);

impl EventList for List<'_> {
    fn resources(&self) -> &Resources {
        &self.0.resources
    }

    fn visit(&self, visit: &mut dyn FnMut(&Event) -> ControlFlow<()>) {
        let _ = self.0.items.iter().try_for_each(|item| visit(single(item)));
    }

    fn instructions(&self) -> Option<&Instructions> {
        self.1
    }
}

/// The event of an item that is no loop.
pub fn single(item: &Item) -> &Event {
    match item {
        Item::Event(event) => event,
        Item::Repeat(_) => panic!("a loop"),
    }
}

/// The place of an event: its index among the items, in each loop around it.
pub type Path = Vec<usize>;

/// The places of all events.
fn paths(items: &[Item], within: &[usize], visit: &mut impl FnMut(Path, &Event)) {
    for (index, item) in items.iter().enumerate() {
        let path = [within, &[index]].concat();
        match item {
            Item::Event(event) => visit(path, event),
            Item::Repeat(repeat) => paths(&repeat.body, &path, visit),
        }
    }
}

impl Case {
    pub fn tfhe(machine: &Machine, program: TfheProgram) -> Self {
        let mapped = tfhe::map(machine, &program).expect("it fits");
        let (schedule, mapped) = (mapped.schedule.clone(), Mapped::Tfhe(Box::new(program), mapped));
        Self { machine: machine.clone(), schedule, instructions: None, mapped }
    }

    pub fn rns(machine: &Machine, program: Arc<RnsProgram>) -> Self {
        let simulated = rns::map(machine, &program, "", &Given::new()).expect("it fits");
        let (schedule, instructions) = listed(&simulated);
        Self { machine: machine.clone(), schedule, instructions, mapped: Mapped::Rns(program, Box::new(simulated)) }
    }

    /// The checker's verdict.
    pub fn checked(&self, schedule: &Schedule) -> Result<(), Violation> {
        let list = List(schedule, self.instructions.as_ref());
        let source = match &self.mapped {
            Mapped::Tfhe(..) => Source::Loops(schedule),
            Mapped::Rns(..) => Source::List(&list),
        };
        check(source, &[]).map(|_| ())
    }

    /// The audit's verdict.
    pub fn audited(&self, schedule: &Schedule) -> Result<(), AuditError> {
        match &self.mapped {
            Mapped::Tfhe(program, mapped) => audit::audit(program, schedule, &mapped.labels),
            Mapped::Rns(program, simulated) => {
                audit::rns::audit(program, &List(schedule, None), simulated.mapped().labels())
            }
        }
    }

    /// The places of events by kind: of a schedule without loops the first, the middle and the last one, else all.
    pub fn kinds(&self) -> BTreeMap<u16, Vec<Path>> {
        let mut kinds = BTreeMap::<_, Vec<Path>>::new();
        paths(&self.schedule.items, &[], &mut |path, event| kinds.entry(event.op.kind.0).or_default().push(path));
        if self.schedule.items.iter().all(|item| matches!(item, Item::Event(_))) {
            for own in kinds.values_mut() {
                let last = own.len() - 1;
                *own = [0, own.len() / 2, last].map(|index| own[index].clone()).into();
                own.dedup();
            }
        }
        kinds
    }

    pub fn event(&self, path: &[usize]) -> &Event {
        let mut items = &self.schedule.items;
        for &index in &path[..path.len() - 1] {
            let Item::Repeat(repeat) = &items[index] else { panic!("no loop") };
            items = &repeat.body;
        }
        single(&items[path[path.len() - 1]])
    }

    /// Name of the kind of an event.
    pub fn kind(&self, path: &[usize]) -> &str {
        &self.schedule.resources.kinds[usize::from(self.event(path).op.kind.0)].name
    }

    /// The schedule with a change of the items around an event.
    fn changed(&self, path: &[usize], change: impl FnOnce(&mut Vec<Item>, usize)) -> Schedule {
        let mut schedule = self.schedule.clone();
        let mut items = &mut schedule.items;
        for &index in &path[..path.len() - 1] {
            let Item::Repeat(repeat) = &mut items[index] else { panic!("no loop") };
            items = Arc::make_mut(&mut repeat.body);
        }
        change(items, path[path.len() - 1]);
        if let [_] = path
            && matches!(self.mapped, Mapped::Rns(..))
        {
            schedule.items.sort_by_key(|item| single(item).start);
        }
        schedule
    }

    pub fn with(&self, path: &[usize], change: impl FnOnce(&mut Event)) -> Schedule {
        self.changed(path, |items, index| {
            let Item::Event(event) = &mut items[index] else { panic!("a loop") };
            change(event);
        })
    }

    pub fn without(&self, path: &[usize]) -> Schedule {
        self.changed(path, |items, index| drop(items.remove(index)))
    }

    pub fn doubled(&self, path: &[usize]) -> Schedule {
        self.changed(path, |items, index| items.insert(index, items[index].clone()))
    }
}

/// The events of an RNS schedule, and its instructions.
pub fn listed(simulated: &Simulated) -> (Schedule, Option<Instructions>) {
    let events = simulated.mapped().events();
    let mut items = Vec::new();
    Source::List(&*events).each(&mut |event, _| items.push(Item::Event(event.clone())));
    (Schedule { resources: events.resources().clone(), items }, events.instructions().cloned())
}
