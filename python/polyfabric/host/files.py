"""Atomic writes of files and folders."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import FileError, InputError, shown
from .computer import available_bytes


def path_of(place: str | Path) -> Path:
    """Checks and converts a path given by the caller."""
    if not isinstance(place, str | os.PathLike) or "\0" in os.fspath(place):
        raise InputError(f"{shown(place)} is not a path of a file or folder; give a str or a pathlib.Path")
    return Path(place)


def bytes_of(data: bytes, what: str) -> bytes:
    """Checks bytes given by the caller."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise InputError(f"{what}: expected bytes, not {shown(data):.80}; give the result of to_bytes()")
    return bytes(data)


def made_folder(folder: str | Path) -> Path:
    """Creates the folder if needed, durably."""
    target = path_of(folder)
    try:
        absent = [path for path in (target, *target.parents) if not path.exists()]
        target.mkdir(parents=True, exist_ok=True)
        for path in absent:
            _sync(path.parent)
    except OSError as error:
        raise FileError(f"{target}: cannot make this folder ({error.strerror}); name another one") from error
    return target


def expect_folder(folder: str | Path) -> None:
    """Rejects a folder that `made_folder` could not create, without creating it."""
    target = path_of(folder)
    try:
        nearest = next(path for path in (target, *target.parents) if path.exists())
        problem = None if nearest.is_dir() else errno.ENOTDIR
        if problem is None and not os.access(nearest, os.W_OK | os.X_OK):
            problem = errno.EACCES
    except OSError as error:
        problem = error.errno
    if problem is not None:
        raise FileError(f"{target}: cannot make this folder ({os.strerror(problem)}); name another one")


def expect_working_folder() -> None:
    """Fails if the working folder has been deleted."""
    try:
        Path.cwd()
    except OSError as error:
        raise FileError(f"the working folder was deleted ({error.strerror}); change to another one") from error


def expect_file(path: str | Path) -> None:
    """Rejects a file that could not be written, without touching it."""
    target = path_of(path)
    try:
        target.parent.stat()
        problem = errno.EISDIR if target.is_dir() else None
        if _is_stream(target):
            problem = None if os.access(target, os.W_OK) else errno.EACCES
        elif not target.parent.is_dir():
            problem = errno.ENOTDIR
        elif not os.access(target.parent, os.W_OK | os.X_OK):
            problem = errno.EACCES
    except OSError as error:
        problem = error.errno
    if problem is not None:
        raise _unwritten(target, os.strerror(problem))


def _is_stream(path: Path) -> bool:
    """Whether the path is a device or a pipe, which is written to directly and never replaced. Rejects other open descriptors."""
    folder = os.path.realpath(path.parent)
    if path.is_file() and path.is_symlink() and (folder == "/dev" or folder.startswith("/proc/")):
        raise FileError(f"{path}: cannot write through a descriptor of an open file; name the file itself")
    return path.exists() and not path.is_file() and not path.is_dir()


def _unwritten(path: Path, reason: str | None) -> FileError:
    return FileError(f"{path}: cannot write ({reason}); check that the folder exists and that you may write there")


def expect_whole(path: Path) -> None:
    """Rejects devices and pipes: their length is unknown, and opening a pipe may block forever."""
    try:
        stream = path.exists() and not path.is_file() and not path.is_dir()
    except OSError:
        # Opening the file will report the error.
        return
    if stream:
        raise FileError(f"{path}: a device or a pipe has no known length; name a file")


def read_bytes(path: Path, most: int | None = None) -> bytes:
    """Reads a file of at most `most` bytes. Without `most`, at most the free memory, and no devices or pipes, since they may be endless."""
    if most is None:
        expect_whole(path)
    limit = available_bytes() if most is None else most
    try:
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            data = b"" if limit is not None and found.st_size > limit else file.read(-1 if most is None else most + 1)
            size = max(found.st_size, len(data))
    except OSError as error:
        raise FileError(f"{path}: cannot read ({error.strerror}); check the path") from error
    if limit is not None and size > limit:
        what = "are left of memory" if most is None else "such a file has"
        raise FileError(f"{path}: {size:,} bytes or more, but only {limit:,} {what}; check the path")
    return data


def write_text(path: Path, text: str, *, private: bool = False) -> None:
    """Writes a text file atomically; a private one is readable only by its owner."""
    write_bytes(path, text.encode(), private=private)


def write_bytes(path: Path, data: bytes, *, private: bool = False) -> None:
    """Writes a file atomically and durably; a private one is readable only by its owner. Concurrent readers see the old or the new file. A
    device or a pipe is written to directly, except with a private file."""
    try:
        if _is_stream(path):
            if private:
                raise FileError(f"{path}: a private file cannot be a device or a pipe; name a regular file")
            with path.open("wb") as stream:
                stream.write(data)
            return
        with _beside(path) as temporary:
            # Never reuse an existing file, whose permissions or link target could be someone else's.
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
            _sync(path.parent)
    except OSError as error:
        raise _unwritten(path, error.strerror) from error


def put_in_place(made: Path, path: Path) -> None:
    """Moves a new file of the same file system to `path`, atomically and durably, instead of an earlier file."""
    try:
        descriptor = os.open(made, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        made.replace(path)
        _sync(path.parent)
    except OSError as error:
        raise _unwritten(path, error.strerror) from error


def write_new(path: Path, write: Callable[[Path], object]) -> None:
    """Writes a new file atomically; fails if the name exists, even if another process creates it meanwhile."""
    with _beside(path) as temporary:
        with _told_as(temporary.name, path.name):
            write(temporary)
        try:
            _put_new(temporary, path)
            _sync(path.parent)
        except OSError as error:
            raise _unwritten(path, error.strerror) from error


def write_together(
    folder: str | Path, files: Mapping[str, Callable[[Path], object]], *, new: Collection[str] = ()
) -> None:
    """Writes several files to one folder, creating it if needed: all or none, in which case existing files stay. Files in `new` must not
    exist, as in `write_new`."""
    target = path_of(folder)
    absent = [path for path in (target, *target.parents) if not path.exists()]
    try:
        made_folder(target)
        with _stage(target) as stage:
            with _told_as(f"{stage.name}{os.sep}", ""):
                for name, write in files.items():
                    write(stage / name)
            _move(stage, target, list(files), new)
    except BaseException:
        with suppress(OSError):
            for path in absent:
                path.rmdir()
        raise


def _sync(folder: Path) -> None:
    """Flushes a folder's entries to disk if the system supports it, so that new files survive a power failure."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        # The folder cannot be listed, or the system cannot open folders.
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


@contextmanager
def _told_as(temporary: str, name: str) -> Iterator[None]:
    """Replaces the temporary name in error messages by the final one."""
    try:
        yield
    except FileError as error:
        raise FileError(str(error).replace(temporary, name)) from error


def _put_new(made: Path, place: Path) -> None:
    """Moves a file to its final name unless that exists; atomic on file systems with hard links."""
    try:
        place.hardlink_to(made)
    except OSError as error:
        if isinstance(error, FileExistsError) or os.path.lexists(place):
            raise FileError(f"{place}: another file exists here and would be replaced; name another place") from None
        made.rename(place)
    else:
        made.unlink()


def _move(stage: Path, target: Path, names: list[str], new: Collection[str]) -> None:
    """Moves files from `stage` to `target`; restores replaced files if a move fails."""
    taken: list[str] = []
    try:
        for name in names:
            if (target / name).exists() and not (target / name).is_file():
                what = "a folder" if (target / name).is_dir() else "a device or a pipe"
                raise FileError(f"{target / name}: cannot write, it is {what}; move it away, or name another place")
            # Record it first, since an interruption may come after the move.
            taken.append(name)
            if name in new:
                _put_new(stage / name, target / name)
                continue
            with suppress(FileNotFoundError):
                (target / name).rename(stage / f"{name}.old")
            (stage / name).rename(target / name)
        _sync(target)
    except BaseException as error:
        for name in taken:
            if (stage / f"{name}.old").exists():
                (stage / f"{name}.old").replace(target / name)
            elif not (stage / name).exists() or _is_one(stage / name, target / name):
                (target / name).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise FileError(f"{target}: cannot write ({error.strerror}); check that you may write there") from error
        raise


def _is_one(one: Path, other: Path) -> bool:
    """Whether two names belong to the same file, as during `_put_new`."""
    try:
        return one.samefile(other)
    except OSError:
        return False


@contextmanager
def _stage(target: Path) -> Iterator[Path]:
    """A temporary folder in `target` for files that are moved together; removed with its contents."""
    stage = target / f".{secrets.token_hex(8)}.part"
    try:
        try:
            stage.mkdir(mode=0o700)
        except OSError as error:
            raise FileError(f"{target}: cannot write ({error.strerror}); check that you may write there") from error
        yield stage
    finally:
        _remove(stage)


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A unique temporary name in the folder of `path`; a remaining file is removed."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        yield temporary
    finally:
        _remove(temporary)


def _remove(temporary: Path) -> None:
    """Removes a temporary file or folder. It may contain a secret key, so Ctrl-C is deferred until then."""
    try:
        _remove_now(temporary)
    except KeyboardInterrupt:
        _remove_now(temporary)
        raise


def _remove_now(temporary: Path) -> None:
    with suppress(OSError):
        if not temporary.is_dir():
            temporary.unlink(missing_ok=True)
            return
        for path in temporary.iterdir():
            path.unlink()
        temporary.rmdir()
