"""Python functions: of a real Kafka `replay`, `status`, `ask`, `whatif`, `conform`; besides `check` and `diff`."""

from __future__ import annotations

import html
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from attrs import field, frozen

from kraftcheck.ci.conformance.vectors import run as conformance
from kraftcheck.ci.conformance.vectors.core import VectorError
from kraftcheck.ci.explore.two_sides import Sides
from kraftcheck.ci.interface.engines import check_numbers, threads_of
from kraftcheck.ci.logs import ask as ask_module
from kraftcheck.ci.logs.ask import asked_of
from kraftcheck.ci.logs.condition import condition_of
from kraftcheck.ci.logs.format.read import find
from kraftcheck.ci.logs.report import ReplayOptions, document, exit_code, report_of
from kraftcheck.ci.logs.status import show
from kraftcheck.ci.logs.whatif import distances_of
from kraftcheck.ci.run.questions import search, search_budget
from kraftcheck.ci.systems.subject import bounds_of
from kraftcheck.ci.terminal.console import plain_screen
from kraftcheck.ci.terminal.interrupts import limited
from kraftcheck.ci.terminal.machine import default_memory
from kraftcheck.ci.terminal.progress import interruptible
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.ci.verdicts.command import check_built_in, named_table
from kraftcheck.ci.verdicts.runs import CheckOptions, check_table
from kraftcheck.model.language.system import ScopeError, System
from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget
from kraftcheck.solvers.program.program import Program


@frozen
class Report:
    """The result of a comparison with real Kafka."""

    exit_code: int  # what the command would exit with; 0 only where all agrees
    document: Mapping[str, Any] = field(repr=False)  # the report as plain values, as `--json` writes it
    text: str = field(repr=False)  # the report as the command prints it

    def assert_holds(self) -> None:
        """Fail unless all agrees.

        Raises:
            AssertionError: with the report.
        """
        if self.exit_code != 0:
            raise AssertionError(self.text)

    def __str__(self) -> str:
        """The report as the command prints it."""
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


Place: TypeAlias = str | os.PathLike[str]


def replay(*paths: Place, rules: str | None = None, static: tuple[str, ...] = (), allow_skipped: int = 0) -> Report:
    """Say which controller events wrote each batch of metadata logs, and check the properties on the way.

    Args:
        paths: segments, snapshots, texts of Kafka's dump tool, JSON lines, or folders of them.
        rules: rule set; that of the metadata version by default.
        static: lines `KEY=VALUE` of the controller's configuration file.
        allow_skipped: undecodable places to pass over.

    Raises:
        Refusal: in one line, for what cannot be read.
    """
    if not paths:
        raise Refusal("replay takes at least one path of a log")
    try:
        found = find(tuple(Path(path) for path in paths))
        reports = [report_of(ReplayOptions(rules, static, allow_skipped).replay(log)) for log in found]
    except ScopeError as error:
        raise Refusal(str(error)) from error
    text = "\n".join(line for report in reports for line in report.lines)
    return Report(exit_code(reports), document(reports), text)


def status(log: Place, *, rules: str | None = None, static: tuple[str, ...] = (), allow_skipped: int = 0) -> Report:
    """Say what is broken at the end of a metadata log or snapshot, since when and why, and what to start first.

    Args:
        log: a log, a snapshot, or a folder of one.
        rules, static, allow_skipped: as of `replay`.

    Raises:
        Refusal: in one line, for what cannot be read.
    """
    found, screen = condition_of(Path(log), ReplayOptions(rules, static, allow_skipped)), plain_screen()
    show(found, screen)
    return Report(found["exit"], found, screen.text())


def ask(
    log: Place, request: str, *, rules: str | None = None, static: tuple[str, ...] = (), allow_skipped: int = 0
) -> Report:
    """Say what the controller would answer to one request at the end of a metadata log or snapshot, and by which rules.

    Args:
        log: a log, a snapshot, or a folder of one.
        request: as the command takes it, such as `"reassign orders-0 replicas=1,2,3"`.
        rules, static, allow_skipped: as of `replay`.

    Raises:
        Refusal: in one line, for what cannot be read, and for what is no request.
    """
    try:
        words = shlex.split(request)
    except (AttributeError, ValueError) as error:
        raise Refusal(f"request takes words, not {request!r}: {error}") from error
    if not words:
        raise Refusal("request has no words; write one such as 'elect orders-0'")
    found, screen = asked_of(Path(log), words, ReplayOptions(rules, static, allow_skipped)), plain_screen()
    ask_module.show(found, screen)
    return Report(found["exit"], found, screen.text())


def whatif(
    snapshot: Place, *, faults: int = 2, rules: str | None = None, static: tuple[str, ...] = (), allow_skipped: int = 0
) -> Report:
    """Say which few faults take a partition of a real cluster offline, or lose data, from the end of its metadata log.

    Args:
        snapshot: a log, a snapshot, or a folder of one.
        faults: how many are explored, at most 6.
        rules, static, allow_skipped: as of `replay`.

    Raises:
        Refusal: in one line, for what cannot be read.
    """
    if isinstance(faults, bool) or faults not in range(7):
        raise Refusal(f"faults takes an int from 0 to 6, not {faults!r}")
    found = distances_of(Path(snapshot), faults, ReplayOptions(rules, static, allow_skipped))
    screen = plain_screen()
    found.show(screen)
    return Report(found.exit_code, found.document(), screen.text())


def check(
    *systems: str, scope: str | Sequence[str] = (), rules: str | Sequence[str] = (), config: Place | None = None,
    built_in: bool = False, threads: int = 1, memory: int | None = None, time_limit: str | None = None,
) -> Report:  # fmt: skip
    """Compare verdicts with the expected ones: of the table of runs that is found, or of what comes with kraftcheck.

    Args:
        systems, scope, rules: which runs; all by default.
        config: the table of runs; by default the nearest kraftcheck.toml or pyproject.toml with one, as the command.
        built_in: the systems that come with kraftcheck, also where there is a table.
        threads: rows at once, each in a process; one by one by default.
        memory: bytes for one search at most; by default what the command uses.
        time_limit: such as "90s" or "1h30m"; what was not checked by then is no pass.

    Raises:
        Refusal: in one line, for a name that no run has, and for a fault of the table.
    """
    check_numbers(1, threads=threads, memory=memory)
    scopes, sets = ((words,) if isinstance(words, str) else tuple(words) for words in (scope, rules))
    wanted = CheckOptions(systems, scopes, sets, threads, memory or default_memory())
    screen = plain_screen()
    with limited(time_limit):
        table = named_table(None if config is None else Path(config), built_in)
        done = check_built_in(wanted, screen, asked=built_in) if table is None else check_table(table, wanted, screen)
    screen.plain(done.last_line)
    return Report(done.code, done.document, screen.text())


def diff(
    a: str | System, b: str | System, system: str = "", *, scope: str | None = None, threads: int | None = None,
    max_depth: int | None = None, max_states: int | None = None, time_limit: str | None = None, **bounds: int,
) -> Report:  # fmt: skip
    """Compare two rule sets, or changed systems: promises that change, and the first run that they end otherwise.

    Args:
        a, b: rule sets, or systems: `module:attribute`, or as they are, such as `kafka` gives; the id of a finding, for
            the other side with its mend; `kafka:VERSION|PATH`, for the managers of a release or of a build. The release
            of the other side completes a build; `kafka:PATH@VERSION` names another one.
        system: that of a rule set; by default that of the other side, or else `elections`.
        scope, threads, max_depth, max_states, time_limit: as of `explore`, for each of two searches.
        bounds: single bounds by name, with `_` for `-`.

    Raises:
        Refusal: in one line, for what cannot be asked.
        EngineDisagreement: when ints do not confirm what compiled code says.
    """
    check_numbers(1, threads=threads, max_states=max_states)
    check_numbers(0, max_depth=max_depth)
    for side in (a, b):
        if not isinstance(side, str | System):
            raise Refusal(f"{side!r} is no rule set, and no system; give one by its name")
    budget = search_budget(threads_of(threads), default_memory(), max_depth=max_depth, max_states=max_states)
    with limited(time_limit):
        found = Sides(a, b, system, scope, bounds_of(bounds)).compared(budget, _searching)
    screen = plain_screen()
    found.show(screen)
    screen.plain(found.last_line)
    return Report(found.exit_code, found.document(), screen.text())


def _searching(traced: Program, budget: SearchBudget, search: Callable[..., Exploration] = search) -> Exploration:
    return interruptible(lambda stop: search(traced, budget, stop))


def conform(*paths: Place, rules: str = "kafka-4.0", allow_unsupported: bool = False) -> Report:
    """Run cases of Kafka's own tests.

    Args:
        paths: JSON files, or folders of them.
        rules: rule set, `PRESET[+VARIANT|-VARIANT...]`.
        allow_unsupported: whether a case that is not modelled passes.

    Raises:
        Refusal: in one line, for what cannot be read.
    """
    try:
        report = conformance.conform(tuple(Path(path) for path in paths), rules)
    except (VectorError, ScopeError) as error:
        raise Refusal(str(error)) from error
    return Report(report.exit_code(allow_unsupported), report.document(), "\n".join(conformance.vector_lines(report)))
