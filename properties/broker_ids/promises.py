"""Promises of the broker-id KIP: an id stays with its data, and comes back when the data are lost.

Lemmas of `broker-ids`: why no two brokers come to have one id.

Liveness of `broker-ids`: who is started again finally has an id. Faults have budgets, so they end.

`FAIR_BROKER_IDS` is the system with these properties alone: `explore` judges them.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

from kraftcheck.model.language.system import Conjuncts, Fairness, Property, Setting, Step
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate, pick, word
from kraftcheck.model.systems.broker_ids.state import (
    BY_ELIMINATION,
    BY_HOSTNAME,
    CHOSEN,
    EXPLICIT,
    FAILED,
    FRESH,
    NONE,
    BrokerIds,
    Machine,
)
from kraftcheck.model.systems.broker_ids.system import BROKER_IDS, actions
from kraftcheck.properties.kinds import always, fair_system, fair_to_each, happens, leads_to, recovers, sometimes, step

WAY = ("start", "decide", "read_used_ids", "list_ids", "register", "record", "expire", "list_registered", "note")
"""What happens by itself while a supervisor starts brokers again: nothing fails."""

FEW_READS = 10  # ZooKeeper reads that one step of a start may take, however many topics there are


def properties(setting: Setting) -> list[Property]:
    """The promises, and the goals without which they would mean nothing."""
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
        goals.append(
            happens(
                "shows-stop",
                "a live broker stops",
                lambda t: t.action == "stop" and t.before.machine(t.arguments["machine"]).is_live(),
            )
        )
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
        goals.append(happens("shows-fresh", "a broker registers a new id", lambda t: _registers(t, FRESH)))
    return goals


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


def lemmas(setting: Setting) -> tuple[Property, ...]:
    """The lemmas at a setting; each is true in every reachable state under right rules, and explored as such."""
    rules = setting.rules.broker_ids
    static = not (rules.fresh_ids_drawn or rules.identity_by_hostname or rules.identity_by_elimination)
    return (*_of_registration(setting), *(_of_static_ids(setting) if static else ()))


def claim(id: str, sentence: str, of: Callable[[BrokerIds, int, Machine], Truth]) -> Property:  # noqa: A002
    """The invariant that something holds of each machine, by its number."""
    return always(id, sentence, lambda s: {f"machine {n}": of(s, n, m) for n, m in enumerate(s.machines)})


def _of_registration(setting: Setting) -> tuple[Property, ...]:
    """They hold however ids are found."""
    if setting["session-losses"]:
        return ()
    return (
        claim("lemma-chosen-has-id", "a broker that is about to register has an id to register",
              lambda s, n, m: implies(m.status == CHOSEN, m.id >= 0)),
        claim("lemma-live-is-registered", "as long as no session is lost, the id of a live broker is registered by it",
              lambda s, n, m: implies(m.is_live(), pick(s.sessions, m.id, NONE) == n)),
    )  # fmt: skip


def _of_static_ids(setting: Setting) -> tuple[Property, ...]:
    """They hold where an id is configured, or on disk, and never found otherwise."""
    listed = [
        claim("lemma-chosen-id-is-explicit", "a broker registers the id of its configuration, else that of its disk",
              lambda s, n, m: implies(m.status == CHOSEN, all_of(
                  m.source == EXPLICIT, m.id >= 0, m.id == choose(m.configured >= 0, m.configured, m.meta)))),
        claim("lemma-configured-id-fits", "a broker that is about to register has no other id on its disk",
              lambda s, n, m: implies(m.status == CHOSEN, any_of(m.meta == NONE, m.meta == m.id))),
        claim("lemma-all-configured-or-none", "either every broker has an id in its configuration, or none has",
              lambda s, n, m: m.configured >= 0 if setting["configured"] else m.configured == NONE),
        claim("lemma-owner-has-its-disk", "a registered id is on no other disk, unless its owner is configured with it",
              lambda s, n, m: all_of(*(
                  implies(all_of(owner >= 0, negate(owner == n), m.meta == number),
                          pick(s.machines, owner, m).configured == number)
                  for number, owner in enumerate(s.sessions)))),
    ]  # fmt: skip
    if not setting["configured"]:
        listed.append(always("lemma-disks-differ", "where no id is configured, no two disks have one id", _differ))
    if setting["session-losses"]:
        listed.append(
            claim("lemma-live-id-on-disk", "the id of a live broker is on its disk",
                  lambda s, n, m: implies(m.is_live(), all_of(m.id >= 0, m.id == m.meta)))
        )  # fmt: skip
    return tuple(listed)


def _differ(s: BrokerIds) -> Truth:
    return all_of(*(negate(all_of(a.meta >= 0, a.meta == b.meta)) for a, b in combinations(s.machines, 2)))


def fairness(setting: Setting) -> list[Fairness]:
    """A supervisor starts each broker again, a start goes on, and sessions of processes that ended end too."""
    return fair_to_each(actions(setting), WAY)


def liveness(setting: Setting) -> list[Property]:
    """The liveness properties."""
    claims = [
        leads_to("restart-ends", "a broker with its id on its disk is finally live again, or loses its disk",
                 _some_waits, lambda s: negate(_some_waits(s)), "broker-id KIP, motivation",
                 ("failed-start-is-final",), ("broker-id.failed-start-is-repeated",)),
    ]  # fmt: skip
    if setting.rules.broker_ids.identity_by_elimination and not setting["configured"]:
        claims.append(
            leads_to("last-broker-lives", "beside live brokers the one that lost its disk finally starts, unless "
                     "another stops first", one_left, _all_live_or_fewer, "broker-id KIP, step b.2",
                     ("failed-start-is-final",), ("broker-id.failed-start-is-repeated",))
        )  # fmt: skip
    return claims


def _some_waits(s: BrokerIds) -> Truth:
    return any_of(*(_waits(machine) for machine in s.machines))


def _waits(m: Machine) -> Truth:
    """It has an id on its disk, and no other in its configuration, and does not live."""
    return all_of(negate(m.is_live()), m.meta >= 0, any_of(m.configured == NONE, m.configured == m.meta))


def _all_live_or_fewer(s: BrokerIds) -> Truth:
    """All brokers live; or not even all but one live with a session."""
    live: Word = 0
    for number, machine in enumerate(s.machines):
        live = live + word(all_of(machine.is_live(), negate(s.zombie(number))))
    return any_of(live == len(s.machines), live < len(s.machines) - 1)


FAIR_BROKER_IDS = fair_system(BROKER_IDS, "where brokers are started again: who finally has an id", liveness, fairness)
"""The system with its liveness."""
