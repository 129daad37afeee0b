"""Where the newest release has the classes and methods that findings name, from its jars."""

from __future__ import annotations

import pytest

from kraftcheck.ci.conformance.kafka.jars import known_versions
from kraftcheck.ci.conformance.kafka.places import named, place
from kraftcheck.properties.register.citations import PLACES


def test_places_are_those_of_the_newest_release() -> None:
    """Each class and method of a finding is listed by release, with the file and line that the jars say."""
    assert {release: [*places] for release, places in PLACES.items()} == named()
    newest = known_versions()[-1]
    found = {name: place(name, newest) for name in ("Partition.makeLeader", "PartitionChangeBuilder.build")}
    assert found == {name: PLACES[newest][name] for name in found}


@pytest.mark.slow
def test_every_place_is_that_of_its_release() -> None:
    """All of the list is what the jars say of the newest release that has the finding."""
    assert {release: {name: place(name, release) for name in names} for release, names in named().items()} == PLACES


@pytest.mark.parametrize("name", ["NoSuchManager", "PartitionChangeBuilder.guess"])
def test_what_a_release_lacks_is_told(name: str) -> None:
    """A class or method that the release does not have is an error that names it."""
    with pytest.raises(LookupError, match=name.rpartition(".")[2]):
        place(name, known_versions()[-1])
