"""A system traced into terms: what the compiled engines and the provers read.

Each action kind is traced once with symbolic state and symbolic arguments;
the argument values are a table that the engine loops over.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from attrs import frozen

from model.initially import Anything, Filled
from model.layout import Domain, DomainError, Endless, Flag, Layout, LayoutError, leaves, rebuild
from model.system import UNNAMED, Action, Outcome, Property, Setting, Step, System
from model.terms import Graph, Term, Truth, lower
from model.untraceable import UntraceableRule
from solvers.arguments import Choices, SystemFault, free_arguments, listed_arguments
from solvers.recovery import MAX_RECOVERIES, Recovery, unknown_way
from solvers.reduction import Reduction
from solvers.symbols import named, symbol, word_of

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
    layout = Layout(_ask("layout", lambda: system.layout(setting)), packed=not free)
    properties = tuple(_ask("properties", lambda: system.properties(setting)))
    graph = Graph() if graph is None else graph
    symbols = [symbol(graph, slot) for slot in layout.slots]
    variables = tuple(map(named, symbols))
    # A field of one value is a constant: rules that read it are traced the smaller for it.
    feed = iter([v if s.domain.bits else _only_value(s.domain) for v, s in zip(symbols, layout.slots, strict=True)])
    state = rebuild(layout.shape, lambda: next(feed))
    grouped = {kind: tuple(p for p in properties if p.kind == kind) for kind in KINDS}
    kinds, first = [], 0
    for action in _ask("actions", lambda: tuple(system.actions(setting))):
        if not isinstance(action, Action):
            raise SystemFault(f"actions gave {action!r}, not a model.system.Action")
        choices = free_arguments(action, graph) if free else listed_arguments(action, graph)
        kind = _trace_action(action, choices, first, graph, layout, state, grouped["step"], grouped["happens"])
        kinds.append(kind)
        first += len(kind.instances)
    if first > MAX_INSTANCES:
        raise LayoutError(f"{system.name} has {first} action instances; the limit is {MAX_INSTANCES}: lower a bound")
    if len(grouped["recovers"]) > MAX_RECOVERIES:
        raise SystemFault(f"{len(grouped['recovers'])} recovers properties; the limit is {MAX_RECOVERIES}")
    resting = system.quiescent
    quiescent = False if resting is None else _ask("quiescent", lambda: resting(state))
    return Program(
        system, setting, layout, graph, variables, tuple(kinds),
        grouped["always"], grouped["step"], grouped["sometimes"], grouped["happens"],
        tuple(_claim(graph, p, state) for p in grouped["always"]),
        tuple(_claim(graph, p, state) for p in grouped["sometimes"]),
        _truth(graph, "quiescent", quiescent), tuple(_recovery(graph, p, state, kinds) for p in grouped["recovers"]),
        _initial(system, setting, layout),
    )  # fmt: skip


def _recovery(graph: Graph, claim: Property, state: Any, kinds: Sequence[Kind]) -> Recovery:
    fault = unknown_way(claim, [kind.action for kind in kinds])
    if fault is not None:
        raise SystemFault(fault)
    allowed = tuple(claim.allows(kind.action.name, arguments) for kind in kinds for arguments in kind.instances)
    concerned = _ask(f"property {claim.id}, when", lambda: claim.concerns(state))
    return Recovery(
        claim, _truth(graph, f"property {claim.id}, when", concerned), _claim(graph, claim, state), allowed
    )


def _ask(what: str, question: Callable[[], Any]) -> Any:
    """Call a part of the system; blame that part for what it raises."""
    try:
        return question()
    except (UntraceableRule, LayoutError):
        raise
    except Exception as error:
        raise SystemFault(f"{what} raised {type(error).__name__}: {error}") from error


def _initial(system: System, setting: Setting, layout: Layout) -> tuple[tuple[int, ...], ...]:
    states = _ask("initial", lambda: list(system.initial(setting)))
    try:
        packed = {layout.pack(state) if layout.packed else layout.values(state) for state in states}
    except (DomainError, LayoutError) as error:
        raise SystemFault(f"initial gave a state that does not fit the layout: {error}") from error
    if not packed:
        raise SystemFault("initial gave no state")
    return tuple(sorted(packed, key=_order))


def _order(state: tuple[Any, ...]) -> list[int]:
    return [-1 if isinstance(leaf, Anything | Filled) else leaf for leaf in state]


def _claim(graph: Graph, claim: Property, subject: Any) -> Term:
    parts = _ask(f"property {claim.id}", lambda: claim.parts(subject))
    return _conjunction(graph, f"property {claim.id}", parts)


def _conjunction(graph: Graph, what: str, parts: Mapping[str, Truth]) -> Term:
    result = graph.constant(True)
    for name, part in parts.items():
        result = graph.lift(graph.apply("and", result, _truth(graph, f"{what} ({name})", part)))
    return result


def _truth(graph: Graph, what: str, value: Any) -> Term:
    if isinstance(value, bool) or (isinstance(value, Term) and value.is_truth):
        return graph.lift(value)
    raise SystemFault(f"{what} gave {value!r}, not a truth")


def _trace_action(
    action: Action, choices: Choices, first: int, graph: Graph, layout: Layout, state: Any,
    steps: Sequence[Property], happens: Sequence[Property],
) -> Kind:  # fmt: skip
    what = f"action {action.name}"
    arguments = choices.arguments
    guard = {
        name: _truth(graph, f"{what}, guard" if name == UNNAMED else f"{what}, guard {name}", part)
        for name, part in _ask(f"{what}, guard", lambda: action.guards(state, arguments)).items()
    }
    outcome: Outcome = _ask(f"{what}, effect", lambda: action.outcome(state, arguments))
    after = _after(what, graph, layout, outcome.state)
    step = Step(state, outcome.state, action.name, arguments, outcome.event)
    unchecked = tuple(
        i for i, (term, slot) in enumerate(zip(after, layout.slots, strict=True))
        if term.lo < slot.domain.lo or term.hi > slot.domain.hi
    )  # fmt: skip
    claims = [_claim(graph, p, step) for p in steps]
    claims += [graph.lift(graph.negate(lower(_claim(graph, p, step)))) for p in happens]
    return Kind(action, first, choices.instances, choices.variables, choices.allowed, arguments, choices.table, guard,
                after, unchecked, tuple(claims))  # fmt: skip


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
            raise SystemFault(f"{what} set {path or 'the state'} to {value!r}, not {wanted}")
        result.append(graph.lift(value))
    return tuple(result)
