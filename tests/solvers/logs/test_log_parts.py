"""Events of more records than one batch holds: each batch is explained, and only where there is more to come."""

from collections.abc import Sequence

import pytest
from attrs import evolve

from kraftcheck.model.controller.brokers import (
    RegistrationContext,
    RegistrationRequest,
    expire_session,
    fence_stale_broker,
    heartbeat,
    register_broker,
)
from kraftcheck.model.controller.commits import batches, replay_all
from kraftcheck.model.controller.state import SESSION_TIMEOUT, Controller, LogRecord, Outcome
from kraftcheck.model.records.records import Feature
from kraftcheck.model.rules.ruleset import RuleSet, parse
from kraftcheck.solvers.logs.explain.explain import Explanation, explain_model_records
from kraftcheck.solvers.logs.explain.state import Batch, State
from tests.model.controller.controllers import beat, cluster, directory, play, with_topic

NEW, OLD = parse("kafka-4.4.0"), parse("kafka-3.9.2")
LIMIT = 3


def base() -> Controller:
    """Broker 0 in the ISRs of seven partitions, with batches of three records."""
    controller = with_topic(cluster(3), "foo", *[(0, 1, 2)] * 7)
    return evolve(controller, settings=evolve(controller.settings, max_records=LIMIT))


def registered(controller: Controller, rules: RuleSet, clean: bool) -> Outcome[int]:
    """Broker 0 registers again, once its session is over."""
    late = evolve(controller, soft=controller.soft.after(SESSION_TIMEOUT + 1))
    request = RegistrationRequest(
        "cluster", 0, "another", features=(Feature("metadata.version", 1, 30),), dirs=(directory(0),),
        previous_epoch=100 if clean else None,
    )  # fmt: skip
    return register_broker(late, request, RegistrationContext(), rules)


def explained(controller: Controller, records: Sequence[LogRecord], rules: RuleSet) -> Explanation:
    """The explanation of these records as one batch."""
    start = controller.image.next_offset
    batch = Batch(start, start + len(records) - 1, 1, (), "test")
    return explain_model_records(State(controller, {}), batch, tuple(records), rules)


@pytest.mark.parametrize("event", ["fence", "clean", "unclean"])
def test_each_batch_of_a_departure_is_explained(event: str) -> None:
    """The first batches are parts of the event, the last one with the broker's record is the event itself."""
    controller = base()
    outcome = expire_session(controller, 0, NEW) if event == "fence" else registered(controller, NEW, event == "clean")
    parts = batches(outcome, LIMIT)
    assert len(parts) == 3
    for number, records in enumerate(parts):
        found = explained(controller, tuple(reversed(records)) if number < 2 else records, NEW)
        assert found.explained
        assert len(found.steps) == 1
        assert ("first 3 records" in found.steps[0].name) == (number < 2)
        controller = replay_all(controller, records, NEW)


def test_each_batch_of_a_controlled_shutdown_is_explained() -> None:
    """The registration changes in the first batch, and the others go on with the shutdown."""
    controller = base()
    for records in batches(heartbeat(controller, beat(0, shutdown=True), NEW), LIMIT):
        assert explained(controller, records, NEW).explained
        controller = replay_all(controller, records, NEW)


def test_a_part_needs_a_rest() -> None:
    """Where all that a broker is in fits into the batch, its own record is missing, and nothing explains the rest."""
    controller = with_topic(cluster(3), "foo", *[(0, 1, 2)] * 2)
    controller = evolve(controller, settings=evolve(controller.settings, max_records=2))
    whole = expire_session(controller, 0, NEW).records
    named = [step.name for step in explained(controller, whole[:2], NEW).steps]
    assert any("first 2 records" in name for name in named)
    roomy = evolve(controller, settings=evolve(controller.settings, max_records=3))
    named = [step.name for step in explained(roomy, whole[:2], NEW).steps]
    assert not any("records" in name for name in named)


def test_a_registration_that_is_one_batch_has_no_parts() -> None:
    """Until 3.9 no part of a registration is written; that of a fencing, which is written alike, may be."""
    controller = base()
    part = registered(controller, NEW, False).records[:LIMIT]
    names = {step.name for step in explained(controller, part, OLD).steps}
    assert not any("registers" in name for name in names)


def test_a_broker_that_is_fenced_again_is_explained() -> None:
    """The record of a session that ends although its broker is fenced is that of a fencing."""
    fenced = cluster(2, fenced=(0,))
    heard = play(fenced, heartbeat(fenced, beat(0, fence=True), NEW), NEW)
    late = evolve(heard, soft=heard.soft.after(SESSION_TIMEOUT + 1))
    written = fence_stale_broker(late, NEW).records
    assert [step.name for step in explained(fenced, written, NEW).steps] == ["fence broker 0"]
