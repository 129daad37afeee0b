"""`kraftcheck explore`: exhaustive search of one system."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import click
from rich.console import Console

from ci import report
from ci.files import folder, write, write_json
from ci.progress import metered, stoppable
from ci.refusal import Refusal
from ci.screen import console
from ci.settings import DEFAULT_RULES, Subject, find_system, parse_bounds, program, subject
from model.system import System
from solvers import itf
from solvers.explorer import Exploration, explore
from solvers.program import Program
from solvers.trace import lines
from solvers.verdict import Refuted, Trace, worst_exit_code

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def memory_size(text: str) -> int:
    """Bytes from `4G`, `512M`, `100K` or a plain number.

    >>> memory_size("2K")
    2048

    Raises:
        Refusal: for anything else.
    """
    number, unit = (text[:-1], text[-1].upper()) if text and text[-1].isalpha() else (text, "")
    if unit not in UNITS or not number.isdigit() or int(number) == 0:
        raise Refusal(f"--memory takes a size such as 512M or 4G, not {text!r}")
    return int(number) * UNITS[unit]


def default_memory() -> int:
    """Half of the machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def cache_folder() -> Path:
    """Where compiled kernels are kept between runs."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "kraftcheck"


def run(
    chosen: Subject, *, workers: int, memory: int, quiet: bool, cache: bool = True, **limits: int | bool | None
) -> Exploration:
    """Explore a subject with progress on standard error; Ctrl-C and SIGTERM cut it."""
    traced: Program = program(chosen)
    with stoppable() as stop, metered(quiet) as meter:
        return explore(
            traced, clock=time.monotonic, threads=workers, memory=memory, progress=meter, stop=stop,
            cache_dir=cache_folder() if cache else None, keep=False, **limits,  # type: ignore[arg-type]
        )  # fmt: skip


def traces(result: Exploration) -> list[Trace]:
    """The counterexamples, shortest first."""
    found = [v.verdict.trace for v in result.verdicts if isinstance(v.verdict, Refuted)]
    return sorted(found, key=lambda trace: (len(trace.steps), trace.claim))


def print_traces(screen: Console, chosen: Subject, result: Exploration, number: int) -> None:
    """Show the shortest counterexamples, each with the command that finds it again."""
    sentences = {claim.id: claim.sentence for claim in chosen.system.properties(chosen.setting)}
    found = traces(result)
    for trace in found[:number]:
        screen.print(f"\n{trace.claim} is refuted: {sentences.get(trace.claim, 'a state has no successor')}")
        screen.print("\n".join(lines(trace)), markup=False, soft_wrap=True)
        only = "" if trace.claim == "deadlock" else f" --property {trace.claim}"
        screen.print(f"     again: {chosen.command()}{only}", soft_wrap=True)
    if len(found) > number:
        rest = ", ".join(trace.claim for trace in found[number:])
        screen.print(f"\nalso refuted (--traces {len(found)} shows all): {rest}", soft_wrap=True)


def write_traces(out: str, chosen: Subject, result: Exploration) -> list[Path]:
    """Write every counterexample as ITF; returns the files."""
    place, written = folder(Path(out)), []
    for trace in traces(result):
        path = place / f"{trace.claim}.itf.json"
        content = itf.document(trace, result.program, chosen.name, chosen.rules, shortest=True)
        write(path, itf.text(content))
        written.append(path)
    return written


@click.command(
    "explore",
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    short_help="Exhaustive search of one system.",
)
@click.argument("system")
@click.option("--scope", help="Preset bounds; `kraftcheck list SYSTEM` shows them.")
@click.option("--rules", help=f"Rule set, PRESET[+VARIANT|-VARIANT...]; default {DEFAULT_RULES}.")
@click.option("--property", "only", multiple=True, help="Judge only this property; repeatable.")
@click.option("--engine", type=click.Choice(["native"]), default="native", help="Which engine.")
@click.option("--workers", type=click.IntRange(1, 256), default=os.cpu_count() or 1, show_default=True, help="Threads.")
@click.option("--memory", help="Most memory for the search, such as 4G; default half of the machine's.")
@click.option("--max-depth", type=click.IntRange(0), help="Stop after this many steps (verdict incomplete).")
@click.option("--max-states", type=click.IntRange(1), help="Stop after this many states (verdict incomplete).")
@click.option("--stop-at-first", is_flag=True, help="Stop at the first violation.")
@click.option("--traces", "shown", type=click.IntRange(0), default=3, help="Counterexamples to print (default 3).")
@click.option("--out", metavar="DIR", help="Write every counterexample there as ITF JSON.")
@click.option("--json", "target", metavar="FILE|-", help="Write the result as a JSON document.")
@click.option("--no-cache", is_flag=True, help="Compile anew, keep nothing.")
@click.option("--quiet", is_flag=True, help="No progress.")
@click.pass_context
def explore_command(context: click.Context, /, system: str, **options: object) -> None:
    """Search every reachable state of SYSTEM (a name from `kraftcheck list`, or module:attribute).

    Each bound of the system is a flag too, such as --brokers 2.

    \b
    Exit codes: 0 all hold, 11 deadlock, 12 a property is refuted, 20 incomplete,
    21 vacuous, 2 bad input.

    \b
    Examples:
      kraftcheck explore elections --scope tiny --rules kafka-4.0
      kraftcheck explore elections --rules fixed+fenced-leader-acceptable --property leader-active
      kraftcheck explore mymodule:SYSTEM --json - --quiet
    """
    found: System = find_system(system)
    bounds = parse_bounds(context.args, [b.name for b in found.bounds])
    chosen = subject(system, options["scope"], bounds, options["rules"], options["only"])  # type: ignore[arg-type]
    target, out = options["target"], options["out"]
    if out is not None:
        folder(Path(str(out)))
    memory = default_memory() if options["memory"] is None else memory_size(str(options["memory"]))
    names = ("max_depth", "max_states", "stop_at_first")
    limits = {name: options[name] for name in names}
    workers, quiet = int(str(options["workers"])), bool(options["quiet"])
    result = run(chosen, workers=workers, memory=memory, quiet=quiet, cache=not options["no_cache"], **limits)  # type: ignore[arg-type]
    screen = console(to_stderr=target == "-")
    _print(screen, chosen, result, int(str(options["shown"])))
    if out is not None:
        for path in write_traces(str(out), chosen, result):
            screen.print(f"wrote {path}", soft_wrap=True)
    if target is not None:
        write_json(str(target), report.document(chosen, result))
    code = worst_exit_code(found.verdict for found in result.verdicts)
    screen.print(_last_line(result, code))
    sys.exit(code)


def _print(screen: Console, chosen: Subject, result: Exploration, shown: int) -> None:
    screen.print(chosen.title(), soft_wrap=True)
    for warning in result.warnings:
        screen.print(f"warning: {warning}")
    screen.print(report.verdict_table(result))
    print_traces(screen, chosen, result, shown)
    screen.print()
    for line in report.summary(result):
        screen.print(line, markup=False, soft_wrap=True)


def _last_line(result: Exploration, code: int) -> str:
    counts: dict[str, int] = {}
    for found in result.verdicts:
        word = report.WORDS[type(found.verdict)]
        counts[word] = counts.get(word, 0) + 1
    return ", ".join(f"{number} {word}" for word, number in counts.items()) + f" (exit {code})"
