"""Nothing of a log that is read is dropped without being counted: what is not taken is refused, or said."""

import json
import random
import re
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import google_crc32c
import pytest

from kraftcheck.ci.logs.condition import condition_of
from kraftcheck.ci.logs.format import segments
from kraftcheck.ci.logs.format.read import LogError, SkipCount, find, read, read_compact
from kraftcheck.ci.logs.format.segments import CRC_FROM, HEADER
from kraftcheck.ci.logs.report import ReplayOptions
from tests.shared.captures import DEAD_LEADER, ELR, TROUBLE, batches, cut, json_lines
from tests.shared.commands import Ran, kraftcheck

DUMP, OTHER = ELR / "decoded.txt", DEAD_LEADER / "decoded.txt"
SEGMENT = "00000000000000000000.log"


def text(*folders: Path) -> str:
    """The dumps of some captured logs, one after the other, as `kafka-dump-log --files a,b` prints them."""
    return "".join((folder / "decoded.txt").read_text(encoding="utf-8") for folder in folders)


def jsonl(*folders: Path) -> str:
    """The same as JSON lines."""
    return "".join(json_lines(batches(folder)) for folder in folders)


def payloads(folder: Path, end: int = 1 << 62) -> str:
    """Its records up to an offset, without what the quorum wrote for itself, and without their offsets."""
    rows = (json.loads(row) for row in json_lines(one for one in batches(folder) if one.base_offset < end).splitlines())
    kept = ({key: row[key] for key in ("type", "version", "data")} for row in rows if not row.get("control"))
    return "".join(json.dumps(row) + "\n" for row in kept)


def one_batch(*folders: Path) -> str:
    """JSON lines that say that all of a log is one batch, which two logs then share."""
    rows = [json.loads(line) for line in jsonl(*folders).splitlines()]
    return "".join(json.dumps(row | {"batch": 0, "epoch": 1, "control": False}) + "\n" for row in rows)


TWICE: dict[str, Callable[[], str]] = {
    "two dumps": lambda: text(ELR, DEAD_LEADER),
    "a dump twice": lambda: text(ELR, ELR),
    "two dumps, the longer one first": lambda: text(DEAD_LEADER, ELR),
    "JSON lines twice": lambda: jsonl(ELR, ELR),
    "two logs of JSON lines": lambda: jsonl(DEAD_LEADER, ELR),
    "one batch twice": lambda: one_batch(ELR, ELR),
    "the end of a dump once more": lambda: text(ELR) + text(ELR)[text(ELR).rindex("baseOffset") :],
}


@pytest.mark.parametrize("made", TWICE.values(), ids=TWICE)
@pytest.mark.parametrize("command", ["replay", "whatif"])
def test_two_logs_in_one_file_are_refused(command: str, made: Callable[[], str], tmp_path: Path) -> None:
    """A file whose offsets fall back holds more than one log; it is refused at the line where the second begins."""
    path = tmp_path / "one.txt"
    path.write_text(made(), encoding="utf-8")
    refusal = kraftcheck(command, path).refusal()
    assert refusal.startswith(f"{path}:")
    again = "another log begins here, or a part of this one again; give each log a file of its own"
    assert again in refusal or "should follow in the batch, not 0" in refusal


def test_what_is_allowed_to_be_skipped_is_counted_batch_by_batch(tmp_path: Path) -> None:
    """With `--allow-skipped` each batch of a second log is passed over, and each is listed by both commands."""
    path, one = tmp_path / "one.txt", len(batches(DEAD_LEADER))
    path.write_text(text(ELR, DEAD_LEADER), encoding="utf-8")
    few = kraftcheck("replay", path, "--allow-skipped", str(one - 1))
    assert few.code == 2
    for command in ("replay", "whatif"):
        ran = kraftcheck(command, path, "--allow-skipped", str(one))
        assert ran.code == 20, ran.err
        assert ran.out.count(f"skipped {path}") == one
    assert len(kraftcheck("whatif", path, "--allow-skipped", str(one), "--json", "-").document()["skipped"]) == one


def test_segments_of_one_log_in_one_dump_are_one_log(tmp_path: Path) -> None:
    """A dump of several segments of one log, each with its heading, is read as that log."""
    lines = text(ELR).splitlines(keepends=True)
    half = next(number for number, line in enumerate(lines) if number > 100 and line.startswith("baseOffset"))
    path = tmp_path / "both.txt"
    path.write_text("".join([*lines[:half], "Dumping 00000000000000000099.log\n", *lines[half:]]), encoding="utf-8")
    assert kraftcheck("replay", path).out.splitlines()[1:] == kraftcheck("replay", DUMP).out.splitlines()[1:]


def dumped_parts() -> tuple[str, str]:
    """The dump of a snapshot, and of a segment that begins before it ends."""
    snapshot = next(ELR.glob("*.checkpoint"))
    entries, lines = "", text(ELR).splitlines(keepends=True)
    for batch in read(find((snapshot,))[0], SkipCount(0)):
        entries += (
            f"baseOffset: {batch.base_offset} lastOffset: {batch.last_offset} count: {len(batch.entries)} "
            f"partitionLeaderEpoch: {batch.epoch} isControl: {str(batch.control).lower()} isvalid: true\n"
        )
        for entry in batch.entries:
            value = json.dumps({"type": entry.type, "version": entry.version, "data": entry.data})
            kind = {"SNAPSHOT_HEADER": "SnapshotHeader {}", "SNAPSHOT_FOOTER": "SnapshotFooter {}"}.get(entry.type)
            told = kind if batch.control else f"payload: {value}"
            entries += f"| offset: {entry.offset} {told}\n"
    start = next(number for number, line in enumerate(lines) if number > 20 and line.startswith("baseOffset"))
    base = lines[start].split()[1]
    return f"Dumping /x/{snapshot.name}\n{entries}", f"Dumping /x/{int(base):020}.log\n{''.join(lines[start:])}"


def test_a_snapshot_and_what_follows_it_in_one_dump_are_one_log(tmp_path: Path) -> None:
    """In either order they are the cluster at the end of the log; what the snapshot holds is counted."""
    path, parts = tmp_path / "parts.txt", dumped_parts()
    for text_of in ("".join(parts), "".join(reversed(parts))):
        path.write_text(text_of, encoding="utf-8")
        found, alone = condition_of(path, ReplayOptions(None)), condition_of(ELR, ReplayOptions(None))
        same = ("topic", "partition", "state", "leader", "isr", "elr")
        ours, theirs = ([[row[key] for key in same] for row in one["partitions"]] for one in (found, alone))
        assert sorted(ours) == sorted(theirs)
        assert found["offset"] == alone["offset"]
    assert "batches of segments, passed over" in kraftcheck("replay", path).out


@pytest.mark.parametrize("form", ["checkpoint", "txt"])
def test_a_snapshot_without_its_end_is_refused(form: str, tmp_path: Path) -> None:
    """Cut between two batches it looks like a smaller cluster, so it is refused, as bytes and dumped."""
    snapshot = next(ELR.glob("*.checkpoint"))
    path = tmp_path / (snapshot.name if form == "checkpoint" else "cut.txt")
    last = [*read(find((snapshot,))[0], SkipCount(0))][-1]
    raw = snapshot.read_bytes()[: int(last.place.rpartition(" ")[2])]
    dumped = dumped_parts()[0]
    path.write_bytes(raw if form == "checkpoint" else dumped[: dumped.rindex("baseOffset")].encode())
    assert "the snapshot that begins here is cut off" in kraftcheck("status", path).refusal()


def test_records_after_the_last_one_are_refused(tmp_path: Path) -> None:
    """A batch whose bytes go on behind the records that it counts is refused, decoded or left undecoded."""
    raw = (ELR / SEGMENT).read_bytes()
    target = next(b for b in batches() if not b.control and len(b.entries) > 2)
    start = int(target.place.rpartition(" ")[2])
    head = list(HEADER.unpack_from(raw, start))
    end = start + head[1] + 12
    head[6], head[12] = head[6] - 1, head[12] - 1
    batch = HEADER.pack(*head) + raw[start + HEADER.size : end]
    batch = batch[: CRC_FROM - 4] + struct.pack(">I", google_crc32c.value(batch[CRC_FROM:])) + batch[CRC_FROM:]
    path = tmp_path / SEGMENT
    path.write_bytes(raw[:start] + batch + raw[end:])
    for reader in (read, read_compact):
        with pytest.raises(LogError, match=r"bytes after the last of its \d+ records"):
            list(reader(find((path,))[0], SkipCount(0)))


def test_a_hole_within_a_batch_is_refused(tmp_path: Path) -> None:
    """JSON lines of a batch without one of its records are refused; they would be replayed at other offsets."""
    rows = jsonl(ELR).splitlines(keepends=True)
    places = [(json.loads(row)["batch"], json.loads(row)["offset"]) for row in rows]
    first = next(n for n, (base, offset) in enumerate(places) if base == offset and places[n + 2][0] == base)
    for number in (first, first + 1):
        path = tmp_path / "log.jsonl"
        path.write_text("".join([*rows[:number], *rows[number + 1 :]]), encoding="utf-8")
        assert f"offset {places[number][1]} should follow in the batch" in kraftcheck("replay", path).refusal()


def test_what_a_snapshot_holds_is_counted(tmp_path: Path) -> None:
    """Batches of segments that the snapshot before them holds are passed over, and their number is told."""
    snapshot, given = next(ELR.glob("*.checkpoint")), batches()
    end = int(snapshot.name.split("-")[0])
    shutil.copy(snapshot, tmp_path)
    first = next(batch for batch in given if batch.base_offset > 0)
    (tmp_path / f"{first.base_offset:020}.log").write_bytes(cut(first.base_offset, folder=ELR))
    ran = kraftcheck("replay", tmp_path, "--json", "-")
    (document,) = ran.document()["logs"]
    held = sum(first.base_offset <= batch.base_offset < end for batch in given)
    assert document["in_snapshot"] == held > 0
    assert f"it holds {held} batches of segments, passed over" in ran.err


def test_batches_after_the_end_of_a_replay_are_counted(tmp_path: Path) -> None:
    """A replay that ends early says how many batches it leaves; the exit code is 23."""
    rows = [json.loads(line) for line in jsonl(ELR).splitlines()]
    wrong = next(row for row in rows if row["type"] == "PARTITION_CHANGE_RECORD" and row["offset"] > 60)
    wrong["data"] = wrong["data"] | {"partitionId": 999}
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    ran = kraftcheck("replay", path, "--json", "-")
    (document,) = ran.document()["logs"]
    left = len({row["batch"] for row in rows if row["batch"] > wrong["batch"]})
    assert (ran.code, document["unreplayed"]) == (23, left)
    assert f"{left} batches after that are not replayed" in ran.err


def test_a_field_that_no_layout_has_is_told(tmp_path: Path) -> None:
    """A tagged field that is not known is refused in a record that is read, and warned of in another one."""
    raw = (ELR / SEGMENT).read_bytes()
    last = batches()[-1]
    name = f"{last.last_offset + 1:020}.log"
    for kind, data in (("REMOVE_TOPIC_RECORD", {"topicId": "A" * 22}), ("NO_OP_RECORD", {})):
        value = segments.record_bytes(kind, 0, data)
        assert value[-1] == 0
        tagged = value[:-1] + b"\1\x63\1\0"  # one tagged field, number 99, of one byte
        (tmp_path / SEGMENT).write_bytes(raw)
        (tmp_path / name).write_bytes(segments.batch_bytes(last.last_offset + 1, last.epoch, [tagged]))
        ran = kraftcheck("replay", tmp_path)
        if kind == "NO_OP_RECORD":
            assert "WARNING: not known, and passed through unread: 1 NO_OP_RECORD with unknown fields" in ran.out
        else:
            assert f"{kind}: a field with tag 99 is not known" in ran.refusal()


def test_unknown_kinds_in_a_snapshot_are_warned_of(tmp_path: Path) -> None:
    """A snapshot's record of a kind that is not known is counted, and warned of, as one of the log is."""
    rows = [json.loads(line) for line in jsonl(ELR).splitlines()]
    mark = {"batch": 0, "epoch": 1, "control": True, "version": 0, "data": {}}
    unknown = {"offset": 1, "batch": 1, "epoch": 1, "control": False, "type": "UNKNOWN_99", "version": 0, "data": {}}
    head = [{"offset": 0, "type": "SNAPSHOT_HEADER", **mark}, unknown,
            {**mark, "offset": 2, "batch": 2, "type": "SNAPSHOT_FOOTER"}]  # fmt: skip
    shifted = [{**row, "offset": row["offset"] + 3, "batch": row["batch"] + 3} for row in rows]
    path = tmp_path / "snapshot.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in [*head, *shifted]), encoding="utf-8")
    assert "UNKNOWN_99" in kraftcheck("replay", path).out + kraftcheck("replay", path).err


def tail(form: str, place: Path, offset: int) -> Path:
    """What a captured log holds from the batch on that begins at an offset."""
    path = place / {"dump": "t.txt", "JSON lines": "t.jsonl"}.get(form, f"{offset:020}.log")
    if form == "dump":
        path.write_text(text(ELR)[text(ELR).index(f"baseOffset: {offset} ") :], encoding="utf-8")
    elif form == "JSON lines":
        path.write_text(json_lines(b for b in batches() if b.base_offset >= offset), encoding="utf-8")
    else:
        path.write_bytes(cut(offset, folder=ELR))
    return place if form == "folder" else path


LOG = "LOG"
WORDS = (
    ("status", LOG), ("replay", LOG), ("whatif", LOG, "--prometheus", "-"), ("ask", LOG, "elect", "all"),
    ("elect-leaders", "--snapshot", LOG, "--election-type", "unclean", "--all-topic-partitions", "--dry-run"),
    ("unclean-recovery", "--snapshot", LOG, "--all-offline-partitions", "--show-replica-info"),
)  # fmt: skip
"""The commands that read a log."""


def asked(words: tuple[str, ...], path: Path) -> Ran:
    """Run a command on a log."""
    return kraftcheck(*(path if word == LOG else word for word in words))


@pytest.mark.parametrize("form", ["dump", "JSON lines", "segment", "folder"])
@pytest.mark.parametrize("words", WORDS, ids=[words[0] for words in WORDS])
def test_an_end_without_its_beginning_is_refused(words: tuple[str, ...], form: str, tmp_path: Path) -> None:
    """A log that begins behind offset 0, and behind no snapshot, is refused with place and mend."""
    offset = batches()[-2].base_offset
    path = tail(form, tmp_path, offset)
    refusal = asked(words, path).refusal()
    assert f"begins at offset {offset}, and no snapshot precedes it" in refusal
    assert refusal.startswith(str(path))
    assert "add the newest .checkpoint" in refusal


def test_a_record_that_builds_on_nothing_is_named_in_words(tmp_path: Path) -> None:
    """A record of a topic that no record made is refused with its line, its kind and the mend."""
    path = tmp_path / "log.jsonl"
    rows = [row for row in jsonl(ELR).splitlines(keepends=True) if '"PARTITION_RECORD"' in row]
    payload = {key: json.loads(rows[0])[key] for key in ("type", "version", "data")}
    path.write_text(json.dumps(payload) + "\n", encoding="utf-8")
    refusal = kraftcheck("status", path).refusal()
    assert refusal.startswith(f"{path}:1: ")
    assert "PartitionRecord of topic" in refusal
    assert "(" not in refusal
    assert refusal.endswith("give all of the log, or the newest snapshot and what follows it")


PARTS: dict[str, Callable[[], tuple[str, str]]] = {
    "a dump that is cut": lambda: ("t.txt", text(ELR)[:-60]),
    "JSON lines that are cut": lambda: ("t.jsonl", jsonl(ELR)[:-30]),
    "records without offsets": lambda: ("t.jsonl", payloads(ELR)),
    "a topic without its configuration": lambda: (
        "t.txt", "Topic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\n"),
}  # fmt: skip
"""Texts that tell less than there is."""


@pytest.mark.parametrize("made", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize("words", WORDS, ids=[words[0] for words in WORDS])
def test_what_is_read_in_part_is_never_a_pass(
    words: tuple[str, ...], made: Callable[[], tuple[str, str]], tmp_path: Path
) -> None:
    """Where a whole log would pass, the exit code of a part is that of what is incomplete, and it is said why."""
    name, content = made()
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    ran = asked(words, path)
    codes = {"status": (10, 14), "unclean-recovery": (20, 1), "replay": (20, 23, 2)}
    assert ran.code in codes.get(words[0], (20,)), ran.out + ran.err
    assert "WARNING" in ran.out + ran.err or ran.code == 2


@pytest.mark.parametrize("lines", [5, 13, 40])
def test_a_log_that_is_cut_off_is_never_well(lines: int, tmp_path: Path) -> None:
    """A dump that ends within a batch says so in its first line, names no broker that may be stopped, and exits 10."""
    path = tmp_path / "cut.txt"
    path.write_text("".join((TROUBLE / "decoded.txt").read_text("utf-8").splitlines(keepends=True)[:lines]), "utf-8")
    ran = kraftcheck("status", path)
    assert (ran.code, ran.out.splitlines()[0].split(";")[0]) == (10, "the log is cut off")
    assert "may be stopped now" not in ran.out
    assert "all is well" not in ran.out


def test_a_segment_that_ends_within_a_batch_is_cut_off(tmp_path: Path) -> None:
    """Alone, and in a folder, whose copy may have been broken off; only while it is followed it may be written."""
    whole, half = cut(0, 20), cut(20)[:40]
    (tmp_path / SEGMENT).write_bytes(whole + half)
    folder, alone = (kraftcheck("status", place) for place in (tmp_path, tmp_path / SEGMENT))
    assert (folder.code, alone.code) == (10, 10)
    assert "40 bytes are no whole batch" in folder.out
    assert alone.out.startswith("the log is cut off; ")
    assert folder.out.startswith("the log is cut off; ")
    assert condition_of(tmp_path, ReplayOptions(None, grows=True))["exit"] == 0


def test_damaged_bytes_are_refused_with_the_way_to_what_is_whole(tmp_path: Path) -> None:
    """Noise behind the last batch, and a flipped byte in it, are named with the option that reads the rest."""
    whole, path = cut(0, 20), tmp_path / SEGMENT
    noise = random.Random(20).randbytes(5000)
    for data, told in ((whole + noise, "5000 are left"), (whole[:-1] + b"!", "the checksum does not match")):
        path.write_bytes(data)
        refusal = kraftcheck("status", path).refusal()
        assert told in refusal
        assert "--allow-skipped 1" in refusal
        ran = kraftcheck("status", path, "--allow-skipped", "1")
        assert ran.code == 10
        assert ran.out.startswith("what cannot be decoded is skipped; of those shown")


def test_what_no_defect_explains_is_not_called_one(tmp_path: Path) -> None:
    """Promises that a log breaks by no known defect, here by what a damaged batch held, are named as broken."""
    first, after = 100, 108
    (tmp_path / SEGMENT).write_bytes(cut(0, first, ELR) + cut(first, after, ELR)[:-1] + b"!" + cut(after, folder=ELR))
    ran = kraftcheck("status", tmp_path, "--allow-skipped", "1")
    assert "PROMISES BROKEN in this log" in ran.out
    assert "KNOWN DEFECTS" not in ran.out
    assert re.search(r"\n  broken by no known defect: leader-active, [a-z-]+ once, last at offset \d+\n", ran.out)


@pytest.mark.parametrize("nth", [1, 7, 30])
def test_one_damaged_batch_is_one_to_pass_over(nth: int, tmp_path: Path) -> None:
    """What its offsets leave open is no second one: as many are allowed as the refusal says, and the gap is named."""
    bases, path = [batch.base_offset for batch in batches(TROUBLE)], tmp_path / SEGMENT
    first, after = bases[nth], bases[nth + 1]
    path.write_bytes(cut(0, first) + cut(first, after)[:-1] + b"!" + cut(after))
    with pytest.raises(LogError, match=r"the checksum does not match.*--allow-skipped 1 "):
        list(read(find([path])[0], SkipCount(0)))
    skipped = SkipCount(1)
    assert [batch.base_offset for batch in read(find([path])[0], skipped)] == [*bases[:nth], *bases[nth + 1 :]]
    assert len(skipped.places) == 1
    assert any(f"offset {first} should follow, but the batch begins at {after}" in note for note in skipped.notes)


@pytest.mark.parametrize(("first", "is_cut"), [(38, False), (39, True), (90, True)])
def test_an_empty_segment_says_where_the_log_goes_on(first: int, is_cut: bool, tmp_path: Path) -> None:
    """One of a later offset than is due means that there are more records, though it holds none."""
    (tmp_path / SEGMENT).write_bytes(cut(end=38))
    (tmp_path / f"{first:020}.log").write_bytes(b"")
    found = condition_of(tmp_path, ReplayOptions(None))
    assert (found["offset"], found["in_part_because"]) == (37, ["the log is cut off"] * is_cut)


@pytest.mark.parametrize(("state", "why"), [
    ('{"leaderId":100,"leaderEpoch":1}', ""), ('{"leaderId":-1,"leaderEpoch":1}', "knows no leader of the quorum"),
    ('{"leaderId":100,"leaderEpoch":9}', "quorum-state is of epoch 9, and the log ends in epoch 1"),
    ('{"leaderId":100}', "quorum-state cannot be read"), ("", "quorum-state cannot be read"), ("[1]", "cannot be read"),
])  # fmt: skip
def test_what_a_node_knows_of_the_quorum_is_compared(state: str, why: str, tmp_path: Path) -> None:
    """The file beside a log or snapshot tells of a newer leader, or of none: the log may be an old picture."""
    for name, source in ((SEGMENT, TROUBLE), (next(ELR.glob("*.checkpoint")).name, ELR)):
        folder = tmp_path / source.name
        folder.mkdir()
        shutil.copyfile(source / name, folder / name)
        (folder / "quorum-state").write_text(state, encoding="utf-8")
        found = condition_of(folder, ReplayOptions(None))
        because = "; ".join(found["in_part_because"])
        assert (why in because, bool(because)) == (True, bool(why)), because


def test_a_snapshot_ahead_of_its_segments_is_what_is_read(tmp_path: Path) -> None:
    """Segments that end before the newest snapshot are older than it: it is read, as Kafka does, and that is said."""
    snapshot = next(TROUBLE.glob("*.checkpoint"))
    shutil.copy(snapshot, tmp_path)
    (tmp_path / SEGMENT).write_bytes(cut(0, 38))
    behind, alone = (condition_of(place, ReplayOptions(None)) for place in (tmp_path, snapshot))
    assert behind["exit"] == alone["exit"] == 14
    assert behind["partitions"] == alone["partitions"]
    assert any("they are older than it" in doubt for doubt in behind["doubts"])
    (tmp_path / SEGMENT).write_bytes(cut(0))
    assert condition_of(tmp_path, ReplayOptions(None))["offset"] == batches(TROUBLE)[-1].last_offset


def test_a_snapshot_bridges_segments_that_are_missing(tmp_path: Path) -> None:
    """A copy onto an older one lacks what is between them: where the newest snapshot holds it, that is read first."""
    snapshot = next(TROUBLE.glob("*.checkpoint"))
    end = int(snapshot.name.partition("-")[0])
    follows = next(n for n, batch in enumerate(batches(TROUBLE)) if batch.base_offset == end)
    shutil.copy(snapshot, tmp_path)
    (tmp_path / f"{end:020}.log").write_bytes(cut(follows))
    without = condition_of(tmp_path, ReplayOptions(None))
    (tmp_path / SEGMENT).write_bytes(cut(0, 38))
    bridged = condition_of(tmp_path, ReplayOptions(None))
    assert bridged["offset"] == batches(TROUBLE)[-1].last_offset
    assert bridged["partitions"] == without["partitions"]


def test_a_dump_of_a_snapshot_ahead_of_its_segments_is_read_so_too(tmp_path: Path) -> None:
    """The same in one text of Kafka's tool: the part that is a snapshot counts where the segments end before it."""
    early = text(ELR)[: text(ELR).index(f"baseOffset: {batches()[15].base_offset} ")]
    path = tmp_path / "both.txt"
    path.write_text(early + dumped_parts()[0], encoding="utf-8")
    assert any("they are older than it" in doubt for doubt in condition_of(path, ReplayOptions(None))["doubts"])


def test_records_without_offsets_are_never_well(tmp_path: Path) -> None:
    """Payloads alone do not tell whether they are all: the first line says so, and the exit code is 10."""
    path = tmp_path / "payloads.txt"
    path.write_text(payloads(TROUBLE, 20), encoding="utf-8")
    ran = kraftcheck("status", path)
    assert ran.code == 10
    assert ran.out.startswith("the records have no offsets; ")


@pytest.mark.parametrize("left", [1, 2, 30])
def test_json_lines_may_end_anywhere(left: int, tmp_path: Path) -> None:
    """A last line that is cut is left out, and the log is cut off."""
    path = tmp_path / "log.jsonl"
    path.write_text(jsonl(TROUBLE)[: -1 - left], encoding="utf-8")
    ran = kraftcheck("status", path)
    assert "the text ends within a record, which is left out" in ran.out
    assert ran.out.startswith("the log is cut off; ")


@pytest.mark.parametrize(
    ("name", "data", "words", "told"),
    [
        ("0.log", b"\x93\x41\x80" * 400, (), "no metadata log: no record batch begins here"),
        ("segment", b"\x93\x41\x80" * 400, (), "rename one"),
        ("dump.txt", b"Dumping 0.log\n", ("--follow",), "tells of one moment"),
    ],
)
def test_a_file_that_is_no_log_is_named_as_such(
    name: str, data: bytes, words: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    """Bytes without a batch, a segment without its name, and a text that never grows are refused with the mend."""
    path = tmp_path / name
    path.write_bytes(data)
    assert told in kraftcheck("status", path, *words).refusal()


def test_a_partition_has_no_negative_number(tmp_path: Path) -> None:
    """A partition whose index is below zero is refused with its offset."""
    path = tmp_path / "log.jsonl"
    path.write_text(jsonl(ELR).replace('"partitionId": 0', '"partitionId": -3'), encoding="utf-8")
    assert "partitionId: -3 is the number of no partition" in kraftcheck("status", path).refusal()
