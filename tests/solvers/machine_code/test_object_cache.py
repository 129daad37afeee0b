"""The cache of object code: an entry counts where nobody else can have written it, and no entry stops a run."""

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kraftcheck.solvers.machine_code.objectcode import ObjectCache

KEY, CODE = "0f" * 32, b"\x7fELF compiled"
OTHER = 65534
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


@pytest.fixture
def entry(tmp_path: Path) -> Path:
    """The file of an entry that this user wrote."""
    ObjectCache(tmp_path / "cache").put(KEY, CODE)
    (path,) = (tmp_path / "cache").iterdir()
    return path


def taken(entry: Path) -> tuple[bytes | None, list[str]]:
    """What the cache gives, and its warnings."""
    cache = ObjectCache(entry.parent)
    return cache.get(KEY), cache.warnings


@pytest.mark.parametrize("mask", [0, 0o002, 0o022, 0o077])
def test_nobody_else_reads_or_writes_what_is_kept(mask: int, tmp_path: Path) -> None:
    """Whatever the umask, the folder is 0700 and an entry 0600."""
    before = os.umask(mask)
    try:
        ObjectCache(tmp_path / "cache").put(KEY, CODE)
    finally:
        os.umask(before)
    (path,) = (tmp_path / "cache").iterdir()
    assert [stat.S_IMODE(one.stat().st_mode) for one in (path.parent, path)] == [0o700, 0o600]
    assert taken(path) == (CODE, [])


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_an_entry_that_others_may_write_is_compiled_anew(mode: int, entry: Path) -> None:
    """It is not believed, one warning says why, and it is replaced by one that counts."""
    entry.chmod(mode)
    found, warnings = taken(entry)
    assert found is None
    assert warnings == [f"compiled code {entry} may be written by other users; compiling again"]
    ObjectCache(entry.parent).put(KEY, CODE)
    assert taken(entry) == (CODE, [])


@root_only
def test_an_entry_of_another_user_is_compiled_anew(entry: Path) -> None:
    """Its checksum is right, and who wrote it is another user."""
    os.chown(entry, OTHER, OTHER)
    found, (warning,) = taken(entry)
    assert found is None
    assert warning == f"compiled code {entry} belongs to another user ({OTHER}); compiling again"


@root_only
def test_a_folder_of_another_user_keeps_nothing(entry: Path) -> None:
    """Neither is anything read from it, nor written into it."""
    os.chown(entry.parent, OTHER, OTHER)
    before = entry.read_bytes()
    cache = ObjectCache(entry.parent)
    assert cache.get(KEY) is None
    cache.put(KEY, b"other")
    assert entry.read_bytes() == before
    assert cache.warnings == [f"compiled code is not kept in {entry.parent}, which belongs to another user ({OTHER})"]


def test_a_folder_that_was_open_is_closed(entry: Path) -> None:
    """Others lose what they may do in it; this user's own entries stay."""
    entry.parent.chmod(0o777)
    assert taken(entry) == (CODE, [])
    assert stat.S_IMODE(entry.parent.stat().st_mode) == 0o700


def test_an_entry_under_another_name_is_damaged(entry: Path) -> None:
    """What was compiled for one key is not found under another: who may rename files cannot swap programs."""
    other = "1e" * 32
    entry.rename(entry.with_name(entry.name.replace(KEY, other)))
    cache = ObjectCache(entry.parent)
    assert cache.get(other) is None
    assert "is damaged" in cache.warnings[0]


def _fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _endless(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def _linked(path: Path) -> None:
    moved = path.rename(path.with_name("moved"))
    path.symlink_to(moved)


def _large(path: Path) -> None:
    os.truncate(path, 1 << 40)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("replace", [_fifo, _endless, _linked, _large, _folder])
def test_what_is_no_file_of_this_cache_is_compiled_anew(replace: Callable[[Path], None], entry: Path) -> None:
    """A pipe, a device, a link, a file without end or a folder in the place of an entry: a warning, at once."""
    replace(entry)
    cache = "from kraftcheck.solvers.machine_code.objectcode import ObjectCache\nfrom pathlib import Path\n"
    ask = f"cache = ObjectCache(Path({str(entry.parent)!r}))\nprint(cache.get({KEY!r}), len(cache.warnings))\n"
    ran = subprocess.run([sys.executable, "-c", cache + ask], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout == "None 1\n"


@pytest.mark.parametrize("place", ["link", "file"])
def test_a_link_to_a_folder_is_no_folder_of_a_cache(place: str, tmp_path: Path) -> None:
    """Nothing is written where a link in the place of the folder leads, nor in the place of a file."""
    (tmp_path / "precious").mkdir()
    if place == "link":
        (tmp_path / "cache").symlink_to(tmp_path / "precious")
    else:
        (tmp_path / "cache").write_text("mine")
    cache = ObjectCache(tmp_path / "cache")
    cache.put(KEY, CODE)
    assert list((tmp_path / "precious").iterdir()) == []
    assert len(cache.warnings) == 1


def test_the_entries_that_were_not_used_for_longest_go(tmp_path: Path) -> None:
    """A cache keeps to its size: what was read or written last stays, and files that are none of its own stay too."""
    cache = ObjectCache(tmp_path / "cache", most_bytes=4000)
    for number in range(3):
        cache.put(f"key{number}", bytes(1000))
        os.utime(tmp_path / "cache" / f"key{number}.o", (number, number))
    (tmp_path / "cache" / "notes").write_bytes(bytes(9000))
    assert cache.get("key0") is not None
    cache.put("key3", bytes(1500))
    assert {path.name for path in (tmp_path / "cache").iterdir()} == {"key0.o", "key2.o", "key3.o", "notes"}
    cache.put("large", bytes(5000))
    assert {path.name for path in (tmp_path / "cache").iterdir()} == {"large.o", "notes"}
    assert cache.warnings == []


def test_an_entry_that_goes_while_entries_are_counted_hinders_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may remove an entry, or name a draft, at any time: what is kept is kept, without a warning."""
    cache, listed = ObjectCache(tmp_path / "cache"), os.listdir
    monkeypatch.setattr(os, "listdir", lambda folder: [*listed(folder), "gone.o"])
    cache.put("a key", b"code")
    assert (cache.get("a key"), cache.warnings) == (b"code", [])
