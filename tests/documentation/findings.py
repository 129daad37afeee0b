"""docs/findings: what is wrong with released controllers, as the recorded evidence says, and a page for each."""

import os
import re
from collections.abc import Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from attrs import evolve

from kraftcheck.ci.conformance.findings.causes import CELLS, COSTLY, WHOLE
from kraftcheck.ci.conformance.findings.pairs import choices, needed, recorded
from kraftcheck.ci.conformance.findings.report import LEGEND, ON_BY_DEFAULT, report, words
from kraftcheck.ci.conformance.findings.search import ABSENT, newest_of_lines
from kraftcheck.ci.conformance.kafka.cases import OLDER
from kraftcheck.ci.conformance.kafka.jars import known_versions
from kraftcheck.ci.systems.lookup import entries
from kraftcheck.model.rules.ruleset import KNOWN, MENDED, NEWEST, PRESETS, variants
from kraftcheck.properties.register.citations import Reference, references
from kraftcheck.properties.register.findings import FINDINGS, LIKELIHOODS, SEVERITIES, Finding
from kraftcheck.properties.register.verdicts import EVERY
from tests.shared.places import DOCS

FOLDER = DOCS / "findings"
KEY = re.compile(r"(?:KAFKA-|PR )\d+")  # an issue or a pull request as reports name it

HEAD = """# What we found in Kafka

Defects of Kafka's controller and replica logic, worst first. Each row leads to a report that can be filed as it stands:
what it needs, the steps, what is expected, what happens, a workaround, the mend, and a test where classes show it.

The column {newest} has the strongest proof:

{legend}

The column likely says what it takes beside the needs:

{likely}

{elr}

Known defects of other parts are [below](#known-defects-beside-these).

The newest releases of their lines that were asked: {asked}. Of a release that is not named nothing is
said. Rules of brokers were read in the source of October 2024, and classes of brokers were asked of {newest}, those of
heartbeats of {older} too.
"""

TAIL = """## How they were found

The explorer finds each from the rules of a release: a property is refuted, and the shortest trace becomes a test that
takes the same steps on the controller's own classes; where the defect is a broker's, its classes are asked. One more
search for each finding and release switches off exactly the finding's choices: then the property holds, so that nothing
else is needed to mend it. `padded-config` alone has no
search: no explored system has the text of a configuration. Some findings were shown on
[live clusters](../reference/live-findings.md); a page says what came of each try, or why there was none. Workarounds
follow from the rules, and a page says where one was tried on a live cluster.

```text
kraftcheck findings
kraftcheck bugs --kafka {newest}
kraftcheck findings --run --kafka {newest} --out findings
```

The second command searches again, with and without each mend, and needs no Java. The third asks the classes too, and
writes each trace as ITF JSON and as a JUnit test. It ends with 23 where a release answers otherwise than recorded here.
`python -m kraftcheck.ci.conformance.findings.command` writes the record. The tests are also in the folder
`docs/findings/tests`, with [what they need](tests/README.md): nightly tests compile them and run them on the newest
release.

**No third kind.** In each scope of the [verdicts](../reference/verdicts.md), each property that the newest release
refutes has a finding, or a reason: a choice that is [none](#no-findings). So has each that the newest of another line
refutes, or a later release has mended the choice. A finding's page lists what its defect breaks, put into right rules
alone, or together with others. {cells}
`python -m kraftcheck.ci.conformance.findings.causes` writes the record.

**Mends.** Mends of the newest release, alone and in pairs, are judged by every property: {pairs}
`python -m kraftcheck.ci.conformance.findings.pairs` writes the record.
The rule set `{mended}` is the release with every finding mended, and what others have reported. In the scopes of the
[verdicts](../reference/verdicts.md) it keeps every promise but {given_up}. {needed} What is left between it and right
rules is [no finding](#no-findings):

```console
$ kraftcheck diff {mended} fixed elections --scope tiny --quiet
...
choice                            A    B  what is so with it
...
elr-downgrade                     yes     ELR can be switched off again, by a downgrade
completion-tolerates-stragglers   yes     a reassignment that adds as many as it removes waits for the added ones only
...
completes-in-sync  refuted 4  holds  mended  a reassignment completes only once every replica that stays is in sync
...
1 mended, first decided otherwise in 2 steps (exit 1)
```

**Reports.** A dash means that no report was found, by the words on the finding's page. Pull requests and issues of
public repositories were searched with them, and web pages for the worst: KIPs, Kafka's mailing lists, and those JIRA
tickets that were among them. Kafka's JIRA as a whole was not: search it for the same words before you file.
"""


def page() -> str:
    """The text of the first page."""
    newest = known_versions()[-1]
    legend, likely = ("\n".join(f"* {name}: {text}" for name, text in one.items()) for one in (LEGEND, LIKELIHOODS))
    asked = ", ".join(newest_of_lines(known_versions()))
    told = {"newest": newest, "legend": legend, "likely": likely, "asked": asked,
            "elr": ON_BY_DEFAULT.strip()}  # fmt: skip
    lines = [HEAD.format(**told, older=", ".join(OLDER))]
    for heading, those in headed():
        lines += [f"## {heading}\n", f"| finding | {newest} | likely | releases | reported |\n|---|---|---|---|---|"]
        for finding in those:
            shown = words(finding)
            title = f"[{finding.title}]({finding.id}.md)"
            known = references(finding.reported) if finding.reported else ()
            reported = ", ".join(_link(evolve(one, text=KEY.findall(one.text)[0])) for one in known)
            lines.append(f"| {title} | {shown[newest]} | {finding.likely} | {_span(shown)} | {reported or '-'} |")
        lines.append("")
    tail = TAIL.format(
        newest=newest, mended=MENDED, cells=_cells(), pairs=_pairs(), given_up=_given_up(), needed=_needed()
    )
    return "\n".join([*lines, tail, *_no_findings()]) + "\n"


def headed() -> Iterator[tuple[str, list[Finding]]]:
    """The headings of the first page with their findings: what the newest release has, by its cost; the others."""
    newest = known_versions()[-1]
    there = {one.id: words(one)[newest] != ABSENT for one in FINDINGS}
    for severity, meaning in SEVERITIES.items():
        yield meaning.capitalize(), [one for one in FINDINGS if one.severity == severity and there[one.id]]
    yield "Fixed in a release", [one for one in FINDINGS if not there[one.id]]


def _cells() -> str:
    """How scopes were searched for causes, in sentences."""
    every = dict.fromkeys((system, scope) for system, scope, _ in EVERY if system in dict(CELLS))
    groups = (WHOLE, (one for one in CELLS if one in COSTLY), (one for one in every if one not in CELLS))
    whole, costly, left = (", ".join(f"`{' '.join(one)}`" for one in cells) for cells in groups)
    return (
        f"Each defect was put there in {whole}; in the other {len(CELLS) - len(WHOLE)} scopes as many were as it takes "
        f"for each property to have one. Where searches take long the newest release alone was asked: "
        f"{costly}." + (f" In {left} it is not asked yet: there are up to tens of millions of states." if left else "")
    )


def _pairs() -> str:
    """How many mends and pairs of them were judged, in which scopes, and which are left to the night, in sentences."""
    rows = recorded()
    assert not any(row.breaking for row in rows)
    own, night = [row for row in rows if row.mends], {*CELLS} - {(row.system, row.scope) for row in rows}
    left = ", ".join(f"`{' '.join(cell)}`" for cell in CELLS if cell in night)
    return (
        f"{sum(row.pairs for row in rows):,} were in {len(own)} scopes, and none breaks a promise that the release "
        f"keeps; in {len(rows) - len(own)} others no mend changes anything. In {len(night)} scopes they are not judged "
        f"yet: {left}."
    )


def _given_up() -> str:
    """What the mended release still breaks, each with the choice whose reason says so."""
    lost = dict.fromkeys(claim for row, found in EVERY.items() if row[2] == MENDED for claim in found)
    kept = {name: one.metadata["reason"] for name, one in variants().items() if PRESETS[MENDED].value(one.name)}
    by = {claim: next(name for name, reason in kept.items() if f"`{claim}`" in reason) for claim in lost}
    return ", ".join(f"`{claim}` (`{name}`)" for claim, name in by.items())


def _needed() -> str:
    """Which choices of the mended release are needed, in sentences."""
    shown, own = {row.choice for row in needed()}, choices()
    idle = ", ".join(f"`{name}`" for name in own if name not in shown)
    return (
        f"Of its {len(own)} choices {len(shown)} are each needed: put back alone, each breaks a promise that it keeps. "
        f"No explored scope shows that of {idle}: others make up for them, or no system has what they change."
    )


def in_short() -> str:
    """The table of the README: what is open in the newest release, by what it costs."""
    rows = list(headed())[:-1]
    return "".join(
        f"| {meaning[0].lower()}{meaning[1:]} | {len(those)} | [{those[0].title}](docs/findings/{those[0].id}.md) |\n"
        for meaning, those in rows
    )


def _span(shown: Mapping[str, str]) -> str:
    """The releases that have a finding, in short."""
    there = [release for release, one in shown.items() if one != ABSENT]
    return there[0] if len(there) == 1 else f"{there[0]} to {there[-1]}"


def _no_findings() -> Iterator[str]:
    """The choices of the newest release that are no finding, and why."""
    reasoned = {name: one.metadata for name, one in variants().items() if one.metadata["reason"]}
    known = {name: one for name, one in reasoned.items() if KNOWN in one["reason"]}
    yield "## Known defects beside these\n"
    yield f"What {NEWEST} breaks by these is reported by others, with a mend that waits or was closed:\n"
    yield from _reasons(known)
    yield '\n<a id="no-findings"></a>\n\n## What is no finding\n'
    yield f"What {NEWEST} does otherwise than `fixed` besides, and why it is none:\n"
    yield from _reasons({name: one for name, one in reasoned.items() if name not in known})


def _reasons(choices: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    yield "| choice | says | reason |\n|---|---|---|"
    yield from (f"| `{name}` | {one['text']} | {one['reason']} |" for name, one in choices.items())


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
