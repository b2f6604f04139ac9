"""Find the commands in the code blocks of README and docs, and run them.

A command is a line of a code block that begins with one of `PROGRAMS`, or with `$`; the lines below a `$` line are its
expected output. Pages run in parallel; the commands of a page run in order in one folder, which has links to `examples/` and
`machines/`, and the page's files: code blocks below `<!-- file: NAME -->`. `make`, `cargo` and `scripts/` run in the
repository. `commands.toml` has further requirements of a command, or why it is not run.
"""

from __future__ import annotations

import contextlib
import functools
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

from polyfabric.host.computer import available_bytes

from . import results, tables
from .jobs import Job
from .jobs import run as run_jobs

ROOT = results.ROOT
PROGRAMS = (
    "polyfabric",
    "make",
    "cargo",
    "cp",
    "mkdir",
    "pip",
    "taskset",
    "python",
    "scripts/",
    ".venv/bin/",
)
_IN_THE_REPOSITORY = ("make", "cargo", "scripts/", ".venv/bin/", "taskset")
GIBIBYTES = 9
"""Peak memory of a page's commands."""
_FENCE = re.compile(r"^```(\w*)\s*$")
_FILE = re.compile(r"^<!-- file: (\S+) -->$")
_NOT_CODE = ("- ", "* ", "|")


@dataclass(frozen=True)
class Command:
    """A command of a page."""

    page: str
    line: int
    text: str
    """Without its comment."""
    shown: tuple[str, ...] = ()
    """Its expected output."""

    @property
    def place(self) -> str:
        """PAGE:LINE."""
        return f"{self.page}:{self.line}"


@dataclass
class Page:
    """Commands of a page in order, and its files."""

    commands: list[Command] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Rule:
    """An entry of `commands.toml`."""

    needs: tuple[str, ...] = ()
    skip: str = ""
    run: str = ""
    status: int = 0
    minutes: float = 10
    serves: str = ""
    records: bool = False


def _without_comment(line: str) -> str:
    """A command without its comment, which begins with an unquoted # after a blank."""
    quote = ""
    for at, letter in enumerate(line):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter == "#" and line[at - 1 : at] == " ":
            return line[:at].rstrip()
    return line.rstrip()


def blocks(text: str) -> list[tuple[int, str, str, list[str]]]:
    """Code blocks: line of the first line, language, file name, lines."""
    found: list[tuple[int, str, str, list[str]]] = []
    lines = text.splitlines()
    at, name, blank = 0, "", True
    while at < len(lines):
        line = lines[at]
        fence = _FENCE.match(line)
        if fence is not None:
            end = next((i for i in range(at + 1, len(lines)) if lines[i].rstrip() == "```"), len(lines))
            found.append((at + 2, fence[1], name, lines[at + 1 : end]))
            at, name, blank = end + 1, "", False
            continue
        if blank and line.startswith("    ") and not line.strip().startswith(_NOT_CODE):
            end = at
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
            found.append((at + 1, "", name, [row[4:] for row in lines[at:end]]))
            at, name, blank = end, "", True
            continue
        marked = _FILE.match(line)
        name = marked[1] if marked else (name if not line.strip() else "")
        blank = not line.strip() or marked is not None
        at += 1
    return found


def page_of(path: Path) -> Page:
    """The commands and files of a page."""
    found = Page()
    place = path.relative_to(ROOT).as_posix()
    for first, language, name, lines in blocks(path.read_text(encoding="utf-8")):
        if name:
            found.files[name] = found.files.get(name, "") + "\n".join(lines) + "\n\n\n"
        if language not in ("", "sh", "console"):
            continue
        session = any(line.startswith("$ ") for line in lines)
        for at, line in enumerate(lines):
            prompted = line.startswith("$ ")
            if session and not prompted:
                continue
            text = _without_comment(line.removeprefix("$ "))
            if not text.startswith(tuple(p if p.endswith("/") else p + " " for p in PROGRAMS)):
                continue
            shown: tuple[str, ...] = ()
            if prompted:
                below = lines[at + 1 :]
                end = next((i for i, row in enumerate(below) if row.startswith("$ ")), len(below))
                shown = tuple(below[:end])
            found.commands.append(Command(place, first + at, text, shown))
    return found


def pages() -> dict[str, Page]:
    """Every page with a command."""
    found = {path.relative_to(ROOT).as_posix(): page_of(path) for path in tables.texts() if path.name != "CHANGELOG.md"}
    return {name: page for name, page in found.items() if page.commands}


def rules() -> dict[str, Rule]:
    """`commands.toml`, by the command's text."""
    with Path(__file__).with_name("commands.toml").open("rb") as file:
        written = tomllib.load(file)["command"]
    return {
        entry["text"]: Rule(**{key: tuple(v) if key == "needs" else v for key, v in entry.items() if key != "text"})
        for entry in written
    }


def lacking(needs: tuple[str, ...]) -> list[str]:
    """The requirements that this computer does not meet."""

    def there(need: str) -> bool:
        if need == "openfhe":
            return (ROOT / "bench" / "target" / "peers" / "openfhe").exists() or shutil.which("python3.10") is not None
        if need == "dask":
            return (
                subprocess.run([_python(), "-c", "import distributed"], capture_output=True, check=False).returncode
                == 0
            )
        if need.endswith("GiB"):
            return _free_gibibytes() >= float(need.removesuffix("GiB"))
        return shutil.which(need) is not None

    return [need for need in needs if not there(need)]


def _python() -> str:
    own = ROOT / ".venv" / "bin" / "python"
    return str(own) if own.exists() else sys.executable


def _free_gibibytes() -> float:
    left = available_bytes()
    return float("inf") if left is None else left / 2**30


def differences(shown: tuple[str, ...], printed: str) -> list[str]:
    """Expected lines that the command did not print, and printed lines that are not shown; times and noise are not compared.

    A line that ends with `..` may continue, and a line `..` stands for others. Blanks are not compared.
    """
    bare = [" ".join(line.split()) for line in printed.splitlines()]
    masked = {_masked(line) for line in bare}
    missing = []
    for line in shown:
        text = " ".join(line.split())
        if text in ("", "..") or text in bare:
            continue
        begin = text.removesuffix("..").rstrip(" ,")
        if text.endswith("..") and any(row.startswith(begin) for row in bare):
            continue
        if (text.startswith(_VARYING) or _TIMES in text) and _masked(text) in masked:
            continue
        missing.append(text)
    printed_lines = [line for line in bare if line and not line.endswith(_PROGRESS)]
    shown_lines = [line for line in shown if line.strip()]
    if len(printed_lines) > len(shown_lines) > 0 and ".." not in [line.strip() for line in shown]:
        missing.append(f"{len(printed_lines)} lines are printed, but {len(shown_lines)} are shown; add a line ..")
    return missing


_VARYING = ("this run", "result", "probabilities", "held-out rows", "clear results")
"""Beginnings of lines whose numbers differ between runs: times of this computer, and noise."""


_TIMES = ": correct; keys "
"""In lines that give the times of a run."""
_PROGRESS = "s since the start"
"""Ends of lines that only slow computers print."""


def _masked(line: str) -> str:
    """A line without its numbers and units of time."""
    return re.sub(r"\d[\d.,]*(e[-+]\d+)?( [mµn]?s\b)?", "0", line)


def run(command: Command, rule: Rule, folder: Path) -> str:
    """Run a command; return what failed, or an empty text."""
    here = ROOT if command.text.startswith(_IN_THE_REPOSITORY) else folder
    try:
        done = subprocess.run(
            ["bash", "-c", rule.run or command.text],
            cwd=here,
            env=results.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=60 * rule.minutes,
        )
    except subprocess.TimeoutExpired:
        return f"not finished after {rule.minutes:g} minutes"
    if done.returncode != rule.status:
        tail = "\n".join(done.stdout.strip().splitlines()[-12:])
        return f"ended with status {done.returncode} instead of {rule.status}:\n{tail}"
    missing = differences(command.shown, done.stdout)
    return "printed other lines than these:\n" + "\n".join(missing) if missing else ""


def serve(command: Command, rule: Rule, folder: Path, servers: contextlib.ExitStack) -> str:
    """Start a server for later commands of its page, which runs until `servers` ends; return what failed, or an empty text once it answers."""
    process = subprocess.Popen(
        ["bash", "-c", f"exec {command.text}"],
        cwd=folder,
        env=results.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    servers.callback(process.wait)
    servers.callback(process.terminate)
    end = time.monotonic() + 60 * rule.minutes
    while time.monotonic() < end:
        if process.poll() is not None:
            return f"ended with status {process.returncode}; is its port in use?"
        try:
            urllib.request.urlopen(rule.serves).close()
            return ""
        except OSError:
            time.sleep(0.1)
    return f"no answer at {rule.serves} after {rule.minutes:g} minutes"


@dataclass
class Runs:
    """The state of a run over all pages."""

    short: bool = False
    """Whether to leave out what only `make records` runs."""
    places: dict[str, str] = field(default_factory=dict)
    """Where a command first ran, by its text."""
    counts: dict[str, int] = field(default_factory=lambda: {"ok": 0, "failed": 0, "skipped": 0})
    lock: threading.Lock = field(default_factory=threading.Lock)
    serving: threading.Lock = field(default_factory=threading.Lock)
    """Locked by a page with a server until the page ends: all servers have the same port."""

    def page(self, page: Page, chosen: list[Command]) -> int:
        """Run `chosen` of a page in order, in a separate folder; return 1 if one of them fails."""
        failed = 0
        with tempfile.TemporaryDirectory(prefix="documented-") as made, contextlib.ExitStack() as servers:
            folder = Path(made)
            for link in ("crates", "examples", "machines", "target"):
                (folder / link).symlink_to(ROOT / link)
            for file, content in page.files.items():
                (folder / file).write_text(content, encoding="utf-8")
            if any(rules().get(command.text, Rule()).serves for command in chosen):
                servers.enter_context(self.serving)
            for command in chosen:
                failed |= self._command(page, command, folder, servers)
        return failed

    def _command(self, page: Page, command: Command, folder: Path, servers: contextlib.ExitStack) -> int:
        rule = rules().get(command.text, Rule())
        absent = lacking(rule.needs)
        why = rule.skip or ("needs " + ", ".join(absent) if absent else "")
        if self.short and rule.records:
            why = why or "`make records` runs it"
        with self.lock:
            if not why and not page.files and not command.shown and command.text in self.places:
                why = f"ran already, at {self.places[command.text]}"
            if not why and not rule.serves:
                self.places[command.text] = command.place
        if why:
            self._report("skipped", f"SKIPPED  {command.place}: {command.text}  ({why})")
            return 0
        began = time.monotonic()
        wrong = serve(command, rule, folder, servers) if rule.serves else run(command, rule, folder)
        seconds = time.monotonic() - began
        line = f"{'FAILED ' if wrong else 'ok     '}  {command.place}: {command.text}  ({seconds:.0f} s)"
        self._report("failed" if wrong else "ok", "\n    ".join([line, *wrong.splitlines()]))
        return int(bool(wrong))

    def _report(self, count: str, text: str) -> None:
        with self.lock:
            self.counts[count] += 1
            print(text, flush=True)


def chosen_of(page: Page, texts: list[str]) -> list[Command]:
    """The commands that contain one of `texts`, or all, and the servers that they need."""
    known = rules()
    asked = [c for c in page.commands if not texts or any(text in f"{c.place} {c.text}" for text in texts)]
    return [c for c in page.commands if c in asked or (asked and known.get(c.text, Rule()).serves)]


def jobs(texts: list[str], runs: Runs) -> list[Job]:
    """One job per page, with its commands that contain one of `texts`, or all. Those with the longest time limit come first."""
    known = rules()

    def minutes(found: tuple[Page, list[Command]]) -> float:
        return sum(known[c.text].minutes for c in found[1] if c.text in known and not known[c.text].skip)

    found = sorted(((page, chosen_of(page, texts)) for page in pages().values()), key=minutes, reverse=True)
    return [Job(GIBIBYTES, functools.partial(runs.page, page, chosen)) for page, chosen in found if chosen]


def main(texts: list[str], *, only_list: bool) -> int:
    """Run every command that contains one of `texts`, or all, and the servers that they need; return 1 if one fails."""
    if only_list:
        for page in pages().values():
            for command in chosen_of(page, texts):
                print(f"{command.place}: {command.text}")
        return 0
    runs = Runs()
    status = run_jobs(jobs(texts, runs))
    print(summary(runs))
    return status


def summary(runs: Runs) -> str:
    """The number of commands by outcome."""
    return "documented commands: " + ", ".join(f"{count} {what}" for what, count in runs.counts.items())


def options_are_known(command: Command) -> str:
    """Why the command line is invalid, or an empty text. Runs nothing."""
    words = shlex.split(command.text.partition(" > ")[0])
    if words[0] == "polyfabric":
        import click
        from polyfabric.cli import cli

        try:
            name, chosen, rest = cli.resolve_command(click.Context(cli), words[1:])
            if chosen is None:
                return f"there is no command {name!r}"
            chosen.make_context(name, rest)
        except click.ClickException as error:
            return error.format_message()
        except click.exceptions.Exit:
            return ""
    if words[0] == "make" and len(words) > 1 and "=" not in words[1]:
        targets = re.findall(r"^([a-z][a-z0-9-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        return "" if words[1] in targets else f"the Makefile has no target {words[1]!r}"
    if words[:2] == ["cargo", "run"] and "--example" in words and "-p" in words:
        crate = words[words.index("-p") + 1].removeprefix("polyfabric-")
        example = ROOT / "crates" / crate / "examples" / f"{words[words.index('--example') + 1]}.rs"
        return "" if example.exists() else f"there is no {example.relative_to(ROOT)}"
    return ""
