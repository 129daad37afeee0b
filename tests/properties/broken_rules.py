"""A pytest plugin that breaks a rule for a whole run: `-p tests.properties.broken_rules`, with the variant in VARIABLE.

A choice changes every rule set that has it right, before any test module is imported.
"""

import os

import pytest

from kraftcheck.model.rules.ruleset import PRESETS
from kraftcheck.solvers.mutants.source import applied, source_mutant

VARIABLE = "KRAFTCHECK_BROKEN"


def pytest_configure(config: pytest.Config) -> None:
    """Put the variant into the rules, until the run ends."""
    variant = os.environ[VARIABLE]
    if ":" in variant:
        around = applied(source_mutant(variant))
        around.__enter__()
        config.add_cleanup(lambda: around.__exit__(None, None, None))
        return
    choice = {variant.removeprefix("-").replace("-", "_"): not variant.startswith("-")}
    for name, rules in PRESETS.items():
        PRESETS[name] = rules.switched(**choice)
