"""The walker of a program: it makes one compiled run at a time.

Run number n of a seed is the same whatever the number of threads and of runs:
all that it draws comes from a hash of seed and n.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen
from llvmlite import ir

from kraftcheck.solvers.machine_code.compile import cache_key, load_library
from kraftcheck.solvers.machine_code.irtools import POINTER, WORD, Builder, Local, begin, word
from kraftcheck.solvers.machine_code.objectcode import Library, ObjectCache, address, effort_for
from kraftcheck.solvers.machine_code.transition import FramePlan, emit_deadlock, emit_judge, emit_kinds, emit_step
from kraftcheck.solvers.machine_code.visited_table import hash_words
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import PackedRun

WEIGHTED, PRIORITY = 0, 1  # schedules, as the kernel numbers them


def emit_walks(program: Program) -> ir.Module:
    """The module with the functions `walk` and `count_new` of a program."""
    module = ir.Module("kraftcheck-walks")
    plan = FramePlan(program)
    step = emit_step(module, emit_kinds(module, plan))
    _emit_walk(module, plan, emit_judge(module, plan), step, emit_deadlock(module, plan))
    _emit_count_new(module)
    return module


def _random(b: Builder, state: Local) -> Any:
    """The next 64 random bits (xorshift64*, Vigna 2016); the state is never 0."""
    x = state.get()
    for shift, left in ((12, False), (25, True), (27, False)):
        x = b.xor(x, b.shl(x, shift) if left else b.lshr(x, shift))
    state.set(x)
    return b.mul(x, 0x2545F4914F6CDD1D)


def _random_below(b: Builder, state: Local, bound: Any) -> Any:
    """A random number below a bound of at most 32 bits."""
    return b.lshr(b.mul(b.lshr(_random(b, state), 32), bound), 32)


def _emit_walk(module: ir.Module, plan: FramePlan, judge: Any, step: Any, deadlock: Any) -> None:
    """`walk(frame, state, seed, kinds, weights, priorities, path, prints, scratch, steps, schedule) -> taken`.

    Args of the function: `kinds` is the kind of each instance, `weights` the weight of each kind
    (at least 1), `priorities` room for one word an instance and one more, `path` receives the
    instances, `prints` the fingerprint of each state, one more than the steps taken.
    """
    function, b = begin(module, "walk", [POINTER, POINTER, WORD] + [POINTER] * 6 + [WORD, WORD], public=True)
    frame, state, seed, kinds, weights, priorities, path, prints, scratch, steps, schedule = function.args
    size = plan.program.layout.words
    random, number = b.local(seed), b.local(0)
    chosen = b.local(scratch)
    _draw_priorities(b, priorities, plan.program.instances, random)
    with b.repeat(lambda: b.icmp_unsigned("<=", number.get(), steps)) as end_block:
        at = number.get()
        b.call(judge, [state, frame, at])
        b.put(hash_words(b, b.state(state, size)), prints, at)
        with b.if_then(b.icmp_unsigned("==", at, steps)):
            b.branch(end_block)
        b.put(0, frame, plan.enabled)
        end = b.call(step, [state, scratch, frame, at])
        with b.if_then(b.icmp_unsigned("==", end, scratch), likely=False):
            with b.if_then(b.icmp_unsigned("==", b.get(frame, plan.enabled), 0)):
                b.call(deadlock, [state, frame, at])
            b.branch(end_block)
        end = _without_stutters(b, state, scratch, end, size)
        with b.if_then(b.icmp_unsigned("==", end, scratch), likely=False):
            b.branch(end_block)
        with b.if_else(b.icmp_unsigned("==", schedule, PRIORITY)) as (by_priority, by_weight):
            with by_priority:
                _pick_highest(b, scratch, end, size, priorities, random, chosen, plan.program.instances)
            with by_weight:
                _pick_weighted(b, scratch, end, size, kinds, weights, random, chosen)
        for i in range(size):
            b.put(b.get(chosen.get(), i), state, i)
        b.put(b.get(chosen.get(), size), path, at)
        number.add(1)
    b.ret(number.get())


def _without_stutters(b: Builder, state: Any, scratch: Any, end: Any, size: int) -> Any:
    """The end of the records once those that do not change the state are dropped: they lead nowhere."""
    place, target = b.local(scratch), b.local(scratch)
    with b.repeat(lambda: b.icmp_unsigned("!=", place.get(), end)):
        at, to = place.get(), target.get()
        differs: Any = word(0)
        for i in range(size + 1):
            value = b.get(at, i)
            if i < size:
                differs = b.or_(differs, b.xor(value, b.get(state, i)))
            b.put(value, to, i)
        target.set(b.select(b.icmp_unsigned("!=", differs, 0), b.at(to, size + 1), to))
        place.set(b.at(at, size + 1))
    return target.get()


def _draw_priorities(b: Builder, priorities: Any, instances: int, random: Local) -> None:
    """A priority of 63 bits, in the upper half of them, for each instance; the last word is the lowest given."""
    with b.count(0, instances) as instance:
        b.put(b.or_(b.lshr(_random(b, random), 2), 1 << 62), priorities, instance)
    b.put(1 << 62, priorities, instances)


def _pick_highest(
    b: Builder, scratch: Any, end: Any, size: int, priorities: Any, random: Local, chosen: Local, instances: int
) -> None:
    place, highest = b.local(scratch), b.local(0)
    with b.repeat(lambda: b.icmp_unsigned("!=", place.get(), end)):
        at = place.get()
        priority = b.get(priorities, b.get(at, size))
        with b.if_then(b.icmp_unsigned(">", priority, highest.get())):
            highest.set(priority)
            chosen.set(at)
        place.set(b.at(at, size + 1))
    with b.if_then(b.trunc(b.lshr(_random(b, random), 63), ir.IntType(1))):
        lowest = b.sub(b.get(priorities, instances), 1)
        b.put(lowest, priorities, instances)
        b.put(lowest, priorities, b.get(chosen.get(), size))


def _pick_weighted(
    b: Builder, scratch: Any, end: Any, size: int, kinds: Any, weights: Any, random: Local, chosen: Local
) -> None:
    """Reservoir sampling: an even choice within each run of records of one kind, a weighted one between runs."""
    place, candidate, count = b.local(scratch), b.local(scratch), b.local(0)
    kind, total = b.local(-1), b.local(0)

    def close() -> None:
        weight = b.get(weights, kind.get())
        total.add(weight)
        with b.if_then(b.icmp_unsigned("<", _random_below(b, random, total.get()), weight)):
            chosen.set(candidate.get())

    with b.repeat(lambda: b.icmp_unsigned("!=", place.get(), end)):
        at = place.get()
        own = b.get(kinds, b.get(at, size))
        with b.if_then(b.icmp_unsigned("!=", own, kind.get())):
            with b.if_then(b.icmp_unsigned("!=", count.get(), 0)):
                close()
            kind.set(own)
            count.set(0)
        count.add(1)
        with b.if_then(b.icmp_unsigned("==", _random_below(b, random, count.get()), 0)):
            candidate.set(at)
        place.set(b.at(at, size + 1))
    close()


def _emit_count_new(module: ir.Module) -> None:
    """`count_new(table, mask, prints, number) -> new`: note fingerprints in an open-addressing table.

    A fingerprint of 0 counts as 1; the table must stay half empty.
    """
    function, b = begin(module, "count_new", [POINTER, WORD, POINTER, WORD], public=True)
    table, mask, prints, number = function.args
    new = b.local(0)
    with b.count(0, number) as position:
        print_ = b.get(prints, position)
        fingerprint = b.select(b.icmp_unsigned("==", print_, 0), 1, print_)
        slot = b.local(b.and_(fingerprint, mask))

        def occupied(slot: Local = slot, fingerprint: Any = fingerprint) -> Any:
            held = b.get(table, slot.get())
            return b.and_(b.icmp_unsigned("!=", held, 0), b.icmp_unsigned("!=", held, fingerprint))

        with b.repeat(occupied):
            slot.set(b.and_(b.add(slot.get(), 1), mask))
        fresh = b.icmp_unsigned("==", b.get(table, slot.get()), 0)
        new.add(b.zext(fresh, WORD))
        b.put(fingerprint, table, slot.get())
    b.ret(new.get())


SCHEDULES = {"weighted": (WEIGHTED,), "priority": (PRIORITY,), "both": (WEIGHTED, PRIORITY)}
"""By name the schedules that runs use in turn."""

INCLUDED = 1 << 10
"""Weight of a kind of a run's swarm; the others weigh 1 and so are taken where nothing else is enabled, or rarely."""


@define
class FingerprintSet:
    """The fingerprints met so far, in an open-addressing table that is at most half full."""

    count_new: Callable[..., int]
    table: npt.NDArray[np.uint64] = field(factory=lambda: np.zeros(1 << 16, dtype=np.uint64))
    number: int = 0

    def add(self, prints: npt.NDArray[np.uint64]) -> None:
        """Note fingerprints."""
        while 2 * (self.number + len(prints)) > len(self.table):
            old = self.table[self.table != 0]
            self.table = np.zeros(2 * len(self.table), dtype=np.uint64)
            self.count_new(address(self.table), len(self.table) - 1, address(old), len(old))
        self.number += self.count_new(address(self.table), len(self.table) - 1, address(prints), len(prints))


@define
class WalkRun:
    """One run's results."""

    start: tuple[int, ...]
    path: npt.NDArray[np.uint64]
    prints: npt.NDArray[np.uint64]
    claims: npt.NDArray[np.int64]


def draw(seed: int, run: int, purpose: str) -> int:
    """64 random bits, the same for the same seed, run and purpose; never 0."""
    digest = hashlib.sha256(f"{seed}/{run}/{purpose}".encode()).digest()
    return int.from_bytes(digest[:8], "little") or 1


ENABLED = 32  # successors of a state, about: a walk looks at all


def walks_key(program: Program) -> str:
    """A hash of what a program's compiled walks depend on."""
    own = Path(str(__file__)).read_bytes()
    return hashlib.sha256(cache_key(program).encode() + own).hexdigest()


@frozen
class WalkPlan:
    """The random walks that are made."""

    # runs, steps: how many runs, of at most so many steps each
    runs: int
    steps: int
    seed: int  # decides everything that is drawn
    schedule: str = "both"  # a name of `SCHEDULES`
    weights: Mapping[str, int] = field(factory=dict)  # of actions by name, for the weighted schedule; 1 where not named
    # runs to the states where walks begin; none: they begin in the initial states
    runs_to_starts: tuple[PackedRun, ...] = ()
    threads: int = 1  # how many; results do not depend on it
    cache_dir: Path | None = None  # folder for compiled code; None: keep none
    strict: bool = False  # whether steps beyond a declared cap are faults too
    # shard, shards: of so many equal parts of the runs, the one that is made, from 1. What is drawn for a run depends
    # on the seed and its number.
    shard: int = 1
    shards: int = 1

    @property
    def numbers(self) -> range:
        """The numbers of the runs that are made."""
        return range(self.runs * (self.shard - 1) // self.shards, self.runs * self.shard // self.shards)


class Walker:
    """The compiled walks of a program."""

    def __init__(self, program: Program, made: WalkPlan, on_compile: Callable[[], None] | None = None) -> None:
        cache, threads = ObjectCache(made.cache_dir), made.threads
        effort = effort_for(len(made.numbers) * made.steps * ENABLED)
        self.library: Library
        self.library, self.cached = load_library(
            program, emit_walks, walks_key(program), cache, effort=effort, on_compile=on_compile
        )
        self.warnings = tuple(cache.warnings)
        self.program, self.plan, self.made = program, FramePlan(program), made
        self.steps, self.seed = made.steps, made.seed
        starts = tuple(start.end for start in made.runs_to_starts)
        self.schedules, self.starts = SCHEDULES[made.schedule], starts or program.initial
        self.weights = [made.weights.get(kind.action.name, 1) for kind in program.kinds]
        self.kinds = np.array(
            [number for number, kind in enumerate(program.kinds) for _ in kind.instances], dtype=np.uint64
        )
        self.frames = np.zeros((threads, self.plan.size), dtype=np.int64)
        record = program.layout.words + 1
        self.scratch = np.zeros((threads, (program.instances + 1) * record), dtype=np.uint64)
        self.priorities = np.zeros((threads, program.instances + 1), dtype=np.uint64)
        self._walk = self.library.function("walk", 11)

    def run(self, number: int, thread: int) -> WalkRun:
        """Make one run."""
        plan, start = self.plan, self.starts[draw(self.seed, number, "start") % len(self.starts)]
        swarm = draw(self.seed, number, "swarm")
        weights = np.array(
            [w * (1 if swarm >> k % 64 & 1 and k < 64 else INCLUDED) for k, w in enumerate(self.weights)],
            dtype=np.uint64,
        )
        state, frame = np.array(start, dtype=np.uint64), self.frames[thread]
        path, prints = np.zeros(self.steps, dtype=np.uint64), np.zeros(self.steps + 1, dtype=np.uint64)
        frame[plan.claims : plan.claims + plan.claim_count] = frame[plan.claim_found] = 0
        steps = self._walk(
            address(frame), address(state), draw(self.seed, number, "steps"), address(self.kinds), address(weights),
            address(self.priorities[thread]), address(path), address(prints), address(self.scratch[thread]),
            self.steps, self.schedules[number % len(self.schedules)],
        )  # fmt: skip
        claims = frame[plan.claims : plan.claims + plan.claim_count].copy()
        return WalkRun(start, path[:steps], prints[: steps + 1], claims)
