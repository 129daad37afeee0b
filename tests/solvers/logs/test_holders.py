"""Who holds the acknowledged records of a partition, followed through a metadata log."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from attrs import evolve

from kraftcheck.model.controller.brokers import (
    RegistrationContext,
    RegistrationRequest,
    directories_failed,
    fenced,
    leaving,
    register_broker,
    unfenced,
)
from kraftcheck.model.controller.commits import replay_record
from kraftcheck.model.controller.partitions import (
    AlterPartitionRequest,
    Proposal,
    Reassignment,
    alter_partition,
    reassign,
)
from kraftcheck.model.controller.state import Controller, Features, LogRecord, Settings
from kraftcheck.model.controller.topics import CreateTopicsRequest, NewTopic, create_topics
from kraftcheck.model.records.codecs import encode
from kraftcheck.model.records.records import Feature, RegisterBrokerRecord
from kraftcheck.model.rules.ruleset import RuleSet, parse
from kraftcheck.solvers.logs.recovery import Recovery
from kraftcheck.solvers.logs.whatif import Holders, first_holders
from tests.model.controller.controllers import directory, lists, partition
from tests.shared.commands import kraftcheck

RULES = parse("kafka-4.1.2")
TOPIC = "foo"


class Log:
    """A log that is written event by event, with the holders of its last partition after each record."""

    def __init__(self, *replicas: tuple[int, ...], minimum: int = 2, rules: RuleSet = RULES) -> None:
        self.rules, self.records, self.partition = rules, list[LogRecord](), len(replicas) - 1
        settings = Settings(static={"min.insync.replicas": str(minimum)})
        self.controller = Controller(features=Features(elr_enabled=True, clear_elr=True), settings=settings)
        self.holders = Holders()
        for broker in range(3):
            self.add((RegisterBrokerRecord(broker, len(self.records), f"p{broker}", log_dirs=(directory(broker),)),))
            self.add(unfenced(self.controller, broker, rules))
        topic = NewTopic(TOPIC, assignments=tuple(enumerate(replicas)))
        self.add(create_topics(self.controller, CreateTopicsRequest((topic,)), rules).records)

    def add(self, records: Iterable[LogRecord]) -> None:
        """Replay records, and follow the holders."""
        for record in records:
            before, self.controller = self.controller, replay_record(self.controller, record, self.rules)
            self.holders.follow(before, self.controller)
            self.records.append(record)

    @property
    def topic_id(self) -> str:
        """The topic's id."""
        return self.controller.topic_id(TOPIC) or ""

    def members(self) -> set[int]:
        """The holders of the partition."""
        return set(self.holders.members[self.topic_id, self.partition])

    def state(self) -> tuple[list[int], list[int], int]:
        """ISR, ELR and leader of the partition."""
        return lists(partition(self.controller, TOPIC, self.partition))

    def decide(self, decision: Callable[..., tuple[LogRecord, ...]], *words: object) -> None:
        """An event of a broker."""
        self.add(decision(self.controller, *words, self.rules))

    def reassign(self, replicas: tuple[int, ...] | None) -> None:
        """A reassignment, or its cancellation."""
        outcome = reassign(self.controller, (Reassignment(TOPIC, self.partition, replicas),), self.rules)
        assert [row.error for row in outcome.response] == ["NONE"]
        self.add(outcome.records)

    def alter(self, *isr: int) -> None:
        """The leader proposes an ISR."""
        p = partition(self.controller, TOPIC, self.partition)
        members = tuple((broker, -1) for broker in isr)
        proposal = Proposal(self.topic_id, self.partition, int(p.leader_epoch), int(p.partition_epoch), members)
        sender = self.controller.image.registrations[int(p.leader)]
        request = AlterPartitionRequest(sender.id, sender.epoch, (proposal,))
        outcome = alter_partition(self.controller, request, self.rules)
        assert outcome.response[0].error in ("NONE", "NEW_LEADER_ELECTED")  # both are written
        self.add(outcome.records)

    def restart(self, broker: int, clean: bool) -> None:
        """A broker that is fenced registers anew."""
        known = self.controller.image.registrations[broker]
        request = RegistrationRequest(
            None, broker, f"{known.incarnation}'", (), (Feature("metadata.version", 1, 1),), None, (directory(broker),),
            previous_epoch=known.epoch if clean else None,
        )  # fmt: skip
        soft = evolve(self.controller.soft, now=self.controller.soft.now + 10_000)
        expired = evolve(self.controller, soft=soft)
        self.add(register_broker(expired, request, RegistrationContext(), self.rules).records)
        self.decide(unfenced, broker)

    def faults_to_loss(self, holders: Holders | None = None) -> int | None:
        """How many faults the partition is away from losing data."""
        followed = self.holders if holders is None else holders
        rows = Recovery(self.controller, followed, self.rules).distances(2)
        return rows[self.partition]["faults_to_loss"]

    def write(self, path: Path) -> Path:
        """The log as JSON lines, metadata version 27 with ELR first."""
        levels = {"metadata.version": 27, "eligible.leader.replicas.version": 1}
        rows = [
            {"type": "FEATURE_LEVEL_RECORD", "version": 0, "data": {"name": name, "featureLevel": level}}
            for name, level in levels.items()
        ]
        rows += [encode(record) for record in self.records]
        path.write_text("".join(json.dumps({"offset": n, **row}) + "\n" for n, row in enumerate(rows)))
        return path


def ghost_log() -> Log:
    """Two replicas and min ISR 2: one is taken out of the replicas, records are written, and it is added again.

    Partition 0 keeps its two replicas, by which the releases take the min ISR of partition 1 to be 2 all the while.
    """
    log = Log((0, 2), (1, 2))
    log.reassign((1,))
    log.reassign((1, 2))
    assert log.state() == ([1], [2], 1)
    return log


def test_a_replica_that_was_outside_the_replicas_is_no_holder() -> None:
    """An ELR member that a reassignment took out and another adds again is eligible, and holds nothing."""
    log = ghost_log()
    assert log.members() == {1}
    assert log.faults_to_loss() == 1
    log.decide(leaving, 1)
    assert log.state()[2] == 2
    assert log.members() == {2}
    assert set(log.holders.losses) == {(log.topic_id, 1)}


def test_the_command_counts_one_clean_stop_to_loss(tmp_path: Path) -> None:
    """`kraftcheck whatif` on such a log: one fault loses data; after it, the log's loss is reported with its offset."""
    log = ghost_log()
    words = ("--static", "min.insync.replicas=2", "--rules", "kafka-4.1.2")
    ran = kraftcheck("whatif", log.write(tmp_path / "before.jsonl"), *words, "--json", tmp_path / "w.json")
    row = json.loads((tmp_path / "w.json").read_text())["partitions"][1]
    assert (row["faults_to_loss"], row["to_loss"], row["lost_at"]) == (1, ["1 is fenced"], None)
    assert "may have lost data" not in ran.out
    log.decide(leaving, 1)
    ran = kraftcheck("whatif", log.write(tmp_path / "after.jsonl"), *words)
    assert f"1 partition may have lost data before: foo-1 at {len(log.records) + 1}\n" in ran.out


def test_a_snapshot_shows_isr_and_replicas_that_are_not_being_added() -> None:
    """Without a log before it, an ELR member counts only where it is a replica that nobody is adding."""
    log = ghost_log()
    assert log.faults_to_loss(Holders()) == 1
    kept = Log((1, 2))
    kept.decide(fenced, 2)
    assert first_holders(partition(kept.controller)) == {1, 2}
    assert first_holders(partition(log.controller, TOPIC, 1)) == {1}


def test_an_isr_below_its_minimum_leaves_earlier_members_holders() -> None:
    """Nothing is acknowledged below min ISR, so who left holds everything; at min ISR only the ISR does."""
    log = Log((0, 1, 2))
    log.decide(fenced, 2)
    assert log.members() == {0, 1}
    log.decide(fenced, 1)
    assert (log.state(), log.members()) == (([0], [1], 0), {0, 1})
    log.decide(unfenced, 2)
    log.alter(0, 2)
    assert log.members() == {0, 2}


@pytest.mark.parametrize("clean", [True, False])
def test_a_new_incarnation_keeps_what_it_held_only_where_it_stays_eligible(clean: bool) -> None:
    """After a clean stop an ELR member holds what it held; after another stop it holds nothing until it is in sync."""
    log = Log((0, 1))
    log.decide(fenced, 1)
    assert log.members() == {0, 1}
    log.restart(1, clean)
    assert log.members() == ({0, 1} if clean else {0})
    log.alter(0, 1)
    assert log.members() == {0, 1}


def test_the_last_replica_that_died_may_have_lost_data() -> None:
    """A lone replica whose process died leads again without what it had not flushed: the loss is noted."""
    log = Log((0,), minimum=1, rules=parse("kafka-4.1.2-elr-available"))
    log.decide(fenced, 0)
    assert log.members() == {0}
    log.restart(0, clean=False)
    assert (log.members(), len(log.holders.losses)) == ({0}, 1)


def test_a_failed_directory_takes_its_replica_out() -> None:
    """A replica whose directory is reported as failed holds nothing."""
    log = Log((0, 1, 2), minimum=3, rules=parse("fixed"))
    log.add(directories_failed(log.controller, 2, (directory(2),), log.rules))
    assert log.members() == {0, 1}
