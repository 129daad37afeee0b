"""More specifications of the TLA+ Examples: their published sizes, and what is published to hold and to be broken.

The repository states distinct and generated states of each model (`manifest.json`), and that TLC finds no error.
What is broken is said in comments of the specifications (SimpleAllocator, DijkstraMutex), is an assumption that they
make (TokenRing), or follows from leaving fairness out. Of Peterson the repository checks safety only.
"""

import pytest

from kraftcheck.model.language.system import Fairness
from kraftcheck.properties.kinds import strong_fairness, weak_fairness
from kraftcheck.solvers.program.verdict import Holds
from tests.solvers.liveness.test_tla_examples import explored, verdicts
from tests.solvers.liveness.tla_messages import (
    ALLOCATE,
    RETURN,
    RETURN_IF_SATISFIED,
    alternating_bit,
    prisoners,
    simple_allocator,
    token_ring,
)
from tests.solvers.liveness.tla_mutex import LABELS, dijkstra, peterson, readers_writers

TRIES = [weak_fairness("try_read", each=["actor"]), weak_fairness("try_write", each=["actor"])]
AB_WEAK = (weak_fairness("send_again"), weak_fairness("send_ack"))
AB_STRONG = (strong_fairness("receive"), strong_fairness("receive_ack"))
RING = weak_fairness("create", "hand_on")
VISITS = weak_fairness("visit", each=["prisoner"])
TRYING = weak_fairness(*(label for label in LABELS if label != "ncs"), "enter", each=["me"])
"""`WF_vars((pc[self] # "ncs") /\\ P(self))`: nobody has to leave its non-critical section."""


def outcome(told: dict[str, object]) -> dict[str, str]:
    """Of each property, the instances of clients and processes together, whether all hold or all are broken."""
    words: dict[str, set[str]] = {}
    for name, verdict in told.items():
        words.setdefault(name.partition("-")[0], set()).add("holds" if verdict is Holds else "broken")
    assert all(len(one) == 1 for one in words.values()), words
    return {name: one.pop() for name, one in words.items()}


@pytest.mark.parametrize(
    ("fairness", "satisfied"),
    [((RETURN, ALLOCATE), "holds"), ((RETURN_IF_SATISFIED, ALLOCATE), "broken"),
     ((RETURN, weak_fairness("allocate", each=["client"])), "broken")],
)  # fmt: skip
def test_the_allocator_serves_everybody_if_everybody_returns(fairness: tuple[Fairness, ...], satisfied: str) -> None:
    """SimpleAllocator satisfies its clients, SimpleAllocator2 does not, as it says; nor does weakly fair allocation."""
    found = explored(simple_allocator(*fairness))
    # the steps of `return_all` are steps of Return as well, and TLC counts them once
    assert (found.distinct, found.generated - found.fired["return_all"]) == (400, 1633)
    assert outcome(verdicts(found)) == {
        "ClientsWillReturn": "holds", "ClientsWillObtain": satisfied, "InfOftenSatisfied": satisfied,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("fairness", "received"),
    [((*AB_WEAK, *AB_STRONG), "holds"), ((*AB_WEAK, weak_fairness("receive"), weak_fairness("receive_ack")), "broken")],
)
def test_a_lossy_queue_asks_for_strong_fairness(fairness: tuple[Fairness, ...], received: str) -> None:
    """Of the alternating bit protocol what is sent is received, if receiving is strongly fair; weakly will not do."""
    found = explored(alternating_bit(*fairness))
    assert (found.distinct, outcome(verdicts(found))) == (240, {"SentLeadsToRcvd": received})


def check_mutex(processes: int, states: int) -> None:
    """Dijkstra's algorithm is deadlock free and not starvation free, wherever the processes may stop."""
    found = explored(dijkstra(processes, TRYING))
    assert found.distinct == states
    assert outcome(verdicts(found)) == {
        "DeadlockFree": "holds", "DeadlockFreedom": "holds", "StarvationFree": "broken",
    }  # fmt: skip


def test_two_processes_may_starve_and_not_block() -> None:
    """Of two processes one enters again and again, and the other may never do."""
    check_mutex(2, 660)


@pytest.mark.slow
def test_three_processes_may_starve_and_not_block() -> None:
    """So it is with three, whose 90,882 states the specification names."""
    check_mutex(3, 90_882)


def test_who_tries_enters_by_peterson() -> None:
    """Of 42 states, 77 generated: who tries enters if both go on; if the other may stop, one may wait for ever."""
    both = explored(peterson(weak_fairness("process_0"), weak_fairness("process_1")))
    assert (both.distinct, both.generated, outcome(verdicts(both))) == (42, 77, {"Enters": "holds"})
    assert outcome(verdicts(explored(peterson(weak_fairness("process_0"))))) == {"Enters": "broken"}


def check_desk(actors: int, states: int, generated: int) -> None:
    """Readers and writers come in turn if all activity ends; else nobody does."""
    served = (*TRIES, weak_fairness("read_or_write"))
    fair, endless = (explored(readers_writers(actors, *served, *more)) for more in ((weak_fairness("stop"),), ()))
    assert (fair.distinct, fair.generated) == (states, generated)
    assert set(outcome(verdicts(fair)).values()) == {"holds"}
    assert set(outcome(verdicts(endless)).values()) == {"broken"}


def test_two_readers_and_writers_come_in_turn() -> None:
    """So it is with two actors."""
    check_desk(2, 390, 935)


@pytest.mark.slow
def test_three_readers_and_writers_come_in_turn() -> None:
    """So it is with the three of the model, of 21,527 states and 59,674 generated."""
    check_desk(3, 21_527, 59_674)


@pytest.mark.parametrize(
    ("number", "unknown", "sizes"),
    [(3, False, (16, 49)), pytest.param(3, True, (62, 188), marks=pytest.mark.slow),
     pytest.param(1, False, (2, 3), marks=pytest.mark.slow), pytest.param(1, True, (4, 6), marks=pytest.mark.slow)],
)  # fmt: skip
def test_the_prisoners_win(number: int, unknown: bool, sizes: tuple[int, int]) -> None:
    """Whatever the lamp is first, they win if each is taken to the cell again and again."""
    found = explored(prisoners(number, unknown, VISITS))
    assert ((found.distinct, found.generated), verdicts(found)) == (sizes, {"Terminating": Holds})


def test_nobody_wins_without_the_counter() -> None:
    """If the prisoner who counts is left in the cell, or all may be, nobody wins."""
    others = weak_fairness("visit", each=["prisoner"], having={"prisoner": (1, 2)})
    assert [outcome(verdicts(explored(prisoners(3, False, *fair))))["Terminating"] for fair in ((others,), ())] == [
        "broken", "broken",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("nodes", "values", "sizes", "stabilises"),
    [(4, 3, (81, 270), True), (4, 2, (16, 48), False),
     pytest.param(6, 6, (46_656, 248_832), True, marks=pytest.mark.slow)],
)  # fmt: skip
def test_the_ring_stabilises_if_it_has_values_enough(
    nodes: int, values: int, sizes: tuple[int, int], stabilises: bool
) -> None:
    """A token ring stabilises where nodes are at most one more than values, as it assumes; not with fewer values."""
    found = explored(token_ring(nodes, values, RING))
    assert ((found.distinct, found.generated), verdicts(found)["Stab"] is Holds) == (sizes, stabilises)
