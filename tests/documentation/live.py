"""docs/reference/live-findings.md: what was observed on live clusters, as the recorded runs say."""

from collections.abc import Iterator

from kraftcheck.ci.conformance.findings.live import SCENARIOS, Observation, observations
from kraftcheck.ci.conformance.findings.scenario import DEFAULTS, SETTINGS, Fact, in_words
from kraftcheck.properties.register.findings import FINDINGS

HEAD = """# Findings on live clusters

What was seen when a finding was tried on a cluster of released brokers and controllers, with all that was measured.

Each row was run by one command on the day that is given. A run starts controllers and brokers from the jars of Maven,
does the steps through Kafka's own clients, and measures what came of it. "Shown" follows from the measured facts alone.
"Not shown" is an outcome as well: it says nothing of other releases or other timings.

```text
python -m kraftcheck.ci.conformance.findings.live NAME --kafka VERSION
```

The exit code is 0 where the finding is shown and 23 where it is not. Nightly tests run each on the newest release.

## The clusters

Each broker and controller is a process of its own, on one machine with Linux and OpenJDK 17; no node is both. A broker
has two log directories. Nodes are formatted by `kafka-storage format` with the newest metadata.version of the release.
There is no TLS, and producers write with acks=all. Each scenario names its nodes, its features, and what it sets
otherwise than this table; producers are not idempotent, since one would wait for a node that stands still, and their
records are told apart by their values. All else is as by default, and so unclean elections are off.

"""


def page() -> str:
    """The text of the page."""
    entries = observations()
    releases = sorted({one.release for one in entries}, key=lambda name: [int(part) for part in name.split(".")])
    outcomes = {(one.finding, one.release): one.outcome for one in entries}
    rows = [f"| finding | {' | '.join(releases)} |", f"|---|{'---|' * len(releases)}"]
    for name, scenario in SCENARIOS.items():
        cells = " | ".join(outcomes.get((name, release), "not run") for release in releases)
        rows.append(f"| [`{name}`](#{name}): {scenario.title} | {cells} |")
    parts = [line for name in SCENARIOS for line in _part(name, [one for one in entries if one.finding == name])]
    settings = ["| setting | all runs | default |", "|---|---|---|"]
    for name, value in (one.split("=") for one in SETTINGS):
        settings.append(f"| `{name}` | {value} | {DEFAULTS[name]} |")
    return HEAD + "\n".join([*settings, "", "## The runs", "", *rows, "", *parts])


def _part(name: str, entries: list[Observation]) -> Iterator[str]:
    scenario = SCENARIOS[name]
    yield f"## {name}\n"
    own = ", ".join(f"[{one.id}](../findings/{one.id}.md)" for one in FINDINGS if one.scenario == name)
    yield f"{scenario.title}{f' Finding: {own}.' if own else ''} Catalogue: {scenario.finding}.\n"
    yield f"Cluster: {in_words(scenario.layout, SETTINGS)}.\n"
    yield f"Steps: {scenario.steps}\n"
    for one in entries:
        yield f"Kafka {one.release}, {one.date}: **{one.outcome}**.\n"
        yield "| measured | value |"
        yield "|---|---|"
        yield from (f"| {fact} | {_cell(value)} |" for fact, value in one.facts.items())
        yield ""


def _cell(value: Fact) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {count}" for key, count in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return f"{value:,}" if isinstance(value, int) else value.replace("|", "\\|").replace("\n", " ")
