"""The options of a replay: its rules, and the settings of the controller."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import lru_cache

from attrs import frozen

from kraftcheck.ci.logs.format.read import LogFiles, SkipCount, read_compact
from kraftcheck.ci.logs.report import Summary
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.controller.state import MIN_ISR, UNCLEAN_ELECTION, Settings, is_valid, trimmed
from kraftcheck.model.nearest import nearest
from kraftcheck.model.records.replay import ReplayError
from kraftcheck.model.rules.ruleset import CHOICES, RELEASES, RuleSet, parse, variant_name
from kraftcheck.solvers.logs.explain.replay import ReplayedBatch
from kraftcheck.solvers.logs.explain.state import ELR_SETTING, EntryError
from kraftcheck.solvers.logs.memo.lookup import MemoisedBatch
from kraftcheck.solvers.logs.memo.replay import MemoisedReplay

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


STATIC_KEYS = (MIN_ISR, UNCLEAN_ELECTION, ELR_SETTING)
"""The keys of the configuration file that a rule reads."""


def settings_of(texts: tuple[str, ...]) -> Settings:
    """The static configuration that `KEY=VALUE` texts describe.

    Raises:
        Refusal: for another text, a key that no rule reads, a value that the key cannot have, or a key given twice.
    """
    pairs = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise Refusal(f"--static {text}: KEY=VALUE is wanted, as in min.insync.replicas=2")
        if key not in STATIC_KEYS:
            raise Refusal(f"--static {text}: no rule reads {key!r}; {nearest(key, STATIC_KEYS, '')}")
        if not is_valid(UNCLEAN_ELECTION if key == ELR_SETTING else key, value):
            expected = "a whole number from 1" if key == MIN_ISR else "true or false"
            raise Refusal(f"--static {text}: {key} takes {expected}")
        if key in pairs:
            raise Refusal(f"--static {text}: {key} is given twice; give it once")
        pairs[key] = trimmed(value)
    return Settings(static=pairs)


@frozen
class ReplayOptions:
    """The options of one command; they are sent to workers unchanged.

    Attributes:
        rules: rule set, `PRESET[+VARIANT...]`; None takes the preset of the log's metadata version.
        static: the controller's configuration file, as `KEY=VALUE`.
        allow_skipped: how many lines or batches may be undecodable.
    """

    rules: str | None
    static: tuple[str, ...] = ()
    allow_skipped: int = 0

    def replay_batches(
        self, log: LogFiles, detailed: bool = True, explains: bool = True
    ) -> Generator[ReplayedBatch | MemoisedBatch, None, Summary]:
        """Read one log and explain it, batch by batch; it returns the summary at the end.

        Args:
            log: its files.
            detailed: whether the summary gets a row for each batch.
            explains: whether a log in which nothing is to be explained is refused.

        Raises:
            Refusal: naming the place of what cannot be read, and for a log without batches.
            ScopeError: for an unknown rule set.
        """
        skipped, summary = SkipCount(self.allow_skipped), Summary(log.name, self.rules, detailed=detailed)
        replay = MemoisedReplay(self._rules(), settings_of(self.static))
        try:
            for batch in replay.replay(read_compact(log, skipped)):
                summary.add(batch)
                yield batch
        except (EntryError, ReplayError) as reason:
            raise Refusal(f"{log.name}: {reason}") from None
        summary.skipped, summary.in_snapshot = tuple(skipped.places), skipped.in_snapshot
        summary.state, summary.unreplayed = replay.state, replay.unreplayed
        if explains and not summary.batches:
            only = "no record batch"
            if summary.snapshot_records or summary.undone:
                only = "only a snapshot" if summary.snapshot_records else "only a transaction that has not happened"
            raise Refusal(f"{log.name}: {only} was read, so there is nothing to explain; is it a metadata log?")
        if self.rules is None:
            line = line_of(replay.state.supported_level())
            summary.rules, summary.notes = f"{line.preset} (metadata version {summary.level})", tuple(line.notes())
        return summary

    def _rules(self) -> Callable[[int | None], RuleSet]:
        fixed = None if self.rules is None else parse(self.rules)
        return rules_of if fixed is None else lambda level: fixed
