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
    words = [*command.split(), "--rules", "fixed", "--property", promise, "--quiet"]
    assert len(NAMED) == 2
    assert kraftcheck(*words).code == 12
    assert kraftcheck(*(word if word != "2" else "1" for word in words)).code == 0
