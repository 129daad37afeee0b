"""Defects, one change build each, asked of the released classes themselves: which release has which."""

from typing import Any

import pytest

from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.change.models import model_of
from kraftcheck.ci.conformance.kafka.columns import (
    CHANGE_INPUTS,
    CHANGE_OUTPUTS,
    NO_LAST_KNOWN,
    NO_LEADER,
    UNCLEAN,
    VACANT,
    Columns,
    Rows,
)
from kraftcheck.ci.conformance.kafka.drivers import Driver
from kraftcheck.model.rules.ruleset import parse
from tests.shared.samples import one_in

SLOTS = 4

PLAIN: dict[str, Any] = {
    "replicas": [0, 1], "isr": [], "elr": [], "last_known": NO_LAST_KNOWN, "leader": NO_LEADER, "placed": 1,
    "min_isr": 1, "elr_on": 1, "assigned": VACANT,
}  # fmt: skip
"""A leaderless partition with ELR on, whose replicas are all dead."""

CASES: dict[str, dict[str, Any]] = {
    "B1: the dead last known leader is elected": {"last_known": 0},
    "B1: a last known leader that is no replica is elected": {"last_known": 2, "acceptable": 4},
    "B2: a build without ELR, as for a directory, clears the ELR": {
        "isr": [0], "elr": [1], "leader": 0, "acceptable": 1, "min_isr": 2, "elr_on": 0, "assigned": 0,
    },
    "B4: a removed replica enters the ELR": {
        "isr": [0, 1], "leader": 0, "acceptable": 3, "min_isr": 2, "target_replicas": [0], "target_isr": [0],
    },
    "B5: the last known leader becomes -1 when the ISR empties": {"isr": [0], "target_isr": []},
    "B5: the last known leader becomes -1 when a replica is removed": {
        "isr": [0], "adding": 2, "target_replicas": [0], "target_adding": 0,
    },
    "B10: a reassignment that adds what it removes never ends": {
        "isr": [0, 1], "leader": 0, "acceptable": 3, "elr_on": 0, "removing": 2, "adding": 2,
    },
    "B17: an unclean election of a build that ends the recovery is not marked": {
        "isr": [0], "leader": 0, "recovering": 1, "acceptable": 2, "election": UNCLEAN, "elr_on": 0,
    },
}  # fmt: skip

SHOWS: dict[str, Any] = {
    "B1: the dead": lambda after: after["after.leader"] == 0,
    "B1: a last": lambda after: after["after.leader"] == 2,
    "B2": lambda after: after["after.elr"] == [],
    "B4": lambda after: after["after.elr"] == [1] and after["after.replicas"] == [0],
    "B5": lambda after: after["after.last_known"] == -1,
    "B10": lambda after: after["after.removing"] == 2,
    "B17": lambda after: after["after.leader"] == 1 and after["after.recovering"] == 0,
}
"""By how a case starts: what the state after the build has where the release has the defect."""

HAS = {
    "3.9.2": (1, 1, 1, 1, 1, 0, 0, 1),
    **dict.fromkeys(("4.0.0", "4.0.1", "4.0.2"), (1, 1, 1, 1, 1, 0, 0, 1)),
    "4.1.0": (0, 1, 1, 1, 1, 0, 0, 1),
    **dict.fromkeys(("4.1.1", "4.1.2", "4.2.0", "4.2.1", "4.2.2"), (0, 1, 1, 1, 0, 1, 0, 1)),
    **dict.fromkeys(("4.3.0", "4.3.1", "4.4.0"), (0, 1, 1, 1, 0, 1, 1, 1)),
}
"""Of each release, which cases show their defect."""


def _table() -> Rows:
    columns, cases = Columns.of(CHANGE_INPUTS, SLOTS), []
    for case in CASES.values():
        given = {**dict.fromkeys(columns, 0), **PLAIN, **case}
        targets = {f"target_{name}": given[name] for name in ("isr", "replicas", "removing", "adding")}
        cases.append({**given, **targets, **case})
    return columns.table(cases)


def _shown(answers: Any) -> tuple[int, ...]:
    columns, found = Columns.of(CHANGE_OUTPUTS, SLOTS), []
    for name, row in zip(CASES, answers, strict=True):
        shows = next(shows for start, shows in SHOWS.items() if name.startswith(start))
        found.append(int(shows(columns.read(row))))
    return tuple(found)


@pytest.mark.parametrize("version", one_in(4, HAS))
def test_presets_have_the_defects_of_their_release(version: str) -> None:
    """The model under the preset of a release shows what the release is known to show."""
    assert _shown(model_of("change", SLOTS, parse(f"kafka-{version}")).answer(_table())) == HAS[version]


@pytest.mark.slow
@pytest.mark.parametrize("version", HAS)
def test_releases_have_the_defects_listed(version: str) -> None:
    """Kafka's own change builder shows them: this is no matter of the model."""
    columns = Columns.of(CHANGE_OUTPUTS, SLOTS)
    with Driver(Build(version), "change", SLOTS, columns) as kafka:
        assert _shown(kafka.ask(_table())) == HAS[version]


def test_the_right_rules_have_none() -> None:
    """Under `fixed` no case shows its defect, but B2: a build without ELR clears the ELR by design."""
    assert _shown(model_of("change", SLOTS, parse("fixed")).answer(_table())) == (0, 0, 1, 0, 0, 0, 0, 0)
