"""Numbers beyond 64 bits: right, or refused with what to lower; never cut to what fits."""

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve, frozen

from kraftcheck.model.language.layout import LayoutError, ints
from kraftcheck.model.language.system import Action, Property, System
from kraftcheck.model.language.words import choose
from kraftcheck.solvers.machine_code.lower import LoweringError
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Refuted
from kraftcheck.solvers.reference.terms import holds
from kraftcheck.solvers.smt.theory import theory
from tests.shared.commands import kraftcheck
from tests.shared.shelf import claiming, explored, states

LARGE = 1 << 63
RIGHT: dict[str, Callable[[Any], Any]] = {
    "equal to a large number": lambda s: s.x == LARGE,
    "below a large number": lambda s: s.x < LARGE,
    "above a small number": lambda s: s.y > -LARGE - 1,
    "a choice between large numbers": lambda s: choose(s.flag, 1 << 100, 1 << 99) == 1 << 100,
    "large numbers that cancel out": lambda s: (1 << 80) - (1 << 80) + s.x == 3,
}


def test_comparisons_with_large_numbers_are_right() -> None:
    """What folds to a truth agrees with ints, whatever the size of the numbers in it."""
    for rule in RIGHT.values():
        program = trace(claiming(rule), claiming(rule).setting())
        for state in states():
            assert holds(program.always_terms[0], program, program.layout.values(state)) is bool(rule(state))


def _doubled(word: Any, times: int) -> Any:
    for _ in range(times):
        word = word + word
    return word


TOO_LARGE: dict[str, Callable[[Any], Any]] = {
    "a large summand": lambda s: s.x + LARGE != LARGE + 3,
    "a large difference": lambda s: s.y - LARGE < 0 - LARGE,
    "a chain of sums": lambda s: _doubled(s.x, 61) != 3 << 61,
    "a large union": lambda s: s.x | (1 << 64) != (1 << 64) + 3,
}


@pytest.mark.parametrize("use", TOO_LARGE)
def test_words_beyond_64_bits_are_refused_by_engines(use: str) -> None:
    """A term whose interval does not fit a machine word is refused, with the interval; on ints it has its value."""
    system = claiming(TOO_LARGE[use])
    with pytest.raises(LoweringError, match=r"a \w+ term has values .*, beyond 64 bits: lower a bound"):
        explored(system)
    program = theory(system, system.setting()).program
    for state in states():
        values = program.layout.values(state)
        assert holds(program.always_terms[0], program, values) is bool(TOO_LARGE[use](state))


@frozen
class High:
    """A state whose only word is large."""

    x: Any


def counting(lo: int, hi: int, parameter: int = 1) -> System:
    """A counter from lo to hi."""
    return System(
        name="high", summary="A counter.",
        initial=lambda setting: [High(lo)], layout=lambda setting: High(ints(lo, hi)),
        actions=lambda setting: [
            Action("add", lambda s, n: High(s.x + n), lambda s, n: s.x + n <= hi, {"n": [parameter]}),
        ],
        properties=lambda setting: [Property("below", "always", "x is not at the top.", lambda s: s.x != hi)],
        quiescent=lambda s: s.x == hi,
    )  # fmt: skip


@pytest.mark.parametrize("lo", [0, -3, (1 << 62) - 5, -(1 << 62)])
def test_a_domain_far_from_zero_is_searched_rightly(lo: int) -> None:
    """The offset of a domain is no matter: the counter has four states and its top is reached."""
    found = explored(counting(lo, lo + 3))
    assert found.distinct == 4
    verdicts = {one.claim: one.verdict for one in found.verdicts}
    assert isinstance(verdicts["below"], Refuted)


BEYOND = [counting(LARGE - 4, LARGE + 1), counting(1 << 70, (1 << 70) + 3), counting(0, 3, LARGE)]


@pytest.mark.parametrize("system", BEYOND)
def test_a_domain_or_parameter_beyond_64_bits_is_refused(system: System) -> None:
    """A word that does not fit a machine word is refused, although its domain has few values."""
    with pytest.raises((LoweringError, LayoutError), match=r"beyond 64 bits|63 bits"):
        explored(system)


TOP = evolve(counting(0, 3), properties=lambda s: [
    Property("below", "always", "x plus 2**63 is not 2**63 + 3.", lambda s: s.x + LARGE != LARGE + 3)
])  # fmt: skip


def test_a_number_beyond_64_bits_is_one_line() -> None:
    """The command line refuses in one line, and exits with 2."""
    assert (
        "beyond 64 bits: lower a bound"
        in kraftcheck("explore", "tests.solvers.program.test_front_end_numbers:TOP").refusal()
    )
