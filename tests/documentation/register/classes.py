"""docs/reference/kafka-classes.md: what Kafka's own classes do, by release, as the tests that ask them expect."""

from collections.abc import Mapping
from itertools import groupby

from kraftcheck.ci.conformance.kafka.cases import CASES, OLDER
from kraftcheck.ci.conformance.kafka.drivers import PASSES
from kraftcheck.properties.register.citations import references
from tests.ci.conformance import test_kafka_defects as defects
from tests.ci.conformance.test_kafka_junit import AT_EACH_CHANGE, BY_NIGHT

HEAD = """# What Kafka's classes do

Which released classes have which defect, and what single classes of a broker do, as tests ask the classes themselves.

[Conformance](conformance.md) says how whole decisions are compared, [releases](releases.md) which choices of the rules
a release has.

## Defects on the released classes

One build of `PartitionChangeBuilder` for each, asked by `tests/ci/conformance/test_kafka_defects.py`. The build of B2
is by design; the defect was the caller that left ELR off, mended in 4.3.0. That a removed replica makes the last known
leader -1 is new with PR 20629: it repeats the leader, -1, which reads as a loss of leadership. B10 is new with
KAFKA-19975: after a reassignment is retargeted its two sets may overlap. [Findings on live clusters](live-findings.md)
has which requests lead to some of them.

"""

TRACES = """
## Counterexamples as tests

What the test of a trace in `tests/traces/` says on the managers of a release: it passes where the release has the
defect, and else fails at a field (`tests/ci/conformance/test_kafka_junit.py`, mostly by night).

"""

BROKER = """
## A broker's directories, moves and proposals

    .venv/bin/python -m kraftcheck.ci.conformance.kafka.cases broker 4.4.0

`ci/conformance/kafka/broker/BrokerDriver.java` puts each case to the classes of 4.4.0, and those of
`BrokerLifecycleManager` to {older} too; the controller, the clock and the rest of the broker are stubs, logs are real
where a case has one. What a case says is so. In one without an entry the class does what is right. Each is one step of
one class, or of several; the moves of several are the finding [move-never-ends](../findings/move-never-ends.md).

| entry | class of 4.4.0 | what it does |
|---|---|---|
"""

FETCHER = """
## Late replies to a follower

    .venv/bin/python -m kraftcheck.ci.conformance.kafka.cases fetcher 4.0.0 4.0.1 4.1.2 4.4.0

`AbstractFetcherThread` of a release sends a fetch to a stub of the leader. While the reply is under way, the partition
is handed to the fetcher again, as a new leader epoch hands it. `ci/conformance/kafka/fetcher/FetcherDriver.java` counts
what the fetcher would append. A reply of the current leader epoch is appended; one of an earlier epoch is dropped
where the log was cut since, and where it ends as it did by each release but 4.0.0, which appends it.

KAFKA-18723 made releases after 4.0.0 compare the epoch too, and append no record of a later epoch than the fetch's.
3.9.2 has that mend as well, as read in its classes. In system `replication` the choices `earlier-reply-applied` and
`append-beyond-fetch-epoch` are the two halves; with the bound `late-replies` they
[lose records](../explanation/systems/replication.md#late-replies).
"""


def page() -> str:
    """The text of the page."""
    broker = [f"| {_entry(case.entry)} | `{case.asked}` | {case.says} |" for case in CASES.values()]
    older = ", ".join(OLDER)
    parts = [HEAD + _matrix("defect", defects.CASES, _had()), TRACES + _matrix("trace", _traces(), _told())]
    return "\n".join([*parts, BROKER.format(older=older) + "\n".join(broker), FETCHER])


def _entry(entry: str) -> str:
    links = (
        [f"[{one.text}]({one.target.removeprefix('docs/reference/')})" for one in references(entry)] if entry else []
    )
    return ", ".join(links)


def _had() -> Mapping[str, Mapping[str, str]]:
    """By release, what each build shows."""
    return {
        release: dict(zip(defects.CASES, ("yes" if has else "" for has in row), strict=True))
        for release, row in defects.HAS.items()
    }


def _told() -> Mapping[str, Mapping[str, str]]:
    """By release, what the test of each trace says there."""
    found: dict[str, dict[str, str]] = {}
    for release in BY_NIGHT:
        told = {**BY_NIGHT[release], **AT_EACH_CHANGE.get(release, {})}
        found[release] = {name: "passes" if field == PASSES else f"fails at `{field}`" for name, field in told.items()}
    return dict(sorted(found.items()))


def _traces() -> list[str]:
    return sorted({name for row in _told().values() for name in row}, key=lambda name: (len(name.split("-")[0]), name))


def _matrix(head: str, rows: Mapping[str, object] | list[str], told: Mapping[str, Mapping[str, str]]) -> str:
    """A table with a column for each run of releases that are alike."""
    runs = [[release for release, _ in run] for _, run in groupby(told.items(), lambda one: sorted(one[1].items()))]
    names = [run[0] if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    lines = [f"| {head} | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    lines += [f"| {row} | {' | '.join(told[run[0]].get(row, '') for run in runs)} |" for row in rows]
    return "\n".join(lines)
