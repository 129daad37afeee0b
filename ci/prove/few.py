"""The definition of a system of any number with a number for each bound, so that it says something of one state."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from attrs import frozen

from kraftcheck.ci.prove.check_certificate import System, counted, table, word_at
from kraftcheck.ci.prove.vmt import SIZE, Definition, NoCertificate, Tree, printed
from kraftcheck.model.language.layout import Layout
from kraftcheck.solvers.audit.numbers import OtherFields, by_place


@frozen
class Few:
    """A definition with quantifiers, and states with few participants.

    Attributes:
        defined: the definition.
        layout, few: of states with any number, and with few.
        numbers: by bound, how many there are.
    """

    defined: System
    layout: Layout
    few: Layout
    numbers: Mapping[str, int]

    def text(self) -> str:
        """The definition in which a map has a constant at each place, and claims are about few places."""
        lines, later, at = ["(set-logic ALL)"], {*self.defined.next.values()}, self._places()
        for name, (places, sort) in self.defined.declared.items():
            if places and not name.startswith(SIZE) and name not in later:
                lines += table(name, len(places), printed(sort, {}), at)
            elif not name.startswith(SIZE) and name not in later:
                lines.append(f"(declare-fun {printed(name, {})} () {printed(sort, {})})")
        for name, one in self.defined.defined.items():
            if not self.defined.needed([name]) & later:
                head = f"{printed(name, {})} {printed(one.places(), {})} {printed(one.sort, {})}"
                lines.append(f"(define-fun {head} {printed(self._expanded(one.body), {})})")
                lines += [counted(name, one.given, at)] * (name in self.defined.sets)
        return "\n".join(lines)

    def terms(self, name: str, value: Definition) -> Iterator[tuple[str, str]]:
        """What an effect makes of a field at each place, by the field and the place."""
        for row in itertools.product(*[range(self._most())] * len(value.given)):
            yield _at(name, row), printed(_where(value.given, row, self._expanded(value.body)), {})

    def fields(self, values: Sequence[int]) -> dict[str, int]:
        """The leaves of a state with few as the fields of one with any number, each by its name and place.

        Raises:
            NoCertificate: for a layout whose leaves are not the same.
        """
        found = {f"how many {bound}": number for bound, number in self.numbers.items()}
        found |= {_at(path, row): value for path, row, value in self._leaves(values)}
        return found

    def words(self, values: Sequence[int]) -> dict[str, int]:
        """A state with few as what the text declares of a state; beyond it is what is somewhere in it."""
        found, words = dict[str, int](), {name: _word(one) for name, one in self.defined.defined.items()}
        somewhere = {path: value for path, _, value in self._leaves(values)}
        held = self.fields(values)
        for slot in self.layout.slots:
            word, count = words[f"field: {slot.path}"], getattr(slot.domain, "places", 0)
            beyond = 0 if getattr(slot.domain, "truths", False) else somewhere.get(slot.path, slot.domain.lo)
            for row in itertools.product(self._places(), repeat=count):
                found[word_at(word, map(str, row))] = held.get(_at(slot.path, row), beyond)
            found |= {word_at(word, ["beyond"]): beyond} if count else {}
        return found | {words[f"field: how many {bound}"]: number for bound, number in self.numbers.items()}

    def _leaves(self, values: Sequence[int]) -> Iterator[tuple[str, tuple[int, ...], int]]:
        """Path, places and word of each leaf; of the mask of a set, a truth for each number."""
        try:
            yield from by_place(self.layout, self.few, self.numbers, values)
        except OtherFields as error:
            raise NoCertificate(str(error)) from error

    def _most(self) -> int:
        return max(self.numbers.values(), default=0)

    def _places(self) -> range:
        """The places that are looked at: those there are, one before and one after."""
        return range(-1, self._most() + 1)

    def _expanded(self, tree: Tree) -> Tree:
        """A term in which each claim about every place is about those that are looked at."""
        match tree:
            case ["forall" | "exists" as kind, [*binders], body]:
                inside, given = self._expanded(body), [str(one[0]) for one in binders]
                rows = itertools.product(self._places(), repeat=len(given))
                join, start = ("and", "true") if kind == "forall" else ("or", "false")
                return [join, start, *(_where(given, row, inside) for row in rows)]
        return [*map(self._expanded, tree)] if isinstance(tree, list) else tree


def _where(given: Sequence[str], row: Sequence[int], tree: Tree) -> Tree:
    """A term in which some names are numbers."""
    numbers: list[Tree] = [str(at) if at >= 0 else ["-", str(-at)] for at in row]
    return ["let", [[name, at] for name, at in zip(given, numbers, strict=True)], tree] if given else tree


def _at(path: str, row: tuple[int, ...]) -> str:
    return f"{path} at {row}" if row else path


def _word(one: Definition) -> str:
    return str(one.body[0] if one.given else one.body)
