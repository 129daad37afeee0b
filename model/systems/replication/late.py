"""Replies to fetches that are late, and fetches that are refused.

Source: KAFKA-18723; semantics 7; `AbstractFetcherThread.processFetchRequest`, `UnifiedLog.appendAsFollower`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import evolve, frozen

from kraftcheck.model.language.system import Action
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, negate, rule
from kraftcheck.model.systems.replication.dataplane import DataPlane
from kraftcheck.model.systems.replication.divergence import diverging, shortened
from kraftcheck.model.systems.replication.log import smaller
from kraftcheck.model.systems.replication.state import UNKNOWN, Broker, Replication, Reply, no_reply


@frozen
class LateReplies:
    """At most one reply is under way; the leader has noted its fetch, the follower has not seen it."""

    data: DataPlane
    room: int

    def may_serve(self, state: Replication, follower: Word, leader: Word) -> dict[str, Truth]:
        """A fetch is served as any other."""
        return {
            **self.data.may_fetch(state, follower, leader, 0),
            "a late reply is left": state.left.late_replies > 0,
            "no reply is under way": negate(state.reply.is_under_way()),
        }

    def serve(self, state: Replication, follower: Word, leader: Word) -> Replication:
        """The leader replies; nothing arrives yet."""
        f, ldr = state.broker(follower), state.broker(leader)
        apart, entry, end = diverging(self.data.rules.data_plane, f, ldr)
        reply = Reply(
            follower, leader, f.epoch, f.log.end(), choose(apart, entry, UNKNOWN), choose(apart, end, 0),
            ldr.high_watermark, ldr.log,
        )  # fmt: skip
        left = evolve(state.left, late_replies=state.left.late_replies - 1)
        served = evolve(state, reply=reply, left=left)
        return self.data.noted(served, follower, leader, choose(apart, UNKNOWN, f.log.end()))

    def may_arrive(self, state: Replication, reread: Word) -> dict[str, Truth]:
        """Its bytes are those of the leader's file when the fetch was served, or of any time since."""
        reply = state.reply
        return {
            "a reply is under way": reply.is_under_way(),
            "the file is there": any_of(reread == 0, state.broker(reply.leader).running()),
        }

    @rule("follower.replies-are-of-its-epoch", source="KAFKA-18723; KAFKA-7786; catalogue 69; semantics 7",
          switches=("earlier-reply-applied", "stale-truncation-applied"),
          says="A follower drops a reply of an earlier leader epoch, or of another end of its log.")  # fmt: skip
    @rule("follower.appends-up-to-epoch-of-fetch", source="KAFKA-18723; catalogue 39",
          switches=("append-beyond-fetch-epoch",),
          says="A follower appends no record of a later leader epoch than that of its fetch.")  # fmt: skip
    def arrive(self, state: Replication, reread: Word) -> Replication:
        """The follower cuts or appends, unless the reply is out of date."""
        rules, reply = self.data.rules.data_plane, state.reply
        f, ldr = state.broker(reply.follower), state.broker(reply.leader)
        follows = negate(state.leads(reply.follower, f))
        owned = all_of(state.leader_at(f.epoch) == reply.leader, follows)
        current = all_of(owned, f.log.end() == reply.offset)
        if not rules.earlier_reply_applied:
            current = all_of(current, f.epoch == reply.epoch)
        apart = reply.cut_epoch > UNKNOWN
        cuts = all_of(apart, any_of(current, follows if rules.stale_truncation_applied else False))
        bytes_sent = choose(reread > 0, ldr.log.truncate(reply.sent.end()), reply.sent)
        if not rules.append_beyond_fetch_epoch:
            bytes_sent = bytes_sent.truncate(bytes_sent.count_to(f.epoch + 1))
        grown = f.log.copy_of(bytes_sent)
        appended = evolve(f, log=grown, high_watermark=smaller(reply.watermark, grown.end()))
        cut = shortened(rules, f, reply.cut_epoch, reply.cut_end)
        after: Broker = choose(cuts, cut, choose(all_of(current, negate(apart)), appended, f))
        return evolve(state.with_broker(reply.follower, after), reply=no_reply(self.room))

    def actions(self, each: dict[str, Any], others: Sequence[Action]) -> list[Action]:
        """The other actions, of which a newer fetch loses the reply, and those of a late reply."""
        pair = {"follower": each["broker"], "leader": each["broker"]}
        return [
            *(evolve(a, effect=self._fetched(a)) if a.name == "fetch" else a for a in others),
            Action("serve_late", self.serve, self.may_serve, pair, "ReplicaManager.fetchMessages"),
            Action("late_reply", self.arrive, self.may_arrive, {"reread": (0, 1)}, "AbstractFetcherThread"),
        ]

    def _fetched(self, fetch: Action) -> Any:
        """A follower has one fetch under way at a leader: a newer one means that it has given the older one up."""

        def effect(state: Replication, follower: Word, leader: Word, received: Word) -> Replication:
            given_up = all_of(state.reply.follower == follower, state.reply.leader == leader)
            reply = choose(given_up, no_reply(self.room), state.reply)
            after: Replication = fetch.effect(evolve(state, reply=reply), follower, leader, received)
            return after

        return effect
