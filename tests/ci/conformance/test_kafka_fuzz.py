"""`kraftcheck conform --kafka --fuzz`: drawn sequences of requests on Kafka's own managers and on the model."""

import itertools
import re
import time

import pytest
from attrs import evolve

from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.fuzz.beside import BesideRow
from kraftcheck.ci.conformance.kafka.fuzz.model import HALTED, Decided, ModelController, Request, in_order
from kraftcheck.ci.conformance.kafka.fuzz.requests import (
    Brokers,
    Draws,
    beat,
    create,
    drawn_plan,
    register,
    session_check,
    waited,
)
from kraftcheck.ci.conformance.kafka.fuzz.run import (
    FEW_ELECTED,
    LENGTH,
    REQUESTS,
    Exchange,
    FuzzCause,
    FuzzCounts,
    FuzzDifference,
    FuzzProcess,
    FuzzProgress,
    FuzzRow,
    Played,
    _reduced,
    cause_lines,
    fuzz_with_kafka,
    fuzzed,
    shortened,
)
from kraftcheck.ci.conformance.kafka.fuzz.wording import ABSENT, USUAL, WORDS, apart, request_text
from kraftcheck.model.controller.partitions import Reassignment, reassign
from kraftcheck.model.controller.state import Controller
from kraftcheck.model.rules.ruleset import RELEASES, RuleSet, parse
from tests.shared.commands import kraftcheck

pytestmark = pytest.mark.xdist_group("kafka")

NEWEST = "4.4.0"

WRONG = parse(f"kafka-{NEWEST}+partition-epoch-follows-leader")
"""A rule set with other partition epochs than Kafka's, and nothing else wrong."""


def test_progress_is_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where standard error is no terminal, plain lines say what takes how long; --quiet has none."""

    def fuzz(build: Build, rules: RuleSet, steps: int, seed: int, report: FuzzProgress) -> FuzzRow:
        report(f"{build} fuzz", 1200, 0)
        return FuzzRow(str(build), seed, 1200, 12, {}, 0, 1.0)

    monkeypatch.setattr("kraftcheck.ci.conformance.command.fuzz_with_kafka", fuzz)
    monkeypatch.setattr("kraftcheck.ci.terminal.progress.PLAIN_SECONDS", 0.0)
    words = ("conform", "--kafka", NEWEST, "--fuzz", "1000")
    assert kraftcheck(*words).err == f"{NEWEST} fuzz: 1,200 cases, 0 differences\n"
    assert kraftcheck(*words, "--quiet").err == ""


def test_a_seed_draws_the_same_again() -> None:
    """The requests of a sequence, and the model's answers, depend on seed, number and rules alone."""
    first, again = (Played.of(NEWEST, parse("kafka-4.4.0"), drawn_plan(5, 3, 60)) for _ in range(2))
    other = Played.of(NEWEST, parse("kafka-4.4.0"), drawn_plan(5, 4, 60))
    assert first.lines == again.lines != other.lines
    assert [exchange.model for exchange in first.exchanges] == [exchange.model for exchange in again.exchanges]


@pytest.mark.parametrize(("version", "has"), [("3.9.2", False), ("4.0.2", False), (NEWEST, True)])
def test_a_release_is_asked_what_its_requests_can_say(version: str, has: bool) -> None:
    """A field that the requests of a release lack is not put to it, whatever the rule set knows."""
    sequences = (Played.of(version, parse("kafka-4.4.0"), drawn_plan(0, number, 60)) for number in range(40))
    assert any(line.endswith(" same-factor") for one in sequences for line in one.lines) == has


def test_zeros_draw_the_plainest() -> None:
    """Spent or zero numbers draw the first option, no rare case, and members in their order."""
    draws = Draws((0, 0))
    assert (draws.pick("abc"), draws.percent(99), draws.some((7, 8, 9), 2), draws.below(5)) == ("a", False, (7, 8), 0)


def test_records_of_a_partition_keep_their_order() -> None:
    """Changes between two other records are ordered by partition, and in no other way."""
    given = ["broker 1", "change 1-0 b", "change 0-0 z", "change 1-0 a", "broker 2", "change 0-0 a"]
    ordered = ["broker 1", "change 0-0 z", "change 1-0 b", "change 1-0 a", "broker 2", "change 0-0 a"]
    assert in_order(given) == ordered


def test_every_kind_of_request_writes_records_somewhere() -> None:
    """A few sequences have each kind of request, and each kind that can write records writes some."""
    asked: set[str] = set()
    written: set[str] = set()
    for number in range(60):
        for exchange in Played.of(NEWEST, parse("kafka-4.4.0"), drawn_plan(1, number, 120)).exchanges:
            asked.add(exchange.request.kind)
            written |= {exchange.request.kind} if "|" in exchange.model else set()
    assert asked == {*REQUESTS, "image"}
    assert asked - written == {"wait", "fail-over", "image", "list"}


def test_what_requests_say_seldom_is_drawn() -> None:
    """Registrations of old brokers and of ZooKeeper's, absent topics, too many lists, and epochs beyond 32 bits."""
    rules, said = parse(f"kafka-{NEWEST}"), list[str]()
    for number in range(60):
        said += (
            f"{one.request.line} -> {one.model}"
            for one in Played.of(NEWEST, rules, drawn_plan(0, number, 120)).exchanges
        )
    for pattern in (
        r"register (-?\d+) (\d+) \S+ [3-9]\d* \S+ cluster old -> ok \d+\|change .* last_known_elr=\1 leader=-1",
        r"register .* zk -> error BROKER_ID_NOT_REGISTERED",
        r"elect \d absent/\d+ -> ok absent/\d+=UNKNOWN_TOPIC_OR_PARTITION",
        r"grow \S+ \d [\d,;]+ -> ok INVALID_REPLICA_ASSIGNMENT",
        r"grow \S+ \d \S+ -> ok INVALID_PARTITIONS",
        r"register .* -> ok 2147483[67]\d\d\|",
        r"heartbeat \d+ 4294967[34]\d\d .* 4294967[34]\d\d .* -> ok true",
    ):
        assert any(re.match(pattern, one) for one in said), pattern


def test_a_sample_agrees() -> None:
    """Some thousands of steps on the newest release: no difference, each kind of request, refusals and resignations."""
    row = fuzz_with_kafka(Build(NEWEST), parse(f"kafka-{NEWEST}"), 4000, 4, lambda *progress: None)
    assert (row.differing, row.causes) == (0, ())
    assert row.steps >= 4000
    assert row.answers.keys() == {*REQUESTS, "image"}
    kinds = {answer for answers in row.answers.values() for answer in answers}
    assert {"records", "no record", "DUPLICATE_BROKER_REGISTRATION", "NEW_LEADER_ELECTED", "INVALID_CONFIG"} <= kinds
    assert {"STALE_BROKER_EPOCH", "INELIGIBLE_REPLICA"} <= row.answers["alter"].keys()


def test_a_wide_sequence_has_what_others_are_too_small_for() -> None:
    """One plan of some has ISRs of more than five, partitions beyond the twentieth, and leader epochs beyond forty."""
    assert [number for number in range(200) if drawn_plan(0, number, 0).wide] == [63, 127, 191]
    text = [exchange.model for exchange in Played.of(NEWEST, parse("kafka-4.4.0"), drawn_plan(0, 63, 120)).exchanges]
    assert any(re.search(r"change \S+ .*isr=\d+(,\d+){5,} ", one) for one in text)
    assert any(re.search(r"change \d+-2[1-9] ", one) for one in text)
    assert max(int(epoch) for epoch in re.findall(r" epochs=(\d+),", text[-1])) > 40


def test_a_wide_sequence_agrees() -> None:
    """Before and after others, on the newest release: no difference, and nobody waits for the other in vain."""
    counts, plans = FuzzCounts(), iter([drawn_plan(0, number, 30) for number in (62, 63, 127, 128)])
    assert list(fuzzed(Build(NEWEST), parse(f"kafka-{NEWEST}"), plans, counts, lambda: False)) == []
    assert counts.sequences == 4
    assert counts.steps > 2000


def test_timers_have_no_limit_where_the_order_of_partitions_shows() -> None:
    """Where a dead last known leader is elected, a partition is decided on in two rounds, by the order of drawn ids.

    A witness keeps the limit of its sequence, whatever rules it is held against.
    """
    begins = {
        rules: {Played.of(NEWEST, parse(rules), drawn_plan(0, number, 2)).begin for number in range(20)}
        for rules in ("kafka-4.4.0", "kafka-4.0.1", "kafka-4.4.0+dead-last-known-leader-electable")
    }
    assert {rules: any(FEW_ELECTED in begin for begin in of) for rules, of in begins.items()} == {
        "kafka-4.4.0": True, "kafka-4.0.1": False, "kafka-4.4.0+dead-last-known-leader-electable": False}  # fmt: skip
    assert Played.of(NEWEST, parse("kafka-4.0.1"), drawn_plan(0, 0, 2), few=True).begin.endswith(FEW_ELECTED)


@pytest.mark.slow
@pytest.mark.parametrize("rules", RELEASES)
def test_every_release_agrees(rules: str) -> None:
    """Some ten thousand steps on each release, under its preset, differ nowhere."""
    row = fuzz_with_kafka(Build(rules.removeprefix("kafka-")), parse(rules), 30_000, 11, lambda *progress: None)
    assert (row.differing, row.causes) == (0, ())
    assert row.steps >= 30_000


def same_partition_twice(rows: tuple[Reassignment, Reassignment]) -> Request:
    """A reassignment request with two rows, both of one partition."""
    shown = ";".join(f"{row.topic}/{row.partition}/{','.join(map(str, row.replicas or ()))}" for row in rows)

    def decide(controller: Controller, rules: RuleSet) -> Decided:
        outcome = reassign(controller, rows, rules)
        return outcome, ",".join(row.error for row in outcome.response)

    return Request(f"reassign {shown} -", decide)


def test_two_rows_of_one_partition_halt() -> None:
    """Both rows are decided on the partition before the request: where they do not fit, no controller replays them."""
    rules, brokers = parse(f"kafka-{NEWEST}"), Brokers((0, 1, 2), 2)
    world = ModelController.start(NEWEST, rules, elr=False, few=False)
    drawn = [*((register, (n,)) for n in range(3)), *((beat, (n,)) for n in range(3)), (create, (0, 0, 1, 3, 0, 99))]
    exchanges = []
    for draw, numbers in drawn:
        request = draw(world, brokers, Draws(numbers))
        assert request is not None
        exchanges.append(Exchange(0, request, world.answer(request)))
    twice = same_partition_twice((Reassignment("foo", 0, (2,)), Reassignment("foo", 0, (1, 0))))
    exchanges.append(Exchange(0, twice, world.answer(twice)))
    played = Played(drawn_plan(0, 0, 0), "begin", exchanges)
    with FuzzProcess(Build(NEWEST)) as kafka:
        kafka.send(played.lines)
        answers = kafka.answers(len(exchanges))
    assert exchanges[-1].model == HALTED
    assert "lengths for replicas and directories do not match" in answers[-1]
    assert played.compared(answers) is None


def test_which_session_ends_first_is_an_order() -> None:
    """Of three sessions that are over any may be the first of a table; a broker that is not silent is none of them."""
    rules, brokers = parse(f"kafka-{NEWEST}"), Brokers((0, 1, 2, 3), 2)
    world = ModelController.start(NEWEST, rules, elr=False, few=False)
    silent = [*((register, (n,)) for n in range(4)), *((beat, (0, n)) for n in range(3))]
    drawn = [*silent, (waited, (99, 0)), (beat, (0, 3))]
    for draw, numbers in drawn:
        request = draw(world, brokers, Draws(numbers))
        assert request is not None
        world.answer(request)
    check = session_check(world, brokers, Draws(()))
    others = world.others(check)
    exchange = Exchange(0, check, world.answer(check), others=others)
    assert len({exchange.model, *others}) == 3
    played = Played(drawn_plan(0, 0, 0), "begin", [exchange])
    for answer in (*others, exchange.model.replace("broker ", "broker 3", 1)):
        difference = played.compared([answer])
        assert difference is not None
        assert (difference.is_order, "order" in difference.cause) == (answer in others, answer in others)
    assert played.compared([exchange.model]) is None


def test_every_request_that_differs_is_counted() -> None:
    """Where one cause is shown of several, a line has each kind of request with the sequences that end with it."""
    cause = FuzzCause("register", 2, ("begin", "register 1"), "ok 1", "ok 2")
    row = FuzzRow("own", 0, 9, 9, {}, 5, 0.0, (cause,), kinds={"register": 4, "elect": 1})
    assert cause_lines(row)[-1] == "  in all, by request: register 4, elect 1"
    assert "in all" not in "".join(cause_lines(evolve(row, differing=2)))
    beside = BesideRow(1, 9, 6, (("set", 3, "1", "2"), ("log", 2, "1", "2"), ("image", 1, "1", "2")))
    assert beside.lines(NEWEST)[-1] == "  and 2 to log, 1 to image"


def differences(rules: RuleSet) -> list[FuzzDifference]:
    """The differences of a few sequences."""
    counts = FuzzCounts()
    plans = (drawn_plan(2, number, 60) for number in itertools.count())
    return list(fuzzed(Build(NEWEST), rules, plans, counts, lambda: counts.sequences >= 20))


def test_a_broken_rule_is_found() -> None:
    """With another rule for partition epochs proposals or partitions differ, with the release's own nothing does."""
    kinds = {difference.cause[0] for difference in differences(WRONG)}
    assert kinds
    assert kinds <= {"image", "alter"}
    assert differences(parse(f"kafka-{NEWEST}")) == []


@pytest.mark.slow
def test_a_difference_is_shortened() -> None:
    """The shortest sequence with a difference of the same cause has but the requests that it takes."""
    broken = min(differences(WRONG), key=lambda one: len(one.exchanges))
    with FuzzProcess(Build(NEWEST)) as kafka:
        found = shortened(kafka, NEWEST, WRONG, broken)
    assert found.cause == broken.cause
    assert 4 < len(found.exchanges) < 12
    numbers = [*itertools.chain(found.plan.brokers, *found.plan.steps)]
    assert 0 < sum(map(bool, numbers)) < len(numbers) / 4  # others are the plainest
    assert Played.of(NEWEST, WRONG, found.plan).begin == found.begin


def test_parts_that_are_not_needed_are_left_out() -> None:
    """Runs of parts go first, then single ones, until none can; no time is no attempt."""
    parts, asked = [*range(20)], list[tuple[int, int]]()

    def attempt(at: int, size: int) -> bool:
        asked.append((at, size))
        needed = {3, 17} & {*parts[at : at + size]}
        parts[at : at + size] = parts[at : at + size] if needed else []
        return not needed

    _reduced(lambda: len(parts), attempt, time.monotonic() - 1)
    assert (len(parts), asked) == (20, [])
    _reduced(lambda: len(parts), attempt, time.monotonic() + 60)
    assert (parts, asked[0], asked[-1][1]) == ([3, 17], (0, 10), 1)


def test_each_word_of_a_request_has_its_name() -> None:
    """Every request that is drawn is told with names, and what it says is told; answers by what they differ in."""
    plans = (drawn_plan(5, number, LENGTH) for number in range(12))
    lines = {one.request.line for plan in plans for one in Played.of(NEWEST, parse("fixed"), plan).exchanges}
    assert {line.partition(" ")[0] for line in lines if " " in line} == {*WORDS}
    for line in lines:
        told = request_text(line)
        assert told.startswith(f"{line.partition(' ')[0]}(")
        assert all(word in told for word in line.split(" ") if word not in (*ABSENT, *USUAL.values()))
    assert request_text("reassign foo/0/34,1 -") == "reassign(topic/partition/replicas=foo/0/34,1)"
    own, rules = "ok NONE|change 0-0 isr=2 replicas=2", "ok NONE|change 0-0 isr=2 leader=2 replicas=2"
    assert apart(own, rules) == "change 0-0: the classes have no leader; the rules leader=2"
    assert apart("error A", own) == (
        "the classes reply error A, the rules NONE; change 0-0 is in the answer of the rules alone"
    )
    steps = ("begin elr 7 few", "unregister 34 -> ok |unregister 34 1", "reassign a/0/1 -")
    cause = FuzzCause("reassign", 1, steps, own, rules)
    first, _, *shown = cause_lines(FuzzRow("own", 0, 9, 9, {}, 1, 0.0, (cause,)))
    assert first == f"  1 in the answer to reassign: {apart(own, rules)}"
    begun = "a controller without topics, ELR is on, its log begins at 7, a timer elects few leaders at a time"
    assert shown[:3] == [f"    0. {begun}", "    1. unregister(broker=34) -> ok",
                         "    2. reassign(topic/partition/replicas=a/0/1)"]  # fmt: skip
