"""Contexts and plans of CKKS and BGV: one ciphertext encrypts a vector, and rescaling or modulus switching limits its noise."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, isnan, log, log2, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _native
from ..errors import InputError, ParameterError, SecurityWarning, shown
from ..host import memory
from ..host.units import bytes_text
from ..host.units import security as security_text
from ..language.place import warn_user
from ..language.shapes import written
from ..language.slot_packing import PackedShapes
from ..language.slot_program import SlotProgram
from ..language.slot_shapes import SlotShapes, numbers
from ..reports import Report
from . import gpu
from .context import STANDARD_SECURITY, Context, Source, Values, content
from .facts import SlotFacts, SlotNode
from .options import PlanOptions
from .plan import ClientSeconds, Execution, Expected, Plan, RunResult, common, finite_or_none
from .slot_parameters import SlotParameters, chosen

if TYPE_CHECKING:
    from ..accelerators.machine import Machine
    from ..host.progress import ProgressHook
    from ..language.slots import Native

MOST_FLOOD = 2.0**48
"""The largest standard deviation of sampled noise, in units of a coefficient."""


class SecretInputsError(InputError):
    """A public key is asked for, but the program has inputs that only the secret key encrypts."""


def expect_ends(inputs: Collection[str], outputs: Collection[str], signature: _native.RnsSignature) -> None:
    """Fails unless a signature has these vectors; inputs that no result depends on have no ciphertext."""
    if not set(signature.inputs) <= set(inputs) or set(outputs) != set(signature.outputs):
        raise ValueError("the types differ from those of the program's inputs and outputs")


@dataclass(frozen=True)
class SlotContext(Context):
    """A client's operations with CKKS or BGV."""

    signature: _native.RnsSignature
    shapes: SlotShapes
    public: bool
    """Whether the plan allows inputs encrypted with a public key."""

    @classmethod
    def of(cls, data: Mapping[str, Any], scheme: str) -> SlotContext:
        """From `to_dict`. The data are untrusted."""
        signature = _native.RnsSignature.from_json(json.dumps(data["signature"]))
        if signature.scheme != scheme:
            raise ValueError(f"the scheme is {scheme}, the signature's {signature.scheme}")
        shapes = cls._shapes_of(data, signature)
        stated = written(int, data["key_bytes"], "the size of the keys")
        if stated != signature.key_bytes:
            raise ValueError(f"the keys take {signature.key_bytes} bytes, but {stated} are stated")
        return cls(
            signature, shapes, written(bool, data["public"], "whether inputs may be encrypted with a public key")
        )

    @classmethod
    def _shapes_of(cls, data: Mapping[str, Any], signature: _native.RnsSignature) -> Any:  # noqa: ANN401 - of the program's kind
        """The types from `to_dict`, which must be those of the signature."""
        shapes = PackedShapes.of(data["shapes"], signature.name, signature.slots, signature.plaintext_modulus)
        inputs, outputs = (shapes.vectors(outputs=which) for which in (False, True))
        expect_ends(inputs, outputs, signature)
        for own in data["signature"]["inputs"]:
            encoding, kind = own["encoding"], inputs[own["name"]]
            if ("selector" in encoding) != (kind.kind == "selector"):
                raise ValueError(f"the type of {own['name']} is {kind}, which the program's plan contradicts")
            if "ckks" in encoding and kind.bound != encoding["ckks"]["magnitude"]:
                raise ValueError("the program's plan has other bounds of its inputs")
        return shapes

    def to_dict(self) -> dict[str, Any]:
        """The fields of a specification except the program's name and scheme."""
        return {
            "signature": json.loads(self.signature.to_json()),
            "shapes": self.shapes.to_dict(),
            "key_bytes": self.signature.key_bytes,
            "public": self.public,
        }

    def names(self, *, outputs: bool) -> list[str]:
        """Names of the vectors of slots that hold the inputs or outputs, without inputs that no result depends on."""
        encrypted = self.signature.outputs if outputs else self.signature.inputs
        return [name for name in self.shapes.vectors(outputs=outputs) if name in encrypted]

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
        """Bits of security of the parameter set; 0 if unknown."""
        return float(self.parameters.to_dict()["security_bits"])

    @property
    def key_bytes(self) -> int:
        """Bytes of the program's switching keys."""
        return self.signature.key_bytes

    def generate(self) -> _native.RnsClientKey:
        """Generates a secret key from the operating system's randomness. Fails if the switching keys would not fit the memory."""
        self.expect_memory(self.key_bytes + self._ring_bytes)
        return _native.RnsClientKey.generate(self.signature)

    def server_key(self, client: _native.RnsClientKey, progress: ProgressHook | None = None) -> _native.RnsServerKey:
        """Generates the program's switching keys. Fails if they would not fit the memory."""
        self.expect_memory(self.key_bytes + self._ring_bytes)
        return client.server(self.signature, progress)

    def evaluation_key(self, client: _native.RnsClientKey, progress: ProgressHook | None = None) -> bytes:
        """The file of the switching keys. Fails if making it would not fit the memory."""
        self.expect_memory(2 * self.key_bytes + self._ring_bytes)
        return content(self.server_key(client, progress).save())

    @property
    def _ring_bytes(self) -> int:
        """Bytes of the ring's tables and of key generation's polynomials: six words per coefficient and limb, measured."""
        figures = self.parameters.to_dict()
        return 6 * 8 * int(figures["ring_degree"]) * int(figures["limbs"] + figures["special_limbs"])

    def encrypt_to(
        self, public: _native.RnsPublicKey, name: str, values: Native, path: Path | None = None
    ) -> bytes | None:
        """Encrypts one input with a public key to the file `path`; returns the bytes if there is no path."""
        if not self.public:
            raise InputError(
                f"{self.signature.name} is not planned for the larger noise of public-key inputs; make the specification with "
                "public=True"
            )
        return public.encrypt_to(self.signature, name, values, path)

    def encrypt_publicly(
        self,
        public: _native.RnsPublicKey,
        values: Values,
        server: _native.RnsServerKey,  # noqa: ARG002 - nothing is to be unpacked
    ) -> _native.RnsCiphertexts:
        """Encrypts inputs with a public key."""
        return public.encrypt(self.signature, values)

    def decrypt(self, client: _native.RnsClientKey, results: _native.RnsCiphertexts) -> Values:
        """Decrypts the outputs' slots. Fails if a value exceeds every bound of the program."""
        return client.decrypt(self.signature, results, self.real_outputs)

    @property
    def real_outputs(self) -> list[str]:
        """The outputs whose slots are real numbers."""
        return [name for name, kind in self.shapes.vectors(outputs=True).items() if kind.kind == "real"]

    def read(
        self,
        sources: Mapping[str, Source],
        *,
        outputs: bool,
        server: _native.RnsServerKey | None = None,  # noqa: ARG002 - nothing is to be unpacked
    ) -> _native.RnsCiphertexts:
        """Reads inputs or outputs from files."""
        return _native.RnsCiphertexts.load(self.signature, outputs, sources)

    def write(
        self, ciphertexts: _native.RnsCiphertexts, name: str, path: Path | None = None, *, outputs: bool
    ) -> bytes | None:
        """Writes one ciphertext to the file `path`; returns the bytes if there is no path."""
        return ciphertexts.save(self.signature, outputs, name, path)


@dataclass(frozen=True, repr=False)
class RnsPlan(Plan):
    """A program of CKKS or BGV, its parameter set, and the cost of a run."""

    program: SlotProgram
    native: _native.RnsPlan = field(repr=False)
    facts: SlotFacts = field(repr=False)
    measure: bool = False
    """Whether execution keeps the value of every operation, to measure its error."""
    public: bool = False
    """Whether inputs may be encrypted with the client's public key, which adds noise."""
    machine: Machine | None = field(default=None, repr=False)

    @classmethod
    def make(cls, program: SlotProgram, options: PlanOptions) -> RnsPlan:
        """Chooses or checks the parameter set, places rescalings, and lowers; warns below 128 bits of security.

        With a machine, the compiler lowers for that machine's word size and operations.
        """
        if options.public and program.selectors:
            raise SecretInputsError(
                f"{program.name}: input {program.selectors[0]!r} is a selector, which only the secret key encrypts; leave out public=True"
            )
        asked = chosen(options.parameters)
        own = isinstance(asked, SlotParameters)
        bits = (STANDARD_SECURITY if own else 0.0) if options.security is None else options.security
        wanted = options.key_switch or ("auto" if options.machine is not None and asked is None else "set")
        on = None if options.machine is None else options.machine.native
        given = asked.native if isinstance(asked, SlotParameters) else asked
        native = _native.RnsPlan.make(
            program.native,
            given,
            measured=bool(options.measure),
            machine=on,
            key_switch=wanted,
            security=bits,
            public=bool(options.public),
            max_failure=options.max_failure,
            memory=memory.most(),
            parties=options.parties,
            smudging=float(options.smudging),
        )
        facts = json.loads(native.to_json())
        found = facts["parameters"]
        if found["security_bits"] < bits:
            by_default = own and options.security is None
            raise ParameterError(f"{program.name}: {_too_weak(found, bits, asked is not None, by_default)}")
        warning = found.get("warning")
        if warning is not None:
            warn_user(warning, SecurityWarning)
        # Nobody has the secret key of several owners.
        public = bool(options.public) or found["parties"] > 1
        return cls(program, native, facts, bool(options.measure), public, options.machine)

    @cached_property
    def context(self) -> SlotContext:
        """The client's operations."""
        return SlotContext(self.native.signature(), self.program.shapes, self.public)

    @property
    def parameters(self) -> SlotParameters:
        """The parameter set."""
        return self.context.parameters

    @property
    def kernel(self) -> _native.RnsKernel:
        """The kernel program."""
        return self.native.kernel()

    @property
    def log2_failure(self) -> float:
        """log2 of the probability that an error exceeds its bound; BGV fails then."""
        return float(self.facts["log2_failure"])

    @property
    def key_switch(self) -> Report | None:
        """The key switch on its machine, and the compiler's estimates of the alternatives."""
        facts = self.facts["key_switch"]
        return None if facts is None else Report("key switch", facts)

    # -- before running -------------------------------------------------------------------------------------------

    @property
    def memory_bytes(self) -> int:
        """Bytes of the server's keys and ciphertexts."""
        return int(self.facts["memory_bytes"])

    @property
    def key_bytes(self) -> int:
        """Bytes of the switching keys."""
        return int(self.facts["key_bytes"])

    @property
    def key_text(self) -> str:
        """The keys' part of the memory, in words."""
        return f"{bytes_text(self.key_bytes)} for {len(self.facts['keys'])} switching keys"

    @property
    def work(self) -> dict[str, int]:
        """Number of operations per execution."""
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
        """An execution's needs on a graphics card: bytes, launches and estimated least time; `None` if the kernels do not support the program."""
        needs = self.native.needs_of_card()
        if needs is None:
            return None
        name, counts, seconds = needs
        return {"card": name, **counts, "least_seconds": seconds}

    def processor_seconds(self) -> float:
        """Estimated processor seconds of an execution on this computer."""
        return self.native.execution_seconds()

    def client_seconds(self) -> ClientSeconds:
        """Estimated processor seconds of the client's steps on this computer."""
        return ClientSeconds(*self.native.client_seconds())

    def operation_counts(self) -> list[dict[str, Any]]:
        """The homomorphic operations by kind and limbs: products count before their rescaling."""
        counts: dict[tuple[str, int], int] = {}
        for node in self.facts["nodes"]:
            key = (node["op"], node["limbs"])
            counts[key] = counts.get(key, 0) + 1
        return [{"operation": op, "limbs": limbs, "count": count} for (op, limbs), count in counts.items()]

    def check_flood(self, flood: float | None) -> None:
        """Refuses noise outside the supported range, and any noise for BGV, which decrypts exactly."""
        if flood is None:
            return
        if self.program.scheme != "ckks":
            raise InputError(f"flood={flood!r} hides the noise of CKKS; BGV decrypts exactly: leave it out")
        # One unit of a decrypted polynomial's coefficients, as a slot, for each output's scale.
        scales = [2 ** node["scale_log2"] for node in self.facts["nodes"] if node["op"] == "output"]
        least, most = (sqrt(2 * self.program.slots) / scale for scale in (min(scales), max(scales)))
        most *= MOST_FLOOD
        if not isinstance(flood, int | float) or not (flood == 0 or least <= flood <= most):
            raise InputError(
                f"flood={shown(flood)}; give the deviation of the noise to add to every slot, from {least:.1e} to "
                f"{most:.1e} at the scales of the outputs, or 0 for none"
            )

    def check_memory(self, held: int = 0, requests: int = 1) -> None:
        """As `Plan.check_memory`; a program that an execution has prepared needs no more memory for that."""
        super().check_memory(held + self.native.prepared_bytes(), requests)

    def expect_place(self, on: str) -> None:
        """Fails if `on` is "gpu" and this computer has no card that can run the program."""
        if on == "gpu":
            gpu.card_for_slots(self.native)

    def expect_keys(self, server: _native.RnsServerKey) -> None:
        """Fails if the server lacks a key that the program needs."""
        server.expect_keys(self.native)

    # -- running --------------------------------------------------------------------------------------------------

    def evaluate(self, inputs: Values) -> Expected:
        """The outputs in the clear. Refuses inputs whose values exceed the modulus or an approximation's interval."""
        _, magnitudes = self.native.evaluate(inputs, self.program.mapped)
        return Expected(self.program.reference_values(inputs), magnitudes)

    def compute(
        self,
        server: _native.RnsServerKey,
        ciphertexts: _native.RnsCiphertexts,
        on: str,
        threads: int,
        progress: ProgressHook | None,
    ) -> _native.RnsCiphertexts:
        """Executes on this computer: on "cpu" with `threads` threads, on its "gpu", or with the "interpreter", operation by operation."""
        if on == "gpu":
            return server.execute_on_gpu(self.native, ciphertexts, progress)[0]
        return server.execute(self.native, ciphertexts, None if on == "interpreter" else threads, progress)

    def hidden(self, server: _native.RnsServerKey, results: _native.RnsCiphertexts) -> _native.RnsCiphertexts:  # noqa: ARG002 - nothing hides them
        """The unchanged results: CKKS and BGV have no circuit privacy here."""
        return results

    def decrypt(
        self, client: _native.RnsClientKey, results: _native.RnsCiphertexts, flood: float | None = None
    ) -> Values:
        """Decrypts the outputs. With `flood`, adds noise of that deviation to every slot, for publication, and warns."""
        if flood is None:
            # A measured run may decrypt to any value: the result then names the first operation above its bound.
            real = None if self.measure else self.context.real_outputs
            return client.decrypt(self.signature, results, real)
        found, notices = client.decrypt_to_share(self.signature, results, self.context.real_outputs, flood)
        for notice in dict.fromkeys(notices):
            warn_user(notice + self._hides(flood), SecurityWarning)
        return found

    def _hides(self, flood: float) -> str:
        """How well noise of that deviation hides the encryption's error, according to its bound for any inputs."""
        if flood == 0:
            return ""
        # k decryptions with κ bits need a deviation of √(12 k)·2^(κ/2) norms of the error polynomial per coefficient; the norm is at most the largest
        # slot. (Li, Micciancio, Schultz, Sorrell, CRYPTO 2022)
        coefficient = flood / sqrt(2 * self.program.slots)
        largest_bound = max(self.bounds().values())
        if largest_bound == 0:
            return "; its error bound is 0, so there is nothing to hide"
        bits = max(0.0, 2 * log2(coefficient / (sqrt(12) * largest_bound)))
        return f"; by the bound of its error, {largest_bound:.1e}, it hides one decryption with {bits:.0f} bits of statistical security"

    # -- comparing ------------------------------------------------------------------------------------------------

    def errors(self, found: Values, expected: Values, undecided: Sequence[int] = ()) -> dict[str, float]:  # noqa: ARG002 - only batches have any
        """The largest error of each output's slots, without padding; with BGV, the number of wrong slots."""
        kinds = self.program.shapes.vectors(outputs=True).items()
        return self.program.shapes.by_output(
            {name: _error(found[name], expected[name], None if kind.scalar else kind.length) for name, kind in kinds}
        )

    def bounds(self, flood: float | None = None, expected: Expected | None = None) -> dict[str, float]:
        """Error bound by output, including flooding noise; 0 for BGV."""
        nodes = self.facts["nodes"] if expected is None else self._nodes_for(expected)[1]
        return self.program.shapes.by_output(self._bounds_of(nodes, flood))

    def _nodes_for(self, expected: Expected) -> tuple[str, list[SlotNode]]:
        """The operations with their bounds, and the bounds' validity: "any inputs", or "these inputs" if the former are uninformative."""
        nodes: list[SlotNode] = [node.copy() for node in self.facts["nodes"]]
        limits = self._bounds_of(nodes, None)
        if self.program.scheme != "ckks" or all(limits[name] < _largest(expected.values[name]) for name in limits):
            return "any inputs", nodes
        here = self.native.bounds(expected.magnitudes)
        for node in nodes:
            # Values above the largest float give NaN, which no finite bound covers.
            bound = here[node["node"]]
            node["bound"] = inf if isnan(bound) else bound
        return "these inputs", nodes

    def _bounds_of(self, nodes: Sequence[SlotNode], flood: float | None) -> dict[str, float]:
        """The bounds of the outputs, which are the last nodes of a program, in order, plus a bound of the flooding noise in every slot
        that holds except with probability 2^-40."""
        noise = (flood or 0.0) * sqrt((40 + log2(self.program.slots)) * log(2))
        known = [node.get("bound", 0.0) for node in nodes if node["op"] == "output"]
        # The facts have no bound above the largest float.
        limits = [inf if bound is None else bound + noise for bound in known]
        return dict(zip(self.program.native.outputs, limits, strict=True))

    def rounding(self, magnitudes: Sequence[float] | None = None) -> float:
        """A few times the last bit of the largest number."""
        sizes = [node.get("magnitude") or 0.0 for node in self.facts["nodes"]] if magnitudes is None else magnitudes
        return 2.0**-48 * max(sizes, default=0.0)

    @property
    def input_size(self) -> float:
        """Largest declared magnitude of an input; 1 if all are selectors."""
        sizes = [node.get("magnitude") or 0.0 for node in self.facts["nodes"] if node["op"] == "input"]
        return max(sizes, default=float(bool(self.program.selectors)))

    def result(self, done: Execution) -> SlotResult:
        """Compares an execution with the expected outputs."""
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
            bound=program.shapes.by_output(self._bounds_of(nodes, done.flood)),
            sizes={"keys": done.keys.server.bytes, "inputs": done.ciphertext_bytes, "outputs": done.results.bytes},
            rounding=self.rounding(expected.magnitudes),
            distance=distance,
            bound_for=bound_for,
            reference="program" if program.reference is None else "function",
            nodes=nodes,
        )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class SlotResult(RunResult):
    """The result of an execution with CKKS or BGV."""

    plan: RnsPlan
    distance: dict[str, float]
    """The largest distance of a slot from the result of the true functions, which polynomials approximate, by output; empty if
    the program approximates none."""
    bound_for: str
    """Validity of the bounds: "any inputs" within their types or, if those bounds are uninformative, "these inputs"."""
    reference: str
    """Source of `expected`: the Python "function", or the "program" itself if it was read from a text."""
    nodes: list[SlotNode]
    """Every operation: place, level, scale, bound of its error, and the measured error if measured."""

    @property
    def exact(self) -> bool:
        """Whether decryption gives integers without error."""
        return self.scheme == "bgv"

    @property
    def first_beyond(self) -> SlotNode | None:
        """The first operation whose measured error exceeds its bound."""
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
                {
                    name: finite_or_none(value) if name in ("bound", "measured") else value
                    for name, value in node.items()
                }
                for node in self.nodes
            ],
            "key_switch": self.plan.facts["key_switch"],
        }


def _too_weak(found: Mapping[str, Any], bits: float, named: bool, by_default: bool) -> str:
    """Why a set of this security is refused, with a remedy."""
    has = f"{security_text(found['security_bits'])} bits of security" if found["security_bits"] else "no known security"
    figures = f"logQP {found['log2_q'] + found['log2_p']:.0f} at degree {found['ring_degree']}"
    known = f"parameter set {found['name']} has {has} ({found['security_source']}; {figures})"
    if by_default:
        least = security_text(found["security_bits"])
        return (
            f"{known}, but {bits:.0f} are needed; take a set with a larger ring_degree or fewer bits of moduli, or accept this one "
            f"for experiments with security={least} (--security {least})"
        )
    other = ", or none" if named else ""
    return f"{known}, but {bits:.0f} are required; name a set with a larger degree{other}, or require fewer"


def _error(found: Native, expected: Native, slots: int | None) -> float:
    """The largest error of the first `slots` slots, or of all; with BGV, the number of wrong slots."""
    a, b = numbers(found)[:slots], numbers(expected)[:slots]
    return float(np.abs(a - b).max()) if isinstance(found, tuple) else float((a != b).sum())


def _largest(slots: Native) -> float:
    """The largest absolute value of a slot."""
    return float(np.abs(numbers(slots)).max(initial=0.0))
