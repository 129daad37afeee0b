"""State of the `sessions` system: brokers as processes, and what the active controller knows of them.

Time goes by in rounds. In each round every running broker sends one heartbeat, or it is lost, and records are written
to the log of metadata. What a heartbeat says was applied is what the log had `LAG` rounds ago. So offsets are counted
backwards from the end of the log, in rounds; all that are `LAG` rounds old or older are alike.
"""

from __future__ import annotations

from attrs import evolve, frozen

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.layout import ints, subset_of, truth
from kraftcheck.model.language.system import Setting
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import NO_LEADER, all_of, any_of, choose, negate, pick

LAG = 2
"""How many rounds a broker is behind the end of the log."""

NOT_HEARD_OF = -1
"""The silence of a broker that the controller never heard of."""


@frozen
class Peer:
    """A broker.

    Attributes:
        up: whether its process runs.
        stopping: whether the process wants to shut down.
        leads: whether the process takes itself for the leader.
        due: whether it has a heartbeat to send in this round.
        fenced: whether the controller has it fenced.
        retired: whether its registration says that it shuts down, so that it may not lead.
        leaving: whether the active controller has begun its controlled shutdown.
        silence: rounds since it was last heard of, at most one more than the timeout; or NOT_HEARD_OF.
        registration: age of its registration's record in rounds, at most `LAG`.
        shutdown: age of the offset that its shutdown waits for, at most `LAG`.
        passed: brokers that have said that they are past that offset.
    """

    up: Truth
    stopping: Truth
    leads: Truth
    due: Truth
    fenced: Truth
    retired: Truth
    leaving: Truth
    silence: Word
    registration: Word
    shutdown: Word
    passed: BrokerSet


@frozen
class Sessions:
    """The whole state.

    Attributes:
        brokers: the brokers.
        leader: who leads the one partition, or NO_LEADER.
    """

    brokers: tuple[Peer, ...]
    leader: Word

    def broker(self, number: Word) -> Peer:
        """A broker."""
        return pick(self.brokers, number, self.brokers[0])

    def with_broker(self, number: Word, peer: Peer) -> Sessions:
        """The state with one broker replaced."""
        return evolve(self, brokers=tuple(choose(number == b, peer, old) for b, old in enumerate(self.brokers)))

    def elected(self) -> Sessions:
        """The state with a leader that is unfenced and not retired; with none where no broker is."""
        able = [all_of(negate(peer.fenced), negate(peer.retired)) for peer in self.brokers]
        stays = any_of(*(all_of(self.leader == b, may) for b, may in enumerate(able)))
        first: Word = NO_LEADER
        for b in reversed(range(len(able))):
            first = choose(able[b], b, first)
        return evolve(self, leader=choose(stays, self.leader, first))


@frozen
class SessionsEvent:
    """What a step did besides the state change.

    Attributes:
        registered: a new process was registered.
        raised: a broker's epoch rose.
        released: a broker was told to stop.
    """

    registered: Truth = False
    raised: Truth = False
    released: Truth = False


def layout(setting: Setting) -> Sessions:
    """The domain of each field."""
    brokers = setting["brokers"]
    peer = Peer(
        up=truth(), stopping=truth(), leads=truth(), due=truth(), fenced=truth(), retired=truth(), leaving=truth(),
        silence=ints(NOT_HEARD_OF, setting["timeout"] + 1), registration=ints(0, LAG), shutdown=ints(0, LAG),
        passed=BrokerSet(subset_of(brokers)),
    )  # fmt: skip
    return Sessions((peer,) * brokers, ints(NO_LEADER, brokers - 1))


def initial(setting: Setting) -> list[Sessions]:
    """Live brokers that were just heard of; the first one leads."""
    peers = tuple(
        Peer(True, False, b == 0, True, False, False, False, 0, LAG, 0, BrokerSet()) for b in range(setting["brokers"])
    )
    return [Sessions(peers, 0)]
