"""Specifications of the TLA+ Examples have the sizes and the liveness verdicts that are published, or TLC's.

EWD840's own comments say which of its formulas hold, and which do not; the others are expected to hold, and to be
broken by a halt where fairness is left out.
"""

from typing import Any

import pytest

from kraftcheck.properties.kinds import weak_fairness
from kraftcheck.solvers.exploration.explore import Exploration
from kraftcheck.solvers.program.verdict import Holds, Refuted
from tests.shared.explored import explored
from tests.solvers.liveness.tla import SYSTEM, cat, coffee_can, ewd840, philosophers

PICKS = weak_fairness("same_black", "same_white", "different", "termination")


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


def test_coffee_can() -> None:
    """Of 100 beans one is left, of the colour of the hypothesis; a can that nobody touches stays as it is."""
    found = explored(coffee_can(100, PICKS))
    assert (found.distinct, found.generated) == (5150, 20002)
    assert set(verdicts(found).values()) == {Holds}
    assert verdicts(explored(coffee_can(10))) == {
        "EventuallyTerminates": (0, 0), "HypothesisOdd": (0, 0), "HypothesisEven": (0, 0),
    }  # fmt: skip


@pytest.mark.parametrize(("boxes", "states", "generated"), [(6, 48, 128), (5, 30, 78)])
def test_the_cat_is_found(boxes: int, states: int, generated: int) -> None:
    """With even and with odd boxes the cat is found; not if one looks into the same box, nor if she may stay."""
    move = weak_fairness("move")
    found = explored(cat(boxes, move))
    assert (found.distinct, found.generated, verdicts(found)) == (states, generated, {"Victory": Holds})
    assert verdicts(explored(cat(boxes)))["Victory"] == (0, 0)
    assert verdicts(explored(cat(boxes, move, clever=False)))["Victory"][1] > 0


def test_nobody_starves() -> None:
    """Of five philosophers nobody starves while each is fair; where one is not, all may."""
    fair = [weak_fairness(f"philosopher_{number}") for number in range(5)]
    found = explored(philosophers(5, *fair))
    assert (found.distinct, found.generated) == (67, 336)
    assert set(verdicts(found).values()) == {Holds}
    assert {type(one) for one in verdicts(explored(philosophers(5, *fair[1:]))).values()} == {tuple}
