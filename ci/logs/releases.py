"""Which release wrote a log, as far as its metadata version tells, and the rule set of that release.

A release writes no metadata version above its newest in production, and a cluster that is new has that one. Since
3.7 a controller registers with the newest that it supports, which tells its release although the cluster may be at an
older one. Releases of one line support the same versions, so that the log does not tell them apart.

Source: `MetadataVersion.LATEST_PRODUCTION` of each release.
"""

from __future__ import annotations

from functools import lru_cache

from attrs import frozen

from kraftcheck.model.rules.ruleset import CHOICES, RELEASES, RuleSet, variant_name

NEWEST_LEVELS = {
    "3.9.2": 21, "4.0.0": 25, "4.0.1": 25, "4.0.2": 25, "4.1.0": 27, "4.1.1": 27, "4.1.2": 27, "4.2.0": 29, "4.2.1": 29,
    "4.3.0": 30, "4.3.1": 30, "4.4.0": 33,
}  # fmt: skip
"""The newest metadata version in production of each release that has a preset, oldest release first."""

HIGHEST = max(NEWEST_LEVELS.values())
"""The highest level that is known."""


@frozen
class Line:
    """The releases that may have written a log.

    Attributes:
        level: the highest metadata version that the log says its controller supports; None where it names none.
        releases: those that have a preset, oldest first; the last is taken.
    """

    level: int | None
    releases: tuple[str, ...]

    @property
    def preset(self) -> str:
        """The rule set that is taken."""
        return f"kafka-{self.releases[-1]}"

    def differences(self) -> tuple[str, ...]:
        """The choices in which the releases differ."""
        sets = [RELEASES[f"kafka-{release}"] for release in self.releases]
        return tuple(variant_name(name) for name in CHOICES if len({rules.value(name) for rules in sets}) > 1)

    def notes(self) -> list[str]:
        """What a reader must know of the choice; empty where the log leaves none."""
        taken = self.releases[-1]
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


@lru_cache(maxsize=64)
def line_of(level: int | None) -> Line:
    """The releases for a metadata version: of the oldest line that supports it; the newest where there is none.

    Args:
        level: the highest that the active controller supports, as `State.supported_level` has it.
    """
    newest = HIGHEST if level is None else min((top for top in NEWEST_LEVELS.values() if top >= level), default=HIGHEST)
    return Line(level, tuple(release for release, top in NEWEST_LEVELS.items() if top == newest))


def rules_of(level: int | None) -> RuleSet:
    """The rule set for a metadata version."""
    return RELEASES[line_of(level).preset]
