"""The `features` system: state, actions, scopes and bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import evolve, frozen

from kraftcheck.model.language.layout import ints, truth
from kraftcheck.model.language.system import (
    Action,
    Bound,
    Conjuncts,
    Legend,
    Setting,
    System,
    event,
    events,
    numbered,
    sent,
)
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate, pick, rule
from kraftcheck.model.rules.groups import FeatureRules
from kraftcheck.model.systems.parts import OfSetting

NOT_REGISTERED = -1  # the registration of a node that has none
NOBODY = -1  # the active controller, where none is
NO_LEVEL = 0  # the level of a log that names none, and of a bootstrap file that there is not
NO_REQUEST = -1  # the level that was read for a registration, where no request waits

LOWEST, UNREGISTERING = 1, 2
"""The lowest level, and the first with which controllers can be unregistered, and ELR switched on."""

RELEASES = ((1, 1), (1, 2), (2, 3))  # the levels that each release supports, from and to, the oldest first
NEWEST, HIGHEST = len(RELEASES) - 1, 3  # the newest release, and the highest level


@frozen
class Controller:
    """A controller."""

    up: Truth  # whether its process runs
    release: Word  # the release of its process, or of the one that ran last
    voter: Truth  # whether it is a voter of the quorum
    registered: Word  # the release that it registered, or NOT_REGISTERED


@frozen
class Broker:
    """A broker."""

    release: Word  # the release of its process
    registered: Word  # the release that it registered, or NOT_REGISTERED
    seen: Word  # the level that was finalised when its request for a registration arrived, or NO_REQUEST


@frozen
class Features:
    """The whole state."""

    # controllers, brokers: the nodes
    controllers: tuple[Controller, ...]
    brokers: tuple[Broker, ...]
    active: Word  # the active controller, or NOBODY
    empty: Truth  # whether the log has no record yet
    level: Word  # the level of `metadata.version` that the log names last, or NO_LEVEL
    elr: Truth  # whether the feature of eligible leader replicas is finalised
    # the level of the bootstrap file, with which the cluster was formatted; NO_LEVEL: there is no file, and the highest
    # level of whoever reads it counts
    bootstrap: Word
    begun: Word = NO_LEVEL  # the level in a transaction that has not ended, or NO_LEVEL

    def controller(self, number: Word) -> Controller:
        """A controller."""
        return pick(self.controllers, number, self.controllers[0])

    def with_controller(self, number: Word, node: Controller) -> Features:
        """The state with one controller replaced."""
        nodes = tuple(choose(number == n, node, old) for n, old in enumerate(self.controllers))
        return evolve(self, controllers=nodes)

    def broker(self, number: Word) -> Broker:
        """A broker."""
        return pick(self.brokers, number, self.brokers[0])

    def with_broker(self, number: Word, node: Broker) -> Features:
        """The state with one broker replaced."""
        return evolve(self, brokers=tuple(choose(number == n, node, old) for n, old in enumerate(self.brokers)))


def bounds(release: Word) -> tuple[Word, Word]:
    """The lowest and the highest level that a release supports."""
    first, last = (tuple(of[end] for of in RELEASES) for end in (0, 1))
    return pick(first, release, 0), pick(last, release, 0)


def supports(release: Word, level: Word) -> Truth:
    """Whether a release supports a level; none is any release's."""
    first, last = bounds(release)
    return any_of(level == NO_LEVEL, all_of(first <= level, level <= last))


def layout(setting: Setting) -> Features:
    """The domain of each field."""
    count, release, registered = setting["controllers"], ints(0, NEWEST), ints(NOT_REGISTERED, NEWEST)
    return Features(
        (Controller(truth(), release, truth(), registered),) * count,
        (Broker(release, registered, ints(NO_REQUEST, HIGHEST)),) * setting["brokers"],
        ints(NOBODY, count - 1), truth(), ints(NO_LEVEL, HIGHEST), truth(), ints(NO_LEVEL, UNREGISTERING),
        ints(NO_LEVEL, HIGHEST if setting["transactions"] else NO_LEVEL),
    )  # fmt: skip


def initial(setting: Setting) -> list[Features]:
    """A cluster that was just formatted, by one of two releases; or the log of an older one, which wrote no level."""

    def cluster(release: int, empty: bool, bootstrap: int) -> Features:
        return Features(
            (Controller(True, release, True, NOT_REGISTERED),) * setting["controllers"],
            (Broker(release, NOT_REGISTERED, NO_REQUEST),) * setting["brokers"],
            NOBODY, empty, NO_LEVEL, False, bootstrap,
        )  # fmt: skip

    return [cluster(0, True, LOWEST), cluster(0, False, NO_LEVEL), cluster(1, True, UNREGISTERING)]


Asked = Callable[[Word], Truth]  # whether a release supports what is proposed

ACTIVE, OPERATOR = "active controller", "operator"
CONTROLLER, BROKER = "controller {controller}", "broker {broker}"


def lanes(sizes: Mapping[str, int]) -> tuple[str, ...]:
    """The operator, the active controller, and each node."""
    nodes = (*numbered("controller", sizes["controllers"]), *numbered("broker", sizes["brokers"]))
    return (OPERATOR, ACTIVE, *nodes)


LEGEND = Legend(
    lanes,
    {
        **events(CONTROLLER, "start", "stop", "activate"),
        "end_transaction": event(ACTIVE),
        "register_controller": sent(CONTROLLER, ACTIVE, "ControllerRegistration"),
        "unregister_controller": sent(OPERATOR, ACTIVE, "UnregisterController"),
        "leave": sent(OPERATOR, ACTIVE, "RemoveRaftVoter"),
        "join": sent(OPERATOR, ACTIVE, "AddRaftVoter"),
        "upgrade_broker": event(BROKER),
        "ask": sent(BROKER, ACTIVE, "BrokerRegistration"),
        "register_broker": event(ACTIVE),
        "unregister_broker": sent(OPERATOR, ACTIVE, "UnregisterBroker"),
        "raise_level": sent(OPERATOR, ACTIVE, "UpdateFeatures"),
        "lower_level": sent(OPERATOR, ACTIVE, "UpdateFeatures"),
        "enable_elr": sent(OPERATOR, ACTIVE, "UpdateFeatures"),
        "disable_elr": sent(OPERATOR, ACTIVE, "UpdateFeatures"),
    },
    {"metadata.version": "level", "ELR": "elr", "active": "active"},
)

BOUNDS = (
    Bound("controllers", 2, 3, "number of controllers"),
    Bound("brokers", 0, 2, "number of brokers"),
    Bound("transactions", 0, 1, "whether what a log begins with is a transaction of two batches"),
)

SCOPES = {
    "tiny": {"controllers": 2, "brokers": 1},
    "quorum": {"controllers": 3, "brokers": 0},
    "bootstrap": {"controllers": 2, "brokers": 0, "transactions": 1},
}


@frozen
class Cluster(OfSetting[FeatureRules]):
    """The steps of one setting."""

    GROUP = "features"

    def allows(self, state: Features, release: Word) -> Truth:
        """Whether a release can replay the log; one that names no level reads as the lowest."""
        named: Word = LOWEST
        if self.rules.activation_bootstraps_old_log:
            named = NO_LEVEL
        level = choose(all_of(negate(state.empty), state.level == NO_LEVEL), named, state.level)
        if self.setting["transactions"]:
            level = choose(state.begun > NO_LEVEL, state.begun, level)
        return all_of(supports(release, level), implies(state.elr, release > 0))

    def replayed(self, state: Features) -> Features:
        """The state once running controllers have read what is finalised: those that do not support it end."""
        nodes = tuple(evolve(node, up=all_of(node.up, self.allows(state, node.release))) for node in state.controllers)
        return evolve(state, controllers=nodes)

    # Controllers.

    @rule("feature.bootstrap-read-for-an-empty-log", source="KAFKA-19192; PR 19545",
          switches=("bootstrap-read-at-every-start",),
          says="What the bootstrap file names is read where the log is empty, and nowhere else.")  # fmt: skip
    def may_start(self, state: Features, controller: Word, release: Word) -> Conjuncts:
        """A process of no older release can start: it supports what the log has, and can read its files."""
        node = state.controller(controller)
        readable = supports(release, state.bootstrap)
        if not self.rules.bootstrap_read_at_every_start:
            readable = implies(state.empty, readable)
        return {
            "no process runs": negate(node.up), "the release is no older": node.release <= release,
            "the release supports what is finalised": self.allows(state, release), "its files are read": readable,
        }  # fmt: skip

    def start(self, state: Features, controller: Word, release: Word) -> Features:
        """A process starts."""
        return state.with_controller(controller, evolve(state.controller(controller), up=True, release=release))

    def may_stop(self, state: Features, controller: Word) -> Conjuncts:
        """A process runs."""
        return {"the process runs": state.controller(controller).up}

    def stop(self, state: Features, controller: Word) -> Features:
        """A process ends, and with it its time as the active controller."""
        active = choose(state.active == controller, NOBODY, state.active)
        ended = state.with_controller(controller, evolve(state.controller(controller), up=False))
        return evolve(ended, active=active)

    @rule("feature.activation-names-a-level", source="KAFKA-20839; PR 22954; ActivationRecordsGenerator.generate",
          switches=("activation-writes-no-version", "activation-bootstraps-old-log"),
          says="A controller that becomes active on a log without metadata.version writes one: that of the bootstrap "
               "file where the log is empty, and else the lowest, which the log is read as.")  # fmt: skip
    def first_level(self, state: Features, release: Word) -> Word:
        """The level of the log once a controller has become active."""
        written: Word = LOWEST
        bootstrap = choose(state.bootstrap == NO_LEVEL, bounds(release)[1], state.bootstrap)
        if self.rules.activation_writes_no_version:
            written = NO_LEVEL
        elif self.rules.activation_bootstraps_old_log:
            written = bootstrap
        if self.rules.aborted_level_counts:
            written = choose(state.begun > NO_LEVEL, NO_LEVEL, written)
        return choose(state.level == NO_LEVEL, choose(self.begins(state), bootstrap, written), state.level)

    @rule("feature.aborted-level-is-none", source="KIP-868; ActivationRecordsGenerator.recordsForEmptyLog",
          switches=("aborted-level-counts",),
          says="A controller that becomes active in the middle of the first transaction aborts it, and begins the log "
               "anew.")  # fmt: skip
    def begins(self, state: Features) -> Truth:
        """Whether nothing of the log counts once its transaction is aborted."""
        if not self.setting["transactions"] or self.rules.aborted_level_counts:
            return state.empty
        return any_of(state.empty, state.begun > NO_LEVEL)

    def may_activate(self, state: Features, controller: Word) -> Conjuncts:
        """A running voter is elected, and supports what it has to write."""
        node = state.controller(controller)
        return {
            "none is active": state.active == NOBODY, "it runs": node.up, "it is a voter": node.voter,
            "it supports what it writes": supports(node.release, self.first_level(state, node.release)),
        }  # fmt: skip

    def activate(self, state: Features, controller: Word) -> Features:
        """A controller becomes active, and writes what the log lacks."""
        level, begun = self.first_level(state, state.controller(controller).release), state.begun
        if self.setting["transactions"]:
            first = all_of(state.level == NO_LEVEL, self.begins(state))
            level, begun = choose(first, NO_LEVEL, level), choose(first, level, NO_LEVEL)
        return self.replayed(evolve(state, active=controller, empty=False, level=level, begun=begun))

    def may_end(self, state: Features) -> Conjuncts:
        """The active controller has begun a transaction."""
        return {"one is active": state.active > NOBODY, "a transaction has begun": state.begun > NO_LEVEL}

    def end(self, state: Features) -> Features:
        """The transaction ends: what is in it counts."""
        return self.replayed(evolve(state, level=state.begun, begun=NO_LEVEL))

    def may_register_controller(self, state: Features, controller: Word) -> Conjuncts:
        """A running controller is not registered as what it is."""
        node = state.controller(controller)
        other = negate(node.registered == node.release)
        return {**self.led(state), "it runs": node.up, "its registration is another": other}

    def register_controller(self, state: Features, controller: Word) -> Features:
        """A controller is registered with the levels that its release supports; nothing of it is checked."""
        node = state.controller(controller)
        return state.with_controller(controller, evolve(node, registered=node.release))

    @rule("feature.voters-stay-registered", switches=("voters-may-be-unregistered", "controllers-stay-registered"),
          source="KIP-1312; KAFKA-20865; PR 23152; ClusterControlManager.unregisterController",
          says="A controller can be unregistered once it is no voter, where the level has the record.")  # fmt: skip
    def may_unregister_controller(self, state: Features, controller: Word) -> Conjuncts:
        """A registered controller that is not the active one is no voter any more."""
        node = state.controller(controller)
        departed = True if self.rules.voters_may_be_unregistered else negate(node.voter)
        return {
            **self.led(state), "it is registered": node.registered > NOT_REGISTERED, "it has left": departed,
            "it is not the active one": negate(state.active == controller),
            "the level has a record for it": state.level >= UNREGISTERING,
        }  # fmt: skip

    def unregister_controller(self, state: Features, controller: Word) -> Features:
        """The registration of a controller goes."""
        return state.with_controller(controller, evolve(state.controller(controller), registered=NOT_REGISTERED))

    def may_leave(self, state: Features, controller: Word) -> Conjuncts:
        """A voter that is not the active controller can be removed."""
        voter, other = state.controller(controller).voter, negate(state.active == controller)
        return {**self.led(state), "it is a voter": voter, "it is not the active one": other}

    def leave(self, state: Features, controller: Word) -> Features:
        """A controller is a voter no more."""
        return state.with_controller(controller, evolve(state.controller(controller), voter=False))

    def may_join(self, state: Features, controller: Word) -> Conjuncts:
        """A running controller that is no voter can be added."""
        node = state.controller(controller)
        return {**self.led(state), "it runs": node.up, "it is no voter": negate(node.voter)}

    def join(self, state: Features, controller: Word) -> Features:
        """A controller becomes a voter."""
        return state.with_controller(controller, evolve(state.controller(controller), voter=True))

    def led(self, state: Features) -> Conjuncts:
        """Whether some controller is active."""
        found = {"one is active": state.active > NOBODY}
        return found | {"no transaction is open": state.begun == NO_LEVEL} if self.setting["transactions"] else found

    # Brokers.

    def may_upgrade(self, state: Features, broker: Word, release: Word) -> Conjuncts:
        """A broker is stopped, and started in a newer release."""
        return {"the release is newer": state.broker(broker).release < release}

    def upgrade(self, state: Features, broker: Word, release: Word) -> Features:
        """The new process has to register."""
        return state.with_broker(broker, evolve(state.broker(broker), release=release, seen=NO_REQUEST))

    def may_ask(self, state: Features, broker: Word) -> Conjuncts:
        """A process that is not registered sends its request."""
        node = state.broker(broker)
        return {
            **self.led(state), "its registration is another": negate(node.registered == node.release),
            "no request waits": node.seen == NO_REQUEST,
        }  # fmt: skip

    def ask(self, state: Features, broker: Word) -> Features:
        """The request arrives, and waits for the thread of the controller."""
        return state.with_broker(broker, evolve(state.broker(broker), seen=state.level))

    def may_register_broker(self, state: Features, broker: Word) -> Conjuncts:
        """A request waits."""
        return {**self.led(state), "a request waits": negate(state.broker(broker).seen == NO_REQUEST)}

    @rule("feature.registration-is-judged-now", switches=("features-read-early", "registration-unchecked"),
          source="KAFKA-18844; PR 18997; ClusterControlManager.processRegistrationFeature",
          says="A broker is registered if its release supports every level that is finalised when its request is "
               "decided.")  # fmt: skip
    def register_broker(self, state: Features, broker: Word) -> Features:
        """The request of a broker is decided."""
        node = state.broker(broker)
        able: Truth = True
        if not self.rules.registration_unchecked:
            judged = evolve(state, level=node.seen) if self.rules.features_read_early else state
            able = self.allows(judged, node.release)
        registered = choose(able, node.release, node.registered)
        return state.with_broker(broker, evolve(node, registered=registered, seen=NO_REQUEST))

    def may_unregister_broker(self, state: Features, broker: Word) -> Conjuncts:
        """A broker is registered."""
        return {**self.led(state), "it is registered": negate(state.broker(broker).registered == NOT_REGISTERED)}

    def unregister_broker(self, state: Features, broker: Word) -> Features:
        """The registration of a broker goes; its process ends."""
        return state.with_broker(broker, evolve(state.broker(broker), registered=NOT_REGISTERED, seen=NO_REQUEST))

    # Levels.

    @rule("feature.every-member-supports", source="KIP-584; PR 23038; FeatureControlManager.reasonNotSupported",
          switches=("departed-controllers-asked", "unregistered-voters-unasked", "upgrade-asks-no-broker"),
          says="A level is finalised if the active controller, the registration of each other voter, and that of each "
               "broker supports it; a voter without registration does not.")  # fmt: skip
    def asked(self, state: Features, able: Asked) -> Conjuncts:
        """Whether everyone supports a proposal who is asked."""
        rules = self.rules
        brokers, voters = list[Truth](), list[Truth]()
        for broker in state.brokers:
            brokers.append(implies(negate(broker.registered == NOT_REGISTERED), able(broker.registered)))
        for number, node in enumerate(state.controllers):
            asked = node.voter if not rules.departed_controllers_asked else True
            registered = negate(node.registered == NOT_REGISTERED)
            fits = implies(registered, able(node.registered))
            there = True if rules.unregistered_voters_unasked else implies(node.voter, registered)
            voters.append(any_of(state.active == number, all_of(implies(asked, fits), there)))
        return {
            **self.led(state), "the active controller supports it": able(state.controller(state.active).release),
            "each broker supports it": True if rules.upgrade_asks_no_broker else all_of(*brokers),
            "each controller that is asked supports it": all_of(*voters),
        }  # fmt: skip

    def may_raise(self, state: Features, level: Word) -> Conjuncts:
        """A higher level can be finalised."""
        able = self.asked(state, lambda release: supports(release, level))
        return {"the level is higher": state.level < level, **able}

    @rule("feature.downgrade-loses-nothing", switches=("downgrade-unchecked",),
          source="KIP-584; KIP-778; FeatureControlManager.updateMetadataVersion",
          says="A downgrade of metadata.version crosses no level whose records the lower one lacks.")  # fmt: skip
    def may_lower(self, state: Features, level: Word) -> Conjuncts:
        """A lower level can be finalised."""
        able = self.asked(state, lambda release: supports(release, level))
        same = True if self.rules.downgrade_unchecked else level >= UNREGISTERING
        return {"the level is lower": level < state.level, "nothing is lost": same, **able}

    def finalise(self, state: Features, level: Word) -> Features:
        """A level of metadata.version is finalised."""
        return self.replayed(evolve(state, level=level))

    @rule("feature.elr-needs-its-level", source="KIP-966; FeatureControlManager.updateFeature",
          switches=("dependency-unchecked",),
          says="ELR is switched on at a level of metadata.version that has it, and where every member supports it.",
          )  # fmt: skip
    def may_enable_elr(self, state: Features) -> Conjuncts:
        """ELR can be switched on."""
        able = self.asked(state, lambda release: release > 0)
        has = True if self.rules.dependency_unchecked else state.level >= UNREGISTERING
        return {"ELR is off": negate(state.elr), "the level has it": has, **able}

    def enable_elr(self, state: Features) -> Features:
        """ELR is switched on."""
        return self.replayed(evolve(state, elr=True))

    def may_disable_elr(self, state: Features) -> Conjuncts:
        """ELR is on."""
        return {**self.led(state), "ELR is on": state.elr}

    def disable_elr(self, state: Features) -> Features:
        """ELR is switched off."""
        return evolve(state, elr=False)


def actions(setting: Setting) -> list[Action]:
    """The actions of nodes, operators and the active controller."""
    do = Cluster(setting)
    one, each = {"controller": tuple(range(setting["controllers"]))}, {"broker": tuple(range(setting["brokers"]))}
    releases = {"release": tuple(range(NEWEST + 1))}
    found = [
        Action("start", do.start, do.may_start, {**one, **releases}, "a start of a controller"),
        Action("stop", do.stop, do.may_stop, one, "the end of a controller"),
        Action("activate", do.activate, do.may_activate, one, "ActivationRecordsGenerator.generate"),
        Action("register_controller", do.register_controller, do.may_register_controller, one, "registerController"),
        Action("leave", do.leave, do.may_leave, one, "KIP-853: a voter is removed"),
        Action("join", do.join, do.may_join, one, "KIP-853: a voter is added"),
        Action("raise_level", do.finalise, do.may_raise, {"level": (2, HIGHEST)}, "updateFeatures"),
        Action("lower_level", do.finalise, do.may_lower, {"level": (LOWEST, 2)}, "updateFeatures"),
        Action("enable_elr", do.enable_elr, do.may_enable_elr, {}, "updateFeatures"),
        Action("disable_elr", do.disable_elr, do.may_disable_elr, {}, "updateFeatures"),
    ]
    if setting["transactions"]:
        found.append(Action("end_transaction", do.end, do.may_end, {}, "EndTransactionRecord"))
    if not do.rules.controllers_stay_registered:
        found.append(
            Action("unregister_controller", do.unregister_controller, do.may_unregister_controller, one,
                   "unregisterController")
        )  # fmt: skip
    if setting["brokers"]:
        newer = {"release": tuple(range(1, NEWEST + 1))}
        found += [
            Action("upgrade_broker", do.upgrade, do.may_upgrade, {**each, **newer}, "a start of a broker"),
            Action("ask", do.ask, do.may_ask, each, "a registration in the queue of the controller"),
            Action("register_broker", do.register_broker, do.may_register_broker, each, "registerBroker"),
            Action("unregister_broker", do.unregister_broker, do.may_unregister_broker, each, "unregisterBroker"),
        ]
    return found


FEATURES = System(
    name="features",
    summary="feature levels: who must support them, how they rise and fall, and what a new or old log begins with",
    initial=initial,
    actions=actions,
    layout=layout,
    scopes=SCOPES,
    bounds=BOUNDS,
    rules=(FeatureRules,),
    legend=LEGEND,
)
"""The system without its properties; `kraftcheck.properties.catalogue` adds them."""
