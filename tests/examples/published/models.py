"""What is published about the models that are written anew here, and how long a search of each takes."""

import argparse
import importlib
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from attrs import evolve, field, frozen

import kraftcheck as kc
from kraftcheck.ci.systems.subject import program, subject
from kraftcheck.model.language.system import System
from kraftcheck.solvers.exploration.explore import Exploration
from kraftcheck.solvers.tla.module import TooWide, module
from tests.shared.tlc import tlc

MANIFEST, TLC = "manifest", "TLC's output"


@frozen
class Model:
    """A model."""

    place: str  # the module of `tests.examples`, and the name of the system
    path: str  # the configuration in the TLA+ Examples
    # distinct, levels: different states, and the states on the longest of the shortest paths
    distinct: int
    levels: int
    seconds: int | None  # the time of TLC in the manifest; None where there is none
    # states that TLC generates; None where it counts a step several times, once for each witness
    generated: int | None = None
    symmetry: bool = False  # whether states that differ by names alone are counted once
    slow: bool = False  # whether the size is for the night
    source: str = MANIFEST  # where the numbers are from
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


BROKEN: dict[str, dict[str, int]] = {
    "die_hard:DIE_HARD": {"not-solved": 6},
    "consensus.consensus:CONSENSUS": {},
    "consensus.consensus:INDUCTIVE_CONSENSUS": {},
    "consensus.consensus:CHANGEABLE": {"one-at-most": 2},
    "t_commit:T_COMMIT": {},
    "barriers:BARRIER": {},
    "barriers:BARRIERS": {},
    "chameneos:CHAMENEOS": {},
    "readers_writers:READERS_WRITERS": {"never-all-read": 6},
    "two_phase:TWO_PHASE": {},
    "two_phase:FAULTY": {"consistent": 7},
    "disruptor:ONE_WRITER": {},
    "consensus.raft_election:RAFT_ELECTION": {},
    "consensus.raft_election:FORGETFUL": {"one-elected": 6, "one-leader": 8},
    "consensus.paxos:PAXOS": {},
    "consensus.paxos:VOTING": {},
    "consensus.paxos:SYMMETRIC_VOTING": {},
    "klotski:KLOTSKI": {"not-solved": 116},
    "key_value_store:TWO_TRANSACTIONS": {},
    "key_value_store:CARELESS": {"no-lost-update": 6},
    "consensus.paxos:DIVIDED": {"agreement": 9},
    "disruptor:MANY_WRITERS": {},
    "slush:SLUSH": {"never-agree": 42},
    "consensus.multi_paxos:MULTI_PAXOS": {},
}
"""Systems, with the claims that are broken and the steps of their shortest runs."""

SLOW = {
    "consensus.paxos:SYMMETRIC_VOTING", "klotski:KLOTSKI", "key_value_store:TWO_TRANSACTIONS",
    "key_value_store:CARELESS", "consensus.paxos:DIVIDED", "disruptor:MANY_WRITERS", "slush:SLUSH",
    "consensus.multi_paxos:MULTI_PAXOS",
}  # fmt: skip
"""Those of them that are searched by night."""


TLC_STATES = 50_000  # TLC runs for larger models only where they are named

HEADING = (f"{'model':<28}{'distinct':>11}{'depth':>7}{'compile s':>11}{'search s':>10}{'states/s':>12}"
           f"{'TLC, published s':>18}{'TLC, here s':>13}{'ratio':>8}")  # fmt: skip


@frozen
class Row:
    """What was measured of a model."""

    model: Model  # the model
    found: Exploration  # what the search found, in one thread, with code that was compiled for it
    # how long TLC took for the module of the same system, in one thread; None: it was not run
    tlc_seconds: float | None

    def faults(self) -> list[str]:
        """The sizes that are not the published ones."""
        sizes = {"distinct": (self.found.distinct, self.model.distinct),
                 "depth": (self.found.depth + 1, self.model.levels)}  # fmt: skip
        return [f"{self.model.name}: {name} {ours:,}, published {theirs:,}"
                for name, (ours, theirs) in sizes.items() if ours != theirs]  # fmt: skip

    def text(self) -> str:
        """A line of the table; the ratio is of TLC's time to that of compiling and searching, both from this run."""
        whole = self.found.compile_seconds + self.found.seconds
        here = "-" if self.tlc_seconds is None else f"{self.tlc_seconds:.1f}"
        ratio = "-" if self.tlc_seconds is None else f"{self.tlc_seconds / whole:.1f}"
        rate = self.found.distinct / self.found.seconds
        return (f"{self.model.name:<28}{self.found.distinct:>11,}{self.found.depth + 1:>7}"
                f"{self.found.compile_seconds:>11.2f}{self.found.seconds:>10.2f}{rate:>12,.0f}"
                f"{self.model.seconds or '-':>18}{here:>13}{ratio:>8}")  # fmt: skip


def by_tlc(system: System, found: Exploration) -> float:
    """The seconds that TLC takes for a system, without refuted claims, whose every trace it would print."""
    refuted = {one.claim for one in found.verdicts if isinstance(one.verdict, kc.Refuted)}
    kept = [one for one in system.properties(system.setting()) if one.id not in refuted]
    made = module(program(subject(evolve(system, properties=kept), None, {}, None)), "Timed", system.name)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "Timed.tla"
        place.write_text(made.text)
        place.with_suffix(".cfg").write_text(made.configuration)
        start = time.monotonic()
        answer = tlc(place)
        seconds = time.monotonic() - start
    assert answer.distinct == found.distinct, f"{system.name}: TLC finds {answer.distinct:,} states here"
    return seconds


def measure(model: Model, *, with_tlc: bool) -> Row:
    """Measure a model; TLC is left out where states are counted by symmetry, which the written module has not."""
    system = system_at(model.place)
    found = kc.explore(system, threads=1, symmetry=model.symmetry, cache=False).exploration
    assert found is not None
    seconds = None
    if with_tlc and not model.symmetry:
        try:
            seconds = by_tlc(system, found)
        except TooWide as error:
            print(f"{model.name}: TLC is not run: {error}")
    return Row(model, found, seconds)


def main(words: Sequence[str]) -> int:
    """Print a line for each model; 1 where a size is not the published one, 2 for a model that there is not."""
    parser = argparse.ArgumentParser(prog="python -m tests.examples.published", description=__doc__)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(model.name for model in MODELS)}")
    parser.add_argument("--tlc", action="store_true", help=f"run TLC too; above {TLC_STATES:,} states if named")
    chosen = parser.parse_args(words)
    if unknown := {*chosen.models} - {model.name for model in MODELS}:
        parser.error(f"there is no model {', '.join(sorted(unknown))}; --help lists them")
    faults = []
    print(HEADING)
    for model in MODELS:
        if not chosen.models or model.name in chosen.models:
            wanted = chosen.tlc and (model.name in chosen.models or model.distinct <= TLC_STATES)
            try:
                row = measure(model, with_tlc=wanted)
            except pytest.skip.Exception as error:
                print(error)
                row, chosen.tlc = measure(model, with_tlc=False), False
            faults += row.faults()
            print(row.text(), flush=True)
    print("\n".join(faults) if faults else "every size is the published one")
    return 1 if faults else 0
