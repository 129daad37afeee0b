"""Groups as columns: read as they were written, whole or in part, and refused when they are something else."""

import base64
import itertools
import zlib

import numpy as np
import pytest

from kraftcheck.ci.dataset.store.levelfiles import PLACE, BucketRange, Groups, RowGroup

BITS = 16
WRITTEN = [
    RowGroup(0, "a", 0, 7), RowGroup(1, "a", 0, 1, 7), RowGroup(300, "a", 1, 1 << 31), RowGroup(65_535, "b", 70_000, 9),
]  # fmt: skip


def text(data: bytes) -> str:
    """Bytes as a manifest has them."""
    return base64.b64encode(zlib.compress(data)).decode()


def test_groups_are_read_as_they_were_written() -> None:
    """Columns give back each group, alone and in order, and are equal only if all of it is."""
    groups = Groups.of(WRITTEN, BITS)
    assert list(groups) == WRITTEN
    assert (groups[2], groups.rows) == (WRITTEN[2], 17 + (1 << 31))
    assert Groups.unpacked(["a", "b"], groups.packed(), BITS) == groups
    assert Groups.of(WRITTEN[:3], BITS) != Groups.of([*WRITTEN[:2], RowGroup(300, "a", 1, 1)], BITS)
    assert Groups.unpacked([], Groups.empty(BITS).packed(), BITS) == Groups.empty(BITS)


def test_groups_of_some_buckets() -> None:
    """From one bucket on, up to another that does not count."""
    groups = Groups.of(WRITTEN, BITS)
    assert list(groups.within(BucketRange(1, 300, BITS))) == WRITTEN[1:2]
    assert list(groups.within(BucketRange(1, 301, BITS))) == WRITTEN[1:3]
    assert list(groups[2:]) == WRITTEN[2:]


@pytest.mark.parametrize("bits", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("own", [1, 2, 3, 5, 8])
def test_buckets_are_covered_by_others(bits: int, own: int) -> None:
    """Of finer or coarser buckets those are chosen that have a hash in common with the range, and no other."""
    for lo, hi in itertools.combinations(range((1 << bits) + 1), 2):
        chosen = BucketRange(lo, hi, bits).of(own)
        hashes = range(lo << 8 - bits, hi << 8 - bits)
        assert chosen.bits == own
        assert (chosen.lo, chosen.hi) == (hashes[0] >> 8 - own, (hashes[-1] >> 8 - own) + 1)


def test_finer_and_coarser_groups_of_some_buckets() -> None:
    """A level with coarser buckets gives those that hold the range, one with finer buckets those that are in it."""
    coarse = Groups.of([RowGroup(bucket, "a", bucket, 1) for bucket in range(4)], 2)
    assert [group.bucket for group in coarse.within(BucketRange(3, 5, 3))] == [1, 2]
    fine = Groups.of([RowGroup(bucket, "a", bucket, 1) for bucket in range(8)], 3)
    assert [group.bucket for group in fine.within(BucketRange(1, 2, 2))] == [2, 3]


def test_groups_of_several_tasks() -> None:
    """What tasks wrote into files of their own keeps its file."""
    parts = [Groups.of(WRITTEN[:3], BITS), Groups.empty(BITS), Groups.of(WRITTEN[3:], BITS)]
    assert list(Groups.joined(parts, BITS)) == WRITTEN
    assert Groups.joined([], BITS) == Groups.empty(BITS)


@pytest.mark.parametrize(
    "wrong",
    ["@", text(b"1234"), base64.b64encode(b"no zlib").decode(), Groups.of(WRITTEN, BITS).packed()[:-8],
     text(bytes([0, 0, 2] + [0] * (PLACE.itemsize - 3)))],
)  # fmt: skip
def test_other_text_is_refused(wrong: str) -> None:
    """Text that is none, or cut, or of other rows, or that names a file that is not there, is an error of its value."""
    with pytest.raises(ValueError, match=r"."):
        Groups.unpacked(["a", "b"], wrong, BITS)


def test_a_bucket_that_is_not_there_is_refused() -> None:
    """A table with a bucket whose number has more bits than its level's is an error of its value."""
    with pytest.raises(ValueError, match="more than 8 bits"):
        Groups.unpacked(["a", "b"], Groups.of(WRITTEN, BITS).packed(), 8)


def test_groups_of_many_buckets_are_small() -> None:
    """Of 4,096 buckets with some 40,000 rows each a place takes 18 bytes in memory, and less than 3 in a manifest."""
    rows = np.random.default_rng(1).poisson(40_000, 4096).tolist()
    groups = Groups.of((RowGroup(at, f"part-{at // 64}", at % 64, count) for at, count in enumerate(rows)), BITS)
    assert groups.table.nbytes == 18 * 4096
    assert len(groups.packed()) < 3 * 4096
