"""Violations of a log by the defect that is their cause, with what it costs and which release mends it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias

from kraftcheck.model.rules.ruleset import RELEASES, RIGHT, parse, variants
from kraftcheck.properties.register.findings import FINDINGS
from kraftcheck.solvers.logs.explain.judge import LogViolation, sentences
from kraftcheck.solvers.logs.explain.state import Batch, CompactBatch
from kraftcheck.solvers.logs.spells import Spell, on_purpose

Row: TypeAlias = Mapping[str, Any]

REPORT = re.compile(r"KAFKA-\d+|PR \d+")
"""A report by its number; the first that a finding has is its name here."""

NAMED, SHOWN = 5, 5
"""Partitions named in a line, and spells of a cause, that are shown to a reader who does not want all."""


def time_text(milliseconds: int | None) -> str | None:
    """A time in UTC, to the millisecond, as ISO 8601 has it."""
    if milliseconds is None:
        return None
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def is_deliberate(spell: Spell) -> bool:
    """Whether a release does on purpose what broke a property."""
    return bool(spell.switches) and all(map(on_purpose, spell.switches))


def is_meant(spells: Sequence[Spell], batch: Batch | CompactBatch, violation: LogViolation) -> bool:
    """Whether all that covers a violation after a batch is what a release does on purpose."""
    covering = [
        spell for spell in spells
        if violation.property in spell.properties and (violation.topic, violation.partition) in spell.partitions
        and spell.offset <= batch.last_offset and (spell.until is None or batch.last_offset <= spell.until)
    ]  # fmt: skip
    return bool(covering) and all(map(is_deliberate, covering))


def by_cause(spells: Sequence[Spell], rules: str) -> list[dict[str, Any]]:
    """A row for each cause, as plain values, by the rule set that it was judged by."""
    found: dict[tuple[tuple[str, ...], tuple[str, ...]], list[Spell]] = {}
    for spell in spells:
        found.setdefault((spell.switches, spell.suspects), []).append(spell)
    return [_row(switches, suspects, some, rules) for (switches, suspects), some in found.items()]


def _row(switches: Sequence[str], suspects: Sequence[str], spells: Sequence[Spell], rules: str) -> dict[str, Any]:
    says = sentences(parse(rules))
    properties = dict.fromkeys(name for spell in spells for name in spell.properties)
    about = [_known(name, rules) for name in switches or suspects]
    return {
        "deliberate": is_deliberate(spells[0]), "proven": bool(switches), "causes": about,
        "properties": [{"id": name, "says": says.get(name, "")} for name in properties],
        "spells": [
            {"from": spell.offset, "until": spell.until, "time": time_text(spell.time),
             "ended": time_text(spell.ended), "event": spell.event or None,
             "partitions": [f"{topic}-{index}" for topic, index in spell.partitions], "parts": spell.parts}
            for spell in spells
        ],
    }  # fmt: skip


def _known(name: str, rules: str) -> dict[str, Any]:
    """What is known of a choice: the finding, if it is one, and the first later release without it."""
    entry, finding = variants()[name].metadata, next((one for one in FINDINGS if name in one.switches), None)
    releases, wrong = list(RELEASES), name.replace("-", "_")
    later = releases[next((n for n, one in enumerate(releases) if rules.startswith(one)), -1) + 1 :]
    mended = next((one for one in later if RELEASES[one].value(wrong) == RIGHT.value(wrong)), None)
    return {
        "choice": name,
        "source": entry["source"],
        "finding": None if finding is None else finding.id,
        "title": f"{entry['text'][0].upper()}{entry['text'][1:]}." if finding is None else finding.title,
        "reported": "" if finding is None else "".join(REPORT.findall(finding.reported)[:1]),
        "effect": "" if finding is None else " ".join(finding.effect.split()),
        "mended_in": None if mended is None else mended.removeprefix("kafka-"),
    }


def lines(rows: Sequence[Row], every: bool = False) -> Iterator[str]:
    """The rows for a reader: a cause with what it breaks, its spells, what it costs, and what mends it."""
    for row in sorted(rows, key=lambda row: row["deliberate"]):
        word = "ON PURPOSE" if row["deliberate"] else "VIOLATED"
        yield f"  {word}: {title(row)}"
        for claim in row["properties"]:
            yield f"    {claim['id']}: {claim['says']}" if claim["says"] else f"    {claim['id']}"
        shown = row["spells"] if every else row["spells"][:SHOWN]
        yield from (f"    {_spell(spell, every)}" for spell in shown)
        if len(shown) < len(row["spells"]):
            yield f"    and {len(row['spells']) - len(shown)} times more"
        for one in row["causes"] if not row["deliberate"] else ():
            if one["effect"]:
                yield f"    costs: {one['effect']}"
            mended = one["mended_in"]
            yield "    " + (f"mended in Kafka {mended}" if mended else "no release that is known has mended it") + (
                f"; kraftcheck findings {one['finding']}" if one["finding"] else ""
            )  # fmt: skip


def brief(rows: Sequence[Row]) -> Iterator[str]:
    """A line for each defect, with how often it was met and what mends it; nothing of what is done on purpose."""
    for row in rows:
        if row["deliberate"]:
            continue
        mended = {one["mended_in"] for one in row["causes"]}
        mend = f"; mended in Kafka {', '.join(sorted(mended))}" if mended and None not in mended else ""
        last, count = row["spells"][-1], len(row["spells"])
        still = ", and still so" if any(one["until"] is None for one in row["spells"]) else ""
        often = "once" if count == 1 else f"{count} times"
        name = title(row) if row["causes"] else f"broken by no known defect: {label(row)}"
        yield f"{name} {often}, last at offset {last['from']}{still}{mend}"


def label(row: Row) -> str:
    """The name of a cause, short."""
    names = dict.fromkeys(one["reported"] or one["finding"] or one["choice"] for one in row["causes"])
    return " or ".join(names) or ", ".join(claim["id"] for claim in row["properties"])


def title(row: Row) -> str:
    """The sentence of a cause."""
    if not row["causes"]:
        return "no known defect is the cause"
    names = " or ".join(dict.fromkeys(one["reported"] or one["finding"] or one["choice"] for one in row["causes"]))
    title = row["causes"][0]["title"] if len(row["causes"]) == 1 else "several defects are known to break this"
    return f"{names}{'' if row['proven'] else ', perhaps'}: {title}"


def _spell(spell: Row, every: bool) -> str:
    names = spell["partitions"] if every else spell["partitions"][:NAMED]
    left = len(spell["partitions"]) - len(names)
    more = f" and {left} more" if left else ""
    until = "to the end" if spell["until"] is None else f"to {spell['until']}"
    lasts = f"offset {spell['from']}" + ("" if spell["until"] == spell["from"] else f" {until}")
    when = "" if spell["time"] is None else f", {spell['time'][:19].replace('T', ' ')}"
    parts = spell["parts"] if every else spell["parts"][:NAMED]
    told = f" ({', '.join(parts)}{', ...' * (len(parts) < len(spell['parts']))})" if parts else ""
    return f"{lasts}{when}: {', '.join(names)}{more}, by {spell['event'] or 'what is not explained'}{told}"
