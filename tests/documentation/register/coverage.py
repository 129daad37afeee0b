"""The page of the site with the coverage table."""

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping

from kraftcheck.ci.systems import lookup
from kraftcheck.ci.systems.where import shown
from kraftcheck.model.rules.ruleset import CHOICES, PRESETS
from kraftcheck.properties.register.coverage import CHECKED, DOCUMENTS, LEFT_OUT, MODELLED, Document, Statement
from tests.shared.places import TESTS

_LISTED = TESTS / "properties" / "register" / "stated.toml"
TESTED: Mapping[str, list[str]] = tomllib.loads(_LISTED.read_text(encoding="utf-8"))
"""The tests of statements, by the statement's id; sources name no tests."""

HEAD = """# Coverage

What has become of each statement of the design documents, of each candidate property and of each defect that the
reference pages list.

| class | a statement is |
|---|---|
| a | modelled: a rule states it, or the named place of the sources has it |
| b | modelled, and checked by a property that a named variant refutes |
| c | left out, for the reason that is given |

The number behind a document's name is a line of its text. `kraftcheck where KIP-858 253` prints the statements of one
line, with the rules that state them. A test holds that everything that is named here exists.

Of class b the column "refuted by" has each variant with the scope, its bounds, and the rules where these are not
`fixed`; then each property that it refutes there, with the length of the shortest trace. Property and variant have a
rule in common, one of the row's where the row has any. Tests find them again: a sample at each change, all at night.
Where "the document" stands beside a variant, the variant is what the document says, and the property is what its words
break; the last column counts the statements of which nothing else is known.

What no system has is in [What the model does not have](../explanation/left-out.md).

{totals}
"""


def page() -> str:
    """The text of the page."""
    lines = ["| document | statements | a | b | c | of b the document alone |", "|---|---|---|---|---|---|"]
    for document in DOCUMENTS:
        kinds = Counter(one.kind for one in document.statements)
        counts = " | ".join(str(kinds[kind]) for kind in (MODELLED, CHECKED, LEFT_OUT))
        own = sum(_of_the_document(one) for one in document.statements)
        lines.append(
            f"| [{document.title}](#{_anchor(document.title)}) | {len(document.statements)} | {counts} | {own} |"
        )
    parts = [line for document in DOCUMENTS for line in _part(document)]
    return "\n".join([HEAD.format(totals="\n".join(lines)), *parts])


def figures() -> str:
    """The table, counted."""
    kinds = Counter(one.kind for document in DOCUMENTS for one in document.statements)
    told = f"{kinds.total()} statements: {kinds[MODELLED]} modelled, {kinds[CHECKED]} modelled and checked, "
    told += f"{kinds[LEFT_OUT]} left out for a reason"
    return told


def of_the_document(variant: str) -> bool:
    """Whether a variant is what the documents say: then the property is what their words break."""
    names = {name.replace("-", "_") for name in lookup.names_in(variant)}
    feature = all(CHOICES[name].metadata["group"] == "feature" for name in names)
    return not feature and not variant.startswith("-") and all(PRESETS["kip"].value(name) for name in names)


def _of_the_document(one: Statement) -> bool:
    """Whether every variant that shows a row is what the documents say."""
    pairs = shown(one) if one.kind == CHECKED else ()
    return bool(pairs) and all(of_the_document(pair.seen.variant) for pair in pairs)


def _anchor(name: str) -> str:
    return "".join(letter for letter in name.lower().replace(" ", "-") if letter.isalnum() or letter == "-")


def _part(document: Document) -> Iterator[str]:
    yield f"## {document.title}\n"
    yield "| where | says | class | rules | properties | refuted by | left out, or not said |"
    yield "|---|---|---|---|---|---|---|"
    yield from (_row(document.name, one) for one in document.statements)
    yield ""


def _row(name: str, one: Statement) -> str:
    cells = [
        one.id.removeprefix(f"{name} "), one.says, one.kind,
        _code(*one.rules, *one.places, *TESTED.get(one.id, ())), _code(*one.properties), refuted(one), one.reason,
    ]  # fmt: skip
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def refuted(one: Statement) -> str:
    """The sightings of a row by variant and scope; beside a row of another class, its variants."""
    if one.kind != CHECKED:
        return _code(*one.variants)
    found: dict[tuple[str, str], list[str]] = {}
    for pair in shown(one):
        claim = pair.claim.partition(" ")[2]
        found.setdefault((pair.seen.variant, pair.place()), []).append(f"`{claim}` {pair.length}")
    return "; ".join(
        f"`{variant}`{' (the document)' if of_the_document(variant) else ''} in `{place}`: {', '.join(claims)}"
        for (variant, place), claims in found.items()
    )


def _code(*names: str) -> str:
    return ", ".join(f"`{name}`" for name in names)
