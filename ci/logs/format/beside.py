"""What Kafka's other tools tell of a running cluster, beside kafka-topics --describe: above all that it is not well.

Source: `MetadataQuorumCommand`, `LogDirsCommand`, `GetOffsetShell`, `FeatureCommand`, `BrokerApiVersionsCommand`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from types import MappingProxyType

from attrs import define, field, frozen

from kraftcheck.solvers.logs.explain.state import ELR_FEATURE, METADATA_VERSION

SESSION_MS = 9000  # how long a broker may be silent before it is fenced: broker.session.timeout.ms, unless set
FAR = 100  # so many records behind the quorum nobody is who keeps up with it: what he shows may be an old picture

NEVER = 1 << 62

_QUORUM = re.compile(
    r"(ClusterId|LeaderId|LeaderEpoch|HighWatermark|MaxFollowerLag|MaxFollowerLagTimeMs|CurrentVoters|"
    r"CurrentObservers):\s*(.*?)\s*$"
)
_HEAD = "NodeId"
_NODE = re.compile(r"(\d+)\s+(?:[\w-]{22}\s+)?(-?\d+)\s+(-?\d+)\s+(-?\d+)(?: ms ago)?\s+(-?\d+)( ms ago)?\s+(\w+)\s*$")
_WHOLE = frozenset({"LeaderId", "HighWatermark", "MaxFollowerLag", "CurrentVoters", "CurrentObservers"})
"""What kafka-metadata-quorum tells in each of its answers on the status."""

_LOG_ENDS = re.compile(
    r'([\w.-]{1,249}):(\d+):(\d*)$|\{"(?:version|brokers)":|Querying brokers for log directories'
    r"|Received log directory information(?: from brokers ([\d,]+))?"
)
"""Lines of kafka-get-offsets and kafka-log-dirs."""

_FEATURE = re.compile(
    r"Feature: (\S+)\s+SupportedMinVersion: \S+\s+SupportedMaxVersion: (\S+)\s+FinalizedVersionLevel: (\S+)"
)
_VERSIONS = re.compile(r"\S+:\d+ \(id: (-?\d+) rack: (.*?)\) -> (?:(\()|ERROR: (.*))$|\s*[A-Z]\w*\(\d+\): |\)$")
"""Lines of kafka-broker-api-versions: of a broker, which begins what it can or says why it does not answer."""

_ERROR = re.compile(
    r"Error while executing |Exception in thread |Caused by: |\s+at [\w.$/@]+\(|\s+\.\.\. \d+ more|"
    r"[\w.$]+\.\w*(?:Exception|Error)\b"
)
"""What a tool prints that fails, with what called what."""

_UNREACHED = re.compile(
    r"\[[\d :,.-]+\] WARN \[AdminClient clientId=[\w-]*\] Connection to node (-?\d+) \(.{1,300}\) could not be "
    r"established\. (?:Node|Broker) may not be available\. \(org\.apache\.kafka\.clients\.NetworkClient\)\s*$"
)
"""What a tool logs of a broker that it does not reach."""

_ASKED = re.compile(r"\bkafka-(log-dirs|get-offsets)(?:\.sh|\.bat)?\s(?:.*\s--topic(?:-list)?[ =](\S+))?")
"""A command of these tools, and which topics it asks for; none where all."""

QUORUM, LOG_DIRS, VERSIONS = "kafka-metadata-quorum", "kafka-log-dirs", "kafka-broker-api-versions"
_PART = "the answer of {} is shown in part"


def is_of_other_tools(line: str) -> bool:
    """Whether a line is of those tools besides kafka-log-dirs and kafka-get-offsets."""
    return is_of_quorum(line) or any(form.match(line) for form in (_FEATURE, _VERSIONS))


def is_of_log_ends(line: str) -> bool:
    """Whether a line is of kafka-log-dirs or kafka-get-offsets, and of no log."""
    return bool(_LOG_ENDS.match(line)) and ("brokers" in line or not line.startswith("{"))


def is_unreached(line: str) -> bool:
    """Whether a tool logs that it does not reach a broker."""
    return bool(_UNREACHED.match(line))


def asked_topics(lines: Iterable[str]) -> dict[str, set[str]]:
    """Of tools that were asked for some topics alone, as the commands above their answers show, for which."""
    asked: dict[str, set[str]] = {}
    for match in (match for line in lines if (match := _ASKED.search(line))):
        asked.setdefault(f"kafka-{match[1]}", set()).update((match[2] or "").strip("\"'").split(","))
    return {tool: topics for tool, topics in asked.items() if "" not in topics}


def is_failure(line: str) -> bool:
    """Whether a tool prints such a line as it fails."""
    return bool(_ERROR.match(line))


def is_of_quorum(line: str) -> bool:
    """Whether kafka-metadata-quorum prints such a line."""
    return bool(_QUORUM.match(line) or line.startswith(_HEAD) or _NODE.match(line))


def listed(brokers: Set[int], words: Mapping[int, str] = MappingProxyType({})) -> str:
    """Brokers in order, each in its words where it has some."""
    return ", ".join(words.get(broker, str(broker)) for broker in sorted(brokers))


@frozen
class _QuorumRow:
    """A row of kafka-metadata-quorum: how far behind, when or how long ago it fetched and had caught up, its status.

    Of a node that has told no end, NEVER stands for how far.
    """

    lag: int
    times: tuple[int, int]
    is_ago: bool
    status: str


def _replica(row: Mapping[str, object]) -> tuple[str, bool]:
    """The partition of a replica as kafka-log-dirs names it, and whether that lacks something, or moves here yet."""
    return str(row["partition"]), bool(row["isFuture"] or row["offsetLag"])


@define
class ToolsReport:
    """The told facts."""

    lines: int = 0  # how many tell of log ends
    error: str = ""  # where a tool failed while it printed, if one did
    elr_on: bool = False  # whether kafka-features shows that there may be eligible replicas outside of an ISR
    named: set[str] = field(factory=set)  # the partitions that other tools name, as `topic-index`
    asked_topics: Mapping[str, Set[str]] = field(factory=dict)  # as of `asked_topics`
    supported: str = ""  # the highest metadata version that the cluster supports, as kafka-features names it
    _quorum: dict[str, str] = field(factory=dict)
    _nodes: dict[int, _QuorumRow] = field(factory=dict)
    _table: bool = False
    _told: dict[tuple[str, str], object] = field(factory=dict)
    _failed: dict[str, None] = field(factory=dict)
    _answers: dict[str, set[int]] = field(factory=dict)
    _held: dict[int, set[str]] = field(factory=dict)
    _unreached: set[int] = field(factory=set)
    _ended: set[str] = field(factory=set)
    _asked: set[int] = field(factory=set)
    _open: bool = False

    def read(self, line: str, place: str) -> bool:
        """Take a line, if it is of one of these tools; whether it is."""
        if match := _QUORUM.match(line):
            self._quorum[match[1]] = match[2]
            self._tell(QUORUM, match[1], match[2])
        elif match := _NODE.match(line):
            lag, times = int(match[3]) if int(match[2]) >= 0 else NEVER, (int(match[4]), int(match[5]))
            node = _QuorumRow(lag, times, match[6] is not None, match[7])
            self._nodes[int(match[1])] = node
            self._tell(QUORUM, f"node {match[1]}", node)
        elif match := _LOG_ENDS.match(line):
            self.lines += 1
            self.named |= set() if match[1] is None else {f"{match[1]}-{match[2]}"}
            self._ended |= set() if not match[3] else {f"{match[1]}-{match[2]}"}
            self._asked.update(int(one) for one in (match[4] or "").split(",") if one)
            self._read_directories(line)
        elif match := _FEATURE.match(line):
            self.elr_on |= match[1] == ELR_FEATURE and match[3] != "0"
            self.supported = match[2] if match[1] == METADATA_VERSION else self.supported
            self._tell("kafka-features", match[1], match.groups())
        elif match := _VERSIONS.match(line):
            self._read_versions(match)
        elif match := _UNREACHED.match(line):
            self._unreached.add(int(match[1]))
        elif _ERROR.match(line):
            self.error = self.error or place
        elif line.startswith(_HEAD):
            self._table = True
        else:
            return False
        return True

    def _tell(self, tool: str, what: str, value: object) -> None:
        """Note what a tool tells: where that is another thing than before, nobody knows which of them is so."""
        if self._told.setdefault((tool, what), value) != value:
            self._fail(f"{tool} is shown twice, and not alike")

    def _fail(self, why: str) -> None:
        self._failed[why] = None

    def _read_directories(self, line: str) -> None:
        """Read a line of kafka-log-dirs, or of kafka-get-offsets, which tells nothing here."""
        if not line.startswith("{"):
            if "log director" in line:
                self._answers.setdefault(LOG_DIRS, set())
            return
        try:
            told = [(int(row["broker"]), one["error"], [*map(_replica, one["partitions"])])
                    for row in json.loads(line)["brokers"] for one in row["logDirs"]]  # fmt: skip
        except (ValueError, TypeError, KeyError, RecursionError):
            self._fail(f"what {LOG_DIRS} prints is not whole")
            return
        answered = self._answers.setdefault(LOG_DIRS, set())
        for broker, error, held in told:
            answered.add(broker)
            self.named.update(name for name, _ in held)
            self._held.setdefault(broker, set()).update(name for name, is_behind in held if not is_behind)
            if error:
                word = str(error).rpartition(".")[2]
                self._fail(f"{LOG_DIRS} tells an error of a directory of broker {broker}: {word}")

    def _read_versions(self, line: re.Match[str]) -> None:
        broker, more, begins, error = line.groups()
        was_open, self._open = self._open, begins is not None or (self._open and line[0] != ")")
        if broker is None:
            return
        if was_open:
            self._fail(_PART.format(VERSIONS))
        self._answers.setdefault(VERSIONS, set()).add(int(broker))
        if error is not None:
            self._fail(f"broker {broker} does not answer: {error.rpartition('.')[2]}")
        elif "isFenced: true" in more:
            self._fail(f"broker {broker} is fenced, as {VERSIONS} has it")

    @property
    def voters(self) -> set[int]:
        """The nodes that are shown to vote."""
        return self._of("Leader", "Follower") | self._named("CurrentVoters")

    def _of(self, *status: str) -> set[int]:
        return {node for node, row in self._nodes.items() if row.status in status}

    def _named(self, key: str) -> set[int]:
        """The nodes that the answer on the status names."""
        text = self._quorum.get(key, "")
        return {int(one) for one in re.findall(r'"id": ?(\d+)' if "{" in text else r"(?<!-)\b\d+", text)}

    def _silence(self, row: _QuorumRow) -> int | None:
        """For how many ms a node, not the leader, has not had what the quorum has; None: never since the election."""
        now = max((row.times[0] for row in self._nodes.values()), default=-1)
        return None if min(row.times) < 0 or now < 0 else max(row.times) if row.is_ago else now - min(row.times)

    def fetching(self) -> set[int]:
        """The nodes that have just fetched from the quorum."""
        silences = {node: self._silence(row) for node, row in self._nodes.items()}
        return {node for node, ms in silences.items() if ms is not None and ms <= SESSION_MS}

    def late(self, leading: Set[int]) -> dict[int, str]:
        """The nodes that have not what the quorum has, with how late; leading ones that it does not list too."""
        late = {}
        for node, row in self._nodes.items():
            ms = self._silence(row)
            if ms is None:
                late[node] = f"{node} since the leader was elected"
            elif ms > SESSION_MS:
                late[node] = f"{node} for {ms // 1000} s"
            elif abs(row.lag) > FAR:
                late[node] = f"{node} by {'all' if row.lag == NEVER else row.lag} records"
        absent = leading - self._nodes.keys() if self._nodes else set()
        if "CurrentObservers" in self._quorum:
            absent |= leading - self._named("CurrentVoters") - self._named("CurrentObservers")
        return {node: f"{node} (not listed)" for node in absent} | late

    def observers(self) -> set[int]:
        """The nodes that fetch from the quorum, or should, and do not vote: brokers."""
        return (self._nodes.keys() | self._named("CurrentObservers")) - self.voters

    def not_held(self, broker: int, partition: str) -> bool:
        """Whether kafka-log-dirs shows what a broker holds, and not this partition up to its high watermark."""
        return broker in self._held and partition not in self._held[broker] and self._is_asked(LOG_DIRS, partition)

    def has_no_end(self, partition: str) -> bool:
        """Whether kafka-get-offsets shows ends of what is led, and not of this partition."""
        return bool(self._ended) and partition not in self._ended and self._is_asked("kafka-get-offsets", partition)

    def _is_asked(self, tool: str, partition: str) -> bool:
        """Whether a tool was asked for a partition, as far as a command is shown; one may ask by a pattern."""
        topics, topic = self.asked_topics.get(tool), partition.rpartition("-")[0]
        return topics is None or topic in topics or any(re.escape(one) != one for one in topics)

    def quiet(self, live: Set[int], fenced: Set[int], late: Mapping[int, str]) -> Iterator[str]:
        """The nodes that are silent in their place, live, fenced or late, so that the rest may be an old picture."""
        leaders, voting, named = self._of("Leader"), self._of("Leader", "Follower"), self._named("CurrentVoters")
        if self._quorum.get("LeaderId") == "-1":
            yield "the quorum has no leader, so that nobody is elected"
        numbers = ("LeaderId", "LeaderEpoch", "HighWatermark", "MaxFollowerLag", "MaxFollowerLagTimeMs")
        for key in numbers:
            text = self._quorum.get(key, "0")
            if not text.isdecimal() and (text != "-1" or key in ("LeaderEpoch", "HighWatermark", "MaxFollowerLag")):
                yield f"{QUORUM} tells {key} {text or 'nothing'}, so that nothing may be committed"
        if len(leaders := leaders | self._named("LeaderId")) > 1:
            yield f"more than one node is shown to lead the quorum: {listed(leaders)}"
        if self.voters and not leaders <= self.voters:
            yield f"the quorum is led by {listed(leaders)}, and its voters are {listed(self.voters)}"
        if voting and named and voting != named:
            yield f"{QUORUM} shows voters {listed(voting)}, and voters {listed(named)}"
        yield from self._slow_voters(late)
        if brokers := self._unreached & live:
            yield f"shown as live, and not reached by a tool: {listed(brokers)}"
        if brokers := late.keys() - self.voters - fenced:
            yield f"shown as live, and does not keep up with the quorum: {listed(brokers, late)}"
        yield from self._failed
        yield from self._in_part((live | self.observers()) - fenced)

    def _slow_voters(self, late: Mapping[int, str]) -> Iterator[str]:
        lag, ms = (self._quorum.get(key, "") for key in ("MaxFollowerLag", "MaxFollowerLagTimeMs"))
        if voters := late.keys() & self.voters:
            so = " (no majority is left)" if 2 * len(voters) >= len(self.voters) else ""
            some = f"{len(voters)} of {len(self.voters)} voters"
            yield f"{some} do not keep up with the quorum{so}: {listed(voters, late)}"
        elif ms == "-1" and lag != "0":
            yield "a voter of the quorum has never caught up"
        elif ms.isdecimal() and int(ms) > SESSION_MS:
            yield f"a voter of the quorum is {int(ms) // 1000} s behind"
        elif lag.isdecimal() and int(lag) > FAR:
            yield f"a voter of the quorum is {lag} records behind"

    def _in_part(self, expected: Set[int]) -> Iterator[str]:
        """What is missing of answers, if they were asked of all brokers."""
        if self._open:
            yield _PART.format(VERSIONS)
        for tool, brokers in self._answers.items():
            asked = self._asked if tool == LOG_DIRS else set()
            if absent := (expected | asked) - brokers:
                yield f"not in the answer of {tool}: {listed(absent)}"
        without_leader = (self._table or self._nodes) and not self._of("Leader")
        if without_leader or (self._quorum and not self._quorum.keys() >= _WHOLE):
            yield _PART.format(QUORUM)

    def notes(self) -> Iterator[str]:
        """What is told besides, and of what nothing follows here."""
        if (leader := self._quorum.get("LeaderId")) not in (None, "-1"):
            lag = self._quorum.get("MaxFollowerLag", "an unknown number of")
            yield f"WARNING: the quorum is led by {leader}, its slowest follower {lag} records behind"
