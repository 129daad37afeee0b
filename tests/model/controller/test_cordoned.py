"""Cordoned directories in heartbeats: when the registration changes, and in which order the records are."""

from __future__ import annotations

import pytest
from attrs import evolve

from kraftcheck.model.controller.brokers import heartbeat
from kraftcheck.model.controller.state import Controller
from kraftcheck.model.records.records import BrokerRegistrationChangeRecord, Ids
from tests.model.controller.controllers import KAFKA, beat, cluster, directory, play

ONE, OTHER = directory(0), directory(1)


@pytest.mark.parametrize(
    ("on_file", "named", "written"),
    [
        (None, None, None),
        (None, (), ()),
        (None, (ONE,), (ONE,)),
        ((), (), None),
        ((ONE, OTHER), (OTHER, ONE), None),
        ((ONE,), None, None),
        ((ONE,), (), ()),
        ((ONE,), (OTHER,), (OTHER,)),
    ],
)
def test_the_registration_changes_when_others_are_named(
    on_file: Ids | None, named: Ids | None, written: Ids | None
) -> None:
    """Another set than is on file is written as it was named; the same set, or none named, writes nothing."""
    controller = cluster(2)
    if on_file is not None:
        controller = play(controller, heartbeat(controller, evolve(beat(0), cordoned_dirs=on_file), KAFKA))
    assert registered(controller) == on_file
    outcome = heartbeat(controller, evolve(beat(0), cordoned_dirs=named), KAFKA)
    expected = () if written is None else (BrokerRegistrationChangeRecord(0, 100, cordoned=written),)
    assert outcome.records == expected
    assert registered(play(controller, outcome)) == (on_file if written is None else written)


def registered(controller: Controller) -> Ids | None:
    """The cordoned directories on file of broker 0."""
    registration = controller.registration(0)
    assert registration is not None
    return registration.cordoned


def test_what_is_cordoned_comes_last() -> None:
    """A heartbeat that unfences its broker and names cordoned directories writes the unfencing first."""
    controller = cluster(2, fenced=(0,))
    records = heartbeat(controller, evolve(beat(0), cordoned_dirs=()), KAFKA).records
    assert [r for r in records if isinstance(r, BrokerRegistrationChangeRecord)] == [
        BrokerRegistrationChangeRecord(0, 100, fenced=-1), BrokerRegistrationChangeRecord(0, 100, cordoned=())
    ]  # fmt: skip
    assert records[-1] == BrokerRegistrationChangeRecord(0, 100, cordoned=())


def test_older_metadata_has_no_cordoned_directories() -> None:
    """Below the metadata version that has them, a heartbeat that names some changes nothing."""
    controller = cluster(2, cordoning=False)
    assert heartbeat(controller, evolve(beat(0), cordoned_dirs=(ONE,)), KAFKA).records == ()
