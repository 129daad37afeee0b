"""Run a finding's scenario on a live cluster: `python -m kraftcheck.ci.conformance.findings.live NAME --kafka 4.4.0`.

The exit code is 0 where the finding is shown, 12 where it is not, 2 where the
release or a program is missing, and 1 where the cluster fails before anything
can be measured. A run takes one to five minutes.
"""

from __future__ import annotations

import datetime
import signal
import sys
from pathlib import Path

import click

from kraftcheck.ci.conformance.cluster.admin import ClusterError
from kraftcheck.ci.conformance.findings.live.play import play
from kraftcheck.ci.conformance.findings.live.scenarios import SCENARIOS
from kraftcheck.ci.conformance.findings.observed import observation, record, text
from kraftcheck.ci.terminal.refusal import Refusal

IS_SHOWN, IS_NOT_SHOWN, FAILED, REFUSED = 0, 12, 1, 2
"""Exit codes."""


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
