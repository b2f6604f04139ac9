//! TFHE programs on a card: the resident key, and the operations on batches.

use super::{Device, GpuError, Launch, Shape, bytes_of, twiddles};
use crate::Progress;
use crate::tfhe::RunError;
use crate::tfhe::circuit::{self, TableShape};
use crate::tfhe::operations::{self, Batches, batch};
use polyfabric_kernels::{Torus, cancel};
use polyfabric_program::tfhe::kernel::{KernelProgram, TableChoice};
use polyfabric_program::tfhe::matrix::Matrix;
use polyfabric_schemes::tfhe::noise::PhaseRounding;
use polyfabric_schemes::tfhe::{LweBatch, LweDimension, Parameters, ServerKey};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Threads per block of elementwise kernels.
const THREADS: u32 = 128;
/// Ciphertexts and bytes of key columns per warp of a key switch.
const SWITCH_TILE: (usize, usize) = (16, 64);
/// Blocks per multiprocessor launched between checks for cancellation.
const BLOCKS_AT_ONCE: usize = 8;

/// A server key on a card with its parameter set's kernels: runs programs under that key.
pub struct Executor<T, D: Device> {
    device: Arc<D>,
    parameters: Parameters,
    shape: Shape,
    kernels: D::Kernels,
    twiddles: D::Buffer,
    roots: D::Buffer,
    bootstrap_key: D::Buffer,
    key_switch_key: Option<D::Buffer>,
    element: PhantomData<T>,
}

impl<T: Torus, D: Device> Executor<T, D> {
    /// Compiles the kernels for the set of `key`, and uploads the key in their format.
    ///
    /// # Errors
    /// [`RunError::TorusBits`] if the key's set does not have `T`'s width, [`RunError::Gpu`] if the card does not support it.
    pub fn new(device: &Arc<D>, key: &ServerKey<T>) -> Result<Self, RunError> {
        let parameters = key.parameters().clone();
        if parameters.torus_bits() != T::BITS {
            return Err(RunError::TorusBits { program: parameters.torus_bits(), given: T::BITS });
        }
        let shape = Shape::new(&parameters, key.unrolling(), device.shared_bytes())?;
        let kernels = device.compile(&shape.source(&parameters)?)?;
        let table = twiddles::table(parameters.ring_degree().log2(), shape.log2_held);
        let twiddles = device.upload(bytes_of(&table), "twiddle factors")?;
        // Without unrolling the kernel reads no roots.
        let roots =
            if key.unrolling().bits() == 1 { Vec::new() } else { twiddles::roots(parameters.ring_degree().log2()) };
        let roots = device.upload(bytes_of(&roots), "roots of one")?;
        // The last group of mask elements may be smaller: its missing patterns are zeros.
        let unrolling = key.unrolling();
        let iterations = unrolling.iterations(parameters.lwe_dimension());
        let ggsw_len = parameters.ggsw_rows() * shape.glwe_len();
        let mut coefficients = key.bootstrap_key().to_vec();
        coefficients.resize(iterations * unrolling.patterns() * ggsw_len, T::default());
        let key_len = coefficients.len();
        let bootstrap_key =
            device.allocate(shape.bootstrap_key_bytes(&parameters), "the bootstrapping key's spectra")?;
        let (threads, shared_bytes) = shape.transform_block();
        {
            let coefficients = device.upload(bytes_of(&coefficients), "the bootstrapping key")?;
            let polynomials = key_len / parameters.ring_degree().get();
            let launch = Launch {
                kernel: "transform_key",
                blocks: polynomials.div_ceil(2) as u32,
                threads: threads as u32,
                shared_bytes: shared_bytes as u32,
            };
            let addresses = [&bootstrap_key, &coefficients, &twiddles].map(|buffer| device.address(buffer));
            let arguments = [addresses[0], addresses[1], addresses[2], polynomials as u64];
            // SAFETY: the kernel reads `polynomials` polynomials and writes as many spectra, of half as many points of 16 bytes each; the buffers
            // live until the device has finished.
            unsafe { device.launch(&kernels, launch, &arguments)? };
            device.finish()?;
        }
        let key_switch_key = match key.key_switch_key() {
            Some(words) => {
                let bytes = device.allocate(size_of_val(words), "the key-switching key's bytes")?;
                let uploaded = device.upload(bytes_of(words), "the key-switching key")?;
                let size = parameters.lwe_dimension().ciphertext_len();
                let launch = over(device.multiprocessors() * 8, "cut_key");
                let arguments = [device.address(&bytes), device.address(&uploaded), size as u64];
                // SAFETY: the kernel reads k N l rows of `size` words and writes the bytes of as many words; the buffers live until the device has finished.
                unsafe { device.launch(&kernels, launch, &arguments)? };
                device.finish()?;
                Some(bytes)
            }
            None => None,
        };
        let device = Arc::clone(device);
        Ok(Self {
            device,
            parameters,
            shape,
            kernels,
            twiddles,
            roots,
            bootstrap_key,
            key_switch_key,
            element: PhantomData,
        })
    }

    /// The card.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// Runs `program` on `inputs` under `key`, which must be this executor's key.
    ///
    /// # Errors
    /// [`RunError`]; everything is checked before the run.
    pub fn run(
        &self,
        program: &KernelProgram,
        key: &ServerKey<T>,
        inputs: &BTreeMap<String, LweBatch<T>>,
        progress: &dyn Progress,
    ) -> Result<Ran<T>, RunError> {
        if circuit::is_used(program) {
            return Err(RunError::NoCircuit { place: "the GPU" });
        }
        let run = self.started(progress);
        let outputs = operations::run(&run, program, key, inputs)?;
        Ok(Ran { outputs, on_card: run.on_card.get().unwrap_or_default() })
    }

    pub(super) fn started<'e>(&'e self, progress: &'e dyn Progress) -> CardRun<'e, T, D> {
        CardRun { executor: self, progress, brought: Cell::new(None), on_card: Cell::new(None) }
    }
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Ran<T> {
    /// The program's outputs.
    pub outputs: BTreeMap<String, LweBatch<T>>,
    /// Time from the arrival of the inputs on the card to the completion of the outputs.
    pub on_card: Duration,
}

/// A launch of `blocks` blocks of [`THREADS`].
fn over(blocks: usize, kernel: &'static str) -> Launch {
    Launch { kernel, blocks: blocks as u32, threads: THREADS, shared_bytes: 0 }
}

/// Blocks of a key switch of `count` ciphertexts to rows of `bytes` bytes: for each 16 ciphertexts as many as cover all columns. A block writes up to 4 KiB, so card memory
/// limits the number of blocks below 2^31.
pub(super) fn switch_blocks(count: usize, bytes: usize) -> usize {
    let (rows, columns) = SWITCH_TILE;
    let of_columns = bytes.div_ceil(columns).div_ceil(THREADS as usize / 32);
    count.div_ceil(rows) * of_columns
}

/// Rows of words on a card.
pub(super) struct Rows<B> {
    pub(super) buffer: B,
    /// Words per row.
    pub(super) size: usize,
    pub(super) count: usize,
}

/// One run and its progress receiver.
pub(super) struct CardRun<'e, T, D: Device> {
    executor: &'e Executor<T, D>,
    progress: &'e dyn Progress,
    /// When the last input arrived.
    brought: Cell<Option<Instant>>,
    /// Time from then to the first download of an output.
    on_card: Cell<Option<Duration>>,
}

impl<T: Torus, D: Device> CardRun<'_, T, D> {
    fn device(&self) -> &D {
        &self.executor.device
    }

    /// `count` rows of `size` uninitialised elements of type `E`.
    fn rows<E>(&self, count: usize, size: usize) -> Result<Rows<D::Buffer>, GpuError> {
        let bytes = (count * size * size_of::<E>()).max(16);
        Ok(Rows { buffer: self.device().allocate(bytes, "intermediate results")?, size, count })
    }

    fn address(&self, rows: &Rows<D::Buffer>) -> u64 {
        self.device().address(&rows.buffer)
    }

    /// The address of each row of all `operands`, for words of `word_bytes`.
    fn row_addresses(&self, operands: &[Arc<Rows<D::Buffer>>], word_bytes: usize) -> Vec<u64> {
        let of = |rows: &Arc<Rows<D::Buffer>>| {
            let (start, step) = (self.address(rows), (rows.size * word_bytes) as u64);
            (0..rows.count as u64).map(move |row| start + row * step)
        };
        operands.iter().flat_map(of).collect()
    }

    /// Launches a kernel unless it has no blocks.
    ///
    /// # Safety
    /// As for [`Device::launch`].
    unsafe fn launch(&self, launch: Launch, arguments: &[u64]) -> Result<(), GpuError> {
        if launch.blocks == 0 {
            return Ok(());
        }
        // SAFETY: the caller's.
        unsafe { self.device().launch(&self.executor.kernels, launch, arguments) }
    }

    /// Rows `indices` of all `operands`, for words of type `E`.
    fn gathered<E>(
        &self,
        operands: &[Arc<Rows<D::Buffer>>],
        indices: &[u32],
        size: usize,
    ) -> Result<Rows<D::Buffer>, RunError> {
        let all = self.row_addresses(operands, size_of::<E>());
        let wanted: Vec<u64> = indices.iter().map(|&index| all[index as usize]).collect();
        let outputs = self.rows::<E>(wanted.len(), size)?;
        let wanted = self.device().upload(bytes_of(&wanted), "the addresses of ciphertexts")?;
        let words = (size * size_of::<E>() / size_of::<u32>()) as u64;
        let arguments = [self.address(&outputs), self.device().address(&wanted), words];
        // SAFETY: one block per row; rows have `words` words of 32 bits.
        unsafe { self.launch(over(outputs.count, "gather"), &arguments)? };
        Ok(outputs)
    }
}

impl<T: Torus, D: Device> Batches<T> for CardRun<'_, T, D> {
    type Lwe = Rows<D::Buffer>;
    type Exponents = Rows<D::Buffer>;
    type Glwe = Rows<D::Buffer>;
    /// The GPU has no circuit bootstrapping.
    type Ggsw = std::convert::Infallible;

    fn circuit_bootstrap(&self, _: &Self::Glwe) -> Result<Self::Ggsw, RunError> {
        Err(RunError::NoCircuit { place: "the GPU" })
    }

    fn packed_lookup(
        &self,
        _: TableShape,
        (given, _): (&Self::Ggsw, &[u32]),
        _: &TableChoice,
        _: &[Vec<T>],
    ) -> Result<Self::Glwe, RunError> {
        match *given {}
    }

    fn bring(&self, batch: &LweBatch<T>) -> Result<Self::Lwe, RunError> {
        let buffer = self.device().upload(bytes_of(batch.data()), "inputs")?;
        self.device().finish()?;
        self.brought.set(Some(Instant::now()));
        Ok(Rows { buffer, size: batch.dimension().ciphertext_len(), count: batch.len() })
    }

    fn fetch(&self, rows: &Self::Lwe) -> Result<LweBatch<T>, RunError> {
        if self.on_card.get().is_none() {
            self.device().finish()?;
            self.on_card.set(self.brought.get().map(|start| start.elapsed()));
        }
        let mut data = vec![T::default(); rows.count * rows.size];
        // SAFETY: any bytes are torus elements.
        let bytes = unsafe { std::slice::from_raw_parts_mut(data.as_mut_ptr().cast(), size_of_val(data.as_slice())) };
        self.device().download(&rows.buffer, bytes)?;
        let set = &self.executor.parameters;
        let both = [set.lwe_dimension(), set.large_lwe_dimension()];
        match both.into_iter().find(|dimension| dimension.ciphertext_len() == rows.size) {
            Some(dimension) => Ok(batch(dimension, data)),
            None => unreachable!("the program is checked: ciphertexts are under one of the set's keys"),
        }
    }

    fn linear(
        &self,
        dimension: LweDimension,
        matrix: &Matrix,
        bias: &[u64],
        operands: &[Arc<Self::Lwe>],
    ) -> Result<Self::Lwe, RunError> {
        let all = self.row_addresses(operands, size_of::<T>());
        let (mut first, mut rows, mut weights) = (vec![0u32], Vec::new(), Vec::new());
        for row in 0..matrix.rows() {
            for (column, weight) in matrix.row(row) {
                rows.push(all[column]);
                weights.push(weight);
            }
            first.push(rows.len() as u32);
        }
        // A card cannot allocate an empty buffer.
        rows.push(0);
        weights.push(0);
        let size = dimension.ciphertext_len();
        let outputs = self.rows::<T>(matrix.rows(), size)?;
        let what = "the matrix of a linear operation";
        let device = self.device();
        let terms = [
            device.upload(bytes_of(&first), what)?,
            device.upload(bytes_of(&rows), what)?,
            device.upload(bytes_of(&weights), what)?,
            device.upload(bytes_of(bias), what)?,
        ];
        let [first, rows, weights, bias] = [0, 1, 2, 3].map(|i| device.address(&terms[i]));
        let arguments = [self.address(&outputs), first, rows, weights, bias, size as u64];
        // SAFETY: one block per row, whose terms are operand rows of `size` elements.
        unsafe { self.launch(over(matrix.rows(), "linear"), &arguments)? };
        Ok(outputs)
    }

    fn gather(
        &self,
        dimension: LweDimension,
        operands: &[Arc<Self::Lwe>],
        indices: &[u32],
    ) -> Result<Self::Lwe, RunError> {
        self.gathered::<T>(operands, indices, dimension.ciphertext_len())
    }

    fn gather_exponents(
        &self,
        operands: &[Arc<Self::Exponents>],
        indices: &[u32],
    ) -> Result<Self::Exponents, RunError> {
        self.gathered::<u32>(operands, indices, self.executor.parameters.lwe_dimension().ciphertext_len())
    }

    fn key_switch(&self, inputs: &Self::Lwe) -> Result<Self::Lwe, RunError> {
        let set = &self.executor.parameters;
        let (Some(key), Some(gadget)) = (&self.executor.key_switch_key, set.key_switch_gadget()) else {
            return Err(RunError::NoKeySwitchKey { set: set.name().to_owned() });
        };
        let (size, count) = (set.lwe_dimension().ciphertext_len(), inputs.count);
        let terms = set.large_lwe_dimension().get() * gadget.levels as usize;
        let digits = self.rows::<i8>(count, terms)?;
        let outputs = self.rows::<T>(count, size)?;
        let device = self.device();
        let arguments = [self.address(&digits), self.address(inputs), count as u64];
        let blocks = if count == 0 { 0 } else { device.multiprocessors() * 16 };
        // SAFETY: the digits of `count` ciphertexts of the large key.
        unsafe { self.launch(over(blocks, "switch_digits"), &arguments)? };
        let launch = over(switch_blocks(count, size * size_of::<T>()), "key_switch");
        let addresses = [self.address(&outputs), self.address(inputs), self.address(&digits), device.address(key)];
        let [to, from, digits, key] = addresses;
        // SAFETY: `count` ciphertexts of each key, their digits, and the key with as many terms.
        unsafe { self.launch(launch, &[to, from, digits, key, count as u64, size as u64])? };
        self.progress.update("key switch", count as u64, count as u64);
        Ok(outputs)
    }

    fn modulus_switch(
        &self,
        inputs: &Self::Lwe,
        rounding: PhaseRounding,
        log2_tables: u32,
    ) -> Result<Self::Exponents, RunError> {
        let (size, count) = (inputs.size, inputs.count);
        let exponents = self.rows::<u32>(count, size)?;
        let centred = u64::from(rounding == PhaseRounding::Centred);
        let words = [count as u64, size as u64, u64::from(log2_tables), centred];
        let arguments = [self.address(&exponents), self.address(inputs), words[0], words[1], words[2], words[3]];
        // SAFETY: a warp for each of `count` ciphertexts of `size` elements.
        unsafe { self.launch(over(count.div_ceil(THREADS as usize / 32), "modulus_switch"), &arguments)? };
        Ok(exponents)
    }

    fn blind_rotate(
        &self,
        exponents: &Self::Exponents,
        choice: &TableChoice,
        tables: &[Vec<T>],
    ) -> Result<Self::Glwe, RunError> {
        let Executor { shape, parameters, .. } = self.executor;
        let device = self.device();
        let count = exponents.count;
        let accumulators = self.rows::<T>(count, shape.glwe_len())?;
        let choice: Vec<u32> = (0..count).map(|c| choice.get(c) as u32).collect();
        if choice.is_empty() {
            return Ok(accumulators);
        }
        let choice = device.upload(bytes_of(&choice), "the choice of tables")?;
        let tables = device.upload(bytes_of(&tables.concat()), "test polynomials")?;
        let multiprocessors = device.multiprocessors();
        let of_block = shape.ciphertexts_of(count, multiprocessors);
        let at_once = multiprocessors * of_block * BLOCKS_AT_ONCE;
        for first in (0..count).step_by(at_once) {
            cancel::check();
            let some = at_once.min(count - first);
            let launch = Launch {
                kernel: "blind_rotation",
                blocks: some.div_ceil(of_block) as u32,
                threads: shape.block_threads(of_block) as u32,
                shared_bytes: shape.shared_bytes(of_block) as u32,
            };
            let offset = |rows: &Rows<D::Buffer>, bytes: usize| self.address(rows) + (first * rows.size * bytes) as u64;
            let arguments = [
                offset(&accumulators, size_of::<T>()),
                offset(exponents, size_of::<u32>()),
                device.address(&choice) + (first * size_of::<u32>()) as u64,
                device.address(&tables),
                device.address(&self.executor.bootstrap_key),
                device.address(&self.executor.twiddles),
                device.address(&self.executor.roots),
                some as u64,
                parameters.lwe_dimension().get() as u64,
            ];
            // SAFETY: `some` ciphertexts of n + 1 exponents, as many GLWE ciphertexts and tables, and a key of n iterations.
            unsafe { self.launch(launch, &arguments)? };
            if first + some < count {
                device.finish()?;
            }
            self.progress.update("blind rotation", (first + some) as u64, count as u64);
        }
        Ok(accumulators)
    }

    fn extract(&self, accumulators: &Self::Glwe, coefficients: usize) -> Result<Self::Lwe, RunError> {
        let size = self.executor.parameters.large_lwe_dimension().ciphertext_len();
        let outputs = self.rows::<T>(accumulators.count * coefficients, size)?;
        let arguments = [self.address(&outputs), self.address(accumulators), coefficients as u64];
        // SAFETY: one block for each requested coefficient of each GLWE ciphertext.
        unsafe { self.launch(over(outputs.count, "sample_extract"), &arguments)? };
        Ok(outputs)
    }
}
