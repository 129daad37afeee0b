"""Tasks of a distributed search on blocks of states: expand a frontier, sift candidates.

A *record* is a packed state and its mark: its parent's id << 16 | action
instance. The id of a state is unique within its depth: bucket << 32 | row
within the bucket. The bucket of a state is the top bits of its hash. A *block*
is an array of records of one bucket. Nothing here imports a model.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen

from kraftcheck.solvers.blocks.recordset import BATCH, CONTROL_WORDS, COUNT, LIMIT, MASK, RECORDS, TABLE
from kraftcheck.solvers.machine_code.objectcode import CodeTarget, Library, address, check_target, host

Words: TypeAlias = npt.NDArray[np.uint64]
Sorted: TypeAlias = tuple[Words, npt.NDArray[np.int64]]
"""Records sorted by bucket, and how many each bucket has."""

ROW_BITS = 32
"""Bits of a state's row within its bucket and depth; the bucket has 16 more, the action instance 16."""

MOST_BUCKET_BITS = 16
"""Bits that a bucket's number has at most."""

CLAIMS_PER_WORD = 63
"""Claims about a state that one word of claim bits holds; the sign bit stays free for SQL."""

_LOAD = 0.6


@frozen
class BlockSpec:
    """The spec of a program, which a worker loads.

    Attributes:
        code: object code of `blockkernel`.
        target: the processor it was made for.
        words: words of a packed state.
        instances: most successors that one state can have.
        filter_slots: states that an expansion's filter of recent successors holds.
        frame: length of a frame.
        claim_words: words of claim bits of a state.
        bucket_bits: logarithm of the number of buckets; 1 to 16.
        recovers: number of `recovers` properties.
        mark_bytes: bytes of a mark as the kernel keeps it.
        flows: for each action instance the bits of marks that flow back through it.
        truth_words: words of the truths of a state that liveness needs; 0 without any.
        other_bytes: bytes that each word of a packed state but the first needs.
    """

    code: bytes
    target: CodeTarget
    words: int
    instances: int
    filter_slots: int
    frame: int
    claim_words: int
    bucket_bits: int
    recovers: int
    mark_bytes: int
    flows: tuple[int, ...]
    truth_words: int = 0
    other_bytes: tuple[int, ...] = ()

    @property
    def record(self) -> int:
        """Words of a record."""
        return self.words + 1

    @property
    def buckets(self) -> int:
        """Number of buckets."""
        return 1 << self.bucket_bits

    def with_bits(self, bits: int) -> BlockSpec:
        """The same for buckets whose numbers have so many bits."""
        return evolve(self, bucket_bits=bits)


class BlockKernel:
    """The functions of a spec's object code, loaded into this process.

    Raises:
        ForeignCodeError: when this processor cannot run the code.
    """

    def __init__(self, spec: BlockSpec) -> None:
        check_target(spec.target, host())
        self.spec = spec
        self._library = Library(spec.code)
        names = {"expand": 10, "expand_with_memo": 10, "recall": 5, "gather": 4, "strike": 5, "find": 5}
        names |= {"tally": 4, "scatter": 5, "bits": 4, "successors": 5, "admit": 7, "seek": 7, "regrow": 2}
        if spec.recovers:
            names |= {"survey": 3, "exits": 7, "deal": 7, "flow": 9}
        if spec.truth_words:
            names |= {"appraise": 3, "steps": 6}
        self._functions = {name: self._library.function(name, count) for name, count in names.items()}

    def __getattr__(self, name: str) -> Callable[..., int]:
        """A function of the kernel by name, as described in `blockkernel` and `recordset`."""
        try:
            return self._functions[name]
        except KeyError:
            raise AttributeError(name) from None

    def by_bucket(self, records: Words) -> Sorted:
        """Records sorted by bucket, order within a bucket kept, and how many each bucket has."""
        shift = 64 - self.spec.bucket_bits
        counts = np.zeros(self.spec.buckets, dtype=np.int64)
        self.tally(address(records), len(records), shift, address(counts))
        places = np.cumsum(counts) - counts
        out = np.empty_like(records)
        self.scatter(address(records), len(records), shift, address(places), address(out))
        return out, counts

    def claims(self, records: Words) -> Words:
        """Claim bits of each record's (or state's) state, one row a record."""
        out = np.empty((len(records), self.spec.claim_words), dtype=np.uint64)
        self.bits(address(records), len(records), records.shape[1], address(out))
        return out

    def transitions(self, states: Words) -> tuple[Words, npt.NDArray[np.int64]]:
        """Every transition of each state, in order: (packed state, instance) records, and how many each state has."""
        spec = self.spec
        out = np.empty((len(states) * spec.instances + 1, spec.record), dtype=np.uint64)
        counts, frame = np.zeros(len(states), dtype=np.int64), np.zeros(spec.frame, dtype=np.int64)
        arrays = (address(frame), address(out), address(counts))
        return out[: self.successors(address(states), len(states), *arrays)], counts

    def truths(self, states: Words) -> Words:
        """The truths of states that liveness needs, one row each."""
        rows = np.empty((len(states), self.spec.truth_words), dtype=np.uint64)
        self.appraise(address(states), address(rows), len(states))
        return rows

    def steps_of(self, states: Words) -> tuple[Words, npt.NDArray[np.int64], Words]:
        """As `transitions`, and for each state the kinds of action of which a domain cut a step, a bit each."""
        spec, n = self.spec, len(states)
        out = np.empty((n * spec.instances + 1, spec.record), dtype=np.uint64)
        counts, frame = np.zeros(n, dtype=np.int64), np.zeros(spec.frame, dtype=np.int64)
        cuts = np.zeros(n, dtype=np.uint64)
        arrays = (address(frame), address(out), address(counts), address(cuts))
        return out[: self.steps(address(states), n, *arrays)], counts, cuts

    def marks(self, states: Words) -> Words:
        """The marks of states from themselves alone, as `sweep` describes them."""
        marks = np.zeros(len(states), dtype=f"u{self.spec.mark_bytes}")
        self.survey(address(states), address(marks), len(states))
        return marks.astype(np.uint64)

    def exits_of(self, states: Words) -> tuple[Words, npt.NDArray[np.int64], Words]:
        """By which transitions states without a bit "reaches" may get it.

        Returns:
            (packed state, bits that flow back) records, how many each state has, and each state's bits "leaves".
        """
        spec, n = self.spec, len(states)
        missing = ~self.marks(states) & np.uint64((1 << spec.recovers) - 1)
        out = np.empty((n * spec.instances + 1, spec.record), dtype=np.uint64)
        counts, frame = np.zeros(n, dtype=np.int64), np.zeros(spec.frame, dtype=np.int64)
        leaves = np.zeros(n, dtype=np.uint64)
        arrays = (address(frame), address(out), address(counts), address(leaves))
        records = out[: self.exits(address(states), address(missing), n, *arrays)]
        records[:, -1] = np.array(spec.flows, dtype=np.uint64)[records[:, -1].astype(np.int64)]
        return records, counts, leaves


@functools.lru_cache(maxsize=4)
def load_block_kernel(spec: BlockSpec) -> BlockKernel:
    """The kernel of a spec, loaded once in a process."""
    return BlockKernel(spec)


class CandidateSet:
    """A set of records of a fixed capacity, in insertion order; the first record of a state stays."""

    def __init__(self, kernel: BlockKernel, capacity: int) -> None:
        self._kernel = kernel
        slots = 1 << max(6, int(capacity / _LOAD).bit_length())
        self._records = np.empty((capacity, kernel.spec.record), dtype=np.uint64)
        self._table = np.zeros(slots, dtype=np.uint64)
        self._hashes = np.empty(max(BATCH, kernel.spec.instances + 1), dtype=np.uint64)
        self.control = np.zeros(CONTROL_WORDS, dtype=np.int64)
        entries = {RECORDS: address(self._records), TABLE: address(self._table), MASK: slots - 1, LIMIT: capacity}
        for entry, value in entries.items():
            self.control[entry] = value

    @property
    def records(self) -> Words:
        """The records of the set."""
        return self._records[: int(self.control[COUNT])]

    def clear(self) -> None:
        """Empty the set."""
        self._table[:] = 0
        self.control[COUNT] = 0

    def gather(self, records: Words) -> None:
        """Insert records, for which there must be room."""
        inserted = self._kernel.gather(address(self.control), address(records), len(records), address(self._hashes))
        if inserted != len(records):
            raise OverflowError(f"a set of {int(self.control[LIMIT])} records took {inserted} of {len(records)}")

    def mark_duplicates(self, states: Words, duplicates: npt.NDArray[np.uint8]) -> None:
        """Set `duplicates[i]` to 1 for each record whose state is among the states."""
        control, hashes = address(self.control), address(self._hashes)
        self._kernel.strike(control, address(states), len(states), address(duplicates), hashes)

    def find(self, records: Words) -> npt.NDArray[np.int64]:
        """For each record the index of the one of the set that has its state; -1 where none has."""
        indices = np.empty(len(records), dtype=np.int64)
        control, hashes = address(self.control), address(self._hashes)
        self._kernel.find(control, address(records), len(records), address(indices), hashes)
        return indices


def blocks_of(drained: Sorted) -> Iterator[tuple[int, Words]]:
    """The blocks of sorted records: (bucket, records)."""
    records, counts = drained
    ends = np.cumsum(counts)
    for bucket in np.flatnonzero(counts).tolist():
        yield bucket, records[ends[bucket] - counts[bucket] : ends[bucket]]


def sift(kernel: BlockKernel, size: int, blocks: Iterable[Words], visited: Iterable[Words]) -> Sorted:
    """The records that no visited state has, without duplicates, sorted by bucket.

    Args:
        kernel: the functions.
        size: how many records the blocks have.
        blocks: records, those of a bucket in the order in which the first of equals is to stay.
        visited: states of all committed levels, for the buckets of the blocks.

    Raises:
        OverflowError: when the blocks have more records.
    """
    candidates = CandidateSet(kernel, size + BATCH)
    for block in blocks:
        candidates.gather(block)
    duplicates = np.zeros(len(candidates.records), dtype=np.uint8)
    for states in visited:
        candidates.mark_duplicates(states, duplicates)
    return kernel.by_bucket(np.ascontiguousarray(candidates.records[duplicates == 0]))
