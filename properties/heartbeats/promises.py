"""What is promised of heartbeats: who sends them in time is not fenced, and contact counts when it is made."""

from __future__ import annotations

from kraftcheck.model.language.system import Property, Setting
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import all_of, choose, implies, negate
from kraftcheck.model.systems.heartbeats.system import LOST, NONE, QUEUED, Heartbeats
from kraftcheck.properties.kinds import always, happens, sometimes, step


def properties(setting: Setting) -> list[Property]:
    """Every property of the system."""
    return [
        always("live-broker-is-not-fenced", "a running broker of whose heartbeats one of two arrives is not fenced",
               lambda s: implies(s.up, negate(s.fenced)), "KAFKA-19294; KAFKA-14392; KAFKA-15019",
               ("wait-and-delay-fill-session", "wait-exceeds-session", "queued-heartbeat-is-no-contact"),
               rules=("heartbeat.wait-and-delay-are-intervals", "heartbeat.contact-is-counted-in-the-queue")),
        step("contact-counts-when-made", "a heartbeat that reaches the controller is a contact at once",
             lambda t: implies(t.after.place == QUEUED, t.after.silence == 0) if t.action == "send" else True,
             "KAFKA-15019; KAFKA-17793", ("queued-heartbeat-is-no-contact", "contact-waits-for-the-queue"),
             rules=("heartbeat.contact-is-counted-in-the-queue",)),
        happens("shows-answer", "the controller answers", lambda t: t.action == "answer"),
        happens("shows-expiry", "a broker that has ended is fenced", lambda t: t.action == "expire"),
        happens("shows-slow-controller", "a heartbeat times out in the queue of the controller",
                lambda t: t.before.place == QUEUED if t.action == "time_out" else False),
        sometimes("shows-silence", "a lost heartbeat lets a broker be silent for three intervals",
                  lambda s: s.silence == 3 * setting["interval"]),
        sometimes("shows-loss", "a heartbeat is lost", lambda s: s.place == LOST),
    ]  # fmt: skip


def lemmas(setting: Setting) -> tuple[Property, ...]:
    """The lemmas that make the promises inductive under the right rules: where the time of a silence went."""
    interval = setting["interval"]

    def accounted(s: Heartbeats) -> Truth:
        rounds = choose(s.missed, 4, 2) * interval
        waits = choose(s.place == LOST, 2 * interval + s.waited, rounds - s.delay)
        return implies(s.up, s.silence <= choose(s.place == QUEUED, s.waited, waits))

    return (
        always("lemma-silence-is-waiting", "a running broker is silent while it waits, and before the next heartbeat",
               accounted),
        always("lemma-waits-are-intervals", "a wait and a delay last for an interval, and the last heartbeat was lost "
               "where one is waited for that was", lambda s: all_of(
                   s.waited <= interval, s.delay <= interval, implies(s.place == LOST, s.missed),
                   implies(s.place == QUEUED, negate(s.missed)), implies(s.place == NONE, s.waited == 0))),
    )  # fmt: skip
