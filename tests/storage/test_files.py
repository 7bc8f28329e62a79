"""Atomic files and the user's cache folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bcfw.compile import disk_cache
from bcfw.datasets import cache_folder
from bcfw.errors import InputError
from bcfw.storage.files import check_writable, replacing, user_cache


def write(target, content, error=None, **options):
    with replacing(target, **options) as file:
        file.write(content)
        if error is not None:
            raise error


@pytest.mark.parametrize(("mode", "content"), [("wb", b"new"), ("w", "n\u00e9w")])
def test_file_is_replaced_and_readable_by_all(mode, content, tmp_path):
    target = tmp_path / "a.txt"
    for before in (None, "old"):
        if before is not None:
            target.write_text(before)
            target.chmod(0o600)
        write(str(target), content, mode=mode)
        assert target.read_bytes() == (content if mode == "wb" else content.encode())
        assert target.stat().st_mode & 0o777 == 0o644 or os.name == "nt"
        assert list(tmp_path.iterdir()) == [target]


def test_file_appears_only_when_it_is_complete(tmp_path):
    target = tmp_path / "a.txt"
    with replacing(target) as file:
        file.write(b"half")
        file.flush()
        assert not target.exists()
        assert [path.suffix for path in tmp_path.iterdir()] == [".part"]
        file.write(b" and half")
    assert target.read_bytes() == b"half and half"


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_crash_leaves_the_older_file_and_nothing_else(error, tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(type(error)):
        write(target, b"half", error)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_failed_rename_leaves_nothing(tmp_path):
    target = tmp_path / "folder"
    target.mkdir()
    with pytest.raises(OSError, match="folder"):
        write(target, b"new")
    assert list(tmp_path.iterdir()) == [target]
    assert list(target.iterdir()) == []


def test_relative_target_stays_where_it_was_when_the_folder_changes(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with replacing("a.txt") as file:
        monkeypatch.chdir(tmp_path / "elsewhere")
        file.write(b"new")
    assert (tmp_path / "a.txt").read_bytes() == b"new"


def test_parents_are_made_only_on_request(tmp_path):
    target = tmp_path / "no" / "such" / "a.txt"
    with pytest.raises(InputError, match=r"cannot write to .*such"):
        write(target, b"new")
    assert list(tmp_path.iterdir()) == []
    write(target, b"new", make_parents=True)
    assert target.read_bytes() == b"new"


def test_parent_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match=r"cannot write to .*file"):
        write(tmp_path / "file" / "a.txt", b"new", make_parents=True)


def test_check_writable_names_what_and_why(tmp_path):
    for target, message in (
        (tmp_path / "no" / "a.npz", f"model: the folder {tmp_path / 'no'} does not exist; make it first"),
        (tmp_path, f"model: {tmp_path} is a folder; give the path of a file"),
        (tmp_path / ("a" * 300), f"model: cannot write to {tmp_path}: "),
    ):
        with pytest.raises(InputError) as caught:
            check_writable(target, "model")
        assert str(caught.value).startswith(message)
    assert list(tmp_path.iterdir()) == []


def test_check_writable_changes_nothing(tmp_path):
    old, new = tmp_path / "old.npz", tmp_path / "new.npz"
    old.write_text("old")
    check_writable(str(old), "checkpoint")
    check_writable(new, "checkpoint")
    assert old.read_text() == "old"
    assert list(tmp_path.iterdir()) == [old]


@pytest.fixture
def read_only_package(monkeypatch, tmp_path):
    """A home folder, and compiled code that cannot be kept in the package: a file is in the place of the folder."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    monkeypatch.delenv("BCFW_CACHE_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bcfw").mkdir()
    (tmp_path / "bcfw" / "__pycache__").write_text("in the way")
    monkeypatch.setattr(disk_cache, "PACKAGE", tmp_path / "bcfw")


@pytest.mark.usefixtures("read_only_package")
@pytest.mark.parametrize("named", ["", "relative/folder"])
def test_relative_xdg_folder_is_ignored_by_all(named, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", named)
    home = tmp_path / "home" / ".cache" / "bcfw"
    assert user_cache() == home
    assert cache_folder() == home / "data"
    assert disk_cache.cache_directory() == home / "kernels"
    assert not (tmp_path / "relative").exists()


@pytest.mark.usefixtures("read_only_package")
def test_absolute_xdg_folder_is_used_by_all(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "named"))
    assert user_cache("a", "b") == tmp_path / "named" / "bcfw" / "a" / "b"
    assert cache_folder() == tmp_path / "named" / "bcfw" / "data"
    assert disk_cache.cache_directory() == tmp_path / "named" / "bcfw" / "kernels"


def test_permissions_follow_the_umask(tmp_path):
    before = os.umask(0o077)
    try:
        write(tmp_path / "private", b"new")
    finally:
        os.umask(before)
    assert (tmp_path / "private").stat().st_mode & 0o777 == 0o600


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "file", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


#: Begins to write a file and waits to be killed.
HALF = """
import sys, time
from bcfw.storage.files import replacing
with replacing(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("writing", flush=True)
    time.sleep(600)
"""


def start_writing(target):
    """A process that has written half of the file; it is ended by its ``kill()``."""
    process = subprocess.Popen([sys.executable, "-c", HALF, str(target)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "writing\n"
    return process


def test_what_a_killed_process_left_is_removed_and_what_another_one_writes_is_not(tmp_path):
    target = tmp_path / "a[1].txt"
    (tmp_path / "a[1].txt.part").write_text("not ours")
    with start_writing(target) as killed, start_writing(target) as alive:
        killed.kill()
        killed.wait()
        assert len(list(tmp_path.glob("*.part"))) == 3
        write(target, b"new")
        assert target.read_bytes() == b"new"
        assert len(list(tmp_path.glob("*.part"))) == 2
        alive.kill()
    write(target, b"newer")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a[1].txt", "a[1].txt.part"]


def test_several_processes_may_write_the_same_file_at_once(tmp_path):
    """Each removes what others have left, but not what they are about to rename."""
    target, rounds = tmp_path / "a.txt", "for _ in range(200): write(sys.argv[1], sys.argv[2].encode() * 1000)"
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); from test_files import write\n{rounds}"
    writers = [subprocess.Popen([sys.executable, "-c", code, str(target), letter]) for letter in "abc"]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert target.read_bytes() in [1000 * letter for letter in (b"a", b"b", b"c")]
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("name", ["a\0b", "a" * 300])
def test_name_that_no_file_can_have(name, tmp_path):
    with pytest.raises(InputError, match=f"^model: cannot write to {re.escape(str(tmp_path))}: "):
        check_writable(tmp_path / name, "model")
    with pytest.raises(InputError, match=f"^cannot write to {re.escape(str(tmp_path))}: "):
        write(tmp_path / name, b"new")
    assert list(tmp_path.iterdir()) == []


def test_content_is_on_the_disk_before_the_older_file_goes(tmp_path, monkeypatch):
    done = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: done.append("fsync"))
    monkeypatch.setattr(os, "replace", lambda *paths: done.append("replace"))
    write(tmp_path / "a.txt", b"new")
    assert done == ["fsync", "replace"]
