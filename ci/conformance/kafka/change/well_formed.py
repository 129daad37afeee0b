"""Well-formed questions: what their columns name is there.

A case that is left out of a longer one stays a case: it names no broker that has no id, no member that is no replica
and no leader outside the ISR. Kafka never has such partitions, and a difference on one would be none.
"""

from __future__ import annotations

from typing import Any

from kraftcheck.ci.conformance.kafka.columns import NO_LAST_KNOWN, NO_LEADER, VACANT, Columns, Rows

_SETS = ("removing", "adding", "acceptable", "target_removing", "target_adding", "unclean_shutdown")
_BROKERS = ("leader", "last_known", "assigned")


def well_formed(columns: Columns, row: Rows) -> bool:
    """Whether a question is one about a partition that Kafka may have; one about a registration always is."""
    case = columns.read(row)
    if "replicas" not in case:
        return True
    named = _named(case)
    return (
        _has_ids(case, named)
        and _is_partition(case, any_elr="ids" in case)
        and ("target_replicas" not in case or _is_target(case))
        and ("target" not in case or _distinct(case["target"]))
    )


def _named(case: dict[str, Any]) -> set[int]:
    """Every broker that the case names, by slot or place."""
    named: set[int] = set()
    for name, value in case.items():
        if name == "ids" or name.startswith("record."):
            continue
        if isinstance(value, list):
            named.update(value)
        elif name in _SETS:
            named |= _members(value)
        elif name in _BROKERS:
            named.add(value)
    return named - {NO_LEADER, NO_LAST_KNOWN, VACANT}


def _has_ids(case: dict[str, Any], named: set[int]) -> bool:
    """Whether ids are distinct and ascending, and each place that is named has one."""
    ids = case.get("ids")
    return ids is None or (ids == sorted(set(ids)) and max(named, default=0) < len(ids))


def _is_partition(case: dict[str, Any], any_elr: bool) -> bool:
    """Whether ISR, ELR, leader and the sets of a reassignment are those of one partition.

    Args:
        case: the columns by name.
        any_elr: whether the ELR may have members that left the replicas.
    """
    replicas, isr, elr, leader = case["replicas"], case["isr"], case["elr"], case["leader"]
    removing, adding = _members(case["removing"]), _members(case["adding"])
    return (
        _distinct(replicas)
        and len(set(isr)) == len(isr)
        and set(isr) <= set(replicas)
        and not set(isr) & set(elr)
        and (any_elr or set(elr) <= set(replicas))
        and leader in (*isr, NO_LEADER)
        and (case["last_known"] != NO_LEADER or leader == NO_LEADER)
        and removing | adding <= set(replicas)
        and not removing & adding
    )


def _is_target(case: dict[str, Any]) -> bool:
    replicas, isr = case["target_replicas"], case["target_isr"]
    named = _members(case["target_removing"]) | _members(case["target_adding"]) | {case["assigned"]} - {VACANT}
    lists = all(len(set(members)) == len(members) for members in (replicas, isr))
    return lists and {*isr, *named} <= set(replicas)  # a cancelled reassignment may leave no replica


def _distinct(brokers: list[int]) -> bool:
    return 0 < len(brokers) == len(set(brokers))


def _members(mask: int) -> set[int]:
    return {broker for broker in range(mask.bit_length()) if mask >> broker & 1}
