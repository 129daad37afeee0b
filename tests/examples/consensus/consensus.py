"""What it is to choose a value: Consensus of the TLA+ Examples, and MCConsensus, from all states of its invariant."""

from typing import Any

from attrs import frozen

import kraftcheck as kc


@frozen
class Chosen:
    """The values that are chosen."""

    chosen: kc.IntSet


def one_at_most(s: Chosen) -> kc.Truth:
    """The specification's Inv, which every step keeps."""
    return s.chosen.size() <= 1


def consensus(values: int, initial: Any = None, *, changeable: bool = False) -> kc.System:
    """The choice of one of some values; by mistake it is changeable, and another value can be chosen too."""

    def choose(s: Chosen, v: kc.Word) -> Chosen:
        return Chosen(s.chosen.plus(s.chosen.just(v)))

    def may_choose(s: Chosen, v: kc.Word) -> kc.Truth:
        return kc.negate(s.chosen.has(v)) if changeable else s.chosen.is_empty()

    return kc.System(
        name="consensus",
        summary="A value is chosen, once.",
        layout=Chosen(kc.IntSet(kc.subset_of(values))),
        initial=[Chosen(kc.IntSet())] if initial is None else initial,
        actions=[kc.Action("choose", choose, may_choose, {"v": range(values)})],
        properties=[
            kc.always("one-at-most", "at most one value is chosen", one_at_most),
            kc.sometimes("chooses", "a value is chosen", lambda s: kc.negate(s.chosen.is_empty())),
        ],
        quiescent=lambda s: True,
    )  # fmt: skip


CONSENSUS, INDUCTIVE_CONSENSUS = consensus(3), consensus(3, kc.all_where(one_at_most))
CHANGEABLE = consensus(3, changeable=True)
