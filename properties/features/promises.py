"""What is promised of feature levels: every member supports them, an upgrade can be made, and a log names a version."""

from __future__ import annotations

from attrs import evolve, frozen

from kraftcheck.model.language.system import Conjuncts, Fairness, Property, Setting, Step
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate
from kraftcheck.model.systems.ending_faults import Condition, Healing, with_ending_faults
from kraftcheck.model.systems.features.system import (
    FEATURES,
    HIGHEST,
    LOWEST,
    NEWEST,
    NO_LEVEL,
    NO_REQUEST,
    NOBODY,
    NOT_REGISTERED,
    UNREGISTERING,
    Features,
)
from kraftcheck.properties.kinds import always, happens, leads_to, recovers, sometimes, step, weak_fairness

_ASKED = "feature.every-member-supports"


def properties(setting: Setting) -> list[Property]:
    """Every property of the system."""
    return [*_levels(setting), *_upgrades(setting), *_goals(setting)]


def _levels(setting: Setting) -> list[Property]:
    found = [
        always("voters-support-levels", "each voter is of a release that supports what is finalised", _voters,
               "KIP-584; KAFKA-20865; PR 23038",
               ("unregistered-voters-unasked", "activation-bootstraps-old-log"),
               rules=(_ASKED, "feature.activation-names-a-level")),
        step("voters-stay-registered", "the registration of a voter does not go", _stay, "KAFKA-20865; PR 23152",
             ("voters-may-be-unregistered",), rules=("feature.voters-stay-registered",)),
        step("activation-ends-in-a-version", "once a controller is active the log names a level of metadata.version, "
             "or it has begun a transaction that does",
             lambda t: any_of(t.after.level > NO_LEVEL, t.after.begun > NO_LEVEL) if t.action == "activate" else True,
             "KAFKA-20839; KIP-868", ("activation-writes-no-version", "aborted-level-counts"),
             rules=("feature.activation-names-a-level", "feature.aborted-level-is-none")),
        always("elr-has-its-level", "while ELR is on metadata.version has a level that knows it",
               lambda s: implies(s.elr, s.level >= UNREGISTERING), "KIP-966",
               ("dependency-unchecked", "downgrade-unchecked"),
               rules=("feature.elr-needs-its-level", "feature.downgrade-loses-nothing")),
    ]  # fmt: skip
    if setting["transactions"]:
        found.append(
            recovers("begun-level-can-count", "a controller that is active can make a level of metadata.version count",
                     lambda s: s.level > NO_LEVEL, "KIP-868", ("aborted-level-counts",),
                     rules=("feature.aborted-level-is-none",), when=lambda s: s.active > NOBODY,
                     by={"end_transaction": {}}))  # fmt: skip
    if setting["brokers"]:
        found += [
            always("brokers-support-levels", "each registered broker registered what supports the finalised levels",
                   _brokers, "KIP-584", ("upgrade-asks-no-broker", "registration-unchecked", "features-read-early"),
                   rules=(_ASKED, "feature.registration-is-judged-now")),
            step("supported-broker-registers", "a broker that supports what is finalised is not refused", _registers,
                 "KAFKA-18844", ("features-read-early",), rules=("feature.registration-is-judged-now",)),
        ]  # fmt: skip
    return found


def _upgrades(setting: Setting) -> list[Property]:
    ways: dict[str, dict[str, int]] = {"start": {}, "activate": {}}
    asks: dict[str, dict[str, int]] = {"activate": {}, "register_controller": {}, "raise_level": {}}
    if not setting.rules.features.controllers_stay_registered:
        ways["unregister_controller"] = asks["unregister_controller"] = {}
    return [
        recovers("departed-can-be-unregistered", "once the level has a record for it, each controller that is no voter "
                 "can be unregistered", lambda s: all_of(*(any_of(c.voter, c.registered == NOT_REGISTERED)
                                                           for c in s.controllers)),
                 "KIP-1312", ("controllers-stay-registered",), rules=("feature.voters-stay-registered",),
                 when=lambda s: s.level >= UNREGISTERING, by=ways),
        recovers("first-level-can-be-left", "at the lowest level, once the voters alone run, and they and each "
                 "registered broker support the next one, that can be finalised", lambda s: s.level > LOWEST,
                 "KAFKA-20295; KIP-1312", ("departed-controllers-asked",), rules=(_ASKED,), when=_leaves_first,
                 by=asks),
        recovers("level-can-be-raised", "once the voters alone run, and they and each registered broker are of the "
                 "newest release, the highest level can be finalised", lambda s: s.level == HIGHEST,
                 "KAFKA-20295; KIP-1312", ("departed-controllers-asked+controllers-stay-registered",),
                 rules=(_ASKED,), when=_all_newest, by=asks),
        recovers("newest-release-can-start", "at a level that the newest release supports, or with an empty log and "
                 "a bootstrap file of one, every controller can run it",
                 lambda s: all_of(*(all_of(c.up, c.release == NEWEST) for c in s.controllers)), "KAFKA-19192",
                 ("bootstrap-read-at-every-start",), rules=("feature.bootstrap-read-for-an-empty-log",),
                 when=lambda s: choose(s.empty, s.bootstrap, s.level) >= UNREGISTERING,
                 by={"stop": {}, "start": {"release": NEWEST}}),
    ]  # fmt: skip


def _goals(setting: Setting) -> list[Property]:
    goals = [
        happens("shows-highest-level", "the highest level is finalised",
                lambda t: t.action == "raise_level" and t.arguments["level"] == HIGHEST),
        happens("shows-downgrade", "a level is lowered", lambda t: t.action == "lower_level"),
        sometimes("shows-elr", "ELR is on at the highest level", lambda s: all_of(s.elr, s.level == HIGHEST)),
        sometimes("shows-departed", "a controller of the oldest release is registered, and no voter",
                  lambda s: any_of(*(all_of(negate(c.voter), c.registered == 0) for c in s.controllers))),
        happens("shows-failover", "a second controller becomes active",
                lambda t: all_of(negate(t.before.level == NO_LEVEL), t.action == "activate")),
        happens("shows-old-log", "a controller becomes active on a log that names no level",
                lambda t: all_of(negate(t.before.empty), t.before.level == NO_LEVEL, t.action == "activate")),
    ]  # fmt: skip
    if not setting.rules.features.controllers_stay_registered:
        goals.append(happens("shows-unregistered", "a controller is unregistered",
                             lambda t: t.action == "unregister_controller"))  # fmt: skip
    if setting["transactions"]:
        goals.append(
            happens("shows-abort", "a controller becomes active in the middle of a transaction",
                    lambda t: all_of(t.action == "activate", t.before.begun > NO_LEVEL)))  # fmt: skip
    if setting["brokers"]:
        goals.append(happens("shows-refusal", "the registration of a broker is refused", _refused))
    return goals


def _fits(s: Features, release: Word) -> Truth:
    """Whether a release supports what is finalised: levels up to its number + 1, the newest without the lowest."""
    newest = negate(all_of(release == NEWEST, s.level == LOWEST))
    return all_of(s.level <= release + 1, newest, implies(s.elr, negate(release == 0)))


def _voters(s: Features) -> Conjuncts:
    return {f"controller {n}": implies(node.voter, _fits(s, node.release)) for n, node in enumerate(s.controllers)}


def _brokers(s: Features) -> Conjuncts:
    return {
        f"broker {n}": any_of(node.registered == NOT_REGISTERED, _fits(s, node.registered))
        for n, node in enumerate(s.brokers)
    }


def _all_run(s: Features, release: Word) -> Truth:
    """Whether the log names a level, the voters and nobody else run this release or a newer one, and so do brokers."""
    voters = (choose(node.voter, all_of(node.up, node.release >= release), negate(node.up)) for node in s.controllers)
    brokers = (any_of(node.registered == NOT_REGISTERED, node.registered >= release) for node in s.brokers)
    return all_of(negate(s.level == NO_LEVEL), *voters, *brokers)


def _all_newest(s: Features) -> Truth:
    return _all_run(s, NEWEST)


def _leaves_first(s: Features) -> Truth:
    return all_of(s.level == LOWEST, _all_run(s, 1))


def _stay(t: Step) -> Conjuncts:
    pairs = zip(t.before.controllers, t.after.controllers, strict=True)
    return {
        f"controller {n}": implies(old.voter, any_of(old.registered == NOT_REGISTERED, new.registered > NOT_REGISTERED))
        for n, (old, new) in enumerate(pairs)
    }


def _registers(t: Step) -> Truth:
    if t.action != "register_broker":
        return True
    before, after = (s.broker(t.arguments["broker"]) for s in (t.before, t.after))
    fits = all_of(negate(t.before.level == NO_LEVEL), _fits(t.before, before.release))
    return implies(fits, after.registered == before.release)


def _refused(t: Step) -> Truth:
    if t.action != "register_broker":
        return False
    after = t.after.broker(t.arguments["broker"])
    return negate(after.registered == after.release)


def lemmas(setting: Setting) -> tuple[Property, ...]:
    """The lemmas that make the promises inductive under the right rules."""
    return (
        always("lemma-registered-is-no-newer", "no node is registered with a newer release than that of its process",
               lambda s: all_of(*(node.registered <= node.release for node in (*s.controllers, *s.brokers)))),
        always("lemma-empty-log-has-a-file", "a cluster whose log is empty has a bootstrap file, and nothing else; a "
               "transaction begins with what is in that file",
               lambda s: all_of(
                   implies(s.begun > NO_LEVEL, s.begun == s.bootstrap),
                   implies(s.empty, all_of(s.bootstrap > NO_LEVEL, s.level == NO_LEVEL, s.active == NOBODY,
                                           s.begun == NO_LEVEL, negate(s.elr))))),
        always("lemma-activity-needs-a-level", "while a controller is active, and once brokers ask to be registered, "
               "the log names a level, or is about to", _begun),
        always("lemma-log-can-be-read", "each voter, and each controller that runs, supports what the log begins with, "
               "or names", lambda s: {f"controller {n}": implies(any_of(node.up, node.voter), _reads(s, node.release))
                                      for n, node in enumerate(s.controllers)}),
    )  # fmt: skip


def _begun(s: Features) -> Truth:
    led = implies(s.active > NOBODY, any_of(s.level > NO_LEVEL, s.begun > NO_LEVEL))
    asked = (any_of(b.registered > NOT_REGISTERED, b.seen > NO_REQUEST) for b in s.brokers)
    return all_of(led, implies(s.level > NO_LEVEL, s.begun == NO_LEVEL), implies(any_of(*asked), s.level > NO_LEVEL))


def _reads(s: Features, release: Word) -> Truth:
    first = choose(any_of(s.empty, s.begun > NO_LEVEL), s.bootstrap, LOWEST)
    read = choose(s.level > NO_LEVEL, s.level, first)
    return _fits(evolve(s, level=read), release)


@frozen
class HealingFeatures(Features):
    """The state, with the mark that nothing is stopped, started or lowered any more."""

    faults_over: Truth = False


def healing(setting: Setting) -> Healing:
    """A controller becomes active and ends what it has begun, controllers register and are unregistered once they have
    left, and higher levels are asked for.
    """
    ways: dict[str, Condition | None] = {"activate": None, "register_controller": None, "raise_level": None}
    if setting["transactions"]:
        ways["end_transaction"] = None
    if not setting.rules.features.controllers_stay_registered:
        ways["unregister_controller"] = lambda state, controller: negate(state.controller(controller).voter)
    return ways


def fairness(setting: Setting) -> list[Fairness]:
    """Each of these that can happen finally does."""
    ways = healing(setting)
    of_each = ("activate", "register_controller", "unregister_controller")
    each = [weak_fairness(name, each=["controller"]) for name in of_each if name in ways]
    ended = [weak_fairness("end_transaction")] if setting["transactions"] else []
    return [*each, *ended, *(weak_fairness("raise_level", having={"level": level}) for level in (2, HIGHEST))]


def liveness(setting: Setting) -> list[Property]:
    """What finally comes about once operators only ask for higher levels, and unregister who has left."""

    def waits(s: Features) -> Truth:
        return any_of(_leaves_first(s), all_of(_all_newest(s), s.level < HIGHEST))

    return [
        leads_to("level-is-raised", "once the voters alone run, and they and each registered broker support the next "
                 "level and stay so, it is finalised, up to the highest", lambda s: all_of(s.faults_over, waits(s)),
                 lambda s: negate(waits(s)), "KAFKA-20295; KIP-1312", ("departed-controllers-asked",), rules=(_ASKED,)),
    ]  # fmt: skip


HEALING_FEATURES = evolve(
    with_ending_faults(FEATURES, HealingFeatures, healing, "operator"),
    name="healing-features",
    summary="features, where nodes may stop changing: is an upgrade finally made?",
    properties=liveness,
    fairness=fairness,
)
"""The system whose nodes may stop changing, with its liveness."""
