"""The `sessions` system: heartbeats in rounds, the session check, controlled shutdowns, and failovers.

State of the `sessions` system: brokers as processes, and what the active controller knows of them.
Time goes by in rounds. In each round every running broker sends one heartbeat, or it is lost, and records are written
to the log of metadata. What a heartbeat says was applied is what the log had `LAG` rounds ago. So offsets are counted
backwards from the end of the log, in rounds; all that are `LAG` rounds old or older are alike.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, frozen

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.layout import ints, subset_of, truth
from kraftcheck.model.language.system import (
    Action,
    Bound,
    Conjuncts,
    Legend,
    Outcome,
    Setting,
    System,
    events,
    numbered,
    sent,
)
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import NO_LEADER, all_of, any_of, choose, implies, negate, none_of, pick, rule
from kraftcheck.model.rules.groups import ControllerRules
from kraftcheck.model.systems.parts import OfSetting
from kraftcheck.model.triggers.leadership import heard_at_takeover, registered_epoch, shutdown_offset, unfencing_offset

LAG = 2  # how many rounds a broker is behind the end of the log
NOT_HEARD_OF = -1  # the silence of a broker that the controller never heard of


@frozen
class Peer:
    """A broker."""

    up: Truth  # whether its process runs
    stopping: Truth  # whether the process wants to shut down
    leads: Truth  # whether the process takes itself for the leader
    due: Truth  # whether it has a heartbeat to send in this round
    fenced: Truth  # whether the controller has it fenced
    retired: Truth  # whether its registration says that it shuts down, so that it may not lead
    leaving: Truth  # whether the active controller has begun its controlled shutdown
    silence: Word  # rounds since it was last heard of, at most one more than the timeout; or NOT_HEARD_OF
    registration: Word  # age of its registration's record in rounds, at most `LAG`
    shutdown: Word  # age of the offset that its shutdown waits for, at most `LAG`
    passed: BrokerSet  # brokers that have said that they are past that offset


@frozen
class Sessions:
    """The whole state."""

    brokers: tuple[Peer, ...]  # the brokers
    leader: Word  # who leads the one partition, or NO_LEADER

    def broker(self, number: Word) -> Peer:
        """A broker."""
        return pick(self.brokers, number, self.brokers[0])

    def with_broker(self, number: Word, peer: Peer) -> Sessions:
        """The state with one broker replaced."""
        return evolve(self, brokers=tuple(choose(number == b, peer, old) for b, old in enumerate(self.brokers)))

    def elected(self) -> Sessions:
        """The state with a leader that is unfenced and not retired; with none where no broker is."""
        able = [all_of(negate(peer.fenced), negate(peer.retired)) for peer in self.brokers]
        stays = any_of(*(all_of(self.leader == b, may) for b, may in enumerate(able)))
        first: Word = NO_LEADER
        for b in reversed(range(len(able))):
            first = choose(able[b], b, first)
        return evolve(self, leader=choose(stays, self.leader, first))


@frozen
class SessionsEvent:
    """The events of a step besides the change of the state."""

    registered: Truth = False  # a new process was registered
    raised: Truth = False  # a broker's epoch rose
    released: Truth = False  # a broker was told to stop


def layout(setting: Setting) -> Sessions:
    """The domain of each field."""
    brokers = setting["brokers"]
    peer = Peer(
        up=truth(), stopping=truth(), leads=truth(), due=truth(), fenced=truth(), retired=truth(), leaving=truth(),
        silence=ints(NOT_HEARD_OF, setting["patience"] + 1), registration=ints(0, LAG), shutdown=ints(0, LAG),
        passed=BrokerSet(subset_of(brokers)),
    )  # fmt: skip
    return Sessions((peer,) * brokers, ints(NO_LEADER, brokers - 1, none=NO_LEADER))


def initial(setting: Setting) -> list[Sessions]:
    """Live brokers that were just heard of; the first one leads."""
    peers = tuple(
        Peer(
            True,
            False,
            b == 0,
            True,
            False,
            retired=False,
            leaving=False,
            silence=0,
            registration=LAG,
            shutdown=0,
            passed=BrokerSet(),
        )
        for b in range(setting["brokers"])
    )
    return [Sessions(peers, 0)]


CONTROLLER, BROKER = "controller", "broker {broker}"


def lanes(bounds: Mapping[str, int]) -> tuple[str, ...]:
    """The controller, and each broker."""
    return (CONTROLLER, *numbered("broker", bounds["brokers"]))


LEGEND = Legend(
    lanes,
    {
        "beat": sent(BROKER, CONTROLLER, "heartbeat"),
        **events(BROKER, "miss", "die", "stop"),
        **events(CONTROLLER, "pass_round", "expire", "take_over"),
        "register": sent(BROKER, CONTROLLER, "BrokerRegistration"),
        "register_again": sent(BROKER, CONTROLLER, "BrokerRegistration"),
        "apply": sent(CONTROLLER, BROKER, "metadata records"),
    },
    {"broker 0 fenced": "brokers[0].fenced", "broker 0 silent for": "brokers[0].silence"},
)


BOUNDS = (
    Bound("brokers", 1, 3, "number of brokers"),
    Bound("patience", 1, 2, "rounds that a session outlasts the last heartbeat"),
)

SCOPES = {"tiny": {"brokers": 2, "patience": 1}}


@frozen
class Touch(OfSetting[ControllerRules]):
    """The steps of one setting."""

    GROUP = "controller"

    def in_session(self, peer: Peer) -> Truth:
        """Whether no other process may register the broker's id."""
        valid = all_of(negate(peer.silence == NOT_HEARD_OF), peer.silence <= self.setting["patience"])
        return valid if self.rules.sessions_by_contact else all_of(valid, negate(peer.fenced))

    def may_beat(self, state: Sessions, broker: Word) -> Conjuncts:
        """A running broker has a heartbeat to send."""
        peer = state.broker(broker)
        return {"broker runs": peer.up, "a heartbeat is due": peer.due}

    def miss(self, state: Sessions, broker: Word) -> Sessions:
        """The heartbeat is lost."""
        return state.with_broker(broker, evolve(state.broker(broker), due=False))

    def beat(self, state: Sessions, broker: Word) -> Outcome:
        """A heartbeat: the controller hears of the broker, unfences it, or lets it stop once others have followed."""
        peer, one = state.broker(broker), BrokerSet().just(broker)
        passed = tuple(
            evolve(other, passed=choose(other.shutdown >= LAG, other.passed.plus(one), other.passed))
            for other in state.brokers
        )
        told = evolve(state, brokers=passed)
        peer = told.broker(broker)
        leads = state.leader == broker
        asks = all_of(peer.stopping, negate(peer.fenced), negate(peer.leaving))
        followed = all_of(peer.leaving, negate(leads), self._followed(told, broker))
        released = any_of(all_of(peer.stopping, peer.fenced), all_of(asks, negate(leads)), followed)
        begins, goes_on = all_of(asks, leads), all_of(peer.leaving, negate(followed))
        joins = all_of(peer.fenced, negate(peer.stopping), self._caught_up(peer))
        age = 0 - shutdown_offset(peer.leaving, 0 - peer.shutdown, 0, self.rules)
        waits = any_of(begins, goes_on)
        moved = all_of(waits, any_of(begins, negate(age == peer.shutdown)))
        after = evolve(
            peer, due=False, silence=0, retired=any_of(peer.retired, begins), leaving=waits,
            fenced=any_of(released, all_of(peer.fenced, negate(joins))),
            shutdown=choose(waits, age, 0), passed=choose(any_of(moved, negate(waits)), BrokerSet(), peer.passed),
            up=negate(released), stopping=all_of(peer.stopping, negate(released)),
            leads=all_of(peer.leads, negate(released)),
        )  # fmt: skip
        return Outcome(told.with_broker(broker, after).elected(), SessionsEvent(released=released))

    def _caught_up(self, peer: Peer) -> Truth:
        """Whether what a heartbeat says was applied suffices to unfence its broker."""
        return unfencing_offset(0 - peer.registration, 0, self.rules) <= -LAG

    def _followed(self, state: Sessions, broker: Word) -> Truth:
        """Whether each active broker but one has passed the offset of that one's shutdown."""
        passed = state.broker(broker).passed
        return all_of(
            *(
                implies(none_of(broker == b, other.fenced, other.leaving), passed.has(b))
                for b, other in enumerate(state.brokers)
            )
        )

    def may_pass(self, state: Sessions) -> Conjuncts:
        """Each running broker has sent its heartbeat of the round."""
        return {"no heartbeat is due": none_of(*(all_of(peer.up, peer.due) for peer in state.brokers))}

    def pass_round(self, state: Sessions) -> Sessions:
        """A round ends: everything is one round older."""
        last = self.setting["patience"] + 1

        def later(peer: Peer) -> Peer:
            counts = any_of(peer.silence == NOT_HEARD_OF, peer.silence == last)
            return evolve(
                peer, due=peer.up, silence=choose(counts, peer.silence, peer.silence + 1),
                registration=choose(peer.registration < LAG, peer.registration + 1, LAG),
                shutdown=choose(all_of(peer.leaving, peer.shutdown < LAG), peer.shutdown + 1, peer.shutdown),
            )  # fmt: skip

        return evolve(state, brokers=tuple(later(peer) for peer in state.brokers))

    def may_expire(self, state: Sessions, broker: Word) -> Conjuncts:
        """The session of an unfenced broker is over."""
        peer = state.broker(broker)
        return {"broker is unfenced": negate(peer.fenced), "session is over": peer.silence > self.setting["patience"]}

    def expire(self, state: Sessions, broker: Word) -> Sessions:
        """The session check fences the broker."""
        silence = NOT_HEARD_OF if self.rules.sessions_by_contact else state.broker(broker).silence
        peer = evolve(state.broker(broker), fenced=True, leaving=False, silence=silence, shutdown=0, passed=BrokerSet())
        return state.with_broker(broker, peer).elected()

    def die(self, state: Sessions, broker: Word) -> Sessions:
        """The process ends without a word."""
        peer = evolve(state.broker(broker), up=False, stopping=False, leads=False, due=False)
        return state.with_broker(broker, peer)

    def may_register(self, state: Sessions, broker: Word) -> Conjuncts:
        """A new process asks to be registered: not while its broker is in session."""
        peer = state.broker(broker)
        return {"no process runs": negate(peer.up), "the id is not in session": negate(self.in_session(peer))}

    def register(self, state: Sessions, broker: Word) -> Outcome:
        """A new process is registered, fenced."""
        silence = NOT_HEARD_OF if self.rules.sessions_by_contact else 0
        peer = Peer(
            True,
            False,
            False,
            True,
            True,
            retired=False,
            leaving=False,
            silence=silence,
            registration=0,
            shutdown=0,
            passed=BrokerSet(),
        )
        raised = registered_epoch(False, 0, 1, self.rules) == 1
        return Outcome(state.with_broker(broker, peer).elected(), SessionsEvent(registered=True, raised=raised))

    def running(self, state: Sessions, broker: Word) -> Conjuncts:
        """The process runs."""
        return {"broker runs": state.broker(broker).up}

    def register_again(self, state: Sessions, broker: Word) -> Outcome:
        """The same process registers again: what it told is amended."""
        raised = registered_epoch(True, 0, 1, self.rules) == 1
        peer = state.broker(broker)
        after = state if self.rules.sessions_by_contact else state.with_broker(broker, evolve(peer, silence=0))
        return Outcome(after, SessionsEvent(raised=raised))

    def may_stop(self, state: Sessions, broker: Word) -> Conjuncts:
        """The process runs, and does not shut down yet."""
        return {**self.running(state, broker), "it is not stopping": negate(state.broker(broker).stopping)}

    def stop(self, state: Sessions, broker: Word) -> Sessions:
        """Somebody asks the process to shut down; its heartbeats say so."""
        return state.with_broker(broker, evolve(state.broker(broker), stopping=True))

    @rule("shutdown.broker-follows-metadata", source="KAFKA-13858; KAFKA-14296; catalogue 43",
          switches=("stopping-broker-ignores-metadata",),
          says="A broker applies metadata also while it shuts down, so that it stops leading.")  # fmt: skip
    def may_apply(self, state: Sessions, broker: Word) -> Conjuncts:
        """The process has yet to learn whether it leads."""
        peer = state.broker(broker)
        deaf = peer.stopping if self.rules.stopping_broker_ignores_metadata else False
        leads = state.leader == broker
        news = any_of(all_of(leads, negate(peer.leads)), all_of(negate(leads), peer.leads))
        return {**self.running(state, broker), "there is news": news, "it reads metadata": negate(deaf)}

    def apply(self, state: Sessions, broker: Word) -> Sessions:
        """The process applies the metadata of the partition."""
        return state.with_broker(broker, evolve(state.broker(broker), leads=state.leader == broker))

    def take_over(self, state: Sessions) -> Sessions:
        """Another controller takes over: offsets that were reported, and shutdowns that had begun, are forgotten."""

        def anew(peer: Peer) -> Peer:
            silence: Word = 0
            if self.rules.sessions_by_contact:
                silence = choose(heard_at_takeover(peer.fenced, self.rules), 0, NOT_HEARD_OF)
            return evolve(peer, silence=silence, leaving=False, shutdown=0, passed=BrokerSet())

        return evolve(state, brokers=tuple(anew(peer) for peer in state.brokers))


def actions(setting: Setting) -> list[Action]:
    """Heartbeats, rounds, the check, processes that come and go, and failovers."""
    do, each = Touch(setting), {"broker": tuple(range(setting["brokers"]))}
    return [
        Action("beat", do.beat, do.may_beat, each, "processBrokerHeartbeat"),
        Action("miss", do.miss, do.may_beat, each, "a heartbeat that is lost"),
        Action("pass_round", do.pass_round, do.may_pass, {}, "the interval of heartbeats"),
        Action("expire", do.expire, do.may_expire, each, "maybeFenceStaleBroker"),
        Action("die", do.die, do.running, each, "a crash"),
        Action("register", do.register, do.may_register, each, "registerBroker"),
        Action("register_again", do.register_again, do.running, each, "registerBroker, same incarnation"),
        Action("stop", do.stop, do.may_stop, each, "BrokerLifecycleManager.beginControlledShutdown"),
        Action("apply", do.apply, do.may_apply, each, "BrokerMetadataPublisher"),
        Action("take_over", do.take_over, None, {}, "ClusterControlManager.activate"),
    ]


SESSIONS = System(
    name="sessions",
    summary="heartbeats and sessions: who is fenced, who may return, and when a broker may shut down",
    initial=initial,
    actions=actions,
    layout=layout,
    scopes=SCOPES,
    bounds=BOUNDS,
    rules=(ControllerRules,),
    legend=LEGEND,
)
"""The system without its properties; `kraftcheck.properties.catalogue` adds them."""
