"""Mutants of what Z3 is told with quantifiers: sets in one form, sizes, and words that binders name."""

from __future__ import annotations

from tests.engine_mutants.mutant import Killer, Mutant
from tests.solvers.smt.reading import test_quantified

FOLDER = "solvers.smt.reading.quantified"

OWNERS = Killer(test_quantified.test_sets_of_two_owners_are_not_those_of_one)
EVERY_PLACE = Killer(test_quantified.test_a_set_that_speaks_of_every_place_has_an_unknown_size)


def sizes(position: int) -> Killer:
    """The test of the sizes of two concrete sets."""
    return Killer(test_quantified.test_sizes_are_those_of_concrete_sets, (position,))


def places(limit: int, held: int) -> Killer:
    """The test of first and last places of concrete words."""
    return Killer(test_quantified.test_first_and_last_places_are_those_of_concrete_words, (limit, held))


QUANTIFIERS = (
    Mutant("second-owner-left-out", "Of the brokers that keep parts of a set, only the first gives its size.",
           f"{FOLDER}.sets:SetShapes.of", "tuple(blanks.values())", "tuple(blanks.values())[:1]", OWNERS),
    Mutant("binders-in-sets", "A set whose claim binds places itself is taken for one that does not.",
           f"{FOLDER}.sets:SetShapes._binds", "return any(", "return False and any(", EVERY_PLACE),
    Mutant("one-member-counts-twice", "A set with a member is of size two.",
           f"{FOLDER}.axioms:_of_members", "z3.Implies(has(place), size >= 1)",
           "z3.Implies(has(place), size >= 2)", sizes(1)),
    Mutant("two-members-are-any", "The two members of a set of two may be one.",
           f"{FOLDER}.axioms:_of_members", "place != other", "place == place", sizes(1)),
    Mutant("larger-by-one-is-by-two", "A set that is larger by one has two members more.",
           f"{FOLDER}.axioms:_of_pair", "one.size <= other.size + 1", "one.size <= other.size", sizes(2)),
    Mutant("within-is-smaller", "A set within another is smaller, equal or not.",
           f"{FOLDER}.axioms:_of_pair", "z3.Not(lacked), beyond(first)", "beyond(first)", sizes(0)),
    Mutant("first-place-fails", "Nothing holds at the first place where it holds.",
           f"{FOLDER}.reader:QuantifiedReader._named_word", "z3.And(member, place < word)",
           "z3.And(member, place <= word)", places(3, 1)),
    Mutant("last-place-is-later", "The last place is later than all where it holds.",
           f"{FOLDER}.reader:QuantifiedReader._named_word",
           "z3.And(member, place <= limit), place <= word)", "z3.And(member, place <= limit), place < word)",
           places(3, 1)),
    Mutant("denial-left-out", "What is to be shown is not denied, and what is assumed shows nothing.",
           f"{FOLDER}.engine:QuantifiedEngine._check", "for truth in some(sets)), denial)",
           "for truth in some(sets)))", sizes(0)),
)  # fmt: skip
