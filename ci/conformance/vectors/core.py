"""Vectors: their form, their outcome, and the comparison of expected and actual results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attrs import field, frozen

from kraftcheck.ci.terminal.files import MAX_JSON_BYTES, parse_json, read_bytes
from kraftcheck.model.records.fields import CODE, DirectoryTextError, Fields, FormError, items, text
from kraftcheck.model.rules.ruleset import RuleSet

PASSED, FAILED, UNSUPPORTED = "passed", "failed", "unsupported"

MISSING = "(absent)"
"""Stands for a key that is not there."""


@frozen
class Vector:
    """One vector.

    Attributes:
        id: `TestClass.testMethod#tag`.
        function: which part of the model it is about.
        given, when: the input.
        then: the expected result.
        given_continues: the vector whose resulting state this one starts from.
    """

    id: str
    function: str
    given: Fields
    when: Fields
    then: Fields
    given_continues: str | None = None


@frozen
class VectorDifference:
    """One field whose value is not the expected one."""

    field: str
    expected: Any
    actual: Any


@frozen
class VectorOutcome:
    """The judgement of one vector.

    Attributes:
        status: PASSED, FAILED or UNSUPPORTED.
        differences: what differs, when it failed.
        reason: why it is unsupported.
    """

    status: str
    differences: tuple[VectorDifference, ...] = ()
    reason: str = ""


class KafkaError(Exception):
    """The model answers with an error, as Kafka does.

    Attributes:
        actual: the error's name under `error`, with details.
    """

    def __init__(self, error: str, **details: Any) -> None:
        super().__init__(error)
        self.actual = {"error": error, **details}


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


@frozen
class Function:
    """How the vectors of one function are run.

    Attributes:
        run: the actual result by the keys of `then`; raises `KafkaError` for errors.
        given, when: the keys it takes into account.
        then: how each key of the expectation is compared.
        modifiers: keys of `then` that say how to compare, not what to expect.
    """

    run: Callable[[Vector, RuleSet], Mapping[str, Any]]
    given: tuple[str, ...]
    when: tuple[str, ...] = ()
    then: Mapping[str, Compare] = field(factory=dict)
    modifiers: tuple[str, ...] = ()

    def unknown_key(self, vector: Vector) -> str | None:
        """The first key of the vector that would be ignored, or None."""
        allowed = {
            "given": (*self.given, "metadata_version"),
            "when": (*self.when, "metadata_version"),
            "then": (*self.then, *self.modifiers, "error", "reason"),
        }
        for part, keys in allowed.items():
            for key in getattr(vector, part).data:
                if key not in keys:
                    return f"{part}.{key}"
        return None


def known_keys(step: Fields, *keys: str) -> Fields:
    """The step, once it has no other keys than these.

    Raises:
        Unsupported: naming the key that would be ignored.
    """
    for key in step.data:
        if key not in (*keys, "op", "reason", "metadata_version"):
            raise Unsupported(f"unknown key {key} of step {step.data.get('op')}")
    return step


def judge(function: Function, vector: Vector, rules: RuleSet) -> VectorOutcome:
    """Run a vector and compare every key that it expects.

    Raises:
        FormError: when the input is malformed, naming the key.
    """
    unknown_key = function.unknown_key(vector)
    if unknown_key is not None:
        return VectorOutcome(UNSUPPORTED, reason=f"unknown key {unknown_key}")
    try:
        actual = function.run(vector, rules)
    except Unsupported as reason:
        return VectorOutcome(UNSUPPORTED, reason=str(reason))
    except KafkaError as error:
        actual = error.actual
    expected = vector.then.data
    if not {*expected} - {*function.modifiers, "reason"}:
        return VectorOutcome(UNSUPPORTED, reason="then: nothing is expected")
    differences = []
    for key in dict.fromkeys(("error", *expected)):
        if key in function.modifiers or key == "reason":
            continue
        compare = function.then.get(key, whole_value)
        for difference in compare(expected.get(key, MISSING), actual.get(key, MISSING), vector):
            differences.append(VectorDifference(key + difference.field, difference.expected, difference.actual))
    return VectorOutcome(FAILED if differences else PASSED, tuple(differences))


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


@frozen
class VectorFile:
    """A file of vectors."""

    path: Path
    vectors: tuple[Vector, ...]


def find(paths: tuple[Path, ...]) -> list[Path]:
    """The files named, and the JSON files below the folders named, each once.

    Raises:
        VectorError: when a path does not exist, or a folder holds no JSON file, or a link in the place of one.
    """
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


def read(path: Path) -> VectorFile:
    """The vectors of one file.

    Raises:
        Refusal: when it cannot be read or is no JSON.
        VectorError: when it is malformed.
    """
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
    return VectorFile(path, tuple(vectors.values()))


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
