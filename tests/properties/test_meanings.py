"""Other meanings of the rules, which no variant is: what proofs for any number say of each, or why nothing changes."""

import pytest
from attrs import frozen

from kraftcheck.ci.prove.broken import BrokenProofRow, attempt_any, proven_claims
from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.model.language.system import ANY
from kraftcheck.properties.register.verdicts import ANY_PLACES
from kraftcheck.solvers.smt.queries import PROVEN
from kraftcheck.solvers.smt.theory import DOMAINS
from tests.documentation.proofs import asked
from tests.engine_mutants.mutant import Killer, Mutant
from tests.engine_mutants.test_engine_mutants import stale
from tests.shared.commands import kraftcheck
from tests.shared.samples import one_in
from tests.solvers.smt.asking import session

RIGHT = "-fenced-may-join-isr"  # a row of the matrix is of a variant; this choice is off as it is


@frozen
class Meaning:
    """A rule that means something else."""

    name: str  # of the change
    where: str  # module and function of the model
    # old, new: the piece of the function, and what stands there instead
    old: str
    new: str
    breaks: str = ""  # the claims that a run with few brokers refutes, by a step that is not proven to keep them
    why: str = ""  # where nothing breaks, the reason
    bounds: tuple[tuple[str, int], ...] = ()  # where runs are looked for, in the scope tiny
    system: str = "elections"

    def row(self) -> str:
        """What the page of proofs that must break says of it."""
        broken = ", ".join(f"`{claim}`" for claim in self.breaks.split())
        return f"| `{self.name}` | `{self.where}` | {broken or f'nothing: {self.why}'} |"

    def request(self) -> ProofRequest:
        """The proof for any number of brokers; of `replication` with one change of the leader epoch."""
        few = {name: number for name, number in self.bounds if name not in ("brokers", "replication")}
        bounds = ({"epochs": 1} if self.system == "replication" else {}) | few
        return ProofRequest(self.system, "tiny", bounds | {"brokers": ANY}, "fixed")

    def mutant(self) -> Mutant:
        """The change, which every test of this file is there to notice."""
        killer = Killer(test_another_meaning_breaks_proofs)
        return Mutant(self.name, self.breaks or self.why, f"model.{self.where}", self.old, self.new, killer)


MEANINGS = (
    Meaning("leader-does-not-stay", "partition.election:elect",
            "choose(valid.has(c.leader), c.leader, c.replicas.first_in(valid))", "c.replicas.first_in(valid)",
            "leader-stays"),
    Meaning("preferred-may-be-unclean", "partition.election:elect", "NO_LEADER if preferred else choose(", "choose(",
            why="a preferred election is asked for as a clean one already; the build's own check is a second lock"),
    Meaning("proposal-may-lack-the-leader", "triggers.leadership:isr_checks", "LEADER: isr.has(p.leader),", "",
            "leader-stays"),
    Meaning("elr-at-exactly-min-isr", "partition.election:populate",
            "isr.size() >= inputs.min_isr", "isr.size() > inputs.min_isr", "elr-empty-at-min-isr"),
    Meaning("unfenced-does-not-count", "triggers.table:unfence", ", counted=p.isr.just(broker)", "",
            "unfenced-candidate-leads unclean-only-when-allowed"),
    Meaning("leaver-elected-again", "triggers.table:leave", ", barred=p.isr.just(broker)", "",
            "leader-in-isr last-known-while-leaderless leader-active leader-directory-online isr-active-while-led "
            "reassignment-keeps-a-leader unclean-stop-loses-eligibility"),
    Meaning("cancel-keeps-added-in-isr", "partition.change:revert", "p.isr.minus(p.adding)", "p.isr",
            "isr-within-replicas leader-is-replica controller-stays"),
    Meaning("diverging-follower-counts", "systems.replication.dataplane:DataPlane.fetch",
            "choose(apart, UNKNOWN, f.log.end()))", "f.log.end())",
            "leader-complete candidates-complete consistent-reads logs-match acknowledged-survives "
            "no-survivor-passed-over", bounds=(("records", 2),), system="replication"),
    Meaning("mark-beyond-the-log", "systems.replication.dataplane:DataPlane.fetch",
            "smaller(ldr.high_watermark, grown.end())", "ldr.high_watermark",
            "watermark-within-log consistent-reads logs-match",
            bounds=(("records", 2), ("epochs", 1), ("brokers", 3), ("replication", 3)), system="replication"),
    Meaning("acknowledged-below-min-isr", "systems.replication.dataplane:DataPlane.advance",
            "all_of(rises, leader.maximal_isr().size() >= minimum)", "rises",
            why="the watermark rises at min ISR only, of the committed ISR, which is within the maximal one",
            system="replication"),
    Meaning("any-answer-accepts-a-move", "systems.directories.system:Moves.answer",
            "all_of(host.moving(), host.directory(host.future) == host.sent)", "host.moving()",
            "failure-leads-away assignment-settles fenced-until-settled", system="directories"),
    Meaning("assignment-outlives-its-process", "systems.directories.state:Host.stopped", "ready=NOTHING,", "",
            "fenced-until-settled", system="directories"),
    Meaning("shutdown-keeps-the-leader", "systems.elections.triggers:Triggers.controlled_shutdown",
            "self.decided(state, triggers.fence(state.partition(), permits(state), broker))", "start(state)",
            "leader-active isr-active-while-led reassignment-keeps-a-leader"),
    Meaning("anybody-joins-isr", "systems.elections.system:may_alter",
            "leadership.ELIGIBLE: members[leadership.ELIGIBLE],", "",
            "isr-active-while-led elr-registered reassignment-keeps-a-leader"),
    Meaning("joins-below-the-watermark", "systems.replication.dataplane:DataPlane.may_expand",
            "end >= leader.high_watermark, end >= 0", "end >= 0",
            "leader-complete candidates-complete acknowledged-survives no-survivor-passed-over",
            bounds=(("epochs", 1),), system="replication"),
    Meaning("proposal-is-not-counted", "systems.replication.dataplane:DataPlane._propose",
            "evolve(leader, proposed=isr, answer=NONE)", "evolve(leader, answer=NONE)",
            "quorum-superset leader-complete candidates-complete acknowledged-survives no-survivor-passed-over",
            bounds=(("epochs", 1), ("brokers", 3), ("replication", 3)), system="replication"),
    Meaning("crash-keeps-the-watermark", "systems.replication.control:Control.crash",
            "high_watermark=mark", "high_watermark=b.high_watermark", "watermark-within-log",
            bounds=(("epochs", 1),), system="replication"),
    Meaning("report-tells-nothing", "systems.directories.control:Control.report",
            "self.news(state, broker)", "BrokerSet()", "told-is-told", system="directories"),
)  # fmt: skip

BREAKING = [one for one in MEANINGS if one.breaks]


@pytest.mark.parametrize("meaning", one_in(18, MEANINGS), ids=lambda one: one.name)
def test_another_meaning_breaks_proofs(meaning: Meaning, monkeypatch: pytest.MonkeyPatch) -> None:
    """A changed rule breaks just the claims that are named, each by a step that is not proven for any number."""
    monkeypatch.setitem(ANY_PLACES, meaning.system, (("tiny", dict(meaning.bounds)),))  # type: ignore[index]
    row = BrokenProofRow(meaning.system, RIGHT, tuple(proven_claims(meaning.system)))
    with meaning.mutant().applied():
        result = attempt_any(row, 1, quiet=True)
    assert ({*result.actions}, result.refused) == ({*meaning.breaks.split()}, {})


@pytest.mark.slow
@pytest.mark.parametrize("meaning", BREAKING, ids=lambda one: one.name)
def test_the_command_refutes_what_another_meaning_breaks(meaning: Meaning) -> None:
    """Asked for any number, the command never says that the first claim holds: it is refuted, or is left open."""
    bounds = [
        word
        for name, bound in meaning.request().bounds.items()
        for word in (f"--{name}", "any" if bound == ANY else bound)
    ]
    words = ("prove", meaning.system, "--scope", "tiny", "--rules", "fixed", *bounds, "--timeout", 10, "--quiet")
    with meaning.mutant().applied():
        ran = kraftcheck(*words, "--property", meaning.breaks.split()[0], "--workers", 1)
    assert ran.last in ("1 refuted (exit 12)", "1 incomplete (exit 20)", "1 unknown (exit 22)")
    assert f"(exit {ran.code})" in ran.last


@pytest.mark.slow
@pytest.mark.parametrize("meaning", [one for one in MEANINGS if one.why], ids=lambda one: one.name)
def test_a_meaning_that_breaks_nothing_is_proven(meaning: Meaning) -> None:
    """Each query for any number that it changes, if it changes one, is proven all the same."""
    known = {*asked(meaning.request().build()).values()}
    with meaning.mutant().applied():
        of = meaning.request().build()
        changed = [query for query, digest in asked(of).items() if digest not in known and query.claim not in DOMAINS]
        sessions = {query.action: session(of, query.action) for query in changed}
        found = {query: sessions[query.action].ask(query).result for query in changed}
    assert len(known) > 500
    assert {query: result for query, result in found.items() if result != PROVEN} == {}


def test_no_meaning_is_stale() -> None:
    """Each changed piece is in its function once; what breaks nothing has a reason."""
    assert list(stale(one.mutant() for one in MEANINGS)) == []
    assert all(bool(one.breaks) != bool(one.why) for one in MEANINGS)
