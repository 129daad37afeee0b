"""docs/reference/controller-errors.md: each request, and every error that a case of the tests shows as its answer."""

from tests.model.controller.test_controller_errors import ROWS

HEAD = """# Errors of the controller

The requests of [the controller on ints](controller.md), and every error that each can be answered with.

`tests/model/controller/test_controller_errors.py` has a case for each way to each. UNKNOWN_SERVER_ERROR is an exception
that is no answer: a lookup of what is not there, after which the controller resigns, one record too many, or an
exception of a policy.

| request | errors |
|---|---|
"""


def page() -> str:
    """The text of the page."""
    shown: dict[str, dict[str, None]] = {}
    for row in ROWS:
        shown.setdefault(row.request, {})[row.error] = None
    return HEAD + "".join(f"| {request} | {', '.join(errors)} |\n" for request, errors in shown.items())
