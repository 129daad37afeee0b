"""Two-phase commit (Lamport and Gray): TwoPhase of the TLA+ Examples."""

import enum
from dataclasses import dataclass, replace
from typing import Any

import kraftcheck as kc


class Manager(kc.Enum):
    """The states of a resource manager."""

    WORKING = enum.auto()
    PREPARED = enum.auto()
    COMMITTED = enum.auto()
    ABORTED = enum.auto()


class Coordinator(kc.Enum):
    """The states of the transaction manager."""

    INIT = enum.auto()
    COMMITTED = enum.auto()
    ABORTED = enum.auto()


def two_phase(managers: int, faulty: bool = False) -> kc.System:
    """The system of some resource managers; the faulty coordinator commits without waiting for the last of them."""
    everyone = range(managers)

    class Messages(kc.SetOf):
        members = ("commit", "abort", *everyone)  # a number says that this manager is prepared

    @dataclass(frozen=True)
    class State:
        manager: tuple[kc.Word, ...]
        coordinator: kc.Word
        prepared: kc.IntSet
        messages: Messages

    def send(s: State, message: Any) -> Messages:
        return s.messages.plus(s.messages.just(message))

    def become(s: State, r: kc.Word, state: Manager) -> State:
        return replace(s, manager=kc.put(s.manager, r, state))

    def has(s: State, r: kc.Word, state: Manager) -> kc.Truth:
        return kc.get(s.manager, r) == state

    def decide(s: State, state: Coordinator, message: str) -> State:
        return replace(s, coordinator=state, messages=send(s, message))

    def is_initial(s: State) -> kc.Truth:
        return s.coordinator == Coordinator.INIT

    def all_prepared(s: State) -> kc.Truth:
        return kc.each(everyone[1:] if faulty else everyone, s.prepared.has)

    one = {"r": everyone}
    return kc.System(
        name="two-phase",
        summary="Two-phase commit.",
        layout=State((Manager.domain(),) * managers, Coordinator.domain(), kc.IntSet(kc.subset_of(managers)),
                     Messages.domain()),
        initial=[State((Manager.WORKING,) * managers, Coordinator.INIT, kc.IntSet(), Messages.of([]))],
        actions=[
            kc.Action("hear", lambda s, r: replace(s, prepared=s.prepared.plus(s.prepared.just(r))),
                      lambda s, r: kc.all_of(is_initial(s), s.messages.has(r)), one),
            kc.Action("commit", lambda s: decide(s, Coordinator.COMMITTED, "commit"),
                      lambda s: kc.all_of(is_initial(s), all_prepared(s))),
            kc.Action("abort", lambda s: decide(s, Coordinator.ABORTED, "abort"), is_initial),
            kc.Action("prepare", lambda s, r: replace(become(s, r, Manager.PREPARED), messages=send(s, r)),
                      lambda s, r: has(s, r, Manager.WORKING), one),
            kc.Action("give_up", lambda s, r: become(s, r, Manager.ABORTED),
                      lambda s, r: has(s, r, Manager.WORKING), one),
            kc.Action("hear_commit", lambda s, r: become(s, r, Manager.COMMITTED),
                      lambda s, r: s.messages.has("commit"), one),
            kc.Action("hear_abort", lambda s, r: become(s, r, Manager.ABORTED),
                      lambda s, r: s.messages.has("abort"), one),
        ],
        properties=[
            kc.always("consistent", "no manager commits while another aborts", lambda s: kc.negate(kc.all_of(
                kc.some(s.manager, lambda m: m == Manager.COMMITTED),
                kc.some(s.manager, lambda m: m == Manager.ABORTED)))),
            kc.sometimes("commits", "every manager commits",
                         lambda s: kc.each(s.manager, lambda m: m == Manager.COMMITTED)),
        ],
    )  # fmt: skip


TWO_PHASE = two_phase(3)
FAULTY = two_phase(3, faulty=True)
