"""The promises of a takeover: no decision and no answer rests on aborted records."""

from __future__ import annotations

from kraftcheck.model.language.anynumber import same_leaves
from kraftcheck.model.language.system import Property, Setting, Step
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import all_of, implies, negate
from kraftcheck.model.systems.elections.takeovers import Takeovers
from kraftcheck.properties.kinds import always, happens, sometimes

SOURCE = "KIP-631; KIP-868"


def properties(setting: Setting) -> list[Property]:
    """Every property of the system."""
    claims = [
        always("no-decision-rests-on-aborted", "once no batch waits the active controller decides by the replay of "
               "what is committed", lambda s: implies(s.pending == 0, same_leaves(s.memory, s.committed)),
               SOURCE, ("uncommitted-outlives-takeover",), rules=("takeover.forgets-what-is-not-committed",)),
        always("no-answer-rests-on-aborted", "once no batch waits, whatever anybody was told is committed",
               lambda s: implies(s.pending == 0, same_leaves(s.told, s.committed)), SOURCE,
               ("answered-before-commit", "unchanged-answered-at-once", "uncommitted-is-read"),
               rules=("answer.waits-for-commit", "answer.unchanged-waits-too", "answer.reads-what-is-committed")),
        happens("shows-abort", "a takeover aborts an election", _aborts),
        happens("shows-commit", "a new leader is committed",
                lambda t: all_of(t.action == "commit", negate(t.before.committed.leader == t.after.committed.leader))),
        happens("shows-read", "somebody reads while a new leader is not committed",
                lambda t: all_of(t.action == "read", negate(t.before.memory.leader == t.before.committed.leader))),
    ]  # fmt: skip
    if setting["batches"] > 1:
        rests = "a decision rests on one that is not committed"
        claims.append(sometimes("shows-chain", rests, lambda s: s.pending > 1))
    return claims


def _aborts(t: Step) -> Truth:
    return all_of(t.action == "take_over", negate(t.before.memory.leader == t.before.committed.leader))


def lemmas(setting: Setting) -> tuple[Property, ...]:
    """The lemmas that make the promises inductive under the right rules."""
    return (always("lemma-told-is-committed", "nobody is told of what is not committed", _told),)


def _told(s: Takeovers) -> Truth:
    return same_leaves(s.told, s.committed)
