"""The commands of `kraftcheck step`: each takes a session and the rest of a line, and answers with a session."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import click
from attrs import evolve, frozen

from kraftcheck.ci.explore.trace import load
from kraftcheck.ci.run.questions import run, search_budget, searched
from kraftcheck.ci.systems.subject import (
    DEFAULT_RULES,
    Subject,
    expression_options,
    program,
    subject,
    system_and_bounds,
)
from kraftcheck.ci.terminal import options
from kraftcheck.ci.terminal.commands import check_idle
from kraftcheck.ci.terminal.console import Screen, console, typed_lines
from kraftcheck.ci.terminal.files import write
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.nearest import nearest
from kraftcheck.solvers.exploration.explore import SearchBudget
from kraftcheck.solvers.program.verdict import RUN, Incomplete, Refuted, Trace, TraceStep
from kraftcheck.solvers.stepping.session import EnabledInstance, PropertyStatus, Session, StepRefused
from kraftcheck.solvers.traces import itf
from kraftcheck.solvers.traces.render import lines

SHOWN_STATES = 20  # initial states that are listed


def steps_after(session: Session, number: int) -> list[str]:
    """The steps after the one of a number, each with what it changed; from -1 on, with the initial state."""
    trace = evolve(session.trace(), failing=(), kind=RUN, claim=RUN)
    text = lines(trace)
    return text[next(place for place, line in enumerate(text) if line.startswith(f"{number + 1:3d}  ")) :]


def state(session: Session) -> list[str]:
    """Every field of the present state."""
    return lines(Trace(session.state, (), RUN, RUN))[1:]


def enabled(session: Session) -> list[str]:
    """The enabled instances with their numbers; those that no field has room for say so."""
    text = [
        f"{choice.instance:5d}  {choice}"
        + (f"   beyond the scope: {session.beyond[choice.instance]}" if choice.instance in session.beyond else "")
        for choice in session.enabled
    ]
    return text or ["no action is enabled: " + ("a deadlock" if session.deadlock else "the state is quiescent")]


def disabled(choices: Sequence[EnabledInstance]) -> Iterator[str]:
    """The disabled instances with the conjuncts that fail; those of an action that fail alike in one line."""
    for (action, failing), members in groupby(choices, key=lambda choice: (choice.action, choice.failing)):
        alike = list(members)
        what = str(alike[0]) if len(alike) == 1 else action
        yield f"{_ranges([choice.instance for choice in alike]):>5}  {what}: false: {', '.join(failing)}"


def _ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers with runs written as ranges.

    >>> _ranges([1, 2, 3, 5])
    '1-3, 5'
    """
    by_run = groupby(enumerate(numbers), key=lambda placed: placed[1] - placed[0])
    runs = [[number for _, number in run] for _, run in by_run]
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


def properties(statuses: Sequence[PropertyStatus], every: bool = False) -> list[str]:
    """The properties that fail or are open, and how many say what; or each of them."""
    shown = [status for status in statuses if every or status.finding in ("fails", "open")]
    text = [
        f"  {status.finding}: {status.claim.id}"
        + (f" ({', '.join(status.failing)})" if status.failing not in ((), (status.claim.id,)) else "")
        for status in shown
    ]
    counts: dict[str, int] = {}
    for status in statuses:
        counts[status.finding] = counts.get(status.finding, 0) + 1
    return [*text, "properties: " + ", ".join(f"{number} {finding}" for finding, number in counts.items())]


def initial_states(session: Session) -> Iterator[str]:
    """How many initial states there are, and which one the run began in."""
    number_of_states = len(session.program.initial)
    plural = "" if number_of_states == 1 else "s"
    yield f"{number_of_states} initial state{plural}; the run began in {session.start}"
    first = session.at(0)
    for number in range(min(number_of_states, SHOWN_STATES)):
        other = Session.begin(session.program, number)
        yield f"{number:5d}  " + ("; ".join(_differences(first, other)) or "this one")


def _differences(first: Session, other: Session) -> Iterator[str]:
    ours, theirs = (lines(session.trace())[1:] for session in (first, other))
    yield from (line.strip() for line in theirs if line not in ours and " = " in line)


@frozen
class Arrival:
    """The result of a search from the present state."""

    session: Session  # the session there; the one given where there is no way, or none was found
    text: str  # what came of it


def go_to(session: Session, chosen: Subject, text: str, budget: SearchBudget) -> Arrival:
    """The session after the shortest way to a state of an expression; raises Refusal where that does not fit."""
    here = evolve(chosen, system=evolve(chosen.system, initial=[session.state]))
    result = run(program(searched(here, text)), budget, quiet=True)
    (claim,) = result.program.always
    match result.verdict(claim.id).verdict:
        case Refuted(trace):
            return Arrival(_along(session, trace.steps), f"found in {len(trace.steps)} steps: {claim.id}")
        case Incomplete(cut):
            return Arrival(session, f"unknown: {cut}")
    return Arrival(session, f"not reachable from here: none of {result.distinct:,} states satisfies {claim.id}")


def _along(session: Session, steps: Sequence[TraceStep]) -> Session:
    for step in steps:
        instance = next(
            choice.instance
            for choice in session.enabled
            if choice.action == step.action and dict(choice.arguments) == dict(step.arguments)
        )
        session = session.take(instance)
    return session


@frozen
class StepAnswer:
    """The effect of a command: the session after it, its text, and whether it ends the walk."""

    session: Session
    lines: tuple[str, ...]
    ends: bool = False


@frozen
class Stepper:
    """What the commands need besides the session."""

    chosen: Subject  # the system at its setting
    budget: SearchBudget  # how far `goto` searches

    def answer(self, session: Session, line: str) -> StepAnswer:
        """The answer to a line; raises Refusal for what is no command, or cannot be done."""
        word, _, rest = line.strip().partition(" ")
        if word.isascii() and word.isdigit():
            word, rest = "take", f"{word} {rest}"
        if word not in COMMANDS:
            raise Refusal(f"no command {word!r}; {nearest(word, COMMANDS, 'help')}")
        try:
            return COMMANDS[word].run(self, session, rest.strip())
        except StepRefused as error:
            raise Refusal(f"{word}: {error}") from error


@frozen
class Command:
    """A command."""

    # takes, says: for `help`: its arguments, and what it does
    takes: str
    says: str
    run: Callable[[Stepper, Session, str], StepAnswer]  # does it


def _said(session: Session, said: Iterable[str]) -> StepAnswer:
    return StepAnswer(session, tuple(said))


def arrival(session: Session) -> StepAnswer:
    """A session with its last step, its properties and what can happen next."""
    last = steps_after(session, len(session.steps) - 1)
    return _said(session, [*last, *properties(session.properties), *enabled(session)])


def loaded(stepper: Stepper, session: Session, path: Path) -> Session:
    """The session of a trace file; raises Refusal where it is malformed, or the rules here do not follow it."""
    other, recipe = load(path, stepper.chosen.name)
    if other.title() != stepper.chosen.title():
        raise Refusal(
            f"{path}: a trace of {other.title()}, and this is {stepper.chosen.title()}; begin with the former"
        )
    try:
        return Session.of_recipe(session.program, recipe)
    except (StepRefused, itf.TraceError) as error:
        raise Refusal(f"{path}: {error}") from error


def _number(word: str, rest: str, default: int | None = None) -> int:
    if not rest and default is not None:
        return default
    if not (rest.isascii() and rest.isdigit() and len(rest) < 10):
        raise Refusal(f"{word} takes a number, not {rest!r}")
    return int(rest)


def _path(word: str, rest: str) -> Path:
    if not rest:
        raise Refusal(f"{word} takes the name of a file")
    return Path(rest)


def _initial(stepper: Stepper, session: Session, rest: str) -> StepAnswer:
    if not rest:
        return _said(session, initial_states(session))
    return arrival(Session.begin(session.program, _number("initial", rest)))


def _disabled(stepper: Stepper, session: Session, rest: str) -> StepAnswer:
    chosen = [choice for choice in session.disabled if rest in str(choice)]
    return _said(session, disabled(chosen) if chosen else ["no action is disabled"])


def _why(stepper: Stepper, session: Session, rest: str) -> StepAnswer:
    number = _number("why", rest)
    if number >= len(session.choices):
        raise Refusal(f"why: there is no action instance {number}; numbers are 0..{len(session.choices) - 1}")
    choice = session.choices[number]
    return _said(session, [f"{number:5d}  {choice}: enabled"] if choice.enabled else disabled([choice]))


def _goto(stepper: Stepper, session: Session, rest: str) -> StepAnswer:
    if not rest:
        raise Refusal("goto takes an expression, such as: goto isr == {}")
    found = go_to(session, stepper.chosen, rest, stepper.budget)
    if found.session is session:
        return _said(session, [found.text])
    way = steps_after(found.session, len(session.steps))
    here = found.session.properties
    return _said(found.session, [found.text, *way, *properties(here), *enabled(found.session)])


def _save(stepper: Stepper, session: Session, rest: str) -> StepAnswer:
    path = _path("save", rest)
    write(path, itf.text(session.document(stepper.chosen.name, stepper.chosen.rules)))
    return _said(session, [f"wrote {path}"])


COMMANDS: dict[str, Command] = {
    "take": Command("N", "take the step of this number; the number alone does so too",
        lambda of, at, rest: arrival(at.take(_number("take", rest)))),
    "enabled": Command("", "the steps that can be taken",
        lambda of, at, rest: _said(at, enabled(at))),
    "disabled": Command("[TEXT]", "the others, and the conjuncts that fail; with TEXT some of them", _disabled),
    "why": Command("N", "which conjuncts disable the step of this number", _why),
    "undo": Command("[N]", "take back the last step, or N steps",
        lambda of, at, rest: arrival(at.undo(_number("undo", rest, 1)))),
    "back": Command("STEP", "go back to the state after a step; 0 is the initial state",
        lambda of, at, rest: arrival(at.at(_number("back", rest)))),
    "initial": Command("[N]", "the initial states; begin in the one of this number", _initial),
    "state": Command("", "every field of the state",
        lambda of, at, rest: _said(at, state(at))),
    "path": Command("", "all steps since the initial state",
        lambda of, at, rest: _said(at, lines(at.trace()))),
    "properties": Command("", "every property at this step",
        lambda of, at, rest: _said(at, properties(at.properties, every=True))),
    "goto": Command("EXPR", "the shortest way to a state that satisfies an expression", _goto),
    "save": Command("FILE", "write the run as ITF JSON, which `kraftcheck trace` shows", _save),
    "load": Command("FILE", "go on from the end of a trace of this system",
        lambda of, at, rest: arrival(loaded(of, at, _path("load", rest)))),
    "help": Command("", "this list",
        lambda of, at, rest: _said(at, (f"{f'{name} {one.takes}':16} {one.says}" for name, one in COMMANDS.items()))),
    "quit": Command("", "end; so does the end of the input",
        lambda of, at, rest: StepAnswer(at, (), ends=True)),
}  # fmt: skip
"""Every command by its name."""


PROMPT = "> "

MOST_STATES = 1_000_000  # states that `goto` explores unless another number is given


@click.command("step", context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="SYSTEM [--BOUND N]...")
@click.option("--scope", help="Preset bounds; `kraftcheck list SYSTEM` shows them.")
@click.option("--rules", help=f"Rule set, PRESET[+VARIANT|-VARIANT...]; default {DEFAULT_RULES}.")
@click.option("--property", "only", multiple=True, help="Judge only this property; repeatable.")
@expression_options
@options.path("--from", "FILE", "Begin at the end of this trace (ITF JSON), with its bounds and rules.", "file")
@click.option(
    "--max-states",
    type=click.IntRange(1),
    default=MOST_STATES,
    show_default=True,
    help="States that `goto` explores before it says that it does not know.",
)
@options.workers
@options.memory
def step_command(words: tuple[str, ...], file: Path | None, **flags: Any) -> None:
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
        chosen = subject(name, flags["scope"], bounds, flags["rules"], flags["only"], expressions=flags["expressions"])
    else:
        check_idle("comes from the file of --from", "scope", "rules", "only", "invariants", "when")
        if bounds:
            raise Refusal(f"--{next(iter(bounds))} comes from the file of --from; leave it out")
        chosen, _ = load(file, name)
    budget = search_budget(flags["workers"], flags["memory"], max_states=flags["max_states"], stop_at_first=True)
    stepper = Stepper(chosen, budget)
    session = Session.begin(program(chosen))
    session = session if file is None else loaded(stepper, session, file)
    screen = console()
    screen.plain(chosen.title())
    screen.plain("\n".join(arrival(session).lines))
    walk(stepper, session, screen, interactive=sys.stdin.isatty())


def walk(stepper: Stepper, session: Session, screen: Screen, interactive: bool) -> None:
    """Answer standard input until it ends or says `quit`; a refused command is shown in a terminal, else raised."""
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
