"""How long the replicas' logs are, as far as a cluster of today tells it.

No release has the request of the unclean-recovery KIP that asks a broker for it. What there is: the sizes that
`kafka-log-dirs --describe` prints, in bytes and without epochs; the data segments of a replica, as `kafka-dump-log`
prints them, with the last offset and its epoch; and, of partitions that have a leader, `kafka-get-offsets`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import define, field

from kraftcheck.ci.logs.format import pasted
from kraftcheck.ci.logs.format.beside import is_of_other_tools
from kraftcheck.ci.terminal.files import MAX_JSON_BYTES, parse_json, read_bytes
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.records.fields import Fields, FormError, each, integer, long, text
from kraftcheck.model.unclean_recovery.tool import ReplicaLog, TopicPartition

_DUMPING = re.compile(r"Dumping (?:.*/)?([\w.-]{1,249})-(\d+)/\d+\.log$")
_BATCH = re.compile(r"baseOffset: \d+ lastOffset: (\d+) .*?partitionLeaderEpoch: (-?\d+) ")
_OFFSET = re.compile(r"([\w.-]{1,249}):(\d+):(\d*)$")
_BESIDE = re.compile(
    r"\s*$|\{|\| |Topic: |Dumping |(?:Log s|S)tarting offset: |Querying brokers for log dir"
    r"|Received log directory information"
)
"""What the tools print between the lines that tell of ends."""

_NAMED = re.compile(r"(\d+)=(.+)")
_NAME = re.compile(r"([\w.-]{1,249})-(\d+)")


@define
class LogEnds:
    """The known ends of logs."""

    # by partition and broker the end of a replica's log, and the epoch of its last record
    logs: dict[tuple[TopicPartition, int], ReplicaLog] = field(factory=dict)
    # by partition and broker the bytes of a replica's log, where no end is known
    sizes: dict[tuple[TopicPartition, int], int] = field(factory=dict)
    # by partition how far its leader had it acknowledged when it was asked
    acknowledged: dict[TopicPartition, int] = field(factory=dict)
    # lines that are no data, and not known to be harmless, with their places
    not_known: list[str] = field(factory=list)

    def of(self, place: TopicPartition, replicas: Sequence[int]) -> tuple[Mapping[int, ReplicaLog], bool]:
        """The logs of replicas, and whether they are in bytes: where an end is known, sizes do not count."""
        known = {broker: self.logs[place, broker] for broker in replicas if (place, broker) in self.logs}
        sizes = {b: ReplicaLog(-1, -1, self.sizes[place, b]) for b in replicas if (place, b) in self.sizes}
        return (known, False) if known else (sizes, bool(sizes))


def read_log_ends(places: Sequence[str]) -> LogEnds:
    """The log ends in files; `BROKER=FILE` where a file does not name its broker; raises Refusal for another form."""
    found = LogEnds()
    for place in places:
        named = _NAMED.fullmatch(place)
        path = Path(place if named is None else named.group(2))
        try:
            content = pasted.decoded(read_bytes(path, MAX_JSON_BYTES))
        except UnicodeDecodeError:
            raise Refusal(f"{path}: not text") from None
        lines, _ = pasted.clean(content)
        try:
            _read(found, path, [line.strip() for line in lines], None if named is None else int(named.group(1)))
        except FormError as reason:
            raise Refusal(f"{path}: {reason}") from None
    return found


def _read(found: LogEnds, path: Path, lines: Sequence[str], broker: int | None) -> None:
    documents = [line for line in lines if line.startswith("{")] if len(lines) > 1 else lines
    offsets = [match for match in map(_OFFSET.fullmatch, lines) if match]
    of_batches = any(_BATCH.match(line) for line in lines)
    if of_batches or offsets or any(map(_is_whole, documents)):
        found.not_known += [
            f"{path}:{number}: {line[:120]}" for number, line in enumerate(lines, 1)
            if not (_BESIDE.match(line) or _BATCH.match(line) or _OFFSET.fullmatch(line) or is_of_other_tools(line))
        ]  # fmt: skip
    if of_batches:
        if broker is None:
            raise FormError(f"a dump does not say whose log it is; give BROKER={path}")
        for place, log in _dumped(lines):
            found.logs[place, broker] = log
        return
    if broker is not None:
        raise FormError(f"only what kafka-dump-log prints of data is given as {broker}={path}")
    if offsets:
        found.acknowledged.update({(one[1], int(one[2])): int(one[3]) for one in offsets if one[3]})
    by_line = bool(offsets) or any(map(_is_whole, documents))
    for document in documents if by_line else ["\n".join(lines)]:
        for entry in Fields.of(parse_json(path, document.encode())).read("brokers", each(Fields.of)):
            if entry.has("logDirs"):
                found.sizes.update(_sizes(entry))
            else:
                _answers(found, entry)


def _is_whole(text: str) -> bool:
    """Whether a line is a JSON document by itself."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _dumped(lines: Sequence[str]) -> Iterator[tuple[TopicPartition, ReplicaLog]]:
    """The end of each log of which a dump shows segments; the last line of each is enough."""
    place: TopicPartition | None = None
    for line in lines:
        if named := _DUMPING.match(line):
            place = (named.group(1), int(named.group(2)))
        elif batch := _BATCH.match(line):
            if place is None:
                raise FormError("a batch before a line `Dumping .../TOPIC-N/OFFSET.log`, which names its log")
            if "isvalid: false" in line:
                last = batch.group(1)
                raise FormError(f"a batch that the tool says is not valid, up to offset {last}; end before it")
            epoch = int(batch.group(2))
            yield place, ReplicaLog(epoch, epoch, int(batch.group(1)) + 1)


def _sizes(broker: Fields) -> Iterator[tuple[tuple[TopicPartition, int], int]]:
    """The sizes that kafka-log-dirs prints; a replica that is being moved is not counted where it goes."""
    for directory in broker.read("logDirs", each(Fields.of)):
        for entry in directory.read("partitions", each(Fields.of)):
            named = _NAME.fullmatch(entry.read("partition", text))
            if named is None:
                raise FormError(f"{entry.key('partition')}: TOPIC-N is wanted")
            if not entry.data.get("isFuture"):
                place = (named.group(1), int(named.group(2)))
                yield (place, broker.read("broker", integer)), entry.read("size", long)


def _answers(found: LogEnds, broker: Fields) -> None:
    """What a broker would answer to the request of the KIP, as the JSON snapshot has it."""
    for entry in broker.read("logs", each(Fields.of)):
        place = (entry.read("topic", text), entry.read("partition", integer))
        epoch = entry.read("last_written_epoch", integer)
        log = ReplicaLog(entry.read_or("leader_epoch", integer, epoch), epoch, entry.read("log_end_offset", long))
        found.logs[place, broker.read("id", integer)] = log


def document_of(places: Sequence[TopicPartition]) -> dict[str, Any]:
    """The file for `kafka-leader-election --election-type UNCLEAN --path-to-json-file`."""
    return {"partitions": [{"topic": topic, "partition": index} for topic, index in places]}
