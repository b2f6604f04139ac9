//! Does every error in a machine file give a message with its place, its value, the cause and the remedy?

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

fn error(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from:?} is not in the file");
    load(&GOOD.replacen(from, to, 1)).expect_err("the fault must be found").to_string()
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
    assert_eq!(
        machine.count("units.adder.rate").expect_err("no count").to_string(),
        "toy.toml, `units.adder.rate` = 8.9 elements/cycle: 8.9 elements/cycle is no whole number, and a part of one is nothing here. \
         Write a value that is a whole number of them"
    );
}

#[test]
fn unknown_is_an_error_and_not_0() {
    let machine = load(GOOD).expect("good");
    let unknown = machine.value("channels.memory.energy").expect_err("unknown");
    assert_eq!(
        unknown.to_string(),
        "toy.toml: `channels.memory.energy` is unknown (not given), and what was asked for needs it. Give it a value with \
         a source"
    );
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
    assert_eq!(
        wrong.to_string(),
        "toy.toml: option of reading `rate` `half` does not exist. Choose one of: needed, stated"
    );
    let wrong = machine.choose(SPECS, &[("speed", "half")]).expect_err("no such reading");
    assert_eq!(wrong.to_string(), "toy.toml: reading `speed` does not exist. Choose one of: rate");
}

#[test]
fn texts_of_errors() {
    let cases = [
        (
            "value = 4, unit = \"units\", source = \"section 1\" }\nrate",
            "value = 0, unit = \"units\", source = \"section 1\" }\nrate",
            "toy.toml, `units.adder.count` = 0: the number of adders lies between 1 and 64 units. Correct the value, or write \
             \"unknown\" if the source does not give it",
        ),
        (
            "value = 4, unit = \"units\", source = \"section 1\" }\nrate",
            "value = 1000000000000, unit = \"units\", source = \"section 1\" }\nrate",
            "toy.toml, `units.adder.count` = 1000000000000: the number of adders lies between 1 and 64 units. Correct the \
             value, or write \"unknown\" if the source does not give it",
        ),
        (
            "value = 4, unit = \"units\", source = \"section 1\" }\nrate",
            "value = 2.5, unit = \"units\", source = \"section 1\" }\nrate",
            "toy.toml, `units.adder.count` = 2.5: the number of adders is a whole number. Write a whole number",
        ),
        (
            "value = 1.5, unit = \"GHz\"",
            "value = nan, unit = \"GHz\"",
            "toy.toml, `clock` = NaN: the clock lies between 0.001 and 100 GHz. Correct the value, or write \"unknown\" if \
             the source does not give it",
        ),
        (
            "value = 1.5, unit = \"GHz\"",
            "value = -inf, unit = \"GHz\"",
            "toy.toml, `clock` = -inf: the clock lies between 0.001 and 100 GHz. Correct the value, or write \"unknown\" if \
             the source does not give it",
        ),
        (
            "value = 1.5, unit = \"GHz\"",
            "value = \"fast\", unit = \"GHz\"",
            "toy.toml, `clock` = \"fast\": the clock is a number. Write a number or \"unknown\"",
        ),
        (
            "value = true, unit = \"flag\"",
            "value = 1, unit = \"flag\"",
            "toy.toml, `units.adder.merged` = 1: whether adders merge is a yes or no. Write true, false or \"unknown\"",
        ),
        (
            "value = 4, unit = \"MiB\"",
            "value = 4, unit = \"GHz\"",
            "toy.toml, `memories.buffer.capacity` = 4: the unit \"GHz\" does not fit the capacity of the buffer. Use one of: \
             bytes, KiB, MiB, GiB",
        ),
        (
            "source = \"section 3\"",
            "source = \" \"",
            "toy.toml, `memories.buffer.capacity` = 4: no source is given. Name the paper and place, or write a sentence that \
             begins with `assumption`",
        ),
        (
            "capacity = { value = 4, unit = \"MiB\", source = \"section 3\" }\n",
            "",
            "toy.toml: `memories.buffer.capacity` is missing. Add `capacity = { value = …, unit = \"bytes\", source = … }` \
             below `[memories.buffer]`: the capacity of the buffer",
        ),
        (
            "merged = {",
            "mergd = {",
            "toy.toml: `units.adder.mergd` is no figure of `toy`. Did you mean `units.adder.merged`?",
        ),
        (
            "\"units.adder.rate\" = { value = 16",
            "\"units.adder.rate\" = { value = -16",
            "toy.toml, `readings.rate.options.needed.figures.\"units.adder.rate\"` = -16: the rate of an adder lies between 1 \
             and 1024 elements/cycle. Correct the value, or write \"unknown\" if the source does not give it",
        ),
        (
            "default = \"stated\"",
            "default = \"said\"",
            "toy.toml: option of reading `rate` `said` does not exist. Choose one of: needed, stated",
        ),
        (
            "value = 0.2, unit = \"1\"",
            "value = 1.2, unit = \"1\"",
            "toy.toml, `components.adders.idle_share` = 1.2: the idle share of the power lies between 0 and 1. Correct the \
             value, or write \"unknown\" if the source does not give it",
        ),
    ];
    for (from, to, text) in cases {
        assert_eq!(error(from, to), text);
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
    for (line, add) in [
        ("name = \"toy\"\n", "name = \"…\""),
        ("mapper = \"toy\"\n", "mapper = \"…\""),
        ("title = \"A toy\"\n", "title = \"…\""),
        ("paper = \"none\"\n", "paper = \"…\""),
        (
            "clock = { value = 1.5, unit = \"GHz\", source = \"assumption: a round number\" }\n",
            "clock = { value = …, unit = \"MHz\", source = … }",
        ),
    ] {
        let key = line.split(' ').next().expect("a key");
        let told = error(line, "");
        let expected = format!("toy.toml: `{key}` is missing. Add `{add}` above the first `[table]`: ");
        assert!(told.starts_with(&expected), "{told}");
    }
}

#[test]
fn a_number_of_hundreds_of_digits_is_written_by_its_power_of_10() {
    for (value, written) in [("1e300", "1e300"), ("-2.5e-300", "-2.5e-300"), ("500000000000000.0", "500000000000000")] {
        let told = error("value = 1.5, unit = \"GHz\"", &format!("value = {value}, unit = \"GHz\""));
        assert!(
            told.starts_with(&format!("toy.toml, `clock` = {written}: the clock lies between 0.001 and 100 GHz")),
            "{told}"
        );
    }
}

#[test]
fn a_figure_with_one_legal_value_says_so() {
    let specs =
        [SPECS, &[figure("units.adder.bits", Dimension::Bits, 32.0, 32.0, "the width of an adder", true)]].concat();
    let of = |bits: u32| {
        let line = format!("[units.adder]\nbits = {{ value = {bits}, unit = \"bits\", source = \"section 1\" }}\n");
        let text = GOOD.replacen("[units.adder]\n", &line, 1);
        let literal = DescriptionLiteral::from_toml("toy.toml", &text).expect("its form is right");
        Description::check("toy.toml", &literal, &specs).map_err(|error| error.to_string())
    };
    assert!(of(32).is_ok());
    let told = of(33).expect_err("refused");
    assert_eq!(
        told,
        "toy.toml, `units.adder.bits` = 33: the width of an adder is 32 bits and nothing else. Write 32 bits"
    );
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
    assert_eq!(
        refused(count, "count = \"-1 * units.adder.count\""),
        "toy.toml, `components.adders.count` = \"-1 * units.adder.count\": -4 is no number of parts. Write a sum of products of counts \
         that is between 0 and 1000000"
    );
    for (law, cause) in [
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
    assert_eq!(
        size("memories.buffer.capacity", "4 GHz"),
        "toy.toml, `components.adders.size` = 4 GHz: \"memories.buffer.capacity\" has nothing in Hz, MHz, GHz. Write `at` in the units of \
         the figures in `of`"
    );
    for (of, at, cause) in [
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
    let refused = |values: &str| held(values).expect_err("refused").to_string();
    assert_eq!(
        refused("\"4 GHz\""),
        "toy.toml, `components.adders.holds_for` = \"4 GHz\": `memories.buffer.capacity` is in bytes, KiB, MiB, GiB. Write a number in the \
         base unit, a number with its unit as text, as \"640 KiB\", true or false"
    );
    assert!(refused("true").contains("is in bytes, KiB, MiB, GiB"));
    assert_eq!(
        refused("[]"),
        "toy.toml, `components.adders.holds_for` = []: no value is given. Give the values of `memories.buffer.capacity` that area and \
         power are of"
    );
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
