"""Files and folders that are written whole, or not at all."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from .computer import available_bytes
from .errors import FileError, InputError, shown


def path_of(place: str | Path) -> Path:
    """The path of a file or a folder that a caller names."""
    if not isinstance(place, str | os.PathLike) or "\0" in os.fspath(place):
        raise InputError(
            f"a file or a folder is named by its path, not by {shown(place)}; give a str or a pathlib.Path"
        )
    return Path(place)


def bytes_of(data: bytes, what: str) -> bytes:
    """What a caller gives as bytes."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise InputError(f"{what}: its bytes are read, not {shown(data):.80}; give what to_bytes() gives")
    return bytes(data)


def made_folder(folder: str | Path) -> Path:
    """The folder, made if it is not there; then it stays after a power failure."""
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
    """Refuses a folder that cannot be made, as `made_folder` does, without making it."""
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
    """Refuses to work in a folder that is gone."""
    try:
        Path.cwd()
    except OSError as error:
        raise FileError(f"the working folder is gone ({error.strerror}); change to another one") from error


def expect_file(path: str | Path) -> None:
    """Refuses a file that cannot be written, as writing it would, without touching it."""
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
    """Whether a device or a pipe is there, which is written to and never replaced. An open descriptor that is neither is refused."""
    folder = os.path.realpath(path.parent)
    if path.is_file() and path.is_symlink() and (folder == "/dev" or folder.startswith("/proc/")):
        raise FileError(f"{path}: cannot write, it is a file that is open already; name the file itself")
    return path.exists() and not path.is_file() and not path.is_dir()


def _unwritten(path: Path, reason: str | None) -> FileError:
    return FileError(f"{path}: cannot write ({reason}); check that the folder exists and that you may write there")


def expect_whole(path: Path) -> None:
    """Refuses a device or a pipe: its length is not known, and whoever opens a pipe may wait for ever."""
    try:
        stream = path.exists() and not path.is_file() and not path.is_dir()
    except OSError:
        # Told by who opens it.
        return
    if stream:
        raise FileError(f"{path}: it is a device or a pipe, whose length is not known; name a file")


def read_bytes(path: Path, most: int | None = None) -> bytes:
    """The content of a file, of no more than `most` bytes; without that it may have as many as memory is left, and is no device or pipe, whose end nobody
    knows."""
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
        raise FileError(f"{path}: {size:,} bytes or more, and {limit:,} {what}; check the path")
    return data


def write_text(path: Path, text: str, *, private: bool = False) -> None:
    """Writes a file whole or not at all; a private one for its owner alone."""
    write_bytes(path, text.encode(), private=private)


def write_bytes(path: Path, data: bytes, *, private: bool = False) -> None:
    """Writes a file whole or not at all; a private one for its owner alone. Whoever reads it meanwhile finds the old one, or this one. A device or a
    pipe is written to as it is, except by a private file. When it returns, the file stays after a power failure."""
    try:
        if _is_stream(path):
            if private:
                raise FileError(f"{path}: a private file is not written to a device or a pipe; name a file of your own")
            with path.open("wb") as stream:
                stream.write(data)
            return
        with _beside(path) as temporary:
            # Never an existing file, whose permissions or link target would be another's.
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
            _sync(path.parent)
    except OSError as error:
        raise _unwritten(path, error.strerror) from error


def write_new(path: Path, write: Callable[[Path], object]) -> None:
    """Writes a file whole or not at all, and in the place of none: also of none that comes while it is written."""
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
    """Writes files of one folder, which is made if it is not there; or, where one cannot be written, none, and those that were there stay. Those of `new`
    take the place of none, as `write_new` writes them."""
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
    """Flushes the names of a folder's files to the disk, where the system can: a new file has its name after a power failure then."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        # A folder that may not be listed, or a system that opens none.
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
    """Messages have the name that a file will have, and not that under which it is written."""
    try:
        yield
    except FileError as error:
        raise FileError(str(error).replace(temporary, name)) from error


def _put_new(made: Path, place: Path) -> None:
    """Gives a file its name, unless another file has it, in one step where the file system has hard links."""
    try:
        place.hardlink_to(made)
    except OSError as error:
        if isinstance(error, FileExistsError) or os.path.lexists(place):
            raise FileError(
                f"{place}: there is another file, which this one would replace; name another place"
            ) from None
        made.rename(place)
    else:
        made.unlink()


def _move(stage: Path, target: Path, names: list[str], new: Collection[str]) -> None:
    """Moves files of `stage` to `target`; those that were there come back where one cannot be moved."""
    taken: list[str] = []
    try:
        for name in names:
            if (target / name).exists() and not (target / name).is_file():
                what = "a folder" if (target / name).is_dir() else "a device or a pipe"
                raise FileError(f"{target / name}: cannot write, it is {what}; move it away, or name another place")
            # Before it is: whoever is interrupted may have moved it.
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
    """Whether two names are of one file: a new one has both for a moment."""
    try:
        return one.samefile(other)
    except OSError:
        return False


@contextmanager
def _stage(target: Path) -> Iterator[Path]:
    """A folder in `target` for files that are moved when all of them are written. It is gone with what is left in it."""
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
    """A name beside `path` that nobody else has. What is left there is removed."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        yield temporary
    finally:
        _remove(temporary)


def _remove(temporary: Path) -> None:
    """Removes a temporary file, or a folder of some; it may hold a secret key, so a Ctrl-C that comes meanwhile is waited out."""
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
