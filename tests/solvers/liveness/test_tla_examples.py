"""Specifications of the TLA+ Examples have the sizes and the liveness verdicts that are published, or TLC's.

EWD840's own comments say which of its formulas hold, and which do not. TLC finds no error in EWD998; its sizes are
those that TLC gives with as many processes.
"""

from typing import Any

import pytest

from kraftcheck.properties.kinds import weak_fairness
from kraftcheck.solvers.exploration.explore import Exploration
from kraftcheck.solvers.program.verdict import Holds, Refuted
from tests.shared.explored import explored
from tests.solvers.liveness.tla import SYSTEM, ewd840
from tests.solvers.liveness.tla_termination import ewd998


def verdicts(found: Exploration) -> dict[str, Any]:
    """Whether each liveness property holds, or the lengths of the run and the cycle that break it."""
    told: dict[str, Any] = {}
    for one in found.verdicts[:-1]:
        if isinstance(one.verdict, Refuted):
            loop = one.verdict.trace.loop
            assert loop is not None
            told[one.claim] = (loop.start, len(one.verdict.trace.steps) - loop.start)
        else:
            told[one.claim] = type(one.verdict)
    return told


def test_ewd840_detects_termination() -> None:
    """Of 302 states, under WF(System): Liveness holds; not all nodes terminate, and termination is not always there."""
    found = explored(ewd840(SYSTEM))
    told = verdicts(found)
    assert (found.distinct, told["Liveness"]) == (302, Holds)
    assert told["AllTerminate"][0] == told["Detected"][0] == 0


def test_ewd840_false_liveness_is_broken_by_waking_each_other() -> None:
    """Also where every node becomes inactive again and again, termination need not be detected."""
    found = explored(ewd840(SYSTEM, weak_fairness("deactivate", each=["node"])))
    told = verdicts(found)
    assert (told["Liveness"], type(told["Detected"])) == (Holds, tuple)
    verdict = found.verdict("Detected").verdict
    assert isinstance(verdict, Refuted)
    assert "send" in {step.action for step in verdict.trace.steps}


def test_ewd840_without_messages() -> None:
    """Without messages all nodes terminate under WF(Next), and need not under WF(System)."""
    everything = weak_fairness("initiate", "pass", "deactivate")
    assert verdicts(explored(ewd840(everything, messages=False)))["AllTerminate"] is Holds
    assert type(verdicts(explored(ewd840(SYSTEM, messages=False)))["AllTerminate"]) is tuple


def check_ring(nodes: int, sizes: tuple[int, int]) -> None:
    """EWD998 detects termination under WF(System), and is never wrong; nothing says that nodes terminate."""
    found = explored(ewd998(nodes, SYSTEM))
    told = verdicts(found)
    assert (found.distinct, found.depth + 1) == sizes
    assert (told["Liveness"], told["TerminationDetection"]) == (Holds, Holds)
    assert told["AllTerminate"][0] == 0


def test_safra_detects_termination() -> None:
    """Of two nodes there are 6,876 states; without fairness the token may rest, and termination goes undetected."""
    check_ring(2, (6_876, 28))
    told = verdicts(explored(ewd998(2)))
    assert (type(told["Liveness"]), told["TerminationDetection"]) == (tuple, Holds)


@pytest.mark.slow
def test_safra_detects_termination_of_three() -> None:
    """So it is of three nodes."""
    check_ring(3, (1_520_618, 59))
