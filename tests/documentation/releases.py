"""docs/reference/releases.md: which choice of the rule sets each release of Kafka has."""

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from kraftcheck.ci.conformance.findings.report import ASKED
from kraftcheck.ci.logs.releases import NEWEST_LEVELS, OLDER_CHOICES, OLDER_LEVELS, OLDEST, line_of
from kraftcheck.model.rules.ruleset import CHOICES, GROUP_OF, RELEASES, RuleSet, variant_name
from tests.ci.logs.test_log_older import NEEDED

HEAD = """# Releases of Kafka

Which choice of the rule sets each released Kafka has, made from the presets that kraftcheck explores.

A preset `kafka-VERSION` is a rule set, and a rule set is a value of each choice. `yes` says that what the choice says
is so in the release; an empty cell says that the right rule is, or the older one. Choices of the groups {asked}
are those of the controller: [conformance](conformance.md) says which classes of which release are asked, and in how
many cases. Those of the groups {unasked} are about brokers, but those of `features` about levels in the
controller. They were read in the snapshot of October 2024, or, of a later proposal or issue, in its first release;
`kraftcheck conform` asks no release for them, [brokers' classes](kafka-classes.md) are asked for some, and each
release's fetcher for [late replies](kafka-classes.md#late-replies-to-a-follower).

Releases that differ in no choice share a column.
"""


def columns() -> list[tuple[str, RuleSet]]:
    """The rule sets of the releases, with the releases that have each in a row."""
    runs = groupby(RELEASES.items(), lambda release: release[1])
    named = ((rules, [name.removeprefix("kafka-") for name, _ in run]) for rules, run in runs)
    return [(names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}", rules) for rules, names in named]


def page() -> str:
    """The text of the page."""
    sets = columns()
    had = [name for name in CHOICES if any(rules.value(name) for _, rules in sets)]
    differing = [name for name in had if not all(rules.value(name) for _, rules in sets)]
    same = [name for name in had if name not in differing]
    unasked = sorted({GROUP_OF[name] for name in had} - set(ASKED))
    head = HEAD.format(asked=_named(ASKED), unasked=_named(unasked))
    ranked = [(group, [name for name in same if GROUP_OF[name] == group]) for group in (*ASKED, *unasked)]
    alike = [line for group, names in ranked if names for line in ("", f"### {group}", "", *_alike(names))]
    parts = ["## What differs", "", *_differing(differing, sets), "", "## What every release has", *alike, ""]
    return "\n".join([head, *_levels(), *parts])


def _named(groups: Sequence[str]) -> str:
    return " and ".join(f"`{group}`" for group in groups)


def _levels() -> Iterator[str]:
    yield "The levels of metadata versions in production, by which `kraftcheck replay` tells who wrote a log, and the"
    yield "rule set that it takes: the newest release of the oldest line that supports the level."
    yield ""
    yield "| level | releases | rule set |\n|---|---|---|"
    runs = [(top, [name for name, _ in run]) for top, run in groupby(NEWEST_LEVELS.items(), lambda release: release[1])]
    for (below, _), (top, names) in pairwise([(max(OLDER_LEVELS.values()), []), *runs]):
        told = str(top) if top == below + 1 else f"{below + 1} to {top}"
        yield f"| {told} | {', '.join(names)} | `{line_of(top).preset}` |"
    yield ""
    yield "Logs of Kafka 3.0 to 3.8 are judged by what such logs have shown; the classes of these releases are not run."
    yield f"Their controllers do what that of {OLDEST} does, but for these choices:"
    yield ""
    yield "| releases | choice | source | captured logs that are not explained without it |\n|---|---|---|---|"
    for name, last in OLDER_CHOICES.items():
        line = next(line.rpartition(" ")[2] for line, level in OLDER_LEVELS.items() if level == last)
        logs = ", ".join(release for release, needed in NEEDED.items() if name in needed) or "none"
        yield f"| to {line} | `{name}` | {_source(name.replace('-', '_'))} | {logs} |"
    yield ""


def _differing(names: Sequence[str], sets: Sequence[tuple[str, RuleSet]]) -> Iterator[str]:
    yield f"| choice | {' | '.join(title for title, _ in sets)} | what is so with it | source |"
    yield "|---" * (len(sets) + 3) + "|"
    for name in names:
        cells = " | ".join("yes" if rules.value(name) else "" for _, rules in sets)
        yield f"| `{variant_name(name)}` | {cells} | {_text(name)} | {_source(name)} |"


def _alike(names: Sequence[str]) -> Iterator[str]:
    yield "| choice | what is so with it | source |"
    yield "|---|---|---|"
    for name in names:
        yield f"| `{variant_name(name)}` | {_text(name)} | {_source(name)} |"


def _text(name: str) -> str:
    return str(CHOICES[name].metadata["text"])


def _source(name: str) -> str:
    return str(CHOICES[name].metadata["source"])
