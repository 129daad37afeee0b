"""Regenerate docs/scopes.md: `python -m ci.scopes [--limit STATES] [FILE]`.

Each scope of each system is explored under the mended rules; a scope with
more states than the limit is listed as larger, not left out.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from ci import options
from ci.explore import Budget, run
from ci.files import write
from ci.settings import program, subject
from properties.catalogue import SYSTEMS
from solvers.explorer import Exploration

RULES = "fixed"
LIMIT = 100_000_000
PAGE = Path("docs/scopes.md")

HEAD = """# Scopes

What each preset of bounds amounts to under the rule set `{rules}`, with {workers} threads. Times are of one run on a
2-core virtual machine. This page is written by `python -m ci.scopes`; a test compares its counts for the small scopes.

| system | scope | bounds | distinct states | generated | depth | search |
|---|---|---|---|---|---|---|
"""


def row(system: str, scope: str, bounds: str, result: Exploration) -> str:
    """A line of the table."""
    size = f"{result.distinct:,}" if result.cut is None else f"more than {result.distinct:,}"
    depth = str(result.depth) if result.cut is None else f"more than {result.depth}"
    generated = f"{result.generated:,}" if result.cut is None else "-"
    took = f"{result.seconds:.1f} s" if result.cut is None else "for Spark"
    return f"| `{system}` | `{scope}` | {bounds} | {size} | {generated} | {depth} | {took} |\n"


def page(budget: Budget, scopes: tuple[str, ...], quiet: bool) -> str:
    """The page, for the scopes named (all for none)."""
    text = HEAD.format(rules=RULES, workers=budget.workers)
    for name, system in SYSTEMS.items():
        for scope, bounds in system.scopes.items():
            if not scopes or scope in scopes:
                result = run(program(subject(name, scope, {}, RULES)), budget, quiet=quiet)
                told = ", ".join(f"{key} {value}" for key, value in bounds.items())
                text += row(name, scope, told, result)
    return text


@click.command()
@click.argument("target", type=click.Path(path_type=Path), default=PAGE)
@click.option("--scope", "scopes", multiple=True, help="Only scopes of this name; repeatable.")
@click.option("--limit", type=click.IntRange(1), default=LIMIT, show_default=True, help="States at which to stop.")
@options.memory
@options.quiet
def scopes_command(target: Path, scopes: tuple[str, ...], limit: int, memory: int, quiet: bool) -> None:
    """Explore every scope and write the page to TARGET (default docs/scopes.md)."""
    write(target, page(Budget(os.cpu_count() or 1, memory, max_states=limit), scopes, quiet))
    sys.stdout.write(f"wrote {target}\n")


if __name__ == "__main__":
    scopes_command()
