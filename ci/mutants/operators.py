"""`kraftcheck explain --operators`: every operator mutant that systems meet, what kills it, and the score."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import pickle
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from attrs import asdict, evolve, field, frozen

from kraftcheck.ci.mutants.table import Outcomes
from kraftcheck.ci.run.fanout import Cluster, check_same
from kraftcheck.ci.systems import report
from kraftcheck.ci.systems.subject import Subject, subject
from kraftcheck.ci.terminal.console import Screen, console
from kraftcheck.ci.terminal.files import check_apart, check_writable, write
from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.ci.terminal.progress import Meter, progress_meter, run_interruptibly, stop_flag
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.system import LIVENESS
from kraftcheck.model.language.words import BRANCH, CONJUNCT, DISJUNCT
from kraftcheck.properties.register.mutants import CAMPAIGNS, FURTHER, JUDGEMENTS, LEFT, OPERATOR_JUDGEMENTS, Judgement
from kraftcheck.solvers.exploration.explore import SearchBudget
from kraftcheck.solvers.machine_code.compile import Kernel, cache_key, load_kernel
from kraftcheck.solvers.machine_code.lower import LoweringError
from kraftcheck.solvers.mutants.campaign import Campaign, ConditionMutant, Memory, campaign
from kraftcheck.solvers.mutants.explore import (
    Baseline,
    BaselineFault,
    GoalLost,
    Killed,
    LeavesDomain,
    MutantExplanation,
    MutantOutcome,
    Refused,
    Same,
    Survived,
    Told,
    Undecided,
    baseline,
    explain,
    explore_each,
)
from kraftcheck.solvers.mutants.mutate import GUARD, Mutant, Mutations, mutate
from kraftcheck.solvers.mutants.operators import OF_CONDITIONS
from kraftcheck.solvers.mutants.source import ROOT, SourceMutant, source_mutants
from kraftcheck.solvers.program.stop import STOPPED
from kraftcheck.solvers.program.verdict import EXIT_INCOMPLETE

COMMAND = "explain --operators"

T = TypeVar("T")

NO_LIMIT = 1 << 62  # more states than a mutant has


@frozen
class Alive:
    """A mutant that nothing kills in its system."""

    name: str  # the mutant
    # before, after: what it changes
    before: str
    after: str
    cut: str = ""  # why it is undecided; empty where every property holds and every goal is reached
    # the system whose properties kill it, if there is one; with its scope where that is a further one
    elsewhere: str = ""

    @property
    def group(self) -> str:
        """The module and the function, as judgements name them."""
        group, kind, _ = self.name.rsplit(":", 2)
        return group.rpartition(" ")[2] if kind == GUARD else f"{ROOT}{group}"

    @property
    def is_condition(self) -> bool:
        """Whether a condition is dropped; the load-bearing table has it too."""
        return self.name.split(":")[-2] in (GUARD, BRANCH, CONJUNCT, DISJUNCT)


@frozen
class SystemScore:
    """What became of the operator mutants that a system meets."""

    # system, title: its name; system, scope and rules in words
    system: str
    title: str
    distinct: int  # states without a mutant
    refused: int  # mutants whose rules cannot be traced
    left: int  # those that take a field out of its domain, and break nothing else
    same: int  # those with the same program
    without_effect: int  # those that change no state and no step of the scope
    killed: Mapping[str, int]  # by property, the mutants that it kills
    lost: Mapping[str, int]  # by goal, the mutants that lose it
    alive: tuple[Alive, ...] = field(factory=tuple)  # the others
    # sample, seed: how many mutants of the model were drawn for it, and how; a sample of 0 is all
    sample: int = 0
    seed: int = 0

    @property
    def mutants(self) -> int:
        """How many there are."""
        parts = (self.refused, self.left, self.same, self.without_effect, len(self.alive))
        return sum((*parts, *self.killed.values(), *self.lost.values()))


def score(name: str, title: str, found: Campaign, sample: int = 0, seed: int = 0) -> SystemScore:
    """The score of a campaign; the arguments are as the attributes."""
    kinds = Counter(_kind(result) for _, result in found.outcomes)
    killed = Counter(result.by[0] for _, result in found.outcomes if isinstance(result, Killed))
    lost = Counter((*r.goals, *r.idle)[0] for _, r in found.outcomes if isinstance(r, GoalLost))
    alive = tuple(
        Alive(one.name, one.before, one.after, getattr(result, "cut", ""))
        for one, result in found.outcomes if _kind(result) == "alive"
    )  # fmt: skip
    return SystemScore(
        name, title, found.distinct, refused=kinds["refused"], left=kinds["left"], same=kinds["same"],
        without_effect=kinds["none"], killed=dict(sorted(killed.items())), lost=dict(sorted(lost.items())), alive=alive,
        sample=sample, seed=seed,
    )  # fmt: skip


def _kind(result: MutantOutcome) -> str:
    match result:
        case Refused():
            return "refused"
        case LeavesDomain():
            return "left"
        case Same():
            return "same"
        case Survived("none"):
            return "none"
        case Killed() | GoalLost():
            return "killed"
    return "alive"


def alive(campaigns: Iterable[Campaign]) -> set[str]:
    """The names of the mutants that live in one, and that none kills."""
    results = [(one.name, _kind(result)) for found in campaigns for one, result in found.outcomes]
    return {name for name, kind in results if kind == "alive"} - {name for name, kind in results if kind == "killed"}


def with_others(scores: Sequence[SystemScore], campaigns: Mapping[str, Campaign]) -> list[SystemScore]:
    """The scores, where a mutant that lives names a system that kills it."""
    killers: dict[str, str] = {}
    for system, found in campaigns.items():
        for mutant, result in found.outcomes:
            if _kind(result) == "killed":
                killers.setdefault(mutant.name, system)
    return [
        evolve(one, alive=tuple(evolve(row, elsewhere=killers.get(row.name, "")) for row in one.alive))
        for one in scores
    ]


def judgement(system: str, row: Alive, judgements: Sequence[Judgement] = OPERATOR_JUDGEMENTS) -> Judgement | None:
    """What people said of this change, or of the condition it drops; that a property is missing leaves it open."""
    of_conditions = JUDGEMENTS if row.is_condition else ()
    judged = (one for one in (*of_conditions, *judgements) if row.is_condition or (one.part and one.change))
    return next((one for one in judged if one.about(system, row.group, row.before, row.after)), None)


def text(scores: Sequence[SystemScore]) -> str:
    """The scores as a JSON document, a line for each mutant that lives."""
    systems = []
    for one in scores:
        values = asdict(one)
        rows = [_row(row) for row in values.pop("alive")]
        head = json.dumps(values).removesuffix("}")
        systems.append(f'{head}, "alive": [' + "".join(f"\n  {row}," for row in rows).removesuffix(",") + "]}")
    head = json.dumps({"version": report.DOCUMENT_VERSION, "command": COMMAND, "versions": report.versions()})
    return head.removesuffix("}") + ', "systems": [\n' + ",\n".join(systems) + "\n]}\n"


def _row(values: Mapping[str, str]) -> str:
    return json.dumps({name: value for name, value in values.items() if value})


def listed(one: SystemScore) -> Iterator[str]:
    """The mutants that live, as lines of text."""
    for row in one.alive:
        judged = judgement(one.system, row)
        why = f"undecided: {row.cut}" if row.cut else f"see {row.elsewhere}" if row.elsewhere else "open"
        yield f"{row.name}\n    {row.before}  ->  {row.after}\n    {f'{judged.kind}: {judged.why}' if judged else why}"


@frozen
class ExploreContext:
    """The context of explorations: budget, progress, the stop flag, and where conditions are dropped; None: here."""

    budget: SearchBudget
    meter: Meter | None
    stop: threading.Event
    begin_event: threading.Event
    cluster: Cluster | None = None

    def note(self, finished: int, total: int, text: str) -> None:
        """Tell of the mutants that are finished; before there are any, of what is done."""
        if total:
            self.begin_event.set()
        if self.meter is not None and total:
            self.meter.write_when_due(f"{finished} of {total} mutants; {text}")
        elif self.meter is not None:
            self.meter.write_now(text)

    def explore(self, chosen: Subject, selected: Callable[[Mutations, Mutant], bool]) -> MutantExplanation:
        """The outcomes of a subject's mutants; raises Refusal where its own rules exceed the budget."""
        each = explore_each if self.cluster is None else _OnCluster(self.cluster, chosen, self.meter is None)
        with _refusals(chosen):
            return explain(
                chosen.system, chosen.setting, self.budget, leave=LEFT, selected=selected,
                progress=self.note, stop=self.stop, each=each,
            )  # fmt: skip

    def judge(
        self, chosen: Subject, mutants: Sequence[SourceMutant], memory: Memory | None,
        drawn: Callable[[str], bool] = lambda name: False,
    ) -> Campaign:  # fmt: skip
        """The outcomes of operator mutants, and of drawn conditions, without liveness; raises Refusal as `explore`."""
        with _refusals(chosen):
            found = campaign(
                chosen.system, chosen.setting, self.budget, mutants, memory=memory,
                progress=self.note, stop=self.stop,
            )  # fmt: skip
        if any(claim.kind in LIVENESS for claim in chosen.system.properties(chosen.setting)):
            return found

        def is_drawn(one: Mutant) -> bool:
            return drawn(ConditionMutant.of(chosen.system, one).name)

        if not any(map(is_drawn, mutate(chosen.system, chosen.setting, LEFT).mutants)):
            return found
        dropped = self.explore(chosen, lambda _, one: is_drawn(one))
        named = [(ConditionMutant.of(chosen.system, one), result) for one, result in dropped.outcomes]
        return evolve(found, outcomes=(*found.outcomes, *named))


MUTANTS = 4  # mutants of a task


@frozen
class _OnCluster:
    """Explores the mutants of a subject on a cluster, as `explore_each` does here."""

    cluster: Cluster
    chosen: Subject
    quiet: bool

    def __call__(
        self, mutations: Mutations, kernel: Kernel, mutants: Sequence[Mutant], base: Baseline, budget: SearchBudget,
        stop: threading.Event, told: Told,
    ) -> None:  # fmt: skip
        from kraftcheck.ci.spark.executor import pickled  # Spark is an extra

        asked = pickled((self.chosen, evolve(budget, threads=1)))
        ask = functools.partial(_outcomes, asked, cache_key(mutations.program))
        tasks = [range(len(mutants))[first : first + MUTANTS] for first in range(0, len(mutants), MUTANTS)]
        with self.cluster.executor(self.quiet) as executor:
            futures = {executor.submit(ask, [mutants[job].number for job in jobs]): jobs for jobs in tasks}
            pending = set(futures)
            while pending and not stop.is_set():
                finished, pending = wait(pending, timeout=0.1, return_when=FIRST_COMPLETED)
                for future in finished:
                    for job, result in zip(futures[future], future.result(), strict=True):
                        told(job, result)
            for job in (job for future in pending for job in futures[future]):
                told(job, Undecided(STOPPED))


def _outcomes(asked: bytes, key: str, numbers: Sequence[int]) -> list[MutantOutcome]:
    """The outcomes of mutants by number, on a worker; raises SystemFault where it makes another program."""
    mutations, kernel, base, budget = _mutated(asked)
    check_same(cache_key(mutations.program), key)
    by_number, found = {one.number: one for one in mutations.mutants}, dict[int, MutantOutcome]()
    chosen = [by_number[number] for number in numbers]
    explore_each(mutations, kernel, chosen, base, budget, threading.Event(), found.__setitem__)
    return [found[job] for job in range(len(chosen))]


@functools.lru_cache(maxsize=1)
def _mutated(asked: bytes) -> tuple[Mutations, Kernel, Baseline, SearchBudget]:
    chosen, budget = pickle.loads(asked)
    budget = evolve(budget, cache_dir=cache_folder())
    mutations = mutate(chosen.system, chosen.setting, LEFT)
    kernel = load_kernel(mutations.program, budget.cache_dir)
    return mutations, kernel, baseline(mutations, kernel, budget, threading.Event()), budget


def explored(
    budget: SearchBudget, quiet: bool, work: Callable[[ExploreContext], T], cluster: Cluster | None = None
) -> T:
    """What explorations come to, here or on a cluster; Ctrl-C and SIGTERM stop them."""
    begin_event = threading.Event()
    with stop_flag(awaits_report=True) as stop, progress_meter(quiet) as meter:
        context = ExploreContext(budget, meter, stop, begin_event, cluster)
        return run_interruptibly(lambda: work(context), stop, begin_event)


def print_end(screen: Screen, undecided: int) -> int:
    """Print how many mutants are undecided; the exit code."""
    code = EXIT_INCOMPLETE if undecided else 0
    screen.plain(f"{'every mutant is decided' if not undecided else f'{undecided} undecided'} (exit {code})")
    return code


@contextlib.contextmanager
def _refusals(chosen: Subject) -> Iterator[None]:
    """Refuse rules that exceed the budget as they are, and a term that is too wide."""
    try:
        yield
    except BaselineFault as error:
        raise Refusal(f"{chosen.title()}: {error}; raise --limit or --memory, or lower a bound") from error
    except LoweringError as error:
        raise Refusal(f"{chosen.name}: {error}") from error


RULES = "fixed"


@frozen
class OperatorRequest:
    """Which operator mutants are asked for."""

    sample: int | None = None  # how many are drawn of those that the model has; None: all
    seed: int = 0  # draws others
    results: Path | None = None  # file with outcomes that are known, to which new ones are added; None: none

    def mutants(self) -> Sequence[SourceMutant]:
        """The mutants, in the order of the text."""
        every = [one for one in source_mutants(LEFT) if one.operator not in OF_CONDITIONS]
        drawn = frozenset(self.drawn([one.name for one in every]))
        return [one for one in every if one.name in drawn]

    def drawn(self, names: Sequence[str]) -> list[str]:
        """The names that are drawn: a larger sample has the smaller one, and what else there is moves few."""
        return sorted(names, key=self._lot)[: self.sample]

    def shared(self, mutants: Sequence[SourceMutant]) -> Callable[[str], bool]:
        """Whether a condition of a name is drawn, where these mutants are: as large a share of them."""
        last = max((self._lot(one.name) for one in mutants), default=b"")
        return lambda name: self.sample is None or self._lot(name) <= last

    def _lot(self, name: str) -> bytes:
        return hashlib.sha256(f"{self.seed} {name}".encode()).digest()


def scores(
    request: OperatorRequest, chosen: Sequence[Subject], context: ExploreContext,
    further: Mapping[str, Subject] = MappingProxyType({}),
) -> list[SystemScore]:  # fmt: skip
    """The scores of subjects in turn; what no system kills is asked of further ones, but conditions."""
    mutants, memory = request.mutants(), Outcomes(request.results, context.budget.max_states or NO_LIMIT)
    found = {one.name: context.judge(one, mutants, memory, request.shared(mutants)) for one in chosen}
    others = dict(found)
    for label, one in further.items():
        left = alive(others.values())
        others[label] = context.judge(one, [m for m in mutants if m.name in left], memory)
    drawn = (request.sample or 0, request.seed if request.sample else 0)
    return with_others([score(one.name, one.title(), found[one.name], *drawn) for one in chosen], others)


def explain_operators(
    chosen: Subject | None, request: OperatorRequest, budget: SearchBudget, target: str | None, quiet: bool
) -> int:
    """Judge a subject's mutants, None: every system's, print, write the document; the exit code."""
    if request.results is not None:
        check_writable(str(request.results))
        check_apart(results=str(request.results), json=target)
    subjects = [chosen] if chosen is not None else [subject(s, scope, {}, RULES) for s, scope in CAMPAIGNS.items()]
    further = {} if chosen is not None else further_subjects()
    found = explored(budget, quiet, lambda context: scores(request, subjects, context, further))
    screen = console(to_stderr=target == "-")
    for one in found:
        screen.plain(one.title)
        for line in listed(one):
            screen.plain(line)
        screen.plain(f"{totals(one)}\n")
    code = print_end(screen, sum(bool(row.cut) for one in found for row in one.alive))
    if target is not None:
        write(Path(target), text(found)) if target != "-" else print(text(found), end="")
    return code


def further_subjects() -> dict[str, Subject]:
    """Where mutants that nothing kills are asked again, in words; first where lemmas of proofs are refuted."""
    again = {f"lemmas of {system}": subject(system, scope, {}, RULES) for system, scope in CAMPAIGNS.items()}
    scopes = {
        " ".join([system, scope, *(f"--{name} {value}" for name, value in bounds.items())]):
        subject(system, scope, bounds, RULES) for system, scope, bounds in FURTHER
    }  # fmt: skip
    assumed = {name: one for name, one in again.items() if one.system.lemmas(one.setting)}
    return {name: _with_lemmas(one) for name, one in {**assumed, **scopes}.items()}


def _with_lemmas(chosen: Subject) -> Subject:
    system = chosen.system
    claims = evolve(system, properties=lambda setting: [*system.properties(setting), *system.lemmas(setting)])
    return evolve(chosen, system=claims)


def totals(one: SystemScore) -> str:
    """The fates of a system's mutants, in one line."""
    parts = {
        "refused": one.refused, "leave their domain": one.left, "the same program": one.same,
        "without effect": one.without_effect, "killed by properties": sum(one.killed.values()),
        "killed by goals": sum(one.lost.values()), "alive": len(one.alive),
    }  # fmt: skip
    return ", ".join([f"{one.mutants:,} mutants", *(f"{n:,} {what}" for what, n in parts.items() if n)])
