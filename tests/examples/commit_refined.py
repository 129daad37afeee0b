"""Two-phase commit refines transaction commit: TwoPhase and TCommit of the TLA+ Examples."""

from typing import Any

from attrs import evolve

import kraftcheck as kc
from tests.examples.t_commit import T_COMMIT, Managers
from tests.examples.two_phase import Coordinator, Manager, two_phase

MANAGERS = 3  # as many as transaction commit has


def lemmas() -> list[kc.Property]:
    """What messages and decisions say of managers; with it, that two-phase commit refines commit is inductive."""
    everyone = range(MANAGERS)
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


def refining(faulty: bool = False) -> kc.System:
    """Two-phase commit with the claim that it refines transaction commit."""
    concrete = two_phase(MANAGERS, faulty)
    claims = kc.refines("refines-commit", "each step is one of transaction commit, or none", T_COMMIT,
                        lambda s: Managers(s.manager))  # fmt: skip
    return evolve(concrete, properties=[*concrete.properties(concrete.setting()), *claims], lemmas=lemmas())


REFINING = refining()
FAULTY = refining(faulty=True)
