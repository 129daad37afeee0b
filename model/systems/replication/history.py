"""The history of leader epochs: a tuple, or an endless sequence in proofs about any number of epochs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kraftcheck.model.language.anynumber import PerBroker
from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.sequences import Sequence as Endless
from kraftcheck.model.language.sequences import every, last_place
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, concrete, negate, pick

Kept = Any
"""A tuple by leader epoch, or a `model.language.sequences.Sequence`; of sets of brokers that has their masks."""

Rule = Callable[[Word, Any], Any]
"""What is kept of an epoch from now on, by the epoch and what was."""

NEVER = -1
"""The epoch where there is none."""


def has_no_end(kept: Kept) -> bool:
    """Whether there are any number of epochs."""
    return isinstance(kept, Endless)


def kept_at(kept: Kept, epoch: Word, otherwise: Any) -> Any:
    """What is kept of an epoch; `otherwise` where none can be."""
    if isinstance(kept, Endless):
        return choose(epoch >= 0, kept.at(epoch), otherwise)
    return pick(kept, epoch, otherwise)


def isr_kept_at(kept: Kept, epoch: Word) -> BrokerSet:
    """The ISR that is kept of an epoch."""
    if isinstance(kept, PerBroker):
        of_any: BrokerSet = kept.at(epoch)
        return of_any
    if isinstance(kept, Endless):
        return BrokerSet(kept.at(epoch))
    found: BrokerSet = pick(kept, epoch, kept[0])
    return found


def first_kept(kept: Kept) -> Any:
    """What is kept of the first epoch."""
    return kept.at(0) if isinstance(kept, Endless) else kept[0]


def rewritten(kept: Kept, rule: Rule) -> Kept:
    """What is kept, after a rule."""
    if isinstance(kept, Endless):
        return Endless(kept.graph, lambda epoch: rule(epoch, kept.at(epoch)))
    return tuple(rule(epoch, old) for epoch, old in enumerate(kept))


def isrs_rewritten(kept: Kept, rule: Rule) -> Kept:
    """As `rewritten`, of ISRs."""
    if isinstance(kept, PerBroker):
        return kept.rewritten(rule)
    if isinstance(kept, Endless):
        return Endless(kept.graph, lambda epoch: rule(epoch, BrokerSet(kept.at(epoch))).mask)
    return rewritten(kept, rule)


def of_each(kept: Kept, claim: Callable[[Word, Any], Truth]) -> dict[str, Truth]:
    """For each epoch, by a name of its own, whether a claim holds; one truth where they have no end."""
    if isinstance(kept, Endless | PerBroker):
        return {"every epoch": every(kept.graph, lambda epoch: claim(epoch, kept.at(epoch)))}
    return {f"epoch {epoch}": claim(epoch, old) for epoch, old in enumerate(kept)}


def is_some(kept: Kept, claim: Callable[[Word, Any], Truth]) -> Truth:
    """Whether a claim holds of some epoch and what is kept of it."""
    return negate(all_of(*of_each(kept, lambda epoch, old: negate(claim(epoch, old))).values()))


def last_kept(kept: Kept, claim: Callable[[Any], Truth], newest: Word) -> Word:
    """The last epoch, up to the newest, of which is kept what a claim holds of; NEVER: none."""
    if isinstance(kept, Endless):
        return last_place(kept.graph, lambda epoch: claim(kept.at(epoch)), newest)
    last: Word = NEVER
    for epoch, old in enumerate(kept):
        last = choose(all_of(newest >= epoch, claim(old)), epoch, last)
    return last


def newest_of(epoch: Word, other: Word, when: Truth) -> Word:
    """An epoch or, when so and it is newer, another one."""
    return choose(all_of(when, epoch < other), other, epoch)


def until(
    kept: Sequence[Any], goal: Callable[[Word, Any], Truth], step: Callable[[Word], Truth]
) -> Callable[[Word], Truth]:
    """Of an epoch of a bounded number: whether it or a later one is the goal, and a step is possible from each before.

    Args:
        kept: of each epoch.
        goal: of an epoch and what is kept of it.
        step: from an epoch to the next.
    """
    found: list[Truth] = []
    after: Truth = False
    for epoch in reversed(range(len(kept))):
        after = any_of(goal(epoch, kept[epoch]), all_of(step(epoch), after))
        found.insert(0, after)
    return lambda epoch: found[concrete(epoch)]
