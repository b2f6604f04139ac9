"""The OpenFHE peer: functional bootstrapping of all coefficients of a ciphertext, with the parameters of the library's own benchmark.

It reads one JSON request per line and writes one JSON answer per line. Every result is decrypted and compared with the table. Run it with
OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import json
import math
import random
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import openfhe as fhe

FIRST_BITS = 60
"""log2 of the modulus of fresh inputs."""

CASES: dict[int, dict[str, Any]] = {
    1: {"modulus": 33, "scale": 1, "log_n": 15, "digits": 3, "levels": [3, 3]},
    4: {"modulus": 38, "scale": 32, "log_n": 16, "digits": 3, "levels": [4, 4]},
    8: {"modulus": 47, "scale": 32, "log_n": 16, "digits": 4, "levels": [3, 3]},
}
"""By bits of the values: log2 of each modulus, scale of the table, log2 N, digits of a key switch, levels of both transforms."""


class Side:
    """Keys and an encrypted vector for one table."""

    def __init__(self, table: list[int]) -> None:
        self.table, self.p = table, len(table)
        self.bits = self.p.bit_length() - 1
        case = CASES[self.bits]
        self.count = 1 << case["log_n"]
        self.slots = self.count // 2
        self.log_modulus, self.scale = case["modulus"], case["scale"]
        # The table of two entries is given by its values, longer ones by a trigonometric polynomial.
        if self.p == 2:
            self.coefficients = [table[1], table[0] - table[1]]
        else:
            self.coefficients = fhe.GetHermiteTrigCoefficients(
                lambda value: table[value % self.p], self.p, 1, float(self.scale)
            )
        ephemeral = fhe.SecretKeyDist.SPARSE_ENCAPSULATED
        parameters = fhe.CCParamsCKKSRNS()
        parameters.SetSecretKeyDist(ephemeral)
        parameters.SetSecurityLevel(fhe.SecurityLevel.HEStd_NotSet)
        parameters.SetScalingTechnique(fhe.ScalingTechnique.FIXEDMANUAL)
        parameters.SetScalingModSize(self.log_modulus)
        parameters.SetFirstModSize(self.log_modulus)
        parameters.SetNumLargeDigits(case["digits"])
        parameters.SetRingDim(self.count)
        parameters.SetBatchSize(self.slots)
        self.depth = fhe.CryptoContext.GetFBTDepth(case["levels"], self.coefficients, self.p, 1, ephemeral)
        parameters.SetMultiplicativeDepth(self.depth)
        self.context = context = fhe.GenCryptoContext(parameters)
        features = fhe.PKESchemeFeature
        for feature in (features.PKE, features.KEYSWITCH, features.LEVELEDSHE, features.ADVANCEDSHE, features.FHE):
            context.Enable(feature)
        self.keys = keys = context.KeyGen()
        modulus = 1 << self.log_modulus
        context.EvalFBTSetup(
            self.coefficients, self.slots, self.p, self.p, modulus, keys.publicKey, [0, 0], case["levels"], 0, 0, 1
        )
        context.EvalBootstrapKeyGen(keys.secretKey, self.slots)
        context.EvalMultKeyGen(keys.secretKey)
        self.ring = fhe.SchemeletRLWEMP.GetElementParams(keys.secretKey, self.depth)
        self.values = [random.randrange(self.p) for _ in range(self.count)]
        first = 1 << FIRST_BITS
        self.input = fhe.SchemeletRLWEMP.EncryptCoeff(self.values, first, self.p, keys.secretKey, self.ring)
        fhe.SchemeletRLWEMP.ModSwitch(self.input, modulus, first)

    def lookup(self) -> dict[str, Any]:
        """One lookup of all values: processor time, wrong values, and the largest error as a part of a step."""
        scheme, context, keys = fhe.SchemeletRLWEMP, self.context, self.keys
        modulus = 1 << self.log_modulus
        begin = time.process_time()
        raised = scheme.ConvertRLWEToCKKS(context, self.input, keys.publicKey, modulus, self.slots, self.depth)
        raised = context.EvalFBT(raised, self.coefficients, self.bits, int(self.ring.GetModulus()), self.scale, 0, 1)
        result = scheme.ConvertCKKSToRLWE(raised, modulus)
        seconds = time.process_time() - begin
        # Decrypted with as many steps as the modulus has, to see the errors.
        fine = modulus >> 1
        found = scheme.DecryptCoeff(result, modulus, fine, keys.secretKey, self.ring, self.slots, self.count)
        step = fine // self.p

        def error(found: int, value: int) -> float:
            difference = (found - self.table[value] * step) % fine
            return min(difference, fine - difference) / step

        errors = [error(int(own), value) for own, value in zip(found, self.values, strict=True)]
        wrong = sum(error >= 0.5 for error in errors)
        return {"seconds": seconds, "values": self.count, "wrong": wrong, "error": max(errors)}


def peak_gib() -> float:
    """The peak memory of this process."""
    with Path("/proc/self/status").open(encoding="ascii") as status:
        return next((int(line.split()[1]) / (1 << 20) for line in status if line.startswith("VmHWM:")), 0.0)


def main() -> None:
    """Answers requests until the stream ends."""
    side: Side | None = None
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "prepare":
            begin = time.process_time()
            side = Side(request["table"])
            modulus = side.context.GetModulus()
            log_q = math.log2(modulus) if math.isfinite(modulus) else float(side.log_modulus * (side.depth + 1))
            answer = {
                "version": f"OpenFHE {'.'.join(version('openfhe').split('.')[:3])}",
                "seconds": time.process_time() - begin,
                "ring_degree": side.count,
                "log_q": log_q,
            }
        else:
            answer = side.lookup() if side else {"failure": "nothing is prepared"}
        print(json.dumps({**answer, "peak_gib": peak_gib()}), flush=True)


if __name__ == "__main__":
    main()
