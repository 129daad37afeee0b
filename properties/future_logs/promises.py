"""What is promised of a replica that moves between directories: its move can end, and it stays what it was."""

from __future__ import annotations

from kraftcheck.model.language.system import Fairness, Property, Setting, Step
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import all_of, choose, implies, negate
from kraftcheck.model.systems.future_logs.system import FAILED, FETCHING, FUTURE_LOGS, NONE, FutureLogs
from kraftcheck.properties.kinds import always, fair_system, happens, leads_to, recovers, sometimes, step, weak_fairness

_STUCK = ("move-keeps-leader-epoch", "move-resumes-at-watermark")
_PROMOTIONS = ("promote", "advance_while_promoting", "begin_epoch_while_promoting")
_ENDLESS = (*_STUCK, "stale-future-log-resumed")
_FETCHES = ("future-log.fetcher-follows-epochs", "future-log.fetched-from-its-end")


def properties(setting: Setting) -> list[Property]:
    """Every property of the system."""
    claims = [
        always("fetcher-goes-on", "the fetcher of a future log meets no error",
               lambda s: negate(all_of(s.moving, s.fetcher == FAILED)), "KAFKA-9654; KAFKA-9087", _STUCK,
               rules=_FETCHES),
        always("fetcher-has-its-log", "a fetcher has a future log", lambda s: implies(s.fetcher == FETCHING, s.moving),
               "KAFKA-9750", ("fetcher-outlives-future-log",), rules=("future-log.fetched-while-it-is-there",)),
        always("watermark-is-kept", "the log has each watermark that the broker has taken for its own, and its records",
               lambda s: all_of(s.told <= s.watermark, s.watermark <= s.log.end()), "KAFKA-9263",
               ("watermark-of-replaced-log",), rules=("future-log.watermark-of-the-log-that-serves",)),
        step("promoted-log-is-the-same", "a log that replaces another has the records of that one", _same,
             "KIP-113; KIP-101", ("future-log-uncut",), rules=("future-log.cut-where-logs-part",)),
        always("cleaning-goes-on", "cleaning is paused once while a log moves, and not at all otherwise",
               lambda s: all_of(implies(s.moving, s.paused == 1), implies(negate(s.moving), s.paused == 0)),
               "KAFKA-19458; KAFKA-15082; KAFKA-16709",
               ("second-move-pauses-again", "cancelled-move-stays-paused", "epoch-pauses-again"),
               rules=("future-log.pauses-cleaning-once",)),
        recovers("move-can-end", "a move can end by the fetcher alone", lambda s: negate(s.moving),
                 "invariant 47; KAFKA-9654; KAFKA-9087", _ENDLESS, rules=(*_FETCHES, "future-log.stale-is-not-resumed"),
                 by={"copy": {}, "promote": {}}),
        happens("shows-promotion", "a log with a record is replaced",
                lambda t: t.before.log.end() > 0 if t.action == "promote" else False),
        happens("shows-cut", "a new leader epoch takes a record from a future log",
                lambda t: t.after.future.end() < t.before.future.end() if t.action == "begin_epoch" else False),
        sometimes("shows-behind", "a future log lacks a record that is committed",
                  lambda s: all_of(s.moving, s.future.end() < s.watermark)),
    ]  # fmt: skip
    if setting["failures"]:
        claims.append(
            always("future-log-is-elsewhere", "a future log is in another directory than the replica's log",
                   lambda s: negate(s.beside), "KAFKA-16082", ("stale-future-log-resumed",),
                   rules=("future-log.stale-is-not-resumed",)))  # fmt: skip
    return claims


def _same(t: Step) -> Truth:
    if t.action not in _PROMOTIONS:
        return True
    pairs = zip(t.before.log.entries, t.after.log.entries, strict=True)
    return all_of(*(old == new for old, new in pairs))


def lemmas(setting: Setting) -> tuple[Property, ...]:
    """The lemmas that make the promises inductive under the right rules."""
    return (
        always("lemma-future-log-is-a-part", "a future log has the first records of the replica's, in order",
               lambda s: {"records": s.future.agrees(s.log, s.future.end()),
                          "no more": s.future.end() <= choose(s.moving, s.log.end(), 0),
                          "order": all_of(s.log.in_order(True), s.future.in_order(True))}),
        always("lemma-fetcher-is-current", "a fetcher fetches at the end of the future log, by the leader epoch",
               lambda s: all_of(implies(s.moving, _current(s)), implies(negate(s.moving), s.fetcher == NONE))),
        always("lemma-records-are-of-their-epochs", "no record is of a later leader epoch than the replica",
               lambda s: s.log.last() <= s.epoch + 1),
    )  # fmt: skip


def _current(s: FutureLogs) -> Truth:
    return all_of(s.fetcher == FETCHING, s.offset == s.future.end(), s.known == s.epoch)


def liveness(setting: Setting) -> list[Property]:
    """The liveness properties."""
    return [
        leads_to("move-ends", "a move ends, or is taken back", lambda s: s.moving, lambda s: negate(s.moving),
                 "invariant 47; KAFKA-9654; KAFKA-9087", _STUCK, rules=_FETCHES),
    ]  # fmt: skip


def fairness(setting: Setting) -> list[Fairness]:
    """The fetcher copies what there is, and ends the move once the logs are level."""
    return [weak_fairness("copy"), weak_fairness("promote")]


FAIR_FUTURE_LOGS = fair_system(FUTURE_LOGS, "where the fetcher goes on: does a move end?", liveness, fairness)
"""The system with fairness, and its liveness."""
