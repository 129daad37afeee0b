"""The `replication` system: actions, bounds and scopes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve

from kraftcheck.model.language.anynumber import each_record, numbers
from kraftcheck.model.language.system import ANY, Action, Bound, Setting, System
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, negate, rule
from kraftcheck.model.rules.groups import DataPlaneRules, PartitionRules
from kraftcheck.model.systems.elections.system import replica_lists
from kraftcheck.model.systems.replication.control import Control
from kraftcheck.model.systems.replication.dataplane import DataPlane
from kraftcheck.model.systems.replication.endless import allows, unbounded
from kraftcheck.model.systems.replication.late import LateReplies
from kraftcheck.model.systems.replication.legend import LEGEND
from kraftcheck.model.systems.replication.metadata import Metadata
from kraftcheck.model.systems.replication.settle import late_replies, settling
from kraftcheck.model.systems.replication.shape import initial, layout
from kraftcheck.model.systems.replication.state import Replication

Parameters = Mapping[str, Sequence[Any]]

BOUNDS = (
    Bound("brokers", 2, 5, "number of brokers", takes_any=True),
    Bound("replication", 1, 5, "replication factor at the start", freed_by="brokers"),
    Bound("min-isr", 1, 5, "min.insync.replicas at the start", freed_by="brokers"),
    Bound("elr", 0, 1, "whether ELR is on"),
    Bound("epochs", 1, 14, "largest leader epoch", freed_by="unbounded"),
    Bound("lag", 1, 14, "leader epochs that a running broker may be behind; from the bound epochs on, any number",
          freed_by="unbounded"),
    Bound("loss", 0, 4, "records that an unclean stop may lose", freed_by="unbounded"),
    Bound("records", 1, 4, "budget: records produced", freed_by="unbounded"),
    Bound("unclean-stops", 0, 3, "budget: processes that die", freed_by="unbounded"),
    Bound("clean-stops", 0, 3, "budget: controlled shutdowns", freed_by="unbounded"),
    Bound("fences", 0, 4, "budget: live brokers that are fenced", freed_by="unbounded"),
    Bound("shrinks", 0, 4, "budget: ISR shrinks that leaders propose", freed_by="unbounded"),
    Bound("reassignments", 0, 4, "budget: reassignments and cancellations"),
    Bound("unclean-elections", 0, 2, "budget: unclean elections on request"),
    Bound("config-changes", 0, 2, "budget: changes of min.insync.replicas"),
    Bound("initial-isr", 0, 5, "members of the ISR at the start, the first replicas; 0: every replica",
          freed_by="brokers"),
    Bound("late-replies", 0, 1, "budget: replies to fetches that arrive late", proven_to=0),
    Bound("unbounded", 0, 0, "`prove` only: 1 for any number of leader epochs, records, records lost, stops, fences "
          "and shrinks",
          proven_to=1),
    # These give `elections`, which serves as the controller, its own bounds.
    Bound("directories", 1, 1, "log directories of each broker"),
    Bound("reassignment", 0, 1, "whether the controller starts with any replication factor"),
)

_BASE = {
    "brokers": 3, "replication": 3, "min-isr": 2, "elr": 1, "epochs": 6, "lag": 14, "loss": 1, "records": 1,
    "unclean-stops": 1, "clean-stops": 0, "fences": 1, "shrinks": 0, "reassignments": 0, "unclean-elections": 0,
    "config-changes": 0, "directories": 1, "reassignment": 0,
}  # fmt: skip

SCOPES = {
    "small": _BASE,
    "tiny": {**_BASE, "brokers": 2, "replication": 2, "shrinks": 1},
    "one-crash": {**_BASE, "fences": 2, "shrinks": 1, "epochs": 7},
    "medium": {**_BASE, "unclean-stops": 2, "fences": 2, "shrinks": 1, "epochs": 9},
    "large": {**_BASE, "fences": 2, "clean-stops": 1, "shrinks": 1, "epochs": 7},
}


def actions(setting: Setting) -> list[Action]:
    """Controller events, the data plane, and what breaks; every effect ends in a settled state."""
    return [evolve(action, effect=settling(action.effect, setting)) for action in unsettled_actions(setting)]


def unsettled_actions(setting: Setting) -> list[Action]:
    """The actions as they are, without settling: what settled states are compared with."""
    brokers, rules = setting["brokers"], setting.rules
    control, data = Control(rules), DataPlane(rules)
    metadata = Metadata(data)
    each = {"broker": numbers() if brokers == ANY else tuple(range(brokers))}
    pair = {**each, "follower": each["broker"]}
    amounts: Sequence[Any] = tuple(sorted({0, 1, setting["records"]}))  # the reply is lost, or has one record, or all
    if unbounded(setting):
        amounts = numbers()
    known = {**each, "epoch": numbers() if unbounded(setting) else tuple(range(setting["epochs"] + 1))}
    always_there = [
        Action("produce", data.produce, data.may_produce, each, "Partition.appendRecordsToLeader"),
        Action("produce_acks_1", data.produce, data.may_produce_locally, each, "Partition.appendRecordsToLeader"),
        Action("fetch", data.fetch, data.may_fetch,
               {"follower": each["broker"], "leader": each["broker"], "received": amounts},
               "ReplicaManager.fetchMessages"),
        Action("apply_metadata", metadata.take, metadata.may_take, known, "ReplicaManager.applyDelta"),
        Action("propose_expand", data.expand, data.may_expand, pair, "Partition.maybeExpandIsr"),
        Action("receive_answer", data.take_answer, data.may_take_answer, each, "Partition.handleAlterPartitionUpdate"),
        Action("alter_partition", control.alter, control.may_alter, {}, "alterPartition"),
        Action("fence", control.fence, control.may_fence, each, "handleBrokerFenced"),
        Action("unfence", control.unfence, control.may_unfence, each, "handleBrokerUnfenced"),
        Action("register", control.register, control.may_register, each, "registerBroker"),
        Action("elect_preferred", control.elect_preferred, control.may_elect_preferred, {}, "electLeaders"),
    ]  # fmt: skip
    if rules.data_plane.equal_epoch_ends_proposal:
        always_there.append(
            Action("apply_equal_metadata", metadata.take_equal, metadata.may_take_equal, each, "B18; makeLeader")
        )
    if rules.data_plane.fetch_noted_before_checks:
        two = {"follower": each["broker"], "leader": each["broker"]}
        always_there.append(Action("refused_fetch", data.refuse, data.may_refuse, two, "KAFKA-13837"))
    listed = [*always_there, *_failures(setting, control, data, each), *_operations(setting, control, each)]
    return LateReplies(data, setting["records"]).actions(each, listed) if late_replies(setting) else listed


@rule("restart.marked-clean-once-recovered", source="KAFKA-15375; KAFKA-10471; catalogue 66",
      switches=("clean-marker-written-early",),
      says="A stop counts as clean only if the log had been recovered by then.")  # fmt: skip
@rule("proposal.lost-answer-keeps-it", source="KAFKA-14154; catalogue 40; semantics 4",
      switches=("unknown-outcome-is-failure",),
      says="A proposal whose answer is lost stays pending until metadata tells.")  # fmt: skip
def _failures(setting: Setting, control: Control, data: DataPlane, each: Parameters) -> list[Action]:
    """What breaks, as far as there is budget for it."""
    listed = []
    if allows(setting, "unclean-stops"):
        amounts = numbers() if unbounded(setting) else tuple(range(setting["loss"] + 1))
        lost = {**each, "lost": amounts}
        listed.append(Action("crash", control.crash, control.may_crash, lost, "power failure"))
        if setting.rules.data_plane.clean_marker_written_early:
            listed.append(
                Action("end_recovering", control.end_recovering, control.may_end_recovering, each, "KAFKA-15375")
            )
    if allows(setting, "clean-stops"):
        listed += [
            Action("shut_down", control.shut_down, control.may_shut_down, each, "handleBrokerInControlledShutdown"),
            Action("stop", control.stop, control.may_stop, each, "BrokerLifecycleManager"),
        ]
    if allows(setting, "shrinks"):
        pair = {**each, "follower": each["broker"]}
        listed.append(Action("propose_shrink", data.shrink, data.may_shrink, pair, "Partition.maybeShrinkIsr"))
    if setting.rules.data_plane.unknown_outcome_is_failure:
        listed.append(Action("give_up", data.give_up, _leads, each, "KAFKA-14154"))
    return listed


def _leads(state: Replication, broker: Word) -> Truth:
    return state.leads(broker, state.broker(broker))


def _operations(setting: Setting, control: Control, each: Parameters) -> list[Action]:
    """What operators do, as far as there is budget for it."""
    listed = []
    if setting["unclean-elections"]:
        listed.append(
            Action("elect_unclean", control.elect_uncleanly, control.may_elect_uncleanly, {}, "electLeaders UNCLEAN")
        )
        if setting.rules.partition.designated_elections:
            named = control.elect_designated
            listed.append(Action("elect_designated", named, control.may_designate, each, "unclean-recovery KIP"))
    if setting["reassignments"]:
        targets = {"target": replica_lists(setting["brokers"], setting["brokers"])}
        listed += [
            Action("reassign", control.reassign, control.may_reassign, targets, "changePartitionReassignment"),
            Action("cancel", control.cancel, control.may_cancel, {}, "cancelPartitionReassignment"),
        ]
    if setting["config-changes"]:
        any_number = setting["brokers"] == ANY
        values = {"minimum": numbers(1) if any_number else tuple(range(1, setting["replication"] + 1))}
        listed.append(
            Action("set_min_isr", control.set_min_isr, control.may_set_min_isr, values, "min.insync.replicas")
        )
    return listed


def healed(state: Replication) -> Truth:
    """Every process runs, is unfenced, and has applied all metadata: nothing is left to do but new work."""
    current = each_record(
        state.brokers,
        lambda n, b: all_of(b.running(), b.epoch == state.leader_epoch, any_of(b.current, negate(state.leads(n, b)))),
    )
    return all_of(state.controller.fenced.is_empty(), *current.values())


REPLICATION = System(
    name="replication",
    summary="controller, brokers and logs of one partition: is an acknowledged record ever lost?",
    initial=initial,
    actions=actions,
    layout=layout,
    scopes=SCOPES,
    bounds=BOUNDS,
    quiescent=healed,
    rules=(PartitionRules, DataPlaneRules),
    legend=LEGEND,
)
"""The system without its properties; `kraftcheck.properties.catalogue` adds them."""
