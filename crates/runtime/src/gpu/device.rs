//! Interface of the runtime to a card.

use super::{GpuError, Shape, Source};
use polyfabric_schemes::tfhe::{KeyUnrolling, Parameters};
use std::ops::DerefMut;

/// A card or its emulator.
pub trait Device: Send + Sync {
    /// Memory of the card; freed after it is dropped and all earlier launches have ended.
    type Buffer: Send + Sync;
    /// Host memory that the card reads and writes directly.
    type Pinned: DerefMut<Target = [u8]> + Send + Sync;
    /// Compiled kernels.
    type Kernels: Send + Sync;

    /// Launches that are started together, repeatedly.
    type Recording: Send + Sync;

    /// Its name, as reported by the driver.
    fn name(&self) -> &str;
    fn multiprocessors(&self) -> usize;
    /// Maximum shared memory of a block, in bytes.
    fn shared_bytes(&self) -> usize;
    /// Whether it supports programs of `set` with a key of `unrolling`.
    ///
    /// # Errors
    /// Why not.
    fn serves(&self, set: &Parameters, unrolling: KeyUnrolling) -> Result<(), GpuError> {
        Shape::new(set, unrolling, self.shared_bytes())?.source(set).map(|_| ())
    }
    /// Compiles `source`.
    ///
    /// # Errors
    /// [`GpuError::Compile`], [`GpuError::Driver`].
    fn compile(&self, source: &Source) -> Result<Self::Kernels, GpuError>;
    /// Allocates `bytes` bytes of uninitialised memory; errors name its purpose `what`.
    ///
    /// # Errors
    /// [`GpuError::Memory`], [`GpuError::Driver`].
    fn allocate(&self, bytes: usize, what: &'static str) -> Result<Self::Buffer, GpuError>;
    /// Memory with content `bytes`; errors name its purpose `what`.
    fn upload(&self, bytes: &[u8], what: &'static str) -> Result<Self::Buffer, GpuError>;
    /// Reads the first `bytes.len()` bytes of `buffer` after all launches.
    ///
    /// # Errors
    /// [`GpuError::Driver`], also for a failed kernel.
    fn download(&self, buffer: &Self::Buffer, bytes: &mut [u8]) -> Result<(), GpuError>;
    /// Zeroed host memory that transfers use without a copy.
    ///
    /// # Errors
    /// [`GpuError::Driver`].
    fn pinned(&self, bytes: usize) -> Result<Self::Pinned, GpuError>;
    /// Writes `bytes` to `buffer` at `offset` after all launches, and waits for completion.
    ///
    /// # Errors
    /// [`GpuError::Driver`].
    fn write(&self, buffer: &Self::Buffer, offset: usize, bytes: &[u8]) -> Result<(), GpuError>;
    /// Reads from `buffer` at `offset` after all launches.
    fn read(&self, buffer: &Self::Buffer, offset: usize, bytes: &mut [u8]) -> Result<(), GpuError>;
    /// Address of `buffer` for kernels.
    fn address(&self, buffer: &Self::Buffer) -> u64;
    /// Launches a kernel after the earlier ones; addresses and integers take one word each.
    ///
    /// # Errors
    /// [`GpuError::Driver`].
    ///
    /// # Safety
    /// `arguments` match the kernel, and it stays within the buffers at their addresses, which live until the next [`Self::finish`] or
    /// [`Self::download`], or are dropped through the device.
    unsafe fn launch(&self, kernels: &Self::Kernels, launch: Launch, arguments: &[u64]) -> Result<(), GpuError>;
    /// Records `levels`, each of which begins after the previous one has ended. A level has independent chains of launches; launches within a chain
    /// are sequential.
    ///
    /// # Errors
    /// [`GpuError::Driver`].
    ///
    /// # Safety
    /// As for [`Self::launch`], whenever the recording is played.
    unsafe fn record(&self, kernels: &Self::Kernels, levels: &[Vec<Vec<Call>>]) -> Result<Self::Recording, GpuError>;
    /// Starts a recording after all launches.
    ///
    /// # Errors
    /// [`GpuError::Driver`].
    ///
    /// # Safety
    /// As for [`Self::record`]; the kernels are alive.
    unsafe fn play(&self, recording: &Self::Recording) -> Result<(), GpuError>;
    /// Waits for all launches.
    fn finish(&self) -> Result<(), GpuError>;
}

/// A launch and its arguments.
#[derive(Clone, Debug)]
pub struct Call {
    /// The kernel and its grid.
    pub launch: Launch,
    /// Its arguments: addresses and integers take one word each.
    pub arguments: Vec<u64>,
}

/// A kernel's name and grid.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    /// Its name.
    pub kernel: &'static str,
    /// Blocks, in one dimension: fewer than 2^31.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Shared memory of a block, in bytes.
    pub shared_bytes: u32,
}
