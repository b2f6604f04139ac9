"""Where in the user's source something was written."""

from __future__ import annotations

import sys
from pathlib import Path

from ..errors import ProgramError

_LANGUAGE = Path(__file__).resolve().parent
_PACKAGE = _LANGUAGE.parent


def place() -> tuple[str, int]:
    """File and line of the innermost frame outside this package's language."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(str(_LANGUAGE)):
        frame = frame.f_back
    return _short(frame.f_code.co_filename), frame.f_lineno


def _short(file: str) -> str:
    path = Path(file)
    for root in (_PACKAGE.parent, Path.cwd()) if path.is_relative_to(_PACKAGE) else (Path.cwd(),):
        if path.is_relative_to(root):
            return str(path.relative_to(root))
    return path.name


def refuse(message: str) -> ProgramError:
    """The error `message`, with the user's place in front."""
    file, line = place()
    return ProgramError(f"{file}:{line}: {message}")
