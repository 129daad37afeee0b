"""The system `sessions`: its defects, and the controller in full under the same choices."""

from __future__ import annotations

import pytest
from attrs import evolve

from kraftcheck.model.controller.brokers import (
    RegistrationContext,
    RegistrationRequest,
    heartbeat,
    register_broker,
    taken_over,
)
from kraftcheck.model.controller.commits import replay_record
from kraftcheck.model.controller.heartbeat import Wish
from kraftcheck.model.language.system import Outcome
from kraftcheck.model.records.records import BrokerRegistrationChangeRecord
from kraftcheck.model.rules.ruleset import RuleSet, parse
from kraftcheck.model.systems.sessions.system import SESSIONS, Sessions
from tests.model.controller.controllers import beat, cluster, directory, play, with_topic

Step = tuple[str, int] | tuple[str]


def walked(rules: str, *steps: Step) -> Sessions:
    """The state after some actions from the start."""
    setting = SESSIONS.setting("tiny", rules=parse(rules))
    actions = {action.name: action for action in SESSIONS.actions(setting)}
    (state,) = SESSIONS.initial(setting)
    for name, *broker in steps:
        arguments = {"broker": broker[0]} if broker else {}
        assert actions[name].enabled(state, arguments), name
        done = actions[name].outcome(state, arguments)
        state = done.state if isinstance(done, Outcome) else done
    return state


ROUND: tuple[Step, ...] = (("beat", 1), ("beat", 0), ("pass_round",))
"""Both brokers send their heartbeat, the one that follows first."""


@pytest.mark.parametrize(("rules", "gone"), [("fixed", True), ("fixed+shutdown-offset-moves", False)])
def test_a_leader_may_stop_after_three_rounds(rules: str, gone: bool) -> None:
    """The other broker passes the offset of the first request two rounds later, and never one that moves."""
    before = walked(rules, ("stop", 0), *ROUND, *ROUND, ("beat", 1))
    assert (before.leader, before.brokers[0].up) == (1, True)
    after = walked(rules, ("stop", 0), *ROUND, *ROUND, ("beat", 1), ("beat", 0))
    assert after.brokers[0].up is not gone


def test_a_registration_counts_from_its_own_record() -> None:
    """A process that has just registered is unfenced two rounds later, and by the defect not even then."""
    steps: tuple[Step, ...] = (
        ("die", 1), ("beat", 0), ("pass_round",), ("beat", 0), ("pass_round",), ("expire", 1), ("register", 1),
        *ROUND, *ROUND, ("beat", 1),
    )  # fmt: skip
    assert not walked("fixed", *steps).brokers[1].fenced
    assert walked("fixed+unfence-needs-log-end", *steps).brokers[1].fenced


def offset_waited_for(rules: RuleSet) -> int | None:
    """What the controller in full waits for after two heartbeats of a leader that shuts down."""
    controller = with_topic(cluster(2), "foo", (0, 1))
    for broker in (0, 1):
        controller = play(controller, heartbeat(controller, beat(broker, offset=0), rules), rules)
    for _ in range(2):
        end = controller.image.next_offset - 1
        controller = play(controller, heartbeat(controller, beat(0, shutdown=True, offset=end), rules), rules)
        grown = BrokerRegistrationChangeRecord(1, 101)
        controller = replay_record(controller, grown, rules)
    first = controller.soft.sessions.shutdown_offset(0)
    return None if first is None else first - end


def test_the_controller_in_full_keeps_the_first_offset() -> None:
    """It waits for the end of the log at the first request; by the defect for one later."""
    right, wrong = offset_waited_for(parse("fixed")), offset_waited_for(parse("fixed+shutdown-offset-moves"))
    assert right is not None
    assert wrong is not None
    assert right < wrong


@pytest.mark.parametrize(("rules", "fenced"), [("fixed", False), ("fixed+unfence-needs-log-end", True)])
def test_the_controller_in_full_unfences_at_the_registration(rules: str, fenced: bool) -> None:
    """A broker that has applied its registration is unfenced though the log has gone on; by the defect it is not."""
    controller = cluster(2, fenced=(0,))
    request = evolve(beat(0), wish=Wish(False, False, 0))
    assert heartbeat(controller, request, parse(rules)).response.fenced is fenced


@pytest.mark.parametrize(("rules", "epoch"), [("fixed", 100), ("fixed+reregistration-bumps-epoch", 7)])
def test_the_controller_in_full_keeps_the_epoch_of_a_process(rules: str, epoch: int) -> None:
    """A process that registers again keeps its epoch, and by the defect gets another."""
    request = RegistrationRequest("cluster", 0, "process-0", dirs=(directory(0),))
    outcome = register_broker(cluster(1), request, RegistrationContext(new_epoch=7), parse(rules))
    assert outcome.response == epoch


@pytest.mark.parametrize(
    ("variant", "heard"),
    [("", {1}), ("+takeover-hears-fenced-brokers", {0, 1}), ("+takeover-hears-nobody", set())],
)
def test_the_controller_in_full_takes_over(variant: str, heard: set[int]) -> None:
    """Where sessions are by contact, a new controller has heard of unfenced brokers, and by each defect of others."""
    after = taken_over(cluster(2, fenced=(0,)), parse(f"fixed+sessions-by-contact{variant}").controller)
    assert {broker for broker, _ in after.soft.contacts.times} == heard
