"""Systems whose numbers of states are known, which the benchmark and the tests explore."""

from __future__ import annotations

from typing import Any

from attrs import evolve, frozen

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.layout import Flag, Range, subset_of
from kraftcheck.model.language.symmetry import Symmetry
from kraftcheck.model.language.system import Action, Bound, Property, Setting, System
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, negate
from kraftcheck.properties.kinds import eventually, recovers, weak_fairness


@frozen
class TwoPhaseCommit:
    """Two-phase commit: resource managers' states as sets (in none of them: working), and the messages sent."""

    prepared: BrokerSet
    committed: BrokerSet
    aborted: BrokerSet
    manager: Word
    heard: BrokerSet
    promised: BrokerSet
    commit_sent: Truth
    abort_sent: Truth


INIT, COMMITTED, ABORTED = 0, 1, 2


def _working(state: TwoPhaseCommit, rm: Word) -> Truth:
    return negate(state.prepared.plus(state.committed).plus(state.aborted).has(rm))


def _become(state: TwoPhaseCommit, rm: Word, **joined: bool) -> dict[str, Any]:
    """The three sets after a resource manager moved into one of them."""
    one = state.prepared.just(rm)
    return {
        name: getattr(state, name).plus(one) if joined.get(name) else getattr(state, name).minus(one)
        for name in ("prepared", "committed", "aborted")
    }


def _prepare(state: TwoPhaseCommit, rm: Word) -> TwoPhaseCommit:
    return evolve(state, **_become(state, rm, prepared=True), promised=state.promised.plus(state.promised.just(rm)))


def _commit_actions(setting: Setting, patient: bool) -> list[Action]:
    everyone = BrokerSet((1 << setting["managers"]) - 1)
    rm = {"rm": list(range(setting["managers"]))}

    def all_heard(state: TwoPhaseCommit) -> dict[str, Truth]:
        heard = state.heard.same(everyone) if patient else state.heard.size() >= setting["managers"] - 1
        return {"undecided": state.manager == INIT, "all are prepared": heard}

    return [
        Action(
            "TMRcvPrepared",
            guard=lambda s, rm: {
                "undecided": s.manager == INIT,
                "rm promised": s.promised.has(rm),
                "news": negate(s.heard.has(rm)),
            },
            effect=lambda s, rm: evolve(s, heard=s.heard.plus(s.heard.just(rm))),
            parameters=rm,
        ),
        Action("TMCommit", guard=all_heard, effect=lambda s: evolve(s, manager=COMMITTED, commit_sent=True)),
        Action(
            "TMAbort", guard=lambda s: s.manager == INIT, effect=lambda s: evolve(s, manager=ABORTED, abort_sent=True)
        ),
        Action("RMPrepare", guard=_working, effect=_prepare, parameters=rm),
        Action(
            "RMChooseToAbort",
            guard=_working,
            effect=lambda s, rm: evolve(s, **_become(s, rm, aborted=True)),
            parameters=rm,
        ),
        Action(
            "RMRcvCommitMsg",
            guard=lambda s, rm: {"commit sent": s.commit_sent, "news": negate(s.committed.has(rm))},
            effect=lambda s, rm: evolve(s, **_become(s, rm, committed=True)),
            parameters=rm,
        ),
        Action(
            "RMRcvAbortMsg",
            guard=lambda s, rm: {"abort sent": s.abort_sent, "news": negate(s.aborted.has(rm))},
            effect=lambda s, rm: evolve(s, **_become(s, rm, aborted=True)),
            parameters=rm,
        ),
    ]


def _commit_layout(setting: Setting) -> TwoPhaseCommit:
    some: Any = BrokerSet(subset_of(setting["managers"]))
    return TwoPhaseCommit(some, some, some, Range(0, 2), some, some, Flag(), Flag())  # type: ignore[arg-type]


def _consistent(state: TwoPhaseCommit) -> dict[str, Truth]:
    return {"no one aborted or no one committed": any_of(state.aborted.is_empty(), state.committed.is_empty())}


def two_phase(patient: bool) -> System:
    """The protocol; one that is not patient commits when the promise of one manager is still missing."""
    none = BrokerSet(0)
    return System(
        name="two-phase-commit" if patient else "hasty-commit",
        # "news" leaves out what the spec allows as self-loops: receiving a message again (45.9 M of them for N = 9).
        summary="Gray and Lamport's two-phase commit" + ("." if patient else ", committing one promise too early."),
        initial=lambda setting: [TwoPhaseCommit(none, none, none, INIT, none, none, False, False)],
        layout=_commit_layout,
        actions=lambda setting: _commit_actions(setting, patient),
        properties=lambda setting: [
            Property(
                "consistent", "always", "None aborts where another commits.", _consistent, "TwoPhase.tla, TCConsistent"
            ),
            Property("committed", "sometimes", "Someone commits.", lambda state: negate(state.committed.is_empty())),
        ],
        scopes={"3": {"managers": 3}, "5": {"managers": 5}, "7": {"managers": 7}, "9": {"managers": 9}},
        bounds=(Bound("managers", 1, 10, "Number of resource managers."),),
        quiescent=lambda state: state.manager != INIT,
        symmetries=lambda setting: [
            Symmetry("managers", setting["managers"], ("prepared", "committed", "aborted", "heard", "promised"))
        ],
    )


TWO_PHASE = two_phase(patient=True)

RECOVERING = evolve(TWO_PHASE, properties=lambda setting: (
    recovers("decided", "every manager can decide",
             lambda s: s.committed.plus(s.aborted).size() == setting["managers"]),
    recovers("undecided", "the decision can be taken back", lambda s: s.manager == 0),
))  # fmt: skip
"""Two-phase commit with a claim that holds after a long way, and one that most states never satisfy again."""


@frozen
class Can:
    """Beans of two colours."""

    black: Word
    white: Word


def _coffee_can(*, fair: bool) -> System:
    """Two beans are taken out and one is put in; from everywhere one bean can be reached, and is if steps are fair."""
    actions = [
        Action("same_black", lambda s: evolve(s, black=s.black - 1), lambda s: s.black >= 2),
        Action("same_white", lambda s: Can(s.black + 1, s.white - 2), lambda s: s.white >= 2),
        Action("different", lambda s: evolve(s, black=s.black - 1), lambda s: all_of(s.black >= 1, s.white >= 1)),
    ]
    claim = eventually if fair else recovers

    def cans(beans: int) -> list[Can]:
        return [Can(b, w) for b in range(beans + 1) for w in range(beans + 1) if 1 <= b + w <= beans]

    def layout(setting: Setting) -> Any:
        return Can(Range(0, setting["beans"]), Range(0, setting["beans"]))  # type: ignore[arg-type]

    return System(
        name="coffee-can", summary="Beans in a can.", initial=lambda setting: cans(setting["beans"]), layout=layout,
        actions=actions, properties=[claim("one-is-left", "One bean is left.", lambda s: s.black + s.white == 1)],
        scopes={"1000": {"beans": 1000}}, bounds=(Bound("beans", 1, 1000, "Most beans."),),
        fairness=[weak_fairness(*(action.name for action in actions))] if fair else [],
        quiescent=lambda s: s.black + s.white == 1,
    )  # fmt: skip


COFFEE_CAN = _coffee_can(fair=False)
FAIR_CAN = _coffee_can(fair=True)
