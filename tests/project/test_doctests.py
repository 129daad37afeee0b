"""The examples in docstrings are true."""

import doctest
import importlib

import pytest

from tests.shared.places import ROOT

WITH_EXAMPLES = sorted(
    ".".join(("kraftcheck", *path.relative_to(ROOT).with_suffix("").parts))
    for layer in ("model", "properties", "solvers", "ci")
    for path in (ROOT / layer).rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_examples_run(module: str) -> None:
    """Each `>>>` example of a module gives what is written below it."""
    found = doctest.testmod(importlib.import_module(module))
    assert found.attempted > 0
    assert found.failed == 0


def test_there_are_examples() -> None:
    """The words of rules show themselves by example."""
    assert {
        "kraftcheck.model.language.words",
        "kraftcheck.model.language.brokersets",
        "kraftcheck.model.rules.ruleset",
    } <= set(WITH_EXAMPLES)
