"""Promises that fall with more failures than a scope has, as the page of what the model does not have names them."""

from __future__ import annotations

import re

import pytest

from tests.shared.commands import kraftcheck
from tests.shared.places import DOCS

PAGE = (DOCS / "explanation" / "left-out.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`(explore [^`]+ --failures \d)`[^`]+\(`([a-z-]+)`\)", PAGE)
"""The commands, and the promise of each."""


@pytest.mark.slow
@pytest.mark.parametrize(("command", "promise"), NAMED, ids=[promise for _, promise in NAMED])
def test_a_promise_falls_with_one_failure_more(command: str, promise: str) -> None:
    """Under `fixed` the promise is refuted with the failures that the page names, and holds with one fewer."""
    asked = ("--rules", "fixed", "--property", promise, "--quiet")
    fewer = command.replace("--failures 2", "--failures 1")
    assert len(NAMED) == 1
    assert fewer != command
    assert kraftcheck(*command.split(), *asked, "--stop-at-first").code == 12
    assert kraftcheck(*fewer.split(), *asked).code == 0


@pytest.mark.parametrize(
    "command",
    [
        "explore directories --scope torn --failures 2 --property candidates-complete",
        "explore kraft --scope restarts --failures 2 --property unclean-only-when-allowed",
        "explore kraft --scope restarts --unclean-stops 1 --property unclean-only-when-allowed",
    ],
)
def test_a_promise_holds_with_one_failure_more(command: str) -> None:
    """Under `fixed` the promise holds with a failure, or an unclean stop, more than the scope has."""
    assert kraftcheck(*command.split(), "--rules", "fixed", "--quiet").code == 0
