"""Slots, with CKKS and BGV: a vector is encrypted as one, and rescaling or switching the modulus keeps its noise small."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, isnan, log, log2, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _native, gpu, memory
from ..errors import InputError, ParameterError, SecurityWarning, shown
from ..language.place import warn_user
from ..language.shapes import written
from ..language.slot_program import SlotProgram
from ..language.slot_shapes import SlotShapes, numbers
from ..reports import Report
from ..reports.units import bytes_text
from ..reports.units import security as security_text
from ..slot_parameters import SlotParameters, chosen
from .context import STANDARD_SECURITY, Context, Source, Values, content
from .facts import SlotFacts, SlotNode
from .options import PlanOptions
from .plan import ClientSeconds, Execution, Expected, Plan, RunResult, common, told

if TYPE_CHECKING:
    from ..language.slots import Native
    from ..machines import Machine
    from ..progress import ProgressHook

MOST_FLOOD = 2.0**48
"""The largest deviation that noise is drawn with, in units of a polynomial."""


@dataclass(frozen=True)
class SlotContext(Context):
    """What a client of CKKS or BGV does."""

    signature: _native.SlotSignature
    shapes: SlotShapes
    public: bool
    """Whether the program is planned for inputs of a public key."""

    @classmethod
    def of(cls, data: Mapping[str, Any], scheme: str) -> SlotContext:
        """From `to_dict`, which anybody may have written."""
        signature = _native.SlotSignature.from_json(json.dumps(data["signature"]))
        if signature.scheme != scheme:
            raise ValueError(f"the scheme is {scheme}, the signature's {signature.scheme}")
        shapes = SlotShapes.of(data["shapes"], signature.name, signature.slots, signature.plaintext_modulus)
        if (set(shapes.inputs), set(shapes.outputs)) != (set(signature.inputs), set(signature.outputs)):
            raise ValueError("the types are not those of the program's inputs and outputs")
        for own in data["signature"]["inputs"]:
            encoding = own["encoding"]
            if scheme == "ckks" and shapes.inputs[own["name"]].bound != encoding["ckks"]["magnitude"]:
                raise ValueError("the program is planned for inputs of other sizes")
        stated = written(int, data["key_bytes"], "the size of the keys")
        if stated != signature.key_bytes:
            raise ValueError(f"the keys take {signature.key_bytes} bytes, and {stated} are stated")
        return cls(
            signature, shapes, written(bool, data["public"], "whether inputs may be encrypted with a public key")
        )

    def to_dict(self) -> dict[str, Any]:
        """As data: what a specification says beside the program's name and scheme."""
        return {
            "signature": json.loads(self.signature.to_json()),
            "shapes": self.shapes.to_dict(),
            "key_bytes": self.signature.key_bytes,
            "public": self.public,
        }

    @property
    def scheme(self) -> str:
        """ "ckks" or "bgv"."""
        return self.signature.scheme

    @cached_property
    def parameters(self) -> SlotParameters:
        """The parameter set."""
        return SlotParameters(self.signature.parameters)

    @property
    def security_bits(self) -> float:
        """Bits of security of the parameter set; 0 if none are known."""
        return float(self.parameters.to_dict()["security_bits"])

    @property
    def key_bytes(self) -> int:
        """Bytes of the switching keys that the program asks for."""
        return self.signature.key_bytes

    def generate(self) -> _native.SlotClient:
        """A fresh secret key, from the operating system's randomness; refused if the keys that follow would not fit the memory."""
        self.expect_memory(self.key_bytes + self._ring_bytes)
        return _native.SlotClient.generate(self.signature)

    def server_key(self, client: _native.SlotClient, progress: ProgressHook | None = None) -> _native.SlotServer:
        """The switching keys that the program asks for; refused if they would not fit the memory."""
        self.expect_memory(self.key_bytes + self._ring_bytes)
        return client.server(self.signature, progress)

    def evaluation_key(self, client: _native.SlotClient, progress: ProgressHook | None = None) -> bytes:
        """The file of these keys; refused if making it would not fit the memory."""
        self.expect_memory(2 * self.key_bytes + self._ring_bytes)
        return content(self.server_key(client, progress).save())

    @property
    def _ring_bytes(self) -> int:
        """Bytes of the ring's tables and of the polynomials that a key is made of: six words a coefficient and limb, as measured."""
        figures = self.parameters.to_dict()
        return 6 * 8 * int(figures["ring_degree"]) * int(figures["limbs"] + figures["special_limbs"])

    def encrypt_to(
        self, public: _native.SlotPublicKey, name: str, values: Native, path: Path | None = None
    ) -> bytes | None:
        """The file of an input that somebody else encrypts, written to `path`, or returned without it."""
        if not self.public:
            raise InputError(
                f"{self.signature.name} is not planned for inputs of a public key, which have more noise; make the specification with "
                "public=True"
            )
        return public.encrypt_to(self.signature, name, values, path)

    def encrypt_publicly(
        self,
        public: _native.SlotPublicKey,
        values: Values,
        server: _native.SlotServer,  # noqa: ARG002 - nothing is to be unpacked
    ) -> _native.SlotCiphertexts:
        """Inputs, encrypted with a public key."""
        return public.encrypt(self.signature, values)

    def decrypt(self, client: _native.SlotClient, results: _native.SlotCiphertexts) -> Values:
        """The outputs' slots. What no execution of the program leaves is refused."""
        return client.decrypt(self.signature, results, self.real_outputs)

    @property
    def real_outputs(self) -> list[str]:
        """The outputs whose slots are real numbers."""
        return [name for name, kind in self.shapes.outputs.items() if kind.kind == "real"]

    def read(
        self,
        sources: Mapping[str, Source],
        *,
        outputs: bool,
        server: _native.SlotServer | None = None,  # noqa: ARG002 - nothing is to be unpacked
    ) -> _native.SlotCiphertexts:
        """The inputs, or the outputs, that are in files."""
        return _native.SlotCiphertexts.load(self.signature, outputs, sources)

    def write(
        self, ciphertexts: _native.SlotCiphertexts, name: str, path: Path | None = None, *, outputs: bool
    ) -> bytes | None:
        """The file of one of them, written to `path`, or returned without it."""
        return ciphertexts.save(self.signature, outputs, name, path)


@dataclass(frozen=True, repr=False)
class SlotPlan(Plan):
    """A program of CKKS or BGV, the parameter set that carries it, and what running it takes."""

    program: SlotProgram
    native: _native.SlotPlan = field(repr=False)
    facts: SlotFacts = field(repr=False)
    measure: bool = False
    """Whether the value of every operation is kept, so that its error can be measured."""
    public: bool = False
    """Whether inputs are encrypted with the client's public key, which leaves more noise."""
    machine: Machine | None = field(default=None, repr=False)

    @classmethod
    def make(cls, program: SlotProgram, options: PlanOptions) -> SlotPlan:
        """Chooses or checks the parameter set, places rescalings, and lowers; under 128 bits of security with a warning.

        With a machine, the program is lowered as that wants it, in its words.
        """
        asked = chosen(options.parameters)
        own = isinstance(asked, SlotParameters)
        bits = (STANDARD_SECURITY if own else 0.0) if options.security is None else options.security
        wanted = options.key_switch or ("auto" if options.machine is not None and asked is None else "set")
        on = None if options.machine is None else options.machine.native
        given = asked.native if isinstance(asked, SlotParameters) else asked
        native = _native.SlotPlan.make(
            program.native,
            given,
            measured=bool(options.measure),
            machine=on,
            key_switch=wanted,
            security=bits,
            public=bool(options.public),
            max_failure=options.max_failure,
            memory=memory.most(),
        )
        facts = json.loads(native.to_json())
        found = facts["parameters"]
        if found["security_bits"] < bits:
            by_default = own and options.security is None
            raise ParameterError(f"{program.name}: {_too_weak(found, bits, asked is not None, by_default)}")
        warning = found.get("warning")
        if warning is not None:
            warn_user(warning, SecurityWarning)
        return cls(program, native, facts, bool(options.measure), bool(options.public), options.machine)

    @cached_property
    def context(self) -> SlotContext:
        """What its client does with it."""
        return SlotContext(self.native.signature(), self.program.shapes, self.public)

    @property
    def parameters(self) -> SlotParameters:
        """The parameter set."""
        return self.context.parameters

    @property
    def kernel(self) -> _native.ResidueKernel:
        """The kernel program."""
        return self.native.kernel()

    @property
    def log2_failure(self) -> float:
        """log2 of the probability that a bound is passed: of BGV, that it fails."""
        return float(self.facts["log2_failure"])

    @property
    def key_switch(self) -> Report | None:
        """Its key switch on the machine that it is for, and what the compiler estimated of the others."""
        facts = self.facts["key_switch"]
        return None if facts is None else Report("key switch", facts)

    # -- before running -------------------------------------------------------------------------------------------

    @property
    def memory_bytes(self) -> int:
        """Memory that the server takes: keys and ciphertexts."""
        return int(self.facts["memory_bytes"])

    @property
    def key_bytes(self) -> int:
        """What of that is a client's keys."""
        return int(self.facts["key_bytes"])

    @property
    def key_text(self) -> str:
        """What of that is keys, in words."""
        return f"{bytes_text(self.key_bytes)} for {len(self.facts['keys'])} switching keys"

    @property
    def work(self) -> dict[str, int]:
        """How many operations an execution has."""
        return {"operations": len(self.facts["nodes"])}

    @property
    def parameter_figures(self) -> dict[str, Any]:
        """The figures of its parameter set, as data."""
        return self.facts["parameters"]

    def facts_of_cost(self) -> dict[str, Any]:
        """Levels, keys, sizes and operations."""
        facts = self.facts
        return {
            "security_bits": facts["parameters"]["security_bits"],
            "slots": self.program.slots,
            **{name: facts[name] for name in ("start_level", "bootstraps", "keys", "key_bytes")},
            **{name: facts[name] for name in ("memory_bytes", "input_bytes", "output_bytes", "plaintext_bytes")},
            **{name: facts[name] for name in ("log2_failure", "operations", "limb_operations", "nodes")},
            "gpu": self.needs_of_card(),
        }

    def needs_of_card(self) -> dict[str, Any] | None:
        """What an execution takes of a graphics card: bytes, launches, and an estimate of its least time; none if its kernels do not serve the program."""
        needs = self.native.needs_of_card()
        if needs is None:
            return None
        name, counts, seconds = needs
        return {"card": name, **counts, "least_seconds": seconds}

    def processor_seconds(self) -> float:
        """Processor time that an execution takes here."""
        return self.native.execution_seconds()

    def client_seconds(self) -> ClientSeconds:
        """Processor time of what its client does here."""
        return ClientSeconds(*self.native.client_seconds())

    def operation_counts(self) -> list[dict[str, Any]]:
        """The homomorphic operations by kind and limbs: a product's before its rescaling."""
        counts: dict[tuple[str, int], int] = {}
        for node in self.facts["nodes"]:
            key = (node["op"], node["limbs"])
            counts[key] = counts.get(key, 0) + 1
        return [{"operation": op, "limbs": limbs, "count": count} for (op, limbs), count in counts.items()]

    def check_flood(self, flood: float | None) -> None:
        """Refuses noise that is none, and noise for a scheme whose decryptions are exact."""
        if flood is None:
            return
        if self.program.scheme != "ckks":
            raise InputError(f"flood={flood!r} hides the noise of CKKS; what BGV decrypts has none in it: leave it out")
        # A unit of a decrypted polynomial, in a slot: of every output's.
        scales = [2 ** node["scale_log2"] for node in self.facts["nodes"] if node["op"] == "output"]
        least, most = (sqrt(2 * self.program.slots) / scale for scale in (min(scales), max(scales)))
        most *= MOST_FLOOD
        if not isinstance(flood, int | float) or not (flood == 0 or least <= flood <= most):
            raise InputError(
                f"flood={shown(flood)}; give the deviation of the noise to add to every slot, from {least:.1e} to "
                f"{most:.1e} at the scales of the outputs, or 0 for none"
            )

    def expect_place(self, on: str) -> None:
        """Fails if `on` is this computer's "gpu", and it has none that runs the program."""
        if on == "gpu":
            gpu.card_for_slots(self.native)

    def expect_keys(self, server: _native.SlotServer) -> None:
        """Fails if a server's keys lack one that the program asks for."""
        server.expect_keys(self.native)

    # -- running --------------------------------------------------------------------------------------------------

    def evaluate(self, inputs: Values) -> Expected:
        """What it gives in the clear. Inputs whose values leave no room, or an interval, are refused."""
        _, magnitudes = self.native.evaluate(inputs, self.program.mapped)
        return Expected(self.program.reference_values(inputs), magnitudes)

    def compute(
        self,
        server: _native.SlotServer,
        ciphertexts: _native.SlotCiphertexts,
        on: str,
        threads: int,
        progress: ProgressHook | None,
    ) -> _native.SlotCiphertexts:
        """Executes on this computer: on "cpu" with so many threads, on its "gpu", or by the "interpreter", operation by operation."""
        if on == "gpu":
            return server.execute_on_gpu(self.native, ciphertexts, progress)[0]
        return server.execute(self.native, ciphertexts, None if on == "interpreter" else threads, progress)

    def hidden(self, server: _native.SlotServer, results: _native.SlotCiphertexts) -> _native.SlotCiphertexts:  # noqa: ARG002 - nothing hides them
        """The results as they are: an answer of CKKS or BGV shows its noise to its client."""
        return results

    def decrypt(
        self, client: _native.SlotClient, results: _native.SlotCiphertexts, flood: float | None = None
    ) -> Values:
        """The outputs; with `flood` as others may see them, with noise of that deviation in every slot, and a warning."""
        if flood is None:
            # What is measured may be anything: the first operation beyond its bound is then named.
            real = None if self.measure else self.context.real_outputs
            return client.decrypt(self.signature, results, real)
        found, notices = client.decrypt_to_share(self.signature, results, self.context.real_outputs, flood)
        for notice in dict.fromkeys(notices):
            warn_user(notice + self._hides(flood), SecurityWarning)
        return found

    def _hides(self, flood: float) -> str:
        """How well noise of that deviation hides what the encryption leaves in a result, by its bound for any inputs."""
        if flood == 0:
            return ""
        # k decryptions and κ bits take a deviation of √(12 k)·2^(κ/2) norms of the error polynomial in a coefficient; the norm is no larger than the largest
        # slot.
        coefficient = flood / sqrt(2 * self.program.slots)
        largest_bound = max(self.bounds().values())
        if largest_bound == 0:
            return "; by the bound of its error there is nothing to hide"
        bits = max(0.0, 2 * log2(coefficient / (sqrt(12) * largest_bound)))
        return f"; by the bound of its error, {largest_bound:.1e}, one of them is hidden to {bits:.0f} bits of statistical security"

    # -- comparing ------------------------------------------------------------------------------------------------

    def errors(self, found: Values, expected: Values) -> dict[str, float]:
        """By output: the largest error of its own slots, not of those behind its end; with BGV, the number of wrong ones."""
        kinds = self.program.outputs.items()
        return {name: _error(found[name], expected[name], None if kind.scalar else kind.length) for name, kind in kinds}

    def bounds(self, flood: float | None = None, expected: Expected | None = None) -> dict[str, float]:
        """By output: what its error stays within, noise for others included; with BGV, 0."""
        nodes = self.facts["nodes"] if expected is None else self._nodes_for(expected)[1]
        return self._bounds_of(nodes, flood)

    def _nodes_for(self, expected: Expected) -> tuple[str, list[SlotNode]]:
        """The operations with their bounds, and what these are of: "any inputs", or "these inputs" where those bounds say nothing of an output."""
        nodes: list[SlotNode] = [node.copy() for node in self.facts["nodes"]]
        limits = self.bounds()
        if self.program.scheme != "ckks" or all(limits[name] < _largest(expected.values[name]) for name in limits):
            return "any inputs", nodes
        here = self.native.bounds(expected.magnitudes)
        for node in nodes:
            # Values beyond the largest float give NaN: no finite bound holds.
            bound = here[node["node"]]
            node["bound"] = inf if isnan(bound) else bound
        return "these inputs", nodes

    def _bounds_of(self, nodes: Sequence[SlotNode], flood: float | None) -> dict[str, float]:
        """The bounds of the outputs, which are the last nodes of a program, in order; and what noise for others stays under in every slot
        but for a probability of 2^-40."""
        noise = (flood or 0.0) * sqrt((40 + log2(self.program.slots)) * log(2))
        known = [node.get("bound", 0.0) for node in nodes if node["op"] == "output"]
        # Beyond the largest number there is none to be told.
        limits = [inf if bound is None else bound + noise for bound in known]
        return dict(zip(self.program.outputs, limits, strict=True))

    def rounding(self, magnitudes: Sequence[float] | None = None) -> float:
        """A few times the last bit of the largest number."""
        sizes = [node.get("magnitude") or 0.0 for node in self.facts["nodes"]] if magnitudes is None else magnitudes
        return 2.0**-48 * max(sizes, default=0.0)

    def result(self, done: Execution) -> SlotResult:
        """An execution, compared with what it should give."""
        program, client, expected = self.program, done.keys.client, done.expected
        bound_for, nodes = self._nodes_for(expected)
        if self.measure:
            measured = client.errors(self.native, done.inputs, done.results)
            for node in nodes:
                if node["node"] in measured:
                    node["measured"] = measured[node["node"]]
        distance: dict[str, float] = {}
        if program.functions:
            distance = self.errors(done.found, program.native.evaluate_functions(done.inputs, program.functions))
        return SlotResult(
            **common(self, done),
            bound=self._bounds_of(nodes, done.flood),
            sizes={"keys": done.keys.server.bytes, "inputs": done.ciphertext_bytes, "outputs": done.results.bytes},
            rounding=self.rounding(expected.magnitudes),
            distance=distance,
            bound_for=bound_for,
            reference="program" if program.reference is None else "function",
            nodes=nodes,
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class SlotResult(RunResult):
    """What an execution of CKKS or BGV gave."""

    plan: SlotPlan
    distance: dict[str, float]
    """By output: the largest distance of a slot from what the true functions give, in place of the polynomials that approximate them; nothing if
    the program approximates none."""
    bound_for: str
    """What the bounds are of: "any inputs" within their types, or, where those bounds say nothing, "these inputs"."""
    reference: str
    """What `expected` is computed from: the "function" as it is written, or the "program" itself where it was read from a text."""
    nodes: list[SlotNode]
    """Every operation: place, level, scale, bound of its error, and the measured error where that was asked for."""

    @property
    def first_beyond(self) -> SlotNode | None:
        """The first operation whose measured error is beyond its bound."""
        return next((node for node in self.nodes if node.get("measured", 0.0) > node.get("bound", 0.0)), None)

    @property
    def operations(self) -> Report:
        """The operations as a report."""
        return Report("operations", {"program": self.program, "parameters": self.parameters, "rows": self.nodes})

    def facts(self) -> dict[str, Any]:
        """Errors, bounds and operations."""
        return {
            "distance_from_true_functions": self.distance,
            "bound_for": self.bound_for,
            "reference": self.reference,
            "public_key": self.plan.public,
            "operations": [
                {name: told(value) if name in ("bound", "measured") else value for name, value in node.items()}
                for node in self.nodes
            ],
            "key_switch": self.plan.facts["key_switch"],
        }


def _too_weak(found: Mapping[str, Any], bits: float, named: bool, by_default: bool) -> str:
    """Why a set of so few bits is refused, and what to do."""
    has = (
        f"{security_text(found['security_bits'])} bits of security"
        if found["security_bits"]
        else "no security that is known of"
    )
    figures = f"logQP {found['log2_q'] + found['log2_p']:.0f} at degree {found['ring_degree']}"
    known = f"parameter set {found['name']} has {has} ({found['security_source']}; {figures})"
    if by_default:
        least = security_text(found["security_bits"])
        return (
            f"{known}, but {bits:.0f} are needed; take a set with a larger ring_degree or fewer bits of moduli, or accept this one "
            f"for experiments with security={least} (--security {least})"
        )
    other = ", or none" if named else ""
    return f"{known}, but {bits:.0f} are asked for; name a set with a larger degree{other}, or ask for fewer"


def _error(found: Native, expected: Native, slots: int | None) -> float:
    """The largest error of so many slots, or of all; with BGV, the number of wrong ones."""
    a, b = numbers(found)[:slots], numbers(expected)[:slots]
    return float(np.abs(a - b).max()) if isinstance(found, tuple) else float((a != b).sum())


def _largest(slots: Native) -> float:
    """The largest absolute value of a slot."""
    return float(np.abs(numbers(slots)).max(initial=0.0))
