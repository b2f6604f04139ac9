//! What the runtime needs of a card.

use super::{GpuError, Shape, Source};
use polyfabric_schemes::tfhe::{KeyUnrolling, Parameters};
use std::ops::DerefMut;

/// A card, or what stands in for one.
pub trait Device: Send + Sync {
    /// Memory of the card; freed when it is dropped, after what was launched before has ended.
    type Buffer: Send + Sync;
    /// Memory of the computer that the card reads and writes by itself.
    type Pinned: DerefMut<Target = [u8]> + Send + Sync;
    /// Compiled kernels.
    type Kernels: Send + Sync;

    /// Launches that are started together, as often as wanted.
    type Recording: Send + Sync;

    /// Its name, as the driver tells it.
    fn name(&self) -> &str;
    /// Multiprocessors.
    fn multiprocessors(&self) -> usize;
    /// Shared memory that one block can have, in bytes.
    fn shared_bytes(&self) -> usize;
    /// Whether it can run programs of `set` with a key of `unrolling`.
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
    /// Memory for `bytes` bytes of `what`, of any content.
    ///
    /// # Errors
    /// [`GpuError::Memory`], [`GpuError::Driver`].
    fn allocate(&self, bytes: usize, what: &'static str) -> Result<Self::Buffer, GpuError>;
    /// Memory that holds `bytes`, which are `what`.
    ///
    /// # Errors
    /// As [`Self::allocate`].
    fn upload(&self, bytes: &[u8], what: &'static str) -> Result<Self::Buffer, GpuError>;
    /// Reads the first `bytes.len()` bytes of `buffer`, after everything that was launched.
    ///
    /// # Errors
    /// [`GpuError::Driver`], that of a kernel that failed too.
    fn download(&self, buffer: &Self::Buffer, bytes: &mut [u8]) -> Result<(), GpuError>;
    /// So many bytes, zeros, of memory that transfers need not copy first.
    ///
    /// # Errors
    /// [`GpuError::Driver`].
    fn pinned(&self, bytes: usize) -> Result<Self::Pinned, GpuError>;
    /// Writes `bytes` over those of `buffer` from `offset` on, after everything that was launched, and waits until they are there.
    ///
    /// # Errors
    /// [`GpuError::Driver`].
    fn write(&self, buffer: &Self::Buffer, offset: usize, bytes: &[u8]) -> Result<(), GpuError>;
    /// Reads the bytes of `buffer` from `offset` on, after everything that was launched.
    ///
    /// # Errors
    /// As [`Self::download`].
    fn read(&self, buffer: &Self::Buffer, offset: usize, bytes: &mut [u8]) -> Result<(), GpuError>;
    /// Address of `buffer` for kernels.
    fn address(&self, buffer: &Self::Buffer) -> u64;
    /// Launches a kernel after those before; addresses and integers alike take a word each.
    ///
    /// # Errors
    /// [`GpuError::Driver`].
    ///
    /// # Safety
    /// `arguments` are those that the kernel takes, and it stays within the buffers at their addresses, which live until the next
    /// [`Self::finish`] or [`Self::download`], or are dropped through the device.
    unsafe fn launch(&self, kernels: &Self::Kernels, launch: Launch, arguments: &[u64]) -> Result<(), GpuError>;
    /// Records `levels`, each of which is to begin when the one before has ended. A level has chains of launches, one after the other within a chain; chains
    /// do not wait for one another.
    ///
    /// # Errors
    /// [`GpuError::Driver`].
    ///
    /// # Safety
    /// As of [`Self::launch`], whenever the recording is played.
    unsafe fn record(&self, kernels: &Self::Kernels, levels: &[Vec<Vec<Call>>]) -> Result<Self::Recording, GpuError>;
    /// Starts what was recorded, after everything that was launched.
    ///
    /// # Errors
    /// [`GpuError::Driver`].
    ///
    /// # Safety
    /// As of [`Self::record`]; the kernels live.
    unsafe fn play(&self, recording: &Self::Recording) -> Result<(), GpuError>;
    /// Waits for everything that was launched.
    ///
    /// # Errors
    /// As [`Self::download`].
    fn finish(&self) -> Result<(), GpuError>;
}

/// A launch, and what it is called with.
#[derive(Clone, Debug)]
pub struct Call {
    /// The kernel, and how it is spread.
    pub launch: Launch,
    /// Its arguments: addresses and integers take a word each.
    pub arguments: Vec<u64>,
}

/// How a kernel is spread.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    /// Its name.
    pub kernel: &'static str,
    /// Blocks, in one direction: fewer than 2^31.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Shared memory of a block, in bytes.
    pub shared_bytes: u32,
}
