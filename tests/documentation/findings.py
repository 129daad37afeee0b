"""docs/reference/findings.md: what is wrong with released controllers, as the recorded evidence says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kraftcheck.ci.conformance.findings.command import LEGEND, UNREPORTED, for_ever, newest_of_lines, word
from kraftcheck.ci.conformance.findings.live import Observation, observations
from kraftcheck.ci.conformance.findings.search import NOT_RUN, Evidence, recorded, rules_of
from kraftcheck.ci.conformance.kafka.jars import known_versions
from kraftcheck.model.rules.ruleset import MENDED, NEWEST, variants
from kraftcheck.properties.register.citations import references
from kraftcheck.properties.register.findings import FINDINGS, Finding, FindingSearch
from tests.properties.register.rules_page import sources

HEAD = """# Findings

What is wrong with the controllers of released Kafka, worst first: each finding with its effect, the shortest way there,
what shows it, and what a mend has to keep.

The explorer finds each from the rules of the release: a property is refuted. Where other defects of the release break
the same property sooner, they are switched off, and the command beside the trace says which. The shortest trace then
becomes a test that takes the same steps on the release's own classes. What was also tried on a cluster of released
brokers and controllers is on [its own page](live-findings.md), with all that was measured. For each finding and release
in which it shows, one more search switches off exactly the finding's choices: then the property holds, so that nothing
else is needed to mend it. One finding, `padded-config`, has no search: no explored system has the text of a
configuration.

There is no third kind: what the newest release does otherwise than `fixed` is a finding, or
[says why it is none](#no-findings). The rule set `{mended}` is the release with every finding mended. It
keeps every promise but those that a release gives up on purpose ([verdicts](verdicts.md)).

```text
kraftcheck findings
kraftcheck bugs --kafka {newest}
kraftcheck findings --run --kafka {newest} --out findings
```

The second command searches again, with and without each mend, and needs no Java. The third asks the classes too, and
writes each trace as ITF JSON and as a JUnit test. It ends with 23 where a release answers otherwise than recorded here.
`python -m kraftcheck.ci.conformance.findings.command` writes the record.

In the table, {legend}.

"""


def page() -> str:
    """The text of the page."""
    evidence, live = recorded(), {(one.finding, one.release): one for one in observations()}
    releases = newest_of_lines(known_versions())
    rows = [f"| finding | what goes wrong | {' | '.join(releases)} |", f"|---|---|{'---|' * len(releases)}"]
    for finding in FINDINGS:
        words = [word(evidence.get((finding.id, one)), live.get((finding.scenario, one))) for one in releases]
        rows.append(f"| [`{finding.id}`](#{finding.id}) | {finding.title} | {' | '.join(words)} |")
    parts = [line for finding in FINDINGS for line in _part(finding, evidence, live)]
    head = HEAD.format(newest=known_versions()[-1], mended=MENDED, legend=LEGEND)
    return head + "\n".join([*rows, "", *parts, *_no_findings()]) + "\n"


def _no_findings() -> Iterator[str]:
    """The choices of the newest release that are no finding, and why."""
    yield '<a id="no-findings"></a>\n\n## What is no finding\n'
    yield f"What {NEWEST} does otherwise than `fixed`, and why it is none:\n"
    yield "| choice | says | reason |\n|---|---|---|"
    for name, choice in variants().items():
        if choice.metadata["reason"]:
            yield f"| `{name}` | {choice.metadata['text']} | {choice.metadata['reason']} |"


def _part(
    finding: Finding, evidence: Mapping[tuple[str, str], Evidence], live: Mapping[tuple[str, str], Observation]
) -> Iterator[str]:
    rows = {release: evidence.get((finding.id, release)) for release in known_versions()}
    yield f"## {finding.id}\n"
    yield f"{finding.title}\n"
    yield f"**Effect.** {finding.effect}\n"
    yield f"**Where.** {sources(references(finding.source))}\n"
    rules = ", ".join(f"[`{rule}`](rules.md#{rule})" for rule in finding.rules)
    yield f"**Rule.** {rules}; switched by {', '.join(f'`{name}`' for name in finding.switches)}\n"
    yield f"**Mend.** {finding.mend}\n"
    known = references(finding.reported) if finding.reported else ()
    yield f"**Reported.** {sources(known) or UNREPORTED}\n"
    words = {release: word(row, live.get((finding.scenario, release))) for release, row in rows.items()}
    yield f"**Releases.** {', '.join(f'{release} {one}' for release, one in words.items() if one != NOT_RUN)}.\n"
    if finding.scenario:
        yield f"**Live.** [`{finding.scenario}`](live-findings.md#{finding.scenario})\n"
    if finding.search is not None:
        yield from _trace(finding, finding.search, [row for row in rows.values() if row and row.steps is not None][-1])


def _trace(finding: Finding, search: FindingSearch, shown: Evidence) -> Iterator[str]:
    """The shortest trace, and the command that searches it."""
    kind = "Shortest trace" if shown.for_ever is None else "Lasso, its beginning the shortest"
    yield f"**{kind}**, by the rules of {shown.release}:\n"
    yield from (f"{number}. `{event}`" for number, event in enumerate(shown.events, 1))
    if shown.for_ever is not None:
        yield f"\n{for_ever(shown).capitalize()}."
    bounds = "".join(f" --{name} {value}" for name, value in search.bounds.items())
    yield "\n```text"
    yield (
        f"kraftcheck explore {search.system} --scope {search.scope}{bounds} "
        f"--rules {rules_of(finding, shown.release)} --property {search.property}"
    )
    yield "```\n"
