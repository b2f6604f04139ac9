"""A store separates clients by name, identifies keys by content, and does not expose its own faults."""

from __future__ import annotations

import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polyfabric as pf
import pytest
from polyfabric.host.files import write_bytes
from polyfabric.run import key_memory
from polyfabric.run import store as stores


@pf.program(x=pf.Real.vector(4))
def reals(x):
    return x * x + 0.5


INPUTS = {"x": [0.5] * 4}


@pytest.fixture(scope="module")
def clients() -> list[pf.Client]:
    spec = pf.Specification.of(reals)
    made = [pf.Client(spec) for _ in range(2)]
    for client in made:
        client.make_evaluation_key()
    return made


def expect_served(server: pf.Server, client: pf.Client) -> None:
    found = client.decrypt(server.execute(client.encrypt(INPUTS)))
    np.testing.assert_allclose(found, [0.75] * 4, atol=1e-6)


def test_names_have_no_case_and_are_no_devices(clients: Any, tmp_path: Path) -> None:
    store = pf.KeyStore(reals, tmp_path)
    store.put("Ada", clients[0].evaluation_key)
    assert [path.name for path in tmp_path.iterdir()] == ["ada.server.key"]
    assert store.server("ADA") is store.server("ada")
    store.put("aDa", clients[1].evaluation_key)
    expect_served(store.server("Ada"), clients[1])
    # The last one is a Kelvin sign, whose lower case is a letter.
    for name in (
        "CON",
        "nul",
        "Aux",
        "prn",
        "COM1",
        "lpt9",
        "",
        "a" * 65,
        "a.b",
        "../ada",
        "a/b",
        "a b",
        "ada\n",
        "\u212a",
        5,
    ):
        with pytest.raises(pf.errors.InputError):
            store.put(name, clients[0].evaluation_key)  # type: ignore[arg-type]
        with pytest.raises(pf.errors.InputError):
            store.server(name)  # type: ignore[arg-type]
    store.put("console", clients[0].evaluation_key)
    store.put("com10", clients[0].evaluation_key)


def test_a_key_is_identified_by_its_content(clients: Any, tmp_path: Path) -> None:
    """A file of the same inode, size and times is another key."""
    store = pf.KeyStore(reals, tmp_path)
    store.put("ada", clients[0].evaluation_key)
    expect_served(store.server("ada"), clients[0])
    path = tmp_path / "ada.server.key"
    before = path.stat()
    with path.open("r+b") as file:
        file.write(clients[1].evaluation_key.to_bytes())
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (after.st_ino, after.st_mtime_ns, after.st_size) == (before.st_ino, before.st_mtime_ns, before.st_size)
    expect_served(store.server("ada"), clients[1])


def test_the_stores_own_faults_are_run_errors_without_paths(clients: Any, tmp_path: Path) -> None:
    store = pf.KeyStore(reals, tmp_path)
    path = tmp_path / "ada.server.key"
    path.mkdir()
    key = clients[0].evaluation_key

    def expect_fault(use: Any) -> None:
        with pytest.raises(pf.errors.RunError) as raised:
            use()
        assert str(tmp_path) not in str(raised.value)

    expect_fault(lambda: store.put("ada", key))
    expect_fault(lambda: store.server("ada"))
    path.rmdir()
    for data in (b"", b"damaged", key.to_bytes()[:-1], clients[0].to_bytes()):
        path.write_bytes(data)
        expect_fault(lambda: store.server("ada"))
    store.put("ada", key)
    expect_served(store.server("ada"), clients[0])


def test_other_clients_do_not_wait_while_a_key_is_expanded(clients: Any, tmp_path: Path, monkeypatch: Any) -> None:
    store = pf.KeyStore(reals, tmp_path)
    store.put("bob", clients[1].evaluation_key)
    begun, end = threading.Event(), threading.Event()
    made = stores.Server._of

    def slowly(*given: Any) -> pf.Server:
        begun.set()
        assert end.wait(60)
        return made(*given)

    monkeypatch.setattr(stores.Server, "_of", slowly)
    with ThreadPoolExecutor(1) as pool:
        putting = pool.submit(store.put, "ada", clients[0].evaluation_key)
        assert begun.wait(60)
        expect_served(store.server("bob"), clients[1])
        with pytest.raises(pf.errors.InputError, match="send its evaluation key first"):
            store.server("ada")
        end.set()
        putting.result()
    expect_served(store.server("ada"), clients[0])


def test_a_key_that_is_refused_leaves_the_stores_room(clients: Any, tmp_path: Path) -> None:
    other = pf.Client(pf.Specification.of(reals, "ckks-depth-4")).evaluation_key
    store = pf.KeyStore(reals, tmp_path, most_bytes=1)
    for _ in range(3):
        with pytest.raises(pf.errors.ParameterError):
            store.put("ada", other)
    store.put("ada", clients[0].evaluation_key)
    expect_served(store.server("ada"), clients[0])


def test_a_file_and_its_name_are_on_the_disk_when_it_is_written(
    clients: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is flushed after the file has its name."""
    flushed: list[tuple[bool, set[str]]] = []
    sync = os.fsync

    def watched(descriptor: int) -> None:
        sync(descriptor)
        folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        names = os.listdir(descriptor) if folder else []
        flushed.append((folder, {name for name in names if not name.startswith(".")}))

    monkeypatch.setattr(os, "fsync", watched)
    write_bytes(tmp_path / "one", b"1")
    assert flushed[-2:] == [(False, set()), (True, {"one"})]
    store = pf.KeyStore(reals, tmp_path / "new" / "keys")
    assert flushed[-2:] == [(True, {"keys"}), (True, {"one", "new"})]
    store.put("ada", clients[0].evaluation_key)
    assert flushed[-1] == (True, {"ada.server.key"})
    clients[0].save(tmp_path / "client.key")
    assert flushed[-1] == (True, {"one", "new", "client.key"})
    clients[0].encrypt(INPUTS).save(tmp_path / "request")
    assert flushed[-1] == (True, {"x.in.ct"})


def test_stores_share_memory_and_take_files(clients: Any, tmp_path: Path) -> None:
    key = clients[0].evaluation_key
    one = pf.Server(reals, key).key_bytes
    memory = key_memory.KeyMemory(one)
    first, second = (pf.KeyStore(reals, tmp_path / name, most_bytes=memory) for name in ("a", "b"))
    first.put("ada@acme", key)
    assert first.bytes == second.bytes == one
    file = tmp_path / "received"
    file.write_bytes(key.to_bytes())
    assert file.stat().st_size <= second.most_key_bytes
    second.put("ada", file)
    assert not file.exists()
    assert (first.bytes, len(memory)) == (one, 1)
    assert second.specification.to_bytes() == pf.Specification.of(reals).to_bytes()
    for store, name in ((first, "ada@acme"), (second, "ada")):
        assert store.sizes() == {name: len(key.to_bytes())}
        assert store.checksum(name) == key.to_bytes()[-stores.CHECKSUM :]
        request = clients[0].encrypt(INPUTS)
        assert len(request.to_bytes()) <= store.most_request_bytes
        expect_served(store.server(name), clients[0])
        store.remove(name)
        assert (store.sizes(), store.checksum(name)) == ({}, None)
        with pytest.raises(pf.errors.InputError):
            store.server(name)
    for wrong in ("@acme", "ada@", "a@b@c", "ada@../b"):
        with pytest.raises(pf.errors.InputError):
            first.put(wrong, key)
    file.write_bytes(clients[0].to_bytes())
    with pytest.raises(pf.errors.FileError):
        first.put("ada", file)
    with pytest.raises(pf.errors.RunError) as raised:
        first.put("ada", tmp_path / "missing")
    assert str(tmp_path) not in str(raised.value)
    assert first.sizes() == {}


class Sized:
    """A server of which only the key's size matters."""

    def __init__(self, size: int) -> None:
        self.key_bytes = size


def test_an_owner_with_many_keys_evicts_its_own() -> None:
    memory = key_memory.KeyMemory(100)

    def make(name: str, owner: str, size: int, *, used: bool = True) -> None:
        memory.make(Path(name), size, lambda: key_memory.Held(Sized(size), b"", owner), used=used)

    def there() -> set[str]:
        return {str(path) for path in memory._held}

    make("small", "bits", 20)
    for number in range(20):
        make(f"large{number}", "acme", 40)
    assert there() == {"small", "large18", "large19"}
    # Among one owner's, the least recently used goes first; those that nobody has used go before all others.
    assert memory.found(Path("large18"), b"") is not None
    make("sent", "bits", 10, used=False)
    assert there() == {"small", "large18", "sent"}
    make("new", "bits", 20)
    make("newer", "corp", 20)
    assert there() == {"small", "large18", "new", "newer"}
    assert memory.bytes <= memory.most_bytes
