"""All mutants, and the page that lists them."""

from __future__ import annotations

from tests.engine_mutants.auditing import AUDIT, PRUNING
from tests.engine_mutants.backward import BACKWARD
from tests.engine_mutants.checking import CACHES, RECOVERY, ROWS, SYMMETRY, WALKS, WITNESSES
from tests.engine_mutants.compiling import COLLECTIONS, LOWERING, TERMS, TRACING
from tests.engine_mutants.distributed import BLOCKS, COMMITS, COMPACT, MANIFESTS, TASKS
from tests.engine_mutants.liveness import LASSOS, SUSPECTS, SWEEPS
from tests.engine_mutants.liveness import VERDICTS as LIVENESS
from tests.engine_mutants.memo import HELD, MEMO, RUNS_OF_LEVELS
from tests.engine_mutants.mutant import Mutant
from tests.engine_mutants.native import EXPANSION, LEVELS, VISITED
from tests.engine_mutants.orders import INDEPENDENCE, PROVEN_SYMMETRY, SELECTION
from tests.engine_mutants.premises import PREMISES
from tests.engine_mutants.proving import FEW_PARTICIPANTS, INDUCTION, READING, UNROLLING
from tests.engine_mutants.quantifying import (
    ANY_NUMBER,
    BREAKING,
    CUTTING,
    FOLLOWING,
    INSTANCES,
    NARROWER,
    OUTCOMES,
    QUANTIFIERS,
)
from tests.engine_mutants.stores import STORES
from tests.engine_mutants.strangers import STRANGERS
from tests.shared.places import DOCS

PAGE = DOCS / "reference" / "engine-mutants.md"

GROUPS: dict[str, tuple[Mutant, ...]] = {
    "Terms and their folding": TERMS,
    "Tracing a system": TRACING,
    "What collections lose": COLLECTIONS,
    "Any number": ANY_NUMBER,
    "Models of any number": NARROWER,
    "Premises of claims": PREMISES,
    "Machine code of rules": LOWERING,
    "The visited set": VISITED,
    "Expanding a level": EXPANSION,
    "Levels, limits, verdicts": LEVELS,
    "Steps that leave a domain": PRUNING,
    "The audit": AUDIT,
    "Recovery": RECOVERY,
    "Fair behaviours": SWEEPS,
    "Verdicts on liveness": LIVENESS,
    "Lassos of bounded length": LASSOS,
    "Suspected lassos": SUSPECTS,
    "Symmetry": SYMMETRY,
    "Proof of symmetries": PROVEN_SYMMETRY,
    "Independence of steps": INDEPENDENCE,
    "Orders that are left out": SELECTION,
    "Witnesses and their files": WITNESSES,
    "Walks": WALKS,
    "Compiled code that is kept": CACHES,
    "Rows of the check in processes": ROWS,
    "Blocks of a distributed search": BLOCKS,
    "The memo of successors": MEMO,
    "Visited states that the driver holds": HELD,
    "Tasks and jobs of a distributed search": TASKS,
    "Backward search under Spark": BACKWARD,
    "Levels that are committed": COMMITS,
    "Manifests and the lease": MANIFESTS,
    "Old levels that are merged": RUNS_OF_LEVELS,
    "Objects of a store": STORES,
    "Files of strangers": STRANGERS,
    "Compact sets and levels in files": COMPACT,
    "Terms in Z3": READING,
    "Proofs by induction": INDUCTION,
    "Instances, and sizes of sets": INSTANCES,
    "Quantifiers of Z3": QUANTIFIERS,
    "Goals cut into parts": CUTTING,
    "Proofs from lemmas about steps": OUTCOMES,
    "Claims that follow from others": FOLLOWING,
    "Bounded runs and k-induction": UNROLLING,
    "Counterexamples with few participants": FEW_PARTICIPANTS,
    "Proofs that must break": BREAKING,
}

MUTANTS = tuple(mutant for group in GROUPS.values() for mutant in group)

HEAD = """# Mutants of the engines

Faults that are put into the engines on purpose, each with the test that fails for it. None survives:
`tests/engine_mutants` applies every mutant to the engine at hand, one function with one piece of its text replaced,
and asserts that the test named beside it passes without the mutant and fails with it. Those marked *nightly*
take longer and run in that profile only; so do four in five of the others.
(Mutants of Kafka's rules, not of engines, are in [load-bearing.md](load-bearing.md). Mutants of engines that nobody
chose are drawn by `python -m tests.engine_mutants.drawn`, of a folder, by a seed, for so many seconds.)

The data is in `tests/engine_mutants/`; after a change of it, `python -m tests.engine_mutants` writes this page anew.
A mutant whose text is no longer there fails by name: choose another place for the same fault.
"""

TAIL = """## Equivalent, with reason

Faults that change nothing that anybody is told, and so are not in the table:

"""

EQUIVALENT = (
    ("A hash that ignores words of a state.",
     "States are compared whole wherever hashes meet; the search is slower and finds the same."),
    ("A filter of recent successors that drops nothing.",
     "What it drops is in the visited set already: insertion drops it too. Only the time and the buffers differ."),
    ("A digest without the layout.",
     "Packing follows from the domains, and the variables of the term graph have their intervals."),
    ("Claims of an earlier run left in the frame of a walk.",
     "A thread walks runs in increasing order, and the first occasion of a claim, which they repeat, is noted before."),
    ("A bound of the interval of a comparison taken strictly (`a.lo > b.hi` for `a.lo >= b.hi`).",
     "Less is folded, and the comparison is computed instead."),
)  # fmt: skip


def page() -> str:
    """The text of the page."""
    parts = [HEAD, f"{len(MUTANTS)} mutants.\n"]
    for title, mutants in GROUPS.items():
        parts.append(f"## {title}\n\n| mutant | what is wrong | where | killed by |\n|---|---|---|---|")
        parts.append("\n".join(_row(mutant) for mutant in mutants) + "\n")
    parts.append(TAIL + "\n".join(f"* {what} {why}" for what, why in EQUIVALENT))
    return "\n".join(parts) + "\n"


def _row(mutant: Mutant) -> str:
    module, _, name = mutant.where.partition(":")
    late = " (nightly)" if mutant.slow else ""
    killer = mutant.killer.name.replace("|", "\\|")
    return f"| `{mutant.name}`{late} | {mutant.breaks} | `{module}` `{name}` | `{killer}` |"
