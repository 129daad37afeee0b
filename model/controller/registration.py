"""Registration of brokers and controllers: its checks, and the memberships that a new incarnation ends.

Source: `ClusterControlManager.registerBroker`, `registerController`.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, field, frozen

from kraftcheck.model.controller.errors import RequestError
from kraftcheck.model.controller.lifecycle import Records, amended, restarted
from kraftcheck.model.controller.records import RegisterControllerRecord
from kraftcheck.model.controller.sessions import in_session
from kraftcheck.model.controller.state import Controller, Outcome, Soft
from kraftcheck.model.language.rule import rule
from kraftcheck.model.partition.directories import is_reserved
from kraftcheck.model.records.brokers import Registration
from kraftcheck.model.records.records import Feature, Ids, Listener, RegisterBrokerRecord
from kraftcheck.model.rules.groups import ControllerRules
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.triggers.sessions import registered_epoch

METADATA_VERSION = "metadata.version"
"""The feature that every broker supports; until 3.9 one that names no range is assumed to support its first level."""


@frozen
class RegistrationRequest:
    """A broker asks to be registered.

    Attributes:
        cluster_id: the cluster it believes to be in.
        broker, incarnation: its id and the identity of its process.
        listeners, features, rack: as registered.
        dirs: its online directories.
        is_migrating_zk_broker: whether it runs in ZooKeeper mode.
        previous_epoch: epoch before a clean stop, if there was one; read only
            where the rules tell clean stops from others.
    """

    cluster_id: str | None
    broker: int
    incarnation: str
    listeners: tuple[Listener, ...] = ()
    features: tuple[Feature, ...] = ()
    rack: str | None = None
    dirs: Ids = ()
    is_migrating_zk_broker: bool = False
    previous_epoch: int | None = None


@frozen
class RegistrationContext:
    """What a registration depends on besides the state.

    Attributes:
        finalized: level of each finalized feature.
        new_epoch: epoch of a new incarnation; None takes the next offset.
    """

    finalized: Mapping[str, int] = field(factory=dict)
    new_epoch: int | None = None


@rule("registration.live-broker-is-duplicate", source="semantics 5; ClusterControlManager.registerBroker",
      says="Another process may not register an id while its broker is in session.")  # fmt: skip
def register_broker(
    controller: Controller, request: RegistrationRequest, context: RegistrationContext, rules: RuleSet
) -> Outcome[int]:
    """A registration; the reply is the broker's epoch.

    A new incarnation starts fenced and out of controlled shutdown, with a new
    session; the same incarnation only amends what it told before, and (mended)
    leads nothing on a directory that it tells of no more.

    Raises:
        RequestError: in this order INCONSISTENT_CLUSTER_ID,
            DUPLICATE_BROKER_REGISTRATION, BROKER_ID_NOT_REGISTERED,
            INVALID_REGISTRATION (INVALID_REQUEST in the document, where no
            directory is named), UNSUPPORTED_VERSION.
    """
    broker, soft = request.broker, controller.soft
    known = controller.registration(broker)
    if controller.settings.cluster_id != request.cluster_id:
        raise RequestError("INCONSISTENT_CLUSTER_ID")
    amends = known is not None and known.incarnation == request.incarnation
    if known is not None and not amends and in_session(soft, known, rules.controller):
        raise RequestError("DUPLICATE_BROKER_REGISTRATION")
    if request.is_migrating_zk_broker:
        raise RequestError("BROKER_ID_NOT_REGISTERED", "zookeeper_mode")
    if controller.features.directories:
        _check_directories(controller, request, rules.controller)
    features = _supported(request.features, context.finalized, rules.controller)
    new_epoch = controller.image.next_offset if context.new_epoch is None else context.new_epoch
    current = new_epoch if known is None else known.epoch
    epoch = int(registered_epoch(amends, current, new_epoch, rules.controller))
    record = RegisterBrokerRecord(
        broker_id=broker,
        broker_epoch=epoch,
        incarnation=request.incarnation,
        listeners=request.listeners,
        features=features,
        rack=request.rack,
        fenced=known.fenced if known is not None and amends else True,
        in_controlled_shutdown=known.in_controlled_shutdown if known is not None and amends else False,
        log_dirs=request.dirs if controller.features.directories else (),
    )
    dirs = record.log_dirs
    ended = amended(controller, broker, dirs, rules) if amends else _ended(controller, known, request, rules)
    sessions = soft.sessions if amends else soft.sessions.remove(broker)
    sessions = sessions.register(broker, record.fenced, soft.now)
    return _written(ended, record, evolve(soft, sessions=sessions), rules.controller)


@rule("registration.record-is-written-last", source="ClusterControlManager.registerBroker",
      switches=("registration-is-one-batch",),
      says="A registration writes first what it ends, and then the broker's record, which from 4.0.0 on may be in a "
           "later batch.")  # fmt: skip
def _written(ended: Records, record: RegisterBrokerRecord, soft: Soft, rules: ControllerRules) -> Outcome[int]:
    """Where a controller fails between two batches, the broker is not registered: it asks again."""
    return Outcome((*ended, record), record.broker_epoch, soft, atomic=rules.registration_is_one_batch)


@rule("registration.directories-own-and-unreserved", source="semantics 5; KIP-858; invariant 19",
      switches=("no-directories-is-invalid-request",),
      says="A registration names at least one directory, none reserved, none twice and none of "
           "another broker.")  # fmt: skip
def _check_directories(controller: Controller, request: RegistrationRequest, rules: ControllerRules) -> None:
    """The document answers a list that is empty as a malformed request, the code as any list that it refuses.

    The right rules answer as the code does: one error for every fault of the list, and the one that brokers of all
    releases know. Nothing else differs, since a broker treats both as a registration to try again.
    """
    if not request.dirs:
        error = "INVALID_REQUEST" if rules.no_directories_is_invalid_request else "INVALID_REGISTRATION"
        raise RequestError(error, "no_directories")
    if any(is_reserved(directory) for directory in request.dirs):
        raise RequestError("INVALID_REGISTRATION", "reserved_directory")
    if len(set(request.dirs)) != len(request.dirs):
        raise RequestError("INVALID_REGISTRATION", "duplicate_directory")
    for directory in request.dirs:
        if controller.image.directory_owner(directory) not in (None, request.broker):
            raise RequestError("INVALID_REGISTRATION", "directory_owned_by_other_broker")


@rule("registration.supports-finalized-features", source="semantics 5; ClusterControlManager.registerBroker",
      switches=("metadata-version-range-required",),
      says="A broker supports the level of each finalized feature, and from 4.0.0 on names its range of "
           "metadata.version.")  # fmt: skip
def _supported(
    features: tuple[Feature, ...], finalized: Mapping[str, int], rules: ControllerRules
) -> tuple[Feature, ...]:
    """The features to register, once each finalized level is in the broker's range.

    A feature that the broker does not name has the range 0 to 0, the metadata
    version, where it may be left out, the range 1 to 1.
    """
    named, registered = {feature.name for feature in features}, features
    for feature in features:
        _check_level(feature, finalized)
    if METADATA_VERSION not in named:
        if rules.metadata_version_range_required:
            raise RequestError("INVALID_REGISTRATION", "no_metadata_version")
        registered = (*features, Feature(METADATA_VERSION, 1, 1))
        _check_level(registered[-1], finalized)
    for name in sorted(finalized.keys() - named - {METADATA_VERSION}):
        if finalized[name] != 0:
            _check_level(Feature(name, 0, 0), finalized)
    return registered


def _check_level(feature: Feature, finalized: Mapping[str, int]) -> None:
    level = finalized.get(feature.name, 1 if feature.name == METADATA_VERSION else 0)
    if not feature.min_level <= level <= feature.max_level:
        accepted = [feature.min_level, feature.max_level]
        raise RequestError("UNSUPPORTED_VERSION", feature=feature.name, finalized=level, accepted_range=accepted)


def _ended(
    controller: Controller, known: Registration | None, request: RegistrationRequest, rules: RuleSet
) -> Records:
    """What a new incarnation ends: membership of ISRs, and of ELRs after an unclean stop.

    The code takes every stop for unclean (KAFKA-18635), and does nothing below
    the metadata versions with ELR (defect B6).
    """
    clean = known is not None and request.previous_epoch == known.epoch
    return restarted(controller, request.broker, clean, rules)


def register_controller(controller: Controller, record: RegisterControllerRecord) -> Outcome[None]:
    """A controller registers.

    Raises:
        RequestError: UNSUPPORTED_VERSION.
    """
    if not controller.features.controller_registration:
        raise RequestError("UNSUPPORTED_VERSION", "no_controller_registration")
    return Outcome((record,), None, controller.soft, atomic=True)
