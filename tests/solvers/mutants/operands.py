"""Functions whose operator mutants are known by hand."""

from attrs import evolve, frozen

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Conjuncts
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, choose, negate


@frozen
class Sets:
    """Three sets."""

    isr: BrokerSet
    elr: BrokerSet
    replicas: BrokerSet

    def left(self) -> BrokerSet:
        """Who is in the first, and not in the second."""
        return self.isr.minus(self.elr)


def size(members: BrokerSet) -> Truth:
    """Whether there are two at least."""
    return members.size() >= 2


def both(a: Truth, b: Truth) -> Truth:
    """Whether both hold."""
    return all_of(a, b)


def either(a: Truth, one: Word) -> Word:
    """The one, or five."""
    return choose(a, one, 5)


def twice(a: Truth) -> Word:
    """Twice the one, or twice five."""
    return either(a, 1) + either(a, 1)


def pair(state: Sets, a: BrokerSet, b: BrokerSet) -> Sets:
    """Other sets."""
    return evolve(state, isr=a, elr=b)


def guard(a: Truth, b: Truth) -> Conjuncts:
    """Two conditions."""
    return {"open": a, "shut": negate(b)}
