"""The options of `polyfabric run`, and which programs accept them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from ..accelerators.machine import Machine
from ..errors import InputError
from ..host.files import expect_folder
from ..host.progress import ProgressHook, bars
from ..reports import Report
from ..run.execution import GPU, place
from ..run.keys import CLIENT, SERVER, Keys, matching, present
from ..schemes.options import OWN, PlanOptions
from .console import security_warnings

FLAGS = {
    "batch": "--batch",
    "scheme": "--scheme",
    "image": "--image",
    "images": "--images",
    "board": "--board",
    "size": "--size",
    "generations": "--generations",
    "rows": "--rows",
    "query": "--query",
    "given": "--input",
    "folder": "--keys",
    "step": "--step",
    "secret": "--secret",
    "unroll": "--unroll",
    "tables": "--tables",
    "key_switch": "--key-switch",
    "security": "--security",
    "flood": "--flood",
    "public": "--public",
    "circuit_privacy": "--circuit-privacy",
    "measure": "--measure",
    "cost": "--cost",
    "widths": "--widths",
}
"""Options that only some programs accept."""

OWNERS = {
    "image": "digits, resnet20 and trained models",
    "images": "digits, resnet20 and trained models",
    "board": "life",
    "size": "life",
    "generations": "life",
    "rows": "logistic-regression",
    "query": "database-lookup",
}
"""Options of single applications, with the applications that accept them."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The command line of one run."""

    program: str
    on: str = "cpu"
    parameters: str | None = None
    readings: tuple[str, ...] = ()
    threads: int | None = None
    max_failure: float | None = None
    report_to: Path | None = None
    """Folder for a machine's report and timeline."""
    as_json: bool = False
    given: tuple[str, ...] = ()
    """Inputs: NAME=VALUES, or files."""
    folder: Path | None = None
    """Folder of the keys and of the files that steps exchange."""
    step: str | None = None
    cost: bool = False
    public: bool = False
    security: float | None = None
    secret: str | None = None
    unroll: int | None = None
    tables: str | None = None
    circuit_privacy: float | None = None
    measure: bool = False
    key_switch: str | None = None
    widths: str = OWN
    flood: float | None = None
    batch: int | None = None
    scheme: str | None = None
    image: int | None = None
    images: int | None = None
    board: str | None = None
    size: int | None = None
    generations: int | None = None
    rows: int | None = None
    query: str | None = None

    @cached_property
    def machine(self) -> Machine | None:
        """The machine with the chosen readings; `None` for this computer."""
        return place(self.on, self.readings)

    @property
    def options(self) -> PlanOptions:
        """The options that planning reads."""
        return PlanOptions(
            parameters=self.parameters,
            machine=self.machine,
            gpu=self.on == GPU,
            max_failure=self.max_failure,
            security=self.security,
            public=self.public,
            secret=self.secret,
            unroll=self.unroll,
            tables=self.tables,
            circuit_privacy=self.circuit_privacy,
            measure=self.measure,
            key_switch=self.key_switch,
            widths=self.widths,
        )

    def options_with(self, keys: Keys | None) -> PlanOptions:
        """The options with the parameter set of existing keys, whatever its security."""
        return self.options if keys is None else self.options.accepting(matching(keys, self.parameters))

    @property
    def indices(self) -> list[int]:
        """The indices of the held-out images to classify."""
        if self.image is not None and self.images is not None:
            raise InputError("--image names one image, --images a number of them; give one of the two")
        return list(range(self.images)) if self.images is not None else [self.image or 0]

    @property
    def extras(self) -> dict[str, Any]:
        """The options from the command line that only some programs accept."""
        values = {own.name: getattr(self, own.name) for own in fields(self) if own.name in FLAGS}
        defaults = {own.name: own.default for own in fields(self)}
        return {name: value for name, value in values.items() if value != defaults[name]}

    def take_only(self, *names: str) -> None:
        """Refuses all program-specific options except `names`."""
        for name in self.extras:
            if name in names:
                continue
            if name in OWNERS and (self.cost or self.step is not None):
                raise InputError(
                    f"{FLAGS[name]} applies to whole runs of {OWNERS[name]}; leave it out with --step or --cost"
                )
            if name in OWNERS:
                raise InputError(f"{FLAGS[name]} applies to {OWNERS[name]}, not {self.program}; leave it out")
            takes = ", ".join(FLAGS[own] for own in names)
            raise InputError(f"{FLAGS[name]} does not apply to {self.program}, which accepts {takes}; leave it out")

    def expect_places(self) -> None:
        """Refuses unwritable folders, and a report's folder for runs without a machine, before any key is made."""
        if self.report_to is not None and self.machine is None:
            raise InputError("--report writes a machine's report; this run is not on a machine")
        for folder in (self.folder, self.report_to):
            if folder is not None and self.step in (None, "keys", "encrypt"):
                expect_folder(folder)

    @contextmanager
    def kept_keys(self, scheme: str) -> Iterator[tuple[Keys | None, ProgressHook]]:
        """The keys in the folder, or `None` if it has none yet, and a hook that prints progress."""
        with security_warnings(), bars() as progress:
            there = self.folder is not None and present(self.folder, CLIENT, SERVER)
            yield Keys.load(self.folder, scheme, progress) if self.folder is not None and there else None, progress

    def keep(self, used: Keys | None, keys: Keys, simulation: Report | None) -> None:
        """Writes new keys to the named folder, and a machine's report."""
        if self.folder is not None and used is None:
            keys.save(self.folder)
        if self.report_to is not None and simulation is not None:
            simulation.save(self.report_to)
