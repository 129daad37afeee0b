"""The load-bearing table as a Markdown page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kraftcheck.ci.mutants.table import COMPUTED, OPEN, SHORT, Row, counts, grouped, heading
from kraftcheck.properties.mutants.tables import LEFT
from kraftcheck.solvers.mutants.explore import Explanation
from kraftcheck.solvers.mutants.mutate import GUARD
from kraftcheck.solvers.mutants.outcome import GoalLost, Killed, LeavesDomain, Survived

Part = tuple[str, Explanation, Sequence[Row]]
"""A title, the exploration without a mutant, and the rows."""

HEAD = """# The load-bearing table

Which check carries what: every condition of the rules is dropped, one at a time, and the whole scope is explored again
under the properties of `kraftcheck list`. A condition is a conjunct of an action's guard; a branch of a rule (taken
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


def page(parts: Sequence[Part]) -> str:
    """The page."""
    return "\n".join([HEAD.format(short=SHORT), *(line for part in parts for line in _part(part)), *_left()]) + "\n"


def _part(part: Part) -> Iterator[str]:
    title, found, listed = part
    yield f"## {title}\n"
    told = ", ".join(f"{number} {word}" for word, number in counts(listed).items())
    yield f"{found.base.distinct:,} states without a mutant. {len(listed)} mutants: {told}.\n"
    if found.refuted:
        yield f"The rules as they are break {_codes(found.refuted)}: no evidence here.\n"
    for rank, name in ((True, "Guards"), (False, "Rules")):
        some = [row for row in listed if (row.mutant.how == GUARD) == rank]
        if some:
            yield f"### {name} of {listed[0].system}\n"
        for group, members in grouped(some):
            yield from _group(group, members)
    yield from _survivors(listed)


def _group(group: str, members: Sequence[Row]) -> Iterator[str]:
    heading_, sentence = heading(group, members)
    yield f"**`{heading_}`**" + (f" {_plain(sentence)}" if sentence else "") + "\n"
    yield "| condition | mutant | what breaks |"
    yield "|---|---|---|"
    for row in members:
        yield f"| {condition(row)} | {row.change()} | {cell(row)} |"
    yield ""


def condition(row: Row) -> str:
    """The condition of a row, within the call that decides by it."""
    if row.mutant.how == GUARD:
        return _plain(row.mutant.part)
    within = f" in `{_clean(row.mutant.call)}`" if row.mutant.call != row.mutant.part else ""
    return f"`{_clean(row.mutant.part)}`{within}"


def cell(row: Row) -> str:
    """What `Row.told` says, with names set as code."""
    told = row.told()
    match row.outcome:
        case Killed(by, _, _) | LeavesDomain(by, _, _):
            told = told.replace(by[0], f"`{by[0]}`", 1)
        case GoalLost(goals, idle):
            first = (*goals, *idle)[0]
            told = told.replace(first, f"`{first}`", 1)
    where = f" (scope {row.scope})" if not isinstance(row.outcome, Survived) and " " in row.scope else ""
    return _plain(told) + where


def _survivors(listed: Sequence[Row]) -> Iterator[str]:
    """What nothing kills, by what that means; judgements of people in full."""
    alive = [row for row in listed if isinstance(row.outcome, Survived)]
    if not alive:
        return
    yield f"### What nothing kills in {listed[0].system}\n"
    by_kind: dict[str, dict[str, list[Row]]] = {}
    for row in alive:
        kind, why = row.judgement or (OPEN, "")
        by_kind.setdefault(kind, {}).setdefault(why, []).append(row)
    for kind, reasons in sorted(by_kind.items()):
        yield f"* {kind}: {sum(map(len, reasons.values()))}"
        for why, members in reasons.items():
            if kind not in COMPUTED:
                names = dict.fromkeys(f"`{_clean(row.mutant.group)}`" for row in members)
                yield f"    * {', '.join(names)}, {len(members)}: {_plain(why)}"
    yield ""


def _left() -> Iterator[str]:
    yield "## Left as it is\n"
    yield "How the model keeps its data, and what it notes about an event, is no rule of Kafka:\n"
    for name, why in LEFT.items():
        yield f"* `{name}`: {why}"


def _codes(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _clean(code: str) -> str:
    return code.replace("|", "\\|").replace("`", "'")


def _plain(text: str) -> str:
    return text.replace("|", "\\|")
