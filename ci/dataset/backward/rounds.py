"""A round of the backward search as a job of two stages, where memory has no room for all arcs.

The first reads the marks that rose in the round before, part by part, and the arcs to them; the shuffle brings what
flows to the part of its source; the second raises the marks there, and writes those that rose.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from attrs import evolve, fields, frozen

from kraftcheck.ci.dataset.backward.arcs import HEAD, Numbering, Numbers, rows_of, ways_of
from kraftcheck.ci.dataset.backward.files import PartFile, check_written, file_of, read_groups, written_file
from kraftcheck.ci.dataset.jobs.exchange import BLOCK_BYTES, FRAME, Batches, candidate_row
from kraftcheck.ci.dataset.jobs.stages import JobFailedError, JobRunner, Stages, result_row
from kraftcheck.ci.dataset.store.objects import AnyPath
from kraftcheck.ci.dataset.store.stores import place_of
from kraftcheck.solvers.blocks.tasks import BlockSpec

PAIR_BYTES = 16
"""Bytes of what flows to a state: its number and bits."""


@frozen
class PartFiles:
    """The files of a part.

    Attributes:
        arcs: those to its states.
        marks: of its states, in the order of their numbers; None: it has no states.
        leaves: what leads out of the explored states or out of a domain, of any part; before the first round only.
        risen: the numbers and marks of its states that rose in the round before; before the first round all count.
        nodes: the states of a region.
    """

    arcs: PartFile | None
    marks: PartFile | None
    leaves: PartFile | None = None
    risen: PartFile | None = None
    nodes: PartFile | None = None


@frozen
class RoundJob:
    """The job.

    Attributes:
        folder: where the files are.
        numbering: of the states, and the parts.
        first: whether it is the first round, in which every mark counts as one that rose.
        parts: the files, by part.
        flowing: for each task of the first stage its part.
        flows: the bits that flow back through each way; None: as the spec says.
        kept: a bit without which no mark rises; 0: all rise.
    """

    folder: str
    numbering: Numbering
    first: bool
    parts: Mapping[int, PartFiles]
    flowing: tuple[int, ...]
    flows: tuple[int, ...] | None = None
    kept: int = 0


def flow_task(shipped: Callable[[], BlockSpec], job: RoundJob) -> Callable[[Batches], Batches]:
    """The first stage: one input row is the number of a flowing part."""

    def flow(batches: Batches) -> Batches:
        for batch in batches:
            for source in batch.column(0).to_pylist():
                yield from sent_pairs(job.numbering, source, _flows(shipped(), job, job.flowing[source]))

    return flow


def sent_pairs(numbering: Numbering, source: int, flows: Iterable[Numbers]) -> Batches:
    """What a task of the first stage sends to parts, as rows, and a frame: how many pairs these are."""
    sent, number = 0, 0
    for pairs in flows:
        for target, rows in _by_part(numbering, pairs):
            sent += len(rows)
            yield candidate_row(target, target, source, number, rows.tobytes())
            number += 1
    frame = np.array([sent], dtype=np.int64)
    yield candidate_row(source % numbering.parts, FRAME, source, 0, frame.tobytes())


def _flows(spec: BlockSpec, job: RoundJob, part: int) -> Iterator[Numbers]:
    """What flows from the states of a part, as (number, bits), each source once for each row group of arcs."""
    folder, files = place_of(job.folder), job.parts[part]
    first, last = job.numbering.states_of(part)
    if job.first:
        yield from (np.column_stack(pairs) for pairs in read_groups(folder, files.leaves, "number", "bits"))
        bits = marks_of(folder, files, last - first)
    else:
        bits = np.zeros(last - first, dtype=np.int64)
        for numbers, risen in read_groups(folder, files.risen, "number", "bits"):
            bits[numbers - first] = risen
    ways = ways_of(spec).view(np.int64) if job.flows is None else np.array(job.flows, dtype=np.int64)
    for targets, sources, kinds in read_groups(folder, files.arcs, "target", "source", "way"):
        got = ways[kinds] & bits[targets - first]
        flows = got != 0
        yield folded(sources[flows], got[flows])


def marks_of(folder: AnyPath, files: PartFiles, count: int) -> Numbers:
    """The marks of a part; a copy that can be raised.

    Raises:
        RuntimeError: when there are not as many as states.
    """
    parts = [bits for (bits,) in read_groups(folder, files.marks, "bits")]
    marks = np.concatenate([np.zeros(0, dtype=np.int64), *parts])
    if len(marks) != count:
        raise RuntimeError(f"{len(marks):,} marks of {count:,} states in {folder}")
    return marks


def folded(numbers: Numbers, bits: Numbers) -> Numbers:
    """Pairs (number, bits) sorted by number, each once with all its bits."""
    if not len(numbers):
        return np.zeros((0, 2), dtype=np.int64)
    order = np.argsort(numbers)
    numbers, bits = numbers[order], bits[order]
    begins = np.flatnonzero(np.concatenate([[True], numbers[1:] != numbers[:-1]]))
    return np.column_stack([numbers[begins], np.bitwise_or.reduceat(bits, begins)])


def _by_part(numbering: Numbering, pairs: Numbers) -> Iterator[tuple[int, Numbers]]:
    """The pairs by the part of their number, in blocks."""
    ordered = pairs[np.argsort(pairs[:, 0])]
    borders = np.searchsorted(ordered[:, 0], numbering.borders())
    for part in range(numbering.parts):
        for at in range(int(borders[part]), int(borders[part + 1]), BLOCK_BYTES // PAIR_BYTES):
            yield part, ordered[at : min(at + BLOCK_BYTES // PAIR_BYTES, int(borders[part + 1]))]


def raise_task(shipped: Callable[[], BlockSpec], job: RoundJob) -> Callable[[Batches], Batches]:
    """The second stage: raises the marks of one part by what flows there, and says how many rose."""

    def raise_marks(batches: Batches) -> Batches:
        part, sent, pairs = came_pairs(batches)
        made = {} if part == FRAME else _raised(job, part, pairs)
        yield result_row("part", json.dumps({"sent": sent, "came": len(pairs), **made}).encode())

    return raise_marks


def came_pairs(batches: Batches) -> tuple[int, int, Numbers]:
    """The part that a task of the second stage was told or sent pairs of, else FRAME; how many were sent; the pairs."""
    sent, part, came = 0, FRAME, [np.zeros((0, 2), dtype=np.int64)]
    for bucket, _, block in rows_of(batches):
        if bucket == FRAME:
            sent += int(np.frombuffer(block, np.int64)[0])
        elif bucket == HEAD:
            part = int(np.frombuffer(block, np.int64)[0])
        else:
            part = bucket
            came.append(np.frombuffer(block, np.int64).reshape(-1, 2))
    return part, sent, np.concatenate(came)


def _raised(job: RoundJob, part: int, pairs: Numbers) -> dict[str, Any]:
    folder, (first, last) = place_of(job.folder), job.numbering.states_of(part)
    marks = marks_of(folder, job.parts[part], last - first)
    pairs = folded(pairs[:, 0], pairs[:, 1])
    own = pairs[:, 0] - first
    rising = pairs[:, 1] & ~marks[own]
    rose = (rising != 0) & ((marks[own] & job.kept) == job.kept)
    if not rose.any():
        return {}
    marks[own[rose]] |= rising[rose]
    risen = written_file(folder, "risen", number=pairs[rose, 0].copy(), bits=rising[rose])
    marked = written_file(folder, "marks", bits=marks)
    if risen is None or marked is None:
        raise RuntimeError(f"marks of part {part} rose, and there are none")
    return {"part": part, "rose": risen.rows, "risen": risen.document(), "marks": marked.document()}


def raised_round(
    runner: JobRunner, job: RoundJob, label: str, stop: threading.Event
) -> tuple[tuple[PartFiles, ...], int] | None:
    """One round by a job: the files after it, and how many marks rose; None when stopped.

    Raises:
        JobFailedError: when what it gave is not whole.
    """
    if not job.flowing:
        return tuple(job.parts.values()), 0
    first, second = flow_task(runner.shipped, job), raise_task(runner.shipped, job)
    stages = Stages(len(job.flowing), job.numbering.parts, first, second)
    done = runner.rows(stages, label, stop, here=False)
    if done is None:
        return None
    results = results_of(place_of(job.folder), done[0])
    sent, came = (sum(part[name] for part in results) for name in ("sent", "came"))
    if len(results) != job.numbering.parts or sent != came:
        raise JobFailedError(f"{label} brought back {len(results)} results, {came:,} of {sent:,} marks")
    risen = {part["part"]: part_files(part) for part in results if "part" in part}
    after = tuple(
        evolve(own, leaves=None, risen=None) if n not in risen
        else evolve(own, leaves=None, risen=risen[n].risen, marks=risen[n].marks)
        for n, own in job.parts.items()
    )  # fmt: skip
    return after, sum(part["rose"] for part in results if "part" in part)


def results_of(folder: AnyPath, rows: Iterable[Any]) -> list[dict[str, Any]]:
    """What tasks say of their parts, once the driver sees the files that they wrote.

    Raises:
        JobFailedError: when it does not.
    """
    results = [json.loads(bytes(row.payload)) for row in rows]
    for result in results:
        for name in NAMES:
            check_written(folder, file_of(result.get(name)))
    return results


def part_files(document: Any) -> PartFiles:
    """The files of a part that a document names.

    Raises:
        ValueError: for what is not as it is written.
    """
    if not isinstance(document, dict):
        raise ValueError("a part is no object")
    return PartFiles(**{name: file_of(document.get(name)) for name in NAMES})


def files_of(parts: Iterable[PartFiles]) -> Iterator[PartFile]:
    """The files of parts."""
    return (file for part in parts for name in NAMES if (file := getattr(part, name)) is not None)


def described(parts: Iterable[PartFiles]) -> list[dict[str, Any]]:
    """Parts for a document."""
    return [{name: None if (file := getattr(part, name)) is None else file.document() for name in NAMES}
            for part in parts]  # fmt: skip


NAMES = tuple(one.name for one in fields(PartFiles))
