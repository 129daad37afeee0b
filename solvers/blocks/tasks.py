"""Tasks of a distributed search on blocks of states: expand a frontier, sift candidates.

A *record* is a packed state and its mark: its parent's id << 16 | action
instance. The id of a state is unique within its depth: bucket << 32 | row
within the bucket. The bucket of a state is the top bits of its hash. A *block*
is an array of records of one bucket. Nothing here imports a model.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen
from llvmlite import ir

from kraftcheck.solvers.machine_code.irtools import POINTER, TRUTH, WORD, Builder, begin
from kraftcheck.solvers.machine_code.objectcode import CodeTarget, Library, address, check_target, host
from kraftcheck.solvers.machine_code.visited_table import hash_words

RECORDS, TABLE, MASK, COUNT, LIMIT = range(5)
"""Entries of a control block: addresses, table length - 1, records, most records."""

CONTROL_WORDS = 5
BATCH = 64

FOUND_AT_ONCE = 1 << 16  # states that are looked for at once, so that what is found takes little memory

_INDEX = (1 << 32) - 1


class RecordSet:
    """Parts of a control block, as values of a function."""

    def __init__(self, b: Builder, control: Any, words: int) -> None:
        self.b, self.words = b, words
        self.records, self.table = (b.inttoptr(b.get(control, i), POINTER) for i in (RECORDS, TABLE))
        self.mask = b.get(control, MASK)

    def record(self, index: Any) -> Any:
        """Address of a record."""
        return self.b.at(self.records, self.b.mul(index, self.words + 1))

    def index(self, entry: Any) -> Any:
        """Index of the record that an entry which is not vacant stands for."""
        return self.b.sub(self.b.and_(entry, _INDEX), 1)

    def slot(self, hashed: Any) -> Any:
        """Where the search for a hash begins."""
        return self.b.and_(hashed, self.mask)

    def after(self, slot: Any) -> Any:
        """Where it goes on."""
        return self.b.and_(self.b.add(slot, 1), self.mask)

    def has_tag(self, entry: Any, hashed: Any) -> Any:
        """Whether an entry has the tag of a hash."""
        return self.b.icmp_unsigned("<=", self.b.xor(entry, hashed), _INDEX)

    def holds(self, entry: Any, state: Sequence[Any]) -> Any:
        """Whether an entry's record has this state."""
        record = self.record(self.index(entry))
        return self.b.same(state, self.b.state(record, self.words))


def emit_insert(module: ir.Module, words: int) -> Any:
    """A function `(control, records, hashes, count)` that inserts records whose hashes are known.

    Fetches table lines, then the records they point to, then inserts. The
    caller has seen to it that there is room.
    """
    function, b = begin(module, "settle", [POINTER, POINTER, POINTER, WORD], ir.VoidType())
    control, records, hashes, count = function.args
    records_ = RecordSet(b, control, words)
    with b.count(0, count) as k:
        b.prefetch(b.at(records_.table, records_.slot(b.get(hashes, k))), write=True)
    _fetch_records(b, records_, count, hashes)
    with b.count(0, count) as k:
        record = b.at(records, b.mul(k, words + 1))
        _insert_record(b, control, records_, record, b.get(hashes, k))
    b.ret_void()
    return function


def _insert_record(b: Builder, control: Any, records: RecordSet, record: Any, hashed: Any) -> None:
    state = b.state(record, records.words)
    slot = b.local(records.slot(hashed))
    with b.repeat(lambda: ir.Constant(TRUTH, 1)) as end:
        entry = b.get(records.table, slot.get())
        with b.if_then(b.icmp_unsigned("==", entry, 0)):
            index = b.get(control, COUNT)
            place = records.record(index)
            for i, value in enumerate((*state, b.get(record, records.words))):
                b.put(value, place, i)
            tag = b.and_(hashed, ~_INDEX)
            b.put(b.or_(tag, b.add(index, 1)), records.table, slot.get())
            b.put(b.add(index, 1), control, COUNT)
            b.branch(end)
        with b.if_then(records.has_tag(entry, hashed)), b.if_then(records.holds(entry, state)):
            b.branch(end)
        slot.set(records.after(slot.get()))


def emit_gather(module: ir.Module, words: int, insert: Any) -> None:
    """`gather(control, records, count, hashes) -> records taken`: insert records while there is room."""
    function, b = begin(module, "gather", [POINTER, POINTER, WORD, POINTER], public=True)
    control, records, count, hashes = function.args
    at = b.local(0)
    with b.repeat(lambda: b.icmp_unsigned("<", at.get(), count)):
        rest = b.sub(count, at.get())
        size = b.select(b.icmp_unsigned("<", rest, BATCH), rest, BATCH)
        after = b.add(b.get(control, COUNT), size)
        with b.if_then(b.icmp_unsigned(">", after, b.get(control, LIMIT)), likely=False):
            b.ret(at.get())
        first = b.at(records, b.mul(at.get(), words + 1))
        with b.count(0, size) as k:
            record = b.at(first, b.mul(k, words + 1))
            b.put(hash_words(b, b.state(record, words)), hashes, k)
        b.call(insert, [control, first, hashes, size])
        at.add(size)
    b.ret(at.get())


def emit_find(module: ir.Module, words: int) -> None:
    """`find(control, rows, count, stride, indices, hashes) -> 0`: which record has the state of each row; -1: none."""
    function, b = begin(module, "find", [POINTER, POINTER, WORD, WORD, POINTER, POINTER], public=True)
    control, wanted, count, stride, indices, hashes = function.args
    records = RecordSet(b, control, words)
    at = b.local(0)
    with b.repeat(lambda: b.icmp_unsigned("<", at.get(), count)):
        rest = b.sub(count, at.get())
        size = b.select(b.icmp_unsigned("<", rest, BATCH), rest, BATCH)
        first = b.at(wanted, b.mul(at.get(), stride))
        with b.count(0, size) as k:
            hashed = hash_words(b, b.state(b.at(first, b.mul(k, stride)), words))
            b.put(hashed, hashes, k)
            b.prefetch(b.at(records.table, records.slot(hashed)))
        _fetch_records(b, records, size, hashes)
        with b.count(0, size) as k:
            place = b.at(first, b.mul(k, stride))
            b.put(_index_of(b, records, place, b.get(hashes, k)), indices, b.add(at.get(), k))
        at.add(size)
    b.ret(0)


def _fetch_records(b: Builder, records: RecordSet, count: Any, hashes: Any) -> None:
    """Ask for the records that stand in the first slots of some hashes, and may be those that are looked for."""
    with b.count(0, count) as k:
        hashed = b.get(hashes, k)
        entry = b.get(records.table, records.slot(hashed))
        with b.if_then(b.and_(b.icmp_unsigned("!=", entry, 0), records.has_tag(entry, hashed))):
            b.prefetch(records.record(records.index(entry)))


def _index_of(b: Builder, records: RecordSet, place: Any, hashed: Any) -> Any:
    slot, found = b.local(records.slot(hashed)), b.local(-1)
    entry = b.local(b.get(records.table, slot.get()))
    with b.repeat(lambda: b.icmp_unsigned("!=", entry.get(), 0)) as end:
        with b.if_then(records.has_tag(entry.get(), hashed)):
            state = b.state(place, records.words)
            with b.if_then(records.holds(entry.get(), state)):
                found.set(records.index(entry.get()))
                b.branch(end)
        slot.set(records.after(slot.get()))
        entry.set(b.get(records.table, slot.get()))
    return found.get()


def emit_scatter(module: ir.Module, words: int) -> None:
    """`tally(records, count, shift, counts)` and `scatter(records, count, shift, places, out)`: sort by bucket.

    The bucket of a record is its hash >> shift; `counts[bucket]` is counted
    up, then `places[bucket]` says where its next record goes. Order within a
    bucket is kept.
    """
    function, b = begin(module, "tally", [POINTER, WORD, WORD, POINTER], public=True)
    records, count, shift, counts = function.args
    with b.count(0, count) as k:
        state = b.state(b.at(records, b.mul(k, words + 1)), words)
        bucket = b.lshr(hash_words(b, state), shift)
        b.put(b.add(b.get(counts, bucket), 1), counts, bucket)
    b.ret(0)
    function, b = begin(module, "scatter", [POINTER, WORD, WORD, POINTER, POINTER], public=True)
    records, count, shift, places, out = function.args
    with b.count(0, count) as k:
        record = b.at(records, b.mul(k, words + 1))
        state = b.state(record, words)
        bucket = b.lshr(hash_words(b, state), shift)
        place = b.get(places, bucket)
        for i, value in enumerate((*state, b.get(record, words))):
            b.put(value, b.at(out, b.mul(place, words + 1)), i)
        b.put(b.add(place, 1), places, bucket)
    b.ret(0)


Words: TypeAlias = npt.NDArray[np.uint64]
Sorted: TypeAlias = tuple[Words, npt.NDArray[np.int64]]  # records sorted by bucket, and how many each bucket has
ROW_BITS = 32  # bits of a state's row within its bucket and depth; the bucket has 16 more, the action instance 16
MOST_BUCKET_BITS = 16  # bits that a bucket's number has at most
CLAIMS_PER_WORD = 63  # claims about a state that one word of claim bits holds; the sign bit stays free for SQL

_LOAD = 0.6


@frozen
class BlockSpec:
    """The spec of a program, which a worker loads."""

    code: bytes  # object code of `blockkernel`
    target: CodeTarget  # the processor it was made for
    words: int  # words of a packed state
    instances: int  # most successors that one state can have
    filter_slots: int  # states that an expansion's filter of recent successors holds
    frame: int  # length of a frame
    claim_words: int  # words of claim bits of a state
    bucket_bits: int  # logarithm of the number of buckets; 1 to 16
    recovers: int  # number of `recovers` properties
    mark_bytes: int  # bytes of a mark as the kernel keeps it
    flows: tuple[int, ...]  # for each action instance the bits of marks that flow back through it
    truth_words: int = 0  # words of the truths of a state that liveness needs; 0 without any
    other_bytes: tuple[int, ...] = ()  # bytes that each word of a packed state but the first needs

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
        names = {"expand": 10, "expand_with_memo": 10, "recall": 5, "gather": 4, "find": 6, "tally": 4, "scatter": 5}
        names |= {"bits": 4, "steps": 6, "admit": 7, "regrow": 2}
        if spec.recovers:
            names |= {"survey": 3, "exits": 7}
        if spec.truth_words:
            names |= {"appraise": 3}
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
        return self.steps_of(states)[:2]

    def _followed(self, name: str, states: Words, *more: int) -> tuple[Words, npt.NDArray[np.int64], Words]:
        """What a function says follows states: the records, how many each state has, and a word of each state."""
        spec, n = self.spec, len(states)
        out = np.empty((n * spec.instances + 1, spec.record), dtype=np.uint64)
        counts, frame = np.zeros(n, dtype=np.int64), np.zeros(spec.frame, dtype=np.int64)
        words = np.zeros(n, dtype=np.uint64)
        places = map(address, (frame, out, counts, words))
        return out[: self._functions[name](address(states), n, *places, *more)], counts, words

    def truths(self, states: Words) -> Words:
        """The truths of states that liveness needs, one row each."""
        rows = np.empty((len(states), self.spec.truth_words), dtype=np.uint64)
        self.appraise(address(states), address(rows), len(states))
        return rows

    def steps_of(self, states: Words) -> tuple[Words, npt.NDArray[np.int64], Words]:
        """As `transitions`, and for each state the kinds of action of which a domain cut a step, a bit each."""
        return self._followed("steps", states)

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
        missing = ~self.marks(states) & np.uint64((1 << self.spec.recovers) - 1)
        records, counts, leaves = self._followed("exits", states, address(missing))
        records[:, -1] = np.array(self.spec.flows, dtype=np.uint64)[records[:, -1].astype(np.int64)]
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
        for first in range(0, len(states), FOUND_AT_ONCE):
            found = self.find(states[first : first + FOUND_AT_ONCE])
            duplicates[found[found >= 0]] = 1

    def find(self, rows: Words) -> npt.NDArray[np.int64]:
        """For each record (or state) the index of the one of the set that has its state; -1 where none has."""
        indices = np.empty(len(rows), dtype=np.int64)
        places = address(indices), address(self._hashes)
        self._kernel.find(address(self.control), address(rows), len(rows), rows.shape[1], *places)
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


def first_claims(bits: Words) -> dict[int, int]:
    """For each claim that occurs in rows of claim bits, the first row that shows it."""
    first_rows: dict[int, int] = {}
    for at in range(bits.shape[1]):
        column = bits[:, at]
        bits_left = int(np.bitwise_or.reduce(column)) if len(column) else 0
        while bits_left:
            position = (bits_left & -bits_left).bit_length() - 1
            first_rows[at * CLAIMS_PER_WORD + position] = int(np.argmax(column & np.uint64(1 << position) != 0))
            bits_left &= bits_left - 1
    return first_rows


Numbers = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]

EVERYWHERE = -1  # the cut bits of a constraint whose steps count as enabled everywhere


@frozen
class RegionQuestion:
    """A liveness property, by numbers of the truths of a state that `appraise` writes."""

    # premise, goal: its truths
    premise: int
    goal: int
    everywhere: bool  # its region are all states, not only those without the goal
    initially: bool  # it is about initial states, not about those with the premise
    excuses: tuple[int, ...]  # for each constraint the truth that excuses it; negative: the goal is false
    steps: tuple[int, ...]  # for each action instance the constraints that it is a step of, a bit each
    cuts: tuple[int, ...]  # for each constraint the cut bits by which its steps count as enabled; or `EVERYWHERE`


@frozen
class RegionPart:
    """The part of a region in a block of states."""

    concerned: int  # how many states of the block the property is about
    chosen: Numbers  # the rows of the block that are in the region
    waiting: Truths  # which of these have to wait for the goal
    allowed: Numbers  # for each of these the constraints that are not excused there
    hidden: Numbers  # those that count as enabled although no step shows it
    cut: Truths  # which of these have a step that a domain cut
    counts: Numbers  # how many steps each of these has that change it
    records: Words  # the steps: packed state, and action instance
    taken: Numbers  # the constraints that each of them is a step of


def region_part(kernel: BlockKernel, question: RegionQuestion, initial: Truths, states: Words) -> RegionPart:
    """The part of a region in a block of states, of which some are initial."""
    rows = kernel.truths(states)
    goal = _truth(rows, question.goal)
    concerned = initial if question.initially else _truth(rows, question.premise)
    chosen = np.flatnonzero(~goal | question.everywhere)
    own, unsatisfied = np.ascontiguousarray(states[chosen]), ~goal[chosen]
    records, counts, cuts = kernel.steps_of(own)
    owners = np.repeat(np.arange(len(own)), counts)
    changing = (records[:, :-1] != own[owners]).any(axis=1)
    allowed, hidden = np.zeros((2, len(own)), dtype=np.int64)
    for bit, (excuse, kinds) in enumerate(zip(question.excuses, question.cuts, strict=True)):
        excused = unsatisfied if excuse < 0 else _truth(rows, excuse)[chosen]
        enabled = np.ones_like(excused) if kinds == EVERYWHERE else (cuts & np.uint64(kinds)) != 0
        allowed |= (~excused).astype(np.int64) << bit
        hidden |= enabled.astype(np.int64) << bit
    kept = records[changing]
    taken = np.array(question.steps, dtype=np.int64)[kept[:, -1].astype(np.int64)]
    return RegionPart(
        int(np.count_nonzero(concerned)), chosen, concerned[chosen] & unsatisfied, allowed, hidden, cut=cuts != 0,
        counts=np.bincount(owners[changing], minlength=len(own)), records=kept, taken=taken,
    )  # fmt: skip


def _truth(rows: Any, column: int) -> Truths:
    found: Truths = (rows[:, column // 64] >> np.uint64(column % 64) & np.uint64(1)).astype(np.bool_)
    return found
