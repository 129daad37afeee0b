"""Recoverability of `replication`: claims AG (when -> EF goal), by actions that need no budget.

The controller may also fence: dead brokers for free, live ones while there is a
budget for it, which a claim about every state cannot rest on.
"""

from __future__ import annotations

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Conjuncts, Property, Setting
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import all_of, choose, implies, negate
from kraftcheck.model.systems.replication.state import Replication
from kraftcheck.properties.elections.healing import Way
from kraftcheck.properties.elections.stated import needed_isr
from kraftcheck.properties.kinds import recovers

SETTLING: Way = {"apply_metadata": {}, "alter_partition": {}, "receive_answer": {}}
"""What is under way arrives."""

WORKING: Way = {**SETTLING, "fetch": {}, "propose_expand": {}}
"""Running brokers replicate."""

RETURNING: Way = {"unfence": {}, "register": {}, "elect_preferred": {}}
"""Stopped and fenced brokers come back."""


def properties(setting: Setting) -> list[Property]:
    """Claims of recovery for the setting."""
    healing = {**WORKING, **RETURNING}
    if setting["clean-stops"]:
        healing["stop"] = {}  # a shutdown that is granted ends before the broker returns
    return [
        recovers("proposals-settle", "every pending ISR change can be committed or superseded", _settled,
                 "invariant 46; KIP-497", ("refusal-keeps-proposal",),
                 rules=("proposal.refusal-ends-it", "metadata.only-newer"), by=SETTLING),
        recovers("watermark-reaches-end", "at min ISR, the high watermark can reach the log end though nobody returns",
                 _reached, "KAFKA-15021; KAFKA-13091", ("hw-waits-for-ineligible", "accepted-shrink-keeps-hw"),
                 rules=("watermark.ignores-ineligible", "proposal.acceptance-moves-watermark",
                        "follower.truncation-drops-empty-epochs", "min-isr.at-most-replication"),
                 when=_isr_runs, by={**WORKING, "fence": {}}),
        recovers("isr-refills", "while there is a leader, every replica can be in the ISR again", _full,
                 "KIP-497", ("refusal-keeps-proposal",),
                 rules=("proposal.refusal-ends-it", "metadata.only-newer", "follower.truncation-drops-empty-epochs"),
                 when=_led, by=healing),
    ]  # fmt: skip


def _led(s: Replication) -> Truth:
    return s.controller.leader >= 0


def _isr_runs(s: Replication) -> Truth:
    running = BrokerSet.of(())
    for n, b in enumerate(s.brokers):
        running = running.plus(BrokerSet(choose(b.running(), 1 << n, 0)))
    isr = s.controller.isr
    return all_of(_led(s), isr.within(running), isr.size() >= needed_isr(s.controller))


def _settled(s: Replication) -> Conjuncts:
    return {f"broker {n}": negate(all_of(s.leads(n, b), b.pending())) for n, b in enumerate(s.brokers)}


def _reached(s: Replication) -> Conjuncts:
    marks = {
        f"broker {n}": implies(s.controller.leader == n, all_of(s.leads(n, b), b.high_watermark == b.log.end()))
        for n, b in enumerate(s.brokers)
    }
    return {"a leader": _led(s), **marks}


def _full(s: Replication) -> Truth:
    return all_of(_led(s), BrokerSet(s.controller.replicas.mask).within(s.controller.isr))
