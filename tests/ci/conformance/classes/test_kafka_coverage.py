"""A changed line that no process of a build has run is named, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.coverage.noted import Noted, UnrunMethod
from kraftcheck.ci.conformance.kafka.drivers import CHECKS, DriverProcess
from kraftcheck.ci.conformance.kafka.jars import jars
from kraftcheck.ci.terminal.refusal import Refusal
from tests.ci.conformance.released import BUILDER, NEWEST, changed

OWNER = f"org.apache.kafka.controller.{BUILDER}"


def unrun(path: Path, notes: Path) -> tuple[UnrunMethod, ...]:
    """The methods of a changed class that have not run, as far as the notes say."""
    return Noted.of(notes, [OWNER]).unrun(f"{path}:{jars(NEWEST)}", jars(NEWEST))


@pytest.mark.xdist_group("kafka")
def test_a_changed_line_that_has_not_run_is_named(tmp_path: Path) -> None:
    """One instruction is another: its method is named with the line of that instruction, as long as nothing ran."""
    (found,) = unrun(changed(tmp_path, "101"), tmp_path)
    assert (found.owner, len(found.lines)) == (OWNER, 1)
    assert str(found) == f"{BUILDER}.{found.name} (line {found.lines[0]})"


@pytest.mark.xdist_group("kafka")
def test_a_class_as_released_has_nothing_to_run(tmp_path: Path) -> None:
    """Of a class whose bytes are those of the release no method is named, though none has run."""
    assert unrun(Path(jars(NEWEST).split(":")[0]), tmp_path) == ()


@pytest.mark.xdist_group("kafka")
def test_a_process_that_loads_a_class_has_not_run_it(tmp_path: Path) -> None:
    """The notes of a process that is asked nothing name each changed method still."""
    path = changed(tmp_path, "101")
    build, notes = Build.of(str(path), NEWEST), Noted.of(tmp_path, [OWNER])
    with DriverProcess(Build(build.like, build.first, build.name, notes), CHECKS, ("change", "2", "latest")):
        pass
    assert (tmp_path / "ran.exec").exists()
    assert unrun(path, tmp_path) == unrun(path, tmp_path / "none")


@pytest.mark.xdist_group("kafka")
def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """A jar that is none is one line with its reason, and no list of what has run."""
    (tmp_path / "a.jar").write_text("no jar")
    with pytest.raises(Refusal, match=r"what has run of the changed classes cannot be told: .*ZipException"):
        unrun(tmp_path / "a.jar", tmp_path)


@pytest.mark.parametrize("odd", [",", "=", ":"])
def test_a_folder_that_an_option_cannot_name_is_refused(odd: str, tmp_path: Path) -> None:
    """A comma ends an option of the agent, a colon an entry of a class path: one line says what to set."""
    with pytest.raises(Refusal, match=f"a{odd}b has '{odd}' in its name; set TMPDIR to another folder"):
        Noted.of(tmp_path / f"a{odd}b" / "notes", [OWNER])
