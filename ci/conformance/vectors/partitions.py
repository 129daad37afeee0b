"""Vectors of single functions on a partition: its change and election, its forms, its reassignment."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any, cast

from attrs import evolve

from kraftcheck.ci.conformance.vectors.core import (
    Function,
    KafkaError,
    Vector,
    VectorDifference,
    as_exact_says,
    compare_values,
    listed_keys,
    whole_value,
)
from kraftcheck.ci.conformance.vectors.forms import (
    CHANGE_KEYS,
    LISTS,
    PARTS,
    brokers,
    directories,
    directory,
    directory_text,
    elr_sorted,
    read_change,
    read_partition,
    read_record,
    write_change,
    write_partition,
    write_record,
)
from kraftcheck.model.language.brokersets import Brokers
from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.language.terms import Word
from kraftcheck.model.language.words import Maybe, absent, all_of, present
from kraftcheck.model.partition import registration
from kraftcheck.model.partition.change import (
    ReassignmentPlan,
    Target,
    build_change,
    bump_on_removal,
    bump_on_shrink,
    candidates,
    complete,
    in_progress,
    original_replicas,
    plan,
    revert,
)
from kraftcheck.model.partition.election import BuildContext, elect
from kraftcheck.model.records.fields import Fields, FormError, choice, each, flag, integer, integers, text
from kraftcheck.model.records.records import PartitionRecord, ids, loses_directories, partition_of, partition_record
from kraftcheck.model.rules.ruleset import RuleSet

MANDATORY = ("replicas", "directories", "isr", "leader", "leader_recovery_state", "leader_epoch", "partition_epoch")
"""The fields of a partition without a default, in the order in which they are asked for."""

NOT_GIVEN = -1  # the default directory where the vector gives none: it must not turn up in a change


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


def _target(p: registration.Partition, when: Fields) -> Target:
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


def _after(p: registration.Partition, change: registration.PartitionChange) -> dict[str, Any]:
    """The state after the change; it stays when nothing is written."""
    if change.is_noop():
        return write_partition(p)
    try:
        return write_partition(registration.merge(p, change))
    except registration.DirectoryMismatch as mismatch:
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
    change = registration.no_change(p)
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


_NOBODY = IdList()
_EMPTY_PARTITION = registration.Partition(
    _NOBODY,
    registration.DirectoryList((), ()),
    _NOBODY,
    _NOBODY,
    _NOBODY,
    _NOBODY,
    _NOBODY,
    -1,
    False,
    leader_epoch=0,
    partition_epoch=0,
)


def state_after(vector: Vector, rules: RuleSet) -> registration.Partition | None:
    """The state that a vector's change leads to, for vectors that continue it; None for other functions."""
    if vector.function != "build_change":
        return None
    p = vector.given.read("partition", read_partition)
    return registration.merge(p, build_change(p, _target(p, vector.when), _context(vector), rules.partition))


def _clean(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    isr = vector.given.read("previous_isr", brokers)
    return {"clean": registration.election_was_clean(vector.when.read("new_leader", integer), isr)}


def _merge(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    p = vector.given.read("partition", read_partition)
    change = vector.when.read("change", lambda value, where: read_change(p, value, where))
    return {"after": write_partition(_checked(lambda: registration.merge(p, change)))}


def _checked(build: Any) -> registration.Partition:
    try:
        result: registration.Partition = build()
    except registration.DirectoryMismatch:
        raise KafkaError("ILLEGAL_ARGUMENT") from None
    return result


def _diff(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    before = write_partition(vector.given.read("before", read_partition))
    after = write_partition(vector.given.read("after", read_partition))
    return {"changed": [[key, before[key], after[key]] for key in PARTS if before[key] != after[key]]}


def _construct(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    fields = vector.when.read("fields", Fields.of).only(*PARTS)
    for key in MANDATORY:
        if not fields.has(key):
            raise KafkaError("ILLEGAL_STATE", missing_field=key)
        if key == "directories" and len(fields.read("replicas", integers)) != len(fields.read(key, directories)):
            raise KafkaError("ILLEGAL_STATE")
    state = {**dict.fromkeys(LISTS, ()), **{key: fields.data[key] for key in fields.data if fields.has(key)}}
    return {"after": write_partition(read_partition(state, fields.where))}


def _to_record(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    p = vector.given.read("partition", read_partition)
    record, loses = _stored(p, vector)
    return {"record": write_record(record), "loses_directories": loses}


def _stored(p: registration.Partition, vector: Vector) -> tuple[PartitionRecord, bool]:
    with_directories = vector.when.read("directory_assignment_supported", flag)
    elr = vector.when.read("elr_supported", flag)
    return partition_record(
        p, "topic", 0, directories=with_directories, elr=elr
    ), not with_directories and loses_directories(p)


def _same_record(expected: Any, actual: Any, vector: Vector) -> list[VectorDifference]:
    """Equality; fields that are null and fields that are absent are the same."""
    if isinstance(expected, dict):
        expected = {"elr": None, "last_known_elr": None, **expected}
        expected["directories"] = expected.get("directories") or []
    return whole_value(expected, actual, vector)


def _from_record(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    record = vector.when.read("record", read_record)
    for key in ("elr_supported", "directory_assignment_supported"):
        vector.when.has(key)  # the record itself says what it has
    return {"after": write_partition(_checked(lambda: partition_of(record)))}


def _round_trip(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    p = vector.given.read("partition", read_partition)
    record, loses = _stored(p, vector)
    return {"after": write_partition(partition_of(record)), "loses_directories": loses}


def _project(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    """The row of the legacy request that told brokers of leaders and ISRs."""
    state = write_partition(vector.given.read("partition", read_partition))
    for key in ("directories", "elr", "last_known_elr"):
        del state[key]
    names = {
        "topic": vector.when.read("topic", text),
        "partition_index": vector.when.read("partition_index", integer),
        "controller_epoch": -1,
        "is_new": vector.when.read("is_new", flag),
    }
    return {"state": {**names, **state}}


def _equality(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    """Each item against each, and against a second reading of itself."""
    states = vector.given.read("items", each(read_partition))
    copies = vector.given.read("items", each(read_partition))
    same_hash = all(hash(a) == hash(b) for a in states for b in copies if a == b)
    return {
        "equal_implies_same_hash": same_hash and states == copies,
        "all_items_differ": all(a != b for a, b in combinations(states, 2)),
    }


def _directory_of(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    p = vector.given.read("partition", read_partition)
    try:
        return {"directory": directory_text(int(p.directories.of(vector.when.read("broker", integer))))}
    except registration.DirectoryMismatch:
        raise KafkaError("ILLEGAL_ARGUMENT") from None


def _planned(fields: Fields) -> ReassignmentPlan:
    """The plan that the vector gives, or gives the input of."""
    if fields.has("replicas"):
        return ReassignmentPlan(
            removing=fields.read_or("removing", brokers, IdList()),
            adding=fields.read_or("adding", brokers, IdList()),
            replicas=fields.read("replicas", brokers),
        )
    return plan(fields.read("current_replicas", brokers), fields.read("target_replicas", brokers))


def _plan(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    planned = _planned(vector.given)
    return {name: list(ids(getattr(planned, name))) for name in ("removing", "adding", "replicas")}


def _complete(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    planned = _planned(vector.given)
    isr = vector.when.read("isr", brokers)
    end = complete(planned.replicas, isr, planned.removing, planned.adding)
    return {
        "in_progress": in_progress(planned.removing, planned.adding),
        "completed": {"isr": list(ids(end.isr)), "replicas": list(ids(end.replicas))} if end.done else None,
    }


def _in_progress(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    if vector.given.has("partition"):
        return {"in_progress": vector.given.read("partition", read_partition).reassigning()}
    planned = _planned(vector.given)
    return {"in_progress": in_progress(planned.removing, planned.adding)}


def _original(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    planned = _planned(vector.given)
    return {"original_replicas": list(ids(original_replicas(planned.replicas, planned.adding)))}


def _revert(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    back = revert(vector.given.read("partition", read_partition))
    if not back.possible:
        raise KafkaError("INVALID_REPLICA_ASSIGNMENT")
    return {"replicas": list(ids(back.replicas)), "isr": list(ids(cast(IdList, back.isr))), "unclean": back.unclean}


_EXACTLY = {"after": as_exact_says}, ("exact",)

FUNCTIONS: Mapping[str, Function] = {
    "build_change": Function(
        _build, {"change": _same_change, "after": _same_after, "unchanged": _unchanged}, ("exact",)
    ),
    "elect_leader": Function(_elect),
    "leader_epoch_bump": Function(_bump),
    "is_noop_change": Function(_noop),
    "election_was_clean": Function(_clean),
    "merge": Function(_merge, *_EXACTLY),
    "diff": Function(_diff),
    "construct": Function(_construct, {"after": listed_keys}, ("exact",)),
    "to_record": Function(_to_record, {"record": _same_record}),
    "from_record": Function(_from_record, *_EXACTLY),
    "partition.record_round_trip": Function(_round_trip, *_EXACTLY),
    "project_leader_and_isr": Function(_project),
    "equality": Function(_equality),
    "directory_of": Function(_directory_of),
    "plan_reassignment": Function(_plan),
    "maybe_complete_reassignment": Function(_complete),
    "is_reassignment_in_progress": Function(_in_progress),
    "original_replicas": Function(_original),
    "revert_reassignment": Function(_revert),
}
"""The functions by name; a name that registrations have too carries a prefix."""
