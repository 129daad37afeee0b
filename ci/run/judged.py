"""What a command judged, in the one form that every report is made from."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Mapping

from attrs import evolve, field, frozen

from kraftcheck.ci.run.walks import WALKED, Walked
from kraftcheck.ci.systems import report
from kraftcheck.ci.systems.subject import Subject
from kraftcheck.model.language.system import LIVENESS, Property, spelled
from kraftcheck.solvers.program.premises import checks_nothing
from kraftcheck.solvers.program.verdict import DEADLOCK, Holds, PropertyVerdict, Refuted, Trace
from kraftcheck.solvers.traces.render import lines
from kraftcheck.solvers.walks.walks import WalkFinding, unknown_text

HOLDS, NOTHING_FOUND, SHOWN, NOT_JUDGED = "holds", "nothing found", "shown", "not judged"
UNDECIDED = ("incomplete", "unknown", NOT_JUDGED)  # verdicts that say neither yes nor no


@frozen
class SourceLine:
    """A line of a file."""

    path: str  # relative to `base`, with `/`; absolute where that is empty
    line: int  # from 1
    base: str  # `REPOSITORY`, `PACKAGE`, or empty for a file of neither


@frozen
class JudgedProperty:
    """A property with its verdict in words."""

    id: str
    kind: str  # of the property, or `deadlock`
    verdict: str  # `holds`, `refuted 3`, `vacuous`, ...; walks say `nothing found`, which is no proof, and `shown`
    detail: str  # why, in words
    passed: bool  # whether the verdict is the one that it must be
    expected: str = HOLDS  # the verdict that it must be
    claim: Property | None = None  # the property; None for deadlock, and for one that the system does not have
    trace: Trace | None = None
    at: SourceLine | None = None  # where the source is that decides so, if that is not the property's own place

    @property
    def sentence(self) -> str:
        """The property in words."""
        return report.DEADLOCK_SAYS if self.claim is None else self.claim.sentence

    @property
    def undecided(self) -> bool:
        """Whether the engine said neither yes nor no."""
        return self.verdict in UNDECIDED

    def outcome(self) -> str:
        """The verdict in a line, with the expected one where that is another."""
        text = f"{self.verdict}: {self.detail}" if self.detail else self.verdict
        return text if self.expected == HOLDS or self.passed else f"expected {self.expected}, got {text}"


@frozen
class JudgedRun:
    """The properties that one engine judged of one subject."""

    subject: Subject
    engine: str  # `explore`, `prove` or `simulate`
    properties: tuple[JudgedProperty, ...]
    seconds: float = 0.0
    options: tuple[str, ...] = ()  # other words of the command that does it again
    folder: str = ""  # where that command is to be run, seen from the working folder; empty: there
    command: str = ""  # that judges all of it again, where it is none of a property
    name: str = ""  # in a table of runs; empty: the setting and the engine are its name

    def again(self, id_: str) -> str:
        """The command that judges a property again."""
        if self.command:
            return self.command
        change = f"cd {shlex.quote(self.folder)} && " if self.folder else ""
        return change + self.subject.again(id_, self.engine, self.options)

    def title(self) -> str:
        """The title that no other run has: its name, or system, scope, other bounds, rules and engine."""
        setting, preset = self.subject.setting, self.subject.system.scopes.get(self.subject.setting.scope, {})
        bounds = [f"{key}={spelled(value)}" for key, value in setting.bounds.items() if preset.get(key) != value]
        words = [self.subject.name, setting.scope, *bounds, self.subject.rules or "", self.engine]
        return self.name or " ".join(filter(None, words))

    def text(self, one: JudgedProperty) -> str:
        """All that is to be said of a property: the sentence, the verdict, the trace, the command."""
        trace = [] if one.trace is None else lines(one.trace)
        title = self.subject.title()
        return "\n".join([f"{one.id}: {one.sentence}", title, one.outcome(), *trace, f"again: {self.again(one.id)}"])


def judged(
    chosen: Subject,
    verdicts: Iterable[PropertyVerdict],
    expected: Mapping[str, str] | None = None,
    shortest: bool = True,
) -> tuple[JudgedProperty, ...]:
    """The verdicts of a search or proof, each `expected` or to hold, with `shortest` traces or not."""
    claims = claims_of(chosen)
    return tuple(
        expecting(
            JudgedProperty(
                one.claim, one.kind, report.word_of(one), report.detail(one, shortest),
                isinstance(one.verdict, Holds),
                claim=claims.get(one.claim),
                trace=one.verdict.trace if isinstance(one.verdict, Refuted) else None,
            ),
            (expected or {}).get(one.claim, HOLDS),
        )
        for one in verdicts
    )  # fmt: skip


def expecting(one: JudgedProperty, expected: str) -> JudgedProperty:
    """The property judged by the verdict that it must have; `refuted` stands for a trace of any length."""
    if expected == HOLDS:
        return one
    same = one.verdict == expected or (expected == "refuted" and one.verdict.startswith("refuted "))
    return evolve(one, expected=expected, passed=same)


def not_judged(chosen: Subject, ids: Iterable[str], reason: str) -> tuple[JudgedProperty, ...]:
    """Properties without a verdict, which is no pass."""
    claims = claims_of(chosen)
    return tuple(
        JudgedProperty(id_, claims[id_].kind if id_ in claims else DEADLOCK, NOT_JUDGED, reason, False,
                       claim=claims.get(id_))
        for id_ in ids
    )  # fmt: skip


def every_id(chosen: Subject) -> list[str]:
    """The properties of a subject, deadlock last."""
    return [*(claim.id for claim in chosen.system.properties(chosen.setting)), DEADLOCK]


def claims_of(chosen: Subject) -> dict[str, Property]:
    """The properties of a subject by id, its lemmas among them."""
    both = (*chosen.system.lemmas(chosen.setting), *chosen.system.properties(chosen.setting))
    return {claim.id: claim for claim in both}


@frozen
class RunsEvidence:
    """The evidence of runs on the properties of a subject, whichever engine drew them."""

    size: str  # how many runs and steps there were, in words
    traces: Mapping[str, Trace]  # what breaks a property, by its id
    missed: Collection[str]  # the goals that no run reached
    empty: Mapping[str, str]  # properties that no state and no step could break, with the reason
    reason: str | None  # why steps were left out; None where none were
    # lassos that seem to break a liveness property, by its id
    suspects: Mapping[str, WalkFinding] = field(factory=dict)


def judged_by_walks(walked: Walked) -> tuple[JudgedProperty, ...]:
    """The verdicts of random walks on the properties that they judge; none is `holds`."""
    walks = walked.walks
    evidence = RunsEvidence(
        f"{walks.runs:,} runs, {walks.steps:,} steps", {found.trace.claim: found.trace for found in walked.findings},
        {goal.id for goal in walks.goals_missed}, checks_nothing(walks.program), walks.cut or walks.fault,
        {one.trace.claim: one for one in walks.suspects},
    )  # fmt: skip
    return judged_by_runs(walked.subject, evidence)


def judged_by_runs(chosen: Subject, shown: RunsEvidence) -> tuple[JudgedProperty, ...]:
    """The verdicts of runs on the properties that they judge; none is `holds`."""
    claims, rows, empty = claims_of(chosen), [], shown.empty
    for id_ in every_id(chosen):
        claim, trace = claims.get(id_), shown.traces.get(id_)
        kind = DEADLOCK if claim is None else claim.kind
        goal = kind in ("sometimes", "happens")
        if trace is not None:
            word, detail = f"refuted {len(trace.steps)}", f"by a trace of {len(trace.steps)} steps, not surely shortest"
        elif goal and id_ not in shown.missed and id_ not in empty:
            word, detail = SHOWN, shown.size
        elif kind in LIVENESS:
            suspect = shown.suspects.get(id_)
            word, detail = "unknown", unknown_text(suspect, shown.size)
            trace = None if suspect is None else suspect.trace
        elif kind not in WALKED:
            continue  # the report of walks names them: they are about all runs at once
        elif id_ in empty:
            word, detail = "vacuous", empty[id_]
        elif shown.reason is not None:
            word, detail = "incomplete", shown.reason
        elif goal:
            word, detail = "vacuous", f"not reached in {shown.size}"
        else:
            word, detail = NOTHING_FOUND, f"{shown.size}, not a proof"
        rows.append(JudgedProperty(id_, kind, word, detail, word in (SHOWN, NOTHING_FOUND), claim=claim, trace=trace))
    return tuple(rows)
