"""The tool's choice of a leader, its test of recovery and its exit status; on words."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, negate, rule
from kraftcheck.model.rules.groups import UncleanRecoveryRules

NOBODY = -1
"""The choice where no replica can be chosen."""


@frozen
class Answer:
    """What the tool knows of one replica.

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


SILENT = Answer(False, False, -1, -1, -1)
"""No answer."""


@rule("recovery.errors-are-no-candidates", source="unclean-recovery KIP, GetReplicaLogInfo",
      switches=("recovery-counts-errors",), says="A replica that answers with an error is no candidate.")  # fmt: skip
def is_candidate(answer: Answer, rules: UncleanRecoveryRules) -> Truth:
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
def exceeds(a: Answer, b: Answer, rules: UncleanRecoveryRules) -> Truth:
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


def best(answers: Sequence[Answer], rules: UncleanRecoveryRules) -> Word:
    """The position of the chosen replica, NOBODY where there is no candidate.

    Args:
        answers: of the replicas in their order.
        rules: the rule set.
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
        rules: the rule set.

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
        rules: the rule set.

    Source: unclean-recovery KIP, "A zero exit status will be reported only if ...".
    """
    enough = [all_of(*recovered)]
    enough += [any_of(*recovered)] if rules.partial_recovery_succeeds else []
    enough += [interrupted] if rules.interrupted_recovery_succeeds else []
    return any_of(*enough)
