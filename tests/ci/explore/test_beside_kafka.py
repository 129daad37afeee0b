"""`kraftcheck diff` with a build of Kafka as a side: its own managers are followed, and held against rules."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import kraftcheck as kc
from kraftcheck.ci.explore import two_sides
from kraftcheck.solvers.program.verdict import EXIT_SAFETY
from tests.shared.commands import kraftcheck

pytestmark = pytest.mark.xdist_group("kafka")

RELEASE = "kafka:4.4.0"
SYSTEM = ("directories", "--scope", "tiny", "--workers", "1", "--quiet")


def test_a_release_is_equal_to_its_rules() -> None:
    """In every state that the managers of 4.4.0 reach, each request is answered as its rule set says."""
    ran = kraftcheck("diff", "kafka-4.4.0", RELEASE, *SYSTEM, "--json", "-")
    told = ran.document()
    assert (ran.code, told["equal"], told["within"], told["first"]) == (0, True, [True, True], None)
    assert told["sides"][0]["states"]["levels"] == told["sides"][1]["states"]["levels"]
    assert told["sides"][1]["kafka"]["compared"] > 0


def test_a_release_is_not_other_rules(tmp_path: Path) -> None:
    """Beside rules without one of its defects, 4.4.0 breaks the promise that they keep, and the shortest run to its
    first other decision is drawn; on the other side of the comparison the promise is mended."""
    mended = "kafka-4.4.0-passes-share-one-base"
    ran = kraftcheck("diff", mended, RELEASE, *SYSTEM, "--json", tmp_path / "it.json", "--html", tmp_path / "it.html")
    told = json.loads((tmp_path / "it.json").read_text(encoding="utf-8"))
    assert ran.code == EXIT_SAFETY
    assert [one["id"] for one in told["properties"] if one["change"] == "broken"] == ["leader-directory-online"]
    assert (told["equal"], told["within"], told["first"]["side"]) == (False, [False, False], "B")
    assert [step["action"] for step in told["first"]["trace"]["steps"]][-1] == "unfence"
    assert {one["action"] for one in told["actions"] if one["b"].startswith("otherwise")} >= {"unfence", "assign"}
    assert "lanes" in (tmp_path / "it.html").read_text(encoding="utf-8")
    back = kc.diff(RELEASE, mended, "directories", scope="tiny", threads=1)
    kept = [one["id"] for one in back.document["properties"] if one["change"] == "mended"]
    assert kept == ["leader-directory-online"]


def test_a_release_is_held_against_rules_of_ones_own() -> None:
    """A changed system stands beside a build, and where it decides otherwise is the shortest run."""

    def nobody(cluster, offline, barred, counted, rules, rule):  # type: ignore[no-untyped-def]
        return rule(cluster, offline, barred, counted, rules).none()

    own = kc.kafka("directories", base="kafka-4.4.0").override("leader.unfenced", nobody)
    told = kc.diff(own, RELEASE, scope="tiny", threads=1).document
    assert len(told["first"]["trace"]["steps"]) == 3
    assert told["sides"][0]["changes"] == told["sides"][1]["changes"]


def test_a_build_that_cannot_be_compared_is_refused() -> None:
    """Two builds, a system without managers, and a path without classes are refused in a line."""
    assert "one side is a build of Kafka" in kraftcheck("diff", RELEASE, "kafka:4.3.1").refusal()
    assert "replication is not put to Kafka's managers" in kraftcheck("diff", "fixed", RELEASE, "replication").refusal()
    unknown = kraftcheck("diff", "fixed", "kafka:libs@4.4").refusal()
    assert unknown.startswith("no digests of Kafka 4.4, to complete libs;")
    assert "neither a version" in kraftcheck("diff", "fixed", "kafka:/nowhere").refusal()


def test_a_build_is_completed_by_the_release_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other side's release completes a build, unless the name of the build does, which may have an @ itself."""
    seen = []
    monkeypatch.setattr(two_sides.Build, "of", lambda text, like=None: seen.append((text, like)) or _stop())
    for build in (f"{tmp_path}", f"{tmp_path}@4.3.1", f"{tmp_path}@me/libs"):
        kraftcheck("diff", "kafka-4.4.0", f"kafka:{build}", *SYSTEM)
    assert seen == [(str(tmp_path), "4.4.0"), (str(tmp_path), "4.3.1"), (f"{tmp_path}@me/libs", "4.4.0")]
    with pytest.raises(kc.Refusal, match=r"^enough$"):
        kc.diff("kafka-4.4.0", f"kafka:{tmp_path}@4.2.1", "directories", scope="tiny", threads=1)
    assert seen[-1] == (str(tmp_path), "4.2.1")


def _stop() -> None:
    raise kc.Refusal("enough")
