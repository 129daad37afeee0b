"""Vectors of reassignment_replicas.json and reassignment_revert.json."""

from __future__ import annotations

from typing import Any, cast

from kraftcheck.ci.conformance.vectors.core import Function, KafkaError, Vector, whole_value
from kraftcheck.ci.conformance.vectors.forms import brokers, read_partition
from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.partition.reassignment import Plan, complete, in_progress, original_replicas, plan, revert
from kraftcheck.model.records.fields import Fields
from kraftcheck.model.records.records import ids
from kraftcheck.model.rules.ruleset import RuleSet

PLAN_INPUT = ("current_replicas", "target_replicas")


def _plan_of(fields: Fields) -> Plan:
    """The plan that the vector gives, or gives the input of."""
    if fields.has("replicas"):
        return Plan(
            removing=fields.read_or("removing", brokers, IdList()),
            adding=fields.read_or("adding", brokers, IdList()),
            replicas=fields.read("replicas", brokers),
        )
    return plan(fields.read("current_replicas", brokers), fields.read("target_replicas", brokers))


def _plan(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    planned = _plan_of(vector.given)
    return {name: list(ids(getattr(planned, name))) for name in ("removing", "adding", "replicas")}


def _complete(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    planned = _plan_of(vector.given)
    isr = vector.when.read("isr", brokers)
    end = complete(planned.replicas, isr, planned.removing, planned.adding)
    return {
        "in_progress": in_progress(planned.removing, planned.adding),
        "completed": {"isr": list(ids(end.isr)), "replicas": list(ids(end.replicas))} if end.done else None,
    }


def _in_progress(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    if vector.given.has("partition"):
        return {"in_progress": vector.given.read("partition", read_partition).reassigning()}
    planned = _plan_of(vector.given)
    return {"in_progress": in_progress(planned.removing, planned.adding)}


def _original(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    planned = _plan_of(vector.given)
    return {"original_replicas": list(ids(original_replicas(planned.replicas, planned.adding)))}


def _revert(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    back = revert(vector.given.read("partition", read_partition))
    if not back.possible:
        raise KafkaError("INVALID_REPLICA_ASSIGNMENT")
    return {
        "replicas": list(ids(back.replicas)),
        "isr": list(ids(cast(IdList, back.isr))),
        "unclean": back.unclean,
    }


_EXPLICIT = (*PLAN_INPUT, "removing", "adding", "replicas")

FUNCTIONS = {
    "plan_reassignment": Function(
        _plan, PLAN_INPUT, (), {"removing": whole_value, "adding": whole_value, "replicas": whole_value}
    ),
    "maybe_complete_reassignment": Function(
        _complete, _EXPLICIT, ("isr",), {"in_progress": whole_value, "completed": whole_value}
    ),
    "is_reassignment_in_progress": Function(_in_progress, ("partition", *_EXPLICIT), (), {"in_progress": whole_value}),
    "original_replicas": Function(_original, _EXPLICIT, (), {"original_replicas": whole_value}),
    "revert_reassignment": Function(
        _revert, ("partition",), (), {"replicas": whole_value, "isr": whole_value, "unclean": whole_value}
    ),
}
"""The functions of the two files by name."""
