//! Measures the time to make keys and encodings of a CKKS set on this machine, and the keys' size:
//! `cargo run --release -p polyfabric-schemes --example ckks-keys -- ckks-bench-b-ifma`.

use std::time::Instant;

use polyfabric_schemes::ckks::{ClientKey, Complex, sets};
use polyfabric_schemes::rns::packed::PackedBits;
use polyfabric_schemes::rns::{Domain, KeyId, KeyStorage, Part};

fn best<T>(rounds: usize, mut work: impl FnMut() -> T) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..rounds {
        let start = Instant::now();
        std::hint::black_box(work());
        best = best.min(start.elapsed().as_secs_f64());
    }
    best
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "ckks-bench-a-ifma".to_owned());
    let parameters = sets::parameters(&name)?;
    let start = Instant::now();
    let ring = parameters.ring()?;
    for limb in ring.limb_ids() {
        ring.ntt(limb);
    }
    println!("{name}: tables {:.0} ms, {:.0} MiB", start.elapsed().as_secs_f64() * 1e3, mib(ring.table_bytes()));
    let client = ClientKey::generate(&parameters)?;
    let gadget = parameters.gadget();
    let maker = client.key_maker();
    let seconds = best(3, || maker.switching_key(KeyId::Relinearisation, gadget));
    println!("switching key: {:.1} ms", seconds * 1e3);
    for (form, packed, seeded) in [
        ("words", false, false),
        ("packed", true, false),
        ("words, seeded", false, true),
        ("packed, seeded", true, true),
    ] {
        let storage = KeyStorage { packed, seeded };
        let bytes = parameters.key_bytes(KeyId::Relinearisation, storage);
        let key = maker.switching_key(KeyId::Relinearisation, gadget)?.stored(storage);
        let mut scratch = vec![0; ring.degree().get()];
        let mut sum = 0;
        let seconds = best(3, || {
            for part in [Part::Body, Part::Mask] {
                for term in 0..gadget.terms().len() {
                    for position in 0..key.limbs().len() {
                        sum ^= key.limb(part, term, position, &mut scratch)[1];
                    }
                }
            }
        });
        let words = 2 * gadget.terms().len() * key.limbs().len() * size_of_val(&scratch[..]);
        println!(
            "{form}: {:.1} MiB a key; all limbs as words in {:.2} ms, {:.1} GB/s of words ({})",
            mib(bytes),
            seconds * 1e3,
            words as f64 / seconds / 1e9,
            sum & 1
        );
    }
    let bits = PackedBits::of(parameters.moduli()[0]);
    println!("residues of q_0 packed in {} bits", bits.get());
    let limbs = parameters.limbs_at(parameters.max_level()).unwrap_or_default();
    let values = vec![Complex::new(0.5, -0.25); parameters.max_slots()];
    let encoder = client.encoder();
    let encode = || encoder.encode(&ring, &limbs, Domain::Evaluation, &values, parameters.scale());
    println!("encode: {:.1} ms", best(5, encode) * 1e3);
    println!("encrypt: {:.1} ms", best(5, || client.encrypt(&values)) * 1e3);
    let public = client.public_key()?;
    println!("public encrypt: {:.1} ms", best(5, || public.encrypt(&values)) * 1e3);
    let ciphertext = client.encrypt(&values)?;
    println!("decrypt: {:.1} ms", best(5, || client.decrypt(&ciphertext)) * 1e3);
    if let Some(precision) = client.precision(&ciphertext, &values)? {
        println!("fresh ciphertext: {precision}");
    }
    Ok(())
}

fn mib(bytes: usize) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
