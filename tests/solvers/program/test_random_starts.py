"""Random rules for initial states: what is listed natively is what ints find, and provers begin there too."""

import threading
import time

import pytest
from attrs import evolve

from kraftcheck.solvers.exploration.explore import explore
from kraftcheck.solvers.program.parts import SystemFault
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Refuted
from kraftcheck.solvers.smt.queries import Effort
from kraftcheck.solvers.smt.runs.bounded import check_bounded
from kraftcheck.solvers.smt.theory import theory
from tests.solvers.program.random_starts import Described, described_systems

EFFORT = Effort(timeout=10)


@pytest.fixture(scope="module")
def systems() -> list[Described]:
    """Random systems with small layouts."""
    return list(described_systems(5))


def agree(one: Described) -> None:
    """Native listing and ints find the same states; none: the system is refused."""
    setting = one.system.setting()
    if not one.listed:
        with pytest.raises(SystemFault, match="describes no state"):
            trace(one.system, setting)
        return
    program = trace(one.system, setting)
    assert list(program.initial) == sorted(map(program.layout.pack, one.listed)), one.text()


def engines_agree(one: Described) -> None:
    """Search and bounded runs from described states judge as from listed ones."""
    setting, listed = one.system.setting(), evolve(one.system, initial=lambda setting: one.listed)
    found, other = (explore(trace(system, setting), clock=time.monotonic) for system in (one.system, listed))
    assert (found.levels, found.generated) == (other.levels, other.generated), one.text()
    assert [(v.claim, type(v.verdict), v.depth) for v in found.verdicts] == [
        (v.claim, type(v.verdict), v.depth) for v in other.verdicts
    ], one.text()
    subject = theory(one.system, setting, use_lemmas=False)
    claims = [claim.id for claim in subject.claims]
    lengths = {v.claim: v.depth for v in found.verdicts if isinstance(v.verdict, Refuted)}
    for claim, verdict in check_bounded(subject, claims, 1, EFFORT, threading.Event()).items():
        shortest = lengths.get(claim)
        assert isinstance(verdict, Refuted) == (shortest is not None and shortest <= 1), (claim, one.text())


def test_listed_states_are_those_of_ints(systems: list[Described]) -> None:
    """For each drawn rule; they hold of different numbers of states."""
    for one in systems:
        agree(one)
    assert len({len(one.listed) for one in systems}) > 2


def test_engines_begin_there(systems: list[Described]) -> None:
    """Numbers, verdicts, lengths, and bounded runs, of some of them."""
    some = [one for one in systems if one.listed][:1]
    assert len(some) == 1
    for one in some:
        engines_agree(one)


@pytest.mark.slow
def test_many_more_agree() -> None:
    """As the two above, for many more rules; some hold of no state, most of some."""
    counts = []
    for one in described_systems(400):
        agree(one)
        counts.append(len(one.listed))
        if one.listed:
            engines_agree(one)
    assert min(counts) == 0
    assert len({*counts}) > 50
