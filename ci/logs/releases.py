"""Which release wrote a log, by the metadata versions that it names."""

from __future__ import annotations

from functools import lru_cache

from attrs import evolve, frozen

from kraftcheck.model.rules.ruleset import CHOICES, RELEASES, RuleSet, parse, variant_name
from kraftcheck.solvers.logs.explain.state import State

NEWEST_LEVELS = {
    "3.9.2": 21, "4.0.0": 25, "4.0.1": 25, "4.0.2": 25, "4.1.0": 27, "4.1.1": 27, "4.1.2": 27, "4.2.0": 29, "4.2.1": 29,
    "4.2.2": 29, "4.3.0": 30, "4.3.1": 30, "4.4.0": 33,
}  # fmt: skip
"""The newest metadata version in production of each release that has a preset, oldest release first."""

OLDEST = min(NEWEST_LEVELS)  # the release whose rules those of older ones are compared with

OLDER_LEVELS = {"3.0 to 3.2": 3, "3.3": 7, "3.4": 8, "3.5": 11, "3.6": 14, "3.7": 19, "3.8": 20}
"""The same of the lines of releases before them, whose classes are not conformed with. Source: `MetadataVersion`."""

OLDER_CHOICES = {
    "topic-configs-written-first": 7, "unwritten-shrink-raises-epoch": 11, "epoch-passes-over-quorum": 11,
    "acks-all-needs-configured-min-isr": 14,
    "completion-needs-adding-only": 19, "reregistration-bumps-epoch": 19, "unclean-election-unconfigurable": 20,
}  # fmt: skip
"""The choices that older releases have beside those of `OLDEST`, up to the release of a newest metadata version."""

REGISTERED, RANGES, FINALIZED = "registered", "ranges", "finalized"
"""How a level is known: its controller registered with it, no broker supports a higher one, or no more than that."""

WRITER = "the writer is Kafka"  # how a note on a release without classes begins
HIGHEST = max(NEWEST_LEVELS.values())  # the highest level that is known


@frozen
class Line:
    """The releases that may have written a log."""

    # the highest metadata version that the log says its controller supports; None where it names none
    level: int | None
    releases: tuple[str, ...]  # those that have a preset, oldest first; the last is taken
    known_by: str = FINALIZED  # `REGISTERED`, `RANGES` or `FINALIZED`

    @property
    def preset(self) -> str:
        """The rule set that is taken."""
        level = self.level
        older = [name for name, last in OLDER_CHOICES.items() if level is not None and level <= last]
        return "+".join((f"kafka-{self.releases[-1]}", *older))

    def differences(self) -> tuple[str, ...]:
        """The choices in which the releases differ."""
        sets = [RELEASES[f"kafka-{release}"] for release in self.releases]
        return tuple(variant_name(name) for name in CHOICES if len({rules.value(name) for rules in sets}) > 1)

    def notes(self) -> list[str]:
        """The notes on the choice of a release; empty where the log leaves none."""
        taken = self.releases[-1]
        if self.level is not None and self.level < NEWEST_LEVELS[OLDEST]:
            return [self._older()]
        if self.level is None:
            return [f"WARNING: the log names no metadata version; taken as of Kafka {taken}, the newest that is known"]
        if self.level > HIGHEST:
            known = f"the newest that is known is {HIGHEST}"
            return [f"WARNING: metadata version {self.level} is not known, {known}; taken as of Kafka {taken}"]
        if len(self.releases) == 1:
            return []
        names, differences = " or ".join(self.releases), self.differences()
        if not differences:
            return [f"metadata version {self.level} is of Kafka {names}, which do not differ in any rule"]
        which = f"which differ in {', '.join(differences)}"
        return [f"metadata version {self.level} is of Kafka {names}, {which}; taken as {taken}, unless --rules"]

    def _older(self) -> str:
        """Which release before those with classes wrote the log, how surely, and by which rules it is judged."""
        level = self.level or 0
        writer = next(release for release, top in OLDER_LEVELS.items() if level <= top)
        version = f"metadata version {level}"
        ranges = f"no broker supports more than {version}" if level else "no broker supports any metadata version"
        how = {
            REGISTERED: f", surely: its controller registered with {version}",
            RANGES: f", most likely: {ranges}",
        }.get(self.known_by, f" or a later one: {version} is finalized, and the log has no broker")
        return f"{WRITER} {writer}{how}; judged by what logs of it have shown, not by its classes"


def writer_of(state: State) -> Line:
    """The releases that may have written a log, as the state at its end tells."""
    known_by = RANGES if state.controller.image.registrations else FINALIZED
    if state.registered_level() is not None:
        known_by = REGISTERED
    return evolve(line_of(state.supported_level()), known_by=known_by)


@lru_cache(maxsize=64)
def line_of(level: int | None) -> Line:
    """The releases of the oldest line that supports a metadata version; the newest where there is none."""
    newest = HIGHEST if level is None else min((top for top in NEWEST_LEVELS.values() if top >= level), default=HIGHEST)
    return Line(level, tuple(release for release, top in NEWEST_LEVELS.items() if top == newest))


def level_of(version: str) -> int | None:
    """The newest metadata version of the line of releases that one belongs to, as tools name it; None for another.

    >>> level_of("3.6-IV2"), level_of("4.1-IV0"), level_of("9.0-IV1")
    (14, 27, None)
    """
    line = version.partition("-")[0]
    lines = {release.rpartition(".")[0]: level for release, level in NEWEST_LEVELS.items()}
    return {**OLDER_LEVELS, **lines}.get(line)


@lru_cache(maxsize=64)
def rules_of(level: int | None) -> RuleSet:
    """The rule set for a metadata version."""
    return parse(line_of(level).preset)
