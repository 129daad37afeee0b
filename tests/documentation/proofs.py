"""docs/reference/proofs.md: which property is proven for which numbers of brokers, records and epochs, from runs.

`python -m tests.documentation.proofs docs/reference/proofs.json RUN.json...` puts runs into the data. A proof that is
longer than a run has sittings: `python -m tests.documentation.proofs docs/reference/proofs.json SECONDS COMMAND` asks
those queries of a column, named by its command, that are not known to hold; with `--second-solver` behind the command
another solver is asked some of its queries.
"""

from __future__ import annotations

import functools
import hashlib
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen, has

from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.ci.systems.added import random_run
from kraftcheck.ci.terminal.files import read_json, write_json
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.layout import Range, Slot
from kraftcheck.model.language.system import ANY, Bound, Setting, is_any, spelled
from kraftcheck.model.language.terms import Term
from kraftcheck.model.rules.ruleset import PRESETS, parse
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.solvers.program.fingerprint import Meaning, meanings
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.reference.interpreter import Integers
from kraftcheck.solvers.smt.induction import chunks_of, obligations
from kraftcheck.solvers.smt.queries import PROVEN, Effort, Obligation, ObligationAnswer, Questions
from kraftcheck.solvers.smt.runs.starts import check_described
from kraftcheck.solvers.smt.smtlib import ActionQueries, second_answer
from kraftcheck.solvers.smt.theory import DOMAINS, INITIATION, Theory
from kraftcheck.solvers.smt.worker import proof_worker
from tests.solvers.hypothesis.long_runs import PASSING, PREFERRED

WALKS, STEPS = 400, 150  # random runs that are tried for each bound; steps of each

RUNS_OF_REPORTS = 4  # random runs in which the fields are noted that properties read of events

MORE = 2  # by so many are there more participants than in any search: one may be out of the ISR

WEIGHTS = (0, 1, 4, 16)  # how often a run prefers an action: some runs never take it

PREFERENCES: Sequence[Mapping[str, int]] = ({}, PREFERRED)
"""What a run may prefer: nothing, or the actions with which a bound is exceeded."""


@frozen
class Freed:
    """The bounds that are any in a request about a shipped system."""

    request: ProofRequest  # for a proof
    setting: Setting  # that of the proof
    names: tuple[str, ...]  # of the bounds

    def unreached(self, names: Sequence[str] = ()) -> list[str]:
        """Which of them, or of those named, no run was seen to go beyond."""
        return [name for name in names or self.names if self.steps_beyond(name) is None]

    def steps_beyond(self, name: str) -> int | None:
        """Steps of a run beyond the largest number that searches take for a bound; None where none was found."""
        system = self.request.subject().system
        passes, number = PASSING.get(system.name, {}).get(name), self._bounds()[name].hi
        if passes is None:
            return None
        setting = self._of_numbers(name)
        engine = Integers(system, setting)
        runs = (random_run(engine, seed, STEPS, PREFERENCES, WEIGHTS) for seed in range(WALKS))
        return next((at for run in runs for at, one in enumerate(run, 1) if passes(one.step, setting, number)), None)

    def _bounds(self) -> dict[str, Bound]:
        return {bound.name: bound for bound in self.request.subject().system.bounds}

    def _of_numbers(self, name: str) -> Setting:
        """Numbers for what is any: of participants few, unless it is they that are asked for."""
        bounds = self._bounds()
        sizes = [size for size in self.names if bounds[size].takes_any or bounds[bounds[size].freed_by].takes_any]
        larger = {size: bounds[size].hi + MORE for size in sizes[: sizes.index(name) + 1]} if name in sizes else {}
        endless = {other: 2 * (bounds[other].hi + 1) for other in self.names if other not in sizes}
        given = {other: n for other, n in self.request.bounds.items() if bounds[other].accepts(n, proof=False)}
        system = self.request.subject().system
        return system.unlimited_setting(self.request.scope, given | larger | endless, self.setting.rules)


def freed_by(request: ProofRequest) -> Freed:
    """The bounds that are any in a request."""
    setting = request.subject().setting
    return Freed(
        request, setting, tuple(name for name, value in evolve(setting, told=True).values().items() if value is None)
    )


SIZES = ("brokers", "machines", "directories", "records", "epochs", "reassignments", "moves")
"""The bounds that head a column, where a system has them."""


NOT_ASKED = "not asked"  # the verdict on a claim, or on rules, that are newer than the run


@frozen
class ProofRun:
    """One run of `kraftcheck prove`."""

    # system, scope, rules, engine: what was proven, and what answered
    system: str
    scope: str
    rules: str
    engine: str
    bounds: Mapping[str, int | str]  # every bound as it is spelled
    # by property; lemmas are left out. `NOT_ASKED`: of a claim that this run has not judged as it is now. Of a claim
    # that a run was cut at, how many of its queries hold: that is no proof
    verdicts: Mapping[str, str]
    left_out: tuple[str, ...]  # fields beyond whose cap steps are left out
    queries: int  # how many there were, those about domains aside
    behaviour: str = ""  # a digest of the states and steps that it was about
    claims: Mapping[str, str] = field(factory=dict)  # by property, a digest of what it said
    seconds: int = 0  # how long the proof took; 0 where no run has said it
    solver: str = ""  # what answered, and what was asked each query again, with its version
    searched: tuple[str, ...] = ()  # what was explored beside it, and refutes nothing
    # by claim, lemmas among them, the other invariants that its proof named, in one line. Empty, but for the first run
    # of a system
    used: Mapping[str, str] = field(factory=dict)
    # of a proof in sittings, by action the digests of the queries that hold; each says all that was asked
    held: Mapping[str, str] = field(factory=dict)
    # by action the claims, in one line, that a sitting has asked for in vain
    open: Mapping[str, str] = field(factory=dict)
    every: int = 0  # of a proof in sittings, how many queries there are, those about domains with them
    # by another solver, with its version, the digests of the queries that it was asked and answers alike
    agreed: Mapping[str, str] = field(factory=dict)

    def request(self) -> ProofRequest:
        """The request that proves it again."""
        system = SYSTEMS[self.system]
        numbers = {name: ANY if value == spelled(ANY) else int(value) for name, value in self.bounds.items()}
        free = {bound.name for bound in system.bounds if bound.freed_by and is_any(numbers.get(bound.name))}
        preset = system.scopes[self.scope]
        typed = {name: value for name, value in numbers.items() if name not in free and preset.get(name) != value}
        return ProofRequest(self.system, self.scope, typed, self.rules)

    def as_of_now(self) -> ProofRun:
        """The run with a verdict for each property that there is, `NOT_ASKED` of all that has changed since."""
        theory = self.request().build()
        now = Meaning.of(theory.program)
        offered = [claim.id for claim in theory.claims if claim.id not in theory.lemmas]
        run = self
        if self.held or self.agreed:
            queries = asked(theory)
            kept = {solver: {*digests.split()} & {*queries.values()} for solver, digests in self.agreed.items()}
            run = evolve(self, every=len(queries), agreed={one: " ".join(sorted(of)) for one, of in kept.items() if of})
        if self.held:
            return run._with_held(queries, theory, now, offered)
        judged = self.verdicts if self.behaviour == now.behaviour else {}
        same = {claim for claim in judged if self.claims.get(claim) == now.claims.get(claim)}
        return evolve(run, verdicts={claim: judged[claim] if claim in same else NOT_ASKED for claim in offered})

    def _with_held(
        self, queries: Mapping[Obligation, str], theory: Theory, now: Meaning, offered: Sequence[str]
    ) -> ProofRun:
        """The run of sittings with what the queries that hold say: all claims are proven once all queries hold."""
        known = self._known()
        holds = [one for one, digest in queries.items() if digest in known]
        counts, of = (Counter(one.claim for one in some) for some in (holds, queries))
        held = {action: " ".join(sorted(queries[one] for one in holds if one.action == action))
                for action in sorted({one.action for one in holds})}  # fmt: skip
        waits = {(claim, action) for action, claims in self.open.items() for claim in claims.split()}
        still = [one for one in queries if (one.claim, one.action) in waits and one not in holds]
        waiting = {one.action: " ".join(other.claim for other in still if other.action == one.action) for one in still}
        verdicts = {claim: f"{HOLD}{counts[claim]} of {of[claim]}" for claim in offered}
        return evolve(
            self, behaviour=now.behaviour, claims={claim: now.claims[claim] for claim in offered}, held=held,
            open=waiting, searched=self.searched if self.behaviour == now.behaviour else (),
            verdicts=dict.fromkeys(offered, "proven") if len(holds) == len(queries) else verdicts,
            queries=sum(one.claim not in DOMAINS for one in holds),
        )  # fmt: skip

    def lacking(self) -> int:
        """How many queries of a proof in sittings are not known to hold."""
        return self.every - len(self._known()) if self.held else 0

    def _known(self) -> set[str]:
        """The digests of the queries that hold."""
        return {digest for digests in self.held.values() for digest in digests.split()}

    def sat(self, seconds: float, effort: Effort) -> Iterator[ProofRun]:
        """The run after each batch of queries that are not known to hold, for so many seconds; the open ones last.

        All are asked with every invariant assumed, as in the first round of a proof. So once all hold it is a proof.
        """
        end, theory, builders = time.monotonic() + seconds, self.request().build(), self.request().builders()
        check_described(theory, effort)
        queries, known, run = asked(theory), self._known(), self
        worker = proof_worker(theory, builders, effort, time.monotonic)
        assumed = [claim.id for claim in theory.invariants]
        pending = [one for one, digest in queries.items() if digest not in known]
        waits = [one for one in pending if one.claim in self.open.get(one.action, "").split()]
        for batch in (*chunks_of([one for one in pending if one not in waits]), *chunks_of(waits)):
            begun = time.monotonic()
            if begun > end:
                return
            answers = worker.answer(batch, assumed)
            run = run.told(answers, queries, time.monotonic() - begun)
            yield run

    def confirmed(self, solver: str, seconds: float, effort: Effort) -> ProofRun:
        """The run after another solver was asked queries in a drawn order, for so many seconds."""
        end, theory, name = time.monotonic() + seconds, self.request().build(), f"{solver} {version(solver)}"
        queries, agreed = asked(theory), {*self.agreed.get(name, "").split()}
        assumed = [claim.id for claim in theory.invariants]
        rest = [one for one, digest in queries.items() if digest not in agreed]
        for one in random.Random(len(agreed)).sample(rest, len(rest)):
            if time.monotonic() > end:
                break
            within = one.claim not in DOMAINS
            text = ActionQueries(theory, one.action, within, assumed, effort, time.monotonic).text(one)
            if (answer := second_answer(solver, text, effort)) == "sat":
                raise ValueError(f"{name} says that {one.claim} does not hold, {one.action}")
            agreed |= {queries[one]} if answer == "unsat" else set()
        return evolve(self, every=len(queries), agreed={**self.agreed, name: " ".join(sorted(agreed))})

    def told(self, answers: Sequence[ObligationAnswer], queries: Mapping[Obligation, str], seconds: float) -> ProofRun:
        """The run with some answers more. Domains hold where no other field leaves its own than those of the run."""
        held = {action: set(digests.split()) for action, digests in self.held.items()}
        open_ = {action: set(claims.split()) for action, claims in self.open.items()}
        for answer in answers:
            one = answer.obligation
            if answer.result == PROVEN and not answer.faults and {*answer.fields} <= {*self.left_out}:
                held.setdefault(one.action, set()).add(queries[one])
                open_.get(one.action, set()).discard(one.claim)
            else:
                open_.setdefault(one.action, set()).add(one.claim)
        lines = ({action: " ".join(sorted(some)) for action, some in of.items() if some} for of in (held, open_))
        return evolve(self, held=next(lines), open=next(lines), seconds=round(self.seconds + seconds))

    def command(self) -> str:
        """The command that proves it again."""
        typed = "".join(f" --{name} {spelled(value)}" for name, value in self.request().bounds.items())
        solver = "" if self.engine == "z3" else f" --solver {self.engine}"
        return f"kraftcheck prove {self.system} --scope {self.scope} --rules {self.rules}{typed}{solver}"

    def head(self) -> str:
        """The numbers that it is about."""
        return ", ".join(f"{name} {self.bounds[name]}" for name in SIZES if name in self.bounds)

    def key(self) -> tuple[str, str]:
        """What tells it from other runs: the system and its bounds."""
        return self.system, str(sorted(self.bounds.items()))


def run_of(document: Mapping[str, Any]) -> ProofRun:
    """A run from the document that it wrote."""
    if document.get("command") != "prove" or "claims" not in document:
        raise Refusal("this is no document of `kraftcheck prove --json`")
    if document["system"] not in SYSTEMS:
        raise Refusal("a run of a system of one's own says nothing for this table")
    bounds = {name: spelled(ANY) if value is None else value for name, value in document["bounds"].items()}
    claims = [claim for claim in document["claims"] if claim["kind"] != "lemma" and document["complete"]]
    solvers = [solver for solver in (document["engine"], document["second_solver"]) if solver]
    return ProofRun(
        document["system"], document["scope"], document["rules"], document["engine"], bounds,
        {claim["id"]: "proven" if claim["verdict"] == "holds" else claim["verdict"] for claim in claims},
        tuple(document["bounded_by"]), sum(len(claim["queries"]) for claim in document["claims"]),
        document["behaviour"], {claim["id"]: claim["digest"] for claim in claims}, round(document["seconds"]),
        " and ".join(f"{solver} {document['versions'][solver]}" for solver in solvers), tuple(document["searched"]),
        {claim["id"]: " ".join(_others(claim)) for claim in document["claims"]},
    )  # fmt: skip


HOLD = "queries that hold: "
"""What says of a claim of a proof in sittings how many of its queries hold, of how many: that is no proof."""


def asked(theory: Theory) -> dict[Obligation, str]:
    """Every query of a proof that assumes all invariants, with a digest of its premises and its goal."""
    queries, program, state_truths = Questions(theory), theory.program, theory.state_truths()
    every = obligations(theory, [*(claim.id for claim in theory.claims), *DOMAINS])
    goals = {one: queries.goals(one) for one in every}
    bounds = {kind.action.name: queries.bounds_of(kind.action.name) for kind in program.kinds}
    found = meanings(program.graph)

    def digest(*of: Any) -> str:
        return hashlib.sha256(repr(of).encode()).hexdigest()

    def said(terms: Mapping[str, Term]) -> list[tuple[str, str]]:
        return sorted((name, found[term.index]) for name, term in terms.items())

    numbers = program.graph.notes.numbers
    shape = digest(program.layout.slots, [found[term.index] for term in program.state], said(numbers))
    premises = {INITIATION: digest(shape, program.initial, said(program.initially))}
    for kind in program.kinds:
        name = kind.action.name
        variables = [found[term.index] for term in kind.variables]
        parts = (said(state_truths), said(kind.guard), said(kind.allowed), said(bounds[name]), variables)
        premises[name] = digest(shape, *parts)
    goal_digests = {one: [found[term.index] for term in terms] for one, terms in goals.items()}
    return {one: digest(one.claim, one.action, premises[one.action], goal_digests[one])[:12] for one in every}


def _others(claim: Mapping[str, Any]) -> list[str]:
    """The other invariants that the proof of a claim named."""
    invariants = (name.removeprefix("invariant: ") for name in claim["used"] if name.startswith("invariant: "))
    return [name for name in invariants if name != claim["id"]]


SITTINGS = ("held", "open", "every", "agreed")  # the fields of a run in sittings, which others have not

LISTS = ("left_out", "searched")  # the fields of a run that are lists in a document


def read_runs(place: Path) -> list[ProofRun]:
    """The runs of a table's data, in order."""
    return [ProofRun(**{**one, **{name: tuple(one.get(name, ())) for name in LISTS}}) for one in read_json(place)]


def merged(runs: Sequence[ProofRun], more: Sequence[ProofRun]) -> list[ProofRun]:
    """Runs with some added or replaced, by system and then by size; the first of a system keeps what it used."""
    by_key = {run.key(): run for run in (*runs, *more)}
    rows = sorted(by_key.values(), key=lambda run: (list(SYSTEMS).index(run.system), _size(run), run.head()))
    first = {run.system: run for run in reversed(rows)}
    return [run if run is first[run.system] else evolve(run, used={}) for run in rows]


def _size(run: ProofRun) -> float:
    size = run.bounds.get("brokers", run.bounds.get("machines", 0))
    return float("inf") if size == spelled(ANY) else float(size)


def column_heads(columns: Sequence[ProofRun]) -> list[str]:
    """What each column of a system is about: its numbers; where these are equal also its scope and bounds."""
    heads = [run.head() for run in columns]
    scoped = [
        f"{h}, scope {run.scope}".lstrip(", ") if heads.count(h) > 1 else h
        for h, run in zip(heads, columns, strict=True)
    ]
    return [
        h + "".join(f", {name} {spelled(value)}" for name, value in run.request().bounds.items() if name not in SIZES)
        if scoped.count(h) > 1 else h
        for h, run in zip(scoped, columns, strict=True)
    ]  # fmt: skip


def page(runs: Sequence[ProofRun]) -> str:
    """The table as a page."""
    return "\n".join(_lines(runs)) + "\n"


def _lines(runs: Sequence[ProofRun]) -> Iterator[str]:
    yield from (
        "# What is proven, for which numbers", "",
        "Which property is proven, for any number of steps, for how many brokers, records and epochs: made from runs.",
        "", "`any` stands for every number, and `not asked` for a claim that is new, or says something else, since the",
        "column was made, and for all claims once the rules have changed. Of each bound that is `any` a run goes",
        "beyond what searches take, or it is refused. Below each table the statement of a column is made from its",
        "system: bounds, what is left out, and where runs begin; above it the fields of a state.",
        "A nightly test proves again what a column says is proven. To add one: `kraftcheck prove`",
        "with `--json RUN.json`, then `python -m tests.documentation.proofs docs/reference/proofs.json RUN.json`, and",
        "`python -m tests.documentation`. A proof that is longer than a run has sittings, each of which asks what is",
        "not known to hold: `python -m tests.documentation.proofs docs/reference/proofs.json SECONDS COMMAND`, with",
        "the command of its column. A query is known by a digest of its premises and its goal, so that a change of",
        "the rules leaves those that it does not touch. Until all hold, the table says of how many that is so, which",
        "proves nothing yet. [Proofs](../explanation/proofs.md) has the theorems, and what they assume.",
    )  # fmt: skip
    for system in dict.fromkeys(run.system for run in runs):
        columns = [run for run in runs if run.system == system]
        claims, heads = dict.fromkeys(claim for run in columns for claim in run.verdicts), column_heads(columns)
        yield from ("", f"## {system}", "", f"| property | {' | '.join(heads)} |")
        yield "|---" * (len(columns) + 1) + "|"
        for claim in claims:
            yield f"| `{claim}` | {' | '.join(run.verdicts.get(claim, '-') for run in columns)} |"
        state = dict.fromkeys(name for name, *_ in _fields(_states_of(columns[0])))
        yield from ("", f"A state: {', '.join(f'`{name}`' for name in state)}.", "")
        for run, head in zip(columns, heads, strict=True):
            yield from (f"* **{head}**: `{run.command()}`", *(f"  * {text}" for text in statement(run)))


@functools.cache
def _every_action(name: str) -> frozenset[str]:
    """The actions of a shipped system in any scope, under any preset of rules."""
    system = SYSTEMS[name]
    settings = (system.setting(scope, rules=parse(rules)) for rules in PRESETS for scope in system.scopes)
    return frozenset(action.name for setting in settings for action in system.actions(setting))


def statement(run: ProofRun) -> Iterator[str]:
    """What a column states besides its claims: bounds, what never happens, where runs begin, and what answered."""
    chosen, program = run.request().subject(), _states_of(run)
    system, setting = chosen.system, chosen.setting
    off = [f"`{bound.name}` ({bound.help})" for bound in system.bounds if run.bounds.get(bound.name) == 0]
    yield "bounds: " + ", ".join(f"{name} {value}" for name, value in run.bounds.items() if value != 0)
    if off:
        yield "at 0: " + ", ".join(off)
    if absent := sorted(_every_action(run.system) - {action.name for action in system.actions(setting)}):
        yield f"no action {', '.join(f'`{name}`' for name in absent)}"
    if described := ", ".join(f"`{name}`" for name in program.initially):
        yield f"runs begin in every state with {described}"
    else:
        yield f"runs begin in {len(program.initial)} state{'s' * (len(program.initial) > 1)}; " + "; ".join(
            f"0, false or empty {when}: {', '.join(f'`{name}`' for name in names)}"
            for when, names in (("in each", _zero(program, ever=True)), ("always", _zero(program, ever=False)))
            if names
        )
    if run.lacking():
        yield f"nothing is proven yet: of {run.every:,} queries all but {run.lacking():,} hold"
    if run.open:
        yield "asked, and no answer: " + "; ".join(f"`{a}`: {of.replace(' ', ', ')}" for a, of in run.open.items())
    if run.left_out:
        yield f"steps beyond the bound on {', '.join(f'`{path}`' for path in run.left_out)} are left out"
    if given := reported(run.system, run.scope, run.rules):
        yield "a rule's own word decides: " + ", ".join(f"`{claim}` (`{'`, `'.join(e)}`)" for claim, e in given.items())
    if is_any(setting.bounds.get("brokers")):
        yield "sizes of sets are known by [axioms](../explanation/provers.md#any-number)"
    yield f"{run.queries:,} queries about claims, answered by {run.solver or run.engine}" + _time(run)
    for solver, digests in run.agreed.items():
        yield f"{solver} was asked {len(digests.split()):,} of its {run.every:,} queries, drawn at random, and agrees"
    yield from (f"explored beside it: {one}" for one in run.searched)


def _states_of(run: ProofRun) -> Program:
    """The states of a run's system and where it begins, without what it does and claims."""
    chosen = run.request().subject()
    return trace(evolve(chosen.system, actions=lambda _: (), properties=()), chosen.setting, free=True)


def _fields(program: Program) -> Iterator[tuple[str, Slot, list[Any]]]:
    """Each leaf of a state, named without positions, with its place and its initial values."""
    columns = zip(*program.initial, strict=True) if program.initial else [()] * len(program.layout.slots)
    for slot, column in zip(program.layout.slots, columns, strict=True):
        yield re.sub(r"\[\d+\]", "", program.layout.name(slot.path)), slot, [*column]


def _zero(program: Program, ever: bool) -> list[str]:
    """The fields that are 0, false or empty in every initial state, and may ever be another; named values are none."""
    found: dict[str, bool] = {}
    for name, slot, values in _fields(program):
        domain = slot.domain
        counted = domain.lo == 0 and (domain.hi > 0) == ever and not (isinstance(domain, Range) and domain.names)
        found[name] = found.get(name, True) and counted and all(value in (0, False) for value in values)
    return [name for name, zero in found.items() if zero]


def _time(run: ProofRun) -> str:
    return f" in {run.seconds:,} s" if run.seconds else ""


class Noted:
    """A record of which the fields that are read are noted, by their paths."""

    def __init__(self, of: Any, path: str, notes: dict[str, None]) -> None:
        self._of, self._path, self._notes = of, path, notes

    def __getattr__(self, name: str) -> Any:
        value, path = getattr(self._of, name), f"{self._path}{name}"
        if has(type(value)) and not hasattr(value, "has"):
            return Noted(value, f"{path}.", self._notes)
        self._notes[path] = None
        return value


@functools.cache
def reported(name: str, scope: str, rules: str) -> Mapping[str, tuple[str, ...]]:
    """By property, the fields that it reads of what a step's rules report of themselves, in random runs of a scope."""
    system = SYSTEMS[name]
    setting = system.setting(scope, rules=parse(rules))
    claims = [claim for claim in system.properties(setting) if claim.kind == "step"]
    notes: dict[str, dict[str, None]] = {claim.id: {} for claim in claims}
    engine = Integers(system, setting)
    for seed in range(RUNS_OF_REPORTS):
        for step in (one.step for one in random_run(engine, seed, STEPS, PREFERENCES, WEIGHTS)):
            for claim in claims:
                if step.event is not None:
                    claim.parts(evolve(step, event=Noted(step.event, "", notes[claim.id])))
    return {claim: tuple(read) for claim, read in notes.items() if read}


def document(runs: Sequence[ProofRun]) -> list[dict[str, Any]]:
    """The runs as plain values."""
    every = [{name: getattr(run, name) for name in ProofRun.__annotations__} for run in runs]
    return [{name: value for name, value in one.items() if value or name not in SITTINGS} for one in every]


def main(words: Sequence[str]) -> None:
    """Put runs into a table's data, or ask queries of a column for some seconds.

    Args:
        words: the data, and documents of runs; or the data, seconds, and the words of a column's command.
    """
    table, *rest = words
    runs = read_runs(Path(table)) if Path(table).exists() else []
    if rest and rest[0].isdigit():
        command, _, second = " ".join(rest[1:]).partition(" --second-solver ")
        (begun,) = (run for run in runs if run.command() == command)
        effort = Effort(timeout=120, solver=begun.engine)
        for run in [begun.confirmed(second, float(rest[0]), effort)] if second else begun.sat(float(rest[0]), effort):
            write_json(table, document(merged(runs, [run])))
        runs, rest = read_runs(Path(table)), []
    for run in [run_of(read_json(Path(file))) for file in rest]:
        if missing := freed_by(run.request()).unreached():
            names = ", ".join(missing)
            raise Refusal(f"{run.command()}: {names} any: no run goes beyond what searches take; free more bounds")
        runs = merged(runs, [run])
    write_json(table, document([run.as_of_now() for run in runs]))


if __name__ == "__main__":
    main(sys.argv[1:])
