"""Promises that fall with more failures than a scope has."""

import pytest

from tests.shared.commands import kraftcheck


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
