"""A change of `elections` with every kind of part: ELR members wait after the last member of the ISR is gone."""

from typing import Any

from attrs import evolve

import kraftcheck as kc

ELR = "election.elr.only-when-isr-empty"


def only_after_waiting(self: Any, rules: Any, now: Any, rule: Any) -> Any:
    """An ELR member may lead once the ISR was empty for a while."""
    return kc.choose(kc.any_of(now.waited, kc.negate(self.isr.is_empty())), rule(self, rules), self.isr.none())


def enough(setting: kc.Setting) -> kc.Action:
    """The ISR was empty for long enough: a leaderless partition is tried again."""

    def effect(state: Any) -> kc.Outcome:
        waited, rules = evolve(state, waited=True), setting.rules
        p = waited.partition()
        retry = kc.kafka.passes.unfence(p, kc.kafka.permits(waited), p.leader, rules.partition)
        return kc.kafka.decide(waited, rules, retry)

    return kc.Action("enough", effect, lambda state: kc.all_of(state.isr.is_empty(), kc.negate(state.waited)))


def until_led(step: kc.Step) -> Any:
    """The wait is over as soon as the ISR has a member."""
    return kc.all_of(step.after.waited, step.after.isr.is_empty())


def waiting(then: Any = until_led, **action: Any) -> kc.ChangedSystem:
    """The change, with the choice `elr-waits`."""
    return (
        kc.kafka("elections", base="fixed")
        .choice("elr-waits", "an ELR member leads only after the ISR was empty for a while")
        .field("waited", kc.truth(), False, then)
        .override(ELR, only_after_waiting, when="elr-waits")
        .action(enough, when="elr-waits", **action)
        .property(kc.always("wait-ends", "no ISR member waits", lambda s: kc.implies(s.waited, s.isr.is_empty())))
    )


WAITING = waiting()
