"""Where a follower's log diverges from its leader's, and how it is cut: by epochs and their ends.

Source: KIP-101, KIP-279, KIP-320; semantics 7; `LeaderEpochFileCache`, `AbstractFetcherThread`.
"""

from __future__ import annotations

from attrs import evolve

from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, rule
from kraftcheck.model.rules.groups import DataPlaneRules
from kraftcheck.model.systems.replication.log import VACANT, smaller
from kraftcheck.model.systems.replication.state import Broker


@rule("follower.truncates-to-common-epoch",
      source="KIP-279; KAFKA-6361; AbstractFetcherThread.truncateOnFetchResponse",
      switches=("kip101-epoch-lookup",),
      says="A follower cuts its log to the end of the largest leader epoch that both logs have.")  # fmt: skip
@rule("leader.notes-start-of-its-epoch", source="KAFKA-7415; LeaderEpochFileCache.assign",
      switches=("no-epoch-entry-on-leadership",),
      says="A leader notes the start of its epoch as it becomes leader, before it appends.")  # fmt: skip
def diverging(rules: DataPlaneRules, f: Broker, ldr: Broker) -> tuple[Truth, Word, Word]:
    """Whether a follower's log diverges; the leader's largest epoch up to the follower's last one, and its end."""
    own = choose(f.empty_epoch > VACANT, f.empty_epoch, f.log.last())
    entry, end = ldr.log.largest_to(own), ldr.log.count_to(own)
    apart = any_of(entry < own, end < f.log.end())
    if rules.kip101_epoch_lookup:
        apart = end < f.log.end()
    if rules.no_epoch_entry_on_leadership:
        apart = all_of(apart, ldr.log.last() >= own)
    return apart, entry, end


@rule("follower.truncation-lowers-watermark", source="KAFKA-14704; semantics 7",
      switches=("truncation-keeps-watermark",),
      says="A follower that cuts its log below its high watermark lowers that too.")  # fmt: skip
@rule("follower.truncation-drops-empty-epochs", source="KAFKA-10706; catalogue 37; LeaderEpochFileCache",
      switches=("noop-truncation-keeps-epochs",),
      says="A follower that is told to cut at the end of its log forgets an epoch that begins there.")  # fmt: skip
def shortened(rules: DataPlaneRules, f: Broker, entry: Word, end: Word) -> Broker:
    """A follower that was told the leader's largest epoch up to its own last one, and its end."""
    shared = f.log.largest_to(entry)
    to = smaller(choose(shared == entry, end, f.log.count_to(shared)), f.log.count_to(entry))
    if rules.kip101_epoch_lookup:
        to = smaller(end, f.log.end())
    log = f.log.truncate(to)
    mark = f.high_watermark if rules.truncation_keeps_watermark else smaller(f.high_watermark, log.end())
    kept = f.empty_epoch
    if rules.noop_truncation_keeps_epochs:
        kept = choose(log.end() == f.log.end(), kept, VACANT)
    return evolve(f, log=log, high_watermark=mark, empty_epoch=kept)
