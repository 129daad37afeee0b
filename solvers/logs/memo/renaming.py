"""Canonical names for brokers and directories, so that all situations of one shape share memoised results.

Rules ask whether two brokers, or two directories, are the same, and which
comes first: reassignments sort brokers, and the directories of a registration
have their `directory_order`. They know the id -1, which is no broker, and the
reserved directory ids. With ELR on, they also list an ELR as Kafka's hash set
does. Nothing else about an id matters. So brokers get numbers in the order of
their ids (see `numbering`), and the directories of each broker are called by
its number and their place among its own. Results are computed with those names,
and translated back to the ids.

Ids are not renamed where they make no sense (a broker below -1, a directory of
two brokers, a reserved one that is registered, directories that are not one a
replica), and where their order in the hash set is not sure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import chain
from typing import Any

from attrs import evolve, field, frozen

from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.language.words import NO_LEADER, present
from kraftcheck.model.partition.registration import Directories, DirectoryList, Partition, PartitionChange, is_reserved
from kraftcheck.model.records.records import (
    BrokerRegistrationChangeRecord,
    Ids,
    PartitionChangeRecord,
    RegisterBrokerRecord,
    Registration,
    directory_order,
    ids,
)
from kraftcheck.solvers.logs.explain.broker_guesses import BrokerRecord
from kraftcheck.solvers.logs.explain.guess import Words
from kraftcheck.solvers.logs.memo.numbering import numbers_of

Registrations = Mapping[int, Registration | None]
"""Registrations by broker, None where there is none."""

Form = tuple[object, ...]
"""A renamed change, event or registration as plain, hashable values: a key of the memo."""


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


class _Identity(dict[int, int]):
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

    def broker_ids(self, brokers: Iterable[int]) -> Ids:
        """Brokers in the order given."""
        return tuple([self.brokers[broker] for broker in brokers])

    def directory_ids(self, directories: Iterable[int]) -> Ids:
        """Directories in the order given."""
        return tuple([self.directories[directory] for directory in directories])

    def words(self, words: Words) -> Words:
        """A text with other brokers."""
        return tuple(
            word if isinstance(word, str) else self.brokers[word] if isinstance(word, int) else self.broker_ids(word)
            for word in words
        )

    def partition(self, p: Partition) -> Partition:
        """A partition whose directories are a list."""
        lists: dict[str, Any] = {name: self._list(getattr(p, name)) for name in _LISTS}
        return evolve(
            p, directories=self._renamed_directories(p.directories), leader=self.brokers[int(p.leader)], **lists
        )

    def _list(self, brokers: object) -> IdList:
        assert isinstance(brokers, IdList)
        return IdList(self.broker_ids(brokers.ids))

    def _renamed_directories(self, directories: Directories) -> DirectoryList:
        directory_list = _directory_list(directories)
        return DirectoryList(self.broker_ids(directory_list.replicas), self.directory_ids(directory_list.ids))

    def registration(self, registration: Registration | None) -> Registration | None:
        """A registration."""
        return (
            None
            if registration is None
            else evolve(registration, id=self.brokers[registration.id], dirs=self.directory_ids(registration.dirs))
        )

    def registrations(self, registrations: Registrations) -> Registrations:
        """Registrations by broker."""
        return {self.brokers[broker]: self.registration(registration) for broker, registration in registrations.items()}

    def change(self, record: PartitionChangeRecord) -> PartitionChangeRecord:
        """A change of a partition; fields that are absent stay."""
        change = record.change
        values: dict[str, Any] = {}
        for name in _LISTS:
            maybe = getattr(change, name)
            if maybe.present:
                values[name] = present(self._list(maybe.value))
        if change.leader.present:
            values["leader"] = present(self.brokers[int(change.leader.value)])
        if change.directories.present:
            values["directories"] = present(self._renamed_directories(change.directories.value))
        return evolve(record, change=evolve(change, **values))

    def record(self, record: BrokerRecord) -> BrokerRecord:
        """A record of a broker."""
        renamed = evolve(record, broker_id=self.brokers[record.broker_id])
        if isinstance(renamed, RegisterBrokerRecord | BrokerRegistrationChangeRecord) and renamed.log_dirs is not None:
            return evolve(renamed, log_dirs=self.directory_ids(renamed.log_dirs))
        return renamed

    def form_of_change(self, change: PartitionChange) -> Form:
        """A change of a partition as plain values, None for what is absent."""
        leader, directories, recovering = change.leader, change.directories, change.recovering
        return (
            self.brokers[int(leader.value)] if leader.present else None,
            *[
                self.broker_ids(brokers.value.ids) if (brokers := getattr(change, name)).present else None
                for name in _LISTS
            ],
            self.directory_ids(_directory_list(directories.value).ids) if directories.present else None,
            bool(recovering.value) if recovering.present else None,
        )

    def form_of_registration(self, registration: Registration | None) -> Form | None:
        """A plain registration as plain values."""
        return None if registration is None else (
            self.brokers[registration.id], registration.fenced, registration.in_controlled_shutdown,
            registration.is_migrating_zk_broker, self.directory_ids(registration.dirs), registration.no_dir_left,
        )  # fmt: skip


_IDENTITY = Renaming(_Identity(), _Identity())

_LISTS = ("replicas", "isr", "elr", "last_known_elr", "removing", "adding")


@frozen(cache_hash=True)
class ShapeNames:
    """What the brokers of a shape, and their directories, are called in one situation.

    Attributes:
        brokers: their ids; where they are renamed in order.
        directories: of each broker its own, in their order; where they are not renamed none.
        renamed: whether anything is.
        numbers: what the brokers are called; by default 0, 1, ..
    """

    brokers: Ids
    directories: tuple[Ids, ...]
    renamed: bool
    numbers: Ids = field()

    @numbers.default
    def _places(self) -> Ids:
        return tuple(range(len(self.brokers)))

    @cached_property
    def to_shape(self) -> Renaming:
        """From ids to the shape's names."""
        if not self.renamed:
            return _IDENTITY
        pairs = zip(self.brokers, self.numbers, strict=True)
        return Renaming(_Brokers(pairs), _Directories(self._directory_pairs()))

    @cached_property
    def to_ids(self) -> Renaming:
        """From the shape's names to ids."""
        if not self.renamed:
            return _IDENTITY
        pairs = zip(self.numbers, self.brokers, strict=True)
        return Renaming(_Brokers(pairs), _Directories((d, own) for own, d in self._directory_pairs()))

    @cached_property
    def _own(self) -> Mapping[int, Ids]:
        """The directories of each broker, by its number."""
        return dict(zip(self.numbers, self.directories, strict=True))

    def _directory_pairs(self) -> list[tuple[int, int]]:
        return [(d, canonical_directory(k, j)) for k, own in self._own.items() for j, d in enumerate(own)]

    def has_broker(self, broker: int, *registered: Registration | None) -> bool:
        """Whether a broker and all directories of these registrations of it have names."""
        if not self.renamed:
            return True
        if broker not in self.to_shape.brokers:
            return False
        directories = self._own[self.to_shape.brokers[broker]]
        return all(
            directory in directories
            for registration in registered
            if registration is not None
            for directory in registration.dirs
        )

    def has_directories(self, p: Partition, change: PartitionChange) -> bool:
        """Whether the directories of a change have names; the partition is the shape's."""
        maybe = change.directories
        if not (maybe.present and self.renamed):
            return True
        directories = _directory_list(maybe.value).ids
        replicas = self.to_shape.broker_ids(ids(change.replicas.value)) if change.replicas.present else ids(p.replicas)
        pairs = zip(replicas, directories, strict=False)
        known_names = (is_reserved(d) or (k >= 0 and d in self._own[k]) for k, d in pairs)
        return len(directories) == len(replicas) and all(known_names)

    def canonical(self) -> ShapeNames:
        """The names of the shape itself: each canonical name stands for itself."""
        directories = tuple(
            tuple(canonical_directory(k, j) for j in range(len(own))) for k, own in self._own.items()
        )
        return ShapeNames(self.numbers, directories, self.renamed, self.numbers)


def _directory_list(directories: Directories) -> DirectoryList:
    """Directories of a log, which are always a list."""
    assert isinstance(directories, DirectoryList)
    return directories


def canonical_directory(broker: int, place: int) -> int:
    """What a directory is called: by its broker's number and its place among the broker's directories."""
    return (broker + 1 << 64) + place


def names_of(
    p: Partition, registered: Iterable[tuple[int, Registration | None]], change: PartitionChange | None = None,
    elr_enabled: bool = True,
) -> ShapeNames:  # fmt: skip
    """The names in a partition, in registrations of its brokers and of others, and in a change.

    Ids that make no sense are not renamed.
    """
    directories: dict[int, set[int]] = {}
    for broker, registration in registered:
        directories.setdefault(broker, set()).update(() if registration is None else registration.dirs)
    is_sound = all(broker > NO_LEADER for broker in directories) and not any(
        map(is_reserved, chain(*directories.values()))
    )
    replicas = ids(p.replicas)
    assigned = _directory_list(p.directories)
    lists = [(replicas, assigned.ids)]
    if change is not None and change.directories.present:
        replicas_after = ids(change.replicas.value) if change.replicas.present else replicas
        lists.append((replicas_after, _directory_list(change.directories.value).ids))
    for brokers, directory_list in lists:
        is_sound = (
            is_sound and len(set(brokers)) == len(brokers) == len(directory_list) and set(brokers) <= directories.keys()
        )
        for broker, directory in zip(brokers, directory_list, strict=False):
            directories.setdefault(broker, set()).update(() if is_reserved(directory) else (directory,))
    ordered = tuple(sorted(directories))
    distinct = len(set(chain(*directories.values()))) == sum(map(len, directories.values()))
    numbers = numbers_of(ordered, elr_enabled)
    is_sound = is_sound and not (elr_enabled and NO_LEADER in (*ids(p.isr), *ids(p.elr)))
    if numbers is None or not (is_sound and distinct and assigned.replicas == replicas):
        return ShapeNames(ordered, (), False)
    own = tuple(tuple(sorted(directories[b], key=directory_order)) for b in ordered)
    return ShapeNames(ordered, own, True, numbers)


__all__ = ["Form", "Registrations", "Renaming", "ShapeNames", "canonical_directory", "names_of"]
