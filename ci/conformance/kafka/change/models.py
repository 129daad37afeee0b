"""The model as functions on rows: change builder and reassignments, merges and registrations.

The rules of the change builder and of reassignments are traced and compiled; ids of brokers stay below the number of
slots, whose hash order is ascending. Merges, registrations, and changes with ids up to 2^31 - 1 run on ints, case by
case; so the orders that Kafka's hash sets give are compared too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import frozen

from kraftcheck.ci.conformance.kafka.change.cases import DIRECTORIES, pad
from kraftcheck.ci.conformance.kafka.columns import (
    CHANGE_INPUTS,
    CHANGE_OUTPUTS,
    DEFAULT_DIRECTORY,
    KEEP_LEADER,
    KEEP_RECOVERY,
    MERGE_INPUTS,
    MERGE_OUTPUTS,
    NO_LAST_KNOWN,
    NO_LEADER,
    NO_RECORD,
    ONLINE,
    ORDERED_INPUTS,
    ORDERED_OUTPUTS,
    OWN_DIRECTORY,
    PREFERRED,
    REASSIGNMENT_INPUTS,
    REASSIGNMENT_OUTPUTS,
    RECORD,
    RECORD_FIELDS,
    REGISTRATION_INPUTS,
    REGISTRATION_OUTPUTS,
    SET_DIRECTORY,
    THROWN,
    UNCLEAN,
    VACANT,
    Columns,
    Rows,
    record_columns,
)
from kraftcheck.model.language.brokersets import Brokers, BrokerSet, Replicas
from kraftcheck.model.language.idlists import AtMostOne, IdList
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
from kraftcheck.model.partition.registration import (
    MIGRATING,
    Directories,
    DirectoryList,
    DirectoryMismatch,
    Partition,
    PartitionChange,
    merge,
)
from kraftcheck.model.records.records import BrokerRegistrationChangeRecord, Ids, Registration, changed
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.solvers.machine_code.compile import RowFunction

Answers = npt.NDArray[np.int64]
"""One row of answers for each row of questions."""


FIRST_OWN = 1 << 70
"""Ids of directories as the model has them: no reserved ones."""


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
        question = _Symbols(self.inputs, slots)
        p = _partition(question)
        change = build_change(p, _target(question), _context(question, features, preferred, True), rules.partition)
        noop = change.is_noop()
        after = choose(noop, p, merge(p, change, rules.partition))
        roots = [word(negate(noop)), *record_columns(change, _leaves, _ABSENT), *_after(after, _leaves)]
        return RowFunction(question.graph, question.variables, [question.graph.lift(root) for root in roots])

    def answer(self, rows: Rows) -> Answers:
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
        question = _Symbols(self.inputs, slots)
        p = _partition(question)
        planned = plan(p.replicas, question.listed("target"))
        completion = complete(p.replicas, p.isr, p.removing, p.adding, rules.partition)
        reversion = revert(p)
        nothing = p.replicas.none()
        roots = [
            *_leaves("removing", planned.removing), *_leaves("adding", planned.adding), *_slots(planned.replicas),
            word(in_progress(p.removing, p.adding)),
            word(completion.done), *_slots(choose(completion.done, completion.replicas, nothing)),
            *_slots(choose(completion.done, completion.isr, nothing)),
            *_slots(original_replicas(p.replicas, p.adding)),
            word(reversion.possible), *_slots(choose(reversion.possible, reversion.replicas, nothing)),
            *_slots(choose(reversion.possible, reversion.isr, nothing)),
            word(all_of(reversion.possible, reversion.unclean)),
        ]  # fmt: skip
        self._function = RowFunction(question.graph, question.variables, [question.graph.lift(root) for root in roots])

    def answer(self, rows: Rows) -> Answers:
        """One row of answers for each row of questions."""
        return self._function(rows)


class _Symbols:
    """A question whose columns are variables."""

    def __init__(self, columns: Columns, slots: int) -> None:
        self.graph = Graph()
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

    broker = word

    def truth(self, name: str) -> Truth:
        return self.word(name) == 1

    def set(self, name: str) -> BrokerSet:
        return BrokerSet(self.word(name))

    def listed(self, name: str) -> Replicas:
        return Replicas(tuple(self._by_name[name]))

    def last_known(self, name: str = "last_known") -> AtMostOne:
        return AtMostOne(self.word(name))

    def directories(self) -> SlotDirectories:
        replicas, placed = self.listed("replicas"), self.truth("placed")
        own = (choose(slot == VACANT, VACANT, choose(placed, slot + OWN_DIRECTORY, 0)) for slot in replicas.slots)
        return SlotDirectories(replicas, tuple(own))

    def default_directory(self, broker: Word) -> Word:
        return broker + DEFAULT_DIRECTORY


_ABSENT = {**dict.fromkeys(("isr", "replicas", "directories", "elr"), VACANT), "last_known_elr": NO_LAST_KNOWN}
"""The columns of absent fields, which are as empty as those of an empty list."""


def _leaves(name: str, value: Any) -> Sequence[Word]:
    """The columns of a symbolic field."""
    if name == "leader":
        return (value,)
    if name in ("removing", "adding"):
        return (value.mask,)
    return (value.slot,) if name == "last_known_elr" else _slots(value)


def _slots(members: Any) -> Sequence[Word]:
    return members.ids if isinstance(members, SlotDirectories) else members.slots


def _after(p: Partition, leaves: Callable[[str, Any], Sequence[Word]]) -> list[Word]:
    """The columns of a partition after the record."""
    fields = [leaf for name in RECORD_FIELDS for leaf in leaves(name, getattr(p, name))]
    return [p.leader, p.leader_epoch, p.partition_epoch, word(p.recovering), *fields]


class _Ints:
    """A question whose columns are ints; brokers are named by their ids.

    Args:
        values: the columns by name.
        ids: the id that each place stands for.
        slots: slots of a list.
    """

    def __init__(self, values: dict[str, Any], ids: Mapping[int, int], slots: int) -> None:
        self._values, self._ids, self._width = values, ids, slots
        self._places = {broker: place for place, broker in ids.items()}

    def word(self, name: str) -> int:
        return int(self._values[name])

    def truth(self, name: str) -> bool:
        return bool(self._values[name])

    def broker(self, name: str) -> int:
        return self._ids.get(self._values[name], NO_LEADER)

    def listed(self, name: str) -> IdList:
        return IdList(tuple(self._ids[place] for place in self._values[name]))

    def set(self, name: str) -> IdList:
        mask = self._values[name]
        return IdList(tuple(broker for place, broker in self._ids.items() if place >= 0 and mask >> place & 1))

    def last_known(self, name: str = "last_known") -> IdList:
        """One slot, or a list."""
        value = self._values[name]
        places = value if isinstance(value, list) else [] if value == NO_LAST_KNOWN else [value]
        return IdList(tuple(self._ids[place] for place in places))

    def directories(self) -> DirectoryList:
        replicas = self._values["replicas"]
        own = tuple(place + OWN_DIRECTORY if self._values["placed"] else MIGRATING for place in replicas)
        return DirectoryList(self.listed("replicas").ids, own)

    def default_directory(self, broker: Word) -> int:
        return self._places[int(broker)] + DEFAULT_DIRECTORY

    def leaves(self, name: str, value: Any) -> Sequence[Word]:
        """The columns of a field."""
        if name == "leader":
            return [self._places.get(int(value), NO_LEADER) if value != NO_LEADER else NO_LEADER]
        if name == "directories":
            return pad(value.ids, self._width)
        places = [self._places[broker] for broker in value]
        if name in ("removing", "adding"):
            return [_mask(places)]
        if name == "last_known_elr" and not isinstance(self._values["last_known"], list):
            return places or [NO_LAST_KNOWN]
        return pad(places, self._width)


def _partition(asked: _Symbols | _Ints) -> Partition:
    """The partition before the event."""
    return Partition(
        replicas=asked.listed("replicas"), directories=asked.directories(), isr=asked.listed("isr"),
        elr=asked.listed("elr"), last_known_elr=asked.last_known(), removing=asked.set("removing"),
        adding=asked.set("adding"), leader=asked.broker("leader"), recovering=asked.truth("recovering"),
        leader_epoch=0, partition_epoch=0,
    )  # fmt: skip


def _target(asked: _Symbols | _Ints) -> Target:
    """What the event wants of it."""
    assigned = asked.broker("assigned")
    return Target(
        isr=asked.listed("target_isr"), replicas=asked.listed("target_replicas"),
        removing=asked.set("target_removing"), adding=asked.set("target_adding"),
        recovering=asked.truth("target_recovering"),
        directory=lambda broker: Maybe(broker == assigned, SET_DIRECTORY),
    )  # fmt: skip


def _context(asked: _Symbols | _Ints, features: MetadataFeatures, preferred: bool, balanced: bool) -> BuildContext:
    """Who may lead, and how leaders are elected; `balanced`: in the mode with a last known leader."""
    return BuildContext(
        acceptable=asked.set("acceptable"), min_isr=asked.word("min_isr"), preferred=preferred,
        unclean=False if preferred else asked.word("election") == UNCLEAN, elr=asked.truth("elr_on"),
        use_last_known_leader=balanced, unclean_shutdown=asked.set("unclean_shutdown"),
        directory_assignment=features.directory_assignment, leader_recovery=features.leader_recovery,
        bump_on_isr_shrink=features.bump_on_isr_shrink, default_directory=asked.default_directory,
    )  # fmt: skip


def _mask(places: Iterable[int]) -> int:
    return sum(1 << place for place in places)


class OrderedModel:
    """`build_change` on rows, see `ORDERED_INPUTS` and `ORDERED_OUTPUTS`."""

    def __init__(self, slots: int, rules: RuleSet, features: MetadataFeatures = LATEST) -> None:
        self.inputs = Columns.of(ORDERED_INPUTS, slots)
        self.outputs = Columns.of(ORDERED_OUTPUTS, slots)
        self._slots, self._rules, self._features = slots, rules.partition, features

    def answer(self, rows: Rows) -> Answers:
        """One row of answers for each row of questions."""
        return np.array([self._row(row) for row in rows], dtype=np.int64).reshape(len(rows), self.outputs.width)

    def _row(self, row: npt.NDArray[np.int32]) -> list[Any]:
        case = self.inputs.read(row)
        asked = _Ints(case, dict(enumerate(case["ids"])) | {NO_LAST_KNOWN: NO_LEADER}, self._slots)
        context = _context(asked, self._features, case["election"] == PREFERRED, bool(case["balanced"]))
        change = build_change(_partition(asked), _target(asked), context, self._rules)
        status = NO_RECORD if change.is_noop() else RECORD
        return [status, *record_columns(change, asked.leaves, {**_ABSENT, "last_known_elr": VACANT})]


class ChangeOnInts:
    """What `ChangeModel` answers, by the rules on ints: nothing is compiled, for a case or two of many rule sets."""

    def __init__(self, slots: int, rules: RuleSet, features: MetadataFeatures = LATEST) -> None:
        self.inputs = Columns.of(CHANGE_INPUTS, slots)
        self.outputs = Columns.of(CHANGE_OUTPUTS, slots)
        self._slots, self._rules, self._features = slots, rules.partition, features

    def answer(self, rows: Rows) -> Answers:
        """One row of answers for each row of questions."""
        return np.array([self._row(self.inputs.read(row)) for row in rows], dtype=np.int64)

    def _row(self, case: dict[str, Any]) -> list[Any]:
        asked = _Ints(case, {place: place for place in range(NO_LEADER, self._slots)}, self._slots)
        context = _context(asked, self._features, case["election"] == PREFERRED, True)
        p = _partition(asked)
        change = build_change(p, _target(asked), context, self._rules)
        noop = change.is_noop()
        after = p if noop else merge(p, change, self._rules)
        return [word(negate(noop)), *record_columns(change, asked.leaves, _ABSENT), *_after(after, asked.leaves)]


class MergeModel:
    """`merge` on rows, see `MERGE_INPUTS` and `MERGE_OUTPUTS`; on Kafka's ordered lists of ints."""

    def __init__(self, slots: int, rules: RuleSet) -> None:
        self.inputs = Columns.of(MERGE_INPUTS, slots)
        self.outputs = Columns.of(MERGE_OUTPUTS, slots)
        self._slots, self._rules = slots, rules

    def answer(self, rows: Rows) -> Answers:
        """One row of answers for each row of questions."""
        return np.array([self._row(self.inputs.read(row)) for row in rows], dtype=np.int64).reshape(
            len(rows), self.outputs.width
        )

    def _row(self, case: dict[str, Any]) -> list[Any]:
        asked = _Ints(case, {place: place for place in range(NO_LEADER, self._slots)}, self._slots)
        try:
            p = merge(_partition(asked), _change(asked, case), self._rules.partition)
        except DirectoryMismatch:
            return [THROWN, *[0] * (self.outputs.width - 1)]
        if not isinstance(p.directories, DirectoryList):
            raise TypeError(f"directories in an order of their own: {p.directories!r}")
        return [RECORD, *_after(p, asked.leaves)]


def _change(asked: _Ints, case: dict[str, Any]) -> PartitionChange:
    """The record of a question about a merge."""
    directories: Directories = DirectoryList((), tuple(case["record.directories"]))
    fields: dict[str, Any] = {
        **{name: asked.listed(f"record.{name}") for name in ("replicas", "isr", "elr")}, "directories": directories,
        "last_known": asked.last_known("record.last_known"),
        **{name: asked.set(f"record.{name}") for name in ("removing", "adding")},
    }  # fmt: skip
    parts = {name: Maybe(bool(case[f"record.{name}?"]), value) for name, value in fields.items()}
    leader, recovery = case["record.leader"], case["record.recovery"]
    return PartitionChange(
        last_known_elr=parts.pop("last_known"), leader=Maybe(leader != KEEP_LEADER, leader),
        recovering=Maybe(recovery != KEEP_RECOVERY, recovery == 1), **parts,
    )  # fmt: skip


class RegistrationModel:
    """`changed` and the questions about directories on rows, on ints: there are few enough."""

    def __init__(self, rules: RuleSet) -> None:
        self.inputs = Columns.of(REGISTRATION_INPUTS, 0)
        self.outputs = Columns.of(REGISTRATION_OUTPUTS, 0)
        self._rules = rules

    def answer(self, rows: Rows) -> Answers:
        """One row of answers for each row of questions."""
        return np.array([self._answer_row(*row) for row in rows.tolist()], dtype=np.int64).reshape(
            -1, self.outputs.width
        )

    def _answer_row(
        self, dirs: int, fenced: int, leaving: int, fencing: int, leaves: int, new: int, others: int, queried: int
    ) -> tuple[int, ...]:
        before = Registration(0, 7, "process", fenced=fenced == 1, in_controlled_shutdown=leaving == 1, dirs=_ids(dirs))
        new_dirs = None if new == VACANT else _ids(new)
        after = changed(before, BrokerRegistrationChangeRecord(0, 7, fencing, leaves, new_dirs), self._rules.partition)
        directory = queried if queried < OWN_DIRECTORY else FIRST_OWN + queried - OWN_DIRECTORY
        return (
            int(after.fenced), int(after.in_controlled_shutdown), _directory_mask(after.dirs),
            int(after.has_online_dir(directory)), _directory_mask(after.directory_intersection(_ids(others))),
            _directory_mask(after.directory_difference(_ids(others))),
        )  # fmt: skip


def _ids(mask: int) -> Ids:
    return tuple(FIRST_OWN + number for number in range(DIRECTORIES) if mask >> number & 1)


def _directory_mask(directories: Ids) -> int:
    return sum(1 << directory - FIRST_OWN for directory in directories)
