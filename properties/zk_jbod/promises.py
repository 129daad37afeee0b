"""Promises of the JBOD KIP on ZooKeeper: failed disks are left alone, and no partition stays without a log."""

from __future__ import annotations

from typing import Any

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Conjuncts, Property, Setting, Step
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import all_of, any_of, implies, negate
from kraftcheck.model.systems.zk_jbod.state import IDLE, NONE, READ, ZkJbod
from kraftcheck.model.systems.zk_jbod.system import actions
from kraftcheck.properties.kinds import always, happens, recovers, sometimes, step

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
        goals.append(happens("shows-one-partition", "one log goes offline, its directory does not", _single))
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


def _single(t: Step) -> Truth:
    return _removed(t, whole=False)


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
