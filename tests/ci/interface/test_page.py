"""docs/how-to/python.md shows what happens."""

from __future__ import annotations

import doctest

from tests.shared.places import DOCS


def test_the_examples_of_the_page_run() -> None:
    """Each `>>>` of the page gives what is written below it."""
    flags = doctest.NORMALIZE_WHITESPACE
    ran = doctest.testfile(str(DOCS / "how-to" / "python.md"), module_relative=False, optionflags=flags)
    assert ran.attempted > 10
    assert ran.failed == 0
