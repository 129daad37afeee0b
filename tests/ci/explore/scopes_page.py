"""Regenerate docs/reference/scopes.md: `python -m tests.ci.explore.scopes_page [--system NAME] [--scope NAME]
[--limit STATES] [FILE]`.

Each scope of each system is explored under the mended rules; a scope with
more states than the limit is listed as larger, not left out. With --system or
--scope only those rows are made anew, and the others stay as they are.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import click
from attrs import evolve

from kraftcheck.ci.run.questions import run, search_budget
from kraftcheck.ci.systems.subject import program, subject
from kraftcheck.ci.terminal import machine, options
from kraftcheck.ci.terminal.files import write
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget

RULES = "fixed"
LIMIT = 200_000_000
PAGE = Path("docs/reference/scopes.md")
ROW = re.compile(r"^\| `(\S+)` \| `(\S+)` \|.*$", re.MULTILINE)

HEAD = """# Scopes

Each preset of bounds of each system, and how many states it has under the rule set `{rules}`.

The searches had {workers} threads. Times are of one run on a 2-core virtual machine that was not always idle, and of
the forward search alone: `recovers` properties, which need a backward search, are left out.
[Engines](../explanation/engines.md) has rates.
`python -m tests.ci.explore.scopes_page` writes this page; a test compares its counts for the small scopes.

| system | scope | bounds | distinct states | generated | depth | search |
|---|---|---|---|---|---|---|
"""


def row(system: str, scope: str, bounds: str, result: Exploration) -> str:
    """A line of the table."""
    size = f"{result.distinct:,}" if result.cut is None else f"more than {result.distinct:,}"
    depth = str(result.depth) if result.cut is None else f"more than {result.depth}"
    generated = f"{result.generated:,}" if result.cut is None else "-"
    seconds = f"{result.seconds:.1f} s" if result.cut is None else "for Spark"
    return f"| `{system}` | `{scope}` | {bounds} | {size} | {generated} | {depth} | {seconds} |\n"


def explore_scope(name: str, scope: str, budget: SearchBudget, quiet: bool) -> Exploration:
    """A scope, without what asks for a backward search: that changes no size and takes longer than the rest."""
    chosen = subject(name, scope, {}, RULES)
    claims = [claim for claim in chosen.system.properties(chosen.setting) if claim.kind != "recovers"]
    return run(program(evolve(chosen, system=evolve(chosen.system, properties=lambda _: claims))), budget, quiet=quiet)


def rows_by_scope(page: str) -> dict[tuple[str, str], str]:
    """The rows of a page, by system and scope."""
    return {(match[1], match[2]): match[0] + "\n" for match in ROW.finditer(page)}


def page(
    budget: SearchBudget, selected: Callable[[str, str], bool], kept_rows: Mapping[tuple[str, str], str], quiet: bool
) -> str:
    """The page: selected rows, and rows that it lacks, are explored; the others stay."""
    text = HEAD.format(rules=RULES, workers=budget.threads)
    for name, system in SYSTEMS.items():
        for scope, bounds in system.scopes.items():
            if selected(name, scope) or (name, scope) not in kept_rows:
                bounds_text = ", ".join(f"{key} {value}" for key, value in bounds.items())
                text += row(name, scope, bounds_text, explore_scope(name, scope, budget, quiet))
            else:
                text += kept_rows[name, scope]
    return text


@click.command()
@click.argument("target", type=click.Path(path_type=Path), default=PAGE)
@click.option("--system", "systems", multiple=True, help="Only rows of this system; repeatable.")
@click.option("--scope", "scopes", multiple=True, help="Only scopes of this name; repeatable.")
@click.option("--limit", type=click.IntRange(1), default=LIMIT, show_default=True, help="States at which to stop.")
@options.memory
@options.quiet
def scopes_command(
    target: Path, systems: tuple[str, ...], scopes: tuple[str, ...], limit: int, memory: int, quiet: bool
) -> None:
    """Explore every scope and write the page to TARGET (default docs/reference/scopes.md)."""
    kept_rows = rows_by_scope(target.read_text(encoding="utf-8")) if (systems or scopes) and target.exists() else {}
    budget = search_budget(machine.cores(), memory, max_states=limit)

    def selected(name: str, scope: str) -> bool:
        return (not systems or name in systems) and (not scopes or scope in scopes)

    write(target, page(budget, selected, kept_rows, quiet))
    sys.stdout.write(f"wrote {target}\n")


if __name__ == "__main__":
    scopes_command()
