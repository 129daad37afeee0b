"""Promises of the broker-id KIP: an id stays with its data, and comes back when the data are lost."""

from __future__ import annotations

from itertools import combinations

from kraftcheck.model.language.system import Conjuncts, Property, Setting, Step
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import all_of, any_of, implies, negate, pick
from kraftcheck.model.systems.broker_ids.state import (
    BY_ELIMINATION,
    BY_HOSTNAME,
    CHOSEN,
    EXPLICIT,
    FAILED,
    FRESH,
    NONE,
    BrokerIds,
)
from kraftcheck.model.systems.broker_ids.system import actions
from kraftcheck.properties.kinds import always, happens, recovers, sometimes, step

WAY = ("start", "decide", "read_used_ids", "list_ids", "register", "record", "expire", "list_registered", "note")
"""What happens by itself while a supervisor starts brokers again: nothing fails."""

FEW_READS = 10
"""ZooKeeper reads that one step of a start may take, however many topics there are."""


def properties(setting: Setting) -> list[Property]:
    """The promises, and what must be seen for them to mean something."""
    claims = [
        always("ids-unique", "no two live brokers have the same id", _unique, "broker-id KIP",
               ("registration-overwrites",),
               rules=("broker-id.registered-once",)),
        step("live-id-not-taken", "nobody registers an id whose broker is live", _not_taken, "broker-id KIP",
             ("registration-overwrites",),
             rules=("broker-id.registered-once",)),
        step("id-stays-with-its-disk", "a broker finds an id only if no other machine has its data", _stays,
             "broker-id KIP, corner cases", ("identity-by-elimination", "identity-by-hostname"),
             rules=("broker-id.by-elimination", "broker-id.by-hostname")),
        step("restart-gets-its-id", "no broker with its id on its disk finds it taken by another machine", _returns,
             "broker-id KIP, corner cases", ("identity-by-elimination",),
             rules=("broker-id.by-elimination",)),
        step("lost-disk-gets-its-id", "a broker that lost its disk comes back with the id that it had", _recovers,
             "broker-id KIP, corner cases", ("fresh-ids-drawn",),
             rules=("broker-id.fresh-from-sequence",)),
        step("inconsistent-ids-stop", "a broker whose configuration and disk differ stops with an error", _consistent,
             "broker-id KIP", ("configured-id-wins",),
             rules=("broker-id.disk-and-configuration-agree",)),
        step("search-reads-few", f"no step of a start reads more than {FEW_READS} ZooKeeper nodes",
             lambda t: t.event.reads <= FEW_READS, "broker-id KIP, rejected alternatives",
             ("search-reads-every-topic",),
             rules=("broker-id.missing-ids-are-nodes",)),
        step("disk-keeps-its-id", "a broker with an id on its disk registers no other", _keeps,
             "broker-id KIP, rejected alternatives", ("zookeeper-before-disk",),
             rules=("broker-id.disk-before-zookeeper",)),
    ]  # fmt: skip
    unsaid = _of_nothing(setting)
    return [*(claim for claim in claims if claim.id not in unsaid), *_of_search(setting), *_goals(setting)]


def _of_nothing(setting: Setting) -> set[str]:
    """Promises about ids that are found, or configured, where no rule finds or configures one."""
    rules, found = setting.rules.broker_ids, {"id-stays-with-its-disk", "lost-disk-gets-its-id"}
    if setting["configured"]:
        return {*found, "disk-keeps-its-id"}
    finds = rules.fresh_ids_drawn or rules.identity_by_hostname or rules.identity_by_elimination
    return {"inconsistent-ids-stop", *(() if finds else found)}


def _of_search(setting: Setting) -> list[Property]:
    """Promises of steps a) and b), where these are taken."""
    claims = []
    if setting.rules.broker_ids.identity_by_hostname:
        claims.append(
            always("live-host-recorded", "the hostname of a live broker leads to its id, once recorded", _recorded,
                   "broker-id KIP, garbage collection", ("sweep-trusts-first-read",
                                                          "garbage-deleted-unseen"),
                   rules=("broker-id.sweep-is-conditional", "broker-id.garbage-is-as-it-was-read"))
        )  # fmt: skip
    if setting.rules.broker_ids.identity_by_elimination and not setting["configured"]:
        claims += [
            step("no-fresh-id-beside-a-missing-one", "no new id is drawn where exactly one is missing", _not_fresh,
                 "broker-id KIP, step b.1", ("fresh-unless-ambiguous", "missing-ids-noted-late"),
                 rules=("broker-id.no-fresh-one-beside-a-missing-one", "broker-id.missing-ids-noted-at-once")),
            step("ambiguity-stops", "a broker that finds several missing ids stops with an error", _ambiguous,
                 "broker-id KIP, step b.2", ("ambiguous-takes-first", "missing-ids-noted-late"),
                 rules=("broker-id.several-missing-is-an-error", "broker-id.missing-ids-noted-at-once")),
        ]  # fmt: skip
        known = {action.name for action in actions(setting)}
        claims.append(
            recovers("last-broker-starts", "beside live brokers the one that lost its disk comes to start",
                     lambda s: all_of(*(m.is_live() for m in s.machines)), "broker-id KIP, step b.2",
                     ("failed-start-is-final",), rules=("broker-id.failed-start-is-repeated",), when=one_left,
                     by={name: {} for name in WAY if name in known})
        )  # fmt: skip
    return claims


def one_left(s: BrokerIds) -> Truth:
    """All brokers but one are live and registered, and that one is down, has no id on its disk and may have its own."""
    rows: list[Truth] = []
    for n, m in enumerate(s.machines):
        others = [all_of(o.is_live(), negate(s.zombie(k))) for k, o in enumerate(s.machines) if k != n]
        rows.append(all_of(m.is_down(), m.meta == NONE, m.before >= 0, s.used.has(m.before),
                           s.missing().same(s.used.just(m.before)), *others))  # fmt: skip
    return any_of(*rows)


def _keeps(t: Step) -> Truth:
    """Not judged where an id is configured: that other ids stop such a broker is another promise."""
    if t.action != "register":
        return True
    m = t.before.machine(t.arguments["machine"])
    return implies(all_of(_registers(t), m.meta >= 0, m.configured == NONE), m.id == m.meta)


def _goals(setting: Setting) -> list[Property]:
    rules, goals = setting.rules.broker_ids, []
    if not rules.zookeeper_before_disk:
        goals.append(happens("shows-restart", "a broker registers with the id on its disk",
                             lambda t: _registers(t, EXPLICIT)))  # fmt: skip
    if setting["stops"]:
        goals.append(happens("shows-stop", "a live broker stops", _stops))
    if setting["configured"]:
        return [*goals, sometimes("shows-refusal", "a broker stops with an error",
                          lambda s: any_of(*(m.status == FAILED for m in s.machines)))]  # fmt: skip
    if rules.identity_by_hostname:
        goals.append(happens("shows-hostname", "a broker registers the id of its hostname",
                             lambda t: _registers(t, BY_HOSTNAME)))  # fmt: skip
    if rules.identity_by_elimination and (setting["running"] < setting["machines"] or setting["renames"]):
        goals.append(happens("shows-elimination", "a broker registers the only missing id",
                             lambda t: _registers(t, BY_ELIMINATION)))  # fmt: skip
    if setting["rewrites"] and rules.identity_by_hostname:
        goals.append(happens("shows-tool", "a replacement registers the id that a tool wrote for its hostname",
                             lambda t: all_of(_registers(t, BY_HOSTNAME), t.before.left.rewrites < setting["rewrites"])
                             if t.action == "register" else False))  # fmt: skip
    if rules.fresh_ids_drawn and setting["running"] < setting["machines"]:
        goals.append(happens("shows-fresh", "a broker registers a new id",
                             lambda t: _registers(t, FRESH)))  # fmt: skip
    return goals


def _stops(t: Step) -> Truth:
    return t.action == "stop" and t.before.machine(t.arguments["machine"]).is_live()


def _registers(t: Step, source: int | None = None) -> Truth:
    """A register step that succeeds, with an id from this source."""
    if t.action != "register":
        return False
    number = t.arguments["machine"]
    wanted = True if source is None else t.before.machine(number).source == source
    return all_of(t.after.machine(number).is_live(), wanted)


def _unique(s: BrokerIds) -> Conjuncts:
    return {
        f"machines {i} and {j}": negate(all_of(a.is_live(), b.is_live(), a.id == b.id))
        for (i, a), (j, b) in combinations(enumerate(s.machines), 2)
    }


def _not_taken(t: Step) -> Conjuncts:
    if t.action != "register":
        return {"no registration": True}
    mine = t.before.machine(t.arguments["machine"]).id
    return {
        f"machine {n}": implies(
            _registers(t), negate(all_of(negate(t.arguments["machine"] == n), m.is_live(), m.id == mine))
        )
        for n, m in enumerate(t.before.machines)
    }


def _stays(t: Step) -> Truth:
    if t.action != "register":
        return True
    m = t.before.machine(t.arguments["machine"])
    home = pick(t.before.homes, m.id, NONE)
    free = any_of(home == NONE, home == t.arguments["machine"])
    return implies(all_of(_registers(t), negate(m.source == EXPLICIT)), free)


def _returns(t: Step) -> Truth:
    """Not judged where the other machine has the same id in its configuration."""
    if t.action != "register":
        return True
    m = t.before.machine(t.arguments["machine"])
    owner = pick(t.before.sessions, m.id, NONE)
    stolen = all_of(
        owner >= 0, negate(owner == t.arguments["machine"]), negate(t.before.machine(owner).configured == m.id)
    )
    return negate(all_of(m.source == EXPLICIT, m.meta == m.id, stolen))


def _recovers(t: Step) -> Truth:
    """Not judged where an id is configured, or another machine has taken the old one over, data and all."""
    if t.action != "register":
        return True
    m = t.before.machine(t.arguments["machine"])
    forsaken = all_of(m.configured == NONE, m.meta == NONE, m.before >= 0, pick(t.before.homes, m.before, NONE) == NONE)
    return implies(all_of(_registers(t), forsaken), m.id == m.before)


def _not_fresh(t: Step) -> Truth:
    if t.action not in ("decide", "read_used_ids", "list_ids", "register"):
        return True
    return negate(all_of(t.event.drew, t.before.missing().size() == 1))


def _ambiguous(t: Step) -> Truth:
    if t.action not in ("read_used_ids", "list_ids"):
        return True
    after = t.after.machine(t.arguments["machine"])
    return implies(
        t.before.missing().size() > 1, negate(all_of(after.status == CHOSEN, after.source == BY_ELIMINATION))
    )


def _consistent(t: Step) -> Truth:
    if t.action != "decide":
        return True
    m = t.before.machine(t.arguments["machine"])
    differ = all_of(m.configured >= 0, m.meta >= 0, negate(m.configured == m.meta))
    return implies(differ, t.after.machine(t.arguments["machine"]).status == FAILED)


def _recorded(s: BrokerIds) -> Conjuncts:
    return {
        f"machine {n}": implies(all_of(m.is_live(), m.recorded), pick(s.hosts, m.name, NONE) == m.id)
        for n, m in enumerate(s.machines)
    }
