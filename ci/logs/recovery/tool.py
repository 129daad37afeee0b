"""`kraftcheck unclean-recovery` and `kraftcheck elect-leaders`: leaders for partitions of a snapshot.

The one chooses by the length of logs, the other holds preferred, unclean and designated elections.
"""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import click
from attrs import evolve, frozen
from click.core import ParameterSource

from kraftcheck.ci.logs.recovery.cluster import NO_RELEASE, NOTHING_SENT, RealCluster, is_log
from kraftcheck.ci.logs.recovery.log_ends import LogEnds, document_of, read_log_ends
from kraftcheck.ci.logs.recovery.snapshot import Snapshot, read_snapshot
from kraftcheck.ci.terminal.commands import check_idle
from kraftcheck.ci.terminal.console import Column, Screen, Table, console
from kraftcheck.ci.terminal.files import check_apart, check_writable, read_json, write_json
from kraftcheck.ci.terminal.progress import stop_flag
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.controller.commits import commit
from kraftcheck.model.controller.elections import DESIGNATED, PREFERRED, UNCLEAN, elect_leaders
from kraftcheck.model.controller.errors import RequestError, Resignation
from kraftcheck.model.controller.state import Controller
from kraftcheck.model.language.system import ScopeError
from kraftcheck.model.language.words import NO_LEADER
from kraftcheck.model.nearest import nearest
from kraftcheck.model.records.fields import Fields, FormError, each, integer, text
from kraftcheck.model.rules.ruleset import RuleSet, parse
from kraftcheck.model.unclean_recovery.tool import (
    ATTEMPTS,
    DURATION_MS,
    NO_ERROR,
    NOBODY,
    NOT_NEEDED,
    TRANSIENT,
    LogInfo,
    PartitionReport,
    PartitionResult,
    Retries,
    TopicPartition,
    designate_all,
    find_leaders,
    succeeded,
)
from kraftcheck.solvers.program.verdict import EXIT_INCOMPLETE

RULES_TOLD = "of a log those of its release; else fixed+designated-elections"
RULES = "fixed+designated-elections"  # the rule set of both tools unless they are given another
ELECTION_FAILED = 1  # exit code when some partition has no leader in the end, as Kafka's tools end


def unclean_recovery_rules(text: str) -> RuleSet:
    """A rule set with designated elections; raises Refusal in one line."""
    try:
        rules = parse(text)
    except ScopeError as reason:
        raise Refusal(str(reason)) from None
    if not rules.partition.designated_elections:
        raise Refusal(f"--rules {text} has no designated elections; add +designated-elections")
    return rules


@contextlib.contextmanager
def refuse_unanswered(path: Path) -> Iterator[None]:
    """Where the controller gives no answer the snapshot is at fault: meanwhile that is one line, a Refusal."""
    try:
        yield
    except (RequestError, Resignation) as error:
        raise Refusal(f"{path}: the controller does not answer: {error}; nothing is changed") from None


def save(snapshot: Snapshot, after: Controller, path: Path, output: Path | None) -> None:
    """Write the snapshot after elections to `output`, else in place if it changed; raises Refusal where it cannot."""
    if output is not None or after != snapshot.controller:
        write_json(str(output or path), snapshot.after(after))


def report_result(screen: Screen, result: PartitionResult, success: str, succeeded: bool) -> bool:
    """Say what came of a partition, on standard error where that is a failure; whether it is."""
    name = f"{result.place[0]}-{result.place[1]}"
    if succeeded:
        screen.plain(f"{name}: {'already online' if result.error == NOT_NEEDED else success}")
    else:
        click.echo(f"{name}: failed: {result.error}", err=True)
    return not succeeded


def _told(result: PartitionResult, places: Iterable[TopicPartition], cluster: RealCluster | None) -> PartitionResult:
    """A partition's result with its mend: neighbours of an unknown topic; of unknown logs who tells them."""
    (topic, index), known = result.place, [*places]
    if cluster is not None and result.error == NOT_NEEDED and (why := cluster.out_of_reach(result.place)):
        return evolve(result, error=why)
    if result.error == NO_ANSWER and cluster is not None:
        if cluster.is_empty(result.place):
            return evolve(result, error="every log of it that is known is empty: to elect one loses all of it")
        why = GIVE_LOGS if cluster.ends == LogEnds() else "the files of --logs tell of none: start one of their brokers"
        return evolve(result, error=f"how long the logs of its live replicas are is not known: {why}")
    if result.error == NO_SUCH and result.place not in known and cluster is not None and cluster.end.summary.in_part:
        return evolve(result, error=f"{topic}-{index} is not in what was read, which is not all")
    if result.error == NO_SUCH and result.place not in known:
        own = sorted(partition for name, partition in known if name == topic)
        mend = f"{topic} has {len(own)} partitions" if own else nearest(topic, {name for name, _ in known})
        return evolve(result, error=f"{NO_SUCH}: there is no {topic}-{index}; {mend}")
    return result


def read_targets(path: Path) -> tuple[TopicPartition, ...]:
    """Partitions by topic, `{"partitions": [{"topic": "foo", "partitions": [0]}]}`; raises Refusal for other forms."""
    places, _ = _listed(path, ("topic", "partitions"), lambda entry: entry.read("partitions", each(_index)))
    return places


def read_ballots(path: Path, designated: bool) -> tuple[tuple[TopicPartition, ...], tuple[int, ...] | None]:
    """Partitions one by one, with `designatedLeader` where it is taken; raises Refusal for other forms, or twice."""
    keys, leader = ("topic", "partition", "designatedLeader"), "designatedLeader" if designated else ""
    places, entries = _listed(path, keys, lambda entry: [entry.read("partition", _index)], leader)
    return places, tuple(entry.data[leader] for entry in entries) if designated else None


def ballots(leaders: Sequence[tuple[TopicPartition, int]]) -> dict[str, Any]:
    """The document that designates these leaders; `read_ballots` reads it."""
    rows = [{"topic": topic, "partition": index, "designatedLeader": leader} for (topic, index), leader in leaders]
    return {"partitions": rows}


def _listed(
    path: Path, keys: Sequence[str], indices: Callable[[Fields], Iterable[int]], leader: str = ""
) -> tuple[tuple[TopicPartition, ...], tuple[Fields, ...]]:
    """The partitions and entries of a file, with leaders if asked for; raises Refusal for another form, or repeats."""
    try:
        entries = Fields.of(read_json(path)).only("partitions").read("partitions", each(Fields.of))
        places = [(entry.only(*keys).read("topic", text), index) for entry in entries for index in indices(entry)]
        if leader:
            for entry in entries:
                entry.read(leader, _index)
        if not places:
            raise FormError("partitions: none is listed")
        if twice := [place for place, count in Counter(places).items() if count > 1]:
            raise FormError(f"partitions: {twice[0][0]}-{twice[0][1]} is listed twice")
    except FormError as reason:
        raise Refusal(f"{path}: {reason}") from None
    return tuple(places), tuple(entries)


def _index(value: object, where: str) -> int:
    return integer(value, where, (0, (1 << 31) - 1))


NO_ANSWER = "NO_REPLICA_ANSWERED"  # in place of an error: nobody can be designated

NO_SUCH = "UNKNOWN_TOPIC_OR_PARTITION"

GIVE_LOGS = "give --logs FILE, with what kafka-log-dirs.sh --describe prints"


@frozen
class UncleanRecoveryPlan:
    """The plan of the tool: the leaders to designate, and the results that need no election."""

    targets: tuple[TopicPartition, ...]  # the input set
    findings: tuple[PartitionReport, ...]  # one for each leaderless partition of it
    # results that need no election: online partitions, unknown ones, and those that nobody can lead
    results: tuple[PartitionResult, ...]

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
    results = [PartitionResult(finding.place, NO_ANSWER) for finding in findings if finding.chosen == NOBODY]
    for place in targets:
        if snapshot.leader(place) is None:
            results.append(PartitionResult(place, NO_SUCH))
        elif place not in offline:
            results.append(PartitionResult(place, NOT_NEEDED))
    return UncleanRecoveryPlan(tuple(targets), findings, tuple(results))


def table(findings: Sequence[PartitionReport]) -> Table:
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


PLACE = click.Path(path_type=Path)

_cluster = click.option("--snapshot", "path", type=PLACE, required=True,
                        help="The cluster: a JSON file, or a metadata log, snapshot, dump or pasted text.")  # fmt: skip
_partitions = click.option("--path-to-json-file", "partitions", type=PLACE, help="The partitions, a JSON file.")
_afterwards = click.option("--output", type=PLACE, help="The snapshot afterwards; default: in place.")


@click.command("unclean-recovery")
@_cluster
@click.option("--logs", multiple=True, metavar="[BROKER=]FILE", help="How long logs are; repeatable.")
@click.option(
    "--leader-election-file",
    "ballot",
    type=PLACE,
    help="Write the partitions to a new file, for kafka-leader-election --election-type UNCLEAN.",
)
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
    type=PLACE,
    help="Write the leaders to be designated to a new file, for elect-leaders.",
)
@click.option("--automated-recovery", "automated", is_flag=True, help="Elect these leaders in the snapshot.")
@_partitions
@click.option("--all-offline-partitions", "every", is_flag=True, help="Every partition without a leader.")
@_afterwards
@click.option("--dry-run", "dry", is_flag=True, help="Write no snapshot.")
@click.option(
    "--rules", default=RULES, show_default=RULES_TOLD, help="Rule set; kip compares epochs as the document says."
)
def unclean_recovery_command(path: Path, rules: str, **flags: Any) -> None:
    """Choose the replica with the highest epoch, then the longest log, as the leader of each offline partition.

    Of a metadata log it shows what electing that replica loses, and how Kafka's own tool
    comes to elect it. --logs takes what kafka-log-dirs --describe or kafka-get-offsets
    prints, and what kafka-dump-log prints of a replica's last segment, as BROKER=FILE.

    Exit code 0: every partition of the input has, or with a manual file can be designated,
    a leader; 1: some cannot, named on standard error; 20: not all is read; 2: bad input.

    \b
    Examples:
      kraftcheck unclean-recovery --snapshot cluster.json --all-offline-partitions --show-replica-info
      kraftcheck unclean-recovery --snapshot cluster.json --all-offline-partitions --automated-recovery
      kraftcheck unclean-recovery --snapshot __cluster_metadata-0 --all-offline-partitions
        --show-replica-info --logs log-dirs.txt --leader-election-file elect.json
    """
    manual, automated, ballot, output = (flags[key] for key in ("manual", "automated", "ballot", "output"))
    _check(flags["show"] or ballot is not None, manual, automated, flags["partitions"], flags["every"], output)
    check_apart(leader_election_file=ballot, manual_recovery_output_file=manual)
    check_writable(None if ballot is None else str(ballot))
    if not automated:
        check_idle("is of --automated-recovery", "attempts")
    if flags["dry"] and not automated:
        raise Refusal("--dry-run is for --automated-recovery; without it no snapshot is written anyway")
    cluster = _real(path, rules, flags["logs"])
    chosen = unclean_recovery_rules(rules) if cluster is None else cluster.rules
    snapshot = read_snapshot(path, chosen) if cluster is None else cluster.snapshot()
    targets = _offline(snapshot, cluster) if flags["every"] else read_targets(flags["partitions"])
    plan_ = plan(snapshot, targets, flags["duration"], chosen)
    screen = console()
    if flags["show"] and plan_.findings:
        screen.table(table(plan_.findings) if cluster is None else cluster.table(plan_.findings))
    if cluster is not None:
        _advise(screen, cluster, plan_, ballot)
    results = [*plan_.results]
    if automated:
        with refuse_unanswered(path):
            after, elected = _elect(snapshot, plan_, Retries(snapshot.failures, flags["attempts"]), chosen)
        results += elected
        if not flags["dry"]:
            save(snapshot, after, path, output)
    else:
        results += [PartitionResult(place, NO_ERROR) for place, _ in plan_.leaders()]
    if manual is not None:
        write_json(str(manual), ballots(plan_.leaders()))
        screen.plain(f"wrote {manual}: {len(plan_.leaders())} designated leader(s)")
    told = [_told(one, snapshot.places(), cluster) for one in results]
    unsure = cluster is not None and any(map(cluster.not_known, plan_.findings))
    _end(screen, cluster, told, _report(screen, plan_, told, automated, chosen), chosen, unsure)


def _offline(snapshot: Snapshot, cluster: RealCluster | None) -> tuple[TopicPartition, ...]:
    gone = {} if cluster is None else {place for place in cluster.rows if cluster.out_of_reach(place)}
    return tuple(one for one in snapshot.places() if snapshot.leader(one) == NO_LEADER or one in gone)


def _real(path: Path, rules: str, logs: Sequence[str]) -> RealCluster | None:
    """The cluster of a log; None where the file is of another form, which has no need of some options."""
    if not is_log(path):
        check_idle("is of the cluster of a log; a JSON file has its own", "logs", "ballot")
        return None
    check_idle("changes a JSON file of a cluster, and this is a log", "automated")
    check_idle("is how long brokers are asked, and nobody is asked about a log", "duration")
    return RealCluster.read(path, _given_rules(rules), read_log_ends(logs))


def _given_rules(rules: str) -> str | None:
    """The rule set that a user gave; None for the default, which a log has its own of."""
    context = click.get_current_context()
    return rules if context.get_parameter_source("rules") is ParameterSource.COMMANDLINE else None


def _advise(screen: Screen, cluster: RealCluster, plan_: UncleanRecoveryPlan, ballot: Path | None) -> None:
    """What each election costs, before anything is done, and the file for Kafka's own tool."""
    advice = (line for one in plan_.findings for line in cluster.advice(one))
    beside = (*cluster.passed_over(plan_.targets), *cluster.to_compare(plan_.targets))
    for line in (*cluster.end.doubts(), *beside, *advice):
        screen.one_line(line)
    screen.one_line(NO_RELEASE)
    if ballot is not None:
        ready = cluster.ready(plan_.leaders())
        write_json(str(ballot), document_of(ready))
        screen.plain(f"wrote {ballot}: {len(ready)} partition(s), in which it elects whom is chosen here")


def _elect(
    snapshot: Snapshot, plan_: UncleanRecoveryPlan, retries: Retries, rules: RuleSet
) -> tuple[Controller, tuple[PartitionResult, ...]]:
    """Designate the chosen leaders; a signal ends it between two requests."""
    with stop_flag(awaits_report=True) as stop:
        return designate_all(
            snapshot.controller, plan_.leaders(), rules, retries, snapshot.rights, stop.is_set, plan_.answered()
        )


def _report(
    screen: Screen, plan_: UncleanRecoveryPlan, results: Sequence[PartitionResult], automated: bool, rules: RuleSet
) -> int:
    """One line a partition, failures on standard error; how many failed."""
    leaders = dict(plan_.leaders())
    by_place = {result.place: result for result in results}
    failed = 0
    for place in plan_.targets:
        result = by_place[place]
        success = f"{'elected' if automated else 'designate'} {leaders.get(place)}"
        failed += report_result(screen, result, success, result.recovered(rules.unclean_recovery))
    return failed


def _end(
    screen: Screen, cluster: RealCluster | None, results: Sequence[PartitionResult], failed: int, rules: RuleSet,
    unsure: bool = False,
) -> NoReturn:  # fmt: skip
    """The last line, and the exit; `unsure` where a log that is not known may have more than the one chosen."""
    code = 0 if succeeded(results, rules.unclean_recovery) else ELECTION_FAILED
    code = code if cluster is None else cluster.unless_in_part(code) or (EXIT_INCOMPLETE if unsure else 0)
    screen.plain(f"{len(results)} partition(s), {failed} failed (exit {code})")
    sys.exit(code)


TYPES = {"PREFERRED": PREFERRED, "UNCLEAN": UNCLEAN, "DESIGNATED": DESIGNATED}

Places = tuple[TopicPartition, ...]


def elect(
    snapshot: Snapshot, kind: int, places: Places | None, leaders: tuple[int, ...] | None, rules: RuleSet
) -> tuple[Controller, tuple[PartitionResult, ...]]:
    """Hold the elections; of all partitions, those that need none are not reported."""
    retries = Retries(snapshot.failures, ATTEMPTS)
    if kind == DESIGNATED:
        pairs = list(zip(places or (), leaders or (), strict=True))
        with stop_flag(awaits_report=True) as stop:
            return designate_all(snapshot.controller, pairs, rules, retries, snapshot.rights, stop.is_set)
    served, _ = retries.sent()
    if not served:
        targets = snapshot.places() if places is None else places
        return snapshot.controller, tuple(PartitionResult(place, TRANSIENT) for place in targets)
    outcome = elect_leaders(snapshot.controller, kind, places, rules)
    results = tuple(PartitionResult((row.topic, row.partition), row.error) for row in outcome.response)
    return commit(snapshot.controller, outcome, rules), results


def _request(
    kind: int, partitions: Path | None, topic: str | None, partition: int | None, every: bool
) -> tuple[Places | None, tuple[int, ...] | None]:
    """The partitions, None for all, and the leaders designated; the exclusions of Kafka's tool."""
    if sum((partitions is not None, topic is not None, every)) != 1:
        raise Refusal("give one of --path-to-json-file FILE, --topic NAME with --partition N, --all-topic-partitions")
    if (topic is None) != (partition is None):
        raise Refusal("--topic and --partition go together; give both, or neither")
    if kind == DESIGNATED and partitions is None:
        raise Refusal("DESIGNATED needs a leader for each partition; give them with --path-to-json-file FILE")
    if partitions is not None:
        return read_ballots(partitions, kind == DESIGNATED)
    return (None if every else ((str(topic), int(partition or 0)),)), None


@click.command("elect-leaders")
@_cluster
@click.option(
    "--election-type",
    "kind",
    type=click.Choice(list(TYPES), case_sensitive=False),
    required=True,
    help="The first replica; any replica that may lead; or the one that the file designates.",
)
@_partitions
@click.option("--topic", help="The topic of one partition.")
@click.option("--partition", type=click.IntRange(0), help="The index of one partition.")
@click.option("--all-topic-partitions", "every", is_flag=True, help="Every partition.")
@_afterwards
@click.option("--dry-run", "dry", is_flag=True, help="Write nothing.")
@click.option("--rules", default=RULES, show_default=RULES_TOLD, help="Rule set, PRESET[+VARIANT|-VARIANT...].")
def elect_leaders_command(path: Path, rules: str, **flags: Any) -> None:
    """Have the controller elect leaders, as kafka-leader-election does, in a snapshot file.

    Of a metadata log it shows who would be elected, and what would be lost; nothing is written.

    Exit code 0: every partition asked for has its leader; 1: some have not, named
    on standard error; 20: not all of a log was read; 2: bad input.

    \b
    Examples:
      kraftcheck elect-leaders --snapshot cluster.json --election-type DESIGNATED --path-to-json-file leaders.json
    """
    number, output = TYPES[flags["kind"].upper()], flags["output"]
    places, leaders = _request(number, flags["partitions"], flags["topic"], flags["partition"], flags["every"])
    cluster, dry = None, flags["dry"]
    if is_log(path):
        check_idle("is of a JSON file of a cluster; nothing is written of a log", "output")
        cluster, dry = RealCluster.read(path, _given_rules(rules), LogEnds()), True
        chosen, snapshot = cluster.rules, cluster.snapshot()
    else:
        chosen = unclean_recovery_rules(rules)
        if not dry:
            check_writable(str(output or path))
        snapshot = read_snapshot(path, chosen)
    with refuse_unanswered(path):
        after, results = elect(snapshot, number, places, leaders, chosen)
    if not dry:
        save(snapshot, after, path, output)
    screen, failed = console(), 0
    if cluster is not None:
        compared = cluster.to_compare(result.place for result in results)
        for line in (*cluster.end.doubts(), *compared, NO_RELEASE if number == DESIGNATED else NOTHING_SENT):
            screen.one_line(line)
    results = tuple(_told(one, snapshot.places(), cluster) for one in results)
    for result in results:
        leader = _leader(after, result.place)
        loss = "" if cluster is None or leader is None else cluster.loss(result.place, leader)
        recovered = result.recovered(chosen.unclean_recovery)
        failed += report_result(screen, result, f"elected {leader}{loss}", recovered)
    _end(screen, cluster, results, failed, chosen)


def _leader(controller: Controller, place: TopicPartition) -> int | None:
    p = controller.image.partition(controller.topic_id(place[0]) or "", place[1])
    return None if p is None else int(p.leader)
