"""One standalone cluster for all tests of faults: its processes take longer to start than a run takes."""

from collections.abc import Iterator

import pytest

from tests.ci.spark.faults.cluster import Standalone, standalone
from tests.ci.spark.faults.driver import QUICK
from tests.shared.places import ROOT

WORKERS = 2


@pytest.fixture(scope="session")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    """The cluster, which ends with the session."""
    with standalone(tmp_path_factory.mktemp("cluster"), WORKERS, {"PYTHONPATH": str(ROOT), **QUICK}) as cluster:
        yield cluster


@pytest.fixture
def cluster(started: Standalone) -> Standalone:
    """The cluster with all its workers, whatever a test before did to them."""
    started.start_workers(*(set(range(WORKERS)) - started.workers.keys()))
    return started
