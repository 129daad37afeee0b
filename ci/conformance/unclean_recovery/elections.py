"""`kraftcheck elect-leaders`: preferred, unclean and designated elections in a snapshot."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from kraftcheck.ci.conformance.unclean_recovery.lists import read_ballots
from kraftcheck.ci.conformance.unclean_recovery.options import (
    ELECTION_FAILED,
    RULES,
    refuse_unanswered,
    report_result,
    save,
    unclean_recovery_rules,
)
from kraftcheck.ci.conformance.unclean_recovery.snapshot import Snapshot, read_snapshot
from kraftcheck.ci.terminal.console import console
from kraftcheck.ci.terminal.files import check_writable
from kraftcheck.ci.terminal.progress import stop_flag
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.controller.commits import commit
from kraftcheck.model.controller.elections import DESIGNATED, PREFERRED, UNCLEAN, elect_leaders
from kraftcheck.model.controller.state import Controller
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.unclean_recovery.tool import (
    ATTEMPTS,
    TRANSIENT,
    Result,
    Retries,
    TopicPartition,
    designate_all,
    succeeded,
)

TYPES = {"PREFERRED": PREFERRED, "UNCLEAN": UNCLEAN, "DESIGNATED": DESIGNATED}

Places = tuple[TopicPartition, ...]


def elect(
    snapshot: Snapshot, kind: int, places: Places | None, leaders: tuple[int, ...] | None, rules: RuleSet
) -> tuple[Controller, tuple[Result, ...]]:
    """Hold the elections; of all partitions, those that need none are not reported."""
    retries = Retries(snapshot.failures, ATTEMPTS)
    if kind == DESIGNATED:
        pairs = list(zip(places or (), leaders or (), strict=True))
        with stop_flag(awaits_report=True) as stop:
            return designate_all(snapshot.controller, pairs, rules, retries, snapshot.rights, stop.is_set)
    served, _ = retries.sent()
    if not served:
        targets = snapshot.places() if places is None else places
        return snapshot.controller, tuple(Result(place, TRANSIENT) for place in targets)
    outcome = elect_leaders(snapshot.controller, kind, places, rules)
    results = tuple(Result((row.topic, row.partition), row.error) for row in outcome.response)
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
@click.option("--snapshot", "path", type=click.Path(path_type=Path), required=True, help="The cluster, a JSON file.")
@click.option(
    "--election-type",
    "kind",
    type=click.Choice(list(TYPES), case_sensitive=False),
    required=True,
    help="The first replica; any replica that may lead; or the one that the file designates.",
)
@click.option("--path-to-json-file", "partitions", type=click.Path(path_type=Path), help="The partitions, a JSON file.")
@click.option("--topic", help="The topic of one partition.")
@click.option("--partition", type=click.IntRange(0), help="The index of one partition.")
@click.option("--all-topic-partitions", "every", is_flag=True, help="Every partition.")
@click.option("--output", type=click.Path(path_type=Path), help="The snapshot afterwards; default: in place.")
@click.option("--dry-run", "dry", is_flag=True, help="Write nothing.")
@click.option("--rules", default=RULES, show_default=True, help="Rule set, PRESET[+VARIANT|-VARIANT...].")
def elect_leaders_command(
    path: Path, kind: str, partitions: Path | None, topic: str | None, partition: int | None, every: bool,
    output: Path | None, dry: bool, rules: str,
) -> None:  # fmt: skip
    """Have the controller elect leaders, as kafka-leader-election does, in a snapshot file.

    Exit code 0: every partition asked for has its leader; 1: some have not, named
    on standard error; 2: bad input.

    \b
    Examples:
      kraftcheck elect-leaders --snapshot cluster.json --election-type DESIGNATED --path-to-json-file leaders.json
    """
    number = TYPES[kind.upper()]
    places, leaders = _request(number, partitions, topic, partition, every)
    chosen = unclean_recovery_rules(rules)
    if not dry:
        check_writable(str(output or path))
    snapshot = read_snapshot(path, chosen)
    with refuse_unanswered(path):
        after, results = elect(snapshot, number, places, leaders, chosen)
    if not dry:
        save(snapshot, after, path, output)
    screen, failed = console(), 0
    for result in results:
        leader = _leader(after, result.place)
        failed += report_result(screen, result, f"elected {leader}", result.recovered(chosen.unclean_recovery))
    code = 0 if succeeded(results, chosen.unclean_recovery) else ELECTION_FAILED
    screen.plain(f"{len(results)} partition(s), {failed} failed (exit {code})")
    sys.exit(code)


def _leader(controller: Controller, place: TopicPartition) -> int | None:
    p = controller.image.partition(controller.topic_id(place[0]) or "", place[1])
    return None if p is None else int(p.leader)
