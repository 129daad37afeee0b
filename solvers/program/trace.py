"""Tracing: each rule of a system is called with symbolic words, and its answers become terms."""

from __future__ import annotations

import enum
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from kraftcheck.model.language import sequences
from kraftcheck.model.language.anynumber import Family
from kraftcheck.model.language.collections import undoubted
from kraftcheck.model.language.layout import UNBOUNDED, Endless, Flag, Layout, LayoutError, leaves, rebuild
from kraftcheck.model.language.symbolic import clash, class_of, described, enum_of, named
from kraftcheck.model.language.system import (
    ANY,
    LIVENESS,
    UNNAMED,
    Action,
    Fairness,
    FairSteps,
    Property,
    Setting,
    Step,
    System,
    conjuncts,
    constraints,
)
from kraftcheck.model.language.terms import Graph, Term, Truth, lower
from kraftcheck.model.language.words import all_of, any_of, negate
from kraftcheck.solvers.program.parts import (
    Choices,
    SystemFault,
    ask,
    check_frozen,
    check_names,
    check_refusals,
    claims_of,
    free_arguments,
    line_of,
    listed_arguments,
    made_twice,
    no_state,
    same_classes,
)
from kraftcheck.solvers.program.premises import check_program, lenient, premises_of, with_premises, without_content
from kraftcheck.solvers.program.program import (
    KINDS,
    MAX_INSTANCES,
    MAX_RECOVERS,
    FairConstraint,
    Kind,
    LivenessClaim,
    LivenessClaims,
    Program,
    RecoversClaim,
    unknown_recovery_action,
)
from kraftcheck.solvers.program.starts import described_truths, given_states, initial_leaves
from kraftcheck.solvers.program.symbols import may_have_stranger, may_reach_number, state_symbols
from kraftcheck.solvers.program.verdict import Truths


@frozen
class Pruning:
    """The transitions that were left out because of one bound of a field."""

    field: str  # its path
    # lo, hi: its domain
    lo: int
    hi: int
    above: bool  # whether they cross the upper bound
    actions: Mapping[str, int]  # how many transitions of each action, by name
    cap: str  # why this bound is meant; empty where it is not

    @property
    def count(self) -> int:
        """How many transitions."""
        return sum(self.actions.values())

    def text(self) -> str:
        """The count of pruned transitions, with the reason of the cap, or else the mend."""
        count = f"{self.count:,} transition{'s' if self.count > 1 else ''}"
        if self.cap:
            return f"bound on {self.field} pruned {count}: {self.cap}"
        mend = "widen it, or declare its cap" if self.above else "widen it, or mend the rules"
        where = f"{self.lo}..{self.hi}, {'above' if self.above else 'below'}"
        return f"{self.field} left its domain {where}, in {count} by {', '.join(self.actions)}: {mend}"


def by_field(pruned: Iterable[Pruning]) -> dict[str, int]:
    """How many transitions were left out because of each field."""
    counts: dict[str, int] = {}
    for pruning in pruned:
        counts[pruning.field] = counts.get(pruning.field, 0) + pruning.count
    return counts


def _together(fields: Sequence[str]) -> str:
    """Fields that left in as many steps each, as one: places of a tuple that follow each other by both ends."""
    numbers = [[*map(int, re.findall(r"\[(\d+)\]", field))] for field in fields]
    varied = [column for column in zip(*numbers, strict=True) if len({*column}) > 1]
    if len(varied) != 1 or [*varied[0]] != [*range(varied[0][0], varied[0][0] + len(fields))]:
        return ", ".join(fields)
    return fields[0].replace(f"[{varied[0][0]}]", f"[{varied[0][0]}..{varied[0][-1]}]", 1)


def pruning_fault(pruned: Sequence[Pruning], strict: bool) -> str | None:
    """Why unrefuted properties are not proven to hold; None where caps declare every pruning.

    Args:
        strict: whether declared caps count as well.
    """
    alike: dict[tuple[object, ...], list[Pruning]] = {}
    for one in pruned:
        steps = re.sub(r"\[\d+\]", "", one.field), one.lo, one.hi, one.above, one.cap, *one.actions.items()
        alike.setdefault(steps, []).append(one)
    merged = [evolve(several[0], field=_together([one.field for one in several])) for several in alike.values()]
    undeclared = [pruning.text() for pruning in merged if not pruning.cap]
    return "; ".join(undeclared or [f"strict: {pruning.text()}" for pruning in merged if strict]) or None


WITHIN = "within="  # the name, which no author's is, of the condition in every guard of a system with a constraint


def is_within(system: System, state: Any) -> Truth:
    """Whether explorers go on from a state."""
    return True if system.within is None else all_of(*conjuncts(system.within(state), WITHIN).values())


def constrained(system: System) -> System:
    """The system as explorers run it: outside its constraint nothing is enabled, and every state may rest."""
    if system.within is None:
        return system
    quiescent = system.quiescent

    def held(action: Action) -> Action:
        def guard(state: Any, **arguments: Any) -> dict[str, Truth]:
            return {**action.guards(state, arguments), WITHIN: is_within(system, state)}

        return evolve(action, guard=guard)

    def may_rest(state: Any) -> Truth:
        return any_of(negate(is_within(system, state)), False if quiescent is None else quiescent(state))

    return evolve(
        system, actions=lambda setting: [held(action) for action in system.actions(setting)], quiescent=may_rest
    )


def outside_text(outside: int) -> str:
    """The words on states outside the constraint that were not followed."""
    states = "1 state is" if outside == 1 else f"{outside:,} states are"
    return f"{states} outside within=: judged, and not followed"


TAKEN: Mapping[str, Collection[str]] = {
    "fairness": LIVENESS, "initially": ("step",), "when": ("recovers", *LIVENESS), "by": ("recovers",)
}  # fmt: skip
"""The kinds of properties that take what no engine asks of the others."""


def live_claims(
    truths: Truths, system: System, setting: Setting, properties: Sequence[Property], state: Any, kinds: Sequence[Kind]
) -> LivenessClaims:
    """The liveness properties of a system, with the constraints that they are under.

    Raises:
        SystemFault: when fairness names what the system does not have, or a property has fairness and is none of these.
    """
    shared = ask("fairness", lambda: tuple(system.fairness(setting)))
    parameters = {kind.action.name: kind.action.parameters for kind in kinds}
    _check("the system", shared, parameters)
    for claim in properties:
        _check(f"property {claim.id}", claim.fairness, parameters)
        for name, takes in TAKEN.items():
            if getattr(claim, name) and claim.kind not in takes:
                raise SystemFault(f"property {claim.id}: a property of kind {claim.kind} takes no {name}")
    live = [claim for claim in properties if claim.kind in LIVENESS]
    collected: list[FairConstraint] = []
    common = _collect(truths, shared, parameters, state, kinds, collected) if live else ()
    claims = tuple(
        LivenessClaim(
            claim, truths.truth_of(f"property {claim.id}, premise", lambda claim=claim: claim.concerns(state)),  # type: ignore[misc]
            truths.claim(claim, state),
            (*common, *_collect(truths, claim.fairness, parameters, state, kinds, collected)),
        )
        for claim in live
    )  # fmt: skip
    return LivenessClaims(claims, tuple(collected))


def _check(where: str, declared: Sequence[Fairness], parameters: Any) -> None:
    for one in declared:
        fault = one.fault(parameters) if isinstance(one, Fairness) else f"{described(one)} is no fairness"
        if fault is not None:
            raise SystemFault(f"{where}: {fault}")


def _collect(
    truths: Truths, declared: Sequence[Fairness], parameters: Any, state: Any, kinds: Sequence[Kind],
    collected: list[FairConstraint],
) -> tuple[int, ...]:  # fmt: skip
    """Append the constraints of what is declared; returns their numbers."""
    first = len(collected)
    for steps in constraints(declared, parameters):
        excused = truths.truth_of(f"fairness {steps.name}, unless", lambda steps=steps: steps.excused(state))  # type: ignore[misc]
        collected.append(FairConstraint(steps, tuple(_instances(steps, kinds)), excused))
    return tuple(range(first, len(collected)))


def _instances(steps: FairSteps, kinds: Sequence[Kind]) -> list[int]:
    return [
        kind.first + row
        for kind in kinds
        for row, arguments in enumerate(kind.instances)
        if steps.covers(kind.action.name, arguments)
    ]


def trace(system: System, setting: Setting, free: bool = False, graph: Graph | None = None) -> Program:
    """Trace a system at a setting.

    Args:
        free: for provers: arguments are free within what `Kind.allowed` says, no
            instances are listed, states are not packed (`initial` has their leaves).
        graph: where to, if not into a new graph.

    Raises:
        SystemFault: when a part of the system raises or has the wrong type or shape.
        UntraceableRule: when a rule needs concrete values; the message names its line.
        LayoutError: when the layout is over 512 bits or malformed.
    """
    system = system if free else constrained(system)
    layout = Layout(ask("layout", lambda: system.layout(setting)), packed=not free)
    check_frozen("layout", layout.shape)
    properties = _properties(system, setting, free)
    actions, truths = _actions(system, setting, graph)
    graph = truths.graph
    graph.notes.least |= {bound.name: bound.lo for bound in system.bounds if setting[bound.name] == ANY}
    variables, state = state_symbols(graph, layout)
    grouped = {kind: tuple(p for p in properties if p.kind == kind) for kind in KINDS}
    kinds = _kinds(actions, free, truths, layout, variables, state, grouped)
    if (count := sum(len(kind.instances) for kind in kinds)) > MAX_INSTANCES:
        raise LayoutError(f"{system.name} has {count} action instances; the limit is {MAX_INSTANCES}: lower a bound")
    always = [truths.content(p, state) for p in grouped["always"]]
    quiescent, states = system.quiescent, given_states(system, setting)
    initially = described_truths(truths, states, state)
    within = None if free or system.within is None else truths.truth_of("within", lambda: is_within(system, state))
    program = Program(
        system, setting, layout, graph, variables, kinds=tuple(kinds),
        always=grouped["always"], steps=grouped["step"], sometimes=grouped["sometimes"], happens=grouped["happens"],
        always_terms=tuple(truth for truth, _ in always),
        sometimes_terms=tuple(truths.claim(p, state) for p in grouped["sometimes"]),
        quiescent=truths.truth_of("quiescent", lambda: False if quiescent is None else quiescent(state)),
        recovers=tuple(_recovers_claim(truths, p, state, kinds) for p in grouped["recovers"]),
        initial=initial_leaves(layout, states, variables, [*initially.values()], system.initial, setting),
        liveness=live_claims(truths, system, setting, properties, state, kinds), initially=initially, within=within,
        starts={p.id: truths.start(p, state) for p in grouped["step"] if p.initially is not None},
    )  # fmt: skip
    check_refusals(graph)
    check_program(program)
    says = [says for _, says in always]
    if not free and not truths.ask_twice:
        return program
    empty = without_content(program, lenient(program)) if truths.ask_twice else frozenset[str]()
    if free:
        return evolve(program, premises=premises_of(program, says, empty), lenient=lenient(program))
    return with_premises(program, says, empty)


def _properties(system: System, setting: Setting, free: bool) -> tuple[Property, ...]:
    """The properties; what is about all that may follow is refused where states are not followed."""
    properties = claims_of("properties", system.properties, setting)
    check_names("properties", ((claim.id, claim.predicate) for claim in properties))
    for claim in () if system.within is None or free else properties:
        if claim.kind == "recovers" or claim.kind in LIVENESS:
            raise SystemFault(
                f"property {claim.id} is about all that may follow, and within= leaves states out; judge it without "
                "within=, with fields whose domains bound the states"
            )
    if (count := sum(claim.kind == "recovers" for claim in properties)) > MAX_RECOVERS:
        raise SystemFault(f"{count} recovers properties; the limit is {MAX_RECOVERS}")
    return properties


def _actions(system: System, setting: Setting, graph: Graph | None) -> tuple[tuple[Action, ...], Truths]:
    """The actions, and what asks their rules, and those of the same ones made anew."""
    actions, again = made_twice("actions", lambda: system.actions(setting), _values)
    check_names("actions", ((action.name, action.effect) for action in actions))
    anew = {action.name: action for action in again}
    return actions, Truths(Graph() if graph is None else graph, ask_twice=graph is None, anew=anew)


def _values(action: Action) -> tuple[str, dict[str, list[Any] | None]]:
    """The name of an action, and the values of its parameters that are listed."""
    if not isinstance(action, Action):
        raise SystemFault(f"actions gave {described(action)}, not a kraftcheck.Action")
    given = action.parameters.items()
    return action.name, {k: None if isinstance(v, Family) or not isinstance(v, Sequence) else [*v] for k, v in given}


def _kinds(
    actions: Sequence[Action], free: bool, truths: Truths, layout: Layout, variables: tuple[Term, ...], state: Any,
    grouped: Mapping[str, tuple[Property, ...]],
) -> list[Kind]:  # fmt: skip
    """The actions, traced; `grouped` has the properties by kind."""
    kinds, first, graph = list[Kind](), 0, truths.graph
    for action in actions:
        choices = free_arguments(action, graph) if free else listed_arguments(action, graph)
        check_frozen(f"action {action.name}", tuple(choices.arguments.values()))
        if not choices.arguments and action.parameters:  # a parameter without values
            claims = len(grouped["step"]), len(grouped["happens"])
            kinds.append(_never(action, choices, first, truths, variables, *claims))
            continue
        kind = _trace_action(action, choices, first, truths, layout, state, grouped["step"], grouped["happens"])
        kinds.append(kind)
        first += len(kind.instances)
    return kinds


def _recovers_claim(truths: Truths, claim: Property, state: Any, kinds: Sequence[Kind]) -> RecoversClaim:
    fault = unknown_recovery_action(claim, [kind.action for kind in kinds])
    if fault is not None:
        raise SystemFault(fault)
    allowed = tuple(claim.allows(kind.action.name, arguments) for kind in kinds for arguments in kind.instances)
    concerned = truths.truth_of(f"property {claim.id}, when", lambda: claim.concerns(state))
    return RecoversClaim(claim, concerned, truths.claim(claim, state), allowed)


def _trace_action(
    action: Action, choices: Choices, first: int, truths: Truths, layout: Layout, state: Any,
    steps: Sequence[Property], happens: Sequence[Property],
) -> Kind:  # fmt: skip
    what, graph = f"action {action.name}", truths.graph
    arguments = choices.arguments
    guard = truths.guard(action, state, arguments)
    outcome = truths.outcome(action, state, arguments)
    after = _after(what, graph, layout, outcome.state, line_of(action.effect))
    same_classes(what, layout.shape, [outcome.state])
    step = Step(state, _within_domains(layout, outcome.state), action.name, arguments, outcome.event)
    unchecked = tuple(
        i for i, (term, slot, (_, value)) in enumerate(zip(after, layout.slots, leaves(outcome.state), strict=True))
        if term.lo < slot.domain.lo or term.hi > slot.domain.hi or may_reach_number(term, slot.domain)
        or may_have_stranger(value, slot.domain)
    )  # fmt: skip
    judged = [truths.content(p, step) for p in steps]
    claims = [truth for truth, _ in judged]
    claims += [graph.lift(graph.negate(lower(truths.claim(p, step)))) for p in happens]
    return Kind(action, first, choices.instances, choices.variables, choices.allowed, arguments=arguments,
                table=choices.table, guard=guard,
                after=after, unchecked=unchecked, steps=tuple(claims),
                says=tuple(says for _, says in judged))  # fmt: skip


def _never(
    action: Action, choices: Choices, first: int, truths: Truths, after: tuple[Term, ...], steps: int, happens: int
) -> Kind:
    """A kind without instances: its rules cannot be asked, for there is no argument to ask them of."""
    true, false = truths.graph.constant(True), truths.graph.constant(False)
    claims = ((true,) * (steps + happens), (false,) * steps)
    return Kind(action, first, (), (), choices.allowed, {}, (), {UNNAMED: false}, after, (), *claims)


def _within_domains(layout: Layout, state: Any) -> Any:
    """The state after a step as claims see it: each field in its domain, for a step that leaves one is not taken.

    The words are new nodes, so that guards and effects, which are asked of every step, never read them.
    """
    pairs = iter(zip((value for _, value in leaves(state)), layout.slots, strict=True))

    def narrow() -> Any:
        value, slot = next(pairs)
        if not isinstance(value, Term) or value.is_truth or max(value.hi, slot.domain.hi) >= UNBOUNDED // 2:
            return value
        graph = value.graph
        lo, hi = graph.constant(slot.domain.lo), graph.constant(slot.domain.hi)
        return named(graph, graph.apply("narrow", value, lo, hi), class_of(value))

    return rebuild(state, narrow)


def _after(what: str, graph: Graph, layout: Layout, state: Any, line: str) -> tuple[Term, ...]:
    entries = list(leaves(state))
    if [path for path, _ in entries] != [slot.path for slot in layout.slots]:
        paths = sorted({path for path, _ in entries} ^ {slot.path for slot in layout.slots})
        shape = ", ".join(filter(None, paths[:4])) or type(state).__name__
        mend = no_state(state, layout.shape, filter(None, paths))
        raise SystemFault(f"{what} gave a state of another shape: {shape}{mend}{line}")
    result = []
    for (path, value), slot in zip(entries, layout.slots, strict=True):
        if isinstance(slot.domain, Endless):
            if not isinstance(value, sequences.Sequence):
                raise SystemFault(f"{what} set {path} to {described(value)}, not a sequence")
            strange = may_have_stranger(value, slot.domain)
            result.append((value.of_members(slot.domain.places) if strange else value).anywhere())
            continue
        truth = isinstance(slot.domain, Flag)
        is_truth = value.is_truth if isinstance(value, Term) else isinstance(value, bool)
        if not isinstance(value, int | Term) or truth != is_truth:
            expected = "a truth" if truth else "a word"
            mend = "; write IntSet(), or IntSet.of(...)" if isinstance(value, set | frozenset | dict) else ""
            mend = f"; make {type(value).__name__} a kc.Enum" if isinstance(value, enum.Enum) else mend
            raise SystemFault(f"{what} set {path or 'the state'} to {described(value)}, not {expected}{mend}{line}")
        if reason := clash(enum_of(slot.domain), class_of(value)):
            raise SystemFault(f"{what} set {path or 'the state'} to another Enum: {reason}{line}")
        result.append(graph.lift(*undoubted([value])))
    return tuple(result)
