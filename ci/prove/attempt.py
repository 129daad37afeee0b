"""Proofs in many sittings: which queries of a proof hold, which have no answer, and which nobody has asked.

A proof of any number of brokers without bounds has a thousand queries, of which some take minutes. A sitting asks some
of them, in batches about one action and in an order of chance, and keeps each answer, so that a later one goes on. All
are asked with every invariant assumed, as the first round of a proof does. So a query that holds is a part of a proof;
a claim is proven only where `kraftcheck prove` says so.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from attrs import asdict, evolve, field, frozen

from kraftcheck.ci.prove.question import version
from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.ci.terminal.files import read_json, write_json
from kraftcheck.model.language.system import ANY, spelled
from kraftcheck.solvers.program.fingerprint import Meaning
from kraftcheck.solvers.smt.induction import chunks_of, obligations
from kraftcheck.solvers.smt.queries import PROVEN, Effort, Obligation, ObligationAnswer
from kraftcheck.solvers.smt.theory import DOMAINS, Theory
from kraftcheck.solvers.smt.worker import proof_worker


@frozen
class Attempt:
    """What is known of the queries of one proof.

    Attributes:
        system, scope, rules: of the request.
        bounds: those that it types, each as it is spelled.
        meaning: a digest of the system and of all that it claims; answers of another one are dropped.
        solver: what answered, with its version.
        queries: how many there are.
        holds: by action, the claims of which the query holds, in one line.
        open: by action and claim, what the solver said of a query that has no proof.
    """

    system: str
    scope: str
    rules: str
    bounds: Mapping[str, int | str]
    meaning: str = ""
    solver: str = ""
    queries: int = 0
    holds: Mapping[str, str] = field(factory=dict)
    open: Mapping[str, Mapping[str, str]] = field(factory=dict)

    def request(self) -> ProofRequest:
        """The request that asks its queries."""
        numbers = {name: ANY if value == spelled(ANY) else int(value) for name, value in self.bounds.items()}
        return ProofRequest(self.system, self.scope, numbers, self.rules)

    def command(self) -> str:
        """The command that proves it, if all queries hold."""
        typed = "".join(f" --{name} {value}" for name, value in self.bounds.items())
        return f"kraftcheck prove {self.system} --scope {self.scope} --rules {self.rules}{typed}"

    def held(self) -> set[Obligation]:
        """The queries that hold."""
        return {Obligation(claim, action) for action, claims in self.holds.items() for claim in claims.split()}

    def unanswered(self) -> dict[Obligation, str]:
        """The queries that were asked and are not proven, with what the solver said."""
        return {Obligation(claim, action): said for action, of in self.open.items() for claim, said in of.items()}

    def of(self, theory: Theory) -> Attempt:
        """The attempt with what it knows of a theory: nothing where the answers are of another."""
        now, count = Meaning.of(theory.program).whole, len(queries(theory))
        kept = self if self.meaning == now else evolve(self, holds={}, open={})
        return evolve(kept, meaning=now, queries=count, solver=version("z3"))

    def pending(self, theory: Theory) -> tuple[list[Obligation], list[Obligation]]:
        """The queries that nobody has asked, and those without an answer."""
        held, asked, every = self.held(), self.unanswered(), queries(theory)
        return [one for one in every if one not in held and one not in asked], [one for one in every if one in asked]

    def with_answers(self, answers: Sequence[ObligationAnswer], effort: Effort) -> Attempt:
        """The attempt with some answers more."""
        held, open_ = self.held(), self.unanswered()
        for answer in answers:
            open_.pop(answer.obligation, None)
            if answer.result == PROVEN:
                held.add(answer.obligation)
            else:
                held.discard(answer.obligation)
                open_[answer.obligation] = f"{answer.result} within {effort.timeout:g} s"
        actions = sorted({one.action for one in (*held, *open_)})
        holds = {action: " ".join(sorted(one.claim for one in held if one.action == action)) for action in actions}
        waits = {a: {one.claim: said for one, said in open_.items() if one.action == a} for a in actions}
        return evolve(self, holds={a: claims for a, claims in holds.items() if claims},
                      open={a: of for a, of in waits.items() if of})  # fmt: skip


def queries(theory: Theory) -> list[Obligation]:
    """All queries of a theory's proof."""
    return obligations(theory, [*(claim.id for claim in theory.claims), *DOMAINS])


def sitting(
    attempt: Attempt, effort: Effort, seconds: float, theory: Theory | None = None, seed: int = 0
) -> Iterator[Attempt]:
    """The attempt after each batch of queries, for so many seconds.

    Args:
        attempt: what is known before.
        effort: of each query.
        seconds: after which no further batch is begun.
        theory: of the request, if it is made already.
        seed: draws another order of batches.
    """
    begun, theory = time.monotonic(), theory or attempt.request().build()
    known = attempt.of(theory)
    worker = proof_worker(theory, known.request().builders(), effort, time.monotonic)
    assumed, draw = [claim.id for claim in theory.invariants], random.Random(seed)
    for some in known.pending(theory):
        batches = list(chunks_of(some))
        draw.shuffle(batches)
        for batch in batches:
            if time.monotonic() - begun > seconds:
                return
            known = known.with_answers(worker.answer(batch, assumed), effort)
            yield known


def read_attempts(place: Path) -> list[Attempt]:
    """The attempts that a file has."""
    return [Attempt(**one) for one in read_json(place)] if place.exists() else []


def page(attempts: Sequence[Attempt]) -> str:
    """What is said of them below the table of proofs."""
    return "\n".join(_lines(attempts)) + "\n"


def _lines(attempts: Sequence[Attempt]) -> Iterator[str]:
    yield from (
        "", "## Begun", "",
        "Proofs with more queries than one sitting asks. A query is one action that is to keep one claim, with every",
        "invariant assumed. No claim is proven by this: that is only where all queries hold. To go on with one:",
        "`python -m kraftcheck.ci.prove.attempt docs/reference/attempts.json COMMAND`, with a command from below", "",
    )  # fmt: skip
    for one in attempts:
        now = one.of(one.request().build())
        held, open_ = len(now.held()), now.unanswered()
        rest = now.queries - held - len(open_)
        yield f"* `{one.command()}`: {held:,} of {now.queries:,} queries hold, by {now.solver}. {_open(len(open_))}" + (
            f" {rest:,} were not asked." if rest else ""
        )
        for action, of in now.open.items():
            yield f"  * `{action}`: " + ", ".join(f"`{claim}` ({said})" for claim, said in of.items())


def _open(count: int) -> str:
    return f"{count:,} have no answer yet, and are named below." if count else "None that was asked has no answer."


def main(words: Sequence[str]) -> None:
    """Ask queries for an hour, of one attempt that a file has or gets, and write each answer there.

    Args:
        words: the file, and the command: `kraftcheck prove SYSTEM --scope SCOPE --rules RULES`, with bounds.
    """
    place, (system, scope, rules, *typed) = Path(words[0]), [word for word in words[3:] if word[:2] != "--"]
    names = [word[2:] for word in words[3:] if word[:2] == "--"][2:]
    bounds = {name: value if value == spelled(ANY) else int(value) for name, value in zip(names, typed, strict=True)}
    one, others = Attempt(system, scope, rules, bounds), list[Attempt]()
    for known in read_attempts(place):
        if known.command() == one.command():
            one = known
        else:
            others.append(known)
    for now in sitting(one, Effort(timeout=120), seconds=3600, seed=int(time.time())):
        write_json(str(place), [asdict(attempt) for attempt in (*others, now)])


if __name__ == "__main__":
    main(sys.argv[1:])
