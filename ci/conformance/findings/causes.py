"""Which defect breaks which promise of a release in which scope: every property that its rules refute has a cause.

A cause is a finding that the release has, or a choice that is none; the latter has a reason, or a later release has
mended it. `python -m kraftcheck.ci.conformance.findings.causes [SYSTEM-SCOPE]...` writes the record, by three
searches: the release in each scope; each cause put alone into right rules; and where none alone breaks a property, all
causes put into right rules, and taken out one by one, the least first, as long as the property stays refuted.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import attrs
from attrs import frozen

from kraftcheck.ci.conformance.findings import search
from kraftcheck.ci.conformance.findings.search import newest_of_lines, recorded
from kraftcheck.ci.conformance.kafka.jars import known_versions
from kraftcheck.ci.run.questions import search_budget
from kraftcheck.ci.systems.subject import program, subject
from kraftcheck.ci.terminal.files import read_json, write_json
from kraftcheck.ci.terminal.machine import default_memory
from kraftcheck.model.rules.ruleset import CHOICES, NEWEST, PRESETS, RELEASES, RuleSet, variant_name
from kraftcheck.properties.register.findings import FINDINGS
from kraftcheck.properties.register.verdicts import EVERY
from kraftcheck.solvers.program.fingerprint import fingerprint
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import Trace

PLACE = Path(__file__).parent / "broken.json"

LINES = newest_of_lines(known_versions())  # the newest release of each line
Cell = tuple[str, str]  # a system and a scope

CELLS: tuple[Cell, ...] = tuple((system, scope) for system, scope, rules in EVERY if rules == NEWEST)
"""Where releases are asked: wherever the verdict about the newest is said."""


COSTLY: tuple[Cell, ...] = (
    ("elections", "default"), ("replication", "one-crash"), ("directories", "medium"), ("directories", "restarts"),
    ("kraft", "small"), ("kraft", "takeovers"), ("fair-directories", "small"), ("fair-directories", "restarts"),
)  # fmt: skip
"""Where the newest release alone is asked, since each search is of a million states and more."""


def lines(cell: Cell) -> tuple[str, ...]:
    """The releases that are asked in a scope: the newest of each line, or of a costly one the newest alone."""
    return LINES[-1:] if cell in COSTLY else LINES


WHOLE: tuple[Cell, ...] = (
    *((system, "tiny") for system in ("elections", "replication", "elr-index", "sessions")), ("directories", "torn"),
)  # fmt: skip
"""Where each cause is put alone into right rules; elsewhere those are that break the same elsewhere, until one does."""

RIGHT = PRESETS["fixed"]

MENDED_IN = "mended in"

Steps = Mapping[str, int]  # the refuted properties, with the lengths of their traces


@frozen
class Cause:
    """What a release does otherwise than `fixed`, as one defect."""

    name: str  # of the finding, or of the choice
    switches: frozenset[str]  # the choices
    reason: str  # why it is no finding of the newest release; empty for one


@cache
def causes(release: str) -> tuple[Cause, ...]:
    """What a release does otherwise than `fixed`: its findings, worst first, then the choices that are no finding's."""
    own, evidence = _own(f"kafka-{release}"), recorded()
    found = [
        Cause(finding.id, own & {*finding.switches}, "") for finding in FINDINGS
        if own & {*finding.switches} and ((row := evidence.get((finding.id, release))) is None or row.steps is not None)
    ]  # fmt: skip
    rest = own - {switch for finding in FINDINGS for switch in finding.switches}
    return (*found, *(Cause(name, frozenset((name,)), _reason(name, release)) for name in sorted(rest)))


def _own(preset: str) -> frozenset[str]:
    return _wrong(PRESETS[preset])


def _wrong(rules: RuleSet) -> frozenset[str]:
    return frozenset(variant_name(name) for name in CHOICES if rules.value(name) != RIGHT.value(name))


def _reason(choice: str, release: str) -> str:
    """Why a choice is no finding: as its entry says, or the release that has mended it; empty where nothing says so."""
    later = list(RELEASES)[list(RELEASES).index(f"kafka-{release}") :]
    mended = next((name for name in later if choice not in _own(name)), None)
    stated: str = CHOICES[choice.replace("-", "_")].metadata["reason"]
    return stated or ("" if mended is None else f"{MENDED_IN} {mended.removeprefix('kafka-')}")


def put_back(causes: Iterable[Cause]) -> str:
    """Right rules, with causes."""
    names = sorted({name for cause in causes for name in cause.switches})
    return "fixed" + "".join(f"{'-' if RIGHT.value(name.replace('-', '_')) else '+'}{name}" for name in names)


@frozen
class Broken:
    """What the rules of a release refute in a scope."""

    # release, system, scope: where
    release: str
    system: str
    scope: str
    refuted: Steps  # the properties, with the lengths of their traces
    # of a property that no cause breaks alone, causes that do together, none of them idle
    together: Mapping[str, Sequence[str]]


@frozen
class Alone:
    """What right rules with one cause refute in a scope."""

    rules: str  # the rule set
    # system, scope: where
    system: str
    scope: str
    refuted: Steps  # the properties, with the lengths of their traces


@frozen
class Record:
    """The record: what releases refute, and what each cause does alone, where it breaks anything."""

    broken: tuple[Broken, ...]
    alone: Mapping[tuple[str, str, str], Steps]

    def of(self, row: Broken, claim: str) -> tuple[Cause, ...]:
        """The causes that each break a property alone, or else those that do together; () where there is none."""
        known = causes(row.release)
        single = [one for one in known if claim in self.alone.get((put_back([one]), row.system, row.scope), {})]
        return tuple(single) or tuple(one for one in known if one.name in row.together.get(claim, ()))

    def alone_in(self, rules: RuleSet, cell: Cell, claim: str) -> list[str]:
        """What a rule set has that breaks a property of a scope alone: findings, worst first, then other choices."""
        own = _wrong(rules)
        parts = [(one.id, own & {*one.switches}) for one in FINDINGS] + [(name, {name}) for name in sorted(own)]
        known = [Cause(name, frozenset(switches), "") for name, switches in parts if switches]
        return [one.name for one in known if claim in self.alone.get((put_back([one]), *cell), {})]

    def unexplained(self) -> list[str]:
        """The refuted properties without a cause, or of one that is no finding, nor mended later, nor reasoned."""
        return [
            f"{row.release} {row.system} {row.scope}: {claim}" + "".join(f" by {one.name}" for one in found)
            for row in self.broken for claim in row.refuted
            if not (found := self.of(row, claim)) or not _is_explained(found, claim, claim in row.together)
        ]  # fmt: skip

    def by(self, finding: str, release: str) -> Iterator[tuple[Cell, Steps]]:
        """What a finding of a release breaks alone, in each scope."""
        own = [put_back([cause]) for cause in causes(release) if cause.name == finding]
        for row in self._of_release(release) if own else ():
            steps = {claim: row.refuted[claim] for claim, by in row.together.items() if [*by] == [finding]}
            if steps := {**self.alone.get((own[0], row.system, row.scope), {}), **steps}:
                yield (row.system, row.scope), steps

    def with_others(self, finding: str, release: str) -> Iterator[tuple[Cell, str, list[str]]]:
        """The properties of each scope that a finding of a release breaks together with others, and these."""
        for row in self._of_release(release):
            for claim, names in row.together.items():
                if finding in names and len(names) > 1:
                    yield (row.system, row.scope), claim, [name for name in names if name != finding]

    def _of_release(self, release: str) -> Iterator[Broken]:
        return (row for row in self.broken if row.release == release)


def _is_explained(found: Collection[Cause], claim: str, together: bool) -> bool:
    """Whether each cause is a finding, mended later, or has a reason that names the property.

    Of causes that break it together one that is a finding, or mended later, is enough: without it the property holds.
    """
    known = {finding.id for finding in FINDINGS}
    mends = [one.name in known or one.reason.startswith(MENDED_IN) for one in found]
    return (together and any(mends)) or all(
        mend or f"`{claim}`" in one.reason for one, mend in zip(found, mends, strict=True)
    )


@cache
def record() -> Record:
    """The record of the repository."""
    rows = read_json(PLACE)
    alone = [Alone(**row) for row in rows["alone"]]
    by_place = {(one.rules, one.system, one.scope): one.refuted for one in alone}
    return Record(tuple(Broken(**row) for row in rows["broken"]), by_place)


_searched: dict[tuple[str, str], Steps] = {}


def refuted(cell: Cell, rules: str, only: Sequence[str] = ()) -> Steps:
    """What a rule set refutes in a scope; one search for each program; raises UndecidedFinding for what is open."""
    system, scope = cell
    traced = program(subject(system, scope, {}, rules, only))
    key = (" ".join(cell), fingerprint(traced))
    if key not in _searched:
        _searched[key] = searched(traced, f"{system} {scope} {rules}")
    return _searched[key]


def searched(traced: Program, title: str) -> Steps:
    """The refuted properties of a program that is searched; raises as `refuted` does."""
    found = search.refuted(traced, title, search_budget(1, default_memory()), True)
    return {claim: _length(trace) for claim, trace in found.items()}


def _length(trace: Trace) -> int:
    """The steps of a trace; of a lasso those before its cycle, as verdicts count them."""
    return len(trace.steps) if trace.loop is None else trace.loop.start


def _together(release: str, cell: Cell, claim: str, before: Sequence[Sequence[str]]) -> Sequence[str]:
    """Names of causes of a release that break a property together, none of them idle; none where all do not.

    Those that do so in an earlier release or in another scope are taken where this one has them all, and they do here.
    """
    known = causes(release)

    def breaks(some: Sequence[Cause]) -> bool:
        return claim in refuted(cell, put_back(some), (claim,))

    for names in before:
        some = [one for one in known if one.name in names]
        if len(some) == len(names) and breaks(some):
            return names
    if not breaks(known):
        return ()
    kept, size = known, len(known) // 2
    while size:
        for first in range(0, len(kept), size):
            fewer = kept[: len(kept) - first - size] + kept[len(kept) - first :]
            if len(fewer) < len(kept) and breaks(fewer):
                kept = fewer
                break
        else:
            size //= 2
    return [one.name for one in kept]


def in_turn(release: str, cell: Cell, tried: Collection[str], left: Collection[str]) -> Iterator[Cause]:
    """The causes of a release that may break a property that is left: those tried in an earlier one, then by how many.

    What a cause may break is known of the last record of the scope, or else of others and of the search of its finding.
    """
    may: dict[str, set[str]] = {one.id: {one.search.property} for one in FINDINGS if one.search}
    for one in causes(release):
        listed = (steps for (rules, *_), steps in record().alone.items() if rules == put_back([one]))
        may.setdefault(one.name, set()).update(*listed)

    def worth(one: Cause) -> tuple[bool, int, int]:
        here = record().alone.get((put_back([one]), *cell), {})
        return put_back([one]) in tried, len({*here} & {*left}), len(may[one.name] & {*left})

    rest = list(causes(release))
    while rest and any(worth(best := max(rest, key=worth))):
        yield rest.pop(rest.index(best))


def observe(cell: Cell) -> tuple[list[Broken], list[Alone]]:
    """What releases refute in a scope, and what causes do alone: each of them, or as many as it takes."""
    broken, alone = list[Broken](), dict[str, Steps]()
    sets: dict[str, list[Sequence[str]]] = {}
    for row in record().broken:
        for claim, names in row.together.items():
            sets.setdefault(claim, []).append(names)
    for release in lines(cell):
        found = refuted(cell, f"kafka-{release}")
        left, together = {*found}, dict[str, Sequence[str]]()
        for cause in causes(release) if cell in WHOLE else in_turn(release, cell, alone.keys(), left):
            alone[put_back([cause])] = refuted(cell, put_back([cause]))
            left -= alone[put_back([cause])].keys()
        for claim in sorted(left):
            together[claim] = _together(release, cell, claim, sets.setdefault(claim, []))
            sets[claim].append(together[claim])
        broken.append(Broken(release, *cell, found, together))
    return broken, [Alone(rules, *cell, steps) for rules, steps in sorted(alone.items()) if steps]


def write(names: Sequence[str]) -> None:
    """Write the record of every scope, or of those that are named, as `elections-tiny`; each when it is done."""
    rows = read_json(PLACE) if names else {"broken": [], "alone": []}
    for cell in CELLS:
        if names and "-".join(cell) not in names:
            continue
        broken, alone = observe(cell)
        print(*cell, *(f"{row.release}: {len(row.refuted)} of them {len(row.together)} together;" for row in broken))
        for name, new in (("broken", broken), ("alone", alone)):
            others = [row for row in rows[name] if (row["system"], row["scope"]) != cell]
            rows[name] = [*others, *map(attrs.asdict, new)]
        write_json(str(PLACE), rows)


if __name__ == "__main__":
    write(sys.argv[1:])
