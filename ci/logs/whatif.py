"""`kraftcheck whatif`: how many faults the partitions of a real cluster are away from trouble."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from attrs import frozen

from kraftcheck.ci.logs.format.read import SkipCount, find, read
from kraftcheck.ci.logs.report import ReplayOptions, Summary, line_of, passed_lines, settings_of, taken_lines
from kraftcheck.ci.terminal.console import Column, Screen, Table, console
from kraftcheck.ci.terminal.files import check_apart, check_writable, write, write_json
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.controller.errors import Resignation
from kraftcheck.model.controller.state import Controller
from kraftcheck.model.language.system import ScopeError
from kraftcheck.model.records.replay import ReplayError
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.solvers.logs.explain.state import EntryError, State, Undone, effective, elected, empty, loading
from kraftcheck.solvers.logs.whatif import NO_HISTORY, Holders, as_rows, distances

DOCUMENT_VERSION = 1
"""Version of the JSON document."""

_HELP = {
    "offline": "Faults after which the partition may have no leader; +Inf: more than were explored.",
    "loss": "Faults after which the partition may have lost acknowledged data; +Inf: more than were explored.",
}


@frozen
class ClusterEnd:
    """The end of a log or snapshot.

    Attributes:
        state: the state there.
        holders: who holds the data of each partition.
        summary: what a replay says of the log.
    """

    state: State
    holders: Holders
    summary: Summary


def cluster_end(path: Path, rules: str | None, static: tuple[str, ...], allow_skipped: int) -> ClusterEnd:
    """The end of a log or snapshot: its records are taken as they are, and replayed too, to know what explains them.

    Raises:
        Refusal: for what cannot be read, and where nothing is.
    """
    logs = find((path,))
    if len(logs) > 1:
        raise Refusal(f"{path}: {len(logs)} logs; name one of them, such as {logs[0].name}")
    state, skipped = empty(Controller(settings=settings_of(static))), SkipCount(allow_skipped)
    chosen, holders, read_any = parse(rules or line_of(None).preset), NO_HISTORY, False
    settled = state
    try:
        for batch in effective(read(logs[0], skipped)):
            read_any = True
            if isinstance(batch, Undone):
                continue
            if batch.control:
                state = elected(state, batch.whole())
                continue
            for _, after in loading(state.at(batch.base_offset), batch.whole(), chosen):
                state = after
                if state.transaction is None:
                    holders, settled = holders.after(settled.controller, state.controller), state
    except (EntryError, ReplayError) as reason:
        raise Refusal(f"{path}: {reason}") from None
    if not read_any:
        raise Refusal(f"{path}: no record batch was read; is it a metadata log or snapshot?")
    summary = ReplayOptions(rules, static, allow_skipped).replay(logs[0], detailed=False, explains=False)
    return ClusterEnd(state, holders, summary)


def prometheus(rows: Sequence[Mapping[str, Any]], faults: int, unexplained: int) -> str:
    """The distances in Prometheus' text format, and how many batches of the log are not explained."""
    text = []
    for kind, help_text in _HELP.items():
        name = f"kraftcheck_faults_to_{kind}"
        text += [f"# HELP {name} {help_text}", f"# TYPE {name} gauge"]
        for row in rows:
            value = row[f"faults_to_{kind}"]
            topic = row["topic"].replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
            labels = f'topic="{topic}",partition="{row["partition"]}"'
            text.append(f"{name}{{{labels}}} {'+Inf' if value is None else value}")
    text += [
        "# HELP kraftcheck_faults_explored How many faults were explored.",
        "# TYPE kraftcheck_faults_explored gauge",
        f"kraftcheck_faults_explored {faults}",
        "# HELP kraftcheck_unexplained_batches Batches of the log that are not what the rules write.",
        "# TYPE kraftcheck_unexplained_batches gauge",
        f"kraftcheck_unexplained_batches {unexplained}",
    ]
    return "\n".join(text) + "\n"


def _table(rows: Sequence[Mapping[str, Any]], faults: int) -> Table:
    ways = [Column(f"shortest way to {kind}", is_prose=True) for kind in _HELP]
    table = Table((Column("partition"), *map(Column, _HELP), *ways))
    for row in rows:
        counts = [f">{faults}" if row[f"faults_to_{kind}"] is None else str(row[f"faults_to_{kind}"]) for kind in _HELP]
        paths = [_path_text(row[f"to_{kind}"]) for kind in _HELP]
        table.add(f"{row['topic']}-{row['partition']}", *counts, *paths)
    return table


def _path_text(moves: Sequence[str] | None) -> str:
    """A sequence of moves for a reader; empty where there is none."""
    return "" if moves is None else ", ".join(moves) or "already so"


def _losses(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A line on partitions that a replica has led which was no holder, if there are any; three by name."""
    lost = [f"{row['topic']}-{row['partition']} at {row['lost_at']}" for row in rows if row["lost_at"] is not None]
    if lost:
        more = f", and {len(lost) - 3} more" if len(lost) > 3 else ""
        count = "1 partition" if len(lost) == 1 else f"{len(lost)} partitions"
        yield f"{count} may have lost data before: {', '.join(lost[:3])}{more}"


@click.command("whatif")
@click.argument("snapshot", metavar="SNAPSHOT", type=click.Path(path_type=Path))
@click.option("--faults", type=click.IntRange(0, 6), default=2, show_default=True, help="Faults to explore.")
@click.option("--rules", help="Rule set, PRESET[+VARIANT|-VARIANT...]; by default that of the metadata version.")
@click.option("--static", multiple=True, metavar="KEY=VALUE", help="A line of the controller's configuration file.")
@click.option("--allow-skipped", type=click.IntRange(0), default=0, help="Undecodable lines or batches to pass over.")
@click.option("--json", "target", metavar="FILE|-", help="Write the distances as a JSON document.")
@click.option("--prometheus", "metrics", metavar="FILE|-", help="Write the distances in Prometheus' text format.")
def whatif_command(
    snapshot: Path, faults: int, rules: str | None, static: tuple[str, ...], allow_skipped: int, target: str | None,
    metrics: str | None,
) -> None:  # fmt: skip
    """From the end of a metadata log or snapshot: which few faults take a partition offline, or lose data.

    A fault is a broker that is fenced, a broker that loses power (and what it had
    not flushed), or the loss of the directory that a replica is in. Brokers that
    were only fenced may return at any time. A question, not a verdict: exit code 0
    whatever the distances, 2 for bad input.

    \b
    Examples:
      kraftcheck whatif 00000000000000000117-0000000001.checkpoint --faults 2
      kraftcheck whatif /var/kafka/__cluster_metadata-0 --prometheus -
    """
    check_apart(json=target, prometheus=metrics)
    for place in (target, metrics):
        check_writable(place)
    found = distances_of(snapshot, faults, rules, static, allow_skipped)
    if target is not None:
        write_json(target, found.document())
    gauges = prometheus(found.rows, faults, len(found.end.summary.unexplained))
    if metrics == "-":
        click.echo(gauges, nl=False)
    elif metrics is not None:
        write(Path(metrics), gauges)
    found.show(console(to_stderr="-" in (target, metrics)))
    sys.exit(0)


@frozen
class Distances:
    """How many faults each partition is away from trouble.

    Attributes:
        rows: one for each partition.
        faults: how many were explored.
        rules: the rule set.
        end: the end of the log or snapshot.
    """

    rows: Sequence[Mapping[str, Any]]
    faults: int
    rules: str
    end: ClusterEnd

    def document(self) -> dict[str, Any]:
        """The distances as plain values."""
        about = {"version": DOCUMENT_VERSION, "command": "whatif", "faults": self.faults, "rules": self.rules}
        return {**about, **_document(self.end.summary), "partitions": self.rows}

    def show(self, screen: Screen) -> None:
        """Print them, and what a reader must know before they are believed."""
        if self.rows:
            screen.table(_table(self.rows, self.faults))
        for line in (*_losses(self.rows), *_doubts(self.end.summary)):
            screen.one_line(line)
        partitions = f"{len(self.rows)} partitions" if self.rows else "the cluster has no partition"
        screen.plain(f"{partitions}, up to {self.faults} faults, rules {self.rules} (exit 0)")


def distances_of(
    snapshot: Path, faults: int, rules: str | None, static: tuple[str, ...], allow_skipped: int
) -> Distances:
    """The distances at the end of a log or snapshot; raises Refusal for what cannot be read."""
    try:
        if rules is not None:
            parse(rules)
    except ScopeError as reason:
        raise Refusal(str(reason)) from None
    end = cluster_end(snapshot, rules, static, allow_skipped)
    name = rules or line_of(end.state.supported_level()).preset
    try:
        rows = as_rows(list(distances(end.state.controller, faults, parse(name), end.holders)))
    except Resignation as reason:
        raise Refusal(
            f"{snapshot}: {reason}, so that the controller resigns at any change of its partitions; correct it first"
        ) from None
    return Distances(rows, faults, name, end)


def _document(summary: Summary) -> dict[str, Any]:
    """What a replay says of the log, as plain values."""
    return {
        "notes": list(summary.notes), "unexplained": len(summary.unexplained), "skipped": list(summary.skipped),
        "transactions": summary.transactions(),
    }  # fmt: skip


def _doubts(summary: Summary) -> Iterator[str]:
    """What a reader must know of the log before these distances are believed."""
    yield from (note for note in summary.notes if note.startswith("WARNING"))
    yield from (line.strip() for line in (*taken_lines(summary), *passed_lines(summary)) if not _is_usual(line))
    if summary.unexplained:
        count = len(summary.unexplained)
        batches = "1 batch is" if count == 1 else f"{count} batches are"
        yield f"{batches} not what these rules write; run kraftcheck replay {summary.name}"


def _is_usual(line: str) -> bool:
    return line.startswith(("  passed through: ", "  snapshot: "))
