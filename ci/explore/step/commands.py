"""The commands of `kraftcheck step`: each takes a session and the rest of a line, and answers with a session."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from attrs import frozen

from kraftcheck.ci.explore.step import text
from kraftcheck.ci.explore.step.goto import go_to
from kraftcheck.ci.explore.trace import load
from kraftcheck.ci.run.questions import SearchBudget
from kraftcheck.ci.systems.subject import Subject
from kraftcheck.ci.terminal.files import write
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.nearest import nearest
from kraftcheck.solvers.stepping.session import Session, StepRefused
from kraftcheck.solvers.traces import itf
from kraftcheck.solvers.traces.render import lines


@frozen
class Answer:
    """What a command does: the session after it, what it says, and whether it ends the walk."""

    session: Session
    lines: tuple[str, ...]
    ends: bool = False


@frozen
class Stepper:
    """What the commands need besides the session.

    Attributes:
        chosen: the system at its setting.
        budget: how far `goto` searches.
    """

    chosen: Subject
    budget: SearchBudget

    def answer(self, session: Session, line: str) -> Answer:
        """The answer to a line.

        Raises:
            Refusal: for what is no command, or cannot be done.
        """
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
    """A command.

    Attributes:
        takes, says: for `help`: its arguments, and what it does.
        run: does it.
    """

    takes: str
    says: str
    run: Callable[[Stepper, Session, str], Answer]


def _said(session: Session, said: Iterable[str]) -> Answer:
    return Answer(session, tuple(said))


def arrival(session: Session) -> Answer:
    """A session with its last step, its properties and what can happen next."""
    return _said(session, [*text.last_step(session), *text.properties(session.properties), *text.enabled(session)])


def loaded(stepper: Stepper, session: Session, path: Path) -> Session:
    """The session of a trace file.

    Raises:
        Refusal: where it is malformed, of another system or setting, or the rules do not follow it.
    """
    other, recipe = load(path, stepper.chosen.name)
    if other.title() != stepper.chosen.title():
        raise Refusal(f"{path}: a trace of {other.title()}, and this is {stepper.chosen.title()}")
    try:
        return Session.of_recipe(session.program, recipe)
    except (StepRefused, itf.TraceError) as error:
        raise Refusal(f"{path}: {error}") from error


def _number(word: str, rest: str, default: int | None = None) -> int:
    """The number that a command takes."""
    if not rest and default is not None:
        return default
    if not (rest.isascii() and rest.isdigit() and len(rest) < 10):
        raise Refusal(f"{word} takes a number, not {rest!r}")
    return int(rest)


def _path(word: str, rest: str) -> Path:
    if not rest:
        raise Refusal(f"{word} takes the name of a file")
    return Path(rest)


def _take(stepper: Stepper, session: Session, rest: str) -> Answer:
    return arrival(session.take(_number("take", rest)))


def _undo(stepper: Stepper, session: Session, rest: str) -> Answer:
    return arrival(session.undo(_number("undo", rest, 1)))


def _back(stepper: Stepper, session: Session, rest: str) -> Answer:
    return arrival(session.at(_number("back", rest)))


def _initial(stepper: Stepper, session: Session, rest: str) -> Answer:
    if not rest:
        return _said(session, text.initial_states(session))
    return arrival(Session.begin(session.program, _number("initial", rest)))


def _enabled(stepper: Stepper, session: Session, rest: str) -> Answer:
    return _said(session, text.enabled(session))


def _disabled(stepper: Stepper, session: Session, rest: str) -> Answer:
    chosen = [choice for choice in session.disabled if rest in str(choice)]
    return _said(session, text.disabled(chosen) if chosen else ["no action is disabled"])


def _why(stepper: Stepper, session: Session, rest: str) -> Answer:
    number = _number("why", rest)
    if number >= len(session.choices):
        raise Refusal(f"why: there is no action instance {number}; numbers are 0..{len(session.choices) - 1}")
    choice = session.choices[number]
    return _said(session, [f"{number:5d}  {choice}: enabled"] if choice.enabled else text.disabled([choice]))


def _state(stepper: Stepper, session: Session, rest: str) -> Answer:
    return _said(session, text.state(session))


def _path_taken(stepper: Stepper, session: Session, rest: str) -> Answer:
    return _said(session, lines(session.trace()))


def _properties(stepper: Stepper, session: Session, rest: str) -> Answer:
    return _said(session, text.properties(session.properties, every=True))


def _goto(stepper: Stepper, session: Session, rest: str) -> Answer:
    if not rest:
        raise Refusal("goto takes an expression, such as: goto isr == {}")
    found = go_to(session, stepper.chosen, rest, stepper.budget)
    if found.session is session:
        return _said(session, [found.text])
    way = text.steps_after(found.session, len(session.steps))
    here = found.session.properties
    return _said(found.session, [found.text, *way, *text.properties(here), *text.enabled(found.session)])


def _save(stepper: Stepper, session: Session, rest: str) -> Answer:
    path = _path("save", rest)
    write(path, itf.text(session.document(stepper.chosen.name, stepper.chosen.rules)))
    return _said(session, [f"wrote {path}"])


def _load(stepper: Stepper, session: Session, rest: str) -> Answer:
    return arrival(loaded(stepper, session, _path("load", rest)))


def _help(stepper: Stepper, session: Session, rest: str) -> Answer:
    return _said(session, (f"{f'{name} {command.takes}':16} {command.says}" for name, command in COMMANDS.items()))


def _quit(stepper: Stepper, session: Session, rest: str) -> Answer:
    return Answer(session, (), ends=True)


COMMANDS: dict[str, Command] = {
    "take": Command("N", "take the step of this number; the number alone does so too", _take),
    "enabled": Command("", "the steps that can be taken", _enabled),
    "disabled": Command(
        "[TEXT]", "the others, and the conjuncts that fail; with TEXT some of them", _disabled
    ),
    "why": Command("N", "which conjuncts disable the step of this number", _why),
    "undo": Command("[N]", "take back the last step, or N steps", _undo),
    "back": Command("STEP", "go back to the state after a step; 0 is the initial state", _back),
    "initial": Command("[N]", "the initial states; begin in the one of this number", _initial),
    "state": Command("", "every field of the state", _state),
    "path": Command("", "all steps since the initial state", _path_taken),
    "properties": Command("", "every property at this step", _properties),
    "goto": Command("EXPR", "the shortest way to a state that satisfies an expression", _goto),
    "save": Command("FILE", "write the run as ITF JSON, which `kraftcheck trace` shows", _save),
    "load": Command("FILE", "go on from the end of a trace of this system", _load),
    "help": Command("", "this list", _help),
    "quit": Command(
        "", "end; so does the end of the input", lambda stepper, session, rest: Answer(session, (), ends=True)
    ),
}
"""Every command by its name."""
