"""Elections that the tools request: one after the other, with retries and a test of success; concrete."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from attrs import evolve, frozen

from kraftcheck.model.controller.commits import commit
from kraftcheck.model.controller.elect_leaders import DESIGNATED, MOST_DESIGNATED, elect_leaders
from kraftcheck.model.controller.errors import NONE
from kraftcheck.model.controller.state import Controller
from kraftcheck.model.language.rule import rule
from kraftcheck.model.rules.groups import UncleanRecoveryRules
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.unclean_recovery.loginfo import Rights, TopicPartition
from kraftcheck.model.unclean_recovery.status import exits_zero, is_recovered

ATTEMPTS = 3
"""Default of --recovery-election-attempts: retries of one request."""

NOT_NEEDED = "ELECTION_NOT_NEEDED"
NOT_SERVED = "NOT_SERVED"
"""In place of an error: the response does not name the partition."""
INTERRUPTED = "INTERRUPTED"
"""In place of an error: a signal came before the request was sent."""
TRANSIENT = "NOT_CONTROLLER"
"""What a request that fails transiently is answered with."""


@frozen
class Result:
    """What came of one partition: NONE, NOT_NEEDED, or why there is no leader."""

    place: TopicPartition
    error: str

    def recovered(self, rules: UncleanRecoveryRules) -> bool:
        """Whether the partition counts as recovered."""
        error = self.error
        return bool(is_recovered(error == NONE, error == NOT_NEEDED, error == NOT_SERVED, rules))


@frozen
class Retries:
    """Requests that fail transiently, and how often one may be sent again.

    Attributes:
        failing: requests that fail from now on, before one is served.
        attempts: retries of each request.
    """

    failing: int = 0
    attempts: int = ATTEMPTS

    def sent(self) -> tuple[bool, Retries]:
        """Whether a request is served in the end, and what is left to fail."""
        served = self.failing <= self.attempts
        used = self.failing if served else self.attempts + 1
        return served, evolve(self, failing=self.failing - used)


@rule("recovery.unserved-is-sent-again", source="unclean-recovery KIP, ElectLeaders limit",
      switches=("recovery-ignores-request-limit",),
      says="A partition that a response does not name is sent again.")  # fmt: skip
def designate_all(
    controller: Controller,
    wanted: Sequence[tuple[TopicPartition, int]],
    rules: RuleSet,
    retries: Retries,
    rights: Rights,
    stopped: Callable[[], bool] = lambda: False,
    answered: Mapping[TopicPartition, int] | None = None,
) -> tuple[Controller, tuple[Result, ...]]:
    """Designate these leaders, as many in a request as the controller serves.

    Args:
        controller: the state.
        wanted: partitions and the leader of each.
        rules: the rule set; it must have designated elections.
        retries: what fails.
        rights: of the caller, who needs CLUSTER_ACTION.
        answered: by partition the broker epoch in which its leader answered; without one nothing is compared.
        stopped: asked before each request whether to stop; the rest is INTERRUPTED then.

    Returns:
        The state after the elections, and one result a partition, in order.

    Raises:
        RequestError: as `elect_leaders`.

    Source: unclean-recovery KIP, "Designated Leader Elections".
    """
    if not rights.cluster_action:
        return controller, tuple(Result(place, "CLUSTER_AUTHORIZATION_FAILED") for place, _ in wanted)
    size = max(1, len(wanted)) if rules.unclean_recovery.recovery_ignores_request_limit else MOST_DESIGNATED
    results: list[Result] = []
    for start in range(0, len(wanted), size):
        batch = wanted[start : start + size]
        if stopped():
            results += [Result(place, INTERRUPTED) for place, _ in wanted[start:]]
            break
        served, retries = retries.sent()
        if not served:
            results += [Result(place, TRANSIENT) for place, _ in batch]
            continue
        places, leaders = tuple(place for place, _ in batch), tuple(leader for _, leader in batch)
        epochs = None if answered is None else tuple(answered.get(place) for place in places)
        outcome = elect_leaders(controller, DESIGNATED, places, rules, leaders, epochs)
        controller = commit(controller, outcome, rules)
        told = {(row.topic, row.partition): row.error for row in outcome.response}
        results += [Result(place, told.get(place, NOT_SERVED)) for place in places]
    return controller, tuple(results)


def succeeded(results: Sequence[Result], rules: UncleanRecoveryRules) -> bool:
    """Whether the exit status is zero."""
    interrupted = any(result.error == INTERRUPTED for result in results)
    return bool(exits_zero([result.recovered(rules) for result in results], interrupted, rules))
