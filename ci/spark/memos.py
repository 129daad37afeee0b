"""The memo of successors that a worker keeps between its tasks; Spark gives one process many of them.

Where Spark begins a new process for each task (`spark.python.worker.reuse=false`), each begins with an empty memo.
"""

from __future__ import annotations

from kraftcheck.ci.dataset.store.job import LevelJob
from kraftcheck.solvers.blocks.expansion import SuccessorMemo
from kraftcheck.solvers.blocks.tasks import BlockSpec

MEMO_BYTES = 128 << 20
"""Bytes of a worker's memo, at most."""

_memos: dict[int, SuccessorMemo] = {}
"""The memo of this process, by the words of its states: there is one at most."""


def memo_of(spec: BlockSpec, level: LevelJob) -> SuccessorMemo | None:
    """The memo of this process, begun for one expansion of a level; None where the job does not say what it follows.

    It serves only the same run, whose `run.json` the digests of levels go back to, under the same lease and kernel.
    """
    if level.descent is None:
        return None
    if spec.words not in _memos:
        _memos.clear()
        _memos[spec.words] = SuccessorMemo.of_bytes(spec.words, MEMO_BYTES)
    memo = _memos[spec.words]
    memo.begin((spec.code, level.sight), level.descent)
    return memo
