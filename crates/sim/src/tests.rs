//! Does a report match numbers worked out by hand, and does the timeline show every event?

use super::checker::tests::toy::{accumulate, machine};
use super::description::{Description, DescriptionLiteral, Dimension, FigureSpec, energy, figure, optional};
use super::report::{SimulationError, SimulationReport, Subject, latency_cycles};
use super::schedule::{Schedule, Traffic};
use super::totals::Totals;
use super::trace::{Trace, TraceOptions, trace};
use std::collections::BTreeMap;

const SPECS: &[FigureSpec] = &[
    figure("clock", Dimension::Frequency, 1e6, 1e10, "the clock"),
    energy("channels.channel.energy"),
    FigureSpec { optional: true, ..energy("channels.link.energy") },
    optional("channels.channel.latency", Dimension::Cycles, 0.0, 1e6, "the latency"),
];

const FILE: &str = r#"
name = "toy"
mapper = "toy"
title = "Two units"
paper = "none"
clock = { value = 1, unit = "GHz", source = "assumption" }
[channels.channel]
energy = { value = 5, unit = "pJ/bit", source = "assumption" }
[components.multiplier]
area = { value = 2.0, unit = "mm2", source = "table 1", input = true }
power = { value = 3.0, unit = "W", source = "table 1", input = true }
idle_share = { value = 0.25, unit = "1", source = "assumption: leakage" }
activity = ["multiplier"]
[components.buffer]
area = { value = 1.0, unit = "mm2", source = "table 1", input = true }
power = { value = 0.5, unit = "W", source = "table 1", input = true }
idle_share = { value = 0.5, unit = "1", source = "assumption: leakage" }
activity = ["memory:buffer"]
"#;

fn description(text: &str) -> Description {
    let literal = DescriptionLiteral::from_toml("toy.toml", text).expect("form");
    Description::check("toy.toml", &literal, SPECS).expect("figures")
}

fn report_of(schedule: &Schedule, text: &str) -> Result<SimulationReport, SimulationError> {
    SimulationReport::of(&Subject {
        machine: &description(text),
        schedule: schedule.into(),
        program: "sum",
        parameters: "none",
        operations: 21,
        operation: "lookups",
        primary: &["adder".to_owned(), "channel".to_owned()],
    })
}

#[test]
fn a_report_by_hand() {
    // 21 iterations at a period of 4 take 92 cycles. The work on each unit and on the channel is 84 cycles, so the
    // resource bound is 84. The critical path is 52 cycles (2 a sum, 12 for the first).
    let report = report_of(&accumulate(10, 4), FILE).expect("legal");
    assert_eq!(report.cycles, 92);
    assert!((report.seconds - 92e-9).abs() < 1e-15);
    assert_eq!(report.lower_bound_cycles, 84);
    assert_eq!(report.limits["critical path"], 52);
    assert!((report.efficiency - 84.0 / 92.0).abs() < 1e-12);
    assert!((report.utilisation["multiplier"] - 84.0 / 92.0).abs() < 1e-12);
    assert!((report.stalls.values().sum::<f64>() - 92.0).abs() < 1e-9);
    assert_eq!(report.stalls_by_class.len(), 2);
    // 21 keys of 16 bytes.
    assert_eq!(report.traffic_bytes["bootstrap_key"], 21 * 16);
    assert_eq!(report.traffic_bytes["total"], 21 * 16);
    let channels: f64 = accumulate(10, 4).resources.channels.iter().map(|channel| channel.bytes_per_cycle).sum();
    assert!(channels > 0.0 && (report.off_chip_bytes_per_s - channels * 1e9).abs() < 1e-3);
    assert_eq!(report.area_mm2, Some(3.0));
    // Multiplier: 3 W · 92 ns · (1/4 + 3/4 · 84/92) = 3 W · (23 + 63) ns.
    let multiplier = report.components.iter().find(|part| part.name == "multiplier").expect("listed");
    assert_eq!(multiplier.kind, "input");
    assert!((multiplier.energy_j.expect("known") - 3.0 * 86e-9).abs() < 1e-15);
    // Buffer: every iteration moves 16 bytes five times, and once more for the old sum, except the first. These are key
    // in and out, product in and out, sum in, sum out. Ports: 2 banks · 16 bytes a cycle.
    let share = (21.0 * 5.0 + 20.0) * 16.0 / (32.0 * 92.0);
    let buffer = report.components.iter().find(|part| part.name == "buffer").expect("listed");
    assert!((buffer.activity - share).abs() < 1e-12);
    // Off-chip: 336 bytes · 8 · 5 pJ. Everything sums to the total.
    assert!((report.off_chip_energy_j.expect("known") - 336.0 * 40e-12).abs() < 1e-18);
    let parts: f64 = report.components.iter().filter_map(|part| part.energy_j).sum::<f64>();
    let total = report.energy_j.expect("known");
    assert!((parts + 336.0 * 40e-12 - total).abs() < 1e-15);
    assert!((report.power_w.expect("known") * report.seconds - total).abs() < 1e-15);
    let json = serde_json::to_value(&report).expect("a report is data");
    for field in [
        "cycles",
        "seconds",
        "latency_s",
        "throughput_per_s",
        "lower_bound_cycles",
        "utilisation",
        "stalls",
        "traffic_bytes",
        "area_mm2",
        "power_w",
        "energy_j",
    ] {
        assert!(!json[field].is_null(), "{field}");
    }
}

#[test]
fn unknown_stays_unknown() {
    let unknown = FILE.replace("value = 5, unit = \"pJ/bit\"", "value = \"unknown\", unit = \"pJ/bit\"");
    let report = report_of(&accumulate(10, 4), &unknown).expect("legal");
    assert_eq!((report.energy_j, report.power_w, report.off_chip_energy_j), (None, None, None));
    assert!(report.components.iter().all(|part| part.energy_j.is_some()));
    let unknown = FILE.replace("value = 2.0, unit = \"mm2\"", "value = \"unknown\", unit = \"mm2\"");
    assert_eq!(report_of(&accumulate(10, 4), &unknown).expect("legal").area_mm2, None);
    // A chip without parts has an unknown area, not 0.
    let (bare, _) = FILE.split_once("[components").expect("parts");
    let report = report_of(&accumulate(10, 4), bare).expect("legal");
    assert_eq!((report.area_mm2, report.energy_j, description(bare).power_w()), (None, None, None));
}

#[test]
fn energy_of_memory_is_counted_once_and_of_its_own_channel() {
    let report = |text: &str| report_of(&accumulate(10, 4), text).expect("legal");
    let parts = report(FILE).components.iter().filter_map(|part| part.energy_j).sum::<f64>();
    // The memory of another channel carries no bits, so it takes no energy.
    let two = FILE.replace(
        "[components.m",
        "[channels.link]\nenergy = { value = 50, unit = \"pJ/bit\", source = \"assumption\" }\n[components.m",
    );
    assert_eq!(report(&two).off_chip_energy_j, report(FILE).off_chip_energy_j);
    // Memory that is part of a component's power is not added to it.
    let includes =
        FILE.replace("activity = [\"multiplier\"]", "includes = [\"channels.channel\"]\nactivity = [\"multiplier\"]");
    let energy = "energy = { value = 5, unit = \"pJ/bit\"";
    let own = includes.replace(energy, "latency = { value = 5, unit = \"cycles\"");
    assert_eq!((report(&own).energy_j, report(&own).off_chip_energy_j), (Some(parts), None));
    let refused = |text: &str| {
        let literal = DescriptionLiteral::from_toml("toy.toml", text).expect("form");
        Description::check("toy.toml", &literal, SPECS).expect_err("refused").to_string()
    };
    let neither = refused(&FILE.replace(energy, "latency = { value = 5, unit = \"cycles\""));
    assert!(neither.contains("`channels.channel.energy` is missing"), "{neither}");
    let twice = refused(&includes);
    assert!(
        twice.contains("`components.multiplier.includes`") && twice.contains("energy of its memory twice"),
        "{twice}"
    );
    let missing = refused(&includes.replace("[\"channels.channel\"]", "[\"channels.chanel\"]"));
    assert!(missing.contains("the file has no such channel"), "{missing}");
}

#[test]
fn a_wrong_activity_is_named() {
    let wrong = FILE.replace("memory:buffer", "memory:bufer");
    let error = report_of(&accumulate(10, 4), &wrong).expect_err("no such memory").to_string();
    assert_eq!(
        error,
        "toy.toml, `components.buffer.activity`: the schedule has no unit class, channel class or memory \
         \"memory:bufer\". Choose from: adder, channel, memory:buffer, multiplier"
    );
}

#[test]
fn an_illegal_schedule_has_no_report() {
    let error = report_of(&accumulate(10, 3), FILE).expect_err("units overlap").to_string();
    assert!(error.starts_with("the schedule of `sum` on `toy` is illegal, unit busy at cycle 3"), "{error}");
}

#[test]
fn totals_of_folded_and_unrolled_agree() {
    let schedule = accumulate(7, 5);
    let (folded, unrolled) = (Totals::of(&schedule), Totals::of(&schedule.unrolled()));
    assert_eq!(folded, unrolled);
    assert_eq!(folded.events, schedule.event_count());
    assert_eq!(folded.traffic[0], 15 * 16);
    assert_eq!(Traffic::ALL[0], Traffic::BootstrapKey);
}

#[test]
fn events_come_in_order_and_complete() {
    let schedule = accumulate(50, 4);
    let events: Vec<_> = schedule.events().collect();
    assert_eq!(events.len() as u64, schedule.event_count());
    assert!(events.windows(2).all(|pair| pair[0].start <= pair[1].start));
    let mut iterations: Vec<u32> = events.iter().map(|placed| placed.op().iteration).collect();
    iterations.sort_unstable();
    let expected: Vec<u32> = (0..101).flat_map(|i| [i; 3]).collect();
    assert_eq!(iterations, expected);
}

#[test]
fn latency_is_from_the_first_load_to_the_last_store() {
    let schedule = accumulate(3, 4);
    assert_eq!(latency_cycles((&schedule).into(), 36), 36);
    // The same schedule, seven cycles later: cycles before the first load do not count.
    let later = super::checker::tests::toy::shifted(&accumulate(3, 4), 7);
    assert_eq!(latency_cycles((&later).into(), 43), 36);
}

fn slices_by_track(trace: &Trace) -> BTreeMap<(u32, u32), Vec<(f64, f64)>> {
    let mut tracks: BTreeMap<(u32, u32), Vec<(f64, f64)>> = BTreeMap::new();
    for event in trace.trace_events.iter().filter(|event| event.ph == "X") {
        let (start, duration) = (event.ts.expect("a slice starts"), event.dur.expect("a slice has a length"));
        assert!(start >= 0.0 && duration > 0.0);
        tracks.entry((event.pid, event.tid)).or_default().push((start, start + duration));
    }
    tracks
}

#[test]
fn a_timeline_holds_every_event_once() {
    let schedule = accumulate(2, 4);
    let options = TraceOptions { first_rounds: 10, last_rounds: 0, slices: 1000 };
    let trace = trace(&schedule, 1e9, options);
    let slices: Vec<_> = trace.trace_events.iter().filter(|event| event.ph == "X").collect();
    assert_eq!(slices.len(), 15);
    let last = slices.iter().filter_map(|slice| Some(slice.ts? + slice.dur?)).fold(0.0, f64::max);
    assert!((last - 0.027).abs() < 1e-9, "the last adder event ends in cycle 27: {last} µs");
    let named = slices.iter().find(|slice| slice.name == "add" && slice.args["iteration"] == 4).expect("drawn");
    assert_eq!(named.args["cycle"], 23);
}

#[test]
fn a_timeline_is_bounded_and_says_what_is_left_out() {
    let schedule = accumulate(1_000_000, 4);
    let trace = trace(&schedule, 1e9, TraceOptions::default());
    assert!(trace.trace_events.len() < 100);
    let elided: Vec<_> = trace.trace_events.iter().filter(|event| event.cat == "elided").collect();
    assert_eq!(elided.len(), 1);
    assert_eq!(elided[0].name, "rounds 3 to 999998 of 1000000");
    for (track, mut slices) in slices_by_track(&trace) {
        slices.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert!(slices.windows(2).all(|pair| pair[0].1 <= pair[1].0 + 1e-9), "slices overlap on track {track:?}");
    }
}

#[test]
fn a_timeline_with_too_many_slices_leaves_out_its_middle() {
    let schedule = accumulate(500, 4).unrolled();
    let trace = trace(&schedule, 1e9, TraceOptions { slices: 100, ..TraceOptions::default() });
    let slices = trace.trace_events.iter().filter(|event| event.ph == "X").count();
    assert_eq!(slices, 101);
    assert!(trace.trace_events.iter().any(|event| event.name == "2903 events left out"));
}

#[test]
fn a_timeline_has_the_form_that_viewers_read() {
    let json = serde_json::to_value(trace(&accumulate(3, 4), 1e9, TraceOptions::default())).expect("a trace is data");
    assert_eq!(json["displayTimeUnit"], "ns");
    let events = json["traceEvents"].as_array().expect("a list");
    let named: Vec<_> = events.iter().filter(|event| event["name"] == "thread_name").collect();
    assert_eq!(named.len(), machine().resources().len());
    for event in events {
        assert!(event["pid"].is_u64() && event["tid"].is_u64() && event["name"].is_string());
        match event["ph"].as_str() {
            Some("X") => assert!(event["ts"].is_f64() && event["dur"].is_f64() && event["args"].is_object()),
            Some("M") => assert!(event["args"]["name"].is_string() && event.get("ts").is_none()),
            other => panic!("phase {other:?}"),
        }
    }
}
