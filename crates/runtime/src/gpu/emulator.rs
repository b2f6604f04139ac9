//! Runs the kernels on the processor for tests: compiles them with the C compiler and `kernels/emulator.h`, and executes them thread by thread.

use super::{Call, Device, GpuError, Launch, Source};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

const BENEATH: &str = include_str!("kernels/emulator.h");

/// Maximum number of blocks per launch on a card.
pub(super) const MOST_BLOCKS: u32 = i32::MAX.cast_unsigned();

/// Order of a block's threads between barriers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ThreadOrder {
    Forwards,
    Backwards,
}

/// A card with few multiprocessors and the shared memory of an H100.
pub(super) struct Emulator {
    pub(super) order: ThreadOrder,
}

/// Words of 16 bytes, so that addresses are aligned as on a card.
pub(super) struct Buffer(Mutex<Vec<[u64; 2]>>);

impl Buffer {
    fn new(bytes: usize) -> Self {
        Self(Mutex::new(vec![[0xa5a5_a5a5_a5a5_a5a5; 2]; bytes.div_ceil(16)]))
    }

    fn address(&self) -> *mut u8 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut_ptr().cast()
    }
}

impl Buffer {
    fn bytes(&self) -> usize {
        size_of_val(&self.0.lock().unwrap_or_else(PoisonError::into_inner)[..])
    }
}

type Emulate = unsafe extern "C" fn(*const c_void, u32, u32, u32, *const u64, u32);

/// A library of kernels. Its state is the running block, so only one kernel runs at a time.
pub(super) struct Kernels {
    library: libloading::Library,
    running: Mutex<()>,
}

/// Libraries by text, because many tests use the same one.
static COMPILED: Mutex<BTreeMap<String, Arc<Kernels>>> = Mutex::new(BTreeMap::new());

/// Number of arguments that the emulator passes to every kernel.
const ARGUMENTS: usize = 12;

impl Device for Emulator {
    type Buffer = Buffer;
    type Pinned = Vec<u8>;
    type Kernels = Arc<Kernels>;
    type Recording = (Arc<Kernels>, Vec<Call>);

    fn name(&self) -> &str {
        "the processor, emulating a card"
    }

    fn multiprocessors(&self) -> usize {
        2
    }

    fn shared_bytes(&self) -> usize {
        227 << 10
    }

    fn compile(&self, source: &Source) -> Result<Arc<Kernels>, GpuError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let kernels = source.text(Some(BENEATH));
        let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = compiled.get(&kernels) {
            return Ok(Arc::clone(known));
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let stem = std::env::temp_dir().join(format!("polyfabric-kernels-{}-{number}", std::process::id()));
        let (text, file) = (stem.with_extension("c"), stem.with_extension("so"));
        std::fs::write(&text, &kernels).expect("the folder of temporary files can be written");
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        let flags = ["-std=gnu11", "-O2", "-shared", "-fPIC", "-o"];
        let output =
            Command::new(compiler).args(flags).arg(&file).arg(&text).arg("-lm").output().expect("a C compiler");
        let _ = std::fs::remove_file(&text);
        if !output.status.success() {
            let log = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(GpuError::Compile { architecture: "the processor".to_owned(), log });
        }
        // SAFETY: the library was just made, and has no initialisers.
        let library = unsafe { libloading::Library::new(&file) }.expect("the library that was made");
        let _ = std::fs::remove_file(&file);
        let library = Arc::new(Kernels { library, running: Mutex::new(()) });
        compiled.insert(kernels, Arc::clone(&library));
        Ok(library)
    }

    fn allocate(&self, bytes: usize, _: &'static str) -> Result<Buffer, GpuError> {
        Ok(Buffer::new(bytes))
    }

    fn upload(&self, bytes: &[u8], _: &'static str) -> Result<Buffer, GpuError> {
        let buffer = Buffer::new(bytes.len());
        // SAFETY: the buffer has at least as many bytes.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer.address(), bytes.len()) };
        Ok(buffer)
    }

    fn download(&self, buffer: &Buffer, bytes: &mut [u8]) -> Result<(), GpuError> {
        // SAFETY: the caller reads what it has allocated.
        unsafe { std::ptr::copy_nonoverlapping(buffer.address(), bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    fn pinned(&self, bytes: usize) -> Result<Vec<u8>, GpuError> {
        Ok(vec![0; bytes])
    }

    fn write(&self, buffer: &Buffer, offset: usize, bytes: &[u8]) -> Result<(), GpuError> {
        assert!(offset + bytes.len() <= buffer.bytes());
        // SAFETY: the buffer has as many bytes.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer.address().add(offset), bytes.len()) };
        Ok(())
    }

    fn read(&self, buffer: &Buffer, offset: usize, bytes: &mut [u8]) -> Result<(), GpuError> {
        assert!(offset + bytes.len() <= buffer.bytes());
        // SAFETY: the buffer has as many bytes.
        unsafe { std::ptr::copy_nonoverlapping(buffer.address().add(offset), bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    fn address(&self, buffer: &Buffer) -> u64 {
        buffer.address() as u64
    }

    unsafe fn launch(&self, kernels: &Arc<Kernels>, launch: Launch, arguments: &[u64]) -> Result<(), GpuError> {
        assert!(launch.blocks <= MOST_BLOCKS, "{} blocks of {}", launch.blocks, launch.kernel);
        let mut all = [0; ARGUMENTS];
        all[..arguments.len()].copy_from_slice(arguments);
        // SAFETY: the library has every kernel and the emulator, with these types.
        let (kernel, emulate) = unsafe {
            (
                *kernels.library.get::<*const c_void>(launch.kernel.as_bytes()).expect("the kernel"),
                *kernels.library.get::<Emulate>(b"emulate").expect("the emulator"),
            )
        };
        let backwards = u32::from(self.order == ThreadOrder::Backwards);
        let _running = kernels.running.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the caller's arguments; the emulator runs the kernel to completion.
        unsafe { emulate(kernel, launch.blocks, launch.threads, launch.shared_bytes, all.as_ptr(), backwards) };
        Ok(())
    }

    unsafe fn record(&self, kernels: &Arc<Kernels>, levels: &[Vec<Vec<Call>>]) -> Result<Self::Recording, GpuError> {
        // Chains may run in any order.
        let chains = levels.iter().flat_map(|level| match self.order {
            ThreadOrder::Forwards => level.iter().collect::<Vec<_>>(),
            ThreadOrder::Backwards => level.iter().rev().collect(),
        });
        Ok((Arc::clone(kernels), chains.flatten().cloned().collect()))
    }

    unsafe fn play(&self, (kernels, calls): &Self::Recording) -> Result<(), GpuError> {
        // SAFETY: the caller's.
        calls.iter().try_for_each(|call| unsafe { self.launch(kernels, call.launch, &call.arguments) })
    }

    fn finish(&self) -> Result<(), GpuError> {
        Ok(())
    }
}
