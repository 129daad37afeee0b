"""The recovery tools on a real cluster: its metadata log, and the ends of its replicas' logs; nothing is sent to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from kraftcheck.ci.logs.condition import Condition, condition_at
from kraftcheck.ci.logs.end import ClusterEnd
from kraftcheck.ci.logs.format.read import BINARY, STDIN, TEXT
from kraftcheck.ci.logs.recovery.log_ends import LogEnds
from kraftcheck.ci.logs.recovery.snapshot import Snapshot
from kraftcheck.ci.logs.report import ReplayOptions
from kraftcheck.ci.logs.status import lost_text
from kraftcheck.ci.terminal.console import Column, Table
from kraftcheck.model.controller.commits import commit
from kraftcheck.model.controller.elections import UNCLEAN, elect_leaders
from kraftcheck.model.controller.errors import RequestError, Resignation
from kraftcheck.model.controller.partitions import Reassignment, reassign
from kraftcheck.model.controller.state import Controller
from kraftcheck.model.language.words import NO_LEADER
from kraftcheck.model.rules.ruleset import RuleSet, parse
from kraftcheck.model.unclean_recovery.tool import NOBODY, PartitionReport, RemoteBroker, Rights, TopicPartition
from kraftcheck.solvers.program.verdict import EXIT_INCOMPLETE

NO_RELEASE = (
    "no release of Kafka up to 4.4.0 has the requests of the unclean-recovery KIP (GetReplicaLogInfo, designated "
    "elections): no broker is asked, and kafka-leader-election elects whom the controller chooses"
)

NOTHING_SENT = "nothing is sent to the cluster: this is what its controller would answer"

DESIGNATED = "+designated-elections"


def is_log(path: Path) -> bool:
    """Whether a place is a metadata log, snapshot or dump, and not a JSON file of a cluster."""
    return path == STDIN or path.is_dir() or path.suffix in (*BINARY, *TEXT, ".gz")


@frozen
class RealCluster:
    """The end of a log, and what is known of the replicas' logs."""

    condition: Condition  # of the cluster
    ends: LogEnds  # of the replicas' logs
    rules: RuleSet  # of the release, with designated elections
    rows: Mapping[TopicPartition, Mapping[str, Any]]  # by partition what `status` says of it

    @classmethod
    def read(cls, path: Path, rules: str | None, ends: LogEnds) -> RealCluster:
        """The cluster at the end of a log; raises Refusal for what cannot be read."""
        found, condition = condition_at(path, ReplayOptions(None if rules is None else rules.replace(DESIGNATED, "")))
        rows = {(row["topic"], row["partition"]): row for row in found["partitions"]}
        return cls(condition, ends, parse(condition.end.rules + DESIGNATED), rows)

    @property
    def end(self) -> ClusterEnd:
        """The end of the metadata log."""
        return self.condition.end

    @property
    def controller(self) -> Controller:
        """The state at the end of the log."""
        return self.end.state.controller

    def snapshot(self) -> Snapshot:
        """The cluster as the tools take it: brokers answer what is known of their logs."""
        logs: dict[int, dict[TopicPartition, Any]] = {}
        for place, row in self.rows.items():
            known = {} if self.is_empty(place) else self.ends.of(place, row["replicas"])[0]
            for broker, log in known.items():
                logs.setdefault(broker, {})[place] = log
        remote = {
            broker: RemoteBroker(broker, known.epoch, logs[broker])
            for broker, known in self.controller.image.registrations.items() if broker in logs
        }  # fmt: skip
        return Snapshot({}, self.controller, remote, Rights(), 0)

    def is_empty(self, place: TopicPartition) -> bool:
        """Whether every log of a partition's replicas that is known is empty: to elect one loses all of the others."""
        row = self.rows.get(place)
        known = {} if row is None else self.ends.of(place, row["replicas"])[0]
        return bool(known) and not any(log.length for log in known.values())

    def not_known(self, finding: PartitionReport) -> list[int]:
        """The live replicas besides the one that is chosen of which it is not known how long their logs are."""
        if finding.chosen == NOBODY:
            return []
        replicas = self._replicas(finding.place)
        logs, _ = self.ends.of(finding.place, replicas)
        return [broker for broker in replicas if broker not in logs and self._state(broker) == "live"]

    def ready(self, leaders: Sequence[tuple[TopicPartition, int]]) -> list[TopicPartition]:
        """The partitions in which an unclean election seats, as things are, whom it should."""
        return [place for place, leader in leaders if self.seated(self.controller, place) == leader]

    def table(self, findings: Sequence[PartitionReport]) -> Table:
        """The known facts on each replica of each partition."""
        numbers = (Column("last epoch", to_right=True), Column("log end", to_right=True))
        table = Table((Column("partition"), Column("replica"), Column("broker"), *numbers, Column()))
        for finding in findings:
            row, (logs, in_bytes) = self.rows[finding.place], self.ends.of(finding.place, self._replicas(finding.place))
            for broker in row["replicas"]:
                log, unit = logs.get(broker), " bytes" if in_bytes else ""
                epoch = "" if log is None or in_bytes else str(log.written)
                size = self.ends.sizes.get((finding.place, broker))
                cells = (epoch, f"{log.length}{unit}" if log else "not known" if size is None else f"{size} bytes")
                mark = "chosen" if broker == finding.chosen else ""
                table.add(_name(finding.place), str(broker), self._state(broker), *cells, mark)
        return table

    def _replicas(self, place: TopicPartition) -> Sequence[int]:
        replicas: Sequence[int] = self.rows[place]["replicas"]
        return replicas

    def _state(self, broker: int) -> str:
        known = self.controller.registration(broker)
        return "not registered" if known is None else "live" if known.is_active() else "fenced"

    def passed_over(self, asked: Iterable[TopicPartition]) -> Iterator[str]:
        """Which of the logs that were given are none of a replica, or of a partition that is not asked for."""
        known = {(place, broker) for place in self.rows for broker in self._replicas(place)}
        beside = sorted({_name(place) for place, _ in self.ends.logs.keys() & known if place not in {*asked}})
        yield from [f"passed over of what --logs tells: not asked for: {', '.join(beside)}"] if beside else ()
        given = sorted(self.ends.logs.keys() - known)
        others = [f"{broker} has no replica of {_name(place)}" for place, broker in given]
        yield from [f"passed over of what --logs tells: {', '.join(others)}"] if others else ()
        for line in self.ends.not_known:
            yield f"WARNING: passed over, and not known to be harmless: {line}"

    def unless_in_part(self, code: int) -> int:
        """The exit code of a tool; never 0 where not all was read of the log, or of the ends of logs."""
        return self.end.summary.unless_in_part(code) or (EXIT_INCOMPLETE if self.ends.not_known else 0)

    def to_compare(self, places: Iterable[TopicPartition]) -> Iterator[str]:
        """Where not all of the log was read: what has to be so still that an election does what is said of it."""
        summary = self.end.summary
        if not summary.in_part:
            return
        live = sorted(b for b, known in self.controller.image.registrations.items() if known.is_active())
        offset = self.end.history.last_offset
        at = "" if offset is None else f" at offset {offset}"
        why = "; ".join(summary.incomplete) or "not all is shown"
        yield (
            f"NOT ALL IS READ ({why}): this is the cluster{at}; act only while no broker but {_listed(live) or 'none'} "
            "is live and kafka-topics.sh --describe shows what follows, and ask it for --unavailable-partitions, of "
            "which there may be more"
        )
        for place in places:
            if row := self.rows.get(place):
                leader = "none" if row["leader"] == NO_LEADER else row["leader"]
                lists = {"Replicas": "replicas", "Isr": "isr", "Elr": "elr", "LastKnownElr": "last_known_leader"}
                told = (f"{key}: {_listed(row[name])}" for key, name in lists.items())
                yield f"  Topic: {place[0]}  Partition: {place[1]}  Leader: {leader}  {'  '.join(told)}"

    def advice(self, finding: PartitionReport) -> Iterator[str]:
        """The cost of electing the chosen replica, and the way for Kafka's own tool to elect it."""
        place, chosen = finding.place, finding.chosen
        ways = self.rows[place]["leads_again"]
        for one in ways:
            if not one["may_lose"]:
                start = "by itself" if one["start"] is None else f"once {one['start']} is started"
                yield f"{_name(place)}: {one['leader']} leads {start}, and nothing is lost: do that if it can be done"
        if chosen == NOBODY:
            return
        logs, in_bytes = self.ends.of(place, self._replicas(place))
        if absent := self.not_known(finding):
            how = "known by its size alone" if all((place, b) in self.ends.sizes for b in absent) else "not known"
            yield f"WARNING: {_name(place)}: the log of {_listed(absent)}, which is live, is {how}: it may have more"
        if in_bytes:
            yield f"{_name(place)}: chosen by bytes, without epochs, which need not be the log that has most"
        alike = [broker for broker, log in logs.items() if not in_bytes and log == logs[chosen]]
        if whole := [broker for broker in alike if not self.loss(place, broker) and broker != chosen]:
            yield f"{_name(place)}: the log of {chosen} ends as that of {whole[0]}, which has all that was acknowledged"
        elif loss := self.loss(place, chosen):
            yield f"{_name(place)}: with {chosen} as leader{loss}"
        known = self.ends.acknowledged.get(place)
        if known is not None and not in_bytes and logs[chosen].length < known:
            yield f"{_name(place)}: {known - logs[chosen].length} records that were acknowledged are not in its log"
        yield from self._seating(place, chosen)

    def out_of_reach(self, place: TopicPartition) -> str:
        """Why nobody can reach the leader that a partition has, in words; empty where somebody can, or none leads."""
        row = self.rows.get(place, {"state": "", "leader": NO_LEADER})
        if row["state"] != "offline" or row["leader"] == NO_LEADER:
            return ""
        leader = row["leader"]
        fault, mend = f"is {self._state(leader)}", f"start {leader}"
        if leader in row["on_failed_directory"]:
            fault, mend = "has lost its directory", f"mend it and restart {leader}"
        return f"its leader {leader} {fault}, and this election replaces no leader: {mend}"

    def loss(self, place: TopicPartition, leader: int) -> str:
        """The loss of a partition under a leader, in words; empty where there need be none."""
        topic_id = self.controller.topic_id(place[0])
        lacks = None if topic_id is None else self.condition.lacks((topic_id, place[1]), leader)
        return "" if lacks is None else f", without {lost_text(lacks)}"

    def _seating(self, place: TopicPartition, chosen: int) -> Iterator[str]:
        """How an unclean election comes to seat the chosen replica."""
        if self._state(chosen) != "live":
            yield f"{_name(place)}: {chosen} is {self._state(chosen)}: start it first, or none can elect it"
            return
        now = self.seated(self.controller, place)
        if now == chosen:
            return
        order = [chosen, *(b for b in self._replicas(place) if b != chosen)]
        name = ",".join(map(str, order))
        if self.seated(self._reordered(place, order), place) == chosen:
            first = f"reassign to [{name}] first, which copies nothing"
        else:
            first = "stop that broker first"
        yield f"{_name(place)}: kafka-leader-election would elect {now}; {first}"

    def _reordered(self, place: TopicPartition, order: Sequence[int]) -> Controller:
        """The state once the replicas of a partition are the same in another order; as it is where that is refused."""
        wish = Reassignment(place[0], place[1], tuple(order))
        try:
            return commit(self.controller, reassign(self.controller, (wish,), self.rules), self.rules)
        except (RequestError, Resignation):
            return self.controller

    def seated(self, controller: Controller, place: TopicPartition) -> int:
        """The replica that an unclean election would seat; NO_LEADER for none."""
        try:
            after = commit(controller, elect_leaders(controller, UNCLEAN, (place,), self.rules), self.rules)
        except (RequestError, Resignation):
            return NO_LEADER
        p = after.image.partition(controller.topic_id(place[0]) or "", place[1])
        return NO_LEADER if p is None else int(p.leader)


def _listed(brokers: Iterable[int]) -> str:
    return ",".join(map(str, brokers))


def _name(place: TopicPartition) -> str:
    return f"{place[0]}-{place[1]}"
