"""Groups as columns: read as they were written, whole or in part, and refused when they are something else."""

from __future__ import annotations

import base64
import zlib

import numpy as np
import pytest

from kraftcheck.ci.dataset.store.groups import PLACE, Groups, RowGroup

WRITTEN = [
    RowGroup(0, "a", 0, 7), RowGroup(1, "a", 0, 1, 7), RowGroup(300, "a", 1, 1 << 31), RowGroup(65_535, "b", 70_000, 9),
]  # fmt: skip


def text(data: bytes) -> str:
    """Bytes as a manifest has them."""
    return base64.b64encode(zlib.compress(data)).decode()


def test_groups_are_read_as_they_were_written() -> None:
    """Columns give back each group, alone and in order, and are equal only if all of it is."""
    groups = Groups.of(WRITTEN)
    assert list(groups) == WRITTEN
    assert (groups[2], groups.rows) == (WRITTEN[2], 17 + (1 << 31))
    assert Groups.unpacked(["a", "b"], groups.packed()) == groups
    assert Groups.of(WRITTEN[:3]) != Groups.of([*WRITTEN[:2], RowGroup(300, "a", 1, 1)])
    assert Groups.unpacked([], Groups().packed()) == Groups()


def test_groups_of_some_buckets() -> None:
    """From one bucket on, up to another that does not count."""
    groups = Groups.of(WRITTEN)
    assert list(groups.within(1, 300)) == WRITTEN[1:2]
    assert list(groups.within(1, 301)) == WRITTEN[1:3]
    assert list(groups[2:]) == WRITTEN[2:]


def test_groups_of_several_tasks() -> None:
    """What tasks wrote into files of their own keeps its file."""
    assert list(Groups.joined([Groups.of(WRITTEN[:3]), Groups(), Groups.of(WRITTEN[3:])])) == WRITTEN
    assert Groups.joined([]) == Groups()


@pytest.mark.parametrize(
    "wrong",
    ["@", text(b"1234"), base64.b64encode(b"no zlib").decode(), Groups.of(WRITTEN).packed()[:-8],
     text(bytes([0, 0, 2] + [0] * (PLACE.itemsize - 3)))],
)  # fmt: skip
def test_other_text_is_refused(wrong: str) -> None:
    """Text that is none, or cut, or of other rows, or that names a file that is not there, is an error of its value."""
    with pytest.raises(ValueError, match=r"."):
        Groups.unpacked(["a", "b"], wrong)


def test_groups_of_many_buckets_are_small() -> None:
    """Of 4,096 buckets with some 40,000 rows each a place takes 18 bytes in memory, and less than 3 in a manifest."""
    rows = np.random.default_rng(1).poisson(40_000, 4096).tolist()
    groups = Groups.of(RowGroup(at, f"part-{at // 64}", at % 64, count) for at, count in enumerate(rows))
    assert groups.table.nbytes == 18 * 4096
    assert len(groups.packed()) < 3 * 4096
