"""What is published about the models that are written anew here: their sizes, and how long TLC took.

The numbers are those of the manifests of the TLA+ Examples: distinct states, states generated, states on the longest of
the shortest paths, and TLC's time, which the authors give roughly. A model that the manifests give no numbers of
(`source` says so) has those that TLC prints for it. So has EWD840, of which the manifest says a depth of 10: TLC with
one worker, which searches level by level, prints 9 for the same text.
"""

from __future__ import annotations

import importlib

from attrs import field, frozen

from kraftcheck.model.language.system import System

MANIFEST, TLC = "manifest", "TLC's output"


@frozen
class Model:
    """A model.

    Attributes:
        place: the module of `tests.examples`, and the name of the system.
        path: the configuration in the TLA+ Examples.
        distinct, levels: different states, and the states on the longest of the shortest paths.
        seconds: the time of TLC in the manifest; None where there is none.
        generated: states that TLC generates; None where it counts a step several times, once for each witness.
        symmetry: whether states that differ by names alone are counted once.
        slow: whether the size is for the night.
        source: where the numbers are from.
    """

    place: str
    path: str
    distinct: int
    levels: int
    seconds: int | None
    generated: int | None = None
    symmetry: bool = False
    slow: bool = False
    source: str = MANIFEST
    name: str = field(init=False, eq=False)

    def __attrs_post_init__(self) -> None:
        """Name the model as its system is named on the command line."""
        object.__setattr__(self, "name", self.place.partition(":")[2].lower().replace("_", "-"))


def system_at(place: str) -> System:
    """The system at a place, such as `die_hard:DIE_HARD`; its module is imported now."""
    module, name = place.split(":")
    found: System = getattr(importlib.import_module(f"tests.examples.{module}"), name)
    return found



MODELS = [
    Model("consensus.consensus:CONSENSUS", "PaxosHowToWinATuringAward/MCConsensus", 4, 2, 1, 4),
    Model("consensus.consensus:INDUCTIVE_CONSENSUS", "Paxos/MCConsensus", 4, 1, 1, 7),
    Model("die_hard:DIE_HARD", "DieHard/DieHard", 16, 8, 1, 97, source=TLC),
    Model("t_commit:T_COMMIT", "transaction_commit/TCommit", 34, 7, 1, 94),
    Model("consensus.paxos:SYMMETRIC_VOTING", "Paxos/MCVoting", 77, 11, 1, symmetry=True, slow=True),
    Model("barriers:BARRIER", "barriers/Barrier", 64, 7, 1, 194),
    Model("two_phase:TWO_PHASE", "transaction_commit/TwoPhase", 288, 11, 1, 1_146),
    Model("consensus.termination:EWD840", "ewd840/EWD840", 302, 9, 1, source=TLC),
    Model("consensus.paxos:PAXOS", "PaxosHowToWinATuringAward/MCPaxosTiny", 3_921, 17, 1),
    Model("consensus.raft_election:RAFT_ELECTION", "of our own: RaftElection.tla", 4_376, 12, None, 22_321,
          source=TLC),
    Model("consensus.paxos:VOTING", "PaxosHowToWinATuringAward/MCVoting", 6_752, 16, 1),
    Model("disruptor:ONE_WRITER", "Disruptor/Disruptor_SPMC", 8_496, 82, 10),
    Model("readers_writers:READERS_WRITERS", "ReadersWriters/MC", 21_527, 13, 5, 59_674),
    Model("key_value_store:TWO_TRANSACTIONS", "KeyValueStore/MCKVSSafetySmall, two transactions", 28_305, 17, None,
          314_965, slow=True, source=TLC),
    Model("klotski:KLOTSKI", "SlidingPuzzles/SlidingPuzzles", 25_955, 168, 5, slow=True, source=TLC),
    Model("barriers:BARRIERS", "barriers/Barriers", 29_279, 93, 5, 104_515),
    Model("chameneos:CHAMENEOS", "Chameneos/Chameneos", 34_534, 13, 1, 104_697),
    Model("disruptor:MANY_WRITERS", "Disruptor/Disruptor_MPMC", 112_929, 81, 10, 422_781, slow=True),
    Model("slush:SLUSH", "SlushProtocol/SlushSmall", 274_678, 43, 15, 1_621_541, slow=True),
    Model("consensus.multi_paxos:MULTI_PAXOS", "MultiPaxos-SMR/MultiPaxos_MC_small", 343_796, 28, 10, symmetry=True,
          slow=True),
    Model("lamport_mutex:LAMPORT_MUTEX", "lamport_mutex/MCLamportMutex", 724_274, 61, 10, 2_729_079, slow=True),
    Model("paxos_commit:PAXOS_COMMIT", "transaction_commit/PaxosCommit", 1_321_761, 28, 60, slow=True),
    Model("consensus.termination:EWD998", "ewd998/EWD998, three nodes", 1_520_618, 59, None, slow=True, source=TLC),
]  # fmt: skip
