"""Turns a clone of one of the suite's repositories into a submission.

python bench/suite/submit.py multiplication CLONE
python bench/suite/submit.py mlp CLONE --data mnist.npz     with a network trained on these images; see mlp.py

It replaces `submission/`, `scripts/build_task.sh` and `scripts/get_openfhe.sh` of the clone. Then `python3 harness/run_submission.py 0 --num_runs 3` there
measures it, with the Python that has this package first in the path. `submission/README.md` is what the suite asks every submitter for.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from integers import nothing
from stage import MODULES, workload

HERE = Path(__file__).parent
BUILD = {"multiplication": "target/release", "similarity": "build", "mlp": "build"}
"""Where each repository looks for its stages. There is none for additions."""

PACKAGES = {"mlp": " scikit-learn scipy"}
"""What the stages import besides this package."""

BUILD_TASK = """#!/bin/sh
# Writes the stages as commands; the implementation is in Python, and the package brings its compiled half.
set -eu
python3 -c 'import polyfabric, sys; sys.exit(polyfabric.__version__ == "")'
folder="$(cd "$(dirname "$0")/../submission" && pwd)"
mkdir -p "$folder/{build}"
for stage in {stages}; do
    printf '#!/bin/sh\\nexec python3 "%s" {workload} %s "$@"\\n' "$folder/stage.py" "$stage" > "$folder/{build}/$stage"
done
for stage in {idle}; do
    printf '#!/bin/sh\\n# Nothing to do.\\n' > "$folder/{build}/$stage"
done
chmod +x "$folder/{build}"/client_* "$folder/{build}"/server_*
"""

README = """# {workload}, with Polyfabric

`pip install polyfabric{packages}`, then run the harness. Every stage is a call of `stage.py {workload} STAGE`; `{module}.py` has the program and the stages.

**Scheme and parameters.** {scheme}

**Security.** The package refuses a set with less than 128 bits. `python3 -m polyfabric params` lists the sets with their security and its source: the tables of
Bossuat et al., "Security Guidelines for Implementing Homomorphic Encryption", or the lattice estimator for sets between their rows.

**Work of the client.** {client}
"""
ABOUT = {
    "multiplication": (
        "One pair: TFHE, integers of 64 bits in digits of 2 bits, failure probability below 2^-128. Batches: BGV with the plaintext modulus 786433, "
        "ring degree 8192 and one level.",
        "One pair: none. Batches: numbers are split into eight digits of 8 bits before encryption, and the carries of the eight digits of a product are added "
        "after decryption.",
    ),
    "similarity": (
        "CKKS of degree 32768 with eleven levels, and a polynomial of degree 255 as the threshold.",
        "The coordinates of the query are repeated before encryption. After decryption the client drops the slots of records that do not match, "
        "and sorts the others; it adds the counts of parts of the table.",
    ),
    "mlp": (
        "CKKS of degree 32768 with eleven levels. The network has layers of 128, 64 and 10 as the harness' own, with hyperbolic tangents instead of "
        "rectifiers, as polynomials of degree 15.",
        "Pixels are scaled before encryption. After decryption the client takes the class of the highest score.",
    ),
}


def submit(name: str, clone: Path, data: Path | None = None) -> None:
    """Writes the submission of a workload."""
    if not (clone / "harness" / "run_submission.py").is_file():
        sys.exit(f"{clone} has no harness/run_submission.py; clone the suite's repository of this workload first")
    folder, scripts = clone / "submission", clone / "scripts"
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir()
    scripts.mkdir(exist_ok=True)
    module = MODULES[name]
    for used in sorted({"instance", "stage", "integers", module}):
        shutil.copy(HERE / f"{used}.py", folder)
    scheme, client = ABOUT[name]
    (folder / "README.md").write_text(
        README.format(workload=name, module=module, packages=PACKAGES.get(name, ""), scheme=scheme, client=client)
    )
    found, _ = workload(name)
    idle = [stage for stage, work in found.stages.items() if work is nothing]
    stages = [stage for stage in found.stages if stage not in idle]
    build = BUILD_TASK.format(build=BUILD[name], stages=" ".join(stages), idle=" ".join(idle), workload=name)
    for script, text in {"build_task.sh": build, "get_openfhe.sh": "#!/bin/sh\n# Nothing to fetch.\n"}.items():
        (scripts / script).write_text(text)
        (scripts / script).chmod(0o755)
    if name == "mlp":
        from mlp import train

        train(folder / "model.joblib", data)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workload", choices=BUILD)
    parser.add_argument("clone", type=Path)
    parser.add_argument("--data", type=Path, help="images to train the network on (mlp)")
    given = parser.parse_args()
    submit(given.workload, given.clone, given.data)


if __name__ == "__main__":
    main()
