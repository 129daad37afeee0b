"""The condition of a cluster at the end of its metadata log: what is broken, since when and why, and what helps."""

from __future__ import annotations

from collections.abc import Iterator, Set
from functools import cached_property
from pathlib import Path
from typing import Any

from attrs import frozen

from kraftcheck.ci.logs.end import ClusterEnd, cluster_end
from kraftcheck.ci.logs.known import time_text
from kraftcheck.ci.logs.report import ReplayOptions
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.controller.errors import Resignation
from kraftcheck.model.language.words import NO_LEADER
from kraftcheck.model.partition.registration import Partition, is_reserved
from kraftcheck.model.records.fields import CODE
from kraftcheck.model.records.records import Registration, ids
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.solvers.logs.history import NEVER, Since
from kraftcheck.solvers.logs.recovery import Become, Loss, Prospect, Recovery
from kraftcheck.solvers.logs.whatif import PartitionKey, has_failed

DOCUMENT_VERSION = 1  # version of the JSON document

EXIT_DANGER, EXIT_OFFLINE = 10, 14
"""Exit codes: a partition refuses acks=all, or is one fault from that or from offline; a partition is offline."""

ONE_FROM_SHORT = "one fault from below min ISR"

EXITS = {
    "offline": EXIT_OFFLINE, "below min ISR": EXIT_DANGER, "one fault from offline": EXIT_DANGER,
    ONE_FROM_SHORT: EXIT_DANGER, "well": 0,
}  # fmt: skip
"""What a partition is, the worst first, with the exit code."""


def condition_of(path: Path, options: ReplayOptions) -> dict[str, Any]:
    """What is to be said of the end of a log or snapshot, as plain values; raises Refusal for what cannot be read."""
    return condition_at(path, options)[0]


def condition_at(path: Path, options: ReplayOptions) -> tuple[dict[str, Any], Condition]:
    """The same, with what it was worked out from."""
    return worked_out(cluster_end(path, options))


def worked_out(end: ClusterEnd) -> tuple[dict[str, Any], Condition]:
    """The condition at the end of a log that was read; raises Refusal where the controller resigns at any change."""
    try:
        condition = Condition(end, Recovery(end.state.controller, end.holders, parse(end.rules), end.dead))
        return condition.document(), condition
    except Resignation as reason:
        raise Refusal(
            f"{end.summary.name}: {reason}, so that the controller resigns at any change of its partitions; "
            "correct it first"
        ) from None


@frozen
class Condition:
    """The end of a log, and what becomes of its partitions."""

    end: ClusterEnd
    recovery: Recovery

    def document(self) -> dict[str, Any]:
        """Everything, as plain values."""
        end, history, image = self.end, self.end.history, self.end.state.controller.image
        starting = [b for b, known in image.registrations.items() if self._word(known) == "starting"]
        way = self.recovery.way_back(self._weigh, starting)
        places = {(place.topic_id, place.index): place for place in end.state.controller.places()}
        directories: dict[int, set[int]] = {}
        for place in places.values():
            for broker in ids(place.partition.replicas):
                directory = int(place.partition.directories.of(broker))
                directories.setdefault(broker, set()).update(() if is_reserved(directory) else (directory,))
        rows = [self._partition(key) for key in places]
        because = [*end.summary.incomplete, *(text for key in places for text in self._impossible(key))]
        registered, awaited = end.state.controller.image.registrations.values(), dict[int, list[str]]()
        for row in rows:
            waits = {*row["replicas"]}.difference(row["isr"], row["on_failed_directory"])
            for broker in waits if row["state"] != "offline" else ():
                awaited.setdefault(broker, []).append(f"{row['topic']}-{row['partition']}")
        nobody = not any(known.is_active() or self._word(known) == "starting" for known in registered)
        in_part = end.summary.in_part or bool(because)
        return {
            "version": DOCUMENT_VERSION, "command": "status",
            "exit": max((EXITS[row["state"]] for row in rows), default=0) or (
                EXIT_DANGER if in_part or nobody or end.summary.unexplained else 0),
            "log": end.summary.name, "in_part": in_part,
            "in_part_because": because, "offset": history.last_offset, "time": time_text(history.end_time),
            "rules": end.rules, "metadata_version": end.summary.level, "unexplained": len(end.summary.unexplained),
            "violations": len(end.summary.violations), "defects": end.summary.causes, "doubts": [*end.doubts()],
            "voters": sorted(self._voters),
            "way_back": [
                {"start": step.broker, "leads": self._names(step.led), "writable": self._names(step.writable),
                 "may_lose": self._names(step.harmed), "syncs": step.syncs}
                for step in way.steps
            ],
            "shortest": way.shortest,
            "rolling_restart": [
                *([] if any(row["unregistered"] or row["on_failed_directory"] for row in rows)
                  else self._rolling(way.after))],
            "brokers": [
                self._broker(known, directories.get(broker, set()), awaited.get(broker, []))
                for broker, known in sorted(end.state.controller.image.registrations.items())
            ],
            "partitions": sorted(rows, key=lambda row: [*EXITS].index(row["state"])),
        }  # fmt: skip

    def _name(self, key: PartitionKey) -> str:
        return f"{self.end.state.controller.topic(key[0]).name}-{key[1]}"

    def _names(self, keys: tuple[PartitionKey, ...]) -> list[str]:
        return [self._name(key) for key in keys]

    def _moment(self, offset: Since) -> dict[str, Any] | None:
        """Where and when a record was written, and by what event; None where that was before a snapshot."""
        if offset is None:
            return None
        time = time_text(self.end.history.time(offset))
        return {"offset": offset, "time": time, "event": self.end.events.get(offset)}

    def _partition(self, key: PartitionKey) -> dict[str, Any]:
        number, history = self.recovery.now[key], self.end.history
        state, p = self.recovery.shape(number), self._registered(key)
        danger = None if state.offline else self.recovery.fatal_fault(number)
        if danger is None and not state.offline and self._quorum_without(int(p.leader)):
            danger = f"{int(p.leader)} stops, and the quorum has no majority that elects another leader"
        kind = ("offline" if state.offline else "below min ISR" if state.unwritable
                else "well" if danger is None else "one fault from offline")  # fmt: skip
        if kind == "well" and (danger := self.recovery.refusing_fault(number)) is not None:
            kind = ONE_FROM_SHORT
        spells = {"offline": history.offline, "below min ISR": history.short}.get(kind, {})
        since = spells.get(key, history.fenced.get(int(p.leader)))
        lost = self.end.holders.losses.get(key)
        return {
            "topic": self.end.state.controller.topic(key[0]).name, "partition": key[1], "state": kind,
            "leader": int(p.leader), "replicas": [*ids(p.replicas)], "isr": [*ids(p.isr)], "elr": [*ids(p.elr)],
            "last_known_leader": [*ids(p.last_known_elr)], "min_isr": state.min_isr,
            "configured_min_isr": max(state.configured.values(), default=1),
            "on_failed_directory": [
                b for b in ids(p.replicas) if has_failed(p, self.end.state.controller.registration(b))],
            "recovering": bool(p.recovering), "since": self._moment(since),
            "unregistered": [b for b in ids(p.replicas) if self.end.state.controller.registration(b) is None],
            "leads_again": [self._prospect(key, one) for one in self._prospects(key)] if state.offline else [],
            "writable_after": self.recovery.until_writable(number) if kind == "below min ISR" else None,
            "one_fault": danger, "lost": self._moment(lost),
        }  # fmt: skip

    def _impossible(self, key: PartitionKey) -> Iterator[str]:
        """What is wrong with a partition that no controller would leave so."""
        p = self._registered(key)
        leader, replicas, isr = int(p.leader), ids(p.replicas), ids(p.isr)
        if leader != NO_LEADER and leader not in isr:
            yield f"{self._name(key)} is led by {leader}, which is not in its ISR"
        if others := [str(broker) for broker in (*isr, *({leader} - {NO_LEADER, *isr})) if broker not in replicas]:
            yield f"{self._name(key)} has no replica on {', '.join(others)}, which it names as in sync or as its leader"

    def _registered(self, key: PartitionKey) -> Partition:
        return self.end.state.controller.image.topics[key[0]].partitions[key[1]]

    def _prospects(self, key: PartitionKey) -> list[Prospect]:
        """Every way to a leader; with loss only one to each leader."""
        found = self.recovery.prospects(self.recovery.now[key])
        first = {(one.leader, one.harmed and one.asked): one for one in reversed(found)}
        return [one for one in found if not one.harmed or first[one.leader, one.asked] is one]

    def _prospect(self, key: PartitionKey, one: Prospect) -> dict[str, Any]:
        known = None if one.broker is None else self.end.state.controller.registration(one.broker)
        surely = known is None or self._word(known) != "fenced" or one.asked or one.harmed
        return {
            "start": one.broker, "by_itself": not one.asked and (known is None or self._word(known) == "starting"),
            "unclean_election": one.asked, "leader": one.leader, "may_lose": one.harmed,
            **(self._loss(key, one.leader) if one.harmed else {"without": None, "since": None}),
            "if_killed": {} if surely else {"leader": one.killed},
        }  # fmt: skip

    def lacks(self, key: PartitionKey, leader: int) -> dict[str, Any] | None:
        """The records that a partition may lack under this leader, as `_loss`; None where it has all."""
        holds = leader in self.recovery.state(self.recovery.now[key]).holders
        return None if holds else self._loss(key, leader)

    def _loss(self, key: PartitionKey, leader: int) -> dict[str, Any]:
        """What a leader that need not have every record may lack; nothing is acknowledged while nobody leads."""
        p = self._registered(key)
        history, member = self.end.history, p.isr.has(leader)
        left, offline = history.outside.get(key, {}).get(leader), history.offline.get(key)
        if left == NEVER:
            return {"without": "everything", "since": None}
        led_last = p.last_known_elr.has(leader) or (left is not None and offline is not None and left >= offline)
        if member or led_last:
            return {"without": "unflushed", "since": None}
        return {"without": "acknowledged since", "since": self._moment(left)}

    def _weigh(self, key: PartitionKey, leader: int) -> Loss:
        """How much is lost, of what `_loss` tells in words."""
        loss, history = self._loss(key, leader), self.end.history
        if loss["without"] == "acknowledged since" and loss["since"] is not None:
            left, end = history.time(loss["since"]["offset"]), history.time(history.offline.get(key))
            return 0, 0, 1 if left is None or end is None else max(1, end - left), 0
        grave = ("everything", "acknowledged since", None, "unflushed")
        return tuple(int(loss["without"] == kind) for kind in grave)

    def _word(self, known: Registration) -> str:
        """What a broker does, in a word; one that registered since it was fenced is starting."""
        if not known.fenced:
            return "shutting down" if known.in_controlled_shutdown else "live"
        if known.id in self.end.dead:
            return "lost"
        since = self.end.history.fenced.get(known.id)
        if known.id in self.end.summary.skips.starting or (since is not None and known.epoch >= since):
            return "starting"
        return "shut down" if known.in_controlled_shutdown else "fenced"

    def _broker(self, known: Registration, named: set[int], awaited: list[str]) -> dict[str, Any]:
        lost = sorted(named.difference(known.dirs)) if not known.knows_no_dirs() else []
        return {
            "broker": known.id, "state": self._word(known),
            "epoch": None if self.end.summary.skips.described else known.epoch,
            "since": self._moment(self.end.history.fenced.get(known.id)) if known.fenced else None,
            "directories": None if self.end.summary.skips.described else [*map(CODE.base64, known.dirs)],
            "offline_directories": [CODE.base64(directory) for directory in lost],
            "stop": {**self._stop(self.recovery.unchanged, known.id), "awaited": awaited,
                     "quorum": self._quorum_without(known.id, self._silent)}
            if known.is_active() else None,
            "resigns": [] if known.is_active() else self._names(self.recovery.resigning(known.id)),
        }  # fmt: skip

    @cached_property
    def _voters(self) -> frozenset[int]:
        return self.end.voters

    @cached_property
    def _silent(self) -> frozenset[int]:
        """The nodes that do not keep up with the quorum, or are no more, as far as that is known."""
        known, down = self.end.state.controller.image.registrations.values(), ("fenced", "shut down", "lost")
        return self.end.summary.skips.silent | {b.id for b in known if self._word(b) in down}

    def _quorum_without(self, broker: int, silent: Set[int] = frozenset()) -> list[str]:
        """The voters of the quorum, where those besides some are no majority without a broker, which is one of them."""
        if broker not in self._voters or 2 * len(self._voters - silent - {broker}) > len(self._voters):
            return []
        return [str(voter) for voter in sorted(self._voters)]

    def _stop(self, at: Become, broker: int) -> dict[str, list[str]]:
        """The partitions that stopping a broker takes offline, makes refuse acks=all, or leaves shorter of it."""
        return {name: self._names(keys) for name, keys in self.recovery.troubles_of_stop(at, broker).items()}

    def _rolling(self, at: Become) -> Iterator[dict[str, Any]]:
        """Every broker, stopped and started again once all are back; last the one that may be the active controller."""
        node, at = self.end.state.controller.settings.node, {**at}
        brokers = self.end.state.controller.image.registrations.keys() - self.end.dead
        for broker in sorted(brokers, key=lambda b: (str(b) == node, b)):
            yield {"restart": broker, **self._stop(at, broker), "quorum": self._quorum_without(broker)}
            at.update(self.recovery.restarted(at, broker))
