//! The peer's side of the benchmark: tfhe-rs, which answers the harness's requests.

#[cfg(feature = "gpu")]
mod card;
// Files of the harness, which this program uses in part.
#[allow(dead_code)]
#[path = "../../src/clock.rs"]
mod clock;
#[cfg(feature = "integers")]
mod integers;
mod keys;
mod peer;
#[path = "../../src/protocol.rs"]
mod protocol;
#[allow(dead_code)]
#[path = "../../src/side.rs"]
mod side;

use protocol::{Answer, Request};
use side::Side;
use std::io::{BufRead, Write};

/// The version in `Cargo.toml`; a test compares them.
const TFHE_RS: &str = "1.8.2";

/// Name, version and instruction sets of this build. Transforms choose one at run time; the rest is compiled for one processor.
fn version() -> String {
    let transforms = if cfg!(feature = "avx512") { "AVX-512" } else { "AVX2" };
    let rest = if cfg!(target_feature = "avx512f") {
        "AVX-512"
    } else if cfg!(target_feature = "avx2") {
        "AVX2"
    } else {
        "any processor of this architecture"
    };
    format!("tfhe-rs {TFHE_RS}, transforms up to {transforms}, the rest compiled for {rest}")
}

#[derive(Default)]
struct State {
    side: Option<Box<dyn Side>>,
    #[cfg(feature = "integers")]
    integers: Option<integers::Integers>,
}

fn failed(failure: &str) -> Answer {
    Answer { failure: Some(failure.to_owned()), ..Answer::default() }
}

#[cfg(feature = "integers")]
fn integers(state: &mut State, request: Request) -> Answer {
    match (request, &mut state.integers) {
        (Request::Integer { operation, bits, operands, threads }, Some(side)) => {
            match side.round(operation, bits, operands, threads) {
                Some(round) => Answer { integer: Some(round), ..Answer::default() },
                None => failed("integers of 8, 32 and 64 bits alone"),
            }
        }
        (Request::Integer { .. }, None) => failed("an integer before any keys"),
        (_, keys) => {
            *keys = Some(integers::Integers::new());
            Answer::default()
        }
    }
}

#[cfg(not(feature = "integers"))]
fn integers(_: &mut State, _: Request) -> Answer {
    failed("built without its integers; make bench-integers builds them")
}

#[cfg(feature = "gpu")]
fn on_card(state: &mut State, request: Request) -> Answer {
    state.side = None;
    match request {
        Request::CardKeys { set } => match card::Card::new(&set) {
            Ok(card) => {
                state.side = Some(Box::new(card));
                Answer::default()
            }
            Err(reason) => failed(&reason),
        },
        _ => Answer { card_sets: Some(card::sets()), ..Answer::default() },
    }
}

#[cfg(not(feature = "gpu"))]
fn on_card(_: &mut State, _: Request) -> Answer {
    failed("built without its CUDA backend; make bench-gpu builds it where there is a CUDA tool kit")
}

fn answer(state: &mut State, request: Request) -> Answer {
    match request {
        Request::Hello => Answer { version: Some(version()), ..Answer::default() },
        Request::Keys { dimensions } => {
            state.side = None;
            state.side = Some(match dimensions.torus_bits {
                32 => Box::new(peer::Peer::<u32>::new(&dimensions)),
                _ => Box::new(peer::Peer::<u64>::new(&dimensions)),
            });
            Answer::default()
        }
        Request::Round { batch, threads, clock } => match &mut state.side {
            Some(side) => Answer { round: Some(side.round(batch, threads, clock)), ..Answer::default() },
            None => failed("a round before any keys"),
        },
        Request::CardSets | Request::CardKeys { .. } => on_card(state, request),
        Request::IntegerKeys | Request::Integer { .. } => integers(state, request),
    }
}

fn main() -> std::io::Result<()> {
    let mut state = State::default();
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let answer = match serde_json::from_str(&line?) {
            Ok(request) => answer(&mut state, request),
            Err(error) => failed(&error.to_string()),
        };
        serde_json::to_writer(&mut output, &answer)?;
        output.write_all(b"\n")?;
        output.flush()?;
    }
    Ok(())
}
