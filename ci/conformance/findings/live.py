"""Run a finding's scenario on a live cluster: `python -m kraftcheck.ci.conformance.findings.live NAME --kafka 4.4.0`.

The exit code is 0 where the finding is shown, 23 where it is not, 2 where the release or a program is missing, and 1
where the cluster fails before anything can be measured. A run takes one to five minutes. What was observed is in a file
that pages are made from, one entry a scenario and release.
"""

from __future__ import annotations

import datetime
import json
import signal
import sys
from pathlib import Path

import click
from attrs import frozen

from kraftcheck.ci.conformance.cluster.processes import ClusterError, fresh_cluster
from kraftcheck.ci.conformance.findings.held_scenarios import BY_RULES
from kraftcheck.ci.conformance.findings.process_scenarios import BY_PROCESSES
from kraftcheck.ci.conformance.findings.scenario import Fact, Outcome, Scenario
from kraftcheck.ci.conformance.findings.scenarios import BY_REQUESTS
from kraftcheck.ci.conformance.findings.search import rows_of, write_rows
from kraftcheck.ci.terminal.refusal import Refusal

SCENARIOS = {**BY_REQUESTS, **BY_PROCESSES, **BY_RULES}  # the scenarios by name
OBSERVED = Path(__file__).parent / "observed.json"  # the file of the repository
SHOWN, NOT_SHOWN = "shown", "not shown"  # the two outcomes of a run that could be measured


@frozen
class Observation:
    """One run: which scenario, on which release and day, its outcome and what was measured."""

    finding: str
    release: str
    date: str
    outcome: str
    facts: dict[str, Fact]


def observation(name: str, version: str, date: str, outcome: Outcome) -> Observation:
    """The entry of a run."""
    return Observation(name, version, date, SHOWN if outcome.shown else NOT_SHOWN, outcome.facts)


def observations(path: Path = OBSERVED) -> tuple[Observation, ...]:
    """Every entry, in the order of the file."""
    return tuple(rows_of(path, Observation))


def record(new: Observation, path: Path = OBSERVED) -> None:
    """Put an entry in the place of an earlier one of its scenario and release."""
    kept = [one for one in observations(path) if (one.finding, one.release) != (new.finding, new.release)]
    write_rows(path, sorted([*kept, new], key=lambda one: (one.finding, one.release)))


def text(one: Observation) -> str:
    """An entry as lines for a terminal."""
    facts = [f"  {name}: {value if isinstance(value, str) else json.dumps(value)}" for name, value in one.facts.items()]
    return "\n".join([f"{one.finding} on Kafka {one.release}: {one.outcome}", *facts])


def play(scenario: Scenario, version: str, home: Path | None = None) -> Outcome:
    """What a run of a scenario shows on a fresh cluster, kept in `home`; raises Refusal, ClusterError before that."""
    with fresh_cluster(version, home, scenario.layout) as cluster:
        return scenario.run(cluster)


IS_SHOWN, IS_NOT_SHOWN, FAILED, REFUSED = 0, 23, 1, 2  # exit codes


@click.command()
@click.argument("name", type=click.Choice([*SCENARIOS]))
@click.option("--kafka", "version", required=True, help="Release that is run.")
@click.option("--home", type=click.Path(path_type=Path), help="Where the cluster lives; kept when given.")
@click.option("--record", "is_recorded", is_flag=True, help="Write the outcome into the repository's file.")
def main(name: str, version: str, home: Path | None, is_recorded: bool) -> None:
    """Run one scenario and print what was measured."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(FAILED))  # the processes of the cluster end with this one
    try:
        outcome = play(SCENARIOS[name], version, home)
    except Refusal as reason:
        click.echo(reason, err=True)
        sys.exit(REFUSED)
    except ClusterError as reason:
        click.echo(f"{name} on Kafka {version} was not measured: {reason}", err=True)
        sys.exit(FAILED)
    entry = observation(name, version, datetime.datetime.now(datetime.UTC).date().isoformat(), outcome)
    click.echo(text(entry))
    if is_recorded:
        record(entry)
    sys.exit(IS_SHOWN if outcome.shown else IS_NOT_SHOWN)


if __name__ == "__main__":
    main()
