//! An NVIDIA card through the driver's interface.

use super::cache::Cache;
use super::{Call, Device, GpuError, Launch, Source};
use cudarc::driver::sys::{CUdevice_attribute as Attribute, CUfunction_attribute as FunctionAttribute};
use cudarc::driver::{CudaContext, CudaFunction, CudaSlice, CudaStream, DevicePtr, DriverError, result, sys};
use cudarc::nvrtc::sys as nvrtc;
use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_void};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A card and one in-order stream.
pub struct Cuda {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    name: String,
    /// In the compiler's notation, for example sm_90.
    architecture: String,
    multiprocessors: usize,
    shared_bytes: usize,
}

/// The first compute capability with the asynchronous copies and 16 × 32 × 8 byte products of the kernels.
const LEAST: (i32, i32) = (8, 0);

/// Whether compute capability `major`.`minor` suffices; later ones include earlier ones.
fn served(major: i32, minor: i32) -> bool {
    (major, minor) >= LEAST
}

/// An error for the failed action `what`.
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
        // SAFETY: looks for the driver's library, whose initialisers run in every program that uses it.
        if !unsafe { sys::is_culib_present() } {
            return Err(GpuError::NoDriver);
        }
        // SAFETY: looks for a library whose initialisers run in every program that uses it.
        if !unsafe { nvrtc::is_culib_present() } {
            return Err(GpuError::NoCompiler);
        }
        let context = CudaContext::new(0).map_err(|error| GpuError::NoCard { cause: said(error) })?;
        // SAFETY: everything uses one stream, in order, so events have nothing to order.
        unsafe { context.disable_event_tracking() };
        let ask = |attribute, what: &str| {
            context.attribute(attribute).map(|value| value as usize).map_err(failed(format!("report its {what}")))
        };
        let name = context.name().map_err(failed("report its name"))?;
        let (major, minor) = context.compute_capability().map_err(failed("report its compute capability"))?;
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

    /// Total bytes of its memory.
    ///
    /// # Errors
    /// [`GpuError::Driver`].
    pub fn memory_bytes(&self) -> Result<u64, GpuError> {
        self.context.mem_get_info().map(|(_, total)| total as u64).map_err(failed("report its memory"))
    }

    fn cubin(&self, source: &Source) -> Result<Vec<u8>, GpuError> {
        let (text, option) = (source.text(None), option(&self.architecture));
        let mut version = [0; 2];
        // SAFETY: two places for two numbers.
        let status = unsafe {
            let [major, minor] = &mut version;
            nvrtc::nvrtcVersion(major, minor)
        };
        let make = || compile(&text, &option, &self.architecture);
        match Cache::of_user() {
            Some(cache) if status == nvrtc::nvrtcResult::NVRTC_SUCCESS => {
                let version = version.map(i32::to_le_bytes);
                cache.get(&[text.as_bytes(), option.as_bytes(), version.as_flattened()], make)
            }
            _ => make(),
        }
    }
}

/// The compiler option for `architecture`.
fn option(architecture: &str) -> String {
    format!("--gpu-architecture={architecture}")
}

/// A C string of a text without zeros.
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
    // SAFETY: the texts end with zeros and outlive the call; there are no headers.
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

/// Page-locked host memory.
pub struct Pinned {
    start: *mut u8,
    bytes: usize,
    context: Arc<CudaContext>,
}

// SAFETY: it is owned, ordinary memory.
unsafe impl Send for Pinned {}
// SAFETY: as above.
unsafe impl Sync for Pinned {}

impl Drop for Pinned {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: allocated by `pinned`, and not used again: transfers have completed.
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

/// A graph of launches, and its kernels.
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
            // SAFETY: made by `record`, and not used again; its running part ends first.
            let _ = unsafe { result::graph::exec_destroy(self.graph) };
        }
    }
}

/// A graph under construction.
struct Drawing(sys::CUgraph);

impl Drop for Drawing {
    fn drop(&mut self) {
        // SAFETY: made by `record`, and not used again.
        let _ = unsafe { result::graph::destroy(self.0) };
    }
}

impl Drawing {
    /// Adds `call`, which begins after the nodes `after`.
    ///
    /// # Safety
    /// As for [`Device::launch`].
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
        // SAFETY: the caller writes before anything is read.
        unsafe { self.stream.alloc::<u8>(bytes.max(1)) }.map_err(|error| {
            let free = self.context.mem_get_info().map_or(0, |(free, _)| free as u64);
            match error.0 {
                sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => GpuError::Memory { what, needed: bytes as u64, free },
                _ => failed(format!("allocate {what}"))(error),
            }
        })
    }

    fn upload(&self, bytes: &[u8], what: &'static str) -> Result<Self::Buffer, GpuError> {
        let mut buffer = self.allocate(bytes.len(), what)?;
        if !bytes.is_empty() {
            self.stream.memcpy_htod(bytes, &mut buffer).map_err(failed(format!("copy {what}")))?;
        }
        Ok(buffer)
    }

    fn download(&self, buffer: &Self::Buffer, bytes: &mut [u8]) -> Result<(), GpuError> {
        if !bytes.is_empty() {
            self.stream.memcpy_dtoh(&buffer.slice(..bytes.len()), bytes).map_err(failed("return its results"))?;
        }
        self.finish()
    }

    fn pinned(&self, bytes: usize) -> Result<Pinned, GpuError> {
        self.context.bind_to_thread().map_err(failed("serve this thread"))?;
        // SAFETY: zeroed before it is read.
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
        // SAFETY: the buffer has as many bytes, and the call waits until the driver has read them.
        unsafe { result::memcpy_htod_async(to, bytes, self.stream.cu_stream()) }
            .map_err(failed("receive its inputs"))?;
        self.finish()
    }

    fn read(&self, buffer: &Self::Buffer, offset: usize, bytes: &mut [u8]) -> Result<(), GpuError> {
        assert!(offset + bytes.len() <= buffer.len(), "within the buffer");
        self.context.bind_to_thread().map_err(failed("serve this thread"))?;
        let from = self.address(buffer) + offset as u64;
        // SAFETY: the buffer has as many bytes, and the call waits.
        unsafe { result::memcpy_dtoh_async(bytes, from, self.stream.cu_stream()) }
            .map_err(failed("return its results"))?;
        self.finish()
    }

    fn address(&self, buffer: &Self::Buffer) -> u64 {
        buffer.device_ptr(&self.stream).0
    }

    unsafe fn launch(&self, kernels: &Self::Kernels, launch: Launch, arguments: &[u64]) -> Result<(), GpuError> {
        let Launch { kernel, blocks, threads, shared_bytes } = launch;
        self.context.bind_to_thread().map_err(failed("serve this thread"))?;
        // The driver copies as many bytes as the kernel's argument has: the lower half for a 32-bit integer.
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
        // SAFETY: makes a graph, which the drawing destroys.
        unsafe { sys::cuGraphCreate(&mut graph, 0) }.result().map_err(refused())?;
        let drawing = Drawing(graph);
        let mut before: Vec<sys::CUgraphNode> = Vec::new();
        for level in levels {
            let mut ends = Vec::with_capacity(level.len());
            for chain in level {
                // Edges from all chains of a level to all of the next: an empty node in between is much slower.
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
        // SAFETY: the graph is complete.
        let graph = unsafe { result::graph::instantiate(drawing.0, sys::CUgraphInstantiate_flags(0)) };
        let graph = graph.map_err(refused())?;
        Ok(Recording { graph, context: Arc::clone(&self.context), _kernels: kernels.values().cloned().collect() })
    }

    unsafe fn play(&self, recording: &Recording) -> Result<(), GpuError> {
        self.context.bind_to_thread().map_err(failed("serve this thread"))?;
        // SAFETY: the caller's.
        unsafe { result::graph::launch(recording.graph, self.stream.cu_stream()) }
            .map_err(failed("start the recording"))
    }

    fn finish(&self) -> Result<(), GpuError> {
        self.stream.synchronize().map_err(failed("finish its launches"))
    }
}

#[cfg(test)]
mod tests {
    //! Which cards are supported?

    use super::*;

    #[test]
    fn cards_before_8_0_are_rejected_with_both_capabilities() {
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
