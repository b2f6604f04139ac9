"""Ctrl-C ends every operation within 200 ms, in Python and on the command line, and nothing stays half-written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROMPT = 1.0
"""Seconds from the signal to the end of the operation, without those in which other work kept a thread of it from a processor."""

# Each says that it is about to begin, does something long, and how long after the signal it has come back.
SCRIPT = """
import os, signal, time, sys
import polyfabric as pf
from polyfabric.run import execution
at = []
def waited():
    # Seconds that each thread was ready to run and did not, by the scheduler.
    threads = {{}}
    for thread in os.listdir("/proc/self/task"):
        try:
            threads[thread] = int(open(f"/proc/self/task/{{thread}}/schedstat").read().split()[1]) / 1e9
        except OSError:
            pass
    return threads
def interrupted(number, frame):
    at.extend((time.perf_counter(), waited()))
    raise KeyboardInterrupt
signal.signal(signal.SIGINT, interrupted)
{prepare}
print("ready", flush=True)
try:
    {work}
except KeyboardInterrupt:
    taken, late = time.perf_counter() - at[0], waited()
    print("ended", taken - max(late[thread] - at[1].get(thread, 0) for thread in late), flush=True)
{after}
"""

PIPE = "import tempfile\nfolder = tempfile.TemporaryDirectory()\npipe = f'{folder.name}/pipe.toml'\nos.mkfifo(pipe)"

F1_PROGRAM = (
    "import numpy as np\n"
    "from polyfabric.apps.f1_programs import PROGRAMS\n"
    "machine, program = pf.load_machine('f1'), PROGRAMS['lola-mnist']\n"
    "built = program.build()\n"
    "def planned():\n"
    "    return execution.plan(built, program.parameters, machine=machine, key_switch='set', security=0)\n"
)

WORK = {
    "execution, TFHE": (
        "p = pf.program(x=pf.Int(0, 3).vector(5000))(lambda x: pf.lookup(x, lambda v: v // 2))\n"
        "planned = execution.plan(p, 'polyfabric-2-p128-t64')\n"
        "keys = pf.Keys.generate(planned.parameters)",
        "execution.run_plan(planned, {'x': [1] * 5000}, on='cpu', keys=keys)",
    ),
    "the interpreter": (
        "p = pf.program(x=pf.Int(0, 3).vector(200))(lambda x: pf.lookup(x, lambda v: v // 2))\n"
        "planned = execution.plan(p, 'polyfabric-2-p128-t64')\n"
        "keys = pf.Keys.generate(planned.parameters)",
        "execution.run_plan(planned, {'x': [1] * 200}, on='interpreter', keys=keys)",
    ),
    "keys, TFHE": ("", "[pf.Keys.generate('polyfabric-4-p128-t64') for _ in range(200)]"),
    "keys to a file": (
        "import itertools, tempfile\n"
        "folder = tempfile.TemporaryDirectory()\n"
        "p = pf.program(x=pf.Real.vector(4096))(lambda x: sum((x.rotate(i) for i in range(1, 60)), x * x))\n"
        "keys = pf.Keys.generate(execution.plan(p, 'ckks-depth-7'))",
        "[keys.save(f'{folder.name}/{number}') for number in itertools.count()]",
    ),
    "execution, CKKS": (
        "p = pf.program(x=pf.Real.vector(8192))(lambda x: sum(((x * x).rotate(i) for i in range(1, 400)), x * x))\n"
        "planned = execution.plan(p, 'ckks-depth-7')\n"
        "keys = None",
        "execution.run_plan(planned, {'x': [0.5] * 8192})",
    ),
    "a simulation": (
        "from polyfabric.apps import programs\nfrom polyfabric.accelerators.machine import load\nmachine = load('morphling')",
        "[machine.simulate(programs.timed('pbs', 'morphling-I', 20000, machine)) for _ in range(50)]",
    ),
    "a replay, Morphling": (
        "p = pf.program(x=pf.Int(0, 3).vector(64))(lambda x: pf.lookup(x, lambda v: v // 2))\n"
        "machine = pf.load_machine('morphling')\n"
        "planned = execution.plan(p, machine=machine)\n"
        "keys = pf.Keys.generate(planned.parameters)",
        "execution.run_plan(planned, {'x': [1] * 64}, keys=keys)",
    ),
    "a machine from a pipe that nobody writes to": (PIPE, "pf.load_machine(pipe)"),
    "a parameter set from one": (PIPE, "pf.SlotParameters.load(pipe)"),
    "a plan, CKKS": (F1_PROGRAM, "[planned() for _ in range(50)]"),
    "a compilation, F1": (F1_PROGRAM + "made = planned()", "[machine.map(made) for _ in range(20)]"),
    "a replay, F1": (
        F1_PROGRAM + "made = planned()\n"
        "keys = pf.Keys.generate(made)\n"
        "inputs = built.flatten(program.example(np.random.default_rng())[0])\n"
        "ciphertexts = keys.client.encrypt(made.signature, inputs)\n"
        "mapped = machine.map(made)",
        "[mapped.replay(keys.server, ciphertexts) for _ in range(5)]",
    ),
    "a compilation and a replay, Osiris": (
        "p = pf.program(x=pf.Real.vector(1024))(lambda x: sum(((x * x).rotate(i) for i in range(1, 40)), x * x))\n"
        "machine = pf.load_machine('osiris')\n"
        "planned = execution.plan(p, 'osiris-III', machine=machine, security=0)\n"
        "keys = pf.Keys.generate(planned)\n"
        "ciphertexts = keys.client.encrypt(planned.signature, p.flatten({'x': [0.5] * 1024}))",
        "[machine.map(planned).replay(keys.server, ciphertexts) for _ in range(20)]",
    ),
}


def interrupted_after(process: subprocess.Popen[str], seconds: float) -> list[str]:
    """The output of a process that is interrupted this long after it is ready."""
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.strip() == "ready", line
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    return out.split()


@pytest.mark.parametrize("name", WORK)
def test_an_interrupt_ends_it_at_once(name: str) -> None:
    prepare, work = WORK[name]
    script = SCRIPT.format(prepare=prepare, work=work, after="")
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    words = interrupted_after(process, 0.4)
    assert words[:1] == ["ended"], words
    assert float(words[1]) <= PROMPT, words


def test_after_an_interrupt_the_next_operation_runs() -> None:
    prepare, work = WORK["execution, TFHE"]
    after = (
        "small = pf.program(x=pf.Int(0, 3))(lambda x: pf.lookup(x, lambda v: v // 2))\n"
        "print(small.run({'x': 3}, keys=keys).outputs)"
    )
    script = SCRIPT.format(prepare=prepare, work=work, after=after)
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    words = interrupted_after(process, 0.4)
    assert words[0] == "ended"
    assert " ".join(words[2:]) == "{'result': 1}"


def test_the_command_line_ends_and_writes_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "polyfabric", "run", "pbs", "--batch", "5000", "--keys", "keys"]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell's job in the background ignores interrupts, and so does what it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    # Until it has imported everything and is at the keys, or behind them: on a busy machine that takes longer.
    maps = Path(f"/proc/{process.pid}/maps")
    for _ in range(300):
        if not maps.exists() or "_native" in maps.read_text():
            break
        time.sleep(0.1)
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["run pbs --batch 5000", "machines"])
@pytest.mark.parametrize("module", [False, True])
def test_an_interrupt_of_the_imports_leaves_no_traceback(command: str, module: bool, tmp_path: Path) -> None:
    script = [sys.executable, "-m", "polyfabric"] if module else [str(Path(sys.executable).with_name("polyfabric"))]
    for _ in range(4):
        process = subprocess.Popen(
            [*script, *command.split()],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        # Until its first module is there: before that, it is the interpreter that begins.
        maps = Path(f"/proc/{process.pid}/maps")
        while "_native" not in maps.read_text() and process.poll() is None:
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
        assert process.returncode == 130, error
        assert "interrupted" in error
        assert "Traceback" not in error


@pytest.mark.parametrize("inherited", [signal.SIG_DFL, signal.SIG_IGN])
def test_the_command_takes_interrupts_over_before_it_imports_anything(
    inherited: signal.Handlers, tmp_path: Path
) -> None:
    """Ignored signals, as in a shell's background job, stay ignored."""
    (tmp_path / "polyfabric").mkdir()
    (tmp_path / "polyfabric" / "__init__.py").touch()
    (tmp_path / "polyfabric" / "cli.py").write_text(
        "import signal\n\n\ndef main():\n    print(int(signal.getsignal(signal.SIGINT)))\n"
    )
    done = subprocess.run(
        [sys.executable, Path(sys.executable).with_name("polyfabric")],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, inherited),
    )
    assert (done.stderr, done.stdout.split()) == ("", [str(int(inherited))])
