"""Requests that releases answer in their own way, put to the released managers and to the controller on ints."""

import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.drivers import PACKAGE, compiled
from kraftcheck.ci.conformance.kafka.jars import SHORT_RUN, program
from kraftcheck.model.controller.commits import replay_record
from kraftcheck.model.controller.errors import RequestError, Resignation
from kraftcheck.model.controller.heartbeat import Contacts, contact
from kraftcheck.model.controller.partitions import Reassignment, reassign
from kraftcheck.model.controller.state import Controller
from kraftcheck.model.controller.topics import CreateTopicsRequest, Growth, NewTopic, create_partitions, create_topics
from kraftcheck.model.records.records import BrokerRegistrationChangeRecord
from kraftcheck.model.rules.ruleset import RuleSet, parse
from tests.model.controller.controllers import cluster, directory, with_topic

DRIVER = Path(__file__).parent / "released" / "ReleasedRequests.java"
TIMEOUT = 10

REQUESTS = (
    "usable", "create 0,1", "create 1,2", "create 1,1", "create 2 1", "create 1 3", "create 1 2", "create 10000 9",
    "create 10001 1", "grow 2", "grow 1", "grow 10001", "grow 10002", "reassign 1,2", "reassign 1,2 no",
    "reassign 2,1,0", "reassign 2,1,0 no", "reassign 1,9 no",
)  # fmt: skip
"""Requests: creations by hand, or by partitions and factor; growths; reassignments, some that forbid another factor."""

RELEASES = ("4.4.0", *(pytest.param(name, marks=pytest.mark.slow) for name in ("4.0.2", "4.1.2", "4.2.0", "4.3.1")))


def asked(version: str, lines: list[str]) -> list[str]:
    """The answers of the released classes; the driver is compiled once for each version."""
    command = [program("java"), *SHORT_RUN, "-cp", compiled(Build(version), (DRIVER,))]
    command.append(f"{PACKAGE}.ReleasedRequests")
    text = "\n".join(lines) + "\n"
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout.splitlines()


def sequences(as_list: bool) -> Iterator[tuple[str, str | None]]:
    """Drawn contacts and checks of sessions, and what the model answers."""
    draw = random.Random(1)
    for _ in range(400):
        yield "table", None
        known, now = Contacts(), 100
        ids = draw.choice([range(4), range(60), [draw.randrange(2**31) for _ in range(40)]])
        for _ in range(draw.choice([10, 40, 150])):
            now += draw.randrange(4)
            if draw.random() < 0.75:
                broker = draw.choice(ids)
                epoch = draw.choice([draw.randrange(10), draw.randrange(2000), draw.randrange(2**40)])
                known = known.heard(contact(broker, epoch, as_list), now)
                yield f"heard {broker} {epoch} {now}", None
                continue
            ended = known.first_ended(now, TIMEOUT)
            known = known if ended is None else known.without(ended.broker, ended.epoch)
            yield f"check {now}", "none" if ended is None else f"{ended.broker} {ended.epoch}"


@pytest.mark.xdist_group("kafka")
@pytest.mark.parametrize("version", RELEASES)
def test_sessions_end_in_the_order_of_the_released_table(version: str) -> None:
    """Which session a check ends is the same in each of thousands of checks, in tables of up to 256 bins."""
    drawn = list(sequences(parse(f"kafka-{version}").controller.contacts_hashed_as_lists))
    expected = [answer for _, answer in drawn if answer is not None]
    assert asked(version, [line for line, _ in drawn]) == expected
    assert len(set(expected)) > 1000
    other = [answer for _, answer in sequences(not parse(f"kafka-{version}").controller.contacts_hashed_as_lists)]
    assert [answer for answer in other if answer is not None] != expected


def started(cordoned: str) -> Controller:
    """Three live brokers, one of them perhaps cordoned, and a topic on all of them."""
    controller = with_topic(cluster(3), "foo", (0, 1, 2))
    if cordoned == "-":
        return controller
    broker = int(cordoned)
    record = BrokerRegistrationChangeRecord(broker, 100 + broker, cordoned=(directory(broker),))
    return replay_record(controller, record, parse("fixed"))


def answered(controller: Controller, words: list[str], rules: RuleSet) -> str:
    """The model's answer to a request."""
    try:
        return _row(controller, words, rules)
    except (RequestError, Resignation) as refusal:
        return f"whole {refusal.error}"


def _row(controller: Controller, words: list[str], rules: RuleSet) -> str:
    kind, first = words[0], words[1] if len(words) > 1 else ""
    lists = tuple(map(int, first.split(","))) if "," in first else ()
    if kind == "usable":
        return f"usable {sorted(known.id for known in controller.usable_brokers())}"
    outcome: Any
    if kind == "create":
        topic = NewTopic("new", assignments=((0, lists),)) if lists else NewTopic("new", int(first), int(words[2]))
        request = CreateTopicsRequest((topic,), policy=lambda t: Resignation.error if t.partitions == 2 else "NONE")
        outcome = create_topics(controller, request, rules)
    elif kind == "grow":
        outcome = create_partitions(controller, (Growth("foo", int(first)),), rules)
    else:
        outcome = reassign(controller, (Reassignment("foo", 0, lists),), rules, factor_may_change=len(words) == 2)
    return f"row {outcome.response[0].error}"


@pytest.mark.xdist_group("kafka")
@pytest.mark.parametrize("version", RELEASES)
def test_requests_are_answered_as_by_the_released_managers(version: str) -> None:
    """Factors, numbers of partitions, policies and cordoned brokers: the answers are the release's, row or whole."""
    rules, lines, expected = parse(f"kafka-{version}"), [], []
    for cordoned in ("-", "0") if version in ("4.3.1", "4.4.0") else ("-",):
        lines.append(f"managers {cordoned}")
        for request in REQUESTS:
            lines.append(request)
            expected.append(answered(started(cordoned), request.split(), rules))
    assert asked(version, lines) == expected
    assert {"row NONE", "whole POLICY_VIOLATION"} <= set(expected)
