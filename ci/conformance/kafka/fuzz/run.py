"""The fuzz: sequences of requests on both sides, and the first difference of each."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from attrs import asdict, define, evolve, field, frozen

from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.columns import answer_lines
from kraftcheck.ci.conformance.kafka.coverage.links import MISFIT, misfit_refusal
from kraftcheck.ci.conformance.kafka.drivers import FUZZ, NO_ANSWER, DriverError, DriverProcess, compile_driver
from kraftcheck.ci.conformance.kafka.fuzz.model import ModelController, Request, answer_text
from kraftcheck.ci.conformance.kafka.fuzz.requests import (
    WIDTH,
    Draws,
    Plan,
    alter,
    assign,
    balance,
    beat,
    configure,
    create,
    delete,
    drawn_brokers,
    drawn_plan,
    elect,
    fail_over,
    grow,
    list_ongoing,
    reassigned,
    register,
    session_check,
    switch_elr,
    unclean,
    unregistered,
    waited,
)
from kraftcheck.ci.conformance.kafka.fuzz.wording import apart, begin_text, plain_answer, request_text
from kraftcheck.ci.terminal.interrupts import OutOfTime, passed, within
from kraftcheck.model.rules.ruleset import RuleSet

REQUESTS = {
    "heartbeat": (beat, 30), "alter": (alter, 18), "register": (register, 8), "reassign": (reassigned, 8),
    "assign": (assign, 6), "create": (create, 5), "wait": (waited, 4), "session-check": (session_check, 5),
    "config": (configure, 5), "elect": (elect, 4), "grow": (grow, 2), "delete": (delete, 2),
    "unregister": (unregistered, 1), "list": (list_ongoing, 2),
    "balance": (balance, 4), "unclean": (unclean, 3), "fail-over": (fail_over, 1),
    "elr": (switch_elr, 1),
}  # fmt: skip
"""What draws each kind of request, and how often it is drawn; the first is what zeros draw."""

DRAWN = tuple(draw for draw, weight in REQUESTS.values() for _ in range(weight))

DIED = "the process died"  # how the answer begins that the end of Kafka's process is

FIRST_OFFSETS = (0, 0, 2**31 - 60, 2**32 - 60)  # where logs begin; soon after the last ones 32 bits are not enough

FEW_ELECTED = " few"  # how the first line of a sequence ends where a timer elects few leaders at a time

OPTIONS = ("-XX:+UseSerialGC", "-Xms128m", "-Xmx512m")


class FuzzProcess(DriverProcess):
    """Kafka's managers in a process: `with FuzzProcess(build) as kafka: kafka.send(...); kafka.answers(...)`."""

    SILENCE = 60.0

    def __init__(self, build: Build) -> None:
        super().__init__(build, FUZZ, (), OPTIONS)

    def send(self, lines: Sequence[str]) -> None:
        """Put a sequence to the managers, whose answers wait to be read; raises DriverError when they have ended."""
        stream = self._pipe(self._process.stdin)
        try:
            with self._limited():
                stream.write(("\n".join(lines) + "\n\n").encode())
                stream.flush()
        except BrokenPipeError:
            raise self._failure() from None

    def answers(self, count: int) -> list[str]:
        """The next answers, the end of the process being one; raises OutOfTime, with those that have come."""
        stream, lines = self._pipe(self._process.stdout), list[str]()
        with self._limited():
            while len(lines) < count:
                line = stream.readline().decode()
                if not line.endswith("\n"):
                    try:
                        return [*lines, f"{DIED}: {self._failure()}"]
                    except OutOfTime as reason:
                        reason.answered = len(lines)
                        raise
                lines.append(line.rstrip("\n"))
        return lines


@frozen
class Exchange:
    """One request of a sequence, what the model answers, and what Kafka does; the latter once it is known."""

    step: int  # the number of the plan's step that drew it
    request: Request
    model: str
    kafka: str = ""
    others: tuple[str, ...] = ()  # what the model would answer in another order of Kafka's own tables


@frozen
class FuzzDifference:
    """A sequence whose last request is answered differently."""

    plan: Plan
    begin: str
    exchanges: tuple[Exchange, ...]

    @property
    def is_order(self) -> bool:
        """Whether Kafka answers as the model would in another order of a hash table of Kafka's."""
        return self.exchanges[-1].kafka in self.exchanges[-1].others

    @property
    def cause(self) -> tuple[str, ...]:
        """What differences of one cause are likely to share: the request, and what kinds of answer."""
        last = self.exchanges[-1]
        if self.died:
            return last.request.kind, DIED, ""
        return last.request.kind, _shape(last.kafka), _shape(last.model), *["order"] * self.is_order

    @property
    def died(self) -> bool:
        """Whether Kafka's process ended in place of an answer."""
        return self.exchanges[-1].kafka.startswith(DIED)

    @property
    def hung(self) -> bool:
        """Whether it was ended, since it did not answer: to ask it again takes as long again."""
        return self.died and NO_ANSWER in self.exchanges[-1].kafka


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


@frozen
class Played:
    """A plan that the model has played, for Kafka to play."""

    plan: Plan  # the plan
    begin: str  # the first line of its sequence
    exchanges: list[Exchange]  # its requests, with the model's answers

    @classmethod
    def of(cls, version: str, rules: RuleSet, plan: Plan, few: bool | None = None) -> Played:
        """What the model makes of a plan.

        Args:
            version: the release whose requests are drawn.
            few: whether a timer elects few leaders at a time; None: drawn, but for rules under which it may decide on
                a partition twice, since the order in which Kafka visits partitions, that of drawn ids, shows then.
        """
        draws = Draws(plan.brokers)
        brokers = drawn_brokers(draws, plan.wide)
        elr, drawn = not version.startswith("3.") and not draws.percent(30), draws.percent(50)
        few = drawn and not rules.partition.dead_last_known_leader_electable if few is None else few
        first = draws.pick(FIRST_OFFSETS)
        world = ModelController.start(version, rules, elr, few, plan.wide, first)
        exchanges = []
        for number, numbers in enumerate(plan.steps):
            step = Draws(numbers)
            request = step.pick(DRAWN)(world, brokers, step)
            if request is not None:
                others = world.others(request)
                exchanges.append(Exchange(number, request, world.answer(request), others=others))
        image = Request("image")
        exchanges.append(Exchange(len(plan.steps), image, world.answer(image)))
        return cls(plan, f"begin{' elr' * elr}{f' {first}' * bool(first)}{FEW_ELECTED * few}", exchanges)

    @property
    def lines(self) -> list[str]:
        """Its lines."""
        return [self.begin, *(exchange.request.line for exchange in self.exchanges)]

    def send(self, kafka: FuzzProcess) -> None:
        """Put it to the managers; of a process that dies while it is asked the answers say so."""
        with contextlib.suppress(DriverError):
            kafka.send(self.lines)

    def answered(self, kafka: FuzzProcess, ahead: Played | None = None) -> FuzzDifference | None:
        """The first difference; a process that dies has a new one; raises DriverError, OutOfTime, Refusal."""
        try:
            answers = kafka.answers(len(self.exchanges))
        except OutOfTime as reason:
            raise OutOfTime(f"{reason}: {self.exchanges[reason.answered].request.line}") from None
        for answer in answers:
            if not answer.startswith("ok ") and (misfit := MISFIT.search(answer)):
                raise misfit_refusal(kafka.build, misfit[0])
        if answers[-1].startswith(DIED):
            kafka.restart()
            if ahead is not None:
                kafka.send(ahead.lines)
        return self.compared(answers)

    def compared(self, answers: Sequence[str]) -> FuzzDifference | None:
        """The first difference from Kafka's answers, if there is one."""
        pairs = []
        for exchange, answer in zip(self.exchanges, answers, strict=False):  # after one that none follows it has died
            head, *records = answer.removeprefix("ok ").split("|")
            text = answer_text(head, records) if answer.startswith("ok ") else answer
            pairs.append(evolve(exchange, kafka=text))
            if text.partition("#")[0] != exchange.model:
                plan = evolve(self.plan, steps=self.plan.steps[: exchange.step + 1])
                return FuzzDifference(plan, self.begin, tuple(pairs))
        return None


def fuzzed(
    build: Build, rules: RuleSet, plans: Iterator[Plan], counts: FuzzCounts, enough: Callable[[], bool]
) -> Iterator[FuzzDifference]:
    """The differences of plans as found, one sequence ahead, until `enough`; raises DriverError, Refusal."""
    with FuzzProcess(build) as kafka:
        waiting: Played | None = None
        while waiting is not None or not enough():
            plan = None if enough() else next(plans, None)
            if plan is None and waiting is None:
                return
            ahead = None if plan is None else Played.of(build.like, rules, plan)
            # The answers to a wide one fill a pipe: nothing is sent until they are read, nor is it before others are.
            alone = any(one is not None and one.plan.wide for one in (waiting, ahead))
            if ahead is not None and not alone:
                ahead.send(kafka)
            if waiting is not None:
                difference = waiting.answered(kafka, None if alone else ahead)
                _count(counts, waiting.exchanges, difference)
                # which of several comes first in a table of its own says nothing of a build
                if difference is not None and not (difference.is_order and build.first):
                    yield difference
                    if difference.hung:
                        kafka.kill()  # it has what is ahead, and may hang as well
                        return
            if ahead is not None and alone:
                ahead.send(kafka)
            waiting = ahead


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


def shortened(kafka: FuzzProcess, like: str, rules: RuleSet, difference: FuzzDifference) -> FuzzDifference:
    """A sequence with a difference of that cause, of as few and as plain steps as SHORTENING leaves time for."""
    best, end = difference, time.monotonic() + within(SHORTENING)

    def differs(plan: Plan) -> bool:
        nonlocal best
        played = Played.of(like, rules, plan)
        played.send(kafka)
        again = played.answered(kafka)
        if again is None or again.cause != difference.cause:
            return False
        best = again
        return True

    def without_steps(at: int, size: int) -> bool:
        steps = best.plan.steps
        return differs(evolve(best.plan, steps=(*steps[:at], *steps[at + size :])))

    def with_zeros(at: int, size: int) -> bool:
        """Of all the numbers, those of the brokers first, so many from one on become 0."""
        rows = (best.plan.brokers, *best.plan.steps)
        flat = [*itertools.chain(*rows)]
        if not any(flat[at : at + size]):
            return False
        flat[at : at + size] = [0] * len(flat[at : at + size])
        brokers, *steps = (tuple(flat[start : start + WIDTH]) for start in range(0, len(flat), WIDTH))
        return differs(evolve(best.plan, brokers=brokers, steps=tuple(steps)))

    _reduced(lambda: len(best.plan.steps), without_steps, end)
    _reduced(lambda: WIDTH * (1 + len(best.plan.steps)), with_zeros, end, shrinks=False)
    _reduced(lambda: len(best.plan.steps), without_steps, end)
    return best


def _reduced(count: Callable[[], int], attempt: Callable[[int, int], bool], end: float, shrinks: bool = True) -> None:
    """Try runs of parts, each half as long, then single ones, until none succeeds; `shrinks`: parts go."""
    size = max(1, count() // 2)
    while True:
        at, succeeded = 0, False
        while at < count() and time.monotonic() < end:
            found = attempt(at, size)
            succeeded |= found
            at += 0 if found and shrinks else size
        if (size == 1 and not succeeded) or time.monotonic() >= end:
            return
        size = max(1, size // 2)


LENGTH = 120  # steps that are drawn for a sequence; a few of them suit no state, and ask nothing
MOST_CAUSES = 3  # how many causes are shortened and shown
SHORTENING = 30.0  # seconds after which a long sequence is not shortened any more
MOST_SHOWN = 40  # so many last steps of a sequence are shown

MOST_DEATHS = 3
"""After so many ends of Kafka's process, or one that was waited for in vain, no further sequence is asked."""

FuzzProgress = Callable[[str, int, int], None]


@frozen
class FuzzCause:
    """Differences of one cause: in how many sequences, and the shortest that is known."""

    request: str  # the kind of the request that is answered differently
    sequences: int  # how many end with it
    steps: tuple[str, ...]  # the shortest, request by request with Kafka's answers; the last one differs
    # expected, actual: Kafka's answer and the model's
    expected: str
    actual: str


@frozen
class FuzzRow:
    """The fuzz of one release."""

    version: str
    seed: int
    # steps, sequences: how many were executed on both sides; steps up to the first difference of a sequence
    steps: int
    sequences: int
    answers: dict[str, dict[str, int]]  # for each kind of request how often each kind of answer was given
    differing: int  # sequences that end with a difference
    seconds: float
    causes: tuple[FuzzCause, ...] = field(factory=tuple)
    kept: tuple[FuzzDifference, ...] = field(factory=tuple)  # the shortened ones, which the document has in `causes`
    ended: bool = False  # whether Kafka's process ended or hung so often that no further sequence was asked
    late: str = ""  # what was awaited when the time was over; empty for nothing
    kinds: dict[str, int] = field(factory=dict)  # by kind of request, how many sequences end with a difference in it

    @property
    def executed(self) -> int:
        """The steps."""
        return self.steps

    @property
    def differs(self) -> bool:
        """Whether some sequence differs."""
        return self.differing > 0

    def document(self) -> dict[str, Any]:
        """The row as plain values."""
        return asdict(self, filter=lambda of, value: of.name not in ("kept", "late"))


def fuzz_with_kafka(build: Build, rules: RuleSet, steps: int, seed: int, report: FuzzProgress) -> FuzzRow:
    """Put drawn requests, of so many steps at least, to a build's managers and to the model; raises Refusal."""
    compile_driver(build, FUZZ)
    with FuzzProcess(build) as kafka:
        kafka.check_end()
    start, counts = time.monotonic(), FuzzCounts()
    plans = (drawn_plan(seed, number, LENGTH) for number in itertools.count())
    shortest: dict[tuple[str, ...], FuzzDifference] = {}
    frequency: dict[tuple[str, ...], int] = {}
    died, late = 0, ""

    def enough() -> bool:
        report(f"{build} fuzz", counts.steps, sum(frequency.values()))
        over = died >= MOST_DEATHS or passed()
        return over or counts.steps >= steps or counts.sequences * LENGTH >= 2 * steps

    try:
        for difference in fuzzed(build, rules, plans, counts, enough):
            died += MOST_DEATHS if difference.hung else difference.died
            frequency[difference.cause] = frequency.get(difference.cause, 0) + 1
            known = shortest.get(difference.cause, difference)
            shortest[difference.cause] = min(known, difference, key=lambda one: len(one.exchanges))
    except OutOfTime as reason:
        late = str(reason)
    seconds, kinds = time.monotonic() - start, Counter[str]()
    for cause, count in frequency.items():
        kinds[cause[0]] += count
    chosen = [shortest[cause] for cause in sorted(shortest, key=lambda cause: -frequency[cause])[:MOST_CAUSES]]
    kept = tuple(_all_shortened(build, rules, chosen))
    return FuzzRow(
        str(build), seed, counts.steps, counts.sequences, counts.by_request(), sum(frequency.values()), seconds,
        tuple(_cause(one, frequency[one.cause]) for one in kept), kept, died >= MOST_DEATHS, late,
        dict(kinds.most_common()),
    )  # fmt: skip


def _all_shortened(build: Build, rules: RuleSet, found: Sequence[FuzzDifference]) -> Iterator[FuzzDifference]:
    """Differences, shortened as long as there is time."""
    for one in found:
        if one.hung or passed():
            yield one
            continue
        try:
            with FuzzProcess(build) as kafka:
                yield shortened(kafka, build.like, rules, one)
        except OutOfTime:
            yield one


def _cause(difference: FuzzDifference, sequences: int) -> FuzzCause:
    *before, last = difference.exchanges
    steps = [difference.begin, *(f"{exchange.request.line} -> {exchange.kafka}" for exchange in before)]
    return FuzzCause(last.request.kind, sequences, (*steps, last.request.line), last.kafka, last.model)


def fuzz_lines(row: FuzzRow, rules: str) -> list[str]:
    """The fuzz for a reader."""
    text = [
        f"Kafka {row.version} fuzz of whole controllers, seed {row.seed}: {row.steps:,} steps "
        f"in {row.sequences:,} sequences, {row.seconds:.0f} s"
    ]
    for request, answers in row.answers.items():
        counted = ", ".join(f"{name} {count:,}" for name, count in sorted(answers.items(), key=_by_count))
        text.append(f"  {request}: {counted}")
    missed = [kind for kind in REQUESTS if kind not in row.answers]
    text += [f"  not executed at all: {', '.join(missed)}"] if missed else []
    return [*text, f"{rules}: {row.differing:,} sequences differ", *cause_lines(row)]


def cause_lines(row: FuzzRow) -> list[str]:
    """The causes of differences for a reader, each with the shortest sequence."""
    text = list[str]()
    for cause in row.causes:
        differs = apart(cause.expected, cause.actual)
        text.append(f"  {cause.sequences:,} in the answer to {cause.request}{': ' * bool(differs)}{differs}")
        text.append("  the shortest that is known, with topics by their numbers in the order of creation:")
        left = max(0, len(cause.steps) - MOST_SHOWN)
        text += [f"    ... {left:,} steps before"] * (left > 0)
        text += [f"    {number}. {_step_text(number, step)}" for number, step in enumerate(cause.steps[left:], left)]
        text += answer_lines(cause.expected, cause.actual)
    if sum(cause.sequences for cause in row.causes) < row.differing:
        text.append(f"  in all, by request: {', '.join(f'{kind} {count:,}' for kind, count in row.kinds.items())}")
    return text


def _step_text(number: int, step: str) -> str:
    """A step of a sequence for a reader; the first says what controller is asked."""
    line, arrow, answer = step.partition(" -> ")
    return f"{request_text(line)}{arrow}{plain_answer(answer) if arrow else ''}" if number else begin_text(line)


def _by_count(item: tuple[str, Any]) -> Any:
    return -item[1]
