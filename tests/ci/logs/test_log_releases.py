"""Which release a log is taken to be of, and what is said where its metadata version does not tell."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.ci.conformance.kafka.jars import SHORT_RUN, jars, known_versions, program
from kraftcheck.ci.logs.releases import HIGHEST, NEWEST_LEVELS, line_of, rules_of
from kraftcheck.model.rules.ruleset import RELEASES
from tests.shared.captures import ELR, batches, json_lines, replay_log, with_data
from tests.shared.commands import kraftcheck

NEWEST = known_versions()[-1]

LEVEL_OF_RELEASE = """
import org.apache.kafka.server.common.MetadataVersion;
class Level {
    public static void main(String[] a) { System.out.print(MetadataVersion.latestProduction().featureLevel()); }
}
"""


@pytest.mark.xdist_group("kafka")
@pytest.mark.parametrize(
    "version", [pytest.param(v, marks=() if v == NEWEST else pytest.mark.slow) for v in known_versions()]
)
def test_the_newest_level_of_a_release_is_that_of_its_classes(tmp_path: Path, version: str) -> None:
    """The table of levels says what `MetadataVersion` of each release says is its latest in production."""
    source = tmp_path / "Level.java"
    source.write_text(LEVEL_OF_RELEASE, encoding="utf-8")
    command = [program("java"), *SHORT_RUN, "-cp", jars(version), str(source)]
    level = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert int(level) == NEWEST_LEVELS[version]


def test_every_release_with_a_preset_has_a_level_and_the_other_way_round() -> None:
    """No preset of a release is left out of the choice by metadata version, and none is chosen that there is not."""
    assert {f"kafka-{release}" for release in NEWEST_LEVELS} == RELEASES.keys()
    assert list(NEWEST_LEVELS.values()) == sorted(NEWEST_LEVELS.values())


@pytest.mark.parametrize(
    ("level", "preset"),
    [
        (21, "3.9.2"), (22, "4.0.2"), (25, "4.0.2"), (26, "4.1.2"), (27, "4.1.2"), (28, "4.2.2"),
        (29, "4.2.2"), (30, "4.3.1"), (31, "4.4.0"), (33, "4.4.0"), (34, "4.4.0"), (None, "4.4.0"),
    ],
)  # fmt: skip
def test_the_oldest_line_that_supports_a_level_is_taken(level: int | None, preset: str) -> None:
    """Each level to the newest, one beyond it, and none: the newest release of the line that brought it."""
    assert line_of(level).preset == f"kafka-{preset}"
    assert rules_of(level) == RELEASES[f"kafka-{preset}"]


@pytest.mark.parametrize(
    ("level", "notes"),
    [
        (33, []),
        (30, ["metadata version 30 is of Kafka 4.3.0 or 4.3.1, which do not differ in any rule"]),
        (27, ["metadata version 27 is of Kafka 4.1.0 or 4.1.1 or 4.1.2, which differ in "
              "last-known-leader-on-leader-loss; taken as 4.1.2, unless --rules"]),
        (34, [f"WARNING: metadata version 34 is not known, the newest that is known is {HIGHEST}; "
              "taken as of Kafka 4.4.0"]),
        (None, ["WARNING: the log names no metadata version; taken as of Kafka 4.4.0, the newest that is known"]),
    ],
)  # fmt: skip
def test_what_a_level_leaves_open_is_said(level: int | None, notes: list[str]) -> None:
    """Several releases, an unknown level and no level are said; one release needs no words."""
    assert line_of(level).notes() == notes


def with_controller_of(level: int) -> list[Any]:
    """The log of 4.1.0, with a controller that registers with another newest metadata version."""
    changed = []
    for batch in batches(ELR):
        for index, entry in enumerate(batch.entries):
            if entry.type == "REGISTER_CONTROLLER_RECORD":
                text = json.dumps(entry.data).replace('"maxSupportedVersion": 27', f'"maxSupportedVersion": {level}')
                batch = with_data(batch, index, json.loads(text))
        changed.append(batch)
    return changed


def test_a_controller_that_registers_tells_its_release(tmp_path: Path) -> None:
    """A cluster at an older level than its controller supports is judged by the controller's release, and says so."""
    *_, last = replay_log(with_controller_of(33), rules_of)
    assert last.rules == RELEASES["kafka-4.4.0"]
    path = tmp_path / "log.jsonl"
    path.write_text(json_lines(with_controller_of(34)), encoding="utf-8")
    out = kraftcheck("replay", path).out
    assert "rules kafka-4.4.0 (metadata version 27)" in out
    assert "WARNING: metadata version 34 is not known" in out
