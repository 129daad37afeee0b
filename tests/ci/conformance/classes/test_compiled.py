"""Classes of drivers are run only as they were compiled, of the sources and jars at hand. Needs no Java."""

import json
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from kraftcheck.ci.conformance.kafka import build, drivers, jars
from kraftcheck.ci.conformance.kafka.build import Build

BUILD = Build("4.1.0")


class Compiler:
    """A compiler that writes what its sources say, and counts how often it is asked."""

    def __init__(self) -> None:
        self.runs = 0

    def __call__(self, sources: Sequence[Path], class_path: str, place: Path, title: str) -> None:
        self.runs += 1
        for source in sources:
            file = place / "org" / f"{source.stem}.class"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(source.read_text())


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compiler:
    """The compiler that is asked, in a cache of its own, with jars that are taken as they are listed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(build, "jars", lambda version, kind: f"/{version}/{kind}/a.jar")
    made = Compiler()
    monkeypatch.setattr(drivers, "compile_java", made)
    return made


@pytest.fixture
def sources(tmp_path: Path) -> tuple[Path, ...]:
    """Two files of a driver."""
    files = tmp_path / "Driver.java", tmp_path / "Answers.java"
    for file in files:
        file.write_text(f"class {file.stem}")
    return files


def classes_of(path: str) -> dict[str, str]:
    """What is in the first folder of a class path."""
    place = Path(path.split(os.pathsep)[0])
    return {str(file.relative_to(place)): file.read_text() for file in sorted(place.rglob("*.class"))}


WHOLE = {"org/Answers.class": "class Answers", "org/Driver.class": "class Driver"}


def test_classes_are_kept(compiler: Compiler, sources: tuple[Path, ...]) -> None:
    """The second question of a driver finds its classes, before the jars, and compiles nothing."""
    first, second = drivers.compiled(BUILD, sources), drivers.compiled(BUILD, sources)
    assert first == second
    assert first.endswith(f"{os.pathsep}/{BUILD}/{jars.CONTROLLER}/a.jar")
    assert classes_of(second) == WHOLE
    assert compiler.runs == 1


def test_other_sources_and_other_jars_are_compiled_anew(
    compiler: Compiler, sources: tuple[Path, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A changed source, a set of other jars, and the same names with other digests each have classes of their own."""
    drivers.compiled(BUILD, sources)
    sources[1].write_text("class Other")
    assert classes_of(drivers.compiled(BUILD, sources))["org/Answers.class"] == "class Other"
    drivers.compiled(BUILD, sources, jars.SERVER)
    changed = dict.fromkeys(jars.listed(BUILD.like, jars.CONTROLLER), "0" * 64)
    monkeypatch.setattr(build, "listed", lambda version, kind: changed)
    drivers.compiled(BUILD, sources)
    assert compiler.runs == 4


def _link(place: Path, record: Path) -> None:
    (place / DRIVER).rename(place.parent / "copy.class")
    (place / DRIVER).symlink_to(place.parent / "copy.class")


def _link_folder(place: Path, record: Path) -> None:
    (place.parent / "planted").mkdir()
    (place / "more").symlink_to(place.parent / "planted")


def _move(place: Path, record: Path) -> None:
    place.symlink_to(place.rename(place.with_name("moved")))


def _replace(place: Path, record: Path) -> None:
    shutil.rmtree(place)
    place.write_text("no folder")


DRIVER = "org/Driver.class"

CHANGES: dict[str, Callable[[Path, Path], object]] = {
    "other bytes": lambda place, record: (place / DRIVER).write_text("class Forged"),
    "one more": lambda place, record: (place / "org" / "Shadow.class").write_text("class Shadow"),
    "one less": lambda place, record: (place / DRIVER).unlink(),
    "a link": _link,
    "a link to a folder": _link_folder,
    "a pipe": lambda place, record: os.mkfifo(place / "pipe"),
    "a link in the place of the folder": _move,
    "a file in the place of the folder": _replace,
    "no folder": lambda place, record: shutil.rmtree(place),
    "no record": lambda place, record: record.unlink(),
    "a record that is no JSON": lambda place, record: record.write_text("{"),
    "a record that is no text": lambda place, record: record.write_bytes(b"\xff\xfe"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_classes_that_were_changed_are_compiled_anew(
    compiler: Compiler, sources: tuple[Path, ...], change: Callable[[Path, Path], object]
) -> None:
    """Classes that are others, more or fewer than were written down are compiled anew, and the new ones are kept."""
    place = Path(drivers.compiled(BUILD, sources).split(os.pathsep)[0])
    record = place.with_name(f"{place.name}.json")
    assert json.loads(record.read_text()).keys() == WHOLE.keys()
    change(place, record)
    assert classes_of(drivers.compiled(BUILD, sources)) == WHOLE
    assert not place.is_symlink()
    assert compiler.runs == 2
    assert classes_of(drivers.compiled(BUILD, sources)) == WHOLE
    assert compiler.runs == 2


def test_a_record_of_another_user_is_none(
    compiler: Compiler, sources: tuple[Path, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Digests that another user wrote down beside classes say nothing: they are compiled anew."""
    cache = jars.cache_folder()
    drivers.compiled(BUILD, sources)
    for module in (build, drivers, jars):
        monkeypatch.setattr(module, "cache_folder", lambda: cache, raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: cache.stat().st_uid + 1)
    drivers.compiled(BUILD, sources)
    assert compiler.runs == 2
