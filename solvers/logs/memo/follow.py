"""A log of which only chosen batches are explained; of the others only the state after them is wanted.

The state follows from the records alone: a change of a partition sets the same
fields whoever wrote it. So what a change's bytes make of a partition is kept,
and asked for once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from attrs import evolve

from kraftcheck.model.controller.state import Controller, Settings
from kraftcheck.model.partition.registration import Partition
from kraftcheck.model.records.replay import ClusterImage, ReplayError, Topic
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.solvers.logs.explain.entries import Batch, Compact
from kraftcheck.solvers.logs.explain.explain import explain
from kraftcheck.solvers.logs.explain.replay import FOOTER, HEADER, Replayed, judged
from kraftcheck.solvers.logs.explain.state import METADATA_VERSION, State, elected, empty, known, load
from kraftcheck.solvers.logs.memo.ledger import key_of, with_partitions
from kraftcheck.solvers.logs.memo.situation import EPOCH, TOPIC, localized, partition_in, without_epochs


class _Shape:
    """A partition without its epochs, and by the bytes of a change what it becomes and by how much its epochs rise."""

    __slots__ = ("after", "partition")

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.after: dict[Any, tuple[_Shape, int, int]] = {}


class Follower:
    """The state of a log, batch by batch.

    Args:
        rules: the rule set for a level of the metadata version.
        chosen: the first offsets of the batches to explain.
        settings: the controller's static configuration.
    """

    def __init__(
        self, rules: Callable[[int | None], RuleSet], chosen: frozenset[int], settings: Settings | None = None
    ) -> None:
        self._rules_of, self._chosen, self._last = rules, chosen, max(chosen, default=-1)
        self._state = empty(Controller(settings=settings or Settings()))
        self._rules = rules(None)
        self._in_snapshot = False
        self._shapes: dict[Partition, _Shape] = {}
        self._places: dict[bytes, tuple[str, int]] = {}
        self._moved: dict[bytes, tuple[_Shape, int, int]] = {}

    def replay(self, batches: Iterable[Batch | Compact]) -> Iterator[Replayed]:
        """What becomes of each chosen batch; ends after the last, or after one that cannot be replayed.

        Raises:
            EntryError: when a record's fields are not those of its kind.
            ReplayError: for a record that cannot be replayed in a batch that is not chosen.
        """
        for batch in batches:
            if batch.base_offset > self._last:
                return
            if isinstance(batch, Compact) and not self._in_snapshot and batch.base_offset not in self._chosen:
                self._follow(batch)
                continue
            replayed = self._whole(batch.whole() if isinstance(batch, Compact) else batch)
            if replayed is not None:
                yield replayed
                if replayed.explanation is not None and replayed.explanation.broken:
                    return

    def _whole(self, batch: Batch) -> Replayed | None:
        """The batch explained, or None where it is taken as it is."""
        state, levels = self._settled(), self._state.levels
        found = None
        if batch.control:
            kinds = {entry.type for entry in batch.entries}
            self._in_snapshot = (self._in_snapshot or HEADER in kinds) and FOOTER not in kinds
            after = elected(state, batch)
        elif self._in_snapshot:
            after = load(state.at(batch.base_offset), batch, self._rules)
        else:
            told = explain(state, batch, self._rules)
            after = told.after
            found = Replayed(batch, told, tuple(judged(told, self._rules)), after, self._rules)
        self._state = after
        if after.levels != levels:
            self._rules = self._rules_of(after.levels.get(METADATA_VERSION))
            self._shapes.clear()
        return found

    def _follow(self, batch: Compact) -> None:
        """The state after a batch of changes, with a broker's record or without."""
        for place, (key, body) in enumerate(zip(batch.keys, batch.bodies, strict=True)):
            if key is None:
                continue
            shape, leader_epoch, partition_epoch = self._moved.get(key) or self._at(key, batch)
            found = shape.after.get(body)
            if found is None:
                found = shape.after[body] = self._changed(shape, batch, place)
            self._moved[key] = (found[0], leader_epoch + found[1], partition_epoch + found[2])
        if batch.other is not None:
            self._state = self._state.at(batch.other.offset).after(known(batch.other), self._rules)

    def _at(self, key: bytes, batch: Compact) -> tuple[_Shape, int, int]:
        """A partition that has not changed since the state was last put together."""
        if key not in self._places:
            topics = self._state.controller.image.topics
            pairs = ((topic_id, index) for topic_id in topics for index in topics[topic_id].partitions)
            self._places = {key_of(*pair): pair for pair in pairs}
        place = self._places.get(key)
        p = None if place is None else self._state.controller.image.partition(*place)
        if p is None:
            raise ReplayError(f"{batch.place}: a change of a partition that is not there")
        return self._shape(without_epochs(p)), int(p.leader_epoch), int(p.partition_epoch)

    def _shape(self, p: Partition) -> _Shape:
        return self._shapes.setdefault(p, _Shape(p))

    def _changed(self, shape: _Shape, batch: Compact, place: int) -> tuple[_Shape, int, int]:
        record = localized(known(batch.entry(place)))  # type: ignore[arg-type]
        image = ClusterImage(topics={TOPIC: Topic(TOPIC, {0: shape.partition})})
        alone = evolve(self._state, controller=evolve(self._state.controller, image=image))
        end = partition_in(alone.after(record, self._rules))
        return self._shape(without_epochs(end)), int(end.leader_epoch) - EPOCH, int(end.partition_epoch) - EPOCH

    def _settled(self) -> State:
        """The whole state."""
        touched: dict[str, dict[int, Partition]] = {}
        for key, (shape, leader_epoch, partition_epoch) in self._moved.items():
            topic_id, index = self._places[key]
            moved = evolve(shape.partition, leader_epoch=leader_epoch, partition_epoch=partition_epoch)
            touched.setdefault(topic_id, {})[index] = moved
        self._moved.clear()
        if touched:
            controller = self._state.controller
            image = evolve(controller.image, topics=with_partitions(controller.image.topics, touched))
            self._state = evolve(self._state, controller=evolve(controller, image=image))
        return self._state


__all__ = ["Follower"]
