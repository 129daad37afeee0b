"""The parts that both tools share: their rule set, and the output of results."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import click

from kraftcheck.ci.conformance.unclean_recovery.snapshot import Snapshot
from kraftcheck.ci.terminal.console import Screen
from kraftcheck.ci.terminal.files import write_json
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.controller.errors import RequestError, Resignation
from kraftcheck.model.controller.state import Controller
from kraftcheck.model.language.system import ScopeError
from kraftcheck.model.rules.ruleset import RuleSet, parse
from kraftcheck.model.unclean_recovery.tool import NOT_NEEDED, Result

RULES = "fixed+designated-elections"
"""The rule set of both tools unless they are given another."""

ELECTION_FAILED = 1
"""Exit code when some partition has no leader in the end, as Kafka's tools end."""


def unclean_recovery_rules(text: str) -> RuleSet:
    """A rule set with designated elections.

    Raises:
        Refusal: in one line.
    """
    try:
        rules = parse(text)
    except ScopeError as reason:
        raise Refusal(str(reason)) from None
    if not rules.partition.designated_elections:
        raise Refusal(f"--rules {text} has no designated elections; add +designated-elections")
    return rules


@contextlib.contextmanager
def refuse_unanswered(path: Path) -> Iterator[None]:
    """Where the controller gives no answer, the snapshot is at fault: one line says so.

    Raises:
        Refusal: when it refuses the request as a whole, or would resign.
    """
    try:
        yield
    except (RequestError, Resignation) as error:
        raise Refusal(f"{path}: the controller does not answer: {error}; nothing is changed") from None


def save(snapshot: Snapshot, after: Controller, path: Path, output: Path | None) -> None:
    """Write the snapshot after elections: to `output`, else in place, and there only if something changed.

    Raises:
        Refusal: when the place cannot be written.
    """
    if output is not None or after != snapshot.controller:
        write_json(str(output or path), snapshot.after(after))


def report_result(screen: Screen, result: Result, success: str, succeeded: bool) -> bool:
    """Say what came of a partition, on standard error where that is a failure; whether it is."""
    name = f"{result.place[0]}-{result.place[1]}"
    if succeeded:
        screen.plain(f"{name}: {'already online' if result.error == NOT_NEEDED else success}")
    else:
        click.echo(f"{name}: failed: {result.error}", err=True)
    return not succeeded
