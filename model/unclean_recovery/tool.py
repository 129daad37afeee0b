"""The tool of the unclean-recovery KIP on ints: whom it chooses, its options, and its exit status."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from attrs import evolve, field, frozen

from kraftcheck.model.controller.commits import commit
from kraftcheck.model.controller.elections import DESIGNATED, MOST_DESIGNATED, elect_leaders
from kraftcheck.model.controller.errors import NONE
from kraftcheck.model.controller.state import Controller
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, negate, rule
from kraftcheck.model.rules.groups import UncleanRecoveryRules
from kraftcheck.model.rules.ruleset import RuleSet

NOBODY = -1  # the choice where no replica can be chosen


@frozen
class ReplicaReport:
    """The tool's knowledge of one replica.

    Attributes:
        given: whether its broker has answered.
        failed: whether the answer was an error.
        current: the leader epoch that its broker knows of.
        written: the epoch of the last record in its log.
        length: its log end offset.
        incarnation: the broker epoch of the response, or what stands for it.
    """

    given: Truth
    failed: Truth
    current: Word
    written: Word
    length: Word
    incarnation: Word = 0


SILENT = ReplicaReport(False, False, -1, -1, -1)  # no answer


@rule("recovery.errors-are-no-candidates", source="unclean-recovery KIP, GetReplicaLogInfo",
      switches=("recovery-counts-errors",), says="A replica that answers with an error is no candidate.")  # fmt: skip
def is_candidate(answer: ReplicaReport, rules: UncleanRecoveryRules) -> Truth:
    """Whether a replica can be chosen: it has answered, and not with an error."""
    return answer.given if rules.recovery_counts_errors else all_of(answer.given, negate(answer.failed))


@rule("recovery.highest-written-epoch", source="unclean-recovery KIP, GetReplicaLogInfo; KIP-966; S2; catalogue 49",
      switches=("recovery-trusts-current-epoch",),
      says="Logs are compared by the epoch of their last record, not by the epoch that the broker "
           "knows of.")  # fmt: skip
@rule("recovery.epoch-before-length", source="unclean-recovery KIP, Proposed Changes; catalogue 50",
      switches=("recovery-prefers-length", "recovery-takes-first-answer"),
      says="The log with the highest epoch is chosen, and among those the longest.")  # fmt: skip
@rule("recovery.ties-to-first-replica", source="unclean-recovery KIP, Proposed Changes",
      switches=("recovery-ties-to-last",), says="Of equal logs that of the first replica is chosen.")  # fmt: skip
def exceeds(a: ReplicaReport, b: ReplicaReport, rules: UncleanRecoveryRules) -> Truth:
    """Whether the log of `a`, which comes later in the order of replicas, is to be preferred to that of `b`.

    The document compares the epoch that the broker knows of. Only the epoch of
    the last record says which of two logs holds what the other lacks: logs that
    agree on a record agree on all before it (Raft, "up-to-date").

    Source: unclean-recovery KIP, "Proposed Changes"; KIP-966, LastWrittenLeaderEpoch.
    """
    if rules.recovery_takes_first_answer:
        return False
    first, then = (a.written, a.length), (b.written, b.length)
    if rules.recovery_trusts_current_epoch:
        first, then = (a.current, a.length), (b.current, b.length)
    if rules.recovery_prefers_length:
        first, then = first[::-1], then[::-1]
    equal = first[0] == then[0]
    longer = first[1] >= then[1] if rules.recovery_ties_to_last else first[1] > then[1]
    return any_of(first[0] > then[0], all_of(equal, longer))


def best(answers: Sequence[ReplicaReport], rules: UncleanRecoveryRules) -> Word:
    """The position of the chosen replica, NOBODY where there is no candidate.

    Args:
        answers: of the replicas in their order.
    """
    found: Word = NOBODY
    leading = SILENT
    for position, answer in enumerate(answers):
        wins = all_of(is_candidate(answer, rules), any_of(found == NOBODY, exceeds(answer, leading, rules)))
        found = choose(wins, position, found)
        leading = choose(wins, answer, leading)
    return found


@rule("recovery.online-is-success", source="unclean-recovery KIP, exit status",
      switches=("recovery-online-is-failure",),
      says="A partition that is found online counts as recovered.")  # fmt: skip
def is_recovered(elected: Truth, online: Truth, unserved: Truth, rules: UncleanRecoveryRules) -> Truth:
    """Whether a partition counts as recovered.

    Args:
        elected: the tool's election succeeded.
        online: the controller, or the tool before it, found a leader.
        unserved: the response does not name it.

    Source: unclean-recovery KIP: "in this case the tool will report that it found a partition already online".
    """
    counted = [elected]
    counted += [] if rules.recovery_online_is_failure else [online]
    counted += [unserved] if rules.recovery_ignores_request_limit else []
    return any_of(*counted)


@rule("recovery.zero-only-for-all", source="unclean-recovery KIP, exit status",
      switches=("partial-recovery-succeeds", "interrupted-recovery-succeeds"),
      says="The exit status is zero exactly when every partition is recovered.")  # fmt: skip
def exits_zero(recovered: Sequence[Truth], interrupted: Truth, rules: UncleanRecoveryRules) -> Truth:
    """Whether the exit status is zero: exactly when every partition of the input set is recovered.

    Args:
        recovered: of each partition.
        interrupted: a signal ended the run.

    Source: unclean-recovery KIP, "A zero exit status will be reported only if ...".
    """
    enough = [all_of(*recovered)]
    enough += [any_of(*recovered)] if rules.partial_recovery_succeeds else []
    enough += [interrupted] if rules.interrupted_recovery_succeeds else []
    return any_of(*enough)


MOST_PARTITIONS = 1000  # partitions of one request; further ones are not answered
TopicPartition: TypeAlias = tuple[str, int]  # a topic by its name, and the index of a partition

NO_ERROR = "NONE"


@frozen
class ReplicaLog:
    """A replica on a broker's disk."""

    current: int  # the leader epoch that the broker knows of (PartitionLeaderEpoch)
    written: int  # the epoch of the last record, -1 in an empty log (KIP-966: LastWrittenLeaderEpoch)
    length: int  # the log end offset
    error: str = NO_ERROR  # why the log cannot be read, or NO_ERROR


@frozen
class Rights:
    """The rights of the caller."""

    cluster_action: bool = True  # CLUSTER_ACTION
    describe: frozenset[str] | None = None  # topics with DESCRIBE; None: all of them

    def describes(self, topic: str) -> bool:
        """Whether a topic may be described."""
        return self.describe is None or topic in self.describe


@frozen
class LogInfo:
    """One row of a response; `log` is None where there is an error."""

    place: TopicPartition
    error: str
    log: ReplicaLog | None
    broker_epoch: int  # that of the whole response


@frozen
class LogInfoResponse:
    """A response."""

    broker_epoch: int  # of the broker that answers
    has_more_data: bool  # whether partitions were asked for that are not answered
    rows: tuple[LogInfo, ...]  # the first partitions, in the order asked for


def replica_log_info(
    broker_epoch: int,
    logs: Mapping[TopicPartition, ReplicaLog],
    asked: Sequence[TopicPartition] | None,
    rights: Rights,
    limit: int = MOST_PARTITIONS,
) -> LogInfoResponse:
    """A broker's response to a request for these partitions.

    Args:
        logs: the replicas that it has.
        asked: in the order of the request; None: all that the broker has, as a request without a list asks.
        limit: partitions that one request is answered for.

    Source: unclean-recovery KIP, "GetReplicaLogInfo RPC".
    """
    places = tuple(sorted(logs)) if asked is None else asked
    rows = tuple(LogInfo(place, *_told(logs.get(place), place, rights), broker_epoch) for place in places[:limit])
    return LogInfoResponse(broker_epoch, len(places) > limit, rows)


def _told(log: ReplicaLog | None, place: TopicPartition, rights: Rights) -> tuple[str, ReplicaLog | None]:
    """The error of a row, and the log where there is none."""
    if not rights.cluster_action:
        return "CLUSTER_AUTHORIZATION_FAILED", None
    if not rights.describes(place[0]):
        return "TOPIC_AUTHORIZATION_FAILED", None
    if log is None:
        return "UNKNOWN_TOPIC_OR_PARTITION", None
    return log.error, log if log.error == NO_ERROR else None


ATTEMPTS = 3  # default of --recovery-election-attempts: retries of one request

NOT_NEEDED = "ELECTION_NOT_NEEDED"
NOT_SERVED = "NOT_SERVED"  # in place of an error: the response does not name the partition
INTERRUPTED = "INTERRUPTED"  # in place of an error: a signal came before the request was sent
TRANSIENT = "NOT_CONTROLLER"  # what a request that fails transiently is answered with


@frozen
class PartitionResult:
    """The result of one partition: NONE, NOT_NEEDED, or why there is no leader."""

    place: TopicPartition
    error: str

    def recovered(self, rules: UncleanRecoveryRules) -> bool:
        """Whether the partition counts as recovered."""
        error = self.error
        return bool(is_recovered(error == NONE, error == NOT_NEEDED, error == NOT_SERVED, rules))


@frozen
class Retries:
    """Requests that fail transiently, and how often one may be sent again."""

    failing: int = 0  # requests that fail from now on, before one is served
    attempts: int = ATTEMPTS  # retries of each request

    def sent(self) -> tuple[bool, Retries]:
        """Whether a request is served in the end, and what is left to fail."""
        served = self.failing <= self.attempts
        used = self.failing if served else self.attempts + 1
        return served, evolve(self, failing=self.failing - used)


@rule("recovery.unserved-is-sent-again", source="unclean-recovery KIP, ElectLeaders limit",
      switches=("recovery-ignores-request-limit",),
      says="A partition that a response does not name is sent again.")  # fmt: skip
def designate_all(
    controller: Controller,
    wanted: Sequence[tuple[TopicPartition, int]],
    rules: RuleSet,
    retries: Retries,
    rights: Rights,
    stopped: Callable[[], bool] = lambda: False,
    answered: Mapping[TopicPartition, int] | None = None,
) -> tuple[Controller, tuple[PartitionResult, ...]]:
    """Designate these leaders, as many in a request as the controller serves.

    Args:
        wanted: partitions and the leader of each.
        rules: the rule set; it must have designated elections.
        rights: of the caller, who needs CLUSTER_ACTION.
        answered: by partition the broker epoch in which its leader answered; without one nothing is compared.
        stopped: asked before each request whether to stop; the rest is INTERRUPTED then.

    Returns:
        The state after the elections, and one result a partition, in order.

    Raises:
        RequestError: as `elect_leaders`.

    Source: unclean-recovery KIP, "Designated Leader Elections".
    """
    if not rights.cluster_action:
        return controller, tuple(PartitionResult(place, "CLUSTER_AUTHORIZATION_FAILED") for place, _ in wanted)
    size = max(1, len(wanted)) if rules.unclean_recovery.recovery_ignores_request_limit else MOST_DESIGNATED
    results: list[PartitionResult] = []
    for start in range(0, len(wanted), size):
        batch = wanted[start : start + size]
        if stopped():
            results += [PartitionResult(place, INTERRUPTED) for place, _ in wanted[start:]]
            break
        served, retries = retries.sent()
        if not served:
            results += [PartitionResult(place, TRANSIENT) for place, _ in batch]
            continue
        places, leaders = tuple(place for place, _ in batch), tuple(leader for _, leader in batch)
        epochs = None if answered is None else tuple(answered.get(place) for place in places)
        outcome = elect_leaders(controller, DESIGNATED, places, rules, leaders, epochs)
        controller = commit(controller, outcome, rules)
        told = {(row.topic, row.partition): row.error for row in outcome.response}
        results += [PartitionResult(place, told.get(place, NOT_SERVED)) for place in places]
    return controller, tuple(results)


def succeeded(results: Sequence[PartitionResult], rules: UncleanRecoveryRules) -> bool:
    """Whether the exit status is zero."""
    interrupted = any(result.error == INTERRUPTED for result in results)
    return bool(exits_zero([result.recovered(rules) for result in results], interrupted, rules))


DURATION_MS = 30_000  # default of --recovery-duration-ms


@frozen
class RemoteBroker:
    """A broker as the operator's machine reaches it, which need not be how the controller does."""

    id: int  # of the broker
    epoch: int  # the broker epoch in its responses
    logs: Mapping[TopicPartition, ReplicaLog] = field(factory=dict)  # the replicas that it has
    answer_ms: int | None = 1  # how long a response takes, at least 1; None: none ever comes
    failures: int = 0  # requests that fail before the first is answered; each takes as long


@frozen
class PartitionReport:
    """The findings of the tool on one partition."""

    place: TopicPartition  # the partition
    # for each replica, in order, its broker and the row it answered, or None
    replies: tuple[tuple[int, LogInfo | None], ...]
    chosen: int  # the broker to be designated, or NOBODY
    epoch: int | None  # the broker epoch in which it answered, or None


@rule("recovery.asks-until-whole", source="unclean-recovery KIP, HasMoreData",
      switches=("recovery-ignores-more-data",), says="A broker that has more data is asked again.")  # fmt: skip
def inquire(
    broker: RemoteBroker, asked: Sequence[TopicPartition], rights: Rights, duration_ms: int, rules: UncleanRecoveryRules
) -> tuple[LogInfo, ...]:
    """The answers of one broker in time: request after request, until all are answered.

    A response with HasMoreData is followed by a request for the rest.

    Args:
        broker: whom to ask.
        duration_ms: how long the tool waits in all.
    """
    if broker.answer_ms is None:
        return ()
    rows: list[LogInfo] = []
    pending, spent, failures = tuple(asked), 0, broker.failures
    while pending and spent + broker.answer_ms <= duration_ms:
        spent += broker.answer_ms
        if failures:
            failures -= 1
            continue
        response = replica_log_info(broker.epoch, broker.logs, pending, rights, MOST_PARTITIONS)
        rows += response.rows
        more = response.has_more_data and not rules.recovery_ignores_more_data
        pending = pending[len(response.rows) :] if more else ()
    return tuple(rows)


def find_leaders(
    brokers: Mapping[int, RemoteBroker],
    targets: Mapping[TopicPartition, tuple[int, ...]],
    rights: Rights,
    duration_ms: int,
    rules: UncleanRecoveryRules,
) -> tuple[PartitionReport, ...]:
    """Ask every replica of these partitions, all brokers at once, and choose.

    Args:
        brokers: those that the tool can name, by id.
        targets: the replicas of each partition, in order.
        duration_ms: how long the tool waits.

    Source: unclean-recovery KIP, "Proposed Changes".
    """
    asked: dict[int, list[TopicPartition]] = {}
    for place, replicas in targets.items():
        for broker in replicas:
            asked.setdefault(broker, []).append(place)
    rows = {
        (row.place, broker): row
        for broker, places in asked.items()
        if broker in brokers
        for row in inquire(brokers[broker], places, rights, duration_ms, rules)
    }
    return tuple(
        _finding(place, [(b, rows.get((place, b))) for b in listed], rules) for place, listed in targets.items()
    )


def _finding(
    place: TopicPartition, replies: Sequence[tuple[int, LogInfo | None]], rules: UncleanRecoveryRules
) -> PartitionReport:
    position = best([_answer(row) for _, row in replies], rules)
    chosen, row = (NOBODY, None) if position == NOBODY else replies[int(position)]
    return PartitionReport(place, tuple(replies), chosen, None if row is None else row.broker_epoch)


def _answer(row: LogInfo | None) -> ReplicaReport:
    if row is None:
        return SILENT
    log = row.log or ReplicaLog(-1, -1, -1)
    return ReplicaReport(
        True, row.error != NO_ERROR, log.current, log.written, log.length, incarnation=row.broker_epoch
    )
