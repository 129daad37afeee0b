"""The lint of several records from one base: what the triggers of `replication` write for the partition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve

from kraftcheck.model.language.system import Property, Step
from kraftcheck.model.language.words import NO_LEADER
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.model.systems.elections.system import ELECTIONS
from kraftcheck.model.systems.elections.triggers import Triggers
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.solvers.program.trace import trace

REPLICATION = SYSTEMS["replication"]

ACTIONS = (
    "fence", "unfence", "controlled_shutdown", "new_incarnation", "elect_preferred", "elect_unclean",
    "elect_designated", "alter_partition", "reassign", "cancel", "set_min_isr",
)  # fmt: skip
"""Triggers that `replication` calls; in `elections` each is an action of that name, and nothing else."""


def few_records(rules: str) -> dict[str, Any]:
    """For each action of `elections` whether it writes at most one record, as far as intervals of terms decide it."""
    told: dict[str, Any] = {}

    def few(step: Step) -> Any:
        told[step.action] = step.event.records <= 1
        return step.after.leader >= NO_LEADER

    lint = Property("few-records", "step", "An event writes at most one record.", few)
    at = ELECTIONS.setting("directories", {"reassignment": 1}, parse(rules))
    trace(evolve(ELECTIONS, properties=lambda _: [lint]), at)
    return told


def test_replication_calls_known_triggers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The triggers that the actions of `replication` call are those listed here."""
    called: set[str] = set()

    def noted(name: str, trigger: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            called.add(name)
            return trigger(*arguments)

        return call

    ends = ("decided", "finish")  # which end every one of them
    for name, trigger in vars(Triggers).items():
        if callable(trigger) and not name.startswith("_") and name not in ends:
            monkeypatch.setattr(Triggers, name, noted(name, trigger))
    budgets = dict.fromkeys(("reassignment", "reassignments", "unclean-elections", "config-changes", "clean-stops"), 1)
    trace(REPLICATION, REPLICATION.setting("tiny", budgets, parse("fixed+designated-elections")))
    assert called == set(ACTIONS)


@pytest.mark.parametrize("rules", ["fixed+designated-elections", "kip", "kafka-4.0+designated-elections"])
def test_its_triggers_write_one_record(rules: str) -> None:
    """In every state, reachable or not, each writes at most one record: none can be decided on a stale base."""
    told = few_records(rules)
    assert {name for name in ACTIONS if told[name] is not True} == set()


def test_a_heartbeat_may_write_two() -> None:
    """The bound is no matter of course: a heartbeat that unfences and reports is not decided by intervals."""
    assert few_records("fixed")["heartbeat"] is not True
