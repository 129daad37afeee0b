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
from tests.shared.replication import BOUNDS, ends, log, with_broker, with_logs

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


@pytest.mark.parametrize(
    ("rules", "found"), [("fixed", log()), ("fixed+earlier-reply-applied", log(0)), ("kafka-4.1.0", log())]
)
def test_a_reply_of_an_earlier_epoch_is_dropped(rules: str, found: object) -> None:
    """A follower that has applied a new epoch of the same leader appends nothing of the old one."""
    state = do(with_logs(start(), log(0), log(), log()), "serve_late", follower=2, leader=0)
    later = evolve(state, leader_epoch=1, leaders=(0, 0, *state.leaders[2:]))
    after = do(with_broker(later, 2, epoch=1), "late_reply", rules, reread=0)
    assert (after.brokers[2].log, after.reply.is_under_way()) == (found, False)


@pytest.mark.parametrize(("rules", "found"), [("fixed", log(0, 1)), ("fixed+stale-truncation-applied", log())])
def test_an_answer_on_where_to_cut_is_of_its_epoch(rules: str, found: object) -> None:
    """Told to cut by an earlier leader, a follower of a later one keeps what it has."""
    state = do(with_logs(deposed(start()), log(0), log(), log()), "apply_metadata", broker=0, epoch=1)
    state = do(state, "serve_late", follower=0, leader=1)
    assert (state.reply.cut_epoch, state.reply.cut_end, ends(state, 1)[0]) == (0, 0, -1)
    later = evolve(state, leader_epoch=2, leaders=(0, 1, 2, *state.leaders[3:]))
    moved = with_broker(with_logs(later, log(0, 1), log(), log(0, 1)), 0, epoch=2)
    assert do(moved, "late_reply", rules, reread=0).brokers[0].log == found


def test_a_reply_is_lost_to_a_newer_fetch_and_to_a_stop() -> None:
    """A follower that fetches again at that leader, or dies, gets the old reply no more; nor is there a second one."""
    state = do(with_logs(start(), log(0), log(), log()), "serve_late", follower=2, leader=0)
    assert state.left.late_replies == 0
    for after in (do(state, "fetch", follower=2, leader=0, received=1), do(state, "crash", broker=2, lost=0)):
        assert not after.reply.is_under_way()
    other = do(state, "fetch", follower=1, leader=0, received=1)
    assert other.reply == state.reply


def test_who_has_died_gives_no_bytes() -> None:
    """What a stopped leader's file got later is not sent; what it had sent may arrive."""
    state = do(with_logs(start(), log(0), log(), log()), "serve_late", follower=2, leader=0)
    dead = do(state, "crash", broker=0, lost=1)
    assert do(dead, "late_reply", reread=0).brokers[2].log == log(0)
    assert not action("late_reply", "fixed").enabled(dead, {"reread": 1})


def test_a_refused_fetch_counts_only_with_the_defect() -> None:
    """With KAFKA-13837 a leader notes the end of a follower of another epoch; else there is no such step."""
    state = deposed(with_logs(start(), log(), log(), log(0)))
    after = do(state, "refused_fetch", "fixed+fetch-noted-before-checks", follower=2, leader=1)
    assert (ends(state, 1)[2], ends(after, 1)[2]) == (-1, 1)
    with pytest.raises(ValueError, match="not enough values"):
        action("refused_fetch", "fixed")


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
