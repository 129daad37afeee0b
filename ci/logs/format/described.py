"""What Kafka's tools tell of a running cluster, as a snapshot: `kafka-topics --describe`, and beside it
`kafka-metadata-quorum describe`.

Such a text has no epochs and no history, and says of no broker whether it is fenced. A broker that leads, or is in the
ISR of a partition that is led, is live; any other is taken to be fenced, unless the quorum has heard of it as lately as
its session lasts. Source: `TopicCommand`, `MetadataQuorumCommand`.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from typing import Any

from attrs import define, field, frozen

from kraftcheck.ci.logs.format.beside import ToolsReport, is_of_quorum, listed
from kraftcheck.ci.logs.format.segments import Problem
from kraftcheck.ci.logs.releases import level_of
from kraftcheck.model.controller.state import is_valid
from kraftcheck.model.partition.registration import LOST, RESERVED
from kraftcheck.model.records.fields import CODE
from kraftcheck.solvers.logs.explain.state import ELR_FEATURE, METADATA_VERSION, Batch, LogEntry

TOPICS, QUORUM = "topics", "quorum"  # forms of lines
NAMED = 3  # partitions that are named where there are more
LEVEL = 33  # the metadata version that is taken where the text names none, the newest that is known

_KEYS = re.compile(
    r"(Topic|TopicId|PartitionCount|ReplicationFactor|Configs|Partition|Leader|Replicas|Isr|Adding Replicas"
    r"|Removing Replicas|Elr|LastKnownElr|Offline|Observers|MarkedForDeletion): ?"
)
_NOT_READ = ("Offline", "Observers", "MarkedForDeletion")
"""Columns that some tools print, each of which says that something is otherwise than the others show."""

_LISTS = {
    "cleanup.policy": "compact|delete",
    "leader.replication.throttled.replicas": r"\d+:\d+|\*",
    "follower.replication.throttled.replicas": r"\d+:\d+|\*",
}
"""Configurations of topics whose values are lists, with what each item of such a list is."""
_FILTERED = re.compile(
    r"kafka-topics(?:\.sh|\.bat)?\s.*(?:\|"
    r"|\s--(?:topic|exclude-internal|unavailable|under-|at-min-isr|topics-with-overrides|partition-size-limit))"
)
"""A command that asks kafka-topics for less than there is, or passes its lines on to a filter."""

_LIST = re.compile(r"(?:\d+(?:,\s*\d+)*)?")

_ANEW = "if a terminal has broken the line, write the output to a file; else print it anew"


def form_of(line: str) -> str:
    """The form of a line; empty where it has neither."""
    if line.startswith("Topic: "):
        return TOPICS
    return QUORUM if is_of_quorum(line) else ""


def is_cut(lines: Sequence[str]) -> bool:
    """Whether the last line lacks what such a line has, but for a partition without a leader, whole otherwise."""
    if "PartitionCount:" in lines[-1]:  # what follows it is its configuration, and then its partitions
        return True
    rows = [_KEYS.split(line.rstrip())[1:] for line in lines if form_of(line) == TOPICS]
    told = {key: value.strip() for key, value in zip(rows[-1][::2], rows[-1][1::2], strict=True)}
    if told.get("Leader") in ("none", "-1") and {"Partition", "Replicas", "Isr"} <= told.keys():
        return False
    *before, last = ({*row[::2]} for row in rows)
    each = {"Partition", "Leader", "Replicas", "Isr"}.union(*(keys & {"Elr", "LastKnownElr"} for keys in before))
    return not each <= last or told["Leader"] not in re.split(r",\s*", told["Isr"])


def asks_for_a_part(line: str) -> bool:
    """Whether a command for kafka-topics asks for some topics or partitions, or what it prints is filtered."""
    return _FILTERED.search(line) is not None


def is_leaderless(line: str) -> bool:
    """Whether the row of a partition, whole or not, shows that nobody leads it."""
    return re.search(r"\sLeader: (?:none|-1)(?:\s|$)", line) is not None


def trimmed(line: str) -> str:
    """The row of a partition that has no end, without what may be the beginning of one more key."""
    return re.sub(r"[\s,]+[A-Za-z ]*$", "", line) if "Isr" in _KEYS.split(line)[1::2] else line


@frozen
class _Row:
    """A partition as it is shown; `elr` and `last_known` are None where the cluster tells none."""

    topic: str
    index: int
    leader: int
    replicas: Sequence[int]
    isr: Sequence[int]
    adding: Sequence[int]
    removing: Sequence[int]
    elr: Sequence[int] | None
    last_known: Sequence[int] | None


@define
class Shown:
    """The facts that a text shows."""

    rows: dict[tuple[str, int], _Row] = field(factory=dict)  # the partitions
    # of each topic its id, how many partitions it has, and its configuration, as far as that is shown
    topics: dict[str, tuple[str, int | None, Mapping[str, str]]] = field(factory=dict)
    factors: dict[str, int | None] = field(factory=dict)  # of each topic how many replicas its first partition has
    named: Callable[[str], str] = str  # what a topic is called in notes
    beside: ToolsReport = field(factory=ToolsReport)  # what other tools tell
    not_known: dict[int, str] = field(factory=dict)  # lines that no tool is known to print, by their number
    odd: dict[str, list[str]] = field(factory=dict)  # what columns that are not read tell

    def quiet(self) -> Iterator[str]:
        """The nodes that are silent in their place in the cluster, so that the rest may be an old picture."""
        yield from self.beside.quiet(self.live & {*self.brokers()}, self._fenced, self.late)
        if self.beside.supported and level_of(self.beside.supported) is None:
            yield f"metadata version {self.beside.supported} is not known, and its rules neither"
        for what, names in self.odd.items():
            yield f"{what}: {self._names(names)}"
        rows = {f"{topic}-{index}": row for (topic, index), row in self.rows.items()}
        if absent := sorted(self.beside.named - rows.keys()):
            yield f"not shown, though another tool names it: {self._names(absent)}"
        held = (name for name, row in rows.items() if any(self.beside.not_held(broker, name) for broker in row.isr))
        if absent := sorted(held):
            yield f"in sync, and not so in the broker's answer to kafka-log-dirs: {self._names(absent)}"
        if absent := sorted(name for name, row in rows.items() if row.leader != -1 and self.beside.has_no_end(name)):
            yield f"led, and not in the answer of kafka-get-offsets: {self._names(absent)}"

    def _names(self, partitions: Sequence[str]) -> str:
        """Some partitions, as they are called in notes."""
        parts = (name.rpartition("-") for name in partitions[:NAMED])
        more = f" and {len(partitions) - NAMED} more" if len(partitions) > NAMED else ""
        return ", ".join(f"{self.named(topic)}-{index}" for topic, _, index in parts) + more

    def in_part(self) -> Iterator[str]:
        """What says that there may be partitions, or configurations, that are not shown."""
        if self.beside.error:
            yield f"WARNING: {self.beside.error}: the tool failed here: its answer is incomplete"
        indices: dict[str, set[int]] = {topic: set() for topic in self.topics}
        for topic, index in self.rows:
            indices[topic].add(index)
        for topic, (_, count, _) in self.topics.items():
            shown = indices[topic]
            have = len(shown & {*range(count or 0)})
            if beyond := sorted(shown.difference(range(max(shown) + 1 if count is None else count))):
                more = f"partition {beyond[0]} is shown: the lines are not of one moment"
                yield f"WARNING: {self.named(topic)} has {count} partitions, and {more}"
            if count is None:
                without = "is shown without its configuration: min.insync.replicas is taken as 1"
                yield f"WARNING: {self.named(topic)} {without}"
            elif have < count:
                are = "is" if have == 1 else "are"
                yield f"WARNING: {self.named(topic)} has {count} partitions, and {have} {are} shown"

    @cached_property
    def live(self) -> set[int]:
        """The brokers that are not taken to be fenced."""
        return self.leading | (self.beside.fetching() | self.joining) - self._barred

    @property
    def leading(self) -> set[int]:
        """The brokers that lead a partition, or are in sync with who leads it."""
        rows = self.rows.values()
        return {broker for row in rows if row.leader != -1 for broker in (row.leader, *row.isr)}

    @cached_property
    def joining(self) -> set[int]:
        """The brokers of which only replicas are not in sync that are being added: that tells nothing of the broker."""
        led = [row for row in self.rows.values() if row.leader != -1]
        late = {broker for row in led for broker in row.replicas if broker not in (*row.isr, *row.adding)}
        in_sync = {broker for row in led for broker in row.isr}
        return {broker for row in led for broker in row.adding} - late - self.late.keys() - in_sync - self._barred

    @property
    def _fenced(self) -> set[int]:
        return {*self.brokers()} - self.live

    @cached_property
    def late(self) -> dict[int, str]:
        """The nodes that do not have what the quorum has, with how late they are."""
        return self.beside.late(self.leading)

    @property
    def _barred(self) -> set[int]:
        """Who would lead a partition that nobody leads."""
        rows = (row for row in self.rows.values() if row.leader == -1)
        return {broker for row in rows for broker in (*row.isr, *(row.elr or ()))}

    @cached_property
    def starting(self) -> set[int]:
        """The brokers that have just fetched from the quorum, and do not lead though they may."""
        return self.beside.fetching() & self._barred - self.live

    def lost(self, row: _Row) -> list[int]:
        """The live brokers that may lead a partition and do not: their directory must have failed."""
        return sorted({*row.isr, *(row.elr or ())} & self.live) if row.leader == -1 else []

    def brokers(self) -> list[int]:
        """The brokers that have replicas."""
        return sorted({broker for row in self.rows.values() for broker in row.replicas})

    def with_elr(self) -> bool:
        """Whether some partition has eligible replicas outside of its ISR, or a last known leader, or it may have."""
        return self.beside.elr_on or any(row.elr or row.last_known for row in self.rows.values())

    def notes(self) -> Iterator[str]:
        """What a text does not tell, and what it tells of the quorum."""
        voters = "" if self.beside.voters else ", and not who votes in the quorum"
        yield f"WARNING: of kafka-topics --describe: it tells no epochs, no directories, no times, no history{voters}"
        if down := self._fenced - self.starting:
            yield f"WARNING: in no ISR that has a leader, so taken to be fenced: {listed(down)}"
        if self.joining:
            yield f"WARNING: in no ISR, but only being added, so taken to be live: {listed(self.joining)}"
        for broker in sorted(self.starting):
            rows = [row for row in self.rows.values() if row.leader == -1 and broker in (*row.isr, *(row.elr or ()))]
            led = ", ".join(f"{self.named(row.topic)}-{row.index}" for row in rows)
            look = "look whether it is still fenced, and at its log directories"
            yield f"WARNING: {broker} fetches from the quorum, yet what it may lead has no leader: {led}; {look}"
        lost = [(row, broker) for row in self.rows.values() for broker in self.lost(row)]
        if lost:
            why = "without a leader though a live broker may lead, so its directory is taken to have failed"
            places = (f"{self.named(row.topic)}-{row.index} on {broker}" for row, broker in lost)
            yield f"WARNING: {why}: {', '.join(places)}"
        if not self.with_elr():
            yield "WARNING: no eligible leader replica is shown: ELR is taken to be off"
        yield from self.beside.notes()
        if late := self.late.keys() & self._fenced - self.beside.voters:
            yield f"WARNING: does not keep up with the quorum: {listed(late, self.late)}"
        if count := self.beside.lines:
            lines = "1 line" if count == 1 else f"{count} lines"
            tools = "kafka-log-dirs or kafka-get-offsets"
            yield f"WARNING: passed over: {lines} of {tools}; unclean-recovery --logs reads them"
        yield from self.in_part()

    def batches(self, name: str) -> Iterator[Batch]:
        """A snapshot of such a cluster."""
        follows, head = 0, [_mark("HEADER"), self._voters()]
        for control, entries in ((True, head), (False, [*_records(self)]), (True, [_mark("FOOTER")])):
            records = tuple(LogEntry(offset, *entry) for offset, entry in enumerate(entries, follows))
            yield Batch(follows, follows + len(records) - 1, 0, records, name, control)
            follows += len(records)

    def _voters(self) -> tuple[str, int, dict[str, Any]]:
        return "KRAFT_VOTERS", 0, {"voters": sorted(self.beside.voters)}


def _mark(word: str) -> tuple[str, int, dict[str, Any]]:
    return f"SNAPSHOT_{word}", 0, {}


def shown(lines: Sequence[str], name: str, problem: Problem, asked: Mapping[str, Set[str]]) -> Shown:
    """The facts that lines of a text show; `problem` is told of what cannot be read; `asked` as of `asked_topics`."""
    found = Shown(beside=ToolsReport(asked_topics=asked))
    for number, line in enumerate(lines, 1):
        place = f"{name}:{number}"
        if form_of(line) == TOPICS:
            try:
                _topic_line(line, found)
            except ValueError as reason:
                problem(place, f"not a line of kafka-topics --describe: {reason}: {line[:60]!r}")
        elif not found.beside.read(line, place) and line.strip():
            found.not_known[number] = line
    return found


def _topic_line(line: str, shown: Shown) -> None:
    """Note a topic, or a partition; raises ValueError for what is missing and what is none."""
    _, *parts = _KEYS.split(line.rstrip())
    told = {key: value.strip() for key, value in zip(parts[::2], parts[1::2], strict=True)}
    topic = told["Topic"]
    for key in _NOT_READ:
        if told.get(key, "N/A") not in ("", "N/A", "false"):
            odd = shown.odd.setdefault(f"{key} {told[key]} is shown of", [])
            odd.append(f"{topic}-{told.get('Partition', '*')}")
    if "PartitionCount" in told:
        count = _number(told, "PartitionCount")
        factor = _number(told, "ReplicationFactor") if "ReplicationFactor" in told else None
        if "Configs" not in told:
            raise ValueError(f"Configs is missing; {_ANEW}")
        head = (told.get("TopicId") or _uuid(topic), count, _configs(told["Configs"]))
        before = shown.topics.get(topic, (None, None))
        if before[1] is not None and (before, shown.factors[topic]) != (head, factor):
            raise ValueError(f"{topic} is shown twice, and not alike")
        shown.topics[topic], shown.factors[topic] = head, factor
        return
    shown.topics.setdefault(topic, (_uuid(topic), None, {}))
    if missing := [key for key in ("Partition", "Leader", "Replicas", "Isr") if key not in told]:
        raise ValueError(f"{missing[0]} is missing; {_ANEW}")
    leader = -1 if told["Leader"] in ("none", "-1") else _number(told, "Leader")
    row = _Row(
        topic, _number(told, "Partition"), leader, _ids(told["Replicas"]), _ids(told["Isr"]),
        _ids(told.get("Adding Replicas", "")), _ids(told.get("Removing Replicas", "")), _elr(told, "Elr"),
        _elr(told, "LastKnownElr"),
    )  # fmt: skip
    if not row.replicas or not {*row.isr, *(row.elr or ()), *({leader} - {-1})} <= {*row.replicas}:
        raise ValueError("who leads or is in sync is no replica")
    if leader not in (-1, *row.isr):
        raise ValueError("who leads is not in sync, which no controller writes; print it anew")
    own = len(row.replicas) - len(row.adding)
    if row.index == 0 and shown.factors.get(topic) not in (None, own):
        raise ValueError(f"partition 0 has {own} replicas, ReplicationFactor is {shown.factors[topic]}; {_ANEW}")
    if shown.rows.setdefault((topic, row.index), row) != row:
        raise ValueError(f"{topic}-{row.index} is shown twice, and not alike")


def _configs(text: str) -> dict[str, str]:
    """The configuration of a topic; raises ValueError where it is cut off."""
    every = [one.partition("=") for one in re.split(r",(?=[a-z][\w.]*=)", text) if one]
    for key, equals, value in every:
        item = _LISTS.get(key, r"[^,\s]+")
        many = rf"(?:(?:{item})(?:,(?:{item}))*)?" if key in _LISTS else item
        if not equals or not re.fullmatch(many, value) or not is_valid(key, value):
            raise ValueError(f"the configuration ends in {(value or key).rpartition(',')[2][:30]!r}; {_ANEW}")
    return {key: value for key, _, value in every}


def _number(told: Mapping[str, str], key: str) -> int:
    if not re.fullmatch(r"[0-9]{1,10}", told[key]):
        raise ValueError(f"{key} is {told[key][:30]!r}, which is no number; {_ANEW}")
    return int(told[key])


def _ids(text: str) -> tuple[int, ...]:
    if not _LIST.fullmatch(text):
        raise ValueError(f"{text!r} is no list of brokers")
    return tuple(int(one) for one in text.split(",") if one)


def _elr(told: Mapping[str, str], key: str) -> tuple[int, ...] | None:
    return None if told.get(key, "N/A") == "N/A" else _ids(told[key])


def _uuid(text: str) -> str:
    """An id in the place of one that is not shown."""
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()[:16]).decode().rstrip("=")


def _records(shown: Shown) -> Iterator[tuple[str, int, dict[str, Any]]]:
    live = shown.live
    level = level_of(shown.beside.supported) or LEVEL
    yield "FEATURE_LEVEL_RECORD", 0, {"name": METADATA_VERSION, "featureLevel": level}
    if shown.with_elr():
        yield "FEATURE_LEVEL_RECORD", 0, {"name": ELR_FEATURE, "featureLevel": 1}
    for broker in shown.brokers():
        yield "REGISTER_BROKER_RECORD", 3, {
            "brokerId": broker, "isMigratingZkBroker": False, "incarnationId": _uuid(str(broker)), "brokerEpoch": 0,
            "endPoints": [], "features": [], "rack": None, "fenced": broker not in live, "inControlledShutdown": False,
            "logDirs": [_directory(broker)],
        }  # fmt: skip
    for topic, (_, _, configs) in shown.topics.items():  # by its name: an id may be blacked out
        yield "TOPIC_RECORD", 0, {"name": topic, "topicId": _uuid(topic)}
        for key, value in configs.items():
            yield "CONFIG_RECORD", 0, {"resourceType": 2, "resourceName": topic, "name": key, "value": value}
    for row in shown.rows.values():
        yield "PARTITION_RECORD", 2, _partition(row, _uuid(row.topic), shown.lost(row))


def _directory(broker: int) -> str:
    """The one directory that a broker is taken to have."""
    return CODE.base64((RESERVED << 64) + broker)


def _partition(row: _Row, topic_id: str, lost: Sequence[int]) -> dict[str, Any]:
    """The record of a partition of which some replicas are on a directory that has failed."""
    return {
        "partitionId": row.index, "topicId": topic_id, "replicas": [*row.replicas], "isr": [*row.isr],
        "removingReplicas": [*row.removing], "addingReplicas": [*row.adding], "leader": row.leader, "leaderEpoch": 0,
        "partitionEpoch": 0, "eligibleLeaderReplicas": [*(row.elr or ())], "lastKnownElr": [*(row.last_known or ())],
        "directories": [CODE.base64(LOST) if broker in lost else _directory(broker) for broker in row.replicas],
    }  # fmt: skip
