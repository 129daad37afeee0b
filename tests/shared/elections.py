"""States of the `elections` system for tests, and what its actions do to them."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from kraftcheck.model.language.brokersets import BrokerSet, Replicas
from kraftcheck.model.language.idlists import AtMostOne
from kraftcheck.model.language.system import Outcome
from kraftcheck.model.language.words import NO_LEADER
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

LEADERLESS = evolve(HEALTHY, isr=ids(), leader=NO_LEADER, fenced=ids(0, 1, 2))
"""Nobody in sync, nobody alive."""


def outcome(state: Elections, action: str, rules: str = "fixed", **arguments: Any) -> Outcome:
    """What an enabled action does."""
    directories = max(2, *(len(list(some)) for some in state.online_dirs))
    setting = ELECTIONS.setting("default", {"directories": directories}, parse(rules))
    (found,) = [a for a in ELECTIONS.actions(setting) if a.name == action]
    refused = [name for name, part in found.guards(state, arguments).items() if not part]
    assert refused == [], f"{action} is not enabled"
    return found.outcome(state, arguments)


def after(state: Elections, action: str, rules: str = "fixed", **arguments: Any) -> Elections:
    """The state after an enabled action."""
    found: Elections = outcome(state, action, rules, **arguments).state
    return found


def refused(state: Elections, action: str, rules: str = "fixed", **arguments: Any) -> list[str]:
    """The conjuncts of an action's guard that fail."""
    setting = ELECTIONS.setting("default", {"directories": 2}, parse(rules))
    (found,) = [a for a in ELECTIONS.actions(setting) if a.name == action]
    return [name for name, part in found.guards(state, arguments).items() if not part]
