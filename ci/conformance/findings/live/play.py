"""Run a scenario on a fresh cluster."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from kraftcheck.ci.conformance.cluster.processes import running_cluster
from kraftcheck.ci.conformance.findings.live.scenario import Outcome, Scenario


def play(scenario: Scenario, version: str, home: Path | None = None) -> Outcome:
    """What one run of a scenario showed on a release.

    Args:
        scenario: what is run.
        version: Kafka's release.
        home: where the cluster lives; kept when given.

    Raises:
        Refusal: where jars or programs are missing.
        ClusterError: when the cluster does not come so far as to be measured.
    """
    place = home or Path(tempfile.mkdtemp(prefix="kraftcheck-finding-"))
    try:
        with running_cluster(version, place, scenario.layout) as cluster:
            return scenario.run(cluster)
    finally:
        if home is None:
            shutil.rmtree(place, ignore_errors=True)
