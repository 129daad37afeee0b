"""`kraftcheck diff`: two rule sets, changed systems, mends of findings, or a build of Kafka, side by side."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
from attrs import frozen

from kraftcheck.ci.explore.beside_kafka import KAFKA, compare_with_kafka
from kraftcheck.ci.explore.diff import DEFAULT, Comparison, compare, sides
from kraftcheck.ci.explore.trace import check_drawable, html
from kraftcheck.ci.run.questions import run, search_budget
from kraftcheck.ci.systems.lookup import find_system
from kraftcheck.ci.systems.subject import system_and_bounds
from kraftcheck.ci.terminal import options
from kraftcheck.ci.terminal.console import console
from kraftcheck.ci.terminal.files import check_apart, check_writable, write, write_json
from kraftcheck.ci.terminal.interrupts import time_limit
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.system import ScopeError, System
from kraftcheck.model.rules.ruleset import without
from kraftcheck.model.rules.vocabulary import KAFKA as USUAL
from kraftcheck.properties.register.findings import BY_ID
from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget


@frozen
class Sides:
    """What is compared, as a user names it.

    Attributes:
        a, b: rule sets, systems, `FINDING` or `kafka:BUILD[@VERSION]`.
        system: that of rule sets; empty: that of the other side, or else `elections`.
        scope, bounds: preset bounds, the first by default; single ones that override it.
    """

    a: str | System
    b: str | System
    system: str
    scope: str | None
    bounds: Mapping[str, int]

    def compared(self, budget: SearchBudget, native: Callable[..., Exploration]) -> Comparison:
        """The comparison; raises as `sides`, `compare` and `compare_with_kafka`."""
        given: list[str | System] = [self.a, self.b]
        typed = [one if isinstance(one, str) else "" for one in given]
        for side in (0, 1):
            if typed[side] in BY_ID:
                given[side] = mended(typed[side], given[1 - side])
        builds = [side for side in (0, 1) if typed[side].startswith(KAFKA)]
        if len(builds) == 2:
            raise Refusal("one side is a build of Kafka; give the rules of a release as the other one")
        if not builds:
            return compare(*sides(given[0], given[1], self.system, self.scope, self.bounds), budget, native)
        rules, managed = given[1 - builds[0]], builds[0]
        both = sides(rules, rules, self.system, self.scope, self.bounds)
        return compare_with_kafka(both[0], typed[managed], managed, budget, native)


def mended(finding: str, other: str | System) -> str:
    """The rule set of the other side with the mend of a finding alone.

    Raises:
        Refusal: where that side is a build or another finding, or its rule set does not have the finding.
    """
    if isinstance(other, str) and (other.startswith(KAFKA) or other in BY_ID):
        raise Refusal(f"{finding} stands for the rules of the other side with its mend; give rules there, not {other}")
    named = find_system(other) if isinstance(other, str) and ":" in other else other
    base = named.base or USUAL if isinstance(named, System) else named
    try:
        made = without(base, BY_ID[finding].switches)
    except ScopeError as error:
        raise Refusal(str(error)) from error
    if made == base:
        raise Refusal(f"{base} does not have {finding}, or no rule of its controller is it")
    return made


@click.command("diff", context_settings={"ignore_unknown_options": True})
@click.argument("a")
@click.argument("b")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[SYSTEM] [--BOUND N]...")
@click.option("--scope", help="Preset bounds; `kraftcheck list SYSTEM` shows them.")
@options.workers
@options.memory
@click.option("--max-depth", type=click.IntRange(0), help="Stop after this many steps (verdict incomplete).")
@click.option("--max-states", type=click.IntRange(1), help="Stop after this many states (verdict incomplete).")
@click.option("--html", "picture", type=click.Path(path_type=Path), metavar="FILE",
              help="Draw the first difference: one page to step through, what the other side does below.")
@options.verbose
@options.document
@time_limit
@options.quiet
def diff_command(
    a: str, b: str, words: tuple[str, ...], target: str | None, picture: Path | None, **flags: Any
) -> None:  # fmt: skip
    """Compare two rule sets, or a system of your own with one: promises that change, and the first other decision.

    A and B are rule sets of SYSTEM (default elections), or changed systems, FILE.py:SYSTEM. One of them may be the id
    of a finding, for the rules of the other side with its mend; or kafka:VERSION|PATH, for the managers of a release or
    of a build. The release of the other side completes a build; kafka:PATH@VERSION names another one.

    \b
    Exit codes: 0 both decide alike in every state that either reaches, 1 they do not, and
    B breaks no promise that A keeps; else of what B breaks: 12, 11 a deadlock, 13 only one
    that asks for recovery or is liveness, 21 only goals; 20 incomplete, 22 unknown, 2 bad input.

    \b
    Examples:
      kraftcheck diff kafka-4.3.1 kafka-4.4.0 elections --scope tiny
      kraftcheck diff fixed fixed+fenced-leader-acceptable
      kraftcheck diff fixed mykip.py:KIP --scope small --html kip.html
      kraftcheck diff kafka-4.4.0 ghost-elr-member
      kraftcheck diff kafka-4.4.0 kafka:metadata/build/libs directories --scope tiny
    """
    named = words and not words[0].startswith("-")
    own = [one for one in (a, b) if ":" in one and not one.startswith(KAFKA)]
    _, bounds = system_and_bounds(words if named else ((own or [DEFAULT])[0], *words))
    check_writable(target)
    check_drawable("--html", picture)
    check_apart(json=target, html=picture)
    asked = Sides(a, b, words[0] if named else "", flags["scope"], bounds)
    budget = search_budget(flags["workers"], flags["memory"], max_depth=flags["max_depth"],
                           max_states=flags["max_states"])  # fmt: skip
    found = asked.compared(budget, functools.partial(run, quiet=flags["quiet"]))
    screen = console(to_stderr=target == "-")
    found.show(screen, flags["verbose"])
    first = found.first
    if picture is not None:
        if first is not None:
            write(picture, html(found.drawn(first)))
        screen.plain("there is no difference to draw" if first is None else f"wrote {picture}")
    if target is not None:
        write_json(target, found.document())
    screen.plain(found.last_line)
    sys.exit(found.exit_code)
