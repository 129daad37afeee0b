"""Candidates on their way between tasks: the same in files as in rows, and never others than were sent."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck.ci.dataset import jobs
from kraftcheck.ci.dataset.jobs import Arrived, CandidateFile
from kraftcheck.solvers.blocks.kernel import block_spec
from kraftcheck.solvers.blocks.tasks import Sorted, load_block_kernel
from kraftcheck.solvers.machine_code.objectcode import ObjectCache
from tests import toys
from tests.ci.spark.levels import batches, program_of

SPEC = block_spec(program_of(toys.TWO_PHASE, "3"), 3, ObjectCache(None))
TARGETS = 3

STATES = st.lists(st.integers(0, (1 << 64) - 1), max_size=60)


def drained(states: list[int], first: int) -> Sorted:
    """Records of states, marked with a number each, as an expansion gives them."""
    records = np.array([(state, first + at) for at, state in enumerate(states)], dtype=np.uint64).reshape(-1, 2)
    return load_block_kernel(SPEC).by_bucket(records)


def sent(parts: list[list[Sorted]], folder: Path | None) -> list[dict[str, Any]]:
    """The rows of sources that give their candidates in parts; in files of a folder or, None, in the rows."""
    rows: list[dict[str, Any]] = []
    for source, own in enumerate(parts):
        rows += [row for batch in jobs.sent(SPEC, TARGETS, source, own, folder) for row in batch.to_pylist()]
    return sorted(rows, key=lambda row: (row["bucket"], row["source"], row["part"]))


def arrived(rows: list[dict[str, Any]], folder: Path | None) -> list[dict[int, list[Any]]]:
    """What each task of the second stage gets: the records of each bucket, in order."""
    tasks = []
    for target in range(TARGETS):
        mine = batches([row for row in rows if row["target"] == target])
        found: dict[int, list[Any]] = {}
        for item in Arrived(mine, SPEC, folder).groups():
            blocks = list(item.blocks)
            assert sum(map(len, blocks)) == item.size
            for block in blocks:
                for record in block:
                    bucket = int(load_block_kernel(SPEC).by_bucket(record.reshape(1, 2))[1].argmax())
                    assert item.lo <= bucket < item.hi
                    found.setdefault(bucket, []).append(record.tolist())
        tasks.append(found)
    return tasks


@settings(max_examples=40, deadline=None)
@given(sources=st.lists(st.lists(STATES, max_size=3), max_size=4), group=st.sampled_from([1, 20, 1000]))
def test_files_bring_what_rows_bring(
    sources: list[list[list[int]]], group: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Each task gets every record of its buckets, in the order of sources and parts, in files as in rows."""
    folder = tmp_path_factory.mktemp("candidates")
    parts = [[drained(states, 1000 * n + 100 * k) for k, states in enumerate(own)] for n, own in enumerate(sources)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs, "GROUP_RECORDS", group)
        patch.setattr(jobs, "BLOCK_BYTES", 48)
        patch.setattr(jobs, "BATCH_BYTES", 100)
        in_rows, in_files = arrived(sent(parts, None), None), arrived(sent(parts, folder), folder)
    expected: dict[int, list[Any]] = {}
    for records, counts in itertools.chain.from_iterable(parts):
        for record, bucket in zip(records.tolist(), np.repeat(np.arange(SPEC.buckets), counts).tolist(), strict=True):
            expected.setdefault(bucket, []).append(record)
    assert in_rows == in_files
    assert {bucket: records for task in in_files for bucket, records in task.items()} == expected


def test_a_file_of_candidates_that_fails_is_removed(tmp_path: Path) -> None:
    """What an attempt that ends with an error wrote is not left behind."""

    def failing() -> None:
        with CandidateFile(SPEC, tmp_path, 0) as file:
            file.write(drained([1, 2, 3], 0))
            assert list(tmp_path.iterdir())
            raise KeyError

    with pytest.raises(KeyError):
        failing()
    assert not list(tmp_path.iterdir())
