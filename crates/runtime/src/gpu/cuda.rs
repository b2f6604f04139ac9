//! A card of NVIDIA's, through the driver's interface.

use super::cache::Cache;
use super::{Call, Device, GpuError, Launch, Source};
use cudarc::driver::sys::{CUdevice_attribute as Attribute, CUfunction_attribute as FunctionAttribute};
use cudarc::driver::{CudaContext, CudaFunction, CudaSlice, CudaStream, DevicePtr, DriverError, result, sys};
use cudarc::nvrtc::sys as nvrtc;
use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_void};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A card, and the order in which it does what it is told.
pub struct Cuda {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    name: String,
    /// As the compiler wants it, sm_90 for example.
    architecture: String,
    multiprocessors: usize,
    shared_bytes: usize,
}

/// The compute capability with which the kernels' copies past registers and products of 16 × 32 × 8 bytes came.
const LEAST: (i32, i32) = (8, 0);

/// Whether cards of compute capability `major`.`minor` have what the kernels use: later ones keep what earlier ones have.
fn served(major: i32, minor: i32) -> bool {
    (major, minor) >= LEAST
}

/// What of `what` failed.
fn failed(what: impl Into<String>) -> impl FnOnce(DriverError) -> GpuError {
    let what = what.into();
    |error| GpuError::Driver { what, cause: said(error) }
}

fn said(error: DriverError) -> String {
    let words = error.error_string().map(|words| words.to_string_lossy().into_owned());
    words.unwrap_or_else(|_| format!("{error:?}"))
}

impl Cuda {
    /// The first card.
    ///
    /// # Errors
    /// [`GpuError::NoDriver`], [`GpuError::NoCompiler`], [`GpuError::NoCard`], [`GpuError::Capability`], [`GpuError::Driver`].
    pub fn first() -> Result<Self, GpuError> {
        // SAFETY: looks for the library; it is of the driver, whose initialisers run in every program that uses it.
        if !unsafe { sys::is_culib_present() } {
            return Err(GpuError::NoDriver);
        }
        // SAFETY: looks for the library, whose initialisers run in every program that uses it.
        if !unsafe { nvrtc::is_culib_present() } {
            return Err(GpuError::NoCompiler);
        }
        let context = CudaContext::new(0).map_err(|error| GpuError::NoCard { cause: said(error) })?;
        // SAFETY: everything goes over one stream, in order: nothing is left for events to order.
        unsafe { context.disable_event_tracking() };
        let ask = |attribute, what: &str| {
            context.attribute(attribute).map(|value| value as usize).map_err(failed(format!("tell its {what}")))
        };
        let name = context.name().map_err(failed("tell its name"))?;
        let (major, minor) = context.compute_capability().map_err(failed("tell its compute capability"))?;
        if !served(major, minor) {
            return Err(GpuError::Capability { name, found: (major, minor), least: LEAST });
        }
        Ok(Self {
            name,
            architecture: format!("sm_{major}{minor}"),
            multiprocessors: ask(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, "multiprocessors")?,
            shared_bytes: ask(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, "shared memory")?,
            stream: context.default_stream(),
            context,
        })
    }

    /// Bytes of its memory, free or not.
    ///
    /// # Errors
    /// [`GpuError::Driver`].
    pub fn memory_bytes(&self) -> Result<u64, GpuError> {
        self.context.mem_get_info().map(|(_, total)| total as u64).map_err(failed("tell its memory"))
    }

    fn cubin(&self, source: &Source) -> Result<Vec<u8>, GpuError> {
        let (text, option) = (source.text(None), option(&self.architecture));
        let mut version = [0; 2];
        // SAFETY: two places for two numbers.
        let told = unsafe {
            let [major, minor] = &mut version;
            nvrtc::nvrtcVersion(major, minor)
        };
        let make = || compile(&text, &option, &self.architecture);
        match Cache::of_user() {
            Some(cache) if told == nvrtc::nvrtcResult::NVRTC_SUCCESS => {
                let version = version.map(i32::to_le_bytes);
                cache.get(&[text.as_bytes(), option.as_bytes(), version.as_flattened()], make)
            }
            _ => make(),
        }
    }
}

/// What the compiler is told.
fn option(architecture: &str) -> String {
    format!("--gpu-architecture={architecture}")
}

/// A text without zeros as C has it.
fn c_string(text: &str) -> CString {
    CString::new(text).unwrap_or_default()
}

/// Compiles `text` with `option` to machine code for `architecture`.
fn compile(text: &str, option: &str, architecture: &str) -> Result<Vec<u8>, GpuError> {
    use nvrtc::nvrtcResult::NVRTC_SUCCESS;
    let (text, name) = (c_string(text), c"polyfabric.cu");
    let options = [c_string(option)];
    let refused = |log: String| GpuError::Compile { architecture: architecture.to_owned(), log };
    let mut program = std::ptr::null_mut();
    // SAFETY: the texts end with zeros and outlive the call; no headers are given.
    let made = unsafe {
        nvrtc::nvrtcCreateProgram(&mut program, text.as_ptr(), name.as_ptr(), 0, std::ptr::null(), std::ptr::null())
    };
    if made != NVRTC_SUCCESS {
        return Err(refused(format!("{made:?}")));
    }
    let pointers = options.each_ref().map(|option| option.as_ptr());
    // SAFETY: the program was made, and the options end with zeros; buffers are as long as the library asks.
    let outcome = unsafe {
        let compiled = nvrtc::nvrtcCompileProgram(program, pointers.len() as i32, pointers.as_ptr());
        if compiled == NVRTC_SUCCESS {
            let mut size = 0;
            nvrtc::nvrtcGetCUBINSize(program, &mut size);
            let mut code = vec![0u8; size];
            match nvrtc::nvrtcGetCUBIN(program, code.as_mut_ptr().cast::<c_char>()) {
                NVRTC_SUCCESS => Ok(code),
                other => Err(refused(format!("{other:?}"))),
            }
        } else {
            let mut size = 0;
            nvrtc::nvrtcGetProgramLogSize(program, &mut size);
            let mut log = vec![0u8; size];
            nvrtc::nvrtcGetProgramLog(program, log.as_mut_ptr().cast::<c_char>());
            Err(refused(format!("{compiled:?}: {}", String::from_utf8_lossy(&log).trim_end_matches('\0').trim())))
        }
    };
    // SAFETY: made above, and not used again.
    unsafe { nvrtc::nvrtcDestroyProgram(&mut program) };
    outcome
}

/// Page-locked memory of the computer.
pub struct Pinned {
    start: *mut u8,
    bytes: usize,
    context: Arc<CudaContext>,
}

// SAFETY: it is memory like any other, and owned.
unsafe impl Send for Pinned {}
// SAFETY: as above.
unsafe impl Sync for Pinned {}

impl Drop for Pinned {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: allocated by `pinned`, and not used again: transfers are waited for.
            let _ = unsafe { result::free_host(self.start.cast()) };
        }
    }
}

impl Deref for Pinned {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: so many bytes were allocated and zeroed.
        unsafe { std::slice::from_raw_parts(self.start, self.bytes) }
    }
}

impl DerefMut for Pinned {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.bytes) }
    }
}

/// A graph of launches, and the kernels that it starts.
pub struct Recording {
    graph: sys::CUgraphExec,
    context: Arc<CudaContext>,
    _kernels: Vec<CudaFunction>,
}

// SAFETY: a graph belongs to a context, not to a thread; the driver locks what it needs.
unsafe impl Send for Recording {}
// SAFETY: as above; it is only started.
unsafe impl Sync for Recording {}

impl Drop for Recording {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: made by `record`, and not used again; what still runs of it ends first.
            let _ = unsafe { result::graph::exec_destroy(self.graph) };
        }
    }
}

/// A graph that is being made.
struct Drawing(sys::CUgraph);

impl Drop for Drawing {
    fn drop(&mut self) {
        // SAFETY: made by `record`, and not used again.
        let _ = unsafe { result::graph::destroy(self.0) };
    }
}

impl Drawing {
    /// Adds `call`, to begin after the nodes `after`.
    ///
    /// # Safety
    /// As of [`Device::launch`].
    unsafe fn call(
        &self,
        kernel: &CudaFunction,
        call: &Call,
        after: &[sys::CUgraphNode],
    ) -> Result<sys::CUgraphNode, DriverError> {
        let Launch { blocks, threads, shared_bytes, .. } = call.launch;
        // The driver copies the arguments while the node is added.
        let mut places: Vec<*mut c_void> =
            call.arguments.iter().map(|argument| std::ptr::from_ref(argument).cast_mut().cast()).collect();
        let parameters = sys::CUDA_KERNEL_NODE_PARAMS {
            func: kernel.cu_function(),
            gridDimX: blocks,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: threads,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: shared_bytes,
            kernelParams: places.as_mut_ptr(),
            extra: std::ptr::null_mut(),
            kern: std::ptr::null_mut(),
            ctx: std::ptr::null_mut(),
        };
        let mut node = std::ptr::null_mut();
        // SAFETY: the graph and the nodes are of this drawing.
        unsafe { sys::cuGraphAddKernelNode_v2(&mut node, self.0, after.as_ptr(), after.len(), &parameters) }
            .result()?;
        Ok(node)
    }
}

impl Device for Cuda {
    type Buffer = CudaSlice<u8>;
    type Pinned = Pinned;
    type Kernels = BTreeMap<&'static str, CudaFunction>;
    type Recording = Recording;

    fn name(&self) -> &str {
        &self.name
    }

    fn multiprocessors(&self) -> usize {
        self.multiprocessors
    }

    fn shared_bytes(&self) -> usize {
        self.shared_bytes
    }

    fn compile(&self, source: &Source) -> Result<Self::Kernels, GpuError> {
        let code = cudarc::nvrtc::Ptx::from_binary(self.cubin(source)?);
        let module = self.context.load_module(code).map_err(failed("load the kernels"))?;
        let of = |&name: &&'static str| {
            let kernel = module.load_function(name).map_err(failed(format!("load the kernel {name}")))?;
            let most = FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            kernel
                .set_attribute(most, self.shared_bytes as i32)
                .map_err(failed(format!("give {name} shared memory")))?;
            Ok((name, kernel))
        };
        source.kernels.iter().map(of).collect()
    }

    fn allocate(&self, bytes: usize, what: &'static str) -> Result<Self::Buffer, GpuError> {
        // SAFETY: whoever allocates writes before anything is read.
        unsafe { self.stream.alloc::<u8>(bytes.max(1)) }.map_err(|error| {
            let free = self.context.mem_get_info().map_or(0, |(free, _)| free as u64);
            match error.0 {
                sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => GpuError::Memory { what, needed: bytes as u64, free },
                _ => failed(format!("hold {what}"))(error),
            }
        })
    }

    fn upload(&self, bytes: &[u8], what: &'static str) -> Result<Self::Buffer, GpuError> {
        let mut buffer = self.allocate(bytes.len(), what)?;
        if !bytes.is_empty() {
            self.stream.memcpy_htod(bytes, &mut buffer).map_err(failed(format!("take {what}")))?;
        }
        Ok(buffer)
    }

    fn download(&self, buffer: &Self::Buffer, bytes: &mut [u8]) -> Result<(), GpuError> {
        if !bytes.is_empty() {
            self.stream.memcpy_dtoh(&buffer.slice(..bytes.len()), bytes).map_err(failed("give its results"))?;
        }
        self.finish()
    }

    fn pinned(&self, bytes: usize) -> Result<Pinned, GpuError> {
        self.context.bind_to_thread().map_err(failed("serve this thread"))?;
        // SAFETY: read only after it was zeroed.
        let start =
            unsafe { result::malloc_host(bytes.max(1), 0) }.map_err(failed("share memory with this computer"))?;
        // SAFETY: so many bytes were allocated.
        unsafe { start.cast::<u8>().write_bytes(0, bytes) };
        Ok(Pinned { start: start.cast(), bytes, context: Arc::clone(&self.context) })
    }

    fn write(&self, buffer: &Self::Buffer, offset: usize, bytes: &[u8]) -> Result<(), GpuError> {
        assert!(offset + bytes.len() <= buffer.len(), "within the buffer");
        self.context.bind_to_thread().map_err(failed("serve this thread"))?;
        let to = self.address(buffer) + offset as u64;
        // SAFETY: the buffer has as many bytes, and the call is waited for: the driver may read them until then.
        unsafe { result::memcpy_htod_async(to, bytes, self.stream.cu_stream()) }
            .map_err(failed("take what it works on"))?;
        self.finish()
    }

    fn read(&self, buffer: &Self::Buffer, offset: usize, bytes: &mut [u8]) -> Result<(), GpuError> {
        assert!(offset + bytes.len() <= buffer.len(), "within the buffer");
        self.context.bind_to_thread().map_err(failed("serve this thread"))?;
        let from = self.address(buffer) + offset as u64;
        // SAFETY: the buffer has as many bytes, and the call is waited for.
        unsafe { result::memcpy_dtoh_async(bytes, from, self.stream.cu_stream()) }
            .map_err(failed("give its results"))?;
        self.finish()
    }

    fn address(&self, buffer: &Self::Buffer) -> u64 {
        buffer.device_ptr(&self.stream).0
    }

    unsafe fn launch(&self, kernels: &Self::Kernels, launch: Launch, arguments: &[u64]) -> Result<(), GpuError> {
        let Launch { kernel, blocks, threads, shared_bytes } = launch;
        self.context.bind_to_thread().map_err(failed("serve this thread"))?;
        // The driver takes from each place as many bytes as the kernel's argument has: of an integer of 32 bits the lower half.
        let mut places: Vec<*mut c_void> =
            arguments.iter().map(|argument| std::ptr::from_ref(argument).cast_mut().cast()).collect();
        let (function, stream) = (kernels[kernel].cu_function(), self.stream.cu_stream());
        // SAFETY: the caller's.
        unsafe { result::launch_kernel(function, (blocks, 1, 1), (threads, 1, 1), shared_bytes, stream, &mut places) }
            .map_err(failed(format!("start {kernel} on {blocks} blocks of {threads} threads")))
    }

    unsafe fn record(&self, kernels: &Self::Kernels, levels: &[Vec<Vec<Call>>]) -> Result<Recording, GpuError> {
        let refused = || failed("record its launches");
        self.context.bind_to_thread().map_err(failed("serve this thread"))?;
        let mut graph = std::ptr::null_mut();
        // SAFETY: makes a graph, which the drawing lets go.
        unsafe { sys::cuGraphCreate(&mut graph, 0) }.result().map_err(refused())?;
        let drawing = Drawing(graph);
        let mut before: Vec<sys::CUgraphNode> = Vec::new();
        for level in levels {
            let mut ends = Vec::with_capacity(level.len());
            for chain in level {
                // Edges from all of a level to all of the next: an empty node between them takes a card far longer.
                let mut after = before.clone();
                for call in chain {
                    let kernel = &kernels[call.launch.kernel];
                    // SAFETY: the caller's.
                    after = vec![unsafe { drawing.call(kernel, call, &after) }.map_err(refused())?];
                }
                ends.extend(after);
            }
            if !ends.is_empty() {
                before = ends;
            }
        }
        // SAFETY: the graph is whole.
        let graph = unsafe { result::graph::instantiate(drawing.0, sys::CUgraphInstantiate_flags(0)) };
        let graph = graph.map_err(refused())?;
        Ok(Recording { graph, context: Arc::clone(&self.context), _kernels: kernels.values().cloned().collect() })
    }

    unsafe fn play(&self, recording: &Recording) -> Result<(), GpuError> {
        self.context.bind_to_thread().map_err(failed("serve this thread"))?;
        // SAFETY: the caller's.
        unsafe { result::graph::launch(recording.graph, self.stream.cu_stream()) }
            .map_err(failed("start what was recorded"))
    }

    fn finish(&self) -> Result<(), GpuError> {
        self.stream.synchronize().map_err(failed("finish what was started"))
    }
}

#[cfg(test)]
mod tests {
    //! Which cards are served?

    use super::*;

    #[test]
    fn cards_before_8_0_are_refused_with_what_they_have_and_what_is_needed() {
        // Volta, Turing; Ampere, Ada, Hopper, Blackwell.
        assert!([(7, 0), (7, 5)].into_iter().all(|(major, minor)| !served(major, minor)));
        let later = [(8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (12, 1)];
        assert!(later.into_iter().all(|(major, minor)| served(major, minor)));
        let refusal = GpuError::Capability { name: "Tesla T4".to_owned(), found: (7, 5), least: LEAST };
        assert_eq!(
            refusal.to_string(),
            "the GPU here, Tesla T4, has compute capability 7.5, and the kernels need 8.0 or later; attach a later card, or run on cpu"
        );
    }
}
