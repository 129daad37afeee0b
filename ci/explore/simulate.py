"""`kraftcheck simulate`: seeded random walks of one system."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import click

from kraftcheck.ci.run.fanout import cluster_of, fan_out_options
from kraftcheck.ci.run.questions import WalkQuestion
from kraftcheck.ci.run.reports import finish, report_options, unwritten
from kraftcheck.ci.run.result import write_traces
from kraftcheck.ci.run.walks import walk, walked_by
from kraftcheck.ci.systems.subject import (
    DEFAULT_RULES,
    Subject,
    expression_options,
    program,
    subject,
    system_and_bounds,
)
from kraftcheck.ci.systems.switches import check_switches
from kraftcheck.ci.terminal import options
from kraftcheck.ci.terminal.console import console
from kraftcheck.ci.terminal.files import check_results, check_writable, read_json, results
from kraftcheck.ci.terminal.interrupts import time_limit
from kraftcheck.ci.terminal.machine import cache_of
from kraftcheck.ci.terminal.plots import check_plot, plot_walks
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.nearest import nearest
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import PackedRun
from kraftcheck.solvers.reference.confirm import EngineDisagreement, run
from kraftcheck.solvers.traces import itf
from kraftcheck.solvers.walks.walker import SCHEDULES, WalkPlan
from kraftcheck.solvers.walks.walks import threaded


def _start_run(path: Path, chosen: Subject, traced: Program) -> PackedRun:
    document = read_json(path)
    try:
        recipe = itf.recipe(document)
        if recipe.system != chosen.name:
            raise Refusal(f"{path}: a trace of {recipe.system}, not of {chosen.name}; name that system")
        initial, instances = itf.instances(recipe, traced)
        first, steps = run(traced, initial, instances)
    except (itf.TraceError, EngineDisagreement) as error:
        raise Refusal(f"{path}: {error}; its bounds and rules are the ones to give") from error
    end = steps[-1].state if steps else first
    return PackedRun(initial, instances, traced.layout.pack(end))


def weights_of(texts: tuple[str, ...], traced: Program) -> dict[str, int]:
    """Weights from `ACTION=N`; raises Refusal for anything else, or an action that the system does not have."""
    actions = list(dict.fromkeys(kind.action.name for kind in traced.kinds))
    weights = dict[str, int]()
    for text in texts:
        name, _, number = text.partition("=")
        if name not in actions:
            raise Refusal(f"--weight {text}: no action {name!r}; {nearest(name, actions)}")
        if not (number.isascii() and number.isdigit() and 0 < int(number) <= 1000):
            raise Refusal(f"--weight {text}: the weight must be 1 to 1000, as in {name}=5")
        if name in weights:
            raise Refusal(f"--weight {text}: {name} has the weight {weights[name]} already; give it once")
        weights[name] = int(number)
    return weights


@click.command("simulate", context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="SYSTEM [--BOUND N]...")
@click.option("--scope", help="Preset bounds; `kraftcheck list SYSTEM` shows them.")
@click.option("--rules", help=f"Rule set, PRESET[+VARIANT|-VARIANT...]; default {DEFAULT_RULES}.")
@click.option("--property", "only", multiple=True, help="Judge only this property (and deadlock); repeatable.")
@expression_options
@click.option("--runs", type=click.IntRange(1), default=1000, show_default=True, help="How many walks.")
@click.option("--steps", type=click.IntRange(1, 1_000_000), default=1000, show_default=True, help="Longest walk.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Decides everything drawn.")
@click.option(
    "--schedule",
    type=click.Choice(list(SCHEDULES)),
    default="both",
    show_default=True,
    help="Draw steps by weight, by changing priorities, or both in turn.",
)
@click.option("--weight", "weights", multiple=True, metavar="ACTION=N", help="Prefer an action; repeatable.")
@options.path("--from", "FILE", "Start in the last state of this trace (ITF JSON); repeatable.", "files", multiple=True)
@options.workers
@fan_out_options
@options.strict
@click.option("--traces", "number", type=click.IntRange(0), default=3, help="Counterexamples to print (default 3).")
@options.path("--out", "DIR", "Write every counterexample, suspected lasso and goal's witness there as ITF JSON.")
@options.path("--plot", "FILE", "Plot states and goals over steps, as FILE.png or FILE.svg.")
@options.document
@report_options
@time_limit
@click.option("--no-cache", is_flag=True, help="Compile anew, keep nothing.")
@options.quiet
def simulate_command(words: tuple[str, ...], **flags: Any) -> None:
    """Walk through SYSTEM at random, and judge every transition of every state on the way.

    The same seed finds the same, whatever the number of workers. What breaks a
    property is shortened and confirmed on the rules. Walks that find nothing prove
    nothing: their exit code is 0, and they say so.

    \b
    Exit codes: 0 nothing found, 11 deadlock, 12 a property is refuted, 20 stopped
    before the end or left a domain, 21 a goal was never reached, 2 bad input.

    \b
    Examples:
      kraftcheck simulate replication --scope large --runs 10000
      kraftcheck simulate elections --rules kafka-4.0 --seed 7 --plot curve.svg
      kraftcheck simulate replication --runs 100000 --shard 2/8
    """
    name, bounds = system_and_bounds(words)
    out, plot, target, reports = flags["out"], flags["plot"], flags["target"], flags["reports"]
    cluster, shard = cluster_of(flags), flags["shard"]
    shard.check(flags["runs"])
    chosen = subject(name, flags["scope"], bounds, flags["rules"], flags["only"], expressions=flags["expressions"])
    check_writable(target)
    reports.check(json=target, plot=plot)
    if plot is not None:
        check_plot(plot)
    check_results("--out", out, target, plot, *reports.paths)
    traced = program(chosen)
    check_switches(chosen)
    drawn = (flags["runs"], flags["steps"], flags["seed"], flags["schedule"], weights_of(flags["weights"], traced))
    starts = tuple(_start_run(path, chosen, traced) for path in flags["files"])
    made = (flags["workers"], cache_of(not flags["no_cache"]), flags["strict"])
    plan = WalkPlan(*drawn, starts, *made, shard.number, shard.of)
    chunks = threaded if cluster is None else walked_by(cluster, chosen, flags["quiet"])
    question = WalkQuestion(chosen, plan, flags["files"], flags["number"])
    result = question.result(traced, functools.partial(walk, quiet=flags["quiet"], chunks=chunks))
    screen, walked = console(to_stderr=target == "-"), result.walked
    assert walked is not None
    for line in (chosen.title(), *result.summary, *walked.examples(flags["number"])):
        screen.plain(line)
    if out is not None:
        with unwritten(lambda: result.exit_code):
            with results("--out", out) as place:
                names = write_traces(place, chosen, traced, walked.traces(), result.shortest)
            for name in names:
                screen.plain(f"wrote {out / name}")
    if plot is not None:
        plot_walks(plot, chosen.title(), walked.walks)
        screen.plain(f"wrote {plot}")
    finish(screen, result, target, reports)
