"""Are files whole or not there, and does nothing that a peer sends become a file elsewhere?"""

from __future__ import annotations

import io
import os
import struct
import warnings
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polyfabric as pf
import pytest
from polyfabric.files import expect_file, write_bytes, write_together


def test_a_file_is_whole_for_whoever_reads_it_meanwhile(tmp_path):
    path, contents = tmp_path / "file", [bytes([letter]) * (1 << 20) for letter in b"ab"]
    write_bytes(path, contents[0])
    with ThreadPoolExecutor(4) as pool:
        writers = [pool.submit(write_bytes, path, contents[turn % 2]) for turn in range(12)]
        while not all(writer.done() for writer in writers):
            assert path.read_bytes() in contents
        assert all(writer.result().st_size == 1 << 20 for writer in writers)
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
    with pytest.raises(pf.FileError, match="a private file is not written to a device or a pipe"):
        write_bytes(pipe, b"secret", private=True)


def test_a_device_stays_one_and_an_open_file_is_not_replaced(tmp_path):
    link, own = tmp_path / "link", tmp_path / "own"
    link.symlink_to("/dev/null")
    for path in (link, "/dev/null"):
        expect_file(path)
        write_bytes(Path(path), b"data")
        assert Path(path).is_char_device()
    assert link.is_symlink()
    with own.open("wb") as file, pytest.raises(pf.FileError, match="name the file itself"):
        write_bytes(Path(f"/dev/fd/{file.fileno()}"), b"data")
    # Files that are made together replace none either.
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(pf.FileError, match="it is a device or a pipe; move it away"):
        write_together(tmp_path, {"pipe": lambda path: path.write_bytes(b"data")})
    assert (tmp_path / "pipe").is_fifo()


def archive(*entries, compression=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", compression) as made:
        warnings.simplefilter("ignore")
        for name, data in entries:
            made.writestr(name, data)
    return buffer.getvalue()


@pytest.mark.parametrize("name", ["../x", "/tmp/x", "a/b", "..\\x", "", "a" * 300, "x\n"])
def test_ciphertexts_become_no_file_elsewhere(tmp_path, name):
    with pytest.raises(pf.FileError, match=r"is no name of an input or an output|no ciphertexts"):
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
    with pytest.raises(pf.FileError, match="no archive of them"):
        pf.Ciphertexts.from_bytes(data[:start] + entry + extra + tail)


def test_an_archive_is_no_larger_than_what_was_sent():
    def refused(data, why):
        with pytest.raises(pf.FileError, match=why):
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
    with pytest.raises(pf.FileError, match="there is another key, which this one would replace"):
        pf.Keys.generate(negated.plan("toy-256", security=0)).save(tmp_path)
    assert (tmp_path / "client.key").read_bytes() == before


def test_a_servers_or_a_public_key_of_another_generation_is_not_replaced(tmp_path):
    """Where the client's own has been taken away, too."""
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
                pf.FileError, match=r"this is no key of this client, and would be replaced; .*generation"
            ):
                save(folder)
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
        keys.save(folder)
        keys.save_public(folder)
        # Fresh, and of the same client.
        assert (folder / "public.key").read_bytes() != before["public.key"]
