"""Refinement: each step of a system is a step of a more abstract one, or changes nothing there.

A mapping takes states of the system to states of the abstract one. Initial states have to become initial states, and
each step one of the abstract steps or none (stuttering; Abadi and Lamport, "The Existence of Refinement Mappings",
1991). By induction every behaviour of the system is one of the abstract system, so what holds of all steps and states
there holds here. Fairness is not mapped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from attrs import evolve, frozen

from kraftcheck.model.language.anynumber import Family
from kraftcheck.model.language.collections import equal
from kraftcheck.model.language.layout import Described, Endless, below, leaves
from kraftcheck.model.language.symbolic import brief
from kraftcheck.model.language.system import Action, Conjuncts, Property, Setting, Step, System, is_any
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import all_of, any_of

Candidates = Callable[[Step], Iterable[tuple[str, Mapping[str, Any]]]]
"""The abstract steps that a step may be: names of actions, each with its arguments."""


class RefinementError(ValueError):
    """A mapping or abstract action that does not fit the abstract system."""


@frozen
class Refinement:
    """A mapping of states to those of an abstract system."""

    # abstract, setting: the abstract system at a setting
    abstract: System
    setting: Setting
    mapping: Callable[[Any], Any]  # `state -> abstract state`; a rule
    by: Candidates | None = None  # the abstract steps that a step may be; None: all
    exact: bool = False  # whether a step that changes nothing has to be an abstract one as well

    def __attrs_post_init__(self) -> None:
        """Refuse an abstract system whose fields or arguments are of any number: its steps are tried one by one.

        Raises:
            RefinementError: naming the field or the argument.
        """
        if not any(map(is_any, self.setting.bounds.values())):
            return
        of, mend = "of any number, and each is tried", "map to a system whose"
        for path, domain in leaves(self.abstract.layout(self.setting)):
            if isinstance(domain, Endless) or below(domain) is not None:
                raise RefinementError(f"{self.abstract.name}: the field {path or 'it has'} is {of}; {mend} fields "
                                      "are of a number, as ints(lo, hi)")  # fmt: skip
        for action in self.abstract.actions(self.setting):
            for name, values in action.parameters.items():
                if isinstance(values, Family):
                    raise RefinementError(f"{self.abstract.name}: the argument {name} of {action.name} is {of}; {mend} "
                                          "arguments are listed, as range(5)")  # fmt: skip

    def begins(self, state: Any) -> Conjuncts:
        """Whether an initial state is mapped to one."""
        mapped, starts = self._mapped(state), list(self.abstract.initial(self.setting.for_initial()))
        described = (all_of(*one.holds(mapped).values()) for one in starts if isinstance(one, Described))
        listed = (equal(mapped, one) for one in starts if not isinstance(one, Described))
        return {**self._fits(mapped), f"an initial state of {self.abstract.name}": any_of(*described, *listed)}

    def simulates(self, step: Step) -> Conjuncts:
        """Whether a step is an abstract one, or none."""
        before, after = self._mapped(step.before), self._mapped(step.after)
        stutters = False if self.exact else equal(before, after)
        taken = any_of(stutters, *self._taken(step, before, after))
        return {**self._fits(after), f"a step of {self.abstract.name}{', or none' * (not self.exact)}": taken}

    def moves(self, step: Step) -> Truth:
        """Whether a step changes the abstract state."""
        return any_of(*(a != b for a, b in self._pairs(self._mapped(step.before), self._mapped(step.after))))

    def _pairs(self, before: Any, after: Any) -> Iterator[tuple[Any, Any]]:
        for (_, one), (_, other) in zip(leaves(before), leaves(after), strict=True):
            yield one, other

    def _mapped(self, state: Any) -> Any:
        mapped, shape = self.mapping(state), self.abstract.layout(self.setting)
        paths = [[path for path, _ in leaves(one)] for one in (mapped, shape)]
        if paths[0] != paths[1]:
            missing = sorted({*paths[0]} ^ {*paths[1]}) or paths[0]
            named = ", ".join(filter(None, missing[:4])) or f"it gives {brief(mapped)}"
            bounds = self.setting.text()
            at = f"; it is one with {bounds}, unless setting= of refines() says otherwise" if bounds else ""
            raise RefinementError(f"the mapping gives no state of {self.abstract.name}: {named}{at}")
        return mapped

    def _fits(self, mapped: Any) -> Conjuncts:
        """Each field is in its domain there: a step that leaves one is no step."""
        pairs = zip(leaves(mapped), leaves(self.abstract.layout(self.setting)), strict=True)
        words = [(value, domain) for (_, value), (_, domain) in pairs if not _is_truth(value)]
        within = all_of(*(all_of(value >= domain.lo, value <= domain.hi) for value, domain in words))
        return {f"a state of {self.abstract.name}": within}

    def _taken(self, step: Step, before: Any, after: Any) -> Iterator[Truth]:
        actions = {action.name: action for action in self.abstract.actions(self.setting)}
        if self.by is None:
            for action in actions.values():
                for arguments in _instances(action):
                    yield self._is_step(action, arguments, before, after)
            return
        for name, wanted in self.by(step):
            if name not in actions:
                raise RefinementError(f"{self.abstract.name} has no action {name!r}; it has {', '.join(actions)}")
            action = actions[name]
            if wanted.keys() != action.parameters.keys():
                raise RefinementError(f"{self.abstract.name}: {name} takes {', '.join(action.parameters) or 'nothing'}")
            allowed = all_of(*(any_of(*(equal(wanted[p], v) for v in values))
                               for p, values in action.parameters.items()))  # fmt: skip
            yield all_of(allowed, self._is_step(action, wanted, before, after))

    def _is_step(self, action: Action, arguments: Mapping[str, Any], before: Any, after: Any) -> Truth:
        return all_of(action.enabled(before, arguments), equal(action.outcome(before, arguments).state, after))


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool)


def _instances(action: Action) -> Iterator[dict[str, Any]]:
    """The argument values of an action, the last fastest."""
    rows: list[dict[str, Any]] = [{}]
    for name, values in action.parameters.items():
        rows = [{**row, name: value} for row in rows for value in values]
    yield from rows


def refines(
    id: str,  # noqa: A002
    sentence: str,
    abstract: System,
    mapping: Callable[[Any], Any],
    source: str = "",
    refuted_by: tuple[str, ...] = (),
    *,
    setting: Setting | None = None,
    by: Candidates | None = None,
) -> tuple[Property, Property]:
    """The claim that a system refines an abstract one, and the goal without which it is vacuous.

    The goal, `ID-moves`, is a step that changes the abstract state: a mapping that shows nothing refines everything.

    Args:
        id, sentence, source, refuted_by: as of every property.
        abstract: the abstract system; its properties and its constraint are not read.
        mapping: `state -> abstract state`, a rule.
        setting: of the abstract system; its default by default.
        by: the abstract steps that a step may be, as pairs of a name and arguments: fewer terms than all of them,
            which are tried by default.
    """
    refinement = Refinement(abstract, abstract.setting() if setting is None else setting, mapping, by)
    goal = Property(f"{id}-moves", "happens", f"some step is one of {abstract.name}", refinement.moves, source)
    claim = Property(id, "step", sentence, refinement.simulates, source, refuted_by=refuted_by, case=goal.id)
    return evolve(claim, initially=refinement.begins), goal
