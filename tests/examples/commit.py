"""Transaction commit: TCommit of the TLA+ Examples, and that two-phase commit refines it."""

from dataclasses import dataclass
from typing import Any

from attrs import evolve

import kraftcheck as kc
from tests.examples.two_phase import Coordinator, Manager, two_phase


@dataclass(frozen=True)
class State:
    """What each manager decided."""

    manager: tuple[kc.Word, ...]


def commit(managers: int) -> kc.System:
    """Managers that prepare, and commit or abort together."""
    everyone, one = range(managers), {"r": range(managers)}

    def has(s: State, r: kc.Word, *states: Manager) -> kc.Truth:
        return kc.any_of(*(kc.get(s.manager, r) == state for state in states))

    def become(s: State, r: kc.Word, state: Manager) -> State:
        return State(kc.put(s.manager, r, state))

    def may_commit(s: State, r: kc.Word) -> kc.Truth:
        together = kc.each(everyone, lambda m: has(s, m, Manager.PREPARED, Manager.COMMITTED))
        return kc.all_of(has(s, r, Manager.PREPARED), together)

    def may_abort(s: State, r: kc.Word) -> kc.Truth:
        nobody = kc.negate(kc.some(everyone, lambda m: has(s, m, Manager.COMMITTED)))
        return kc.all_of(has(s, r, Manager.WORKING, Manager.PREPARED), nobody)

    return kc.System(
        name="commit",
        summary="Transaction commit.",
        layout=State((Manager.domain(),) * managers),
        initial=[State((Manager.WORKING,) * managers)],
        actions=[
            kc.Action("prepare", lambda s, r: become(s, r, Manager.PREPARED), lambda s, r: has(s, r, Manager.WORKING),
                      one),
            kc.Action("commit", lambda s, r: become(s, r, Manager.COMMITTED), may_commit, one),
            kc.Action("abort", lambda s, r: become(s, r, Manager.ABORTED), may_abort, one),
        ],
        quiescent=lambda s: kc.all_of(*(has(s, m, Manager.COMMITTED, Manager.ABORTED) for m in everyone)),
    )  # fmt: skip


def lemmas(managers: int) -> list[kc.Property]:
    """What messages and decisions say of managers; with it, that two-phase commit refines commit is inductive."""
    everyone = range(managers)
    steady = (Manager.PREPARED, Manager.COMMITTED)

    def each(claim: Any) -> Any:
        return lambda s: kc.each(everyone, lambda r: claim(s, r))

    def said(s: Any, r: int) -> kc.Truth:
        still = kc.any_of(*(s.manager[r] == state for state in steady))
        return kc.implies(s.messages.has(r), kc.any_of(still, s.messages.has("abort")))

    def unanimous(s: Any) -> kc.Truth:
        return kc.implies(s.messages.has("commit"), kc.all_of(
            s.coordinator == Coordinator.COMMITTED, kc.each(everyone, s.prepared.has)))  # fmt: skip

    return [
        kc.always("heard", "who is heard has spoken", each(
            lambda s, r: kc.implies(s.prepared.has(r), s.messages.has(r)))),
        kc.always("said", "who has said so is prepared, or heard of the end", each(said)),
        kc.always("ready", "who has said so works no more", each(
            lambda s, r: kc.implies(s.messages.has(r), s.manager[r] != Manager.WORKING))),
        kc.always("unanimous", "a commit is decided, and everybody was heard", unanimous),
        kc.always("aborted", "an abort is decided",
                  lambda s: kc.implies(s.messages.has("abort"), s.coordinator == Coordinator.ABORTED)),
        kc.always("told", "who commits was told to", each(
            lambda s, r: kc.implies(s.manager[r] == Manager.COMMITTED, s.messages.has("commit")))),
    ]  # fmt: skip


def refining(managers: int, faulty: bool = False) -> kc.System:
    """Two-phase commit with the claim that it refines transaction commit."""
    concrete = two_phase(managers, faulty)
    claims = kc.refines("refines-commit", "each step is one of transaction commit, or none", commit(managers),
                        lambda s: State(s.manager))  # fmt: skip
    return evolve(concrete, properties=[*concrete.properties(concrete.setting()), *claims], lemmas=lemmas(managers))


COMMIT = commit(3)
REFINING = refining(3)
FAULTY = refining(3, faulty=True)
