"""`kraftcheck whatif`: how many faults the partitions of a real cluster are away from trouble."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from attrs import frozen

from kraftcheck.ci.logs.end import ClusterEnd, cluster_end
from kraftcheck.ci.logs.metrics import Labelled, gauge, not_known
from kraftcheck.ci.logs.report import ReplayOptions, Summary
from kraftcheck.ci.terminal import options as shared
from kraftcheck.ci.terminal.console import Column, Screen, Table, console
from kraftcheck.ci.terminal.files import check_apart, check_writable, write_json, write_text
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.controller.errors import Resignation
from kraftcheck.model.language.words import NO_LEADER
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.solvers.logs.recovery import Recovery

MOST_FAULTS = 6

DOCUMENT_VERSION = 1  # version of the JSON document

_HELP = {
    "offline": "Faults after which the partition may have no leader; +Inf: more than were explored.",
    "unwritable": "Faults after which the partition may refuse acks=all; +Inf: more than were explored.",
    "loss": "Faults after which the partition may have lost acknowledged data; +Inf: more than were explored.",
}


def prometheus(rows: Sequence[Mapping[str, Any]], faults: int, beside: Iterable[str]) -> str:
    """The distances in Prometheus' text format, and the lines of gauges beside them."""

    def labelled(kind: str) -> Labelled:
        return (({"topic": row["topic"], "partition": row["partition"]}, row[f"faults_to_{kind}"]) for row in rows)

    lines = [line for kind, text in _HELP.items() for line in gauge(f"faults_to_{kind}", text, labelled(kind))]
    lines += gauge("faults_explored", "How many faults were explored.", [({}, faults)])
    return "\n".join((*lines, *beside)) + "\n"


def _table(rows: Sequence[Mapping[str, Any]], faults: int) -> Table:
    ways = [Column(f"way to {kind}", is_prose=True) for kind in _HELP]
    table = Table((Column("partition"), *map(Column, _HELP), *ways))
    for row in rows:
        counts = [f">{faults}" if row[f"faults_to_{kind}"] is None else str(row[f"faults_to_{kind}"]) for kind in _HELP]
        paths = [_path_text(row[f"to_{kind}"]) for kind in _HELP]
        table.add(f"{row['topic']}-{row['partition']}", *counts, *paths)
    return table


def _path_text(moves: Sequence[str] | None) -> str:
    return "" if moves is None else ", ".join(moves) or "already so"


def _resignations(resigns: Mapping[int, Sequence[str]], every: bool) -> Iterator[str]:
    for broker, names in resigns.items():
        yield f"broker {broker} makes the controller RESIGN as it comes back: {_named(names, every)}"


def _losses(rows: Sequence[Mapping[str, Any]], every: bool) -> Iterator[str]:
    """A line on partitions that a replica has led which was no holder, if there are any."""
    lost = [f"{row['topic']}-{row['partition']} at {row['lost_at']}" for row in rows if row["lost_at"] is not None]
    if lost:
        count = "1 partition" if len(lost) == 1 else f"{len(lost)} partitions"
        yield f"{count} may have lost data before: {_named(lost, every)}"


def _named(names: Sequence[str], every: bool) -> str:
    shown = names if every else names[:3]
    return ", ".join(shown) + (f", and {len(names) - len(shown)} more: --all" if len(names) > len(shown) else "")


def _danger(row: Mapping[str, Any]) -> tuple[int, ...]:
    """The least for the partition that is nearest to trouble."""
    counts = (row[f"faults_to_{kind}"] for kind in _HELP)
    return tuple(MOST_FAULTS + 1 if count is None else count for count in counts)


@click.command("whatif")
@click.argument("snapshot", metavar="SNAPSHOT", type=click.Path(path_type=Path))
@click.option("--faults", type=click.IntRange(0, MOST_FAULTS), default=2, show_default=True, help="Faults to explore.")
@click.option("--rules", help="Rule set, PRESET[+VARIANT|-VARIANT...]; by default that of the metadata version.")
@click.option("--static", multiple=True, metavar="KEY=VALUE", help="A line of the controller's configuration file.")
@click.option("--allow-skipped", type=click.IntRange(0), default=0, help="Undecodable lines or batches to pass over.")
@click.option("--all", "every", is_flag=True, help="Name every partition that a line is about.")
@shared.lost
@shared.anonymise
@click.option("--json", "target", metavar="FILE|-", help="Write the distances as a JSON document.")
@click.option("--prometheus", "metrics", metavar="FILE|-", help="Write the distances in Prometheus' text format.")
def whatif_command(
    snapshot: Path, faults: int, every: bool, target: str | None, metrics: str | None, **given: Any
) -> None:
    """From the end of a metadata log or snapshot: which few faults take a partition offline, make it refuse producers
    that want all acknowledgements (acks=all), or lose data. The partitions in most danger come first.

    A fault is a broker that is fenced, a broker that loses power (and what it had
    not flushed), or the loss of the directory that a replica is in. Brokers that
    were only fenced may return at any time. A question, not a verdict: exit code 0
    whatever the distances, 20 where not all of the log was read, 2 for bad input.

    \b
    Examples:
      kraftcheck whatif 00000000000000000117-0000000001.checkpoint --faults 2
      kraftcheck whatif /var/lib/kafka/__cluster_metadata-0 --prometheus -
    """
    check_apart(json=target, prometheus=metrics)
    for place in (target, metrics):
        check_writable(place)
    found = distances_of(snapshot, faults, ReplayOptions(**given))
    if target is not None:
        write_json(target, found.document())
    if metrics is not None:
        summary = found.end.summary
        gauges = not_known(summary.in_part, len(summary.unexplained), found.end.doubts())
        write_text(metrics, prometheus(found.rows, faults, gauges))
    found.show(console(to_stderr="-" in (target, metrics)), every)
    sys.exit(found.exit_code)


@frozen
class Distances:
    """How many faults each partition is away from trouble."""

    rows: Sequence[Mapping[str, Any]]  # one for each partition
    faults: int  # how many were explored
    end: ClusterEnd  # the end of the log or snapshot
    # of each broker whose return makes the controller resign, the partitions concerned
    resigns: Mapping[int, Sequence[str]]

    @property
    def exit_code(self) -> int:
        """The exit code of the command."""
        return self.end.summary.unless_in_part(0)

    def document(self) -> dict[str, Any]:
        """The distances as plain values."""
        about = {"version": DOCUMENT_VERSION, "command": "whatif", "faults": self.faults, "rules": self.end.rules}
        resigns = [{"broker": broker, "partitions": names} for broker, names in self.resigns.items()]
        return {**about, **_document(self.end.summary), "resigns": resigns, "partitions": self.rows}

    def show(self, screen: Screen, every: bool = False) -> None:
        """Print them, most dangerous first, and what makes them doubtful; `every`: all that may have lost data."""
        if self.rows:
            screen.table(_table(sorted(self.rows, key=_danger), self.faults))
        for line in (*_resignations(self.resigns, every), *_losses(self.rows, every), *self.end.doubts()):
            screen.one_line(line)
        partitions = f"{len(self.rows)} partitions" if self.rows else "the cluster has no partition"
        screen.plain(f"{partitions}, up to {self.faults} faults, rules {self.end.rules} (exit {self.exit_code})")


def distances_of(snapshot: Path, faults: int, options: ReplayOptions) -> Distances:
    """The distances at the end of a log or snapshot; raises Refusal for what cannot be read."""
    end = cluster_end(snapshot, options)
    try:
        recovery = Recovery(end.state.controller, end.holders, parse(end.rules), end.dead)
        rows = [_without_quorum(row, end, faults) for row in recovery.distances(faults)]
        resigning = recovery.all_resigning()
    except Resignation as reason:
        raise Refusal(
            f"{snapshot}: {reason}, so that the controller resigns at any change of its partitions; correct it first"
        ) from None
    topics = end.state.controller.image.topics
    resigns = {b: [f"{topics[topic].name}-{index}" for topic, index in keys] for b, keys in resigning.items()}
    return Distances(rows, faults, end, resigns)


def _without_quorum(row: Mapping[str, Any], end: ClusterEnd, faults: int) -> Mapping[str, Any]:
    """A distance, or that to a leader whom nobody replaces, since the quorum has lost brokers that vote."""
    image = end.state.controller.image
    p = image.partition(end.state.controller.topic_id(row["topic"]) or "", row["partition"])
    leader = NO_LEADER if p is None else int(p.leader)
    down = {broker for broker, known in image.registrations.items() if known.fenced} | end.summary.skips.silent
    up = end.voters - down
    needed = max(0, len(up) - len(end.voters) // 2)
    able = [broker for broker in (leader, *sorted(up - {leader})) if broker in up and broker in image.registrations]
    if leader == NO_LEADER or not end.voters & image.registrations.keys() or len(able) < needed:
        return row
    failing = [*dict.fromkeys((*able[:needed], leader))]
    way = [*(f"{broker} is fenced" for broker in failing), "the quorum has no majority, and elects nobody"]
    nearer = {
        f"{kind}{trouble}": told
        for trouble in ("offline", "unwritable")
        if len(failing) <= faults
        and len(failing) < (row[f"faults_to_{trouble}"] or faults + 1)
        and row[f"faults_to_{trouble}"] != 0
        for kind, told in (("faults_to_", len(failing)), ("to_", way))
    }
    return {**row, **nearer}


def _document(summary: Summary) -> dict[str, Any]:
    return {
        "notes": list(summary.notes), "unexplained": len(summary.unexplained), "skipped": list(summary.skips.places),
        "incomplete": list(summary.incomplete),
        "transactions": summary.transactions(),
    }  # fmt: skip
