"""`kraftcheck simulate`: seeded random walks of one system."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import click
from attrs import field, frozen

from kraftcheck.ci.explore.command import trace_name
from kraftcheck.ci.explore.starts import start_runs
from kraftcheck.ci.run import walk_report as walkreport
from kraftcheck.ci.run.judged import JudgedRun, judged_by_walks
from kraftcheck.ci.run.reports.files import ReportFiles, report_options
from kraftcheck.ci.systems.expressions import expression_options
from kraftcheck.ci.systems.flags import parse_words
from kraftcheck.ci.systems.lookup import find_system
from kraftcheck.ci.systems.subject import DEFAULT_RULES, Subject, program, subject
from kraftcheck.ci.systems.switches import check_switches
from kraftcheck.ci.terminal import options
from kraftcheck.ci.terminal.cache import cache_folder
from kraftcheck.ci.terminal.console import console
from kraftcheck.ci.terminal.files import check_writable, write, write_json
from kraftcheck.ci.terminal.plots import check_plot, plot_walks
from kraftcheck.ci.terminal.progress import progress_meter, run_interruptibly, stop_flag
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.ci.terminal.result_folders import check_results, results
from kraftcheck.ci.terminal.time_limit import time_limit
from kraftcheck.model.nearest import nearest
from kraftcheck.solvers.expressions.added import Expressions
from kraftcheck.solvers.machine_code.lower import LoweringError
from kraftcheck.solvers.program.arguments import SystemFault
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.traces import itf
from kraftcheck.solvers.traces.path import PackedRun
from kraftcheck.solvers.walks.findings import WalkFinding, confirm_findings, witnesses
from kraftcheck.solvers.walks.suspects import with_suspects
from kraftcheck.solvers.walks.walker import SCHEDULES
from kraftcheck.solvers.walks.walks import Suspect, WalkProgress, Walks, simulate


def weights_of(texts: tuple[str, ...], traced: Program) -> dict[str, int]:
    """Weights from `ACTION=N`.

    Raises:
        Refusal: for anything else, or an action that the system does not have.
    """
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


@frozen
class WalkPlan:
    """The arguments of `kraftcheck.solvers.walks.walks.simulate`."""

    runs: int
    steps: int
    seed: int
    schedule: str = "both"
    weights: Mapping[str, int] = field(factory=dict)
    runs_to_starts: tuple[PackedRun, ...] = ()
    workers: int = 1
    cache: bool = True
    strict: bool = False

    def flags(self, files: Sequence[Path] = ()) -> tuple[str, ...]:
        """The options of the command line that draw the same walks; `files` are the traces at whose ends they start."""
        drawn = (f"--runs={self.runs}", f"--steps={self.steps}", f"--seed={self.seed}", f"--schedule={self.schedule}")
        weights = (f"--weight={name}={weight}" for name, weight in self.weights.items())
        return (*drawn, *weights, *(f"--from={path}" for path in files), *["--strict"] * self.strict)


def walks_of(
    traced: Program, plan: WalkPlan, stop: threading.Event | None = None,
    progress: Callable[[WalkProgress], None] | None = None, on_compile: Callable[[], None] | None = None,
) -> Walks:  # fmt: skip
    """The walks of a plan, as every door asks for them: commands, Python, items of pytest.

    Raises:
        Refusal: when a term of the system is too wide for the engine, or no state is initial.
    """
    try:
        return simulate(
            traced, plan.runs, plan.steps, plan.seed, clock=time.monotonic, threads=plan.workers,
            schedule=plan.schedule, starts=[start.end for start in plan.runs_to_starts], weights=plan.weights,
            cache_dir=cache_folder() if plan.cache else None, progress=progress, stop=stop,
            strict=plan.strict, on_compile=on_compile,
        )  # fmt: skip
    except (LoweringError, SystemFault) as error:
        raise Refusal(f"{traced.system.name}: {error}") from error


def walk(traced: Program, plan: WalkPlan, quiet: bool) -> Walks:
    """Walk with progress on standard error; Ctrl-C and SIGTERM cut it.

    Raises:
        Refusal: as `walks_of` does.
        Interrupted: when it was cut before the walks began.
    """
    begin_event = threading.Event()
    with stop_flag(awaits_report=True) as stop, progress_meter(quiet) as meter:

        def note(point: WalkProgress) -> None:
            begin_event.set()
            if meter is not None:
                meter.write_when_due(
                    f"{point.runs:,} of {plan.runs:,} runs: {point.steps:,} steps, {point.distinct:,} distinct, "
                    f"{point.goals} goals reached"
                )

        compiling = None if meter is None else meter.compiling
        return run_interruptibly(lambda: walks_of(traced, plan, stop, note, compiling), stop, begin_event)


def write_findings(
    out: Path, chosen: Subject, walks: Walks, findings: Sequence[WalkFinding | Suspect]
) -> list[Path]:
    """Write counterexamples, suspected lassos and witnesses as ITF; returns the files."""
    paths = []
    with results("--out", out) as place:
        for finding in findings:
            name = trace_name(finding.trace.claim)
            content = itf.document(finding.trace, walks.program, chosen.name, chosen.rules, shortest=False)
            write(place / name, itf.text(content))
            paths.append(out / name)
    return paths


def _files(
    chosen: Subject, walks: Walks, findings: Sequence[WalkFinding | Suspect], out: Path | None, plot: Path | None
) -> list[Path]:
    """Write what --out and --plot ask for; returns the files."""
    paths = [] if out is None else write_findings(out, chosen, walks, findings)
    if plot is not None:
        plot_walks(plot, chosen.title(), walks)
        paths.append(plot)
    return paths


@click.command(
    "simulate", context_settings={"ignore_unknown_options": True}
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="SYSTEM [--BOUND N]...")
@click.option("--scope", help="Preset bounds; `kraftcheck list SYSTEM` shows them.")
@click.option("--rules", help=f"Rule set, PRESET[+VARIANT|-VARIANT...]; default {DEFAULT_RULES}.")
@click.option("--property", "only", multiple=True, help="Judge only this property (and deadlock); repeatable.")
@expression_options
@click.option("--runs", type=click.IntRange(1), default=1000, show_default=True, help="How many walks.")
@click.option("--steps", type=click.IntRange(1, 1_000_000), default=1000, show_default=True, help="Longest walk.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Decides everything drawn.")
@click.option("--schedule", type=click.Choice(list(SCHEDULES)), default="both", show_default=True,
              help="Draw steps by weight, by changing priorities, or both in turn.")
@click.option("--weight", "weights", multiple=True, metavar="ACTION=N", help="Prefer an action; repeatable.")
@click.option("--from", "files", multiple=True, type=click.Path(path_type=Path), metavar="FILE",
              help="Start in the last state of this trace (ITF JSON); repeatable.")
@options.workers
@options.strict
@click.option("--traces", "number", type=click.IntRange(0), default=3, help="Counterexamples to print (default 3).")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR",
              help="Write every counterexample, suspected lasso and goal's witness there as ITF JSON.")
@click.option("--plot", type=click.Path(path_type=Path), metavar="FILE",
              help="Plot states and goals over steps, as FILE.png or FILE.svg.")
@options.document
@report_options
@time_limit
@click.option("--no-cache", is_flag=True, help="Compile anew, keep nothing.")
@options.quiet
@click.pass_context
def simulate_command(
    context: click.Context, words: tuple[str, ...], scope: str | None, rules: str | None, only: tuple[str, ...],
    expressions: Expressions, runs: int, steps: int, seed: int, schedule: str, weights: tuple[str, ...],
    files: tuple[Path, ...], workers: int, strict: bool, number: int, out: Path | None, plot: Path | None,
    target: str | None, reports: ReportFiles, no_cache: bool, quiet: bool,
) -> None:  # fmt: skip
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
    """
    flags = [flag for parameter in context.command.params for flag in parameter.opts if flag.startswith("--")]
    parsed = parse_words(words, flags)
    bounds = parsed.bounds([bound.name for bound in find_system(parsed.system).bounds], flags)
    chosen = subject(parsed.system, scope, bounds, rules, only, expressions=expressions)
    check_writable(target)
    reports.check(json=target, plot=plot)
    if plot is not None:
        check_plot(plot)
    check_results("--out", out, target, plot, *reports.paths)
    traced = program(chosen)
    check_switches(chosen)
    preferred, starts = weights_of(weights, traced), start_runs(files, chosen, traced)
    plan = WalkPlan(runs, steps, seed, schedule, preferred, starts, workers, not no_cache, strict)
    with reports.of_unfinished(chosen, "simulate"):
        walks = with_suspects(walk(traced, plan, quiet), starts)
    findings = confirm_findings(walks, starts, number)
    screen = console(to_stderr=target == "-")
    for line in walkreport.lines(chosen, walks, findings, steps, schedule, number):
        screen.plain(line)
    for path in _files(chosen, walks, (*findings, *walks.suspects, *witnesses(walks, starts)), out, plot):
        screen.plain(f"wrote {path}")
    code = walkreport.exit_code(walks, findings)
    if target is not None:
        write_json(target, walkreport.document(chosen, walks, findings, steps, schedule, code))
    run = JudgedRun(chosen, "simulate", judged_by_walks(chosen, walks, findings), walks.seconds, plan.flags(files))
    reports.write(screen, [run], code, walkreport.last_line(walks, findings, code))
    screen.plain(walkreport.last_line(walks, findings, code))
    sys.exit(code)
