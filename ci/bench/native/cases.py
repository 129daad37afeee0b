"""The systems that the native explorer is measured on."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import evolve, frozen

from kraftcheck.ci.bench.benchmark import WrongSpaceError
from kraftcheck.ci.bench.two_phase_commit import TWO_PHASE
from kraftcheck.model.language.layout import Range
from kraftcheck.model.language.system import Action, System
from kraftcheck.model.language.terms import Word
from kraftcheck.model.language.words import all_of
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import find
from kraftcheck.properties.kinds import eventually, recovers, weak_fairness
from kraftcheck.solvers.exploration.explore import Exploration
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Incomplete
from kraftcheck.solvers.search.symmetry import reduced


@frozen
class Can:
    """Beans of two colours."""

    black: Word
    white: Word


def coffee_can(beans: int, *, fair: bool = False) -> Program:
    """Two beans are taken out and one is put in; from everywhere one bean can be reached, and is if steps are fair."""
    actions = [
        Action("same_black", lambda s: evolve(s, black=s.black - 1), lambda s: s.black >= 2),
        Action("same_white", lambda s: Can(s.black + 1, s.white - 2), lambda s: s.white >= 2),
        Action("different", lambda s: evolve(s, black=s.black - 1), lambda s: all_of(s.black >= 1, s.white >= 1)),
    ]
    claim = eventually if fair else recovers
    system = System(
        name="coffee-can", summary="Beans in a can.",
        initial=[Can(b, w) for b in range(beans + 1) for w in range(beans + 1) if 1 <= b + w <= beans],
        layout=Can(Range(0, beans), Range(0, beans)), actions=actions,  # type: ignore[arg-type]
        properties=[claim("one-is-left", "One bean is left.", lambda s: s.black + s.white == 1)],
        fairness=[weak_fairness(*(action.name for action in actions))] if fair else [],
        quiescent=lambda s: s.black + s.white == 1,
    )  # fmt: skip
    return trace(system, system.setting())


ELECTIONS_STATES = 5_000_000
REPLICATION_STATES = 2_000_000
TWO_PHASE_7_ORBITS = 920


@frozen
class Case:
    """A system to measure.

    Attributes:
        name: as on the command line.
        program: makes the traced system.
        distinct: the states it must have; None: not pinned.
        max_states: where to stop; None: nowhere.
    """

    name: str
    program: Callable[[], Program]
    distinct: int | None = None
    max_states: int | None = None

    def check(self, result: Exploration) -> None:
        """Refuse a run that found another number of states, or was cut although nothing limits it.

        Raises:
            WrongSpaceError: for such a run, which measures nothing.
        """
        cut = any(isinstance(verdict.verdict, Incomplete) for verdict in result.verdicts)
        if (self.distinct is not None and result.distinct != self.distinct) or (cut and self.max_states is None):
            found = f"{result.distinct:,} states instead of {self.distinct}"
            raise WrongSpaceError(f"{self.name}: {found}, cut: {result.cut}")


def two_phase_commit(managers: int) -> Program:
    """Two-phase commit."""
    return trace(TWO_PHASE, TWO_PHASE.setting(str(managers)))


def elections() -> Program:
    """The default scope of `elections` under the rules of Kafka 4.0."""
    system = find("elections")
    return trace(system, system.setting(rules=parse("kafka-4.0")))


def two_phase_recovers(managers: int) -> Program:
    """Two-phase commit with a claim that holds after a long way, and one that most states never satisfy again."""
    claims = (
        recovers("decided", "every manager can decide", lambda s: s.committed.plus(s.aborted).size() == managers),
        recovers("undecided", "the decision can be taken back", lambda s: s.manager == 0),
    )
    system = evolve(TWO_PHASE, properties=lambda _: claims)
    return trace(system, system.setting(str(managers)))


def directories() -> Program:
    """`elections` with two directories for each broker, mended."""
    system = find("elections")
    return trace(system, system.setting("directories", rules=parse("fixed")))


def replication(scope: str, rules: str, bounds: Mapping[str, int] | None = None) -> Program:
    """`replication` without what asks for a backward search."""
    system = find("replication")
    plain = evolve(system, properties=lambda at: [p for p in system.properties(at) if p.kind != "recovers"])
    return trace(plain, plain.setting(scope, bounds, parse(rules)))


OF_SPECIFICATION = {"initial-isr": 2}
"""With it, `small` has the bounds that the published TLA+ specification of KIP-966 ships with."""

CASES = (
    Case("two-phase-commit-7", lambda: two_phase_commit(7), 296_448),
    Case("two-phase-commit-9", lambda: two_phase_commit(9), 10_340_352),
    Case("two-phase-9-recovers", lambda: two_phase_recovers(9), 10_340_352),
    Case("coffee-can-1000", lambda: coffee_can(1000), 501_500),
    Case("two-phase-7-symmetry", lambda: reduced(two_phase_commit(7)), TWO_PHASE_7_ORBITS),
    Case("elections", elections, max_states=ELECTIONS_STATES),
    Case("elections-directories", directories, 662_616),
    Case("replication-small", lambda: replication("small", "kip"), 124_008),
    Case("replication-kip-966", lambda: replication("small", "kip", OF_SPECIFICATION), 253_049),
    Case("replication-one-crash", lambda: replication("one-crash", "fixed"), max_states=REPLICATION_STATES),
    Case("elections-dirs-symmetry", lambda: reduced(directories()), 285_184),
)


def case_of(name: str) -> Case:
    """The case of a name."""
    return next(case for case in CASES if case.name == name)
