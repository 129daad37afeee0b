"""Reading metadata logs: segments, the dump tool's output, JSON lines; and what cannot be read."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from kraftcheck.ci.logs.command import replay
from kraftcheck.ci.logs.format import encode as encoding
from kraftcheck.ci.logs.format.fields import WireError, decode
from kraftcheck.ci.logs.format.read import LogError, SkipCount, find, read, read_compact
from kraftcheck.ci.logs.format.schemas import RECORDS, fields_of
from kraftcheck.solvers.logs.explain.entries import Batch
from tests.shared.captures import ELR, EVERY, TROUBLE, batches, json_lines

SEGMENT = ELR / "00000000000000000000.log"


def from_file(path: Path, allowed: int = 0) -> tuple[list[Batch], SkipCount]:
    """The batches of one file, and what was skipped."""
    skipped = SkipCount(allowed)
    return [batch for log in find((path,)) for batch in read(log, skipped)], skipped


@pytest.mark.parametrize("folder", EVERY, ids=lambda folder: folder.name)
def test_segments_read_as_kafkas_own_tool_reads_them(folder: Path) -> None:
    """Our decoder and kafka-dump-log give the same batches and records; before 4.1 the tool names no elected leader."""
    decoded, _ = from_file(folder / "decoded.txt")

    def contents(batches_given: tuple[Batch, ...] | list[Batch]) -> list[object]:
        return [
            (
                b.base_offset,
                b.last_offset,
                b.epoch,
                b.control,
                [(e.offset, e.type, e.version, {} if b.control else e.data) for e in b.entries],
            )
            for b in batches_given
        ]

    binary = from_file(folder / SEGMENT.name)[0]
    assert contents(binary) == contents(decoded)
    leaders = [e.data for b in binary for e in b.entries if e.type == "LEADER_CHANGE"]
    assert leaders
    assert {leader["leaderId"] for leader in leaders} <= {100, 101, 102}
    assert sum(len(batch.entries) for batch in binary) > 150


def test_json_lines_read_back(tmp_path: Path) -> None:
    """Batches written as JSON lines are read as they were."""
    path = tmp_path / "log.jsonl"
    path.write_text(json_lines(batches()), encoding="utf-8")
    assert [batch.entries for batch in from_file(path)[0]] == [batch.entries for batch in batches()]


@pytest.mark.parametrize("number", [0, 1, 20, -1])
@pytest.mark.parametrize("byte", [21, 40, 61])
def test_a_flipped_bit_fails_the_checksum(tmp_path: Path, number: int, byte: int) -> None:
    """One wrong bit in what the checksum covers is refused, with the file and the byte where the batch begins."""
    data = bytearray(SEGMENT.read_bytes())
    data[int(from_file(SEGMENT)[0][number].place.split("byte ")[1]) + byte] ^= 1
    path = tmp_path / SEGMENT.name
    path.write_bytes(data)
    with pytest.raises(LogError, match=r"\.log: byte \d+: "):
        from_file(path)


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_segment_is_refused_in_the_same_words(tmp_path: Path, seed: int) -> None:
    """Whatever byte is changed or the file cut, batches left undecoded are refused as decoded ones are."""
    raw = bytearray((TROUBLE / SEGMENT.name).read_bytes())
    at = int(np.random.default_rng(seed).integers(len(raw)))
    if seed % 4:
        raw[at] ^= 1 << seed % 8
    path = tmp_path / SEGMENT.name
    path.write_bytes(raw if seed % 4 else raw[:at])
    reasons = []
    for reader in (read, read_compact):
        with pytest.raises(LogError) as refused:
            list(reader(find((path,))[0], SkipCount(0)))
        reasons.append(str(refused.value))
    assert reasons[0] == reasons[1]


def test_a_truncated_segment_is_refused(tmp_path: Path) -> None:
    """A segment that ends inside a batch is refused; zeros at the end of a preallocated one are not records."""
    path = tmp_path / SEGMENT.name
    path.write_bytes(SEGMENT.read_bytes()[:-5])
    with pytest.raises(LogError, match="are left"):
        from_file(path)
    path.write_bytes(SEGMENT.read_bytes() + bytes(1000))
    assert len(from_file(path)[0]) == len(from_file(SEGMENT)[0])


def test_skipping_is_counted_and_limited(tmp_path: Path) -> None:
    """`--allow-skipped N` passes over N undecodable lines with their places, and refuses the next one."""
    lines = (ELR / "decoded.txt").read_text(encoding="utf-8").splitlines()
    path = tmp_path / "decoded.txt"
    path.write_text("\n".join([*lines, "no line of the tool", "nor this"]), encoding="utf-8")
    with pytest.raises(LogError, match=f"decoded.txt:{len(lines) + 1}: not a line"):
        from_file(path)
    with pytest.raises(LogError, match="the 2th"):
        from_file(path, 1)
    assert [place.split(": ")[0] for place in from_file(path, 2)[1].places] == [
        f"{path}:{len(lines) + 1}", f"{path}:{len(lines) + 2}"
    ]  # fmt: skip


def test_missing_offsets_are_refused(tmp_path: Path) -> None:
    """A log with a batch taken out is refused at the batch after the gap."""
    path = tmp_path / "log.jsonl"
    kept = [batch for batch in batches() if batch.base_offset != batches()[5].base_offset]
    path.write_text(json_lines(kept), encoding="utf-8")
    with pytest.raises(LogError, match="should follow"):
        from_file(path)


def test_an_epoch_that_falls_is_refused(tmp_path: Path) -> None:
    """A batch of an earlier epoch than the one before it is refused, with the byte where it begins."""
    path, no_op = tmp_path / "log.log", b"\1\24\0\0"
    path.write_bytes(encoding.batch(0, 2, [no_op]) + encoding.batch(1, 1, [no_op]))
    for reader in (read, read_compact):
        with pytest.raises(LogError, match="byte 72: epoch 1 after 2"):
            list(reader(find((path,))[0], SkipCount(0)))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.log", b"", "no record batch"),
        ("empty.jsonl", b"\n", "no record batch"),
        ("odd.jsonl", b'{"offset": 0, "tpye": 1}\n', "unknown key 'tpye'"),
        ("odd.jsonl", b'{"type": "X"}\n', "whole number `offset`"),
        ("odd.jsonl", b'{"offset": 0, "type": "X", "version": 0}\n', "not a record: KeyError"),
        ("odd.jsonl", b'{"offset": 0, "type": "TOPIC_RECORD", "version": 0, "data": {"name": 3}}\n', "name"),
        ("odd.bin", b"\xff\xfe\x00", "neither text nor"),
    ],
)
def test_bad_input_names_the_place(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    """Nothing read, and every malformed line, is one line of refusal that names the file."""
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(Exception, match=message) as refused:
        replay(find((path,))[0], None)
    assert name in str(refused.value)
    assert getattr(refused.value, "exit_code", 0) == 2


def test_folders_hold_logs(tmp_path: Path) -> None:
    """Each folder with segments is one log; a folder without any is refused, as is a path that is not there."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        shutil.copy(SEGMENT, tmp_path / name)
    assert [Path(log.name).name for log in find((tmp_path,))] == ["a", "b"]
    (tmp_path / "none").mkdir()
    with pytest.raises(LogError, match="no log in this folder"):
        find((tmp_path / "none",))
    with pytest.raises(LogError, match="no such file"):
        find((tmp_path / "missing",))


def test_what_is_unknown_has_no_fields_unless_the_model_reads_its_kind() -> None:
    """An unknown kind, and an unknown version of a kind that is not read, are named; one that is read is an error."""
    assert decode(bytes([1, 99, 0, 1, 2, 3])) == ("UNKNOWN_99", 0, None)
    assert decode(bytes([1, 14, 9, 1, 2, 3])) == ("CLIENT_QUOTA_RECORD of version 9", 9, None)
    with pytest.raises(WireError, match="version 9; known are 0 to 2"):
        decode(bytes([1, 5, 9]))
    with pytest.raises(WireError, match="leaves 1 bytes over"):
        decode(bytes([1, 20, 0, 0, 0]))
    with pytest.raises(WireError, match="frame version 2"):
        decode(bytes([2, 20, 0, 0]))


def test_every_layout_is_one_of_kafkas() -> None:
    """Layouts have distinct names and tags, and no field since a version that there is not."""
    assert len({form.name for form in RECORDS.values()}) == len(RECORDS)
    for form in RECORDS.values():
        tags = [field.tag for field in form.fields if field.tag is not None]
        assert sorted(tags) == list(range(len(tags)))
        assert all(field.since <= form.highest for field in form.fields)
    with pytest.raises(ValueError, match="is no field"):
        fields_of("isr [int32")
