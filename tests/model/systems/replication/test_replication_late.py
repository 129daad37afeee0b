"""The `replication` system: replies to fetches that are late, and fetches that are refused."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from kraftcheck.model.language.system import Action, Conjuncts
from kraftcheck.model.language.words import all_of, implies
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.model.systems.replication.state import Replication
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.kinds import always
from kraftcheck.solvers.program.verdict import Holds
from tests.model.systems.replication.test_replication_settled import explored, setting
from tests.shared.replication import BOUNDS, log, with_logs

REPLICATION = SYSTEMS["replication"]


def action(name: str, rules: str) -> Action:
    """An action where one reply may be late."""
    at = REPLICATION.setting("small", {**BOUNDS, "late-replies": 1}, parse(rules))
    (found,) = [a for a in REPLICATION.actions(at) if a.name == name]
    return found


def do(state: Replication, name: str, rules: str = "fixed", **arguments: Any) -> Replication:
    """The state after an enabled action."""
    taken = action(name, rules)
    assert [part for part, true in taken.guards(state, arguments).items() if not true] == []
    after: Replication = taken.outcome(state, arguments).state
    return after


def start() -> Replication:
    """Broker 0 leads, everybody is in sync, nothing is written, and one reply may be late."""
    (found,) = REPLICATION.initial(REPLICATION.setting("small", {**BOUNDS, "late-replies": 1}, parse("fixed")))
    state: Replication = found
    return state


def deposed(state: Replication) -> Replication:
    """Broker 0 is fenced; broker 1 knows that it leads."""
    return do(do(state, "fence", broker=0), "apply_metadata", broker=1, epoch=1)


def mixed() -> Replication:
    """Leader 0 served follower 2 from its own epoch; its file has since been cut, and filled by leader 1."""
    state = with_logs(start(), log(0, 0), log(), log(0))
    state = deposed(do(state, "serve_late", follower=2, leader=0))
    state = do(do(state, "produce", broker=1), "produce", broker=1)
    state = do(state, "apply_metadata", broker=0, epoch=1)
    for _ in range(2):
        state = do(state, "fetch", follower=0, leader=1, received=BOUNDS["records"])
    assert state.brokers[0].log == log(1, 1)
    return state


@pytest.mark.parametrize(
    ("rules", "reread", "found"),
    [
        ("fixed", 0, log(0, 0)), ("fixed", 1, log(0)),
        ("fixed+append-beyond-fetch-epoch", 0, log(0, 0)), ("fixed+append-beyond-fetch-epoch", 1, log(0, 1)),
        ("kafka-4.0.0", 1, log(0, 1)), ("kafka-4.0.1", 1, log(0)),
    ],
)  # fmt: skip
def test_records_of_a_later_epoch_than_the_fetch_are_left_out(rules: str, reread: int, found: object) -> None:
    """Bytes that the leader's file got after it was deposed are appended by 4.0.0 only, and then logs do not match."""
    assert do(mixed(), "late_reply", rules, reread=reread).brokers[2].log == found


def waits_for_the_isr(state: Replication) -> Conjuncts:
    """Invariant 22: what a leader of the newest epoch waits for has the whole ISR."""
    return {
        f"broker {n}": implies(
            all_of(state.leads(n, b), b.epoch == state.leader_epoch), state.controller.isr.within(b.maximal_isr())
        )
        for n, b in enumerate(state.brokers)
    }


@pytest.mark.parametrize(("rules", "steps"), [("fixed", None), ("fixed+unknown-outcome-is-failure", 7)])
def test_a_leader_waits_for_the_isr_whatever_its_size(rules: str, steps: int | None) -> None:
    """Not only at min ISR: in each state of `tiny`, unless a lost answer is taken for a refusal."""
    claims = [always("invariant-22", str(waits_for_the_isr.__doc__), waits_for_the_isr)]
    found = explored(evolve(REPLICATION, properties=lambda _: claims), setting(rules, {"unclean-stops": 0}))
    assert found.verdict("invariant-22").depth == steps
    assert (steps is None) == isinstance(found.verdict("invariant-22").verdict, Holds)


@pytest.mark.slow
@pytest.mark.parametrize(("defect", "found"), [("", {}), ("+hw-waits-for-ineligible", {"watermark-reaches-end": 6})])
def test_an_epoch_for_each_shrink_breaks_nothing(defect: str, found: dict[str, int]) -> None:
    """It costs an epoch, and the watermark that waits for who may not return is stuck two steps later only."""
    run = explored(REPLICATION, setting(f"fixed+bump-on-isr-shrink{defect}", {"min-isr": 1}))
    assert {v.claim: v.depth for v in run.verdicts if not isinstance(v.verdict, Holds)} == found
