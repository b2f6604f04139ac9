//! Why a program cannot run on a card.

use thiserror::Error;

/// Why a program cannot run on a card.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum GpuError {
    /// There is no driver.
    #[error("no GPU here: the library of NVIDIA's driver, libcuda, was not found; install the driver, or run on cpu")]
    NoDriver,
    /// There is no compiler.
    #[error(
        "the kernels cannot be compiled: the library of CUDA's run-time compiler, libnvrtc, was not found; install it (pip install 'polyfabric[gpu]' brings it), or run on cpu"
    )]
    NoCompiler,
    /// The driver finds no card.
    #[error("no GPU here: the driver says {cause}; attach a card, or run on cpu")]
    NoCard {
        /// The driver's words.
        cause: String,
    },
    /// A card that is older than what the kernels are written for.
    #[error(
        "the GPU here, {name}, has compute capability {}.{}, and the kernels need {}.{} or later; attach a later card, or run on cpu",
        found.0, found.1, least.0, least.1
    )]
    Capability {
        /// The card's name.
        name: String,
        /// Its compute capability, major and minor.
        found: (i32, i32),
        /// That which the kernels need.
        least: (i32, i32),
    },
    /// The compiler refused a kernel.
    #[error("the kernels do not compile for {architecture}: {log}; report this, and run on cpu")]
    Compile {
        /// What they were compiled for.
        architecture: String,
        /// The compiler's words.
        log: String,
    },
    /// A call of the driver failed.
    #[error("the GPU failed to {what}: {cause}")]
    Driver {
        /// What was asked of it.
        what: String,
        /// The driver's words.
        cause: String,
    },
    /// The card has too little memory.
    #[error(
        "the GPU has {free} bytes of memory free, but {what} take {needed}; run smaller batches, free memory on the card, or run on cpu"
    )]
    Memory {
        /// What was to be held.
        what: &'static str,
        /// Bytes needed.
        needed: u64,
        /// Bytes that were free.
        free: u64,
    },
    /// A program that no memory of this card holds.
    #[error(
        "the program takes {needed} bytes on the GPU, which has {total}; use fewer rotations or a smaller parameter set, or run on cpu"
    )]
    Program {
        /// Its keys, public polynomials and values, in bytes.
        needed: u64,
        /// The card's memory, in bytes.
        total: u64,
    },
    /// A batch that cannot be numbered.
    #[error("a batch of {batch} runs of the program is not among 1 to {most}; run smaller batches")]
    Batch {
        /// Runs.
        batch: usize,
        /// Most that 32 bits number.
        most: usize,
    },
    /// A ring that the kernels do not serve.
    #[error(
        "the GPU runtime serves ring degrees {least} to {most} of at most {columns} polynomials that one multiprocessor can hold ({shared_bytes} bytes), but {set} has degree {degree} and {given}; run on cpu"
    )]
    Ring {
        /// The set.
        set: String,
        /// Its degree.
        degree: usize,
        /// Its polynomials a ciphertext, k + 1.
        given: usize,
        /// Smallest degree served.
        least: usize,
        /// Largest degree served.
        most: usize,
        /// Most polynomials served.
        columns: usize,
        /// Shared memory of a multiprocessor of this card.
        shared_bytes: usize,
    },
    /// A ring of residue polynomials that the kernels do not serve.
    #[error(
        "the GPU runtime serves rings of {least} to {most} coefficients on slots, but this one has {degree}; run on cpu"
    )]
    RnsRing {
        /// Its degree.
        degree: usize,
        /// Smallest degree served.
        least: usize,
        /// Largest degree served.
        most: usize,
    },
    /// A base conversion of too many residues.
    #[error("a base conversion takes {limbs} residues at once, and the GPU runtime holds {most}; run on cpu")]
    Conversion {
        /// Its residues.
        limbs: usize,
        /// Most that are served.
        most: usize,
    },
    /// Several secret bits an iteration.
    #[error(
        "the key consumes {bits} secret bits an iteration, and the GPU runtime takes at most {most}; make the key with less key unrolling, or run on cpu"
    )]
    Unrolling {
        /// The key's.
        bits: u32,
        /// The runtime's.
        most: u32,
    },
    /// A key switch whose sums leave 32 bits.
    #[error("the key switch of {set} sums {terms} products of digits up to {digit}, beyond 32 bits; run on cpu")]
    KeySwitch {
        /// The set.
        set: String,
        /// Products a sum.
        terms: u64,
        /// Largest digit.
        digit: u64,
    },
}
