"""The OpenFHE peer: reads one JSON request per line and writes one JSON answer per line.

It has the protocol of the Lattigo peer. Each measured result is decrypted and compared with the computation in the
clear. Run it with OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import json
import math
import random
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import openfhe as fhe

PLAINTEXT_MODULUS = 65537
Answer = dict[str, Any]


class Refused(Exception):
    """A request that this peer does not support."""


def timed(repetitions: int, work: Callable[[], Any]) -> tuple[list[float], Any]:
    """Milliseconds of each call after one warm-up call, and the last result."""
    result, times = work(), []
    for _ in range(repetitions):
        start = time.perf_counter()
        result = work()
        times.append((time.perf_counter() - start) * 1e3)
    return times, result


class Side:
    """A prepared parameter set of either scheme: keys and two encrypted vectors."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.scheme = request["scheme"]
        log_q, log_p = request["log_q"], request["log_p"]
        digits = math.ceil(len(log_q) / len(log_p))
        ckks = self.scheme == "ckks"
        parameters = fhe.CCParamsCKKSRNS() if ckks else fhe.CCParamsBGVRNS()
        parameters.SetSecurityLevel(fhe.SecurityLevel.HEStd_NotSet)
        parameters.SetRingDim(1 << request["log_n"])
        parameters.SetMultiplicativeDepth(len(log_q) - 1)
        parameters.SetScalingTechnique(fhe.ScalingTechnique.FIXEDMANUAL)
        parameters.SetKeySwitchTechnique(fhe.KeySwitchTechnique.HYBRID)
        parameters.SetNumLargeDigits(digits)
        scaling = request["log_scale"] if ckks else round(sum(log_q) / len(log_q))
        parameters.SetScalingModSize(scaling)
        # OpenFHE requires that the first modulus is no smaller than the others.
        parameters.SetFirstModSize(min(60, max(scaling, sum(log_q) - scaling * (len(log_q) - 1))))
        self.slots = 1 << (request["log_n"] - ckks)
        if ckks:
            parameters.SetCKKSDataType(fhe.CKKSDataType.COMPLEX)
        else:
            parameters.SetPlaintextModulus(PLAINTEXT_MODULUS)
        parameters.SetBatchSize(self.slots)
        self.context = context = fhe.GenCryptoContext(parameters)
        for feature in (fhe.PKESchemeFeature.PKE, fhe.PKESchemeFeature.KEYSWITCH, fhe.PKESchemeFeature.LEVELEDSHE):
            context.Enable(feature)
        self.keys = context.KeyGen()
        context.EvalMultKeyGen(self.keys.secretKey)
        self.rotations = request["rotations"]
        context.EvalRotateKeyGen(self.keys.secretKey, self.rotations)
        self.x, self.y = ([self._draw() for _ in range(self.slots)] for _ in range(2))
        pack = context.MakeCKKSPackedPlaintext if ckks else context.MakePackedPlaintext
        self.plain_y = pack(self.y)
        self.ct_x, self.ct_y = (context.Encrypt(self.keys.publicKey, p) for p in (pack(self.x), self.plain_y))
        # OpenFHE chooses the moduli that the request does not determine.
        # It returns Q as a float, which ends at 2^1024; for a larger Q, report the requested bits.
        modulus = context.GetModulus()
        bits = math.log2(modulus) if math.isfinite(modulus) else float(sum(log_q))
        self.answer = {"log_q": bits, "digits": digits}

    def _draw(self) -> complex | int:
        if self.scheme == "ckks":
            return complex(random.uniform(-1, 1), random.uniform(-1, 1))
        # OpenFHE expects residues centred about zero.
        return random.randint(-(PLAINTEXT_MODULUS // 2), PLAINTEXT_MODULUS // 2)

    def measure(self, op: str, repetitions: int) -> Answer:
        """Times one operation and measures the error of its decrypted result."""
        context, count = self.context, self.slots
        row = count if self.scheme == "ckks" else count // 2
        products = [a * b for a, b in zip(self.x, self.y, strict=True)]

        def rotated(by: int) -> list[Any]:
            return [self.x[i - i % row + (i % row + by) % row] for i in range(count)]

        if op == "multiply" and self.scheme == "ckks":
            times, result = timed(repetitions, lambda: context.Rescale(context.EvalMult(self.ct_x, self.ct_y)))
            expected = products
        elif op == "multiply":
            times, result = timed(repetitions, lambda: context.EvalMult(self.ct_x, self.ct_y))
            expected = products
        elif op == "multiply plain" and self.scheme == "ckks":
            times, result = timed(repetitions, lambda: context.EvalMult(self.ct_x, self.plain_y))
            expected = products
        elif op == "rotate":
            by = self.rotations[0]
            times, result = timed(repetitions, lambda: context.EvalRotate(self.ct_x, by))
            expected = rotated(by)
        elif op == "rotate hoisted":
            order = context.GetCyclotomicOrder()

            def hoisted() -> Any:  # noqa: ANN401 - the library's ciphertext
                digits = context.EvalFastRotationPrecompute(self.ct_x)
                return [context.EvalFastRotation(self.ct_x, by, order, digits) for by in self.rotations][-1]

            times, result = timed(repetitions, hoisted)
            expected = rotated(self.rotations[-1])
        else:
            raise Refused(f"unknown {self.scheme} operation {op!r}")
        plain = context.Decrypt(result, self.keys.secretKey)
        plain.SetLength(count)
        return {"ms": times, "error": self._error(plain, expected)}

    def _error(self, plain: Any, expected: list[Any]) -> float:  # noqa: ANN401 - the library's plaintext
        if self.scheme == "ckks":
            values = plain.GetCKKSPackedValue()
            return max(abs(a - b) for a, b in zip(values, expected, strict=True))
        values = plain.GetPackedValue()
        return float(sum((a - b) % PLAINTEXT_MODULUS != 0 for a, b in zip(values, expected, strict=True)))


def peak_gib() -> float:
    """The peak memory of this process."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next((int(line.split()[1]) / (1 << 20) for line in status if line.startswith("VmHWM:")), 0.0)


def handle(sides: list[Side], request: dict[str, Any]) -> Answer:
    """The answer to one request."""
    if request["do"] == "hello":
        return {"version": f"OpenFHE {'.'.join(version('openfhe').split('.')[:3])}", "error": 0}
    if request["do"] == "prepare":
        if request["scheme"] not in ("ckks", "bgv"):
            raise Refused(f"the library's Python interface has no {request['scheme']} to measure")
        start = time.perf_counter()
        sides[:] = []
        side = Side(request)
        sides[:] = [side]
        return {**side.answer, "seconds": time.perf_counter() - start, "error": 0}
    if not sides:
        raise Refused("no parameter set is prepared")
    return sides[0].measure(request["op"], request["repetitions"])


def main() -> None:
    """Answers requests until the stream ends."""
    sides: list[Side] = []
    for line in sys.stdin:
        try:
            answer = handle(sides, json.loads(line))
        except (Refused, RuntimeError) as error:
            answer = {"failure": str(error), "error": 0}
        print(json.dumps({**answer, "peak_gib": peak_gib()}), flush=True)


if __name__ == "__main__":
    main()
