"""The system `images`: each report as the batch that it tells."""

from __future__ import annotations

from typing import Any

import pytest

from kraftcheck.model.language.system import Outcome
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.model.systems.images.state import Images
from kraftcheck.model.systems.images.system import IMAGES

MINE: tuple[str, dict[str, Any]] = ("create", {"mine": 1})
CLEAR: tuple[str, dict[str, Any]] = ("clear_elr", {"named": 0})


def walked(rules: str, *steps: str | tuple[str, dict[str, Any]], directories: bool = True) -> Images:
    """The state after some steps, from a version with directories or without."""
    setting = IMAGES.setting("tiny", rules=parse(rules))
    actions = {action.name: action for action in IMAGES.actions(setting)}
    state = IMAGES.initial(setting)[directories]
    for one in steps:
        name, arguments = (one, {}) if isinstance(one, str) else one
        assert actions[name].enabled(state, arguments), name
        done: Outcome = actions[name].outcome(state, arguments)
        state = done.state
    return state


@pytest.mark.parametrize(("rules", "back"), [("kafka-4.0.0", True), ("kafka-4.0.1", False), ("fixed", False)])
def test_a_cleared_elr_brings_no_deleted_topic_back(rules: str, back: bool) -> None:
    """KAFKA-19383: 4.0.0 takes the topic from the image, although the batch has deleted it; 4.0.1 does not."""
    named = ("clear_elr", {"named": 1})
    assert walked(rules, MINE, "publish", "delete", MINE, named, "publish").image[0].exists is back


@pytest.mark.parametrize(("rules", "fails"), [("kafka-4.1.2", True), ("kafka-4.2.0", False), ("fixed", False)])
def test_a_topic_that_comes_and_goes_in_a_batch_leaves_nothing(rules: str, fails: bool) -> None:
    """KAFKA-19497: to 4.1.2 it is still among the created ones, and clearing all ELRs fails."""
    assert walked(rules, MINE, "delete", CLEAR).failed is fails


@pytest.mark.parametrize(("rules", "kept"), [("kafka-4.4.0", True), ("fixed", False)])
def test_a_snapshot_removes_replicas_too(rules: str, kept: bool) -> None:
    """KAFKA-16892: the log of a replica that the snapshot has elsewhere is kept by every release."""
    assert walked(rules, MINE, "publish", "reassign", "load_snapshot").logs[0].held is kept
    assert walked(rules, MINE, "publish", "delete", "load_snapshot").logs[0].held is False


@pytest.mark.parametrize(("rules", "said"), [("fixed+merge-fills-unassigned", True), ("fixed", False)])
def test_an_old_version_names_no_directory(rules: str, said: bool) -> None:
    """KAFKA-16583: a change of replicas says UNASSIGNED only where the version can."""
    assert walked(rules, MINE, "reassign", "publish", directories=False).image[0].unassigned is said


@pytest.mark.parametrize(("rules", "held"), [
    ("fixed", [False, True]), ("fixed+stray-found-by-name", [True, False]),
])  # fmt: skip
def test_a_returning_broker_tells_logs_by_topic_id(rules: str, held: list[bool]) -> None:
    """KAFKA-14616: the log of the deleted topic goes, and that of the new one is made."""
    after = walked(rules, MINE, "publish", "stop", "delete", MINE, "start")
    assert [log.held for log in after.logs] == held


@pytest.mark.parametrize(("rules", "held"), [("fixed", True), ("fixed+offline-without-topic-id", False)])
def test_a_failed_disk_is_of_its_topic_alone(rules: str, held: bool) -> None:
    """KAFKA-16157: the replica of the next topic of that name gets a log on the disk that works."""
    assert walked(rules, MINE, "publish", "fail_disk", "delete", MINE, "publish").logs[1].held is held
