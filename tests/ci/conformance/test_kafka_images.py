"""`kraftcheck conform --kafka --tour images`: each step of a broker's image, on Kafka's own classes."""

import numpy as np
import pytest

from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.tour.images import OF_ELR, SILENT, ImageSpace, ImageTour, tour_of_images
from kraftcheck.ci.conformance.kafka.tour.report import TourRow
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.model.systems.images.system import IMAGES
from tests.shared.commands import kraftcheck

pytestmark = pytest.mark.xdist_group("kafka")

NEWEST = "4.4.0"

WITHOUT_PRESET = ("3.7.0", "3.9.2")  # a release whose classes are asked beside the rules of another, which completes it


def toured(build: Build, rules: str, topics: int = 1) -> TourRow:
    """The row of a tour with so many topics."""
    setting = IMAGES.setting("tiny", {"topics": topics}, rules=parse(rules))
    return tour_of_images(build, IMAGES, setting, 0, 0, lambda *progress: None)


def test_the_newest_release_agrees() -> None:
    """Every step of the scope `tiny` is taken on the classes of the newest release, and nothing differs."""
    ran = kraftcheck("conform", "--kafka", NEWEST, "--tour", "images", "--quiet", "--json", "-")
    (row,) = ran.document()["rows"]
    assert (ran.code, row["differing"], row["missed"], row["impossible"]) == (0, 0, [], 0), row["shown"]
    assert row["executed"] == row["asked"] == row["reachable"] - row["silent"] > 0
    assert row["steps"] == row["unbroken"] > 0
    assert {*row["actions"]} == {action.name for action in IMAGES.actions(IMAGES.setting("tiny"))} - {*SILENT}


@pytest.mark.parametrize("variant", [
    "+clear-elr-reads-old-image", "+deleted-topic-stays-created", "+clear-elr-unhandled", "+snapshot-keeps-deleted",
    "-snapshot-forgets-replicas", "-snapshot-drops-elr", "+merge-fills-unassigned", "+removed-replica-keeps-log",
])  # fmt: skip
def test_a_wrong_rule_is_noticed(variant: str) -> None:
    """Each choice about records and images that the newest release has not made, or has, differs from its classes."""
    row = toured(Build(NEWEST), f"kafka-{NEWEST}{variant}")
    assert row.differs
    assert all(cause.expected != cause.actual for cause in row.shown)


def test_drawn_paths_find_a_wrong_rule() -> None:
    """Of drawn paths each step is compared: they alone find a rule that differs, and say which path shows it."""
    setting = IMAGES.setting("tiny", {"topics": 1}, rules=parse(f"kafka-{NEWEST}+snapshot-keeps-deleted"))
    space, generator = ImageSpace.of(IMAGES, setting, ()), np.random.default_rng(0)
    tour = ImageTour(Build(NEWEST), space, 1, True)
    tour.walk([space.drawn(generator) for _ in range(20)], "FOLLOWS", 0, lambda *progress: None)
    assert {one.action for one in tour.differences.shown()} >= {"load_snapshot"}
    assert tour.unbroken < tour.steps
    assert all(cause.sequence[-1].startswith(cause.action) for cause in tour.differences.shown())


@pytest.mark.slow
@pytest.mark.parametrize(("release", "differs"), [
    ("4.0.0", True), ("4.0.1", True), ("4.0.2", True), ("4.1.0", True), ("4.1.1", True), ("4.1.2", True),
    ("4.2.0", False), ("4.2.1", False), ("4.2.2", False), ("4.3.0", False), ("4.3.1", False),
])  # fmt: skip
def test_a_release_agrees_with_its_own_rules(release: str, differs: bool) -> None:
    """The classes of a release answer as its rules do, and as those of the newest where these are the same."""
    row = toured(Build(release), f"kafka-{release}", topics=2)
    assert (row.differing, row.missed, row.executed > 0) == (0, (), True), row.shown
    assert toured(Build(release), f"kafka-{NEWEST}").differs == differs


@pytest.mark.slow
def test_what_a_release_has_no_records_for_is_said() -> None:
    """Before 4.0 the steps of ELR are not put, and said to be missing; the others agree."""
    row = toured(Build("3.9.2"), "kafka-3.9.2", topics=2)
    assert (row.differing, row.missed) == (0, tuple(sorted(OF_ELR)))
    assert 0 < row.executed == row.asked - row.impossible < row.asked


@pytest.mark.slow
def test_the_release_that_fills_directories() -> None:
    """3.7.0 leaves added replicas unassigned as the choice of KAFKA-16583 says, and refuses to write the image."""
    build, choice = Build.of(*WITHOUT_PRESET), "kafka-3.9.2+merge-fills-unassigned"
    assert toured(build, choice, topics=2).differing == 0
    differing = toured(build, "kafka-3.9.2")
    assert any("written" in cause.columns and cause.expected["written"] == 2 for cause in differing.shown)


def test_what_is_not_asked_is_refused() -> None:
    """A sample, and a choice about disks, are refused in one line."""
    asked = ("conform", "--kafka", NEWEST, "--tour", "images")
    assert kraftcheck(*asked, "--sample", "5").refusal() == "a tour of images takes every state; leave --sample out"
    assert kraftcheck(*asked, "--rules", f"kafka-{NEWEST}+stray-found-by-name").refusal() == (
        "stray-found-by-name is about disks, of which the classes of an image know nothing"
    )
