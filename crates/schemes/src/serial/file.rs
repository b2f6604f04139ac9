//! Reads and writes whole files.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use blake3::Hasher;
use polyfabric_kernels::{Torus, cancel};
use zeroize::{Zeroize, Zeroizing};

use super::error::{FileError, FormatError};
use super::{Family, Fields, FileKind, Storable};

/// Bytes converted at a time.
const CHUNK: usize = 1 << 16;

/// Bytes written between two flushes to disk: a tenth of a second on a slow disk, so that writing a large file can be cancelled quickly.
const SYNCED: usize = 8 << 20;

/// Bytes of the checksum.
const CHECKSUM: u64 = 32;

/// Writes and hashes the bytes of a file in order.
#[doc(hidden)]
pub struct Sink<'a> {
    target: &'a mut dyn Write,
    hasher: Hasher,
}

impl Sink<'_> {
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        cancel::check();
        self.hasher.update(bytes);
        self.target.write_all(bytes)
    }

    pub(crate) fn torus<T: Torus>(&mut self, elements: &[T]) -> std::io::Result<()> {
        let width = size_of::<T>();
        let mut buffer = Vec::with_capacity(CHUNK);
        for chunk in elements.chunks(CHUNK / width) {
            buffer.clear();
            chunk.iter().for_each(|element| buffer.extend(&element.to_u64().to_le_bytes()[..width]));
            self.bytes(&buffer)?;
        }
        Ok(())
    }
}

/// Wipes the hasher, which keeps the last block, possibly of a client key.
impl Drop for Sink<'_> {
    fn drop(&mut self) {
        self.hasher.zeroize();
    }
}

/// Reads and hashes the bytes of a file in order, and counts the remaining ones.
#[doc(hidden)]
pub struct Reader<'a> {
    source: &'a mut dyn Read,
    left: u64,
    hasher: Hasher,
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        self.hasher.zeroize();
    }
}

impl<'a> Reader<'a> {
    pub(crate) fn new(source: &'a mut dyn Read, length: u64) -> Self {
        Self { source, left: length, hasher: Hasher::new() }
    }

    /// Bytes of the file not yet read.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    pub(crate) fn require(&self, what: &'static str, needed: u64) -> Result<(), FormatError> {
        if needed > self.left {
            return Err(FormatError::Truncated { what, needed, available: self.left });
        }
        Ok(())
    }

    pub(crate) fn bytes(&mut self, what: &'static str, bytes: &mut [u8]) -> Result<(), FormatError> {
        cancel::check();
        self.require(what, bytes.len() as u64)?;
        self.source.read_exact(bytes).map_err(FormatError::io("read the file"))?;
        self.left -= bytes.len() as u64;
        self.hasher.update(bytes);
        Ok(())
    }

    pub(crate) fn u32(&mut self, what: &'static str) -> Result<u32, FormatError> {
        let mut bytes = [0; 4];
        self.bytes(what, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    pub(crate) fn u64(&mut self, what: &'static str) -> Result<u64, FormatError> {
        let mut bytes = [0; 8];
        self.bytes(what, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Reads `count` torus elements; allocates only as much as the file contains.
    pub(crate) fn torus<T: Torus>(&mut self, what: &'static str, count: usize) -> Result<Vec<T>, FormatError> {
        let width = size_of::<T>();
        self.require(what, count as u64 * width as u64)?;
        let mut elements = Vec::with_capacity(count);
        let mut buffer = vec![0; CHUNK.min(count * width)];
        while elements.len() < count {
            let bytes = &mut buffer[..CHUNK.min((count - elements.len()) * width)];
            self.bytes(what, bytes)?;
            elements.extend(bytes.chunks_exact(width).map(|chunk| {
                let mut word = [0; 8];
                word[..width].copy_from_slice(chunk);
                T::from_u64(u64::from_le_bytes(word))
            }));
        }
        Ok(elements)
    }
}

/// Writes `content` to a file atomically.
///
/// # Errors
/// [`FormatError::Io`], also if a device or pipe has that name; existing data is then untouched.
pub fn save<S: Storable>(content: &S, path: &Path) -> Result<(), FileError> {
    let wrap = |cause| FileError { path: path.to_owned(), cause };
    if fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        let error = std::io::Error::other("the path is a device or a pipe; choose another one");
        return Err(wrap(FormatError::io("create the file")(error)));
    }
    let (temporary, file) =
        create_next_to(path, S::KIND.is_private()).map_err(FormatError::io("create the file")).map_err(wrap)?;
    let temporary = Temporary(Some(temporary));
    write_file(content, file).and_then(|()| temporary.renamed(path)).and_then(|()| sync_folder(path)).map_err(wrap)
}

/// Flushes a file's directory entry to disk: without it, a new file may vanish after a power failure. Does nothing where directories cannot
/// be opened or flushed.
fn sync_folder(path: &Path) -> Result<(), FormatError> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(folder) = File::open(parent) else { return Ok(()) };
    match folder.sync_all() {
        Err(error) if !matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {
            Err(FormatError::io("flush the folder to the disk")(error))
        }
        _ => Ok(()),
    }
}

/// A file that is removed unless it is renamed to its final path: on failure or cancellation.
struct Temporary(Option<PathBuf>);

impl Temporary {
    fn renamed(mut self, path: &Path) -> Result<(), FormatError> {
        if let Some(own) = &self.0 {
            fs::rename(own, path).map_err(FormatError::io("move the finished file to its name"))?;
        }
        self.0 = None;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(own) = &self.0 {
            // Report the first failure, not this one.
            let _ = fs::remove_file(own);
        }
    }
}

/// Flushes a file to disk in parts, so that the system does not buffer it whole and stall at the end.
struct InParts {
    file: File,
    waiting: usize,
}

impl Write for InParts {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.waiting += count;
        if self.waiting >= SYNCED {
            self.file.sync_data()?;
            self.waiting = 0;
            cancel::check();
        }
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

/// Creates a new file next to `path`. Never opens an existing one, whose permissions or link target may be someone else's.
fn create_next_to(path: &Path, private: bool) -> std::io::Result<(PathBuf, File)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if private {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    loop {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}-{}.part", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
        let temporary = path.with_file_name(name);
        match options.open(&temporary) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            opened => return opened.map(|file| (temporary, file)),
        }
    }
}

fn write_file<S: Storable>(content: &S, file: File) -> Result<(), FormatError> {
    let refused = FormatError::io("write the file");
    let mut parts = InParts { file, waiting: 0 };
    let file = if S::KIND.is_private() {
        // Wiped when dropped, unlike a buffer.
        let mut bytes = Zeroizing::new(Vec::with_capacity(file_bytes(content)));
        write_to(content, &mut *bytes).and_then(|()| parts.write_all(&bytes)).map_err(refused)?;
        parts.file
    } else {
        let mut buffered = BufWriter::new(parts);
        write_to(content, &mut buffered).map_err(FormatError::io("write the file"))?;
        buffered.into_inner().map_err(|error| refused(error.into_error()))?.file
    };
    file.sync_all().map_err(FormatError::io("flush the file to the disk"))
}

/// Length of `content`'s file: magic, version, kind, length of the parameters, parameters, length of the payload, payload, checksum.
fn file_bytes<S: Storable>(content: &S) -> usize {
    let block = S::Family::encode(content.parameters()).len();
    S::Family::MAGIC.len() + 3 * size_of::<u32>() + block + size_of::<u64>() + content.payload_bytes() as usize + 32
}

/// Writes `content`'s file to `target`.
pub(crate) fn write_to<S: Storable>(content: &S, target: &mut dyn Write) -> std::io::Result<()> {
    let block = S::Family::encode(content.parameters());
    let mut sink = Sink { target, hasher: Hasher::new() };
    sink.bytes(&S::Family::MAGIC)?;
    sink.bytes(&S::Family::VERSION.to_le_bytes())?;
    sink.bytes(&S::KIND.code().to_le_bytes())?;
    sink.bytes(&(block.len() as u32).to_le_bytes())?;
    sink.bytes(&block)?;
    sink.bytes(&content.payload_bytes().to_le_bytes())?;
    content.write_payload(&mut sink)?;
    let checksum = *sink.hasher.finalize().as_bytes();
    sink.target.write_all(&checksum)
}

/// The bytes of `content`'s file.
///
/// # Errors
/// [`FormatError::Io`], with `name` as the path.
pub fn to_bytes<S: Storable>(content: &S, name: &str) -> Result<Vec<u8>, FileError> {
    // Reserves all bytes at once: a reallocation would leave parts of a key unwiped.
    let mut bytes = Vec::with_capacity(file_bytes(content));
    let written = write_to(content, &mut bytes).map_err(FormatError::io("write it"));
    written.map(|()| bytes).map_err(|cause| FileError { path: name.into(), cause })
}

/// Parses bytes from [`to_bytes`] or from a file; errors name it `name`.
///
/// # Errors
/// As [`load`].
pub fn from_bytes<S: Storable>(bytes: &[u8], name: &str) -> Result<S, FileError> {
    read_slice(bytes, name, None, S::read_payload)
}

/// [`from_bytes`] of a file that must have the set `expected`; `read` reads its payload.
///
/// # Errors
/// As [`load`]; [`FormatError::Set`] before the payload is read.
pub fn from_bytes_of<S: Storable>(
    bytes: &[u8],
    name: &str,
    expected: &ParametersOf<S>,
    read: impl FnOnce(ParametersOf<S>, u64, &mut Reader<'_>) -> Result<S, FormatError>,
) -> Result<S, FileError> {
    read_slice(bytes, name, Some(expected), read)
}

fn read_slice<S: Storable>(
    mut bytes: &[u8],
    name: &str,
    expected: Option<&ParametersOf<S>>,
    read: impl FnOnce(ParametersOf<S>, u64, &mut Reader<'_>) -> Result<S, FormatError>,
) -> Result<S, FileError> {
    let length = bytes.len() as u64;
    read_as(&mut bytes, length, expected, read).map_err(|cause| FileError { path: name.into(), cause })
}

/// Reads a file of `S`'s kind.
///
/// # Errors
/// [`FormatError`] for another kind, version or program, damage, or an operating-system error.
pub fn load<S: Storable>(path: &Path) -> Result<S, FileError> {
    read_path(path, None, S::read_payload)
}

/// [`load`] of a file that must have the set `expected`; `read` reads its payload.
///
/// # Errors
/// As [`load`]; [`FormatError::Set`] before the payload is read.
pub fn load_of<S: Storable>(
    path: &Path,
    expected: &ParametersOf<S>,
    read: impl FnOnce(ParametersOf<S>, u64, &mut Reader<'_>) -> Result<S, FormatError>,
) -> Result<S, FileError> {
    read_path(path, Some(expected), read)
}

fn read_path<S: Storable>(
    path: &Path,
    expected: Option<&ParametersOf<S>>,
    read: impl FnOnce(ParametersOf<S>, u64, &mut Reader<'_>) -> Result<S, FormatError>,
) -> Result<S, FileError> {
    let wrap = |cause| FileError { path: path.to_owned(), cause };
    let mut file = File::open(path).map_err(FormatError::io("open the file")).map_err(wrap)?;
    let metadata = file.metadata().map_err(FormatError::io("read the file's length")).map_err(wrap)?;
    read_as(&mut file, metadata.len(), expected, read).map_err(wrap)
}

/// The parameters of a file's family.
type ParametersOf<S> = <<S as Storable>::Family as Family>::Parameters;

/// The scheme whose files start with `magic`.
fn scheme_of(magic: [u8; 8]) -> Option<&'static str> {
    match &magic {
        b"PLYF_BGV" => Some("BGV"),
        b"PLYFCKKS" => Some("CKKS"),
        b"PLYFJOIN" => Some("several parties"),
        b"PLYFTFHE" => Some("TFHE"),
        _ => None,
    }
}

/// Reads the content of a file of `length` bytes.
#[cfg(test)]
pub(crate) fn read_from<S: Storable>(source: &mut dyn Read, length: u64) -> Result<S, FormatError> {
    read_as(source, length, None, S::read_payload)
}

/// Reads the content of a file of `length` bytes, its payload with `read`. If `expected` is given, the parameter block must be equal.
fn read_as<S: Storable>(
    source: &mut dyn Read,
    length: u64,
    expected: Option<&ParametersOf<S>>,
    read: impl FnOnce(ParametersOf<S>, u64, &mut Reader<'_>) -> Result<S, FormatError>,
) -> Result<S, FormatError> {
    let mut reader = Reader::new(source, length);
    let mut magic = [0; 8];
    reader.bytes("the file's mark", &mut magic)?;
    if magic != S::Family::MAGIC {
        if let (Some(found), Some(expected)) = (scheme_of(magic), scheme_of(S::Family::MAGIC)) {
            return Err(FormatError::Scheme { found, expected });
        }
        return Err(FormatError::Magic { expected: String::from_utf8_lossy(&S::Family::MAGIC).into_owned() });
    }
    let version = reader.u32("the format version")?;
    if version != S::Family::VERSION {
        return Err(FormatError::Version { found: version, read: S::Family::VERSION });
    }
    let code = reader.u32("the kind of content")?;
    let kind = <S::Family as Family>::Kind::from_code(code).ok_or(FormatError::UnknownKind(code))?;
    if kind != S::KIND {
        return Err(FormatError::Kind { found: kind.to_string(), expected: S::KIND.to_string() });
    }
    let block_length = reader.u32("the length of the parameter block")?;
    if block_length > S::Family::MAX_PARAMETERS {
        return Err(FormatError::ParameterBlock("it is longer than any parameter block"));
    }
    let mut block = vec![0; block_length as usize];
    reader.bytes("the parameter block", &mut block)?;
    if let Some(expected) = expected {
        expect_block(&block, &S::Family::encode(expected))?;
    }
    let parameters = S::Family::decode(&block)?;
    let payload = reader.u64("the length of the content")?;
    let needed = payload.saturating_add(CHECKSUM);
    reader.require("the content and its checksum", needed)?;
    if reader.left > needed {
        return Err(FormatError::Trailing(reader.left - needed));
    }
    let content = read(parameters, payload, &mut reader)?;
    let computed = *reader.hasher.finalize().as_bytes();
    let mut stored = [0; CHECKSUM as usize];
    reader.bytes("the checksum", &mut stored)?;
    if computed != stored {
        return Err(FormatError::Checksum);
    }
    Ok(content)
}

/// Fails unless a parameter block equals `expected`. It is not decoded, because checking an adversarial set can take long.
fn expect_block(block: &[u8], expected: &[u8]) -> Result<(), FormatError> {
    // Every family's block begins with the name. A file's may contain anything.
    let name = |block: &[u8]| Fields(block).name().map(|name| name.chars().take(64).collect::<String>());
    let (found, needed) = (name(block)?.escape_debug().to_string(), name(expected)?);
    if block == expected {
        return Ok(());
    }
    let found = if found == needed { format!("{found} with other figures") } else { found };
    Err(FormatError::Set { found, expected: needed })
}
