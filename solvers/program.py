"""A system traced into terms: what the compiled engines and the provers read.

Each action kind is traced once with symbolic state and symbolic arguments;
the argument values are a table that the engine loops over.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import frozen

from model.initially import Anything, Filled
from model.layout import UNBOUNDED, Domain, DomainError, Endless, Flag, Layout, LayoutError, leaves, rebuild
from model.symbolic import described
from model.system import UNNAMED, Action, Outcome, Property, Setting, Step, System
from model.terms import Graph, Term, lower
from solvers.arguments import Choices, SystemFault, free_arguments, listed_arguments
from solvers.parts import ask, check_distinct, check_frozen, check_refusals, same_classes
from solvers.recovery import MAX_RECOVERIES, Recovery, unknown_way
from solvers.reduction import Reduction
from solvers.symbols import named, symbol, word_of
from solvers.truths import Truths

KINDS = ("always", "step", "sometimes", "happens", "recovers")
"""Kinds of property."""

MAX_INSTANCES = 65_535
"""Action instances are numbered in 16 bits."""


@frozen
class Kind:
    """One action kind, traced.

    Attributes:
        action: the action.
        first: number of its first instance among all instances.
        instances: argument values by name, one mapping for each instance.
        variables: argument leaves as terms.
        allowed: for each parameter the truth that its argument is one of its values; only for provers.
        arguments: the arguments as records of those terms.
        table: for each instance, the value of each argument leaf.
        guard: named conjuncts.
        after: for each layout slot, the leaf after the effect.
        unchecked: slots whose new value may leave the domain.
        steps: for each step property its truth on this transition, then for
            each `happens` goal the truth that this transition does not show it.
    """

    action: Action
    first: int
    instances: tuple[Mapping[str, Any], ...]
    variables: tuple[Term, ...]
    allowed: Mapping[str, Term]
    arguments: Mapping[str, Any]
    table: tuple[tuple[int, ...], ...]
    guard: Mapping[str, Term]
    after: tuple[Term, ...]
    unchecked: tuple[int, ...]
    steps: tuple[Term, ...]


@frozen
class Program:
    """A system at a setting, traced.

    Attributes:
        system, setting, layout: what was traced.
        graph: holds every term.
        state: state leaves as terms, one for each layout slot.
        kinds: the action kinds in order.
        always, steps, sometimes, happens: the properties of each kind, in order.
        always_terms, sometimes_terms: their truths, of the state.
        quiescent: truth that the state may have no successor.
        recoveries: the `recovers` properties.
        initial: packed initial states, distinct, sorted.
        reduction: the symmetries by which states are reduced, see `symmetry.reduced`.
    """

    system: System
    setting: Setting
    layout: Layout
    graph: Graph
    state: tuple[Term, ...]
    kinds: tuple[Kind, ...]
    always: tuple[Property, ...]
    steps: tuple[Property, ...]
    sometimes: tuple[Property, ...]
    happens: tuple[Property, ...]
    always_terms: tuple[Term, ...]
    sometimes_terms: tuple[Term, ...]
    quiescent: Term
    recoveries: tuple[Recovery, ...]
    initial: tuple[tuple[int, ...], ...]
    reduction: Reduction | None = None

    @property
    def claims(self) -> tuple[Property, ...]:
        """Every property."""
        return (*self.always, *self.steps, *self.sometimes, *self.happens, *(r.claim for r in self.recoveries))

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
        for one in self.recoveries:
            text.update(f"{one.when.index} {one.goal.index} {one.allowed}".encode())
        if self.reduction is not None:
            text.update(f"least {_indices([self.reduction.least])}".encode())
        return text.hexdigest()


def _indices(groups: Iterable[Iterable[Term]]) -> list[list[int]]:
    """The terms of each group by index; groups stay apart, for a term's role matters."""
    return [[term.index for term in group] for group in groups]


def trace(system: System, setting: Setting, free: bool = False, graph: Graph | None = None) -> Program:
    """Trace a system at a setting.

    Args:
        system, setting: what to trace.
        free: for provers: arguments are free within what `Kind.allowed` says, no
            instances are listed, states are not packed (`initial` has their leaves).
        graph: where to, if not into a new graph.

    Raises:
        SystemFault: when a part of the system raises or has the wrong type or shape.
        UntraceableRule: when a rule needs concrete values; the message names its line.
        LayoutError: when the layout is over 512 bits or malformed.
    """
    layout = Layout(ask("layout", lambda: system.layout(setting)), packed=not free)
    check_frozen("layout", layout.shape)
    properties = tuple(ask("properties", lambda: system.properties(setting)))
    check_distinct("properties", (claim.id for claim in properties))
    truths = Truths(Graph() if graph is None else graph, twice=graph is None)
    graph = truths.graph
    variables, state = _state(graph, layout)
    grouped = {kind: tuple(p for p in properties if p.kind == kind) for kind in KINDS}
    kinds, first = [], 0
    for action in _actions(system, setting):
        choices = free_arguments(action, graph) if free else listed_arguments(action, graph)
        check_frozen(f"action {action.name}", tuple(choices.arguments.values()))
        if not choices.arguments and action.parameters:  # a parameter without values
            kinds.append(_never(action, choices, first, truths, variables, len(grouped["step"] + grouped["happens"])))
            continue
        kind = _trace_action(action, choices, first, truths, layout, state, grouped["step"], grouped["happens"])
        kinds.append(kind)
        first += len(kind.instances)
    if first > MAX_INSTANCES:
        raise LayoutError(f"{system.name} has {first} action instances; the limit is {MAX_INSTANCES}: lower a bound")
    if len(grouped["recovers"]) > MAX_RECOVERIES:
        raise SystemFault(f"{len(grouped['recovers'])} recovers properties; the limit is {MAX_RECOVERIES}")
    resting = system.quiescent
    program = Program(
        system, setting, layout, graph, variables, tuple(kinds),
        grouped["always"], grouped["step"], grouped["sometimes"], grouped["happens"],
        tuple(truths.claim(p, state) for p in grouped["always"]),
        tuple(truths.claim(p, state) for p in grouped["sometimes"]),
        truths.asked("quiescent", lambda: False if resting is None else resting(state)),
        tuple(_recovery(truths, p, state, kinds) for p in grouped["recovers"]),
        _initial(system, setting, layout),
    )  # fmt: skip
    check_refusals(graph)
    return program


def _actions(system: System, setting: Setting) -> tuple[Action, ...]:
    actions = ask("actions", lambda: tuple(system.actions(setting)))
    for action in actions:
        if not isinstance(action, Action):
            raise SystemFault(f"actions gave {described(action)}, not a model.system.Action")
    check_distinct("actions", (action.name for action in actions))
    return actions


def _recovery(truths: Truths, claim: Property, state: Any, kinds: Sequence[Kind]) -> Recovery:
    fault = unknown_way(claim, [kind.action for kind in kinds])
    if fault is not None:
        raise SystemFault(fault)
    allowed = tuple(claim.allows(kind.action.name, arguments) for kind in kinds for arguments in kind.instances)
    concerned = truths.asked(f"property {claim.id}, when", lambda: claim.concerns(state))
    return Recovery(claim, concerned, truths.claim(claim, state), allowed)


def _initial(system: System, setting: Setting, layout: Layout) -> tuple[tuple[int, ...], ...]:
    states = ask("initial", lambda: list(system.initial(setting)))
    try:
        packed = {layout.pack(state) if layout.packed else layout.values(state) for state in states}
    except (DomainError, LayoutError) as error:
        raise SystemFault(f"initial gave a state that does not fit the layout: {error}") from error
    if not packed:
        raise SystemFault("initial gave no state")
    same_classes("initial", layout.shape, states)
    return tuple(sorted(packed, key=_order))


def _order(state: tuple[Any, ...]) -> list[int]:
    return [-1 if isinstance(leaf, Anything | Filled) else leaf for leaf in state]


def _trace_action(
    action: Action, choices: Choices, first: int, truths: Truths, layout: Layout, state: Any,
    steps: Sequence[Property], happens: Sequence[Property],
) -> Kind:  # fmt: skip
    what, graph = f"action {action.name}", truths.graph
    arguments = choices.arguments
    guard = truths.guard(action, state, arguments)
    outcome: Outcome = truths.answer(f"{what}, effect", lambda: action.outcome(state, arguments))
    after = _after(what, graph, layout, outcome.state)
    same_classes(what, layout.shape, [outcome.state])
    step = Step(state, _within(layout, outcome.state), action.name, arguments, outcome.event)
    unchecked = tuple(
        i for i, (term, slot) in enumerate(zip(after, layout.slots, strict=True))
        if term.lo < slot.domain.lo or term.hi > slot.domain.hi
    )  # fmt: skip
    claims = [truths.claim(p, step) for p in steps]
    claims += [graph.lift(graph.negate(lower(truths.claim(p, step)))) for p in happens]
    return Kind(action, first, choices.instances, choices.variables, choices.allowed, arguments, choices.table, guard,
                after, unchecked, tuple(claims))  # fmt: skip


def _never(action: Action, choices: Choices, first: int, truths: Truths, after: tuple[Term, ...], claims: int) -> Kind:
    """A kind without instances: its rules cannot be asked, for there is no argument to ask them of."""
    true, false = truths.graph.constant(True), truths.graph.constant(False)
    return Kind(action, first, (), (), choices.allowed, {}, (), {UNNAMED: false}, after, (), (true,) * claims)


def _within(layout: Layout, state: Any) -> Any:
    """The state after a step as claims see it: each field in its domain, for a step that leaves one is not taken.

    The words are new nodes, so that guards and effects, which are asked of every step, never read them.
    """
    found = iter(zip((value for _, value in leaves(state)), layout.slots, strict=True))

    def narrowed() -> Any:
        value, slot = next(found)
        if not isinstance(value, Term) or value.is_truth or max(value.hi, slot.domain.hi) >= UNBOUNDED // 2:
            return value
        graph = value.graph
        return graph.apply("narrow", value, graph.constant(slot.domain.lo), graph.constant(slot.domain.hi))

    return rebuild(state, narrowed)


def _state(graph: Graph, layout: Layout) -> tuple[tuple[Term, ...], Any]:
    """The terms that name the leaves of a state, and a state of what stands for them."""
    symbols = [symbol(graph, slot) for slot in layout.slots]
    # A field of one value is a constant: rules that read it are traced the smaller for it.
    feed = iter([v if s.domain.bits else _only_value(s.domain) for v, s in zip(symbols, layout.slots, strict=True)])
    return tuple(map(named, symbols)), rebuild(layout.shape, lambda: next(feed))


def _only_value(domain: Domain) -> int:
    return bool(domain.lo) if isinstance(domain, Flag) else domain.lo


def _after(what: str, graph: Graph, layout: Layout, state: Any) -> tuple[Term, ...]:
    found = list(leaves(state))
    if [path for path, _ in found] != [slot.path for slot in layout.slots]:
        odd = sorted({path for path, _ in found} ^ {slot.path for slot in layout.slots})
        named = type(state).__name__
        raise SystemFault(f"{what} gave a state of another shape: {', '.join(filter(None, odd[:4])) or named}")
    result = []
    for (path, value), slot in zip(found, layout.slots, strict=True):
        if isinstance(slot.domain, Endless):
            result.append(word_of(what, path, value))
            continue
        truth = isinstance(slot.domain, Flag)
        is_truth = value.is_truth if isinstance(value, Term) else isinstance(value, bool)
        if not isinstance(value, int | Term) or truth != is_truth:
            wanted = "a truth" if truth else "a word"
            raise SystemFault(f"{what} set {path or 'the state'} to {described(value)}, not {wanted}")
        result.append(graph.lift(value))
    return tuple(result)
