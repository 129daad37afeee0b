"""Comparison of a scenario's expectations: rows in any order, and only the keys that are listed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kraftcheck.ci.conformance.vectors.core import MISSING, Vector, VectorDifference, canonical, compare_values
from kraftcheck.ci.conformance.vectors.forms import elr_sorted

Row = Mapping[str, Any]
Compared = list[VectorDifference]


def compare_response(expected: Any, actual: Any, vector: Vector) -> Compared:
    """The keys listed; rows by what they name, and no further rows; further names only where names are rows."""
    if isinstance(expected, list):
        return _rows(expected, actual, ("dir", "topic", "partition"), _listed_keys)
    if not isinstance(expected, dict) or not isinstance(actual, dict):
        return compare_values(expected, actual, "", partial=False)
    if actual and all(isinstance(value, dict) for value in actual.values()):
        return _by_name(dict.fromkeys((*expected, *actual)), expected, actual, _listed_keys)
    return _listed_keys(expected, actual)


def same_changes(expected: Any, actual: Any, vector: Vector) -> Compared:
    """All changes, in order for each partition; with `changes_exact: false` at least the fields listed."""
    partial = vector.then.data.get("changes_exact") is False

    def same(expected_row: Row, actual_row: Row) -> Compared:
        fields = {key: value for key, value in expected_row.items() if key not in ("topic", "partition")}
        changes = elr_sorted(fields.get("change")), elr_sorted(actual_row["change"])
        extra = [VectorDifference(f".{key}", value, MISSING) for key, value in fields.items() if key != "change"]
        return extra + _below("change", compare_values(*changes, "", partial=partial))

    return _rows(expected, actual, ("topic", "partition"), same)


def same_broker_changes(expected: Any, actual: Any, vector: Vector) -> Compared:
    """All changes of registrations, in order for each broker."""

    def same(expected_row: Row, actual_row: Row) -> Compared:
        return compare_values(_dirs_sorted(expected_row), _dirs_sorted(actual_row), "", partial=False)

    return _rows(expected, actual, ("broker",), same)


def compare_brokers(expected: Any, actual: Any, vector: Vector) -> Compared:
    """The fields listed of the brokers listed; directories in any order."""

    def same(expected_row: Any, actual_row: Any) -> Compared:
        return compare_values(_dirs_sorted(expected_row), _dirs_sorted(actual_row), "", partial=True)

    return _by_name(expected, expected, actual, same)


def compare_partitions(expected: Any, actual: Any, vector: Vector) -> Compared:
    """The fields and matchers listed of the partitions listed."""

    def same(expected_row: Any, actual_row: Any) -> Compared:
        if not isinstance(expected_row, dict) or not isinstance(actual_row, dict):
            return compare_values(expected_row, actual_row, "", partial=False)
        fields = {key: value for key, value in expected_row.items() if key not in _MATCHERS}
        differences = compare_values(elr_sorted(fields), elr_sorted(actual_row), "", partial=True)
        for key in expected_row.keys() & _MATCHERS.keys():
            if not _MATCHERS[key](actual_row, expected_row[key]):
                differences.append(VectorDifference(f".{key}", expected_row[key], actual_row))
        return differences

    return _by_name(expected, expected, actual, same)


_MATCHERS: Mapping[str, Callable[[Row, Any], bool]] = {
    "replicas_set": lambda p, wanted: isinstance(wanted, list) and set(wanted) == set(p["replicas"]),
    "isr_equals_replicas": lambda p, wanted: wanted is (p["isr"] == p["replicas"]),
    "leader_is_first_isr": lambda p, wanted: wanted is (p["isr"][:1] == [p["leader"]]),
    "leader_not": lambda p, wanted: type(wanted) is int and wanted != p["leader"],
    "leader_in_replicas": lambda p, wanted: wanted is (p["leader"] in p["replicas"]),
}


def _listed_keys(expected: Any, actual: Any) -> Compared:
    if isinstance(expected, dict):
        expected = {key: value for key, value in expected.items() if key != "reason"}
    return compare_values(expected, actual, "", partial=True)


def _rows(expected: Any, actual: Any, names: Sequence[str], same: Callable[[Any, Any], Compared]) -> Compared:
    """Rows with equal names are paired in their order; what is left over on a side differs."""
    if not _are_rows(expected) or not _are_rows(actual):
        return [VectorDifference("", expected, actual)]
    differences = []
    unmatched = list(actual)
    for row in expected:
        name = _name(row, names)
        match = next((candidate for candidate in unmatched if _name(candidate, names) == name), None)
        if match is None:
            differences.append(VectorDifference(f".{_name_text(name)}", row, MISSING))
            continue
        unmatched.remove(match)
        differences += _below(_name_text(name), same(row, match))
    return differences + [VectorDifference(f".{_name_text(_name(row, names))}", MISSING, row) for row in unmatched]


def _are_rows(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(row, dict) for row in value)


def _name(row: Row, names: Sequence[str]) -> list[Any]:
    return [canonical(row.get(name)) for name in names]


def _name_text(name: list[Any]) -> str:
    return "-".join(str(part) for part in name if part is not None)


def _by_name(names: Any, expected: Any, actual: Any, same: Callable[[Any, Any], Compared]) -> Compared:
    if not isinstance(expected, dict) or not isinstance(actual, dict):
        return [VectorDifference("", expected, actual)]
    differences = []
    for name in names:
        differences += _below(name, same(expected.get(name, MISSING), actual.get(name, MISSING)))
    return differences


def _below(name: str, differences: Compared) -> Compared:
    return [
        VectorDifference(f".{name}{difference.field}", difference.expected, difference.actual)
        for difference in differences
    ]


def _dirs_sorted(row: Any) -> Any:
    if not isinstance(row, dict) or not isinstance(row.get("dirs"), list):
        return row
    return {**row, "dirs": sorted(map(str, canonical(row["dirs"])))}
