//! Caches compiled kernels in a folder across processes.
//!
//! A file's name is a digest of its inputs: text, options, compiler. The file begins with a digest of its name and content; if that does not match, the
//! file is recompiled and replaced. Files are written next to their final path and renamed, so that no reader sees a partial one. A digest does not
//! authenticate the writer, so folders writable by others are not used.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The environment variable that names the folder; if empty, nothing is cached.
const VARIABLE: &str = "POLYFABRIC_KERNEL_CACHE";
/// Bytes of a digest.
const DIGEST: usize = 32;
/// Maximum size of a file, a hundred times that of actual kernels.
const MOST_BYTES: u64 = 64 << 20;

/// A folder of compiled kernels that only its owner can write.
#[derive(Debug)]
pub(super) struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The user's folder, if it exists or can be created.
    pub(super) fn of_user() -> Option<Self> {
        Self::open(folder(|name| std::env::var_os(name))?)
    }

    /// Opens or creates `folder`; `None` if others can write there, or this process cannot.
    fn open(folder: PathBuf) -> Option<Self> {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&folder).ok()?;
        is_own(&folder).then_some(Self { folder })
    }

    /// The cached result of `make` for `parts`; calls `make` if it is missing.
    ///
    /// # Errors
    /// Those of `make`; a failure to write the cache is ignored.
    pub(super) fn get<E>(&self, parts: &[&[u8]], make: impl FnOnce() -> Result<Vec<u8>, E>) -> Result<Vec<u8>, E> {
        let path = self.path(parts);
        if let Some(kept) = read(&path) {
            return Ok(kept);
        }
        let made = make()?;
        // On failure the next process compiles again.
        let _ = write(&path, &made);
        Ok(made)
    }

    fn path(&self, parts: &[&[u8]]) -> PathBuf {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            // Lengths separate the parts.
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        self.folder.join(format!("{}.cubin", hasher.finalize().to_hex()))
    }
}

/// The folder in `variable`: [`VARIABLE`], or polyfabric/kernels in `XDG_CACHE_HOME` or in .cache of the home directory.
fn folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    if let Some(named) = variable(VARIABLE) {
        return (!named.is_empty()).then(|| named.into());
    }
    // Relative paths must be ignored (XDG Base Directory Specification 0.8).
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(caches.join("polyfabric").join("kernels"))
}

/// Whether `folder` belongs to this process's user and nobody else can write there.
#[cfg(target_os = "linux")]
fn is_own(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    const OTHERS_WRITE: u32 = 0o022;
    let (Ok(folder), Ok(process)) = (std::fs::metadata(folder), std::fs::metadata("/proc/self")) else { return false };
    folder.uid() == process.uid() && folder.mode() & OTHERS_WRITE == 0
}

/// On Windows a folder in a profile belongs to its user; elsewhere there is no NVIDIA driver.
#[cfg(not(target_os = "linux"))]
fn is_own(_: &Path) -> bool {
    cfg!(windows)
}

/// Includes the name, so that a renamed file is invalid.
fn digest(path: &Path, content: &[u8]) -> [u8; DIGEST] {
    let name = path.file_name().unwrap_or_default();
    *blake3::Hasher::new().update(name.as_encoded_bytes()).update(content).finalize().as_bytes()
}

fn read(path: &Path) -> Option<Vec<u8>> {
    if !std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() <= MOST_BYTES) {
        return None;
    }
    let file = std::fs::read(path).ok()?;
    let (found, content) = file.split_at_checked(DIGEST)?;
    (found == digest(path, content)).then(|| content.to_vec())
}

fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let partial = path.with_extension(format!("{}-{number}", std::process::id()));
    // An existing file belongs to another process with the same number on another machine.
    let mut file = std::fs::File::create_new(&partial)?;
    let written = file.write_all(&digest(path, content)).and_then(|()| file.write_all(content));
    let written = written.and_then(|()| std::fs::rename(&partial, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&partial);
    }
    written
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    //! Are cached files found again, others rejected, and folders writable by others not used?

    use super::*;
    use std::convert::Infallible;
    use std::fs::Permissions;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("polyfabric-cache-{}-{name}", std::process::id()));
            let _ = std::fs::remove_dir_all(&folder);
            Self(folder)
        }

        fn cache(&self) -> Cache {
            Cache::open(self.0.join("polyfabric").join("kernels")).unwrap()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    /// The result of `cache` for `parts`, where making returns `made`.
    fn got(cache: &Cache, parts: &[&[u8]], made: &[u8]) -> Vec<u8> {
        let Ok(found) = cache.get(parts, || Ok::<_, Infallible>(made.to_vec()));
        found
    }

    #[test]
    fn what_was_made_is_made_once() {
        let folder = Folder::new("once");
        assert_eq!(got(&folder.cache(), &[b"text", b"sm_90"], b"first"), b"first");
        assert_eq!(got(&folder.cache(), &[b"text", b"sm_90"], b"second"), b"first");
        assert_eq!(got(&folder.cache(), &[b"text", b"sm_80"], b"second"), b"second");
        assert_eq!(got(&folder.cache(), &[b"texts", b"m_90"], b"third"), b"third");
        let kept = folder.cache().folder;
        assert_eq!(std::fs::read_dir(kept).unwrap().count(), 3, "no temporary file is left");
    }

    #[test]
    fn failures_are_not_cached() {
        let folder = Folder::new("failed");
        assert_eq!(folder.cache().get(&[b"text"], || Err("no")), Err("no"));
        assert_eq!(std::fs::read_dir(folder.cache().folder).unwrap().count(), 0);
    }

    #[test]
    fn an_invalid_file_is_made_again() {
        let folder = Folder::new("damaged");
        let cache = folder.cache();
        let [path, other] = [cache.path(&[b"one"]), cache.path(&[b"other"])];
        type Damage = fn(&Path, &Path);
        let damages: [Damage; 6] = [
            |path, _| std::fs::write(path, b"").unwrap(),
            |path, _| std::fs::write(path, b"short").unwrap(),
            |path, _| {
                let mut bytes = std::fs::read(path).unwrap();
                *bytes.last_mut().unwrap() ^= 1;
                std::fs::write(path, bytes).unwrap();
            },
            |path, _| {
                let mut bytes = std::fs::read(path).unwrap();
                bytes.pop();
                std::fs::write(path, bytes).unwrap();
            },
            |path, other| assert!(std::fs::copy(other, path).unwrap() > 0),
            // Sparse: only its length is read.
            |path, _| std::fs::File::options().write(true).open(path).unwrap().set_len(MOST_BYTES + 1).unwrap(),
        ];
        for (number, damage) in damages.into_iter().enumerate() {
            let made = [number as u8; 40];
            got(&cache, &[b"one"], &made);
            got(&cache, &[b"other"], b"other");
            damage(&path, &other);
            assert_eq!(got(&cache, &[b"one"], b"anew"), b"anew", "damage {number}");
            assert_eq!(got(&cache, &[b"one"], b"again"), b"anew", "damage {number}");
            std::fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn nothing_is_cached_where_others_or_nobody_can_write() {
        let folder = Folder::new("open");
        let kept = folder.cache().folder;
        assert_eq!(std::fs::metadata(&kept).unwrap().mode() & 0o777, 0o700);
        for mode in [0o770, 0o707, 0o777] {
            std::fs::set_permissions(&kept, Permissions::from_mode(mode)).unwrap();
            assert!(Cache::open(kept.clone()).is_none(), "{mode:o}");
        }
        // Another user's folder: root changes its owner, or uses one of root's.
        std::fs::set_permissions(&kept, Permissions::from_mode(0o700)).unwrap();
        assert!(Cache::open(kept.clone()).is_some());
        if chown(&kept, Some(1), None).is_ok() {
            assert!(Cache::open(kept).is_none());
        } else {
            assert!(Cache::open("/".into()).is_none());
        }
        let file = folder.0.join("file");
        std::fs::write(&file, b"a file").unwrap();
        assert!(Cache::open(file.clone()).is_none());
        assert!(Cache::open(file.join("below")).is_none());
    }

    #[test]
    fn an_unwritable_folder_is_no_failure() {
        let folder = Folder::new("gone");
        let cache = folder.cache();
        std::fs::remove_dir_all(&cache.folder).unwrap();
        assert_eq!(got(&cache, &[b"one"], b"made"), b"made");
    }

    #[test]
    fn the_environment_names_the_folder() {
        let of = |set: &[(&str, &str)]| {
            folder(|name| set.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value)))
        };
        let home = ("HOME", "/home/me");
        assert_eq!(of(&[home]), Some("/home/me/.cache/polyfabric/kernels".into()));
        assert_eq!(of(&[home, ("XDG_CACHE_HOME", "/cache")]), Some("/cache/polyfabric/kernels".into()));
        assert_eq!(of(&[home, ("XDG_CACHE_HOME", "cache")]), Some("/home/me/.cache/polyfabric/kernels".into()));
        assert_eq!(of(&[home, (VARIABLE, "/mine")]), Some("/mine".into()));
        assert_eq!(of(&[home, (VARIABLE, "")]), None);
        assert_eq!(of(&[("HOME", "")]), None);
        assert_eq!(of(&[]), None);
    }
}
