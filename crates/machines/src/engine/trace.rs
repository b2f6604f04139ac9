//! The timeline as Chrome trace events, which Perfetto opens.
//!
//! One process for each class, one track for each unit or channel, and one slice for each event, from its start for as long
//! as it occupies the unit. Of a loop the first rounds and the last are drawn; what is left out has a slice of its own on a
//! track of the process `loops`, so nothing is missing without a mark.

use super::schedule::{Event, Item, Resource, Schedule, Shift, Value};
use super::totals::classes;
use serde::Serialize;
use std::collections::HashMap;

/// How much of a schedule is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceOptions {
    /// Rounds of a loop that are drawn at its start.
    pub first_rounds: u64,
    /// Rounds of a loop that are drawn at its end.
    pub last_rounds: u64,
    /// Largest number of slices; beyond it the middle of the schedule is left out.
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
    /// Unit of display.
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
    /// Start in µs, or when the counter has its value.
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
                        self.items(&repeat.body, at(round), shift.advanced(repeat.shift, round as i64));
                    }
                }
            }
        }
    }

    /// Leaves out the middle of too many slices.
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

/// Draws a schedule at a clock in Hz.
pub fn trace(schedule: &Schedule, clock_hz: f64, options: TraceOptions) -> Trace {
    let mut walk = Walk { options, slices: Vec::new(), elisions: Vec::new() };
    walk.items(&schedule.items, 0, Shift::default());
    walk.limit();
    let microseconds = |cycles: i64| cycles as f64 / clock_hz * 1e6;
    let mut events = Vec::new();
    let mut process: HashMap<usize, u32> = HashMap::new();
    for (index, (class, members)) in (1..).zip(classes(schedule)) {
        events.push(name("process_name", index, 0, &class));
        for member in members {
            process.insert(member, index);
            let unit = schedule.resources.name(Resource(member as u32));
            events.push(name("thread_name", index, member as u32 + 1, unit));
        }
    }
    for slice in &walk.slices {
        let resource = slice.event.resource;
        let op = slice.event.op.shifted(slice.shift);
        let kind = schedule.resources.kinds.get(op.kind.0 as usize);
        let mut args = serde_json::Map::new();
        let fields = [("ciphertext", op.ciphertext), ("iteration", op.iteration), ("body_op", op.body_op)];
        for (key, field) in fields.into_iter().filter(|&(_, field)| field != Value::NONE) {
            args.insert(key.to_owned(), field.into());
        }
        args.insert("kernel_op".to_owned(), op.kernel_op.into());
        args.insert("cycle".to_owned(), slice.start.into());
        args.insert("cycles".to_owned(), slice.event.occupancy.into());
        events.push(TraceEvent {
            ph: "X",
            name: kind.map_or_else(String::new, |kind| kind.name.clone()),
            cat: schedule.resources.class(resource).to_owned(),
            pid: process.get(&(resource.0 as usize)).copied().unwrap_or_default(),
            tid: resource.0 + 1,
            ts: Some(microseconds(slice.start)),
            dur: Some(microseconds(i64::from(slice.event.occupancy))),
            args,
        });
    }
    elide(&mut events, walk.elisions, microseconds);
    Trace { display_time_unit: "ns", trace_events: events }
}

/// A slice on a track, for machines whose schedule is a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// Index of the track.
    pub track: usize,
    /// Cycle.
    pub start: u64,
    /// Cycles.
    pub duration: u64,
    /// What happens.
    pub name: String,
}

/// Draws slices, in order of their starts, on `tracks` of (class, name) at a clock in Hz; of too many the middle is left out.
pub fn draw(tracks: &[(String, String)], slices: &[Drawn], clock_hz: f64, options: TraceOptions) -> Trace {
    let microseconds = |cycles: i64| cycles as f64 / clock_hz * 1e6;
    let mut processes: Vec<&str> = Vec::new();
    let mut events = Vec::new();
    let mut process = Vec::with_capacity(tracks.len());
    for (index, (class, track)) in tracks.iter().enumerate() {
        let known = processes.iter().position(|known| known == class).unwrap_or_else(|| {
            processes.push(class);
            events.push(name("process_name", processes.len() as u32, 0, class));
            processes.len() - 1
        });
        process.push(known as u32 + 1);
        events.push(name("thread_name", known as u32 + 1, index as u32 + 1, track));
    }
    let most = options.slices.max(2);
    let (head, tail) = match slices.len() {
        few if few <= most => (few, few),
        many => (most - most / 4, many - most / 4),
    };
    for slice in slices[..head].iter().chain(&slices[tail..]) {
        let args = [("cycle", slice.start), ("cycles", slice.duration)];
        events.push(TraceEvent {
            ph: "X",
            name: slice.name.clone(),
            cat: tracks[slice.track].0.clone(),
            pid: process[slice.track],
            tid: slice.track as u32 + 1,
            ts: Some(microseconds(slice.start as i64)),
            dur: Some(microseconds(slice.duration as i64)),
            args: args.into_iter().map(|(key, value)| (key.to_owned(), value.into())).collect(),
        });
    }
    if tail > head {
        let (start, end) = (slices[head].start as i64, slices[tail].start as i64);
        let text = format!("{} events left out", tail - head);
        elide(&mut events, vec![Elision { start, end: end.max(start + 1), text }], microseconds);
    }
    Trace { display_time_unit: "ns", trace_events: events }
}

/// For each class of tracks, the share of its tracks that is busy, over `windows` windows of the whole time: counters of a process of
/// their own.
pub fn utilisation(tracks: &[(String, String)], slices: &[Drawn], clock_hz: f64, windows: u64) -> Vec<TraceEvent> {
    const PROCESS: u32 = u32::MAX;
    let end = slices.iter().map(|slice| slice.start + slice.duration).max().unwrap_or(0);
    let width = end.div_ceil(windows.max(1)).max(1);
    let mut classes: Vec<(&str, u64)> = Vec::new();
    let mut class_of = Vec::with_capacity(tracks.len());
    for (class, _) in tracks {
        let known = classes.iter().position(|(known, _)| known == class).unwrap_or_else(|| {
            classes.push((class, 0));
            classes.len() - 1
        });
        classes[known].1 += 1;
        class_of.push(known);
    }
    let count = end.div_ceil(width) as usize;
    let mut busy = vec![vec![0; count]; classes.len()];
    for slice in slices {
        let (mut at, end) = (slice.start, slice.start + slice.duration);
        while at < end {
            let window = at / width;
            let until = end.min((window + 1) * width);
            busy[class_of[slice.track]][window as usize] += until - at;
            at = until;
        }
    }
    let mut events = vec![name("process_name", PROCESS, 0, "utilisation")];
    for ((class, units), busy) in classes.iter().zip(&busy) {
        // A last 0 ends the last window.
        for (window, busy) in busy.iter().chain([&0]).enumerate() {
            let share = 100.0 * *busy as f64 / (units * width) as f64;
            events.push(TraceEvent {
                ph: "C",
                name: format!("{class}, busy %"),
                cat: String::new(),
                pid: PROCESS,
                tid: 0,
                ts: Some((window as u64 * width) as f64 / clock_hz * 1e6),
                dur: None,
                args: serde_json::Map::from_iter([("busy".to_owned(), share.into())]),
            });
        }
    }
    events
}

/// Marks of what is left out, on as many tracks as overlap.
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
