"""Numbers of a cluster in Prometheus' text format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, TypeAlias

from kraftcheck.ci.logs.condition import EXITS
from kraftcheck.ci.logs.releases import WRITER

Value: TypeAlias = tuple[Mapping[str, object], object]
Labelled: TypeAlias = Iterable[Value]
"""Values with their labels; a value that is None is larger than any that was looked for."""


def gauge(name: str, help_text: str, values: Labelled) -> Iterator[str]:
    """The lines of a gauge."""
    yield f"# HELP kraftcheck_{name} {help_text}"
    yield f"# TYPE kraftcheck_{name} gauge"
    for labels, value in values:
        told = ",".join(f'{label}="{_escaped(str(text))}"' for label, text in labels.items())
        yield f"kraftcheck_{name}{f'{{{told}}}' if told else ''} {'+Inf' if value is None else value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def not_known(in_part: bool, unexplained: int, doubts: Iterable[str]) -> Iterator[str]:
    """The gauges of what a log does not tell: while one is not 0 the others may be too good."""
    guessed = any(doubt.startswith(("WARNING", WRITER)) for doubt in doubts)
    why = {"read in part": in_part, "unexplained": unexplained > 0, "guessed": guessed}
    values = (({"because": word}, int(so)) for word, so in why.items())
    yield from gauge("not_all_known", "Whether more may be wrong than the other numbers say.", values)
    about = "Batches of the log that are not what the rules write."
    yield from gauge("unexplained_batches", about, [({}, unexplained)])


def of_status(found: Mapping[str, Any]) -> str:
    """The gauges of a condition, as `condition_of` has it; what a log does not tell has no line."""
    rows, brokers = found["partitions"], Counter(row["state"] for row in found["brokers"])
    states = Counter(row["state"] for row in rows)
    where = [({"topic": row["topic"], "partition": row["partition"], "state": row["state"]}, 1)
             for row in rows if row["state"] != "well"]  # fmt: skip
    time: list[Value] = []
    if found["time"] is not None:
        time = [({}, datetime.fromisoformat(found["time"]).timestamp())]
    defects = [({"defect": one["finding"] or one["choice"], "proven": row["proven"]}, len(row["spells"]))
               for row in found["defects"] if not row["deliberate"] for one in row["causes"]]  # fmt: skip
    lost = sum(row["lost"] is not None or row["recovering"] for row in rows)
    offset: list[Value] = [] if found["offset"] is None else [({}, found["offset"])]
    doing = [({"state": state}, count) for state, count in sorted(brokers.items())]
    lines = (
        *gauge("partitions", "Partitions by what they are, each at its worst.", (
            ({"state": state}, states[state]) for state in EXITS)),
        *gauge("partition_in_danger", "Each partition that is not well.", where),
        *gauge("brokers", "Registered brokers by what they do.", doing),
        *gauge("partitions_may_have_lost_records", "Partitions led by a replica that need not have had all records.",
               [({}, lost)]),
        *gauge("known_defects", "How often the log has met a defect.", defects),
        *gauge("violations", "Violations in the log.", [({}, found["violations"])]),
        *not_known(found["in_part"], found["unexplained"], found["doubts"]),
        *gauge("log_offset", "The last offset of the log.", offset),
        *gauge("log_time_seconds", "When its last batch was written, in seconds since 1970.", time),
    )  # fmt: skip
    return "\n".join(lines) + "\n"
