"""The argument of a reader of other tools' programs: a text, or the path of its file."""

from __future__ import annotations

from pathlib import Path

from ..errors import InputError
from .files import read_bytes


def text_of(given: str | Path, *, reader: str, file: str, largest: int, marks: str = "\n") -> tuple[str, str]:
    """The text, and its name in messages. It is `given` itself if that has one of `marks`, which no path has.

    `reader` is the function that the user called, `file` says which file it takes, and `largest` is the most bytes that are read.
    """
    if isinstance(given, str) and any(mark in given for mark in marks):
        return given, reader.removeprefix("from_")
    if not isinstance(given, str | Path) or given == "":
        what = "an empty text" if isinstance(given, str) else type(given).__name__
        raise InputError(f"{reader}: {what} is neither a path nor a text; give {file}")
    path = Path(given)
    try:
        return read_bytes(path, largest).decode(), str(path)
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not a text file ({error.reason} at byte {error.start}); check the path") from None
