"""Every link of the chain imports only links to its left, and only `papers` knows the published answers."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CHAIN = ["kernels", "schemes", "program", "client", "capi", "runtime", "sim", "machines", "planner", "python"]
LONGEST_FILE = 800
SOURCE_SUFFIXES = {".rs", ".py", ".sv", ".v", ".md"}

#: The only places that may open `figures/`: the comparison itself and tests.
READERS_OF_FIGURES = re.compile(r"^python/polyfabric/papers/|(^|/)(tests?/|test_)")
READS_FIGURES = re.compile(r"""figures/|(/ *|Path\(|join\(|open\()["']figures["']""")


def tracked_files() -> list[Path]:
    """Files under version control, or those that would be: what is ignored is not ours to judge."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listing.returncode == 0:
        names = listing.stdout.decode().split("\0")
        return sorted(ROOT / name for name in names if name and (ROOT / name).is_file())
    skipped = {"target", ".venv", ".git", "node_modules"}
    return sorted(
        path for path in ROOT.rglob("*") if path.is_file() and skipped.isdisjoint(path.relative_to(ROOT).parts)
    )


def link_of(package: str) -> str | None:
    """The link that a package name or a crate path stands for, if it is one of the chain's."""
    name = package.replace("_", "-").removeprefix("polyfabric-")
    return name if package.replace("_", "-").startswith("polyfabric-") and name in CHAIN else None


def manifest_dependencies(link: str) -> set[str]:
    """Every dependency that a link's manifest names, in all sections and for all targets."""
    manifest = tomllib.loads((ROOT / "crates" / link / "Cargo.toml").read_text())
    sections = ("dependencies", "dev-dependencies", "build-dependencies")
    tables = [manifest, *manifest.get("target", {}).values()]
    return {
        declared.get("package", name) if isinstance(declared, dict) else name
        for table in tables
        for section in sections
        for name, declared in table.get(section, {}).items()
    }


def links_right_of(link: str) -> set[str]:
    return set(CHAIN[CHAIN.index(link) :])


def test_the_chain_is_the_workspace() -> None:
    crates = {path.parent.name for path in (ROOT / "crates").glob("*/Cargo.toml")}
    assert crates == set(CHAIN)


@pytest.mark.parametrize("link", CHAIN)
def test_a_manifest_depends_only_on_links_to_the_left(link: str) -> None:
    named = {link_of(dependency) for dependency in manifest_dependencies(link)} - {None}
    assert not named & links_right_of(link), f"{link} depends on a link that is not to its left"


def test_nothing_imports_the_units() -> None:
    for link in CHAIN:
        assert "polyfabric-rtl" not in manifest_dependencies(link)


def test_a_unit_has_a_folder_with_a_page_and_is_tested_or_a_part_of_one_that_is() -> None:
    """Whether a unit's own tests run is the bench's affair; here, that none stands there without a page, a bench or a unit that holds it."""
    folder = ROOT / "rtl"
    sources = {path.parent.name: path.read_text() for path in folder.glob("*/*.sv") if path.stem == path.parent.name}
    benches = {path.parent.name for path in folder.glob("*/bench.sv")}
    listed = set(re.findall(r"^\| \[(\w+)\]\(\1/README\.md\)", (folder / "README.md").read_text(), re.MULTILINE))
    tested = set(re.findall(r'path = "(\w+)/tests\.rs"', (folder / "units.rs").read_text()))
    assert benches <= tested == {path.parent.name for path in folder.glob("*/tests.rs")}
    assert benches <= listed, f"without a row in rtl/README.md: {', '.join(sorted(benches - listed))}"
    assert all((folder / name / "README.md").is_file() for name in listed | tested)
    for name in set(sources) - benches:
        assert any(re.search(rf"\b{name}\b", text) for other, text in sources.items() if other != name), name


def test_only_the_bindings_know_python() -> None:
    for link in CHAIN[:-1]:
        assert not manifest_dependencies(link) & {"pyo3", "numpy"}, f"{link} must not know Python"


def test_the_other_library_is_a_dependency_of_its_benchmark_and_its_adapter_alone() -> None:
    for link in CHAIN:
        assert "tfhe" not in manifest_dependencies(link)
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
    assert set(workspace["exclude"]) == {"bench/tfhe/peer", "adapters/tfhe-rs"}
    assert 'name = "tfhe"' not in (ROOT / "Cargo.lock").read_text()


def test_the_other_library_has_the_version_that_texts_name() -> None:
    dependency = tomllib.loads((ROOT / "bench" / "tfhe" / "peer" / "Cargo.toml").read_text())["dependencies"]["tfhe"]
    version = dependency["version"].removeprefix("=")
    assert f'const TFHE_RS: &str = "{version}";' in (ROOT / "bench" / "tfhe" / "peer" / "src" / "main.rs").read_text()
    named = {
        f"{path.name}: {found}"
        for path in (ROOT / "docs").glob("*.md")
        for found in re.findall(r"tfhe-rs (\d+\.\d+\.\d+)", path.read_text())
    }
    assert named
    assert {text.split(": ")[1] for text in named} == {version}, named


def test_the_adapters_lock_file_has_our_crates_dependencies() -> None:
    # It is no member of the workspace, so nothing else brings the file up to date, and `make tfhe-rs` takes it as it is.
    lock = tomllib.loads((ROOT / "adapters" / "tfhe-rs" / "Cargo.lock").read_text())["package"]
    locked = {entry["name"]: {name.split()[0] for name in entry.get("dependencies", [])} for entry in lock}
    ours = [link for link in CHAIN if f"polyfabric-{link}" in locked]
    assert ours
    for link in ours:
        dependencies = tomllib.loads((ROOT / "crates" / link / "Cargo.toml").read_text()).get("dependencies", {})
        # What a feature brings that the adapter does not ask for is not in its file.
        optional = {name for name, of in dependencies.items() if isinstance(of, dict) and of.get("optional")}
        assert set(dependencies) - optional <= locked[f"polyfabric-{link}"], (
            f"run cargo update --workspace in adapters/tfhe-rs: {link}"
        )


def reads_of_figures(source: str) -> list[tuple[int, str]]:
    """Lines that open a published figure, comments apart."""
    return [
        (number, line.strip())
        for number, line in enumerate(source.splitlines(), start=1)
        if READS_FIGURES.search(line) and not line.lstrip().startswith(("//", "#"))
    ]


def test_a_read_of_a_published_figure_would_be_seen() -> None:
    source = 'const A: &str = include_str!("../../figures/morphling.toml");\n// see figures/morphling.toml\n'
    assert [number for number, _ in reads_of_figures(source)] == [1]
    assert reads_of_figures('open(ROOT / "figures" / name)') != []


def test_published_figures_are_read_by_the_comparison_only() -> None:
    offenders = []
    for path in tracked_files():
        place = path.relative_to(ROOT).as_posix()
        if path.suffix in {".rs", ".py"} and not READERS_OF_FIGURES.search(place):
            offenders += [f"{place}:{number}: {line}" for number, line in reads_of_figures(path.read_text())]
    assert not offenders, "a model must not know the answer:\n" + "\n".join(offenders)


def test_no_published_throughput_stands_outside_the_figures() -> None:
    published = {
        round(entry["value"])
        for path in (ROOT / "figures").glob("*.toml")
        for entry in tomllib.loads(path.read_text())["figure"]
        # Another machine's number is no answer of a model, and may be a round one.
        if entry["unit"] in {"BS/s", "PBS/s"} and "value" in entry and "unmodelled" not in entry
    }
    assert published, "the figures hold throughputs"
    offenders = []
    for path in tracked_files():
        place = path.relative_to(ROOT).as_posix()
        if not place.startswith(("crates/", "python/", "machines/")) or READERS_OF_FIGURES.search(place):
            continue
        if path.suffix in {".rs", ".py", ".toml"}:
            numbers = re.findall(r"\d[\d_,]*\d", path.read_text())
            known = published & {int(re.sub("[_,]", "", number)) for number in numbers}
            offenders += [f"{place}: {value}" for value in sorted(known)]
    assert not offenders, "a model must not know the answer:\n" + "\n".join(offenders)


def test_no_file_is_longer_than_a_reader_can_hold() -> None:
    long = {}
    for path in tracked_files():
        if path.suffix in SOURCE_SUFFIXES:
            lines = len(path.read_text().splitlines())
            if lines > LONGEST_FILE:
                long[path.relative_to(ROOT).as_posix()] = lines
    assert not long, f"files over {LONGEST_FILE} lines: {long}"


def test_links_in_the_documentation_lead_somewhere() -> None:
    missing = []
    for path in tracked_files():
        if path.suffix != ".md":
            continue
        text = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
            if "://" not in target and not (path.parent / target).exists():
                missing.append(f"{path.relative_to(ROOT)}: {target}")
    assert not missing, "\n".join(missing)


MACHINES = sorted(path.stem for path in (ROOT / "machines").glob("*.toml"))


def code_of(path: Path) -> str:
    """A source file without comments and docstrings: those cite papers, by the names of their machines."""
    text = path.read_text()
    if path.suffix == ".rs":
        return re.sub(r"//.*", "", text.partition("#[cfg(test)]\nmod tests {")[0])
    return re.sub(r'"""(?:.|\n)*?"""|#.*', "", text)


def names_machine(path: Path, machine: str) -> list[str]:
    """Where code outside of the machine's own places says its name. Parameter sets are named after papers: `NAME-..` is one."""
    place = path.relative_to(ROOT).as_posix()
    own = rf"(^|/)(test_)?{machine}([_./]|$)"
    if re.search(own, place):
        return []
    says = re.compile(rf"\b{machine}\b(?![-.](?!toml|rs|py))(?!-)", re.IGNORECASE)
    return [f"{place}: {line.strip()}" for line in code_of(path).splitlines() if says.search(line)]


@pytest.mark.parametrize("machine", MACHINES)
def test_a_machine_is_named_in_its_own_places_and_in_the_registry_alone(machine):
    sources = [path for path in tracked_files() if path.suffix in {".rs", ".py"}]
    in_tests = {"tests", "tests.rs", "examples"}
    places = [
        path
        for path in sources
        if path.relative_to(ROOT).parts[0] in {"crates", "python"} and in_tests.isdisjoint(path.parts)
    ]
    registry = ROOT / "crates" / "machines" / "src"
    allowed = {registry / "registry.rs", registry / "lib.rs"}
    found = [line for path in places if path not in allowed for line in names_machine(path, machine)]
    assert found == []


def test_what_elements_and_slots_share_knows_neither():
    folder = ROOT / "python" / "polyfabric"
    shared = (
        "run/file_steps.py",
        "run/client_server.py",
        "run/runnable_programs.py",
        "run/store.py",
        "models/model.py",
        "cli/run_options.py",
        "cli/inputs.py",
    )
    for name in (*shared, "schemes/plan.py"):
        code = code_of(folder / name)
        assert not re.findall(r"\b(?:Element|Slot)(?:Plan|Context|Result)\b|_native\.[A-Z]\w*\(", code), name
