"""The fuzz: sequences of requests on both sides, and the first difference of each."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from attrs import define, field, frozen

from kraftcheck.ci.conformance.kafka.fuzz.broker_requests import (
    beat,
    drawn_brokers,
    fail_over,
    register,
    session_check,
    unregistered,
    waited,
)
from kraftcheck.ci.conformance.kafka.fuzz.draws import Draws, Plan
from kraftcheck.ci.conformance.kafka.fuzz.feature_requests import switch_elr
from kraftcheck.ci.conformance.kafka.fuzz.model import ModelController, Request
from kraftcheck.ci.conformance.kafka.fuzz.partition_requests import (
    alter,
    assign,
    balance,
    elect,
    reassigned,
    unclean,
)
from kraftcheck.ci.conformance.kafka.fuzz.texts import answer_text
from kraftcheck.ci.conformance.kafka.fuzz.topic_requests import configure, create, delete, grow
from kraftcheck.ci.conformance.kafka.java import FUZZ, DriverError, DriverProcess
from kraftcheck.model.rules.ruleset import RuleSet

REQUESTS = {
    "heartbeat": (beat, 30), "alter": (alter, 18), "register": (register, 8), "reassign": (reassigned, 8),
    "assign": (assign, 6), "create": (create, 5), "wait": (waited, 4), "session-check": (session_check, 5),
    "config": (configure, 5), "elect": (elect, 4), "grow": (grow, 2), "delete": (delete, 2),
    "unregister": (unregistered, 1), "balance": (balance, 4), "unclean": (unclean, 3), "fail-over": (fail_over, 1),
    "elr": (switch_elr, 1),
}  # fmt: skip
"""What draws each kind of request, and how often it is drawn; the first is what zeros draw."""

DRAWN = tuple(draw for draw, weight in REQUESTS.values() for _ in range(weight))

DIED = "the driver died"
"""How the answer begins that the end of Kafka's process is."""

OPTIONS = ("-XX:+UseSerialGC", "-Xms128m", "-Xmx512m")


class FuzzProcess(DriverProcess):
    """Kafka's managers in a process: `with FuzzProcess(version) as kafka: kafka.send(...); kafka.answers(...)`."""

    def __init__(self, version: str) -> None:
        super().__init__(version, FUZZ, (), OPTIONS)

    def send(self, lines: Sequence[str]) -> None:
        """Put a sequence to the managers; its answers wait to be read.

        Raises:
            DriverError: when the process has ended.
        """
        stream = self._pipe(self._process.stdin)
        try:
            stream.write(("\n".join(lines) + "\n\n").encode())
            stream.flush()
        except BrokenPipeError:
            raise self._failure() from None

    def answers(self, count: int) -> list[str]:
        """The next answers; where the process ends before it has given all, its end is the answer to the next one."""
        stream, lines = self._pipe(self._process.stdout), list[str]()
        while len(lines) < count:
            line = stream.readline().decode()
            if not line.endswith("\n"):
                return [*lines, f"{DIED}: {self._failure()}"]
            lines.append(line.rstrip("\n"))
        return lines


@frozen
class Exchange:
    """One request of a sequence, what the model answers, and what Kafka does; the latter once it is known.

    Attributes:
        step: the number of the plan's step that drew it.
    """

    step: int
    request: Request
    model: str
    kafka: str = ""


@frozen
class FuzzDifference:
    """A sequence whose last request is answered differently."""

    plan: Plan
    begin: str
    exchanges: tuple[Exchange, ...]

    @property
    def cause(self) -> tuple[str, str, str]:
        """What differences of one cause are likely to share: the request, and what kinds of answer."""
        last = self.exchanges[-1]
        if last.kafka.startswith(DIED):
            return last.request.kind, DIED, ""
        return last.request.kind, _shape(last.kafka), _shape(last.model)


@define
class FuzzCounts:
    """What was executed: steps by kind of request and by kind of answer, and sequences."""

    steps: int = 0
    sequences: int = 0
    answers: Counter[tuple[str, str]] = field(factory=Counter)

    def by_request(self) -> dict[str, dict[str, int]]:
        """The answers of each kind of request, by name."""
        found: dict[str, dict[str, int]] = {}
        for (request, answer), count in sorted(self.answers.items()):
            found.setdefault(request, {})[answer] = count
        return found


def _shape(answer: str) -> str:
    """An answer without its numbers: its head, and the kinds of its records with the fields they have."""
    head, *records = answer.partition("#")[0].split("|")
    shapes = []
    for record in records:
        words = record.split(" ")
        shapes.append(" ".join((words[0], *(word.partition("=")[0] for word in words[2:] if "=" in word))))
    return "|".join((_head(head), *shapes))


def _head(head: str) -> str:
    """The head of an answer; a number in it is an epoch, which is of no kind."""
    return "ok" if head[3:].isdigit() else head


def played(version: str, rules: RuleSet, plan: Plan) -> tuple[str, list[Exchange]]:
    """The first line of a sequence, and its requests with the model's answers."""
    draws = Draws(plan.brokers)
    brokers = drawn_brokers(draws)
    elr = not version.startswith("3.") and not draws.percent(30)
    world = ModelController.start(version, rules, elr)
    exchanges = []
    for number, numbers in enumerate(plan.steps):
        step = Draws(numbers)
        request = step.pick(DRAWN)(world, brokers, step)
        if request is not None:
            exchanges.append(Exchange(number, request, world.answer(request)))
    image = Request("image")
    exchanges.append(Exchange(len(plan.steps), image, world.answer(image)))
    return "begin elr" if elr else "begin", exchanges


def compared(plan: Plan, begin: str, exchanges: list[Exchange], answers: Sequence[str]) -> FuzzDifference | None:
    """The first difference, if there is one."""
    pairs = []
    for exchange, answer in zip(exchanges, answers, strict=False):  # after an answer that none follows it has died
        head, *records = answer.removeprefix("ok ").split("|")
        text = answer_text(head, records) if answer.startswith("ok ") else answer
        pairs.append(Exchange(exchange.step, exchange.request, exchange.model, text))
        if text.partition("#")[0] != exchange.model:
            return FuzzDifference(plan, begin, tuple(pairs))
    return None


def differs(kafka: FuzzProcess, version: str, rules: RuleSet, plan: Plan) -> FuzzDifference | None:
    """The first difference of a plan; a process that dies of it is followed by a new one."""
    begin, exchanges = played(version, rules, plan)
    with contextlib.suppress(DriverError):  # it died while it was asked: its answers say so
        kafka.send([begin, *(exchange.request.line for exchange in exchanges)])
    answers = kafka.answers(len(exchanges))
    if answers[-1].startswith(DIED):
        kafka.restart()
    return compared(plan, begin, exchanges, answers)


def fuzzed(
    version: str, rules: RuleSet, plans: Iterator[Plan], counts: FuzzCounts, enough: Callable[[], bool]
) -> Iterator[FuzzDifference]:
    """The differences of plans, as they are found; one sequence is ahead of the answers.

    Args:
        version: the release.
        rules: the rule set.
        plans: the sequences.
        counts: what is executed, kept up to date.
        enough: whether no further sequence is wanted.

    Raises:
        DriverError: when a new process with Kafka's classes ends before it is asked.
        Refusal: where jars, Java, Maven or the network are missing.
    """
    with FuzzProcess(version) as kafka:
        waiting: _Asked | None = None
        while waiting is not None or not enough():
            plan = None if enough() else next(plans, None)
            if plan is None and waiting is None:
                return
            ahead = None
            if plan is not None:
                ahead = _Asked(plan, *played(version, rules, plan))
                with contextlib.suppress(DriverError):  # the answers to what waits say so
                    kafka.send(ahead.lines)
            if waiting is not None:
                answers = kafka.answers(len(waiting.exchanges))
                difference = compared(waiting.plan, waiting.begin, waiting.exchanges, answers)
                _count(counts, waiting.exchanges, difference)
                if difference is not None:
                    yield difference
                if answers[-1].startswith(DIED):
                    kafka.restart()
                    if ahead is not None:
                        kafka.send(ahead.lines)
            waiting = ahead


@frozen
class _Asked:
    """A sequence that waits for its answers."""

    plan: Plan
    begin: str
    exchanges: list[Exchange]

    @property
    def lines(self) -> list[str]:
        return [self.begin, *(exchange.request.line for exchange in self.exchanges)]


def _count(counts: FuzzCounts, exchanges: list[Exchange], difference: FuzzDifference | None) -> None:
    agreed = exchanges if difference is None else exchanges[: len(difference.exchanges) - 1]
    counts.steps += len(agreed)
    counts.sequences += 1
    for exchange in agreed:
        counts.answers[exchange.request.kind, _kind_of_answer(exchange.model)] += 1


def _kind_of_answer(answer: str) -> str:
    """How an answer is counted: an error, a resignation, or how many records."""
    if not answer.startswith("ok "):
        return answer.removeprefix("error ")
    head, *records = answer.split("|")
    errors = [word for word in head[3:].replace("=", ",").split(",") if word.isupper() and word != "NONE"]
    return errors[0] if errors else "records" if records else "no record"
