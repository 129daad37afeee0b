"""Stretches of batches are the batches that they are made of, and runs of them come to what each comes to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kraftcheck.ci.logs.format import encode as encoding
from kraftcheck.ci.logs.format.numbering import FREE, Numbering, slot_of
from kraftcheck.ci.logs.format.read import LogError, LogFiles, Skipped, read_compact, read_stretches
from kraftcheck.ci.logs.replaying import Replaying
from kraftcheck.ci.logs.synthetic import Size, Synthetic
from kraftcheck.solvers.logs.explain.entries import Batch, Compact
from kraftcheck.solvers.logs.runs.kernel import NONE, Places, Rows, Steps, advance, put, triple_of
from kraftcheck.solvers.logs.runs.runs import Run
from kraftcheck.solvers.logs.runs.stretches import OTHER, UNREAD, Stretch
from tests.shared.captures import EVERY
from tests.solvers.logs.spreading import log_of

SMALL = Size(brokers=5, topics=4, partitions=5, records=6000, seed=3)

NO_OP = b"\1\24\0\0"
"""A record that keeps a log moving; replica logic does not read it."""

Told = tuple[int, int, int, list[bytes | None], list[object]]


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> LogFiles:
    """A log of some thousand records."""
    folder = tmp_path_factory.mktemp("synthetic")
    (folder / f"{0:020}.log").write_bytes(b"".join(Synthetic(SMALL).batches()))
    return log_of(folder)


def told(batch: Compact) -> Told:
    """What a compact batch is, without what it decodes."""
    return batch.base_offset, batch.last_offset, batch.epoch, list(batch.keys), list(batch.bodies)


def apart(found: Stretch) -> list[Told]:
    """The batches of a stretch as its numbers tell them."""
    names, rows = found.names, []
    for place in range(len(found)):
        start, end = found.starts[place : place + 2].tolist()
        keys = [None if key < 0 else names.keys[key] for key in found.keys[start:end].tolist()]
        bodies: list[object] = [None if body == OTHER else names.bodies[body] for body in found.bodies[start:end]]
        base, after = found.bases[place : place + 2].tolist()
        rows.append((base, after - 1, found.epoch, keys, bodies))
    return rows


def same(log: LogFiles) -> int:
    """Compare stretches with compact batches, both as numbers and decoded; how many batches are in stretches."""
    other, inside = read_compact(log, Skipped(0)), 0
    for found in read_stretches(log, Skipped(0)):
        if isinstance(found, Stretch):
            batches = [batch for batch in (next(other) for _ in range(len(found))) if isinstance(batch, Compact)]
            assert apart(found) == [told(batch) for batch in batches]
            assert [found.place(place) for place in range(len(found))] == [batch.place for batch in batches]
            assert [found.other] == list({batch.base_offset: batch.other for batch in batches}.values())[-1:]
            assert found.other is None or len(found) == 1
            assert [told(found.batch(place)) for place in range(len(found))] == [told(batch) for batch in batches]
            changes = [(found.entry(n).data or {}) for n, key in enumerate(found.keys.tolist()) if key >= 0]
            assert all(data.get("replicas") is None for data in changes)
            inside += len(found)
            continue
        batch = next(other)
        if isinstance(found, Batch):
            assert found == batch
        else:
            assert isinstance(batch, Compact)
            assert told(found) == told(batch)
    assert next(other, None) is None
    return inside


@pytest.mark.parametrize("folder", EVERY, ids=lambda folder: folder.name)
def test_stretches_of_a_real_log_are_its_batches(folder: Path) -> None:
    """Numbers stand for the partitions and bytes of the batches read one by one; no change in them sets replicas."""
    assert same(log_of(folder)) > 10


def test_stretches_of_a_synthetic_log_are_its_batches(synthetic: LogFiles) -> None:
    """So they do in a long log, nearly all of which is in stretches."""
    assert same(synthetic) > 1000


def test_records_that_are_not_read_are_in_stretches(tmp_path: Path) -> None:
    """A record of another kind is known by its bytes; one of a kind that is read, or that is broken, is left out."""
    fence = encoding.record("FENCE_BROKER_RECORD", 0, {"id": 1, "epoch": 1})
    path = tmp_path / "log.log"
    parts = [encoding.batch(n, 1, [NO_OP]) for n in range(3)] + [encoding.batch(3, 1, [fence, NO_OP])]
    path.write_bytes(b"".join(parts))
    first, second = read_stretches(log_of(path), Skipped(0))
    assert isinstance(first, Stretch)
    assert [row[4] for row in apart(first)] == [["NO_OP_RECORD"]] * 3
    assert isinstance(second, Compact)
    path.write_bytes(b"".join(parts) + encoding.batch(5, 1, [b"\1\5\0"]))
    with pytest.raises(LogError, match="offset 5: "):
        list(read_stretches(log_of(path), Skipped(0)))


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_segment_is_refused_in_the_same_words(synthetic: LogFiles, tmp_path: Path, seed: int) -> None:
    """Whatever byte is changed or the file cut, the place and the reason are those of batches read one by one."""
    raw = bytearray(synthetic.files[0].read_bytes())
    at = int(np.random.default_rng(seed).integers(len(raw)))
    if seed % 4:
        raw[at] ^= 1 << seed % 8
    path = tmp_path / "log.log"
    path.write_bytes(raw if seed % 4 else raw[:at])
    reasons = []
    for reader in (read_compact, read_stretches):
        with pytest.raises(LogError) as refused:
            list(reader(log_of(path), Skipped(0)))
        reasons.append(str(refused.value))
    assert reasons[0] == reasons[1]


def test_missing_offsets_and_falling_epochs_are_told_of_stretches(tmp_path: Path) -> None:
    """A stretch that does not follow, or is of an earlier epoch, is refused at its first batch."""
    path = tmp_path / "log.log"
    path.write_bytes(encoding.batch(0, 2, [NO_OP]) + encoding.batch(2, 2, [NO_OP]))
    with pytest.raises(LogError, match="byte 72: offset 1 should follow, but the batch begins at 2"):
        list(read_stretches(log_of(path), Skipped(0)))
    path.write_bytes(encoding.batch(0, 2, [NO_OP]) + encoding.batch(1, 1, [NO_OP]))
    with pytest.raises(LogError, match="byte 72: epoch 1 after 2"):
        list(read_stretches(log_of(path), Skipped(0)))


def test_most_of_a_share_is_replayed_in_runs(synthetic: LogFiles) -> None:
    """Compiled code takes nearly all of the second half, events too; the state behind is that of one by one."""
    shares = [Replaying(None).share(0, 2) for _ in range(2)]
    half = SMALL.records // 2
    run = alone = events = 0
    for part in shares[0].parts(read_stretches(synthetic, Skipped(0))):
        if part.last_offset > half:
            run += part.last - part.first if isinstance(part, Run) else 0
            alone += not isinstance(part, Run)
        events += isinstance(part, Run) and bool(part.fits)
    assert run > 20 * alone
    assert events > 50
    assert not any(isinstance(part, Run) for part in shares[1].parts(read_compact(synthetic, Skipped(0))))
    assert shares[0].state.controller.image.topics == shares[1].state.controller.image.topics


def test_byte_strings_keep_their_numbers_as_the_table_grows() -> None:
    """Each string has one number, the same bytes with another head have another, and the empty one has one too."""
    numbering, words = Numbering(), [str(n * n).encode() for n in range(3000)] + [b""]
    data = np.frombuffer(b"".join(words), np.uint8)
    starts = np.cumsum([0, *map(len, words)]).tolist()
    first = {(w, h): numbering.add(data, s, len(w), h) for w, s in zip(words, starts, strict=False) for h in (0, 256)}
    again = {(w, h): numbering.add(data, s, len(w), h) for w, s in zip(words, starts, strict=False) for h in (0, 256)}
    assert first == again
    assert sorted(first.values()) == list(range(len(first))) == list(range(len(numbering)))
    slots = numbering.table.slots
    assert slots[slot_of(numbering.table, np.frombuffer(b"x", np.uint8), 0, 1, 0)] == FREE


def test_a_run_ends_at_what_is_not_known() -> None:
    """Before a batch with an unknown change, with two of one partition, or of one without situation; others' pass."""
    steps = Steps(*(np.zeros(8, kind) for kind in (np.int64, np.int32, np.int32, np.int64, np.int64)))
    steps.triples[:] = NONE
    put(steps, triple_of(0, 0, 5), 1)  # change 5 leaves situation 0 as it is, and raises the leader epoch
    steps.leader[1] = 1

    def ran(*batches: tuple[tuple[int, int], ...]) -> tuple[int, list[int]]:
        places = Places(*(np.zeros(4, kind) for kind in (bool, np.int32, np.int64, np.int64, np.int64, bool)))
        places.own[:3], places.at[2], places.seen[:] = True, NONE, NONE
        rows = Rows(*(np.zeros(9, kind) for kind in (np.int64, np.int32, np.int32, np.int64, np.int64)))
        starts = np.cumsum([0, *map(len, batches)])
        keys, bodies = (np.array(column, np.int32) for column in zip(*(r for b in batches for r in b), strict=True))
        last, count = advance(0, 7, starts, keys, bodies, places, steps, rows)
        return last, rows.leader_epoch[:count].tolist()

    assert ran(((0, 5), (1, 5)), ((0, 5),)) == (2, [1, 1, 2])
    assert ran(((0, 5),), ((1, 5), (0, 6))) == (1, [1])
    assert ran(((0, 5),), ((0, 5), (0, 5))) == (1, [1])
    assert ran(((2, 5),)) == (0, [])
    assert ran(((3, 6), (UNREAD, 6)), ((0, 5),)) == (2, [1])
