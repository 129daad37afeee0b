"""The load-bearing table as pages: totals and findings in Markdown, and all of it as HTML with filters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from operator import itemgetter

from kraftcheck.ci.explore.trace import page as page_of
from kraftcheck.ci.mutants.table import COMPUTED, NO_EFFECT, OPEN, WORDS, MutantRow, TablePart, counts, groups_of, place
from kraftcheck.properties.register.mutants import KINDS, LEFT, REDUNDANT, SCOPE, TABLES
from kraftcheck.properties.register.rules import UNCOVERED
from kraftcheck.solvers.mutants.explore import Survived, Undecided
from kraftcheck.solvers.mutants.mutate import GUARD

HEAD = """# The load-bearing table

Which check carries which property: every condition of the rules is dropped, one at a time, and the whole scope is
explored again under the properties of `kraftcheck list`.

This page has the totals, and what they show. The table itself, a row for each mutant, is
[load-bearing.json](load-bearing.json). On the site `load-bearing-table.html` is a page to filter; this command
writes the same page in a second:

```text
kraftcheck explain --from docs/reference/load-bearing.json --html table.html
```

[Operator mutants](operator-mutants.md) change any expression, not only conditions, and have a score.

## Summary

{summary}

One of three things kills a mutant: a property is refuted, a field leaves its domain, or a goal is lost. The columns
after `survives` say what it means that nothing kills a mutant; they are explained below.
`kraftcheck explain SYSTEM --scope SCOPE` makes one part again.

## Findings"""

TAIL = """
## How to read the table

A condition is a conjunct of an action's guard; a branch of a rule (taken
always, then never); or a part of an `all_of` (dropped: taken as true) or of an `any_of` (dropped: taken as false). What
the scope decides by itself, or the rule set, is no condition. One mutation is the same condition in every action.

A row says what breaks first, with the length of the shortest trace. What asks for the whole graph, the `recovers`
properties, is asked of the mutants that break nothing else; the trace then leads to the first state that can never
heal. A goal that is lost: nothing is refuted, but the scope no longer shows something it should, a goal, or a state
that has to recover. Where nothing kills a mutant, the row says what that means:

* `no effect`: no state and no step of the scope differs; there the condition is implied by the others;
* `steps only`: the states are the same, only steps between them differ, so that no invariant can tell;
* `elsewhere`: another system kills it;
* `redundant`: states differ, and other checks, or how the model is built, make up for it;
* `scope`: what it guards against is not within the scope.

Every counterexample was confirmed on ints by evaluating the mutated terms, and for guards by the rules themselves. The
JSON is written by `kraftcheck explain --json docs/reference/load-bearing.json`, and this page from it by
`python -m tests.documentation`; a test compares the JSON with new runs.
"""


def summary(parts: Sequence[tuple[str, Sequence[MutantRow]]]) -> Iterator[str]:
    """A row of numbers for each system, by its title, and their sums."""
    by_outcome = [Counter(counts(rows)) for _, rows in parts]
    by_kind = [Counter(row.judged[0] for row in rows if isinstance(row.outcome, Survived)) for _, rows in parts]
    outcomes = [word for word in WORDS.values() if any(map(itemgetter(word), by_outcome))]
    kinds = [kind for kind in (*COMPUTED, *KINDS, OPEN) if any(map(itemgetter(kind), by_kind))]
    yield f"| system | mutants | {' | '.join([*outcomes, *kinds])} |"
    yield "|---" * (2 + len(outcomes) + len(kinds)) + "|"
    names = []
    for title, _ in parts:
        system, _, scope = title.split(" (")[0].partition(", ")
        names.append(f"`{system}`, {scope}")
    sums = sum(by_outcome, Counter()), sum(by_kind, Counter())
    for name, of_outcome, of_kind in [*zip(names, by_outcome, by_kind, strict=True), ("all", *sums)]:
        cells = [of_outcome.total(), *(of_outcome[word] for word in outcomes), *(of_kind[kind] for kind in kinds)]
        yield f"| {name} | {' | '.join(f'{cell:,}' for cell in cells)} |"


def page(parts: Sequence[TablePart]) -> str:
    """The page."""
    numbers = "\n".join(summary([(part.title, part.rows) for part in parts]))
    return "\n".join([HEAD.format(summary=numbers), *_findings(parts), TAIL, *_left_rules()]) + "\n"


def _findings(parts: Sequence[TablePart]) -> Iterator[str]:
    rows = [row for part in parts for row in part.rows]
    yield from _judged(rows, REDUNDANT, "Checks that others make up for")
    yield from _judged(rows, SCOPE, "Checks of what no scope has")
    yield from _without_effect(rows)
    yield from _never_first(parts)
    if [part.system for part in parts] == [table.system for table in TABLES]:
        yield from _uncovered()
    yield from _undecided(rows)
    for part in parts:
        if part.refuted:
            yield f"\nThe rules of {part.title} break {_codes(part.refuted)} as they are: no evidence there."


def _judged(rows: Iterable[MutantRow], kind: str, title: str) -> Iterator[str]:
    """What people said of survivors of a kind: each reason with the rules and actions that it is about."""
    by_reason: dict[str, Counter[str]] = {}
    for row in rows:
        if isinstance(row.outcome, Survived) and row.judged[0] == kind:
            by_reason.setdefault(row.judged[1], Counter())[_short(row)] += 1
    if by_reason:
        yield f"\n### {title}\n"
        for reason, names in by_reason.items():
            yield f"* {_plain(reason)}: {_counted(names)}"


def _without_effect(rows: Sequence[MutantRow]) -> Iterator[str]:
    """The rules and actions of which no condition changes anything in any system."""
    by_name: dict[str, list[MutantRow]] = {}
    for row in rows:
        by_name.setdefault(_short(row), []).append(row)
    idle = {
        name: len(members)
        for name, members in by_name.items()
        if all(isinstance(row.outcome, Survived) and row.judged[0] == NO_EFFECT for row in members)
    }
    if idle:
        yield "\n### Rules without effect in these scopes\n"
        yield f"No condition of them changes a state or a step in any system: {_counted(Counter(idle))}."


def _never_first(parts: Iterable[TablePart]) -> Iterator[str]:
    """The properties of each system that no mutant of it breaks first."""
    told = []
    for part in parts:
        carried = {name for row in part.rows for name in row.properties()}
        idle = [name for name in part.sentences if name not in carried and name not in part.refuted]
        if idle:
            told.append(f"* `{part.system}`: {_codes(idle)}")
    if told:
        yield "\n### Properties that are never the first to break\n"
        yield "Each mutant breaks another property before them, or none. They guard against two faults at once:\n"
        yield from told


def _uncovered() -> Iterator[str]:
    """The rules that no property checks, by the reason."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in UNCOVERED.items():
        by_reason.setdefault(reason, []).append(name)
    yield "\n### Rules without a property\n"
    yield f"{len(UNCOVERED)} rules are checked by no property. `kraftcheck where` and its id says what each is.\n"
    for reason, names in by_reason.items():
        yield f"* {_plain(reason)}: {_codes(names)}"


def _undecided(rows: Iterable[MutantRow]) -> Iterator[str]:
    cut = [row for row in rows if isinstance(row.outcome, Undecided)]
    if cut:
        yield "\n### Undecided\n"
    for row in cut:
        assert isinstance(row.outcome, Undecided)
        yield f"* `{row.system}`, `{_short(row)}`, `{_clean(row.mutant.part)}` {row.change()}: {row.outcome.cut}"


def _short(row: MutantRow) -> str:
    return row.mutant.group if row.mutant.kind == GUARD else row.mutant.group.rpartition(":")[2]


def _counted(names: Counter[str]) -> str:
    return ", ".join(f"`{name}`" + (f" ({count})" if count > 1 else "") for name, count in names.items())


def _left_rules() -> Iterator[str]:
    yield "## Left as it is\n"
    yield "How the model keeps its data, and what it notes about an event, is no rule of Kafka:\n"
    for name, reason in LEFT.items():
        yield f"* `{name}`: {reason}"


def _codes(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _clean(code: str) -> str:
    return code.replace("|", "\\|").replace("`", "'")


def _plain(text: str) -> str:
    return text.replace("|", "\\|")


COLUMNS = ("system", "rule", "condition", "mutant", "verdict", "properties", "what breaks")

TITLE = "The load-bearing table"


def html(parts: Sequence[TablePart]) -> str:
    """The page: a row for each mutant, by system, then in the order of the rules."""
    rows = [row for part in parts for _, members in groups_of(part.rows) for row in members]
    heads = "".join(f'<th scope="col">{name}</th>' for name in COLUMNS)
    body = f"""<h1>{TITLE}</h1>
<p>Every condition of the rules is dropped, one at a time. A row says which property needs it.</p>
{_systems(parts)}
<form id="filters">
{_filters(rows)}
{_labelled("words", '<input id="words" name="words" type="search" placeholder="press / to type">')}
<button type="reset">all</button>
</form>
<noscript><p>The filters need JavaScript; every row is below.</p></noscript>
<p id="count" role="status">{len(rows):,} mutants</p>
<div class="scroll" tabindex="0" role="region" aria-label="mutants">
<table>
<thead><tr>{heads}</tr></thead>
<tbody>
"""
    end = "\n</tbody>\n</table>\n</div>\n"
    return page_of(TITLE, body + "\n".join(map(_row, rows)) + end, "null", ("page.css", "table.css"), ("table.js",))


def _systems(parts: Iterable[TablePart]) -> str:
    items = "".join(f"<li><code>{escape(part.title)}</code>: {part.distinct:,} states</li>" for part in parts)
    return f"<details><summary>scopes</summary><ul>{items}</ul></details>"


def _filters(rows: Sequence[MutantRow]) -> str:
    verdicts = sorted({verdict(row) for row in rows})
    kinds = [word for word in dict.fromkeys(one.partition(":")[0] for one in verdicts) if word not in verdicts]
    choices = {
        "system": list(dict.fromkeys(row.system for row in rows)),
        "rule": sorted({place(row.mutant) for row in rows}),
        "property": sorted({name for row in rows for name in row.properties()}),
        "verdict": sorted([*kinds, *verdicts]),
    }
    return "\n".join(_select(name, values) for name, values in choices.items())


def _select(name: str, values: Iterable[str]) -> str:
    options = "".join(f"<option>{escape(value)}</option>" for value in values)
    return _labelled(name, f'<select id="{name}" name="{name}"><option value="">any</option>{options}</select>')


def _labelled(name: str, control: str) -> str:
    return f'<div class="filter"><label for="{name}">{name}</label>{control}</div>'


def verdict(row: MutantRow) -> str:
    """The outcome in a word; of a mutant that nothing kills also what that means."""
    return f"{row.word}: {row.judged[0]}" if isinstance(row.outcome, Survived) else row.word


def _row(row: MutantRow) -> str:
    mutant = row.mutant
    condition = mutant.part if mutant.kind == GUARD or mutant.call == mutant.part else f"{mutant.part} in {mutant.call}"
    where = f" (scope {row.scope})" if " " in row.scope and not isinstance(row.outcome, Survived) else ""
    colour = "open" if isinstance(row.outcome, Survived | Undecided) else "killed"
    attributes = {
        "system": row.system, "rule": place(mutant), "verdict": verdict(row), "properties": " ".join(row.properties()),
    }  # fmt: skip
    data = "".join(f' data-{name}="{escape(value)}"' for name, value in attributes.items())
    return f"<tr{data}>{''.join(_cells(row, condition, colour, row.breaks_text() + where))}</tr>"


def _cells(row: MutantRow, condition: str, colour: str, breaks: str) -> Iterator[str]:
    texts = (row.system, place(row.mutant), condition, row.change(), verdict(row), ", ".join(row.properties()), breaks)
    for name, text in zip(COLUMNS, texts, strict=True):
        yield f'<td class="{colour}">{escape(text)}</td>' if name == "verdict" else f"<td>{escape(text)}</td>"
