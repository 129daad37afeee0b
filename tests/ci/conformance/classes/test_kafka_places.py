"""Where the newest release has the classes and methods that findings name, from its jars."""

import pytest

from kraftcheck.ci.conformance.kafka.jars import known_versions
from kraftcheck.ci.conformance.kafka.places import alike, named, place, since
from kraftcheck.properties.register.citations import ALIKE, PLACES


def test_places_are_those_of_the_newest_release() -> None:
    """Each class and method of a finding is listed by release, with the file and line that the jars say."""
    assert [(one, [*places]) for one, places in PLACES.items()] == [(one, [*names]) for one, names in named().items()]
    newest = known_versions()[-1]
    names = ("Partition.makeLeader", "PartitionChangeBuilder.build", "ReplicationControlManager.replay")
    found = {name: place(name, newest, named()[newest][name]) for name in names}
    assert found == {name: PLACES[newest][name] for name in found}


@pytest.mark.slow
def test_every_place_is_that_of_its_release() -> None:
    """All of the list is what the jars say of the newest release that has the finding."""
    found = {one: {name: place(name, one, of) for name, of in names.items()} for one, names in named().items()}
    assert found == PLACES
    assert alike() == ALIKE


def test_a_method_is_followed_to_where_it_was_changed() -> None:
    """A method is as in the newest release from that on which changed it last; one that is new, from itself."""
    newest = known_versions()[-1]
    assert since("BrokerHeartbeatTracker.hasValidSession", newest) == ALIKE["BrokerHeartbeatTracker.hasValidSession"]
    assert since("LogManager.recoverAbandonedFutureLogs", newest) == newest


@pytest.mark.parametrize("name", ["NoSuchManager", "PartitionChangeBuilder.guess"])
def test_what_a_release_lacks_is_told(name: str) -> None:
    """A class or method that the release does not have is an error that names it."""
    with pytest.raises(LookupError, match=name.rpartition(".")[2]):
        place(name, known_versions()[-1])
