"""Rows of the coverage table by what people call them: `KIP-858 253`, `invariant 34`, `catalogue 51`."""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.ci.systems.shown import shown
from kraftcheck.ci.terminal.console import Screen
from kraftcheck.properties.register.coverage import CHECKED, DOCUMENTS, LEFT_OUT, MODELLED, Statement

KINDS = {MODELLED: "modelled", CHECKED: "modelled and checked", LEFT_OUT: "left out"}


def statements_at(words: str) -> tuple[Statement, ...]:
    """The statements that a document's name and a line or number name; none for other words."""
    return tuple(_named(" ".join(words.lower().split())))


def _named(asked: str) -> Iterator[Statement]:
    for document in DOCUMENTS:
        name, _, rest = asked.rpartition(" ")
        for one in document.statements:
            at_line = name == document.name.lower() and rest.isdigit() and one.stands_at(int(rest))
            if at_line or asked in (one.id.lower(), one.id.lower().removeprefix(f"{document.name} ")):
                yield one


def print_statement(screen: Screen, one: Statement) -> None:
    """A row as lines."""
    screen.plain(f"{one.id}: {KINDS[one.kind]}\n  {one.says}")
    seen = tuple(f"{pair.seen.variant}: {pair.claim} in {pair.length} steps, {pair.place()}" for pair in shown(one))
    listed = (("rule", one.rules), ("property", one.properties), ("variant", seen), ("place", one.places))
    for word, names in listed:
        for name in names:
            screen.plain(f"  {word:<9} {name}")
    if one.reason:
        screen.plain(f"  {'reason':<9} {one.reason}")
    screen.plain("")
