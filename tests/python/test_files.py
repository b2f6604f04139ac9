"""Files are complete or absent, and data from a peer cannot create files elsewhere."""

from __future__ import annotations

import errno
import io
import os
import struct
import warnings
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polyfabric as pf
import pytest
from polyfabric.host import files
from polyfabric.host.files import expect_file, read_bytes, write_bytes, write_new, write_together
from polyfabric.run import client_server, file_steps, keys
from rejects import rejects

ROOT = Path(__file__).resolve().parents[2]


def test_a_file_is_complete_for_concurrent_readers(tmp_path):
    path, contents = tmp_path / "file", [bytes([letter]) * (1 << 20) for letter in b"ab"]
    write_bytes(path, contents[0])
    with ThreadPoolExecutor(4) as pool:
        writers = [pool.submit(write_bytes, path, contents[turn % 2]) for turn in range(12)]
        while not all(writer.done() for writer in writers):
            assert path.read_bytes() in contents
        for writer in writers:
            writer.result()
    assert [found.name for found in tmp_path.iterdir()] == ["file"]


def test_a_private_file_is_its_owners_alone_and_an_interrupt_leaves_none(tmp_path, monkeypatch):
    write_bytes(tmp_path / "private", b"secret", private=True)
    assert (tmp_path / "private").stat().st_mode & 0o077 == 0

    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_bytes(tmp_path / "another", b"secret", private=True)
    assert [found.name for found in tmp_path.iterdir()] == ["private"]


def test_a_pipe_is_written_to_and_stays_one(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(pipe.read_bytes)
        expect_file(pipe)
        write_bytes(pipe, b"data" * 100_000)
        assert read.result() == b"data" * 100_000
    assert [(found.name, found.is_fifo()) for found in tmp_path.iterdir()] == [("pipe", True)]
    with pytest.raises(pf.errors.FileError):
        write_bytes(pipe, b"secret", private=True)


def test_a_device_stays_one_and_an_open_file_is_not_replaced(tmp_path):
    link, own = tmp_path / "link", tmp_path / "own"
    link.symlink_to("/dev/null")
    for path in (link, "/dev/null"):
        expect_file(path)
        write_bytes(Path(path), b"data")
        assert Path(path).is_char_device()
    assert link.is_symlink()
    with own.open("wb") as file, pytest.raises(pf.errors.FileError, match="name the file itself"):
        write_bytes(Path(f"/dev/fd/{file.fileno()}"), b"data")
    # Files that are made together replace none either.
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(pf.errors.FileError):
        write_together(tmp_path, {"pipe": lambda path: path.write_bytes(b"data")})
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize("linked", [True, False], ids=["hard_links", "none"])
def test_a_file_that_comes_meanwhile_is_not_replaced(tmp_path, monkeypatch, linked):
    def refused(*_):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    if not linked:
        monkeypatch.setattr(Path, "hardlink_to", refused)
    path = tmp_path / "client.key"

    def ours(temporary):
        temporary.write_text("ours")

    def theirs(temporary):
        ours(temporary)
        path.write_text("theirs")

    for write in (
        lambda: write_new(path, theirs),
        lambda: write_together(tmp_path, {"client.key": ours, "server.key": theirs}, new=["client.key"]),
    ):
        path.unlink(missing_ok=True)
        with pytest.raises(pf.errors.FileError):
            write()
        assert path.read_text() == "theirs"
        assert [found.name for found in tmp_path.iterdir()] == ["client.key"]
    path.unlink()
    write_new(path, ours)
    write_together(tmp_path / "keys", {"client.key": ours, "server.key": ours}, new=["client.key", "server.key"])
    assert path.read_text() == (tmp_path / "keys" / "client.key").read_text() == "ours"
    assert sorted(found.name for found in tmp_path.iterdir()) == ["client.key", "keys"]
    assert sorted(found.name for found in (tmp_path / "keys").iterdir()) == ["client.key", "server.key"]


NEGATED = pf.program(x=pf.Bool)(lambda x: ~x)


@pytest.mark.parametrize("who", ["keys", "step", "client"])
def test_a_key_that_comes_meanwhile_is_not_replaced(tmp_path, monkeypatch, who):
    module, name = {
        "keys": (keys, "write_together"),
        "step": (file_steps, "write_together"),
        "client": (client_server, "write_new"),
    }[who]
    spec = pf.Specification.of(NEGATED, "toy-256")
    save = {
        "keys": lambda: pf.Keys.generate("toy-256").save(tmp_path),
        "step": lambda: NEGATED.in_folder(tmp_path, parameters="toy-256").make_keys(),
        "client": lambda: pf.Client(spec, security=0).save(tmp_path / "client.key"),
    }[who]
    write, first = getattr(module, name), []

    def meanwhile(*given, **options):
        monkeypatch.setattr(module, name, write)
        save()
        first.extend(sorted((found.name, found.read_bytes()) for found in tmp_path.iterdir()))
        write(*given, **options)

    monkeypatch.setattr(module, name, meanwhile)
    with pytest.raises(pf.errors.FileError):
        save()
    assert sorted((found.name, found.read_bytes()) for found in tmp_path.iterdir()) == first


def test_messages_have_the_names_that_files_were_to_have(tmp_path):
    def full(path):
        raise pf.errors.FileError(f"{path}: no space is left")

    for write in (
        lambda: write_together(tmp_path / "keys", {"client.key": full}),
        lambda: write_new(tmp_path / "keys" / "client.key", full),
    ):
        with pytest.raises(pf.errors.FileError) as error:
            write()
        assert str(error.value) == f"{tmp_path / 'keys' / 'client.key'}: no space is left"


def test_an_interrupt_while_temporary_files_are_removed_leaves_none(tmp_path, monkeypatch):
    unlink, interrupts = Path.unlink, []

    def interrupted(path, **options):
        if not interrupts:
            interrupts.append(path)
            raise KeyboardInterrupt
        unlink(path, **options)

    def write(path):
        path.write_text("new")

    write_together(tmp_path, {"client.key": write})
    for again in (
        lambda: write_together(tmp_path, {"client.key": write}),
        lambda: write_bytes(tmp_path / "client.key", b"new"),
    ):
        interrupts.clear()
        monkeypatch.setattr(Path, "unlink", interrupted)
        with pytest.raises(KeyboardInterrupt):
            again()
        monkeypatch.setattr(Path, "unlink", unlink)
        assert len(interrupts) == 1
        assert [found.name for found in tmp_path.iterdir()] == ["client.key"]


def test_inputs_and_outputs_of_a_step_are_written_together(tmp_path, monkeypatch):
    both = pf.program(x=pf.Bool, y=pf.Bool)(lambda x, y: {"a": ~x, "b": ~y})
    both.in_folder(tmp_path, parameters="toy-256").make_keys()

    def content():
        return {found.name: found.read_bytes() for found in tmp_path.iterdir()}

    write, written = file_steps._write, []

    def full(*given, **options):
        if written:
            raise pf.errors.FileError("no space is left")
        written.append(given)
        write(*given, **options)

    for step in (
        lambda: both.in_folder(tmp_path).encrypt({"x": 1, "y": 0}),
        lambda: both.in_folder(tmp_path).execute(),
    ):
        step()
        before = content()
        written.clear()
        monkeypatch.setattr(file_steps, "_write", full)
        with pytest.raises(pf.errors.FileError, match="no space is left"):
            step()
        monkeypatch.setattr(file_steps, "_write", write)
        assert written
        assert content() == before
    assert both.in_folder(tmp_path).decrypt().value == {"a": 0, "b": 1}


def test_reading_has_a_size_limit(tmp_path, monkeypatch):
    sparse = tmp_path / "sparse"
    with sparse.open("wb") as file:
        file.truncate(1 << 40)
    for path, words in (
        (sparse, "sparse: 1,099,511,627,776 bytes.*"),
        ("/dev/zero", "bytes.*"),
    ):
        with pytest.raises(pf.errors.FileError, match=f"{words}16,777,216"):
            pf.Specification.load(path)
    for load in (pf.EvaluationKey.load, pf.PublicKey.load):
        with pytest.raises(pf.errors.FileError, match=r"[\d,]+ are left of memory"):
            load(sparse)
        with pytest.raises(pf.errors.FileError, match="zero: a device or a pipe has no known length; name a file"):
            load("/dev/zero")
    with rejects(pf.errors.FileError, "sparse"):
        pf.Client(pf.Specification.of(NEGATED, "toy-256"), security=0).save(sparse)
    with pytest.raises(pf.errors.FileError, match="16,777,216"):
        pf.Specification.from_bytes(bytes((1 << 24) + 1))
    monkeypatch.setattr(files, "available_bytes", lambda: 3)
    assert read_bytes(write(tmp_path / "three", b"abc")) == b"abc"
    with rejects(pf.errors.FileError, "four", "4", "3"):
        read_bytes(write(tmp_path / "four", b"abcd"))
    # A pipe has an end where what is read has: a file of a shell's `<(..)`.
    os.mkfifo(tmp_path / "pipe")
    spec = pf.Specification.of(NEGATED, "toy-256")
    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(write, tmp_path / "pipe", spec.to_bytes())
        assert pf.Specification.load(tmp_path / "pipe") == spec
        written.result()
        # Who waits for the other end lets that one write.
        machine = next(ROOT.glob("machines/*.toml"))
        written = pool.submit(write, tmp_path / "pipe", machine.read_bytes())
        assert pf.load_machine(tmp_path / "pipe").name == machine.stem
        written.result()
        written = pool.submit(write, tmp_path / "pipe", (ROOT / "examples/own-bgv.toml").read_bytes())
        assert pf.SlotParameters.load(tmp_path / "pipe") == pf.SlotParameters.load(ROOT / "examples/own-bgv.toml")
        written.result()


def test_a_pipe_instead_of_a_key_or_ciphertexts_is_not_waited_for(tmp_path):
    """A folder may be shared: whoever can put a pipe there would stop those that read it."""
    spec = pf.Specification.of(NEGATED, "toy-256")
    NEGATED.in_folder(tmp_path, parameters="toy-256", public=True).make_keys()
    NEGATED.in_folder(tmp_path).encrypt({"x": 1})
    NEGATED.in_folder(tmp_path).execute()
    uses = {
        "client.key": [
            lambda path: pf.Client.load(spec, path, security=0),
            lambda path: pf.Keys.load(path.parent),
            lambda path: NEGATED.in_folder(path.parent).decrypt().value,
        ],
        "server.key": [pf.EvaluationKey.load, lambda path: NEGATED.in_folder(path.parent).execute()],
        "public.key": [pf.PublicKey.load],
        "x.in.ct": [
            lambda path: pf.Ciphertexts.load(path.parent),
            lambda path: NEGATED.in_folder(path.parent).execute(),
        ],
        "result.out.ct": [lambda path: NEGATED.in_folder(path.parent).decrypt().value],
    }
    for name, readers in uses.items():
        path = tmp_path / name
        kept = path.rename(tmp_path / "kept")
        os.mkfifo(path)
        for reader in readers:
            with pytest.raises(pf.errors.FileError, match=rf"{name}: a device or a pipe has no known length; name"):
                reader(path)
        path.unlink()
        kept.rename(path)


def test_malformed_expected_results_are_reported(tmp_path):
    NEGATED.in_folder(tmp_path, parameters="toy-256").make_keys()
    NEGATED.in_folder(tmp_path).encrypt({"x": 1})
    NEGATED.in_folder(tmp_path).execute()
    steps, path = NEGATED.in_folder(tmp_path), tmp_path / "expected.json"
    assert steps.decrypt().correct
    for text in ("[" * 100_000, '{"result": [Infinity]}', '{"result": [NaN]}', '{"result": [1, 2]}', "{}", "\xff"):
        path.write_bytes(text.encode("latin-1"))
        with rejects(pf.errors.FileError, "expected.json"):
            steps.decrypt()
    path.unlink()
    os.mkfifo(path)
    with rejects(pf.errors.FileError, "expected.json"):
        steps.decrypt()


def write(path, data):
    path.write_bytes(data)
    return path


def test_ciphertexts_tell_no_time_of_day():
    spec = pf.Specification.of(NEGATED, "toy-256")
    request = pf.Client(spec, security=0).encrypt({"x": 1}).to_bytes()
    with zipfile.ZipFile(io.BytesIO(request)) as read:
        assert [entry.date_time for entry in read.infolist()] == [(1980, 1, 1, 0, 0, 0)]


def archive(*entries, compression=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", compression) as made:
        warnings.simplefilter("ignore")
        for name, data in entries:
            made.writestr(name, data)
    return buffer.getvalue()


@pytest.mark.parametrize("name", ["../x", "/tmp/x", "a/b", "..\\x", "", "a" * 300, "x\n"])
def test_ciphertexts_become_no_file_elsewhere(tmp_path, name):
    with pytest.raises(pf.errors.FileError):
        pf.Ciphertexts.from_bytes(archive((f"{name}.in.ct", b"data")))
    assert list(tmp_path.iterdir()) == []


def test_an_entry_that_begins_beyond_any_file_is_refused():
    data, extra = archive(("x.in.ct", b"data")), struct.pack("<HHQ", 1, 8, 1 << 63)
    start, end = data.rindex(b"PK\1\2"), data.rindex(b"PK\5\6")
    entry, tail = bytearray(data[start:end]), bytearray(data[end:])
    # The length of what follows the name, and an offset that is found there.
    struct.pack_into("<H", entry, 30, len(extra))
    struct.pack_into("<L", entry, 42, 0xFFFFFFFF)
    struct.pack_into("<L", tail, 12, len(entry) + len(extra))
    with pytest.raises(pf.errors.FileError):
        pf.Ciphertexts.from_bytes(data[:start] + entry + extra + tail)


def test_an_archive_is_not_larger_than_the_sent_data():
    def refused(data, why):
        with pytest.raises(pf.errors.FileError, match=why):
            pf.Ciphertexts.from_bytes(data)

    refused(archive(("x.in.ct", bytes(10_000)), compression=zipfile.ZIP_DEFLATED), "compressed")
    refused(archive(("x.in.ct", b"1"), ("x.in.ct", b"2")), "two of them have one name")
    # Four entries of the directory for one stored file.
    whole = archive(*[(f"{letter}.in.ct", bytes(1000)) for letter in "abcd"])
    directory = whole.index(b"PK\x01\x02")
    first = whole.index(b"PK\x03\x04", 1)
    with zipfile.ZipFile(io.BytesIO(whole)) as read:
        offsets = [entry.header_offset for entry in read.infolist()]
    shared = bytearray(whole[:first] + whole[directory:])
    for offset in offsets[1:]:
        place = shared.index(offset.to_bytes(4, "little"), first)
        shared[place : place + 4] = bytes(4)
    end = shared.rindex(b"PK\x05\x06")
    shared[end + 16 : end + 20] = first.to_bytes(4, "little")
    refused(bytes(shared), "compressed")


def test_keys_of_another_generation_are_not_replaced(tmp_path):
    negated = pf.program(x=pf.Bool)(lambda x: ~x)
    keys = pf.Keys.generate(negated.plan("toy-256", security=0))
    keys.save(tmp_path)
    keys.save(tmp_path)
    before = (tmp_path / "client.key").read_bytes()
    with pytest.raises(pf.errors.FileError, match="another key exists here and would be replaced"):
        pf.Keys.generate(negated.plan("toy-256", security=0)).save(tmp_path)
    assert (tmp_path / "client.key").read_bytes() == before


def test_a_servers_or_a_public_key_of_another_generation_is_not_replaced(tmp_path):
    """Also if the client's own key has been removed."""
    doubled = pf.program(x=pf.Real.vector(4))(lambda x: x + x)
    negated = pf.program(x=pf.Bool)(lambda x: ~x)
    for name, planned in (("tfhe", negated.plan("toy-256", security=0)), ("ckks", doubled.plan("toy-10", security=0))):
        folder, keys = tmp_path / name, pf.Keys.generate(planned)
        keys.save(folder)
        keys.save_public(folder)
        (folder / "client.key").unlink()
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        other = pf.Keys.generate(planned)
        for save in (other.save, other.save_public):
            with pytest.raises(
                pf.errors.FileError, match=r"not a key of this client, but would be replaced; .*generation"
            ):
                save(folder)
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
        keys.save(folder)
        keys.save_public(folder)
        # Fresh, and of the same client.
        assert (folder / "public.key").read_bytes() != before["public.key"]
