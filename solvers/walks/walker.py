"""The walker of a program: it makes one compiled run at a time.

Run number n of a seed is the same whatever the number of threads and of runs:
all that it draws comes from a hash of seed and n.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from attrs import define, field

from kraftcheck.solvers.machine_code.compile import cache_key, load_library
from kraftcheck.solvers.machine_code.frame import FramePlan
from kraftcheck.solvers.machine_code.objectcache import ObjectCache
from kraftcheck.solvers.machine_code.objectcode import Library, address
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.walks import kernel as walkkernel
from kraftcheck.solvers.walks.kernel import PRIORITY, WEIGHTED, emit_walks

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


def walks_key(program: Program) -> str:
    """A hash of what a program's compiled walks depend on."""
    own = Path(str(walkkernel.__file__)).read_bytes()
    return hashlib.sha256(cache_key(program).encode() + own).hexdigest()


class Walker:
    """The compiled walks of a program from some states.

    Args:
        program: the traced system.
        steps, seed, schedule: length of each run, seed, a name of `SCHEDULES`.
        starts: packed states to begin in; the initial states by default.
        weights: of actions by name, for the weighted schedule; 1 where not named.
        cache_dir: folder for compiled code; None: keep none.
        threads: how many.
        on_compile: as of `load_library`.
    """

    def __init__(
        self, program: Program, steps: int, seed: int, schedule: str, starts: Sequence[tuple[int, ...]],
        weights: Mapping[str, int], cache_dir: Path | None, threads: int,
        on_compile: Callable[[], None] | None = None,
    ) -> None:  # fmt: skip
        cache = ObjectCache(cache_dir)
        self.library: Library
        self.library, self.cached = load_library(
            program, emit_walks, walks_key(program), cache, on_compile=on_compile
        )
        self.warnings = tuple(cache.warnings)
        self.program, self.plan, self.steps, self.seed = program, FramePlan(program), steps, seed
        self.schedules, self.starts = SCHEDULES[schedule], tuple(starts) or program.initial
        self.weights = [weights.get(kind.action.name, 1) for kind in program.kinds]
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
