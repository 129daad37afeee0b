"""What no rule is of: the answers of a build held against those of the release that completes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress

from attrs import frozen

from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.coverage.links import MISFIT, misfit_refusal
from kraftcheck.ci.conformance.kafka.drivers import FUZZ, NO_ANSWER, DriverError, compile_driver
from kraftcheck.ci.conformance.kafka.fuzz.model import answer_text
from kraftcheck.ci.conformance.kafka.fuzz.requests import drawn_plan
from kraftcheck.ci.conformance.kafka.fuzz.run import DIED, FuzzProcess, Played
from kraftcheck.ci.terminal.interrupts import OutOfTime, passed
from kraftcheck.model.rules.ruleset import RuleSet

OWN = "own "  # how a question begins that says nothing where the build alone has what it is of
ASKED = "beside"  # the request that ends a sequence: every question that no rule is of, see FuzzBeside.java
MORE = 4  # steps that are drawn for a sequence besides those of the one before; the first asks its questions at once
SEQUENCES = 30  # sequences that are asked of a build
WIDTH = 160  # characters of an answer that are shown


@frozen
class BesideRow:
    """The answers that were compared."""

    # sequences, answers: how many were compared; of a sequence whose requests are answered otherwise nothing is
    sequences: int
    answers: int
    differing: int  # answers that are not those of the release
    # by question how many differ, with the release's answer and the build's of the first
    causes: tuple[tuple[str, int, str, str], ...]

    def lines(self, like: str) -> list[str]:
        """The row for a reader, with the question that differs most often."""
        if not self.sequences:
            return ["beside the rules: nothing was compared"]
        counts = f"{self.answers:,} answers in {self.sequences:,} sequences, {self.differing:,} differ"
        text = [f"beside the rules: {counts}"]
        for question, count, released, own in self.causes[:1]:
            text += [f"  {count:,} to {question}; the first:", f"    {like} answers: {released}"]
            text.append(f"    the build answers: {own}")
        others = ", ".join(f"{count:,} to {question}" for question, count, *_ in self.causes[1:])
        return [*text, f"  and {others}"] if others else text


def ending_plays(like: str, rules: RuleSet, seed: int, count: int) -> Iterator[Played]:
    """Sequences of requests after which the questions are put."""
    return (Played.of(like, rules, drawn_plan(seed, number, MORE * number)) for number in range(count))


def told(kafka: FuzzProcess, played: Played) -> list[str]:
    """The answers of a process to a sequence and to the questions; a process that dies of it is followed by another."""
    lines = [*played.lines, ASKED]
    with suppress(DriverError):  # what it answered before its end is read
        kafka.send(lines)
    answers = kafka.answers(len(lines) - 1)
    if answers[-1].startswith(DIED):
        kafka.restart()
    return [_ordered(one) for one in answers[:-1]] + answers[-1:]


def differences(released: Sequence[str], own: Sequence[str]) -> list[tuple[str, str, str]] | None:
    """The questions that are answered otherwise, with both answers; None where the requests before already are."""
    if released[:-1] != own[:-1]:
        return None
    pairs = [[dict(_parts(one)) for one in answers[-1].removeprefix("ok ").split("|")] for answers in (released, own)]
    expected, actual = ({name: text for one in rows for name, text in one.items()} for rows in pairs)
    return [
        (name, expected.get(name, "not asked"), actual.get(name, "not asked"))
        for name in dict.fromkeys((*expected, *actual))
        if expected.get(name) != actual.get(name) and (name in expected or not name.startswith(OWN))
    ]


def beside_release(build: Build, rules: RuleSet, seed: int, sequences: int = SEQUENCES) -> BesideRow:
    """Put drawn sequences, by the release's rules, and questions that no rule is of, to a build and its release."""
    both = (Build(build.like, noted=build.noted), build)
    compared, answers, counts, first = 0, 0, Counter[str](), dict[str, tuple[str, str]]()
    with ExitStack() as stack, suppress(OutOfTime):
        for one in both:
            compile_driver(one, FUZZ)
        released, own = (stack.enter_context(FuzzProcess(one)) for one in both)
        for played in ending_plays(build.like, rules, seed, sequences):
            if passed():
                break
            expected, actual = told(released, played), told(own, played)
            found = differences(expected, actual)
            if found is None:
                continue
            for *_, text in found:
                if misfit := MISFIT.search(text):
                    raise misfit_refusal(build, misfit[0])
            compared, answers = compared + 1, answers + expected[-1].count("|") + 1
            counts.update(_kind(name) for name, *_ in found)
            for name, *texts in found:
                first.setdefault(_kind(name), _cut(*texts))
            if NO_ANSWER in actual[-1]:
                break
    causes = tuple((name, count, *first[name]) for name, count in counts.most_common())
    return BesideRow(compared, answers, counts.total(), causes)


def _ordered(answer: str) -> str:
    """An answer without the reason of an end, in the order of `answer_text`."""
    if not answer.startswith("ok "):
        return answer.partition("#")[0]
    head, *records = answer.removeprefix("ok ").split("|")
    return answer_text(head, records)


def _parts(item: str) -> Iterator[tuple[str, str]]:
    name, _, text = item.partition(" = ")
    yield name, text


def _kind(name: str) -> str:
    """The question without the object that it is of: its first word, after what an operator refuses it by."""
    words = name.split(" ")
    return words[{"refused": 3, OWN.strip(): 1}.get(words[0], 0)]


def _cut(one: str, other: str) -> tuple[str, str]:
    """Two answers about where they begin to differ."""
    pairs = enumerate(zip(one, other, strict=False))
    differs = next((number for number, (a, b) in pairs if a != b), min(len(one), len(other)))
    at = max(0, differs - WIDTH // 2)
    shown = ["..." * (at > 0) + text[at : at + WIDTH] + "..." * (len(text) > at + WIDTH) for text in (one, other)]
    return shown[0], shown[1]
