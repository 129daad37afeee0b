"""A toy with a list that grows: `tests.shared.lists:QUEUE` on the command line."""

from attrs import frozen

from kraftcheck.model.language.brokersets import Replicas
from kraftcheck.model.language.layout import ints
from kraftcheck.model.language.system import Action, System
from kraftcheck.model.language.words import NO_LEADER, negate


@frozen
class Queue:
    """Who waits, in order."""

    waiting: Replicas


QUEUE = System(
    name="queue",
    summary="Two clients that may queue up in any order.",
    initial=[Queue(Replicas.of([], 2))],
    layout=Queue(Replicas((ints(NO_LEADER, 1),) * 2)),
    actions=[
        Action(
            "arrive",
            lambda state, client: Queue(state.waiting.plus(state.waiting.just(client))),
            lambda state, client: {"not there yet": negate(state.waiting.has(client))},
            {"client": [0, 1]},
        )
    ],
    quiescent=lambda state: state.waiting.size() == 2,
)
