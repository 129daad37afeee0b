"""Log directory ids and where replicas live.

Ids are ints: in records the 128 bits of the UUID, in explored systems small
numbers from `FIRST_LOCAL` on. Source: KIP-858, `DirectoryId` (numbering of
the code; the KIP's own numbering is a codec matter, see `kraftcheck.model.records.codecs`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Protocol

from attrs import frozen

from kraftcheck.model.language.brokersets import Brokers
from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.language.rule import rule
from kraftcheck.model.language.symbolic import described
from kraftcheck.model.language.terms import Term, Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, concrete

MIGRATING = 0
"""Placed somewhere, not known where: the state during migration."""

UNASSIGNED = 1
"""Not placed yet."""

LOST = 2
"""In some directory that is offline."""

FIRST_LOCAL = 3
"""Explored systems number each broker's own directories from here."""

RESERVED = 100
"""Ids below this are never drawn for a directory."""


class DirectoryMismatch(ValueError):
    """Replicas and directories that do not correspond one to one."""


@rule("directory-id.first-hundred-reserved", source="KIP-858; semantics 6.1; DirectoryId.reserved",
      says="The first hundred directory ids are reserved.")  # fmt: skip
def is_reserved(directory: int) -> bool:
    """Whether an id is one of the first hundred.

    The code compares the low 64 bits as a signed number, so ids with a zero
    high half and a negative low half are reserved too.
    """
    high, low = directory >> 64, directory & (1 << 64) - 1
    return high == 0 and (low < RESERVED or low >= 1 << 63)


@rule("directory.online-when-registered", source="KIP-858; semantics 6.1; DirectoryId.isOnline",
      says="A directory is online when its broker's registration lists it, lists none at all, or the "
           "id says only that it is unknown.")  # fmt: skip
def is_online(directory: Word, registered: Truth, none_known: Truth, listed: Truth) -> Truth:
    """Whether a replica's directory counts as online.

    Args:
        directory: the replica's directory.
        registered: whether its broker is registered.
        none_known: whether the registration lists no directory at all, which
            means that the broker's version does not tell.
        listed: whether the registration lists this directory.

    Source: `DirectoryId.isOnline`, `BrokerRegistration.hasOnlineDir`.
    """
    unknown = any_of(directory == UNASSIGNED, directory == MIGRATING)
    return all_of(registered, any_of(unknown, all_of(directory != LOST, any_of(none_known, listed))))


class Directories(Protocol):
    """The directory of each replica of a partition."""

    def of(self, broker: Word) -> Word:
        """The directory of a replica."""

    def for_replicas(self, replicas: Brokers, wanted: Callable[[Word], Word]) -> Directories:
        """Directories of a new replica list, each asked of `wanted`."""

    def same(self, other: Directories) -> Truth:
        """Equality."""


@frozen
class DirectoryList:
    """Directories in the order of the replicas, as records keep them; concrete only.

    Attributes:
        replicas: the brokers.
        ids: their directories; records may disagree in length, `of` then raises.
    """

    concrete_only: ClassVar[bool] = True
    replicas: tuple[int, ...]
    ids: tuple[int, ...]

    def of(self, broker: Word) -> int:
        """The directory of a replica.

        Raises:
            DirectoryMismatch: for a broker that is not a replica.
        """
        if broker not in self.replicas:
            raise DirectoryMismatch(f"broker {broker} is not a replica")
        return self.ids[self.replicas.index(int(broker))]

    def for_replicas(self, replicas: Brokers, wanted: Callable[[Word], Word]) -> DirectoryList:
        """See `Directories.for_replicas`."""
        if not isinstance(replicas, IdList):
            raise TypeError("a directory list belongs to an ordered replica list")
        return DirectoryList(replicas.ids, tuple(int(wanted(b)) for b in replicas))

    def moved(self, broker: Word, directory: Word) -> DirectoryList:
        """The same with one replica in another directory."""
        pairs = zip(self.replicas, self.ids, strict=True)
        return DirectoryList(self.replicas, tuple(int(directory) if b == broker else old for b, old in pairs))

    def same(self, other: Directories) -> bool:
        """Equality of the id lists, as the records compare them."""
        return isinstance(other, DirectoryList) and self.ids == other.ids


@frozen
class DirectoryMap:
    """The directory of each broker 0..n-1; UNASSIGNED for brokers that are not replicas."""

    slots: tuple[Word, ...]

    def __str__(self) -> str:
        """As traces print it: `0:UNASSIGNED 1:dir0`."""
        return " ".join(f"{broker}:{local_name(concrete(slot))}" for broker, slot in enumerate(self.slots))

    def of(self, broker: Word) -> Word:
        """The directory of a replica; of another broker UNASSIGNED."""
        if not isinstance(broker, Term) and 0 <= broker < len(self.slots):
            return self.slots[broker]
        result: Word = UNASSIGNED
        for position, slot in enumerate(self.slots):
            result = choose(broker == position, slot, result)
        return result

    def for_replicas(self, replicas: Brokers, wanted: Callable[[Word], Word]) -> DirectoryMap:
        """See `Directories.for_replicas`."""
        return DirectoryMap(
            tuple(choose(replicas.has(b), wanted(b), UNASSIGNED) for b in range(len(self.slots)))
        )

    def moved(self, broker: Word, directory: Word) -> DirectoryMap:
        """The same with one replica in another directory."""
        return DirectoryMap(tuple(choose(broker == b, directory, old) for b, old in enumerate(self.slots)))

    def same(self, other: Directories) -> Truth:
        """Equality of every entry."""
        if not isinstance(other, DirectoryMap):
            raise TypeError(f"a directory map is compared with {described(other)}")
        return all_of(*(a == b for a, b in zip(self.slots, other.slots, strict=True)))


def local_name(directory: int) -> str:
    """A reserved id, or a broker's own directory of an explored system, in words.

    >>> local_name(LOST), local_name(FIRST_LOCAL + 1)
    ('LOST', 'dir1')
    """
    names = {MIGRATING: "MIGRATING", UNASSIGNED: "UNASSIGNED", LOST: "LOST"}
    return names.get(directory, f"dir{directory - FIRST_LOCAL}")


def assignment_map(replicas: Sequence[int], directories: Sequence[int]) -> dict[int, int]:
    """Replica to directory.

    Raises:
        DirectoryMismatch: when the lists differ in length or a replica repeats.

    Source: `DirectoryId.createAssignmentMap`.
    """
    if len(replicas) != len(directories):
        raise DirectoryMismatch(f"{len(replicas)} replicas but {len(directories)} directories")
    if len(set(replicas)) != len(replicas):
        raise DirectoryMismatch(f"a replica repeats in {list(replicas)}")
    return dict(zip(replicas, directories, strict=True))
