"""`kraftcheck explain`: which condition of the rules carries which property."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import click
from attrs import evolve

from kraftcheck.ci.mutants.operators import ExploreContext, OperatorRequest, explain_operators, explored, print_end
from kraftcheck.ci.mutants.page import html, page
from kraftcheck.ci.mutants.table import (
    MutantRow,
    TablePart,
    combine,
    counts,
    document,
    identity,
    judge_survivors,
    lines,
    read_parts,
    rows,
    sentences_of,
)
from kraftcheck.ci.run.fanout import WHOLE, Cluster, Shard, cluster_of, fan_out_options
from kraftcheck.ci.run.questions import search_budget
from kraftcheck.ci.systems.lookup import find_system
from kraftcheck.ci.systems.subject import Subject, program, refuse_liveness, subject, system_and_bounds
from kraftcheck.ci.systems.switches import check_switches
from kraftcheck.ci.terminal import options
from kraftcheck.ci.terminal.commands import check_idle
from kraftcheck.ci.terminal.console import Screen, console
from kraftcheck.ci.terminal.files import WRITTEN, check_apart, check_writable, write, write_json
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.nearest import nearest
from kraftcheck.properties.register.mutants import LEFT, TABLES, MutantTable
from kraftcheck.solvers.exploration.explore import SearchBudget
from kraftcheck.solvers.mutants.explore import MutantExplanation, Survived, Undecided
from kraftcheck.solvers.mutants.mutate import Mutant, Mutations, mutate

RULES = "fixed"
LIMIT = 5_000_000


def of_subject(chosen: Subject, action: str | None, context: ExploreContext, shard: Shard = WHOLE) -> TablePart:
    """The rows of one subject, of one action if it is named, and of a shard of them."""

    def selected(all_: Mutations, mutant: Mutant) -> bool:
        return action is None or action in all_.actions_of[mutant.number]

    if shard != WHOLE:
        every = mutate(chosen.system, chosen.setting, LEFT)
        numbers = {one.number for one in shard.of_parts([one for one in every.mutants if selected(every, one)])}
        explanation = context.explore(chosen, lambda _, mutant: mutant.number in numbers)
    else:
        explanation = context.explore(chosen, selected)
    return _part(chosen, explanation, rows(chosen, explanation, chosen.setting.scope))


def _part(chosen: Subject, explanation: MutantExplanation, rows_: Sequence[MutantRow]) -> TablePart:
    further = {name: row.sentences[name] for row in rows_ for name in row.properties()}
    sentences, base = {**sentences_of(chosen), **further}, explanation.base
    return TablePart(
        chosen.name, chosen.title(), base.distinct, base.generated, explanation.refuted, sentences, tuple(rows_)
    )


def of_table(table: MutantTable, carried: Collection[tuple[str, ...]], context: ExploreContext) -> TablePart:
    """The rows of one part, open ones tried in further scopes, but for those that an earlier part kills."""
    chosen = subject(table.system, table.scope, table.bounds, RULES)
    explanation = context.explore(chosen, lambda all_, mutant: True)
    rows_ = rows(chosen, explanation, chosen.setting.scope)
    for scope, bounds in table.further:
        further = subject(table.system, scope, bounds, RULES)
        dead = [row for row in rows_ if not isinstance(row.outcome, Survived | Undecided) or identity(row) in carried]
        done = {row.mutant.key for row in dead}
        label = " ".join([scope, *(f"--{name} {value}" for name, value in bounds.items())])
        more = context.explore(further, lambda all_, mutant, done=done: mutant.key not in done)  # type: ignore[misc]
        rows_ = combine(rows_, rows(further, more, label))
    return _part(chosen, explanation, rows_)


def of_page(context: ExploreContext) -> list[TablePart]:
    """Every part of the page."""
    parts: list[TablePart] = []
    carried: set[tuple[str, ...]] = set()
    for table in TABLES:
        parts.append(of_table(table, carried, context))
        carried |= {identity(row) for row in parts[-1].rows if not isinstance(row.outcome, Survived | Undecided)}
    return parts


def with_judgements(parts: Sequence[TablePart]) -> list[TablePart]:
    """The parts with every survivor judged; what one system kills is load-bearing for all."""
    every = iter(judge_survivors([row for part in parts for row in part.rows]))
    return [evolve(part, rows=tuple(next(every) for _ in part.rows)) for part in parts]


@click.command("explain", context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[SYSTEM [--BOUND N]...]")
@click.option("--scope", help="Preset bounds; `kraftcheck list SYSTEM` shows them.")
@click.option("--rules", help=f"Rule set, PRESET[+VARIANT|-VARIANT...]; default {RULES}.")
@click.option("--action", help="Only conditions that this action meets.")
@click.option("--limit", type=click.IntRange(1), default=LIMIT, show_default=True,
              help="Most states for one mutant; past it the mutant is undecided.")  # fmt: skip
@options.workers
@options.memory
@fan_out_options
@options.document
@click.option("--markdown", metavar="FILE", help="Write totals and findings as a Markdown page.")
@click.option("--html", "table", metavar="FILE", help="Write the whole table as one page with filters.")
@click.option("--from", "source", metavar="FILE", help="Explore nothing: take the table that --json wrote there.")
@click.option("--operators", is_flag=True, help="Change any expression of the rules, not only conditions; see below.")
@click.option("--sample", type=click.IntRange(1), metavar="N", help="With --operators: only N of them, drawn.")
@click.option("--seed", type=int, default=0, show_default=True, help="With --sample: draws others.")
@click.option("--results", metavar="FILE", help="With --operators: keep outcomes there, and go on with those it has.")
@options.quiet
def explain_command(words: tuple[str, ...], target: str | None, source: str | None, **flags: Any) -> None:
    """Drop every condition of SYSTEM's rules, one at a time, and tell which property breaks.

    A condition is a conjunct of a guard, a branch of a rule (taken always, or
    never), or a part of all_of or any_of in a rule. Without SYSTEM: every part
    of docs/reference/load-bearing.json. Properties of kind `recovers` are asked of the
    mutants that nothing else kills.

    With --operators every expression of the rules is changed that SYSTEM meets: a
    comparison turned round or off by one, all_of for any_of, a set for its
    neighbour, branches or arguments exchanged, a field, a condition or a call of a
    chain left out. Without SYSTEM: every system of docs/reference/operator-mutants.md.

    \b
    Exit codes: 0 every mutant is decided (survivors are listed), 20 some are not, 2 bad input.

    \b
    Examples:
      kraftcheck explain elections --scope tiny
      kraftcheck explain elections --scope tiny --action fence --json -
      kraftcheck explain --json docs/reference/load-bearing.json
      kraftcheck explain --from docs/reference/load-bearing.json --html table.html
      kraftcheck explain elections --scope tiny --operators --sample 50
      kraftcheck explain --operators --results outcomes.jsonl --json scores.json
    """
    pages, quiet = {"markdown": flags["markdown"], "html": flags["table"]}, flags["quiet"]
    budget, cluster = search_budget(flags["workers"], flags["memory"], max_states=flags["limit"]), cluster_of(flags)
    asked = (flags["scope"], flags["rules"])
    for output in (target, *pages.values()):
        check_writable(output)
    check_apart(json=target, **pages)
    if flags["operators"]:
        check_idle("is of conditions, and --operators changes expressions on this machine", "engine", "shard")
        check_idle("is of conditions, and --operators changes expressions", "action", "markdown", "table", "source")
        results = flags["results"]
        request = OperatorRequest(flags["sample"], flags["seed"], None if results is None else Path(results))
        sys.exit(explain_operators(_subject(words, *asked, None), request, budget, target, quiet))
    check_idle("is of operator mutants; give --operators too", "sample", "seed", "results")
    if source is not None:
        _check_source(words, source, target, **pages)
        parts = read_parts(Path(source))
    else:
        chosen = _subject(words, *asked, flags["action"])
        if chosen is not None:
            refuse_liveness(chosen, "explain asks its mutants for", mend="; so does --operators")
        parts = _explored(chosen, flags["action"], flags["shard"], budget, quiet, cluster)
    code = _print(console(to_stderr=target == "-"), parts, listed=source is None)
    _write(parts, code, target, flags["shard"], **pages)
    sys.exit(code)


def _write(parts: Sequence[TablePart], code: int, target: str | None, shard: Shard, **pages: str | None) -> None:
    for name, writer in (("markdown", page), ("html", html)):
        place = pages[name]
        if place is not None:
            mark = f"<!-- {WRITTEN} -->\n" if name == "markdown" else ""
            write(Path(place), mark + writer(parts))
    if target is not None:
        write_json(target, {**document(parts, code), **shard.told})


def _check_source(words: Sequence[str], source: str, target: str | None, **pages: str | None) -> None:
    """Refuse what an exploration would need, and outputs into the table that is read."""
    if words:
        raise Refusal(f"--from takes every system from {source}; leave out {words[0]}")
    explores = ("scope", "rules", "action", "limit", "workers", "memory", "engine", "master", "conf", "shard")
    check_idle("explores, and --from does not", *explores)
    check_apart(**{"from": source}, json=target, **pages)


def _explored(
    chosen: Subject | None, action: str | None, shard: Shard, budget: SearchBudget, quiet: bool,
    cluster: Cluster | None,
) -> list[TablePart]:  # fmt: skip
    def build_parts(context: ExploreContext) -> list[TablePart]:
        return of_page(context) if chosen is None else [of_subject(chosen, action, context, shard)]

    return with_judgements(explored(budget, quiet, build_parts, cluster))


def _subject(words: Sequence[str], scope: str | None, rules: str | None, action: str | None) -> Subject | None:
    if not words:
        check_idle("needs a SYSTEM; without one the whole page is made", "scope", "rules", "action", "shard")
        return None
    name, bounds = system_and_bounds(words)
    system = find_system(name)
    of_kafka = isinstance(system.rules, tuple) and system.rules  # choices of one's own have another preset
    chosen = subject(name, scope, bounds, RULES if rules is None and of_kafka else rules)
    program(chosen)  # refuses what cannot be traced, in the words of the other commands
    check_switches(chosen)
    actions = [action_.name for action_ in chosen.system.actions(chosen.setting)]
    if action is not None and action not in actions:
        raise Refusal(f"{chosen.name} has no action {action!r} at this setting; {nearest(action, actions)}")
    return chosen


def _print(screen: Screen, parts: Sequence[TablePart], listed: bool) -> int:
    undecided = 0
    for part in parts:
        screen.plain(part.title)
        if part.refuted:
            screen.plain(f"broken by the rules as they are, so no evidence here: {', '.join(part.refuted)}")
        for line in lines(part.rows) if listed else ():
            screen.plain(line)
        outcome_counts = counts(part.rows)
        undecided += outcome_counts.get("undecided", 0)
        counted = [f"{len(part.rows)} mutants", *(f"{n} {word}" for word, n in outcome_counts.items())]
        screen.plain("\n" + ", ".join(counted))
    return print_end(screen, undecided)
