//! Is every error in a machine file found, with its place and its value?

use super::*;

const SPECS: &[FigureSpec] = &[
    figure("clock", Dimension::Frequency, 1e6, 1e11, "the clock", false),
    figure("units.adder.count", Dimension::Count, 1.0, 64.0, "the number of adders", false),
    figure("units.adder.rate", Dimension::Rate, 1.0, 1024.0, "the rate of an adder", false),
    figure("units.adder.merged", Dimension::Flag, 0.0, 1.0, "whether adders merge", false),
    figure("memories.buffer.capacity", Dimension::Bytes, 1.0, 1e9, "the capacity of the buffer", false),
    figure("channels.memory.bandwidth", Dimension::PortRate, 0.1, 1e6, "the bandwidth of the memory", false),
    figure("channels.memory.energy", Dimension::EnergyPerBit, 0.0, 1e-9, "the energy a bit of the memory", true),
];

const fn figure(
    key: &'static str,
    dimension: Dimension,
    least: f64,
    most: f64,
    meaning: &'static str,
    optional: bool,
) -> FigureSpec {
    FigureSpec { key, dimension, least, most, meaning, optional, numbered: None }
}

const GOOD: &str = r#"
name = "toy"
mapper = "toy"
title = "A toy"
paper = "none"
clock = { value = 1.5, unit = "GHz", source = "assumption: a round number" }

[units.adder]
count = { value = 4, unit = "units", source = "section 1" }
rate = { value = 8, unit = "elements/cycle", source = "section 2" }
merged = { value = true, unit = "flag", source = "section 2" }

[memories.buffer]
capacity = { value = 4, unit = "MiB", source = "section 3" }

[channels.memory]
bandwidth = { value = 300, unit = "GB/s", source = "section 4" }
energy = { value = "unknown", unit = "pJ/bit", source = "not given" }

[components.adders]
count = { value = 4, unit = "units", source = "section 1" }
area = { value = 0.5, unit = "mm2", source = "table 1", input = true }
power = { value = 250, unit = "mW", source = "table 1", input = true }
idle_share = { value = 0.2, unit = "1", source = "assumption: leakage and clock tree" }
activity = ["adder"]

[readings.rate]
question = "How many elements does an adder take?"
default = "stated"
[readings.rate.options.stated]
meaning = "8, as the text says"
source = "section 2"
figures = {}
[readings.rate.options.needed]
meaning = "16, as the published throughput needs"
source = "table 2"
[readings.rate.options.needed.figures]
"units.adder.rate" = { value = 16, unit = "elements/cycle", source = "table 2" }
"#;

fn load(text: &str) -> Result<Description, DescriptionError> {
    Description::check("toy.toml", &DescriptionLiteral::from_toml("toy.toml", text)?, SPECS)
}

fn fault(from: &str, to: &str) -> DescriptionError {
    assert!(GOOD.contains(from), "{from:?} is not in the file");
    load(&GOOD.replacen(from, to, 1)).expect_err("the fault must be found")
}

fn error(from: &str, to: &str) -> String {
    fault(from, to).to_string()
}

/// Kind, place and value of an error.
fn place(error: &DescriptionError) -> (&'static str, &str, &str) {
    match error {
        DescriptionError::Size { .. } => ("size", "", ""),
        DescriptionError::Form { .. } => ("form", "", ""),
        DescriptionError::MissingLine { key, .. } => ("line", key, ""),
        DescriptionError::Figure { key, value, .. } => ("figure", key, value),
        DescriptionError::Missing { key, unit, .. } => ("missing", key, unit),
        DescriptionError::Unknown { key, .. } => ("unknown", key, ""),
        DescriptionError::UnexpectedKey { key, remedy, .. } => ("key", key, remedy),
        DescriptionError::Reading { name, known, .. } => ("reading", name, known),
    }
}

#[test]
fn figures_come_out_in_base_units() {
    let machine = load(GOOD).expect("good");
    assert_eq!(machine.clock_hz(), Ok(1.5e9));
    assert_eq!(machine.count("units.adder.count"), Ok(4));
    assert_eq!(machine.flag("units.adder.merged"), Ok(true));
    assert_eq!(machine.count("memories.buffer.capacity"), Ok(4 << 20));
    assert_eq!(machine.bytes_per_cycle("channels.memory.bandwidth"), Ok(200.0));
    assert_eq!(machine.components()[0].power_w, Some(1.0));
    assert_eq!(machine.components()[0].area_mm2, Some(2.0));
    assert!(machine.components()[0].input);
}

#[test]
fn a_rate_is_the_same_a_second_and_a_cycle() {
    // With the machine's clock of 1.5 GHz, in whichever unit the mapper reads. The range is converted too.
    let of = |text: &str| load(text).map(|machine| machine.figures()["channels.memory.bandwidth"].value);
    let a_cycle = GOOD.replacen("value = 300, unit = \"GB/s\"", "value = 200, unit = \"bytes/cycle\"", 1);
    assert_eq!(of(GOOD), of(&a_cycle));
    let text = error("value = 300, unit = \"GB/s\"", "value = 0.1, unit = \"GB/s\"");
    assert!(text.contains("the bandwidth of the memory lies between 0.15"), "{text}");
}

#[test]
fn a_time_is_whole_cycles_of_the_clock() {
    let specs =
        [SPECS, &[figure("channels.memory.latency", Dimension::Cycles, 1.0, 1e4, "the memory's latency", true)]]
            .concat();
    let of = |clock: &str, latency: &str| {
        let latency = format!("[channels.memory]\nlatency = {{ value = {latency}, source = \"section 4\" }}\n");
        let text =
            GOOD.replacen("[channels.memory]\n", &latency, 1).replacen("value = 1.5", &format!("value = {clock}"), 1);
        let literal = DescriptionLiteral::from_toml("toy.toml", &text).expect("its form is right");
        let machine = Description::check("toy.toml", &literal, &specs).map_err(|error| error.to_string())?;
        Ok::<_, String>(machine.count("channels.memory.latency").expect("whole cycles"))
    };
    for (clock, latency, cycles) in [
        ("1.5", "150, unit = \"cycles\"", 150),
        ("1.5", "100, unit = \"ns\"", 150),
        ("0.75", "100, unit = \"ns\"", 75),
        ("1.2", "100.1, unit = \"ns\"", 121),
    ] {
        assert_eq!(of(clock, latency), Ok(cycles), "{latency} at {clock} GHz");
    }
    assert!(of("1.5", "1e5, unit = \"ns\"").expect_err("too long").contains("lies between 0.66"));
    assert!(error("value = 4, unit = \"MiB\"", "value = 4, unit = \"ns\"").contains("the unit \"ns\" does not fit"));
}

#[test]
fn a_fraction_is_no_count() {
    let machine = load(&GOOD.replacen("rate = { value = 8,", "rate = { value = 8.9,", 1)).expect("a rate may be one");
    assert_eq!(machine.value("units.adder.rate"), Ok(8.9));
    let refused = machine.count("units.adder.rate").expect_err("no count");
    assert_eq!(place(&refused), ("figure", "units.adder.rate", "8.9 elements/cycle"));
}

#[test]
fn unknown_is_an_error_and_not_0() {
    let machine = load(GOOD).expect("good");
    let unknown = machine.value("channels.memory.energy").expect_err("unknown");
    assert_eq!(place(&unknown), ("unknown", "channels.memory.energy", ""));
    assert!(machine.value("channels.memory.latency").is_err());
}

#[test]
fn readings_change_figures_and_only_named_ones_exist() {
    let machine = load(GOOD).expect("good");
    assert_eq!(machine.value("units.adder.rate"), Ok(8.0));
    let needed = machine.choose(SPECS, &[("rate", "needed")]).expect("exists");
    assert_eq!(needed.value("units.adder.rate"), Ok(16.0));
    assert_eq!(needed.readings()["rate"], "needed");
    let wrong = machine.choose(SPECS, &[("rate", "half")]).expect_err("no such option");
    assert_eq!(place(&wrong), ("reading", "half", "needed, stated"));
    let wrong = machine.choose(SPECS, &[("speed", "half")]).expect_err("no such reading");
    assert_eq!(place(&wrong), ("reading", "speed", "rate"));
}

#[test]
fn faults_are_found_in_their_place() {
    let (count, clock) = ("value = 4, unit = \"units\", source = \"section 1\" }\nrate", "value = 1.5, unit = \"GHz\"");
    let of_count = |value: &str| count.replacen('4', value, 1);
    let of_clock = |value: &str| clock.replacen("1.5", value, 1);
    let reading = "readings.rate.options.needed.figures.\"units.adder.rate\"";
    let capacity = "capacity = { value = 4, unit = \"MiB\", source = \"section 3\" }\n";
    let cases = [
        (count, of_count("0"), ("figure", "units.adder.count", "0")),
        (count, of_count("1000000000000"), ("figure", "units.adder.count", "1000000000000")),
        (count, of_count("2.5"), ("figure", "units.adder.count", "2.5")),
        (clock, of_clock("nan"), ("figure", "clock", "NaN")),
        (clock, of_clock("-inf"), ("figure", "clock", "-inf")),
        (clock, of_clock("\"fast\""), ("figure", "clock", "\"fast\"")),
        ("value = true, unit", "value = 1, unit".to_owned(), ("figure", "units.adder.merged", "1")),
        ("\"MiB\"", "\"GHz\"".to_owned(), ("figure", "memories.buffer.capacity", "4")),
        ("\"section 3\"", "\" \"".to_owned(), ("figure", "memories.buffer.capacity", "4")),
        (capacity, String::new(), ("missing", "memories.buffer.capacity", "bytes")),
        ("merged =", "mergd =".to_owned(), ("key", "units.adder.mergd", "Did you mean `units.adder.merged`?")),
        ("value = 16", "value = -16".to_owned(), ("figure", reading, "-16")),
        ("\"stated\"", "\"said\"".to_owned(), ("reading", "said", "needed, stated")),
        ("value = 0.2", "value = 1.2".to_owned(), ("figure", "components.adders.idle_share", "1.2")),
    ];
    for (from, to, expected) in cases {
        assert_eq!(place(&fault(from, &to)), expected);
    }
}

#[test]
fn texts_that_are_no_machine_file() {
    let unit = error("unit = \"GHz\", ", "");
    assert!(unit.starts_with("toy.toml: TOML parse error at line 6, column 9"), "{unit}");
    let remedy = "\ncorrect it; docs/your-own-machine.md says what a machine file has";
    assert!(unit.ends_with(&format!("\nmissing field `unit`{remedy}")), "{unit}");
    let field = error("paper = ", "papers = \"none\"\npaper = ");
    assert!(field.contains("unknown field `papers`") && field.ends_with(remedy), "{field}");
    let long = error("paper = \"none\"", &format!("paper = \"none\" {}", "x".repeat(LARGEST_FILE / 2)));
    assert!(long.starts_with("toy.toml: TOML parse error at line 5, column 16") && long.len() < 500, "{long}");
    let long = error("value = 1.5, unit", &format!("value = \"{}\", unit", "x".repeat(LARGEST_FILE / 2)));
    assert!(long.contains("the clock is a number") && long.len() < 300, "{long}");
    let large = "#".repeat(LARGEST_FILE + 1);
    let large = load(&large).expect_err("too large").to_string();
    assert_eq!(large, "toy.toml: more than 1048576 bytes, and a machine file has fewer. Is this the right file?");
    let list = error("value = 1.5, unit", "value = [1.5], unit");
    assert!(list.ends_with(&format!("expected a number, true, false or \"unknown\"{remedy}")), "{list}");
    for text in ["", "[", "name = 1", "\u{0}", "clock = { value = 1 }"] {
        assert!(load(text).is_err());
    }
}

#[test]
fn a_missing_line_of_the_head_is_named() {
    let head = GOOD.lines().filter(|line| line.contains('=')).take(5);
    for line in head {
        let key = line.split(' ').next().expect("a key");
        assert_eq!(place(&fault(&format!("{line}\n"), "")), ("line", key, ""));
    }
}

#[test]
fn a_number_of_hundreds_of_digits_is_written_by_its_power_of_10() {
    for (value, written) in [("1e300", "1e300"), ("-2.5e-300", "-2.5e-300"), ("500000000000000.0", "500000000000000")] {
        let refused = fault("value = 1.5, unit = \"GHz\"", &format!("value = {value}, unit = \"GHz\""));
        assert_eq!(place(&refused), ("figure", "clock", written));
    }
}

/// The toy with scaling laws for its component, whose source is at 1.5 GHz.
fn lawful() -> String {
    let clock = "component_clock = { value = 1.5, unit = \"GHz\", source = \"section 1\" }\n\n[units.adder]\n";
    let laws = "count = \"units.adder.count\"\nsize = { of = \"2 * units.adder.rate + memories.buffer.capacity\", \
                at = \"16 + 4 MiB\", source = \"assumption: it grows with both\" }\narea";
    let count = "count = { value = 4, unit = \"units\", source = \"section 1\" }\narea";
    GOOD.replacen("\n[units.adder]\n", clock, 1).replacen(count, laws, 1)
}

fn with(changes: &[(&str, f64)]) -> Result<Component, String> {
    let changes: Vec<(String, f64)> = changes.iter().map(|&(key, value)| (key.to_owned(), value)).collect();
    let changed = load(&lawful()).expect("good").changed(SPECS, &changes).map_err(|error| error.to_string())?;
    Ok(changed.components()[0].clone())
}

#[test]
fn components_follow_the_figures_that_they_are_made_for() {
    let same = with(&[]).expect("as it was");
    assert_eq!((same.count, same.size, same.area_mm2, same.power_w), (4.0, 1.0, Some(2.0), Some(1.0)));
    let twice = with(&[("units.adder.count", 8.0)]).expect("it holds");
    assert_eq!((twice.count, twice.area_mm2, twice.power_w), (8.0, Some(4.0), Some(2.0)));
    // (16 + 12) MiB over (16 + 4) MiB, at the same rate.
    let larger = with(&[("memories.buffer.capacity", 12.0)]).expect("it holds");
    let ratio = (16.0 + 12.0 * 1048576.0) / (16.0 + 4.0 * 1048576.0);
    assert!((larger.area_mm2.expect("known") - 2.0 * ratio).abs() < 1e-9);
    // Half the clock is half the power, and no less area.
    let slower = with(&[("clock", 0.75)]).expect("it holds");
    assert_eq!((slower.area_mm2, slower.power_w), (Some(2.0), Some(0.5)));
    // A figure of a component, and a figure that a reading sets, which changes in every option.
    assert_eq!(with(&[("components.adders.area", 1.0)]).expect("it holds").area_mm2, Some(4.0));
    let machine =
        load(&lawful()).expect("good").changed(SPECS, &[("units.adder.rate".to_owned(), 32.0)]).expect("it holds");
    let chosen = machine.choose(SPECS, &[("rate", "needed")]).expect("an option");
    assert_eq!((machine.value("units.adder.rate"), chosen.value("units.adder.rate")), (Ok(32.0), Ok(32.0)));
}

#[test]
fn uncovered_changes_are_refused_and_distant_sizes_have_no_area() {
    for (changes, expected) in [
        (("clock", 3.0), "`clock` = 3: area, power and pipeline registers of the file are of parts at 1.5 GHz"),
        (("channels.memory.bandwidth", 600.0), "no component says how its area and power follow this figure"),
        (("units.adder.rates", 8.0), "Did you mean `units.adder.rate`?"),
        (("units.adder.count", 65.0), "lies between 1 and 64"),
    ] {
        let refused = with(&[changes]).expect_err("refused");
        assert!(refused.contains(expected), "{refused}");
    }
    let far = with(&[("memories.buffer.capacity", 100.0)]).expect("a machine");
    assert_eq!((far.area_mm2, far.power_w), (None, None));
    let cause = far.unknown.expect("a cause");
    assert!(cause.contains("`components.adders.size`") && cause.contains("not taken beyond a factor of 16"), "{cause}");
    let wrong = lawful().replacen("count = \"units.adder.count\"", "count = \"units.adder.number\"", 1);
    let refused = load(&wrong).expect_err("no such figure").to_string();
    assert!(refused.contains("`units.adder.number` is no figure"), "{refused}");
    let wrong = lawful().replacen("assumption: it grows with both", " ", 1);
    assert!(load(&wrong).expect_err("no source").to_string().contains("no source is given"));
}

#[test]
fn laws_without_a_valid_count_or_size_are_refused() {
    let count = "count = \"units.adder.count\"";
    let refused = |from: &str, to: &str| {
        assert!(lawful().contains(from), "{from}");
        load(&lawful().replacen(from, to, 1)).expect_err("refused").to_string()
    };
    for (law, cause) in [
        ("-1 * units.adder.count", "-4 is no number of parts"),
        ("nan", "NaN is no number of parts"),
        ("inf", "inf is no number of parts"),
        ("1e300 * units.adder.count", "is no number of parts"),
        ("clock", "Hz, MHz, GHz are no number of parts"),
        ("2 MiB", "bytes, KiB, MiB, GiB are no number of parts"),
    ] {
        let refused = refused(count, &format!("count = \"{law}\""));
        assert!(refused.contains(cause), "{refused}");
    }
    let size = |of: &str, at: &str| {
        let own = "of = \"2 * units.adder.rate + memories.buffer.capacity\", at = \"16 + 4 MiB\"";
        refused(own, &format!("of = \"{of}\", at = \"{at}\""))
    };
    for (of, at, cause) in [
        ("memories.buffer.capacity", "4 GHz", "has nothing in Hz, MHz, GHz"),
        ("memories.buffer.capacity", "clock", "has nothing in Hz, MHz, GHz"),
        ("memories.buffer.capacity", "0 MiB", "0 is no size"),
        ("memories.buffer.capacity", "inf", "inf is no size"),
        ("-1 * memories.buffer.capacity", "4 MiB", "-4194304 is no size"),
        ("nan", "4 MiB", "NaN is no size"),
    ] {
        let refused = size(of, at);
        assert!(refused.contains(cause), "{refused}");
    }
}

#[test]
fn holds_for_takes_values_of_its_figure() {
    let held = |values: &str| {
        let table =
            format!("[components.adders.holds_for]\n\"memories.buffer.capacity\" = {values}\n\n[readings.rate]");
        load(&GOOD.replacen("[readings.rate]", &table, 1))
    };
    for values in ["\"4 MiB\"", "4194304", "[1, \"4096 KiB\"]"] {
        let machine = held(values).expect("a value");
        assert!(!machine.components()[0].unknown.as_deref().is_some_and(|cause| cause.contains("are those of")));
    }
    for wrong in ["\"4 GHz\"", "true", "[]"] {
        let refused = held(wrong).expect_err("refused");
        assert_eq!(place(&refused), ("figure", "components.adders.holds_for", wrong));
    }
}

#[test]
fn a_yes_or_no_is_changed_by_1_and_0() {
    let change = |value: f64| {
        let literal = DescriptionLiteral::from_toml("toy.toml", GOOD).expect("good");
        let bare = DescriptionLiteral { components: BTreeMap::new(), ..literal };
        let machine = Description::check("toy.toml", &bare, SPECS).expect("good");
        machine.changed(SPECS, &[("units.adder.merged".to_owned(), value)])
    };
    assert_eq!(change(0.0).expect("no").flag("units.adder.merged"), Ok(false));
    assert_eq!(change(1.0).expect("yes").flag("units.adder.merged"), Ok(true));
    assert!(change(0.5).expect_err("neither").to_string().contains("Write true, false"));
}

#[test]
fn a_character_that_steers_a_terminal_is_refused_and_not_repeated() {
    for (from, to) in [
        ("title = \"A toy\"", "title = \"A \\u001b[2Jtoy\""),
        ("source = \"section 3\"", "source = \"\\u009b2J\""),
        ("[components.adders]", "[components.\"add\\rers\"]"),
    ] {
        let text = error(from, to);
        assert!(text.contains("has a character that steers a terminal; remove it"), "{text}");
        assert!(!text.contains(char::is_control), "{text:?}");
    }
    let raw = error("paper = \"none\"", "paper = \"no\u{1b}ne\"");
    assert!(raw.contains("u{1b}") && !raw.contains('\u{1b}'), "{raw:?}");
    let lines = GOOD.replacen("title = \"A toy\"", "title = \"\"\"A\ttoy\nof two lines\"\"\"", 1);
    assert!(load(&lines).is_ok());
}
