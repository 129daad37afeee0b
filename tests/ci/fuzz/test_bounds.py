"""The bounds of a case can fail: for too long, too large, a wrong code, and words that no terminal should see."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from kraftcheck.ci.terminal import commands
from tests.ci.fuzz.bounds import Late, Reader, bounded, fault, tried_for
from tests.shared.commands import Ran, kraftcheck

REFUSED = "kraftcheck: log: no such file or folder\n"


def for_ever() -> None:
    """A reader that never ends, and takes every error for the end of its input."""
    while True:
        try:
            while True:
                pass
        except Exception:
            return


def test_a_hang_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that does not end is late, and no error of its own makes a refusal of that."""
    monkeypatch.setattr(commands, "cli", type("Endless", (), {"main": staticmethod(lambda **_: for_ever())}))
    with pytest.raises(Late, match=r"more than 0\.2 s"), bounded(seconds=0.2):
        kraftcheck("replay", "log")


def test_a_hang_that_is_swallowed_is_noticed() -> None:
    """Whoever drops the alarm and goes on fails at the end."""

    def stubborn() -> None:
        try:
            for_ever()
        except BaseException:
            return

    with pytest.raises(AssertionError, match="and went on"), bounded(seconds=0.2):
        stubborn()


def test_a_case_that_takes_much_memory_is_noticed() -> None:
    """The peak of a case counts, also once its memory is free again, and not that of an earlier one."""
    with bounded(most=64 << 20):
        pass
    with pytest.raises(AssertionError, match="bytes more"), bounded(most=64 << 20):
        bytearray(b"x") * (128 << 20)
    with bounded(most=64 << 20):
        pass


@pytest.mark.parametrize(
    ("ran", "wrong"),
    [
        (Ran(0, "all is well\n", ""), ""),
        (Ran(2, "", REFUSED), ""),
        (Ran(2, "", REFUSED * 2), "one line"),
        (Ran(2, "", "Traceback\n"), "one line"),
        (Ran(2, "", "kraftcheck: there is no memory left; give --memory less\n"), "memory"),
        (Ran(255, "", "kraftcheck: fault\n"), "exit code 255"),
        (Ran(12, "", ""), "exit code 12"),
        (Ran(0, "topic \x1b[2J\n", ""), "hidden"),
        (Ran(2, "", "kraftcheck: \u202e\n"), "hidden"),
        (Ran(0, "a\n ::error::b\n", ""), "command of a CI job"),
    ],
)
def test_how_a_command_ends_is_judged(ran: Ran, wrong: str) -> None:
    """A documented code and visible words are no fault; each of the rest is."""
    found = fault(ran, frozenset({0, 2}))
    assert wrong in found
    assert bool(wrong) == bool(found)


def test_a_case_names_its_seed_and_leaves_its_input(tmp_path: Path) -> None:
    """A failing case says reader, seed and command line, and its folder is left; those before it are removed."""

    def cases(draw: random.Random, place: Path) -> Iterator[Sequence[object]]:
        log = place / "log.jsonl"
        log.write_text("no JSON" if int(place.name) < 7 else "", encoding="utf-8")
        yield ("replay", log, *(() if int(place.name) < 7 else ("--help",)))

    reader = Reader("made-up", frozenset({2}), cases)
    with pytest.raises(AssertionError, match=r"made-up.*7.*exit code 0.*--help"):
        tried_for(60, 5, tmp_path, reader.tried)
    assert [folder.name for folder in tmp_path.iterdir()] == ["7"]
