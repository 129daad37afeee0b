"""The subject of a command: a system at a setting, with added expressions, made from what the user typed."""

from __future__ import annotations

import contextlib
import difflib
import functools
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import click
from attrs import evolve, frozen

from kraftcheck.ci.systems.added import SHOWN
from kraftcheck.ci.systems.lookup import at_fault, find_system, properties_of, words_of
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.layout import LayoutError, TooWideError, bits_by_field
from kraftcheck.model.language.symbolic import UntraceableRule
from kraftcheck.model.language.system import ANY, LIVENESS, Property, ScopeError, Setting, System, spelled
from kraftcheck.model.language.words import RuleError
from kraftcheck.model.nearest import nearest
from kraftcheck.model.rules.vocabulary import KAFKA
from kraftcheck.properties.catalogue import FAIR_SYSTEMS, SYSTEMS
from kraftcheck.solvers.audit.each_number import check_each
from kraftcheck.solvers.audit.numbers import check_freed
from kraftcheck.solvers.audit.traced_sample import check_sample
from kraftcheck.solvers.expressions.checking import ExpressionError
from kraftcheck.solvers.expressions.expression import FIND, NO_EXPRESSIONS, Expressions, typed_id
from kraftcheck.solvers.machine_code.lower import LoweringError
from kraftcheck.solvers.program.parts import RAISED, SystemFault, ask
from kraftcheck.solvers.program.premises import deadlock_alone
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import DEADLOCK
from kraftcheck.solvers.smt.theory import Theory

_NEAR = 0.75  # how alike an option is that may have been meant
EXPLORE_OPTIONS = "kraftcheck explore --help"  # the command that shows the options among which bounds may stand


@frozen
class CommandWords:
    """The free words of a command line: one system, and flags, without dashes, with the texts given for them."""

    system: str
    flags: Mapping[str, str]

    def bounds(self, names: Sequence[str], options: Sequence[str]) -> dict[str, int]:
        """Flags as bounds by name, `any` as of one that bounds nothing; raises Refusal for others."""
        for name, value in self.flags.items():
            if name not in names:
                flags = [f"--{bound}" for bound in names]
                near = difflib.get_close_matches(f"--{name}", [*flags, *options], cutoff=_NEAR)
                mend = f"did you mean {', '.join(near)}?" * bool(near)
                if {*flags}.isdisjoint(near):
                    mend = f"{mend} {self.system} has {', '.join(flags) or 'no bounds'}".strip()
                raise Refusal(f"unknown option --{name}; {mend}")
            if value != "any" and not (value.isascii() and value.removeprefix("-").isdigit() and len(value) < 20):
                raise Refusal(f"--{name} takes an int, not {value!r}")
        return {name: ANY if value == "any" else int(value) for name, value in self.flags.items()}


def own_options() -> list[str]:
    """The options of the running command, for suggestions."""
    parameters = click.get_current_context().command.params
    return [flag for parameter in parameters for flag in parameter.opts if flag.startswith("--")]


def system_and_bounds(words: Sequence[str]) -> tuple[str, dict[str, int]]:
    """The system among the command's free words, and its bounds; raises Refusal for none, or a hidden bound."""
    options = own_options()
    parsed = parse_words(words, options)
    names = [bound.name for bound in find_system(parsed.system).bounds]
    for name in names:
        if f"--{name}" in options:
            raise Refusal(f"{parsed.system}: --{name} is an option of this command; give bound {name!r} another name")
    return parsed.system, parsed.bounds(names, options)


def parse_words(words: Sequence[str], options: Sequence[str]) -> CommandWords:
    """The system and the flags among free words, in any order; raises Refusal for none or several, a flag twice."""
    rest, systems, flags = list(words), [], {}
    while rest:
        word = rest.pop(0)
        if not word.startswith("-"):
            systems.append(word)
            continue
        if not word.startswith("--"):
            raise Refusal(f"unknown option {word}; {nearest(word, options, EXPLORE_OPTIONS)}")
        name, equals, value = word.removeprefix("--").partition("=")
        if not equals:
            value = rest.pop(0) if rest and not rest[0].startswith("--") else ""
        if name in flags:
            raise Refusal(f"--{name} is given twice; give it once")
        flags[name] = value
    if not systems:
        unknown = [f"--{name}" for name, value in flags.items() if value and not value.lstrip("-").isdigit()]
        if unknown:
            raise Refusal(f"unknown option {unknown[0]}; {nearest(unknown[0], options, EXPLORE_OPTIONS)}")
        raise Refusal("missing argument SYSTEM; kraftcheck list names them, your own is file.py:NAME")
    if len(systems) > 1:
        raise Refusal(f"one SYSTEM at a time; {', '.join(map(repr, systems[1:]))} is too much")
    return CommandWords(systems[0], flags)


def bounds_of(bounds: Mapping[str, int | str]) -> dict[str, int]:
    """Bounds as the command line takes them: with `-` for `_`, and `any` for one that bounds nothing."""
    numbers = {name: ANY if value == spelled(ANY) else value for name, value in bounds.items()}
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, int):
            raise Refusal(f"{name} takes an int, not {value!r}: it is a bound, or no argument at all")
    return {name.replace("_", "-"): int(value) for name, value in numbers.items()}


invariant_option = click.option(
    "--invariant", "invariants", multiple=True, metavar="EXPR",
    help="Add an invariant over the fields of the state, such as 'leader in isr'; repeatable.",
)  # fmt: skip

when_option = click.option(
    "--when", metavar="EXPR", help="Each --invariant has to hold only in states that satisfy this."
)

find_option = click.option(
    "--find", metavar="EXPR", help="Judge nothing: search the shortest way to a state that satisfies this."
)


def expression_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --invariant and --when to a command, which gets them as one argument `expressions`."""

    @functools.wraps(command)
    def packed(*args: Any, invariants: tuple[str, ...], when: str | None, **values: Any) -> Any:
        if when is not None and not invariants:
            raise Refusal("--when says where an --invariant has to hold; give one (or write --find 'P and Q')")
        return command(*args, expressions=Expressions(invariants, when or ""), **values)

    return invariant_option(when_option(packed))


def expression_properties(
    name: str, system: System, setting: Setting, expressions: Expressions
) -> tuple[Property, ...]:
    """What expressions add to a system; raises Refusal for one that does not fit the state, or is a property's id."""
    if expressions == Expressions():
        return ()
    try:
        shape = ask("layout", lambda: system.layout(setting))
        added = expressions.properties(shape, f"kraftcheck step {shlex.quote(name)}")
    except (ExpressionError, SystemFault, LayoutError) as error:
        raise at_fault(name, system, setting, error) from error
    own = {claim.id for claim in properties_of(name, system, setting)}
    for claim in added:
        if claim.id in own:
            raise Refusal(f"{name} has a property {claim.id!r} already; put the expression in parentheses")
    return added


def judged(claims: Sequence[Property], added: Sequence[Property], ids: Sequence[str]) -> tuple[Property, ...]:
    """The properties to judge: all, or the named ids; what is added too, unless it is named."""
    known = {claim.id: claim for claim in (*claims, *added)}
    if not ids:
        return tuple(known.values())
    wanted = [id_ for id_ in with_added(ids, [claim.id for claim in added]) if id_ in known]
    cases = [known[id_].case for id_ in wanted if known[id_].case]
    return tuple(known[id_] for id_ in dict.fromkeys([*wanted, *cases]))


def with_added(ids: Sequence[str], added: Sequence[str]) -> tuple[str, ...]:
    """The ids that --property names, and those that are added, unless it names some of these or nothing at all."""
    return tuple(ids) if not ids or set(ids) & set(added) else (*ids, *added)


Traced = TypeVar("Traced", Program, Theory)

DEFAULT_RULES = KAFKA


OWN_NAME = "FILE.py:SYSTEM"
"""What stands for a changed system that was given as it is, whose own name is that of a shipped system."""


@frozen
class Subject:
    """A system at a setting, and the words that name both."""

    name: str  # a shipped name, `module:attribute`, or the name of a system that was given as it is
    system: System  # the system, its properties filtered as asked
    setting: Setting  # scope, bounds and rules
    rules: str | None  # the rule set as typed; None for systems without rules
    whole: System  # the system with all its properties
    # the build whose own classes are the controller, and the release that completes it where one is named; empty: the
    # rules are
    kafka: tuple[str, ...] = ()

    @property
    def shipped(self) -> bool:
        """Whether the system comes with kraftcheck; the rules of any other are compared with ints in a sample."""
        return self.whole in (SYSTEMS.get(self.name), FAIR_SYSTEMS.get(self.name))

    def command(self, engine: str = "explore") -> str:
        """The command that explores this subject again, or asks another engine about it."""
        preset = self.system.scopes.get(self.setting.scope, {})
        bounds = [f"--{k} {spelled(v)}" for k, v in self.setting.bounds.items() if preset.get(k) != v]
        rules = [] if self.rules is None else [f"--rules {self.rules}"]
        scope = f"--scope {shlex.quote(self.setting.scope)}"
        name = OWN_NAME if self.system.base and ":" not in self.name else self.name
        classes = [f"--{word} {shlex.quote(text)}" for word, text in zip(("kafka", "like"), self.kafka, strict=False)]
        return " ".join([f"kraftcheck {engine}", shlex.quote(name), scope, *bounds, *rules, *classes])

    def again(self, claim: str, engine: str = "explore", options: Sequence[str] = ()) -> str:
        """The command that asks an engine about this subject again, with some options, and judges one property."""
        claims = self.system.properties(self.setting)
        added, typed = next(((one.options, typed_id(one)) for one in claims if one.id == claim), ({}, claim))
        words = [f"--{name} {shlex.quote(text)}" for name, text in added.items()]
        judged_alone = [] if FIND in added else [f"--property {shlex.quote(typed)}"]
        return " ".join([self.command(engine), *map(shlex.quote, options), *words, *judged_alone])

    def document(self) -> dict[str, Any]:
        """The words that name it, as plain values."""
        values, changes = self.setting.values(), self.system.changes
        named = {"system": self.name, "scope": self.setting.scope, "bounds": values, "rules": self.rules}
        return {**named, "changes": list(changes)} if changes else named

    def title(self) -> str:
        """A line that says what is checked."""
        bounds = self.setting.text()
        parts = [f"scope {self.setting.scope}" + (f" ({bounds})" if bounds else "")]
        parts += [] if self.rules is None else [f"rules {self.rules}"]
        parts += [f"controller of Kafka {self.kafka[0]}"] if self.kafka else []
        return f"{self.name}, " + ", ".join(parts) + changed(self.system)

    def at_fault(self, fault: object) -> Refusal:
        """See the function of this name."""
        return at_fault(self.name, self.system, self.setting, fault)


def changed(system: System) -> str:
    """What is changed in a system, after the rule set that it names; empty where nothing is."""
    return f" with {', '.join(system.changes)}" if system.changes else ""


def subject(
    named: str | System, scope: str | None, bounds: Mapping[str, int], rules: str | None, only: Sequence[str] = (),
    proof: bool = False, expressions: Expressions = NO_EXPRESSIONS,
) -> Subject:  # fmt: skip
    """The subject that the user named.

    Args:
        named: system name, `module:attribute`, or a system.
        scope: preset; None for the first.
        bounds: single bounds that override it.
        rules: `PRESET[+VARIANT|-VARIANT...]`; None for the default.
        only: ids of the properties to judge; empty for all.
        proof: whether the bounds may be as large as provers take them.
        expressions: properties to add; they are judged in any case, unless `only` names some of them.

    Raises:
        Refusal: naming what is unknown or out of range, with the nearest names.
    """
    system = find_system(named)
    name = named if isinstance(named, str) else system.name
    if not system.scopes:
        raise Refusal(f"{name}: scopes is empty; a system has at least one")
    try:
        text, parsed = rule_set(name, system, rules)
        setting = system.setting(scope, bounds, parsed, proof)
    except ScopeError as error:
        raise Refusal(str(error)) from error
    return Subject(name, _only(name, system, setting, only, expressions), setting, text, system)


def rule_set(name: str, system: System, text: str | None) -> tuple[str | None, Any]:
    """The rule set, named or the system's default, with its name; none where it takes none.

    Raises:
        Refusal: for a rule set where none is taken.
        ScopeError: for an unknown preset or variant.
    """
    words = words_of(system)
    if words is None:
        if text is not None:
            raise Refusal(f"{name} takes no rule set; leave out --rules")
        return None, None
    chosen = words.default if text is None else text
    return chosen, words.parse(chosen)


def check_ids(ids: Sequence[str]) -> None:
    """Refuse one text where a list of ids of properties is taken."""
    if isinstance(ids, str):
        raise Refusal(f"properties takes a list of ids, not {ids!r}; write [{ids!r}]")


def _only(name: str, system: System, setting: Setting, ids: Sequence[str], expressions: Expressions) -> System:
    """The system with the properties asked for; deadlock is judged in any case."""
    check_ids(ids)
    claims = properties_of(name, system, setting)
    added = expression_properties(name, system, setting, expressions)
    known = {claim.id for claim in (*claims, *added)}
    for id_ in ids:
        if id_ not in known and id_ != DEADLOCK:
            near = nearest(id_, [*known, DEADLOCK], f"kraftcheck list {name}")
            raise Refusal(f"{name} has no property {id_!r} at this setting; {near}")
    goals = [claim.id for claim in claims if system.changes and claim.id.startswith(SHOWN)]
    chosen = judged(claims, added, with_added(ids, goals))
    return evolve(system, properties=deadlock_alone if ids and not chosen else lambda _: chosen)


def program(chosen: Subject, compared: bool = True) -> Program:
    """The subject traced, and compared with ints as of `traced`; raises Refusal for a fault of a user's system."""
    return traced(chosen, trace, compared)


def traced(
    chosen: Subject, how: Callable[[System, Setting], Traced], compared: bool = True,
    few: Callable[[], Sequence[tuple[System, Setting]]] = tuple,
) -> Traced:  # fmt: skip
    """The subject as an engine takes it, compared with ints if asked, and `few`; raises as `program`."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            made = how(chosen.system, chosen.setting)
            if compared and not chosen.shipped:  # the rules of shipped systems are compared by tests
                asked = evolve(chosen.system, properties=chosen.whole.properties)
                check_freed(lambda setting: _program(how(asked, setting)), asked, chosen.setting)
                if beside := few():
                    check_each(lambda system, setting: _program(how(system, setting)), asked, chosen.setting)
                check_sample(_program(made), beside)
            return made
    except Refusal:
        raise
    except (ScopeError, RuleError) as error:
        raise Refusal(str(error)) from error
    except (SystemFault, UntraceableRule, LayoutError, LoweringError) as error:
        mend = cheaper(chosen.system, chosen.setting) if isinstance(error, TooWideError) else ""
        raise chosen.at_fault(f"{error}{mend}") from error
    except RAISED as error:
        if chosen.shipped:
            raise
        raise chosen.at_fault(f"tracing it raised {type(error).__name__}: {error}") from error


def _program(made: Traced) -> Program:
    return made if isinstance(made, Program) else made.program


@contextlib.contextmanager
def faults_refused(chosen: Callable[[], Subject]) -> Iterator[None]:
    """A fault of a system that an engine finds after it was traced is refused, in one line."""
    try:
        yield
    except SystemFault as error:
        raise chosen().at_fault(error) from error


def cheaper(system: System, setting: Setting) -> str:
    """For a state that is too wide, the bound that saves most bits when lowered by one; else nothing."""
    if not setting.bounds or ANY in setting.bounds.values():
        return ""
    best, saved = _best_saving(system, setting)
    return f"; --{best} {setting.bounds[best] - 1} saves {saved}" if saved > 0 else ""


def relief(system: System, setting: Setting) -> str:
    """For states that are too many for memory: what each spends most on, and what to raise or lower."""
    cost = bits_by_field(system.layout(setting))
    most = max(cost, key=lambda name: cost[name])
    told = [f"a state has {sum(cost.values())} bits, most of them in {most} ({cost[most]})", "raise --memory"]
    best, saved = _best_saving(system, setting)
    if saved > 0:
        told.append(f"lower --{best} to {setting.bounds[best] - 1}, which saves {saved} bits a state")
    budgets = (bound for bound in system.bounds if bound.help.startswith("budget"))
    spent = [f"--{bound.name}" for bound in budgets if setting[bound.name] > bound.lo]
    if spent:
        told.append(f"or a budget ({', '.join(spent)}), which makes fewer states")
    return "; ".join(told)


def _width(system: System, setting: Setting) -> int:
    return sum(bits_by_field(system.layout(setting)).values())


def _best_saving(system: System, setting: Setting) -> tuple[str, int]:
    """The bound that saves most bits when lowered by one, and how many; none saved: 0."""

    def saved(name: str) -> int:
        try:
            return _width(system, setting) - _width(
                system, evolve(setting, bounds={**setting.bounds, name: setting.bounds[name] - 1})
            )
        except ScopeError:  # the bound is as low as the others allow
            return 0

    lowest = {bound.name: bound.lo for bound in system.bounds}
    savings = {name: saved(name) for name, value in setting.bounds.items() if value > lowest[name]}
    best = max(savings, key=lambda name: savings[name], default="")
    return best, savings.get(best, 0)


def refuse_liveness(chosen: Subject, engine: str, only: Sequence[str] = (), mend: str = "") -> None:
    """Refuse fair behaviours to an engine that knows none, naming properties, engine and what else to do."""
    live = [c.id for c in chosen.system.properties(chosen.setting) if c.kind in LIVENESS and (not only or c.id in only)]
    if live:
        names = ", ".join(live)
        raise Refusal(f"{chosen.name}: {engine} no liveness ({names}); `kraftcheck explore` does{mend}")
