"""Logs of Kafka 3.0 to 3.8: captured ones are explained whole, by the choices of their release and by no fewer."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.ci.logs.format.read import find
from kraftcheck.ci.logs.report import ReplayOptions, Summary
from kraftcheck.solvers.logs.explain.state import ELR_FEATURE
from tests.shared.captures import CAPTURED, OLDER, batches
from tests.shared.places import ROOT

SHRINKS, UNCLEAN = "unwritten-shrink-raises-epoch", "unclean-election-unconfigurable"

NEEDED = {
    "3.3.2": {"topic-configs-written-first", SHRINKS, UNCLEAN}, "3.5.2": {SHRINKS, UNCLEAN}, "3.6.2": {UNCLEAN},
    "3.7.2": {UNCLEAN}, "3.8.1": {UNCLEAN},
}  # fmt: skip
"""Releases with a captured log, and the choices of the release without which it is not explained."""

LEVEL = {"name": "metadata.version", "featureLevel": 11}
LEADER = {"leaderId": 1}


def replayed(place: Path, rules: str | None = None) -> Summary:
    """The replay of one log."""
    (log,) = find((place,))
    return ReplayOptions(rules).replay(log, detailed=False)


@pytest.mark.parametrize("folder", OLDER, ids=lambda folder: folder.name)
def test_a_captured_log_is_explained_whole(folder: Path) -> None:
    """Each is explained by the rules that are taken unasked; a log of 3.0 to 3.8 is not by those of 3.9.2."""
    summary = replayed(folder)
    assert (summary.unexplained, summary.unreplayed) == ([], 0)
    assert summary.batches > 60
    if folder.name < "kafka-3.9":
        assert summary.notes[0].startswith(f"the writer is Kafka {folder.name[6:9]}, ")
        assert replayed(folder, "kafka-3.9.2").unexplained


def test_the_page_says_which_logs_have_elr() -> None:
    """Logs with ELR on, off, switched on, and off and on again, are those that the page on captured logs names."""
    levels: dict[str, list[int]] = {folder.name: [] for folder in CAPTURED.iterdir() if folder.is_dir()}
    for folder in levels:
        for entry in (entry for batch in batches(CAPTURED / folder) for entry in batch.entries):
            if entry.type == "FEATURE_LEVEL_RECORD" and (entry.data or {})["name"] == ELR_FEATURE:
                levels[folder].append((entry.data or {})["featureLevel"])
    page = (ROOT / "docs" / "reference" / "captured-logs.md").read_text(encoding="utf-8")
    told = page.partition("ELR exists since 4.0.")[2].partition("\n\n")[0]
    named = [{*re.findall(r"`([\w.-]+)`", part)} for part in told.split(";")]
    whole = [name for name, found in levels.items() if found == [1] and name != "trouble"]
    off = [name for name, found in levels.items() if not found and not name.startswith("kafka-3")]
    switched = [name for name, found in levels.items() if found == [1, 0, 1]]
    assert named == [{*whole}, {*off}, {"trouble"}, {*switched}]


@pytest.mark.parametrize("release", NEEDED)
def test_a_captured_log_shows_some_choices_of_its_release(release: str) -> None:
    """Without these, and only without these, some batch of the log is not explained."""
    (folder,) = (one for one in OLDER if one.name == f"kafka-{release}")
    rules = (replayed(folder).rules or "").partition(" ")[0]
    choices = rules.split("+")[1:]
    assert {choice for choice in choices if replayed(folder, f"{rules}-{choice}").unexplained} == NEEDED[release]


def registered(offset: int, epoch: int, process: str, top: int | None) -> dict[str, Any]:
    """A broker registers, and supports metadata versions up to one, or names none."""
    ranges = [{"name": "metadata.version", "minSupportedVersion": 1, "maxSupportedVersion": top}] if top else []
    data = {"brokerId": 1, "incarnationId": process, "brokerEpoch": epoch, "endPoints": [], "features": ranges,
            "rack": None, "fenced": True}  # fmt: skip
    version = 1 if top else 0
    if top:
        data["inControlledShutdown"] = False
    return {"offset": offset, "type": "REGISTER_BROKER_RECORD", "version": version, "data": data}


def row(offset: int, kind: str, data: dict[str, Any], version: int = 0) -> dict[str, Any]:
    """A record of a log in lines of JSON; a new leader of the quorum writes a control record."""
    control = {"control": True} if kind == "LEADER_CHANGE" else {}
    return {"offset": offset, "type": kind, "version": version, "data": data, **control}


FIRST, SECOND = "P3UFsWoNR-erL9PK98YLsA", "5zoAlv-xEh9xRANKXt1Lbg"
UNVERSIONED = [
    row(0, "LEADER_CHANGE", LEADER), registered(1, 0, FIRST, None),
    row(2, "UNFENCE_BROKER_RECORD", {"id": 1, "epoch": 0}),
]  # fmt: skip
"""The first records of a log of Kafka 3.1."""


def upgraded(epoch: int, top: int) -> list[dict[str, Any]]:
    """A log of 3.5, in which a broker registers after two elections of the quorum."""
    return [
        row(0, "LEADER_CHANGE", LEADER), row(1, "FEATURE_LEVEL_RECORD", LEVEL), registered(2, 2, FIRST, 11),
        row(3, "LEADER_CHANGE", LEADER), row(4, "LEADER_CHANGE", LEADER), registered(5, epoch, SECOND, top),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "writer", "explained"),
    [
        (UNVERSIONED, "Kafka 3.0 to 3.2, most likely: no broker supports any metadata version", True),
        (upgraded(3, 11), "Kafka 3.5, most likely: no broker supports more than metadata version 11", True),
        (upgraded(5, 11), "Kafka 3.5, most likely", False),
        (upgraded(5, 20), "Kafka 3.8, most likely", True),
        (upgraded(3, 20), "Kafka 3.8, most likely", False),
    ],
)
def test_the_release_is_told_from_records_and_ranges(
    tmp_path: Path, rows: list[dict[str, Any]], writer: str, explained: bool
) -> None:
    """A broker's epoch is its record's offset from 3.6 on; a broker that comes back as a newer release is one."""
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    summary = replayed(path)
    assert writer in summary.notes[0]
    assert (summary.unexplained == []) == explained
