"""`kraftcheck unclean-recovery`: leaders for offline partitions of a snapshot, by the length of logs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click
from attrs import frozen

from kraftcheck.ci.conformance.unclean_recovery.lists import ballots, read_targets
from kraftcheck.ci.conformance.unclean_recovery.options import (
    ELECTION_FAILED,
    RULES,
    refuse_unanswered,
    report_result,
    save,
    unclean_recovery_rules,
)
from kraftcheck.ci.conformance.unclean_recovery.snapshot import Snapshot, read_snapshot
from kraftcheck.ci.terminal.commands import check_idle
from kraftcheck.ci.terminal.console import Column, Screen, Table, console
from kraftcheck.ci.terminal.files import check_apart, check_writable, write_json
from kraftcheck.ci.terminal.progress import stop_flag
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.controller.state import Controller
from kraftcheck.model.language.words import NO_LEADER
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.unclean_recovery.choice import NOBODY
from kraftcheck.model.unclean_recovery.tool import (
    ATTEMPTS,
    DURATION_MS,
    NO_ERROR,
    NOT_NEEDED,
    Finding,
    LogInfo,
    Result,
    Retries,
    TopicPartition,
    designate_all,
    find_leaders,
    succeeded,
)

NO_ANSWER = "NO_REPLICA_ANSWERED"
"""In place of an error: nobody can be designated."""


@frozen
class UncleanRecoveryPlan:
    """The plan of the tool: the leaders to designate, and the results that need no election.

    Attributes:
        targets: the input set.
        findings: one for each leaderless partition of it.
        results: results that need no election: online partitions, unknown ones, and those that nobody can lead.
    """

    targets: tuple[TopicPartition, ...]
    findings: tuple[Finding, ...]
    results: tuple[Result, ...]

    def leaders(self) -> list[tuple[TopicPartition, int]]:
        """The leaders to be designated."""
        return [(finding.place, finding.chosen) for finding in self.findings if finding.chosen != NOBODY]

    def answered(self) -> dict[TopicPartition, int]:
        """The broker epochs in which they answered."""
        return {finding.place: finding.epoch for finding in self.findings if finding.epoch is not None}


def plan(
    snapshot: Snapshot, targets: Sequence[TopicPartition], duration_ms: int, rules: RuleSet
) -> UncleanRecoveryPlan:
    """Ask the replicas of every target without a leader, and choose."""
    offline = {place: snapshot.replicas(place) for place in targets if snapshot.leader(place) == NO_LEADER}
    findings = find_leaders(snapshot.remote, offline, snapshot.rights, duration_ms, rules.unclean_recovery)
    results = [Result(finding.place, NO_ANSWER) for finding in findings if finding.chosen == NOBODY]
    for place in targets:
        if snapshot.leader(place) is None:
            results.append(Result(place, "UNKNOWN_TOPIC_OR_PARTITION"))
        elif place not in offline:
            results.append(Result(place, NOT_NEEDED))
    return UncleanRecoveryPlan(tuple(targets), findings, tuple(results))


def table(findings: Sequence[Finding]) -> Table:
    """The answers of each replica of each partition, as a table."""
    numbers = [Column(name, to_right=True) for name in ("last epoch", "known epoch", "log end")]
    table_ = Table((Column("partition"), Column("replica"), Column("answer"), *numbers, Column()))
    for finding in findings:
        for broker, row in finding.replies:
            mark = "chosen" if broker == finding.chosen else ""
            table_.add(f"{finding.place[0]}-{finding.place[1]}", str(broker), *_cells(row), mark)
    return table_


def _cells(row: LogInfo | None) -> tuple[str, str, str, str]:
    if row is None:
        return "none in time", "", "", ""
    if row.log is None:
        return row.error, "", "", ""
    return "log", str(row.log.written), str(row.log.current), str(row.log.length)


def _check(
    show: bool, manual: Path | None, automated: bool, partitions: Path | None, every: bool, output: Path | None
) -> None:
    """The exclusions of the document."""
    if manual is not None and automated:
        raise Refusal("--manual-recovery-output-file and --automated-recovery exclude each other; give one of them")
    if not (show or manual is not None or automated):
        raise Refusal(
            "nothing is asked: give --show-replica-info, --manual-recovery-output-file FILE or --automated-recovery"
        )
    if partitions is not None and every:
        raise Refusal("--path-to-json-file and --all-offline-partitions exclude each other; give one of them")
    if partitions is None and not every:
        raise Refusal("no partitions: give --path-to-json-file FILE or --all-offline-partitions")
    if output is not None and not automated:
        raise Refusal("--output is for the snapshot after --automated-recovery; give both, or neither")
    if manual is not None and manual.exists():
        raise Refusal(f"--manual-recovery-output-file: {manual} exists; name a new file")
    check_apart(manual_recovery_output_file=manual, output=output)
    for path in (manual, output):
        check_writable(None if path is None else str(path))


@click.command("unclean-recovery")
@click.option("--snapshot", "path", type=click.Path(path_type=Path), required=True, help="The cluster, a JSON file.")
@click.option(
    "--recovery-duration-ms",
    "duration",
    type=click.IntRange(1),
    default=DURATION_MS,
    show_default=True,
    help="A broker that has not answered by then is not considered.",
)
@click.option(
    "--recovery-election-attempts",
    "attempts",
    type=click.IntRange(0),
    default=ATTEMPTS,
    show_default=True,
    help="Retries of a request for elections that fails transiently.",
)
@click.option("--show-replica-info", "show", is_flag=True, help="Show what each replica answered.")
@click.option(
    "--manual-recovery-output-file",
    "manual",
    type=click.Path(path_type=Path),
    help="Write the leaders to be designated to a new file, for elect-leaders.",
)
@click.option("--automated-recovery", "automated", is_flag=True, help="Elect these leaders in the snapshot.")
@click.option("--path-to-json-file", "partitions", type=click.Path(path_type=Path), help="The partitions, a JSON file.")
@click.option("--all-offline-partitions", "every", is_flag=True, help="Every partition without a leader.")
@click.option("--output", type=click.Path(path_type=Path), help="The snapshot afterwards; default: in place.")
@click.option("--dry-run", "dry", is_flag=True, help="Write no snapshot.")
@click.option("--rules", default=RULES, show_default=True, help="Rule set; kip compares epochs as the document says.")
def unclean_recovery_command(
    path: Path, duration: int, attempts: int, show: bool, manual: Path | None, automated: bool, partitions: Path | None,
    every: bool, output: Path | None, dry: bool, rules: str,
) -> None:  # fmt: skip
    """Choose the replica with the highest epoch, then the longest log, as the leader of each offline partition.

    Exit code 0: every partition of the input has, or with a manual file can be
    designated, a leader; 1: some cannot, named on standard error; 2: bad input.

    \b
    Examples:
      kraftcheck unclean-recovery --snapshot cluster.json --all-offline-partitions --show-replica-info
      kraftcheck unclean-recovery --snapshot cluster.json --all-offline-partitions --automated-recovery
    """
    _check(show, manual, automated, partitions, every, output)
    if not automated:
        check_idle("is of --automated-recovery", "attempts")
    if dry and not automated:
        raise Refusal("--dry-run is for --automated-recovery; without it no snapshot is written anyway")
    chosen = unclean_recovery_rules(rules)
    snapshot = read_snapshot(path, chosen)
    offline = tuple(place for place in snapshot.places() if snapshot.leader(place) == NO_LEADER)
    plan_ = plan(snapshot, offline if partitions is None else read_targets(partitions), duration, chosen)
    screen = console()
    if show:
        screen.table(table(plan_.findings))
    results = [*plan_.results]
    if automated:
        with refuse_unanswered(path):
            after, elected = _elect(snapshot, plan_, Retries(snapshot.failures, attempts), chosen)
        results += elected
        if not dry:
            save(snapshot, after, path, output)
    else:
        results += [Result(place, NO_ERROR) for place, _ in plan_.leaders()]
    if manual is not None:
        write_json(str(manual), ballots(plan_.leaders()))
        screen.plain(f"wrote {manual}: {len(plan_.leaders())} designated leader(s)")
    _report(screen, plan_, results, automated, chosen)


def _elect(
    snapshot: Snapshot, plan_: UncleanRecoveryPlan, retries: Retries, rules: RuleSet
) -> tuple[Controller, tuple[Result, ...]]:
    """Designate the chosen leaders; a signal ends it between two requests."""
    with stop_flag(awaits_report=True) as stop:
        return designate_all(
            snapshot.controller, plan_.leaders(), rules, retries, snapshot.rights, stop.is_set, plan_.answered()
        )


def _report(
    screen: Screen, plan_: UncleanRecoveryPlan, results: Sequence[Result], automated: bool, rules: RuleSet
) -> None:
    """One line a partition, failures on standard error; then the exit."""
    leaders = dict(plan_.leaders())
    by_place = {result.place: result for result in results}
    failed = 0
    for place in plan_.targets:
        result = by_place[place]
        success = f"{'elected' if automated else 'designate'} {leaders.get(place)}"
        failed += report_result(screen, result, success, result.recovered(rules.unclean_recovery))
    code = 0 if succeeded(results, rules.unclean_recovery) else ELECTION_FAILED
    screen.plain(f"{len(plan_.targets)} partition(s), {failed} failed (exit {code})")
    sys.exit(code)
