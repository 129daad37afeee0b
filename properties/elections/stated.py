"""The controller's state as properties read it: from the fields themselves, without asking a rule of the model.

A property that asked `effective_min_isr` or `may_lead` would hold whatever these rules say.
"""

from __future__ import annotations

from typing import Protocol

from kraftcheck.model.language.anynumber import brokers_where
from kraftcheck.model.language.brokersets import Brokers, BrokerSet
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, negate
from kraftcheck.model.partition.registration import FIRST_LOCAL, LOST, MIGRATING, UNASSIGNED
from kraftcheck.model.systems.elections.state import Elections

PREFERRED = ("elect_preferred", "balance_timer")
"""What seats the first replica, where it may lead."""


class Configured(Protocol):
    """What the min ISR of a partition depends on."""

    @property
    def replicas(self) -> Brokers:
        """The replicas."""

    @property
    def min_insync_replicas(self) -> Word:
        """The topic's configuration."""


def needed_isr(s: Configured) -> Word:
    """How many ISR members a commit needs: as many as configured, or every replica where there are fewer."""
    configured, factor = s.min_insync_replicas, s.replicas.size()
    return choose(factor < configured, factor, configured)


def working(s: Elections) -> BrokerSet:
    """Brokers that are registered, neither fenced nor in controlled shutdown."""
    brokers: BrokerSet = s.registered.minus(s.fenced).minus(s.shutting_down)
    return brokers


def may_be_online(s: Elections, broker: Word) -> Truth:
    """Whether the controller was not told that a replica's directory is offline: listed, or not known where."""
    directory = s.directories.of(broker)
    unknown = any_of(directory == UNASSIGNED, directory == MIGRATING)
    listed = s.dirs_of(broker).has(directory - FIRST_LOCAL)
    return any_of(unknown, all_of(negate(directory == LOST), listed))


def able_to_lead(s: Elections) -> Brokers:
    """Working brokers whose replica may be online."""
    online: Brokers = brokers_where(s.online_dirs, lambda broker: may_be_online(s, broker))
    return online.keep(working(s))
