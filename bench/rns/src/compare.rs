//! Measures all sides on the same case in alternation, so that the machine's drift affects them equally.

use crate::case::Case;
use crate::machine::Peak;
use crate::protocol::{Answer, Request, Scheme};
use crate::report::{self, Bootstrapping, PeerBootstrapping, PeerFigures, Results, Row};
use crate::side::{Launch, Side, SideError};
use crate::{Arguments, BenchError};
use polyfabric_bench_common::{Origin, bars, least, median};
use polyfabric_kernels::Isa;

/// Peak memory of the peer's bootstrapping and its keys, plus a tenth.
const BOOTSTRAPPING_GIB: f64 = 18.0;

/// Measures one operation and rejects a wrong result.
pub fn measured(side: &mut Side, case: &Case, op: &str, repetitions: usize) -> Result<Answer, BenchError> {
    let answer = side.ask(&Request::Measure { op: op.to_owned(), repetitions })?;
    expect_right(side.name(), case, op, &answer)?;
    Ok(answer)
}

/// Fails if the error of `side` is larger than the case allows.
pub fn expect_right(side: &str, case: &Case, op: &str, answer: &Answer) -> Result<(), BenchError> {
    if answer.error > case.tolerance {
        return Err(BenchError::Wrong {
            side: side.to_owned(),
            op: op.to_owned(),
            case: case.name.to_owned(),
            error: answer.error,
            tolerance: case.tolerance,
        });
    }
    Ok(())
}

/// Measurements of one side for one operation.
pub struct Figures {
    pub ms: Vec<f64>,
    pub last: Answer,
}

impl Figures {
    pub fn least(&self) -> f64 {
        least(&self.ms)
    }

    pub fn median(&self) -> f64 {
        median(&self.ms)
    }
}

/// Measures every case on every side, prints rows as they finish, and writes them.
pub fn measure(
    arguments: &Arguments,
    isa: Isa,
    cases: &[Case],
    ours: &Launch,
    peers: &[Launch],
) -> Result<(), BenchError> {
    let mut results =
        Results { time: polyfabric_bench_common::now(), threads: 1, peers: vec![], left_out: vec![], rows: vec![] };
    for peer in peers {
        let answer = peer.start()?.ask(&Request::Hello)?;
        results.peers.push(answer.version.unwrap_or_else(|| peer.name.clone()));
    }
    if peers.is_empty() {
        results.left_out.push("no peer was named: only our side was measured".to_owned());
    }
    eprintln!("measuring this processor's peak rate");
    let mut peak = Peak::measure(isa);
    let origin = Origin::here(isa.description());
    let Origin { processor, isa, commit } = &origin;
    let compared = if peers.is_empty() { "no peer".to_owned() } else { results.peers.join(", ") };
    println!("{processor}; our kernels in {isa}, commit {commit}; one thread per side; {compared}");
    if let Some(multiplies) = peak.multiplies {
        println!("one core: {:.1} G {}/s", multiplies.per_second * 1e-9, multiplies.name);
    }
    report::print_header();
    for (index, case) in cases.iter().enumerate() {
        let place = format!("[{}/{}] {}", index + 1, cases.len(), case.name);
        let rows = match case.scheme {
            Scheme::Bootstrapping => one_after_another(&place, case, ours, peers, &mut results.left_out)?,
            _ => in_rounds(&place, case, ours, peers, arguments.quick, &mut results.left_out)?,
        };
        for mut row in rows {
            if let Some(floor) = row.work.and_then(|work| peak.floor(&work)) {
                row.floor_fraction = Some(1e3 * floor.seconds / row.ours_ms);
                row.limit = Some(floor.limit);
            }
            report::print_row(&row);
            results.rows.push(origin.with(row));
        }
        if let Some(path) = &arguments.output {
            report::write(path, &results)?;
        }
    }
    let bar = |row: &Row| Some((format!("{}, {}", row.op, row.params), row.peer.as_ref()?.ratio));
    let values: Vec<_> = results.rows.iter().filter_map(|measured| bar(&measured.row)).collect();
    if !values.is_empty() {
        println!("{}", bars("speed-up over the peer", &values));
    }
    for left_out in &results.left_out {
        println!("left out: {left_out}");
    }
    if results.rows.is_empty() {
        return Err(BenchError::Nothing(results.left_out.join("; ")));
    }
    if let Some(path) = &arguments.output {
        println!("rows written to {}", path.display());
    }
    Ok(())
}

/// Starts a side and prepares the case. If the side cannot take part, adds the reason to `left_out`.
fn prepared(
    launch: &Launch,
    case: &Case,
    op: &str,
    left_out: &mut Vec<String>,
) -> Result<Option<(Side, Answer)>, BenchError> {
    let mut side = launch.start()?;
    match side.ask(&case.prepare(op)) {
        Ok(answer) => Ok(Some((side, answer))),
        Err(SideError::Refused { side, reason }) => {
            let line = format!("{side} in {:?} cases: {reason}", case.scheme);
            if !left_out.contains(&line) {
                left_out.push(line);
            }
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// Measures all sides in rounds, and alternates which side goes first.
fn in_rounds(
    place: &str,
    case: &Case,
    ours: &Launch,
    peers: &[Launch],
    quick: bool,
    left_out: &mut Vec<String>,
) -> Result<Vec<Row>, BenchError> {
    eprintln!("{place}: keys");
    let Some(first) = prepared(ours, case, "", left_out)? else { return Ok(vec![]) };
    let mut sides = vec![first];
    for peer in peers {
        sides.extend(prepared(peer, case, "", left_out)?);
    }
    let rounds = if quick { 2 } else { 6 };
    let mut rows = Vec::new();
    for op in case.ops {
        eprintln!("{place}: {op}");
        let mut figures: Vec<Figures> = sides.iter().map(|_| Figures { ms: vec![], last: Answer::default() }).collect();
        // As many repetitions per round as the slowest side finishes in a quarter of a second. All sides do as many: the minimum falls with their number.
        let mut repetitions = 50;
        for round in 0..=rounds {
            for turn in 0..sides.len() {
                let index = (round + turn) % sides.len();
                let answer = measured(&mut sides[index].0, case, op, if round == 0 { 1 } else { repetitions })?;
                if round == 0 {
                    repetitions = repetitions.min((250.0 / least(&answer.ms).max(1e-3)).max(1.0) as usize);
                    continue;
                }
                figures[index].ms.extend(&answer.ms);
                figures[index].last = answer;
            }
        }
        let of =
            |index: usize| One { name: sides[index].0.name(), prepared: &sides[index].1, figures: &figures[index] };
        rows.extend(rows_of(case, op, &of(0), (1..sides.len()).map(of)));
    }
    Ok(rows)
}

/// Measures sides one after the other, if they do not fit in memory together.
fn one_after_another(
    place: &str,
    case: &Case,
    ours: &Launch,
    peers: &[Launch],
    left_out: &mut Vec<String>,
) -> Result<Vec<Row>, BenchError> {
    let mut alone = |launch: &Launch, op: &str| -> Result<Option<(Answer, Figures)>, BenchError> {
        let available = available_gib();
        if available < BOOTSTRAPPING_GIB {
            left_out.push(format!(
                "{} in {}: {available:.1} GiB of memory are free, {BOOTSTRAPPING_GIB} are needed; free some and run again",
                launch.name, case.name
            ));
            return Ok(None);
        }
        eprintln!("{place}: keys of {} (minutes)", launch.name);
        let Some((mut side, answer)) = prepared(launch, case, op, left_out)? else { return Ok(None) };
        eprintln!("{place}: {op} on {}", launch.name);
        let last = measured(&mut side, case, op, 2)?;
        Ok(Some((answer, Figures { ms: last.ms.clone(), last })))
    };
    let mut ours_of = Vec::new();
    for op in case.ops {
        if let Some(figures) = alone(ours, op)? {
            ours_of.push((op, figures));
        }
    }
    let mut theirs = Vec::new();
    // A peer has one operating point. A peer without bootstrapping on this set fails in its preparation.
    for peer in peers.iter().filter(|_| !ours_of.is_empty()) {
        theirs.extend(alone(peer, "bootstrap")?.map(|figures| (peer.name.as_str(), figures)));
    }
    let of = |name, (prepared, figures)| One { name, prepared, figures };
    let rows = ours_of.iter().flat_map(|(op, (prepared, figures))| {
        let peers = theirs.iter().map(|(name, (prepared, figures))| of(name, (prepared, figures)));
        rows_of(case, op, &of(&ours.name, (prepared, figures)), peers)
    });
    Ok(rows.collect())
}

/// Measurements of one side.
struct One<'a> {
    name: &'a str,
    prepared: &'a Answer,
    figures: &'a Figures,
}

/// One row per peer; without peers, one row of our side.
fn rows_of<'a>(case: &Case, op: &str, ours: &One<'_>, peers: impl Iterator<Item = One<'a>>) -> Vec<Row> {
    let rows: Vec<Row> = peers.map(|peer| row(case, op, ours, Some(&peer))).collect();
    if rows.is_empty() { vec![row(case, op, ours, None)] } else { rows }
}

fn row(case: &Case, op: &str, ours: &One<'_>, peer: Option<&One<'_>>) -> Row {
    let bootstrapping = (case.scheme == Scheme::Bootstrapping).then(|| Bootstrapping {
        ours_precision_min: ours.figures.last.precision_min,
        ours_precision_mean: ours.figures.last.precision_mean,
        ours_levels_left: ours.figures.last.levels_left,
        ours_setup_seconds: ours.prepared.seconds,
        peer: peer.map(|peer| PeerBootstrapping {
            peer_precision_min: peer.figures.last.precision_min,
            peer_precision_mean: peer.figures.last.precision_mean,
            peer_levels_left: peer.figures.last.levels_left,
            peer_setup_seconds: peer.prepared.seconds,
        }),
    });
    Row {
        op: case.row_op(op),
        params: case.words(),
        ours_ms: ours.figures.least(),
        ours_peak_gib: ours.figures.last.peak_gib,
        ours_median_ms: ours.figures.median(),
        ours_error: ours.figures.last.error,
        ours_log_q: ours.prepared.log_q,
        ours_log_p: ours.prepared.log_p,
        peer: peer.map(|peer| PeerFigures {
            peer: peer.name.to_owned(),
            peer_ms: peer.figures.least(),
            ratio: peer.figures.least() / ours.figures.least(),
            peer_peak_gib: peer.figures.last.peak_gib,
            peer_median_ms: peer.figures.median(),
            peer_error: peer.figures.last.error,
            peer_log_q: peer.prepared.log_q,
            peer_log_p: peer.prepared.log_p,
        }),
        work: ours.figures.last.work,
        floor_fraction: None,
        limit: None,
        bootstrapping,
    }
}

/// Memory that is available to a new process.
fn available_gib() -> f64 {
    let info = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = |line: &str| line.strip_prefix("MemAvailable:")?.split_whitespace().next()?.parse::<f64>().ok();
    info.lines().find_map(kib).unwrap_or(0.0) / f64::from(1 << 20)
}
