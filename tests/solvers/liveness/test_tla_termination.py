"""EWD998 and Huang's algorithm of the TLA+ Examples: TLC's sizes under their constraints, and their verdicts.

The repository states that TLC finds no error in either, but no sizes of these models; those here are TLC's, run on the
specifications with as many processes as named.
"""

import pytest

from kraftcheck.properties.kinds import weak_fairness
from kraftcheck.solvers.program.verdict import Holds, Vacuous
from tests.solvers.liveness.test_tla_examples import SYSTEM, explored, verdicts
from tests.solvers.liveness.tla_termination import ewd998, huang

COLLECTS = weak_fairness("leader_receives")
OTHERS = (
    weak_fairness("leader_idle"), weak_fairness("receive", each=["process"]), weak_fairness("idle", each=["process"]),
)  # fmt: skip


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


@pytest.mark.parametrize(("processes", "states"), [(2, 1_836), pytest.param(3, 8_476, marks=pytest.mark.slow)])
def test_huang_collects_all_weights(processes: int, states: int) -> None:
    """The leader has the whole weight once nobody works, if it goes on receiving; else it need not.

    Huang's own `Terminated ~> TerminationDetected` is vacuous: with no message on its way the leader has it already.
    """
    found = explored(huang(processes, COLLECTS, *OTHERS))
    told = verdicts(found)
    assert (found.distinct, found.depth + 1) == (states, 21)
    assert (told["Safe"], told["Collected"], told["Live"]) == (Holds, Holds, Vacuous)
    broken = verdicts(explored(huang(processes, *OTHERS)))
    assert (broken["Safe"], type(broken["Collected"])) == (Holds, tuple)
