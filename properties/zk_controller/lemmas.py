"""Lemmas of `zk-controller`: what pays for each version, what the controller knows, and who has every record.

Liveness of `zk-controller`: decisions finally arrive, and partitions are led. Faults have budgets, so they end.

`FAIR_ZK_CONTROLLER` is the system with these properties alone: `explore` judges them.
"""

from __future__ import annotations

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Conjuncts, Fairness, Property, Setting
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import NO_LEADER, all_of, any_of, choose, implies, negate, none_of, word
from kraftcheck.model.systems.zk_controller.state import (
    READ,
    STARTING,
    UNREAD,
    Decision,
    Partition,
    ZkController,
    versions,
)
from kraftcheck.model.systems.zk_controller.system import ZK_CONTROLLER, actions
from kraftcheck.properties.kinds import always, fair_system, fair_to_each, leads_to
from kraftcheck.properties.zk_controller.promises import WAY, arrived, is_led, leaders_change

UNASKED = ("new-topic", "depositions", "reassignments", "deletions")
"""Bounds that the lemmas do not speak of: nothing is claimed where one of them is not 0."""


def lemmas(setting: Setting) -> tuple[Property, ...]:
    """The lemmas at a setting; each is true in every reachable state under the mended rules, and explored as such."""
    if any(setting[name] for name in UNASKED):
        return ()
    return (*_of_memory(), *_of_brokers(setting), *_of_records(), _paid(setting))


def _of_memory() -> tuple[Property, ...]:
    """What the controller knows, and when."""
    return (
        always("lemma-resting-knows-nothing", "a controller that changes no leaders has no list and has read no node",
               lambda s: any_of(s.controller.working, all_of(
                   negate(s.controller.wrote), s.controller.live.is_empty(),
                   *(d.version == UNREAD for d in s.controller.seen)))),
        always("lemma-works-when-all-are-told", "who changes leaders has read and published all decisions",
               lambda s: implies(s.controller.working, all_of(
                   s.controller.present, negate(s.controller.unread), s.controller.told_all()))),
        always("lemma-written-is-led", "once a controller has written, it knows no leader that is not in its list",
               lambda s: implies(s.controller.wrote, all_of(
                   *(s.controller.live.has(d.leader) for d in s.controller.decided)))),
        always("lemma-nobody-tells-nothing", "who is no controller, or has yet to read, has nothing to tell",
               lambda s: any_of(all_of(s.controller.present, negate(s.controller.unread)), all_of(
                   s.controller.told_all(), any_of(s.controller.present, negate(s.controller.unread))))),
        always("lemma-leaders-are-remembered", "a controller that has read the decisions knows every leader",
               lambda s: {f"partition {n}": implies(
                   all_of(s.controller.present, negate(s.controller.unread)),
                   all_of(d.leader == p.node.leader, d.version > 0))
                   for n, (d, p) in enumerate(zip(s.controller.decided, s.partitions, strict=True))}),
        always("lemma-versions-name-decisions", "what is known of the newest version is the decision in ZooKeeper",
               _versions),
        always("lemma-partitions-are-led", "a partition has a leader in its ISR, which is the last one",
               lambda s: {f"partition {n}": _led(p) for n, p in enumerate(s.partitions)}),
    )  # fmt: skip


def _versions(s: ZkController) -> Conjuncts:
    parts: dict[str, Truth] = {}
    for n, p in enumerate(s.partitions):
        known = {"read": s.controller.seen[n], "remembered": s.controller.decided[n]}
        for b, broker in enumerate(s.brokers):
            known |= {f"role of {b}": broker.replicas[n].role, f"entry of {b}": broker.replicas[n].entry}
        parts |= {f"partition {n}, {what}": _of_node(d, p.node) for what, d in known.items()}
    return parts


def _of_node(known: Decision, node: Decision) -> Truth:
    """Whether a decision is no newer than the node, the same where it is as new, and names nobody where it is none."""
    same = all_of(known.leader == node.leader, known.isr.same(node.isr))
    none = all_of(known.leader == NO_LEADER, known.isr.is_empty())
    empty = choose(known.version < 1, none, known.isr.has(known.leader))
    return all_of(known.version <= node.version, implies(known.version == node.version, same), empty)


def _led(p: Partition) -> Truth:
    return all_of(
        p.created, p.failed.is_empty(), p.node.version > 0, p.node.leader >= 0, p.node.isr.has(p.node.leader),
        p.last.same(p.node.isr), p.floor <= p.node.version,
    )  # fmt: skip


def _of_brokers(setting: Setting) -> tuple[Property, ...]:
    """Processes and their queues."""
    return (
        always("lemma-stopped-does-nothing", "a process that does not run follows nobody",
               lambda s: {f"broker {n}": any_of(b.up, all_of(*(
                   all_of(r.role.version == 0, negate(r.fetching)) for r in b.replicas)))
                   for n, b in enumerate(s.brokers)}),
        always("lemma-strangers-read-first", "a broker without a session has yet to read the decisions",
               lambda s: {f"broker {n}": any_of(b.works(), b.status == STARTING) for n, b in enumerate(s.brokers)}),
        always("lemma-running-is-registered", "without lost sessions a running broker is registered",
               lambda s: {f"broker {n}": any_of(setting["session-losses"] > 0, b.registered, negate(b.up))
                          for n, b in enumerate(s.brokers)}),
        always("lemma-readers-have-roles", "a broker that has read the decisions follows one of each partition",
               lambda s: {f"broker {n}": any_of(b.status < READ, all_of(*(r.role.version > 0 for r in b.replicas)))
                          for n, b in enumerate(s.brokers)}),
        always("lemma-leaders-hear-of-all", "the newer one of role and entry of a leader is the decision in ZooKeeper",
               lambda s: {f"broker {n}, partition {m}": implies(
                   all_of(b.works(), b.status >= READ, s.partitions[m].node.leader == n),
                   any_of(*(d.version == s.partitions[m].node.version for d in (r.role, r.entry))))
                   for n, b in enumerate(s.brokers) for m, r in enumerate(b.replicas)}),
        always("lemma-newest-names-the-leader", "the newer one of role and entry names the leader",
               lambda s: {f"broker {n}, partition {m}": implies(
                   all_of(b.works(), b.status >= READ), _newer(r.role, r.entry) == s.partitions[m].node.leader)
                   for n, b in enumerate(s.brokers) for m, r in enumerate(b.replicas)}),
    )  # fmt: skip


def _newer(role: Decision, entry: Decision) -> Word:
    return choose(entry.version > role.version, entry.leader, role.leader)


def _of_records() -> tuple[Property, ...]:
    """Why no leader that counts cuts or misses what is acknowledged."""
    return (
        always("lemma-members-lead-by-the-newest",
               "a member of the ISR that leads and is not given up has its newest version",
               lambda s: {f"broker {n}, partition {m}": implies(
                   all_of(_counts(s, n, m), p.node.isr.has(n)), b.replicas[m].role.version == p.node.version)
                   for n, b in enumerate(s.brokers) for m, p in enumerate(s.partitions)}),
        always("lemma-stale-leaders-wait", "a leader that is not given up waits for the ISR, or for who does not fetch",
               lambda s: {f"broker {n}, partition {m}": implies(_counts(s, n, m), any_of(
                   p.node.isr.within(_isr(s, n, m).plus(p.holds.just(n))), *_missing(s, n, m)))
                   for n, _ in enumerate(s.brokers) for m, p in enumerate(s.partitions)}),
        always("lemma-isr-fetches-from-the-complete", "who is in the ISR and fetches does so from a complete log",
               lambda s: {f"broker {n} from {k}, partition {m}": implies(
                   all_of(p.node.isr.has(n), s.fetches_from(n, m, k), _counts(s, k, m)), p.holds.has(k))
                   for n, _ in enumerate(s.brokers) for k, _ in enumerate(s.brokers) if k != n
                   for m, p in enumerate(s.partitions)}),
    )  # fmt: skip


def _isr(s: ZkController, broker: int, partition: int) -> BrokerSet:
    return s.brokers[broker].replicas[partition].role.isr


def _counts(s: ZkController, broker: int, partition: int) -> Truth:
    """Whether a broker acts as leader, and no election of an outsider has given it up."""
    role = s.brokers[broker].replicas[partition].role
    return all_of(s.leads(broker, partition), role.version >= s.partitions[partition].floor)


def _missing(s: ZkController, broker: int, partition: int) -> list[Truth]:
    """Truths of which one holds where somebody that a leader waits for does not fetch from it."""
    isr = _isr(s, broker, partition)
    return [all_of(isr.has(other), negate(s.fetches_from(other, partition, broker)))
            for other, _ in enumerate(s.brokers) if other != broker]  # fmt: skip


def _paid(setting: Setting) -> Property:
    """Each loss of a leader pays for two elections, and each change of the ISR for itself."""
    return always("lemma-versions-are-paid-for", "changes of the ISR and lost brokers pay for each version",
                  lambda s: {f"partition {n}": p.node.version + s.left.isr_changes + 2 * _losses_left(s) + _credit(s, p)
                             <= versions(setting) for n, p in enumerate(s.partitions)})  # fmt: skip


def _losses_left(s: ZkController) -> Word:
    return s.left.stops + s.left.session_losses + s.left.replica_failures


def _credit(s: ZkController, p: Partition) -> Word:
    """What lost brokers have paid for and is not elected yet."""
    c = s.controller
    total: Word = 0
    for n, b in enumerate(s.brokers):
        listed = all_of(c.working, c.live.has(n))
        lost, leads = none_of(b.works()), p.node.leader == n
        unlisted = word(all_of(c.working, negate(c.live.has(n)), b.registered))
        of_leader = choose(lost, 2, 0) + unlisted
        of_other = choose(all_of(lost, any_of(b.registered, listed)), 2, 0)
        total = total + choose(leads, of_leader, of_other)
    return total


def fairness(setting: Setting) -> list[Fairness]:
    """Each step of a controller that works, and of a broker that reads its queue, is finally taken.

    A broker that has ended need not start again.
    """
    return fair_to_each(actions(setting), WAY)


def properties(setting: Setting) -> list[Property]:
    """The liveness properties, of all partitions together."""

    def led(s: ZkController) -> Conjuncts:
        return is_led(s, setting.rules.zk_controller.outsiders_wait)

    claims = [
        leads_to("partition-is-finally-led", "a partition with a broker that works finally has a leader that works",
                 lambda s: all_of(s.some_broker_works(), negate(all_of(*led(s).values()))), led,
                 "early controller design, question A.3",
                 ("replica-failure-unnoticed", "watch-set-after-read"),
                 ("zk-controller.replica.failure-halts-broker", "zk-controller.broker.reading-sets-the-watch")),
    ]  # fmt: skip
    if leaders_change(setting):
        claims.append(
            leads_to("decisions-finally-arrive", "every broker that works finally follows the leader that ZooKeeper "
                     "names", lambda s: negate(all_of(*arrived(s).values())), arrived,
                     "early controller design, D and question A.2",
                     ("failover-skips-republishing+decisions-one-by-one", "down-brokers-not-told",
                      "subscription-ignores-backlog", "watch-set-after-read"),
                     ("zk-controller.failover.publishes-again", "zk-controller.decision.every-replica-is-told",
                      "zk-controller.backlog-read", "zk-controller.broker.reading-sets-the-watch"))
        )  # fmt: skip
    return claims


FAIR_ZK_CONTROLLER = fair_system(
    ZK_CONTROLLER, "where what was begun is finished: which decisions finally arrive", properties, fairness
)
"""The system with its liveness."""
