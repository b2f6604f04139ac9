//! Why a program cannot run on a card.

use thiserror::Error;

/// Why a program cannot run on a card.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum GpuError {
    #[error("no GPU here: the library of NVIDIA's driver, libcuda, was not found; install the driver, or run on cpu")]
    NoDriver,
    #[error(
        "the kernels cannot be compiled: the library of CUDA's run-time compiler, libnvrtc, was not found; install it (pip install 'polyfabric[gpu]' brings it), or run on cpu"
    )]
    NoCompiler,
    #[error("no GPU here: the driver says {cause}; attach a card, or run on cpu")]
    NoCard { cause: String },
    #[error(
        "the GPU here, {name}, has compute capability {}.{}, and the kernels need {}.{} or later; attach a later card, or run on cpu",
        found.0, found.1, least.0, least.1
    )]
    Capability { name: String, found: (i32, i32), least: (i32, i32) },
    #[error("the kernels do not compile for {architecture}: {log}; report this, and run on cpu")]
    Compile { architecture: String, log: String },
    #[error("the GPU failed to {what}: {cause}")]
    Driver { what: String, cause: String },
    #[error(
        "the GPU has {free} bytes of memory free, but {what} take {needed}; run smaller batches, free memory on the card, or run on cpu"
    )]
    Memory { what: &'static str, needed: u64, free: u64 },
    #[error(
        "the program takes {needed} bytes on the GPU, which has {total}; use fewer rotations or a smaller parameter set, or run on cpu"
    )]
    Program { needed: u64, total: u64 },
    #[error("a batch of {batch} runs of the program is not among 1 to {most}; run smaller batches")]
    Batch { batch: usize, most: usize },
    #[error(
        "the GPU runtime supports ring degrees {least} to {most} with as many as {columns} polynomials that fit one multiprocessor ({shared_bytes} bytes), but {set} has degree {degree} and {given}; run on cpu"
    )]
    Ring { set: String, degree: usize, given: usize, least: usize, most: usize, columns: usize, shared_bytes: usize },
    #[error(
        "the GPU runtime supports CKKS and BGV rings of {least} to {most} coefficients, but this one has {degree}; run on cpu"
    )]
    RnsRing { degree: usize, least: usize, most: usize },
    #[error("a base conversion has {limbs} source limbs, but the GPU runtime supports at most {most}; run on cpu")]
    Conversion { limbs: usize, most: usize },
    #[error(
        "the key consumes {bits} secret bits an iteration, and the GPU runtime takes at most {most}; make the key with less key unrolling, or run on cpu"
    )]
    Unrolling { bits: u32, most: u32 },
    #[error("the key switch of {set} sums {terms} products of digits up to {digit}, beyond 32 bits; run on cpu")]
    KeySwitch { set: String, terms: u64, digit: u64 },
}
