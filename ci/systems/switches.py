"""Refuses variants and bounds that change nothing: a verdict about them would be one about something else.

The fingerprint of the traced program decides, with all properties of the system, whichever are asked for: a
variant that changes none of guards, effects, claims, layout and initial states at this setting is not read there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import chain, islice
from typing import Any

from attrs import evolve, frozen

from kraftcheck.ci.systems.added import DECIDED, Added, AddedAction, AddedField, AddedGuard, OwnChoice, is_on
from kraftcheck.ci.systems.changed import ChangedSystem
from kraftcheck.ci.systems.overrides import Override
from kraftcheck.ci.systems.subject import Subject, Traced, traced
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.layout import LayoutError, bits_by_field, leaves
from kraftcheck.model.language.symbolic import UntraceableRule
from kraftcheck.model.language.system import ScopeError, Setting, System, spelled
from kraftcheck.model.language.terms import Graph
from kraftcheck.model.rules.spelling import Spelling
from kraftcheck.model.rules.vocabulary import Vocabulary, vocabulary
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.register.defects import BUGS
from kraftcheck.solvers.program.evaluation import closure
from kraftcheck.solvers.program.fingerprint import fingerprint
from kraftcheck.solvers.program.parts import SystemFault, ask
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.trace import trace

MOST_READERS = 3  # systems that a refusal names at most

OTHER_PRESETS = ("fixed", "kip", "kafka-4.0")
"""Where a variant is looked for that changes nothing under the preset that was named."""

How = Callable[[System, Setting], Traced]  # what traces a system: for explorers, or for provers


def check_switches(chosen: Subject, how: How[Any] = trace) -> None:
    """Refuse the first variant or bound of a command line that changes nothing there, and say where it does."""
    program = cache(lambda: _fingerprint(chosen, chosen.setting, how))

    def changes_nothing(without: Setting) -> bool:
        found = _fingerprint(chosen, without, how)
        return found is not None and found == program()

    words = vocabulary(chosen.whole)
    if words is not None and chosen.rules is not None:
        spelling = words.spelling(chosen.rules)
        _check_spelling(words, spelling)
        for switch in spelling.switches:
            others = Spelling(spelling.preset, tuple(other for other in spelling.switches if other != switch))
            if changes_nothing(evolve(chosen.setting, rules=words.rules(others))):
                raise Refusal(_unread_variant(chosen, words, spelling, *switch))
    check_changes(chosen, how)
    bounds = _given_bounds(chosen)
    for name in bounds:
        fewer = _without(chosen, {key: value for key, value in bounds.items() if key != name})
        if fewer is None or _shape(chosen, fewer) != _shape(chosen, chosen.setting):
            continue
        if changes_nothing(fewer):
            raise Refusal(_unread_bound(chosen, name))


def check_changes(chosen: Subject, how: How[Any] = trace) -> None:
    """Refuse a rule, a guard or a choice that changes nothing, a field that nothing reads or changes, and a function
    that gives nothing; raises as `check_switches`."""
    whole = chosen.whole
    if not isinstance(whole, ChangedSystem):
        return
    program = cache(lambda: _fingerprint(chosen, chosen.setting, how))
    parts: tuple[Override | AddedGuard, ...] = (*whole.of(Override), *whole.of(AddedGuard))
    for part in parts:
        if not is_on(part, chosen.setting):
            continue
        less = evolve(chosen, whole=whole.without(part))
        if isinstance(part, AddedGuard):
            idle = _asks_nothing(part, chosen, less, how)
        else:
            found = _fingerprint(less, chosen.setting, how)
            idle = found is not None and found == program()
        if idle:
            what = f"in the place of {part.name}" if isinstance(part, Override) else f"as a {part.name}"
            raise Refusal(f"{part.place}: {what} it changes nothing in {chosen.title()}; leave it out, or take a scope "
                          "and rules that read it")  # fmt: skip
    every = {
        one.name.replace("-", "_"): True for one in whole.of(OwnChoice)
    }  # what reads it may be there with one alone
    setting = evolve(chosen.setting, rules=chosen.setting.rules.switched(**every))
    _check_given(chosen, whole, setting)
    for choice in whole.of(OwnChoice):
        if not any(choice.name == getattr(part, "when", "") for part in whole.parts):
            off = evolve(setting, rules=setting.rules.switched(**{choice.name.replace("-", "_"): False}))
            if _fingerprint(chosen, setting, how) == _fingerprint(chosen, off, how):
                raise Refusal(f"{choice.place}: nothing reads the choice {choice.name} in {chosen.title()}; name it in "
                              "`when`, or leave it out")  # fmt: skip
    if not whole.of(AddedField):
        return
    made = traced(evolve(chosen, system=whole, setting=setting), how, compared=False)
    of = made if isinstance(made, Program) else made.program
    for field in whole.of(AddedField):
        if not reads(of, field.variable):
            raise Refusal(f"{field.place}: nothing reads the field {field.variable} in {chosen.title()}; "
                          "leave it out, or take a scope and rules that read it")  # fmt: skip
        own = _slots(of, field.variable)
        if all(kind.after[at].index == of.state[at].index for kind in of.kinds for at in own):
            raise Refusal(f"{field.place}: no step changes the field {field.variable} in {chosen.title()}; give it "
                          "`then`, or an action that sets it")  # fmt: skip


def _slots(program: Program, field: str) -> list[int]:
    paths = (slot.path.replace("[", ".").split(".")[0] for slot in program.layout.slots)
    return [at for at, path in enumerate(paths) if path == field]


def _check_given(chosen: Subject, whole: ChangedSystem, setting: Setting) -> None:
    """Refuse a function of the setting that gives nothing, with every choice of one's own on."""
    parts: tuple[AddedAction | Added, ...] = (*whole.of(AddedAction), *whole.of(Added))
    for part in parts:
        if not part.at(setting):
            kind = "Action" if isinstance(part, AddedAction) else part.kind.__name__
            raise Refusal(f"{part.place}: the function gives no kraftcheck.{kind} in {chosen.title()}; leave it out, "
                          "or take a scope and rules with one")  # fmt: skip


def reads(program: Program, field: str) -> bool:
    """Whether a guard, a claim, or what becomes of another field depends on a field of the state."""
    own = _slots(program, field)
    asked = [*program.always_terms, *program.sometimes_terms, program.quiescent, *program.starts.values(),
             *program.liveness.terms, *(term for one in program.recovers for term in (one.when, one.goal))]  # fmt: skip
    for kind in program.kinds:
        asked += [*kind.guard.values(), *kind.steps]
        asked += [term for at, term in enumerate(kind.after) if at not in own]
    read = {term.index for term in closure(asked)}
    return any(program.state[at].index in read for at in own)


def _given_bounds(chosen: Subject) -> dict[str, int]:
    preset = chosen.system.scopes[chosen.setting.scope]
    lowest = {bound.name: bound.lo for bound in chosen.system.bounds}
    bounds = chosen.setting.bounds.items()
    return {name: value for name, value in bounds if value != preset.get(name, lowest[name])}


def _check_spelling(words: Vocabulary, spelling: Spelling) -> None:
    """Refuse a variant that is named twice, or is so in the preset already."""
    for name, times in Counter(name for name, _ in spelling.switches).items():
        if times > 1:
            raise Refusal(f"--rules {spelling.text()}: {name} is named twice; name it once")
    for name, on in spelling.switches:
        if words.value(spelling.preset, name) is on:
            state = "on" if on else "off"
            raise Refusal(
                f"--rules {spelling.text()}: {name} is {state} in {spelling.preset} already; leave out "
                f"{'+' if on else '-'}{name}"
            )


def _asks_nothing(guard: AddedGuard, chosen: Subject, less: Subject, how: How[Any]) -> bool:
    """Whether all that a guard adds to the conditions of its action is true of every state."""
    found = [_program(of, chosen.setting, how) for of in (chosen, less)]
    ours, others = ({} if of is None else {kind.action.name: kind.guard for kind in of.kinds} for of in found)
    added = [term for name, term in ours.get(guard.action, {}).items() if name not in others.get(guard.action, {})]
    return None not in found and all(term.op == "const" and term.value for term in added)


def _fingerprint(chosen: Subject, setting: Setting, how: How[Any]) -> str | None:
    found = _program(chosen, setting, how)
    return None if found is None else fingerprint(found)


def _program(chosen: Subject, setting: Setting, how: How[Any]) -> Program | None:
    """The whole system at a setting, without what is only asked of a change."""
    try:
        claims = tuple(one for one in ask("properties", lambda: chosen.whole.properties(setting))
                       if not one.id.startswith(DECIDED))  # fmt: skip
        system = evolve(chosen.whole, properties=lambda _: claims)
        made = traced(evolve(chosen, system=system, setting=setting), how, compared=False)
    except (Refusal, SystemFault):
        return None
    return made if isinstance(made, Program) else made.program


def _shape(chosen: Subject, setting: Setting) -> tuple[tuple[str, Any], ...] | None:
    """The fields of the layout, which tell most bounds apart without a trace; None where there is no layout."""
    try:
        return tuple(leaves(ask("layout", lambda: chosen.whole.layout(setting))))
    except (SystemFault, LayoutError, UntraceableRule):
        return None


def _without(chosen: Subject, bounds: dict[str, int]) -> Setting | None:
    """The setting with these bounds only besides those of the scope; None where there is none."""
    try:
        return chosen.whole.unlimited_setting(chosen.setting.scope, bounds, chosen.setting.rules)
    except ScopeError:
        return None


@frozen
class VariantSetting:
    """A setting at which a variant may change something; its rule set, with the variant, is as it is typed."""

    system: System
    scope: str
    rules: Spelling
    bounds: tuple[tuple[str, int], ...] = ()

    def words(self, name: str, typed: str) -> str:
        """The arguments that name the place on a command line; the rule set only where it is not the one typed."""
        bounds = "".join(f" --{bound} {value}" for bound, value in self.bounds)
        rules = self.rules.text()
        return f"{name} --scope {self.scope}{bounds}" + ("" if rules == typed else f" --rules {rules}")

    def reads(self, words: Vocabulary, variant: str, on: bool) -> bool:
        """Whether the variant changes the program here."""
        found = []
        for value in (on, not on):
            rules = words.rules(Spelling(self.rules.preset, (*self.rules.switches, (variant, value))))
            try:
                setting = self.system.setting(self.scope, dict(self.bounds), rules)
                found.append(fingerprint(trace(self.system, setting, graph=Graph())))
            except ScopeError:
                return False
        return found[0] != found[1]


def _unread_variant(chosen: Subject, words: Vocabulary, spelling: Spelling, name: str, on: bool) -> str:
    """The refusal of a variant that changes nothing, and where it changes something."""
    typed = spelling.text()
    given = "".join(f" --{bound} {value}" for bound, value in _given_bounds(chosen).items())
    head = f"--rules {typed}: {name} changes nothing in {chosen.name} --scope {chosen.setting.scope}{given}"
    if words.group(name):
        readers = [place.words(place.system.name, typed) for place in readers_of(words, spelling.preset, name, on)]
    else:
        alone = Spelling(spelling.preset, ((name, on),))
        places = [VariantSetting(chosen.whole, scope, alone) for scope in _scopes(chosen.whole, words.rules(alone))]
        readers = [place.words(chosen.name, typed) for place in places if place.reads(words, name, on)][:MOST_READERS]
    if readers:
        return f"{head}; it does in {', '.join(readers)}"
    if words.group(name) == "controller":
        return f"{head}, nor in any other system; only the controller on ints reads it (kraftcheck replay, conform)"
    return f"{head}, nor at another scope; it may take other bounds"


def readers_of(words: Vocabulary, preset: str, name: str, on: bool) -> Iterator[VariantSetting]:
    """Where a choice of Kafka's changes something: the smallest scope of each system first, then wherever it does.

    Looked at are the systems that declare the group of the choice: at their scopes, where a defect of the matrix
    shows, and under the other presets.
    """
    group = words.group(name)
    systems = [system for system in SYSTEMS.values() if group in _declared(system)]
    alone = Spelling(preset, ((name, on),))
    scopes = [(system, _scopes(system, words.rules(alone))) for system in systems]
    shows = partial(VariantSetting.reads, words=words, variant=name, on=on)
    smallest = [place for place in (VariantSetting(system, few[0], alone) for system, few in scopes) if shows(place)]
    if smallest:
        yield from smallest[:MOST_READERS]
        return
    others = (VariantSetting(system, scope, alone) for system, few in scopes for scope in few[1:])
    places = chain(_of_defects(words, name, on), others, _of_presets(words, preset, name, on))
    yield from islice(filter(shows, places), 1)


def _of_defects(words: Vocabulary, name: str, on: bool) -> Iterator[VariantSetting]:
    """Where the defects of the matrix with the choice show."""
    for bug in BUGS:
        spelling = words.spelling(bug.rules)
        if (name, on) in spelling.switches:
            yield VariantSetting(SYSTEMS[bug.system], bug.scope, spelling, tuple(bug.bounds.items()))


def _of_presets(words: Vocabulary, preset: str, name: str, on: bool) -> Iterator[VariantSetting]:
    """The smallest scopes under the other presets, with the choice so."""
    for other in OTHER_PRESETS:
        there = Spelling(other, () if words.value(other, name) is on else ((name, on),))
        for system in SYSTEMS.values():
            if other != preset and words.group(name) in _declared(system):
                yield VariantSetting(system, _scopes(system, words.rules(there))[0], there)


def _declared(system: System) -> tuple[str, ...]:
    words = vocabulary(system)
    return () if words is None else words.declared


def _scopes(system: System, rules: Any) -> list[str]:
    """The scopes of a system, those with the smallest states first."""
    return sorted(
        system.scopes, key=lambda scope: sum(bits_by_field(system.layout(system.setting(scope, rules=rules))).values())
    )


def _unread_bound(chosen: Subject, name: str) -> str:
    value, usual = spelled(chosen.setting[name]), chosen.system.scopes[chosen.setting.scope].get(name)
    rules = "" if chosen.rules is None else f" under {chosen.rules}"
    return (
        f"--{name} {value} changes nothing in {chosen.name} --scope {chosen.setting.scope}{rules}: it is the same "
        f"as with {usual}; leave it out"
    )
