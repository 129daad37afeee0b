"""Logs as people paste them: behind prefixes, between other lines, packed, in another encoding, without metadata."""

import bz2
import gzip
import io
import json
import lzma
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from kraftcheck.ci.logs.condition import condition_of
from kraftcheck.ci.logs.format import segments
from kraftcheck.ci.logs.format.pasted import clean
from kraftcheck.ci.logs.format.read import NO_OFFSETS, LogError, SkipCount, find, read
from kraftcheck.ci.logs.report import ReplayOptions
from kraftcheck.solvers.logs.explain.state import Batch
from tests.ci.logs.test_log_described import ONE, WELL, directories, first_line
from tests.ci.logs.test_status import OUTAGE
from tests.shared.captures import CAPTURED
from tests.shared.commands import kraftcheck
from tests.shared.places import ROOT

TEXT = OUTAGE.read_text(encoding="utf-8")
LINES = TEXT.splitlines(keepends=True)

NOISE = (
    "OpenJDK 64-Bit Server VM warning: Sharing is only supported for boot loader classes\n"
    "Picked up JAVA_TOOL_OPTIONS: -Xmx1g\n"
    "[2026-11-21 22:51:38,567] WARN Session expired (org.apache.kafka.Controller)\n"
    "root@kafka-0:/# cat decoded.txt\n"
    "```\n"
)


def batches(path: Path) -> tuple[list[Batch], SkipCount]:
    """The batches of a file without their places, and what was passed over."""
    skipped = SkipCount(0)
    (log,) = find((path,))
    return [without_place(batch) for batch in read(log, skipped)], skipped


def without_place(batch: Batch) -> Batch:
    """The batch, read nowhere."""
    return Batch(batch.base_offset, batch.last_offset, batch.epoch, batch.entries, "", batch.control, batch.time)


def each(prefix: str) -> Callable[[], bytes]:
    """The log with a text before each line."""
    return lambda: "".join(prefix + line for line in LINES).encode()


def without_metadata() -> bytes:
    """As the tool prints it with `--skip-record-metadata`."""
    return re.sub(r"(?m)^\| offset: .* (?=payload: )", "| ", TEXT).encode()


PASTED: dict[str, Callable[[], bytes]] = {
    "a JVM's lines": lambda: (NOISE + LINES[0] + NOISE + "".join(LINES[1:])).encode(),
    "docker compose": each("kafka-1  | "),
    "a journal": each("Nov 21 22:51:38 host-1 kafka-dump[812]: "),
    "kubectl": each("[pod/kafka-0/kafka] "),
    "docker with times": each("2026-11-21T22:51:38.567890123Z "),
    "docker compose with times": each("kafka-1  | 2026-11-21T22:51:38.567890123Z "),
    "a journal in ISO": each("2026-11-21T22:51:38+0000 host-1 kafka[12]: "),
    "indented": each("    "),
    "quoted in a mail": each("> "),
    "numbered": lambda: "".join(f"{number:6}\t{line}" for number, line in enumerate(LINES, 1)).encode(),
    "coloured": lambda: TEXT.replace("\n", "\x1b[0m\n").encode(),
    "a byte order mark": lambda: b"\xef\xbb\xbf" + TEXT.encode(),
    "UTF-16": lambda: TEXT.encode("utf-16"),
    "UTF-16 without a mark": lambda: TEXT.encode("utf-16-le"),
    "gzip": lambda: gzip.compress(TEXT.encode()),
    "an old tool": lambda: TEXT.replace("Log starting offset", "Starting offset").encode(),
    "no metadata of records": without_metadata,
}


@pytest.mark.parametrize("pasted", PASTED.values(), ids=PASTED)
def test_what_is_pasted_is_the_log(pasted: Callable[[], bytes], tmp_path: Path) -> None:
    """The batches are those of the plain text; what is no data is counted, and whether it is harmless told."""
    path = tmp_path / "pasted.txt"
    path.write_bytes(pasted())
    found, skipped = batches(path)
    assert found == batches(OUTAGE)[0]
    between = pasted is PASTED["a JVM's lines"]
    assert (skipped.noise, skipped.places) == (8 if between else 0, [])
    assert [*skipped.incomplete] == (["2 lines are not understood"] if between else [])


@pytest.mark.parametrize(("line", "wrong"), [
    ("baseOffset: 1\n", "not a line of the dump tool: .* if a terminal has broken the line"),
    ("| offset x\n", "a record before any batch"), ('{"type":"NO_OP_RECORD"}\n', "not a line of the dump tool"),
])  # fmt: skip
def test_a_damaged_line_of_a_log_is_refused(line: str, wrong: str, tmp_path: Path) -> None:
    """A line that begins as one of a log, and is none, is refused with its place."""
    path = tmp_path / "pasted.txt"
    path.write_text(LINES[0] + LINES[1] + line + "".join(LINES[2:]), encoding="utf-8")
    with pytest.raises(LogError, match=rf"{path}:3: {wrong}"):
        batches(path)


@pytest.mark.parametrize("line", ["kafka-1  | baseOffset 1", "x| offset: 1", "2026 WARN", "...", "[output truncated]",
                                  "Exception in thread main java.lang.OutOfMemoryError: Java heap space"])  # fmt: skip
@pytest.mark.parametrize("place", [1, 5, len(LINES)])
def test_between_whole_batches_a_line_that_nobody_understands_is_shown(line: str, place: int, tmp_path: Path) -> None:
    """The batches are those of the log, whose counts show that none is missing, and still it is not all known."""
    path = tmp_path / "pasted.txt"
    path.write_text("".join((*LINES[:place], f"{line}\n", *LINES[place:])), encoding="utf-8")
    found, skipped = batches(path)
    assert (found, [*skipped.incomplete]) == (batches(OUTAGE)[0], ["1 line is not understood"])
    assert f": line {place + 1}: {' '.join(line.split())}" in " ".join(skipped.notes)
    for command, code in (("status", 14), ("whatif", 20), ("replay", 20)):
        assert kraftcheck(command, path).code == code


@pytest.mark.parametrize(("more", "why"), [
    ("Dumping 00000000000000000091.log\n", "the log is cut off"),
    ("Dumping 00000000000000000091.log\nLog starting offset: 91\n", "the log is cut off"),
    ("Dumping 00000000000000000099.log\nLog starting offset: 99\n", "the log is cut off"),
    ("Dumping /data/orders-1/00000000000000000000.log\n", "the log is cut off"),
])  # fmt: skip
def test_the_first_lines_of_a_segment_want_the_others(more: str, why: str, tmp_path: Path) -> None:
    """A text that ends with them is cut there, whatever follows in that segment; one that begins elsewhere is odd."""
    path = tmp_path / "pasted.txt"
    path.write_text(TEXT + more, encoding="utf-8")
    assert condition_of(path, ReplayOptions(None))["in_part_because"] == [why]
    path.write_text(TEXT.replace("tarting offset: 0", "tarting offset: 55"), encoding="utf-8")
    because = condition_of(path, ReplayOptions(None))["in_part_because"]
    assert because == ["the lines of a segment do not begin where it says"]


def test_what_the_tool_says_of_its_log_is_understood(tmp_path: Path) -> None:
    """A segment that ends within a batch is cut off; a kind of record that the tool does not know is not known."""
    path, record = tmp_path / "log.txt", [n for n, line in enumerate(LINES) if "BROKER_REGISTRATION_CHANGE" in line][-1]
    path.write_text(TEXT + "Found 166 invalid bytes at the end of 0.log\n", encoding="utf-8")
    found, skipped = batches(path)
    assert (found, [*skipped.incomplete]) == (batches(OUTAGE)[0], ["the log is cut off"])
    for words, kind in (("Unknown metadata record type 40", "UNKNOWN_40"), ("Unsupported version", "")):
        head = LINES[record].partition(" payload: ")[0]
        lines = [*LINES[:record], f"{head} payload: Error at 90, skipping. {words}\n", *LINES[record + 1 :]]
        path.write_text("".join(lines), encoding="utf-8")
        if kind:
            assert kind in {entry.type for batch in batches(path)[0] for entry in batch.entries}
            because = condition_of(path, ReplayOptions(None))["in_part_because"]
            assert because == ["records of unknown kinds are passed over"]
        else:
            with pytest.raises(LogError, match=r"could not decode: .* dump it with a newer release"):
                batches(path)


@pytest.mark.parametrize("part", [" ", "> ", "1:", "1:\t", "a | ", "[a] ", "2026-01-02T03:04:05 a b: "])
def test_a_long_line_of_another_kind_is_read_to_its_end(part: str) -> None:
    """What could be a prefix again and again, before nothing of a log, is looked at in few ways."""
    lines, _ = clean(part * 4000)
    assert lines in ([(part * 4000)], [""])


def test_payloads_alone_are_counted_from_0(tmp_path: Path) -> None:
    """What `grep -o 'payload: .*'` leaves is read, each record as a batch, and a warning says what that costs."""
    payloads = re.findall(r"payload: \{.*\}", TEXT)
    path = tmp_path / "payloads.txt"
    path.write_text("\n".join(payloads), encoding="utf-8")
    found, skipped = batches(path)
    assert [batch.base_offset for batch in found] == list(range(len(payloads)))
    assert [batch.entries[0].type for batch in found] == [json.loads(one[9:])["type"] for one in payloads]
    assert NO_OFFSETS in skipped.notes
    (log,) = find((path,))
    assert NO_OFFSETS in ReplayOptions(None).replay(log, detailed=False).notes


@pytest.mark.parametrize("taken", range(1, 4000, 61))
def test_a_text_may_end_anywhere(taken: int, tmp_path: Path) -> None:
    """Wherever a text is cut, its whole batches are read, and a batch that is not whole is left out and named."""
    path = tmp_path / "cut.txt"
    place = len(TEXT) - taken
    path.write_text(TEXT[:place], encoding="utf-8")
    found, skipped = batches(path)
    assert found == batches(OUTAGE)[0][: len(found)]
    heads = [match.start() for match in re.finditer(r"(?m)^baseOffset: ", TEXT[:place])]
    assert len(heads) - len(found) == (1 if skipped.notes else 0)
    assert all("the text ends within the batch that begins here" in note for note in skipped.notes)


def test_records_that_are_missing_within_a_text_are_not_its_end(tmp_path: Path) -> None:
    """A record that is missing before the last of a batch is refused, in the last batch as in any other."""
    path = tmp_path / "gap.txt"
    head = max(number for number, line in enumerate(LINES) if line.startswith("baseOffset") and "count: 3" in line)
    path.write_text("".join((*LINES[: head + 1], *LINES[head + 2 : head + 4])), encoding="utf-8")
    with pytest.raises(LogError, match="should follow in the batch"):
        batches(path)


def test_a_text_that_begins_within_a_batch_is_refused(tmp_path: Path) -> None:
    """What `tail` leaves of a dump has no state to begin with: the line says what is missing."""
    path = tmp_path / "tail.txt"
    path.write_text("".join(LINES[-1:]), encoding="utf-8")
    with pytest.raises(LogError, match="begins within a batch, so that what was before is missing"):
        batches(path)


def test_records_without_the_lines_of_batches_are_read(tmp_path: Path) -> None:
    """What `grep payload` leaves of a dump shows the same cluster, but never all; a record that is missing is named."""
    path, lines = tmp_path / "records.txt", [line for line in LINES if " payload: " in line]
    path.write_text("".join(lines), encoding="utf-8")
    found, whole = (condition_of(place, ReplayOptions(None)) for place in (path, OUTAGE))
    keys = ("partitions", "offset", "time")
    assert [found[key] for key in keys] == [whole[key] for key in keys]
    assert found["in_part_because"] == ["the lines of batches are missing"]
    path.write_text("".join((*lines[:7], *lines[9:])), encoding="utf-8")
    with pytest.raises(LogError, match=r"records.txt:8: offset 8 should follow, but the batch begins at 10"):
        batches(path)


@pytest.mark.parametrize("line", [
    "[2026-11-21 22:51:38,567] WARN [Producer clientId=a] Connection to node 2 (k2/10.0.0.2:9092) could not be "
    "established. Node may not be available. (org.apache.kafka.clients.NetworkClient)",
    "[2026-11-21 22:51:38,567] INFO [AdminClient clientId=a] Node 2 disconnected. (org.apache.kafka.clients.Client)",
    "Connection to node 2 (k2/10.0.0.2:9092) could not be established. Node may not be available.",
    "22:51:38.567 [main] ERROR o.a.k.c.NetworkClient - Connection to node 2 failed", "...", "[output truncated]",
    "(120 more lines)", "nobody knows", "# There is insufficient memory for the Java Runtime Environment to continue.",
    "OpenJDK 64-Bit Server VM warning: INFO: os::commit_memory(0x0, 1) failed; error='Cannot allocate memory'",
    "log4j:ERROR Could not read configuration file", "$ grep -v Offline topics.txt", "$ kafka-log-dirs.sh | head -3",
    "$ cat a.txt; rm b.txt", "$ kafka-topics.sh --describe > out.txt; tail out.txt", "$ tail out.txt",
    "$ kafka-topics.sh --describe && head out.txt", "$ kafka-topics.sh --describe `cat options`",
    "opic: t\tPartition: 1\tLeader: none\tReplicas: 1,2,3\tIsr: ",
])  # fmt: skip
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_line_that_nobody_understands_is_never_well(line: str, place: int, tmp_path: Path) -> None:
    """What is neither data nor known to be harmless is counted and shown, wherever it stands, and may mean trouble."""
    lines = [ONE, WELL]
    lines.insert(place, f"{line}\n")
    code, first, rest = first_line("".join(lines), tmp_path)
    assert (code, first.partition(";")[0]) == (10, "1 line is not understood")
    assert "may be stopped now" not in rest
    shown = f"passed over, and not known to be harmless: line {place + 1}: {' '.join(line.split())[:120]}"
    assert shown in " ".join(rest.split())


UNREACHED = (
    "[2026-11-21 22:51:38,567] WARN [AdminClient clientId=a] Connection to node %d (k2/10.0.0.2:9092) could not be "
    "established. Node may not be available. (org.apache.kafka.clients.NetworkClient)"
)


def test_a_live_broker_that_a_tool_does_not_reach_is_named(tmp_path: Path) -> None:
    """Of a broker that is down it is known; of one that is shown as live it says that the picture may be old."""
    code, first, _ = first_line(f"{UNREACHED % 2}\n{ONE}{WELL}", tmp_path)
    assert (code, first.partition(";")[0]) == (10, "shown as live, and not reached by a tool: 2")


def test_why_other_rules_hold_of_a_part_is_said(tmp_path: Path) -> None:
    """Of a part of the rows the release's rule on partition 0 is left out, and a warning says so; of all it holds."""
    (_, _, part), (_, _, whole) = (first_line(text, tmp_path) for text in (WELL, ONE + WELL))
    for rest, is_part in ((part, True), (whole, False)):
        assert ("-min-isr-from-first-partition" in rest) == is_part
        assert ("partition 0 need not be shown: the min ISR of each partition" in " ".join(rest.split())) == is_part


@pytest.mark.parametrize("tool", ["log-dirs", "get-offsets"])
def test_who_asks_for_some_topics_gets_no_others(tool: str, tmp_path: Path) -> None:
    """Where the command is shown, a topic that it did not ask for is not missed in the answer; one that it did, is."""
    answer = {"log-dirs": f"Received log directory information from brokers 1,2,3\n{directories(1, 2, 3)}",
              "get-offsets": "u:0:7\n"}[tool].replace("t-0", "u-0")  # fmt: skip
    others = ONE.replace(": t\t", ": u\t") + WELL.replace(": t\t", ": u\t")
    for topics, missed in (("--topic-list u", False), ("--topic u", False), ("--topic-list u,t", True), ("", True)):
        command = f"$ kafka-{tool}.sh --bootstrap-server k:9092 --describe {topics}\n"
        _, first, _ = first_line(f"{ONE}{WELL}{others}{command}{answer}", tmp_path)
        assert ("t-0" in first) == missed, first


BATCH = (
    "baseOffset: {0} lastOffset: {0} count: 1 partitionLeaderEpoch: 1 isControl: false CreateTime: 1 isvalid: true\n"
)


@pytest.mark.parametrize(("text", "told"), [
    ("ERROR [Broker id=3] Duplicate log directories found", "a program's log; `kraftcheck findings WORDS`"),
    ("[2026-11-21 22:51:38,567] WARN something", "a program's log; `kraftcheck findings WORDS`"),
    ("Error while executing topic command : Timed out waiting for a node assignment.", "the tool failed, as where"),
    (f"kafka-0 kafka {ONE}", "cut off what stands before each line"),
    ("words", "give a segment, a checkpoint, its dump, or what kafka-topics --describe prints"),
    (BATCH.format(0) + BATCH.format(1), "dump the segment with --cluster-metadata-decoder"),
    ("u:0:7\n", "give what kafka-topics --describe prints too"),
])  # fmt: skip
def test_a_text_that_is_no_log_says_what_it_is(text: str, told: str, tmp_path: Path) -> None:
    """The refusal of a text without a line of a log names the mend for what it looks like."""
    path = tmp_path / ("server.log" if "program" in told else "text.txt")
    path.write_text(f"{text}\n", encoding="utf-8")
    refusal = kraftcheck("status", path).refusal()
    assert refusal.startswith(str(path))
    assert told in refusal


@pytest.mark.parametrize("prefix", ["kafka-1  | ", "[pod/kafka-0/kafka] ", "[kafka-0 kafka] ",
                                    "2026-11-21T22:51:38.567Z stdout F "])  # fmt: skip
def test_what_stands_before_each_line_changes_nothing(prefix: str, tmp_path: Path) -> None:
    """What containers put before a line of kafka-topics is passed over."""
    text = "".join(f"{prefix}{line}" for line in (ONE + WELL).splitlines(keepends=True))
    assert first_line(text, tmp_path)[:2] == first_line(ONE + WELL, tmp_path)[:2]


@pytest.mark.parametrize("line", [
    "Picked up JAVA_TOOL_OPTIONS: -Xmx1g", "SLF4J: Class path contains multiple SLF4J bindings.", "```", "--More--",
    "OpenJDK 64-Bit Server VM warning: Sharing is only supported for boot loader classes because", "$ cat topics.txt",
    "log4j:WARN No appenders could be found for logger (kafka.utils).", "[root@k ~]# kafka-topics.sh --describe", "$ ",
    "$ bin/kafka-topics.sh --bootstrap-server k:9092 --describe > out.txt 2>&1",
    "$ docker exec k1 /opt/kafka/bin/kafka-metadata-quorum.sh describe --status", "$ kafka-log-dirs.sh | less",
    "[2026-11-21 22:51:38,567] INFO Kafka version: 4.1.0 (org.apache.kafka.common.utils.AppInfoParser)",
    'Defaulted container "kafka" out of: kafka, init (init)', "$ date", "Sat Nov 21 22:51:38 UTC 2026", UNREACHED % 4,
    UNREACHED % -1,
])  # fmt: skip
def test_what_is_known_to_be_harmless_changes_nothing(line: str, tmp_path: Path) -> None:
    """A small list of lines of the JVM, of logging and of a terminal tells nothing of the cluster."""
    assert first_line(f"{line}\n{ONE}{line}\n{WELL}", tmp_path)[:2] == first_line(ONE + WELL, tmp_path)[:2]


def test_a_pager_at_the_end_has_more(tmp_path: Path) -> None:
    """A paste that ends with the prompt of a pager is cut there, whatever is shown before it."""
    code, line, _ = first_line(ONE + WELL + "--More--(42%)\n", tmp_path)
    assert (code, line.partition(";")[0]) == (10, "1 line is not understood")


def test_names_are_not_in_what_is_not_understood(tmp_path: Path) -> None:
    """With --anonymise the place of such a line is told, and no word of it."""
    path = tmp_path / "described.txt"
    path.write_text(ONE + WELL + "secret-topic is unwell\n", encoding="utf-8")
    ran = kraftcheck("status", path, "--anonymise")
    assert ran.code == 10
    assert "not known to be harmless: line 3\n" in ran.out
    assert "secret" not in ran.out


@pytest.mark.parametrize("topic_id", ["xxxx", "A" * 22, "5zoAlv-xEh9xRANKXt1Lbg", ""])
def test_topics_are_kept_apart_by_their_names(topic_id: str, tmp_path: Path) -> None:
    """Whatever is put for the ids of topics before a text is sent on, no topic hides another that is offline."""
    offline = WELL.replace("Leader: 1", "Leader: none").replace("Isr: 1,2,3", "Isr: ")
    one = (ONE + offline).replace("5zoAlv-xEh9xRANKXt1Lbg", topic_id)
    two = (ONE + WELL).replace("5zoAlv-xEh9xRANKXt1Lbg", topic_id).replace("Topic: t", "Topic: u")
    for text in (one + two, two + one):
        code, line, _ = first_line(text, tmp_path)
        assert (code, line.partition(";")[0]) == (14, "1 of 2 partitions is offline")


@pytest.mark.parametrize(("version", "rules", "state"), [
    ("3.6-IV2", "kafka-3.9.2+acks-all-needs-configured-min-isr+", "1 of 1 partition refuses acks=all"),
    ("3.9-IV0", "kafka-3.9.2", "1 of 1 partition is one fault from refusing acks=all"),
    ("4.1-IV1", "kafka-4.1.2", "1 of 1 partition is one fault from refusing acks=all"),
    ("9.0-IV1", "kafka-4.4.0", "metadata version 9.0-IV1 is not known, and its rules neither"),
])  # fmt: skip
def test_the_rules_are_those_of_the_release_that_is_shown(
    version: str, rules: str, state: str, tmp_path: Path
) -> None:  # fmt: skip
    """kafka-features tells what the cluster supports, and with it whose rules hold; of a later one nothing is known."""
    feature = f"Feature: metadata.version\tSupportedMinVersion: 3.0-IV1\tSupportedMaxVersion: {version}\t"
    text = (ONE + WELL).replace("replicas=2", "replicas=3").replace("1,2,3", "1,2").replace("Factor: 3", "Factor: 2")
    code, line, rest = first_line(text + feature + f"FinalizedVersionLevel: {version}\tEpoch: 1\n", tmp_path)
    assert (code, line.partition(";")[0]) == (10, state)
    assert f"rules {rules}" in rest.partition("\n")[0]


def _tar(data: bytes) -> bytes:
    packed, info = io.BytesIO(), tarfile.TarInfo("log.txt")
    info.size = len(data)
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.addfile(info, io.BytesIO(data))
    return packed.getvalue()


def _zip(data: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("log.txt", data)
    return packed.getvalue()


@pytest.mark.parametrize(
    ("pack", "kind"),
    [
        (_tar, "a tar archive"), (lambda data: gzip.compress(_tar(data)), "a tar archive"), (_zip, "a zip archive"),
        (lzma.compress, "packed by xz"), (bz2.compress, "packed by bzip2"),
    ],
)  # fmt: skip
def test_archives_are_to_be_unpacked(pack: Callable[[bytes], bytes], kind: str, tmp_path: Path) -> None:
    """An archive that is not unpacked here is named as what it is, with the mend, whatever its file is called."""
    for name in ("log.tgz", "log.txt", "0.log"):
        (tmp_path / name).write_bytes(pack(TEXT.encode()))
        with pytest.raises(LogError, match=rf"{name}: {kind}; unpack it"):
            batches(tmp_path / name)


@pytest.mark.parametrize("text", [TEXT.encode(), TEXT.encode("utf-16")], ids=["UTF-8", "UTF-16"])
@pytest.mark.parametrize("kept", [0.3, 0.9, 0.999])
def test_an_archive_that_is_cut_off_is_read_as_far_as_it_goes(text: bytes, kept: float, tmp_path: Path) -> None:
    """Its whole batches are read, and a warning says that the rest is missing."""
    path, packed = tmp_path / "log.gz", gzip.compress(text)
    path.write_bytes(packed[: int(len(packed) * kept)])
    found, skipped = batches(path)
    assert found == batches(OUTAGE)[0][: len(found)]
    assert found
    assert any("the compressed file is cut off" in note for note in skipped.notes)


def test_an_archive_of_a_segment_that_is_cut_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    """Of a segment, too: the batches of the part that is there."""
    path, segment = tmp_path / "0.log.gz", (CAPTURED / "trouble" / "00000000000000000000.log").read_bytes()
    packed = gzip.compress(segment)
    path.write_bytes(packed[: len(packed) // 2])
    found, skipped = batches(path)
    assert 10 < len(found) < len(list(segments.batches(segment, "", skipped.problem)))
    assert any("the compressed file is cut off" in note for note in skipped.notes)


def test_damaged_archives_are_refused(tmp_path: Path) -> None:
    """What is damaged within is no log that is cut off."""
    path, packed = tmp_path / "log.gz", bytearray(gzip.compress(TEXT.encode()))
    packed[-6] ^= 1
    path.write_bytes(packed)
    with pytest.raises(LogError, match="damaged, as gzip says"):
        batches(path)


def test_standard_input_is_a_log() -> None:
    """`status -` reads the text that is piped into it, more than once, and says the same as of the file."""
    told = []
    for words, text in ((["-"], TEXT), ([str(OUTAGE)], "")):
        command = [sys.executable, "-m", "kraftcheck", "status", *words]
        ran = subprocess.run(command, input=text, capture_output=True, text=True, cwd=ROOT)
        assert ran.returncode == 14, ran.stderr
        told.append(ran.stdout.replace("standard input", "LOG").replace(str(OUTAGE), "LOG"))
    assert told[0] == told[1]
