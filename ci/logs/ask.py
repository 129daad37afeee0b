"""`kraftcheck ask`: what the controller would answer to one request at the end of a metadata log: a dry run."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TypeAlias

import click
from attrs import asdict, frozen

from kraftcheck.ci.logs.condition import worked_out
from kraftcheck.ci.logs.end import ClusterEnd, cluster_end
from kraftcheck.ci.logs.report import ReplayOptions
from kraftcheck.ci.logs.requests import Handler, handler
from kraftcheck.ci.logs.status import lost_text
from kraftcheck.ci.systems.lookup import choice_text
from kraftcheck.ci.terminal.console import Column, Screen, Table, console
from kraftcheck.ci.terminal.files import check_writable, write_json
from kraftcheck.model.controller.brokers import HeartbeatReply
from kraftcheck.model.controller.commits import replay_record
from kraftcheck.model.controller.errors import NONE, RequestError, Resignation
from kraftcheck.model.controller.state import Controller, LogRecord
from kraftcheck.model.language.words import NO_LEADER, NOTED, Rule, rules_of
from kraftcheck.model.partition.registration import DirectoryMismatch, Partition
from kraftcheck.model.records.fields import CODE
from kraftcheck.model.records.records import PartitionChangeRecord, ids
from kraftcheck.model.rules.ruleset import RuleSet, otherwise, parse

DOCUMENT_VERSION = 1  # version of the JSON document
EXIT_REFUSED = 1  # exit code: the controller would answer with an error, or resign
FEW_RULES = 5  # rules that were consulted, and decide nothing, which are named without `--all`

Row: TypeAlias = Mapping[str, Any]


@frozen
class RequestAnswer:
    """The answer of a controller to a request."""

    rows: tuple[Row, ...]  # for each thing asked the error, `NONE` where there is none, and its reason
    records: tuple[LogRecord, ...] = ()  # what is written, in order
    reply: Row | None = None  # what a heartbeat is told
    resigns: bool = False  # whether the controller resigns, which no request should bring about

    @classmethod
    def to(cls, asked: Handler, controller: Controller, rules: RuleSet) -> RequestAnswer:
        """The answer to a request at a state."""
        try:
            outcome = asked(controller, rules)
        except RequestError as error:
            return cls(({"error": error.error, "reason": error.reason},))
        except (Resignation, DirectoryMismatch) as error:
            return cls(({"error": Resignation.error, "reason": str(error)},), resigns=True)
        response = outcome.response
        if isinstance(response, HeartbeatReply):
            return cls(({"error": NONE, "reason": ""},), outcome.records, asdict(response))
        rows = response if isinstance(response, tuple) else ()
        errors = tuple({"error": row.error, "reason": getattr(row, "reason", ""), **_named(row)} for row in rows)
        return cls(errors or ({"error": NONE, "reason": ""},), outcome.records)

    @property
    def accepted(self) -> bool:
        """Whether nothing is answered with an error."""
        return all(row["error"] == NONE for row in self.rows)


def _named(row: Any) -> Row:
    """The partition of a row of an election, which may be one of many."""
    return {"partition": f"{row.topic}-{row.partition}"} if hasattr(row, "topic") else {}


def consulted(run: Callable[[], RequestAnswer]) -> tuple[RequestAnswer, list[Rule]]:
    """An answer, and the rules called for it, in order, of which Python is asked: they have no wrapper."""
    by_code = {getattr(function, "__code__", None): function for function in NOTED.values()}
    called: dict[CodeType, None] = {}

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code in by_code:
            called.setdefault(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        answer = run()
    finally:
        sys.setprofile(before)
    return answer, [rule for code in called for rule in rules_of(by_code[code])]


@frozen
class Deciding:
    """A rule that decides an answer: with its choice the other way, the answer is another one."""

    rule: Rule  # which
    variant: str  # the choice, `+name` or `-name`
    instead: RequestAnswer  # the answer with it

    @property
    def says(self) -> str:
        """What is so under the rule set: the rule, or what its choice says where that is on."""
        return choice_text(self.variant[1:]) if self.variant.startswith("-") else self.rule.says


def deciding(asked: Handler, controller: Controller, text: str) -> tuple[RequestAnswer, list[Rule], list[Deciding]]:
    """The answer under a rule set, the rules that were consulted, and those of them that decide it."""
    answer, rules = consulted(lambda: RequestAnswer.to(asked, controller, parse(text)))
    found, seen = [], set[str]()
    for rule in rules:
        for name in rule.switches:
            if name in seen:
                continue
            seen.add(name)
            variant = otherwise(parse(text), name)
            instead = RequestAnswer.to(asked, controller, parse(text + variant))
            if instead != answer:
                found.append(Deciding(rule, variant, instead))
    return answer, rules, found


def asked_of(path: Path, words: Sequence[str], options: ReplayOptions) -> dict[str, Any]:
    """The controller's answer at the end of a log, as plain values; raises Refusal for log or words."""
    end = cluster_end(path, options)
    controller = end.state.controller
    answer, rules, found = deciding(handler(controller, words), controller, end.rules)
    written = _records(controller, answer.records, parse(end.rules))
    records = [_told(row, end.summary.skips.described) for row in written]
    return {
        "version": DOCUMENT_VERSION, "command": "ask",
        "exit": end.summary.unless_in_part(0 if answer.accepted else EXIT_REFUSED),
        "log": end.summary.name, "offset": end.history.last_offset, "rules": end.rules, "request": [*words],
        "resigns": answer.resigns, "answers": answer.rows, "reply": answer.reply,
        "records": records, "losses": [*_losses(end, records)],
        "decided_by": [
            {"rule": one.rule.id, "says": one.says, "variant": one.variant, "instead": _in_short(one.instead, answer)}
            for one in found
        ],
        "consulted": [rule.id for rule in rules], "doubts": [*end.doubts()],
    }  # fmt: skip


def _told(row: Row, described: str) -> Row:
    """A record, of a text that shows a cluster without what such a text does not tell."""
    kept = {name: value for name, value in row.items() if not described or name not in _NOT_DESCRIBED}
    if "changes" in row:
        kept["changes"] = {n: value for n, value in row["changes"].items() if not described or n not in _NOT_DESCRIBED}
    return kept


_NOT_DESCRIBED = {"leader epoch", "partition epoch", "directories", "broker_epoch", "log_dirs"}


def _losses(end: ClusterEnd, records: Sequence[Row]) -> Iterator[str]:
    """Which records may be lost by the leaders that are written."""
    led = {row["partition"]: row["changes"]["leader"][1] for row in records if "leader" in row.get("changes", ())}
    if {*led.values()} <= {NO_LEADER}:
        return
    _, condition = worked_out(end)
    for place in end.state.controller.places():
        name = f"{end.state.controller.topic(place.topic_id).name}-{place.index}"
        leader = led.get(name, NO_LEADER)
        lacks = None if leader == NO_LEADER else condition.lacks((place.topic_id, place.index), leader)
        if lacks is not None:
            yield f"{name}: MAY LOSE RECORDS: {leader} leads without {lost_text(lacks)}"


def _in_short(instead: RequestAnswer, answer: RequestAnswer) -> str:
    """An answer in a few words, and how it differs from another one that has as many records."""
    errors = dict.fromkeys(_said(row["error"]) for row in instead.rows)
    count = len(instead.records)
    other = sum(one != two for one, two in zip(instead.records, answer.records, strict=False))
    told = f"{', '.join(errors)}, {count} record{'' if count == 1 else 's'}"
    return f"{told}, {other} otherwise" if other and count == len(answer.records) else told


def _records(controller: Controller, records: Sequence[LogRecord], rules: RuleSet) -> Iterator[Row]:
    for record in records:
        kind = type(record).__name__
        if isinstance(record, PartitionChangeRecord):
            topic = controller.topic(record.topic_id)
            before = topic.partitions[record.partition_id]
            controller = replay_record(controller, record, rules)
            after = controller.topic(record.topic_id).partitions[record.partition_id]
            old, new = _plain(before), _plain(after)
            changes = {name: [old[name], new[name]] for name in old if old[name] != new[name]}
            yield {"type": kind, "partition": f"{topic.name}-{record.partition_id}", "changes": changes}
        else:
            controller = replay_record(controller, record, rules)
            values = {name: value for name, value in asdict(record).items() if value is not None}
            named = {name: [CODE.text(one) for one in value] for name, value in values.items() if name == "log_dirs"}
            yield {"type": kind, **values, **named}


def _plain(p: Partition) -> dict[str, Any]:
    lists = {"replicas": p.replicas, "isr": p.isr, "elr": p.elr, "last known leader": p.last_known_elr,
             "removing": p.removing, "adding": p.adding}  # fmt: skip
    numbers = {"leader epoch": p.leader_epoch, "partition epoch": p.partition_epoch}
    return {
        "leader": int(p.leader),
        **{name: [*ids(value)] for name, value in lists.items()},
        "directories": [CODE.text(int(p.directories.of(broker))) for broker in ids(p.replicas)],
        "recovering": bool(p.recovering),
        **{name: int(value) for name, value in numbers.items()},
    }


def _said(error: str) -> str:
    """An error for a reader; `NONE`, as Kafka calls it, reads as if a partition had no leader."""
    return "no error" if error == NONE else error


def show(found: Row, screen: Screen, every: bool = False) -> None:
    """Print an answer: errors, records, the rules that decide it; `every`: those too that do not."""
    screen.plain(f"{shlex.join(found['request'])}")
    at = ", a snapshot" if found["offset"] is None else f" at offset {found['offset']}"
    screen.plain(f"{found['log']}{at}, rules {found['rules']}\n")
    for row in found["answers"]:
        about = f"{row['partition']}: " if "partition" in row else ""
        screen.plain(about + _said(row["error"]) + (f": {row['reason'].replace('_', ' ')}" if row["reason"] else ""))
    if found["reply"] is not None:
        told = [name.replace("_", " ") for name, so in found["reply"].items() if so]
        screen.plain(f"  the broker is told: {', '.join(told) or 'nothing'}")
    for record in found["records"]:
        screen.plain("  " + _record_text(record))
    for line in found["losses"]:
        screen.one_line(line)
    _show_rules(found, screen, every)
    for line in found["doubts"]:
        screen.one_line(line)
    count = len(found["records"])
    ending = "the controller would RESIGN" if found["resigns"] else f"{count or 'no'} record{'s' * (count != 1)}"
    screen.plain(f"{ending} (exit {found['exit']})")


def _show_rules(found: Row, screen: Screen, every: bool) -> None:
    screen.plain("")
    if found["decided_by"]:
        table = Table((Column("decided by"), Column("says", is_prose=True), Column("instead"), Column("")))
        for row in found["decided_by"]:
            table.add(row["rule"], row["says"], row["variant"], row["instead"])
        screen.table(table)
    elif any(row["error"] != NONE for row in found["answers"]):
        screen.plain("decided by a check that no choice switches")
    others = [id_ for id_ in found["consulted"] if id_ not in {row["rule"] for row in found["decided_by"]}]
    if others:
        few = every or len(others) <= FEW_RULES
        named = ", ".join(others) if few else f"{len(others)} rules: --all names them, kraftcheck where shows one"
        screen.plain(f"consulted besides: {named}")


def _record_text(record: Row) -> str:
    if "changes" not in record:
        rest = " ".join(f"{name}={value}" for name, value in record.items() if name != "type")
        return f"{record['type']} {rest}"
    changes = ", ".join(f"{name} {old} -> {new}" for name, (old, new) in record["changes"].items())
    return f"{record['type']} {record['partition']}: {changes or 'nothing changes'}"


@click.command("ask")
@click.argument("log", type=click.Path(path_type=Path))
@click.argument("request", nargs=-1, required=True)
@click.option("--rules", help="Rule set, PRESET[+VARIANT|-VARIANT...]; by default that of the metadata version.")
@click.option("--static", multiple=True, metavar="KEY=VALUE", help="A line of the controller's configuration file.")
@click.option("--allow-skipped", type=click.IntRange(0), default=0, help="Undecodable lines or batches to pass over.")
@click.option("--all", "every", is_flag=True, help="Name every rule that was consulted.")
@click.option("--json", "target", metavar="FILE|-", help="Write the answer as a JSON document.")
def ask_command(
    log: Path, request: tuple[str, ...], rules: str | None, static: tuple[str, ...], allow_skipped: int, every: bool,
    target: str | None,
) -> None:  # fmt: skip
    """What the controller would answer to one REQUEST at the end of a metadata log or snapshot: its error, the records
    that it would write, and the rules that decide it. Nothing is sent to a cluster.

    A REQUEST is one of these; what is left out is as the log has it:

    \b
      alter-partition TOPIC-N isr=1,2 [from=BROKER] [broker-epoch=N]
                      [leader-epoch=N] [partition-epoch=N] [recovering=true]
      reassign TOPIC-N replicas=1,2,3      reassign TOPIC-N cancel
      elect TOPIC-N|all [type=preferred|unclean]
      alter-configs topic:NAME|broker:N|cluster KEY=VALUE      (KEY= removes)
      unregister BROKER
      heartbeat BROKER [fence=true] [shutdown=true] [offset=N] [epoch=N]
                [offline=DIRECTORY,...]

    A rule decides the answer if the choice that switches it would bring another
    one. Exit code 0: the request is accepted; 1: the controller answers with an
    error, or resigns; 20: not all of the log was read; 2: bad input, or no such request.

    \b
    Examples:
      kraftcheck ask /var/lib/kafka/__cluster_metadata-0 reassign orders-0 replicas=1,2,3
      kraftcheck ask snapshot.checkpoint elect orders-0 type=unclean --json -
    """
    check_writable(target)
    found = asked_of(log, request, ReplayOptions(rules, static, allow_skipped))
    if target is not None:
        write_json(target, found)
    show(found, console(to_stderr=target == "-"), every)
    sys.exit(found["exit"])
