"""`kraftcheck step`: one system, step by step, in the terminal or by a script."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from kraftcheck.ci.explore.step.commands import Stepper, arrival, loaded
from kraftcheck.ci.explore.trace import load
from kraftcheck.ci.run.questions import search_budget
from kraftcheck.ci.systems.subject import DEFAULT_RULES, expression_options, program, subject, system_and_bounds
from kraftcheck.ci.terminal import options
from kraftcheck.ci.terminal.commands import check_idle
from kraftcheck.ci.terminal.console import Screen, console, typed_lines
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.expressions.expression import Expressions
from kraftcheck.solvers.stepping.session import Session

PROMPT = "> "

MOST_STATES = 1_000_000
"""States that `goto` explores unless another number is given."""


@click.command("step", context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="SYSTEM [--BOUND N]...")
@click.option("--scope", help="Preset bounds; `kraftcheck list SYSTEM` shows them.")
@click.option("--rules", help=f"Rule set, PRESET[+VARIANT|-VARIANT...]; default {DEFAULT_RULES}.")
@click.option("--property", "only", multiple=True, help="Judge only this property; repeatable.")
@expression_options
@click.option(
    "--from",
    "file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Begin at the end of this trace (ITF JSON), with its bounds and rules.",
)
@click.option(
    "--max-states",
    type=click.IntRange(1),
    default=MOST_STATES,
    show_default=True,
    help="States that `goto` explores before it says that it does not know.",
)
@options.workers
@options.memory
@click.pass_context
def step_command(
    context: click.Context, words: tuple[str, ...], scope: str | None, rules: str | None, only: tuple[str, ...],
    expressions: Expressions, file: Path | None, max_states: int, workers: int, memory: int,
) -> None:  # fmt: skip
    """Walk through SYSTEM step by step: what can happen, why the rest cannot, what each step does to the properties.

    Each bound of the system is a flag too, such as --brokers 2. `help` lists the commands. They are read from standard
    input, one a line; what a pipe or a file gives is a script, which ends at the first command that is refused.

    \b
    Exit codes: 0 at the end of the input, 2 bad input, and in a script a command that is refused.

    \b
    Examples:
      kraftcheck step elections --scope tiny --rules fixed
      kraftcheck step elections --from out/leader-active.itf.json
      printf 'goto isr == {}\\nsave run.itf.json\\n' | kraftcheck step elections --scope tiny
    """
    name, bounds = system_and_bounds(words)
    if file is None:
        chosen = subject(name, scope, bounds, rules, only, expressions=expressions)
    else:
        check_idle("comes from the file of --from", "scope", "rules", "only", "invariants", "when")
        if bounds:
            raise Refusal(f"--{next(iter(bounds))} comes from the file of --from; leave it out")
        chosen, _ = load(file, name)
    stepper = Stepper(chosen, search_budget(workers, memory, max_states=max_states, stop_at_first=True))
    session = Session.begin(program(chosen))
    session = session if file is None else loaded(stepper, session, file)
    screen = console()
    screen.plain(chosen.title())
    screen.plain("\n".join(arrival(session).lines))
    walk(stepper, session, screen, interactive=sys.stdin.isatty())


def walk(stepper: Stepper, session: Session, screen: Screen, interactive: bool) -> None:
    """Answer each line of standard input until it ends, or says `quit`.

    Raises:
        Refusal: in a script, for a command that is refused; in a terminal it is shown, and the session goes on.
    """
    for line in typed_lines(PROMPT) if interactive else sys.stdin:
        if not line.strip() or line.startswith("#"):
            continue
        if not interactive:
            screen.plain(f"{PROMPT}{line.strip()}")
        try:
            answer = stepper.answer(session, line)
        except Refusal as error:
            if not interactive:
                raise
            screen.plain(error.message)
            continue
        if answer.ends:
            return
        session = answer.session
        screen.plain("\n".join(answer.lines))
    if interactive:
        screen.plain("")  # the cursor is behind the prompt
