"""Does the client in WebAssembly encrypt and decrypt as Python's, in node and on the page in a browser?"""

from __future__ import annotations

import json
import shutil
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import polyfabric as pf
import pytest
from chromium import browser
from serving import serving, tokens_in

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "target" / "page"

NODE = """
import { readFileSync, writeFileSync } from "node:fs";
import { load } from %s;
const [step, ...words] = process.argv.slice(2);
const library = await load(readFileSync(%s));
const specification = readFileSync("spec.json");
const print = (value) => process.stdout.write(value);
try {
  if (step === "keys") {
    const client = library.client(specification, { security: 0 });
    writeFileSync("client.key", client.key());
    const begin = performance.now();
    print(client.evaluationKey());
    console.error(`${performance.now() - begin} ms`);
    client.free();
  } else {
    const client = library.client(specification, { key: readFileSync("client.key"), security: 0 });
    if (step === "encrypt") print(client.encrypt(JSON.parse(words[0])));
    else print(JSON.stringify(client.decrypt(readFileSync(0))));
  }
} catch (error) {
  console.error(error.status, error.message);
  process.exitCode = 1;
}
"""


@pytest.fixture(scope="module")
def page() -> Path:
    """The folder that `make page` makes; `make test-full` has made it if Rust has the target."""
    if not (PAGE / "polyfabric_client.wasm").is_file():
        pytest.skip("the client for browsers is not built; rustup target add wasm32-unknown-unknown && make page")
    return PAGE


@pytest.fixture
def node(page: Path, tmp_path: Path):
    """Runs a step of a client in node."""
    command = shutil.which("node")
    if command is None:
        pytest.skip("node is missing; on Debian: apt install nodejs")
    script = tmp_path / "client.mjs"
    # node takes a file as a module by its name.
    shutil.copy(page / "client.js", tmp_path / "library.mjs")
    script.write_text(NODE % (json.dumps("./library.mjs"), json.dumps(str(page / "polyfabric_client.wasm"))))

    def step(*words: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([command, script, *words], cwd=tmp_path, input=given, capture_output=True, check=False)

    return step


@pf.program(x=pf.UInt(3), y=pf.UInt(3), wide=pf.UInt(64))
def integers(x, y, wide):
    return {"sum": x + y, "wide": wide}


@pf.program(x=pf.Real.vector(4))
def reals(x):
    return x * x + 0.5


@pf.program(x=pf.Mod(65537).vector(4))
def residues(x):
    return x * x


@pytest.mark.full
@pytest.mark.parametrize(
    ("program", "inputs", "expected"),
    [
        (integers, {"x": 6, "y": 3, "wide": str(2**64 - 1)}, {"sum": 1, "wide": str(2**64 - 1)}),
        (reals, {"x": [0.5, -1, 0, 0.25]}, {"result": [0.75, 1.5, 0.5, 0.5625]}),
        (residues, {"x": [3, -4, 0, 300]}, {"result": [9, 16, 0, 300**2 - 65537]}),
    ],
)
def test_in_node(node, tmp_path: Path, program, inputs, expected) -> None:
    pf.Specification.of(program).save(tmp_path / "spec.json")
    keys = node("keys")
    assert keys.returncode == 0, keys.stderr
    server = pf.Server(program, pf.EvaluationKey.from_bytes(keys.stdout))
    request = node("encrypt", json.dumps(inputs))
    assert request.returncode == 0, request.stderr
    answer = server.execute(pf.Ciphertexts.from_bytes(request.stdout)).to_bytes()
    found = json.loads(node("decrypt", given=answer).stdout)
    for name, value in expected.items():
        assert found[name] == (pytest.approx(value, abs=1e-3) if program is reals else value)
    # Python reads the key; wrong values and damage are errors, after which the client still works.
    python = pf.Client.load(pf.Specification.load(tmp_path / "spec.json"), tmp_path / "client.key")
    assert python.decrypt(pf.Ciphertexts.from_bytes(answer)) is not None
    wrong = node("encrypt", "{}")
    assert (wrong.returncode, wrong.stderr.split()[0]) == (1, b"input")
    damaged = node("decrypt", given=answer[:-5])
    assert (damaged.returncode, damaged.stderr.split()[0]) == (1, b"file")


@pytest.mark.full
def test_the_page_computes_in_a_browser(page: Path, tmp_path: Path) -> None:
    token = tokens_in(tmp_path, "acme")["acme"]
    (tmp_path / "browser").mkdir()
    with (
        serving(tmp_path, "--page", str(page), programs=("following", "reals")) as served,
        browser(tmp_path / "browser") as tab,
    ):
        tab.open(served.address + "/")

        def enter(name: str, value: str) -> None:
            tab.value(f"document.getElementById({name!r}).value = {json.dumps(value)}")

        def shown(name: str) -> str:
            return tab.value(f"document.getElementById({name!r}).textContent")

        def submit(form: str) -> None:
            tab.value(f"document.getElementById({form!r}).requestSubmit()")
            tab.until("!document.getElementById('parts').disabled")

        enter("token", "wrong")
        submit("connect")
        assert "401" in shown("error")
        enter("token", token)
        submit("connect")
        assert shown("error") == ""
        assert json.loads(tab.value("document.getElementById('inputs').value")) == {"x": 0}
        for value, expected in ((2, 3), (3, 0)):
            enter("inputs", json.dumps({"x": value}))
            submit("run")
            assert shown("error") == ""
            assert json.loads(shown("outputs")) == {"result": expected}
        enter("inputs", '{"x": 4}')
        submit("run")
        assert "x" in shown("error")
        enter("program", "reals")
        enter("inputs", '{"x": [0.5, 0, 0, -1]}')
        submit("run")
        assert shown("error") == ""
        assert json.loads(shown("outputs"))["result"] == pytest.approx([0.75, 0.5, 0.5, 1.5], abs=1e-3)
        keys = served.folder / "keys"
        assert list(keys.glob("following/*"))
        tab.value("document.getElementById('leave').click()")
        tab.until("!document.getElementById('parts').disabled")
        assert shown("error") == ""
        assert not [path for path in keys.glob("following/*") if "page-" in path.name]
        problems = [
            event for event in tab.events if event.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded")
        ]
        # The browser logs the refused token.
        assert [event for event in problems if "401" not in json.dumps(event)] == []


def test_only_the_page_needs_no_token(tmp_path: Path) -> None:
    tokens_in(tmp_path, "acme")
    folder = tmp_path / "page"
    folder.mkdir()
    for name in ("index.html", "client.js", "polyfabric_client.wasm"):
        (folder / name).write_text(name)
    with serving(tmp_path, "--page", str(folder)) as served:

        def status(path: str, method: str = "GET") -> int:
            try:
                with urllib.request.urlopen(urllib.request.Request(served.address + path, method=method)) as answer:
                    if method == "GET":
                        assert answer.read().decode() == (path[1:] or "index.html")
                    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
                    return answer.status
            except urllib.error.HTTPError as error:
                return error.code

        assert [status(path) for path in ("/", "/client.js", "/polyfabric_client.wasm")] == [200] * 3
        assert status("/", "HEAD") == 200
        others = ("/index.html", "/../tokens.txt", "/programs", "/page.py", "//", "/%2e%2e/tokens.txt")
        assert [status(path) for path in others] == [401] * len(others)
        assert status("/", "POST") == 401
