"""A system traced into terms: what the compiled engines and the provers read.

Each action kind is traced once with symbolic state and symbolic arguments;
the argument values are a table that the engine loops over.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from kraftcheck.model.language.layout import Layout
from kraftcheck.model.language.symmetry import SymmetryFields
from kraftcheck.model.language.system import LIVENESS, Action, FairSteps, Property, Setting, System, several
from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.model.nearest import nearest

if TYPE_CHECKING:
    from kraftcheck.solvers.program.orders import Orders


@frozen
class FairConstraint:
    """A fairness constraint, traced."""

    steps: FairSteps
    instances: tuple[int, ...]  # numbers of the action instances whose steps it is about
    excused: Term  # truth that none of them need be taken

    @property
    def strong(self) -> bool:
        """Whether it is strong fairness."""
        return self.steps.fairness.strong


@frozen
class LivenessClaim:
    """A liveness property, traced."""

    claim: Property
    premise: Term  # truth that a state begins the wait for the goal: of `leads_to` its premise, of the others true
    goal: Term
    constraints: tuple[int, ...]  # numbers of the constraints that every behaviour satisfies which it is about


@frozen
class LivenessClaims:
    """The liveness properties of a program."""

    claims: tuple[LivenessClaim, ...] = ()
    constraints: tuple[FairConstraint, ...] = field(default=())  # what is fair, of the system and of single properties

    @property
    def terms(self) -> tuple[Term, ...]:
        """The truths of a state that a search needs: premise and goal of each claim, then the excuses."""
        about = [term for claim in self.claims for term in (claim.premise, claim.goal)]
        return (*about, *(constraint.excused for constraint in self.constraints))

    def described(self) -> str:
        """The fairness of a system and the claims that depend on it, as text: equal for the same behaviours."""
        fair = [(one.steps.name, one.instances) for one in self.constraints]
        return f"{fair} {[(one.claim.kind, one.claim.id, one.constraints) for one in self.claims]}"


NO_LIVENESS = LivenessClaims()  # those of a system without any


MAX_RECOVERS = 21  # a state's mark has three bits for each, in 64


@frozen
class RecoversClaim:
    """A `recovers` property, traced."""

    claim: Property
    when: Term  # truth that a state is concerned
    goal: Term  # truth that a state satisfies it
    allowed: tuple[bool, ...]  # for each action instance whether the way out may use it


def mark_bytes(claims: int) -> int:
    """Bytes of a state's mark in the backward search: three bits for each `recovers` property."""
    return next(size for size in (0, 1, 2, 4, 8) if 3 * claims <= 8 * size)


def recovery_action_bits(claims: Sequence[RecoversClaim], instances: int) -> tuple[int, ...]:
    """For each action instance the bits of a mark that flow back through it: "reaches" and "leaves" where it may."""
    n = len(claims)
    return tuple(
        sum((1 << number) | (1 << n + number) for number, claim in enumerate(claims) if claim.allowed[row])
        for row in range(instances)
    )


def recovery_actions(claim: Property) -> str:
    """The actions of a property's way out in words; empty: every action."""

    def described(restriction: Mapping[str, Any]) -> str:
        arguments = (f"{name}={' or '.join(map(str, several(value)))}" for name, value in restriction.items())
        return f"({', '.join(arguments)})" if restriction else ""

    return ", ".join(name + described(restriction) for name, restriction in claim.by.items())


def unknown_recovery_action(claim: Property, actions: Sequence[Action]) -> str | None:
    """A name in a property's way out that the system does not have, with the nearest names; None where all exist."""
    by_name = {action.name: action for action in actions}
    for name, restriction in claim.by.items():
        if name not in by_name:
            return f"property {claim.id}: its way out names the action {name!r}; {nearest(name, by_name)}"
        parameters = by_name[name].parameters
        for argument, value in restriction.items():
            if argument not in parameters:
                hint = nearest(argument, parameters)
                return f"property {claim.id}: action {name} has no argument {argument!r}; {hint}"
            for item in value if isinstance(value, tuple) else (value,):
                if item not in parameters[argument]:
                    return f"property {claim.id}: action {name} never has {argument} = {item!r}"
    return None


@frozen
class Reduction:
    """The symmetries of a traced system."""

    fields: tuple[SymmetryFields, ...]  # each symmetry with its places in the layout, in the order they are applied
    canonical: tuple[Term, ...]  # for each layout slot, the leaf of the state that stands for a state
    proof: str = ""  # what was proven of the symmetries, in a line; empty where they are compared by samples only


KINDS = ("always", "step", "sometimes", "happens", "recovers", *LIVENESS)  # kinds of property
MAX_INSTANCES = 65_535  # action instances are numbered in 16 bits


@frozen
class Kind:
    """One action kind, traced."""

    action: Action
    first: int  # number of its first instance among all instances
    instances: tuple[Mapping[str, Any], ...]  # argument values by name, one mapping for each instance
    variables: tuple[Term, ...]  # argument leaves as terms
    allowed: Mapping[str, Term]  # for each parameter the truth that its argument is one of its values; only for provers
    arguments: Mapping[str, Any]  # the arguments as records of those terms
    table: tuple[tuple[int, ...], ...]  # for each instance, the value of each argument leaf
    guard: Mapping[str, Term]  # named conjuncts
    after: tuple[Term, ...]  # for each layout slot, the leaf after the effect
    unchecked: tuple[int, ...]  # slots whose new value may leave the domain
    # for each step property its truth on this transition, then for each `happens` goal the truth that this transition
    # does not show it
    steps: tuple[Term, ...]
    says: tuple[Term, ...] = ()  # for each step property the truth that it says something of this transition


@frozen
class Premise:
    """What shows that a property says something."""

    goal: str  # id of the goal that a state or step is reached of which it does; empty: the domains exclude them all
    reason: str  # what is to be said where it is not shown


@frozen
class Program:
    """A system at a setting, traced."""

    # system, setting, layout: what was traced
    system: System
    setting: Setting
    layout: Layout
    graph: Graph  # holds every term
    state: tuple[Term, ...]  # state leaves as terms, one for each layout slot
    kinds: tuple[Kind, ...]  # the action kinds in order
    # always, steps, sometimes, happens: the properties of each kind, in order
    always: tuple[Property, ...]
    steps: tuple[Property, ...]
    sometimes: tuple[Property, ...]
    happens: tuple[Property, ...]
    # always_terms, sometimes_terms: their truths, of the state
    always_terms: tuple[Term, ...]
    sometimes_terms: tuple[Term, ...]
    quiescent: Term  # truth that the state may have no successor
    recovers: tuple[RecoversClaim, ...]  # the `recovers` properties
    initial: tuple[tuple[int, ...], ...]  # packed initial states, distinct, sorted
    liveness: LivenessClaims = NO_LIVENESS  # the properties about fair behaviours, and what is fair
    reduction: Reduction | None = None  # the symmetries by which states are reduced, see `symmetry.reduced`
    # what is described of initial states by name, where the system does not list them
    initially: Mapping[str, Term] = field(factory=dict)
    within: Term | None = None  # truth that explorers go on from the state; None where the system has no constraint
    # for properties that claim something of initial states, by id, that truth of the state
    starts: Mapping[str, Term] = field(factory=dict)
    orders: Orders | None = None  # the independence by which orders are left out, see `independence.by_orders`
    # for properties that say something of some states or steps only, by id, what shows one of them; see
    # `kraftcheck.solvers.program.premises`. Their goals are the last of `sometimes` and `happens`.
    premises: Mapping[str, Premise] = field(factory=dict)
    # ids of the properties that hold, with a warning, where nothing shows a premise: those of shipped systems, of which
    # other scopes and rule sets show it
    lenient: frozenset[str] = frozenset()

    @property
    def claims(self) -> tuple[Property, ...]:
        """Every property of the system, without the goals that show premises."""
        over_states = (*self.always, *self.steps, *self.sometimes, *self.happens)
        added = {premise.goal for premise in self.premises.values()}
        over_states = tuple(one for one in over_states if one.id not in added)
        return (*over_states, *(r.claim for r in self.recovers), *(one.claim for one in self.liveness.claims))

    @property
    def instances(self) -> int:
        """Number of action instances of all kinds."""
        return sum(len(kind.instances) for kind in self.kinds)

    def instance(self, number: int) -> tuple[Action, Mapping[str, Any]]:
        """The action and arguments of an instance number."""
        for kind in self.kinds:
            if number < kind.first + len(kind.instances):
                return kind.action, kind.instances[number - kind.first]
        raise IndexError(f"action instance {number} of {self.instances}")

    def digest(self) -> str:
        """SHA-256 of everything an engine compiles: graph, roles of its terms, tables, layout."""
        text = hashlib.sha256()
        for node in self.graph.nodes:
            text.update(f"{node.op} {node.value} {node.lo} {node.hi} {[a.index for a in node.args]}\n".encode())
        for kind in self.kinds:
            groups = (kind.variables, kind.guard.values(), kind.after, kind.steps)
            text.update(f"{_indices(groups)} {kind.unchecked} {kind.table}\n".encode())
        claims = (self.state, self.always_terms, self.sometimes_terms, (self.quiescent,))
        text.update(f"{_indices(claims)} {len(self.steps)} {self.layout.slots}".encode())
        for claim in self.recovers:
            text.update(f"{claim.when.index} {claim.goal.index} {claim.allowed}".encode())
        if self.liveness.claims:
            text.update(f"liveness {[term.index for term in self.liveness.terms]}".encode())
        if self.reduction is not None:
            text.update(f"least {_indices([self.reduction.canonical])}".encode())
        if self.orders is not None:
            text.update(self.orders.described().encode())
        return text.hexdigest()


def _indices(groups: Iterable[Iterable[Term]]) -> list[list[int]]:
    """The terms of each group by index; groups stay apart, for a term's role matters."""
    return [[term.index for term in group] for group in groups]
