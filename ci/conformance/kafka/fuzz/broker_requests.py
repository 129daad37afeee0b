"""Drawn requests of brokers, and the events of the controller about them."""

from __future__ import annotations

from attrs import evolve, frozen

from kraftcheck.ci.conformance.kafka.fuzz.draws import Draws
from kraftcheck.ci.conformance.kafka.fuzz.model import CLUSTER, Decided, ModelController, Request, failed_over
from kraftcheck.model.controller.heartbeat import Wish
from kraftcheck.model.controller.heartbeat_event import HeartbeatReply, HeartbeatRequest, heartbeat
from kraftcheck.model.controller.lifecycle import fence_stale_broker, unregister
from kraftcheck.model.controller.registration import (
    METADATA_VERSION,
    RegistrationContext,
    RegistrationRequest,
    register_broker,
)
from kraftcheck.model.controller.sessions import heard
from kraftcheck.model.controller.state import Controller
from kraftcheck.model.records.records import Feature, Ids
from kraftcheck.model.rules.ruleset import RuleSet

HIGHEST = 2**31 - 1
"""The highest broker id."""

FIRST_DIRECTORY = 1000
"""The lowest directory id; those below 100 are reserved."""

SMALL, HASHED, MIXED = tuple(range(8)), (15, 16, 17, 31, 32, 33, 34, 48, 63, 64), (0, 1, 16, 34, 1000, 2**16, HIGHEST)
"""Pools of broker ids: ascending in hash order, not ascending from 16 on, and over the whole range."""


@frozen
class Brokers:
    """The brokers of a sequence.

    Attributes:
        ids: theirs, registered or not.
        directories: how many each has at most.
    """

    ids: Ids
    directories: int

    def directories_of(self, broker: int) -> Ids:
        """The directories of a broker."""
        first = FIRST_DIRECTORY + 10 * self.ids.index(broker)
        return tuple(range(first, first + self.directories))


def drawn_brokers(draws: Draws) -> Brokers:
    """Two to five brokers with one to three directories each."""
    pool = draws.pick((SMALL, HASHED, MIXED))
    count = 2 + draws.below(4)
    return Brokers(draws.some(pool, count), 1 + draws.below(3))


def register(world: ModelController, brokers: Brokers, draws: Draws) -> Request:
    """A broker registers: a new process, or the same one once more."""
    broker = draws.pick(brokers.ids)
    known = world.controller.registration(broker)
    again = known is not None and draws.percent(20)
    incarnation = known.incarnation if known is not None and again else str(world.controller.image.next_offset)
    own = brokers.directories_of(broker)
    dirs = draws.some(own, len(own) - (draws.below(len(own)) if draws.percent(30) else 0))
    previous = known.epoch if known is not None and not draws.percent(50) else -1
    rack = draws.pick((None, None, "a", "b"))
    request = RegistrationRequest(
        CLUSTER, broker, incarnation, features=(Feature(METADATA_VERSION, 1, 1),), rack=rack, dirs=dirs,
        previous_epoch=previous,
    )  # fmt: skip
    line = f"register {broker} {incarnation} {_joined(dirs)} {previous} {rack or '-'}"

    def decide(controller: Controller, rules: RuleSet) -> Decided:
        outcome = register_broker(controller, request, RegistrationContext({METADATA_VERSION: 1}), rules)
        return outcome, str(outcome.response)

    return Request(line, decide)


def beat(world: ModelController, brokers: Brokers, draws: Draws) -> Request | None:
    """A registered broker sends a heartbeat; most are caught up, want to serve, and have no failed directory."""
    registered = [broker for broker in brokers.ids if world.controller.registration(broker) is not None]
    if not registered:
        return None
    broker = draws.pick(registered)
    known = world.controller.registration(broker)
    epoch = (0 if known is None else known.epoch) - (1 if draws.percent(4) else 0)
    wish = Wish(draws.percent(6), draws.percent(10), _offset(world, draws))
    failed = draws.some(brokers.directories_of(broker), 1 + draws.below(2)) if draws.percent(8) else ()
    cordoned = _cordoned(world, brokers.directories_of(broker), draws)
    request = HeartbeatRequest(broker, epoch, wish, failed, cordoned)
    flags = f"{'fence' if wish.fence else '-'} {'stop' if wish.shutdown else '-'}"

    def decide(controller: Controller, rules: RuleSet) -> Decided:
        outcome = heartbeat(controller, request, rules)
        return outcome, _reply(outcome.response)

    def arrived(controller: Controller, rules: RuleSet) -> Controller:
        return evolve(controller, soft=heard(controller.soft, broker, epoch, rules.controller))

    shown = "null" if cordoned is None else _joined(cordoned)
    line = f"heartbeat {broker} {epoch} {flags} {wish.metadata_offset} {_joined(failed)} {shown}"
    return Request(line, decide, arrived=arrived)


def _cordoned(world: ModelController, own: Ids, draws: Draws) -> Ids | None:
    """The directories that take no new replica; None where the release has none, or the broker does not say."""
    if not world.controller.features.cordoning or draws.percent(50):
        return None
    return draws.some(own, 1 + draws.below(3)) if draws.percent(6) else ()


def _offset(world: ModelController, draws: Draws) -> int:
    """How far a broker has applied the log: to its end, or less."""
    end = world.controller.image.next_offset - 1
    return max(end - draws.below(12), -1) if draws.percent(25) else end


def _reply(reply: HeartbeatReply) -> str:
    flags = (reply.caught_up, reply.fenced, reply.in_controlled_shutdown, reply.should_shut_down)
    return ",".join("true" if flag else "false" for flag in flags)


def unregistered(world: ModelController, brokers: Brokers, draws: Draws) -> Request:
    """An administrator removes a broker, registered or not."""
    broker = draws.pick(brokers.ids)
    return Request(f"unregister {broker}", lambda controller, rules: (unregister(controller, broker, rules), ""))


def waited(world: ModelController, brokers: Brokers, draws: Draws) -> Request:
    """Time passes; seldom so much that all sessions end."""
    milliseconds = 9001 if draws.percent(15) else 500 * (1 + draws.below(8))
    return Request(
        f"wait {milliseconds}", changed=lambda known, _: evolve(known, soft=known.soft.after(milliseconds))
    )


def session_check(world: ModelController, brokers: Brokers, draws: Draws) -> Request:
    """The controller looks for one broker whose session has ended."""
    return Request("session-check", lambda controller, rules: (fence_stale_broker(controller, rules), ""))


def fail_over(world: ModelController, brokers: Brokers, draws: Draws) -> Request:
    """Another controller takes over."""
    return Request("fail-over", changed=failed_over)


def _joined(members: Ids) -> str:
    return ",".join(map(str, members)) or "-"
