//! Prints the table of our default parameter sets, as `crates/schemes/src/tfhe/sets/defaults.toml` holds it.

fn main() {
    print!("{}", polyfabric_schemes::tfhe::optimiser::defaults_toml());
}
