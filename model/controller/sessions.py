"""The sessions of brokers as the releases keep them, and what a controller that takes over begins with.

Until 3.9 the session is that of a live broker; from 4.0.0 on it is that of whoever was heard of. Source:
`BrokerHeartbeatManager`; `BrokerHeartbeatTracker`, `ClusterControlManager.activate`.
"""

from __future__ import annotations

from attrs import evolve

from kraftcheck.model.controller.contacts import Contacts, contact
from kraftcheck.model.controller.heartbeat import Sessions
from kraftcheck.model.controller.state import Controller, Soft
from kraftcheck.model.language.rule import rule
from kraftcheck.model.records.brokers import Registration
from kraftcheck.model.rules.groups import ControllerRules
from kraftcheck.model.triggers.sessions import heard_at_takeover


@rule("session.of-each-contact", source="KAFKA-17793; QuorumController.processBrokerHeartbeat; BrokerHeartbeatTracker",
      switches=("sessions-by-contact", "contacts-hashed-as-lists"),
      says="From 4.0.0 on whoever sends a heartbeat is heard of in the epoch that it states, before anything of the "
           "heartbeat is checked.")  # fmt: skip
def heard(soft: Soft, broker: int, epoch: int, rules: ControllerRules) -> Soft:
    """A heartbeat arrives; that counts even where the heartbeat is refused later."""
    if not rules.sessions_by_contact:
        return soft
    of = contact(broker, epoch, rules.contacts_hashed_as_lists)
    return evolve(soft, contacts=soft.contacts.heard(of, soft.now))


@rule("session.valid-though-fenced", source="KAFKA-17793; BrokerHeartbeatManager.hasValidSession",
      switches=("sessions-by-contact",),
      says="From 4.0.0 on a broker is in session while it is heard of in its epoch, also a fenced one; before, only "
           "while it is unfenced.")  # fmt: skip
def in_session(soft: Soft, known: Registration, rules: ControllerRules) -> bool:
    """Whether a registered broker is in session, so that no other process may register its id."""
    if not rules.sessions_by_contact:
        return soft.sessions.is_valid(known.id, soft.now)
    return soft.contacts.is_valid(known.id, known.epoch, soft.now, soft.sessions.timeout)


def taken_over(controller: Controller, rules: ControllerRules) -> Controller:
    """The state of a controller that takes over now: what only its predecessor knew is gone.

    The order in which the registrations are visited shows where sessions share a bin of the table.
    """
    soft = evolve(controller.soft, sessions=Sessions(controller.soft.sessions.timeout), contacts=Contacts())
    for known in controller.image.registrations_in_order():
        soft = evolve(soft, sessions=soft.sessions.register(known.id, known.fenced, soft.now))
        if heard_at_takeover(known.fenced, rules):
            soft = heard(soft, known.id, known.epoch, rules)
    return evolve(controller, soft=soft)
