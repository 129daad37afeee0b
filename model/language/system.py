"""Systems: their initial states, actions, layout and properties.

A system answers four questions for a `Setting` (scope and rules): `initial`, `actions`, `properties`, `layout`.
Guards, effects and properties are rules: they run on ints and on terms alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from attrs import field, frozen

from kraftcheck.model.language.bound import ANY, Bound, freed, spelled, valued
from kraftcheck.model.language.collections.listed import listed
from kraftcheck.model.language.fairness import Fairness, several
from kraftcheck.model.language.legend import Legend
from kraftcheck.model.language.symmetry import Symmetry
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import all_of
from kraftcheck.model.nearest import nearest

Part = TypeVar("Part")

Conjuncts = Mapping[str, Truth]
"""Named parts of a guard or property; all must hold. Names carry their bindings."""

UNNAMED = "guard"
"""The name of a guard that is one truth."""


class ScopeError(ValueError):
    """A scope, bound, rule set or variant that the system does not have."""


@frozen
class Setting:
    """The scope, bounds and rules with which a system is instantiated.

    Attributes:
        scope, bounds: name of the preset that the bounds started from; the value of each bound.
        rules: the rule set, or None for systems without one.
        freed, defaults: bounds that bound nothing here; the smallest value of each that the preset leaves out.
    """

    scope: str
    bounds: Mapping[str, int]
    rules: Any = None
    freed: tuple[str, ...] = ()
    defaults: Mapping[str, int] = field(factory=dict)

    def __getitem__(self, bound: str) -> int:
        """The value of a bound."""
        return valued(bound, self.bounds[bound] if bound in self.bounds else self.defaults[bound])

    def values(self) -> dict[str, int | None]:
        """Every bound with its value, in order; None where it bounds nothing."""
        return {name: None if name in self.freed or value == ANY else value for name, value in self.bounds.items()}

    def text(self) -> str:
        """The bounds in words; `any` where one bounds nothing."""
        return ", ".join(f"{name} {'any' if value is None else value}" for name, value in self.values().items())


@frozen
class Step:
    """One transition, as step properties see it.

    Attributes:
        before, after: the states.
        action, arguments, event: its name, its values by name (concrete), and what the effect reported besides.
    """

    before: Any
    after: Any
    action: str
    arguments: Mapping[str, Any]
    event: Any = None


@frozen
class Outcome:
    """Result of an effect that reports an event besides the next state.

    Attributes:
        state, event: the next state; what step properties see besides it.
        records: the changes decided, in order, for comparison with Kafka's: one without fields was not written,
            none was where the controller resigned. No engine explores them.
    """

    state: Any
    event: Any = None
    records: tuple[Any, ...] = ()


@frozen
class Action:
    """One kind of thing that can happen.

    Attributes:
        name, source: shown in traces; where the action comes from.
        effect: `(state, **arguments) -> state | Outcome`.
        guard: `(state, **arguments) -> truth | named conjuncts`; absent: always enabled.
        parameters: for each argument the values it ranges over.
    """

    name: str
    effect: Callable[..., Any]
    guard: Callable[..., Truth | Conjuncts] | None = None
    parameters: Mapping[str, Sequence[Any]] = field(factory=dict)
    source: str = ""

    def guards(self, state: Any, arguments: Mapping[str, Any]) -> dict[str, Truth]:
        """The guard's conjuncts by name; empty when always enabled."""
        return conjuncts(True if self.guard is None else self.guard(state, **arguments), UNNAMED)

    def enabled(self, state: Any, arguments: Mapping[str, Any]) -> Truth:
        """Whether the action may happen with these arguments."""
        return all_of(*self.guards(state, arguments).values())

    def outcome(self, state: Any, arguments: Mapping[str, Any]) -> Outcome:
        """The effect, as an `Outcome`."""
        result = self.effect(state, **arguments)
        return result if isinstance(result, Outcome) else Outcome(result)


def conjuncts(value: Truth | Conjuncts, name: str) -> dict[str, Truth]:
    """A truth or a mapping of named truths, as the latter; constant truths included."""
    return dict(value) if isinstance(value, Mapping) else {name: value}


@frozen
class Property:
    """A claim about a system.

    Attributes:
        id, sentence: short name, unique within a system; the claim in words.
        kind: `always` (every state), `step` (every transition), `sometimes` (some state must show it), `happens` (some
            transition must show it), `recovers` (from every state some run leads to one that satisfies it; AG EF), or
            one of `LIVENESS` (of every fair behaviour; `kraftcheck.properties.kinds` has the formulas).
        predicate, source: `(state)` or `(step)` to a truth or named conjuncts; where the claim comes from.
        refuted_by: variants that must break it; empty only for goals.
        when: for `recovers`, the states that it is about; None: all of them. For `leads_to`, the premise.
        by: for `recovers`, the actions of the way out, each with argument values (a tuple: one of them); empty: all.
        rules: ids of the rules that the claim checks; see `kraftcheck.model.language.rule`.
        fairness: for liveness, what is fair besides what the system declares.
        case, options: the goal without whose witness it is vacuous; the options of the command line that add it.
        initially: for `step`, what is claimed of initial states besides.
        rests_on: groups of invariants and lemmas about steps, by their ids; each suffices for some parts of a proof
            about any number, which takes one at a time. Only others are assumed where none does.
        follows_from: invariants, by their ids, that imply it in every state; a proof about any number shows just that.
    """

    id: str
    kind: str
    sentence: str
    predicate: Callable[[Any], Truth | Conjuncts]
    source: str = ""
    refuted_by: tuple[str, ...] = ()
    when: Callable[[Any], Truth | Conjuncts] | None = None
    by: Mapping[str, Mapping[str, Any]] = field(factory=dict)
    rules: tuple[str, ...] = ()
    fairness: tuple[Fairness, ...] = ()
    case: str = ""
    options: Mapping[str, str] = field(factory=dict)
    initially: Callable[[Any], Truth | Conjuncts] | None = None
    rests_on: tuple[tuple[str, ...], ...] = ()
    follows_from: tuple[str, ...] = ()

    def parts(self, subject: Any) -> dict[str, Truth]:
        """The property's conjuncts by name."""
        return conjuncts(self.predicate(subject), self.id)

    def holds(self, subject: Any) -> Truth:
        """Whether every conjunct is true of a state, or of a step."""
        return all_of(*self.parts(subject).values())

    def failing(self, subject: Any) -> tuple[str, ...]:
        """The names of the conjuncts that are false of a state, or of a step; on ints."""
        return tuple(name for name, part in self.parts(subject).items() if not part)

    def concerns(self, state: Any) -> Truth:
        """Whether the claim is about a state."""
        return True if self.when is None else all_of(*conjuncts(self.when(state), "when").values())

    def allows(self, action: str, arguments: Mapping[str, Any]) -> bool:
        """Whether the way out may use an action instance."""
        allowed = self.by.get(action)
        return not self.by or (
            allowed is not None and all(arguments[name] in several(value) for name, value in allowed.items())
        )


Given = Callable[[Setting], Iterable[Part]] | Iterable[Part]
Answers = Callable[[Setting], Sequence[Part]]


# A converter of its own for each type: mypy does not infer the type of a generic one.
def _states(given: Given[Any]) -> Answers[Any]:
    return listed("initial", given)


def _actions(given: Given[Action]) -> Answers[Action]:
    return listed("actions", given)


def _properties(given: Given[Property]) -> Answers[Property]:
    return listed("properties", given)


def _symmetries(given: Given[Symmetry]) -> Answers[Symmetry]:
    return listed("symmetries", given)


def _fairness(given: Given[Fairness]) -> Answers[Fairness]:
    return listed("fairness", given)


def _layout(given: Any) -> Callable[[Setting], Any]:
    return given if callable(given) else lambda setting: given


@frozen
class System:
    """A transition system.

    Attributes:
        name, summary: shown by `kraftcheck list`.
        initial, actions, layout, properties: the four questions, of a setting; or what does not depend on it, as it is.
        scopes, bounds: presets, name to bounds, the first is the default; the bounds that they give values to.
        quiescent: states that may have no enabled action; None: no state may.
        within: states that explorers go on from; the others are judged, and not followed. None: all.
        lemmas: `always` and `step` properties that strengthen the others in proofs; not part of what is promised.
        decided: fields that actions decide: proofs that rest on lemmas about steps know no more of them than these say.
        rules: the choices that it reads: groups of `kraftcheck.model.rules`, or a frozen attrs class; empty: none.
        symmetries: elements of its states that can be renamed; checked wherever they are used.
        fairness: the actions that are fair in every liveness property.
        legend: how its traces are drawn; None: in a lane for each value of the first argument of an action.
    """

    name: str
    summary: str
    initial: Callable[[Setting], Iterable[Any]] = field(converter=_states)
    actions: Callable[[Setting], Sequence[Action]] = field(converter=_actions)
    layout: Callable[[Setting], Any] = field(converter=_layout)
    properties: Callable[[Setting], Sequence[Property]] = field(converter=_properties, default=lambda setting: ())
    scopes: Mapping[str, Mapping[str, int]] = field(factory=lambda: {"default": {}})
    bounds: tuple[Bound, ...] = ()
    quiescent: Callable[[Any], Truth] | None = None
    within: Callable[[Any], Truth | Conjuncts] | None = None
    lemmas: Callable[[Setting], Sequence[Property]] = field(converter=_properties, default=lambda setting: ())
    decided: tuple[str, ...] = ()
    rules: tuple[type, ...] | type = ()
    symmetries: Callable[[Setting], Sequence[Symmetry]] = field(converter=_symmetries, default=lambda setting: ())
    legend: Legend | None = None
    fairness: Callable[[Setting], Sequence[Fairness]] = field(converter=_fairness, default=lambda setting: ())

    def setting(
        self, scope: str | None = None, overrides: Mapping[str, int] | None = None, rules: Any = None,
        proof: bool = False,
    ) -> Setting:  # fmt: skip
        """The setting of a preset with single bounds overridden; for a proof the bounds may be larger.

        Raises:
            ScopeError: for an unknown scope or bound (nearest names given) or a value out of range.
        """
        setting = self.unlimited_setting(scope, overrides, rules)
        for bound in self.bounds:
            if not bound.accepts(setting[bound.name], proof):
                value = spelled(setting[bound.name])
                raise ScopeError(f"{self.name}: {bound.name} = {value} is out of range {bound.range(proof)}")
        return setting

    def unlimited_setting(
        self, scope: str | None = None, overrides: Mapping[str, int] | None = None, rules: Any = None
    ) -> Setting:
        """A setting whose bounds may exceed their largest value: for engines on ints, which pack and compile nothing.

        Raises:
            ScopeError: for an unknown scope or bound (nearest names given), a value too small or without use.
        """
        name = next(iter(self.scopes)) if scope is None else scope
        if name not in self.scopes:
            raise ScopeError(f"{self.name} has no scope {name!r}; {nearest(name, self.scopes)}")
        declared = {bound.name: bound for bound in self.bounds}
        if len(declared) < len(self.bounds):
            names = [bound.name for bound in self.bounds]
            raise ScopeError(f"{self.name} has two bounds named {max(names, key=names.count)!r}; rename one")
        values = {**self.scopes[name], **(overrides or {})}
        for key, value in values.items():
            if key not in declared:
                raise ScopeError(f"{self.name} has no bound {key!r}; {nearest(key, declared)}")
            if value < declared[key].lo:
                raise ScopeError(f"{self.name}: {key} = {value} is out of range {declared[key].lo}..{declared[key].hi}")
        unused = freed(declared, values)
        for key in [key for key in overrides or {} if key in unused]:
            by = f"{declared[key].freed_by} = {spelled(values[declared[key].freed_by])}"
            raise ScopeError(f"{self.name}: {key} bounds nothing with {by}; leave out --{key}")
        rules = self.rules() if rules is None and isinstance(self.rules, type) else rules
        return Setting(name, values, rules, unused, {bound.name: bound.lo for bound in self.bounds})
