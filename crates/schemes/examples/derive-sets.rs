//! Prints the default parameter sets in the format of `crates/schemes/src/tfhe/sets/defaults.toml`.

fn main() {
    print!("{}", polyfabric_schemes::tfhe::optimiser::defaults_toml());
}
