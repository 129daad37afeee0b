"""Batches of a log, their records as the model's, and the state that they add up to.

What a transaction wrote that was aborted (KIP-868), or that has not ended, has not happened: the records between a
BeginTransactionRecord and its EndTransactionRecord take effect together, at the end. They may fill many batches,
with batches of the quorum between them. An AbortTransactionRecord, which the next controller may write, takes all
of them back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import chain, groupby
from typing import Any, ClassVar, TypeAlias

from attrs import define, evolve, field, frozen

from kraftcheck.model.controller.brokers import taken_over
from kraftcheck.model.controller.commits import replay_record
from kraftcheck.model.controller.heartbeat import Sessions
from kraftcheck.model.controller.state import (
    CLUSTER,
    NODE,
    TOPIC,
    ClearElrRecord,
    ConfigRecord,
    Controller,
    Features,
    LogRecord,
    RegisterControllerRecord,
    Soft,
    UnregisterControllerRecord,
)
from kraftcheck.model.records.codecs import decode
from kraftcheck.model.records.fields import Fields, FormError, brokers, each, integer, text
from kraftcheck.model.records.records import PartitionRecord, RegisterBrokerRecord, highest
from kraftcheck.model.records.replay import ReplayError
from kraftcheck.model.rules.ruleset import RIGHT, RuleSet


@frozen
class LogEntry:
    """One record."""

    offset: int  # its place in the log
    type: str  # its kind, as Kafka's tools print it: `PARTITION_CHANGE_RECORD`
    version: int  # of its layout
    # its fields by name, tagged fields at their default left out; None where the kind is unknown
    data: Mapping[str, Any] | None


@frozen
class Batch:
    """Records that were written together."""

    # base_offset, last_offset: of its first and last record
    base_offset: int
    last_offset: int
    epoch: int  # of the quorum's leader that wrote it
    entries: tuple[LogEntry, ...]  # the records
    place: str  # where it was read: file, then line or byte
    control: bool = False  # whether the quorum wrote it for itself
    time: int | None = None  # when, in milliseconds since 1970; None where the form of the log has no times

    def whole(self) -> Batch:
        """The batch itself, as `CompactBatch` has it."""
        return self


@define(eq=False)
class CompactBatch:
    """A batch whose partition changes are not decoded, because the memo may hold their explanation.

    It holds changes of partitions, records that replica logic does not read,
    and at most one other record, at its beginning or end.
    """

    # base_offset, last_offset, epoch, time: as of `Batch`
    base_offset: int
    last_offset: int
    epoch: int
    time: int | None
    # of each record the partition that it changes, as the log writes index and topic; None of others
    keys: Sequence[bytes | None]
    bodies: Sequence[Any]  # of each record the rest of its bytes or fields; of records that are not read their kind
    other: LogEntry | None  # the other record, if there is one
    # source, position: where it was read: the file and the byte, or all of it in words and None
    source: str
    position: int | None
    _decode: Callable[[], Batch]
    entry: Callable[[int], LogEntry]  # decodes one change, by its place among the records
    other_first: bool = field(init=False)  # whether the other record is the first
    _whole: Batch | None = field(init=False, default=None)
    control: ClassVar[bool] = False

    def __attrs_post_init__(self) -> None:
        self.other_first = self.other is not None and self.other.offset == self.base_offset

    @property
    def place(self) -> str:
        """Where it was read."""
        return self.source if self.position is None else f"{self.source}: byte {self.position}"

    def __len__(self) -> int:
        """How many records it holds."""
        return self.last_offset - self.base_offset + 1

    def whole(self) -> Batch:
        """The batch, decoded once."""
        if self._whole is None:
            self._whole = self._decode()
        return self._whole


METADATA_VERSION = "metadata.version"
ELR_FEATURE = "eligible.leader.replicas.version"
ELR_SETTING = "eligible.leader.replicas.enable"
"""What switched ELR on in snapshots of 4.0 that had no feature for it: a static setting of the controller."""

_MODELLED = (
    "TOPIC_RECORD", "REMOVE_TOPIC_RECORD", "PARTITION_RECORD", "PARTITION_CHANGE_RECORD", "REGISTER_BROKER_RECORD",
    "UNREGISTER_BROKER_RECORD", "BROKER_REGISTRATION_CHANGE_RECORD", "FENCE_BROKER_RECORD", "UNFENCE_BROKER_RECORD",
)  # fmt: skip
_BROKER_LISTS = ("replicas", "isr", "removingReplicas", "addingReplicas", "eligibleLeaderReplicas")
"""Fields that name different brokers; the last known ones may hold that there was no leader, and are judged."""
READ_KINDS = (
    *_MODELLED, "CONFIG_RECORD", "FEATURE_LEVEL_RECORD", "CLEAR_ELR_RECORD", "REGISTER_CONTROLLER_RECORD",
    "UNREGISTER_CONTROLLER_RECORD", "BEGIN_TRANSACTION_RECORD", "END_TRANSACTION_RECORD", "ABORT_TRANSACTION_RECORD",
)  # fmt: skip
"""Kinds of records that the model reads, always or in some cases."""

_RESOURCES = {2: TOPIC, 4: NODE}
_FEATURE_VERSIONS = {
    "leader_recovery": 3, "registration_changes": 6, "controlled_shutdown": 7, "controller_registration": 15,
    "directories": 17, "elr_supported": 23, "cordoning": 30,
}  # fmt: skip
_NO_BUMP_FROM = 12


@frozen
class FeatureRecord:
    """A feature is finalized at a level."""

    name: str
    level: int


@frozen
class UnreadRecord:
    """A record that the controller's replica logic does not read."""

    type: str


ModelRecord: TypeAlias = LogRecord | FeatureRecord | UnreadRecord

BEGIN, END, ABORT = (UnreadRecord(f"{word}_TRANSACTION_RECORD") for word in ("BEGIN", "END", "ABORT"))
"""The records before those of one transaction, after them, and after those that are taken back."""


@frozen
class Transaction:
    """The transaction that is under way."""

    before: State  # the state that it began in
    # its last record and, in the same form, those before it; None where there is none
    newest: tuple[ModelRecord, Any] | None = None

    def records(self) -> tuple[ModelRecord, ...]:
        """Its records so far, the first one first."""
        found, rest = [], self.newest
        while rest is not None:
            found.append(rest[0])
            rest = rest[1]
        return tuple(reversed(found))


class EntryError(ValueError):
    """A record whose fields are not those of its kind; the message names offset and field."""


def model_record(entry: LogEntry) -> ModelRecord:
    """The record of the model that an entry of a log stands for.

    Raises:
        EntryError: when its fields are not those of its kind.
    """
    try:
        return _model_record(entry)
    except FormError as reason:
        raise EntryError(f"offset {entry.offset}: {entry.type}: {reason}") from None


def is_unread(entry: LogEntry) -> bool:
    """Whether an entry is of a kind that the controller's replica logic never reads."""
    return entry.data is None or entry.type not in READ_KINDS


def _model_record(entry: LogEntry) -> ModelRecord:
    if entry.data is None:
        return UnreadRecord(entry.type)
    fields = Fields.of(dict(entry.data))
    if entry.type in _MODELLED:
        for name in _BROKER_LISTS:
            fields.read_or(name, brokers, None)
        if fields.read_or("partitionId", integer, 0) < 0:
            raise FormError(f"partitionId: {entry.data['partitionId']} is the number of no partition")
        return decode({"type": entry.type, "version": entry.version, "data": dict(entry.data)})
    if entry.type == "CONFIG_RECORD":
        return _config(entry, fields)
    if entry.type == "FEATURE_LEVEL_RECORD":
        return FeatureRecord(fields.read("name", text), fields.read("featureLevel", integer))
    if entry.type == "CLEAR_ELR_RECORD":
        return ClearElrRecord(fields.read("topicName", text))
    if entry.type == "REGISTER_CONTROLLER_RECORD":
        return _controller(fields)
    if entry.type == "UNREGISTER_CONTROLLER_RECORD":
        return UnregisterControllerRecord(fields.read("controllerId", integer))
    return UnreadRecord(entry.type)


def _controller(fields: Fields) -> RegisterControllerRecord:
    features = fields.read("features", each(Fields.of)) if fields.has("features") else ()
    levels = [f.read("maxSupportedVersion", integer) for f in features if f.read("name", text) == METADATA_VERSION]
    number, incarnation = fields.read("controllerId", integer), fields.read("incarnationId", text)
    return RegisterControllerRecord(number, incarnation, levels[0] if levels else None)


def _config(entry: LogEntry, fields: Fields) -> ModelRecord:
    kind, name = fields.read("resourceType", integer), fields.read("resourceName", text)
    if kind not in _RESOURCES:
        return UnreadRecord(f"{entry.type}, resource {kind}")
    scope = _RESOURCES[kind] if name else CLUSTER
    value = None if fields.read_or("value", _optional, None) is None else fields.read("value", text)
    return ConfigRecord(scope, name, fields.read("name", text), value)


def _optional(value: object, place: str) -> str | None:
    return None if value is None else text(value, place)


def features(levels: Mapping[str, int], static: Mapping[str, str]) -> Features:
    """The features that finalized levels switch on; a log without a metadata version is taken to have every feature."""
    version = levels.get(METADATA_VERSION)
    if version is None:
        return Features()
    elr_feature = levels.get(ELR_FEATURE, 0) > 0
    return Features(
        **{name: version >= since for name, since in _FEATURE_VERSIONS.items()},
        bump_on_isr_shrink=version < _NO_BUMP_FROM,
        elr_enabled=elr_feature or static.get(ELR_SETTING, "").lower() == "true",
        clear_elr=elr_feature,
    )


_UNVERSIONED = features({METADATA_VERSION: 1}, {})  # the features of releases without metadata versions


@frozen
class State:
    """The controller's state, the levels of its features, and the transaction that is under way, if there is one."""

    controller: Controller
    levels: Mapping[str, int]
    transaction: Transaction | None = None

    def supported_level(self, ahead: Sequence[ModelRecord] = ()) -> int | None:
        """The highest metadata version that the active controller is known to support; None where the log names none.

        That is what it registered with, if it did; else what brokers registered with, which are of its release but
        while an upgrade rolls; and at least what is finalized. 0: the log is older than metadata versions.

        Args:
            ahead: the next records; a broker that registers with them counts.
        """
        levels = [self.levels.get(METADATA_VERSION), self.registered_level()]
        if levels[1] is None:
            registering = (record for record in ahead if isinstance(record, RegisterBrokerRecord))
            known = (broker.features for broker in self.controller.image.registrations.values())
            ranges = chain(known, (record.features for record in registering))
            levels += [highest(features, METADATA_VERSION) for features in ranges]
        found = max((level for level in levels if level is not None), default=None)
        return 0 if found is None and self.dated(ahead).controller.features == _UNVERSIONED else found

    def registered_level(self) -> int | None:
        """The highest metadata version that the active controller registered with; None where it did not."""
        node = self.controller.settings.node
        record = self.controller.controllers.get(int(node)) if node.isdecimal() else None
        return None if record is None else record.supports

    def dated(self, records: Sequence[ModelRecord]) -> State:
        """The same, with no feature where it is seen that the log is of Kafka 3.0 to 3.2.

        No metadata version is finalized then, and a broker names none that it supports.
        """
        old = METADATA_VERSION not in self.levels and any(
            isinstance(record, RegisterBrokerRecord)
            and not record.log_dirs
            and highest(record.features, METADATA_VERSION) is None
            for record in records
        )
        return evolve(self, controller=evolve(self.controller, features=_UNVERSIONED)) if old else self

    def at(self, offset: int) -> State:
        """The same, where the next record has this offset."""
        image = self.controller.image
        if image.next_offset == offset:
            return self
        return evolve(self, controller=evolve(self.controller, image=evolve(image, next_offset=offset)))

    def after(self, record: ModelRecord, rules: RuleSet) -> State:
        """The state after one more record; raises ReplayError when the state does not admit it."""
        if record in (BEGIN, END, ABORT):
            return self._with_mark(record)
        after = self._after(record, rules)
        if self.transaction is None:
            return after
        return evolve(after, transaction=evolve(self.transaction, newest=(record, self.transaction.newest)))

    def _with_mark(self, record: ModelRecord) -> State:
        """The state after a record with which a transaction begins or ends.

        Raises:
            ReplayError: for a beginning within a transaction, and for an end outside of one.
        """
        offset = self.controller.image.next_offset
        if record == BEGIN:
            if self.transaction is not None:
                raise ReplayError(f"offset {offset}: a transaction begins within another one")
            return evolve(self, transaction=Transaction(self)).at(offset + 1)
        if self.transaction is None:
            word = "ends" if record == END else "is aborted"
            raise ReplayError(f"offset {offset}: a transaction {word}, but none has begun")
        return (evolve(self, transaction=None) if record == END else self.transaction.before).at(offset + 1)

    def _after(self, record: ModelRecord, rules: RuleSet) -> State:
        if isinstance(record, UnreadRecord):
            return self.at(self.controller.image.next_offset + 1)
        if isinstance(record, FeatureRecord):
            levels = {**self.levels, record.name: record.level}
            static = self.controller.settings.static
            before, after = self.controller.features, features(levels, static)
            was_on = before.elr_enabled or before.elr_switched_off
            after = evolve(after, elr_switched_off=was_on and not after.elr_enabled)
            changed = evolve(self.controller, features=after)
            return evolve(self, controller=changed, levels=levels).at(self.controller.image.next_offset + 1)
        return evolve(self, controller=replay_record(self.controller, record, rules))


def empty(controller: Controller) -> State:
    """The state before any record."""
    return State(controller, {})


def elected(state: State, batch: Batch) -> State:
    """The state of a controller that takes over: what only its predecessor knew is gone.

    A log tells no time: who was heard of when is left out, as no session ever bars anything here.
    """
    leaders = [entry.data["leaderId"] for entry in batch.entries if entry.data and "leaderId" in entry.data]
    settings = state.controller.settings
    if leaders:
        settings = evolve(settings, node=str(leaders[-1]))
    soft, end = state.controller.soft, batch.last_offset + 1
    first = soft.quorum[0] if soft.quorum[1] == batch.base_offset else batch.base_offset
    fresh = Soft(Sessions(soft.sessions.timeout), quorum=(first, end))
    taking = evolve(state.controller, soft=fresh, settings=settings)
    return evolve(state, controller=taken_over(taking, RIGHT.controller)).at(end)


def voters_of(batch: Batch) -> frozenset[int]:
    """The nodes that vote in the quorum, as the last record of a batch has it that names any; empty where none does."""
    told = [entry.data["voters"] for entry in batch.entries if entry.data and "voters" in entry.data]
    last = told[-1] if told and isinstance(told[-1], list) else []
    named = [one.get("voterId") if isinstance(one, dict) else one for one in last]
    return frozenset(one for one in named if type(one) is int)


def load(state: State, batch: Batch, rules: RuleSet) -> State:
    """The state after a batch that is taken as it is, as a snapshot's are.

    Raises:
        EntryError, ReplayError: when a record cannot be.
    """
    return reduce(lambda _, step: step[1], loading(state, batch, rules), state)


def loading(state: State, batch: Batch, rules: RuleSet) -> Iterator[tuple[State, State, ModelRecord]]:
    """The states before and after each record of such a batch, and the record.

    Raises:
        EntryError, ReplayError: when a record cannot be.
    """
    for entry in batch.entries:
        record = model_record(entry)
        state = state.dated((record,))
        before, state = state, _with_leftovers(state.after(record, rules), record)
        yield before, state, record


def _with_leftovers(state: State, record: ModelRecord) -> State:
    """A snapshot does not say that ELR was switched off, but it holds what ELR left in its partitions."""
    features = state.controller.features
    if not isinstance(record, PartitionRecord) or features.elr_enabled or features.elr_switched_off:
        return state
    if record.isr and not record.elr and not record.last_known_elr:
        return state
    return evolve(state, controller=evolve(state.controller, features=evolve(features, elr_switched_off=True)))


FATES = ABORTED, UNENDED = "aborted", "not ended"  # why records have not happened

_MARKS = {BEGIN.type, END.type, ABORT.type}


@frozen
class Undone:
    """Records of one batch that have not happened."""

    batch: Batch  # the records, as a batch of their own
    fate: str  # `ABORTED` or `UNENDED`
    begins: bool  # whether the transaction begins with them


Effective: TypeAlias = Batch | CompactBatch | Undone


@frozen
class _Void:
    """The offsets of a transaction that has not happened; `last` is None where it has not ended."""

    first: int
    last: int | None

    def has(self, offset: int) -> bool:
        return self.first <= offset and (self.last is None or offset <= self.last)


def effective(batches: Iterable[Batch | CompactBatch]) -> Iterator[Effective]:
    """The batches, with what has not happened taken out of them.

    An end without a beginning, and a beginning within a transaction, are left as they are: no controller replays them.
    """
    held: list[Batch | CompactBatch] = []
    voids: list[_Void] = []
    begun: int | None = None
    stream = iter(batches)
    for batch in stream:
        for entry in _marks(batch):
            if (entry.type == BEGIN.type) == (begun is not None):
                yield from _released([*held, batch], voids)
                yield from stream
                return
            if entry.type == ABORT.type and begun is not None:
                voids.append(_Void(begun, entry.offset))
            begun = entry.offset if entry.type == BEGIN.type else None
        if begun is None and not held and not voids:
            yield batch
            continue
        held.append(batch)
        if begun is None:
            yield from _released(held, voids)
            held, voids = [], []
    if begun is not None:
        yield from _released(held, [*voids, _Void(begun, None)])


def _marks(batch: Batch | CompactBatch) -> list[LogEntry]:
    """The records of a batch with which transactions begin and end."""
    if isinstance(batch, CompactBatch):
        return [batch.other] if batch.other is not None and batch.other.type in _MARKS else []
    return [entry for entry in batch.entries if entry.type in _MARKS]


def _released(held: Iterable[Batch | CompactBatch], voids: list[_Void]) -> Iterator[Effective]:
    for batch in held:
        touched = any(void.has(batch.last_offset) or batch.base_offset <= void.first for void in voids)
        if batch.control or not touched:
            yield batch
        else:
            yield from _pieces(batch.whole(), voids)


def _pieces(batch: Batch, voids: list[_Void]) -> Iterator[Batch | Undone]:
    """A batch, parted where a transaction that has not happened begins or ends in it."""

    def void_of(entry: LogEntry) -> _Void | None:
        return next((void for void in voids if void.has(entry.offset)), None)

    groups = [(void, tuple(entries)) for void, entries in groupby(batch.entries, void_of)]
    if all(void is None for void, _ in groups):
        yield batch
        return
    for void, entries in groups:
        first, last = entries[0].offset, entries[-1].offset
        part = evolve(batch, base_offset=first, last_offset=last, entries=entries)
        if void is None:
            yield part
        else:
            yield Undone(part, UNENDED if void.last is None else ABORTED, first == void.first)
