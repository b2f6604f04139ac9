"""Ctrl-C ends compilation, simulation and every simulating command at once."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROMPT = 1.5
"""Seconds from the signal to the end of the process: 0.2 for the work, and what a computer with other work takes to end a process."""

LATER = 4
"""Seconds from which on a signal is for the full tests: what has come so far is met earlier, in this command or in another."""

COMMANDS = {
    # In the choice of a set, in lowering, in the scheduler, in the check.
    "simulate vgg-9 --on morphling --max-failure 0": (2, 7, 11, 16),
    "simulate vgg-9 --on strix --params strix-III --max-failure 0": (2, 4, 9),
    "simulate ckks-bootstrapping --on osiris --params osiris-bootstrap": (2, 5),
    "simulate lola-cifar --on f1": (2, 9),
    "explore morphling --programs vgg-9 --axis units.xpu.count=2,4": (2, 4),
    "reproduce strix": (2,),
    "compare deepcnn-100": (2,),
    "widths --params polyfabric-5-p128-t32 --on fpt": (1,),
}


def begun(process: subprocess.Popen[str]) -> None:
    """Waits until everything is imported."""
    maps = Path(f"/proc/{process.pid}/maps")
    for _ in range(600):
        if process.poll() is not None or "_native" in maps.read_text():
            return
        time.sleep(0.05)


def points() -> list[object]:
    of = [(command, after) for command, all_of_it in COMMANDS.items() for after in all_of_it]
    return [pytest.param(*point, marks=[pytest.mark.full] if point[1] >= LATER else []) for point in of]


@pytest.mark.parametrize(("command", "after"), points())
def test_an_interrupt_ends_the_command_at_once(command: str, after: float) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "polyfabric", *command.split()],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell's job in the background ignores interrupts, and so does what it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    begun(process)
    try:
        process.wait(after)
    except subprocess.TimeoutExpired:
        begin = time.perf_counter()
        process.send_signal(signal.SIGINT)
        output, error = process.communicate(timeout=60)
        taken = time.perf_counter() - begin
        if process.returncode == -signal.SIGINT and output:
            # All is printed, and Python, which takes itself down, has put the operating system's answer to signals back.
            pytest.skip(f"ended by itself in {after} s, as the signal came")
        assert process.returncode == 130, error
        assert "interrupted" in error
        assert taken <= PROMPT, taken
        return
    _, error = process.communicate()
    assert process.returncode == 0, error
    pytest.skip(f"over before the signal, which was to come after {after} s")
