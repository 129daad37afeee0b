"""Symbols for the leaves of a state: a term for each, or an endless sequence of terms."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kraftcheck.model.language.layout import (
    UNBOUNDED,
    Domain,
    Endless,
    EndlessSet,
    Flag,
    Layout,
    below,
    cap_of,
    rebuild,
)
from kraftcheck.model.language.sequences import Sequence, every, is_one_of, number_of, symbol_of
from kraftcheck.model.language.symbolic import enum_of, variable
from kraftcheck.model.language.terms import Graph, Term, Truth, Word
from kraftcheck.model.language.words import all_of, any_of, implies, negate


def in_domain(word: Term, domain: Domain, or_capped: bool = False, there: bool = False) -> Term:
    """The truth that a word of a state is in its domain; of what stands for a sequence, that all its words are.

    With `or_capped` it may also be beyond a declared cap: then it is false of faults alone. With `there` nothing is
    said of words at places that are none of a map's: no step is left out for these.
    """
    graph = word.graph
    if isinstance(domain, Endless) and domain.truths:
        return graph.lift(_members_below(word, domain) if isinstance(domain, EndlessSet) else True)
    open_above, number = domain.hi >= UNBOUNDED or (or_capped and bool(cap_of(domain))), number_of(graph, below(domain))

    of = [number_of(graph, bound) for bound in domain.numbers] if isinstance(domain, Endless) else []

    def within(*at: Word) -> Truth:
        in_time = True if open_above else word <= domain.hi
        beyond = [negate(is_one_of(place, count)) for place, count in zip(at, of, strict=True)] if there else []
        below_number = number is None or is_below(word, domain.lo, number, at, of)
        return any_of(all_of(word >= domain.lo, in_time, below_number), *beyond)

    return graph.lift(_at_every_place(graph, len(of), within))


def is_below(word: Term, least: int, number: Term, at: Iterable[Word] = (), of: Iterable[Term | None] = ()) -> Truth:
    """The truth that a word of the state is below a number.

    At a place beyond a map's number provers read a word all the same. Where the number is no more than the least word
    there is none that this could be, and it is not asked.

    Args:
        word, least, number: the word, the least of its domain, and the number.
        at, of: of a word of a map, the places that name it, and how many there are of each.
    """
    beyond = (any_of(place < 0, negate(is_one_of(place, count))) for place, count in zip(at, of, strict=True))
    return any_of(word < number, all_of(number <= least, any_of(*beyond)))


def _members_below(member: Term, domain: EndlessSet) -> Truth:
    """Whether each member of a set, or of the set at each place of a map, is below the number."""
    graph = member.graph
    numbers = [number_of(graph, bound) for bound in domain.numbers]

    def claim(*places: Word) -> Truth:
        known = [is_one_of(place, number) for place, number in zip(places, numbers, strict=True)]
        return implies(all_of(member, *known[:-1]), known[-1])

    return _at_every_place(graph, domain.places, claim)


def may_have_stranger(value: Any, domain: Domain) -> bool:
    """Whether a set after a step may have a member that is not below its number: it is none that was."""
    if not isinstance(domain, EndlessSet) or domain.numbers[-1] is None:
        return False
    return value.member_number(domain.places) is not number_of(value.graph, domain.numbers[-1])


def _at_every_place(graph: Graph, count: int, claim: Callable[..., Truth], *places: Word) -> Truth:
    """Whether a claim holds of so many places, whatever they are."""
    if len(places) == count:
        return claim(*places)
    return every(graph, lambda at: _at_every_place(graph, count, claim, *places, at))


def may_reach_number(term: Term, domain: Domain) -> bool:
    """Whether a word after a step may not be below the number that its domain says: it is none that was."""
    number = number_of(term.graph, below(domain))
    kept = term.args[0] if term.op == "read" else term
    return number is not None and term.graph.notes.below.get(kept.index) is not number and term.hi >= 0


def symbol(graph: Graph, path: str, domain: Domain) -> Any:
    """The symbol of a leaf of the state, or of an argument: a term, or an endless sequence of terms.

    It has a name of its own: the leaf `d` of a field `up` is not the argument `d` of an action `up`.
    """
    path, numbers = graph.free_name(path), list[Term | None]()
    if isinstance(domain, Flag):
        return graph.truth_variable(path)
    if isinstance(domain, Endless):
        numbers += (number_of(graph, bound) for bound in domain.numbers)
        found: Any = Sequence.of_state(graph, path, domain.lo, domain.hi, domain.truths, numbers)
    else:
        found = variable(graph, path, domain.lo, domain.hi, enum_of(domain))
    if (number := number_of(graph, below(domain))) is not None:
        graph.notes.below[symbol_of(found).index] = number
        graph.notes.of_places[symbol_of(found).index] = numbers
    return found


def state_symbols(graph: Graph, layout: Layout) -> tuple[tuple[Term, ...], Any]:
    """The terms that name the leaves of a state, and a state of what stands for them."""
    symbols = [symbol(graph, slot.path, slot.domain) for slot in layout.slots]
    # A field of one value is a constant: rules that read it are traced the smaller for it.
    feed = iter([v if s.domain.bits else _only_value(s.domain) for v, s in zip(symbols, layout.slots, strict=True)])
    return tuple(map(symbol_of, symbols)), rebuild(layout.shape, lambda: next(feed))


def _only_value(domain: Domain) -> int:
    return bool(domain.lo) if isinstance(domain, Flag) else domain.lo
