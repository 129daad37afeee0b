"""The theory of a system: its claims about every state and every transition, as terms to be proven.

A theory is a system traced with free arguments. Besides the truths of its
invariants now it holds, for each action, their truths after the action.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

from attrs import evolve, field, frozen

from kraftcheck.model.language.layout import Endless, Layout
from kraftcheck.model.language.system import ANY, LIVENESS, Property, Setting, Step, System
from kraftcheck.model.language.terms import Term
from kraftcheck.model.nearest import nearest
from kraftcheck.properties.kinds import STAYS
from kraftcheck.solvers.program.parts import SystemFault, claims_of
from kraftcheck.solvers.program.program import Kind, Program
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.smt.reading.goals.outcomes import OF_ANY_OUTCOME, AnyOutcome

INITIATION = "initially"  # stands for the action in obligations about initial states
DOMAINS = ("domains",)  # id of the built-in claim that no field leaves its domain


@frozen
class Theory:
    """A system with its invariants, lemmas and step properties, traced for provers."""

    # the traced system; its step properties are the theory's own and, for each invariant, that it stays
    program: Program
    invariants: tuple[Property, ...]  # the `always` properties and the lemmas
    lemmas: frozenset[str]  # ids of the lemmas among them
    steps: tuple[Property, ...]  # the step properties
    # properties about fair behaviours, which bounded runs look for lassos of; proofs have none
    liveness: tuple[Property, ...] = ()
    outcome: AnyOutcome | None = None  # makes steps of any outcome; None where no claim is about these
    _positions: Mapping[str, int] = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        """Note where the program keeps each claim."""
        names = [claim.id.removesuffix(STAYS) for claim in self.program.steps]
        object.__setattr__(self, "_positions", {name: place for place, name in enumerate(names)})

    @property
    def claims(self) -> tuple[Property, ...]:
        """Everything to be proven: invariants, then step properties; then liveness."""
        return (*self.invariants, *self.steps, *self.liveness)

    @property
    def endless(self) -> bool:
        """Whether a state has a sequence without end."""
        return any(isinstance(slot.domain, Endless) for slot in self.program.layout.slots)

    def claim(self, name: str) -> Property:
        """A claim by its id; raises KeyError for another id."""
        return {claim.id: claim for claim in self.claims}[name]

    def state_truths(self) -> dict[str, Term]:
        """Each invariant's truth of the state."""
        return {p.id: term for p, term in zip(self.program.always, self.program.always_terms, strict=True)}

    def start_truth(self, claim: str) -> Term:
        """The truth of a claim about initial states: an invariant, or what a step property claims of them."""
        return self.program.starts[claim] if claim in self.program.starts else self.state_truths()[claim]

    def step_truth(self, kind: Kind, claim: str) -> Term:
        """The truth of a claim about a transition of an action: a step property, or an invariant after it."""
        return kind.steps[self._positions[claim.removesuffix(STAYS)]]

    def rests_on_steps(self, claim: Property) -> list[str]:
        """The claims about steps that an invariant rests on: lemmas, and that invariants stay.

        None where nothing is decided: then there are no steps of any outcome.
        """
        if self.outcome is None:
            return []
        return _of_steps(claim, [*(step.id for step in self.steps), *(of.id + STAYS for of in self.invariants)])

    def outcome_truth(self, kind: Kind, claim: str) -> Term:
        """As `step_truth`, of a step of which only lemmas say what it decides."""
        return kind.steps[self._positions[claim + OF_ANY_OUTCOME]]


def theory(system: System, setting: Setting, use_lemmas: bool = True, use_liveness: bool = False) -> Theory:
    """The theory of a system at a setting.

    Args:
        system, setting: what to prove; goals are left out.
        use_lemmas: whether the system's lemmas are claims too.
        use_liveness: whether its properties about fair behaviours are.

    Raises:
        SystemFault, UntraceableRule, LayoutError: as `trace` does; SystemFault also where a claim follows from itself.
    """
    properties = claims_of("properties", system.properties, setting)
    lemmas = claims_of("lemmas", system.lemmas, setting) if use_lemmas else ()
    invariants = tuple(p for p in (*properties, *lemmas) if p.kind == "always")
    steps = tuple(p for p in (*properties, *lemmas) if p.kind == "step")
    live = tuple(p for p in properties if use_liveness and p.kind in LIVENESS)
    check_consequences(invariants)
    check_names([claim.id for claim in (*properties, *lemmas)], [])
    outcome = _outcome(system, setting)
    loose = [] if outcome is None else [outcome.claim(claim) for claim in _resting_on_steps(invariants, steps)]
    claims = (*invariants, *steps, *map(stays, invariants), *loose, *live)
    program = trace(evolve(system, properties=lambda _: claims), setting, free=True)
    check_names([], [kind.action.name for kind in program.kinds])
    return Theory(program, invariants, frozenset(lemma.id for lemma in lemmas), steps, live, outcome)


def _outcome(system: System, setting: Setting) -> AnyOutcome | None:
    """What makes steps of any outcome; None but for any number of participants, or where nothing is decided."""
    if not system.decided or ANY not in setting.bounds.values():
        return None
    layout = Layout(system.layout(setting), packed=False)
    paths = [slot.path for slot in layout.slots]
    for name in system.decided:
        if not any(path == name or path.startswith((f"{name}.", f"{name}[")) for path in paths):
            raise SystemFault(f"{system.name}: {name!r} is decided, and no field; {nearest(name, paths)}")
    return AnyOutcome(layout, system.decided)


def _resting_on_steps(invariants: Sequence[Property], steps: Sequence[Property]) -> list[Property]:
    """The invariants that rest on claims about steps, and these."""
    about_steps = {step.id: step for step in (*steps, *map(stays, invariants))}
    resting = [claim for claim in invariants if _of_steps(claim, about_steps)]
    names = dict.fromkeys(name for claim in resting for name in _of_steps(claim, about_steps))
    return [*resting, *(about_steps[name] for name in names)]


def _of_steps(claim: Property, steps: Collection[str]) -> list[str]:
    """The claims about steps that an invariant rests on, among some."""
    return [*dict.fromkeys(name for group in claim.rests_on for name in group if name in steps)]


def check_names(claims: Iterable[str], actions: Iterable[str]) -> None:
    """Raise a SystemFault for a claim or an action named as provers name what they ask besides."""
    for claim in claims:
        if claim in DOMAINS or claim.endswith((STAYS, OF_ANY_OUTCOME)):
            raise SystemFault(f"property {claim!r}: provers name claims of their own so; rename it")
    for action in actions:
        if action == INITIATION:
            raise SystemFault(f"action {action!r}: provers name initial states so; rename it")


def check_consequences(invariants: Sequence[Property]) -> None:
    """Raise a SystemFault where an invariant follows from itself, at any remove: then nothing would be proven of it."""
    premises = {claim.id: claim.follows_from for claim in invariants}
    try:
        TopologicalSorter(premises).prepare()
    except CycleError as error:
        around = " <- ".join(error.args[1])
        raise SystemFault(f"invariants that follow from each other prove nothing: {around}; leave one of them out "
                          "of `follows_from`") from error  # fmt: skip


def stays(claim: Property) -> Property:
    """The step property that an invariant holds after the step."""

    def predicate(step: Step) -> Any:
        return claim.predicate(step.after)

    return Property(claim.id + STAYS, "step", claim.sentence, predicate)
