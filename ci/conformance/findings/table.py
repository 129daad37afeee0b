"""Findings in words: the table of findings by release, and all that is known of one."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from kraftcheck.ci.conformance.findings.evidence import ABSENT, LIVE, MANAGERS, NOT_RUN, RULES, Evidence
from kraftcheck.ci.conformance.findings.observed import SHOWN, Observation
from kraftcheck.properties.register.citations import references
from kraftcheck.properties.register.findings import Finding

UNREPORTED = "no report is known"

WIDTH = 118
"""The width of the text of a finding."""

LEGEND = (
    f"{LIVE}: shown on a cluster of the release; {MANAGERS}: its own classes take the steps of the trace; {RULES}: the "
    f"rules of the release show it, and its classes were not asked, or it is no event of theirs; {ABSENT}: its rules "
    f"do not show it; {NOT_RUN}: neither searched nor run"
)
"""What the words of the table mean."""


def word(evidence: Evidence | None, live: Observation | None) -> str:
    """The strongest that shows a finding in a release."""
    if live is not None and live.outcome == SHOWN:
        return LIVE
    if evidence is None:
        return NOT_RUN
    if evidence.steps is None:
        return ABSENT
    return MANAGERS if evidence.managers == SHOWN else RULES


def newest_of_lines(releases: Sequence[str]) -> tuple[str, ...]:
    """The newest release of each line, such as 4.1.2 of 4.1; releases are in order of age.

    >>> newest_of_lines(("4.0.0", "4.0.2", "4.1.0"))
    ('4.0.2', '4.1.0')
    """
    return tuple({release.rpartition(".")[0]: release for release in releases}.values())


def about(
    finding: Finding, rows: Mapping[str, Evidence | None], live: Mapping[str, Observation], rules: Mapping[str, str]
) -> Iterator[str]:
    """All that is known of a finding, line by line.

    Args:
        finding: which.
        rows: the evidence by release, oldest first; None where nothing was searched.
        live: that of live clusters by release.
        rules: what each rule of the model says, by id.
    """
    yield f"{finding.id}: {finding.title}"
    yield from _wrapped("effect", finding.effect)
    yield from _wrapped("source", "; ".join(reference.text for reference in references(finding.source)))
    for rule in finding.rules:
        yield from _wrapped("rule", f"{rule}: {rules[rule]}")
    yield from _wrapped("mend", finding.mend)
    yield from _wrapped("reported", finding.reported or UNREPORTED)
    words = ((release, word(row, live.get(release))) for release, row in rows.items())
    yield from _wrapped("releases", ", ".join(f"{release} {one}" for release, one in words if one != NOT_RUN))
    if live:
        outcomes = ", ".join(f"{release} {observed.outcome}" for release, observed in live.items())
        yield from _wrapped("live", f"scenario {finding.scenario}: {outcomes}")
    shown = [row for row in rows.values() if row is not None and row.steps is not None]
    if shown:
        yield f"  trace      {shown[-1].steps} steps by the rules of {shown[-1].release}:"
        yield from (f"             {number}. {event}" for number, event in enumerate(shown[-1].events, 1))
        if shown[-1].for_ever is not None:
            yield f"             {for_ever(shown[-1])}"


def for_ever(row: Evidence) -> str:
    """What is for ever at the end of a lasso, in words.

    >>> for_ever(Evidence("f", "4.4.0", 1, True, None, ("a()",), 0))
    'for ever: nothing happens any more'
    >>> for_ever(Evidence("f", "4.4.0", 3, True, None, ("a()", "b()", "c()"), 2))
    'for ever: steps 2 to 3 again'
    """
    if not row.for_ever:
        return "for ever: nothing happens any more"
    last = len(row.events)
    return f"for ever: steps {last - row.for_ever + 1} to {last} again"


def _wrapped(heading: str, text: str) -> list[str]:
    """A text beside its heading."""
    return textwrap.wrap(text, WIDTH, initial_indent=f"  {heading:11}", subsequent_indent=" " * 13)
