"""Profiles of the property-based tests: `dev` while working, `ci` on every change, `nightly` for long runs.

`ci` is derandomised: the same sources draw the same examples, so a change is
never blamed for another's bad luck, and no seed or example database is needed
to see a failure again. `dev` and `nightly` draw anew, print how to see a
failure again, and keep failing examples in `.hypothesis/examples`; a CI keeps
that folder between nightly runs.
"""

from collections.abc import Mapping

from hypothesis import HealthCheck, settings
from hypothesis.database import DirectoryBasedExampleDatabase

DATABASE = ".hypothesis/examples"  # where failing examples are kept, below the working folder

_SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large)
_COMMON = settings(deadline=None, suppress_health_check=_SLOW, print_blob=True)

PROFILES: Mapping[str, settings] = {
    "dev": settings(_COMMON, max_examples=30, stateful_step_count=30),
    "ci": settings(_COMMON, max_examples=60, stateful_step_count=50, derandomize=True, database=None),
    "nightly": settings(_COMMON, max_examples=300, stateful_step_count=100),
}
"""The profiles by name. Deadlines are off: a slow machine is no failure."""

WALKS: Mapping[str, tuple[int, int]] = {"dev": (500, 60), "ci": (2000, 60), "nightly": (100_000, 300)}
"""Runs and longest run of the compiled walks that look for known defects."""


def choose(name: str) -> settings:
    """Make a profile the default of every test without settings of its own.

    Args:
        name: of a profile.
    """
    chosen = PROFILES[name]
    if not chosen.derandomize:
        chosen = settings(chosen, database=DirectoryBasedExampleDatabase(DATABASE))
    settings.register_profile(f"kraftcheck-{name}", chosen)
    settings.load_profile(f"kraftcheck-{name}")
    return chosen
