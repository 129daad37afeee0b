"""Comparisons of two sides: where they decide otherwise, and which promises that breaks."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from types import CodeType
from typing import Any

import attrs
from attrs import evolve, frozen

from kraftcheck.ci.run.questions import NativeSearch, SearchQuestion
from kraftcheck.ci.run.result import Result
from kraftcheck.ci.systems import report
from kraftcheck.ci.systems.added import ALL_OFF, DECIDED, is_on
from kraftcheck.ci.systems.changed import ChangedSystem, parts_of
from kraftcheck.ci.systems.lookup import find_system, words_of
from kraftcheck.ci.systems.subject import OWN_NAME, Subject, program, subject
from kraftcheck.ci.systems.switches import check_changes
from kraftcheck.ci.terminal.console import Column, Screen, Table
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.collections import equal
from kraftcheck.model.language.layout import Layout, leaves
from kraftcheck.model.language.refinement import Refinement
from kraftcheck.model.language.system import Property, Step, System
from kraftcheck.model.language.terms import Graph, Truth
from kraftcheck.model.language.words import any_of, negate
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.solvers.drawings.drawing import Drawing, drawing, with_other_rules
from kraftcheck.solvers.exploration.explore import SearchBudget
from kraftcheck.solvers.program.fingerprint import fingerprint
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import (
    RUN,
    Holds,
    Incomplete,
    PropertyVerdict,
    Refuted,
    Trace,
    Unknown,
    Vacuous,
    Verdict,
    worst_exit_code,
)
from kraftcheck.solvers.traces.itf import trace_document
from kraftcheck.solvers.traces.render import fields, lines, refusal, show

DEFAULT = "elections"  # the system of two rule sets where none is named
EXIT_DIFFERS = 1  # both sides decide otherwise, and nothing that A promises is broken in B

ALIKE = "decided alike: "
"""How the ids of the claims begin that compare; the name of an action, START or REPORTS follows."""

SIDE = ("complete", "states", "kafka")  # what the document of a comparison has of that of each search

START, REPORTS = "initial states", "what steps report"
BROKEN, MENDED, CHANGED = "broken", "mended", ""
NAMES = ("A", "B")


def sides(
    a: str | System, b: str | System, system: str, scope: str | None, bounds: Mapping[str, int]
) -> tuple[Subject, Subject]:
    """The two sides of a comparison, at one setting.

    Args:
        a, b: a rule set; or a system: `module:attribute`, `file.py:attribute`, or as it is. `+VARIANT` or `-VARIANT`
            after a name switches a choice of its own rule set.
        system: that of a rule set; empty: that of the other side, or else `elections`.
        scope, bounds: preset bounds, the first by default; single ones that override it.

    Raises:
        Refusal: for what there is not, and for two systems whose states have other fields.
    """
    named = [switched(one) for one in (a, b) if isinstance(one, System) or ":" in one]
    of: str | System = system or (named[0][0] if named else DEFAULT)
    whole = find_system(of)
    if not system and isinstance(whole, ChangedSystem):
        of = whole.unchanged()

    def side(given: str | System) -> Subject:
        name, switches = switched(given)
        if isinstance(name, str) and ":" not in name:
            own_rules(of, name)
            return subject(of, scope, bounds, name)
        return subject(name, scope, bounds, own_rules(name, switches) if switches else None)

    one, other = side(a), side(b)
    fields = [{path for path, _ in leaves(side.system.layout(side.setting))} for side in (one, other)]
    if differing := sorted(fields[0] ^ fields[1]):
        names = ", ".join(filter(None, differing[:4]))
        raise Refusal(f"states of A and B differ in {names}; compare what has states of one shape")
    return one, other


def switched(side: str | System) -> tuple[str | System, str]:
    """A side, and the switches after its name where it names a system; those of a rule set are part of its name.

    >>> switched("mykip.py:KIP+elr-waits")
    ('mykip.py:KIP', '+elr-waits')
    """
    if not isinstance(side, str) or ":" not in side:
        return side, ""
    module, colon, attribute = side.rpartition(":")
    end = next((at for at, sign in enumerate(attribute) if sign in "+-"), len(attribute))
    return f"{module}{colon}{attribute[:end]}", attribute[end:]


def own_rules(system: str | System, switches: str) -> str:
    """The rule set of a system where none is named, with switches; raises Refusal for a system that takes none."""
    words = words_of(find_system(system))
    if words is None:
        raise Refusal(f"{system} takes no rule set; leave out {switches}")
    return words.default + switches


def compare(a: Subject, b: Subject, budget: SearchBudget, native: NativeSearch) -> SearchComparison:
    """Explore both sides, unless no rule differs, and compare what they decide in every state that either reaches."""

    _check_sides(a, b)
    questions = [SearchQuestion(compared(*both), budget) for both in ((a, b), (b, a))]
    read = read_choices(a) | read_choices(b)
    first = questions[0].traced()
    if fingerprint(program(a, compared=False)) == fingerprint(program(b, compared=False)) and _reports_alike(first):
        program(b)  # fingerprints are of terms: that ints agree with them is asked of both sides
        return SearchComparison((a, b), (), read)
    other = questions[1].traced()  # before the first search: a signal in that is not to wait for it
    results = questions[0].result(first, native), questions[1].result(other, native)
    return SearchComparison((a, b), results, read)


def _check_sides(a: Subject, b: Subject) -> None:
    """Refuse a change that changes nothing, and two sides of which neither has a change on; raises as `compare`."""
    sides = [one for one in (a, b) if isinstance(one.whole, ChangedSystem) and one.whole.decides]
    for side in sides:
        check_changes(side)
    off = [side for side in sides if any(one.id == ALL_OFF for one in side.system.properties(side.setting))]
    if off and len(off) == len(sides):
        name = off[0].name if ":" in off[0].name else OWN_NAME
        chosen = dict.fromkeys(part.when for part in parts_of(off[0].whole) if part.when)
        named = " or ".join(f"{name}+{choice}" for choice in chosen) or "a rule set that has them on"
        raise Refusal(f"{a.title()}: all changes are off on both sides; name {named} as a side")


def read_choices(of: Subject) -> frozenset[str]:
    """The choices that the rules of a subject ask for while they are traced."""
    asked = set[str]()

    def noting(record: Any) -> Any:
        """A record of the same values that notes which are asked for."""
        kind = type(record)
        names = {one.name for one in attrs.fields(kind)}

        def get(self: Any, name: str) -> Any:
            asked.update({name} & names)
            return object.__getattribute__(self, name)

        noted: Any = type(kind.__name__, (kind,), {"__getattribute__": get})
        return noted(**{name: getattr(record, name) for name in names})

    rules = of.setting.rules
    if isinstance(rules, RuleSet):
        groups = {one.name: getattr(rules, one.name) for one in attrs.fields(RuleSet)}
        rules = evolve(rules, **{name: noting(group) for name, group in groups.items() if group is not None})
    elif rules is not None:
        rules = noting(rules)
    trace(of.system, evolve(of.setting, rules=rules), graph=Graph())
    return frozenset(asked)


def _reports_alike(compared: Program) -> bool:
    """Whether both sides report the same of each step by the same terms: fingerprints are of what is judged alone."""
    number = [claim.id for claim in compared.steps].index(ALIKE + REPORTS)
    return all(kind.steps[number].op == "const" and kind.steps[number].value for kind in compared.kinds)


def compared(of: Subject, other: Subject) -> Subject:
    """The subject with a claim for each action: wherever it is taken, the other side takes it, to the same end."""
    refinement = Refinement(other.system, other.setting, lambda state: state,
                            lambda step: [(step.action, step.arguments)], exact=True)  # fmt: skip
    there = {action.name: action for action in other.system.actions(other.setting)}

    def claim(name: str) -> Property:
        def decided(step: Step) -> Mapping[str, Any]:
            if step.action != name:
                return {}
            return refinement.simulates(step) if name in there else {f"there is no action {name}": False}

        return Property(ALIKE + name, "step", f"{name} is decided alike", decided)

    def reported(step: Step) -> Truth:
        if (action := there.get(step.action)) is None:
            return True
        told = action.outcome(step.before, step.arguments).event
        return any_of(negate(action.enabled(step.before, step.arguments)), equal(told, step.event))

    begun = Property(ALIKE + START, "step", "both begin alike", lambda step: {}, initially=refinement.begins)
    told = Property(ALIKE + REPORTS, "step", "steps of both report the same", reported)
    actions = of.system.actions(of.setting)
    own = (one for one in of.system.properties(of.setting) if not one.id.startswith(DECIDED))  # it is what is asked
    claims = (*own, *(claim(action.name) for action in actions), begun, told)
    return evolve(of, system=evolve(of.system, properties=lambda setting: claims))


@frozen
class FirstDifference:
    """The shortest run at whose last step the sides decide otherwise."""

    side: int  # number of the one that takes the last step
    trace: Trace  # the run; all before its last step is decided alike
    otherwise: tuple[str, ...]  # what the other side does instead of the last step, in lines


@frozen
class PromiseChange:
    """A promise whose verdict is not the same on both sides, or is refuted in another number of steps."""

    # claim, sentence: its id, and what it says
    claim: str
    sentence: str
    # a, b: its verdicts; None where a side has no such promise
    a: PropertyVerdict | None
    b: PropertyVerdict | None

    @property
    def words(self) -> list[str]:
        """Both verdicts in a word, with the length of a trace."""
        return ["" if one is None else report.word_of(one) for one in (self.a, self.b)]

    @property
    def kind(self) -> str:
        """BROKEN where B alone fails it, MENDED where A alone does; CHANGED for all else, as what is undecided."""
        failed = [one is not None and isinstance(one.verdict, Refuted | Vacuous) for one in (self.a, self.b)]
        passed = [one is None or isinstance(one.verdict, Holds) for one in (self.a, self.b)]
        return BROKEN if passed[0] and failed[1] else MENDED if failed[0] and passed[1] else CHANGED


@frozen(slots=False)
class SearchComparison:  # without slots, so that properties are worked out once
    """The comparison of two searches."""

    sides: tuple[Subject, Subject]  # a and B
    # of A and of B, with the claims that compare; none where no rule differs, for then nothing is explored
    results: tuple[Result, ...]
    # the choices of rule sets that rules ask for at this setting, on either side, by their names in a rule set
    read: frozenset[str]

    @property
    def same(self) -> bool:
        """Whether no rule differs at this setting, whatever is reached."""
        return not self.results

    def alike(self, side: int) -> dict[str, Verdict]:
        """By action, START and REPORTS, whether all that a side does is what the other one does."""
        if self.same:
            of = self.sides[side]
            names = [action.name for action in of.system.actions(of.setting)]
            return dict.fromkeys([*names, START, REPORTS], Holds("no rule differs"))
        verdicts = self.results[side].verdicts.items()
        return {id_.removeprefix(ALIKE): verdict for id_, verdict in verdicts if id_.startswith(ALIKE)}

    @property
    def within(self) -> tuple[bool, bool]:
        """Whether A does nothing that B does not; and B nothing that A does not."""
        one, other = (all(isinstance(v, Holds | Vacuous) for v in self.alike(side).values()) for side in (0, 1))
        return one, other

    @property
    def undecided(self) -> list[Verdict]:
        """The verdicts that say neither yes nor no; none where no rule differs."""
        verdicts = [one for result in self.results for one in result.verdicts.values()]
        return [one for one in verdicts if isinstance(one, Incomplete | Unknown)]

    @functools.cached_property
    def choices(self) -> list[tuple[str, str, str, str]]:
        """Choices and changes that the sides do not share: the name, in A, in B, what it says."""
        return [row for row in self._rows() if row[0] not in self.unread]

    @functools.cached_property
    def unread(self) -> list[str]:
        """The choices that the sides do not share, and no rule asks for at this setting."""
        named = self._named
        return [row[0] for row in self._rows() if row[0] in named and named[row[0]].name not in self.read]

    @property
    def _named(self) -> dict[str, attrs.Attribute[bool]]:
        """The choices that a system of either side reads: each side may have some of its own."""
        words = [one for one in (words_of(of.whole) for of in self.sides) if one is not None]
        return {name: one.choices[name] for one in words for name in filter(one.reads, one.choices)}

    def _rows(self) -> list[tuple[str, str, str, str]]:
        a, b = self.sides
        rows = []
        if type(a.setting.rules) is type(b.setting.rules):
            rows = [(name, "yes" * _has(a, name), "yes" * _has(b, name), choice.metadata.get("text", ""))
                    for name, choice in self._named.items()]  # fmt: skip
        own = [{one.name: one for one in parts_of(of.whole) if is_on(one, of.setting)} for of in (a, b)]
        for name, part in {**own[0], **own[1]}.items():
            at = [of[name].place if name in of else "" for of in own]
            rows.append((name, at[0], at[1], part.says))
        return [row for row in rows if row[1] != row[2]]

    @functools.cached_property
    def changes(self) -> list[PromiseChange]:
        """The promises that change, those that are broken in B first."""
        if self.same:
            return []
        a, b = ({one.claim: one for one in of.judged if not one.claim.startswith(ALIKE)} for of in self.results)
        asked = [{claim.id: claim for claim in of.claims} for of in self.results]
        said = {id_: claim.sentence for of in asked for id_, claim in of.items()}
        said |= {id_: f"{said[id_]} (B asks it otherwise)" for id_ in asked[0].keys() & asked[1].keys()
                 if _written(asked[0][id_].predicate) != _written(asked[1][id_].predicate)}  # fmt: skip
        found = [PromiseChange(id_, said.get(id_, report.DEADLOCK_SAYS), a.get(id_), b.get(id_)) for id_ in {**a, **b}]
        changed = [one for one in found if one.words[0] != one.words[1] and (one.a or one.kind)]
        return sorted(changed, key=lambda one: (BROKEN, MENDED, CHANGED).index(one.kind))

    @property
    def exit_code(self) -> int:
        """The code of promises newly broken; else of undecided ones; else EXIT_DIFFERS, or 0 where nothing differs."""
        broken = [one.b.verdict for one in self.changes if one.kind == BROKEN and one.b is not None]
        return worst_exit_code(broken or self.undecided) or (0 if all(self.within) else EXIT_DIFFERS)

    @functools.cached_property
    def first(self) -> FirstDifference | None:
        """Where the sides decide otherwise first; of what they only report only where they decide alike."""
        found = [
            (name == REPORTS, len(verdict.trace.steps), side, verdict.trace)
            for side in (0, 1) for name, verdict in self.alike(side).items() if isinstance(verdict, Refuted)
        ]  # fmt: skip
        if not found:
            return None
        *_, side, trace = min(found, key=lambda one: one[:3])
        trace = evolve(trace, claim=RUN, kind=RUN, failing=())
        return FirstDifference(side, trace, self.otherwise(trace, 1 - side))

    def otherwise(self, trace: Trace, side: int) -> tuple[str, ...]:
        """What a side does instead of the last step of a run of the other one, in lines."""
        return tuple(_otherwise(trace, self.sides[side], NAMES[side]))

    def drawn(self, first: FirstDifference) -> Drawing:
        """The first difference as a drawing, with what the other side does beside it."""
        of, other = self.results[first.side], self.results[1 - first.side]
        own, theirs = NAMES[first.side], NAMES[1 - first.side]
        alone = evolve(drawing(first.trace, of.program, f"{own}: {of.subject.title()}"), claim="decided otherwise",
                       sentence=f"by {theirs}: {other.subject.title()}")  # fmt: skip
        return with_other_rules(alone, first.trace, other.program, theirs, own)

    def document(self) -> dict[str, Any]:
        """The comparison as plain values (docs/reference/file-formats.md)."""
        first, (a_in_b, b_in_a) = self.first, self.within
        alike = [self.alike(side) for side in (0, 1)]
        return {
            "version": report.DOCUMENT_VERSION, "command": "diff", "exit_code": self.exit_code,
            "sides": [
                {**of.document(), **({key: found.document[key] for key in SIDE if key in found.document}
                                     if found else {})}
                for of, found in zip_longest(self.sides, self.results)
            ],
            "equal": (a_in_b and b_in_a) or (None if first is None else False), "same_rules": self.same,
            "within": [a_in_b, b_in_a],
            "choices": [dict(zip(("name", "a", "b", "text"), row, strict=True)) for row in self.choices],
            "unread": self.unread,
            "properties": [
                {"id": one.claim, "a": one.words[0], "b": one.words[1], "change": one.kind, "sentence": one.sentence}
                for one in self.changes
            ],
            "actions": [
                {"action": name, "a": _decided(alike[0].get(name)), "b": _decided(alike[1].get(name))}
                for name in {**alike[0], **alike[1]}
            ],
            "first": first and {
                "side": NAMES[first.side], "otherwise": list(first.otherwise), "trace": trace_document(first.trace)
            },
        }  # fmt: skip

    def show(self, screen: Screen, verbose: bool = False) -> None:
        """Print what differs; every action where `verbose`."""
        for name, side in zip(NAMES, self.sides, strict=True):
            screen.plain(f"{name}: {side.title()}")
        _print(screen, ("choice", *NAMES, "what is so with it"), self.choices)
        if self.unread:
            screen.plain(f"not read in this scope: {', '.join(self.unread)}")
        rows = [(one.claim, *one.words, one.kind, one.sentence) for one in self.changes]
        _print(screen, ("promise", *NAMES, "in B", "says"), rows)
        alike = [{name: _decided(verdict) for name, verdict in self.alike(side).items()} for side in (0, 1)]
        decided = [(name, *(of.get(name, "") for of in alike)) for name in {**alike[0], **alike[1]}]
        otherwise = [row for row in decided if verbose or row[1:] != ("alike", "alike")]
        _print(screen, ("action", "in runs of A", "in runs of B"), otherwise)
        if len(decided) > len(otherwise):
            screen.plain(f"{len(decided) - len(otherwise)} decided alike (-v lists them)")
        for line in self._lines():
            screen.plain(line)

    def _lines(self) -> Iterator[str]:
        """The first difference, what each side is to the other, and the sizes."""
        first, (a_in_b, b_in_a) = self.first, self.within
        if first is not None:
            run = "a run to" if self.undecided else "the shortest run to"
            yield f"\n{run} a step that they decide otherwise; the last step is that of {NAMES[first.side]}:"
            yield from lines(first.trace, marks={len(first.trace.steps): first.otherwise})
        yield ""
        if self.same:
            yield "no rule differs at these bounds, so A and B are equal, whatever is reached: nothing was explored"
        elif a_in_b and b_in_a:
            yield "A and B are equal here: in every state that either reaches, each action is decided alike"
        elif a_in_b or b_in_a:
            yield f"{NAMES[b_in_a]} does nothing that {NAMES[a_in_b]} does not: each of its steps is one there"
        for name, result in zip(NAMES, self.results, strict=False):
            yield from (f"{name}: {line}" for line in result.summary if not line.startswith(("actions ", "guards ")))

    @property
    def last_line(self) -> str:
        """The differences in a line, with the exit code."""
        kinds, first = [one.kind for one in self.changes], self.first
        counts = [f"{kinds.count(kind)} {kind}" for kind in (BROKEN, MENDED) if kind in kinds]
        if first is not None:
            counts.append(f"first decided otherwise in {report.steps_text(len(first.trace.steps))}")
        counts += ["equal"] * all(self.within) + sorted({report.WORDS[type(one)] for one in self.undecided})
        return f"{', '.join(counts)} (exit {self.exit_code})"


def _has(side: Subject, choice: str) -> bool:
    """Whether a side has a choice on; one that only the other side has is not."""
    words = words_of(side.whole)
    return words is not None and choice in words.choices and words.has(side.setting.rules, choice)


def _written(part: Any) -> Any:
    """What a predicate says, wherever it is written: its code, without places."""
    code = part if isinstance(part, CodeType) else getattr(inspect.unwrap(part), "__code__", None)
    return code and (code.co_code, code.co_names, [_written(one) if isinstance(one, CodeType) else one
                                                   for one in code.co_consts])  # fmt: skip


def _decided(verdict: Verdict | None) -> str:
    """How a side decides an action, with the length of the run that shows it; empty where it does not have it."""
    match verdict:
        case None:
            return ""
        case Refuted(trace):
            return f"otherwise {len(trace.steps)}"
        case Holds() | Vacuous():
            return "alike"
    return report.WORDS[type(verdict)]


def _otherwise(trace: Trace, other: Subject, name: str) -> Iterator[str]:
    """What the other side does instead of the last step: why it does not take it, or what differs after it."""
    if not trace.steps:
        yield f"{name} does not begin so"
        return
    last, before = trace.steps[-1], trace.steps[-2].state if len(trace.steps) > 1 else trace.initial
    action = next((one for one in other.system.actions(other.setting) if one.name == last.action), None)
    reason = f"there is no action {last.action}" if action is None else refusal(action, before, last.arguments)
    if action is None or reason:
        yield f"{name} does not take it: {reason}"
        return
    end = action.outcome(before, last.arguments)
    after = Layout(other.system.layout(other.setting), packed=False).named(end.state)
    for ours, theirs, says in ((last.state, after, name), (last.event, end.event, f"{name} reports")):
        own = {} if ours is None else fields(ours)
        told = {} if theirs is None else fields(theirs)
        if other_fields := [f"{path} = {show(told[path])}" for path in told if own.get(path) != told[path]]:
            yield f"{says}: {', '.join(other_fields)}"


def _print(screen: Screen, titles: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """A table below an empty line; nothing where it has no row."""
    if rows:
        table = Table(tuple(Column(title, is_prose=title == titles[-1]) for title in titles))
        for row in rows:
            table.add(*row)
        screen.plain("")
        screen.table(table)
