"""The commands of `kraftcheck`, and their exit codes."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import re
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from attrs import define, field
from click.core import ParameterSource

from kraftcheck.ci.terminal.console import OutputClosed, silence
from kraftcheck.ci.terminal.files import remove_older
from kraftcheck.ci.terminal.interrupts import Interrupted, abandon
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.system import ANY, spelled
from kraftcheck.model.nearest import nearest
from kraftcheck.model.register import RegisterError
from kraftcheck.model.visible import visible
from kraftcheck.solvers.program.verdict import EXIT_INCOMPLETE
from kraftcheck.solvers.reference.confirm import EngineDisagreement

NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?", re.ASCII | re.IGNORECASE)
"""A number as people type it; Python reads `nan`, `1_000` and the digits of every script too."""


def check_words(command: click.Command, words: Sequence[str], parent: click.Context) -> None:
    """Refuse an empty value, an option given twice of which one would count, and a number of other digits."""
    context = click.Context(command, parent=parent, info_name=command.name, **command.context_settings)
    values, _, order = command.make_parser(context).parse_args(list(words))
    for parameter in command.params:
        if not isinstance(parameter, click.Option):
            name = parameter.human_readable_name
        else:
            name = parameter.opts[-1]
            if order.count(parameter) > 1 and not (parameter.multiple or parameter.is_flag):
                raise Refusal(f"{name} is given twice; give it once")
        value = values.get(parameter.name or "")
        for text in value if isinstance(value, list | tuple) else (value,):
            if isinstance(text, str):
                _check(name, text, parameter)


def _check(name: str, text: str, parameter: click.Parameter) -> None:
    if not text:
        raise Refusal(f"{name} is empty; give a value, or leave it out")
    number = isinstance(parameter.type, click.types.IntParamType | click.types.FloatParamType)
    if number and not NUMBER.fullmatch(text):
        hidden = f"; a bound {name.lstrip('-')!r} of a system needs another name" * (text == spelled(ANY))
        raise Refusal(f"{name} takes a finite number in the digits 0 to 9, not {text[:40]!r}{hidden}")


OLDER = {
    "--json": rb'\{\s*"version": \d+,\s*"command": ',
    "--junit": rb"<\?xml[^>]*>\s*<testsuites",
    "--sarif": rb'\{\s*"\$schema": "[^"]*sarif',
}
"""The options of a command that name reports, and how each of these begins, as a pattern."""


@define
class AskedReports:
    """The reports that a command line asks for, whatever else is wrong with it."""

    command: str = ""  # its name
    unjudged: Callable[[str, Mapping[str, Path], int, str], None] | None = None  # None: it judges nothing
    files: dict[str, Path] = field(factory=dict)  # where they go, by option

    def read(self, command: click.Command, words: Sequence[str], parent: click.Context) -> None:
        """Look for them in its words, and remove the older ones: what ends this run leaves no verdict of another."""
        context = click.Context(command, parent=parent, resilient_parsing=True, ignore_unknown_options=True)
        values, _, _ = command.make_parser(context).parse_args(list(words))
        options = {one.opts[-1]: one.name or "" for one in command.params if isinstance(one, click.Option)}
        given = {name: values.get(argument) for name, argument in options.items()}
        self.command, self.unjudged = command.name or "", getattr(command.callback, "unjudged", None)
        self.files = {name: Path(text) for name in OLDER if (text := given.get(name)) and text != "-"}
        for name, path in self.files.items():
            remove_older(path, OLDER[name])
        places, out = [Path(os.path.realpath(path)) for path in self.files.values()], given.get("--out")
        if len({*places}) < len(places) or (out and any(Path(os.path.realpath(out)) in one.parents for one in places)):
            self.files = {}  # which is refused

    def write(self, code: int, reason: str) -> None:
        """Write that there is no verdict into those that this run has not written."""
        if self.unjudged is not None:
            with contextlib.suppress(Exception):  # the exit code says the same
                self.unjudged(self.command, self.files, code, reason)


def check_idle(reason: str, *names: str) -> None:
    """Refuse the first named option of the running command that was given and does nothing but for a `reason`."""
    context = click.get_current_context()
    for parameter in context.command.params:
        is_given = context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
        if parameter.name in names and is_given:
            raise Refusal(f"{parameter.opts[-1]} {reason}; leave it out")


EXIT_USAGE = 2
EXIT_DISAGREEMENT = 24  # compiled code, or a solver, says something else than the rules on ints; never a verdict

EXIT_OUTPUT_CLOSED = 141
EXIT_FAULT = 255  # a fault of kraftcheck itself, as in TLC; never a verdict
SHOW_FAULTS = "KRAFTCHECK_TRACEBACK"  # environment variable: when set, a fault of kraftcheck shows where it happened

DISAGREEMENT = "a rule of words that depends on more than their values, or a fault of kraftcheck"
"""What makes an engine disagree with the rules."""


COMMANDS = {
    "list": ("ci.systems.lookup:list_command", "Systems, properties, rule sets, variants, scopes."),
    "where": ("ci.systems.where:where_command", "Which rule says so: its place, source, properties and defects."),
    "check": ("ci.verdicts.command:check_command", "Every property against its expected verdict: the CI command."),
    "bugs": ("ci.verdicts.defects:bugs_command", "Each known defect against the properties that must refute it."),
    "explore": ("ci.explore.command:explore_command", "Exhaustive search of one system."),
    "diff": ("ci.explore.two_sides:diff_command", "Two rule sets, a change or a build of yours: what it breaks."),
    "step": ("ci.explore.step:step_command", "Walk through a system step by step."),
    "simulate": ("ci.explore.simulate:simulate_command", "Random walks of one system."),
    "explain": ("ci.mutants.command:explain_command", "Which check carries which property."),
    "prove": ("ci.prove.command:prove_command", "Properties for any number of steps, in Z3."),
    "conform": (
        "ci.conformance.command:conform_command",
        "The model against Kafka's own tests, or its released classes.",
    ),
    "branch": ("ci.verdicts.branch:branch_command", "Your build of Kafka: what it does otherwise, and breaks."),
    "findings": (
        "ci.conformance.findings.command:findings_command",
        "What is wrong with released controllers, with evidence.",
    ),
    "replay": ("ci.logs.command:replay_command", "Explain a real cluster's metadata log with the model."),
    "status": ("ci.logs.status:status_command", "What is broken in a real cluster, why, and what to start first."),
    "ask": ("ci.logs.ask:ask_command", "What the controller would answer to one request, at the end of a log."),
    "whatif": ("ci.logs.whatif:whatif_command", "How many faults a real cluster's partitions survive."),
    "serve": ("ci.explore.serve.command:serve_command", "A local page to explore a system step by step."),
    "trace": ("ci.explore.trace:trace_command", "Show or shorten a counterexample."),
    "export": ("ci.explore.export:export_command", "A system as a module of TLA+, for a second opinion by TLC."),
    "query": ("ci.explore.export:query_command", "SQL over an explored space."),
    "sweep": ("ci.explore.sweep:sweep_command", "Compiled rules against rules on ints, state by state."),
    "unclean-recovery": (
        "ci.logs.recovery.tool:unclean_recovery_command",
        "Leaders for offline partitions of a snapshot, by length of logs.",
    ),
    "elect-leaders": (
        "ci.logs.recovery.tool:elect_leaders_command",
        "Preferred, unclean and designated elections in a snapshot.",
    ),
}
"""Every command: the module and the name that it is imported by when it is called, and what `--help` says of it."""


class Commands(click.Group):
    """Commands that are imported when called; unknown ones get the nearest, and words nobody means are refused."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands, in the order in which `--help` shows them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name, imported now."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        found: click.Command | None = getattr(importlib.import_module(f"kraftcheck.{module}"), name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The summaries of `--help`, without importing any command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first argument names."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise Refusal(f"unknown command {args[0]!r}; {nearest(args[0], COMMANDS, 'kraftcheck --help')}")
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None and not ctx.resilient_parsing:
            ctx.ensure_object(AskedReports).read(command, rest, ctx)
            check_words(command, rest, ctx)
        return name, command, rest


NO_THREAD = "can't start new thread"  # what Python says where the system refuses a thread


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="kraftcheck")
def cli() -> None:
    """Verify the replica logic of Apache Kafka's KRaft controller.

    \b
    Start with:
      kraftcheck list
      kraftcheck explore elections --scope tiny --rules kafka-4.0
      kraftcheck check

    \b
    Exit codes: 0 every verdict is a pass, 1 an election failed, or rules differ, 2 bad input, 11 deadlock, 12 refuted,
    13 never recovers, 20 incomplete, 21 vacuous, 22 unknown, 23 a vector failed,
    a batch of a log is not explained, or a release differs from the evidence, 24 an engine disagrees with the rules,
    130 interrupted by Ctrl-C, 141 the reader of the output has gone,
    255 a fault of kraftcheck.
    """


OWN = (f"{Path(__file__).parents[2]}{os.sep}", f"{Path(click.__file__).parent}{os.sep}")
"""What files begin with whose exit codes are those of a command: kraftcheck's, and those of its command line."""


def run() -> int:
    """Run the command line: whatever goes wrong is one line on standard error; the exit code is returned."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # names from files may hold what no encoding has
            stream.reconfigure(errors="backslashreplace")
    code = _guarded()
    try:
        sys.stdout.flush()
    except OSError:
        silence()
        code = code or EXIT_OUTPUT_CLOSED
    return code


def _guarded() -> int:
    asked = AskedReports()
    try:
        return _number(cli.main(prog_name="kraftcheck", standalone_mode=False, obj=asked))
    except SystemExit as ended:
        if (line := _foreign(ended)) is None:
            return _number(ended.code)
        code, said = EXIT_USAGE, f"{line} raised SystemExit: {ended}"
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return EXIT_USAGE
    except Interrupted as error:
        click.echo(f"incomplete: {error} (exit {EXIT_INCOMPLETE})")
        asked.write(EXIT_INCOMPLETE, str(error))
        abandon(EXIT_INCOMPLETE)
    except click.Abort:
        raise KeyboardInterrupt from None
    except OutputClosed:
        silence()
        asked.write(EXIT_OUTPUT_CLOSED, "the reader of the output has gone")
        return EXIT_OUTPUT_CLOSED
    except Exception as error:
        if isinstance(error, OSError) and error.filename is None:  # it may be that of standard output
            silence()
        code, said = _outcome(error)
    _say(said)
    asked.write(code, said)
    return code


def _outcome(error: Exception) -> tuple[int, str]:
    """The exit code of what ended a command, and the line that says so."""
    match error:
        case click.ClickException():
            return EXIT_USAGE, error.format_message()
        case OSError():
            return EXIT_USAGE, f"{error.filename or 'input or output'}: {error.strerror or error}"
        case EngineDisagreement():
            show_fault(error)
            said = f"the engine disagrees with the rules, no verdict: {error} ({DISAGREEMENT})"
            return EXIT_DISAGREEMENT, said
        case RegisterError():
            return EXIT_USAGE, str(error)
        case MemoryError():
            return EXIT_USAGE, str(error) or "there is no memory left; give --memory less, or fewer --workers"
        case RuntimeError() if str(error) == NO_THREAD:
            return EXIT_USAGE, ("no thread can be started: a limit of memory or processes is reached (ulimit -v, "
                                "ulimit -u); give fewer --workers")  # fmt: skip
    show_fault(error)
    return EXIT_FAULT, fault_text(error)


def _foreign(error: BaseException) -> str | None:
    """The line that raised an error, where it is none of the command line: it says no exit code of a command."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return None if last.filename.startswith(OWN) else f"{last.filename}:{last.lineno}"


def _number(code: Any) -> int:
    return code if isinstance(code, int) else EXIT_FAULT if code else 0


def _say(message: str) -> None:
    """One line on standard error, whatever the message holds."""
    with contextlib.suppress(OSError):  # where nobody reads standard error, the exit code has to do
        click.echo("kraftcheck: " + visible(" ".join(message.split())), err=True)


def show_fault(error: Exception) -> None:
    """Show where something happened to those who ask."""
    if os.environ.get(SHOW_FAULTS):
        traceback.print_exception(error)


def fault_text(error: Exception) -> str:
    """A fault of kraftcheck in one line."""
    return (
        f"fault of kraftcheck, no verdict: {type(error).__name__}: {error} "
        f"({SHOW_FAULTS}=1 shows where; please report it)"
    )
