"""Other names for brokers and directories, so that what is known of one situation is known of all of its shape.

Rules ask whether two brokers, or two directories, are the same, and which
comes first: ELRs are sorted by broker, and the directories of a registration
by `directory_order`. They know the id -1, which is no broker, and the reserved
directory ids. What else an id is nobody asks. So brokers may be called 0, 1,
.. in the order of their ids, and the directories of each broker by its number
and their place among its own; answers are given with those names, and told
with the ids behind them.

Ids that make no sense are not renamed: a broker below -1, a directory of two
brokers, a reserved one that is registered, directories that are not one a replica.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import chain
from typing import Any

from attrs import evolve, frozen

from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.language.words import NO_LEADER, present
from kraftcheck.model.partition.directories import Directories, DirectoryList, is_reserved
from kraftcheck.model.partition.registration import Partition, PartitionChange
from kraftcheck.model.records.brokers import Registration, directory_order
from kraftcheck.model.records.records import (
    BrokerRegistrationChangeRecord,
    Ids,
    PartitionChangeRecord,
    RegisterBrokerRecord,
    ids,
)
from kraftcheck.solvers.logs.explain.guess import Words
from kraftcheck.solvers.logs.explain.guesses import BrokerRecord

Known = Mapping[int, Registration | None]
"""Registrations by broker, None where there is none."""

Form = tuple[object, ...]
"""Something with other names, as plain values that can be looked up."""


class _Brokers(dict[int, int]):
    """Brokers by their other names; -1 is no broker."""

    def __missing__(self, broker: int) -> int:
        if broker == NO_LEADER:
            return broker
        raise KeyError(broker)


class _Directories(dict[int, int]):
    """Directories by their other names; reserved ids stay."""

    def __missing__(self, directory: int) -> int:
        if is_reserved(directory):
            return directory
        raise KeyError(directory)


class _Same(dict[int, int]):
    """Names that stay."""

    def __missing__(self, name: int) -> int:
        return name


@frozen
class Renaming:
    """Names that are exchanged for others.

    Attributes:
        brokers, directories: the other name of each; a KeyError for one that has none.
    """

    brokers: Mapping[int, int]
    directories: Mapping[int, int]

    def some(self, brokers: Iterable[int]) -> Ids:
        """Brokers in the order given."""
        return tuple([self.brokers[broker] for broker in brokers])

    def placed(self, directories: Iterable[int]) -> Ids:
        """Directories in the order given."""
        return tuple([self.directories[directory] for directory in directories])

    def words(self, words: Words) -> Words:
        """A text with other brokers."""
        return tuple(
            word if isinstance(word, str) else self.brokers[word] if isinstance(word, int) else self.some(word)
            for word in words
        )

    def partition(self, p: Partition) -> Partition:
        """A partition whose directories are a list."""
        lists: dict[str, Any] = {name: self._list(getattr(p, name)) for name in _LISTS}
        return evolve(p, directories=self._placed(p.directories), leader=self.brokers[int(p.leader)], **lists)

    def _list(self, brokers: object) -> IdList:
        assert isinstance(brokers, IdList)
        return IdList(self.some(brokers.ids))

    def _placed(self, given: Directories) -> DirectoryList:
        listed = _listed(given)
        return DirectoryList(self.some(listed.replicas), self.placed(listed.ids))

    def registration(self, known: Registration | None) -> Registration | None:
        """A registration."""
        return None if known is None else evolve(known, id=self.brokers[known.id], dirs=self.placed(known.dirs))

    def registrations(self, known: Known) -> Known:
        """Registrations by broker."""
        return {self.brokers[broker]: self.registration(found) for broker, found in known.items()}

    def change(self, record: PartitionChangeRecord) -> PartitionChangeRecord:
        """A change of a partition; fields that are absent stay."""
        change = record.change
        given: dict[str, Any] = {}
        for name in _LISTS:
            maybe = getattr(change, name)
            if maybe.present:
                given[name] = present(self._list(maybe.value))
        if change.leader.present:
            given["leader"] = present(self.brokers[int(change.leader.value)])
        if change.directories.present:
            given["directories"] = present(self._placed(change.directories.value))
        return evolve(record, change=evolve(change, **given))

    def record(self, record: BrokerRecord) -> BrokerRecord:
        """A record of a broker."""
        named = evolve(record, broker_id=self.brokers[record.broker_id])
        if isinstance(named, RegisterBrokerRecord | BrokerRegistrationChangeRecord) and named.log_dirs is not None:
            return evolve(named, log_dirs=self.placed(named.log_dirs))
        return named

    def form_of_change(self, change: PartitionChange) -> Form:
        """A change of a partition as plain values, None for what is absent."""
        leader, placed, recovering = change.leader, change.directories, change.recovering
        return (
            self.brokers[int(leader.value)] if leader.present else None,
            *[self.some(found.value.ids) if (found := getattr(change, name)).present else None for name in _LISTS],
            self.placed(_listed(placed.value).ids) if placed.present else None,
            bool(recovering.value) if recovering.present else None,
        )

    def form_of_registration(self, known: Registration | None) -> Form | None:
        """A plain registration as plain values."""
        return None if known is None else (
            self.brokers[known.id], known.fenced, known.in_controlled_shutdown, known.is_migrating_zk_broker,
            self.placed(known.dirs), known.no_dir_left,
        )  # fmt: skip


_UNCHANGED = Renaming(_Same(), _Same())

_LISTS = ("replicas", "isr", "elr", "last_known_elr", "removing", "adding")


@frozen(cache_hash=True)
class Names:
    """What the brokers of a shape, and their directories, are called in one situation.

    Attributes:
        brokers: their ids; where they are renamed in order, and the k-th is called k.
        directories: of each broker its own, in their order; where they are not renamed none.
        renamed: whether anything is.
    """

    brokers: Ids
    directories: tuple[Ids, ...]
    renamed: bool

    @cached_property
    def to(self) -> Renaming:
        """From ids to the shape's names."""
        if not self.renamed:
            return _UNCHANGED
        return Renaming(_Brokers((b, k) for k, b in enumerate(self.brokers)), _Directories(self._placed()))

    @cached_property
    def back(self) -> Renaming:
        """From the shape's names to ids."""
        if not self.renamed:
            return _UNCHANGED
        return Renaming(_Brokers(enumerate(self.brokers)), _Directories((d, own) for own, d in self._placed()))

    def _placed(self) -> list[tuple[int, int]]:
        return [(d, plain_directory(k, j)) for k, own in enumerate(self.directories) for j, d in enumerate(own)]

    def cover(self, broker: int, *registered: Registration | None) -> bool:
        """Whether a broker and all directories of these registrations of it have names."""
        if not self.renamed:
            return True
        if broker not in self.to.brokers:
            return False
        own = self.directories[self.to.brokers[broker]]
        return all(directory in own for known in registered if known is not None for directory in known.dirs)

    def place(self, p: Partition, change: PartitionChange) -> bool:
        """Whether the directories of a change have names; the partition is the shape's."""
        told = change.directories
        if not (told.present and self.renamed):
            return True
        placed = _listed(told.value).ids
        replicas = self.to.some(ids(change.replicas.value)) if change.replicas.present else ids(p.replicas)
        pairs = zip(replicas, placed, strict=False)
        named = (is_reserved(d) or (k >= 0 and d in self.directories[k]) for k, d in pairs)
        return len(placed) == len(replicas) and all(named)

    def plain(self) -> Names:
        """What the shape's own names are called where nothing is behind them."""
        places = range(len(self.brokers))
        placed = tuple(tuple(plain_directory(k, j) for j in range(len(own))) for k, own in enumerate(self.directories))
        return Names(tuple(places), placed, self.renamed)


def _listed(directories: Directories) -> DirectoryList:
    """Directories of a log, which are always a list."""
    assert isinstance(directories, DirectoryList)
    return directories


def plain_directory(broker: int, place: int) -> int:
    """What a directory is called: by its broker's number and its place among the broker's directories."""
    return (broker + 1 << 64) + place


def names_of(
    p: Partition, registered: Iterable[tuple[int, Registration | None]], change: PartitionChange | None = None
) -> Names:
    """The names in a partition, in registrations of its brokers and of others, and in a change.

    Ids that make no sense are not renamed.
    """
    own: dict[int, set[int]] = {}
    for broker, known in registered:
        own.setdefault(broker, set()).update(() if known is None else known.dirs)
    sensible = all(broker > NO_LEADER for broker in own) and not any(map(is_reserved, chain(*own.values())))
    replicas = ids(p.replicas)
    held = _listed(p.directories)
    lists = [(replicas, held.ids)]
    if change is not None and change.directories.present:
        now = ids(change.replicas.value) if change.replicas.present else replicas
        lists.append((now, _listed(change.directories.value).ids))
    for brokers, listed in lists:
        sensible = sensible and len(set(brokers)) == len(brokers) == len(listed) and set(brokers) <= own.keys()
        for broker, directory in zip(brokers, listed, strict=False):
            own.setdefault(broker, set()).update(() if is_reserved(directory) else (directory,))
    ordered = tuple(sorted(own))
    distinct = len(set(chain(*own.values()))) == sum(map(len, own.values()))
    if not (sensible and distinct and held.replicas == replicas):
        return Names(ordered, (), False)
    return Names(ordered, tuple(tuple(sorted(own[b], key=directory_order)) for b in ordered), True)


__all__ = ["Form", "Known", "Names", "Renaming", "names_of", "plain_directory"]
