"""What a transaction commit is, without a protocol: TCommit of the TLA+ Examples."""

from typing import Any

from attrs import evolve, frozen

import kraftcheck as kc
from tests.examples.paxos_commit import Manager

EVERYONE = range(3)


@frozen
class Managers:
    """The state of each resource manager."""

    manager: tuple[kc.Word, ...]


def become(state: Manager) -> Any:
    """The effect that a manager goes to a state."""
    return lambda s, r: evolve(s, manager=kc.put(s.manager, r, state))


def may_commit(s: Managers, r: kc.Word) -> kc.Truth:
    """All are prepared or have committed, and this one is prepared."""
    ready = kc.each(s.manager, lambda m: kc.any_of(m == Manager.PREPARED, m == Manager.COMMITTED))
    return kc.all_of(kc.get(s.manager, r) == Manager.PREPARED, ready)


def may_abort(s: Managers, r: kc.Word) -> kc.Truth:
    """None has committed, and this one has not decided."""
    own = kc.get(s.manager, r)
    undecided = kc.any_of(own == Manager.WORKING, own == Manager.PREPARED)
    return kc.all_of(undecided, kc.each(s.manager, lambda m: m != Manager.COMMITTED))


T_COMMIT = kc.System(
    name="t-commit",
    summary="What a transaction commit is.",
    layout=Managers((Manager.domain(),) * 3),
    initial=[Managers((Manager.WORKING,) * 3)],
    actions=[
        kc.Action("prepare", become(Manager.PREPARED), lambda s, r: kc.get(s.manager, r) == Manager.WORKING,
                  {"r": EVERYONE}),
        kc.Action("commit", become(Manager.COMMITTED), may_commit, {"r": EVERYONE}),
        kc.Action("abort", become(Manager.ABORTED), may_abort, {"r": EVERYONE}),
    ],
    properties=[
        kc.always("consistent", "no manager commits while another aborts", lambda s: kc.negate(kc.all_of(
            kc.some(s.manager, lambda m: m == Manager.COMMITTED), kc.some(s.manager, lambda m: m == Manager.ABORTED)))),
        kc.sometimes("commits", "every manager commits",
                     lambda s: kc.each(s.manager, lambda m: m == Manager.COMMITTED)),
    ],
    quiescent=lambda s: True,
)  # fmt: skip
