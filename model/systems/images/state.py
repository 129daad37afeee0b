"""State of the `images` system: the topics of one name as all records have them, and as one broker has them.

A topic of that name is created, deleted and created again, each time with another id. A broker has an image, what the
records of the batch that it reads change in it (Kafka's `TopicsDelta`), and logs on its disks.
"""

from __future__ import annotations

from attrs import frozen

from kraftcheck.model.language.layout import ints, truth
from kraftcheck.model.language.system import Setting
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import choose

NOBODY = -1
"""The number of a topic, where there is none."""


@frozen
class Topic:
    """A topic of one partition.

    Attributes:
        exists: whether there is such a topic.
        mine: whether the broker is a replica.
        elr: whether some replica is in the ELR.
        unassigned: whether a replica is in no directory yet (UNASSIGNED), which an old version cannot say.
    """

    exists: Truth = False
    mine: Truth = False
    elr: Truth = False
    unassigned: Truth = False


@frozen
class Change:
    """What a batch does to one topic.

    Attributes:
        changed: whether it is among those that the batch changes.
        based: whether it is joined to what the image has, and not to an empty topic.
        topic: as the batch leaves it.
        deleted: whether it is among those of the image that the batch has deleted.
    """

    changed: Truth = False
    based: Truth = False
    topic: Topic = Topic()
    deleted: Truth = False


@frozen
class Log:
    """The log of one topic on the broker.

    Attributes:
        held: whether the broker has it.
        offline: whether it was on a disk that has failed.
    """

    held: Truth = False
    offline: Truth = False


@frozen
class Images:
    """The whole state; topics by the order of their creation.

    Attributes:
        made: how many topics were created.
        topics: as all records have them.
        directories: whether the metadata version has directories.
        up: whether the broker runs.
        image: the topics of its image.
        knows: whether its image is of a version that has directories.
        changes: what the records after the image change, by topic.
        created: the topic that the batch created last of that name, or NOBODY.
        pending: whether there are records after the image.
        failed: whether a batch could not be joined.
        logs: its logs, by topic.
    """

    made: Word
    topics: tuple[Topic, ...]
    directories: Truth
    up: Truth
    image: tuple[Topic, ...]
    knows: Truth
    changes: tuple[Change, ...]
    created: Word
    pending: Truth
    failed: Truth
    logs: tuple[Log, ...]

    def current(self) -> Word:
        """The topic that exists; NOBODY if none does."""
        found: Word = NOBODY
        for number, topic in enumerate(self.topics):
            found = choose(topic.exists, number, found)
        return found


def layout(setting: Setting) -> Images:
    """The domain of each field."""
    count = setting["topics"]
    topic = Topic(truth(), truth(), truth(), truth())
    return Images(
        ints(0, count), (topic,) * count, truth(), truth(), (topic,) * count, truth(),
        (Change(truth(), truth(), topic, truth()),) * count, ints(NOBODY, count - 1), truth(), truth(),
        (Log(truth(), truth()),) * count,
    )  # fmt: skip


def initial(setting: Setting) -> list[Images]:
    """A broker of a cluster without topics, whose version has directories, or has none yet."""
    count = setting["topics"]
    none = (Topic(),) * count
    changes, logs = (Change(),) * count, (Log(),) * count
    return [
        Images(0, none, directories, True, none, directories, changes, NOBODY, False, False, logs)
        for directories in (False, True)
    ]
