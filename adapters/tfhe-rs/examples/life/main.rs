//! The Game of Life in gates of tfhe-rs, with bootstraps on Polyfabric: 44 gates per cell, like FPT as a backend of that library.
//!
//!     cargo run --release --example life -- [cpu | MACHINE] [SIZE] [GENERATIONS] [set-I | small]
//!
//! tfhe-rs provides keys, encryption, sums of ciphertexts and decryption. Bootstraps and key switches run on this processor, and are counted on FPT;
//! or, with a machine's name, its schedule executes them. Every generation is compared with the clear game.

mod client;
mod gates;

use client::{Client, SET_I, SMALL};
use gates::{Board, Gates, Place};
use polyfabric_machines::description;
use std::error::Error;
use std::ops::RangeInclusive;

/// A glider, in the middle of `size` x `size` cells.
fn glider(size: usize) -> Vec<bool> {
    let at = (size - 3) / 2;
    let cells = [(0, 1), (1, 2), (2, 0), (2, 1), (2, 2)].map(|(row, column)| (at + row) * size + at + column);
    (0..size * size).map(|cell| cells.contains(&cell)).collect()
}

/// The next generation in the clear.
fn following(cells: &[bool], size: usize) -> Vec<bool> {
    let next = |cell: usize| {
        let (row, column) = (cell / size, cell % size);
        let around = (0..9).filter(|&step| step != 4);
        let alive = around.filter(|step| {
            let (row, column) = ((row + size + step / 3 - 1) % size, (column + size + step % 3 - 1) % size);
            cells[row * size + column]
        });
        matches!((cells[cell], alive.count()), (_, 3) | (true, 2))
    };
    (0..cells.len()).map(next).collect()
}

fn show(cells: &[bool], size: usize) {
    for row in cells.chunks(size) {
        println!("    {}", row.iter().map(|&alive| if alive { "██" } else { "· " }).collect::<String>());
    }
}

/// The value that `text` gives for `name`.
fn number(name: &str, text: &str, known: RangeInclusive<usize>) -> Result<usize, String> {
    let told = || format!("{name} is {text:?}; give {} to {}", known.start(), known.end());
    text.parse().ok().filter(|number| known.contains(number)).ok_or_else(told)
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let word = |index: usize, otherwise: &str| words.get(index).map_or(otherwise.to_owned(), String::clone);
    let (size, generations) = (number("SIZE", &word(1, "8"), 3..=64)?, number("GENERATIONS", &word(2, "2"), 1..=1000)?);
    let set = match word(3, "set-I").as_str() {
        "set-I" => SET_I,
        "small" => SMALL,
        other => return Err(format!("there is no set {other:?}; give set-I or small").into()),
    };
    let mut client = Client::new(set);
    let backend = client.backend()?;
    let machine = match word(0, "cpu").as_str() {
        "cpu" => None,
        name => Some(description(name)?),
    };
    let processor = backend.processor(0)?;
    let place = match &machine {
        None => Place::Processor(&processor),
        Some(machine) => Place::Machine(&backend, machine),
    };
    let mut gates = Gates::new(place, &client);
    let mut clear = glider(size);
    let mut board = Board { cells: client.encrypt(&clear), size };
    println!("generation 0, as it was encrypted");
    show(&clear, size);
    for number in 1..=generations {
        board = gates.generation(&board)?;
        clear = following(&clear, size);
        let found = client.decrypt(&board.cells);
        println!("generation {number}");
        show(&found, size);
        if found != clear {
            return Err(format!("generation {number} differs from the clear one").into());
        }
    }
    println!("{generations} of {generations} generations equal those of the clear game");
    match gates.seconds() {
        Some(seconds) => {
            println!("{:.3} ms a generation by the machine's schedules", seconds * 1e3 / generations as f64)
        }
        None => {
            let fpt = description("fpt")?;
            let batches = gates.batches().iter().take(gates.batches().len() / generations);
            let mut seconds = 0.0;
            for &count in batches.clone() {
                seconds += backend.count(&fpt, count, gates::ORDER)?.seconds;
            }
            let look_ups: usize = batches.sum();
            println!("{look_ups} lookups a generation; on fpt {:.1} ms, batch after batch", seconds * 1e3);
        }
    }
    Ok(())
}
