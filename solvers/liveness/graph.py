"""The transitions within a region of an explored space, in blocks that compiled code computes whenever asked for.

The states of a region have numbers from 0 in the order of their depth, so that most edges lead to higher numbers.
A step that changes nothing is no edge.
"""

from __future__ import annotations

import itertools
import mmap
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from kraftcheck.solvers.machine_code.compile import Kernel
from kraftcheck.solvers.machine_code.graph_kernels import NOT_KNOWN, OUTSIDE, OWNERS, RECENT
from kraftcheck.solvers.machine_code.objectcode import address
from kraftcheck.solvers.machine_code.search_kernel import SHARDS
from kraftcheck.solvers.program.verdict import PackedRun
from kraftcheck.solvers.search.visited import NO_PARENT, VisitedSet

Truths = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]

MOST_STATES = 4096  # most states of a block
MOST_EDGES = 1 << 18  # most edges of a block, unless one state has more
APPRAISED = 1 << 16  # states whose truths are computed at once


@frozen
class Block:
    """The edges of consecutive states of a region; a thread's next block may overwrite them."""

    first: int  # number of the first state
    starts: npt.NDArray[np.uint32]  # for each state the place of its first edge, and last the number of edges
    targets: npt.NDArray[np.uint32]  # the state that each edge leads to; `OUTSIDE` of the region
    instances: npt.NDArray[np.uint16]  # the action instance of each edge
    # for each state the kinds of action of which a domain cut a step there, see `graph_kernels.kind_bit`
    cuts: npt.NDArray[np.uint64]

    @property
    def states(self) -> slice:
        """The numbers of its states."""
        return slice(self.first, self.first + len(self.cuts))

    def owners(self) -> Numbers:
        """The state that each edge leaves."""
        return np.repeat(np.arange(self.states.start, self.states.stop), np.diff(self.starts))


class Edges(Protocol):
    """The edges of a region."""

    @property
    def count(self) -> int:
        """Number of states."""

    @property
    def levels(self) -> Sequence[int]:
        """For each depth the number of the first state that is not nearer."""

    @property
    def blocks(self) -> Sequence[int]:
        """The first state of each block, ascending."""

    def block(self, thread: int, number: int, wanted: Truths, *, inner: bool = True) -> Block:
        """A block by its number, for the use of one thread.

        Args:
            wanted: the states whose edges are asked for; the others have none.
            inner: leave out edges that leave the region.
        """

    def narrowed(self, states: Truths) -> Edges:
        """The region of some of its states, in the same order; one of the two is used at a time."""

    def enter(self) -> None:
        """Use this region from now on."""


class Region(Edges, Protocol):
    """The edges among some states of a space."""

    @property
    def nbytes(self) -> int:
        """Bytes that it takes, those of the space with it."""

    def identities(self, first: int, last: int) -> npt.NDArray[Any]:
        """The names, in the store of the space, of some consecutive states, while the region is used."""


class RunStore(Protocol):
    """A store of how each state was reached."""

    def run_to(self, number: int, /) -> PackedRun:
        """How a state is reached, by its name."""


class Space(Protocol):
    """The visited states; see `ExploredSpace`."""

    places: npt.NDArray[np.uint32]

    @property
    def store(self) -> RunStore:
        """The runs to states."""

    @property
    def count(self) -> int:
        """Number of states."""

    def truths(self, words: int) -> Iterator[tuple[slice, npt.NDArray[np.uint64]]]:
        """The truths of all states, a part of the states at a time."""

    def initial(self, states: slice) -> Truths:
        """Which of some states are initial."""

    def region(self, states: Truths, threads: int) -> Region:
        """The edges among some states."""


@define
class ExploredSpace:
    """The visited states of a search. A state's number is its index in its shard + the states of the shards before."""

    # kernel, store: what was explored, and by which code
    kernel: Kernel
    store: VisitedSet
    function: str = "connect"  # of the kernel, that finds edges
    offsets: Numbers = field(init=False)  # number of the first state of each shard
    places: npt.NDArray[np.uint32] = field(init=False)  # for each state its number in the region that is used
    controls: Numbers = field(init=False)  # the addresses of the shards' control blocks
    _used: RegionEdges | None = field(init=False, default=None)

    def __attrs_post_init__(self) -> None:
        """Number the states."""
        self.offsets = np.concatenate([[0], np.cumsum(self.store.counts())]).astype(np.int64)
        self.places = np.full(self.count, OUTSIDE, dtype=np.uint32)
        self.controls = _addresses(shard.control for shard in self.store.shards)

    @property
    def count(self) -> int:
        """Number of states."""
        return int(self.offsets[-1])

    def truths(self, words: int) -> Iterator[tuple[slice, npt.NDArray[np.uint64]]]:
        """The truths of all states, as `appraise` writes them, a part of the states at a time."""
        appraise = self.kernel.library.function("appraise", 3)
        for offset, shard in zip(self.offsets.tolist(), self.store.shards, strict=False):
            for first in range(0, shard.count, APPRAISED):
                states = shard.states[first : min(shard.count, first + APPRAISED)]
                rows = np.empty((len(states), words), dtype=np.uint64)
                appraise(address(states), address(rows), len(states))
                yield slice(offset + first, offset + first + len(states)), rows

    def initial(self, states: slice) -> Truths:
        """Which of some states of one shard are initial."""
        number = int(np.searchsorted(self.offsets, states.start, side="right")) - 1
        first = states.start - int(self.offsets[number])
        found: Truths = self.store.shards[number].parents[first : first + states.stop - states.start] == NO_PARENT
        return found

    def region(self, states: Truths, threads: int) -> RegionEdges:
        """The edges among some states."""
        ends = np.array(self.store.ends)
        begins = np.concatenate([np.zeros_like(ends[:1]), ends[:-1]])
        sizes = np.array([
            [np.count_nonzero(states[offset + first : offset + last]) for first, last in zip(*own, strict=True)]
            for offset, *own in zip(self.offsets[:-1], begins.T, ends.T, strict=True)
        ]).T  # fmt: skip
        return RegionEdges(self, threads, np.packbits(states), sizes)

    def use(self, region: RegionEdges) -> None:
        """Let `places` be those of a region."""
        if self._used is region:
            return
        before = np.cumsum(region.sizes.ravel()).reshape(region.sizes.shape) - region.sizes
        self.places[:] = OUTSIDE
        for shard, (offset, end) in enumerate(itertools.pairwise(self.offsets.tolist())):
            bits = np.unpackbits(region.bits[offset // 8 : -(-end // 8)])
            inside = np.flatnonzero(bits[offset % 8 : offset % 8 + end - offset])
            sizes = region.sizes[:, shard]
            shift = np.repeat(before[:, shard] - (np.cumsum(sizes) - sizes), sizes)
            self.places[offset + inside] = np.arange(len(inside)) + shift
        self._used = region


@define(eq=False)
class RegionEdges:
    """The edges among some states of a space."""

    space: ExploredSpace  # what was explored
    threads: int  # how many threads may ask
    bits: npt.NDArray[np.uint8]  # for each state of the space, in its order, whether it is one of them; packed
    sizes: Numbers  # how many of them each level has in each shard
    # for each depth the number of the first state that is not nearer; last the number of states
    levels: Sequence[int] = field(init=False)
    blocks: Sequence[int] = field(init=False)
    _size: int = field(init=False)
    _firsts: Numbers = field(init=False)
    _buffers: list[_Buffers | None] = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Cut the states into blocks."""
        self.levels = [0, *np.cumsum(self.sizes.sum(axis=1)).tolist()]
        self._firsts = np.cumsum(self.sizes.ravel()) - self.sizes.ravel()
        instances = self.space.kernel.geometry.instances
        self._size = max(1, min(MOST_STATES, MOST_EDGES // (instances + 1)))
        self.blocks = range(0, self.count, self._size)
        self._buffers = [None] * self.threads

    @property
    def count(self) -> int:
        """Number of states."""
        return int(self.levels[-1])

    @property
    def nbytes(self) -> int:
        """Bytes that it takes, those of the space and of the threads' buffers with it."""
        buffers = sum(buffers.nbytes for buffers in self._buffers if buffers is not None)
        return self.bits.nbytes + self.sizes.nbytes + self.space.places.nbytes + buffers

    def block(self, thread: int, number: int, wanted: npt.NDArray[Any], *, inner: bool = True) -> Block:
        """A block, computed again; see `Edges`. `wanted` may be bits, of which the space's function knows the sense."""
        kernel = self.space.kernel
        buffers = self._buffers[thread]
        if buffers is None:
            buffers = self._buffers[thread] = _Buffers(kernel, min(self._size, self.count))
        first, last = self.blocks[number], min(self.count, self.blocks[number] + self._size)
        ids = self.identities(first, last)
        numbering, words = _addresses((self.space.offsets, self.space.places, ids)), wanted.astype(np.uint64)
        used = kernel.library.function(self.space.function, 9)(
            address(buffers.frame), address(self.space.controls), address(numbering), address(buffers.scratch),
            address(buffers.edges), address(words), first, last, int(inner),
        )  # fmt: skip
        states = last - first
        return Block(
            first, buffers.starts[: states + 1], buffers.targets[:used], buffers.instances[:used], buffers.cuts[:states]
        )

    def identities(self, first: int, last: int) -> npt.NDArray[np.uint32]:
        """The ids in the visited set of some consecutive states, while the region is used."""
        begin = int(np.searchsorted(self._firsts, first, side="right")) - 1
        parts = []
        for cell in range(begin, int(np.searchsorted(self._firsts, last))):
            level, shard = divmod(cell, SHARDS)
            if self.sizes[level, shard]:
                start = self.space.store.ends[level - 1][shard] if level else 0
                offset = int(self.space.offsets[shard])
                places = self.space.places[offset + start : offset + self.space.store.ends[level][shard]]
                parts.append((np.flatnonzero((places >= first) & (places < last)) + start) * SHARDS + shard)
        return np.concatenate(parts).astype(np.uint32)

    def narrowed(self, states: Truths) -> RegionEdges:
        """The region of some of its states; see `Edges`."""
        self.enter()
        places = self.space.places
        bits = np.concatenate([
            np.packbits((part != OUTSIDE) & states[np.where(part != OUTSIDE, part, 0)])
            for part in (places[first : first + APPRAISED] for first in range(0, len(places), APPRAISED))
        ])  # fmt: skip
        before = [*self._firsts.tolist(), self.count]
        sizes = np.array([np.count_nonzero(states[first:last]) for first, last in itertools.pairwise(before)])
        return RegionEdges(self.space, self.threads, bits, sizes.reshape(self.sizes.shape))

    def enter(self) -> None:
        """Use this region from now on."""
        self.space.use(self)


@define(eq=False)
class ListedEdges:
    """The edges of a region that are listed, sorted by the state that they leave; see `Region`."""

    names: Numbers  # the name of each state in the store of its space
    levels: Sequence[int]
    # starts, targets, instances: as of a `Block` of all its states
    starts: Any
    targets: Any
    instances: Any
    cuts: npt.NDArray[np.uint64]  # of each state
    array: Callable[[int, Any], Any] = np.empty  # makes room for so many numbers of a kind
    blocks: Sequence[int] = field(init=False)

    @blocks.default
    def _cut(self) -> Sequence[int]:
        return range(0, self.count, MOST_STATES)

    @property
    def count(self) -> int:
        """Number of states."""
        return len(self.names)

    @property
    def nbytes(self) -> int:
        """Bytes that it takes."""
        return sum(one.nbytes for one in (self.names, self.starts, self.targets, self.instances, self.cuts))

    def block(self, thread: int, number: int, wanted: Truths, *, inner: bool = True) -> Block:
        """A block by its number; see `Edges`."""
        first = self.blocks[number]
        own = self.starts[first : first + len(wanted) + 1]
        targets, instances = (steps[own[0] : own[-1]] for steps in (self.targets, self.instances))
        chosen = np.repeat(wanted, np.diff(own))
        if inner:
            chosen &= targets != OUTSIDE
        places = np.zeros(len(chosen) + 1, dtype=np.uint32)
        np.cumsum(chosen, out=places[1:])
        return Block(
            first, places[own - own[0]], targets[chosen], instances[chosen], self.cuts[first : first + len(wanted)]
        )

    def identities(self, first: int, last: int) -> Numbers:
        """The names of some consecutive states."""
        return self.names[first:last]

    def narrowed(self, states: Truths) -> ListedEdges:
        """The region of some of its states, in the same order."""
        number, counts, size = np.cumsum(states) - 1, np.zeros(self.count, dtype=np.int64), 0
        targets, instances = (self.array(len(one), one.dtype) for one in (self.targets, self.instances))
        for number_, first in enumerate(range(0, self.count, MOST_STATES)):
            edges = self.block(0, number_, states[first : first + MOST_STATES])
            inside = states[edges.targets]
            new = slice(size, size := size + int(np.count_nonzero(inside)))
            targets[new], instances[new] = number[edges.targets[inside]], edges.instances[inside]
            np.add.at(counts, edges.owners()[inside], 1)
        starts, levels = (np.concatenate([[0], np.cumsum(one)]) for one in (counts[states], states))
        return ListedEdges(self.names[states], levels[self.levels].tolist(), starts, targets[:size], instances[:size],
                           self.cuts[states], self.array)  # fmt: skip

    def enter(self) -> None:
        """Nothing has to be done to use it."""


def _addresses(arrays: Any) -> Numbers:
    return np.array([address(array) for array in arrays], dtype=np.int64)


class _Buffers:
    """The arrays into which one thread writes the edges of a block, and its scratch memory."""

    def __init__(self, kernel: Kernel, states: int) -> None:
        instances, record = kernel.geometry.instances, kernel.geometry.record
        room, successors = states * (instances + 1) + 1, OWNERS * (instances + 1)
        self.frame = np.zeros(kernel.plan.size, dtype=np.int64)
        self.targets = np.empty(room, dtype=np.uint32)
        self.instances = np.empty(room, dtype=np.uint16)
        self.starts = np.empty(states + 1, dtype=np.uint32)
        self.cuts = np.empty(states, dtype=np.uint64)
        self._records = np.empty(successors * record, dtype=np.uint64)
        self._pending = np.empty(2 * successors, dtype=np.uint64)
        self._recent = np.full(RECENT * record, NOT_KNOWN, dtype=np.uint64)
        self.edges = _addresses((self.targets, self.instances, self.starts, self.cuts))
        self.scratch = _addresses((self._records, self._pending, self._recent))

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        scratch = (self.frame, self._records, self._pending, self._recent)
        return sum(array.nbytes for array in (*scratch, self.targets, self.instances, self.starts, self.cuts))


ALIGNMENT = 8  # each array begins at a multiple of so many bytes
SHARE = 0.5  # the share of the free bytes of the disk that the file may take

Arrays = tuple[npt.NDArray[Any], ...]


@define(eq=False)
class EdgeFile:
    """Arrays in a file; one thread at a time writes and reads."""

    folder: Path  # where the file is, which no other process sees
    size: int = 0  # bytes written
    _file: IO[bytes] | None = None
    _left: int = 0
    _mapped: mmap.mmap | None = None
    _places: dict[int, list[tuple[int, int, Any]]] = field(factory=dict)

    def put(self, number: int, arrays: Sequence[npt.NDArray[Any]]) -> bool:
        """Write the arrays of a block; false when the disk has no room for them, or there is no such folder."""
        written, places = b"", []
        for array in arrays:
            places.append((self.size + len(written), len(array), array.dtype))
            written += array.tobytes() + bytes(-array.nbytes % ALIGNMENT)
        try:
            file = self._file or self._open()
            # at its own place: what a full disk took of another block is written over, and never read
            if len(written) > self._left or os.pwrite(file.fileno(), written, self.size) < len(written):
                return False
        except OSError:
            return False
        self.size, self._left = self.size + len(written), self._left - len(written)
        self._places[number] = places
        return True

    def get(self, number: int) -> Arrays | None:
        """The arrays of a block, which stay in the file; None: it has none."""
        places = self._places.get(number)
        if places is None or self._file is None:
            return None
        if self._mapped is None or places[-1][0] + places[-1][1] * places[-1][2].itemsize > len(self._mapped):
            self._mapped = mmap.mmap(self._file.fileno(), self.size, access=mmap.ACCESS_READ)
        whole = self._mapped
        return tuple(np.frombuffer(whole, kind, length, first) for first, length, kind in places)

    def _open(self) -> IO[bytes]:
        self._file = file = tempfile.TemporaryFile(dir=self.folder, buffering=0)  # noqa: SIM115  closed with this object
        weakref.finalize(self, file.close)
        self._left = int(shutil.disk_usage(self.folder).free * SHARE)
        return file


Listed: TypeAlias = tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[Any]]
"""For each state of a block the place of its first edge, and the end of the last; each edge's target and class."""

Labels: TypeAlias = npt.NDArray[np.uint32]  # a number for each state of a region


@frozen
class KeptEdges:
    """Where the edges of all blocks are."""

    size: int  # how many states each block has, the last one excepted
    # starts, targets: for each block the addresses of the two arrays
    starts: npt.NDArray[np.int64]
    targets: npt.NDArray[np.int64]
    held: Sequence[Listed]  # keeps the arrays there

    @classmethod
    def of(cls, size: int, blocks: Sequence[Listed]) -> KeptEdges:
        """Those of blocks of so many states."""
        starts, targets = (np.array([address(one[n]) for one in blocks], dtype=np.int64) for n in range(2))
        return cls(size, starts, targets, blocks)


@define
class StoredEdges:
    """The edges of some blocks."""

    budget: int  # most bytes of memory
    file: EdgeFile | None = None  # takes what memory has no room for; None: there is none
    bytes: int = 0  # of memory in use
    complete: bool = True  # no block was refused
    _blocks: dict[int, Listed] = field(factory=dict)
    _lock: threading.Lock = field(factory=threading.Lock)

    def get(self, number: int) -> Listed | None:
        """The edges of a block, if they are kept."""
        found: Any = self._blocks.get(number)
        if found is None and self.file is not None:
            with self._lock:
                found = self.file.get(number)
        value: Listed | None = found
        return value

    def put(self, number: int, edges: Listed) -> bool:
        """Keep the edges of a block; false when there is no room."""
        size = _size(edges)
        with self._lock:
            fits = self.bytes + size <= self.budget
            self.bytes += size if fits else 0
            kept = fits or self._written(number, edges)
            self.complete &= kept
        if fits:
            starts, targets, kinds = edges
            self._blocks[number] = starts.copy(), targets.copy(), kinds.copy()
        return kept

    def shrink(self, budget: int) -> None:
        """Take no more memory than so many bytes; where the file has no room for the rest, all is dropped."""
        self.budget = budget
        for number in sorted(self._blocks):
            if self.bytes <= budget:
                break
            if not self._written(number, self._blocks[number]):
                self.clear()
                self.complete = False
                return
            self.bytes -= _size(self._blocks.pop(number))

    def clear(self) -> None:
        """Drop all edges; there is room again."""
        self._blocks.clear()
        self.file = None if self.file is None else EdgeFile(self.file.folder)
        self.bytes, self.complete = 0, True

    def _written(self, number: int, edges: Listed) -> bool:
        return self.file is not None and self.file.put(number, edges)


def _size(edges: Listed) -> int:
    return sum(array.nbytes for array in edges)


def only(edges: Listed, states: npt.NDArray[np.bool_]) -> Listed:
    """The edges of some states of a block."""
    starts, targets, kinds = edges
    lengths = np.diff(starts)
    chosen = np.repeat(states, lengths)
    ends = np.cumsum(np.where(states, lengths, 0), dtype=np.uint32)
    return np.concatenate([ends[:1] * 0, ends]), targets[chosen], kinds[chosen]


def alike(edges: Listed, labels: Labels, states: slice) -> Listed:
    """The edges of a block between states of the same label."""
    starts, targets, kinds = edges
    chosen = np.repeat(labels[states], np.diff(starts)) == labels[targets]
    places = np.concatenate([[0], np.cumsum(chosen)]).astype(np.uint32)
    return places[starts], targets[chosen], kinds[chosen]
