"""Rules by which Python would decide, on the command line: one line that names the place, and exit code 2."""

import re

import pytest

from tests.shared import shelf
from tests.shared.commands import kraftcheck

SILENT = ("IN_A_SET", "IN_A_DICT", "TEXT_AS_KEY", "A_FLOAT", "NONE", "SHIFTED", "CAUGHT")


@pytest.mark.parametrize("name", SILENT)
def test_a_rule_that_python_would_decide_is_refused(name: str) -> None:
    """A property that x never is 3, of a system in which it is, does not hold: the rule is refused by its line."""
    told = kraftcheck("explore", f"tests.shared.shelf:{name}", "--quiet").refusal()
    place = r"shelf\.py:\d+"
    assert re.match(rf"{place}: a symbolic word (was used as|meets) .*; use ", told), told


@pytest.mark.parametrize("command", ["prove", "simulate", "prove --bmc 3"])
def test_every_command_refuses_it(command: str) -> None:
    """Provers and walks trace the same rules, and refuse them alike."""
    first, *flags = command.split()
    assert "as a key" in kraftcheck(first, "tests.shared.shelf:IN_A_SET", "--quiet", *flags).refusal()


def test_a_rule_that_remembers_is_refused() -> None:
    """A property that holds in every second call only is refused, although its first call says that it holds."""
    shelf.CALLS.clear()
    told = kraftcheck("explore", "tests.shared.shelf:COUNTED", "--quiet").refusal()
    assert "property claim gave two answers to the same question; a rule may depend on its arguments alone" in told


@pytest.mark.parametrize("command", ["explore", "prove", "simulate"])
@pytest.mark.parametrize("name", ["TYPE", "FLIPPED"])
def test_a_question_that_no_class_can_refuse_is_noticed(name: str, command: str) -> None:
    """`type() == int` is a constant when traced: a sample of states on ints says otherwise."""
    told = kraftcheck(command, f"tests.shared.shelf:{name}", "--quiet").refusal()
    assert "property claim goes another way on ints than when traced, in the state" in told
    assert "is, type()" in told


@pytest.mark.parametrize("command", ["explore", "prove", "simulate"])
def test_a_comparison_by_identity_is_refused(command: str) -> None:
    """`is True` is a constant when traced: it is refused with its line, before anything is asked."""
    refused = kraftcheck(command, "tests.shared.shelf:IDENTITY").refusal()
    assert "`s.flag is not True` asks whether both are one object" in refused


def test_a_chain_that_is_decided_by_domains_is_right() -> None:
    """The first half of a chained comparison may fold; then the second half is the truth."""
    ran = kraftcheck("explore", "tests.shared.shelf:CHAINED", "--quiet")
    assert ran.code == 12
