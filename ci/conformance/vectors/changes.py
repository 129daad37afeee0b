"""Vectors of partition_change.json: one partition's change, election and epoch bumps."""

from __future__ import annotations

from typing import Any, cast

from attrs import evolve

from kraftcheck.ci.conformance.vectors.core import (
    Compare,
    Function,
    Vector,
    VectorDifference,
    compare_values,
    listed_keys,
    whole_value,
)
from kraftcheck.ci.conformance.vectors.reassignments import (
    CHANGE_KEYS,
    brokers,
    directory,
    elr_sorted,
    read_change,
    read_partition,
    write_change,
    write_partition,
)
from kraftcheck.model.language.brokersets import Brokers
from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.language.terms import Word
from kraftcheck.model.language.words import Maybe, absent, all_of, present
from kraftcheck.model.partition.change import Target, build_change, bump_on_removal, bump_on_shrink, candidates
from kraftcheck.model.partition.election import BuildContext, elect
from kraftcheck.model.partition.registration import (
    DirectoryList,
    DirectoryMismatch,
    Partition,
    PartitionChange,
    merge,
    no_change,
)
from kraftcheck.model.records.fields import Fields, FormError, choice, each, flag, integer
from kraftcheck.model.rules.ruleset import RuleSet

GIVEN = (
    "partition", "acceptable_leaders", "min_isr", "elr_enabled", "use_last_known_leader",
    "directory_assignment_supported", "leader_recovery_supported", "bump_leader_epoch_on_isr_shrink",
    "default_directory",
)  # fmt: skip
WHEN = (
    "election", "target_isr", "target_replicas", "target_removing", "target_adding",
    "unclean_shutdown_replicas", "set_directories",
)  # fmt: skip

NOT_GIVEN = -1
"""The default directory where the vector gives none: it must not turn up in a change."""


def _context(vector: Vector) -> BuildContext:
    given, when = vector.given, vector.when
    election = when.read_or("election", choice("ONLINE", "PREFERRED", "UNCLEAN"), "ONLINE")
    default = given.read_or("default_directory", directory, NOT_GIVEN)
    return BuildContext(
        acceptable=given.read("acceptable_leaders", brokers),
        min_isr=given.read("min_isr", integer),
        preferred=election == "PREFERRED",
        unclean=election == "UNCLEAN",
        elr=given.read("elr_enabled", flag),
        use_last_known_leader=given.read("use_last_known_leader", flag),
        unclean_shutdown=when.read_or("unclean_shutdown_replicas", brokers, IdList()),
        directory_assignment=given.read("directory_assignment_supported", flag),
        leader_recovery=given.read("leader_recovery_supported", flag),
        bump_on_isr_shrink=given.read("bump_leader_epoch_on_isr_shrink", flag),
        default_directory=lambda broker: default,
    )


def _target(p: Partition, when: Fields) -> Target:
    """The target of the vector; absent keys keep the state, empty lists are empty targets."""
    assigned = _set_directories(when)

    def assignment(broker: Word) -> Maybe[Word]:
        directory_id = assigned.get(int(broker))
        return absent(cast(Word, NOT_GIVEN)) if directory_id is None else present(cast(Word, directory_id))

    return Target(
        isr=when.read_or("target_isr", brokers, cast(IdList, p.isr)),
        replicas=when.read_or("target_replicas", brokers, cast(IdList, p.replicas)),
        removing=when.read_or("target_removing", brokers, cast(IdList, p.removing)),
        adding=when.read_or("target_adding", brokers, cast(IdList, p.adding)),
        recovering=p.recovering,
        directory=assignment,
    )


def _set_directories(when: Fields) -> dict[int, int]:
    if not when.has("set_directories"):
        return {}
    assigned = when.read("set_directories", Fields.of)
    for key in assigned.data:
        if not key.isdecimal():
            raise FormError(f"{assigned.key(key)}: a broker id is wanted")
    return {int(key): assigned.read(key, directory) for key in assigned.data}


def _build(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    p = vector.given.read("partition", read_partition)
    change = build_change(p, _target(p, vector.when), _context(vector), rules.partition)
    document = write_change(change)
    return {
        "change": document,
        "leader_epoch_bump": "leader" in (document or {}),
        "after": _after(p, change),
        "unchanged": document,
    }


def _after(p: Partition, change: PartitionChange) -> dict[str, Any]:
    """The state after the change; it stays when nothing is written."""
    if change.is_noop():
        return write_partition(p)
    try:
        return write_partition(merge(p, change))
    except DirectoryMismatch as mismatch:
        return {"error": str(mismatch)}


def _same_change(expected: Any, actual: Any, vector: Vector) -> list[VectorDifference]:
    """Exact, or at least the fields listed; the ELR lists compare as sets."""
    expected, actual = elr_sorted(expected), elr_sorted(actual)
    if vector.then.data.get("exact") is not False:
        return whole_value(expected, actual, vector)
    if isinstance(expected, dict):
        return listed_keys(expected, actual or {}, vector)
    return compare_values(expected, actual, "", partial=False)


def _same_after(expected: Any, actual: Any, vector: Vector) -> list[VectorDifference]:
    return listed_keys(elr_sorted(expected), elr_sorted(actual), vector)


def _unchanged(expected: Any, actual: Any, vector: Vector) -> list[VectorDifference]:
    """None of the fields named is in the change."""
    differences = []
    for key in each(choice(*CHANGE_KEYS))(expected, "then.unchanged"):
        if key in (actual or {}):
            differences.append(VectorDifference(f".{key}", "(unchanged)", actual[key]))
    return differences


def _elect(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    p = vector.given.read("partition", read_partition)
    context = _context(vector)
    choice_ = candidates(p, _target(p, vector.when), p.elr, context)
    last_known = all_of(context.elr, context.use_last_known_leader)
    result = elect(choice_, context.preferred, context.unclean, last_known, rules.partition)
    return {"leader": result.leader, "unclean": result.unclean}


def _bump(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    p = vector.given.read("partition", read_partition)
    context, target = _context(vector), _target(p, vector.when)
    triggers = vector.when.read("triggers", each(choice("replica_reassignment", "isr_shrink")))
    sets_isr = vector.when.read_or("change_isr", choice("target_isr"), None) is not None
    change = no_change(p)
    for trigger in triggers:
        if trigger == "replica_reassignment":
            change = bump_on_removal(p, change, target.replicas, rules.partition)
        else:
            isr: Maybe[Brokers] = present(target.isr) if sets_isr else change.isr
            change = bump_on_shrink(p, evolve(change, isr=isr), context.bump_on_isr_shrink)
    bumps = bool(change.leader.present)
    return {"leader_epoch_bump": bumps, "change_leader": change.leader.value if bumps else None}


def _noop(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    change = vector.when.read("change", lambda value, where: read_change(_EMPTY_PARTITION, value or {}, where))
    return {"noop": change.is_noop()}


_EMPTY_PARTITION = Partition(
    replicas=IdList(),
    directories=DirectoryList((), ()),
    isr=IdList(),
    elr=IdList(),
    last_known_elr=IdList(),
    removing=IdList(),
    adding=IdList(),
    leader=-1,
    recovering=False,
    leader_epoch=0,
    partition_epoch=0,
)

_BUILD_THEN: dict[str, Compare] = {
    "change": _same_change,
    "leader_epoch_bump": whole_value,
    "after": _same_after,
    "unchanged": _unchanged,
}

FUNCTIONS = {
    "build_change": Function(_build, GIVEN, WHEN, _BUILD_THEN, ("exact",)),
    "elect_leader": Function(_elect, GIVEN, WHEN, {"leader": whole_value, "unclean": whole_value}),
    "leader_epoch_bump": Function(
        _bump,
        GIVEN,
        (*WHEN, "triggers", "change_isr"),
        {"leader_epoch_bump": whole_value, "change_leader": whole_value},
    ),
    "is_noop_change": Function(_noop, (), ("change",), {"noop": whole_value}),
}
"""The functions of the file by name."""


def state_after(vector: Vector, rules: RuleSet) -> Partition | None:
    """The state that a vector's change leads to, for vectors that continue it; None for other functions."""
    if vector.function != "build_change":
        return None
    p = vector.given.read("partition", read_partition)
    return merge(p, build_change(p, _target(p, vector.when), _context(vector), rules.partition))
