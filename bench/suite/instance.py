"""One instance of a workload in the suite's folders: data in `datasets/NAME`, and all that client and server exchange in `io/NAME`.

The suite starts every stage as a new process, so keys and ciphertexts go through files. It reports the sizes of the folders with the
evaluation key, `ciphertexts_upload` and `ciphertexts_download`; the secret key is in another folder.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polyfabric as pf

REPORTED = "server_reported_steps.json"
"""A server reports its own time in it, for the harness of the similarity search."""


@dataclass(frozen=True)
class Instance:
    """A named size, in the folder where the suite starts the stages."""

    root: Path
    name: str
    count_only: bool = False
    """Similarity search alone: return the number of matches."""

    @property
    def data(self) -> Path:
        """The suite's own files."""
        return self.root / "datasets" / self.name

    @property
    def io(self) -> Path:
        """The files of client and server."""
        return self.root / "io" / self.name


@dataclass(frozen=True)
class Exchange:
    """What client and server exchange. Only `make_keys`, `encrypt` and `decrypt` are the client's; they read no program."""

    io: Path
    keys: str = "public_keys"
    """The folder of the evaluation key."""
    public: bool = False
    """Whether the inputs of one execution are encrypted in several stages, which a public key does."""

    @property
    def _specification(self) -> Path:
        return self.io / self.keys / "specification"

    @property
    def _secret(self) -> Path:
        return self.io / "secret_key" / "client.key"

    def make_keys(self, program: Any) -> None:
        """Publishes the server's specification, for which the suite has no stage before this one, and makes the client's keys from it."""
        specification = pf.Specification.of(program, public=self.public)
        for folder in (self._specification.parent, self._secret.parent):
            folder.mkdir(parents=True, exist_ok=True)
        specification.save(self._specification)
        client = pf.Client(pf.Specification.load(self._specification))
        client.save(self._secret)
        client.evaluation_key.save(self._specification.with_name("server.key"))

    def encrypt(self, inputs: Mapping[str, Mapping[str, Any]]) -> None:
        """Encrypts each group of inputs, all inputs of one execution or a part, to a file with its name."""
        client = self._client()
        folder = self.io / "ciphertexts_upload"
        folder.mkdir(exist_ok=True)
        for name, group in inputs.items():
            (folder / name).write_bytes(client.encrypt(group).to_bytes())

    def execute(self, program: Any, results: Mapping[str, Sequence[str]]) -> None:
        """The server's work: executes the program for each result, on the groups that have all its inputs. Reports the time without
        reading and planning."""
        key = pf.EvaluationKey.load(self._specification.with_name("server.key"))
        server = pf.Server(program, key, public=self.public)
        seconds = 0.0
        for result, groups in results.items():
            read = (pf.Ciphertexts.from_bytes((self.io / "ciphertexts_upload" / name).read_bytes()) for name in groups)
            request = next(read)
            for more in read:
                request |= more
            path = self.io / "ciphertexts_download" / result
            path.parent.mkdir(parents=True, exist_ok=True)
            begin = time.perf_counter()
            answer = server.execute(request)
            seconds += time.perf_counter() - begin
            path.write_bytes(answer.to_bytes())
        (self.io / REPORTED).write_text(json.dumps({"Encrypted computation": round(seconds, 4)}))

    def uploaded(self, pattern: str) -> list[str]:
        """Names of encrypted groups, in the order of their numbers."""
        names = [path.name for path in (self.io / "ciphertexts_upload").glob(pattern)]
        return sorted(names, key=lambda name: int(name.removesuffix(".bin").rpartition("-")[2]))

    def decrypt(self, pattern: str) -> list[Any]:
        """The results of all executions, in the order of their numbers."""
        client = self._client()
        found = (self.io / "ciphertexts_download").glob(pattern)
        ordered = sorted(found, key=lambda path: int(path.stem.rpartition("-")[2]))
        return [client.decrypt(pf.Ciphertexts.from_bytes(path.read_bytes())) for path in ordered]

    def _client(self) -> pf.Client:
        return pf.Client.load(pf.Specification.load(self._specification), self._secret)
