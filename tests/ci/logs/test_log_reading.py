"""Reading metadata logs: segments, the dump tool's output, JSON lines; and what cannot be read."""

import gzip
import json
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kraftcheck as kc
from kraftcheck.ci.logs.format import segments
from kraftcheck.ci.logs.format.fields import RECORDS, WireError, decode, fields_of
from kraftcheck.ci.logs.format.read import LogError, SkipCount, find, read, read_compact
from kraftcheck.ci.logs.report import ReplayOptions
from kraftcheck.solvers.logs.explain.state import Batch
from tests.ci.fuzz.batches import RawBatch, record, sealed
from tests.ci.fuzz.bounds import bounded
from tests.ci.logs.test_log_picture import data
from tests.shared.captures import ELR, EVERY, TROUBLE, batches, json_lines, segment, with_data
from tests.shared.commands import kraftcheck

SEGMENT = ELR / "00000000000000000000.log"


def from_file(path: Path, allowed: int = 0) -> tuple[list[Batch], SkipCount]:
    """The batches of one file, and what was skipped."""
    skipped = SkipCount(allowed)
    return [batch for log in find((path,)) for batch in read(log, skipped)], skipped


@pytest.mark.parametrize("folder", EVERY, ids=lambda folder: folder.name)
def test_segments_read_as_kafkas_own_tool_reads_them(folder: Path) -> None:
    """Our decoder and kafka-dump-log give the same batches, times and records; before 4.1 it names no leader."""
    decoded, _ = from_file(folder / "decoded.txt")

    def contents(batches_given: tuple[Batch, ...] | list[Batch]) -> list[object]:
        return [
            (
                b.base_offset,
                b.last_offset,
                b.epoch,
                b.control,
                b.time,
                [(e.offset, e.type, e.version, {} if b.control else e.data) for e in b.entries],
            )
            for b in batches_given
        ]

    binary = from_file(folder / SEGMENT.name)[0]
    assert contents(binary) == contents(decoded)
    of_both = ([e.data for b in one for e in b.entries if e.type == "LEADER_CHANGE"] for one in (binary, decoded))
    leaders, named = of_both
    assert named in (leaders, [{}] * len(leaders))
    assert {leader["leaderId"] for leader in leaders} <= {*leaders[0]["voters"]} <= {100, 101, 102}
    assert sum(len(batch.entries) for batch in binary) > 150


@pytest.mark.parametrize(
    ("kind", "value", "data"),
    [
        (2, b"\0\0\0\0\0\7\3\0\0\0\7\0\0\0\0\x08\0\2\0\0\0\7\0\0", {"leaderId": 7, "voters": [7, 8]}),
        (2, b"\0\1\0\0\0\7\2\0\0\0\7" + bytes(17) + b"\1\0", {"leaderId": 7, "voters": [7]}),
        (2, b"\0\2\0\0\0\7\2\0\0\0\7\0\1\0", {"leaderId": 7}),
        (2, b"\0\0\0\0\0\7\3\0\0\0\7", {"leaderId": 7}),
        (6, b"\0\0\2\0\0\0\7" + bytes(16) + b"\2\2C\2k\x23\x84\0\0\0\0\1\0\0\0", {"voters": [7]}),
        (6, b"\0\0\2\0", {}), (5, b"\0\0\0\1\0", {}),
    ],
)  # fmt: skip
def test_who_votes_is_read_from_segments(kind: int, value: bytes, data: dict[str, Any], tmp_path: Path) -> None:
    """Records on the quorum name its voters in each known version; of another, or damaged, one who was elected is."""
    key = b"\0\0" + struct.pack(">h", kind)
    body = b"\0\0\0" + segments.signed(len(key)) + key + segments.signed(len(value)) + value + b"\0"
    path = tmp_path / "0.log"
    path.write_bytes(sealed(1, 0, segments.signed(len(body)) + body, 0x20))
    assert from_file(path)[0][0].entries[0].data == data


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
def test_of_a_damaged_segment_the_same_is_said(tmp_path: Path, seed: int) -> None:
    """Whatever byte is changed or the file cut, of batches left undecoded the same is said as of decoded ones."""
    raw = bytearray((TROUBLE / SEGMENT.name).read_bytes())
    at = int(np.random.default_rng(seed).integers(len(raw)))
    if seed % 4:
        raw[at] ^= 1 << seed % 8
    path = tmp_path / SEGMENT.name
    path.write_bytes(raw if seed % 4 else raw[:at])
    said = []
    for reader in (read, read_compact):
        skipped = SkipCount(0)
        try:
            list(reader(find((path,))[0], skipped))
        except LogError as refused:
            said.append(str(refused))
        else:
            said.append("".join(skipped.notes))
    assert said[0] == said[1]
    assert ": byte " in said[0]


def test_a_segment_may_be_cut_anywhere(tmp_path: Path) -> None:
    """Its whole batches are read, and the rest is named; zeros at its end are what was lost."""
    path, raw = tmp_path / SEGMENT.name, SEGMENT.read_bytes()
    whole = from_file(SEGMENT)[0]
    starts = [int(batch.place.rpartition(" ")[2]) for batch in whole]
    last = starts[-1]
    for size in (*range(last - 3, len(raw), 7), len(raw) - 1):
        path.write_bytes(raw[:size])
        found, skipped = from_file(path)
        assert len(found) == sum(one < size for one in starts) - (size not in starts)
        end = max(one for one in starts if one <= size)
        cut = "are no whole batch: the file is cut off here; left out"
        cut = cut if any(raw[end:size]) else "are zeros: what was to be written here is lost"
        told = [f"WARNING: {path}: byte {end}: {size - end} bytes {cut}"] if size > end else []
        assert (list(skipped.notes), list(skipped.incomplete)) == (told, ["the log is cut off"] * len(told))
    for zeros in (1, 5, 4096):
        path.write_bytes(raw + bytes(zeros))
        found, skipped = from_file(path)
        assert (len(found), list(skipped.incomplete)) == (len(whole), ["the log is cut off"])


def test_damage_is_no_cut(tmp_path: Path) -> None:
    """A length beyond the file is refused where whole batches follow, in a segment before others, and at byte 0."""
    path, raw = tmp_path / SEGMENT.name, bytearray(SEGMENT.read_bytes())
    at = int(from_file(SEGMENT)[0][3].place.rpartition(" ")[2])
    raw[at + 8] = 1
    path.write_bytes(raw)
    with pytest.raises(LogError, match="are left"):
        from_file(path)
    path.write_bytes(SEGMENT.read_bytes()[:-5])
    (tmp_path / f"{10**6:020}.log").write_bytes(SEGMENT.read_bytes())
    with pytest.raises(LogError, match="are left"):
        list(read(find((tmp_path,))[0], SkipCount(0)))
    path.write_bytes(SEGMENT.read_bytes()[:70])
    with pytest.raises(LogError, match=r"byte 0: "):
        from_file(path)


@pytest.mark.parametrize("name", ["a b", "", ".", "..", "x" * 250, "::error::a", "a\x1b[2J", "é"])
def test_a_topic_that_kafka_would_refuse_is_refused(tmp_path: Path, name: str) -> None:
    """A name outside Kafka's letters or of another length is named, with its control characters shown."""
    topic = {"name": name, "topicId": "5zoAlv-xEh9xRANKXt1Lbg"}
    row = {"offset": 0, "epoch": 1, "type": "TOPIC_RECORD", "version": 0, "data": topic}
    text, binary = tmp_path / "log.jsonl", tmp_path / "log.log"
    text.write_text(json.dumps(row), encoding="utf-8")
    binary.write_bytes(segments.batch_bytes(0, 1, [segments.record_bytes("TOPIC_RECORD", 0, topic)]))
    for path in (text, binary):
        ran = kraftcheck("replay", path)
        assert (ran.code, ran.out) == (2, "")
        assert "Kafka refuses" in ran.err
        assert "\x1b" not in ran.err


def texts_of(value: object) -> list[str]:
    """Every text in a document."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value] if isinstance(value, str) else [text for part in inner for text in texts_of(part)]


def test_no_text_of_a_log_reaches_the_terminal_raw(tmp_path: Path) -> None:
    """Escapes and ends of lines in types and values are shown, also on pages, and no line is a command of a job."""
    path, page = tmp_path / "log.jsonl", tmp_path / "log.html"
    hostile = "\x1b]0;x\x07\n::error title=x::y\u202e"
    level = {"name": "metadata.version", "featureLevel": 25}
    rows = [
        {"offset": 0, "epoch": 1, "type": "FEATURE_LEVEL_RECORD", "version": 0, "data": level},
        {"offset": 1, "epoch": 1, "type": hostile, "version": 0, "data": {}},
        {"offset": 2, "epoch": 1, "type": "CONFIG_RECORD", "version": 0,
         "data": {"resourceType": 4, "resourceName": hostile, "name": hostile, "value": hostile}},
    ]  # fmt: skip
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    shown_by = []
    for words in (("replay", path), ("replay", path, "--verbose"), ("whatif", path), ("replay", path, "--html", page)):
        ran = kraftcheck(*words)
        shown_by.append(ran.out + ran.err)
    drawn = page.read_text(encoding="utf-8")
    for shown in (*shown_by, kc.replay(path).text, drawn, "\n".join(texts_of(data(drawn)))):
        assert shown.strip()
        assert not set(shown) & {"\x1b", "\x07", "\u202e"}
        assert not any(line.strip().startswith("::") for line in shown.splitlines())


def test_skipping_is_counted_and_limited(tmp_path: Path) -> None:
    """`--allow-skipped N` passes over N undecodable lines with their places, and refuses the next one."""
    lines = (ELR / "decoded.txt").read_text(encoding="utf-8").splitlines()
    path = tmp_path / "decoded.txt"
    path.write_text("\n".join([*lines, "{no line of the tool}", "{nor this}"]), encoding="utf-8")
    with pytest.raises(LogError, match=f"decoded.txt:{len(lines) + 1}: not a line"):
        from_file(path)
    with pytest.raises(LogError, match="--allow-skipped 2 passes over this, too"):
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
    path.write_bytes(segments.batch_bytes(0, 2, [no_op]) + segments.batch_bytes(1, 1, [no_op]))
    for reader in (read, read_compact):
        with pytest.raises(LogError, match="byte 72: epoch 1 after 2"):
            list(reader(find((path,))[0], SkipCount(0)))


TWO = record(0) + record(1)


def test_a_batch_that_says_the_truth_is_read() -> None:
    """Plain and in gzip: a batch whose numbers fit its records has them all."""
    for made in (sealed(2, 1, TWO), sealed(2, 1, gzip.compress(TWO), attributes=1)):
        (batch,) = segments.batches(made, "a.log", pytest.fail)
        assert [entry.offset for entry in batch.entries] == [0, 1]


def numbered(base: int) -> bytes:
    """A batch of two records from an offset on."""
    return RawBatch([base, 0, 1, 2, 0, 0, 1, 0, 0, -1, -1, -1, 2], TWO).mended()


def keyed(key: bytes, value: bytes = b"\0\0\0\0\0\1") -> bytes:
    """A record with a key."""
    body = b"\0\0\0" + segments.signed(len(key)) + key + segments.signed(len(value)) + value + b"\0"
    return segments.signed(len(body)) + body


LONG = b"\0" + b"\x80" * 11 + b"\0" + record(0)[3:]  # a record whose time takes twelve bytes


@pytest.mark.parametrize(
    ("forged", "message"),
    [
        (sealed(0, 1, TWO), "counts 0 records, and its offsets are of 2"),
        (sealed(0, -1, b""), "counts 0 records"),
        (sealed(-5, 1, TWO), "counts -5 records"),
        (sealed(1, 1, TWO), "counts 1 records, and its offsets are of 2"),
        (sealed(1, 0, TWO), "11 bytes after the last of its 1 records"),
        (sealed(2_000_000_000, 1_999_999_999, TWO), "bytes wanted"),
        (sealed(2, 1, record(0) + record(0)), "offset 1: the record says 0"),
        (sealed(2, 1, record(1) + record(0)), "offset 0: the record says 1"),
        (sealed(1, 0, record(0, more=b"x")), "offset 0: 1 bytes after the record"),
        (sealed(1, 0, record(0, headers=segments.signed(-1))), "offset 0: -1 headers"),
        (sealed(1, 0, segments.signed(-8) + record(0)[1:]), "bytes wanted"),
        (sealed(2, 1, b"no gzip", attributes=1), "not gzip"),
        (sealed(2, 1, gzip.compress(TWO)[:-9], attributes=1), "not one whole member"),
        (sealed(2, 1, gzip.compress(TWO) + b"x", attributes=1), "not one whole member"),
        (sealed(2, 1, gzip.compress(bytes(1 << 28)), attributes=1), "expands to more than 16 MB"),
        (sealed(2, 1, TWO, attributes=2), "compression 2 is not supported"),
        (numbered(-1), "batch at offset -1: no log has such an offset"),
        (numbered((1 << 63) - 1), "no log has such an offset"),
        (sealed(1, 0, record(0, headers=segments.signed(1) + segments.signed(1) + b"a\1")), "offset 0: 1 headers"),
        (sealed(1, 0, keyed(b"a", b"\1\24\0\0")), "offset 0: a record with a key"),
        (sealed(1, 0, segments.signed(len(LONG)) + LONG), "is too long"),
        (sealed(1, 0, record(0), attributes=0x20), "offset 0: unpack requires"),
        (sealed(1, 0, keyed(b"\0\0\0\1"), attributes=0x20), "offset 0: a control record of an unknown kind, 1"),
        (sealed(1, 0, keyed(b"\0\0\0\x63"), attributes=0x20), "offset 0: a control record of an unknown kind, 99"),
        (sealed(1, 0, keyed(b"\0\0\xff\xff"), attributes=0x20), "offset 0: a control record of an unknown kind, -1"),
        (sealed(1, 0, keyed(b"\0\0\0\6", b""), attributes=0x20), "offset 0: a control record without a value"),
    ],
    ids=[
        "none",
        "nothing",
        "negative",
        "fewer",
        "more bytes",
        "many",
        "repeated",
        "out of order",
        "after a record",
        "negative headers",
        "backwards",
        "no stream",
        "cut stream",
        "after the stream",
        "bomb",
        "unsupported",
        "below zero",
        "beyond all",
        "headers",
        "key",
        "long time",
        "no control",
        "commit",
        "unknown",
        "minus one",
        "no value",
    ],
)
def test_a_forged_batch_is_refused(tmp_path: Path, forged: bytes, message: str) -> None:
    """A batch under a right checksum whose count, offsets, lengths or stream do not fit is refused by every reader."""
    path = tmp_path / "forged.log"
    path.write_bytes(forged)
    reader: Callable[..., object]
    for reader in (read, read_compact):
        with pytest.raises(LogError, match=message):
            list(reader(find((path,))[0], SkipCount(0)))


def test_compressed_batches_of_a_file_expand_to_so_much_in_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small batches in gzip are read until all of a file's have expanded to the limit, with other batches beside."""
    path = tmp_path / "many.log"
    second = struct.pack(">q", 2) + sealed(2, 1, gzip.compress(TWO), attributes=1)[8:]
    path.write_bytes(sealed(2, 1, gzip.compress(TWO), attributes=1) + second)
    reader: Callable[..., object]
    for reader in (read, read_compact):
        monkeypatch.setattr(segments, "MAX_ALL_EXPANDED", 2 * len(TWO))
        assert len(list(reader(find((path,))[0], SkipCount(0)))) == 2
        monkeypatch.setattr(segments, "MAX_ALL_EXPANDED", 2 * len(TWO) - 1)
        with pytest.raises(LogError, match="at offset 2: with it the file's compressed batches expand to more than"):
            list(reader(find((path,))[0], SkipCount(0)))


def test_a_large_batch_of_a_dump_takes_no_square_of_its_size(tmp_path: Path) -> None:
    """A batch of a hundred thousand records, 7 MB of text, is read in seconds."""
    path, count = tmp_path / "large.txt", 100_000
    head = f"baseOffset: 0 lastOffset: {count - 1} count: {count} x partitionLeaderEpoch: 1 x"
    row = '| offset: {} x payload: {{"type":"NO_OP_RECORD","version":0,"data":{{}}}}'
    rows = (row.format(number) for number in range(count))
    path.write_text("\n".join([f"{head} isControl: false x isvalid: true", *rows]), encoding="utf-8")
    with bounded(20):
        (batch,), _ = from_file(path)
    assert len(batch.entries) == count


def test_a_folder_that_leads_back_to_itself_is_searched_once(tmp_path: Path) -> None:
    """Links to a folder above add no log, however many there are."""
    shutil.copy(SEGMENT, tmp_path)
    for name in "abc":
        (tmp_path / name).symlink_to(tmp_path)
    with bounded(20):
        assert [log.name for log in find((tmp_path,))] == [str(tmp_path)]


def test_a_segment_that_is_no_file_is_not_passed_over(tmp_path: Path) -> None:
    """A pipe or a link to nothing in the place of the last segment is refused: the log would end before it."""
    shutil.copy(SEGMENT, tmp_path)
    place = tmp_path / "00000000000000009999.log"
    for make in (os.mkfifo, lambda path: path.symlink_to("nowhere")):
        make(place)
        assert place.name in kraftcheck("replay", tmp_path).refusal()
        place.unlink()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("gap.txt", "baseOffset: 0 lastOffset: 5 count: 0 x partitionLeaderEpoch: 1 x isControl: false x isvalid: true",
         "a batch of 0 records from offset 0 to 5"),
        ("gap.jsonl", '{"offset":0,"batch":0,"type":"NO_OP_RECORD","version":0,"data":{}}\n'
                      '{"offset":2,"batch":0,"type":"NO_OP_RECORD","version":0,"data":{}}', "offset 1 should follow"),
        ("half.jsonl", '{"offset":0,"type":"\\ud800","version":0,"data":{}}', "surrogate"),
        ("half.jsonl", '{"offset":0,"type":"X","version":0,"data":{"a":["\\uDFFF"]}}', "surrogate"),
        ("twice.jsonl", '{"offset":0,"type":"X","version":0,"data":{"isr":[1],"isr":[2]}}', "'isr' is repeated"),
    ],
)  # fmt: skip
def test_text_that_hides_records_is_refused(tmp_path: Path, name: str, content: str, message: str) -> None:
    """A batch with other records than its offsets say, half a character and a key given twice are refused."""
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(LogError, match=f"{name}:[12]: .*{message}"):
        from_file(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("odd.jsonl", b'{"offset": 0, "tpye": 1}\n', "unknown key 'tpye'"),
        ("odd.jsonl", b'{"type": "X"}\n', "whole number `offset`"),
        ("odd.jsonl", b'{"offset": 0, "type": "X", "version": 0}\n', "payload has no type, version or data"),
        ("odd.jsonl", b'{"offset": 0, "type": "TOPIC_RECORD", "version": 0, "data": {"name": 3}}\n', "name"),
        ("odd.bin", b"\x80\x81\x00", "neither text nor"),
    ],
)
def test_bad_input_names_the_place(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    """Nothing read, and every malformed line, is one line of refusal that names the file."""
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(Exception, match=message) as refused:
        ReplayOptions(None).replay(find((path,))[0])
    assert name in str(refused.value)
    assert getattr(refused.value, "exit_code", 0) == 2


@pytest.mark.parametrize("name", ["replicas", "isr", "addingReplicas", "removingReplicas", "eligibleLeaderReplicas"])
@pytest.mark.parametrize("brokers", [[0, 0, 2], [0, -1, 2], [2, 1, 2]])
@pytest.mark.parametrize("kind", ["PARTITION_RECORD", "PARTITION_CHANGE_RECORD"])
def test_a_list_of_brokers_that_no_controller_writes_is_refused(
    tmp_path: Path, kind: str, name: str, brokers: list[int]
) -> None:
    """A partition that names a broker twice, or one below 0, is refused with its offset and field, read in any form."""
    batch, index = next((b, i) for b in batches() for i, e in enumerate(b.entries) if e.type == kind)
    offset = batch.entries[index].offset
    changed = with_data(batch, index, {**(batch.entries[index].data or {}), name: brokers})
    text, binary = tmp_path / "log.jsonl", tmp_path / SEGMENT.name
    text.write_text(json_lines(changed if b is batch else b for b in batches()), encoding="utf-8")
    binary.write_bytes(segment(ELR, changed))
    for words in (("replay", text), ("replay", binary), ("whatif", binary)):
        assert f"offset {offset}: {kind}: {name}: " in kraftcheck(*words).refusal()


def test_folders_hold_logs(tmp_path: Path) -> None:
    """Each folder with segments is one log; a folder without any is refused, as is a path that is not there."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        shutil.copy(SEGMENT, tmp_path / name)
    assert [Path(log.name).name for log in find((tmp_path,))] == ["a", "b"]
    (tmp_path / "none").mkdir()
    with pytest.raises(LogError, match="no log is there"):
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
