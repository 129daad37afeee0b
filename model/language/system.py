"""Systems: their initial states, actions, layout and properties.

A system answers four questions for a `Setting` (scope and rules): `initial`, `actions`, `properties`, `layout`.
Guards, effects and properties are rules: they run on ints and on terms alike.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from attrs import evolve, field, frozen

from kraftcheck.model.language.layout import UNBOUNDED
from kraftcheck.model.language.symbolic import AnyOf, check_told, described
from kraftcheck.model.language.symmetry import Symmetry
from kraftcheck.model.language.terms import ENDLESS, Truth
from kraftcheck.model.language.words import all_of, readable
from kraftcheck.model.nearest import nearest

ANY = UNBOUNDED
"""The value of a bound that bounds nothing, which the command line spells `any`; provers take it where it says so."""


def is_any(count: Any) -> bool:
    """Whether the value of a bound is ANY."""
    return isinstance(count, AnyOf) or count == ANY


def bound_of(count: Any) -> str:
    """The bound whose value ANY a count is; empty where it is ANY itself."""
    return count.bound if isinstance(count, AnyOf) else ""


@frozen
class Bound:
    """One number that makes the state space finite.

    Attributes:
        name: the command-line flag without dashes.
        lo, hi: smallest and largest value accepted.
        help: a sentence for the user.
        proven_to: largest value that provers accept; None: as `hi`. Proofs are not limited by packing.
        freed_by: a bound that says, where it is not 0, or ANY if it can be, that this one bounds nothing.
        takes_any: whether provers take ANY.
        at_most: a bound that it may not exceed; empty: none.
    """

    name: str = field(validator=readable)
    lo: int
    hi: int
    help: str
    proven_to: int | None = None
    freed_by: str = ""
    takes_any: bool = False
    at_most: str = ""

    def largest(self, proof: bool) -> int:
        """The largest value accepted."""
        return self.proven_to if proof and self.proven_to is not None else self.hi

    def accepts(self, value: int, proof: bool) -> bool:
        """Whether a value is one that engines take, or (`proof`) provers."""
        return proof and self.takes_any if is_any(value) else self.lo <= value <= self.largest(proof)

    def range(self, proof: bool) -> str:
        """The accepted values, in words."""
        return f"{self.lo}..{self.largest(proof)}" + (" or any" if proof and self.takes_any else "")

    def frees(self, value: int) -> bool:
        """Whether this bound with a value says that others bound nothing."""
        return is_any(value) if self.takes_any else value != 0


def spelled(value: int) -> str:
    """A bound's value as the command line spells it."""
    return "any" if is_any(value) or value >= ENDLESS else str(value)


def freed(bounds: Mapping[str, Bound], values: Mapping[str, int]) -> tuple[str, ...]:
    """The names of the bounds that bound nothing with some values."""
    names = (name for name, bound in bounds.items() if bound.freed_by)
    return tuple(name for name in names if bounds[bounds[name].freed_by].frees(values.get(bounds[name].freed_by, 0)))


def exceeding(bounds: Iterable[Bound], values: Mapping[str, int]) -> list[tuple[str, str]]:
    """The bounds whose values exceed that of another one, which they may not, with that; none exceeds what is any."""
    pairs = [(b.name, b.at_most) for b in bounds if b.name in values and b.at_most in values]
    return [(name, most) for name, most in pairs
            if not is_any(values[most]) and (is_any(values[name]) or values[name] > values[most])]  # fmt: skip


PLACEHOLDER = re.compile(r"{([^{}]+)}")  # a name in a lane that stands for a value


@frozen
class Arrow:
    """A request, an answer or a record on its way from one lane to another; in one lane, an event there."""

    # source, target: lanes; `{name}` stands for an argument of the action, or else for what the state before the step
    # has under this label of the legend's strip, or at this path
    source: str
    target: str
    label: str = ""  # what is sent; empty for an event

    def placeholders(self) -> set[str]:
        """The names that stand for values in its lanes."""
        return set(re.findall(PLACEHOLDER, self.source + self.target))

    def ends(self, values: Mapping[str, Any]) -> tuple[str, str]:
        """Its lanes, with the values of the names in them."""

        def filled(lane: str) -> str:
            return re.sub(PLACEHOLDER, lambda match: str(values[match[1]]), lane)

        return filled(self.source), filled(self.target)


@frozen
class Legend:
    """How the traces of a system are drawn."""

    # of the bounds of a setting, from the top; each a participant, such as `controller` or `broker 0`
    lanes: Callable[[Mapping[str, int]], tuple[str, ...]]
    arrows: Mapping[str, tuple[Arrow, ...]]  # by action, what it draws
    # above the lanes, by label, the path of a field of the state, such as `controller.isr`
    strip: Mapping[str, str] = field(factory=dict)


def event(lane: str) -> tuple[Arrow, ...]:
    """An action that happens in one lane."""
    return (Arrow(lane, lane),)


def events(lane: str, *actions: str) -> dict[str, tuple[Arrow, ...]]:
    """Actions that happen in one lane, as a legend has them."""
    return dict.fromkeys(actions, event(lane))


def sent(source: str, target: str, label: str) -> tuple[Arrow, ...]:
    """An action that is one request, answer or record."""
    return (Arrow(source, target, label),)


def numbered(name: str, count: int) -> tuple[str, ...]:
    """Lanes of one kind.

    >>> numbered("broker", 2)
    ('broker 0', 'broker 1')
    """
    return tuple(f"{name} {number}" for number in range(count))


Parameters = Mapping[str, Mapping[str, Sequence[Any]]]  # for each action the values of each of its parameters

LIVENESS = ("eventually", "leads_to", "always_eventually", "eventually_always")
"""Kinds of property that are about whole behaviours, under fairness."""


@frozen
class Fairness:
    """Fairness of an action: of all its instances together, or of each value of some of its arguments.

    Attributes:
        actions: names of actions of the system, which together are the one that is fair: a step of any is a step of it.
        strong: strong fairness instead of weak.
        each: parameters for each of whose values the action is fair by itself; the others may take any value. Empty:
            the action is fair as a whole, whatever its arguments.
        having: the values that arguments must have (a tuple: one of them); those of other instances are not fair.
        unless: `(state, **each)`, a truth; the action need not be taken while it holds.
    """

    actions: tuple[str, ...]
    strong: bool = False
    each: tuple[str, ...] = ()
    having: Mapping[str, Any] = field(factory=dict)
    unless: Callable[..., Any] | None = None

    @property
    def text(self) -> str:
        """What is fair in words, as `WF(heartbeat(each broker))`."""
        shown = [f"each {name}" for name in self.each]
        shown += [f"{name}={' or '.join(map(str, several(value)))}" for name, value in self.having.items()]
        action = " or ".join(self.actions) + (f"({', '.join(shown)})" if shown else "")
        return f"{'SF' if self.strong else 'WF'}({action})"

    def fault(self, actions: Parameters) -> str | None:
        """What it names that the system does not have, with the nearest names; None where all exist."""
        for action in self.actions:
            if action not in actions:
                return f"fairness names the action {action!r}; {nearest(action, actions)}"
            parameters = actions[action]
            for name in (*self.each, *self.having):
                if name not in parameters:
                    return f"fairness of {action} names the argument {name!r}; {nearest(name, parameters)}"
            for name, value in self.having.items():
                missing = [one for one in several(value) if one not in parameters[name]]
                if missing:
                    return f"fairness of {action} gives {name} the value {missing[0]}, which it never has"
        return None if self.actions else "fairness names no action"


@frozen
class FairSteps:
    """The steps of one fairness constraint: an action with some of its arguments given."""

    fairness: Fairness  # where it comes from
    given: Mapping[str, Any]  # the values of the arguments named by `each`

    @property
    def name(self) -> str:
        """The constraint in words, as `WF(heartbeat(broker=0))`."""
        shown = {**self.fairness.having, **self.given}
        arguments = ", ".join(f"{name}={' or '.join(map(str, several(value)))}" for name, value in shown.items())
        action = " or ".join(self.fairness.actions)
        return f"{'SF' if self.fairness.strong else 'WF'}({action}{f'({arguments})' * bool(shown)})"

    def covers(self, action: str, arguments: Mapping[str, Any]) -> bool:
        """Whether an action instance is one of these steps, where it is not excused."""
        return (
            action in self.fairness.actions
            and all(arguments[name] == value for name, value in self.given.items())
            and all(arguments[name] in several(value) for name, value in self.fairness.having.items())
        )

    def excused(self, state: Any) -> Any:
        """Whether none of them need be taken in a state: a truth."""
        return False if self.fairness.unless is None else self.fairness.unless(state, **self.given)


def several(value: Any) -> tuple[Any, ...]:
    """The values that a restriction allows."""
    return value if isinstance(value, tuple) else (value,)


def constraints(declared: Iterable[Fairness], actions: Parameters) -> Iterator[FairSteps]:
    """One constraint for each value of the arguments that fairness is for each of."""
    for fairness in declared:
        columns = [[value for action in fairness.actions for value in actions[action][name]] for name in fairness.each]
        for values in itertools.product(*map(dict.fromkeys, columns)):
            given = dict(zip(fairness.each, values, strict=True))
            if all(value in several(fairness.having.get(name, value)) for name, value in given.items()):
                yield FairSteps(fairness, given)


def listed(name: str, given: Any) -> Callable[[Any], Any]:
    """A function of the setting; a plain list answers the same at every setting.

    Raises:
        TypeError: naming the part, where it is neither.
    """
    if not callable(given) and not isinstance(given, Iterable):
        raise TypeError(f"{name} is {described(given)}; make it a list: [...]")
    return given if callable(given) else _same(tuple(given))


def _same(answer: Any) -> Callable[[Any], Any]:
    return lambda setting: answer


Part = TypeVar("Part")

Conjuncts = Mapping[str, Truth]  # named parts of a guard or property; all must hold. Names carry their bindings.
UNNAMED = "guard"  # the name of a guard that is one truth


class ScopeError(ValueError):
    """A scope, bound, rule set or variant that the system does not have."""


@frozen
class Setting:
    """The scope, bounds and rules with which a system is instantiated.

    Attributes:
        scope, bounds: name of the preset that the bounds started from; the value of each bound.
        rules: the rule set, or None for systems without one.
        freed, defaults: bounds that bound nothing here; the smallest value of each that the preset leaves out.
        told: whether what is asked of it may compare a bound with ANY, see `AnyOf`.
    """

    scope: str
    bounds: Mapping[str, int]
    rules: Any = None
    freed: tuple[str, ...] = ()
    defaults: Mapping[str, int] = field(factory=dict)
    told: bool = False

    def __attrs_post_init__(self) -> None:
        """Give the bounds that are ANY values that no rule can tell from numbers."""
        values = {
            name: AnyOf(name, self.defaults.get(name, 0), self.told) if is_any(value) else value
            for name, value in self.bounds.items()
        }
        object.__setattr__(self, "bounds", values)

    def __getitem__(self, bound: str) -> int:
        """The value of a bound."""
        return self.bounds[bound] if bound in self.bounds else self.defaults[bound]

    def for_initial(self) -> Setting:
        """The same as `initial` is asked with it, which may describe states where a bound is ANY."""
        check_told(self.bounds, self.told)
        return evolve(self, told=True)

    def values(self) -> dict[str, int | None]:
        """Every bound with its value, in order; None where it bounds nothing."""
        check_told(self.bounds, self.told)
        return {name: None if name in self.freed or is_any(value) else value for name, value in self.bounds.items()}

    def text(self) -> str:
        """The bounds in words; `any` where one bounds nothing."""
        check_told(self.bounds, self.told)
        return ", ".join(f"{name} {'any' if value is None else value}" for name, value in self.values().items())


@frozen
class Step:
    """One transition, as step properties see it.

    Attributes:
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

    name: str = field(validator=readable)
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
        rules: ids of the rules that the claim checks; see `kraftcheck.model.language.words`.
        fairness: for liveness, what is fair besides what the system declares.
        case, options: the goal without whose witness it is vacuous; the options of the command line that add it.
        initially: for `step`, what is claimed of initial states besides.
        rests_on: groups of invariants and lemmas about steps, by their ids; each suffices for some parts of a proof
            about any number, which takes one at a time. Only others are assumed where none does.
        follows_from: invariants, by their ids, that imply it in every state; a proof about any number shows just that.
    """

    id: str = field(validator=readable)
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


def _bounds(given: Iterable[Bound]) -> tuple[Bound, ...]:
    return tuple(given)


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
        base: of Kafka's rule sets, the one that counts where none is named; empty: the usual one.
        changes: where it is another one with changes, what is changed and where that is written, in words.
        plain: that other one; None: it is a system of its own.
        quiet: of a state, the event of a step that reports nothing; None: None is.
    """

    name: str
    summary: str
    initial: Callable[[Setting], Iterable[Any]] = field(converter=_states)
    actions: Callable[[Setting], Sequence[Action]] = field(converter=_actions)
    layout: Callable[[Setting], Any] = field(converter=_layout)
    properties: Callable[[Setting], Sequence[Property]] = field(converter=_properties, default=lambda setting: ())
    scopes: Mapping[str, Mapping[str, int]] = field(factory=lambda: {"default": {}})
    bounds: tuple[Bound, ...] = field(converter=_bounds, default=())
    quiescent: Callable[[Any], Truth] | None = None
    within: Callable[[Any], Truth | Conjuncts] | None = None
    lemmas: Callable[[Setting], Sequence[Property]] = field(converter=_properties, default=lambda setting: ())
    decided: tuple[str, ...] = ()
    rules: tuple[type, ...] | type = ()
    symmetries: Callable[[Setting], Sequence[Symmetry]] = field(converter=_symmetries, default=lambda setting: ())
    legend: Legend | None = None
    fairness: Callable[[Setting], Sequence[Fairness]] = field(converter=_fairness, default=lambda setting: ())
    base: str = ""
    changes: tuple[str, ...] = ()
    plain: System | None = None
    quiet: Callable[[Any], Any] | None = None

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
            value = setting[bound.name]
            if not bound.accepts(value, proof):
                mend = "; only `prove` takes any" if is_any(value) and bound.takes_any else ""
                where = f"{self.name}: {bound.name} = {spelled(value)} is out of range"
                raise ScopeError(f"{where} {bound.range(proof)}{mend}")
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
        preset = self.scopes[name]
        values = {**preset, **(overrides or {})}
        for key, value in values.items():
            if key not in declared:
                raise ScopeError(f"{self.name} has no bound {key!r}; {nearest(key, declared)}")
            if value < declared[key].lo:
                raise ScopeError(f"{self.name}: {key} = {value} is out of range {declared[key].lo}..{declared[key].hi}")
            if not declared[key].accepts(preset.get(key, declared[key].lo), proof=False):
                beyond = f"{key} = {spelled(preset[key])}, but searches take {declared[key].range(proof=False)}"
                raise ScopeError(f"{self.name}: scope {name} has {beyond}; give it one of these, and give what is "
                                 f"only proven as --{key}")  # fmt: skip
        unused = freed(declared, values)
        for key in [key for key in overrides or {} if key in unused]:
            by = f"{declared[key].freed_by} = {spelled(values[declared[key].freed_by])}"
            raise ScopeError(f"{self.name}: {key} bounds nothing with {by}; leave out --{key}")
        for key, most in exceeding(self.bounds, values):
            if key not in unused:
                more = f"{key} = {spelled(values[key])} is more than {most} = {spelled(values[most])}"
                raise ScopeError(f"{self.name}: {more}; lower --{key} or raise --{most}")
        rules = self.rules() if rules is None and isinstance(self.rules, type) else rules
        return Setting(name, values, rules, unused, {bound.name: bound.lo for bound in self.bounds})
