"""Constructors of properties, and the checks that keep a catalogue honest.

Liveness is in the terms of TLA+ and LTL. A behaviour begins in an initial state and never ends: each of its steps is
one of the system, or stutters. So it may stop anywhere, unless fairness forbids that; a state without successors
stutters for ever. A behaviour is fair when it satisfies every `Fairness` of the system and of the property, whose
formulas are in `kraftcheck.model.language.system`.

>>> always("small", "n stays below 5", lambda s: s < 5, refuted_by=("off-by-one",)).kind
'always'
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from attrs import evolve

from kraftcheck.model.language.system import LIVENESS, Action, Conjuncts, Fairness, Property, Setting, Step, System
from kraftcheck.model.language.terms import Truth

Predicate = Callable[[Any], Truth | Conjuncts]  # a truth of a state

Names = tuple[str, ...]


class CatalogueError(ValueError):
    """A catalogue with a duplicate, unknown or unfalsifiable entry."""


STAYS = " stays"
"""Suffix of the id of an invariant that names the claim that it holds after the step, among what another rests on."""


def always(
    id: str, sentence: str, predicate: Predicate, source: str = "",  # noqa: A002
    refuted_by: Names = (), rules: Names = (), *, case: str = "", rests_on: tuple[Names, ...] = (),
    follows_from: Names = (),
) -> Property:  # fmt: skip
    """An invariant: the predicate holds in every reachable state.

    It is vacuous where no state shows the goal with the id `case`: for `implies(p, q)`, a goal `sometimes` of `p`.
    Parts of a proof about any number may assume only one group of invariants that it `rests_on`, by their ids; lemmas
    about steps are proven first, as is that an invariant stays (its id and STAYS). Those that it `follows_from` imply
    it in the same state; then such a proof shows just that, and is asked of no action.
    """
    return Property(
        id, "always", sentence, predicate, source, refuted_by=refuted_by, rules=rules, case=case, rests_on=rests_on,
        follows_from=follows_from,
    )  # fmt: skip


def step(
    id: str, sentence: str, predicate: Callable[[Step], Truth | Conjuncts], source: str = "",  # noqa: A002
    refuted_by: Names = (), rules: Names = (),
) -> Property:  # fmt: skip
    """An action property: the predicate holds of every reachable transition."""
    return Property(id, "step", sentence, predicate, source, refuted_by=refuted_by, rules=rules)


def sometimes(id: str, sentence: str, predicate: Predicate, source: str = "") -> Property:  # noqa: A002
    """A goal: some reachable state satisfies the predicate, else the run is vacuous."""
    return Property(id, "sometimes", sentence, predicate, source)


def happens(id: str, sentence: str, predicate: Callable[[Step], Truth | Conjuncts], source: str = "") -> Property:  # noqa: A002
    """A goal: some reachable transition satisfies the predicate, else the run is vacuous."""
    return Property(id, "happens", sentence, predicate, source)


def recovers(
    id: str, sentence: str, predicate: Predicate, source: str = "",  # noqa: A002
    refuted_by: Names = (), rules: Names = (), *, when: Predicate | None = None,
    by: Mapping[str, Mapping[str, Any]] | None = None,
) -> Property:  # fmt: skip
    """It can always heal: from every reachable state some run leads to a state that satisfies the predicate.

    In CTL: AG (when -> EF predicate), where the runs after EF use only the actions
    in `by` (name to the argument values that it must have). Name there what heals
    without end, such as unfencing: then a way out never rests on a budget, or on an
    operator who gives the data up.
    """
    return Property(
        id, "recovers", sentence, predicate, source, refuted_by=refuted_by, when=when, by=by or {}, rules=rules
    )


def weak_fairness(
    *actions: str, each: Sequence[str] = (), having: Mapping[str, Any] | None = None,
    unless: Callable[..., Truth] | None = None,
) -> Fairness:  # fmt: skip
    """`WF_v(A)`, which is `[]<>~ENABLED <A>_v  \\/  []<><A>_v`: an action that stays enabled is taken.

    Args:
        actions: its name; of several actions a step of any will do, as in `WF_v(A \\/ B)`.
        each: the arguments for each of whose values it is fair by itself: `each=["broker"]` is
            `\\A broker: WF_v(A(broker))`. Without, it is `WF_v(\\E broker: A(broker))`.
        having: the values that arguments must have; a tuple: one of them.
        unless: `(state, **each)`: while it holds, the action need not be taken: `WF_v(A /\\ ~unless)`.
    """
    return Fairness(actions, False, (each,) if isinstance(each, str) else tuple(each), having or {}, unless)


def strong_fairness(
    *actions: str, each: Sequence[str] = (), having: Mapping[str, Any] | None = None,
    unless: Callable[..., Truth] | None = None,
) -> Fairness:  # fmt: skip
    """`SF_v(A)`, which is `<>[]~ENABLED <A>_v  \\/  []<><A>_v`: an action enabled again and again is taken.

    The arguments are those of `weak_fairness`.
    """
    return Fairness(actions, True, (each,) if isinstance(each, str) else tuple(each), having or {}, unless)


def fair_to_each(actions: Iterable[Action], names: Collection[str]) -> list[Fairness]:
    """Weak fairness of each instance of the actions with these names: what stays enabled is taken, for all arguments.

    A name that no action has is left out: a setting may lack what is fair elsewhere.
    """
    return [weak_fairness(action.name, each=tuple(action.parameters)) for action in actions if action.name in names]


def fair_system(
    system: System, summary: str, properties: Callable[[Setting], Sequence[Property]],
    fairness: Callable[[Setting], Sequence[Fairness]],
) -> System:  # fmt: skip
    """A system with its liveness alone, under the name `fair-...`; symmetry and fairness do not go together.

    Args:
        summary: what is said of the system's name.
        properties, fairness: what finally comes about, and what is taken to be fair, at a setting.
    """
    return evolve(
        system, name=f"fair-{system.name}", summary=f"{system.name}, {summary}", properties=properties,
        fairness=fairness, symmetries=lambda setting: (),
    )  # fmt: skip


def eventually(
    id: str, sentence: str, predicate: Predicate, source: str = "",  # noqa: A002
    refuted_by: Names = (), rules: Names = (), *, fairness: Sequence[Fairness] = (),
) -> Property:  # fmt: skip
    """`<>p` (LTL: F p): in every fair behaviour some state satisfies the predicate."""
    return Property(id, "eventually", sentence, predicate, source, refuted_by, rules=rules, fairness=tuple(fairness))


def leads_to(
    id: str, sentence: str, premise: Predicate, predicate: Predicate, source: str = "",  # noqa: A002
    refuted_by: Names = (), rules: Names = (), *, fairness: Sequence[Fairness] = (),
) -> Property:  # fmt: skip
    """`p ~> q`, which is `[](p => <>q)` (LTL: G (p -> F q)).

    In every fair behaviour a state that satisfies the premise satisfies the predicate, or a later one does.
    """
    return Property(id, "leads_to", sentence, predicate, source, refuted_by=refuted_by, when=premise, rules=rules,
                    fairness=tuple(fairness))  # fmt: skip


def always_eventually(
    id: str, sentence: str, predicate: Predicate, source: str = "",  # noqa: A002
    refuted_by: Names = (), rules: Names = (), *, fairness: Sequence[Fairness] = (),
) -> Property:  # fmt: skip
    """`[]<>p` (LTL: G F p): in every fair behaviour the predicate is true again and again."""
    return Property(
        id, "always_eventually", sentence, predicate, source, refuted_by, rules=rules, fairness=tuple(fairness)
    )


def eventually_always(
    id: str, sentence: str, predicate: Predicate, source: str = "",  # noqa: A002
    refuted_by: Names = (), rules: Names = (), *, fairness: Sequence[Fairness] = (),
) -> Property:  # fmt: skip
    """`<>[]p` (LTL: F G p): in every fair behaviour the predicate is true from some state on."""
    return Property(
        id, "eventually_always", sentence, predicate, source, refuted_by, rules=rules, fairness=tuple(fairness)
    )


def validate(properties: Iterable[Property], variants: Collection[str]) -> tuple[Property, ...]:
    """The properties, if they form an honest catalogue.

    A refuting variant may be a combination, `a+b`, where `a` alone cannot be reached.

    Raises:
        CatalogueError: for a duplicate id, an unknown variant, or a
            claim that no variant refutes.
    """
    listed = tuple(properties)
    seen: set[str] = set()
    for claim in listed:
        if claim.id in seen:
            raise CatalogueError(f"property {claim.id} is listed twice")
        seen.add(claim.id)
        unknown = [n for variant in claim.refuted_by for n in variant.split("+") if n not in variants]
        if unknown:
            raise CatalogueError(f"property {claim.id} names the unknown variant {unknown[0]}")
        if claim.kind in ("always", "step", "recovers", *LIVENESS) and not claim.refuted_by:
            raise CatalogueError(f"property {claim.id} names no variant that refutes it: it may not be able to fail")
    return listed
