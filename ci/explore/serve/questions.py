"""The questions of the page, as JSON: read with care, refused in one line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

MOST_STEPS = 1000
"""Steps of the longest path."""

MOST_NUMBER = 1 << 31
"""No number of a question is as large."""


class QuestionRefused(ValueError):
    """A question that has no answer; the message is one line.

    Attributes:
        status: of HTTP: 400 for what is malformed, 422 for what does not fit the system.
    """

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


@frozen
class PathQuestion:
    """A path of the system, and the step of it that is looked at.

    Attributes:
        start: number of the initial state.
        steps: for each step the number of the action, and for each argument the number of its value.
        at: number of the step; 0 is the initial state.
    """

    start: int
    steps: tuple[tuple[int, ...], ...]
    at: int


def parsed(body: bytes) -> Mapping[str, Any]:
    """The object that a request holds.

    Raises:
        QuestionRefused: where it holds none.
    """
    try:
        question = json.loads(body or b"{}")
    except (ValueError, RecursionError) as error:
        raise QuestionRefused(f"the request is not JSON: {str(error).splitlines()[0]}") from error
    if not isinstance(question, dict):
        raise QuestionRefused("the request is no JSON object")
    return question


def number(question: Mapping[str, Any], key: str, default: int, most: int, least: int = 0) -> int:
    """A number of a question.

    Raises:
        QuestionRefused: for what is no int in the range.
    """
    value = question.get(key, default)
    if type(value) is not int or not least <= value <= most:
        raise QuestionRefused(f"{key} takes a number from {least} to {most:,}")
    return value


def text(question: Mapping[str, Any], key: str) -> str | None:
    """A text of a question; None where it is absent.

    Raises:
        QuestionRefused: for what is no text, or is longer than a line of 2,000 characters.
    """
    value = question.get(key)
    if value is not None and not (isinstance(value, str) and 0 < len(value) <= 2000 and "\n" not in value):
        raise QuestionRefused(f"{key} takes a line of text")
    return value


def texts(question: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """A list of texts of a question; empty where it is absent.

    Raises:
        QuestionRefused: for what is no list of texts.
    """
    value = question.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise QuestionRefused(f"{key} takes a list of texts")
    return tuple(value)


def path_of(question: Mapping[str, Any]) -> PathQuestion:
    """The path of a question.

    Raises:
        QuestionRefused: for a malformed path, and with status 413 for one that is too long.
    """
    steps = question.get("steps", [])
    if not isinstance(steps, list):
        raise QuestionRefused("steps takes a list")
    if len(steps) > MOST_STEPS:
        raise QuestionRefused(f"a path has at most {MOST_STEPS:,} steps, not {len(steps):,}", 413)
    for place, step in enumerate(steps, start=1):
        if not _is_step(step):
            raise QuestionRefused(f"step {place} takes the number of an action and of its arguments' values")
    start = number(question, "start", 0, MOST_NUMBER)
    at = number(question, "at", len(steps), len(steps))
    return PathQuestion(start, tuple(tuple(step) for step in steps), at)


def _is_step(step: Any) -> bool:
    return (
        isinstance(step, Sequence)
        and not isinstance(step, str)
        and len(step) > 0
        and all(type(part) is int and 0 <= part < MOST_NUMBER for part in step)
    )
