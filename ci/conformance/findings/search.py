"""The search of a finding with the rules of a release: does it show, how soon, and is its mend a mend?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import attrs
from attrs import frozen

from kraftcheck.ci.run.questions import run_to_end
from kraftcheck.ci.systems.subject import Subject, program, subject
from kraftcheck.ci.terminal.files import read_json, write_json
from kraftcheck.model.rules.ruleset import without
from kraftcheck.properties.register.findings import Finding, FindingSearch
from kraftcheck.solvers.exploration.explore import SearchBudget
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import Holds, Refuted, Trace


class UndecidedFinding(RuntimeError):
    """A search that neither refutes the property nor shows that it holds; the message names it."""


def newest_of_lines(releases: Sequence[str]) -> tuple[str, ...]:
    """The newest release of each line, such as 4.1.2 of 4.1; releases are in order of age.

    >>> newest_of_lines(("4.0.0", "4.0.2", "4.1.0"))
    ('4.0.2', '4.1.0')
    """
    return tuple({release.rpartition(".")[0]: release for release in releases}.values())


@frozen
class ReleaseSearch:
    """What the rules of a release say of a finding."""

    # finding, release: what was searched with which rules
    finding: Finding
    release: str
    subject: Subject  # the search
    program: Program  # the traced system
    trace: Trace | None  # the shortest counterexample; None where the property holds
    # whether the property holds once the finding's choices alone are switched off; None without a trace
    mend_suffices: bool | None

    @property
    def steps(self) -> int | None:
        """The length of the trace; None where the property holds."""
        return None if self.trace is None else len(self.trace.steps)

    @property
    def for_ever(self) -> int | None:
        """How many steps the cycle of a lasso has; 0 where nothing happens any more, None for what is no lasso."""
        if self.trace is None or self.trace.loop is None:
            return None
        return len(self.trace.steps) - self.trace.loop.start


def rules_of(finding: Finding, release: str, *also_off: str) -> str:
    """The rule set of a search: that of the release, less what breaks the property by another way.

    >>> from kraftcheck.properties.register.findings import BY_ID
    >>> rules_of(BY_ID["dead-last-known-leader"], "4.0.2")
    'kafka-4.0.2-unfence-ignores-controlled-shutdown'
    """
    return without(f"kafka-{release}", (*wanted(finding).without, *also_off))


def search(finding: Finding, release: str, budget: SearchBudget, quiet: bool) -> ReleaseSearch:
    """Search a finding with a release's rules, and its mend; raises UndecidedFinding, and Interrupted by a signal."""
    chosen = subject_of(finding, rules_of(finding, release))
    traced, claim = program(chosen), wanted(finding).property
    trace = refuted(traced, finding.id, budget, quiet, (claim,)).get(claim)
    suffices = None
    if trace is not None:
        mended = subject_of(finding, rules_of(finding, release, *finding.switches))
        suffices = claim not in refuted(program(mended), finding.id, budget, quiet, (claim,))
    return ReleaseSearch(finding, release, chosen, traced, trace, suffices)


def refuted(
    traced: Program, title: str, budget: SearchBudget, quiet: bool, only: Sequence[str] = ()
) -> dict[str, Trace]:
    """The refuted properties of a program, or of some, with traces; raises UndecidedFinding, or Interrupted."""
    traces: dict[str, Trace] = {}
    for one in run_to_end(traced, budget, quiet, title).verdicts:
        if one.kind == "sometimes" or (only and one.claim not in only):
            continue
        if isinstance(one.verdict, Refuted):
            traces[one.claim] = one.verdict.trace
        elif not isinstance(one.verdict, Holds):
            raise UndecidedFinding(f"{title}: {one.claim} is {type(one.verdict).__name__.lower()}")
    return traces


def wanted(finding: Finding) -> FindingSearch:
    """The search of a finding that has one; raises ValueError for another."""
    if finding.search is None:
        raise ValueError(f"no explored system shows {finding.id}")
    return finding.search


def subject_of(finding: Finding, rules: str) -> Subject:
    """What is searched; raises ValueError for a finding without a search."""
    place = wanted(finding)
    whole = subject(place.system, place.scope, place.bounds, rules)
    if all(claim.id != place.property for claim in whole.system.properties(whole.setting)):
        return whole
    return subject(place.system, place.scope, place.bounds, rules, only=(place.property,))


PLACE = Path(__file__).parent / "evidence.json"

LIVE, CLASSES, IN_PART, ONE_CLASS, RULES, ABSENT = "live", "classes", "in part", "one class", "rules", "no"
"""The strongest that shows a finding: a live cluster, the release's own classes, these but for the step that does the
harm, one class of its brokers, its rules; or it is not there."""


@frozen
class Evidence:
    """What was observed of a finding in a release."""

    # finding, release: of which
    finding: str
    release: str
    steps: int | None  # the length of the shortest trace by the rules of the release; None where the property holds
    # whether the property holds with the finding's choices alone switched off; None without a trace
    mend_suffices: bool | None
    # how the classes of the release answer the trace, that of the newest release that has one where its own rules have
    # none; None where they were not asked
    managers: str | None
    events: tuple[str, ...]  # the steps of the trace
    # how many of its last steps are repeated for ever, 0 where nothing happens any more; None for a trace that is no
    # lasso, and without a trace
    for_ever: int | None = None


def recorded() -> dict[tuple[str, str], Evidence]:
    """The recorded evidence by finding and release."""
    return {(row.finding, row.release): row for row in rows_of(PLACE, Evidence)}


Row = TypeVar("Row")


def rows_of(path: Path, kind: Callable[..., Row]) -> list[Row]:
    """The rows of a record, lists in their fields as tuples."""
    tables = (row.items() for row in read_json(path))
    return [kind(**{key: tuple(one) if isinstance(one, list) else one for key, one in row}) for row in tables]


def write_rows(path: Path, rows: Iterable[Any]) -> None:
    """Write a record, whole; nothing is said of a field that has its default."""
    write_json(str(path), [attrs.asdict(row, filter=lambda field, value: value != field.default) for row in rows])
