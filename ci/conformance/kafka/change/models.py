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

from kraftcheck.ci.conformance.kafka.change.cases import DIRECTORIES
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
    pad,
    record_columns,
)
from kraftcheck.model.language.brokersets import Brokers, BrokerSet, Replicas
from kraftcheck.model.language.idlists import AtMostOne, IdList
from kraftcheck.model.language.terms import Graph, Term, Truth, Word
from kraftcheck.model.language.words import Maybe, all_of, choose, negate, word
from kraftcheck.model.partition import registration
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
from kraftcheck.model.records.records import BrokerRegistrationChangeRecord, Ids, Registration, changed
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.solvers.machine_code.compile import RowFunction

Answers = npt.NDArray[np.int64]  # one row of answers for each row of questions


FIRST_OWN = 1 << 70  # ids of directories as the model has them: no reserved ones


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

    def same(self, other: registration.Directories) -> Truth:
        """Equality of the lists of ids, as records compare them."""
        if not isinstance(other, SlotDirectories):
            raise TypeError(f"slots of directories are compared with {other!r}")
        return all_of(*(a == b for a, b in zip(self.ids, other.ids, strict=True)))


@frozen
class Model:
    """The rules of a check on rows."""

    # inputs, outputs: the columns of a question and of an answer
    inputs: Columns
    outputs: Columns
    answer: Callable[[Rows], Answers]  # one row of answers for each row of questions


def model_of(check: str, slots: int, rules: RuleSet) -> Model:
    """The model that answers a check of so many slots: compiled for changes and reassignments, on ints for others."""
    if check == "change":
        return _change_model(slots, rules)
    if check == "reassignment":
        return _reassignment_model(slots, rules)
    inputs, outputs, decide = {
        "ordered": (ORDERED_INPUTS, ORDERED_OUTPUTS, _ordered),
        "merge": (MERGE_INPUTS, MERGE_OUTPUTS, _merged),
        "registration": (REGISTRATION_INPUTS, REGISTRATION_OUTPUTS, _registered),
    }[check]
    return _on_ints(Columns.of(inputs, slots), Columns.of(outputs, slots), lambda case: decide(case, slots, rules))


def change_on_ints(slots: int, rules: RuleSet) -> Model:
    """What `change` answers, by the rules on ints: nothing is compiled, for a case or two of many rule sets."""
    columns = Columns.of(CHANGE_INPUTS, slots), Columns.of(CHANGE_OUTPUTS, slots)
    return _on_ints(*columns, lambda case: _changed(case, slots, rules))


def _on_ints(inputs: Columns, outputs: Columns, decide: Callable[[dict[str, Any]], Sequence[Any]]) -> Model:
    """The model that answers row by row, from the columns of a question by name."""

    def answer(rows: Rows) -> Answers:
        return np.array([decide(inputs.read(row)) for row in rows], dtype=np.int64).reshape(-1, outputs.width)

    return Model(inputs, outputs, answer)


def _change_model(slots: int, rules: RuleSet) -> Model:
    """`build_change` and `merge` on rows, see `CHANGE_INPUTS` and `CHANGE_OUTPUTS`."""
    inputs, outputs = Columns.of(CHANGE_INPUTS, slots), Columns.of(CHANGE_OUTPUTS, slots)

    def compiled(preferred: bool) -> RowFunction:
        question = _Symbols(inputs, slots)
        return question.function(_change_roots(question, preferred, rules, _leaves))

    functions = [compiled(preferred) for preferred in (False, True)]

    def answer(rows: Rows) -> Answers:
        preferred = inputs.get(rows, "election") == PREFERRED
        result = np.empty((len(rows), outputs.width), dtype=np.int64)
        for function, chosen in zip(functions, (~preferred, preferred), strict=True):
            if chosen.any():
                result[chosen] = function(rows[chosen])
        return result

    return Model(inputs, outputs, answer)


def _change_roots(
    asked: _Symbols | _Ints, preferred: bool, rules: RuleSet, leaves: Callable[[str, Any], Sequence[Word]]
) -> list[Word]:
    """Whether a record is written, its columns, and those of the partition after it."""
    p = _partition(asked)
    change = build_change(p, _target(asked), _context(asked, preferred, True), rules.partition)
    noop = change.is_noop()
    after = choose(noop, p, registration.merge(p, change, rules.partition))
    return [word(negate(noop)), *record_columns(change, leaves, _ABSENT), *_after(after, leaves)]


def _reassignment_model(slots: int, rules: RuleSet) -> Model:
    """Planning, ending and reverting on rows, see `REASSIGNMENT_INPUTS` and `REASSIGNMENT_OUTPUTS`."""
    inputs = Columns.of(REASSIGNMENT_INPUTS, slots)
    question = _Symbols(inputs, slots)
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
    return Model(inputs, Columns.of(REASSIGNMENT_OUTPUTS, slots), question.function(roots))


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

    def function(self, roots: Sequence[Word]) -> RowFunction:
        """Answers with these columns, compiled."""
        return RowFunction(self.graph, self.variables, [self.graph.lift(root) for root in roots])

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
    if name == "leader":
        return (value,)
    if name in ("removing", "adding"):
        return (value.mask,)
    return (value.slot,) if name == "last_known_elr" else _slots(value)


def _slots(members: Any) -> Sequence[Word]:
    return members.ids if isinstance(members, SlotDirectories) else members.slots


def _after(p: registration.Partition, leaves: Callable[[str, Any], Sequence[Word]]) -> list[Word]:
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

    @classmethod
    def plain(cls, values: dict[str, Any], slots: int) -> _Ints:
        """A question whose brokers are the places themselves."""
        return cls(values, {place: place for place in range(NO_LEADER, slots)}, slots)

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

    def directories(self) -> registration.DirectoryList:
        replicas = self._values["replicas"]
        own = tuple(place + OWN_DIRECTORY if self._values["placed"] else registration.MIGRATING for place in replicas)
        return registration.DirectoryList(self.listed("replicas").ids, own)

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


def _partition(asked: _Symbols | _Ints) -> registration.Partition:
    """The partition before the event."""
    return registration.Partition(
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


def _context(asked: _Symbols | _Ints, preferred: bool, balanced: bool) -> BuildContext:
    """Who may lead, and how leaders are elected, by features since 3.7; `balanced`: with a last known leader."""
    return BuildContext(
        acceptable=asked.set("acceptable"), min_isr=asked.word("min_isr"), preferred=preferred,
        unclean=False if preferred else asked.word("election") == UNCLEAN, elr=asked.truth("elr_on"),
        use_last_known_leader=balanced, unclean_shutdown=asked.set("unclean_shutdown"),
        directory_assignment=True, leader_recovery=True, bump_on_isr_shrink=False,
        default_directory=asked.default_directory,
    )  # fmt: skip


def _mask(places: Iterable[int]) -> int:
    return sum(1 << place for place in places)


def _ordered(case: dict[str, Any], slots: int, rules: RuleSet) -> list[Any]:
    """`build_change`, see `ORDERED_INPUTS` and `ORDERED_OUTPUTS`."""
    asked = _Ints(case, dict(enumerate(case["ids"])) | {NO_LAST_KNOWN: NO_LEADER}, slots)
    context = _context(asked, case["election"] == PREFERRED, bool(case["balanced"]))
    change = build_change(_partition(asked), _target(asked), context, rules.partition)
    status = NO_RECORD if change.is_noop() else RECORD
    return [status, *record_columns(change, asked.leaves, {**_ABSENT, "last_known_elr": VACANT})]


def _changed(case: dict[str, Any], slots: int, rules: RuleSet) -> list[Any]:
    """`build_change` and `merge`, see `CHANGE_INPUTS` and `CHANGE_OUTPUTS`."""
    asked = _Ints.plain(case, slots)
    return _change_roots(asked, case["election"] == PREFERRED, rules, asked.leaves)


def _merged(case: dict[str, Any], slots: int, rules: RuleSet) -> list[Any]:
    """`merge`, see `MERGE_INPUTS` and `MERGE_OUTPUTS`; on Kafka's ordered lists of ints."""
    asked = _Ints.plain(case, slots)
    try:
        p = registration.merge(_partition(asked), _change(asked, case), rules.partition)
    except registration.DirectoryMismatch:
        return [THROWN, *[0] * (Columns.of(MERGE_OUTPUTS, slots).width - 1)]
    if not isinstance(p.directories, registration.DirectoryList):
        raise TypeError(f"directories in an order of their own: {p.directories!r}")
    return [RECORD, *_after(p, asked.leaves)]


def _change(asked: _Ints, case: dict[str, Any]) -> registration.PartitionChange:
    """The record of a question about a merge."""
    directories: registration.Directories = registration.DirectoryList((), tuple(case["record.directories"]))
    fields: dict[str, Any] = {
        **{name: asked.listed(f"record.{name}") for name in ("replicas", "isr", "elr")}, "directories": directories,
        "last_known": asked.last_known("record.last_known"),
        **{name: asked.set(f"record.{name}") for name in ("removing", "adding")},
    }  # fmt: skip
    parts = {name: Maybe(bool(case[f"record.{name}?"]), value) for name, value in fields.items()}
    leader, recovery = case["record.leader"], case["record.recovery"]
    return registration.PartitionChange(
        last_known_elr=parts.pop("last_known"), leader=Maybe(leader != KEEP_LEADER, leader),
        recovering=Maybe(recovery != KEEP_RECOVERY, recovery == 1), **parts,
    )  # fmt: skip


def _registered(case: dict[str, Any], slots: int, rules: RuleSet) -> list[int]:
    """`changed` and the questions about directories, see `REGISTRATION_INPUTS` and `REGISTRATION_OUTPUTS`."""
    before = Registration(0, 7, "process", fenced=case["fenced"] == 1, in_controlled_shutdown=case["leaving"] == 1,
                          dirs=_ids(case["dirs"]))  # fmt: skip
    new_dirs = None if case["changed"] == VACANT else _ids(case["changed"])
    record = BrokerRegistrationChangeRecord(0, 7, case["fencing"], case["leaves"], new_dirs)
    after, others = changed(before, record, rules.partition), _ids(case["others"])
    queried = case["asked"]
    directory = queried if queried < OWN_DIRECTORY else FIRST_OWN + queried - OWN_DIRECTORY
    return [
        int(after.fenced), int(after.in_controlled_shutdown), _directory_mask(after.dirs),
        int(after.has_online_dir(directory)), _directory_mask(after.directory_intersection(others)),
        _directory_mask(after.directory_difference(others)),
    ]  # fmt: skip


def _ids(mask: int) -> Ids:
    return tuple(FIRST_OWN + number for number in range(DIRECTORIES) if mask >> number & 1)


def _directory_mask(directories: Ids) -> int:
    return sum(1 << directory - FIRST_OWN for directory in directories)
