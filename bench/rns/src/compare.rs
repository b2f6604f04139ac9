//! All sides on the same case, interleaved, so that drift of the machine meets them alike.

use crate::case::Case;
use crate::protocol::{Answer, Request, Scheme};
use crate::report::{Bootstrapping, Results, Row, print_header, print_row, processor_name};
use crate::side::{Launch, Side, SideError};
use crate::{Arguments, BenchError, machine};

/// Memory that the peer's bootstrapping and its keys need at their peak, with a tenth to spare.
const BOOTSTRAPPING_GIB: f64 = 18.0;

/// Measures one operation and refuses a wrong result.
pub fn measured(side: &mut Side, case: &Case, op: &str, repetitions: usize) -> Result<Answer, BenchError> {
    let answer = side.ask(&Request::Measure { op: op.to_owned(), repetitions })?;
    expect_right(side.name(), case, op, &answer)?;
    Ok(answer)
}

/// Fails if a result of `side` is off by more than the case allows.
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

/// What one side came to in one operation.
pub struct Figures {
    pub ms: Vec<f64>,
    pub last: Answer,
}

impl Figures {
    pub fn least(&self) -> f64 {
        self.ms.iter().copied().fold(f64::INFINITY, f64::min)
    }

    pub fn median(&self) -> f64 {
        let mut sorted = self.ms.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        if sorted.len() % 2 == 1 { sorted[middle] } else { 0.5 * (sorted[middle - 1] + sorted[middle]) }
    }
}

/// Runs every case on every side, prints the rows as they come, and writes them.
pub fn measure(arguments: &Arguments, cases: &[Case], ours: &Launch, peers: &[Launch]) -> Result<(), BenchError> {
    let mut results =
        Results { processor: processor_name(), threads: 1, peers: vec![], left_out: vec![], rows: vec![] };
    for peer in peers {
        let answer = peer.start()?.ask(&Request::Hello)?;
        results.peers.push(answer.version.unwrap_or_else(|| peer.name.clone()));
    }
    if peers.is_empty() {
        results.left_out.push("no peer was named: rows of ours alone".to_owned());
    }
    eprintln!("measuring this processor's limit");
    let multiplies = machine::integer_multiplies();
    println!("{}; one thread a side; {}", results.processor, results.peers.join(", "));
    if let Some(multiplies) = multiplies {
        println!("one core: {:.1} G 52-bit multiply-accumulates/s", multiplies * 1e-9);
    }
    print_header();
    for (index, case) in cases.iter().enumerate() {
        let place = format!("[{}/{}] {}", index + 1, cases.len(), case.name);
        let rows = match case.scheme {
            Scheme::Bootstrapping => one_after_another(&place, case, ours, peers, &mut results.left_out)?,
            _ => in_turns(&place, case, ours, peers, arguments.quick, &mut results.left_out)?,
        };
        for mut row in rows {
            if let (Scheme::Ntt, Some(multiplies)) = (case.scheme, multiplies) {
                row.floor_fraction = Some(machine::transform_floor_ms(case.log_n, multiplies) / row.ours_ms);
            }
            print_row(&row);
            results.rows.push(row);
        }
        if let Some(path) = &arguments.output {
            crate::report::write(path, &results)?;
        }
    }
    for left_out in &results.left_out {
        println!("left out: {left_out}");
    }
    if let Some(path) = &arguments.output {
        println!("rows written to {}", path.display());
    }
    Ok(())
}

/// Starts a side and prepares the case, or says why it does not take part.
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

/// Rounds of all sides, swapping who goes first.
fn in_turns(
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
        // As many repetitions a round as fit a quarter of a second, from each side's first one.
        let mut repetitions = vec![1; sides.len()];
        for round in 0..=rounds {
            for turn in 0..sides.len() {
                let index = (round + turn) % sides.len();
                let answer = measured(&mut sides[index].0, case, op, repetitions[index])?;
                if round == 0 {
                    let least = answer.ms.iter().copied().fold(f64::INFINITY, f64::min);
                    repetitions[index] = (250.0 / least.max(1e-3)).clamp(1.0, 50.0) as usize;
                    continue;
                }
                figures[index].ms.extend(&answer.ms);
                figures[index].last = answer;
            }
        }
        for index in 1..sides.len() {
            let names = (case.row_op(op), sides[index].0.name().to_owned());
            rows.push(row(names, case, [&sides[0].1, &sides[index].1], [&figures[0], &figures[index]]));
        }
    }
    Ok(rows)
}

/// Sides that do not fit into memory together.
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
    let mut rows = Vec::new();
    // A peer has one operating point. One without a bootstrapping of this set says so when it is prepared.
    for peer in peers.iter().filter(|_| !ours_of.is_empty()) {
        let Some(theirs) = alone(peer, "bootstrap")? else { continue };
        for (op, figures) in &ours_of {
            let names = (case.row_op(op), peer.name.clone());
            rows.push(row(names, case, [&figures.0, &theirs.0], [&figures.1, &theirs.1]));
        }
    }
    Ok(rows)
}

fn row((op, peer): (String, String), case: &Case, prepared: [&Answer; 2], figures: [&Figures; 2]) -> Row {
    let [ours, theirs] = figures;
    let bootstrapping = (case.scheme == Scheme::Bootstrapping).then(|| Bootstrapping {
        ours_precision_min: ours.last.precision_min,
        peer_precision_min: theirs.last.precision_min,
        ours_precision_mean: ours.last.precision_mean,
        peer_precision_mean: theirs.last.precision_mean,
        ours_levels_left: ours.last.levels_left,
        peer_levels_left: theirs.last.levels_left,
        ours_setup_seconds: prepared[0].seconds,
        peer_setup_seconds: prepared[1].seconds,
    });
    Row {
        op,
        params: case.words(),
        peer,
        ours_ms: ours.least(),
        peer_ms: theirs.least(),
        ratio: theirs.least() / ours.least(),
        ours_peak_gib: ours.last.peak_gib,
        peer_peak_gib: theirs.last.peak_gib,
        ours_median_ms: ours.median(),
        peer_median_ms: theirs.median(),
        ours_error: ours.last.error,
        peer_error: theirs.last.error,
        ours_log_q: prepared[0].log_q,
        ours_log_p: prepared[0].log_p,
        peer_log_q: prepared[1].log_q,
        peer_log_p: prepared[1].log_p,
        floor_fraction: None,
        bootstrapping,
    }
}

/// Memory that a new process can have.
fn available_gib() -> f64 {
    let info = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = |line: &str| line.strip_prefix("MemAvailable:")?.split_whitespace().next()?.parse::<f64>().ok();
    info.lines().find_map(kib).unwrap_or(0.0) / f64::from(1 << 20)
}
