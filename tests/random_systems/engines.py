"""The engines that do not explore everything, judged by the naive search."""

import json
import threading
import time
from pathlib import Path

import numpy as np

from kraftcheck.ci.dataset.disk import DiskRunner
from kraftcheck.ci.dataset.jobs import LocalJobs
from kraftcheck.ci.explore.sweep import compare
from kraftcheck.solvers.blocks.kernel import block_spec
from kraftcheck.solvers.machine_code.objectcode import ObjectCache
from kraftcheck.solvers.program.verdict import DEADLOCK, Holds, Incomplete, Refuted, Trace
from kraftcheck.solvers.reference.confirm import confirm
from kraftcheck.solvers.reference.interpreter import Integers
from kraftcheck.solvers.smt.induction import prove
from kraftcheck.solvers.smt.queries import Effort
from kraftcheck.solvers.smt.runs.bounded import check_bounded, check_inductive
from kraftcheck.solvers.smt.theory import Theory, theory
from kraftcheck.solvers.traces import itf
from kraftcheck.solvers.traces.render import replay_trace
from kraftcheck.solvers.walks.walker import WalkPlan
from kraftcheck.solvers.walks.walks import Occurrence, simulate
from tests.ci.spark.levels import begun, finished
from tests.random_systems.building import build, state_to_rules, to_plain
from tests.random_systems.comparison import Case, agrees, is_witness
from tests.random_systems.naive import Reader
from tests.random_systems.verdicts import occasion

PROOF_STEPS = 3  # how deep bounded model checking goes

EFFORT = Effort(timeout=5)


def walks_agree(case: Case) -> None:
    """What random walks show is real and not shorter than the shortest; what they miss or take is within the space."""
    found = simulate(case.program, WalkPlan(24, 12, seed=1, cache_dir=case.cache), clock=lambda: 0.0)
    for shown in (*found.broken, *found.goals_shown):
        walked(case, shown)
    fired = case.graph.fired()
    unfired = [name for name, count in found.steps_by_action.items() if count and not fired[name]]
    case.same("taken by walks only", unfired, [])
    case.same("pruned by walks only", sorted(found.pruned.keys() - case.graph.pruned().keys()), [])


def walked(case: Case, shown: Occurrence) -> None:
    """An occasion of a walk is a witness, and not shorter than the shortest."""
    name = DEADLOCK if shown.claim is None else shown.claim.id
    is_witness(case, name, confirm(case.program, shown.claim, shown.start, shown.instances, None))
    length = occasion(case.graph, case.claim(name))
    case.same(f"{name}: a walk of {len(shown.instances)} is shorter than the shortest",
              length is None or len(shown.instances) < length, False)  # fmt: skip


def bounded_agrees(case: Case) -> None:
    """Bounded model checking finds what is broken within its depth, at the shortest length, and nothing else."""
    subject = _theory(case)
    claims = [claim.id for claim in subject.claims]
    for name, verdict in check_bounded(subject, claims, PROOF_STEPS, EFFORT, threading.Event()).items():
        length = case.verdicts[name].length
        if length is not None and length <= PROOF_STEPS:
            case.same(f"{name}, bounded", type(verdict), Refuted)
            assert isinstance(verdict, Refuted)
            case.same(f"{name}, bounded: length", len(verdict.trace.steps), length)
            is_witness(case, name, verdict.trace)
        else:
            case.same(f"{name}, bounded", type(verdict), Incomplete)


def induction_agrees(case: Case) -> None:
    """What induction, of one step or two, proves is not refuted naively; what it refutes is."""
    subject = _theory(case)
    proof = prove(lambda: subject, effort=EFFORT, clock=time.monotonic)
    claims = [claim.id for claim in subject.claims]
    proven = [name for name in claims if proof.proven(name)]
    further = check_inductive(subject, claims, 2, EFFORT, threading.Event())
    proven += [name for name, verdict in further.items() if isinstance(verdict, Holds)]
    case.same("proven although it is broken", [n for n in proven if case.verdicts[n].word == "Refuted"], [])
    refuted = [name for name, verdict in further.items() if isinstance(verdict, Refuted)]
    case.same("refuted although it holds", [n for n in refuted if case.verdicts[n].word == "Holds"], [])


def integers_agree(case: Case, most: int = 24) -> None:
    """The engine on ints enables, leads to, cuts, breaks and shows the same in the first states."""
    engine, reader = Integers(build(case.machine), case.program.setting), Reader(case.machine)
    fields = [[one for one, _ in move.parameters] for move in case.machine.moves]
    for state in list(case.graph.depth)[:most]:
        value, found = state_to_rules(case.machine, state), case.graph.taken[state]
        moves = list(engine.enabled(value))
        plain = [(m.action, tuple(to_plain(f, engine.arguments(m)[f.name]) for f in fields[m.action])) for m in moves]
        case.same(f"enabled on ints in {state}", plain, [(one.move, one.arguments) for one in found])
        for move, one in zip(moves, found, strict=True):
            after = engine.take(value, move).step.after
            cut = engine.field_outside(after)
            case.same(f"cut on ints in {state}", cut, (one.cut[0].path or "(state)") if one.cut else None)
            if not one.cut:
                case.same("led to on ints", after, state_to_rules(case.machine, one.after))
        case.same("may rest on ints", engine.may_rest(value), reader.rests(state))
        case.same("stuck on ints", engine.deadlock(value) is not None, not found and not reader.rests(state))


def round_trips_agree(case: Case) -> None:
    """A counterexample written as a document and as text, read and replayed, is the same trace."""
    for one in case.explored().verdicts:
        if isinstance(one.verdict, Refuted):
            read_back(case, one.claim, one.verdict.trace)


def read_back(case: Case, name: str, shown: Trace) -> None:
    """A trace survives being written and read."""
    written = itf.text(itf.document(shown, case.program, case.machine.name, None, True))
    told = itf.recipe(json.loads(written))
    initial, instances = itf.instances(told, case.program)
    claim = next((one for one in case.program.claims if one.id == name), None)
    again = replay_trace(case.program, claim, initial, instances)
    itf.check_states(told, again)
    case.same(f"{name}, written and read", again, shown)


def tasks_agree(case: Case, folder: Path) -> None:
    """The tasks of the Spark engine, run in this process, find the same, and so do levels in files and the sweep.

    What recovers is judged by sweeps over the files of arcs, and by arcs in memory.
    """
    run, runner = begun(case.program, folder / "tasks", case.cache, handover=0)
    run.expand(runner)
    run.judge(LocalJobs(run.blocks.spec, 1), 0)
    agrees(case, finished(run))
    run, _ = begun(case.program, folder / "disk", case.cache, handover=0)
    run.expand(DiskRunner(run.blocks, 2, 1 << 28))
    run.judge(LocalJobs(run.blocks.spec, 1), 1 << 28)
    agrees(case, finished(run))
    states = [case.program.layout.pack(state_to_rules(case.machine, state)) for state in case.graph.depth]
    swept = compare(case.program, block_spec(case.program, 3, ObjectCache(case.cache)), np.array(states, np.uint64))
    case.same("sweep", (swept.states, swept.transitions, swept.examples),
              (len(states), sum(1 for _ in case.graph.steps()), ()))  # fmt: skip


def _theory(case: Case) -> Theory:
    return theory(case.program.system, case.program.setting, use_lemmas=False)
