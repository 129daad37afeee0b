"""Lemmas of `zk-jbod`: why a failed directory is left alone, and why who is elected has every record."""

from __future__ import annotations

from collections.abc import Callable

from kraftcheck.model.language.system import Property, Setting
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import all_of, implies, negate, none_of
from kraftcheck.model.systems.zk_jbod.state import (
    CHECKPOINTS_CUT,
    CLEANING_STOPPED,
    DETECTED,
    NONE,
    REMOVED,
    Host,
    Partition,
    ZkJbod,
)
from kraftcheck.properties.kinds import always


def lemmas(setting: Setting) -> tuple[Property, ...]:
    """The lemmas at a setting; each is true in every reachable state under the mended rules, and explored as such."""
    background = _of_background() if setting["jobs"] or setting["cleaner"] else ()
    return (*_of_directories(), *background, *(() if setting["controller-failures"] else _of_replicas()))


def _of_directories() -> tuple[Property, ...]:
    """A broker that runs, and its handler."""
    return (
        _host("lemma-handled-is-empty", "a directory whose failure was handled is out of the pool, and has no log",
              lambda h: all_of(h.pool.keep(h.handled()).is_empty(), *(negate(h.handled().has(at)) for at in h.logs))),
        _host("lemma-handler-has-a-failure", "the handler is at a directory, or at one log of one that is not known",
              lambda h: implies(_busy(h), all_of(
                  h.directory >= 0, implies(h.partition >= 0, negate(h.known.has(h.directory)))))),
    )  # fmt: skip


def _of_background() -> tuple[Property, ...]:
    """Cleaner and checkpoints, where they run."""
    return (
        _host("lemma-handled-is-rested", "neither cleaner nor checkpoints are at a directory whose failure was handled",
              lambda h: all_of(h.checkpoints.keep(h.handled()).is_empty(), negate(h.handled().has(h.cleaning)))),
        _host("lemma-cleaning-is-stopped", "once the handler has stopped it, the cleaner is not at its directory",
              lambda h: implies(all_of(_busy(h), h.stage >= CLEANING_STOPPED), negate(h.cleaning == h.directory))),
        _host("lemma-checkpoints-are-cut", "once lists are cut, a directory that goes offline is not on them",
              lambda h: implies(all_of(h.stage == CHECKPOINTS_CUT, h.partition == NONE),
                                negate(h.checkpoints.has(h.directory)))),
    )  # fmt: skip


def _of_replicas() -> tuple[Property, ...]:
    """Replicas and their restarts, as long as no controller asks a second time for what is done."""
    return (
        always("lemma-leader-in-isr", "a leader is in the ISR",
               lambda s: {f"partition {n}": implies(p.leader >= 0, p.isr.has(p.leader))
                          for n, p in enumerate(s.partitions)}),
        _replica("lemma-isr-has-records", "a member of the ISR whose log works has every acknowledged record",
                 lambda s, b, n, p: implies(all_of(p.isr.has(b), s.works(b, n)), p.holds.has(b))),
        _replica("lemma-restarted-has-no-log", "who is told to start anew has no log, and is not in the ISR",
                 lambda s, b, n, p: implies(p.restarted.has(b), all_of(
                     negate(p.isr.has(b)), s.hosts[b].logs[n] == NONE))),
        _replica("lemma-asked-has-no-log", "where a restart is to be asked for, or was, there is no log yet",
                 lambda s, b, n, p: implies(negate(none_of(*_asked(s, b, n))), all_of(
                     negate(p.restarted.has(b)), s.hosts[b].logs[n] == NONE))),
        _replica("lemma-asked-once", "no restart is asked for again before it has happened",
                 lambda s, b, n, p: all_of(*(
                     negate(all_of(one, another)) for i, one in enumerate(_asked(s, b, n))
                     for another in _asked(s, b, n)[:i]))),
        always("lemma-idle-controller-knows-nothing", "a controller that does not work has read nothing",
               lambda s: {f"broker {b}": implies(negate(s.controller.working),
                                                 all_of(read.is_empty(), todo.is_empty()))
                          for b, (read, todo) in enumerate(zip(s.controller.read, s.controller.todo, strict=True))}),
    )  # fmt: skip


def _asked(s: ZkJbod, broker: int, number: int) -> tuple[Truth, Truth, Truth]:
    """Where the request to restart a replica is: at its broker, in ZooKeeper, unread, or read."""
    unread = all_of(s.node[broker].has(number), negate(s.controller.read[broker].has(number)))
    return s.hosts[broker].lost.has(number), unread, s.controller.todo[broker].has(number)


def _busy(h: Host) -> Truth:
    return all_of(h.stage >= DETECTED, h.stage < REMOVED)


def _host(id: str, sentence: str, of: Callable[[Host], Truth]) -> Property:  # noqa: A002
    """The invariant that something holds of each broker that runs."""
    return always(id, sentence, lambda s: {f"broker {n}": implies(h.up, of(h)) for n, h in enumerate(s.hosts)})


def _replica(id: str, sentence: str, of: Callable[[ZkJbod, int, int, Partition], Truth]) -> Property:  # noqa: A002
    """The invariant that something holds of each replica, by broker and partition."""
    return always(id, sentence, lambda s: {
        f"broker {b}, partition {n}": of(s, b, n, p) for b in range(len(s.hosts)) for n, p in enumerate(s.partitions)
    })  # fmt: skip
