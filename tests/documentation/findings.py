"""docs/findings: what is wrong with released controllers, as the recorded evidence says, and a page for each."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from kraftcheck.ci.conformance.findings.causes import record
from kraftcheck.ci.conformance.findings.pairs import recorded
from kraftcheck.ci.conformance.findings.report import LEGEND, report, words
from kraftcheck.ci.conformance.findings.search import ABSENT, NOT_RUN
from kraftcheck.ci.conformance.kafka.jars import known_versions
from kraftcheck.ci.systems.lookup import entries
from kraftcheck.model.rules.ruleset import MENDED, NEWEST, variants
from kraftcheck.properties.register.citations import Reference
from kraftcheck.properties.register.findings import FINDINGS, SEVERITIES, Finding
from tests.shared.places import DOCS

FOLDER = DOCS / "findings"

HEAD = """# What we found in Kafka

Defects of the controller and the replica logic of released Kafka, worst first, each with a page that can be filed.

The explorer finds each from the rules of a release: a property is refuted, and the shortest trace becomes a test that
takes the same steps on the release's own classes. Some were also shown on
[live clusters](../reference/live-findings.md). One more search for each finding and release switches off exactly the
finding's choices: then the property holds, so that nothing else is needed to mend it. `padded-config` alone has no
search: no explored system has the text of a configuration. Workarounds follow from the rules, and were tried on no
cluster.

The page of a finding lists what its defect breaks alone, put into right rules, in the scopes where the newest release
of each line was searched: {cells}. There each property that one of these releases refutes has a finding, or a reason:
a choice that is [none](#no-findings), or that a later release has mended.
`python -m kraftcheck.ci.conformance.findings.causes` writes the record.

Each mend, alone and beside each other one, was judged by every property of the newest release: {pairs}. None breaks a
promise that the release keeps. `python -m kraftcheck.ci.conformance.findings.pairs` writes the record, and larger
scopes are searched by night.

A page has the mend as a diff in words, and names its JUnit test in the folder `docs/findings/tests`: nightly tests
compile these and run them on the newest release. Where no live cluster was tried, it says why.

The rule set `{mended}` is the release with every finding mended. It keeps every promise but those that a release gives
up on purpose ([verdicts](../reference/verdicts.md)). There is no third kind: what the newest release does otherwise
than `fixed` is a finding, or [says why it is none](#no-findings).

```text
kraftcheck findings
kraftcheck bugs --kafka {newest}
kraftcheck findings --run --kafka {newest} --out findings
kraftcheck diff {mended} fixed elections --scope tiny
```

The second command searches again, with and without each mend, and needs no Java. The third asks the classes too, and
writes each trace as ITF JSON and as a JUnit test. It ends with 23 where a release answers otherwise than recorded here.
The fourth shows what the release does otherwise than `fixed` once every finding is mended.
`python -m kraftcheck.ci.conformance.findings.command` writes the record.

In the tables, {legend}.
"""


def page() -> str:
    """The text of the first page."""
    newest = known_versions()[-1]
    lines = [HEAD.format(newest=newest, mended=MENDED, legend=LEGEND, cells=_cells(), pairs=_pairs())]
    for severity, meaning in SEVERITIES.items():
        lines += [f"## {meaning.capitalize()}\n", f"| finding | needs | {newest} | releases |\n|---|---|---|---|"]
        for finding in FINDINGS:
            if finding.severity == severity:
                shown = words(finding)
                title = f"[{finding.title}]({finding.id}.md)"
                lines.append(f"| {title} | {finding.needs} | {shown[newest]} | {_span(shown)} |")
        lines.append("")
    return "\n".join([*lines, *_no_findings()]) + "\n"


def _cells() -> str:
    """The scopes that were searched for causes."""
    return ", ".join(dict.fromkeys(f"`{row.system} {row.scope}`" for row in record().broken))


def _pairs() -> str:
    """How many mends and pairs of them were judged, by scope."""
    return ", ".join(f"{row.pairs:,} in `{row.system} {row.scope}`" for row in recorded())


def in_short() -> str:
    """The table of the README: what is open in the newest release, by what it costs."""
    newest, rows = known_versions()[-1], list[str]()
    for severity, meaning in SEVERITIES.items():
        open_ = [one for one in FINDINGS if one.severity == severity and words(one)[newest] not in (ABSENT, NOT_RUN)]
        rows.append(f"| {meaning} | {len(open_)} | [{open_[0].title}](docs/findings/{open_[0].id}.md) |\n")
    return "".join(rows)


def _span(shown: Mapping[str, str]) -> str:
    """The releases that have a finding, in short."""
    there = [release for release, one in shown.items() if one not in (ABSENT, NOT_RUN)]
    between = list(shown)[list(shown).index(there[0]) : list(shown).index(there[-1]) + 1]
    if between == there:
        return there[0] if len(there) == 1 else f"{there[0]} to {there[-1]}"
    return ", ".join(there)


def _no_findings() -> Iterator[str]:
    """The choices of the newest release that are no finding, and why."""
    yield '<a id="no-findings"></a>\n\n## What is no finding\n'
    yield f"What {NEWEST} does otherwise than `fixed`, and why it is none:\n"
    yield "| choice | says | reason |\n|---|---|---|"
    for name, choice in variants().items():
        if choice.metadata["reason"]:
            yield f"| `{name}` | {choice.metadata['text']} | {choice.metadata['reason']} |"


def _link(reference: Reference) -> str:
    target = reference.target
    return f"[{reference.text}]({target if target.startswith('https:') else os.path.relpath(target, 'docs/findings')})"


def _report(finding: Finding) -> str:
    return report(finding, _says(), _link)


@cache
def _says() -> Mapping[str, str]:
    return {entry.rule.id: entry.rule.says for entry in entries()}


REPORTS: Mapping[Path, Any] = {FOLDER / f"{one.id}.md": partial(_report, one) for one in FINDINGS}
"""The page of each finding."""
