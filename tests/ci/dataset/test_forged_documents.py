"""Checkpoints, runs and single values of a stranger's: what is not as it is written counts for nothing."""

import threading
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.ci.dataset.backward.files import RoundLog, document_of
from kraftcheck.ci.dataset.store.manifests import write_sealed
from kraftcheck.ci.dataset.values import INT64, NAME, listed, mapped, matching, number, one_of, read_fields, whole
from kraftcheck.ci.terminal.refusal import Refusal

FILE = {"name": "/etc/passwd", "rows": 1, "bytes": 9, "sha256": "0" * 64}
ROUND: dict[str, Any] = {"parts": [], "counts": [0]}
FORGED: list[dict[str, Any]] = [
    {"number": -1}, {"number": "1"}, {"number": None}, {"more": 1},
    *({"rounds": rounds} for rounds in (
        3, {"a": 3}, {"../x": ROUND}, {"/x": ROUND}, {"a": {**ROUND, "counts": ["0"]}}, {"a": {**ROUND, "parts": 3}},
        {"a": {**ROUND, "parts": [3]}}, {"a": {**ROUND, "parts": [{"arcs": FILE}]}},
    )),
]  # fmt: skip


@pytest.mark.parametrize("change", [{}, *FORGED])
def test_forged_rounds_are_dropped(change: dict[str, Any], tmp_path: Path) -> None:
    """The search begins anew, and nothing outside its folder was looked at; what is as written is taken up."""
    folder = tmp_path / "liveness"
    folder.mkdir()
    write_sealed(folder / document_of(1), {"of": [1], "number": 1, "rounds": {"a": ROUND}, **change})
    log = RoundLog(folder, [1], threading.Event(), lambda *_: None, lambda: None)
    assert (len(list(folder.iterdir())), log.rounds) == ((0, 0) if change else (1, 1))


def test_a_document_larger_than_is_read_is_not_written(tmp_path: Path) -> None:
    """What would be refused later is refused now."""
    with pytest.raises(Refusal, match=r"it would have 2\d,\d{3},\d{3} bytes, and 16,777,216 are the most"):
        write_sealed(tmp_path / "run.json", {"text": "a" * 20_000_000})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("read", "right", "wrong"),
    [
        (whole(0, 7), [0, 7], [-1, 8, True, 1.0, "1", None, [], 10**30]),
        (whole(*INT64), [-(1 << 63), (1 << 63) - 1], [1 << 63, -(1 << 63) - 1]),
        (number, [0, 1.5, 10**18], [-1, float("inf"), float("nan"), 1e19, 10**400, True, "1"]),
        (matching(), ["a", "brokers[1].isr", "é", "a b", "a-b"], ["", "'", '"', "`", "\\", "$", "\n", "a\n", "\x00",
                                                              "\ud800", "\u2028", "a" * 1201, 1, None]),
        (one_of(5), [5], [5.0, True, "5", 4]),
        (listed(whole(0, 1), 2), [[], [0, 1]], [[0, 0, 0], [2], {}, "01", None]),
        (mapped(matching(), whole(0, 1), 1), [{}, {"a": 1}], [{"'": 1}, {"a": 2}, {"a": 1, "b": 1}, [], None]),
    ],
)  # fmt: skip
def test_a_value_is_of_its_kind_and_range(read: Any, right: list[Any], wrong: list[Any]) -> None:
    """Its borders are taken, and what is beyond them or of another kind is refused in a line of ASCII."""
    for value in right:
        assert list(read(value)) == list(value) if isinstance(value, list | dict) else read(value) == value
    for value in wrong:
        with pytest.raises(ValueError, match=r"takes|has") as raised:
            read(value)
        assert str(raised.value).isprintable()
        assert len(str(raised.value)) < 300


def test_an_object_has_its_keys_and_no_others() -> None:
    """A key too few and one too many are named."""
    readers = {"a": whole(0, 1)}
    assert read_fields({"a": 1}, readers) == {"a": 1}
    faults = (({}, "has no 'a'"), ({"a": 1, "b": 1}, "has an unknown key 'b'"), ({"a": 2}, "a: takes a whole"))
    for value, told in faults:
        with pytest.raises(ValueError, match=told):
            read_fields(value, readers)
    assert not NAME.fullmatch("a'b")
