"""Bounded model checking and k-induction: runs of a bounded number of steps, unrolled in Z3.

Biere et al., "Symbolic Model Checking without BDDs" (1999);
Sheeran et al., "Checking Safety Properties Using Induction and a SAT-Solver" (2000).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from attrs import define

from kraftcheck.model.language.system import LIVENESS
from kraftcheck.solvers.program.stop import stop_reason
from kraftcheck.solvers.program.verdict import Holds, Incomplete, Refuted, Trace, Unknown, Verdict
from kraftcheck.solvers.smt.queries import Effort
from kraftcheck.solvers.smt.runs.lassos import Lassos
from kraftcheck.solvers.smt.runs.starts import check_described
from kraftcheck.solvers.smt.runs.unrolling import Unrolling
from kraftcheck.solvers.smt.spacer import cap_text, capped, leaves_text
from kraftcheck.solvers.smt.theory import Theory

DepthReport = Callable[[int, int], None]
"""Told the depth reached, and the depth wanted."""


@define
class BoundedSearch:
    """The progress of bounded model checking.

    Attributes:
        verdicts: by claim; claims without one are still looked for.
        claims: all of them.
        depth: length of the runs that were checked; -1: none.
        fault: why runs beyond a certain length were not all checked; None where all were.
    """

    claims: tuple[str, ...]
    verdicts: dict[str, Verdict]
    depth: int = -1
    fault: str | None = None

    def open(self) -> list[str]:
        """Claims without a verdict."""
        return [claim for claim in self.claims if claim not in self.verdicts]

    def judge(self, unrolling: Unrolling, lassos: Lassos, with_steps: bool) -> None:
        """Look for a claim that the last state or step breaks, or a lasso that ends in the last state."""
        for name in self.open():
            kind = unrolling.subject.claim(name).kind
            if kind == "step" and not with_steps and name not in unrolling.subject.program.starts:
                continue
            broken = lassos.broken(name) if kind in LIVENESS else unrolling.broken(name)
            if isinstance(broken, Trace):
                self.verdicts[name] = Refuted(broken)
            elif broken is not None:
                self.verdicts[name] = Unknown(f"no answer at depth {unrolling.length}: {broken}")


def check_bounded(
    subject: Theory, claims: Sequence[str], depth: int, effort: Effort, stop: threading.Event,
    report: DepthReport = lambda now, last: None,
) -> dict[str, Verdict]:  # fmt: skip
    """Bounded model checking: runs of at most `depth` steps from the initial states.

    A counterexample is a shortest one; to liveness it is a lasso, of at most so many steps with its cycle.
    Claims without one are Incomplete: nothing holds.

    Args:
        subject, claims: what to look for.
        depth, effort: most steps, and the limits of each query.
        stop: once set, no further query is made.
        report: called with the depth that is reached, and the depth that is wanted.
    """
    search = _search(subject, claims, depth, effort, stop, report)
    cut = f"{stop_reason(stop)}; " if stop.is_set() else ""
    incomplete = Incomplete(cut + (search.fault or f"no counterexample of at most {search.depth} steps"))
    return {claim: search.verdicts.get(claim, incomplete) for claim in claims}


def _search(
    subject: Theory, claims: Sequence[str], depth: int, effort: Effort, stop: threading.Event, report: DepthReport
) -> BoundedSearch:
    """Runs of at most `depth` steps, and the first step of them that leaves a domain and should not."""
    check_described(subject, effort)
    unrolling, search = Unrolling(subject, effort, initial=True), BoundedSearch(tuple(claims), {})
    lassos = Lassos(unrolling)
    for length in range(depth + 1):
        if stop.is_set() or not search.open():
            break
        if length:
            faults = unrolling.faults() if search.fault is None else []
            if faults:
                where = leaves_text(faults, f"in step {length}")
                search.fault = f"no counterexample of at most {length - 1} steps; {where}"
            unrolling.extend()
        report(length, depth)
        search.judge(unrolling, lassos, with_steps=length > 0)
        search.depth = length
    return search


def check_inductive(
    subject: Theory, claims: Sequence[str], k: int, effort: Effort, stop: threading.Event
) -> dict[str, Verdict]:
    """k-induction: claims that hold for k steps from the initial states, and after any k steps in which they held.

    Claims are assumed together; those that fail are dropped, and the rest is tried again.

    Args:
        subject, claims, effort, stop: as in `check_bounded`.
        k: length of the runs, from 1.
    """
    base = _search(subject, claims, k, effort, stop, lambda now, last: None)
    verdicts, open_claims = base.verdicts, base.open()
    if base.fault is not None:
        return {claim: verdicts.get(claim, Incomplete(base.fault)) for claim in claims}
    holds = Holds("; ".join([f"any number of steps, by {k}-induction", *map(cap_text, capped(subject.program))]))
    while open_claims and not stop.is_set():
        unrolling, faults = _unroll_assuming(subject, open_claims, k, effort)
        failed = {claim: broken for claim in open_claims if (broken := unrolling.broken(claim)) is not None}
        if not failed and faults:
            where = f"in step {k} from some state"
            unknown = Unknown(f"not {k}-inductive: {leaves_text(faults, where)}")
            return {claim: verdicts.get(claim, unknown) for claim in claims}
        if not failed:
            return {claim: verdicts.get(claim, holds) for claim in claims}
        breaks = f"a run of {k} steps from some state breaks it"
        for claim, broken in failed.items():
            verdicts[claim] = Unknown(f"not {k}-inductive: {broken if isinstance(broken, str) else breaks}")
        open_claims = [claim for claim in open_claims if claim not in failed]
    return {claim: verdicts.get(claim, Incomplete(stop_reason(stop))) for claim in claims}


def _unroll_assuming(subject: Theory, claims: Sequence[str], k: int, effort: Effort) -> tuple[Unrolling, list[str]]:
    """k steps from any state, the claims true of all but the last state and step; what that step may take out."""
    unrolling, faults = Unrolling(subject, effort, initial=False), list[str]()
    for depth in range(k):
        # of the first state nothing but invariants can be assumed: no step leads to it
        unrolling.assume([claim for claim in claims if depth or subject.claim(claim).kind == "always"])
        faults = unrolling.faults() if depth == k - 1 else []
        unrolling.extend()
    return unrolling, faults
