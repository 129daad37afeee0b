"""The model as a function on rows: the rules of the change builder and of reassignments, traced and compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import frozen

from kraftcheck.ci.conformance.kafka.columns import (
    CHANGE_INPUTS,
    CHANGE_OUTPUTS,
    DEFAULT_DIRECTORY,
    KEEP_LEADER,
    KEEP_RECOVERY,
    NO_LAST_KNOWN,
    ONLINE,
    OWN_DIRECTORY,
    PREFERRED,
    REASSIGNMENT_INPUTS,
    REASSIGNMENT_OUTPUTS,
    SET_DIRECTORY,
    UNCLEAN,
    VACANT,
    Columns,
    Rows,
)
from kraftcheck.model.language.brokersets import Brokers, BrokerSet, Replicas
from kraftcheck.model.language.idlists import AtMostOne
from kraftcheck.model.language.terms import Graph, Term, Truth, Word
from kraftcheck.model.language.words import Maybe, all_of, choose, negate, word
from kraftcheck.model.partition.change import (
    Target,
    build_change,
    complete,
    in_progress,
    original_replicas,
    plan,
    revert,
)
from kraftcheck.model.partition.election import BuildContext
from kraftcheck.model.partition.registration import Directories, Partition, PartitionChange, merge
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.solvers.machine_code.compile import RowFunction


@frozen
class MetadataFeatures:
    """The features of the metadata version; see `BuildContext`."""

    directory_assignment: bool = True
    leader_recovery: bool = True
    bump_on_isr_shrink: bool = False


LATEST = MetadataFeatures()
"""The features of every released metadata version from 3.7 on."""


@frozen
class SlotDirectories:
    """Directories in the order of the replicas, as records list them; may be symbolic, unlike `DirectoryList`."""

    replicas: Replicas
    ids: tuple[Word, ...]

    def of(self, broker: Word) -> Word:
        """See `Directories.of`."""
        result: Word = VACANT
        for slot, directory in zip(self.replicas.slots, self.ids, strict=True):
            result = choose(slot == broker, directory, result)
        return result

    def for_replicas(self, replicas: Brokers, directory_of: Callable[[Word], Word]) -> SlotDirectories:
        """See `Directories.for_replicas`."""
        if not isinstance(replicas, Replicas):
            raise TypeError("slots of directories belong to slots of replicas")
        ids = tuple(choose(slot == VACANT, VACANT, directory_of(slot)) for slot in replicas.slots)
        return SlotDirectories(replicas, ids)

    def same(self, other: Directories) -> Truth:
        """Equality of the lists of ids, as records compare them."""
        if not isinstance(other, SlotDirectories):
            raise TypeError(f"slots of directories are compared with {other!r}")
        return all_of(*(a == b for a, b in zip(self.ids, other.ids, strict=True)))


class ChangeModel:
    """`build_change` and `merge` on rows, see `CHANGE_INPUTS` and `CHANGE_OUTPUTS`."""

    def __init__(self, slots: int, rules: RuleSet, features: MetadataFeatures = LATEST) -> None:
        self.inputs = Columns.of(CHANGE_INPUTS, slots)
        self.outputs = Columns.of(CHANGE_OUTPUTS, slots)
        self._functions = [self._compile(slots, rules, features, preferred) for preferred in (False, True)]

    def _compile(self, slots: int, rules: RuleSet, features: MetadataFeatures, preferred: bool) -> RowFunction:
        question = _SymbolicQuestion(self.inputs, slots)
        p = question.partition()
        change = build_change(p, question.target(), question.context(features, preferred), rules.partition)
        noop = change.is_noop()
        after = choose(noop, p, merge(p, change, rules.partition))
        roots = [word(negate(noop)), *_record_roots(change), *_after_roots(after)]
        return RowFunction(question.graph, question.variables, [question.graph.lift(root) for root in roots])

    def answer(self, rows: Rows) -> npt.NDArray[np.int64]:
        """One row of answers for each row of questions."""
        preferred = self.inputs.get(rows, "election") == PREFERRED
        result = np.empty((len(rows), self.outputs.width), dtype=np.int64)
        for function, chosen in zip(self._functions, (~preferred, preferred), strict=True):
            if chosen.any():
                result[chosen] = function(rows[chosen])
        return result


class ReassignmentModel:
    """Planning, ending and reverting on rows, see `REASSIGNMENT_INPUTS` and `REASSIGNMENT_OUTPUTS`."""

    def __init__(self, slots: int, rules: RuleSet, features: MetadataFeatures = LATEST) -> None:
        self.inputs = Columns.of(REASSIGNMENT_INPUTS, slots)
        self.outputs = Columns.of(REASSIGNMENT_OUTPUTS, slots)
        question = _SymbolicQuestion(self.inputs, slots)
        p = question.partition()
        planned = plan(p.replicas, question.slots("target"))
        completion = complete(p.replicas, p.isr, p.removing, p.adding, rules.partition)
        reversion = revert(p)
        nothing = p.replicas.none()
        roots = [
            _mask(planned.removing), _mask(planned.adding), *_slots(planned.replicas),
            word(in_progress(p.removing, p.adding)),
            word(completion.done), *_slots(choose(completion.done, completion.replicas, nothing)),
            *_slots(choose(completion.done, completion.isr, nothing)),
            *_slots(original_replicas(p.replicas, p.adding)),
            word(reversion.possible), *_slots(choose(reversion.possible, reversion.replicas, nothing)),
            *_slots(choose(reversion.possible, reversion.isr, nothing)),
            word(all_of(reversion.possible, reversion.unclean)),
        ]  # fmt: skip
        self._function = RowFunction(question.graph, question.variables, [question.graph.lift(root) for root in roots])

    def answer(self, rows: Rows) -> npt.NDArray[np.int64]:
        """One row of answers for each row of questions."""
        return self._function(rows)


class _SymbolicQuestion:
    """The columns of a question as symbolic records of the model."""

    def __init__(self, columns: Columns, slots: int) -> None:
        self.graph = Graph()
        self._capacity = slots
        bounds = self._bounds(slots)
        self._by_name: dict[str, list[Term]] = {}
        for name in columns:
            lo, hi = bounds.get(name, (VACANT, slots - 1))
            width = columns.places[name][1]
            self._by_name[name] = [self.graph.variable(f"{name}.{k}", lo, hi) for k in range(width)]
        self.variables = [term for name in columns for term in self._by_name[name]]

    @staticmethod
    def _bounds(slots: int) -> dict[str, tuple[int, int]]:
        sets = ("removing", "adding", "acceptable", "target_removing", "target_adding", "unclean_shutdown")
        truths = ("recovering", "placed", "elr_on", "target_recovering")
        return {
            "last_known": (NO_LAST_KNOWN, slots - 1), "min_isr": (1, slots), "election": (ONLINE, UNCLEAN),
            **dict.fromkeys(sets, (0, (1 << slots) - 1)), **dict.fromkeys(truths, (0, 1)),
        }  # fmt: skip

    def word(self, name: str) -> Term:
        return self._by_name[name][0]

    def truth(self, name: str) -> Truth:
        return self.word(name) == 1

    def set(self, name: str) -> BrokerSet:
        return BrokerSet(self.word(name))

    def slots(self, name: str) -> Replicas:
        return Replicas(tuple(self._by_name[name]))

    def partition(self) -> Partition:
        replicas, placed = self.slots("replicas"), self.truth("placed")
        own = (choose(slot == VACANT, VACANT, choose(placed, slot + OWN_DIRECTORY, 0)) for slot in replicas.slots)
        return Partition(
            replicas=replicas, directories=SlotDirectories(replicas, tuple(own)), isr=self.slots("isr"),
            elr=self.slots("elr"), last_known_elr=AtMostOne(self.word("last_known")), removing=self.set("removing"),
            adding=self.set("adding"), leader=self.word("leader"), recovering=self.truth("recovering"),
            leader_epoch=0, partition_epoch=0,
        )  # fmt: skip

    def target(self) -> Target:
        assigned = self.word("assigned")
        return Target(
            isr=self.slots("target_isr"), replicas=self.slots("target_replicas"),
            removing=self.set("target_removing"), adding=self.set("target_adding"),
            recovering=self.truth("target_recovering"),
            directory=lambda broker: Maybe(broker == assigned, SET_DIRECTORY),
        )  # fmt: skip

    def context(self, features: MetadataFeatures, preferred: bool) -> BuildContext:
        return BuildContext(
            acceptable=self.set("acceptable"), min_isr=self.word("min_isr"), preferred=preferred,
            unclean=False if preferred else self.word("election") == UNCLEAN, elr=self.truth("elr_on"),
            use_last_known_leader=True, unclean_shutdown=self.set("unclean_shutdown"),
            directory_assignment=features.directory_assignment, leader_recovery=features.leader_recovery,
            bump_on_isr_shrink=features.bump_on_isr_shrink, default_directory=lambda b: b + DEFAULT_DIRECTORY,
        )  # fmt: skip


def _mask(members: Brokers) -> Word:
    mask: Word = members.mask  # type: ignore[attr-defined]
    return mask


def _slots(members: Any) -> Sequence[Word]:
    return members.ids if isinstance(members, SlotDirectories) else members.slots


def _record_roots(change: PartitionChange) -> list[Word]:
    """The record's fields; the columns of an absent field are as empty as those of an empty list."""
    recovery = choose(change.recovering.present, word(change.recovering.value), KEEP_RECOVERY)
    roots = [choose(change.leader.present, change.leader.value, KEEP_LEADER), recovery]
    for list_field in (change.isr, change.replicas, change.directories, change.elr):
        roots += [
            word(list_field.present),
            *(choose(list_field.present, slot, VACANT) for slot in _slots(list_field.value)),
        ]
    last: Any = change.last_known_elr
    roots += [word(last.present), choose(last.present, last.value.slot, NO_LAST_KNOWN)]
    for set_field in (change.removing, change.adding):
        roots += [word(set_field.present), choose(set_field.present, _mask(set_field.value), 0)]
    return roots


def _after_roots(p: Partition) -> list[Word]:
    last: Any = p.last_known_elr
    slots = [slot for members in (p.isr, p.replicas, p.directories, p.elr) for slot in _slots(members)]
    state = [p.leader, p.leader_epoch, p.partition_epoch, word(p.recovering)]
    return [*state, *slots, last.slot, _mask(p.removing), _mask(p.adding)]
