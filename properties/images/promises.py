"""What is promised of a broker's image: it is the replay of all records, can be written, and logs follow it."""

from __future__ import annotations

from kraftcheck.model.language.system import Conjuncts, Property, Setting, Step
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate, none_of
from kraftcheck.model.systems.images.system import NOBODY, Change, Images, Topic
from kraftcheck.properties.kinds import always, happens, recovers, sometimes

_CLEARED = "image.cleared-elr-is-of-living-topics"


def properties(setting: Setting) -> list[Property]:
    """Every property of the system."""
    claims = [
        always("image-is-the-replay", "after a batch the image of a broker is the replay of all records", _same,
               "KAFKA-19383; KAFKA-18649",
               ("clear-elr-reads-old-image", "clear-elr-unhandled", "snapshot-keeps-deleted", "snapshot-drops-elr"),
               rules=(_CLEARED, "image.snapshot-is-joined-to-the-image", "image.snapshot-has-the-elr")),
        always("deleted-topic-stays-deleted", "after a batch the image of a broker has no topic that is deleted",
               lambda s: {f"topic {n}": implies(all_of(_settled(s), image.exists), topic.exists)
                          for n, (image, topic) in enumerate(zip(s.image, s.topics, strict=True))},
               "KAFKA-19383", ("clear-elr-reads-old-image", "snapshot-keeps-deleted"),
               rules=(_CLEARED, "image.snapshot-is-joined-to-the-image")),
        always("no-batch-fails", "every batch can be joined to the image", lambda s: negate(s.failed), "KAFKA-19497",
               ("deleted-topic-stays-created",), rules=("image.deletion-takes-a-topic-out",)),
        always("image-can-be-written", "an image says nothing that its metadata version cannot", _written,
               "KAFKA-16583", ("merge-fills-unassigned",), rules=("image.old-version-names-no-directory",)),
        always("logs-are-those-of-replicas", "after a batch a broker has the logs of its replicas alone, and "
               "none beside that on a failed disk", _logs,
               "KAFKA-16892; KAFKA-14616; KAFKA-16157",
               ("snapshot-forgets-replicas", "stray-found-by-name", "offline-without-topic-id",
                "removed-replica-keeps-log"),
               rules=("image.logs-follow-replicas", "image.snapshot-is-joined-to-the-image",
                      "image.stray-logs-are-told-by-id")),
        sometimes("shows-elr", "an image has an ELR", lambda s: any_of(*(topic.elr for topic in s.image))),
        sometimes("shows-elr-left", "ELR is off, and an image has one", lambda s: all_of(
            negate(s.elr_enabled), any_of(*(topic.elr for topic in s.image)))),
        sometimes("shows-unassigned", "an image has a replica in no directory",
                  lambda s: any_of(*(topic.unassigned for topic in s.image))),
        happens("shows-removal", "a batch removes a replica, and the broker deletes its log", _removes),
        happens("shows-snapshot", "a snapshot deletes a topic of the image",
                lambda t: t.action == "load_snapshot" and any_of(*_gone(t))),
    ]  # fmt: skip
    if setting["crashes"]:
        claims += [
            recovers("broker-can-start", "a broker can start, whatever a crash has left on its disks",
                     lambda s: s.up, "KAFKA-16814; KAFKA-21022", ("unnamed-log-stops-start",),
                     rules=("image.log-without-topic-is-stray",), when=lambda s: negate(s.up), by={"start": {}}),
            sometimes("shows-unnamed", "a stopped broker has a log that names no topic",
                      lambda s: all_of(negate(s.up), any_of(*s.unnamed))),
        ]  # fmt: skip
    if setting["topics"] > 1:
        claims.append(happens("shows-recreation", "a batch deletes a topic and creates another of its name", _anew))
    return claims


def _settled(s: Images) -> Truth:
    """Whether the broker has joined all records."""
    return all_of(s.up, negate(s.pending), negate(s.failed))


def _alike(one: Topic, other: Topic) -> Truth:
    said = ((t.exists, t.mine, t.elr, t.unassigned) for t in (one, other))
    return all_of(*(all_of(implies(a, b), implies(b, a)) for a, b in zip(*said, strict=True)))


def _same(s: Images) -> Conjuncts:
    pairs = zip(s.image, s.topics, strict=True)
    return {f"topic {n}": implies(_settled(s), _alike(one, other)) for n, (one, other) in enumerate(pairs)}


def _written(s: Images) -> Conjuncts:
    return {
        f"topic {n}": implies(all_of(s.up, negate(s.knows), topic.exists), negate(topic.unassigned))
        for n, topic in enumerate(s.image)
    }


def _logs(s: Images) -> Conjuncts:
    def right(topic: Topic, held: Truth, offline: Truth) -> Truth:
        return all_of(implies(topic.mine, any_of(held, offline)), implies(held, all_of(topic.mine, negate(offline))))

    pairs = zip(s.topics, s.logs, strict=True)
    return {
        f"topic {n}": implies(_settled(s), right(topic, log.held, log.offline)) for n, (topic, log) in enumerate(pairs)
    }


def _gone(t: Step) -> list[Truth]:
    pairs = zip(t.before.image, t.after.image, strict=True)
    return [all_of(old.exists, negate(new.exists)) for old, new in pairs]


def _removes(t: Step) -> Truth:
    if t.action != "publish":
        return False
    logs = zip(t.before.logs, t.after.logs, t.after.image, strict=True)
    return any_of(*(all_of(old.held, negate(new.held), topic.exists) for old, new, topic in logs))


def _anew(t: Step) -> Truth:
    if t.action != "publish":
        return False
    return all_of(any_of(*_gone(t)), any_of(*(topic.exists for topic in t.after.image)))


def lemmas(setting: Setting) -> tuple[Property, ...]:
    """The lemmas that make the promises inductive under the right rules."""
    return (
        always("lemma-newest-topic-exists", "of the topics of a name only the one that was created last exists",
               lambda s: {f"topic {n}": implies(one.exists, s.made == n + 1) for n, one in enumerate(s.topics)}),
        always("lemma-absent-topic-is-blank", "nothing is known of a topic that does not exist",
               lambda s: all_of(*(any_of(one.exists, none_of(one.mine, one.elr, one.unassigned))
                                  for one in (*s.topics, *s.image)))),
        always("lemma-batch-makes-the-replay", "the image of a running broker becomes the replay of all records once "
               "its batch is joined", _made),
        always("lemma-batch-changes-what-exists", "a batch changes the topic that exists, and deletes what the image "
               "has", lambda s: {f"topic {n}": _joins(s, n, one) for n, one in enumerate(s.changes)}),
        always("lemma-batch-is-empty-when-joined", "where no records are to be joined the batch is empty",
               lambda s: any_of(s.pending, all_of(
                   s.created == NOBODY, *(none_of(one.changed, one.deleted) for one in s.changes)))),
        always("lemma-image-has-one-topic", "of the topics of a name an image has one at most, which was created",
               lambda s: {f"topic {n}": implies(one.exists, all_of(
                   s.up, s.made > n, none_of(*(other.exists for other in s.image[:n])))) for n, one in
                   enumerate(s.image)}),
        always("lemma-old-version-has-no-directory", "before the version has directories no replica is unassigned",
               lambda s: any_of(s.directories, none_of(s.knows, *(one.unassigned for one in s.topics)))),
        always("lemma-logs-follow-the-image", "a running broker has the logs of the replicas of its image, and no "
               "second one beside that on a failed disk", lambda s: {f"topic {n}": all_of(
                   negate(all_of(log.held, log.offline)),
                   implies(s.up, implies(one.mine, any_of(log.held, log.offline))),
                   implies(s.up, implies(any_of(log.held, log.offline), one.mine)))
                   for n, (one, log) in enumerate(zip(s.image, s.logs, strict=True))}),
    )  # fmt: skip


def _made(s: Images) -> Conjuncts:
    after = [
        choose(c.changed, c.topic, choose(c.deleted, Topic(), old)) for c, old in zip(s.changes, s.image, strict=True)
    ]
    pairs = zip(after, s.topics, strict=True)
    return {f"topic {n}": implies(s.up, _alike(one, other)) for n, (one, other) in enumerate(pairs)}


def _joins(s: Images, n: int, one: Change) -> Truth:
    topic, old = s.topics[n].exists, s.image[n].exists
    return all_of(
        implies(any_of(one.changed, one.deleted), s.up), implies(one.deleted, all_of(old, none_of(topic, one.changed))),
        implies(one.changed, all_of(topic, choose(one.based, old, negate(old)))),
        choose(s.created == n, all_of(one.changed, negate(old)), implies(all_of(s.up, topic), old)),
    )  # fmt: skip
