"""Vectors: their form, their outcome, and the comparison of expected and actual results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from attrs import evolve, field, frozen

from kraftcheck.ci.terminal.files import MAX_JSON_BYTES, parse_json, read_bytes
from kraftcheck.model.records.fields import CODE, DirectoryTextError, Fields, FormError, each, items, text
from kraftcheck.model.rules.ruleset import RuleSet

T = TypeVar("T")

PASSED, FAILED, UNSUPPORTED = "passed", "failed", "unsupported"

MISSING = "(absent)"  # stands for a key that is not there


@frozen
class Vector:
    """One vector."""

    id: str  # `TestClass.testMethod#tag`
    function: str  # which part of the model it is about
    # given, when: the input
    given: Fields
    when: Fields
    then: Fields  # the expected result
    given_continues: str | None = None  # the vector whose resulting state this one starts from


@frozen
class VectorDifference:
    """One field whose value is not the expected one."""

    field: str
    expected: Any
    actual: Any


@frozen
class VectorOutcome:
    """The judgement of one vector."""

    status: str  # PASSED, FAILED or UNSUPPORTED
    differences: tuple[VectorDifference, ...] = ()  # what differs, when it failed
    reason: str = ""  # why it is unsupported


class KafkaError(Exception):
    """The model answers with an error, as Kafka does."""

    def __init__(self, error: str, **details: Any) -> None:
        super().__init__(error)
        self.actual = {"error": error, **details}  # the error's name under `error`, with details


class Unsupported(Exception):
    """A part of the vector that would be ignored, so that the vector is not run."""


Compare = Callable[[Any, Any, "Vector"], list[VectorDifference]]
"""`(expected, actual, vector)` to differences, with paths below the key."""


def whole_value(expected: Any, actual: Any, vector: Vector) -> list[VectorDifference]:
    """Equality; differing objects are reported key by key."""
    return compare_values(expected, actual, "", partial=False)


def listed_keys(expected: Any, actual: Any, vector: Vector) -> list[VectorDifference]:
    """Equality of the keys that the expectation lists."""
    return compare_values(expected, actual, "", partial=True)


def as_exact_says(expected: Any, actual: Any, vector: Vector) -> list[VectorDifference]:
    """Equality of the whole unless the vector says `exact: false`."""
    return compare_values(expected, actual, "", partial=vector.then.data.get("exact") is False)


def same_members(expected: Any, actual: Any, vector: Vector) -> list[VectorDifference]:
    """Equality; lists compare as sets."""

    def key(value: Any) -> str:
        return repr(sorted(value.items())) if isinstance(value, dict) else repr(value)

    if isinstance(expected, list) and isinstance(actual, list):
        expected, actual = (sorted(canonical(members), key=key) for members in (expected, actual))
    return compare_values(expected, actual, "", partial=False)


@frozen
class Function:
    """How the vectors of one function are run."""

    # the actual result by the keys of `then`; raises `KafkaError` for errors
    run: Callable[[Vector, RuleSet], Mapping[str, Any]]
    # how a key of the expectation is compared, where not by `whole_value`
    compares: Mapping[str, Compare] = field(factory=dict)
    modifiers: tuple[str, ...] = ()  # keys of `then` that say how to compare, not what to expect


@frozen
class Watched(Fields):
    """Fields that remember which keys were asked for: the others would be ignored."""

    asked: set[str] = field(factory=set)

    def has(self, key: str) -> bool:
        """See `Fields.has`."""
        self.asked.add(key)
        return super().has(key)

    def read(self, key: str, reader: Callable[[object, str], T]) -> T:
        """See `Fields.read`."""
        self.asked.add(key)
        return super().read(key, reader)


@contextmanager
def all_read(fields: Watched, message: str, *also: str) -> Iterator[None]:
    """Within the block every key but those of `also` is asked for; raises Unsupported, `{}` being the first left."""
    malformed = False
    try:
        yield
    except FormError:
        malformed = True
        raise
    finally:
        ignored = [key for key in fields.data if key not in (*fields.asked, *also, "metadata_version")]
        if ignored and not malformed:
            raise Unsupported(message.format(ignored[0]))


def read_step(step: Watched, run: Callable[[Watched], T]) -> T:
    """What a step comes to, once all of its keys are read; raises Unsupported naming the key that would be ignored."""
    with all_read(step, f"unknown key {{}} of step {step.data.get('op')}", "op", "reason"):
        return run(step)


def read_rows(step: Fields, key: str, row: Callable[[Watched], T]) -> tuple[T, ...]:
    """The rows of a request, once all their keys are read."""
    return tuple(read_step(one, row) for one in step.read(key, each(Watched.of)))


def judge(function: Function, vector: Vector, rules: RuleSet) -> VectorOutcome:
    """Run a vector and compare every key that it expects; raises FormError, naming the key, for malformed input."""
    given, when = (Watched(part.data, part.where) for part in (vector.given, vector.when))
    actual: Mapping[str, Any]
    try:
        with all_read(given, "unknown key given.{}"), all_read(when, "unknown key when.{}"):
            actual = function.run(evolve(vector, given=given, when=when), rules)
    except Unsupported as reason:
        return VectorOutcome(UNSUPPORTED, reason=str(reason))
    except KafkaError as error:
        actual = error.actual
    expected = {key: value for key, value in vector.then.data.items() if key not in (*function.modifiers, "reason")}
    if not expected:
        return VectorOutcome(UNSUPPORTED, reason="then: nothing is expected")
    for key in expected if "error" not in actual else ():
        if key not in (*actual, *function.compares, "error"):
            return VectorOutcome(UNSUPPORTED, reason=f"unknown key then.{key}")
    differences: list[VectorDifference] = []
    for key in dict.fromkeys(("error", *expected)):
        compare = function.compares.get(key, whole_value)
        differences += below(key, compare(expected.get(key, MISSING), actual.get(key, MISSING), vector))
    return VectorOutcome(FAILED if differences else PASSED, tuple(differences))


def below(name: str, differences: Iterable[VectorDifference]) -> list[VectorDifference]:
    """Differences of a part, by their place in the whole."""
    return [evolve(difference, field=f"{name}{difference.field}") for difference in differences]


def canonical(value: Any) -> Any:
    """A plain value with directory ids in one text form, whatever the form given."""
    if isinstance(value, list | tuple):
        return [canonical(item) for item in value]
    if isinstance(value, Mapping):
        return {key: canonical(item) for key, item in value.items()}
    if isinstance(value, str) and len(value) == 22:
        try:
            return CODE.text(CODE.parse(value))
        except DirectoryTextError:
            return value
    return value


def compare_values(expected: Any, actual: Any, path: str, partial: bool) -> list[VectorDifference]:
    """Differences between two plain values, with paths; `partial` asks for the expected keys only."""
    expected, actual = canonical(expected), canonical(actual)
    if isinstance(expected, dict) and isinstance(actual, dict):
        keys = expected if partial else dict.fromkeys((*expected, *actual))
        differences = []
        for key in keys:
            pair = expected.get(key, MISSING), actual.get(key, MISSING)
            differences += compare_values(*pair, f"{path}.{key}", partial=False)
        return differences
    same = expected == actual and _kinds(expected) == _kinds(actual)
    return [] if same else [VectorDifference(path, expected, actual)]


def _kinds(value: Any) -> Any:
    """Types of the leaves, so that 1 is not true."""
    return [_kinds(item) for item in value] if isinstance(value, list) else type(value)


class VectorError(ValueError):
    """Vectors that cannot be read: one line that names file, vector and key."""


def find(paths: tuple[Path, ...]) -> list[Path]:
    """The files named, and JSON files below folders, each once; raises VectorError for missing ones, and links."""
    files: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            below = sorted(path.rglob("*.json"))
            if not below:
                raise VectorError(f"no vectors in {path}")
            if links := [file for file in below if file.is_symlink()]:
                raise VectorError(f"{links[0]}: a link in the folder; name the file that it leads to")
            files.update(dict.fromkeys(below))
        elif path.exists():
            files[path] = None
        else:
            raise VectorError(f"{path}: no such file or folder")
    return list(files)


def read(path: Path) -> dict[str, Vector]:
    """The vectors of one file by id, in order; raises Refusal for no JSON, VectorError for malformed ones."""
    try:
        entries = items(parse_json(path, read_bytes(path, MAX_JSON_BYTES)), "the file")
    except FormError as reason:
        raise VectorError(f"{path}: {reason}") from None
    vectors: dict[str, Vector] = {}
    for position, item in enumerate(entries):
        vector = _vector(path, position, item)
        if vector.id in vectors:
            raise VectorError(f"{path}: {vector.id}: id: used twice")
        vectors[vector.id] = vector
    return vectors


def _vector(path: Path, position: int, item: Any) -> Vector:
    name = item.get("id") if isinstance(item, dict) else None
    try:
        fields = Fields.of(item)
        return Vector(
            id=fields.read("id", text),
            function=fields.read("function", text),
            given=fields.read("given", Fields.of),
            when=fields.read("when", Fields.of),
            then=fields.read("then", Fields.of),
            given_continues=fields.read_or("given_continues", text, None),
        )
    except FormError as reason:
        raise VectorError(f"{path}: {name or f'vector {position}'}: {reason}") from None
