"""The audit of a distributed run: sampled states of each committed level are compared on the driver."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence

import numpy as np
from attrs import evolve, frozen

from kraftcheck.ci.dataset.search.run import DatasetRun
from kraftcheck.ci.dataset.store.commits import CommitLog
from kraftcheck.ci.dataset.store.groups import Groups
from kraftcheck.ci.dataset.store.levelfiles import read_states
from kraftcheck.ci.dataset.store.manifests import Commit
from kraftcheck.solvers.audit.audit import Audit, audit_space
from kraftcheck.solvers.audit.comparison import BlockEngine, NativeEngine, StateEngine
from kraftcheck.solvers.audit.sampling import Packed, Rows, Sampling, one_by_one

GROUPS = 4
"""Most row groups of a level that candidates are read from."""


@frozen
class CommittedSpace:
    """The committed levels, as `kraftcheck.solvers.audit.sampling.Space`.

    Attributes:
        log, commits: where they are.
        words: words of a packed state.
    """

    log: CommitLog
    commits: Sequence[Commit]
    words: int

    @property
    def sizes(self) -> list[int]:
        """See `Space`."""
        return [level.rows for level in self.commits if not level.last]

    def _read(self, depth: int, groups: Groups) -> Iterator[Rows]:
        """The states of buckets, one row group at a time."""
        for _, together in itertools.groupby(groups, lambda group: (group.file, group.group)):
            for _, states in read_states(self.log.folder(depth), together, self.words):
                yield states

    def some(self, depth: int, count: int) -> Rows:
        """See `Space`; of a level of many row groups a few are read."""
        groups = self.commits[depth].groups
        rows = np.concatenate(list(self._read(depth, groups[:: -(-len(groups) // GROUPS)])))
        return rows[:: max(1, len(rows) // count)]

    def states(self) -> Iterator[Packed]:
        """See `Space`."""
        for depth in range(len(self.sizes)):
            for rows in self._read(depth, self.commits[depth].groups):
                yield from one_by_one(rows)


def audit_run(run: DatasetRun, sampling: Sampling) -> Audit:
    """Compare a sample of the committed levels, by the code of the native start and by that of the jobs.

    Whether the successors were visited is not looked up: that would read the dataset again.

    Raises:
        EngineDisagreement: naming what differs, and in which state.
    """
    start, program = time.monotonic(), run.kernel.program
    engines: list[StateEngine] = [NativeEngine(run.kernel), BlockEngine(program, run.blocks)]
    space = CommittedSpace(run.log, run.commits, program.layout.words)
    audit = audit_space(program, engines, space, sampling, run.generated)
    return evolve(audit, seconds=time.monotonic() - start)
