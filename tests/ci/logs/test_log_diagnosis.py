"""What else explains batches that a rule set does not: releases, and single choices."""

import json
from pathlib import Path

import pytest
from attrs import evolve

from kraftcheck.ci.logs.end import cluster_end
from kraftcheck.ci.logs.format.read import find
from kraftcheck.ci.logs.releases import REGISTERED, line_of
from kraftcheck.ci.logs.report import ReplayOptions, lines
from tests.shared.places import TESTS

CAPTURED = TESTS / "captured"
OLD = CAPTURED / "kafka-4.0.0-elr"


def diagnosed(place: Path, rules: str | None) -> list[str]:
    """The lines of a replay that name other rule sets."""
    (log,) = find((place,))
    summary = ReplayOptions(rules).replay(log, detailed=False, diagnoses=True)
    return [line for line in lines(summary) if "DIAGNOSIS" in line]


def test_another_release_is_named() -> None:
    """A log of 4.0.0 that is replayed by the rules of 4.4.0 is explained by 4.0, and the line says how to ask that."""
    (line,) = diagnosed(OLD, "kafka-4.4.0")
    assert "5 of 5 of these batches are explained by kafka-4.0.0 or kafka-4.0.1 or kafka-4.0.2" in line
    assert line.endswith("try --rules kafka-4.0.0")


def test_a_choice_of_a_release_without_rules_is_named(tmp_path: Path) -> None:
    """The controller of 3.7 gives a process that registers again a new epoch: of 3.8 that is named, with its report."""
    registration = {
        "brokerId": 1, "isMigratingZkBroker": False, "incarnationId": "P3UFsWoNR-erL9PK98YLsA", "endPoints": [],
        "features": [{"name": "metadata.version", "minSupportedVersion": 1, "maxSupportedVersion": 20}], "rack": None,
        "fenced": True, "inControlledShutdown": False, "logDirs": ["5zoAlv-xEh9xRANKXt1Lbg"],
    }  # fmt: skip
    level = {"name": "metadata.version", "featureLevel": 20}
    records = [("FEATURE_LEVEL_RECORD", 0, level)]
    records += [("REGISTER_BROKER_RECORD", 3, {**registration, "brokerEpoch": offset}) for offset in (1, 2)]
    path = tmp_path / "log.jsonl"
    rows = ({"offset": n, "type": kind, "version": v, "data": data} for n, (kind, v, data) in enumerate(records))
    path.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    (line,) = diagnosed(path, None)
    assert "1 of 1 of these batches are explained by +reregistration-bumps-epoch (KAFKA-16952: " in line
    assert line.endswith("try --rules kafka-3.9.2+unclean-election-unconfigurable+reregistration-bumps-epoch")


def test_the_condition_of_a_cluster_names_it_too() -> None:
    """What `status` and `whatif` doubt names the release that explains the log, and nothing where all is explained."""
    doubts = [*cluster_end(OLD, ReplayOptions("kafka-4.4.0")).doubts()]
    assert doubts[-1].startswith("DIAGNOSIS: 5 of 5 of these batches are explained by kafka-4.0.0")
    assert [*cluster_end(OLD, ReplayOptions(None)).doubts()] == []


def test_nothing_is_named_of_what_is_explained() -> None:
    """A log that its rules explain has no diagnosis."""
    assert diagnosed(OLD, None) == []


@pytest.mark.parametrize(("level", "writer"), [(1, "3.0 to 3.2"), (8, "3.4"), (14, "3.6"), (19, "3.7"), (20, "3.8")])
def test_releases_without_rules_are_named(level: int, writer: str) -> None:
    """A log of a release before 3.9 says which, how surely, and that its classes are not what is known of it."""
    (note,) = line_of(level).notes()
    assert f"the writer is Kafka {writer} or a later one: metadata version {level} is finalized" in note
    (note,) = evolve(line_of(level), known_by=REGISTERED).notes()
    assert f"the writer is Kafka {writer}, surely" in note
