"""The explored states of a tour, with the shortest path to each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from kraftcheck.ci.conformance.kafka.tour.model import CHUNK, States, TourModel
from kraftcheck.ci.conformance.kafka.tour.requests import REFUSED_EARLIER
from kraftcheck.ci.run.questions import SearchBudget, search
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.system import Setting, System
from kraftcheck.solvers.machine_code.search_kernel import SHARDS
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.search.visited import NO_PARENT

Places = npt.NDArray[np.int64]


class TourSpace:
    """The reachable states of a system at a setting, by place.

    Attributes:
        model: the system's steps.
        reachable: how many transitions the states have.
        fired: how many transitions each action has.
        silent, refused: how many of them ask nothing of the managers, and are refused before they are asked.

    Raises:
        Refusal: when the states do not fit into memory.
    """

    def __init__(self, system: System, setting: Setting) -> None:
        program = trace(system, setting)
        exploration = search(program, SearchBudget(keep=True))
        if exploration.cut is not None or exploration.pruned or exploration.store is None:
            raise Refusal(
                f"the graph of {system.name} at {setting.scope} is not complete: "
                f"{exploration.cut or exploration.pruned}"
            )
        self.model = TourModel(program)
        self.reachable = exploration.generated - len(program.initial)
        self.fired = dict(exploration.fired)
        self.refused = sum(self.fired[name] for name in REFUSED_EARLIER if name in self.fired)
        self.silent = sum(self.fired[kind.name] for kind in self.model.kinds if kind.rules is None) - self.refused
        self._packed = exploration.packed()
        shards = exploration.store.shards
        counts = np.array([shard.count for shard in shards], dtype=np.int64)
        offsets = np.cumsum(counts) - counts
        parents = np.concatenate([shard.parents[: shard.count] for shard in shards]).astype(np.int64)
        self._parents = np.where(parents == NO_PARENT, -1, offsets[parents % SHARDS] + parents // SHARDS)
        self._actions = np.concatenate([shard.actions[: shard.count] for shard in shards])

    def __len__(self) -> int:
        return len(self._packed)

    def leaves(self, places: Places) -> States:
        """The leaves of states."""
        return self.model.unpack(self._packed[places])

    def depths(self) -> npt.NDArray[np.int32]:
        """How far each state is from an initial one."""
        depth = np.where(self._parents < 0, 0, -1).astype(np.int32)
        while (unknown := np.flatnonzero(depth < 0)).size:
            parent_depth = depth[self._parents[unknown]]
            depth[unknown] = np.where(parent_depth < 0, -1, parent_depth + 1)
        return depth

    def path_transitions(self, places: Places) -> tuple[Places, Places, Places]:
        """The transitions on the shortest paths to states, each once: states before, states after, action instances.

        Those that cannot be put to the managers are left out: there may be another way, or none.
        """
        on_path = np.zeros(len(self), dtype=np.bool_)
        while len(places := np.unique(places[~on_path[places]])):
            on_path[places] = True
            places = self._parents[places]
            places = places[places >= 0]
        after = np.flatnonzero(on_path & (self._parents >= 0))
        before, by = self._parents[after], self._actions[after].astype(np.int64)
        possible = np.ones(len(before), dtype=np.bool_)
        for number in np.unique(by).tolist():
            if not self.model.is_silent(number):
                at = np.flatnonzero(by == number)
                possible[at] = self.model.requests(self.leaves(before[at]), number)[0]
        return before[possible], after[possible], by[possible]

    def enabled(self, places: Places) -> Iterator[tuple[int, Places, States]]:
        """Each instance that asks something, with those of the states that enable it, and their leaves; in parts."""
        for first in range(0, len(places), CHUNK):
            part = places[first : first + CHUNK]
            states = self.leaves(part)
            for number, at in self.model.enabled(states):
                if len(at):
                    yield number, part[at], states[at]
