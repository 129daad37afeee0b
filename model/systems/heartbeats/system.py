"""The `heartbeats` system: one broker, its heartbeats in flight, and a controller that may be slow.

Time goes by in ticks. A broker sends a heartbeat, waits for the answer until a timeout, and sends the next one after a
delay. A heartbeat reaches the queue of the controller at once, or is lost; of two in a row one arrives. The controller
answers when it likes.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, frozen

from kraftcheck.model.language.layout import ints, truth
from kraftcheck.model.language.system import Action, Bound, Conjuncts, Legend, Setting, System, events, sent
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, choose, implies, negate, rule
from kraftcheck.model.rules.groups import HeartbeatRules
from kraftcheck.model.systems.parts import OfSetting

NONE, LOST, QUEUED = 0, 1, 2
"""Where the heartbeat is that the broker waits for: there is none, it was lost, or the controller has it."""


@frozen
class Heartbeats:
    """The whole state."""

    up: Truth  # whether the broker runs
    place: Word  # where the heartbeat is that the broker waits for
    waited: Word  # ticks since it was sent
    delay: Word  # ticks until the next one is sent
    missed: Truth  # whether the last one was lost
    silence: Word  # ticks since the controller counted a contact, at most one more than the session
    fenced: Truth  # whether the controller has fenced the broker


BROKER, CONTROLLER = "broker", "controller"


def lanes(bounds: Mapping[str, int]) -> tuple[str, ...]:
    """The broker and the controller."""
    return (BROKER, CONTROLLER)


LEGEND = Legend(
    lanes,
    {
        "send": sent(BROKER, CONTROLLER, "heartbeat"),
        "answer": sent(CONTROLLER, BROKER, "answer"),
        **events(BROKER, "time_out", "die"),
        **events(CONTROLLER, "tick", "expire"),
    },
    {"silent for": "silence", "fenced": "fenced"},
)

BOUNDS = (
    Bound("session", 2, 9, "ticks that a session outlasts the last contact"),
    Bound("interval", 1, 3, "ticks between heartbeats; four of them must fit into a session"),
)

SCOPES = {"tiny": {"session": 4, "interval": 1}, "defaults": {"session": 9, "interval": 2}}


@frozen
class Beating(OfSetting[HeartbeatRules]):
    """The steps of one setting."""

    GROUP = "heartbeats"

    @rule("heartbeat.wait-and-delay-are-intervals", source="KAFKA-19294; PR 19745; KAFKA-14392; PR 12856",
          switches=("wait-and-delay-fill-session", "wait-exceeds-session"),
          says="A broker waits for one interval for an answer, and sends the next heartbeat one interval later.",
          )  # fmt: skip
    def times(self) -> tuple[int, int]:
        """How long an answer is waited for, and how long the next heartbeat is delayed where none has come."""
        session, interval = self.setting["session"], self.setting["interval"]
        if self.rules.wait_exceeds_session:
            return session + 1, interval
        if self.rules.wait_and_delay_fill_session:
            return session // 2, (session + 1) // 2
        return interval, interval

    @rule("heartbeat.contact-is-counted-in-the-queue", source="KAFKA-15019; PR 13759; KAFKA-17793; PR 17502",
          switches=("queued-heartbeat-is-no-contact", "contact-waits-for-the-queue"),
          says="A broker is heard of as soon as the controller has its heartbeat, however late that is processed.",
          )  # fmt: skip
    def heard(self, state: Heartbeats) -> Heartbeats:
        """A heartbeat has reached the queue of the controller."""
        waits = self.rules.queued_heartbeat_is_no_contact or self.rules.contact_waits_for_the_queue
        return state if waits else evolve(state, silence=0)

    def may_send(self, state: Heartbeats, lost: Word) -> Conjuncts:
        """The next heartbeat is due; it is not the second in a row that is lost."""
        return {
            "the broker runs": state.up, "none is waited for": state.place == NONE, "it is due": state.delay == 0,
            "one of two arrives": implies(lost == 1, negate(state.missed)),
        }  # fmt: skip

    def send(self, state: Heartbeats, lost: Word) -> Heartbeats:
        """A heartbeat is sent, and reaches the queue, or is lost."""
        gone = lost == 1
        sent_now = evolve(state, place=choose(gone, LOST, QUEUED), waited=0, missed=gone)
        return choose(gone, sent_now, self.heard(sent_now))

    def may_answer(self, state: Heartbeats) -> Conjuncts:
        """The controller has a heartbeat in its queue."""
        return {"it is in the queue": state.place == QUEUED}

    def answer(self, state: Heartbeats) -> Heartbeats:
        """The controller processes the heartbeat, and answers."""
        return evolve(state, place=NONE, waited=0, delay=self.setting["interval"], silence=0, fenced=False)

    def may_time_out(self, state: Heartbeats) -> Conjuncts:
        """The broker has waited long enough."""
        late = state.waited == self.times()[0]
        return {"one is waited for": negate(state.place == NONE), "it has taken too long": late}

    def time_out(self, state: Heartbeats) -> Heartbeats:
        """The broker waits no longer, nor does the queue keep the heartbeat."""
        silence = state.silence
        if self.rules.contact_waits_for_the_queue:
            silence = choose(state.place == QUEUED, 0, silence)
        return evolve(state, place=NONE, waited=0, delay=self.times()[1], silence=silence)

    def may_tick(self, state: Heartbeats) -> Conjuncts:
        """Nothing is due now."""
        sending = all_of(state.up, state.place == NONE, state.delay == 0)
        waiting = all_of(negate(state.place == NONE), state.waited == self.times()[0])
        return {"no heartbeat is due": negate(sending), "no timeout is due": negate(waiting)}

    def tick(self, state: Heartbeats) -> Heartbeats:
        """A tick of time."""
        last = self.setting["session"] + 1
        idle = state.place == NONE
        sooner = all_of(idle, state.delay > 0)
        return evolve(
            state, waited=choose(idle, 0, state.waited + 1), delay=choose(sooner, state.delay - 1, state.delay),
            silence=choose(state.silence < last, state.silence + 1, last),
        )  # fmt: skip

    def may_expire(self, state: Heartbeats) -> Conjuncts:
        """The session of the unfenced broker is over."""
        return {"it is unfenced": negate(state.fenced), "its session is over": state.silence > self.setting["session"]}

    def expire(self, state: Heartbeats) -> Heartbeats:
        """The session check fences the broker."""
        return evolve(state, fenced=True)

    def may_die(self, state: Heartbeats) -> Conjuncts:
        """The broker runs."""
        return {"the broker runs": state.up}

    def die(self, state: Heartbeats) -> Heartbeats:
        """The broker ends without a word; what it has sent is on its way."""
        return evolve(state, up=False)


def layout(setting: Setting) -> Heartbeats:
    """The domain of each field."""
    session = setting["session"]
    longest = session + 1
    return Heartbeats(
        truth(), ints(NONE, QUEUED), ints(0, longest), ints(0, max(session, setting["interval"])), truth(),
        ints(0, longest), truth(),
    )  # fmt: skip


def initial(setting: Setting) -> list[Heartbeats]:
    """An unfenced broker that was just heard of."""
    return [Heartbeats(True, NONE, 0, setting["interval"], False, 0, False)]


def actions(setting: Setting) -> list[Action]:
    """Heartbeats, answers, time, and the session check."""
    do = Beating(setting)
    return [
        Action("send", do.send, do.may_send, {"lost": (0, 1)}, "BrokerLifecycleManager.sendBrokerHeartbeat"),
        Action("answer", do.answer, do.may_answer, {}, "processBrokerHeartbeat"),
        Action("time_out", do.time_out, do.may_time_out, {}, "a request timeout"),
        Action("tick", do.tick, do.may_tick, {}, "time"),
        Action("expire", do.expire, do.may_expire, {}, "maybeFenceStaleBroker"),
        Action("die", do.die, do.may_die, {}, "a crash"),
    ]


HEARTBEATS = System(
    name="heartbeats",
    summary="heartbeats in flight and in the queue of a slow controller: who keeps in touch stays unfenced",
    initial=initial,
    actions=actions,
    layout=layout,
    scopes=SCOPES,
    bounds=BOUNDS,
    rules=(HeartbeatRules,),
    legend=LEGEND,
)
"""The system without its properties; `kraftcheck.properties.catalogue` adds them."""
