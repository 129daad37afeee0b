"""A broker's heartbeat: the state machine, the records of the new state, the reply.

Source: `ReplicationControlManager.processBrokerHeartbeat`,
`QuorumController.processBrokerHeartbeat`.
"""

from __future__ import annotations

from attrs import evolve, frozen

from kraftcheck.model.controller.commits import replay_all
from kraftcheck.model.controller.errors import RequestError
from kraftcheck.model.controller.heartbeat import BrokerState, Wish
from kraftcheck.model.controller.lifecycle import (
    Records,
    directories_cordoned,
    directories_failed,
    fenced,
    leaving,
    unfenced,
)
from kraftcheck.model.controller.passes import led_by
from kraftcheck.model.controller.sessions import heard
from kraftcheck.model.controller.state import Controller, Outcome
from kraftcheck.model.language.rule import rule
from kraftcheck.model.records.records import Ids
from kraftcheck.model.rules.groups import DirectoryRules
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.triggers.heartbeat import STATE, directory_known, passes_in_order, second_sees_first
from kraftcheck.model.triggers.sessions import unfencing_offset


@frozen
class HeartbeatRequest:
    """A heartbeat.

    Attributes:
        broker, broker_epoch: the sender and the epoch it registered with.
        wish: what it asks for, and how far it has applied the log.
        offline_dirs: every directory that failed since it started.
        cordoned_dirs: every directory that takes no new replica; None before the broker knows that it may say so.
    """

    broker: int
    broker_epoch: int
    wish: Wish
    offline_dirs: Ids = ()
    cordoned_dirs: Ids | None = None


@frozen
class HeartbeatReply:
    """The answer to a heartbeat."""

    caught_up: bool
    fenced: bool
    in_controlled_shutdown: bool
    should_shut_down: bool


def heartbeat(
    controller: Controller, request: HeartbeatRequest, rules: RuleSet, registration_offset: int | None = None
) -> Outcome[HeartbeatReply]:
    """A heartbeat is processed, at the time when it arrives.

    Args:
        controller: the state.
        request: the heartbeat.
        rules: the rule set.
        registration_offset: where the broker's registration record is; None
            takes what was replayed.

    Raises:
        RequestError: STALE_BROKER_EPOCH; the sender is `heard` of all the same.
        Resignation: when the broker has no session, or see `decide`.
    """
    broker, wish = request.broker, request.wish
    soft = heard(controller.soft, broker, request.broker_epoch, rules.controller)
    if registration_offset is None:
        registration_offset = controller.image.registration_offsets.get(broker)
    if registration_offset is None:
        raise RequestError("STALE_BROKER_EPOCH", "not_registered")
    controller.check_epoch(broker, request.broker_epoch)
    leads = bool(led_by(controller, broker))
    known = directories_known(controller, broker, rules.directories)
    current = soft.sessions.state(broker)
    offset = int(unfencing_offset(registration_offset, controller.image.next_offset - 1, rules.controller))
    after = soft.sessions.next_state(broker, wish, offset, leads, known)
    records = _records(controller, request, after if after is not current else None, rules)
    sessions = soft.sessions.touch(broker, after.fenced, wish.metadata_offset, soft.now)
    leaves = after is BrokerState.CONTROLLED_SHUTDOWN
    caught_up = wish.metadata_offset >= registration_offset
    reply = HeartbeatReply(caught_up, after.fenced, leaves, after.should_shut_down)
    return Outcome(records, reply, evolve(soft, sessions=sessions), broker if leaves else None)


def directories_known(controller: Controller, broker: int, rules: DirectoryRules) -> bool:
    """Whether the controller knows, as far as it asks, in which directory each replica of a broker is."""
    known = controller.registration(broker)
    if known is None or not controller.features.directories:
        return True
    placed = (place.partition for place in controller.places() if place.partition.replicas.has(broker))
    return all(directory_known(True, p.directories.of(broker), len(known.dirs), rules) for p in placed)


def _records(controller: Controller, request: HeartbeatRequest, becomes: BrokerState | None, rules: RuleSet) -> Records:
    """The two passes, the change of state and the failed directories; then the cordoned ones, which move nothing."""
    failed = request.offline_dirs if controller.features.directories else ()
    decided: Records = ()
    for step in passes_in_order(rules.partition):
        if step == STATE:
            records = _change_of_state(controller, request.broker, becomes, rules)
        else:
            records = directories_failed(controller, request.broker, failed, rules)
        if second_sees_first(rules.partition):
            controller = replay_all(controller, records, rules)
        decided = (*decided, *records)
    return (*decided, *directories_cordoned(controller, request.broker, request.cordoned_dirs))


def _change_of_state(controller: Controller, broker: int, becomes: BrokerState | None, rules: RuleSet) -> Records:
    if becomes is None:
        return ()
    if becomes is BrokerState.UNFENCED:
        return unfenced(controller, broker, rules)
    if becomes is BrokerState.CONTROLLED_SHUTDOWN:
        return leaving(controller, broker, rules)
    return fenced(controller, broker, rules)


@rule("heartbeat.expired-counts-as-contact",
      source="semantics 5; ReplicationControlManager.processExpiredBrokerHeartbeat",
      says="A heartbeat that waited too long counts as contact and does nothing else.")  # fmt: skip
def expired_heartbeat(controller: Controller, request: HeartbeatRequest, rules: RuleSet) -> Outcome[None]:
    """A heartbeat that waited too long: it counts as contact and does nothing else.

    Raises:
        RequestError: STALE_BROKER_EPOCH; the sender is `heard` of all the same.
    """
    known = controller.check_epoch(request.broker, request.broker_epoch)
    soft = heard(controller.soft, request.broker, request.broker_epoch, rules.controller)
    sessions = soft.sessions.touch(request.broker, known.fenced, request.wish.metadata_offset, soft.now)
    return Outcome((), None, evolve(soft, sessions=sessions))
