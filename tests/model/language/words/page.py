"""The page of the site with every word."""

from collections.abc import Sequence
from typing import Any

from attrs import fields

from tests.model.language.words.declarations import DECLARATIONS, JUDGED, WORDS, Declaration
from tests.model.language.words.examples import EXAMPLES, STATES, Coins, Example, Inputs, Light, Mail, Votes

HEAD = """\
# Every word by example

An example for each word of [the language](language.md), what it gives, and which engines compute it.

The examples read a state `s`, and a test runs each of them in {states} states, of which this is the first:

| field | is |
|---|---|
{fields}

* **Ints**: Python computes the example; the column has what it gives.
* **Machine code**: a search reaches the same value, compiled.
* **SMT**: Z3, given the state, simplifies the formula of the example to the same value.
* **Hypothesis**: a random run on ints takes the step.

`Light` has the names {names}; `Mail` has the members {mail}; `Coins` has {coins}, at most
two of each; `Votes` has the keys {keys}; a `Line` has room for three.
"""

COLUMNS = "| word | example | ints | machine code | SMT | Hypothesis |\n|---|---|---|---|---|---|"

DECLARED = """\
## Declarations

What a system is made of. A test writes each example, and makes what lies beyond a limit where it is refused.

| word | example | means | read by | limit | beyond it |
|---|---|---|---|---|---|
{rows}
"""

LAST = """\
## Any number

These take `ANY` in place of a number, for [proofs of any number](../explanation/proofs.md), which only provers read:
the other commands refuse the bound in one line. A test runs a system that has all five, and one with a defect.

| word | `explore` | `simulate` | `prove` |
|---|---|---|---|
{rows}

## Claims

What is done with a claim of each kind. A test asks every engine of a claim that holds, and of one that does not.

| kind | `explore` | `prove` | `simulate` | Hypothesis |
|---|---|---|---|---|
{claims}

A claim that is not judged is none that holds: `prove` of a system without any other is refused; else it lists it, as
`simulate` does, and a machine of Hypothesis warns of it. Random runs refute, and never prove.
"""


def shown(value: Any) -> str:
    """A value as the page shows it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"({', '.join(map(shown, value))})"
    return str(value)


def row(example: Example) -> str:
    """The row of an example."""
    text = example.text.replace("|", "\\|")
    return f"| `{example.word}` | `{text}` | {_cell(example.value(STATES[0]))} | same | same | runs |"


def _cell(value: Any) -> str:
    return f"`{shown(value)}`"


def _declared(one: Declaration) -> str:
    says = f"refused: `{one.says}`" if one.beyond else ""
    return f"| `{one.word}` | `{one.text}` | {one.means} | {one.read} | {one.limit} | {says} |"


def _named(values: Sequence[Any]) -> str:
    return ", ".join(f"`{shown(value)}`" for value in values)


def page() -> str:
    """The page."""
    state = STATES[0]
    listed = "\n".join(f"| `s.{one.name}` | {_cell(getattr(state, one.name))} |" for one in fields(Inputs))
    head = HEAD.format(states=len(STATES), fields=listed, names=_named([*Light]), mail=_named(Mail.members),
                       coins=_named(Coins.members), keys=_named(Votes.keys))  # fmt: skip
    parts = [head]
    for heading, examples in EXAMPLES.items():
        parts.append(f"## {heading}\n\n{COLUMNS}\n" + "\n".join(map(row, examples)) + "\n")
    rows = "\n".join(f"| `{word}` | a number | a number | a number, or `ANY` |" for word in WORDS)
    claims = "\n".join(f"| `{kind}` | {' | '.join(cells)} |" for kind, cells in JUDGED.items())
    declared = "\n".join(map(_declared, DECLARATIONS))
    return "\n".join([*parts, DECLARED.format(rows=declared), LAST.format(rows=rows, claims=claims)])
