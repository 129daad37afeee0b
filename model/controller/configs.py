"""Dynamic configurations: their values, and the order in which they are looked up.

Source: `ConfigurationControlManager`, `KafkaConfigSchema`, `ControllerConfigurationValidator`.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, field, frozen

from kraftcheck.model.controller.records import CLUSTER, TOPIC, ConfigRecord
from kraftcheck.model.language.rule import rule
from kraftcheck.model.records.fields import INT32
from kraftcheck.model.rules.groups import ControllerRules

MIN_ISR = "min.insync.replicas"
UNCLEAN_ELECTION = "unclean.leader.election.enable"

DEFAULTS = {MIN_ISR: "1", UNCLEAN_ELECTION: "false"}
"""What holds where nothing is configured."""


TOPIC_CONFIGS = frozenset((
    "cleanup.policy", "compression.gzip.level", "compression.lz4.level", "compression.type",
    "compression.zstd.level", "delete.retention.ms", "errors.deadletterqueue.group.enable", "file.delete.delay.ms",
    "flush.messages", "flush.ms", "follower.replication.throttled.replicas", "index.interval.bytes",
    "internal.segment.bytes", "leader.replication.throttled.replicas", "local.retention.bytes",
    "local.retention.ms", "max.compaction.lag.ms", "max.decompressed.message.bytes", "max.message.bytes",
    "message.timestamp.after.max.ms", "message.timestamp.before.max.ms", "message.timestamp.type",
    "min.cleanable.dirty.ratio", "min.compaction.lag.ms", "min.insync.replicas", "preallocate",
    "remote.copy.lag.bytes", "remote.copy.lag.ms", "remote.log.copy.disable", "remote.log.delete.on.disable",
    "remote.storage.enable", "retention.bytes", "retention.ms", "segment.bytes", "segment.index.bytes",
    "segment.jitter.ms", "segment.ms", "unclean.leader.election.enable",
))  # fmt: skip
"""What a topic may be configured with in 4.4.0; 4.2.1 and 4.3 have all but four of them. Source: `LogConfig`."""


@frozen
class Configs:
    """Every dynamic configuration.

    Attributes:
        topics, nodes: key to value, by topic name and by node id.
        cluster: the default of all nodes.
    """

    topics: Mapping[str, Mapping[str, str]] = field(factory=dict)
    nodes: Mapping[str, Mapping[str, str]] = field(factory=dict)
    cluster: Mapping[str, str] = field(factory=dict)

    def of(self, scope: str, name: str) -> Mapping[str, str]:
        """The configurations of one topic, of one node, or of the cluster."""
        if scope == CLUSTER:
            return self.cluster
        return (self.topics if scope == TOPIC else self.nodes).get(name, {})

    @rule("config.resolution-order", source="KafkaConfigSchema.resolveEffectiveTopicConfig; semantics 1",
          says="A configuration resolves from the topic to its node, the cluster, the static value "
               "and the default.")  # fmt: skip
    def resolve(self, topic: str, key: str, node: str, static: Mapping[str, str]) -> str:
        """The value that counts for a topic: its own, its node's, the cluster's, the static one, the default.

        Args:
            topic: name of the topic.
            key: what is asked for.
            node: the active controller's own node.
            static: its static configuration.
        """
        sources = (self.of(TOPIC, topic), self.nodes.get(node, {}), self.cluster, static, DEFAULTS)
        return next((source[key] for source in sources if key in source), "")

    def replay(self, record: ConfigRecord) -> Configs:
        """The configurations after a record."""
        values = {key: value for key, value in self.of(record.scope, record.name).items() if key != record.key}
        if record.value is not None:
            values[record.key] = record.value
        if record.scope == CLUSTER:
            return evolve(self, cluster=values)
        if record.scope == TOPIC:
            return evolve(self, topics={**self.topics, record.name: values})
        return evolve(self, nodes={**self.nodes, record.name: values})

    def without_topic(self, topic: str) -> Configs:
        """The configurations after a topic is removed."""
        return evolve(self, topics={name: values for name, values in self.topics.items() if name != topic})


@rule("config.unsupported-skipped-at-replay", source="KAFKA-19851; SupportedConfigChecker",
      switches=("unsupported-configs-kept",),
      says="From 4.2.1 on a record that configures a topic by a name that is known no more is skipped.")  # fmt: skip
def is_skipped(record: ConfigRecord, rules: ControllerRules) -> bool:
    """Whether a record leaves the configurations as they are; of a node or the cluster every name counts."""
    return record.scope == TOPIC and record.key not in TOPIC_CONFIGS and not rules.unsupported_configs_kept


def is_true(value: str) -> bool:
    """Whether a configured text means true, as `Boolean.parseBoolean` reads it."""
    return value.lower() == "true"


def whole_number(value: str) -> int | None:
    """A configured text as a number, as `Integer.parseInt` reads it; None where that throws.

    It takes the decimal digits of every script that a single `char` holds, a sign, and no space.
    """
    digits = value[1:] if value[:1] in ("+", "-") else value
    if not digits or not all(digit.isdecimal() and ord(digit) < 1 << 16 for digit in digits):
        return None
    number = int(value)
    return number if INT32[0] <= number <= INT32[1] else None


def trimmed(value: str) -> str:
    """The text without control characters and spaces around it, as `String.trim` cuts it."""
    return value.strip("".join(map(chr, range(33))))


def is_valid(key: str, value: str) -> bool:
    """Whether a topic may have this value; only keys that the controller's rules read are judged.

    Spaces around a value do not count. Source: `LogConfig`, `ConfigDef.parseType`.
    """
    if key == MIN_ISR:
        number = whole_number(trimmed(value))
        return number is not None and number >= 1
    return key != UNCLEAN_ELECTION or trimmed(value).lower() in ("true", "false")


@rule("config.stored-trimmed", source="KAFKA-20532; ConfigDef.parseType", switches=("padded-configs-stored",),
      says="A value is stored without the spaces around it.")  # fmt: skip
def as_stored(key: str, value: str, rules: ControllerRules) -> str:
    """The text that is written for a value that is valid."""
    reads = key in DEFAULTS and not rules.padded_configs_stored
    return trimmed(value) if reads else value
