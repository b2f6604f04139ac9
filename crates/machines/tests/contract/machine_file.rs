//! Does `docs/machine-file.md` list every figure that the mappers read?

use polyfabric_machines::registry::MAPPERS;
use polyfabric_sim::description::{DRAM, Dimension, FigureSpec};
use std::fmt::Write;

/// The range of a figure, in the largest unit that gives its bounds without a fraction.
fn range(spec: &FigureSpec) -> String {
    if spec.dimension == Dimension::Flag {
        return "true, false".to_owned();
    }
    let scale = |unit: &&str| Dimension::of_unit(unit).map_or(1.0, |(_, scale)| scale);
    let units = spec.dimension.units();
    let fits = |unit: &&&str| (spec.least / scale(unit)).fract() == 0.0 && (spec.most / scale(unit)).fract() == 0.0;
    let unit = units.iter().filter(fits).max_by(|a, b| scale(a).total_cmp(&scale(b))).or(units.first());
    let number = |value: f64| if value.abs() >= 1e6 { format!("{value:e}") } else { value.to_string() };
    let scale = unit.map_or(1.0, scale);
    let name = if spec.dimension.is_number() { "" } else { unit.copied().unwrap_or_default() };
    format!("{} to {} {name}", number(spec.least / scale), number(spec.most / scale)).trim_end().to_owned()
}

/// The units in which a figure can be given; plain numbers have many, which mean the same.
fn units(spec: &FigureSpec) -> String {
    match spec.dimension {
        Dimension::Count => "*count*".to_owned(),
        Dimension::Rate => "*rate*".to_owned(),
        _ => spec.dimension.given_as().into_iter().flat_map(Dimension::units).collect::<Vec<_>>().join(", "),
    }
}

/// The tables of all mappers, as Markdown.
fn markdown() -> String {
    let mut text = String::new();
    let of_mappers = MAPPERS.iter().map(|mapper| (mapper.name, mapper.specs));
    for (name, specs) in of_mappers.chain([("A DRAM behind `channels.hbm`, for every mapper", DRAM)]) {
        write!(text, "## {name}\n\n| key | units | range | required | meaning |\n|---|---|---|---|---|\n")
            .expect("a String takes all");
        for spec in specs {
            let key = spec.numbered.map_or(spec.key.to_owned(), |most| format!("{}1` to `{most}", spec.key));
            let required = if spec.optional { "no" } else { "yes" };
            writeln!(text, "| `{key}` | {} | {} | {required} | {} |", units(spec), range(spec), spec.meaning)
                .expect("a String takes all");
        }
        text.push('\n');
    }
    text
}

/// `POLYFABRIC_UPDATE_DOCS=1 cargo test -p polyfabric-machines --test contract machine_file` rewrites it.
#[test]
fn the_documentation_lists_every_figure() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/machine-file.md");
    let page = std::fs::read_to_string(&path).expect("docs/machine-file.md");
    let (begin, end) = ("<!-- figures: begin -->\n", "<!-- figures: end -->");
    let start = page.find(begin).expect("the first mark") + begin.len();
    let stop = page.find(end).expect("the last mark");
    if std::env::var_os("POLYFABRIC_UPDATE_DOCS").is_some() {
        let updated = format!("{}{}{}", &page[..start], markdown(), &page[stop..]);
        std::fs::write(&path, updated).expect("docs/machine-file.md can be written");
    } else {
        assert_eq!(&page[start..stop], markdown(), "figures changed: run this test with POLYFABRIC_UPDATE_DOCS=1");
    }
}
