"""`kraftcheck explore`: exhaustive search of one system."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import click
from attrs import evolve

from kraftcheck.ci.dataset.options import DatasetPlace, cluster_options
from kraftcheck.ci.run.questions import ENGINES, SearchQuestion, reduction_options, run, search, search_budget, searched
from kraftcheck.ci.run.reports import finish, report_options, unwritten
from kraftcheck.ci.run.result import Result, check_out, keep_traces
from kraftcheck.ci.systems import report
from kraftcheck.ci.systems.subject import (
    DEFAULT_RULES,
    Subject,
    expression_options,
    find_option,
    subject,
    system_and_bounds,
)
from kraftcheck.ci.systems.switches import check_switches
from kraftcheck.ci.terminal import options
from kraftcheck.ci.terminal.commands import check_idle
from kraftcheck.ci.terminal.console import Screen, console
from kraftcheck.ci.terminal.files import check_writable
from kraftcheck.ci.terminal.interrupts import time_limit
from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget
from kraftcheck.solvers.program.verdict import Holds
from kraftcheck.solvers.traces.render import lines


@click.command("explore", context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="SYSTEM [--BOUND N]...")
@click.option("--scope", help="Preset bounds; `kraftcheck list SYSTEM` shows them.")
@click.option("--rules", help=f"Rule set, PRESET[+VARIANT|-VARIANT...]; default {DEFAULT_RULES}.")
@click.option("--property", "only", multiple=True, help="Judge only this property (and deadlock); repeatable.")
@expression_options
@find_option
@click.option("--kafka", metavar="VERSION|PATH", help="Explore this build's own controller in place of the rules.")
@click.option("--like", metavar="VERSION", help="--kafka: the release whose jars complete the build.")
@click.option("--engine", type=click.Choice(ENGINES), default="native", help="Which engine.")
@reduction_options
@cluster_options
@options.workers
@options.memory
@click.option("--max-depth", type=click.IntRange(0), help="Stop after this many steps (verdict incomplete).")
@click.option("--max-states", type=click.IntRange(1), help="Stop after this many states (verdict incomplete).")
@click.option("--stop-at-first", is_flag=True, help="Stop at the first violation.")
@options.strict
@options.audit
@click.option("--traces", "number", type=click.IntRange(0), default=3, help="Counterexamples to print (default 3).")
@click.option("--show-goals", is_flag=True, help="Print the shortest way to each goal; --out writes them too.")
@click.option(
    "--out",
    type=DatasetPlace(),
    metavar="DIR",
    help="Write every counterexample there as ITF JSON, and the report; disk, spark: the dataset.",
)
@options.verbose
@click.option("--all", "every", is_flag=True, help="With --invariant, show the system's own properties too.")
@options.document
@report_options
@time_limit
@click.option("--no-cache", is_flag=True, help="Compile anew, keep nothing.")
@options.quiet
def explore_command(words: tuple[str, ...], **flags: Any) -> None:
    """Search every reachable state of SYSTEM (a name from `kraftcheck list`, or module:attribute).

    Each bound of the system is a flag too, such as --brokers 2. With --invariant, its verdict and its trace are shown,
    and the system's own properties are judged and counted. With --kafka, the controller of elections, directories or
    kraft is Kafka's own managers: what they answer is followed and judged, and compared with the rules.

    \b
    Exit codes: 0 all hold, 11 deadlock, 12 a property is refuted, 13 only one that
    asks for recovery or is liveness, 20 incomplete, 21 vacuous, 22 unknown, 24 the
    engine disagrees with the rules, 2 bad input. --find: 0 found, 20, 21 not reachable.

    \b
    Examples:
      kraftcheck explore elections --scope tiny --rules kafka-4.0
      kraftcheck explore elections --rules fixed+fenced-leader-acceptable --property leader-active
      kraftcheck explore mymodule:SYSTEM --json - --quiet
      kraftcheck explore elections --engine disk --out run1
      kraftcheck explore elections --invariant 'size(isr) >= 1' --when recovering
      kraftcheck explore elections --find 'isr == {} and size(elr) == 2'
      kraftcheck explore directories --kafka 4.4.0
    """
    find, out, target, reports = flags["find"], flags["out"], flags["target"], flags["reports"]
    chosen, how = subject_of(words, flags)
    if not flags["expressions"].invariants:
        check_idle("shows what is only counted beside an --invariant", "every")
    if find:
        check_idle("judges properties, and --find judges none", "invariants", "when", "only", "stop_at_first",
                   "show_goals")  # fmt: skip
        chosen = searched(chosen, find)
    check_writable(target)
    reports.check(json=target)
    check_out(out, flags["engine"], target, *reports.paths)
    ways = {name: flags[name] for name in ("engine", "symmetry", "reduce", "cluster")}
    question = SearchQuestion(chosen, budget_of(flags), find=find, out=out, **ways)
    traced = question.traced()
    check_switches(chosen)
    result = question.result(traced, functools.partial(run, quiet=flags["quiet"], search=how), flags["quiet"])
    screen = console(to_stderr=target == "-")
    if find:
        print_located(screen, result)
    else:
        added = bool(flags["expressions"].invariants) and not (flags["every"] or flags["verbose"] or flags["only"])
        result.show(screen, flags["verbose"], flags["number"], flags["show_goals"], added)
    if out is not None:
        with unwritten(lambda: result.exit_code):
            for path in keep_traces(out, result, question.engine, flags["show_goals"] or bool(find)):
                screen.plain(f"wrote {path}")
    finish(screen, result, target, reports)


def subject_of(words: tuple[str, ...], flags: Mapping[str, Any]) -> tuple[Subject, Callable[..., Exploration]]:
    """The explored system, by the rules or by the classes of a build."""
    name, bounds = system_and_bounds(words)
    kafka, like, rules, how = flags["kafka"], flags["like"], flags["rules"], search
    if kafka is None:
        check_idle("completes a build of Kafka; name one with --kafka", "like")
    else:
        check_idle("is of engines that run the rules, not of --kafka", "engine", "sampling")
        # Only a question of classes loads what asks them: it takes longer than a small search.
        from kraftcheck.ci.conformance.kafka.build import Build
        from kraftcheck.ci.conformance.kafka.tour.explore import explore_classes, rules_of

        build = Build.of(kafka, like)
        rules, how = rules_of(build, rules), functools.partial(explore_classes, build)
    chosen = subject(name, flags["scope"], bounds, rules, flags["only"], expressions=flags["expressions"])
    return evolve(chosen, kafka=tuple(filter(None, (kafka, like)))), how


def budget_of(flags: Mapping[str, Any]) -> SearchBudget:
    """The budget that the options of a search ask for; a search for a state ends where it is found."""
    return search_budget(
        flags["workers"], flags["memory"], cache=not flags["no_cache"], max_depth=flags["max_depth"],
        max_states=flags["max_states"], stop_at_first=flags["stop_at_first"] or bool(flags["find"]),
        strict=flags["strict"], sampling=flags["sampling"],
    )  # fmt: skip


def print_located(screen: Screen, result: Result) -> None:
    """Show the way to the state that was looked for, or why there is none, and what the search took."""
    screen.plain(result.subject.title())
    (verdict,) = result.judged
    screen.plain(f"{verdict.claim}: {report.detail(verdict).replace('shown', 'found')}")
    if isinstance(verdict.verdict, Holds) and verdict.verdict.witness is not None:
        screen.plain("\n".join(lines(verdict.verdict.witness)))
        screen.plain(f"     again: {result.subject.again(verdict.claim)}")
    screen.print()
    for line in result.summary:
        screen.plain(line)
