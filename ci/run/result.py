"""The record of a run: verdicts, counterexamples, states; on the screen, as files, in a notebook."""

from __future__ import annotations

import base64
import hashlib
import html
import importlib
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import field, frozen

from kraftcheck.ci.dataset.options import check_readable
from kraftcheck.ci.dataset.store.objects import AnyPath, ObjectPath
from kraftcheck.ci.run.formats import junit, sarif
from kraftcheck.ci.run.judged import JudgedProperty, JudgedRun
from kraftcheck.ci.run.walks import Walked
from kraftcheck.ci.systems import report
from kraftcheck.ci.systems.report import DEADLOCK_FAILS
from kraftcheck.ci.systems.subject import Subject
from kraftcheck.ci.terminal.console import Screen, plain_screen
from kraftcheck.ci.terminal.files import check_folder, check_results, folder, results, write, write_json
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.system import Property
from kraftcheck.model.nearest import nearest
from kraftcheck.solvers.drawings.drawing import drawing
from kraftcheck.solvers.drawings.svg import svg
from kraftcheck.solvers.exploration.explore import Exploration
from kraftcheck.solvers.program.parts import file_part
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import Holds, PropertyVerdict, Refuted, Trace, Verdict
from kraftcheck.solvers.traces import itf
from kraftcheck.solvers.traces.render import lines


@frozen
class States:
    """The states that an exploration reached."""

    exploration: Exploration = field(repr=False)  # what reached them, with its states kept

    def __len__(self) -> int:
        """How many."""
        return self.exploration.distinct

    def __iter__(self) -> Iterator[Any]:
        """Each state as a record of the system."""
        layout = self.exploration.program.layout
        return (layout.unpack(words) for words in self.exploration.states())

    def arrow(self) -> Any:
        """The states as an Arrow table, one row a state, spelled as SQL spells them.

        Raises:
            Refusal: without pyarrow, which comes with `kraftcheck[spark]`, and for a name that a table does not take.
        """
        _extra("pyarrow", "spark")
        from kraftcheck.ci.dataset.tables import states_table

        program = self.exploration.program
        packed = np.asfortranarray(self.exploration.packed())  # a field is read from one word of all states
        try:
            return states_table(program.layout, packed)
        except ValueError as error:
            raise Refusal(f"{program.system.name}: a table does not take it: {error}; rename it") from error

    def to_pandas(self) -> Any:
        """The states as a pandas data frame with columns of Arrow: as `arrow` has them, lists and nulls included.

        Raises:
            Refusal: as `arrow`, and without pandas, which comes with `kraftcheck[notebook]`.
        """
        _extra("pandas", "notebook")  # before the table is made
        return frame_of(self.arrow())


def frame_of(table: Any) -> Any:
    """A data frame of a table of Arrow, whose columns stay those of Arrow.

    Raises:
        Refusal: without pandas.
    """
    return table.to_pandas(types_mapper=_extra("pandas", "notebook").ArrowDtype)


def _extra(package: str, extra: str) -> Any:
    """A package of an extra; raises Refusal where it is not installed."""
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        raise Refusal(f"{package} is not installed; pip install 'kraftcheck[{extra}]'") from error


TRACE = ".itf.json"  # how names of traces end
REPORT = "report.json"  # name of the document of a finished run beside its traces: that of `--json`
LONGEST_NAME = 150  # characters of a property's id in the name of a file; file systems take 255 bytes


def shortest_first(found: Sequence[Trace]) -> list[Trace]:
    """Traces, shortest first."""
    return sorted(found, key=lambda trace: (len(trace.steps), trace.claim))


def trace_name(claim: str) -> str:
    """The name of the file for the trace of a property; a long one is cut, and a digest keeps it apart."""
    name = file_part(claim)
    if len(name) > LONGEST_NAME:
        name = f"{name[:LONGEST_NAME]}-{hashlib.sha256(claim.encode()).hexdigest()[:12]}"
    return f"{name}{TRACE}"


def print_traces(screen: Screen, chosen: Subject, refuting: Sequence[Trace], number: int) -> None:
    """Show the first counterexamples, each with the command that finds it again."""
    sentences = {claim.id: claim.sentence for claim in chosen.system.properties(chosen.setting)}
    for trace in refuting[:number]:
        sentence = sentences.get(trace.claim, DEADLOCK_FAILS)
        screen.plain(f"\n{trace.claim} is refuted: {sentence}")
        screen.plain("\n".join(lines(trace)))
        screen.plain(f"     again: {chosen.again(trace.claim)}")
    if len(refuting) > number:
        others = ", ".join(trace.claim for trace in refuting[number:])
        screen.plain(f"\nalso refuted (--traces {len(refuting)} shows all): {others}")


def print_goals(screen: Screen, chosen: Subject, shown: Sequence[Trace]) -> None:
    """Show the witness of each goal."""
    sentences = {claim.id: claim.sentence for claim in chosen.system.properties(chosen.setting)}
    for trace in shown:
        screen.plain(f"\n{trace.claim} is shown: {sentences[trace.claim]}")
        screen.plain("\n".join(lines(trace)))


def write_traces(
    place: AnyPath, chosen: Subject, program: Program, traces: Sequence[Trace], shortest: bool
) -> list[str]:
    """Write traces as ITF into a folder, made if need be; returns the names of the files.

    Args:
        shortest: whether no shorter ones exist.
    """
    names = []
    for trace in traces:
        names.append(trace_name(trace.claim))
        text = itf.text(itf.document(trace, program, chosen.name, chosen.rules, shortest))
        if isinstance(place, ObjectPath):
            (place / names[-1]).put(text.encode())
        else:
            write(folder(place) / names[-1], text)
    return names


DRAWN = 3  # most counterexamples that a notebook shows as drawings


@frozen
class Result:
    """The answer of an engine about the properties of a system, of which every report is made."""

    subject: Subject = field(repr=False)  # the system at its setting
    engine: str  # `explore`, `simulate` or `prove`
    # one verdict for each property; `deadlock` is among them where the engine judges it
    judged: tuple[PropertyVerdict, ...] = field(repr=False)
    claims: tuple[Property, ...] = field(repr=False)  # the properties, with their sentences and sources
    summary: tuple[str, ...] = field(repr=False)  # what else the engine says, in lines
    exit_code: int  # what the command would exit with
    document: Mapping[str, Any] = field(repr=False)  # the report as plain values, as `--json` writes it
    program: Program = field(repr=False, kw_only=True)  # what was judged, for drawings of traces
    # the verdicts in words, for reports to CI systems
    rows: tuple[JudgedProperty, ...] = field(repr=False, kw_only=True)
    last_line: str = field(repr=False, kw_only=True)
    size: str = field(repr=False, kw_only=True)  # what was covered, in words
    seconds: float = field(default=0.0, repr=False, kw_only=True)
    # further words of the command that does it again
    options: tuple[str, ...] = field(default=(), repr=False, kw_only=True)
    # the explored space, where the engine is `explore`
    exploration: Exploration | None = field(default=None, repr=False, kw_only=True)
    walked: Walked | None = field(default=None, repr=False, kw_only=True)  # the walks, where the engine is `simulate`
    # whether no counterexample is shorter than those found
    shortest: bool = field(default=True, repr=False, kw_only=True)

    def run(self, folder: str = "") -> JudgedRun:
        """The verdicts for JUnit, SARIF and GitHub; `folder` is where the command that judges again is to be run."""
        return JudgedRun(self.subject, self.engine, self.rows, self.seconds, self.options, folder=folder)

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

    def show(self, screen: Screen, verbose: bool, limit: int, goals: bool = False, added: bool = False) -> None:
        """Print the title, the verdicts, so many counterexamples, witnesses of goals if asked, and the summary.

        With `added`, verdicts and counterexamples are those of added expressions, and all others are only counted.
        """
        screen.plain(self.subject.title())
        warnings = [line for line in self.summary if line.startswith("warning: ")]
        for line in warnings:
            screen.plain(line)
        told = {claim.id for claim in self.claims if claim.options} if added else {*self.verdicts}
        shown = [one for one in self.judged if one.claim in told]
        report.print_verdicts(screen, shown, self.claims, verbose or added, self.shortest)
        print_traces(screen, self.subject, [one for one in self.traces() if one.claim in told], limit)
        if len(shown) < len(self.judged):
            others = [one for one in self.judged if one not in shown]
            screen.plain(f"\nof the system's own: {report.counted(others)} (--all lists them)")
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

    def text(self, claim: str) -> str:
        """The same as commands print it; raises as `trace` does."""
        return "\n".join(lines(self.trace(claim)))

    def states(self) -> States:
        """Every reachable state; raises ValueError where the engine explored nothing, or did not keep the states."""
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


def check_out(out: AnyPath | None, engine: str, *others: str | Path | None) -> None:
    """Refuse a folder for results before anything is explored: see `check_results`; Spark's datasets go on."""
    if engine == "native" or out is None:
        if isinstance(out, ObjectPath):
            raise Refusal(f"--out {out} is a URL, which --engine disk and spark write to; name a folder")
        check_results("--out", out, *others)
        return
    check_readable(out)
    foreign = sorted(path.name for path in out.iterdir() if path.name[0] != ".") if out.is_dir() else []
    if foreign and not (out / "run.json").exists() and "levels" not in foreign:
        raise Refusal(f"{out} holds {foreign[0]} and no exploration; choose another --out")
    if isinstance(out, Path):
        check_folder(out)


def keep_traces(out: AnyPath, result: Result, engine: str, goals: bool) -> list[AnyPath]:
    """Write the traces of this run, and none of an earlier one, into its folder; returns the files.

    Beside those of the native engine stands the report.
    """
    traces = result.traces(goals)
    if engine == "native" and isinstance(out, Path):
        with results("--out", out) as place:
            names = write_traces(place, result.subject, result.program, traces, result.shortest)
            write_json(str(folder(place) / REPORT), result.document)
    else:
        names = write_traces(out, result.subject, result.program, traces, result.shortest)
        for old in out.glob(f"*{TRACE}"):
            if old.name not in names:
                old.unlink()
    return [out / name for name in names]
