"""The `replication` system: what is given one value, or not kept, changes no verdict."""

from __future__ import annotations

import time
from collections.abc import Mapping

import pytest
from attrs import evolve

from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.model.language.layout import ints
from kraftcheck.model.language.system import Conjuncts, Setting, System
from kraftcheck.model.language.words import all_of, implies, negate
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.model.systems.replication.log import of_each
from kraftcheck.model.systems.replication.settle import settle
from kraftcheck.model.systems.replication.state import Replication
from kraftcheck.model.systems.replication.system import unsettled_actions
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.kinds import always, sometimes
from kraftcheck.properties.replication.leaders import each_led
from kraftcheck.properties.replication.lemmas_commits import (
    commits_are_applied,
    leave_no_isr_behind,
    nothing_after,
)
from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget, explore
from kraftcheck.solvers.program.trace import trace
from tests.shared.samples import one_in

REPLICATION = SYSTEMS["replication"]


def with_commit_epoch(at: Setting) -> Replication:
    """The domain of each field, where the newest epoch with a commit and deaths are kept though they have a bound."""
    whole: Replication = REPLICATION.layout(at)
    return evolve(whole, commit_epoch=whole.leader_epoch, deaths=ints(0, at["unclean-stops"]))


UNSETTLED = evolve(REPLICATION, actions=unsettled_actions, layout=with_commit_epoch)
"""The system without settling."""

FEW = {"unclean-stops": 0, "shrinks": 0}

CASES = [
    ("fixed", {"unclean-stops": 0}),
    ("kafka-3.9", {"fences": 0, "unclean-elections": 1}),
    ("kip", {**FEW, "clean-stops": 1}),
    ("kafka-4.0", {**FEW, "config-changes": 1}),
    ("fixed+removed-replicas-stay-in-elr", {"unclean-stops": 0, "fences": 0, "reassignments": 1}),
    ("kafka-4.0+stale-truncation-applied", {**FEW, "late-replies": 1}),
    ("fixed+reelected-leader-keeps-ends+unknown-outcome-is-failure", {"unclean-stops": 0}),
]
"""Every kind of event, and rules that read more than the right ones; 2 brokers."""


def explored(system: System, at: Setting) -> Exploration:
    """The whole exploration of a system."""
    return explore(trace(system, at), SearchBudget(cache_dir=cache_folder()), clock=time.perf_counter)


def setting(rules: str, bounds: Mapping[str, int]) -> Setting:
    """A setting of 2 brokers."""
    return REPLICATION.setting("tiny", bounds, parse(rules))


@pytest.mark.parametrize("case", one_in(8, CASES), ids=[f"{rules} {bounds}" for rules, bounds in CASES])
def test_settling_changes_no_verdict(case: tuple[str, Mapping[str, int]]) -> None:
    """Without settling the reachable states are the same ones once settled, and so are verdicts and shortest traces."""
    rules, bounds = case
    at = setting(rules, bounds)
    plain, settled = explored(UNSETTLED, at), explored(REPLICATION, at)
    assert [(v.claim, type(v.verdict), v.depth) for v in plain.verdicts] == [
        (v.claim, type(v.verdict), v.depth) for v in settled.verdicts
    ]
    whole, layout = plain.program.layout, settled.program.layout
    found = {layout.pack(settle(whole.unpack(state), at)) for state in plain.states()}
    assert found == set(settled.states())
    assert settled.distinct < plain.distinct
    assert (dict(plain.pruned), dict(settled.pruned)) == ({}, {})


def leaders_hold_committed(s: Replication) -> Conjuncts:
    """What is proven where epochs have no bound: who leads an epoch no older than the commit holds all."""
    return each_led(s, lambda n, epoch, leader: implies(
        all_of(leader == n, s.broker(n).running(), s.broker(n).epoch <= epoch, epoch <= s.leader_epoch,
               s.commit_epoch <= epoch, negate(s.lossy)),
        s.broker(n).log.agrees(s.committed, s.committed.end()),
    ))  # fmt: skip


def told_apart(s: Replication) -> Conjuncts:
    """Where what is under way tells that nothing was committed after an epoch, the newest commit is not after it."""
    idle = nothing_after(s)
    return of_each(s.leaders, lambda epoch, _: implies(
        all_of(idle(epoch), epoch <= s.leader_epoch, negate(s.lossy)), s.commit_epoch <= epoch))  # fmt: skip


COMMITS = (
    always("lemma-commits-are-applied", "as in proofs", commits_are_applied),
    always("lemma-commits-leave-no-isr-behind", "as in proofs", leave_no_isr_behind),
    always("lemma-leaders-hold-committed", "as in proofs", leaders_hold_committed),
    always("no-commit-after", "what is under way tells no more than the newest commit", told_apart),
    sometimes("commit-in-a-later-epoch", "a later leader has committed", lambda s: s.commit_epoch > 0),
    sometimes("leader-is-behind", "a commit is of an older epoch", lambda s: s.commit_epoch + 1 < s.leader_epoch),
)
"""Claims about the newest epoch with a commit, and what shows that it matters."""


LEMMAS = {claim.id for claim in COMMITS if claim.kind == "always"}


@pytest.mark.parametrize(
    ("rules", "bounds", "refuted"), [
        ("fixed", {}, set()),
        ("fixed", {"min-isr": 1}, set()),
        ("fixed+hw-advances-under-min-isr", {}, LEMMAS - {"lemma-commits-leave-no-isr-behind"}),
        ("fixed+unfence-rejoins-isr", {"min-isr": 1}, LEMMAS),
    ], ids=["right", "right, min ISR 1", "commits below min ISR", "rejoins, min ISR 1"],
)  # fmt: skip
def test_the_newest_epoch_with_a_commit_is_as_lemmas_say(
    rules: str, bounds: Mapping[str, int], refuted: set[str]
) -> None:
    """In every state of two brokers the lemmas hold by the right rules, and there is a defect that breaks each."""
    system = evolve(UNSETTLED, properties=lambda _: COMMITS)
    verdicts = {v.claim: type(v.verdict).__name__ for v in explored(system, setting(rules, bounds)).verdicts}
    wanted = {claim.id: "Refuted" if claim.id in refuted else "Holds" for claim in COMMITS}
    assert {claim: verdicts[claim] for claim in wanted} == wanted
