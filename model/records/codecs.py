"""Records to and from plain dicts, in every form they have had.

The dicts are the JSON that Kafka's own tools write: `type`, `version`, and
`data` with the schema's field names; tagged fields at their default are left
out. Older forms of KIP-858 differ in how partition records write directories:
see `Form`.

Source: the record schemas of KRaft; KIP-858, "Metadata records", both drafts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from attrs import asdict, frozen

from kraftcheck.model.language.brokersets import Brokers
from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.language.words import NO_LEADER, Maybe, absent, present
from kraftcheck.model.partition.registration import Directories, DirectoryList, PartitionChange
from kraftcheck.model.records.fields import (
    CODE,
    DRAFT,
    KIP,
    DirectoryTextError,
    Fields,
    FormError,
    Numbering,
    each,
    flag,
    integer,
    integers,
    long,
    text,
)
from kraftcheck.model.records.records import (
    BrokerRegistrationChangeRecord,
    Feature,
    FenceBrokerRecord,
    Ids,
    Listener,
    PartitionChangeRecord,
    PartitionRecord,
    Record,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    ids,
)

KEEP_LEADER = -2  # the leader of a change that does not name one
KEEP_RECOVERY = -1  # the recovery state of a change that does not name one


@frozen
class Form:
    """A way of writing the directories of partition records."""

    name: str  # of the form
    numbering: Numbering  # how directory ids are written
    # from version 1 on, one list `assignment` of structs `broker`, `directory` stands in place of `replicas` and
    # `directories`
    assignment: bool = False
    highest: int = 2  # the highest version there is in this form
    names: bool = True  # whether reserved ids are written by name; they are read either way

    def write(self, directory: int, where: str) -> str:
        """A directory id as text."""
        try:
            return self.numbering.text(directory) if self.names else self.numbering.base64(directory)
        except DirectoryTextError as reason:
            raise FormError(f"{where}: {reason}") from None

    def read(self, value: object, where: str) -> int:
        """A text as a directory id."""
        try:
            return self.numbering.parse(value)
        except DirectoryTextError as reason:
            raise FormError(f"{where}: {reason}") from None

    def pairs(self, version: int) -> bool:
        """Whether a version of partition records has the list of structs."""
        return self.assignment and version >= 1


CODE_FORM = Form("code", CODE)  # the form of Kafka's code
KIP_FORM = Form("kip", KIP, highest=1)  # the form of KIP-858: `replicas` and `directories`, its own numbers

DRAFT_FORM = Form("kip-draft", DRAFT, assignment=True, highest=1)
"""The form of KIP-858's earlier draft: `assignment`, a list of structs."""

MANDATORY = object()  # in place of a default: the field is always there


@frozen
class Field:
    """A field of a schema."""

    # key, name: in the schema, and in the model
    key: str
    name: str
    read: Callable[[object, str, Form], Any]  # `(value, where, form)`; gives the value, or raises FormError
    # `(value, form)`; gives the plain value
    write: Callable[[Any, Form], Any] = lambda value, _: list(value) if isinstance(value, tuple) else value
    since: int = 0  # the first version that has it
    default: Any = MANDATORY  # the value where it is absent, the only one that older versions can hold
    written: bool = False  # whether the default is written too

    def put(self, data: dict[str, Any], value: Any, version: int, form: Form) -> None:
        """Write a value into the data of a version; raises FormError where it has no such field."""
        if value == self.default and (version < self.since or not self.written):
            return
        if version < self.since:
            raise FormError(f"{self.key}: version {version} has no such field")
        data[self.key] = self.write(value, form)

    def taken(self, source: Fields, form: Form) -> Any:
        """The value that data have; raises FormError where it is missing or wrong."""

        def reader(value: object, where: str) -> Any:
            return self.read(value, where, form)

        if self.default is MANDATORY:
            return source.read(self.key, reader)
        return source.read_or(self.key, reader, self.default)


Schema = tuple[Field, ...]


def _written(schema: Schema, values: Mapping[str, Any], version: int, form: Form) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for field in schema:
        field.put(data, values[field.name], version, form)
    return data


def _read(schema: Schema, source: Fields, version: int, form: Form) -> dict[str, Any]:
    source.only(*(field.key for field in schema if field.since <= version))
    return {field.name: field.taken(source, form) for field in schema}


def _any_form(reader: Callable[[object, str], Any]) -> Callable[[object, str, Form], Any]:
    return lambda value, where, _: reader(value, where)


def _range(lo: int, hi: int) -> Callable[[object, str, Form], int]:
    return lambda value, where, _: integer(value, where, (lo, hi))


_INTEGER, _LONG, _TEXT, _FLAG, _IDS = map(_any_form, (integer, long, text, flag, integers))


def _structs(kind: type, schema: Schema) -> Callable[[object, str, Form], Any]:
    """A reader of lists of records."""

    def one(form: Form) -> Callable[[object, str], Any]:
        return lambda value, where: kind(**_read(schema, Fields.of(value, where), 0, form))

    return lambda value, where, form: each(one(form))(value, where)


def _plain(schema: Schema) -> Callable[[Any, Form], Any]:
    return lambda records, form: [_written(schema, asdict(one, recurse=False), 0, form) for one in records]


def _directories(key: str, name: str, since: int, default: Any = None) -> Field:
    """A list of directories, each in the text of the form."""

    def read(value: object, where: str, form: Form) -> Any:
        return each(form.read)(value, where)

    def write(directories: Ids, form: Form) -> list[str]:
        return [form.write(directory, f"{key}[{n}]") for n, directory in enumerate(directories)]

    return Field(key, name, read, write, since, default)


PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")  # security protocols by their number


def _protocol(name: str, form: Form) -> int:
    if name not in PROTOCOLS:
        raise FormError(f"endPoints: unknown security protocol {name!r}")
    return PROTOCOLS.index(name)


_LISTENER = (
    Field("name", "name", _TEXT), Field("host", "host", _TEXT), Field("port", "port", _range(0, 65535)),
    Field("securityProtocol", "protocol", lambda *of: PROTOCOLS[_range(0, 3)(*of)], _protocol),
)  # fmt: skip
_FEATURE = (
    Field("name", "name", _TEXT), Field("minSupportedVersion", "min_level", _INTEGER),
    Field("maxSupportedVersion", "max_level", _INTEGER),
)  # fmt: skip

_BROKER = Field("brokerId", "broker_id", _INTEGER), Field("brokerEpoch", "broker_epoch", _LONG)
_FENCE = Field("id", "broker_id", _INTEGER), Field("epoch", "broker_epoch", _LONG)
_REGISTER = (
    _BROKER[0], Field("incarnationId", "incarnation", _TEXT), _BROKER[1],
    Field("endPoints", "listeners", _structs(Listener, _LISTENER), _plain(_LISTENER)),
    Field("features", "features", _structs(Feature, _FEATURE), _plain(_FEATURE)),
    Field("rack", "rack", _TEXT, default=None, written=True),
    Field("fenced", "fenced", _FLAG, default=True, written=True),
    Field("inControlledShutdown", "in_controlled_shutdown", _FLAG, since=1, default=False, written=True),
    Field("isMigratingZkBroker", "is_migrating_zk_broker", _FLAG, since=2, default=False, written=True),
    _directories("logDirs", "log_dirs", 3, ()), _directories("cordonedLogDirs", "cordoned", 4),
)  # fmt: skip
_REGISTRATION_CHANGE = (
    *_BROKER, Field("fenced", "fenced", _range(-1, 1), default=0),
    Field("inControlledShutdown", "in_controlled_shutdown", _range(0, 1), since=1, default=0),
    _directories("logDirs", "log_dirs", 2), _directories("cordonedLogDirs", "cordoned", 3),
)  # fmt: skip

_NAMED = Field("partitionId", "partition_id", _INTEGER), Field("topicId", "topic_id", _TEXT)
_ELR = (
    Field("eligibleLeaderReplicas", "elr", _IDS, since=2, default=None),
    Field("lastKnownElr", "last_known_elr", _IDS, since=2, default=None),
)
_PARTITION = (
    *_NAMED, Field("isr", "isr", _IDS), Field("removingReplicas", "removing", _IDS),
    Field("addingReplicas", "adding", _IDS), Field("leader", "leader", _INTEGER),
    Field("leaderEpoch", "leader_epoch", _INTEGER), Field("partitionEpoch", "partition_epoch", _INTEGER),
    Field("leaderRecoveryState", "recovering", lambda *of: _range(0, 1)(*of) == 1, lambda on, _: int(on),
          default=False),
    *_ELR,
)  # fmt: skip
_CHANGE = (
    *_NAMED, Field("isr", "isr", _IDS, default=None), Field("removingReplicas", "removing", _IDS, default=None),
    Field("addingReplicas", "adding", _IDS, default=None),
    Field("leader", "leader", _INTEGER, default=KEEP_LEADER),
    Field("leaderRecoveryState", "recovering", _range(KEEP_RECOVERY, 1), default=KEEP_RECOVERY), *_ELR,
)  # fmt: skip


def _read_pair(value: object, where: str, form: Form) -> tuple[int, int]:
    """A replica and its directory, which is the id zero where it is left out."""
    zero = next(known.id for known in form.numbering.reserved if known.number == 0)
    struct = Fields.of(value, where).only("broker", "directory")
    return struct.read("broker", integer), struct.read_or("directory", form.read, zero)


def _read_pairs(value: object, where: str, form: Form) -> tuple[Any, ...]:
    return each(lambda one, at: _read_pair(one, at, form))(value, where)


def _write_pairs(pairs: Ids, form: Form) -> list[dict[str, Any]]:
    return [
        {"broker": broker, "directory": form.write(directory, f"directories[{n}]")}
        for n, (broker, directory) in enumerate(cast(Any, pairs))
    ]


_PLACED = (Field("replicas", "replicas", _IDS, default=None), _directories("directories", "directories", 1))
_PAIRS = (Field("assignment", "pairs", _read_pairs, _write_pairs, since=1, default=None),)


def _with_placement(schema: Schema) -> Callable[[int, Form], Schema]:
    """The schema with the replicas and directories of a partition, as a version in a form has them."""
    return lambda version, form: (*schema, *(_PAIRS if form.pairs(version) else _PLACED))


def _paired(values: dict[str, Any], version: int, form: Form) -> dict[str, Any]:
    """The values of a partition with its structs, where there are such."""
    replicas, directories = values["replicas"], values["directories"]
    if not form.pairs(version) or (replicas is None and directories is None):
        return {**values, "pairs": None}
    if replicas is None or directories is None or len(replicas) != len(directories):
        raise FormError("assignment: replicas and directories can only be written together, one to one")
    return {**values, "pairs": tuple(zip(replicas, directories, strict=True))}


def _unpaired(values: dict[str, Any]) -> dict[str, Any]:
    """The values of a partition with replicas and directories in place of structs."""
    if "pairs" not in values:
        return values
    pairs = values.pop("pairs")
    replicas, directories = (None, None) if pairs is None else (tuple(one[at] for one in pairs) for at in (0, 1))
    return {**values, "replicas": replicas, "directories": directories}


def _of_partition(record: PartitionRecord, version: int, form: Form) -> dict[str, Any]:
    directories = None if version == 0 and not record.directories else record.directories
    return _paired({**asdict(record, recurse=False), "directories": directories}, version, form)


def _partition(values: dict[str, Any]) -> PartitionRecord:
    return PartitionRecord(**_unpaired(values))


def _of_change(record: PartitionChangeRecord, version: int, form: Form) -> dict[str, Any]:
    """What a change names; where structs need replicas that it does not name, those of its directories."""
    change, directories = record.change, record.change.directories.value
    if change.directories.present and not isinstance(directories, DirectoryList):
        raise FormError(f"directories: {type(directories).__name__} has no record form")
    placed = directories if change.directories.present and isinstance(directories, DirectoryList) else None
    lists = {name: getattr(change, name) for name in ("replicas", "isr", "removing", "adding", "elr", "last_known_elr")}
    values = {name: ids(value.value) if value.present else None for name, value in lists.items()}
    if placed is not None and form.assignment and not change.replicas.present:
        values["replicas"] = placed.replicas
    return _paired({
        **values, "topic_id": record.topic_id, "partition_id": record.partition_id,
        "directories": None if placed is None else placed.ids,
        "leader": int(change.leader.value) if change.leader.present else KEEP_LEADER,
        "recovering": int(change.recovering.value) if change.recovering.present else KEEP_RECOVERY,
    }, version, form)  # fmt: skip


def _maybe(members: Ids | None) -> Maybe[Brokers]:
    nobody: Brokers = IdList()
    return absent(nobody) if members is None else present(cast(Brokers, IdList(members)))


def _change(values: dict[str, Any]) -> PartitionChangeRecord:
    known = _unpaired(values)
    directories, leader, recovery = (known.pop(name) for name in ("directories", "leader", "recovering"))
    nowhere: Directories = DirectoryList((), ())
    named = known.pop("topic_id"), known.pop("partition_id")
    replicas = known["replicas"] or ()
    return PartitionChangeRecord(*named, PartitionChange(
        **{name: _maybe(members) for name, members in known.items()},
        directories=absent(nowhere) if directories is None else present(DirectoryList(replicas, directories)),
        leader=absent(NO_LEADER) if leader == KEEP_LEADER else present(leader),
        recovering=absent(False) if recovery == KEEP_RECOVERY else present(recovery == 1),
    ))  # fmt: skip


@frozen
class Codec:
    """How one kind of record is written."""

    type: str  # its name in the log
    highest: int  # its highest version
    schema: Callable[[int, Form], Schema]  # `(version, form)`; gives the fields
    values: Callable[[Any, int, Form], Mapping[str, Any]]  # `(record, version, form)`; gives the value of each field
    made: Callable[[dict[str, Any]], Record]  # the record of some values

    def highest_in(self, form: Form) -> int:
        """The highest version that a form has."""
        return min(self.highest, form.highest) if self.type.startswith("PARTITION") else self.highest


def encode(record: Record, version: int | None = None, form: Form = CODE_FORM) -> dict[str, Any]:
    """The record as a dict of plain values.

    Args:
        version: of the record's schema; the highest of the form by default.
        form: see `Form`.

    Raises:
        FormError: naming the key that the version or form cannot hold.
    """
    codec = _CODECS[type(record)]
    highest = codec.highest_in(form)
    chosen = highest if version is None else version
    if not 0 <= chosen <= highest:
        raise FormError(f"version: {codec.type} has no version {chosen} in form {form.name}")
    data = _written(codec.schema(chosen, form), codec.values(record, chosen, form), chosen, form)
    return {"type": codec.type, "version": chosen, "data": data}


def decode(value: object, form: Form = CODE_FORM) -> Record:
    """The record that a dict describes.

    Args:
        value: what `encode` or Kafka's tools wrote, parsed.
        form: see `Form`.

    Raises:
        FormError: naming the key that is missing, unknown or wrong.
    """
    document = Fields.of(value).only("type", "version", "data")
    name = document.read("type", text)
    codec = _BY_TYPE.get(name)
    if codec is None:
        raise FormError(f"type: unknown record {name!r}")
    version = document.read("version", lambda number, where: integer(number, where, (0, codec.highest_in(form))))
    fields = document.read("data", Fields.of)
    values = _read(codec.schema(version, form), fields, version, form)
    if codec.made is _partition and values.get("replicas", values.get("pairs")) is None:
        raise FormError(f"{fields.key('assignment' if form.pairs(version) else 'replicas')}: missing")
    return codec.made(values)


def _simple(name: str, highest: int, kind: Callable[..., Record], *schema: Field) -> Codec:
    """The codec of a record whose fields are those of its class."""
    return Codec(
        name, highest, lambda version, form: schema, lambda record, version, form: asdict(record, recurse=False),
        lambda values: kind(**values),
    )  # fmt: skip


_TOPIC = Field("topicId", "topic_id", _TEXT)
_CODECS: Mapping[type, Codec] = {
    TopicRecord: _simple("TOPIC_RECORD", 0, TopicRecord, Field("name", "name", _TEXT), _TOPIC),
    RemoveTopicRecord: _simple("REMOVE_TOPIC_RECORD", 0, RemoveTopicRecord, _TOPIC),
    PartitionRecord: Codec("PARTITION_RECORD", 2, _with_placement(_PARTITION), _of_partition, _partition),
    PartitionChangeRecord: Codec("PARTITION_CHANGE_RECORD", 2, _with_placement(_CHANGE), _of_change, _change),
    RegisterBrokerRecord: _simple("REGISTER_BROKER_RECORD", 4, RegisterBrokerRecord, *_REGISTER),
    UnregisterBrokerRecord: _simple("UNREGISTER_BROKER_RECORD", 0, UnregisterBrokerRecord, *_BROKER),
    BrokerRegistrationChangeRecord: _simple(
        "BROKER_REGISTRATION_CHANGE_RECORD", 3, BrokerRegistrationChangeRecord, *_REGISTRATION_CHANGE
    ),
    FenceBrokerRecord: _simple("FENCE_BROKER_RECORD", 0, FenceBrokerRecord, *_FENCE),
    UnfenceBrokerRecord: _simple("UNFENCE_BROKER_RECORD", 0, UnfenceBrokerRecord, *_FENCE),
}
_BY_TYPE = {codec.type: codec for codec in _CODECS.values()}
