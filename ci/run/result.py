"""What an engine answered about a system, for Python: verdicts, counterexamples, states."""

from __future__ import annotations

import base64
import html
import time
from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from kraftcheck.ci.run.judged import JudgedProperty, JudgedRun
from kraftcheck.ci.run.reports.junit import junit
from kraftcheck.ci.run.reports.sarif import sarif
from kraftcheck.ci.run.states import States
from kraftcheck.ci.run.traces import print_goals, print_traces, shortest_first
from kraftcheck.ci.run.walks import Walked
from kraftcheck.ci.systems import report
from kraftcheck.ci.systems.subject import Subject
from kraftcheck.ci.terminal.console import Screen, plain_screen
from kraftcheck.model.language.system import Property
from kraftcheck.model.nearest import nearest
from kraftcheck.solvers.drawings.drawing import drawing
from kraftcheck.solvers.drawings.svg import svg
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import Holds, PropertyVerdict, Refuted, Trace, Verdict
from kraftcheck.solvers.search.explore import Exploration
from kraftcheck.solvers.traces.render import lines

DRAWN = 3
"""Most counterexamples that a notebook shows as drawings."""


@frozen
class Result:
    """What an engine answered about the properties of a system: the record of which every report is made.

    Attributes:
        subject: the system at its setting.
        engine: `explore`, `simulate` or `prove`.
        judged: one verdict for each property; `deadlock` is among them where the engine judges it.
        claims: the properties, with their sentences and sources.
        summary: what else the engine says, in lines.
        exit_code: what the command would exit with.
        document: the report as plain values, as `--json` writes it.
        program: what was judged, for drawings of traces.
        rows: the verdicts in words, for reports to CI systems.
        last_line: the result in a line.
        size: what was covered, in words.
        seconds: how long it took.
        options: further words of the command that does it again.
        exploration: the explored space, where the engine is `explore`.
        walked: the walks, where the engine is `simulate`.
        shortest: whether no counterexample is shorter than those found.
    """

    subject: Subject = field(repr=False)
    engine: str
    judged: tuple[PropertyVerdict, ...] = field(repr=False)
    claims: tuple[Property, ...] = field(repr=False)
    summary: tuple[str, ...] = field(repr=False)
    exit_code: int
    document: Mapping[str, Any] = field(repr=False)
    program: Program = field(repr=False, kw_only=True)
    rows: tuple[JudgedProperty, ...] = field(repr=False, kw_only=True)
    last_line: str = field(repr=False, kw_only=True)
    size: str = field(repr=False, kw_only=True)
    seconds: float = field(default=0.0, repr=False, kw_only=True)
    options: tuple[str, ...] = field(default=(), repr=False, kw_only=True)
    exploration: Exploration | None = field(default=None, repr=False, kw_only=True)
    walked: Walked | None = field(default=None, repr=False, kw_only=True)
    shortest: bool = field(default=True, repr=False, kw_only=True)

    def run(self, folder: str = "") -> JudgedRun:
        """The verdicts for JUnit, SARIF and GitHub; `folder` is where the command that judges again is to be run."""
        return JudgedRun(self.subject, self.engine, self.rows, self.seconds, self.options, folder)

    def junit(self) -> str:
        """The verdicts as JUnit XML."""
        return junit([self.run()], time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()))

    def sarif(self) -> str:
        """The verdicts as SARIF 2.1.0."""
        return sarif([self.run()], self.exit_code)

    def traces(self, goals: bool = False) -> list[Trace]:
        """Every counterexample, shortest first; then every witness of a goal, if asked."""
        found = [one.verdict.trace for one in self.judged if isinstance(one.verdict, Refuted)]
        shown = [one.verdict.witness for one in self.judged if isinstance(one.verdict, Holds) and goals]
        return [*shortest_first(found), *shortest_first([trace for trace in shown if trace is not None])]

    def show(self, screen: Screen, verbose: bool, limit: int, goals: bool = False) -> None:
        """Print the title, the verdicts, so many counterexamples, witnesses of goals if asked, and the summary."""
        screen.plain(self.subject.title())
        warnings = [line for line in self.summary if line.startswith("warning: ")]
        for line in warnings:
            screen.plain(line)
        report.print_verdicts(screen, self.judged, self.claims, verbose, self.shortest)
        print_traces(screen, self.subject, self.traces(), limit)
        print_goals(screen, self.subject, self.traces(goals=True)[len(self.traces()) :] if goals else ())
        screen.plain("")
        for line in self.summary[len(warnings) :]:
            screen.plain(line)

    @property
    def verdicts(self) -> Mapping[str, Verdict]:
        """The verdict of each property, by its id. Only `Holds` is a pass."""
        return {one.claim: one.verdict for one in self.judged}

    @property
    def refuted(self) -> tuple[str, ...]:
        """The ids of the properties that have a counterexample."""
        return tuple(one.claim for one in self.judged if isinstance(one.verdict, Refuted))

    def verdict(self, claim: str) -> Verdict:
        """The verdict of a property by its id.

        Raises:
            KeyError: for a property that was not judged, with the nearest ids.
        """
        if claim not in self.verdicts:
            raise KeyError(f"{claim!r} was not judged; {nearest(claim, self.verdicts)}")
        return self.verdicts[claim]

    def assert_holds(self, *claims: str) -> None:
        """Fail unless properties hold: unknown, incomplete and vacuous verdicts fail too.

        Args:
            claims: ids; all that were judged by default.

        Raises:
            AssertionError: with the verdict, and the counterexample where there is one.
            KeyError: for a property that was not judged.
        """
        wanted = {id_: self.verdict(id_) for id_ in claims or self.verdicts}
        failed = [one for one in self.judged if one.claim in wanted and not isinstance(one.verdict, Holds)]
        if failed or not wanted:
            rows = [self._failure(one) for one in failed] or ["nothing was judged"]
            raise AssertionError("\n".join([self.subject.title(), *rows]))

    def trace(self, claim: str) -> Trace:
        """The counterexample of a refuted property, or the witness of a goal; its states are the system's records.

        Raises:
            KeyError: for a property that was not judged.
            ValueError: where its verdict has none.
        """
        verdict = self.verdict(claim)
        trace = verdict.trace if isinstance(verdict, Refuted) else getattr(verdict, "witness", None)
        if not isinstance(trace, Trace):
            raise ValueError(f"{claim}: the verdict is {report.WORDS[type(verdict)]}, which has no trace")
        return trace

    def states(self) -> States:
        """Every reachable state.

        Raises:
            ValueError: where the engine explored nothing, or did not keep the states.
        """
        if self.exploration is None:
            raise ValueError(f"{self.engine} keeps no states; use explore")
        if self.exploration.store is None:
            raise ValueError("the states were not kept; explore with keep=True")
        return States(self.exploration)

    def to_pandas(self) -> Any:
        """Every reachable state as a row of a pandas data frame, as of `States.to_pandas`.

        Raises:
            ValueError: where there are no states, as of `states`.
            Refusal: without pandas, which comes with `kraftcheck[notebook]`.
        """
        return self.states().to_pandas()

    def __str__(self) -> str:
        """The report as the command prints it with `-v`, counterexamples aside."""
        screen = plain_screen()
        screen.table(report.verdict_table(report.in_order(self.judged), self.claims, self.shortest))
        return "\n".join([self.subject.title(), screen.text(), *self.summary])

    def _repr_html_(self) -> str:
        """The report for a notebook: the table of verdicts, then the shortest counterexamples as drawings."""
        sentences = {claim.id: claim.sentence for claim in self.claims}
        rows = "".join(
            _row("td", one.claim, report.WORDS[type(one.verdict)], report.detail(one, self.shortest),
                 sentences.get(one.claim, report.DEADLOCK_SAYS))
            for one in report.in_order(self.judged)
        )  # fmt: skip
        notes = "<br>".join(html.escape(line) for line in self.summary)
        head = _row("th", "property", "verdict", "", "says")
        title = f"<p>{html.escape(self.subject.title())}</p>"
        return f"{title}<table>{head}{rows}</table>{self._drawings()}<p>{notes}</p>"

    def _drawings(self) -> str:
        """The shortest counterexamples as pictures, each with its text below it."""
        return "".join(
            _figure(trace, svg(drawing(trace, self.program, self.subject.title()))) for trace in self.traces()[:DRAWN]
        )

    def _failure(self, one: PropertyVerdict) -> str:
        text = f"{one.claim}: {report.word_of(one)} {report.detail(one, self.shortest)}".rstrip()
        return "\n".join([text, *lines(one.verdict.trace)]) if isinstance(one.verdict, Refuted) else text


def _figure(trace: Trace, picture: str) -> str:
    """A drawing as an image, so that its styles stay its own, and the trace as text that can be read and copied."""
    name = html.escape(trace.claim)
    source = base64.b64encode(picture.encode()).decode()
    steps = report.steps_text(len(trace.steps))
    text = html.escape("\n".join(lines(trace)))
    return (
        f"<figure><figcaption><b>{name}</b> is refuted in {steps}</figcaption>"
        f'<img alt="{name}, {steps}; the text is below" src="data:image/svg+xml;base64,{source}">'
        f"<details><summary>as text</summary><pre>{text}</pre></details></figure>"
    )


def _row(cell: str, *texts: str) -> str:
    return "<tr>" + "".join(f"<{cell}>{html.escape(text)}</{cell}>" for text in texts) + "</tr>"
