//! The timeline as Chrome trace events, which Perfetto opens.
//!
//! There is one process for each class and one track for each unit or channel. Each event is a slice, for as long as it
//! occupies the unit. The first and the last rounds of a loop are drawn. Each omitted part has a slice on a track of
//! the process `loops`.

use super::list::{EventList, Source};
use super::schedule::{Event, Item, Resource, Resources, Shift, Value};
use super::totals::classes;
use serde::Serialize;
use std::collections::HashMap;

/// How much of a schedule to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceOptions {
    /// Rounds of a loop that are drawn at its start.
    pub first_rounds: u64,
    /// Rounds of a loop that are drawn at its end.
    pub last_rounds: u64,
    /// Largest number of slices. Beyond it the middle of the schedule is omitted.
    pub slices: usize,
}

impl Default for TraceOptions {
    fn default() -> Self {
        Self { first_rounds: 3, last_rounds: 1, slices: 200_000 }
    }
}

/// A trace file.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Trace {
    pub display_time_unit: &'static str,
    /// Slices and names.
    pub trace_events: Vec<TraceEvent>,
}

/// One entry of a trace file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceEvent {
    /// `X` for a slice, `M` for a name, `C` for a counter.
    pub ph: &'static str,
    /// Name of the slice, or which name is given.
    pub name: String,
    /// Category: the unit's class.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cat: String,
    /// Process.
    pub pid: u32,
    /// Track.
    pub tid: u32,
    /// Start in µs; for a counter, the time of its value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ts: Option<f64>,
    /// Duration in µs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dur: Option<f64>,
    /// Details.
    pub args: serde_json::Map<String, serde_json::Value>,
}

struct Slice<'a> {
    start: i64,
    event: &'a Event,
    shift: Shift,
}

struct Elision {
    start: i64,
    end: i64,
    text: String,
}

struct Walk<'a> {
    options: TraceOptions,
    slices: Vec<Slice<'a>>,
    elisions: Vec<Elision>,
}

impl<'a> Walk<'a> {
    fn items(&mut self, items: &'a [Item], base: i64, shift: Shift) {
        for item in items {
            match item {
                Item::Event(event) => self.slices.push(Slice { start: base + event.start, event, shift }),
                Item::Repeat(repeat) => {
                    let left_out = repeat.count.saturating_sub(self.options.first_rounds + self.options.last_rounds);
                    let at = |round: u64| base + repeat.start + round as i64 * repeat.period as i64;
                    let skip = self.options.first_rounds..self.options.first_rounds + left_out;
                    if left_out > 0 {
                        let text = format!("rounds {} to {} of {}", skip.start, skip.end - 1, repeat.count);
                        self.elisions.push(Elision { start: at(skip.start), end: at(skip.end), text });
                    }
                    for round in (0..repeat.count.min(skip.start)).chain(skip.end.max(skip.start)..repeat.count) {
                        self.items(&repeat.body, at(round), repeat.shift_of(shift, round));
                    }
                }
            }
        }
    }

    /// Omits the middle if there are too many slices.
    fn limit(&mut self) {
        self.slices.sort_by_key(|slice| slice.start);
        let (total, most) = (self.slices.len(), self.options.slices.max(2));
        if total > most {
            let head = most - most / 4;
            let tail = total - most / 4;
            let (start, end) = (self.slices[head].start, self.slices[tail].start.max(self.slices[head].start + 1));
            self.slices.drain(head..tail);
            let text = format!("{} events left out", tail - head);
            self.elisions.push(Elision { start, end, text });
        }
    }
}

/// Number of windows for the utilisation of a list.
const WINDOWS: u64 = 400;

/// Draws a schedule at a clock in Hz. For a long list, only the beginning and the end are drawn, with the utilisation
/// of each class over time.
pub fn trace<'a>(source: impl Into<Source<'a>>, clock_hz: f64, options: TraceOptions) -> Trace {
    let source = source.into();
    let resources = source.resources();
    let mut process: HashMap<usize, u32> = HashMap::new();
    let mut events = Vec::new();
    for (index, (class, members)) in (1..).zip(classes(resources)) {
        events.push(name("process_name", index, 0, &class));
        for member in members {
            process.insert(member, index);
            events.push(name("thread_name", index, member as u32 + 1, resources.name(Resource(member as u32))));
        }
    }
    let mut page = Page { resources, clock_hz, process, events, elisions: Vec::new() };
    match source {
        Source::Loops(schedule) => {
            let mut walk = Walk { options, slices: Vec::new(), elisions: Vec::new() };
            walk.items(&schedule.items, 0, Shift::default());
            walk.limit();
            walk.slices.iter().for_each(|slice| page.slice(slice.start, slice.event, slice.shift));
            page.elisions = walk.elisions;
        }
        Source::List(list) => page.list(list, options),
    }
    page.finish()
}

/// A trace under construction.
struct Page<'a> {
    resources: &'a Resources,
    clock_hz: f64,
    process: HashMap<usize, u32>,
    events: Vec<TraceEvent>,
    elisions: Vec<Elision>,
}

impl Page<'_> {
    fn microseconds(&self, cycles: i64) -> f64 {
        cycles as f64 / self.clock_hz * 1e6
    }

    fn slice(&mut self, start: i64, event: &Event, shift: Shift) {
        let resource = event.resource;
        let op = event.op.shifted(shift);
        let kind = self.resources.kinds.get(op.kind.0 as usize);
        let mut args = serde_json::Map::new();
        let fields = [("ciphertext", op.ciphertext), ("iteration", op.iteration), ("body_op", op.body_op)];
        for (key, field) in fields.into_iter().filter(|&(_, field)| field != Value::NONE) {
            args.insert(key.to_owned(), field.into());
        }
        args.insert("kernel_op".to_owned(), op.kernel_op.into());
        args.insert("cycle".to_owned(), start.into());
        args.insert("cycles".to_owned(), event.occupancy.into());
        self.events.push(TraceEvent {
            ph: "X",
            name: kind.map_or_else(String::new, |kind| kind.name.clone()),
            cat: self.resources.class(resource).to_owned(),
            pid: self.process.get(&(resource.0 as usize)).copied().unwrap_or_default(),
            tid: resource.0 + 1,
            ts: Some(self.microseconds(start)),
            dur: Some(self.microseconds(i64::from(event.occupancy))),
            args,
        });
    }

    /// Draws a list. If it has too many events, only the first and the last are drawn. Adds the utilisation of all
    /// events over time.
    fn list(&mut self, list: &dyn EventList, options: TraceOptions) {
        let (mut total, mut end) = (0, 0);
        Source::List(list).each(&mut |event, _| {
            total += 1;
            end = end.max(event.start + i64::from(event.occupancy));
        });
        let most = options.slices.max(2);
        let (head, tail) = if total <= most { (total, total) } else { (most - most / 4, total - most / 4) };
        let mut utilisation = Utilisation::new(self.resources, end, WINDOWS);
        let (mut number, mut left_out) = (0, (0, 0));
        Source::List(list).each(&mut |event, _| {
            match number {
                number if number < head || number >= tail => self.slice(event.start, event, Shift::default()),
                number if number == head => left_out.0 = event.start,
                _ => left_out.1 = event.start,
            }
            number += 1;
            utilisation.add(event);
        });
        if tail > head {
            let (start, end) = (left_out.0, left_out.1.max(left_out.0 + 1));
            self.elisions.push(Elision { start, end, text: format!("{} events left out", tail - head) });
        }
        self.events.extend(utilisation.counters(self.clock_hz));
    }

    fn finish(mut self) -> Trace {
        let clock_hz = self.clock_hz;
        elide(&mut self.events, self.elisions, |cycles| cycles as f64 / clock_hz * 1e6);
        Trace { display_time_unit: "ns", trace_events: self.events }
    }
}

/// For each class of units and channels, the busy share of each window of time, as counters in a separate process.
struct Utilisation {
    classes: Vec<(String, u64)>,
    class_of: Vec<usize>,
    width: u64,
    /// For each class, busy cycles in each window.
    busy: Vec<Vec<u64>>,
}

impl Utilisation {
    fn new(resources: &Resources, end: i64, windows: u64) -> Self {
        let end = end.max(0) as u64;
        let width = end.div_ceil(windows.max(1)).max(1);
        let mut class_of = vec![0; resources.len()];
        let found = classes(resources);
        for (class, (_, members)) in found.iter().enumerate() {
            members.iter().for_each(|&member| class_of[member] = class);
        }
        let busy = vec![vec![0; end.div_ceil(width) as usize]; found.len()];
        let classes = found.into_iter().map(|(class, members)| (class, members.len() as u64)).collect();
        Self { classes, class_of, width, busy }
    }

    fn add(&mut self, event: &Event) {
        let (mut at, width) = (event.start.max(0) as u64, self.width);
        let end = at + u64::from(event.occupancy);
        let busy = &mut self.busy[self.class_of[event.resource.0 as usize]];
        while at < end {
            let window = at / width;
            let until = end.min((window + 1) * width);
            busy[window as usize] += until - at;
            at = until;
        }
    }

    fn counters(self, clock_hz: f64) -> Vec<TraceEvent> {
        const PROCESS: u32 = u32::MAX;
        let mut events = vec![name("process_name", PROCESS, 0, "utilisation")];
        for ((class, units), busy) in self.classes.iter().zip(&self.busy) {
            // A final 0 ends the last window.
            for (window, busy) in busy.iter().chain([&0]).enumerate() {
                let share = 100.0 * *busy as f64 / (units * self.width) as f64;
                events.push(TraceEvent {
                    ph: "C",
                    name: format!("{class}, busy %"),
                    cat: String::new(),
                    pid: PROCESS,
                    tid: 0,
                    ts: Some((window as u64 * self.width) as f64 / clock_hz * 1e6),
                    dur: None,
                    args: serde_json::Map::from_iter([("busy".to_owned(), share.into())]),
                });
            }
        }
        events
    }
}

/// Marks the omitted parts. Parts that overlap get separate tracks.
fn elide(events: &mut Vec<TraceEvent>, mut elisions: Vec<Elision>, microseconds: impl Fn(i64) -> f64) {
    const LOOPS: u32 = 0;
    elisions.sort_by_key(|elision| (elision.start, elision.end));
    let mut tracks: Vec<i64> = Vec::new();
    for elision in elisions {
        let track = tracks.iter().position(|&end| end <= elision.start).unwrap_or_else(|| {
            tracks.push(0);
            tracks.len() - 1
        });
        tracks[track] = elision.end;
        let mut args = serde_json::Map::new();
        args.insert("cycle".to_owned(), elision.start.into());
        args.insert("cycles".to_owned(), (elision.end - elision.start).into());
        events.push(TraceEvent {
            ph: "X",
            name: elision.text,
            cat: "elided".to_owned(),
            pid: LOOPS,
            tid: track as u32,
            ts: Some(microseconds(elision.start)),
            dur: Some(microseconds(elision.end - elision.start)),
            args,
        });
    }
    if !tracks.is_empty() {
        events.push(name("process_name", LOOPS, 0, "loops"));
        let tracks = 0..tracks.len() as u32;
        events.extend(tracks.map(|track| name("thread_name", LOOPS, track, "not drawn")));
    }
}

fn name(which: &str, pid: u32, tid: u32, text: &str) -> TraceEvent {
    let args = serde_json::Map::from_iter([("name".to_owned(), text.into())]);
    TraceEvent { ph: "M", name: which.to_owned(), cat: String::new(), pid, tid, ts: None, dur: None, args }
}
