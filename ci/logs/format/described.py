"""What Kafka's tools tell of a running cluster, as a snapshot: `kafka-topics --describe`, and beside it
`kafka-metadata-quorum describe`.

Such a text has no epochs and no history, and says of no broker whether it is fenced. A broker that leads, or is in the
ISR of a partition that is led, is live; any other is taken to be fenced, unless the quorum has heard of it as lately as
its session lasts. Source: `TopicCommand`, `MetadataQuorumCommand`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeAlias

from attrs import define, field, frozen

from kraftcheck.ci.logs.format.segments import Problem
from kraftcheck.model.partition.registration import LOST, RESERVED
from kraftcheck.model.records.fields import CODE
from kraftcheck.solvers.logs.explain.state import ELR_FEATURE, METADATA_VERSION, Batch, LogEntry

TOPICS, QUORUM = "topics", "quorum"
"""Forms of lines."""

LEVEL = 33
"""The metadata version that is taken, the newest that is known: the text names none."""

SESSION_MS = 9000
"""How long a broker may be silent before it is fenced: broker.session.timeout.ms, unless set."""

NEVER = 1 << 62
"""Stands for how long a node has been silent that has not caught up since the leader was elected."""

UNLISTED = NEVER + 1
"""The same of a node that is not listed: the leader drops an observer that does not fetch."""

_KEYS = re.compile(
    r"(Topic|TopicId|PartitionCount|ReplicationFactor|Configs|Partition|Leader|Replicas|Isr|Adding Replicas"
    r"|Removing Replicas|Elr|LastKnownElr|Offline|MarkedForDeletion): ?"
)
_QUORUM = re.compile(
    r"(ClusterId|LeaderId|LeaderEpoch|HighWatermark|MaxFollowerLag|MaxFollowerLagTimeMs|CurrentVoters|"
    r"CurrentObservers):\s*(.*)$"
)
_NODE = re.compile(r"(\d+)\s+(?:[\w-]{22}\s+)?(-?\d+)\s+(\d+)\s+(-?\d+)(?: ms ago)?\s+(-?\d+)( ms ago)?\s+(\w+)\s*$")
_WHOLE = frozenset({"LeaderId", "HighWatermark", "MaxFollowerLag", "CurrentVoters", "CurrentObservers"})
"""What kafka-metadata-quorum tells in each of its answers on the status."""

_BESIDE = re.compile(
    r'[\w.-]{1,249}:\d+:\d*$|\{"(?:version|brokers)":|Querying brokers for log directories'
    r"|Received log directory information"
)
"""Lines of kafka-get-offsets and kafka-log-dirs."""

_ELR_ON = re.compile(rf"Feature: {re.escape(ELR_FEATURE)}\s.*FinalizedVersionLevel: [1-9]")

_VERSIONS = re.compile(
    r"Feature: \S+\s+SupportedMinVersion: |\S+:\d+ \(id: (-?\d+) rack: (.*?)\) -> (?:\(|ERROR: (.*))$"
    r"|\s*[A-Z]\w*\(\d+\): |\)$"
)
"""Lines of kafka-features, and of kafka-broker-api-versions, which name a broker and how it answers."""

_ERROR = re.compile(
    r"Error while executing |Exception in thread |Caused by: |\s+at [\w.$/@]+\(|\s+\.\.\. \d+ more|"
    r"[\w.$]+\.\w*(?:Exception|Error)\b"
)
"""What a tool prints that fails, with what called what."""

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
    return QUORUM if _QUORUM.match(line) or line.startswith("NodeId") or _NODE.match(line) else ""


def is_cut(lines: Sequence[str]) -> bool:
    """Whether the last line lacks something that such a line has, and the partitions before it have.

    One that shows a partition without a leader, and all of its replicas, counts: it is offline, whatever follows.
    """
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
    """What a text shows.

    Attributes:
        rows: the partitions.
        topics: of each topic its id, how many partitions it has, and its configuration, as far as that is shown.
        factors: of each topic how many replicas its first partition has.
        quorum: of the quorum what is told of it, by its name.
        named: what a topic is called in notes.
        silent: of each node for how many milliseconds it has not fetched what the quorum has, if that is told.
        beside: lines of other tools that tell of log ends.
        error: where the tool failed while it printed, if it did.
        voters: the nodes that are shown to vote.
        without_leader: whether a table of the quorum's nodes is shown, and no row of its leader.
        elr_on: whether kafka-features shows that there may be eligible replicas outside of an ISR.
        failed: what tools of log directories and of versions say of a broker that is not well.
    """

    rows: dict[tuple[str, int], _Row] = field(factory=dict)
    topics: dict[str, tuple[str, int | None, Mapping[str, str]]] = field(factory=dict)
    factors: dict[str, int] = field(factory=dict)
    quorum: dict[str, str] = field(factory=dict)
    named: Callable[[str], str] = str
    silent: dict[int, int | None] = field(factory=dict)
    beside: int = 0
    error: str = ""
    voters: set[int] = field(factory=set)
    without_leader: bool = False
    elr_on: bool = False
    failed: dict[str, None] = field(factory=dict)

    def quiet(self) -> Iterator[str]:
        """Who does not do what its place in the cluster wants, so that the rest may be an old picture."""
        if self.quorum.get("LeaderId") == "-1":
            yield "the quorum has no leader, so that nobody is elected"
        late, lag = self._late, self.quorum.get("MaxFollowerLagTimeMs", "")
        lag = str(NEVER) if lag == "-1" and self.quorum.get("MaxFollowerLag") != "0" else lag
        if voters := late.keys() & self.voters:
            so = " (no majority is left)" if 2 * len(voters) >= len(self.voters) else ""
            silent = _listed(voters, late)
            yield f"{len(voters)} of {len(self.voters)} voters do not keep up with the quorum{so}: {silent}"
        elif lag.isdecimal() and int(lag) > SESSION_MS:
            is_late = f"is {int(lag) // 1000} s behind" if int(lag) < NEVER else "has never caught up"
            yield f"a voter of the quorum {is_late}"
        if brokers := late.keys() - self.voters - self._fenced:
            yield f"shown as live, and does not keep up with the quorum: {_listed(brokers, late)}"
        yield from self.failed
        if self.without_leader or (self.quorum and not self.quorum.keys() >= _WHOLE):
            yield "the answer of kafka-metadata-quorum is shown in part"

    def in_part(self) -> Iterator[str]:
        """What says that there may be partitions, or configurations, that are not shown."""
        if self.error:
            yield f"WARNING: {self.error}: the tool failed here: its answer is incomplete"
        for topic, (_, count, _) in self.topics.items():
            shown = {index for name, index in self.rows if name == topic}
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
        return self.leading | (self._fetching | self.joining) - self._barred

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
        return {broker for row in led for broker in row.adding} - late - self._late.keys() - in_sync - self._barred

    @property
    def _fetching(self) -> set[int]:
        return {node for node, ms in self.silent.items() if ms is not None and ms <= SESSION_MS}

    @property
    def _fenced(self) -> set[int]:
        return {*self.brokers()} - self.live

    @property
    def _late(self) -> dict[int, str]:
        """The nodes that should have what the quorum has, and for how long they have not."""
        late = {node: ms for node, ms in self.silent.items() if ms is not None and ms > SESSION_MS}
        told = {node: f"{node} for {ms // 1000} s" for node, ms in late.items()}
        words = {NEVER: "{} since the leader was elected", UNLISTED: "{} (not listed)"}
        return {node: words.get(ms, told[node]).format(node) for node, ms in late.items()}

    @property
    def _barred(self) -> set[int]:
        """Who would lead a partition that nobody leads."""
        rows = (row for row in self.rows.values() if row.leader == -1)
        return {broker for row in rows for broker in (*row.isr, *(row.elr or ()))}

    @cached_property
    def starting(self) -> set[int]:
        """The brokers that have just fetched from the quorum, and do not lead though they may."""
        return self._fetching & self._barred - self.live

    def lost(self, row: _Row) -> list[int]:
        """The live brokers that may lead a partition and do not: their directory must have failed."""
        return sorted({*row.isr, *(row.elr or ())} & self.live) if row.leader == -1 else []

    def brokers(self) -> list[int]:
        """The brokers that have replicas."""
        return sorted({broker for row in self.rows.values() for broker in row.replicas})

    def with_elr(self) -> bool:
        """Whether some partition has eligible replicas outside of its ISR, or a last known leader, or it may have."""
        return self.elr_on or any(row.elr or row.last_known for row in self.rows.values())

    def notes(self) -> Iterator[str]:
        """What a text does not tell, and what it tells of the quorum."""
        yield "WARNING: of kafka-topics --describe: it tells no epochs, no directories, no times and no history"
        if down := self._fenced - self.starting:
            yield f"WARNING: in no ISR that has a leader, so taken to be fenced: {_listed(down)}"
        if self.joining:
            yield f"WARNING: in no ISR, but only being added, so taken to be live: {_listed(self.joining)}"
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
        if (leader := self.quorum.get("LeaderId")) is not None:
            lag = self.quorum.get("MaxFollowerLag", "an unknown number of")
            led = f"the quorum is led by {leader}, its slowest follower {lag} records behind"
            yield from () if leader == "-1" else (f"WARNING: {led}",)
        if late := self._late.keys() & self._fenced - self.voters:
            yield f"WARNING: does not keep up with the quorum: {_listed(late, self._late)}"
        if self.beside:
            lines = "1 line" if self.beside == 1 else f"{self.beside} lines"
            tools = "kafka-log-dirs or kafka-get-offsets"
            yield f"WARNING: passed over: {lines} of {tools}; unclean-recovery --logs reads them"
        yield from self.in_part()

    def batches(self, name: str) -> Iterator[Batch]:
        """A snapshot of such a cluster."""
        follows = 0
        for control, entries in ((True, [_mark("HEADER")]), (False, [*_records(self)]), (True, [_mark("FOOTER")])):
            records = tuple(LogEntry(offset, *entry) for offset, entry in enumerate(entries, follows))
            yield Batch(follows, follows + len(records) - 1, 0, records, name, control)
            follows += len(records)


def _mark(word: str) -> tuple[str, int, dict[str, Any]]:
    return f"SNAPSHOT_{word}", 0, {}


def shown(lines: Sequence[str], name: str, problem: Problem) -> Shown:
    """What the lines of a text show.

    Args:
        lines: of the text.
        name: of the file.
        problem: called for every line that cannot be read.
    """
    found, nodes, table = Shown(), list[_Node](), False
    for number, line in enumerate(lines, 1):
        place = f"{name}:{number}"
        if form_of(line) == TOPICS:
            try:
                _topic_line(line, found)
            except ValueError as reason:
                problem(place, f"not a line of kafka-topics --describe: {reason}: {line[:60]!r}")
        elif match := _QUORUM.match(line):
            found.quorum[match.group(1)] = match.group(2)
        elif match := _NODE.match(line):
            times = int(match.group(4)), int(match.group(5))
            nodes.append((int(match.group(1)), times, match.group(6) is not None, match.group(7)))
        elif _BESIDE.match(line):
            found.beside += 1
            found.failed.update(dict.fromkeys(_failed_directories(line)))
        elif match := _VERSIONS.match(line):
            found.elr_on |= _ELR_ON.match(line) is not None
            found.failed.update(dict.fromkeys(_unanswered(match)))
        elif _ERROR.match(line):
            found.error = found.error or place
        elif line.startswith("NodeId"):
            table = True
        elif line.strip():
            problem(place, f"not a line of kafka-topics --describe: {line[:60]!r}; remove it if it is none")
    found.without_leader = (table or bool(nodes)) and not any(status == "Leader" for *_, status in nodes)
    _silences(found, nodes)
    return found


def _topic_line(line: str, shown: Shown) -> None:
    """Note a topic, or a partition; raises ValueError for what is missing and what is none."""
    _, *parts = _KEYS.split(line.rstrip())
    told = {key: value.strip() for key, value in zip(parts[::2], parts[1::2], strict=True)}
    topic = told["Topic"]
    if "PartitionCount" in told:
        every = [one for one in re.split(r",(?=[a-z][\w.]*=)", told.get("Configs", "")) if one]
        if any("=" not in one for one in every):
            raise ValueError(f"the configuration ends in {every[-1][:30]!r}; {_ANEW}")
        configs = dict(one.split("=", 1) for one in every)
        shown.topics[topic] = (told.get("TopicId") or _uuid(topic), _number(told, "PartitionCount"), configs)
        if "ReplicationFactor" in told:
            shown.factors[topic] = _number(told, "ReplicationFactor")
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
    if row.index == 0 and own != shown.factors.get(topic, own):
        raise ValueError(f"partition 0 has {own} replicas, ReplicationFactor is {shown.factors[topic]}; {_ANEW}")
    if shown.rows.setdefault((topic, row.index), row) != row:
        raise ValueError(f"{topic}-{row.index} is shown twice, and not alike")


def _number(told: Mapping[str, str], key: str) -> int:
    if not re.fullmatch(r"[0-9]{1,10}", told[key]):
        raise ValueError(f"{key} is {told[key][:30]!r}, which is no number; {_ANEW}")
    return int(told[key])


def _listed(brokers: Set[int], words: Mapping[int, str] = MappingProxyType({})) -> str:
    return ", ".join(words.get(broker, str(broker)) for broker in sorted(brokers))


def _ids(text: str) -> tuple[int, ...]:
    if not _LIST.fullmatch(text):
        raise ValueError(f"{text!r} is no list of brokers")
    return tuple(int(one) for one in text.split(",") if one)


def _elr(told: Mapping[str, str], key: str) -> tuple[int, ...] | None:
    return None if told.get(key, "N/A") == "N/A" else _ids(told[key])


def _uuid(text: str) -> str:
    """An id in the place of one that is not shown."""
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()[:16]).decode().rstrip("=")


_Node: TypeAlias = tuple[int, tuple[int, int], bool, str]
"""A node, when it fetched and when it had caught up, whether these are how long ago that was, and its status."""


def _silences(shown: Shown, nodes: Sequence[_Node]) -> None:
    """How long each node has been silent, or behind; the leader has always just fetched, so that its time is now."""
    now = max((times[0] for _, times, _, _ in nodes), default=-1)
    for node, times, is_ago, status in nodes:
        since = max(times) if is_ago else now - min(times)
        shown.silent[node] = None if now < 0 else NEVER if min(times) < 0 else since
        shown.voters |= {node} if status in ("Leader", "Follower") else set()
    for key in ("CurrentVoters", "CurrentObservers"):
        text = shown.quorum.get(key, "")
        for named in re.findall(r'"id": ?(\d+)', text) if "{" in text else re.findall(r"\d+", text):
            shown.silent.setdefault(int(named), None)
            shown.voters |= {int(named)} if key == "CurrentVoters" else set()
    if nodes or "CurrentObservers" in shown.quorum:
        shown.silent |= dict.fromkeys(shown.leading - shown.silent.keys(), UNLISTED)


def _failed_directories(line: str) -> Iterator[str]:
    """What has failed by a line of kafka-log-dirs."""
    try:
        brokers = json.loads(line).get("brokers", ()) if line.startswith("{") else ()
        errors = [(broker["broker"], one["error"]) for broker in brokers for one in broker["logDirs"] if one["error"]]
    except (ValueError, TypeError, KeyError, AttributeError):
        yield "what kafka-log-dirs prints is not whole"
        return
    for broker, error in errors:
        yield f"kafka-log-dirs tells an error of a directory of broker {broker}: {str(error).rpartition('.')[2]}"


def _unanswered(match: re.Match[str]) -> Iterator[str]:
    """What a line of kafka-broker-api-versions says of a broker that is not well."""
    broker, more, error = match.groups()
    if error is not None:
        yield f"broker {broker} does not answer: {error.rpartition('.')[2]}"
    elif "isFenced: true" in (more or ""):
        yield f"broker {broker} is fenced, as kafka-broker-api-versions has it"


def _records(shown: Shown) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """The records of a snapshot: kind, version and fields."""
    live = shown.live
    yield "FEATURE_LEVEL_RECORD", 0, {"name": METADATA_VERSION, "featureLevel": LEVEL}
    if shown.with_elr():
        yield "FEATURE_LEVEL_RECORD", 0, {"name": ELR_FEATURE, "featureLevel": 1}
    for broker in shown.brokers():
        yield "REGISTER_BROKER_RECORD", 3, {
            "brokerId": broker, "isMigratingZkBroker": False, "incarnationId": _uuid(str(broker)), "brokerEpoch": 0,
            "endPoints": [], "features": [], "rack": None, "fenced": broker not in live, "inControlledShutdown": False,
            "logDirs": [_directory(broker)],
        }  # fmt: skip
    for topic, (topic_id, _, configs) in shown.topics.items():
        yield "TOPIC_RECORD", 0, {"name": topic, "topicId": topic_id}
        for key, value in configs.items():
            yield "CONFIG_RECORD", 0, {"resourceType": 2, "resourceName": topic, "name": key, "value": value}
    for row in shown.rows.values():
        yield "PARTITION_RECORD", 2, _partition(row, shown.topics[row.topic][0], shown.lost(row))


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
