"""What `kraftcheck ask` answers: what the real controller wrote next, errors with their reasons, and what decides."""

from pathlib import Path
from typing import Any

import pytest

import kraftcheck as kc
from kraftcheck.ci.logs.ask import RequestAnswer, asked_of, deciding
from kraftcheck.ci.logs.end import cluster_end
from kraftcheck.ci.logs.report import ReplayOptions
from kraftcheck.ci.logs.requests import handler
from kraftcheck.ci.systems.lookup import choice_text
from kraftcheck.model.controller.commits import replay_all
from kraftcheck.model.controller.state import ConfigRecord, Controller
from kraftcheck.model.rules.ruleset import parse
from tests.ci.logs.test_status import OUTAGE, cut
from tests.shared.commands import kraftcheck

RULES = "kafka-4.1.2"  # those of the captured clusters in trouble


def end(path: Path) -> Controller:
    """The controller at the end of a log."""
    return cluster_end(path, ReplayOptions(None)).state.controller


def answer(controller: Controller, request: str) -> RequestAnswer:
    """What a controller answers to a request."""
    return RequestAnswer.to(handler(controller, request.split()), controller, parse(RULES))


def seen(controller: Controller) -> Any:
    """What a log says of a cluster: topics, brokers and configurations."""
    return controller.image.topics, controller.image.registrations, controller.configs


@pytest.mark.parametrize(
    ("before", "after", "request_"),
    [
        (62, 63, "alter-partition wide-0 isr=2,0"),
        (64, 65, "elect strict-0 type=unclean"),
        (65, 66, "elect wide-0"),
        (88, 90, "alter-configs topic:wide min.insync.replicas=1"),
        (91, 92, "heartbeat 1"),
        (111, 112, "reassign loose-0 replicas=2,0"),
        (117, 118, "reassign loose-0 cancel"),
        (137, 138, "alter-partition loose-1 isr=1,2"),
        (139, 146, "heartbeat 2 shutdown=true"),
        (147, 148, "unregister 2"),
    ],
)
def test_it_answers_what_kafka_wrote(before: int, after: int, request_: str, tmp_path: Path) -> None:
    """Asked what a captured cluster was asked next, the answer has the records that the real controller wrote."""
    controller = end(cut(tmp_path, before))
    found = answer(controller, request_)
    assert found.accepted
    assert len(found.records) == after - before
    written = replay_all(controller, found.records, parse(RULES))
    assert seen(written) == seen(end(cut(tmp_path, after))) != seen(controller)


@pytest.mark.parametrize(
    ("request_", "error", "reason"),
    [
        ("alter-partition loose-0 isr=0,2", "INVALID_REQUEST", "ISR holds replicas only"),
        ("alter-partition loose-0 isr=0,1", "INELIGIBLE_REPLICA", "members are unfenced and not shutting down"),
        ("alter-partition loose-0 isr=0 leader-epoch=1", "FENCED_LEADER_EPOCH", "leader epoch is current"),
        ("alter-partition loose-0 isr=0 broker-epoch=1", "STALE_BROKER_EPOCH", ""),
        ("reassign loose-0 replicas=0,7", "INVALID_REPLICA_ASSIGNMENT", "broker_not_registered"),
        ("reassign loose-0 cancel", "NO_REASSIGNMENT_IN_PROGRESS", ""),
        ("elect strict-1 type=unclean", "ELIGIBLE_LEADERS_NOT_AVAILABLE", ""),
        ("elect loose-0", "ELECTION_NOT_NEEDED", ""),
        ("alter-configs broker:0 min.insync.replicas=1", "INVALID_CONFIG", "min_isr_with_elr"),
        ("alter-configs topic:none min.insync.replicas=1", "UNKNOWN_TOPIC_OR_PARTITION", ""),
        ("unregister 9", "BROKER_ID_NOT_REGISTERED", ""),
        ("heartbeat 0 epoch=1", "STALE_BROKER_EPOCH", ""),
    ],
)
def test_errors_have_their_reasons(request_: str, error: str, reason: str) -> None:
    """What the controller refuses has its error, the check that refuses it, and no record."""
    found = answer(end(OUTAGE), request_)
    (row,) = found.rows
    assert (row["error"], row["reason"], found.records, found.accepted) == (error, reason, (), False)


def test_a_rule_decides_where_its_choice_changes_the_answer() -> None:
    """Fencing keeps a broker from an ISR: with that choice the other way it is let in, and no other rule is named."""
    controller, request_ = end(OUTAGE), "alter-partition loose-0 isr=0,1"
    found, consulted, (decider,) = deciding(handler(controller, request_.split()), controller, RULES)
    assert (decider.rule.id, decider.variant) == ("isr.join.unfenced", "+fenced-may-join-isr")
    assert (found.accepted, decider.instead.accepted, len(decider.instead.records)) == (False, True, 1)
    assert decider.rule in consulted
    assert "leader.unfenced" not in [rule.id for rule in consulted]


def test_a_rule_that_is_off_says_what_is_so() -> None:
    """Where a choice is on, what it says stands for the rule that it switches; as many other records are told apart."""
    found = asked_of(OUTAGE, ["heartbeat", "2"], ReplayOptions(None, (), 0))
    (elr,) = [row for row in found["decided_by"] if row["variant"] == "-elr-available"]
    assert elr["says"] == choice_text("elr-available")
    assert elr["instead"] == "no error, 3 records, 2 otherwise"


def test_an_election_with_loss_says_what_is_lost(tmp_path: Path) -> None:
    """An unclean election that is accepted tells what the new leader lacks; a clean one, and a refusal, nothing."""
    asked = {words: asked_of(OUTAGE, words.split(), ReplayOptions(None))["losses"] for words in (
        "elect strict-0 type=unclean", "heartbeat 2", "alter-partition loose-0 isr=0,1")}  # fmt: skip
    assert not any(asked.values())
    path = tmp_path / "topics.txt"
    path.write_text(
        "Topic: t\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: min.insync.replicas=1\n"
        "\tTopic: t\tPartition: 0\tLeader: none\tReplicas: 2,1\tIsr: \tElr: 2\tLastKnownElr: \n"
        "Topic: u\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: min.insync.replicas=1\n"
        "\tTopic: u\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\tElr: \tLastKnownElr: \n"
    )
    ran = kraftcheck("ask", path, "elect", "t-0", "type=unclean")
    assert "t-0: MAY LOSE RECORDS: 1 leads without what was acknowledged since it left the ISR" in ran.out
    assert "epoch" not in ran.out.partition("\n\n")[2].partition("decided by")[0]


def test_an_error_of_a_check_without_a_choice_says_so() -> None:
    """Nothing is named as deciding where no choice would bring another answer."""
    assert "decided by a check that no choice switches" in kraftcheck("ask", OUTAGE, "unregister", "9").out


def test_a_change_that_is_none_is_decided_by_nothing() -> None:
    """A value that a topic has already is written by no record, and an empty value removes it."""
    controller = end(OUTAGE)
    assert answer(controller, "alter-configs topic:wide min.insync.replicas=1").records == ()
    (record, *_) = answer(controller, "alter-configs topic:wide min.insync.replicas=").records
    assert record == ConfigRecord("topic", "wide", "min.insync.replicas", None)


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        ("elct loose-0", "unknown request 'elct'; did you mean elect?"),
        ("start 2", "start is no request to the controller; `kraftcheck status LOG` tells what follows it, and "),
        ("elect", "elect takes TOPIC-N [type=preferred|unclean], or all [type=...]"),
        ("elect loose-7", "no partition 'loose-7'; did you mean loose-1, loose-0"),
        ("elect loose-0 typ=unclean", "elect does not take 'typ=unclean'; it takes TOPIC-N"),
        ("elect loose-0 type=dirty", "type is 'dirty', none of preferred, unclean"),
        ("elect loose-0 type=unclean type=unclean", "type is given twice"),
        ("alter-partition strict-1 isr=0", "strict-1 has no leader that could ask; say from=BROKER"),
        ("alter-partition loose-0 isr=1,1", "isr names broker 1 twice; name it once"),
        ("alter-partition loose-0 isr=a", "isr takes a whole number, not 'a'"),
        ("alter-partition loose-0", "alter-partition takes TOPIC-N isr=1,2"),
        ("reassign loose-0 cancel replicas=1", "reassign takes TOPIC-N replicas=1,2,3, or TOPIC-N cancel"),
        ("reassign loose-0 cancel=1", "reassign does not take 'cancel=1'"),
        ("alter-configs loose x=1", "alter-configs takes topic:NAME|broker:N|cluster KEY=VALUE"),
        ("alter-configs cluster retention.ms=1", "what 'retention.ms' of a cluster is checked for is not modelled"),
        ("alter-configs topic:loose cleanup.policy=bogus", "what 'cleanup.policy' of a topic is checked for is not"),
        ("unregister 2 now", "unregister does not take 'now'; it takes BROKER"),
        ("heartbeat 9", "broker 9 is not registered where the log ends; registered: 0, 1, 2"),
        ("heartbeat 2 offline=here", "offline names a directory as the log does: "),
    ],
)
def test_what_is_no_request_is_refused_in_a_line(request_: str, told: str) -> None:
    """A word that no request takes, and a name that is not there, are refused with what to write."""
    with pytest.raises(kc.Refusal) as refused:
        handler(end(OUTAGE), request_.split())
    assert str(refused.value).startswith(told)
    assert "\n" not in str(refused.value)


def test_the_command_and_python_say_the_same(tmp_path: Path) -> None:
    """Text, document and exit code of the command are those of `kraftcheck.ask`; bad input is one line and exit 2."""
    request_ = "heartbeat 2"
    asked = kc.ask(OUTAGE, request_)
    ran = kraftcheck("ask", OUTAGE, *request_.split(), "--json", tmp_path / "answer.json")
    assert (asked.exit_code, ran.code) == (0, 0)
    assert ran.out.strip() == asked.text.strip()
    gone = asked.document["records"][1]
    assert gone["changes"]["leader"] == [-1, 2]
    refused = kraftcheck("ask", OUTAGE, "elect", "nope-0")
    assert (refused.code, refused.err.count("\n"), refused.out) == (2, 1, "")
    assert kraftcheck("ask", OUTAGE, "unregister", "9").code == 1
    with pytest.raises(kc.Refusal, match="request has no words"):
        kc.ask(OUTAGE, " ")
