"""Bad files are detected, named and refused, and nothing stays half-written."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import polyfabric as pf
import pytest
from calls import called
from damage import cut, flip, longer, newer, other
from polyfabric.host.files import write_together
from rejects import check

MACHINE = Path(__file__).parents[2] / "machines" / "morphling.toml"
RUN = ("run", "pbs+ks", "--params", "toy-256", "--keys", "keys", "--max-failure", "0")


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory):
    """Keys and an encrypted input, by the command line."""
    folder = tmp_path_factory.mktemp("client")
    for step in ("encrypt", "execute"):
        done = called(folder, *RUN, "--step", step)
        assert done.status == 0, done.err
    return folder


@pytest.mark.parametrize("damage", [cut, flip, other, newer, longer], ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    ("file", "step"),
    [("client.key", "decrypt"), ("server.key", "execute"), ("x.in.ct", "execute"), ("y.out.ct", "decrypt")],
)
def test_damaged_file(polyfabric, tmp_path, encrypted, file, step, damage):
    shutil.copytree(encrypted / "keys", tmp_path / "keys")
    path = tmp_path / "keys" / file
    path.write_bytes(damage(path.read_bytes()))
    before = contents(tmp_path)
    done = polyfabric(*RUN, "--step", step)
    assert done.status == 2
    assert "Traceback" not in done.err
    assert "panicked" not in done.err
    assert contents(tmp_path) == before, "something was written"
    assert without_warning(done.err).startswith(f"error: keys/{file}: ")


@pytest.mark.parametrize(
    ("file", "step"),
    [("client.key", "encrypt"), ("client.key", "decrypt"), ("x.in.ct", "execute"), ("y.out.ct", "decrypt")],
)
def test_files_of_two_key_generations(polyfabric, tmp_path, encrypted, file, step):
    """A second client with the same set. Its files must be recognised as another client's, not decrypted to noise."""
    shutil.copytree(encrypted / "keys", tmp_path / "keys")
    other = ("run", "pbs+ks", "--params", "toy-256", "--keys", "other", "--max-failure", "0")
    for made in ("encrypt", "execute"):
        assert polyfabric(*other, "--step", made).status == 0
    shutil.copy(tmp_path / "other" / file, tmp_path / "keys" / file)
    done = polyfabric(*RUN, "--step", step)
    assert done.status == 2, done.err
    check(done.err, f"keys/{file}", "toy-256")
    # Two files, and of neither the generation, which tells clients apart.
    error = without_warning(done.err)
    assert len(set(re.findall(r"keys/[a-z.]+", error))) == 2
    assert not re.search(r"[0-9a-f]{16}", error)


def contents(folder):
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def without_warning(text):
    return re.sub(r"^warning: .*\n", "", text, flags=re.MULTILINE)


def test_one_files_place_taken_by_another(polyfabric, tmp_path, encrypted):
    shutil.copytree(encrypted / "keys", tmp_path / "keys")
    shutil.copy(tmp_path / "keys" / "server.key", tmp_path / "keys" / "client.key")
    done = polyfabric(*RUN, "--step", "decrypt")
    assert done.status == 2
    check(done.err, "keys/client.key", "server key", "client key")


def test_keys_of_another_set(polyfabric, tmp_path, encrypted):
    shutil.copytree(encrypted / "keys", tmp_path / "keys")
    done = polyfabric("run", "pbs+ks", "--params", "strix-I", "--keys", "keys")
    assert done.status == 2
    check(without_warning(done.err), "toy-256", "strix-I")


def test_a_folder_that_cannot_be_made(polyfabric, tmp_path):
    (tmp_path / "taken").write_text("a file")
    done = polyfabric("simulate", "pbs", "--on", "morphling", "--report", "taken/report")
    assert done.status == 2
    check(done.err, "taken/report")


@pytest.mark.parametrize("program", ["pbs", "mine.py:f"])
@pytest.mark.parametrize("step", [(), ("--step", "encrypt")])
def test_keys_in_a_folder_that_cannot_be_made(polyfabric, tmp_path, program, step):
    """Told before keys are made: what the file has in the folder's place is not touched."""
    (tmp_path / "taken").write_text("a file")
    (tmp_path / "mine.py").write_text(
        "import polyfabric as pf\n\n\n@pf.program(x=pf.Real)\ndef f(x):\n    return x + 1\n"
    )
    done = polyfabric("run", program, "--keys", "taken/keys", *step)
    assert done.status == 2
    check(done.err, "taken/keys")
    assert (tmp_path / "taken").read_text() == "a file"


REFUSED = {
    "pbs": ("--params", "morphling-nothing"),
    "mine.py:f": ("--params", "toy-10", "--security", "128"),
    "mine.py:g": ("--params", "toy-10"),
}
"""Programs, and what each is refused for before a key is made."""


@pytest.mark.parametrize("program", REFUSED)
@pytest.mark.parametrize("step", [(), ("--step", "keys"), ("--step", "encrypt")], ids=["whole", "keys", "encrypt"])
def test_a_run_that_is_refused_leaves_no_folder_of_keys(polyfabric, tmp_path, program, step):
    deep = "@pf.program(x=pf.Real)\ndef g(x):\n    return x**64\n"
    (tmp_path / "mine.py").write_text(
        f"import polyfabric as pf\n\n\n@pf.program(x=pf.Real)\ndef f(x):\n    return x + 1\n\n\n{deep}"
    )
    done = polyfabric("run", program, "--keys", "new/keys", *REFUSED[program], *step)
    assert done.status == 2
    assert not (tmp_path / "new").exists()


def test_keys_are_written_together_or_not_at_all(tmp_path):
    def full(path):
        raise pf.errors.FileError(f"{path}: no space is left")

    def write(path):
        path.write_text("new")

    with pytest.raises(pf.errors.FileError, match="no space is left"):
        write_together(tmp_path / "new" / "keys", {"client.key": write, "server.key": full})
    assert list(tmp_path.iterdir()) == []

    def interrupted(path):
        write(path)
        raise KeyboardInterrupt

    # One that was written whole when Ctrl-C came, too.
    with pytest.raises(KeyboardInterrupt):
        write_together(tmp_path / "keys", {"client.key": write, "server.key": interrupted})
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "other").write_text("stays")
    with pytest.raises(pf.errors.FileError, match="no space is left"):
        write_together(tmp_path, {"client.key": write, "server.key": full})
    assert [path.name for path in tmp_path.iterdir()] == ["other"]
    # Existing files stay, even if only the last file cannot be written.
    (tmp_path / "client.key").write_text("old")
    (tmp_path / "server.key").mkdir()
    with pytest.raises(pf.errors.FileError, match="it is a folder"):
        write_together(tmp_path, {"client.key": write, "server.key": write})
    assert (tmp_path / "client.key").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["client.key", "other", "server.key"]
    write_together(tmp_path / "new" / "keys", {"client.key": write, "server.key": write})
    assert sorted(path.name for path in (tmp_path / "new" / "keys").iterdir()) == ["client.key", "server.key"]


@pytest.mark.parametrize(
    ("old", "new", "values"),
    [
        (r"^clock = .*$", "", ("`clock`",)),
        (
            r"^clock = .*$",
            'clock = { value = -1.2, unit = "GHz", source = "section VI-B" }',
            ("`clock`", "-1.2", "0.001", "100 GHz"),
        ),
        (
            r"^clock = .*$",
            'clock = { value = 1.2, unit = "furlongs", source = "section VI-B" }',
            ("`clock`", "1.2", '"furlongs"', "GHz"),
        ),
        (r"^clock = .*$", 'clock = { value = 1.2, unit = "GHz", source = "" }', ("`clock`", "1.2")),
        (
            r"^clock = .*$",
            'clock = { value = "unknown", unit = "GHz", source = "section VI-B" }',
            ("`clock`", "section VI-B"),
        ),
        (r"^rows = .*$", "", ("`units.xpu.rows`", "`[units.xpu]`")),
        (
            r"^rows = .*$",
            'rows = { value = 0, unit = "units", source = "section V-A" }',
            ("`units.xpu.rows`", "0", "1", "32"),
        ),
        (
            r"^rows = .*$",
            'rows = { value = 4, unit = "MiB", source = "section V-A" }',
            ("`units.xpu.rows`", "4", '"MiB"', "units"),
        ),
        (r"^mapper = .*$", 'mapper = "morpling"', ('"morpling"', "morphling")),
        (r"^rows = .*$", "rows = {", ("line 15, column 1",)),
    ],
    ids=[
        "no_clock",
        "negative",
        "unit",
        "no_source",
        "unknown",
        "no_rows",
        "zero_rows",
        "dimension",
        "mapper",
        "syntax",
    ],
)
def test_bad_machine_file(polyfabric, tmp_path, old, new, values):
    text, count = re.subn(old, new, MACHINE.read_text(), count=1, flags=re.MULTILINE)
    assert count == 1
    (tmp_path / "mine.toml").write_text(text)
    done = polyfabric("simulate", "pbs", "--on", "mine.toml", "--report", "report", "--json")
    assert done.status == 2
    assert done.out == ""
    assert not (tmp_path / "report").exists()
    assert "Traceback" not in done.err
    check(done.err, "mine.toml", *values)


def test_a_custom_machine_file_is_simulated(polyfabric, tmp_path):
    text = MACHINE.read_text().replace('name = "morphling"', 'name = "half-clock"', 1)
    text = text.replace("clock = { value = 1.2,", "clock = { value = 0.6,", 1)
    (tmp_path / "mine.toml").write_text(text)
    common = ("simulate", "pbs", "--params", "morphling-I", "--max-failure", "0", "--json", "--on")
    mine, theirs = (json.loads(polyfabric(*common, name).out) for name in ("mine.toml", "morphling"))
    assert mine["machine"] == "half-clock"
    # A slower chip meets a memory that is twice as fast a cycle.
    assert mine["seconds"] > 1.5 * theirs["seconds"]
