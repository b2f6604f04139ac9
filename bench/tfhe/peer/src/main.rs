//! The peer's side of the benchmark: tfhe-rs, which answers the harness's requests.

#[path = "../../src/clock.rs"]
mod clock;
mod peer;
#[path = "../../src/protocol.rs"]
mod protocol;
#[path = "../../src/side.rs"]
mod side;

use protocol::{Answer, Request};
use side::Side;
use std::io::{BufRead, Write};

/// Name, version, and the instruction sets of this build: its transforms choose at run time, the rest of it was compiled for one processor.
fn version() -> String {
    let transforms = if cfg!(feature = "avx512") { "AVX-512" } else { "AVX2" };
    let rest = if cfg!(target_feature = "avx512f") { "AVX-512" } else { "AVX2" };
    format!("tfhe-rs 1.8.2, transforms up to {transforms}, the rest compiled for {rest}")
}

fn answer(side: &mut Option<Box<dyn Side>>, request: Request) -> Answer {
    match (request, side) {
        (Request::Hello, _) => Answer { version: Some(version()), ..Answer::default() },
        (Request::Keys { dimensions }, side) => {
            *side = None;
            *side = Some(match dimensions.torus_bits {
                32 => Box::new(peer::Peer::<u32>::new(&dimensions)),
                _ => Box::new(peer::Peer::<u64>::new(&dimensions)),
            });
            Answer::default()
        }
        (Request::Round { batch, threads, clock }, Some(side)) => {
            Answer { round: Some(side.round(batch, threads, clock)), ..Answer::default() }
        }
        (Request::Round { .. }, None) => {
            Answer { failure: Some("a round before any keys".to_owned()), ..Answer::default() }
        }
    }
}

fn main() -> std::io::Result<()> {
    let mut side = None;
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let answer = match serde_json::from_str(&line?) {
            Ok(request) => answer(&mut side, request),
            Err(error) => Answer { failure: Some(error.to_string()), ..Answer::default() },
        };
        serde_json::to_writer(&mut output, &answer)?;
        output.write_all(b"\n")?;
        output.flush()?;
    }
    Ok(())
}
