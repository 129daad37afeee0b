"""The page of the site with every rule, and what states and checks it."""

import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

from kraftcheck import model
from kraftcheck.ci.systems.lookup import RuleEntry, entries, names_in
from kraftcheck.properties.register.citations import Reference, references
from kraftcheck.properties.register.defects import BUGS
from tests.ci.mutants.witnesses import read_witnesses
from tests.shared.places import TESTS

_LISTED = (TESTS / "properties" / "register" / "noticed.toml").read_text(encoding="utf-8")
NOTICED: Mapping[str, tuple[str, str]] = {
    rule: (words.split()[0], " ".join(words.split()[1:])) for rule, words in tomllib.loads(_LISTED).items()
}
"""For each rule without a property a variant, and the vector or test that notices it; sources name no tests."""

WITNESSES = Path(model.__path__[0]).resolve().parent / "docs" / "reference" / "witnesses.json"

HEAD = """# Rules

Every rule of the model: one statement about Kafka's behaviour, or about that of a design document, with the function
that states it. A rule is noted on its function, with the decorator of `model/language/words.py`:

    @rule("isr.join.unfenced", source="KAFKA-13916; KIP-841", switches=("fenced-may-join-isr",),
          says="A fenced broker may not be in a proposed ISR.")

The id goes from the general to the particular. The forms of a source are in `properties/register/citations.py`; each
leads to a page. Switches are the variants that change the rule. Without `says`, the sentence is the first one of the
function's docstring. A property names the rules that it checks. `kraftcheck where WORDS` finds rules by words of any of
these, with file and line.

`python -m tests.documentation` writes this page, and a test compares it.

{count} rules, {checked} of them checked by a property; the [others](#rules-without-a-property) have a reason, and a
variant that a vector of Kafka's own tests, or a test of the rules on ints, notices.

A link from a rule to a property is a claim: some variant of the rule refutes the property, in a scope where the rules
without it do not. The variant is a choice, or an operator mutant of the function that states the rule. Each of the
{links} links has such a witness, with the length of its trace: [witnesses.json](witnesses.json), which
`python -m tests.ci.mutants.witnesses` writes. A test explores some of them at each change, and all in the profile
nightly.
"""

TABLE = """
| rule | stated by | source | variants | properties |
|---|---|---|---|---|
"""

REASONS = """
## Rules without a property

| rule | why no property checks it | variant | noticed by |
|---|---|---|---|
"""

DEFECTS = """
## Defects

The rows of `kraftcheck bugs`, with the rules that each breaks. Numbers are those of the [catalogue](bug-catalogue.md).

| source | variant | rules | shown in | breaks |
|---|---|---|---|---|
"""


def page() -> str:
    """The page."""
    found = entries()
    checked = sum(bool(entry.checks) for entry in found)
    text = HEAD.format(count=len(found), checked=checked, links=len(read_witnesses(WITNESSES)))
    for area in sorted({_area(entry) for entry in found}):
        text += f"\n## {area}\n" + TABLE + "".join(_row(entry) for entry in found if _area(entry) == area)
    text += REASONS + "".join(_reason(entry) for entry in found if entry.uncovered)
    return text + DEFECTS + "".join(_defects(found))


def _area(entry: RuleEntry) -> str:
    """The first word of an id, under which the page lists it."""
    return entry.rule.id.split(".")[0]


def _reason(entry: RuleEntry) -> str:
    variant, by = NOTICED[entry.rule.id]
    return f"| {_link(entry)} | {entry.uncovered} | `{variant}` | `{by}` |\n"


def _row(entry: RuleEntry) -> str:
    checks = [f"`{check.system}` `{check.claim.id}`" for check in entry.checks]
    cells = (
        f'<a id="{entry.rule.id}"></a>`{entry.rule.id}`: {entry.rule.says}',
        f"`{_file(entry)}` `{entry.function}`",
        sources(entry.references),
        ", ".join(f"`{name}`" for name in entry.rule.switches),
        ", ".join(dict.fromkeys(checks)),
    )
    return f"| {' | '.join(cells)} |\n"


def _file(entry: RuleEntry) -> str:
    """The file below the project's root, which holds the folder of the model."""
    return str(entry.file.relative_to(Path(model.__path__[0]).resolve().parent))


def sources(listed: Iterable[Reference]) -> str:
    """References as a page beside this one links them."""
    return "; ".join(f"[{one.text}]({_relative(one.target)})" for one in listed)


def _relative(target: str) -> str:
    """A target as it is linked from this page."""
    return target if target.startswith("https:") else os.path.relpath(target, "docs/reference")


def _link(entry: RuleEntry) -> str:
    return f"[`{entry.rule.id}`](#{entry.rule.id})"


def _defects(found: Iterable[RuleEntry]) -> Iterable[str]:
    for bug in BUGS:
        broken = ", ".join(_link(entry) for entry in found if names_in(bug.variant) & set(entry.rule.switches))
        bounds = "".join(f" --{name} {value}" for name, value in bug.bounds.items())
        breaks = ", ".join(f"`{claim}` in {length}" for claim, length in bug.refutes.items())
        yield (
            f"| {sources(references(bug.entry))} | `{bug.variant}` | {broken} | "
            f"`{bug.system}` `--scope {bug.scope}{bounds}` | {breaks} |\n"
        )
