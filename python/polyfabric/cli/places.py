"""Checks of the files and folders that a command writes, before it computes anything."""

from __future__ import annotations

from pathlib import Path

import click

from ..errors import FileError
from ..host.files import expect_file, expect_folder


def file(_context: click.Context, _option: click.Parameter, path: Path | None) -> Path | None:
    """Checks that the command can write this file."""
    if path is not None:
        expect_file(path)
    return path


def machine_file(context: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
    """Checks that the command can write this file and that its name ends in `.toml`."""
    file(context, option, path)
    if path is not None and path.suffix != ".toml" and not path.is_char_device() and not path.is_fifo():
        raise FileError(f"{path}: the name of a machine file ends in .toml; name it {path.stem}.toml")
    return path


def plot(context: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
    """Checks that the command can write this file and draws plots of its type."""
    if path is not None:
        from ..reports.plots import expect_kind

        expect_kind(path)
    return file(context, option, path)


def folder(_context: click.Context, _option: click.Parameter, path: Path | None) -> Path | None:
    """Checks that the command can create and write this folder."""
    if path is not None:
        expect_folder(path)
    return path
