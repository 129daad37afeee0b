"""Candidates whose records are those of one broker: its registration, its fencing, its shutdown, its directories."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from attrs import evolve

from kraftcheck.model.controller.brokers import (
    HeartbeatRequest,
    RegistrationContext,
    RegistrationRequest,
    directories_cordoned,
    directories_failed,
    fenced,
    heartbeat,
    leaving,
    register_broker,
    unfenced,
    unregister,
)
from kraftcheck.model.controller.heartbeat import Wish
from kraftcheck.model.controller.state import LogRecord
from kraftcheck.model.records.records import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    PartitionChangeRecord,
    RegisterBrokerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.solvers.logs.explain.guess import BatchTail, Candidate, RecordsOf, by_either_index

BrokerRecord = (
    BrokerRegistrationChangeRecord
    | FenceBrokerRecord
    | UnfenceBrokerRecord
    | RegisterBrokerRecord
    | UnregisterBrokerRecord
)

MAX_OFFSET = 1 << 62
"""A metadata offset that no log reaches: a broker that has applied everything."""


def broker_candidates(tail: BatchTail) -> Iterator[Candidate]:
    """Events that write a broker's record, with the changes before or after it."""
    place = tail.run_length(PartitionChangeRecord)
    if place == len(tail.records):
        return
    record = tail.records[place]
    c, rules = tail.controller, tail.rules
    if isinstance(record, RegisterBrokerRecord):
        yield from _registration_candidates(tail, record, place + 1)
    elif isinstance(record, UnregisterBrokerRecord):
        broker = record.broker_id
        yield from by_either_index(
            c,
            broker,
            Candidate(("unregister broker ", broker), tuple, place + 1, "unregister", {"broker": broker}),
            lambda controller: unregister(controller, broker, rules).records,
        )
    elif isinstance(record, FenceBrokerRecord | UnfenceBrokerRecord | BrokerRegistrationChangeRecord):
        yield from _registration_change_candidates(tail, record, place)


def _registration_change_candidates(
    tail: BatchTail, record: FenceBrokerRecord | UnfenceBrokerRecord | BrokerRegistrationChangeRecord, place: int
) -> Iterator[Candidate]:
    c, rules, broker = tail.controller, tail.rules, record.broker_id
    registration = c.registration(broker)
    if registration is None:
        return
    arguments = {"broker": broker}
    change = record if isinstance(record, BrokerRegistrationChangeRecord) else None
    fences = isinstance(record, FenceBrokerRecord) or (change is not None and change.fenced == 1)
    unfences = isinstance(record, UnfenceBrokerRecord) or (change is not None and change.fenced == -1)
    if fences:
        yield Candidate(("fence broker ", broker), lambda: fenced(c, broker, rules), place + 1, "fence", arguments)
    if unfences and place == 0:
        yield Candidate(("unfence broker ", broker), lambda: unfenced(c, broker, rules), None, "unfence", arguments)
    if change is not None and change.in_controlled_shutdown == 1 and place == 0:
        words = ("broker ", broker, " begins a controlled shutdown")
        yield Candidate(words, lambda: leaving(c, broker, rules), None, "controlled_shutdown", arguments)
    if change is not None and change.cordoned is not None and place == 0:
        cordoned = change.cordoned
        words = (f"{len(cordoned)} directories of broker ", broker, " are cordoned")
        yield Candidate(words, lambda: directories_cordoned(c, broker, cordoned), 1, "directories_cordoned", arguments)
    if change is not None and not (change.fenced or change.in_controlled_shutdown or change.cordoned is not None):
        failed = tuple(d for d in registration.dirs if d not in (change.log_dirs or ()))
        yield Candidate(
            (f"{len(failed)} directories of broker ", broker, " fail"),
            lambda: directories_failed(c, broker, failed, rules),
            place + 1,
            "directories_offline",
            {"broker": broker, "failed": failed},
        )
    yield from _heartbeat_candidates(tail, broker)


def _heartbeat_candidates(tail: BatchTail, broker: int, least: int = 2) -> Iterator[Candidate]:
    """One heartbeat that both changes a broker's state and reports failed directories."""
    changes = [r for r in tail.records if isinstance(r, BrokerRegistrationChangeRecord) and r.broker_id == broker]
    last = next((r for r in changes if not (r.fenced or r.in_controlled_shutdown or r.cordoned is not None)), None)
    registration = tail.controller.registration(broker)
    if last is None or len(changes) < least or registration is None:
        return
    failed = tuple(d for d in registration.dirs if d not in (last.log_dirs or ()))
    for fence, stop in ((False, False), (True, False), (False, True)):
        wish = Wish(fence, stop, MAX_OFFSET)
        description = f": fence {fence}, shut down {stop}, {len(failed)} directories failed"
        yield Candidate(
            ("heartbeat of broker ", broker, description),
            _heartbeat_records(tail, HeartbeatRequest(broker, registration.epoch, wish, failed)),
            None,
            "heartbeat",
            {"broker": broker, "failed": failed},
        )


def hidden_heartbeat_candidates(tail: BatchTail) -> Iterator[Candidate]:
    """A heartbeat that goes on with a controlled shutdown, of which no record tells, and reports failed directories."""
    place = tail.run_length(PartitionChangeRecord)
    record = tail.records[place] if place < len(tail.records) else None
    if isinstance(record, BrokerRegistrationChangeRecord):
        registration = tail.controller.registration(record.broker_id)
        if registration is not None and registration.in_controlled_shutdown:
            yield from _heartbeat_candidates(tail, record.broker_id, least=1)


def _heartbeat_records(tail: BatchTail, request: HeartbeatRequest) -> Callable[[], tuple[LogRecord, ...]]:
    return lambda: heartbeat(tail.controller, request, tail.rules).records


def _registration_candidates(tail: BatchTail, record: RegisterBrokerRecord, length: int) -> Iterator[Candidate]:
    """A registration; its epoch is the offset where its event began, and no session bars it: the log has none.

    Its event may have begun in an earlier batch, which is full then. Where the rules distinguish a clean stop
    from an unclean one, the broker may come back from either.
    """
    c, rules = tail.controller, tail.rules
    soft = evolve(c.soft, now=c.soft.now + c.soft.sessions.timeout + 1)
    expired = evolve(c, soft=soft, settings=evolve(c.settings, cluster_id=None))
    registration, before = c.registration(record.broker_id), c.image.next_offset - record.broker_epoch
    in_parts = before > 0 and before % c.settings.max_records == 0 and not rules.controller.registration_is_one_batch
    context = RegistrationContext(tail.levels, record.broker_epoch if in_parts else None)
    if registration is not None and registration.incarnation == record.incarnation:
        stops: tuple[tuple[str, int | None], ...] = (("amends", None),)
    elif registration is None or rules.partition.every_restart_is_unclean:
        stops = (("registers", None),)
    else:
        stops = (("registers after an unclean stop", None), ("registers after a clean stop", registration.epoch))
    if c.features.elr_switched_off:
        # Both stops write the same then, and of what the log does not show no property is judged.
        stops = stops[::-1]
    for how, epoch in stops:
        request = RegistrationRequest(
            None, record.broker_id, record.incarnation, record.listeners, record.features, record.rack, record.log_dirs,
            record.is_migrating_zk_broker, epoch,
        )  # fmt: skip
        yield from by_either_index(
            expired,
            record.broker_id,
            Candidate(
                ("broker ", record.broker_id, f" {how}"),
                tuple,
                length,
                "" if how == "amends" else "new_incarnation",
                {"broker": record.broker_id, "clean": epoch is not None},
            ),
            _registration_records(request, context, rules),
        )


def _registration_records(request: RegistrationRequest, context: RegistrationContext, rules: RuleSet) -> RecordsOf:
    return lambda controller: register_broker(controller, request, context, rules).records


def shutdown_candidates(tail: BatchTail) -> Iterator[Candidate]:
    """A controlled shutdown that goes on under a new controller: it writes partition changes only."""
    for broker, registration in tail.controller.image.registrations.items():
        if registration.in_controlled_shutdown and not registration.fenced:
            words = ("broker ", broker, " goes on with its controlled shutdown")
            records = partial(leaving, tail.controller, broker, tail.rules)
            yield Candidate(words, records, None, "controlled_shutdown", {"broker": broker})
