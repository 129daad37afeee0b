"""A controller that was deposed: its session has expired, it does not know, and its writes are under way.

Source: the early controller design, D, which has no such controller; Kafka's controller epoch is the later answer.
"""

from __future__ import annotations

from attrs import evolve, frozen

from kraftcheck.model.language.system import Outcome
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, negate
from kraftcheck.model.systems.zk_controller.control import Control, ZkControllerEvent
from kraftcheck.model.systems.zk_controller.state import ZkController, blank


@frozen
class Deposed:
    """Its steps. Where every write is conditional on who is controller, it can only learn that it is not."""

    control: Control

    def _may_write(self, state: ZkController) -> Truth:
        """Whether ZooKeeper takes its writes; with an epoch, once it has that of a new controller."""
        return True if self.control.rules.controller_writes_unfenced else state.controller.present

    def may_depose(self, state: ZkController) -> dict[str, Truth]:
        """A controller that is at work loses its session, and goes on."""
        c = state.controller
        return {
            "there is a controller": c.present,
            "it has something to write": any_of(c.working, negate(c.told_all())),
            "no other is deposed": negate(state.deposed.present),
            "a loss is left": state.left.depositions > 0,
        }

    def depose(self, state: ZkController) -> Outcome:
        """/controller is gone, and it has not heard of it."""
        left = evolve(state.left, depositions=state.left.depositions - 1)
        gone = evolve(state, controller=blank(len(state.partitions)), deposed=state.controller, changed=False)
        return Outcome(evolve(gone, left=left), ZkControllerEvent())

    def may_resign(self, state: ZkController) -> dict[str, Truth]:
        """It hears that its session has expired, or a write of its is refused."""
        return {"there is one": state.deposed.present}

    def resign(self, state: ZkController) -> Outcome:
        """It forgets what it knew."""
        return Outcome(evolve(state, deposed=blank(len(state.partitions))), ZkControllerEvent())

    def may_write_all_late(self, state: ZkController) -> dict[str, Truth]:
        """As for one that is controller: ZooKeeper does not ask who writes."""
        may = self.control.may_write_all(_swapped(state))
        return {**may, "its writes are taken": self._may_write(state)}

    def write_all_late(self, state: ZkController) -> Outcome:
        """Decisions of an earlier time."""
        done = self.control.write_all(_swapped(state))
        return evolve(done, state=_swapped(done.state))

    def may_write_one_late(self, state: ZkController, partition: Word) -> dict[str, Truth]:
        """As for one that is controller."""
        may = self.control.may_write_one(_swapped(state), partition)
        return {**may, "its writes are taken": self._may_write(state)}

    def write_one_late(self, state: ZkController, partition: Word) -> Outcome:
        """A decision of an earlier time."""
        done = self.control.write_one(_swapped(state), partition)
        return evolve(done, state=_swapped(done.state))

    def may_publish_late(self, state: ZkController, broker: Word) -> dict[str, Truth]:
        """It has something left to tell."""
        wanted: Truth = all_of(*self.control.may_publish(_swapped(state), broker).values())
        return {"there is one": state.deposed.present, "something is left to tell": wanted,
                "its writes are taken": self._may_write(state)}  # fmt: skip

    def publish_late(self, state: ZkController, broker: Word) -> Outcome:
        """A queue gets decisions of an earlier time."""
        done = self.control.publish(_swapped(state), broker)
        return evolve(done, state=_swapped(done.state))


def _swapped(state: ZkController) -> ZkController:
    """The state with the two controllers in each other's place."""
    return evolve(state, controller=state.deposed, deposed=state.controller)
