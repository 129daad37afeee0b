"""Files of the register: what is not understood is named with file, table and mend."""

from collections.abc import Mapping
from typing import Any

import pytest
from attrs import field, frozen

from kraftcheck.model import register
from kraftcheck.model.register import RegisterError, content, numbered, record


@frozen
class Row:
    """A record of each type that a table may have."""

    id: str
    says: str
    steps: int = 0
    names: tuple[str, ...] = ()
    bounds: Mapping[str, int] = field(factory=dict)


def test_a_table_becomes_a_record() -> None:
    """Keys are fields, lists are tuples, and what is given apart needs no key."""
    table = {"says": "s", "steps": 2, "names": ["a", "b"], "bounds": {"fences": 1}}
    assert record(Row, table, "f: [x]", id="x") == Row("x", "s", 2, ("a", "b"), {"fences": 1})


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"sais": "s"}, "f: [x]: unknown key 'sais'; did you mean says"),
        ({"id": "y", "says": "s"}, "f: [x]: unknown key 'id'"),
        ({}, "f: [x]: there is no says; add it"),
        ({"says": 3}, "f: [x]: says is 3; write a string"),
        ({"says": "s", "steps": True}, "f: [x]: steps is True; write a number"),
        ({"says": "s", "names": "a"}, "f: [x]: names is 'a'; write a list of strings"),
        ({"says": "s", "names": ["a", 1]}, "f: [x]: names is ['a', 1]; write a list of strings"),
        ({"says": "s", "bounds": {"fences": "1"}}, "f: [x]: bounds is {'fences': '1'}; write a table of numbers"),
        ("s", "f: [x]: this is 's'; write a table"),
    ],
)
def test_an_odd_table_is_refused(table: Any, message: str) -> None:
    """The error has the place, what is odd, and what to write."""
    with pytest.raises(RegisterError) as refused:
        record(Row, table, "f: [x]", id="x")
    assert str(refused.value).startswith(message)


def test_names_with_numbers() -> None:
    """Each name once, each with a number."""
    assert numbered(["leader-active 2", "isr-active 3"], "f") == {"leader-active": 2, "isr-active": 3}
    for odd in (["leader-active"], ["leader-active two"], ["a 1", "a 2"], "a"):
        with pytest.raises(RegisterError, match="is no name with a number"):
            numbered(odd, "f")


def test_strings_over_lines_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A string is one line, however it is wrapped; a file that is no TOML is named with its line."""
    monkeypatch.setattr(register.pkgutil, "get_data", lambda *_: b'[x]\nsays = """\n  one\n  two"""\n')
    assert content("p", "f.toml") == {"x": {"says": "one two"}}
    monkeypatch.setattr(register.pkgutil, "get_data", lambda *_: b"[x]\nsays = \n")
    with pytest.raises(RegisterError, match=r"f\.toml: Invalid value \(at line 2"):
        content("p", "f.toml")


def test_a_file_has_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part that is missing, or one that nobody reads, is named."""
    monkeypatch.setattr(register.pkgutil, "get_data", lambda *_: b"[x]\n")
    assert content("p", "f.toml", "x") == {"x": {}}
    for parts in (("x", "y"), ("z",)):
        with pytest.raises(RegisterError, match=f"f.toml: [xy] is missing or unknown; write {', '.join(parts)}"):
            content("p", "f.toml", *parts)
