//! Does a number that cannot be computed say so, and do the others stand?

use super::prediction::{Basis, Collector, RowFailure};
use super::*;
use polyfabric_runtime::NoProgress;

const FIGURES: &str = r#"
    paper = "P"
    title = "A paper"
    [[figure]]
    id = "a"
    table = "T"
    cell = "a number"
    unit = "ns"
    value = 2.0
    [[figure]]
    id = "b"
    table = "T"
    cell = "a bound"
    unit = "%"
    lower_bound = 20.0
    upper_bound = 30.0
    derived = "of two others"
    [[figure]]
    id = "c"
    table = "T"
    cell = "neither computed nor modelled"
    unit = "x"
    unmodelled = "there is no model"
    [[figure]]
    id = "d"
    table = "T"
    cell = "an application"
    unit = "s"
"#;

fn rows(fill: impl FnOnce(&mut Collector)) -> Vec<Row> {
    let mut table = Collector::new(1, &NoProgress);
    fill(&mut table);
    compare(&toml::from_str(FIGURES).expect("well formed"), &table.finish(), Missing::Application)
}

#[test]
fn what_no_application_gives_is_no_application() {
    let figures = toml::from_str(FIGURES).expect("well formed");
    let untimed = &compare(&figures, &[], Missing::Application)[3];
    assert!(
        untimed.failure.is_none() && untimed.reason.contains("`polyfabric reproduce p --applications`"),
        "{untimed:?}"
    );
    let mut table = Collector::new(1, &NoProgress);
    ["a", "b"].into_iter().for_each(|id| table.add(id, Ok(1.0), &Basis::PREDICTED, "why"));
    let timed = compare(&figures, &table.finish(), Missing::Fault);
    let faults: Vec<_> = timed.iter().filter_map(|row| row.failure.as_deref()).collect();
    assert_eq!(
        faults,
        [
            "neither the model nor an application has a number of cell \"d\", and it does not say why: have one give it, or write \
             `unmodelled` in the file of published figures"
        ]
    );
    assert!(timed[3].kind.is_none() && !timed[3].reason.contains("application"), "{:?}", timed[3]);
}

#[test]
fn a_number_that_fails_says_why_and_the_rest_stands() {
    let rows = rows(|table| {
        let broken = table.attempt("a", || Err::<f64, _>("the scratchpad is full"));
        let panicked = table.attempt("b", || -> Result<f64, String> { panic!("index {} out of range", 7) });
        table.add("a", broken, &Basis::PREDICTED, "why");
        let point = Point { curve: "one".to_owned(), axis: "units".to_owned(), unit: "1".to_owned(), at: 4.0 };
        table.point("a", ("T", "beside it".to_owned(), "ns"), point, Ok(3.0), &Basis::IDENTITY, "of a");
        table.add("b", panicked, &Basis::PREDICTED, "why");
    });
    assert_eq!(rows.len(), 5);
    assert_eq!(rows[0].failure.as_deref(), Some("the scratchpad is full"));
    assert_eq!((rows[0].model, rows[0].deviation, rows[0].kind), (None, None, None));
    assert_eq!((rows[1].model, rows[1].kind), (Some(3.0), Some(Kind::Identity)));
    assert_eq!((&rows[0].point, rows[1].point.as_ref().map(|point| point.at)), (&None, Some(4.0)));
    assert_eq!(rows[2].failure.as_deref(), Some("a defect of the model: index 7 out of range"));
    assert_eq!((rows[3].kind, rows[3].reason.as_str()), (Some(Kind::NotModelled), "there is no model"));
    assert_eq!((rows[4].kind, &rows[4].failure), (None, &None));
}

#[test]
fn every_reading_has_its_row() {
    let rows = rows(|table| {
        for (name, value) in [("r=one", 2.0), ("r=two", 3.0)] {
            table.add("a", Ok(value), &Basis::under(&[(name, Some("section 3"))]), "why");
        }
    });
    let found: Vec<_> = rows[..2].iter().map(|row| (row.published, row.model, row.deviation)).collect();
    assert_eq!(found, [(Some(2.0), Some(2.0), Some(0.0)), (Some(2.0), Some(3.0), Some(0.5))]);
    assert_eq!(rows.len(), 5);
}

#[test]
fn a_bound_is_met_within_and_missed_beyond() {
    let deviation =
        |model: f64| rows(|table| table.add("b", Ok(model), &Basis::PREDICTED, "why"))[1].deviation.expect("a bound");
    assert_eq!((deviation(20.0), deviation(25.0), deviation(30.0)), (0.0, 0.0, 0.0));
    assert!((deviation(10.0) + 0.5).abs() < 1e-12 && (deviation(45.0) - 0.5).abs() < 1e-12);
    // What the bound follows from is told with it.
    let rows = rows(|table| table.add("b", Ok(25.0), &Basis::PREDICTED, "why"));
    assert_eq!(rows[1].reason, "why; published: of two others");
}

/// Two quotients: of a number of the model over another machine's, and of nothing but the model's.
const QUOTIENTS: &str = r#"
    [[figure]]
    id = "e"
    table = "T"
    cell = "another machine's"
    unit = "ns"
    value = 4.0
    unmodelled = "another machine"
    [[figure]]
    id = "q"
    table = "T"
    cell = "how much faster"
    unit = "x"
    value = 20.0
    quotient = { of = ["e"], over = ["a"], times = 10.0, note = "of ten" }
    [[figure]]
    id = "r"
    table = "T"
    cell = "a rate"
    unit = "1/ns"
    quotient = { over = ["a"] }
"#;

fn quotients(fill: impl FnOnce(&mut Collector)) -> Vec<Row> {
    let mut table = Collector::new(1, &NoProgress);
    fill(&mut table);
    let figures = Figures::of("p", &format!("{FIGURES}{QUOTIENTS}")).expect("well formed");
    let mut rows = compare(&figures, &table.finish(), Missing::Application);
    rows.split_off(rows.len() - 2)
}

#[test]
fn a_quotient_is_made_of_what_other_cells_have() {
    let rows = quotients(|table| table.add("a", Ok(2.5), &Basis::CALIBRATED, "why"));
    let found: Vec<_> = rows.iter().map(|row| (row.model, row.deviation, row.kind)).collect();
    let identity = Some(Kind::Identity);
    assert_eq!(found, [(Some(16.0), Some(16.0 / 20.0 - 1.0), identity), (Some(0.4), None, identity)]);
    assert_eq!(rows[0].reason, "the published \"another machine's\" over the model's \"a number\"; of ten");
    assert_eq!(rows[1].reason, "1 over the model's \"a number\"");
}

#[test]
fn a_quotient_has_no_number_where_a_factor_has_none() {
    let rows = quotients(|table| table.add("b", Ok(2.5), &Basis::PREDICTED, "why"));
    assert!(rows.iter().all(|row| row.model.is_none() && row.failure.is_none()), "{rows:?}");
    assert!(rows[0].reason.contains("an application"), "{rows:?}");
    let failed = Err(RowFailure("the scratchpad is full".to_owned()));
    let rows = quotients(|table| table.add("a", failed, &Basis::PREDICTED, "why"));
    assert!(rows.iter().all(|row| row.failure.as_deref() == Some("the scratchpad is full")), "{rows:?}");
    let rows = quotients(|table| {
        [1.0, 2.0].into_iter().for_each(|number| table.add("a", Ok(number), &Basis::PREDICTED, "why"));
    });
    assert!(rows.iter().all(|row| row.failure.as_deref().is_some_and(|cause| cause.contains("several numbers"))));
}

#[test]
fn a_quotient_of_what_has_no_number_is_refused() {
    for (factor, wrong) in [("none", "is no cell"), ("q", "is one itself"), ("c", "nobody has a number of")] {
        let more = format!(
            "[[figure]]\nid = \"s\"\ntable = \"T\"\ncell = \"s\"\nunit = \"x\"\nquotient = {{ of = [\"{factor}\"] }}\n"
        );
        let error =
            Figures::of("p", &format!("{FIGURES}{QUOTIENTS}{more}")).expect_err("a broken quotient").to_string();
        let expected = format!("figures/p.toml: cell \"s\" is a quotient of \"{factor}\", which {wrong}; correct it");
        assert_eq!(error, expected);
    }
}

#[test]
fn readings_belong_to_what_is_predicted_under_them() {
    let basis = Basis::under(&[("fact=option", None), ("other", Some("section 3"))]);
    let prediction = Prediction {
        id: "a".into(),
        beside: None,
        value: Some(1.0),
        failure: None,
        basis,
        reason: "why".into(),
        point: None,
        range: Some(Range {
            least: 0.5,
            least_of: "the default".into(),
            most: 3.0,
            most_of: "another".into(),
            choices: 4,
        }),
    };
    let text = serde_json::to_string(&prediction).expect("plain data");
    let read: Prediction = serde_json::from_str(&text).expect("what was written");
    assert_eq!((&read.basis, &read.range), (&prediction.basis, &prediction.range));
    let rows = compare(&toml::from_str(FIGURES).expect("well formed"), &[read], Missing::Application);
    assert_eq!((&rows[0].range, &rows[1].range), (&prediction.range, &None));
    for (kind, readings) in [("predicted", r#"[{"name": "r", "evidence": null}]"#), ("predicted_under_reading", "[]")] {
        let text = format!(r#"{{"id": "a", "value": 1, "kind": "{kind}", "readings": {readings}, "reason": ""}}"#);
        assert!(serde_json::from_str::<Prediction>(&text).is_err(), "{text}");
    }
}
#[test]
fn an_unknown_paper_is_named() {
    let error = reproduce("none", None, &NoProgress).expect_err("there is no such paper").to_string();
    assert_eq!(error, "no published figures of \"none\" are in the project; it has f1, fpt, morphling, osiris, strix");
}
