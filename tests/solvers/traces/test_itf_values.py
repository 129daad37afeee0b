"""Values in ITF: one text for each, the reader of the Apalache project agrees, and damage is named."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from itf_py import value_from_json

from kraftcheck.solvers.traces.itf import encoded, normal, spelled

NAMES = st.sampled_from(["isr", "leader", "n"])
SCALARS = st.booleans() | st.integers() | st.text(max_size=3)
HASHABLE = st.recursive(SCALARS, lambda inner: st.frozensets(inner, max_size=3), max_leaves=5)
PLAIN = st.recursive(
    HASHABLE,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(NAMES, inner, min_size=1, max_size=3).map(lambda items: SimpleNamespace(**items))
    ),
    max_leaves=8,
)


def as_read(value: Any) -> Any:
    """What the other library makes of a plain value."""
    if isinstance(value, list):
        return [as_read(item) for item in value]
    if isinstance(value, SimpleNamespace):
        return {name: as_read(item) for name, item in vars(value).items()}
    return value


def without_records(value: Any) -> Any:
    """A value of the other library, its records as dictionaries."""
    if hasattr(value, "_asdict"):
        return {name: without_records(item) for name, item in value._asdict().items()}
    return [without_records(item) for item in value] if isinstance(value, list) else value


@given(PLAIN)
def test_the_other_library_reads_the_same_value(value: Any) -> None:
    """The ITF library of the Apalache project reads back what was encoded, and the normal form is the encoding."""
    document = encoded(value)
    assert without_records(value_from_json(document)) == as_read(value)
    assert normal(document) == document


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({"#set": [2, {"#bigint": "1"}, 2]}, "{1, 2}"),
        ({"#tup": ["a", True]}, '<<"a", TRUE>>'),
        ({"#map": [[1, "x"], [2, []]]}, '(1 :> "x" @@ 2 :> <<>>)'),
        ({"tag": "Some", "value": {"n": 1}}, 'Variant("Some", [n |-> 1])'),
        ({"#unserializable": "Nat"}, "Nat"),
    ],
)
def test_values_of_other_checkers_are_spelled_as_in_tla(document: Any, text: str) -> None:
    """Sets, tuples, functions, variants and what has no value are written in TLA+'s spelling."""
    assert spelled(normal(document)) == text


@pytest.mark.parametrize(
    "document",
    [
        None, 1.5, {"#bigint": 1}, {"#bigint": "one"}, {"#set": 1}, {"#map": [[1]]}, {"#map": {"a": 1}},
        {"#set": [], "more": 1}, {"#other": 1}, {"#unserializable": 1}, {"deep": [{"#tup": "ab"}]},
        {"#bigint": " 1"}, {"#bigint": "1\n"}, {"#bigint": "1_0"}, {"#bigint": "+1"}, {"#bigint": "\uff19"},
        {"#bigint": ""}, {"#bigint": "9" * 5000}, {"#map": [[1, 2], [{"#bigint": "1"}, 3]]},
    ],
)  # fmt: skip
def test_what_is_no_value_is_refused(document: Any) -> None:
    """A number that is no int, null, an unknown or ill-filled key is refused, wherever it is."""
    with pytest.raises(ValueError, match=r"^(?!$)"):
        normal(document)


def test_many_records_make_no_classes() -> None:
    """Reading a record makes no new type, as the other library does: a named tuple each."""
    document = [{f"f{n}": n} for n in range(20)]
    before = set(tuple.__subclasses__())
    spelled(normal(document))
    assert set(tuple.__subclasses__()) == before
    kept = value_from_json(document)
    assert len(set(tuple.__subclasses__()) - before) == len(kept)
