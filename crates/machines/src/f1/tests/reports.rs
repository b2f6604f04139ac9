//! Does a report match the checked schedule, with stalls that add up to the total?

use crate::contract::options::Given;
use crate::contract::rns::map;
use crate::f1::contract::{LOW_THROUGHPUT, SCHEDULER};
use crate::registry::description;
use polyfabric_program::rns::builtin::microbenchmark::{Operation, Shape, build};
use polyfabric_sim::trace::TraceOptions;

const SHAPE: Shape = Shape { log2_degree: 12, limbs: 3, special: 1, ciphertexts: 4, rounds: 2 };

#[test]
fn the_report_of_permutations_is_consistent() {
    let program = build(Operation::Permute, SHAPE).expect("a program");
    let machine = description("f1").expect("the machine file");
    let mapped = map(&machine, &program, "set", &Given::new()).expect("it fits");
    let report = mapped.report();
    assert_eq!((report.operations, &*report.operation), (8, "key switches"));
    assert!(report.lower_bound_cycles <= report.cycles && report.lower_bound_cycles > 0);
    assert!(report.latency_s <= report.seconds);
    for stalls in &report.stalls_by_class {
        let sum: f64 = stalls.cycles.values().sum();
        assert!((sum - report.cycles as f64).abs() < 1e-6 * sum, "{}", stalls.class);
        assert!(stalls.cycles.values().all(|&cycles| cycles >= 0.0));
        let busy = stalls.cycles["busy"] / report.cycles as f64;
        assert!((busy - report.utilisation[&stalls.class]).abs() < 1e-9);
    }
    // 4 ciphertexts in and out, of 2·3 vectors of 16 KiB; hints of 3 rows of 2·4.
    let vector = 16 << 10;
    assert_eq!(report.traffic_bytes["hints"], 3 * 2 * 4 * vector);
    assert_eq!(report.traffic_bytes["inputs_outputs"], 2 * 4 * 6 * vector);
    let instructions = report.traffic_bytes["instructions"];
    assert!(instructions > 0);
    assert_eq!(report.traffic_bytes["total"], (3 * 2 * 4 + 2 * 4 * 6) * vector + instructions);
    let trace = mapped.trace(TraceOptions::default());
    assert_eq!(trace.trace_events.iter().filter(|event| event.ph == "X").count() as u64, report.events);
    let short = mapped.trace(TraceOptions { slices: 10, ..TraceOptions::default() });
    assert!(short.trace_events.iter().any(|event| event.name.ends_with("events left out")));
}

#[test]
fn a_machine_of_other_units_has_no_area_and_no_energy() {
    let program = build(Operation::Ntt, SHAPE).expect("a program");
    let machine = description("f1").expect("the machine file");
    let options =
        Given::from([(LOW_THROUGHPUT.to_owned(), "ntt".to_owned()), (SCHEDULER.to_owned(), "csr".to_owned())]);
    let mapped = map(&machine, &program, "set", &options).expect("it fits");
    let report = mapped.report();
    assert_eq!((report.area_mm2, report.power_w, report.energy_j), (None, None, None));
    assert!(report.components.iter().any(|part| part.energy_j.is_some()));
}
