"""What every test shares: a profile of Hypothesis, and one folder of compiled kernels outside the home directory."""

import gc
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.ci.main import NEW_OBJECTS
from kraftcheck.solvers.machine_code.objectcode import CompileEffort
from tests.browser import chromium
from tests.ci.night import costly
from tests.project import leftovers
from tests.solvers.hypothesis import profiles
from tests.solvers.machine_code.objects import compiled_once

PROFILE = os.environ.get("KRAFTCHECK_PROFILE", "ci")
"""Which profile of `tests.solvers.hypothesis.profiles` counts for tests that name no settings."""

ORDER = os.environ.get("KRAFTCHECK_ORDER", "")
"""In which order tests run: as written, `reverse`, or shuffled by any other text as a seed."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """What becomes of costly tests."""
    costly.options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Choose the profile; an unknown one is a usage error."""
    if PROFILE not in profiles.PROFILES:
        raise pytest.UsageError(f"KRAFTCHECK_PROFILE is {PROFILE!r}, none of {', '.join(profiles.PROFILES)}")
    profiles.choose(PROFILE)
    gc.set_threshold(NEW_OBJECTS, 20, 100)  # as in a command
    leftovers.install(config, Path(__file__).parent.parent)
    chromium.install(config)
    costly.install(config, Path(__file__).parent.parent)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave slow tests, and those of what is shipped, to the profile `nightly` or to who names their marker.

    They take another order, where one is asked for.
    """
    if PROFILE != "nightly":
        later = [marker for marker in ("slow", "shipped") if marker not in config.getoption("markexpr")]
        left = {item: None for item in items if any(map(item.get_closest_marker, later))}
        config.hook.pytest_deselected(items=[*left])
        items[:] = [item for item in items if item not in left]
    if ORDER == "reverse":
        items.reverse()
    elif ORDER:
        random.Random(ORDER).shuffle(items)


def pytest_report_header(config: pytest.Config) -> str:
    """The profile, and the seed that draws the same examples again."""
    seed = config.getoption("--hypothesis-seed", default=None)
    drawn = "derandomised" if profiles.PROFILES[PROFILE].derandomize else f"seed {seed or 'drawn anew'}"
    return f"property-based tests: profile {PROFILE}, {drawn}"


@pytest.fixture(autouse=True, scope="session")
def cache_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One cache folder for all workers of a run, so that a kernel is compiled once: KRAFTCHECK_TEST_CACHE, if named.

    Searches without a cache find the object code of the same module, too.
    """
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("GITHUB_ACTIONS", raising=False)  # commands would print annotations too
        patch.setenv("XDG_CACHE_HOME", os.environ.get("KRAFTCHECK_TEST_CACHE") or str(shared / "cache"))
        # Tasks ship code of the most effort, for spaces beyond one machine; those of tests are small.
        tasks = CompileEffort.MOST if PROFILE == "nightly" else CompileEffort.LEAST
        for module, most in (("machine_code.compile", CompileEffort.MOST), ("blocks.kernel", tasks)):
            patch.setattr(f"kraftcheck.solvers.{module}.object_code", compiled_once(shared / "objects", most))
        yield


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One Spark session for all tests of the group; without Java they fail, they are not skipped.

    It has little execution memory, so that what should spill does.
    """
    from kraftcheck.ci.spark.session import start_session  # tests without Spark do not need it

    place = tmp_path_factory.mktemp("spark")
    conf = {"spark.driver.memory": "512m", "spark.local.dir": str(place), "spark.memory.fraction": "0.05"}
    found = start_session("local[2,4]", 2, conf, place / "spark.log")
    yield found
    found.stop()


class Unstoppable:
    """The shared session, which commands may not stop."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def __getattr__(self, name: str) -> Any:
        """Everything else is the session's."""
        return getattr(self._session, name)

    def stop(self) -> None:
        """Leave it running."""


@pytest.fixture
def shared(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands use the shared session and leave it running."""
    for place in (
        "kraftcheck.ci.spark.explore.start_session",
        "kraftcheck.ci.spark.executor.start_session",
        "kraftcheck.ci.spark.query_engine.start_session",
    ):
        monkeypatch.setattr(place, lambda *_, **__: Unstoppable(session))
