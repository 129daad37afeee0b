"""Broker records to and from the data of a dict."""

from __future__ import annotations

from typing import Any

from kraftcheck.model.records.fields import Fields, FormError, each, flag, integer, long, text
from kraftcheck.model.records.partition_codecs import Form
from kraftcheck.model.records.records import (
    BrokerRegistrationChangeRecord,
    Feature,
    FenceBrokerRecord,
    Ids,
    Listener,
    RegisterBrokerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
"""Security protocols by their number."""


def write_register(record: RegisterBrokerRecord, version: int, form: Form) -> dict[str, Any]:
    """The data of a registration."""
    data: dict[str, Any] = {
        "brokerId": record.broker_id,
        "incarnationId": record.incarnation,
        "brokerEpoch": record.broker_epoch,
        "endPoints": [_write_listener(listener) for listener in record.listeners],
        "features": [_write_feature(feature) for feature in record.features],
        "rack": record.rack,
        "fenced": record.fenced,
    }
    _since(data, "inControlledShutdown", record.in_controlled_shutdown, 1, version)
    _since(data, "isMigratingZkBroker", record.is_migrating_zk_broker, 2, version)
    if record.log_dirs:
        _since(data, "logDirs", _directory_texts("logDirs", record.log_dirs, form), 3, version)
    _write_cordoned(data, record.cordoned, 4, version, form)
    return data


def read_register(fields: Fields, version: int, form: Form) -> RegisterBrokerRecord:
    """The registration that data describe."""
    known = ["brokerId", "incarnationId", "brokerEpoch", "endPoints", "features", "rack", "fenced"]
    known += ["inControlledShutdown", "isMigratingZkBroker", "logDirs", "cordonedLogDirs"][:version]
    fields.only(*known)
    return RegisterBrokerRecord(
        broker_id=fields.read("brokerId", integer),
        broker_epoch=fields.read("brokerEpoch", long),
        incarnation=fields.read("incarnationId", text),
        listeners=fields.read("endPoints", each(_read_listener)),
        features=fields.read("features", each(_read_feature)),
        rack=fields.read_or("rack", text, None),
        fenced=fields.read_or("fenced", flag, True),
        in_controlled_shutdown=fields.read_or("inControlledShutdown", flag, False),
        is_migrating_zk_broker=fields.read_or("isMigratingZkBroker", flag, False),
        log_dirs=fields.read_or("logDirs", each(form.read), ()),
        cordoned=fields.read_or("cordonedLogDirs", each(form.read), None),
    )


def write_unregister(record: UnregisterBrokerRecord, version: int, form: Form) -> dict[str, Any]:
    """The data of the end of a registration."""
    return {"brokerId": record.broker_id, "brokerEpoch": record.broker_epoch}


def read_unregister(fields: Fields, version: int, form: Form) -> UnregisterBrokerRecord:
    """The end of a registration that data describe."""
    fields.only("brokerId", "brokerEpoch")
    return UnregisterBrokerRecord(fields.read("brokerId", integer), fields.read("brokerEpoch", long))


def write_registration_change(record: BrokerRegistrationChangeRecord, version: int, form: Form) -> dict[str, Any]:
    """The data of a registration change: only what is not at its default."""
    data: dict[str, Any] = {"brokerId": record.broker_id, "brokerEpoch": record.broker_epoch}
    if record.fenced:
        data["fenced"] = record.fenced
    if record.in_controlled_shutdown:
        _since(data, "inControlledShutdown", record.in_controlled_shutdown, 1, version)
    if record.log_dirs is not None:
        _since(data, "logDirs", _directory_texts("logDirs", record.log_dirs, form), 2, version)
    _write_cordoned(data, record.cordoned, 3, version, form)
    return data


def read_registration_change(fields: Fields, version: int, form: Form) -> BrokerRegistrationChangeRecord:
    """The registration change that data describe."""
    fields.only("brokerId", "brokerEpoch", "fenced", *["inControlledShutdown", "logDirs", "cordonedLogDirs"][:version])
    return BrokerRegistrationChangeRecord(
        broker_id=fields.read("brokerId", integer),
        broker_epoch=fields.read("brokerEpoch", long),
        fenced=fields.read_or("fenced", lambda value, where: integer(value, where, (-1, 1)), 0),
        in_controlled_shutdown=fields.read_or(
            "inControlledShutdown", lambda value, where: integer(value, where, (0, 1)), 0
        ),
        log_dirs=fields.read_or("logDirs", each(form.read), None),
        cordoned=fields.read_or("cordonedLogDirs", each(form.read), None),
    )


def write_fence(record: FenceBrokerRecord | UnfenceBrokerRecord, version: int, form: Form) -> dict[str, Any]:
    """The data of a fencing or unfencing."""
    return {"id": record.broker_id, "epoch": record.broker_epoch}


def read_fence(fields: Fields, version: int, form: Form) -> FenceBrokerRecord:
    """The fencing that data describe."""
    fields.only("id", "epoch")
    return FenceBrokerRecord(fields.read("id", integer), fields.read("epoch", long))


def read_unfence(fields: Fields, version: int, form: Form) -> UnfenceBrokerRecord:
    """The unfencing that data describe."""
    fields.only("id", "epoch")
    return UnfenceBrokerRecord(fields.read("id", integer), fields.read("epoch", long))


def _since(data: dict[str, Any], key: str, value: Any, first: int, version: int) -> None:
    """Write a field that came with a later version; before it only its default can be written."""
    if version >= first:
        data[key] = value
    elif value:
        raise FormError(f"{key}: version {version} has no such field")


def _write_cordoned(data: dict[str, Any], cordoned: Ids | None, first: int, version: int, form: Form) -> None:
    """Write the cordoned directories; None is their default, and an empty list is not."""
    if cordoned is None:
        return
    if version < first:
        raise FormError(f"cordonedLogDirs: version {version} has no such field")
    data["cordonedLogDirs"] = _directory_texts("cordonedLogDirs", cordoned, form)


def _directory_texts(key: str, directories: Ids, form: Form) -> list[str]:
    return [form.write(directory, f"{key}[{n}]") for n, directory in enumerate(directories)]


def _write_listener(listener: Listener) -> dict[str, Any]:
    if listener.protocol not in PROTOCOLS:
        raise FormError(f"endPoints: unknown security protocol {listener.protocol!r}")
    protocol = PROTOCOLS.index(listener.protocol)
    return {"name": listener.name, "host": listener.host, "port": listener.port, "securityProtocol": protocol}


def _read_listener(value: object, where: str) -> Listener:
    fields = Fields.of(value, where).only("name", "host", "port", "securityProtocol")
    return Listener(
        name=fields.read("name", text),
        host=fields.read("host", text),
        port=fields.read("port", lambda port, at: integer(port, at, (0, 65535))),
        protocol=PROTOCOLS[fields.read("securityProtocol", lambda number, at: integer(number, at, (0, 3)))],
    )


def _write_feature(feature: Feature) -> dict[str, Any]:
    return {
        "name": feature.name,
        "minSupportedVersion": feature.min_level,
        "maxSupportedVersion": feature.max_level,
    }


def _read_feature(value: object, where: str) -> Feature:
    fields = Fields.of(value, where).only("name", "minSupportedVersion", "maxSupportedVersion")
    return Feature(
        name=fields.read("name", text),
        min_level=fields.read("minSupportedVersion", integer),
        max_level=fields.read("maxSupportedVersion", integer),
    )
