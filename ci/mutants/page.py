"""The load-bearing table as a Markdown page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from attrs import field, frozen

from kraftcheck.ci.mutants.table import COMPUTED, OPEN, SHORT, WORDS, MutantRow, counts, groups_of, heading
from kraftcheck.properties.mutants.judgement import KINDS
from kraftcheck.properties.mutants.tables import LEFT
from kraftcheck.solvers.mutants.explore import MutantExplanation
from kraftcheck.solvers.mutants.mutate import GUARD
from kraftcheck.solvers.mutants.outcome import GoalLost, Killed, LeavesDomain, Survived

PagePart = tuple[str, MutantExplanation, Sequence[MutantRow]]
"""A title, the exploration without a mutant, and the rows."""

HEAD = """# The load-bearing table

Which check carries which property: every condition of the rules is dropped, one at a time, and the whole scope is
explored again under the properties of `kraftcheck list`.

## Summary

{summary}

One of three things kills a mutant: a property is refuted, a field leaves its domain, or a goal is lost. The columns
after `survives` say what it means that nothing kills a mutant; they are explained below. A `missing property` is a
check of Kafka's that no property of this project needs yet. `kraftcheck explain SYSTEM --scope SCOPE` makes one part
again.

## How to read the tables

A condition is a conjunct of an action's guard; a branch of a rule (taken
always, then never); or a part of an `all_of` (dropped: taken as true) or of an `any_of` (dropped: taken as false). What
the scope decides by itself, or the rule set, is no condition. One mutation is the same condition in every action.

The last column says what breaks first, with the length of the shortest trace; traces of at most {short} steps are
given. What asks for the whole graph, the `recovers` properties, is asked of the mutants that break nothing else; the
trace then leads to the first state that can never heal. A goal that is lost: nothing is refuted, but the scope no
longer shows something it should, a goal, or a state that has to recover. Where nothing kills a mutant, the column says
what that means:

* `no effect`: no state and no step of the scope differs; there the condition is implied by the others;
* `steps only`: the states are the same, only steps between them differ, so that no invariant can tell;
* `elsewhere`: another system kills it;
* `redundant`: states differ, and other checks, or how the model is built, make up for it;
* `scope`: what it guards against is not within the scope;
* `missing property`: what it does can be seen, and no property asks for it.

Every counterexample was confirmed on ints by evaluating the mutated terms, and for guards by the rules themselves. The
page is written by `kraftcheck explain --markdown docs/reference/load-bearing.md`; a test compares it with new runs.
"""


@frozen
class Tally:
    """What became of a system's mutants, in numbers.

    Attributes:
        title: system, scope and rules, as the part of the page is headed.
        section: the heading of its first table; empty without one.
        outcomes: outcome to number of mutants.
        survivors: what it means that nothing kills a mutant, to number of mutants.
    """

    title: str
    section: str
    outcomes: Mapping[str, int]
    survivors: Mapping[str, int] = field(factory=dict)


def tally(title: str, rows: Sequence[MutantRow]) -> Tally:
    """The numbers of a part."""
    kinds = Counter((row.judgement or (OPEN, ""))[0] for row in rows if isinstance(row.outcome, Survived))
    section = next((section for section, _ in _sections(rows)), "")
    return Tally(title, section, counts(rows), kinds)


def summary(tallies: Sequence[Tally]) -> Iterator[str]:
    """A row of numbers for each system, with a link to its part, and their sums."""
    outcomes = [word for word in WORDS.values() if any(one.outcomes.get(word) for one in tallies)]
    kinds = [kind for kind in (*COMPUTED, *KINDS, OPEN) if any(one.survivors.get(kind) for one in tallies)]
    yield f"| system | mutants | {' | '.join([*outcomes, *kinds])} |"
    yield "|---" * (2 + len(outcomes) + len(kinds)) + "|"
    for one in tallies:
        system, _, scope = one.title.split(" (")[0].partition(", ")
        name = f"[`{system}`](#{anchor(one.section)})" if one.section else f"`{system}`"
        yield _numbers(f"{name}, {scope}", one.outcomes, one.survivors, outcomes, kinds)
    total = sum((Counter(one.outcomes) for one in tallies), Counter())
    meant = sum((Counter(one.survivors) for one in tallies), Counter())
    yield _numbers("all", total, meant, outcomes, kinds)


def _numbers(
    name: str, told: Mapping[str, int], meant: Mapping[str, int], outcomes: Sequence[str], kinds: Sequence[str]
) -> str:
    cells = [sum(told.values()), *(told.get(word, 0) for word in outcomes), *(meant.get(kind, 0) for kind in kinds)]
    return f"| {name} | {' | '.join(f'{cell:,}' for cell in cells)} |"


def anchor(title: str) -> str:
    """The name by which a heading is linked, on the site as on code hosts.

    >>> anchor("Guards of unclean-recovery, in short")
    'guards-of-unclean-recovery-in-short'
    """
    return re.sub(r"[^\w\s-]", "", title).strip().lower().replace(" ", "-")


def page(parts: Sequence[PagePart]) -> str:
    """The page."""
    told = "\n".join(summary([tally(title, rows) for title, _, rows in parts]))
    head = HEAD.format(short=SHORT, summary=told)
    return "\n".join([head, *(line for part in parts for line in _part(part)), *_left_rules()]) + "\n"


def _part(part: PagePart) -> Iterator[str]:
    title, explanation, rows = part
    yield f"## {title}\n"
    outcome_counts = ", ".join(f"{number} {word}" for word, number in counts(rows).items())
    yield f"{explanation.base.distinct:,} states without a mutant. {len(rows)} mutants: {outcome_counts}.\n"
    if explanation.refuted:
        yield f"The rules as they are break {_codes(explanation.refuted)}: no evidence here.\n"
    for section, some in _sections(rows):
        yield f"### {section}\n"
        for group, members in groups_of(some):
            yield from _group(group, members)
    yield from _survivors(rows)


def _sections(rows: Sequence[MutantRow]) -> Iterator[tuple[str, list[MutantRow]]]:
    """Guards, then rules, where there are any."""
    for rank, name in ((True, "Guards"), (False, "Rules")):
        some = [row for row in rows if (row.mutant.kind == GUARD) == rank]
        if some:
            yield f"{name} of {rows[0].system}", some


def _group(group: str, members: Sequence[MutantRow]) -> Iterator[str]:
    heading_, sentence = heading(group, members)
    yield f"**`{heading_}`**" + (f" {_plain(sentence)}" if sentence else "") + "\n"
    yield "| condition | mutant | what breaks |"
    yield "|---|---|---|"
    for row in members:
        yield f"| {condition(row)} | {row.change()} | {cell(row)} |"
    yield ""


def condition(row: MutantRow) -> str:
    """The condition of a row, within the call that decides by it."""
    if row.mutant.kind == GUARD:
        return _plain(row.mutant.part)
    within = f" in `{_clean(row.mutant.call)}`" if row.mutant.call != row.mutant.part else ""
    return f"`{_clean(row.mutant.part)}`{within}"


def cell(row: MutantRow) -> str:
    """The text of `MutantRow.breaks_text`, with names set as code."""
    text = row.breaks_text()
    match row.outcome:
        case Killed(by, _, _) | LeavesDomain(by, _, _):
            text = text.replace(by[0], f"`{by[0]}`", 1)
        case GoalLost(goals, idle):
            first = (*goals, *idle)[0]
            text = text.replace(first, f"`{first}`", 1)
    where = f" (scope {row.scope})" if not isinstance(row.outcome, Survived) and " " in row.scope else ""
    return _plain(text) + where


def _survivors(rows: Sequence[MutantRow]) -> Iterator[str]:
    """The survivors by the kind of their judgement; judgements by people are given in full."""
    alive = [row for row in rows if isinstance(row.outcome, Survived)]
    if not alive:
        return
    yield f"### What nothing kills in {rows[0].system}\n"
    by_kind: dict[str, dict[str, list[MutantRow]]] = {}
    for row in alive:
        kind, reason = row.judgement or (OPEN, "")
        by_kind.setdefault(kind, {}).setdefault(reason, []).append(row)
    for kind, reasons in sorted(by_kind.items()):
        yield f"* {kind}: {sum(map(len, reasons.values()))}"
        for reason, members in reasons.items():
            if kind not in COMPUTED:
                names = dict.fromkeys(f"`{_clean(row.mutant.group)}`" for row in members)
                yield f"    * {', '.join(names)}, {len(members)}: {_plain(reason)}"
    yield ""


def _left_rules() -> Iterator[str]:
    yield "## Left as it is\n"
    yield "How the model keeps its data, and what it notes about an event, is no rule of Kafka:\n"
    for name, reason in LEFT.items():
        yield f"* `{name}`: {reason}"


def _codes(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _clean(code: str) -> str:
    return code.replace("|", "\\|").replace("`", "'")


def _plain(text: str) -> str:
    return text.replace("|", "\\|")
