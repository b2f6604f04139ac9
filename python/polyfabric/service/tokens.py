"""Tenants and their bearer tokens: a file with a line `TENANT SHA256` per token. The server stores no token.

A token has 256 random bits, so a plain hash cannot be inverted, and equal-time comparison of hashes reveals nothing.
"""

from __future__ import annotations

import hashlib
import logging
import re
import secrets
from hmac import compare_digest
from pathlib import Path

from ..errors import Error, FileError, InputError, shown
from ..host.files import expect_file, path_of, read_bytes, write_new, write_text

LOG = logging.getLogger("polyfabric.service")

TENANT = re.compile(r"[a-z0-9_-]{1,64}")

DIGEST = re.compile(r"[0-9a-f]{64}")

OPERATOR = "operator"
"""The tenant that may read the metrics, which show the work of all."""

MOST_BYTES = 1 << 20
"""Largest file of tokens; each line takes at most 130 bytes."""


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def make_token(path: str | Path, tenant: str) -> str:
    """A new token of the tenant, whose hash is appended to the file. Earlier tokens of the tenant stay valid until their lines are removed."""
    if not TENANT.fullmatch(tenant):
        raise InputError(
            f"{shown(tenant):.80} is not a tenant's name, which has 1 to 64 lower-case letters, digits, - and _; choose another name"
        )
    file = path_of(path)
    text = ""
    if file.exists():
        _parsed(file)
        text = read_bytes(file, MOST_BYTES).decode()
    token = secrets.token_urlsafe(32)
    before = text if not text or text.endswith("\n") else f"{text}\n"
    write_text(file, f"{before}{tenant} {_digest(token)}\n", private=True)
    return token


def make_token_file(path: str | Path, tenant: str, out: str | Path) -> None:
    """Writes a new token of the tenant to a new file, readable only by its owner, and appends its hash to the file of tokens."""

    file = path_of(out)
    expect_file(file)
    if file.exists() or file.is_symlink():
        raise FileError(f"{file}: another file exists here and would be replaced; name another place")
    write_new(file, lambda temporary: write_text(temporary, f"{make_token(path, tenant)}\n", private=True))


def _parsed(file: Path) -> list[tuple[str, str]]:
    """Tenants and hashes of their tokens."""
    try:
        lines = read_bytes(file, MOST_BYTES).decode("ascii").splitlines()
    except UnicodeDecodeError as error:
        raise FileError(
            f"{file}: not a file of tokens (byte {error.start} is not ASCII); give the right file"
        ) from None
    found = []
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) != 2 or not TENANT.fullmatch(words[0]) or not DIGEST.fullmatch(words[1]):
            raise FileError(
                f"{file}:{number}: not a tenant and the SHA-256 of a token; remove the line, and make a token with `polyfabric token`"
            )
        found.append((words[0], words[1]))
    return found


class Tokens:
    """The tokens of a file. Changes of the file apply to the next request; while it cannot be read, the last valid state does."""

    def __init__(self, path: str | Path) -> None:
        self._path = path_of(path)
        self._known = _parsed(self._path) if self._path.exists() else []
        self._stamp = self._stamp_now()
        if not self._known:
            raise FileError(f"{self._path}: no tokens; make one with `polyfabric token TENANT --tokens {self._path}`")

    def tenant(self, token: str) -> str | None:
        """Whose token it is. The time does not depend on how much of it is right."""
        self._refresh()
        asked, found = _digest(token), None
        for tenant, known in self._known:
            if compare_digest(asked, known):
                found = tenant
        return found

    def _refresh(self) -> None:
        stamp = self._stamp_now()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._known = _parsed(self._path)
        except Error as error:
            LOG.error("the earlier tokens stay valid: %s", error)

    def _stamp_now(self) -> tuple[int, ...]:
        try:
            own = self._path.stat()
        except OSError:
            return ()
        return own.st_ino, own.st_size, own.st_mtime_ns, own.st_ctime_ns
