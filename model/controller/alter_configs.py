"""IncrementalAlterConfigs: checks of a configuration change, and the records it writes.

Source: `ConfigurationControlManager.incrementalAlterConfigs`.
"""

from __future__ import annotations

from attrs import evolve

from kraftcheck.model.controller.errors import RequestError
from kraftcheck.model.controller.state import (
    CLUSTER,
    MIN_ISR,
    NODE,
    TOPIC,
    ClearElrRecord,
    ConfigRecord,
    Controller,
    LogRecord,
    Outcome,
    as_stored,
    is_valid,
)
from kraftcheck.model.language.words import rule
from kraftcheck.model.records.records import PartitionChangeRecord
from kraftcheck.model.rules.groups import ControllerRules, PartitionRules
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.triggers.table import announced


@rule("config.topic-written-only-where-it-differs", source="ConfigurationControlManager.incrementalAlterConfigs",
      says="A topic's configuration is written only where its value changes.")  # fmt: skip
def alter_config(controller: Controller, wanted: ConfigRecord, rules: RuleSet) -> Outcome[None]:
    """One configuration is set or removed; a topic's only where the value changes.

    Mended, an ELR is dropped where the ISR reaches the new min ISR (defect B3), and
    a raised min ISR raises the partition epochs, so that leaders hear of it first.

    Raises:
        RequestError: in this order INVALID_CONFIG, UNKNOWN_TOPIC_OR_PARTITION,
            BROKER_ID_NOT_REGISTERED.
    """
    wanted = _checked(wanted, rules.controller)
    if wanted.scope == TOPIC and controller.topic_id(wanted.name) is None:
        raise RequestError("UNKNOWN_TOPIC_OR_PARTITION")
    if wanted.scope == NODE and wanted.name not in _nodes(controller):
        raise RequestError("BROKER_ID_NOT_REGISTERED")
    if _fixed_by_elr(controller, wanted, rules.partition):
        raise RequestError("INVALID_CONFIG", "min_isr_with_elr")
    known = controller.configs.of(wanted.scope, wanted.name)
    if wanted.scope == TOPIC and known.get(wanted.key) == wanted.value:
        return Outcome((), None, controller.soft, atomic=True)
    records: tuple[LogRecord, ...] = (wanted,)
    features = controller.features
    if rules.partition.min_isr_change_clears_every_elr and (features.clear_elr or not features.elr(rules.partition)):
        records = (*records, *clearing(controller, wanted, rules.partition))
    elif wanted.key == MIN_ISR:
        records = (*records, *_announced(controller, wanted, rules))
    return Outcome(records, None, controller.soft, atomic=True)


def clearing(controller: Controller, wanted: ConfigRecord, rules: PartitionRules) -> tuple[ClearElrRecord, ...]:
    """The records of Kafka 4.0 behind a change of min ISR: they empty the ELRs of the topic, or of all topics.

    Source: `ConfigurationControlManager.createClearElrRecordsAsNeeded` (KAFKA-16540).
    """
    elr = controller.features.elr(rules) and controller.features.clear_elr
    if wanted.key != MIN_ISR or not elr or wanted.scope not in (TOPIC, CLUSTER):
        return ()
    return (ClearElrRecord(wanted.name),)


@rule("config.min-isr-of-brokers-with-elr",
      source="ConfigurationControlManager.isDisallowedBrokerMinIsrTransition",
      says="While ELR is on, no single broker has a min ISR of its own, and the cluster's is not removed.")  # fmt: skip
def _fixed_by_elr(controller: Controller, wanted: ConfigRecord, rules: PartitionRules) -> bool:
    """Whether ELR forbids the change: controllers must not differ in the min ISR that they elect by."""
    if wanted.key != MIN_ISR or not (controller.features.elr(rules) and controller.features.clear_elr):
        return False
    return wanted.scope == NODE or (wanted.scope == CLUSTER and wanted.value is None)


@rule("config.node-values-checked", source="ControllerConfigurationValidator.validate",
      switches=("node-configs-unchecked",),
      says="A value for a node or for the cluster is checked before it is stored.")  # fmt: skip
def _checked(wanted: ConfigRecord, rules: ControllerRules) -> ConfigRecord:
    """The record as it is written, once its value may be."""
    if wanted.value is None or (wanted.scope != TOPIC and rules.node_configs_unchecked):
        return wanted
    if not is_valid(wanted.key, wanted.value):
        raise RequestError("INVALID_CONFIG", "bad_value")
    return evolve(wanted, value=as_stored(wanted.key, wanted.value, rules))


def elr_safety(controller: Controller, minimum: str) -> tuple[ConfigRecord, ...]:
    """The records before ELR is switched on: a min ISR for the cluster, where it has none, and for no node.

    Source: `ConfigurationControlManager.maybeGenerateElrSafetyRecords`.

    Args:
        minimum: the static value of the active controller.
    """
    configs = controller.configs
    general = () if MIN_ISR in configs.cluster else (ConfigRecord(CLUSTER, "", MIN_ISR, minimum),)
    own = (ConfigRecord(NODE, node, MIN_ISR, None) for node, values in configs.nodes.items() if MIN_ISR in values)
    return (*general, *own)


def _nodes(controller: Controller) -> set[str]:
    """Ids that configurations of nodes may be for."""
    brokers = {str(broker) for broker in controller.image.registrations}
    return {controller.settings.node, *brokers}


def _announced(controller: Controller, wanted: ConfigRecord, rules: RuleSet) -> tuple[LogRecord, ...]:
    """Records that empty the ELRs of topics whose min ISR changes, and tell leaders that it has risen.

    As found there are none, and no value is looked at before the next election needs it.
    """
    if rules.partition.min_isr_change_keeps_elr and rules.data_plane.min_isr_raise_is_silent:
        return ()
    after = evolve(controller, configs=controller.configs.replay(wanted))
    elr, records = controller.features.elr(rules.partition), []
    for place in controller.places():
        topic = controller.topic(place.topic_id).name
        differs = after.config(topic, MIN_ISR) != controller.config(topic, MIN_ISR)
        new, old = (found.min_isr(place.topic_id, place.index, rules.controller) for found in (after, controller))
        change = announced(place.partition, differs, new, old, elr, rules)
        if not change.is_noop():
            records.append(PartitionChangeRecord(place.topic_id, place.index, change))
    return tuple(records)
