"""State of the `features` system: the nodes of a cluster, their releases, and what the metadata log says of levels.

Levels of `metadata.version` stand for the three that matter: 1 is the lowest, from 2 on a controller can be
unregistered and ELR exists, and 3 needs the newest release. The newest release has lost support of 1, as Kafka 4.0 has
lost that of versions before 3.3. Source: KIP-584, KIP-778, KIP-1312; KAFKA-18601.
"""

from __future__ import annotations

from attrs import evolve, frozen

from kraftcheck.model.language.layout import ints, truth
from kraftcheck.model.language.system import Setting
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, pick

NOT_REGISTERED = -1
"""The registration of a node that has none."""

NOBODY = -1
"""The active controller, where none is."""

NO_LEVEL = 0
"""The level of a log that names none, and of a bootstrap file that there is not."""

NO_REQUEST = -1
"""The level that was read for a registration, where no request waits."""

LOWEST, UNREGISTERING = 1, 2
"""The lowest level, and the first with which controllers can be unregistered, and ELR switched on."""

RELEASES = ((1, 1), (1, 2), (2, 3))
"""The levels that each release supports, from and to, the oldest first."""

NEWEST, HIGHEST = len(RELEASES) - 1, 3
"""The newest release, and the highest level."""


@frozen
class Controller:
    """A controller.

    Attributes:
        up: whether its process runs.
        release: the release of its process, or of the one that ran last.
        voter: whether it is a voter of the quorum.
        registered: the release that it registered, or NOT_REGISTERED.
    """

    up: Truth
    release: Word
    voter: Truth
    registered: Word


@frozen
class Broker:
    """A broker.

    Attributes:
        release: the release of its process.
        registered: the release that it registered, or NOT_REGISTERED.
        seen: the level that was finalised when its request for a registration arrived, or NO_REQUEST.
    """

    release: Word
    registered: Word
    seen: Word


@frozen
class Features:
    """The whole state.

    Attributes:
        controllers, brokers: the nodes.
        active: the active controller, or NOBODY.
        empty: whether the log has no record yet.
        level: the level of `metadata.version` that the log names last, or NO_LEVEL.
        elr: whether the feature of eligible leader replicas is finalised.
        bootstrap: the level of the bootstrap file, with which the cluster was formatted; NO_LEVEL: there is no file,
            and the highest level of whoever reads it counts.
    """

    controllers: tuple[Controller, ...]
    brokers: tuple[Broker, ...]
    active: Word
    empty: Truth
    level: Word
    elr: Truth
    bootstrap: Word

    def controller(self, number: Word) -> Controller:
        """A controller."""
        return pick(self.controllers, number, self.controllers[0])

    def with_controller(self, number: Word, node: Controller) -> Features:
        """The state with one controller replaced."""
        nodes = tuple(choose(number == n, node, old) for n, old in enumerate(self.controllers))
        return evolve(self, controllers=nodes)

    def broker(self, number: Word) -> Broker:
        """A broker."""
        return pick(self.brokers, number, self.brokers[0])

    def with_broker(self, number: Word, node: Broker) -> Features:
        """The state with one broker replaced."""
        return evolve(self, brokers=tuple(choose(number == n, node, old) for n, old in enumerate(self.brokers)))


def bounds(release: Word) -> tuple[Word, Word]:
    """The lowest and the highest level that a release supports."""
    first, last = (tuple(of[end] for of in RELEASES) for end in (0, 1))
    return pick(first, release, 0), pick(last, release, 0)


def supports(release: Word, level: Word) -> Truth:
    """Whether a release supports a level; none is any release's."""
    first, last = bounds(release)
    return any_of(level == NO_LEVEL, all_of(first <= level, level <= last))


def layout(setting: Setting) -> Features:
    """The domain of each field."""
    count, release, registered = setting["controllers"], ints(0, NEWEST), ints(NOT_REGISTERED, NEWEST)
    return Features(
        (Controller(truth(), release, truth(), registered),) * count,
        (Broker(release, registered, ints(NO_REQUEST, HIGHEST)),) * setting["brokers"],
        ints(NOBODY, count - 1), truth(), ints(NO_LEVEL, HIGHEST), truth(), ints(NO_LEVEL, UNREGISTERING),
    )  # fmt: skip


def initial(setting: Setting) -> list[Features]:
    """A cluster that was just formatted, by one of two releases; or the log of an older one, which wrote no level."""

    def cluster(release: int, empty: bool, bootstrap: int) -> Features:
        return Features(
            (Controller(True, release, True, NOT_REGISTERED),) * setting["controllers"],
            (Broker(release, NOT_REGISTERED, NO_REQUEST),) * setting["brokers"],
            NOBODY, empty, NO_LEVEL, False, bootstrap,
        )  # fmt: skip

    return [cluster(0, True, LOWEST), cluster(0, False, NO_LEVEL), cluster(1, True, UNREGISTERING)]
