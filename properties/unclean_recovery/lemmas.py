"""Lemmas of `unclean-recovery`: what makes its promises inductive."""

from __future__ import annotations

from collections.abc import Callable

from kraftcheck.model.language.system import Property, Setting
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate, pick, word
from kraftcheck.model.systems.unclean_recovery.state import (
    ASKING,
    COMMITTED,
    ELECTED,
    ELECTING,
    IDLE,
    LOGS,
    OFFLINE_EPOCH,
    ONLINE,
    PENDING,
    Recovery,
    Replica,
)
from kraftcheck.model.systems.unclean_recovery.state import Recovered as Partition
from kraftcheck.model.unclean_recovery.choice import NOBODY
from kraftcheck.properties.kinds import always


def lemmas(setting: Setting) -> tuple[Property, ...]:
    """The lemmas at a setting; each is true in every reachable state under the mended rules, and explored as such."""
    return (*_of_the_tool(), *_of_logs(), *_of_answers(), *_of_bounds(setting))


def claim(id: str, sentence: str, of: Callable[[Recovery, Partition], Truth]) -> Property:  # noqa: A002
    """The invariant that something holds of each partition."""
    return always(id, sentence, lambda s: {f"partition {n}": of(s, p) for n, p in enumerate(s.partitions)})


def _at_least(a: Replica, b: Replica) -> Truth:
    """Whether a log is at least another: by the epoch of the last record, then by length."""
    return any_of(a.written > b.written, all_of(a.written == b.written, a.length >= b.length))


def _unmoved(p: Partition) -> Truth:
    """Whether the partition still waits for the tool, and had no leader since it began."""
    return all_of(p.result == PENDING, p.epoch == p.asked_at)


def _of_the_tool() -> tuple[Property, ...]:
    return (
        claim("lemma-chosen-while-electing", "before it decides, the tool has chosen nobody",
              lambda s, p: any_of(s.phase == ELECTING, all_of(p.chosen == NOBODY, p.candidates.is_empty()))),
        claim("lemma-finished-while-asking", "a broker is expected to answer no more only while the tool asks",
              lambda s, p: any_of(s.phase == ASKING, s.finished.is_empty())),
        claim("lemma-finished-has-answered", "a broker that has finished has answered for every pending partition",
              lambda s, p: all_of(*(
                  implies(all_of(s.phase == ASKING, p.result == PENDING, s.finished.has(b)), answer.given)
                  for b, answer in enumerate(p.answers)))),
        claim("lemma-recovered-was-led", "a partition that is told to be recovered had a leader then",
              lambda s, p: implies(any_of(p.result == ELECTED, p.result == ONLINE), p.led)),
    )  # fmt: skip


def _of_logs() -> tuple[Property, ...]:
    return (
        claim("lemma-epoch-bounds-logs", "no record is of a later epoch than the partition's",
              lambda s, p: all_of(*(r.written <= p.epoch for r in p.replicas))),
        claim("lemma-newest-follow", "who has records of the newest epoch has them from a leader that has them all",
              lambda s, p: all_of(*(implies(r.written == p.epoch, _follows(p, r)) for r in p.replicas))),
        claim("lemma-held-is-committed", "no replica holds more committed records than there are",
              lambda s, p: all_of(*(r.held <= p.committed for r in p.replicas))),
        claim("lemma-held-is-in-the-log", "no replica holds more committed records than its log has records",
              lambda s, p: all_of(*(r.held <= r.length for r in p.replicas))),
        claim("lemma-order-is-completeness", "of two logs the one with the later last record holds what the other does",
              lambda s, p: all_of(*(
                  implies(_at_least(a, b), a.held >= b.held) for a in p.replicas for b in p.replicas if a is not b))),
    )  # fmt: skip


def _follows(p: Partition, r: Replica) -> Truth:
    leader = pick(p.replicas, p.leader, p.replicas[0])
    return all_of(p.is_led(), leader.written == p.epoch, r.length <= leader.length)


def _of_answers() -> tuple[Property, ...]:
    return (
        claim("lemma-asked-before", "the tool began at the partition's epoch, or before",
              lambda s, p: p.asked_at <= p.epoch),
        claim("lemma-unmoved-is-offline", "a pending partition whose epoch is that of the start has no leader",
              lambda s, p: implies(all_of(_unmoved(p), negate(s.phase == IDLE)), negate(p.is_led()))),
        claim("lemma-answers-are-logs", "as long as there was no leader, answers are what logs are, or a disk is new",
              lambda s, p: all_of(*(
                  implies(all_of(s.phase == ASKING, _unmoved(p), a.given, negate(a.failed)),
                          choose(a.incarnation == now,
                                 all_of(a.written == r.written, a.length == r.length), _is_empty(r)))
                  for a, r, now in zip(p.answers, p.replicas, s.incarnations, strict=True)))),
        claim("lemma-answered-before", "nobody has answered in an incarnation that is still to come",
              lambda s, p: all_of(
                  p.chosen_in <= pick(s.incarnations, p.chosen, p.chosen_in),
                  *(a.incarnation <= now for a, now in zip(p.answers, s.incarnations, strict=True)))),
        claim("lemma-chosen-is-best", "as long as there was no leader, no candidate's log is above the chosen one's, "
              "unless the chosen one has a new disk",
              lambda s, p: all_of(*(
                  implies(all_of(s.phase == ELECTING, _unmoved(p), p.chosen != NOBODY, p.candidates.has(b),
                                 pick(s.incarnations, p.chosen, p.chosen_in) == p.chosen_in),
                          _at_least(pick(p.replicas, p.chosen, p.replicas[0]), r))
                  for b, r in enumerate(p.replicas)))),
    )  # fmt: skip


def _is_empty(r: Replica) -> Truth:
    """Whether a log has no record."""
    return all_of(r.written == 0, r.length == 0)


def _of_bounds(setting: Setting) -> tuple[Property, ...]:
    """Why no field leaves its domain: what grows is paid for from a budget."""
    longest = max(end for _, end, _ in LOGS)

    def written(s: Recovery) -> Word:
        return setting["writes"] - s.left.writes

    def failed(s: Recovery) -> Word:
        return setting["faults"] - s.left.faults

    return (
        always("lemma-disks-pay-for-incarnations", "a broker has had no more new disks than were spent",
               lambda s: all_of(*(now <= setting["replacements"] - s.left.replacements for now in s.incarnations))),
        always("lemma-running-tool-may-try", "a tool that runs may send its request once more",
               lambda s: any_of(s.phase == IDLE, s.tries > 0)),
        claim("lemma-leader-may-lead", "a leader is unfenced, in the ISR, and its directory online",
              lambda s, p: all_of(*(
                  implies(p.leader == b, all_of(s.up().has(b), p.isr.has(b), negate(r.offline)))
                  for b, r in enumerate(p.replicas)))),
        claim("lemma-leader-alone-in-isr", "nobody is in the ISR but the leader",
              lambda s, p: all_of(*(implies(p.isr.has(b), p.leader == b) for b in range(len(p.replicas))))),
        claim("lemma-faults-pay-for-epochs", "after the first election leaders come and go only with brokers that fail",
              lambda s, p: p.epoch + word(negate(p.is_led())) <= OFFLINE_EPOCH + 1 + failed(s) + failed(s)),
        claim("lemma-writes-pay-for-records", "no log is longer, and no more is committed, than what was written",
              lambda s, p: all_of(p.committed <= COMMITTED + written(s),
                                  *(r.length <= longest + written(s) for r in p.replicas))),
    )  # fmt: skip
