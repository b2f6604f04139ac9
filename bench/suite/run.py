"""The suite's workloads on this computer, stage by stage as its harness runs them, or the same programs on the machines that take them.

python bench/suite/run.py [WORKLOAD/INSTANCE ..]     those, or all that fit here; as JSON
python bench/suite/run.py --machines ..              simulates their programs instead

Data is generated as the suite specifies it, except that images are the digits of scikit-learn at MNIST's size. Every stage is a new process, every
result is compared with numpy's. The last images are not among those that the network was trained on.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlp
import numpy as np
import polyfabric as pf
import similarity
from instance import Instance
from integers import Integers, nothing, read
from numpy.typing import NDArray
from stage import workload

CASES = (
    "addition/single",
    "addition/small",
    "multiplication/single",
    "multiplication/small",
    "mlp/single",
    "mlp/small",
    "similarity/toy",
    "similarity/small",
    "count/toy",
)
"""A workload's name and an instance's; `count` is the similarity search that returns a number."""
MACHINES = ("f1", "fpt", "morphling", "osiris", "strix")
RANDOM = np.random.default_rng(2026)


# -- data and expected results --------------------------------------------------------------------------------------------


def pairs(instance: Instance, count: int) -> None:
    """Random 64-bit numbers."""
    instance.data.mkdir(parents=True)
    for side in ("lhs", "rhs"):
        np.savetxt(instance.data / f"{side}.txt", RANDOM.integers(2**64, size=count, dtype=np.uint64), fmt="%u")


def table(instance: Instance, layout: similarity.Layout) -> None:
    """Unit vectors, half of them near one of the centers, and a query near one."""
    instance.data.mkdir(parents=True)
    centers = _unit(RANDOM.standard_normal((max(1, layout.records // 32), layout.dimension)))

    def near(count: int, share: float) -> NDArray[np.float32]:
        points = _unit(RANDOM.standard_normal((count, layout.dimension)))
        chosen = RANDOM.random(count) < share
        points[chosen] = centers[RANDOM.integers(len(centers), size=int(chosen.sum()))] + 0.3 * points[chosen]
        return _unit(points).astype(np.float32)

    near(layout.records, 0.5).tofile(instance.data / "db.bin")
    near(1, 1.0).tofile(instance.data / "query.bin")
    payloads = RANDOM.integers(512, size=(layout.records, similarity.PAYLOAD), dtype=np.int16)
    payloads.tofile(instance.data / "payloads.bin")


def images(instance: Instance, count: int) -> None:
    """Images that the network was not trained on, with their labels."""
    pixels, labels = mlp.digits()
    chosen = np.resize(np.arange(len(pixels))[::4], count)
    folder = instance.data / "intermediate"
    folder.mkdir(parents=True)
    np.savetxt(folder / "test_pixels.txt", pixels[chosen], fmt="%.6f")
    np.savetxt(folder / "test_labels.txt", labels[chosen], fmt="%d")


def check_pairs(instance: Instance, operation: str) -> dict[str, Any]:
    """Numpy's integers wrap at 64 bits too."""
    x, y = read(instance, "lhs"), read(instance, "rhs")
    expected = x + y if operation == "addition" else x * y
    found = np.loadtxt(instance.io / "cleartext_output" / "out.txt", dtype=np.uint64, ndmin=1)
    return {"correct": bool(np.array_equal(found, expected)), "values": len(x)}


def check_table(instance: Instance, layout: similarity.Layout) -> dict[str, Any]:
    """Matches by numpy."""
    records = np.fromfile(instance.data / "db.bin", np.float32).reshape(-1, layout.dimension)
    matches = records @ np.fromfile(instance.data / "query.bin", np.float32) > similarity.THRESHOLD
    result = instance.io / "results.bin"
    if instance.count_only:
        correct = int(np.fromfile(result, np.int64)[0]) == int(matches.sum())
    else:
        payloads = np.fromfile(instance.data / "payloads.bin", np.int16).reshape(-1, similarity.PAYLOAD)[matches]
        found = np.fromfile(result, np.int16).reshape(-1, similarity.PAYLOAD).tolist()
        correct = found == sorted(payloads.tolist())
    return {"correct": bool(correct), "values": layout.records, "matches": int(matches.sum())}


def check_images(instance: Instance, model: pf.models.Model) -> dict[str, Any]:
    """Predictions of the network in the clear, and the share of right labels."""
    pixels, labels = (
        np.loadtxt(instance.data / "intermediate" / f"test_{what}.txt", ndmin=at)
        for what, at in (("pixels", 2), ("labels", 1))
    )
    found = np.loadtxt(instance.io / "encrypted_model_predictions.txt", ndmin=1)
    clear = model.reading.predictions(model.exact_scores(pixels))
    return {
        "correct": bool(np.array_equal(found, clear)),
        "values": len(labels),
        "accuracy": float(np.mean(found == labels)),
    }


def _unit(points: NDArray[np.float64]) -> NDArray[np.float64]:
    return points / np.linalg.norm(points, axis=-1, keepdims=True)


# -- one case -------------------------------------------------------------------------------------------------------------


def prepared(case: str, root: Path) -> tuple[str, Instance, Any, int, Callable[[], dict[str, Any]]]:
    """A case's workload and instance, with its data written; its program, executions, and check."""
    name, _, size = case.partition("/")
    name, count_only = ("similarity", True) if name == "count" else (name, False)
    found, sizes = workload(name)
    instance = Instance(root, size, count_only=count_only)
    if isinstance(found, Integers):
        pairs(instance, sizes[size])
        check = lambda: check_pairs(instance, found.operation)  # noqa: E731
        return name, instance, found.program(size), found.executions(size), check
    if name == "similarity":
        table(instance, sizes[size])
        return (
            name,
            instance,
            found.program(instance),
            sizes[size].executions,
            lambda: check_table(instance, sizes[size]),
        )
    images(instance, sizes[size])
    mlp.train(root / "submission" / "model.joblib")
    model = found.model(instance)
    return name, instance, model.program, -(-sizes[size] // model.batch), lambda: check_images(instance, model)


def measured(case: str) -> dict[str, Any]:
    """One case: the processor seconds of each stage with work, sizes, and whether its result is right."""
    with tempfile.TemporaryDirectory() as folder:
        name, instance, program, executions, check = prepared(case, Path(folder))
        instance.io.mkdir(parents=True)
        options = ["--count_only"] if instance.count_only else []
        seconds = {}
        for stage, work in workload(name)[0].stages.items():
            if work is nothing:
                continue
            words = [sys.executable, str(Path(__file__).with_name("stage.py")), name, stage, instance.name, *options]
            seconds[stage] = processor_seconds(words, instance.root)
            print(f"{case} {stage}: {seconds[stage]:.1f} s", file=sys.stderr)
        sent = {part: _size(instance.io / part) for part in ("ciphertexts_upload", "ciphertexts_download")}
        keys = sum(_size(instance.io / keys) for keys in ("keys", "public_keys"))
        cost = program.cost().to_dict()
        return {
            "case": case,
            "scheme": program.scheme,
            "parameters": cost["parameters"],
            "executions": executions,
            "seconds": seconds,
            "bytes": {"keys": keys, **sent},
            **check(),
        }


def processor_seconds(words: list[str], folder: Path) -> float:
    """Processor time of a command, which other load on the computer changes less than the time on the clock."""
    process = subprocess.Popen(words, cwd=folder)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"`{' '.join(words)}` ended with status {process.returncode}")
    return round(used.ru_utime + used.ru_stime, 3)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def simulated(case: str) -> dict[str, Any]:
    """The time of one execution on every machine that takes it, and why others do not."""
    with tempfile.TemporaryDirectory() as folder:
        _, _, program, executions, _ = prepared(case, Path(folder))
    row: dict[str, Any] = {"case": case, "executions": executions, "machines": {}}
    for machine in MACHINES:
        widths = {"widths": "derived"} if program.scheme == "tfhe" else {}
        try:
            report = program.simulate(machine, **widths).to_dict()
            row["machines"][machine] = {"parameters": report["parameters"], "seconds": report["seconds"]}
        except pf.Error as problem:
            row["machines"][machine] = {"reason": str(problem)}
        print(f"{case} on {machine}: {row['machines'][machine].get('seconds', 'does not fit')}", file=sys.stderr)
    return row


def main() -> int:
    """The command line; the status is 1 if a result is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="WORKLOAD/INSTANCE", help=", ".join(CASES))
    parser.add_argument("--machines", action="store_true")
    given = parser.parse_args()
    unknown = [case for case in given.cases if case not in CASES]
    if unknown:
        parser.error(f"there is no {unknown[0]}; choose from {', '.join(CASES)}")
    rows = [(simulated if given.machines else measured)(case) for case in given.cases or CASES]
    print(json.dumps({"rows": rows}, indent=1))
    return int(not all(row.get("correct", True) for row in rows))


if __name__ == "__main__":
    sys.exit(main())
