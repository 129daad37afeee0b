"""The plan of a tour: its target transitions are all, one for each question to the managers, or a random sample."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from kraftcheck.ci.conformance.kafka.tour.graph import TourGraph, connect, keys_of
from kraftcheck.ci.conformance.kafka.tour.model import CHUNK, States
from kraftcheck.ci.conformance.kafka.tour.requests import TourError
from kraftcheck.ci.conformance.kafka.tour.space import Places, TourSpace

TransitionMask = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.int64]


@frozen
class TourPlan:
    """Transitions, and which of them are to be taken; arrays have one entry for each.

    Attributes:
        graph: they, and those on the ways to them.
        targets: those to be taken.
        weights: for how many reachable transitions each stands, itself included: those that put the same question to
            managers in the same state. 0: it is only on the way.
        sampled: whether they are drawn; else they stand for every reachable one that can be put to the managers.
        asked: how many transitions that ask something were looked at; all, or those of the drawn states.
        impossible: how many of them cannot be put to the managers.
    """

    graph: TourGraph
    targets: TransitionMask
    weights: Counts
    sampled: bool
    asked: int
    impossible: int


@frozen
class _Candidates:
    """Transitions by place of their state and action instance, with what they stand for; and counts of all."""

    places: Places
    instances: Places
    weights: Counts
    asked: int
    impossible: int


def plan(space: TourSpace, sample: int, seed: int) -> TourPlan:
    """The plan of a tour.

    Args:
        space: the reachable states.
        sample: how many transitions are drawn; 0: every one of `elections`, and of other systems one for each question.
        seed: of the draw.

    Raises:
        TourError: when the transitions are not those that the exploration counted, or equal questions have different
            answers in the model.
    """
    if sample > 0:
        order = np.random.default_rng(seed).permutation(len(space))[:sample]
        candidates = _all_candidates(space, np.sort(order))
        is_whole = len(order) == len(space) and len(candidates.places) <= sample
        return _plan_of(space, candidates if is_whole else _random_sample(candidates, sample, seed), not is_whole)
    candidates = _all_candidates(space) if space.model.managed_width == space.model.width else _one_per_question(space)
    return _plan_of(space, candidates, False)


def _plan_of(space: TourSpace, candidates: _Candidates, sampled: bool) -> TourPlan:
    expected = space.reachable - space.silent - space.refused
    if not sampled and candidates.asked != expected:
        raise TourError(f"{candidates.asked} transitions ask something, but the exploration took {expected}")
    before, after, by = space.path_transitions(candidates.places)
    keys = np.concatenate([candidates.places, before]) * len(space.model.instances) + np.concatenate(
        [candidates.instances, by]
    )
    _, first = np.unique(keys, return_index=True)  # The first of equal ones: what is wanted is before what is on a way.
    places, instances = (
        np.concatenate([candidates.places, before])[first],
        np.concatenate([candidates.instances, by])[first],
    )
    weights = np.concatenate([candidates.weights, np.zeros_like(before)])[first]
    sources = space.leaves(places)
    targets = np.empty_like(sources)
    on_way = first >= len(candidates.places)
    targets[on_way] = space.leaves(after[first[on_way] - len(candidates.places)])
    for number in np.unique(instances[~on_way]).tolist():
        at = np.flatnonzero(~on_way & (instances == number))
        for part in np.array_split(at, len(at) // CHUNK + 1):
            targets[part] = space.model.decide(sources[part], number)[1]
    graph, order = connect(space.model, sources, targets, instances.astype(np.int32))
    return TourPlan(graph, weights[order] > 0, weights[order], sampled, candidates.asked, candidates.impossible)


@frozen
class _RequestCounts:
    """How many transitions that ask something were met, and how many of them cannot be put to the managers."""

    counts: list[int] = field(factory=lambda: [0, 0])

    def askable(self, space: TourSpace, places: Places) -> Iterator[tuple[int, Places, States, npt.NDArray[np.int32]]]:
        """The transitions of states that can be put to the managers, with their questions; the others are counted."""
        for number, at, states in space.enabled(places):
            possible, questions = space.model.requests(states, number)
            self.counts[0] += len(at)
            self.counts[1] += int((~possible).sum())
            if possible.any():
                yield number, at[possible], states[possible], questions[possible]


def _all_candidates(space: TourSpace, places: Places | None = None) -> _Candidates:
    """Every transition of some states, or of all."""
    counts = _RequestCounts()
    chosen = np.arange(len(space)) if places is None else places
    parts = [(at, np.full(len(at), number)) for number, at, _, _ in counts.askable(space, chosen)]
    return _Candidates(
        np.concatenate([at for at, _ in parts]), np.concatenate([n for _, n in parts]),
        np.ones(sum(len(at) for at, _ in parts), dtype=np.int64), *counts.counts,
    )  # fmt: skip


def _random_sample(candidates: _Candidates, sample: int, seed: int) -> _Candidates:
    """Some of the transitions, and one of each action instance."""
    order = np.random.default_rng(seed).permutation(len(candidates.places))
    _, first = np.unique(candidates.instances[order], return_index=True)
    chosen = order[np.union1d(first, np.arange(min(sample, len(order))))]
    return _Candidates(
        candidates.places[chosen],
        candidates.instances[chosen],
        candidates.weights[chosen],
        candidates.asked,
        candidates.impossible,
    )


def _one_per_question(space: TourSpace) -> _Candidates:
    """For each question to the managers and state of them, the transition with the shortest path to it."""
    counts, depths = _RequestCounts(), space.depths()
    spots: dict[bytes, int] = {}
    place, instance, depth, weights, answer = list[int](), list[int](), list[int](), list[int](), list[bytes]()
    for number, at, states, questions in counts.askable(space, np.arange(len(space))):
        answers = keys_of(space.model.decide(states, number)[0])
        keys, first, question_of, counts_of = np.unique(
            keys_of(questions), return_index=True, return_inverse=True, return_counts=True
        )
        if (answers[first][question_of] != answers).any():
            raise TourError(f"{space.model.call(number)} has different answers to one question")
        nearest = np.lexsort((depths[at], question_of))[np.cumsum(counts_of) - counts_of]
        for key, index, count in zip(keys, nearest.tolist(), counts_of.tolist(), strict=True):
            answer_bytes = answers[index].tobytes()
            spot = spots.setdefault(key.tobytes(), len(spots))
            if spot == len(place):
                place.append(int(at[index]))
                instance.append(number)
                depth.append(int(depths[at[index]]))
                weights.append(0)
                answer.append(answer_bytes)
            elif answer[spot] != answer_bytes:
                raise TourError(f"{space.model.call(number)} has different answers to one question")
            elif depths[at[index]] < depth[spot]:
                place[spot], instance[spot], depth[spot] = int(at[index]), number, int(depths[at[index]])
            weights[spot] += count
    return _Candidates(np.array(place), np.array(instance), np.array(weights), *counts.counts)
