"""States of the `elections` system for tests, and what its actions do to them."""

from typing import Any

from kraftcheck.model.language.brokersets import BrokerSet, Replicas
from kraftcheck.model.language.idlists import AtMostOne
from kraftcheck.model.partition.registration import FIRST_LOCAL, DirectoryMap
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.model.systems.elections.state import Elections
from kraftcheck.model.systems.elections.system import ELECTIONS

BROKERS = 3


def ids(*members: int) -> BrokerSet:
    """A set of brokers."""
    return BrokerSet.of(members)


def replicas(*members: int) -> Replicas:
    """A replica list."""
    return Replicas.of(members, BROKERS)


def dirs(*slots: int) -> DirectoryMap:
    """Directories of the brokers."""
    return DirectoryMap(slots)


D0, D1 = FIRST_LOCAL, FIRST_LOCAL + 1

HEALTHY = Elections(
    replicas=replicas(0, 1, 2), directories=dirs(D0, D0, D0), isr=ids(0, 1, 2), elr=ids(), last_known_elr=AtMostOne(),
    removing=ids(), adding=ids(), leader=0, recovering=False, registered=ids(0, 1, 2), fenced=ids(),
    shutting_down=ids(), online_dirs=(ids(0),) * BROKERS, min_insync_replicas=2, unclean_election=False,
    elr_enabled=True,
)  # fmt: skip
"""Three replicas in sync on live brokers, min ISR 2, ELR on."""


def refused(state: Elections, action: str, rules: str = "fixed", **arguments: Any) -> list[str]:
    """The conjuncts of an action's guard that fail."""
    setting = ELECTIONS.setting("default", {"directories": 2}, parse(rules))
    (found,) = [a for a in ELECTIONS.actions(setting) if a.name == action]
    return [name for name, part in found.guards(state, arguments).items() if not part]
