"""Names of enumerations in expressions: they stand for the numbers of the word that they are compared with."""

from __future__ import annotations

import itertools

import pytest

from tests.examples.two_phase import TWO_PHASE, Coordinator, Manager
from tests.shared.commands import kraftcheck

NAME = "tests.examples.two_phase:TWO_PHASE"


@pytest.mark.parametrize(("text", "code", "words"), [
    ("coordinator == INIT", 12, "refuted in 1 step"),
    ("INIT != coordinator", 12, "refuted in 0 steps"),
    ("all(m != COMMITTED for m in manager)", 12, "refuted"),
    ("implies(coordinator == COMMITTED, manager[0] in {PREPARED, COMMITTED})", 0, "2 holds"),
    ("implies(coordinator == COMMITTED, manager[0] in [PREPARED])", 12, "refuted"),
    ("coordinator in {INIT, COMMITTED, ABORTED}", 21, "1 vacuous, 1 holds"),
])  # fmt: skip
def test_a_name_stands_for_its_number(text: str, code: int, words: str) -> None:
    """`COMMITTED` is 2 beside a manager and 1 beside the coordinator, on either side, and in written sets."""
    assert (int(Manager.COMMITTED), int(Coordinator.COMMITTED)) == (2, 1)
    ran = kraftcheck("explore", NAME, "--property", "deadlock", "--invariant", text, "--quiet")
    assert ran.code == code
    assert words in ran.text


@pytest.mark.parametrize(("text", "message"), [
    ("coordinator == WORKING", "column 16: WORKING is none of the names INIT, COMMITTED, ABORTED"),
    ("coordinator in {INIT, WORKING}", "column 23: WORKING is none of the names"),
    ("size(prepared) == INIT", "no field INIT"),
    ("INIT == COMMITTED", "no field COMMITTED"),
])  # fmt: skip
def test_a_name_of_another_enumeration_is_refused(text: str, message: str) -> None:
    """What is no name of that enumeration is refused at its column, and so is a name beside no enumeration."""
    assert message in kraftcheck("explore", NAME, "--invariant", text).refusal()


def test_names_and_numbers_say_the_same() -> None:
    """Each name finds the states that its number finds."""
    assert TWO_PHASE.name == "two-phase"
    for member, place in itertools.product((Manager.PREPARED, Manager.ABORTED), (0, 2)):
        texts = (f"manager[{place}] == {member}", f"manager[{place}] == {int(member)}")
        lengths = [kraftcheck("explore", NAME, "--find", text, "--quiet").last for text in texts]
        assert lengths[0] == lengths[1] == "found in 1 step (exit 0)"
