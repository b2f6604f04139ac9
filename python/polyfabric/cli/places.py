"""Files and folders that a command writes, refused before it computes anything."""

from __future__ import annotations

from pathlib import Path

import click

from ..errors import FileError
from ..files import expect_file, expect_folder


def file(_context: click.Context, _option: click.Parameter, path: Path | None) -> Path | None:
    """A file that can be written."""
    if path is not None:
        expect_file(path)
    return path


def machine_file(context: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
    """A file that can be written, with a name by which commands know a machine file."""
    file(context, option, path)
    if path is not None and path.suffix != ".toml" and not path.is_char_device() and not path.is_fifo():
        raise FileError(f"{path}: a machine file is known by the end of its name; name it {path.stem}.toml")
    return path


def plot(context: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
    """A file that can be written, of a kind that plots are drawn as."""
    if path is not None:
        from ..reports.plots import expect_kind

        expect_kind(path)
    return file(context, option, path)


def folder(_context: click.Context, _option: click.Parameter, path: Path | None) -> Path | None:
    """A folder that can be made and written."""
    if path is not None:
        expect_folder(path)
    return path
