"""Promises of the JBOD KIP on ZooKeeper: failed disks are left alone, and no partition stays without a log.

Lemmas of `zk-jbod`: why a failed directory is left alone, and why who is elected has every record.

Liveness of `zk-jbod`: lost replicas are finally replicated again. Faults have budgets, so they end.

`FAIR_ZK_JBOD` is the system with these properties alone: `explore` judges them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Conjuncts, Fairness, Property, Setting, Step
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import all_of, any_of, implies, negate, none_of
from kraftcheck.model.systems.zk_jbod.state import (
    CHECKPOINTS_CUT,
    CLEANING_STOPPED,
    DETECTED,
    IDLE,
    NONE,
    READ,
    REMOVED,
    Host,
    Partition,
    ZkJbod,
)
from kraftcheck.model.systems.zk_jbod.system import ZK_JBOD, actions
from kraftcheck.properties.kinds import (
    always,
    fair_system,
    fair_to_each,
    happens,
    leads_to,
    recovers,
    sometimes,
    step,
    weak_fairness,
)

WAY = (
    "fail_operation", "stop_cleaning", "cut_checkpoints", "remove_logs", "recreate", "read_node", "write_node",
    "enqueue", "read_requests", "restart", "remove_requests", "elect", "rejoin", "drop_broker", "end_reassignment",
)  # fmt: skip
"""What happens by itself: nothing fails that has not failed, nobody begins a reassignment."""

_KIP = "JBOD KIP on ZooKeeper"


def properties(setting: Setting) -> list[Property]:
    """The promises, and what must be seen for them to mean something."""
    claims = [
        step("failed-directory-left-alone", "nothing is written to a failed directory once a failure was handled",
             _left_alone, f"{_KIP}, 2.1", ("jobs-without-lock", "check-misses-failure", "cleaner-not-aborted",
                                           "checkpoints-kept"),
             rules=("zk-jbod.offline.jobs-take-the-lock", "zk-jbod.error.directory-is-checked",
                    "zk-jbod.offline.cleaning-ends", "zk-jbod.offline.no-checkpoints")),
        always("assigned-unchanged", "a restart leaves the assigned replicas as they are", _assigned,
               f"{_KIP}, selector", ("restart-drops-replica",),
               rules=("zk-jbod.restart.selector",)),
        step("new-leader-has-records", "a replica that is elected, and whose log works, has every acknowledged record",
             _complete, f"{_KIP}, selector", ("last-member-stays-in-isr", "recreated-before-restart",
                                              "repaired-disk-filled", "restart-order-outlives-return"),
             rules=("zk-jbod.restart.selector", "zk-jbod.offline.not-recreated-before-restart",
                    "zk-jbod.repair.new-disk-stays-empty", "zk-jbod.restart.order-ends-with-return")),
        step("acknowledged-is-replicated", "a record is acknowledged only when the log of every ISR member has it",
             _replicated, f"{_KIP}, motivation", ("dead-log-counts",),
             rules=("zk-jbod.commit.needs-every-log",)),
        step("broker-does-not-halt", "no disk error stops a broker", _runs_on, f"{_KIP}, motivation",
             ("disk-errors-halt",),
             rules=("zk-jbod.error.broker-lives-on",)),
        step("requests-are-kept", "no write of /restart_partitions removes a request that its writer has not read",
             _kept, f"{_KIP}, open question 3", ("restart-node-shared",),
             rules=("zk-jbod.restart.each-request-has-its-node",)),
        recovers("lost-partition-settles", "a partition comes to have a leader with a log, or is offline for good",
                 settles, f"{_KIP}, 3",
                 ("restart-node-shared", "filtered-requests-removed", "requests-removed-first"),
                 rules=("zk-jbod.restart.each-request-has-its-node",
                        "zk-jbod.restart.filtered-requests-stay", "zk-jbod.restart.requests-removed-last"),
                 by=_way(setting)),
        recovers("reads-find-failures", "reads alone are enough to find a failed log",
                 settles, f"{_KIP}, open question 2", ("read-errors-unattributed",),
                 rules=("zk-jbod.error.reads-are-attributed",), when=_not_lost,
                 by=_way(setting, kind=READ)),
    ]  # fmt: skip
    return [*claims, *_of_budgets(setting), *_goals(setting)]


def _of_budgets(setting: Setting) -> list[Property]:
    """Promises about what some bound has to allow for."""
    claims = []
    if setting["directories"] > 1:
        claims.append(
            recovers("lost-replica-returns", "a broker with a directory left replicates again what has a leader",
                     replicates, f"{_KIP}, Partitions Restart", ("restart-drops-replica", "restart-node-shared"),
                     rules=("zk-jbod.restart.selector", "zk-jbod.restart.each-request-has-its-node"), by=_way(setting))
        )  # fmt: skip
    if setting["stops"]:
        claims.append(
            step("restart-seats-live-leader", "whoever a restart makes leader runs", _seated, f"{_KIP}, selector",
                 ("selector-seats-dead-head",), rules=("zk-jbod.restart.selector",))
        )  # fmt: skip
    if setting["reassignments"]:
        claims.append(
            step("reassigned-is-not-restarted", "no partition is restarted while it is being reassigned", _left_out,
                 f"{_KIP}, Partitions Restart", ("controller-works-without-lock",),
                 rules=("zk-jbod.restart.in-lock",))
        )  # fmt: skip
    if setting["glitches"]:
        claims.append(
            step("transient-errors-cost-nothing", "an operation that would succeed the next time restarts nothing",
                 _costs_nothing, f"{_KIP}, open question 4", ("failed-operation-not-retried",),
                 rules=("zk-jbod.error.operation-is-retried",))
        )  # fmt: skip
    return claims


def _way(setting: Setting, **wanted: int) -> dict[str, dict[str, Any]]:
    """The actions of `WAY` that this setting has; operations that fail have the arguments that are wanted."""
    known = {action.name for action in actions(setting)}
    return {name: dict(wanted) if name == "fail_operation" else {} for name in WAY if name in known}


def _goals(setting: Setting) -> list[Property]:
    goals = []
    if not setting.rules.zk_jbod.disk_errors_halt:
        goals = [
            happens("shows-directory-offline", "a directory is put offline, and a replica with it", _whole),
            happens("shows-restart", "another replica leads after a restart", _moved),
        ]
    if setting["directories"] > 1 and goals:
        goals.append(happens("shows-return", "a lost replica starts anew and joins the ISR",
                             lambda t: t.action == "rejoin"))  # fmt: skip
    if setting["repairs"]:
        goals.append(happens("shows-repair", "a replica is made anew after a disk was replaced",
                             lambda t: all_of(t.action == "recreate",
                                              t.before.left.repairs < setting["repairs"])))  # fmt: skip
    if setting["log-failures"] and goals:
        goals.append(
            happens(
                "shows-one-partition",
                "one log goes offline, its directory does not",
                lambda t: _removed(t, whole=False),
            )
        )
    if setting["disk-failures"] > 1:
        goals.append(sometimes("shows-offline", "a partition has no leader",
                               lambda s: any_of(*(p.leader == NONE for p in s.partitions))))  # fmt: skip
    return goals


def _left_alone(t: Step) -> Conjuncts:
    return {
        f"broker {b}": implies(t.event.broker == b, t.event.wrote.keep(host.handled()).is_empty())
        for b, host in enumerate(t.before.hosts)
    }


def _assigned(s: ZkJbod) -> Conjuncts:
    everyone = BrokerSet.of(range(len(s.hosts)))
    return {f"partition {n}": p.assigned.same(everyone) for n, p in enumerate(s.partitions)}


def _complete(t: Step) -> Conjuncts:
    parts: dict[str, Truth] = {}
    for n, (old, new) in enumerate(zip(t.before.partitions, t.after.partitions, strict=True)):
        elected = all_of(negate(old.leader == new.leader), new.leader >= 0, t.after.works(new.leader, n))
        parts[f"partition {n}"] = implies(elected, new.holds.has(new.leader))
    return parts


def _replicated(t: Step) -> Conjuncts:
    if t.action != "commit":
        return {"nothing is acknowledged": True}
    return {
        f"partition {n}": implies(t.arguments["partition"] == n, p.isr.within(p.holds))
        for n, p in enumerate(t.after.partitions)
    }


def _kept(t: Step) -> Conjuncts:
    """The controller removes what it has read; brokers remove nothing."""
    read = t.before.controller.read if t.action == "remove_requests" else t.after.controller.read
    allowed = read if t.action in ("read_requests", "remove_requests") else (BrokerSet(),) * len(t.before.node)
    return {
        f"broker {b}": old.minus(new).within(done)
        for b, (old, new, done) in enumerate(zip(t.before.node, t.after.node, allowed, strict=True))
    }


def _left_out(t: Step) -> Conjuncts:
    if t.action != "restart":
        return {"nothing is restarted": True}
    return {
        f"partition {n}": implies(t.arguments["partition"] == n, negate(p.busy))
        for n, p in enumerate(t.before.partitions)
    }


def _seated(t: Step) -> Conjuncts:
    if t.action != "restart":
        return {"nothing is restarted": True}
    return {
        f"partition {n}": any_of(old.leader == new.leader, new.leader == NONE, t.after.host(new.leader).up)
        for n, (old, new) in enumerate(zip(t.before.partitions, t.after.partitions, strict=True))
    }


def _runs_on(t: Step) -> Conjuncts:
    if t.action not in ("fail_operation", "glitch"):
        return {"nothing fails": True}
    return {
        f"broker {b}": implies(old.up, new.up)
        for b, (old, new) in enumerate(zip(t.before.hosts, t.after.hosts, strict=True))
    }


def _costs_nothing(t: Step) -> Conjuncts:
    if t.action != "glitch":
        return {"nothing fails once": True}
    return {f"broker {b}": implies(t.arguments["broker"] == b, h.stage == IDLE) for b, h in enumerate(t.after.hosts)}


def settles(s: ZkJbod) -> Conjuncts:
    """Each partition has a leader whose log works, or is offline and no member of its ISR has such a log."""
    parts: dict[str, Truth] = {}
    for n, p in enumerate(s.partitions):
        able = [all_of(p.isr.has(b), s.works(b, n)) for b in range(len(s.hosts))]
        led = all_of(p.leader >= 0, s.works(p.leader, n))
        parts[f"partition {n}"] = any_of(led, all_of(p.leader == NONE, negate(any_of(*able))))
    return parts


def replicates(s: ZkJbod) -> Conjuncts:
    """Judged of each replica whose broker runs and has a directory left, while a leader has a log that works."""
    parts: dict[str, Truth] = {}
    for n, p in enumerate(s.partitions):
        led = all_of(p.leader >= 0, s.works(p.leader, n))
        for b, host in enumerate(s.hosts):
            left = negate(host.pool.minus(host.broken).is_empty())
            parts[f"broker {b}, partition {n}"] = implies(all_of(led, host.up, left),
                                                         all_of(p.isr.has(b), s.works(b, n)))  # fmt: skip
    return parts


def _not_lost(s: ZkJbod) -> Truth:
    """Failures that nobody has handled yet: every handler rests, and no request is on its way."""
    resting = [h.stage == IDLE for h in s.hosts] + [asked.is_empty() for asked in s.node]
    logs = [any_of(negate(h.up), h.log(n) >= 0) for h in s.hosts for n in range(len(s.partitions))]
    return all_of(*resting, *logs, negate(s.controller.working), *(negate(p.busy) for p in s.partitions))


def _whole(t: Step) -> Truth:
    if t.action != "remove_logs":
        return False
    broker = t.arguments["broker"]
    old, new = t.before.host(broker), t.after.host(broker)
    lost = [all_of(old.log(n) >= 0, new.log(n) < 0, negate(p.holds.has(broker)))
            for n, p in enumerate(t.after.partitions)]  # fmt: skip
    return all_of(_removed(t, whole=True), negate(new.handled().is_empty()), any_of(*lost))


def _removed(t: Step, whole: bool) -> Truth:
    if t.action != "remove_logs":
        return False
    alone = negate(t.before.host(t.arguments["broker"]).partition == NONE)
    return negate(alone) if whole else alone


def _moved(t: Step) -> Truth:
    if t.action != "restart":
        return False
    old, new = (s.partition(t.arguments["partition"]).leader for s in (t.before, t.after))
    return all_of(old >= 0, new >= 0, negate(old == new))


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


FAILING = "fail_operation"  # some operation on a log that does not work meets the failure, whichever it is


def fairness(setting: Setting) -> list[Fairness]:
    """Failures are met by some operation and handled, the controller restarts what was asked for, followers fetch."""
    rest = fair_to_each(actions(setting), [name for name in WAY if name != FAILING])
    return [*rest, weak_fairness(FAILING, each=["broker", "partition"])]


def liveness(setting: Setting) -> list[Property]:
    """The liveness properties, of all partitions together."""
    claims = [
        leads_to("lost-partition-finally-settles",
                 "a partition finally has a leader with a log, or is offline for good",
                 lambda s: negate(all_of(*settles(s).values())), settles, "JBOD KIP on ZooKeeper, 3",
                 ("restart-node-shared", "requests-removed-first", "filtered-requests-removed"),
                 ("zk-jbod.restart.each-request-has-its-node", "zk-jbod.restart.requests-removed-last",
                  "zk-jbod.restart.filtered-requests-stay")),
    ]  # fmt: skip
    if setting["directories"] > 1:
        claims.append(
            leads_to("lost-replica-finally-returns", "a broker with a directory left finally replicates again what has "
                     "a leader", lambda s: negate(all_of(*replicates(s).values())), replicates,
                     "JBOD KIP on ZooKeeper, Partitions Restart", ("restart-drops-replica", "restart-node-shared"),
                     ("zk-jbod.restart.selector", "zk-jbod.restart.each-request-has-its-node"))
        )  # fmt: skip
    return claims


FAIR_ZK_JBOD = fair_system(
    ZK_JBOD, "where failures are met and handled: which replicas finally return", liveness, fairness
)
"""The system with its liveness."""
