"""Which transitions a tour is to take: every one, one for each question to the managers, or drawn ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from kraftcheck.ci.conformance.kafka.tour.graph import Transitions, connected, keys_of
from kraftcheck.ci.conformance.kafka.tour.model import CHUNK, States
from kraftcheck.ci.conformance.kafka.tour.requests import TourError
from kraftcheck.ci.conformance.kafka.tour.space import Places, Space

Marks = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.int64]


@frozen
class Plan:
    """Transitions, and which of them are to be taken; arrays have one entry for each.

    Attributes:
        graph: they, and those on the ways to them.
        wanted: those to be taken.
        stands: for how many reachable transitions each stands, itself included: those that put the same question to
            managers in the same state. 0: it is only on the way.
        sampled: whether they are drawn; else they stand for every reachable one that can be put to the managers.
        asked: how many transitions that ask something were looked at; all, or those of the drawn states.
        impossible: how many of them cannot be put to the managers.
    """

    graph: Transitions
    wanted: Marks
    stands: Counts
    sampled: bool
    asked: int
    impossible: int


@frozen
class _Found:
    """Transitions by place of their state and action instance, with what they stand for; and counts of all."""

    places: Places
    instances: Places
    stands: Counts
    asked: int
    impossible: int


def plan(space: Space, sample: int, seed: int) -> Plan:
    """What a tour takes.

    Args:
        space: the reachable states.
        sample: how many transitions are drawn; 0: every one of `elections`, and of other systems one for each question.
        seed: of the draw.

    Raises:
        TourError: when the transitions are not those that the exploration counted, or equal questions have different
            answers in the model.
    """
    if sample > 0:
        everywhere = np.random.default_rng(seed).permutation(len(space))[:sample]
        found = _each(space, np.sort(everywhere))
        whole = len(everywhere) == len(space) and len(found.places) <= sample
        return _planned(space, found if whole else _drawn(found, sample, seed), not whole)
    found = _each(space) if space.model.shown == space.model.width else _questions(space)
    return _planned(space, found, False)


def _planned(space: Space, found: _Found, sampled: bool) -> Plan:
    wanted = space.reachable - space.silent - space.refused
    if not sampled and found.asked != wanted:
        raise TourError(f"{found.asked} transitions ask something, but the exploration took {wanted}")
    before, after, by = space.ways(found.places)
    keys = np.concatenate([found.places, before]) * len(space.model.instances) + np.concatenate([found.instances, by])
    _, kept = np.unique(keys, return_index=True)  # The first of equal ones: what is wanted is before what is on a way.
    places, instances = np.concatenate([found.places, before])[kept], np.concatenate([found.instances, by])[kept]
    stands = np.concatenate([found.stands, np.zeros_like(before)])[kept]
    sources = space.leaves(places)
    targets = np.empty_like(sources)
    on_way = kept >= len(found.places)
    targets[on_way] = space.leaves(after[kept[on_way] - len(found.places)])
    for number in np.unique(instances[~on_way]).tolist():
        at = np.flatnonzero(~on_way & (instances == number))
        for part in np.array_split(at, len(at) // CHUNK + 1):
            targets[part] = space.model.decide(sources[part], number)[1]
    graph, order = connected(space.model, sources, targets, instances.astype(np.int32))
    return Plan(graph, stands[order] > 0, stands[order], sampled, found.asked, found.impossible)


@frozen
class _Counts:
    """How many transitions that ask something were met, and how many of them cannot be put to the managers."""

    met: list[int] = field(factory=lambda: [0, 0])

    def askable(self, space: Space, places: Places) -> Iterator[tuple[int, Places, States, npt.NDArray[np.int32]]]:
        """The transitions of states that can be put to the managers, with their questions; the others are counted."""
        for number, at, states in space.enabled(places):
            possible, asked = space.model.requests(states, number)
            self.met[0] += len(at)
            self.met[1] += int((~possible).sum())
            if possible.any():
                yield number, at[possible], states[possible], asked[possible]


def _each(space: Space, places: Places | None = None) -> _Found:
    """Every transition of some states, or of all."""
    counts = _Counts()
    chosen = np.arange(len(space)) if places is None else places
    found = [(at, np.full(len(at), number)) for number, at, _, _ in counts.askable(space, chosen)]
    return _Found(
        np.concatenate([at for at, _ in found]), np.concatenate([n for _, n in found]),
        np.ones(sum(len(at) for at, _ in found), dtype=np.int64), *counts.met,
    )  # fmt: skip


def _drawn(found: _Found, sample: int, seed: int) -> _Found:
    """Some of the transitions, and one of each action instance."""
    order = np.random.default_rng(seed).permutation(len(found.places))
    _, first = np.unique(found.instances[order], return_index=True)
    kept = order[np.union1d(first, np.arange(min(sample, len(order))))]
    return _Found(found.places[kept], found.instances[kept], found.stands[kept], found.asked, found.impossible)


def _questions(space: Space) -> _Found:
    """For each question to the managers, with the state they are in, a transition with the shortest way to it."""
    counts, depths = _Counts(), space.depths()
    known: dict[bytes, int] = {}
    place, instance, depth, stands, answer = list[int](), list[int](), list[int](), list[int](), list[bytes]()
    for number, at, states, asked in counts.askable(space, np.arange(len(space))):
        answers = keys_of(space.model.decide(states, number)[0])
        keys, first, which, many = np.unique(keys_of(asked), return_index=True, return_inverse=True, return_counts=True)
        if (answers[first][which] != answers).any():
            raise TourError(f"{space.model.call(number)} has different answers to one question")
        nearest = np.lexsort((depths[at], which))[np.cumsum(many) - many]
        for key, one, count in zip(keys, nearest.tolist(), many.tolist(), strict=True):
            told = answers[one].tobytes()
            spot = known.setdefault(key.tobytes(), len(known))
            if spot == len(place):
                place.append(int(at[one]))
                instance.append(number)
                depth.append(int(depths[at[one]]))
                stands.append(0)
                answer.append(told)
            elif answer[spot] != told:
                raise TourError(f"{space.model.call(number)} has different answers to one question")
            elif depths[at[one]] < depth[spot]:
                place[spot], instance[spot], depth[spot] = int(at[one]), number, int(depths[at[one]])
            stands[spot] += count
    return _Found(np.array(place), np.array(instance), np.array(stands), *counts.met)
