"""Count the scopes of docs/reference/scopes.md: `python -m tests.ci.explore.scopes_page [--system NAME] [--scope NAME]
[--limit STATES] [FILE]`.

Each scope of each system is explored under the mended rules; a scope with more states than the limit is listed as
larger, not left out. With --system or --scope only those rows are counted anew. `python -m tests.documentation` counts
none: it keeps the counts of the page, and writes the rest.
"""

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
from tests.shared.places import ROOT

RULES = "fixed"
LIMIT = 200_000_000
THREADS = 2  # of the machine whose counts the page has
PAGE = Path("docs/reference/scopes.md")
ROW = re.compile(r"^\| `(\S+)` \| `(\S+)` \| ([^|]*) (\|.*\n)", re.MULTILINE)

HEAD = """# Scopes

Each preset of bounds of each system, and how many states it has under the rule set `{rules}`.

The searches had {workers} threads. Times are of one run on a 2-core virtual machine that was not always idle, and of
the forward search alone: `recovers` properties, which need a backward search, are left out.
[Engines](../explanation/engines.md) has rates.
`python -m tests.ci.explore.scopes_page` writes this page; a test compares its counts for the small scopes.

| system | scope | bounds | distinct states | generated | depth | search |
|---|---|---|---|---|---|---|
"""


def counts(result: Exploration) -> str:
    """The cells of a line that a search fills."""
    size = f"{result.distinct:,}" if result.cut is None else f"more than {result.distinct:,}"
    depth = str(result.depth) if result.cut is None else f"more than {result.depth}"
    generated = f"{result.generated:,}" if result.cut is None else "-"
    seconds = f"{result.seconds:.1f} s" if result.cut is None else "for Spark"
    return f"| {size} | {generated} | {depth} | {seconds} |\n"


def explore_scope(name: str, scope: str, budget: SearchBudget, quiet: bool) -> Exploration:
    """A scope, without what asks for a backward search: that changes no size and takes longer than the rest."""
    chosen = subject(name, scope, {}, RULES)
    claims = [claim for claim in chosen.system.properties(chosen.setting) if claim.kind != "recovers"]
    return run(program(evolve(chosen, system=evolve(chosen.system, properties=lambda _: claims))), budget, quiet=quiet)


def counted(page: str) -> dict[tuple[str, ...], str]:
    """The counts of a page, by system, scope and bounds: other bounds are counted anew."""
    return {match.group(1, 2, 3): match[4] for match in ROW.finditer(page)}


def page(known: Mapping[tuple[str, ...], str], count: Callable[[str, str], str], threads: int = THREADS) -> str:
    """The page, with counts that are known, or are made for it."""
    text = HEAD.format(rules=RULES, workers=threads)
    for name, system in SYSTEMS.items():
        for scope, bounds in system.scopes.items():
            told = ", ".join(f"{key} {value}" for key, value in bounds.items())
            text += f"| `{name}` | `{scope}` | {told} {known.get((name, scope, told)) or count(name, scope)}"
    return text


def kept() -> str:
    """The page with the counts that it has."""
    return page(counted((ROOT / PAGE).read_text(encoding="utf-8")), lambda *_: "| not counted | - | - | - |\n")


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
    old = counted(target.read_text(encoding="utf-8")) if (systems or scopes) and target.exists() else {}
    known = {
        row: told for row, told in old.items()
        if (systems and row[0] not in systems) or (scopes and row[1] not in scopes)
    }  # fmt: skip
    budget = search_budget(machine.cores(), memory, max_states=limit)
    write(target, page(known, lambda *row: counts(explore_scope(row[0], row[1], budget, quiet)), budget.threads))
    sys.stdout.write(f"wrote {target}\n")


if __name__ == "__main__":
    scopes_command()
