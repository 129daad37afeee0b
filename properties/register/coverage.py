"""The coverage table: each document with its statements, and what the project makes of each; from `documents/`."""

from __future__ import annotations

import re
from typing import Any

from attrs import frozen

from kraftcheck.model.register import content, record
from kraftcheck.model.rules.ruleset import variants

MODELLED, CHECKED, LEFT_OUT, UNJUDGED = "a", "b", "c", ""

_LINES = re.compile(r"(?<=[ ,])(\d+)(?:-(\d+))?[a-z]?(?=,|$)")


@frozen
class Statement:
    """One statement of a document."""

    # name of the document and where the statement stands in it, such as `KIP-858 253` for a line; a letter tells
    # statements of one place apart
    id: str
    says: str  # what it says, in other words than the document's
    rules: tuple[str, ...] = ()  # ids of the rules that state it
    properties: tuple[str, ...] = ()  # what checks it, each with its system, such as `directories fenced-until-settled`
    # rule variants with which one of these properties is refuted, spelled as `--rules` has them: `a+b` switches two on,
    # `-a` switches one off
    variants: tuple[str, ...] = ()
    places: tuple[str, ...] = ()  # where else it is modelled, as `file: name` from the project's root
    reason: str = ""  # why it is left out; beside rules or properties, what they do not say of it
    # the scope in which a property has to be refuted, where the statement is about what only that one has
    within: str = ""
    # what the reference pages say of an entry: its heading, how it goes wrong, and the wrong and the right rule, which
    # of an invariant is its formula; what mended it; how it is known, or whether the snapshot keeps it
    title: str = ""
    tells: str = ""
    wrong: str = ""
    right: str = ""
    mend: str = ""
    known: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """a: modelled; b: modelled, and checked by a property that a variant refutes; c: left out for a reason.

        >>> Statement("KIP-858 2", "It says something.", reason="It is about another system.").kind
        'c'
        """
        if self.properties and self.variants:
            return CHECKED
        if self.rules or self.properties or self.places:
            return MODELLED
        return LEFT_OUT if self.reason else UNJUDGED

    def stands_at(self, line: int) -> bool:
        """Whether a line of the document, or a number in its list, is one of the statement's.

        >>> sum(Statement("KIP-858 12-14, 18", "").stands_at(line) for line in range(10, 20))
        4
        """
        spans = ((int(first), int(last or first)) for first, last in _LINES.findall(self.id))
        return any(first <= line <= last for first, last in spans)


@frozen
class Document:
    """A document with its statements."""

    name: str  # what ids of its statements begin with
    title: str  # what it is, as a heading
    statements: tuple[Statement, ...]  # in its order


def _document(file: str) -> Document:
    """The document of a file: its name and title, then a table for each statement, by its place."""
    place = f"documents/{file}.toml"
    tables = content(__package__, place)
    name = str(tables.pop("name", ""))
    head = {"title": tables.pop("title", None)}
    statements = (record(Statement, _told(one), f"{place}: [{at}]", id=f"{name} {at}") for at, one in tables.items())
    return record(Document, head, place, name=name, statements=tuple(statements))


def _told(table: dict[str, Any]) -> dict[str, Any]:
    """A statement about one defect that says nothing itself says what the defect's choice says."""
    named = table.get("variants", [])
    if "says" in table or len(named) != 1 or named[0] not in variants():
        return table
    text = str(variants()[named[0]].metadata["text"])
    return {"says": f"{text[0].upper()}{text[1:]}.", **table}


DOCUMENTS: tuple[Document, ...] = tuple(
    _document(file) for file in (
        "jbod-on-zookeeper", "kip-858", "early-controller", "broker-ids", "unclean-recovery", "invariant", "behaviour",
        "finding", "catalogue", "sibling", "later",
    )
)  # fmt: skip
"""The design documents in the order of their age, then what the reference pages list."""
