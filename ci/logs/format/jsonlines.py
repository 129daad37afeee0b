"""JSON lines of records: one object a line, with `offset`, `type`, `version`, `data`.

Records with the same `batch` were written together; without it each record is
a batch of its own. `epoch` is that of the quorum's leader, 0 unless given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter

from kraftcheck.ci.logs.format.dumptext import DECODER, entry_of
from kraftcheck.ci.logs.format.segments import Problem
from kraftcheck.solvers.logs.explain.entries import Batch, LogEntry

KEYS = {"offset", "batch", "epoch", "type", "version", "data", "control"}
"""What a line may hold."""

_Row = tuple[int, int, bool, LogEntry, str]


def batches(lines: Iterable[str], name: str, problem: Problem) -> Iterator[Batch]:
    """Every batch; `problem` is called for each line that is no record."""
    for (base, epoch, control), rows in groupby(_rows(lines, name, problem), itemgetter(0, 1, 2)):
        group = list(rows)
        for due, row in zip((base, *(row[3].offset + 1 for row in group)), group, strict=False):
            if row[3].offset != due:
                problem(row[4], f"offset {due} should follow in the batch, not {row[3].offset}")
        entries = tuple(row[3] for row in group)
        yield Batch(base, entries[-1].offset, epoch, entries, group[0][4], control)


def _rows(lines: Iterable[str], name: str, problem: Problem) -> Iterator[_Row]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        place = f"{name}:{number}"
        try:
            value = DECODER.decode(line)
        except (ValueError, RecursionError) as reason:
            problem(place, f"not JSON: {reason}")
            continue
        if not isinstance(value, dict) or type(value.get("offset")) is not int:
            problem(place, "a line is an object with a whole number `offset`")
            continue
        if unknown := sorted(value.keys() - KEYS):
            problem(place, f"unknown key {unknown[0]!r}; there are {', '.join(sorted(KEYS))}")
            continue
        offset = value["offset"]
        base, epoch, control = value.get("batch", offset), value.get("epoch", 0), value.get("control", False)
        if type(base) is not int or type(epoch) is not int or type(control) is not bool:
            problem(place, "`batch` and `epoch` are whole numbers, `control` is true or false")
            continue
        entry = entry_of(line, offset, place, problem)
        if entry is not None:
            yield base, epoch, control, entry, place
