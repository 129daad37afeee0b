"""Liveness of `broker-ids`: who is started again finally has an id. Faults have budgets, so they end.

`FAIR_BROKER_IDS` is the system with these properties alone: `explore` judges them.
"""

from __future__ import annotations

from kraftcheck.model.language.system import Fairness, Property, Setting
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, negate, word
from kraftcheck.model.systems.broker_ids.state import NONE, BrokerIds, Machine
from kraftcheck.model.systems.broker_ids.system import BROKER_IDS, actions
from kraftcheck.properties.broker_ids.promises import WAY, one_left
from kraftcheck.properties.kinds import fair_system, fair_to_each, leads_to


def fairness(setting: Setting) -> list[Fairness]:
    """A supervisor starts each broker again, a start goes on, and sessions of processes that ended end too."""
    return fair_to_each(actions(setting), WAY)


def properties(setting: Setting) -> list[Property]:
    """What finally comes about."""
    claims = [
        leads_to("restart-ends", "a broker with its id on its disk is finally live again, or loses its disk",
                 _some_waits, lambda s: negate(_some_waits(s)), "broker-id KIP, motivation",
                 ("failed-start-is-final",), ("broker-id.failed-start-is-repeated",)),
    ]  # fmt: skip
    if setting.rules.broker_ids.identity_by_elimination and not setting["configured"]:
        claims.append(
            leads_to("last-broker-lives", "beside live brokers the one that lost its disk finally starts, unless "
                     "another stops first", one_left, _all_live_or_fewer, "broker-id KIP, step b.2",
                     ("failed-start-is-final",), ("broker-id.failed-start-is-repeated",))
        )  # fmt: skip
    return claims


def _some_waits(s: BrokerIds) -> Truth:
    return any_of(*(_waits(machine) for machine in s.machines))


def _waits(m: Machine) -> Truth:
    """It has an id on its disk, and no other in its configuration, and does not live."""
    return all_of(negate(m.is_live()), m.meta >= 0, any_of(m.configured == NONE, m.configured == m.meta))


def _all_live_or_fewer(s: BrokerIds) -> Truth:
    """All brokers live; or not even all but one live with a session."""
    live: Word = 0
    for number, machine in enumerate(s.machines):
        live = live + word(all_of(machine.is_live(), negate(s.zombie(number))))
    return any_of(live == len(s.machines), live < len(s.machines) - 1)


FAIR_BROKER_IDS = fair_system(
    BROKER_IDS, "where brokers are started again: who finally has an id", properties, fairness
)
"""The system with its liveness."""
