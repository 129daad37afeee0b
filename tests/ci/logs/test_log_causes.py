"""Violations of a log by their cause: the defect, until when it lasted, and what a release does on purpose."""

from pathlib import Path
from typing import Any

from kraftcheck.ci.logs.format.read import find
from kraftcheck.ci.logs.report import ReplayOptions, Summary, lines
from kraftcheck.model.controller.brokers import fenced, unregistered
from kraftcheck.model.rules.ruleset import parse
from tests.shared.captures import DEAD_LEADER, TROUBLE
from tests.solvers.logs.test_holders import Log


def replayed(path: Path, rules: str | None = None) -> Summary:
    """What a replay says of a log."""
    (log,) = find((path,))
    return ReplayOptions(rules).replay(log, detailed=False)


def spells(summary: Summary, **about: Any) -> list[dict[str, Any]]:
    """The spells of a cause, which has these facts and is the only such one."""
    (row,) = [row for row in summary.causes if all(row["causes"][0][name] == fact for name, fact in about.items())]
    return list(row["spells"])


def test_a_known_defect_is_named_once() -> None:
    """33 violations of one cause are five spells of KAFKA-19522, with the release that mended it."""
    summary = replayed(DEAD_LEADER)
    assert len(summary.violations) == 33
    found = spells(summary, reported="KAFKA-19522", mended_in="4.1.0", finding="dead-last-known-leader")
    assert len(summary.causes) == 1
    assert [(one["from"], one["until"], len(one["partitions"])) for one in found] == [
        (69, 70, 1), (128, 130, 1), (137, 147, 1), (145, 147, 7), (202, 203, 1),
    ]  # fmt: skip
    assert {one["event"] for one in found} == {f"broker {b} registers after an unclean stop" for b in range(3)}
    told = [line for line in lines(summary) if "VIOLATED" in line]
    assert told == ["  VIOLATED: KAFKA-19522: ELR: a last known leader that is not alive is elected."]


def test_what_is_no_proven_cause_is_said_to_be_none() -> None:
    """A defect that the log alone does not prove is named with `perhaps`, one that it proves without."""
    summary = replayed(TROUBLE / "decoded.txt")
    proven = {row["causes"][0]["finding"]: row["proven"] for row in summary.causes}
    assert proven == {"unfenced-before-settled": False, "unregistered-elr-member": True}
    assert any("unfenced-before-settled, perhaps: " in line for line in lines(summary))


def stragglers(rules: str) -> Log:
    """A reassignment that adds one replica and takes one out, while the replica that stays is fenced."""
    log = Log((0, 1), minimum=1, rules=parse(rules))
    log.decide(fenced, 1)
    log.reassign((1, 2))
    log.alter(0, 2)
    return log


def test_what_a_release_does_on_purpose_is_no_violation(tmp_path: Path) -> None:
    """Kafka 4.4.0 completes it without the replica that stays, deliberately: that is told, and no violation."""
    path = stragglers("kafka-4.4.0").write(tmp_path / "log.jsonl")
    summary = replayed(path, "kafka-4.4.0")
    assert summary.violations == []
    (row,) = summary.causes
    assert (row["deliberate"], [one["id"] for one in row["properties"]]) == (True, ["completes-in-sync"])
    assert any(line.startswith("  ON PURPOSE: completion-tolerates-stragglers: ") for line in lines(summary))


def test_a_purpose_hides_no_defect_beside_it(tmp_path: Path) -> None:
    """In the same log a defect is still a violation, and lasts to the end where nothing mends it."""
    log = stragglers("kafka-4.4.0")
    log.restart(1, clean=True)
    log.alter(*log.state()[0], 1)
    log.decide(fenced, 1)
    log.decide(fenced, 2)
    log.decide(unregistered, 2)
    summary = replayed(log.write(tmp_path / "log.jsonl"), "kafka-4.4.0")
    assert {violation.property for _, violation in summary.violations} == {"elr-registered"}
    (spell,) = spells(summary, finding="unregistered-elr-member")
    assert (spell["until"], spell["partitions"], spell["event"]) == (None, ["foo-0"], "unregister broker 2")
